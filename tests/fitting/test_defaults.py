"""Which models compete where none are named."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.fitting.replay import log_probabilities
from howlearn.models.q_learning import QLearning, QLearningSigned

HERE = ["q-learning", "q-forgetting", "q-start", "win-stay-lose-shift"]


def frame(n: int = 240, learners: int = 3, seed: int = 1, **columns) -> pl.DataFrame:
    """Choices that follow what was rewarded, so that the kind of task can be seen."""
    draws = np.random.default_rng(seed)
    rows = []
    for learner in range(learners):
        value = {}
        for t in range(n):
            context = columns["context"](t)
            q = value.setdefault(context, np.zeros(len(columns["actions"])))
            p = np.exp(columns.get("beta", 4) * (q - q.max()))
            a = int(draws.choice(len(q), p=p / p.sum()))
            reward = float(columns["reward"](t, context, a, draws))
            q[a] += 0.3 * (reward - q[a])
            row = {"learner": learner, "trial": t, "context": context}
            more = columns.get("more", lambda t: {})(t)
            rows.append({**row, "action": columns["actions"][a], "reward": reward, **more})
    return pl.DataFrame(rows)


def names(study: hl.Study) -> list[str]:
    return [model.name for model in hl.candidates(study)]


def one(t):
    return "same"


def two(t):
    return "ab"[t % 2]


def test_bandit():
    pays = [0.8, 0.3]
    rows = frame(context=one, actions="AB", reward=lambda t, c, a, d: d.random() < pays[a])
    study = hl.read(rows, context="none")
    assert study.kind is not None
    assert study.kind.name == "bandit"
    assert names(study) == ["gradient bandit", "gradient bandit+stickiness", *HERE]


def test_bandit_with_graded_rewards():
    rows = frame(
        context=one,
        actions="ABC",
        reward=lambda t, c, a, d: np.clip(0.2 * a + 0.3 * d.random(), 0, 1),
    )
    study = hl.read(rows, context="none")
    assert study.kind is not None
    assert study.kind.traits == ("graded rewards",)
    assert {"kalman-mean", "kalman-ucb", "kalman-thompson"} < {*names(study)}


def test_reversal():
    def reward(t, c, a, d):
        return d.random() < (0.9 if a == (t // 40) % 2 else 0.1)

    study = hl.read(frame(n=400, context=one, actions="AB", reward=reward), context="none")
    assert study.kind is not None
    assert study.kind.name == "reversal"
    assert {"q-two-rates", "pearce-hall"} < {*names(study)}


def test_gambling():
    def reward(t, c, a, d):
        return [50, 100, 50, 100][a] - ([250, 1250, 50, 50][a] if d.random() < 0.3 else 0)

    rows = frame(context=one, actions="ABCD", beta=0.01, reward=reward)
    study = hl.read(rows, context="none", reward_scale=(-1150, 100))
    assert study.kind is not None
    assert study.kind.name.startswith("gambling")
    assert "q-signed" in names(study)
    assert study.zero == pytest.approx(0.92)


def test_go_no_go():
    right = {"a": 0, "b": 1}
    rows = frame(
        context=two,
        actions=["go", "nogo"],
        reward=lambda t, c, a, d: d.random() < (0.8 if a == right[c] else 0.2),
    )
    study = hl.read(rows)
    assert study.kind is not None
    assert study.kind.name == "go/no-go"
    assert names(study)[-2:] == ["go-no-go", "win-stay-lose-shift"]


def test_a_load_brings_working_memory():
    sizes = [3, 2, 4, 2, 3, 4]
    rows = frame(
        n=180,
        context=lambda t: f"{t // 30}:{t % sizes[t // 30]}",
        actions="ABC",
        reward=lambda t, c, a, d: a == int(c[-1]) % 3,
        more=lambda t: {"block": t // 30, "size": sizes[t // 30]},
    )
    study = hl.read(rows, reset_by=["block"], load="size")
    assert names(study)[-2:] == ["rlwm", "wm-habit"]
    assert names(hl.read(rows))[-2:] == ["rlwm", "wm-habit"]
    without = hl.read(rows, reset_by=["block"], load="none")
    assert not {"rlwm", "wm-habit"} & {*names(without)}
    found = hl.inspect(rows, reset_by=["block"])
    assert found.options["load"] == "size"


def test_contexts_alone_give_partitions_and_field_can_be_left_out():
    rows = frame(context=two, actions="AB", reward=lambda t, c, a, d: a == "ab".index(c))
    study = hl.read(rows)
    partitions = ["OneForAll", "OnePerItem"]
    assert [model.name for model in hl.candidates(study.contexts)] == partitions
    assert [model.name for model in hl.candidates(study, field=False)] == partitions
    sticky = "OnePerItem (one rate)+stickiness"
    assert names(study) == [*partitions, sticky, *HERE]
    found = hl.select(study, criteria=["aic"])
    assert [model.name for model in found.models] == names(study)


def test_signed_values_start_at_what_was_recorded_as_zero():
    """Q-learning of the recorded rewards, whatever they were stretched to."""
    pays = [-3.0, 1.0]
    rows = frame(context=one, actions="AB", reward=lambda t, c, a, d: pays[a] * (d.random() < 0.5))
    stretched = hl.read(rows, context="none", reward_scale=(-3, 1))
    recorded = hl.read(rows, context="none", reward_range=(-3, 1))
    signed = log_probabilities(stretched, 0, QLearningSigned(), np.array([0.3, 8.0]))
    plain = log_probabilities(recorded, 0, QLearning(), np.array([0.3, 2.0]))
    np.testing.assert_allclose(signed, plain, rtol=1e-10, atol=1e-10)
    unsigned = log_probabilities(stretched, 0, QLearning(), np.array([0.3, 8.0]))
    assert np.abs(unsigned - plain).max() > 0.1


def test_one_candidate_is_not_compared():
    rows = frame(context=one, actions="AB", reward=lambda t, c, a, d: d.random() < 0.3 + 0.4 * a)
    study = hl.read(rows, context="none")
    found = hl.select(study, hl.candidates(study, field=False), ["aic", "bic"])
    text = " ".join(map(str, found.summary()))
    assert "Only one candidate: nothing was compared." in text
    assert "All criteria" not in text
    assert "%" not in text
    assert found.shares["share"].null_count() == len(found.shares)
    assert found.learners["criteria_agree"].null_count() == len(found.learners)
