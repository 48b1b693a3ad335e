"""Learners who are shown what recorded learners were shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3, GradientBandit, rule_named
from howlearn.core.study import Study
from howlearn.models.coin import Coin
from howlearn.models.task import Task
from howlearn.models.values import Reversal, Reward, certain, correct_rewards
from howlearn.simulation.simulate import simulate
from oracle import Trial
from player import played
from studies import model_of, random_trials, study_of, trials_of

CELLS = [["x", "z"], ["y"]]
MODEL = model_of(CELLS, GradientBandit())
CORRECT = {"x": "A", "y": "B", "z": "B"}
TASK = Task(
    "three",
    ("z", "y", "x"),  # not in the order of the studies below
    ("A", "B"),
    (MODEL,),
    rewards={c: correct_rewards("AB", CORRECT[c]) for c in "zyx"},
)
RECORDED = study_of(
    random_trials(1, 80, "xyz", flags=True),
    random_trials(2, 45, "xyz", flags=True),
    random_trials(3, 60, "xyz", flags=True),
)


def like(study: Study = RECORDED, task: Task | None = TASK, eta: float = 0.4, **kwargs) -> Study:
    return simulate(task, MODEL, {"eta": eta}, like=study, **kwargs)


def draws_of(seed: int, learner: int, n: int) -> np.ndarray:
    return np.random.default_rng([seed, learner]).random((n, 2))


@pytest.mark.parametrize("task", [TASK, None])
@pytest.mark.parametrize("model", [MODEL, Coin()])
def test_shown_what_was_recorded(task, model):
    parameters = {"p(A)": 0.3} if isinstance(model, Coin) else {"eta": 0.4}
    study = simulate(task, model, parameters, like=RECORDED, seed=5)
    names = [np.array(s.contexts)[s.context].tolist() for s in (study, RECORDED)]
    assert names[0] == names[1]
    for name in ("starts", "scored", "learned", "reset"):
        np.testing.assert_array_equal(getattr(study, name), getattr(RECORDED, name))
    instructed = ~study.scored
    taught = instructed & study.learned
    assert taught.sum() > 10
    np.testing.assert_array_equal(study.action[instructed], RECORDED.action[instructed])
    np.testing.assert_array_equal(study.reward[taught], RECORDED.reward[taught])
    np.testing.assert_array_equal(np.isnan(study.reward), ~study.learned)
    assert np.mean(study.action[study.scored] != RECORDED.action[study.scored]) > 0.2


@pytest.mark.parametrize("form", ["gain", "loss"])
@pytest.mark.parametrize("rule", ["gradient", "exp3", "exp3-ix"])
def test_played_as_in_plain_python(rule, form):
    """Instructed choices teach, tests do not, and a reset wipes all out: every choice is equal."""
    model = model_of(CELLS, rule_named(rule, form))
    parameters = {"eta": [0.3, 0.6], **({"gamma": [0.1, 0.2]} if rule == "exp3-ix" else {})}
    study = simulate(TASK, model, parameters, like=RECORDED, seed=4)
    points = list(zip(*parameters.values(), strict=True))
    for i in range(3):
        shown = trials_of(RECORDED, i)
        expected = played(
            shown,
            draws_of(4, i, len(shown))[:, 0].tolist(),
            lambda t, context, action: float("AB"[action] == CORRECT[context]),
            CELLS,
            rule,
            points,
            form,
        )
        mine = trials_of(study, i)
        assert [t.action for t in mine] == [t.action for t in expected]
        np.testing.assert_array_equal([t.reward for t in mine], [t.reward for t in expected])


def test_more_learners_go_round_and_fewer_are_the_first():
    study = like(learners=7)
    lengths = np.diff(RECORDED.starts).tolist()
    assert np.diff(study.starts).tolist() == [*lengths, *lengths, lengths[0]]
    np.testing.assert_array_equal(study[3].scored, RECORDED[0].scored)
    assert not np.array_equal(study[3].action, study[0].action)  # other random numbers
    few = like(learners=2)
    np.testing.assert_array_equal(few.action, study.action[: few.starts[-1]])
    assert len(like()) == 3


def test_the_tasks_rewards_replace_those_of_the_records():
    """The records pay 1 for everything; the task has a reversal, and rewards of its own."""
    always = study_of([Trial("xy"[t % 2], t % 3 % 2, 1.0, reset=t == 0) for t in range(60)])
    task = replace(TASK, reversals=(Reversal(31, correct={"x": "B"}),))
    study = like(always, task, seed=3)
    name = np.array(study.contexts)[study.context]
    right = np.where((name == "x") & (np.arange(60) < 30), 0, 1)
    np.testing.assert_array_equal(study.reward, study.action == right)
    assert 0 < study.reward.mean() < 1
    unpaid = replace(TASK, rewards={})
    assert like(always, unpaid).reward.min() == 1.0
    assert like(always, None).reward.min() == 1.0


# The stopping rule


def free(n: int, every: int = 10**9) -> list[Trial]:
    return [Trial("xyz"[t % 3], 0, 0.0, reset=t % every == 0) for t in range(n)]


def test_the_stopping_rule_applies_anew():
    study = study_of(free(200), free(30))
    doubles = like(study, replace(TASK, stop=4), learners=40)
    ended = 0
    for i, trials in enumerate(doubles):
        correct = (trials.reward == 1.0).tolist()
        runs = [all(correct[t - 4 : t]) for t in range(4, len(correct) + 1)]
        assert not any(runs[:-1])
        assert len(trials) <= (200, 30)[i % 2]
        assert len(trials) == (200, 30)[i % 2] or runs[-1]
        ended += runs[-1]
    assert ended > 20
    assert (like(study, TASK, learners=40).n_scored == [200, 30] * 20).all()


def test_a_stopped_learner_is_the_beginning_of_one_who_goes_on():
    study = study_of(free(200))
    whole, stopped = (like(study, replace(TASK, stop=stop), learners=9) for stop in (None, 3))
    for one, other in zip(stopped, whole, strict=True):
        np.testing.assert_array_equal(one.action, other.action[: len(one)])
        np.testing.assert_array_equal(one.reward, other.reward[: len(one)])


def test_a_run_does_not_span_a_new_start():
    """With a new start every third trial nobody has four in a row, and three only just before."""
    study = study_of(free(300, every=3))
    for_all = {c: {"A": certain(1.0), "B": certain(1.0)} for c in "zyx"}
    equal = replace(TASK, rewards=for_all)  # every choice is correct
    assert set(like(study, replace(equal, stop=4), learners=5).n_scored) == {300}
    assert set(like(study, replace(equal, stop=3), learners=5).n_scored) == {3}
    lengths = like(study, replace(TASK, stop=3), learners=40).n_scored
    assert set(lengths % 3) == {0}
    assert len(set(lengths)) > 5


def test_stopping_after_the_first_correct_choice():
    study = like(study_of(free(50)), replace(TASK, stop=1), learners=30)
    for trials in study:
        assert trials.reward.tolist() == [0.0] * (len(trials) - 1) + [1.0]


# What cannot be


@pytest.mark.parametrize(
    ("study", "message"),
    [
        (study_of(random_trials(1, 9, ("x", "w"))), "task three has no context w"),
        (
            study_of(random_trials(1, 9, "xy", 3), n_actions=3),
            "the study has the actions A, B, C, task three has A, B",
        ),
        (
            replace(RECORDED, actions=("B", "A")),
            "the study has the actions B, A, task three has A, B",
        ),
        (RECORDED.part(0, 0), "the recorded study has no learners to imitate"),
    ],
)
def test_studies_that_a_task_cannot_explain(study, message):
    with pytest.raises(HowlearnError, match=message):
        like(study)


def test_what_is_missing_or_too_much():
    with pytest.raises(HowlearnError, match="needs a task, or a recorded study to imitate"):
        simulate(None, MODEL, {"eta": 0.1})
    with pytest.raises(HowlearnError, match="the study has no model 'ByShape'"):
        simulate(None, "ByShape", {"eta": 0.1}, like=RECORDED)
    with pytest.raises(HowlearnError, match="as many trials as were recorded"):
        like(trials=10)
    with pytest.raises(HowlearnError, match="model m has no cell for context"):
        like(study_of(random_trials(1, 9, ("x", "w"))), None)
    with pytest.raises(HowlearnError, match="does not say what its actions earn"):
        simulate(replace(TASK, rewards={}), MODEL, {"eta": 0.1})
    with pytest.raises(HowlearnError, match="can be made in a task only"):
        like(task=None, as_published=True)


# Odd studies


@pytest.mark.parametrize("task", [TASK, replace(TASK, stop=2), None])
def test_learners_without_trials(task):
    study = like(study_of([], random_trials(1, 20, "xyz"), []), task)
    assert np.diff(study.starts).tolist()[::2] == [0, 0]
    assert len(study[1]) > 0


def test_a_study_of_tests_alone():
    """Nobody was paid, nobody learns: fair coins, and no reward."""
    tests = [Trial("xy"[t % 2], 0, float("nan"), learned=False, reset=t == 0) for t in range(400)]
    study = like(study_of(tests), None, eta=1.0)
    assert np.isnan(study.reward).all()
    # 400 fair coins: five standard errors, a false alarm once in a million
    assert study.action.mean() == pytest.approx(0.5, abs=5 * 0.5 / 20)


def test_the_range_of_rewards_holds_what_was_recorded():
    """Losses are counted from the top of the same range in which estimates were made."""
    recorded = replace(RECORDED, reward_range=(-1.0, 3.0))
    assert like(recorded).reward_range == (-1.0, 3.0)
    assert like(RECORDED, replace(TASK, reward_range=(-2.0, 1.0))).reward_range == (-2.0, 1.0)
    study = simulate(TASK, model_of(CELLS, Exp3("loss")), {"eta": 0.5}, like=recorded, seed=2)
    for i in range(3):
        shown = trials_of(RECORDED, i)
        expected = played(
            shown,
            draws_of(2, i, len(shown))[:, 0].tolist(),
            lambda t, context, action: float("AB"[action] == CORRECT[context]),
            CELLS,
            "exp3",
            [(0.5,), (0.5,)],
            "loss",
            reward_range=(-1.0, 3.0),
        )
        assert study[i].action.tolist() == [t.action for t in expected]


def test_probabilities_of_rewards_hold_for_doubles():
    """20,000 draws: five standard errors, a false alarm once in a million."""
    paid = {c: {"A": Reward(0.3, 2.0, -1.0), "B": Reward(0.3, 2.0, -1.0)} for c in "zyx"}
    task = replace(TASK, rewards=paid, reward_range=(-1.0, 2.0))
    study = like(study_of(free(500)), task, learners=40)
    assert set(np.unique(study.reward)) == {-1.0, 2.0}
    share = np.mean(study.reward == 2.0)
    assert share == pytest.approx(0.3, abs=5 * (0.21 / 20_000) ** 0.5)
