"""What untried actions would have earned, from the records of a study without a task."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howlearn.core.partition import Partition
from howlearn.core.study import Study
from howlearn.models.partition_model import PartitionModel
from howlearn.reading.read import read
from howlearn.simulation.changing_rewards import _Outcomes, _States
from howlearn.simulation.shown import RecordedRewards, as_recorded
from howlearn.simulation.simulate import simulate
from oracle import Trial
from studies import study_of


def records(*rows: tuple[str, str, float]) -> list[Trial]:
    """(context, action, reward) of one learner."""
    return [Trial(c, "ABC".index(a), r, reset=t == 0) for t, (c, a, r) in enumerate(rows)]


def pays(study: Study, learner: int, context: str, action: str) -> list[float]:
    pair = study.contexts.index(context) * len(study.actions) + study.actions.index(action)
    return sorted(RecordedRewards(study).complete(study[learner])[pair].tolist())


def test_own_records_come_first():
    one = records(("x", "A", 0.2), ("x", "A", 0.4), ("x", "B", 0.9), ("y", "A", 0.7))
    other = records(("x", "A", 0.5), ("x", "B", 0.1), ("y", "B", 0.3))
    study = study_of(one, other)
    assert pays(study, 0, "x", "A") == [0.2, 0.4]
    assert pays(study, 0, "x", "B") == [0.9]
    assert pays(study, 1, "x", "A") == [0.5]


def test_then_those_of_other_learners_then_those_of_other_contexts():
    one = records(("x", "A", 0.2), ("y", "A", 0.7), ("z", "A", 0.6))
    other = records(("x", "A", 0.5), ("x", "B", 0.1), ("x", "B", 0.3))
    study = study_of(one, other, n_actions=3)
    assert pays(study, 0, "x", "B") == [0.1, 0.3]  # the other's, in the same context
    assert pays(study, 0, "y", "B") == [0.1, 0.3]  # nobody tried it in y
    assert pays(study, 0, "y", "C") == [0.1, 0.2, 0.3, 0.5, 0.6, 0.7]  # nobody ever tried it
    rewards = RecordedRewards(study)
    assert set(rewards.complete(study[1])) == {0, 1, 2}  # the contexts that it met, no others
    rewards.complete(study[0])
    assert (rewards.implied, rewards.borrowed) == (0, 1 + 2 + 2 + 2)


def test_right_or_wrong_with_two_actions():
    study = study_of(records(("x", "A", 1), ("y", "A", 0)), records(("x", "B", 1), ("y", "B", 1)))
    assert pays(study, 0, "x", "B") == [0.0]
    assert pays(study, 0, "y", "B") == [1.0]
    assert pays(study, 1, "x", "A") == [0.0]  # although the other learner was right with it
    rewards = RecordedRewards(study)
    for trials in study:
        rewards.complete(trials)
    assert (rewards.implied, rewards.borrowed) == (4, 0)


def test_right_or_wrong_with_three_actions():
    one = records(("x", "A", -1), ("x", "B", -1), ("y", "C", 1), ("z", "A", -1))
    other = records(("z", "B", 1), ("z", "A", -1))
    study = study_of(one, other, n_actions=3, reward_range=(-1.0, 1.0))
    assert pays(study, 0, "x", "C") == [1.0]  # the only one left
    assert pays(study, 0, "y", "A") == pays(study, 0, "y", "B") == [-1.0]  # C is right
    assert pays(study, 0, "z", "B") == [1.0]  # open, so the other's
    assert pays(study, 0, "z", "C") == [1.0]  # open, nobody's: C's in other contexts


@pytest.mark.parametrize(
    "rows",
    [
        [("x", "A", 1), ("x", "A", 0), ("y", "A", 0)],  # a matter of chance
        [("x", "A", 1), ("x", "B", 1), ("y", "A", 0)],  # two right actions
        [("x", "A", 1), ("y", "A", 0), ("y", "B", 0.5)],  # three values
        [("x", "A", 1), ("y", "A", 1)],  # one value
    ],
)
def test_other_feedback_implies_nothing(rows):
    rewards = RecordedRewards(study_of(records(*rows), n_actions=3))
    assert rewards.values is None
    rewards.complete(rewards.study[0])
    assert rewards.implied == 0
    assert rewards.borrowed > 0


def test_frequencies_are_kept():
    """Over an even grid of uniform numbers the shares are exact."""
    rows = [("x", "A", r) for r in (1, 1, 1, 0)] + [("x", "B", r) for r in (0, 0, 1, 0, 0.5)]
    study = study_of(records(*(rows * 3)), records(*(rows * 3), *(rows * 4))[:60])
    u = (np.arange(60) + 0.5) / 60  # 12 records of A, 15 of B
    gains = RecordedRewards(study).gains(0, as_recorded(study, 1, np.arange(1)), u)
    values, counts = np.unique(gains[:, 0], return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([0.0, 1.0], [15, 45])
    values, counts = np.unique(gains[:, 1], return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([0.0, 0.5, 1.0], [36, 12, 12])


def test_tests_and_what_was_shown_there_are_no_records():
    rows = [
        Trial("x", 0, 1.0, reset=True),
        Trial("x", 0, 0.0, learned=False),
        Trial("x", 1, 0.0, scored=False),  # instructed: its reward is a record
        Trial("y", 0, float("nan"), learned=False),
    ]
    study = study_of(rows)
    assert pays(study, 0, "x", "A") == [1.0]
    assert pays(study, 0, "x", "B") == [0.0]
    assert pays(study, 0, "y", "A") == [1.0]  # A's in the other context
    assert pays(study, 0, "y", "B") == [0.0]


# Real people


def test_badham_learners_have_rules_of_their_own(shared_data: Path):
    """The same eight objects in four tasks: each learner is paid by the rule of its own."""
    path = shared_data / "badham2017" / "badham2017deficits.csv"
    study = read(path, by="condition", context="object", recode="reward:-1=0,1=1")
    model = PartitionModel("each", Partition.each(study.contexts))
    doubles = simulate(None, model, {"eta": 0.5}, like=study, seed=1)
    right = {
        (str(learner), condition, name): choice
        for learner, condition, name, choice in pl.read_csv(path)
        .select("participant", "condition", "object", "correct_choice")
        .unique()
        .iter_rows()
    }
    assert len({(name, choice) for (_, _, name), choice in right.items()}) == 16  # both, everywhere
    condition = study.about["condition"].to_list()
    for i, trials in enumerate(doubles):
        names = np.array(study.contexts)[trials.context]
        chosen = np.array(study.actions)[trials.action]
        truth = [right[study.learners[i], condition[i], name] for name in names]
        np.testing.assert_array_equal(trials.reward, chosen == truth)
    np.testing.assert_array_equal(doubles.starts, study.starts)
    rewards = RecordedRewards(study)
    for trials in study:
        rewards.complete(trials)
    assert rewards.implied > 100
    assert rewards.borrowed == 0
    assert len(np.unique(rewards.pooled.of(0))) == 2  # learners disagree about the first object


def test_rlwm_has_three_actions_of_which_one_is_right(shared_data: Path):
    """Every block has new stimuli under old names: what is right holds until the next start."""
    study = read(
        shared_data / "rlwm" / "Expe3.csv",
        context="stimseq",
        missing="action:-1",
        reset_by="block",
    ).part(0, 8)
    model = PartitionModel("each", Partition.each(study.contexts))
    doubles = simulate(None, model, {"eta": 0.5}, like=study, seed=1)
    rewards = RecordedRewards(study)
    assert rewards.values == (0.0, 1.0)
    for recorded, double in zip(study, doubles, strict=True):
        paid = rewards.complete(recorded)
        situation = (np.cumsum(recorded.reset) - 1) * len(study.contexts) + recorded.context
        pairs = situation * 3 + double.action
        assert all(reward in paid[k] for k, reward in zip(pairs, double.reward, strict=True))
        right = recorded.reward == 1.0
        for at in np.unique(situation[right]).tolist():
            (action,) = np.unique(recorded.action[right & (situation == at)])
            assert [paid[at * 3 + a].max() for a in range(3)] == [a == action for a in range(3)]


def reversing(people: int = 12, every: int = 30) -> tuple[Study, np.ndarray]:
    """Learners who mostly choose what was paid last; which action was good at every trial."""
    random, rows, good = np.random.default_rng(3), [], []
    for who in range(people):
        first, action = who % 2, 0
        for t in range(150):
            right = (first + t // every) % 2
            paid = int(random.random() < (0.85 if action == right else 0.15))
            rows.append((who, "AB"[action], paid, int(random.random() < 0.5)))
            good.append(right)
            if random.random() > (0.9 if paid else 0.4):
                action = 1 - action
    names = ["learner", "action", "reward", "other"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    return read(frame, context="none", forgone="other"), np.array(good)


def test_where_outcomes_reverse_they_reverse_for_doubles():
    told, good = reversing()
    study = replace(told, forgone=None)
    rewards = RecordedRewards(study)
    assert rewards.changing is not None
    assert rewards.changing.states == 2
    u = (np.random.default_rng(1).permutation(150) + 0.5) / 150
    paid = np.concatenate(
        [rewards.gains(i, as_recorded(study, i, np.arange(1)), u) for i in range(len(study))]
    )
    every = np.arange(len(good))
    assert paid[every, good].mean() == pytest.approx(0.85, abs=0.07)
    assert paid[every, 1 - good].mean() == pytest.approx(0.15, abs=0.07)
    gains = RecordedRewards(told).gains(0, as_recorded(told, 0, np.arange(1)), u)
    mine, chosen = np.arange(150), told.action[:150]
    assert np.array_equal(gains[mine, chosen], told.reward[:150])
    assert told.forgone is not None
    assert np.array_equal(gains[mine, 1 - chosen], told.forgone[mine, 1 - chosen])


def test_where_outcomes_are_fixed_they_stay_so():
    study, _ = reversing(every=10**9)
    assert RecordedRewards(replace(study, forgone=None)).changing is None


def test_states_are_those_of_all_sequences():
    """The smoothed probabilities are those of summing over every sequence of states."""
    seen = _Outcomes(np.array([[0, 1, 1, 0]]), np.array([[1, 0, -1, 1]]), 2)
    pays = np.array([[[0.2, 0.8], [0.7, 0.3]], [[0.6, 0.4], [0.1, 0.9]]])
    states = _States(pays, np.array([[0.9, 0.1], [0.3, 0.7]]), np.array([0.4, 0.6]))
    total, each, moved = 0.0, np.zeros((4, 2)), np.zeros((2, 2))
    for path in product((0, 1), repeat=4):
        p = states.start[path[0]]
        for s, u in pairwise(path):
            p *= states.moves[s, u]
        for t, s in enumerate(path):
            if seen.kind[0, t] >= 0:
                p *= pays[s, seen.action[0, t], seen.kind[0, t]]
        total += p
        for t, s in enumerate(path):
            each[t, s] += p
        for s, u in pairwise(path):
            moved[s, u] += p
    found, moves, log_likelihood = states.smoothed(seen)
    assert log_likelihood == pytest.approx(np.log(total), abs=1e-12)
    np.testing.assert_allclose(found[0], each / total, atol=1e-12)
    np.testing.assert_allclose(moves, moved / total, atol=1e-12)
