"""``hl.plan`` against selecting one by one, and on contests worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

import howlearn as hl
from howlearn.analyses.contests import Contest
from howlearn.analyses.designs import APART
from howlearn.analyses.plan import Plan
from howlearn.core.errors import HowlearnError
from howlearn.report.plot import saved_charts

TASK = hl.Task.load("shepard-1")
NAMES = ("OneForAll", "ByFeature1", "OnePerItem")
MODELS = [TASK.model(name) for name in NAMES]
TRIALS, SIMULATED, SEED = (24, 48), 30, 3
CRITERIA = (hl.Penalized(0.05), hl.HoldOut(0.5), hl.BIC())


@pytest.fixture(scope="module")
def found() -> Plan:
    return hl.plan(
        TASK, MODELS, {"eta": 0.3}, TRIALS, [20, 80], CRITERIA, simulated=SIMULATED, seed=SEED
    )


def share(name: str, trials: int, models: Sequence[hl.PartitionModel], criterion: object) -> float:
    """Of one model's learners: how many are given it when these models compete."""
    seed = (SEED, NAMES.index(name), 0, APART)
    study = hl.simulate(TASK, name, {"eta": 0.3}, SIMULATED, trials, seed)
    chosen = hl.select(study, models, [criterion]).selection["model"]  # type: ignore[list-item]
    return float((chosen == name).mean() or 0)


def test_recovered_shares_are_those_of_select(found: Plan) -> None:
    assert len(found.recovered) == len(TRIALS) * len(CRITERIA) * len(NAMES)
    by_name = {repr(criterion): criterion for criterion in CRITERIA}
    for row in found.recovered.to_dicts():
        right = share(row["true_model"], row["trials"], MODELS, by_name[row["criterion"]])
        assert row["recovered"] == pytest.approx(right)
        wrong = min(max(1 - right, 0.5 / SIMULATED), 1 - 0.5 / SIMULATED)
        assert row["standard_error"] == pytest.approx((wrong * (1 - wrong) / SIMULATED) ** 0.5)


def test_pairs_compete_on_their_own(found: Plan) -> None:
    for trials, criterion in zip(TRIALS, CRITERIA[:2], strict=True):
        mine = found.pairs.filter(trials=trials, criterion=repr(criterion))
        expected = []
        for pair in combinations(range(3), 2):
            two = [MODELS[k] for k in pair]
            right = [share(model.name, trials, two, criterion) for model in two]
            expected.append(1 - np.mean(right))
        assert mine["error"].to_list() == pytest.approx(expected)
        assert list(zip(mine["model"], mine["other_model"], strict=True)) == [
            *combinations(NAMES, 2)
        ]


def test_expected_shares_are_those_of_equally_many_learners_of_each_model(found: Plan) -> None:
    for criterion in CRITERIA:
        chosen = found.contests[1].selected(criterion)
        expected = np.bincount(chosen, minlength=3) / len(chosen)
        mine = found.shares.filter(criterion=repr(criterion), trials=48, learners=80)
        assert mine["expected"].to_list() == pytest.approx(expected)
        assert mine["true_share"].to_list() == pytest.approx([1 / 3] * 3)


def test_more_trials_add_to_the_same_learners() -> None:
    """Numbers of trials are compared on the same learners: a plan is not noise upon noise."""
    options = {"parameters": {"eta": 0.3}, "simulated": 5, "criteria": ["aic"]}
    alone = hl.plan(TASK, MODELS, trials=[48], **options)
    both = hl.plan(TASK, MODELS, trials=[24, 48], **options)
    assert np.array_equal(alone.contests[0].all_trials, both.contests[1].all_trials)


def test_numbers_may_be_arrays_in_any_order_and_named_twice() -> None:
    options = {"parameters": {"eta": 0.3}, "simulated": 4, "criteria": "aic"}
    found = hl.plan(
        "shepard-1", MODELS, trials=np.array([32, 16, 32]), learners=range(30, 10, -10), **options
    )
    assert (found.trials, found.learners) == ((16, 32), (20, 30))
    assert len(found.recovered) == 6
    assert "Plan for 16 to 32 trials" in repr(found)
    assert found.sentences
    saved_charts(found)


def test_progress_counts_learners_of_all_numbers_of_trials() -> None:
    seen: list[tuple[int, int]] = []
    hl.plan(
        TASK,
        MODELS[:2],
        trials=[8, 16],
        simulated=5,
        criteria=["aic"],
        progress=lambda *n: seen.append(n),
    )
    assert seen == sorted(seen)
    assert {(0, 20), (5, 20), (10, 20), (15, 20)} < {*seen}
    assert seen[-1] == (20, 20)


def test_one_candidate_needs_no_pairs() -> None:
    found = hl.plan(TASK, MODELS[:1], trials=[8], simulated=3, learners=[10])
    assert found.pairs.height == 0
    assert found.recovered["recovered"].to_list() == [1, 1, 1]
    assert not [text for text in found.sentences if "confused" in text]
    saved_charts(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": []}, "numbers of trials of at least 2"),
        ({"trials": [1, 60]}, "numbers of trials of at least 2"),
        ({"learners": [0]}, "numbers of learners of at least 1"),
        ({"target": 1.0}, "the target must be a share between 0 and 1, got 1"),
        ({"target": float("nan")}, "the target must be a share between 0 and 1"),
        ({"simulated": 0}, "at least one simulated learner"),
        ({"criteria": []}, "there is no criterion"),
        ({"criteria": ["aic", "aic"]}, "aic is named twice"),
        ({"parameters": {"theta": 1}}, "no simulated model has a parameter theta"),
    ],
)
def test_what_cannot_be_is_refused(options: dict, message: str) -> None:
    with pytest.raises(HowlearnError, match=message):
        hl.plan(TASK, MODELS, **options)


# --- plans worked out by hand ---------------------------------------------------------------------


def contest_with(confusion: Sequence[Sequence[int]], names: Sequence[str]) -> Contest:
    """Learners such that AIC gives so many of each true model (row) each candidate (column)."""
    counts = np.array(confusion)
    true, chosen = np.nonzero(np.ones_like(counts))
    true, chosen = (np.repeat(each, counts.reshape(-1)) for each in (true, chosen))
    likelihood = np.full((len(true), len(names)), -50.0)
    likelihood[np.arange(len(true)), chosen] = -40.0
    n = len(true)
    return Contest(
        tuple(names),
        tuple(names),
        (),
        true,
        np.full(n, 100),
        np.ones((n, len(names)), np.int64),
        likelihood,
        np.empty((n, 0, len(names))),
        np.empty((n, 0), np.int64),
    )


def plan_with(
    *confusions: Sequence[Sequence[int]], learners: tuple[int, ...] = (20,), target: float = 0.8
) -> Plan:
    """A plan for 100, 200 … trials with these confusions."""
    names = "ABCDEF"[: len(confusions[0])]
    contests = tuple(contest_with(confusion, names) for confusion in confusions)
    trials = tuple(100 * (k + 1) for k in range(len(contests)))
    return Plan(trials, learners, (hl.AIC(),), contests, target)


def test_intervals_of_shares_by_hand() -> None:
    # Half of the learners follow A, half B. Selected: (.8 + .1)/2 = .45 and .55, so the interval
    # is ±1.96·√(.45·.55/L). To undo the confusion, (share of A − .1)/.7: wider by 1/.7.
    found = plan_with([[8, 2], [1, 9]], learners=(50, 200)).shares
    assert found["expected"].to_list() == pytest.approx([0.45, 0.55] * 2)
    for learners in (50, 200):
        width = 1.96 * (0.45 * 0.55 / learners) ** 0.5
        mine = found.filter(learners=learners)
        assert mine["half_width"].to_list() == pytest.approx([width] * 2)
        assert mine["corrected_half_width"].to_list() == pytest.approx([width / 0.7] * 2)


def test_without_confusion_there_is_nothing_to_undo() -> None:
    found = plan_with([[9, 0, 0], [0, 9, 0], [0, 0, 9]]).shares
    width = 1.96 * (2 / 9 / 20) ** 0.5
    assert found["half_width"].to_list() == pytest.approx([width] * 3)
    assert found["corrected_half_width"].to_list() == pytest.approx([width] * 3)


def test_models_that_are_the_same_have_no_corrected_interval() -> None:
    found = plan_with([[5, 5], [5, 5]])
    assert found.shares["corrected_half_width"].to_list() == [None, None]
    assert "with 20 learners ±22% (not at all once confusion is accounted for)" in " ".join(
        found.sentences
    )


def test_a_number_of_trials_would_do() -> None:
    found = plan_with([[7, 3], [1, 9]], [[8, 2], [1, 9]], [[9, 1], [0, 10]], learners=(20, 100))
    assert found.enough(hl.AIC()) == 200
    first, second, third = found.sentences
    assert first == (
        "aic: 200 trials are enough: with these or more, every model is recovered for at least "
        "80% of its learners (with 200 trials least often A, 80% ± 13%)."
    )
    assert second == "aic: no two models are confused, with any number of trials tried."
    # At 300 trials: shares .45 and .55; undone by 1/.9.
    assert third == (
        "aic: the share of a model would be known, at 300 trials, with 20 learners ±22% (±24% once "
        "confusion is accounted for), with 100 learners ±10% (±11% once confusion is accounted "
        "for)."
    )


def test_a_number_that_is_followed_by_a_worse_one_does_not_do() -> None:
    good, bad = [[9, 1], [1, 9]], [[9, 1], [3, 7]]
    assert plan_with(good, bad, good).enough(hl.AIC()) == 300
    assert plan_with(good, good, bad).enough(hl.AIC()) is None
    assert plan_with(good, bad, good, target=0.7).enough(hl.AIC()) == 100


def test_no_number_of_trials_would_do() -> None:
    found = plan_with([[8, 2], [6, 4]], [[9, 1], [4, 6]])
    assert found.enough(hl.AIC()) is None
    assert found.sentences[0] == (
        "aic: no number of trials up to 200 is enough: B is recovered for 60% ± 15% of its "
        "learners with 200 trials; the target is 80%."
    )


def test_pairs_that_cannot_be_told_apart() -> None:
    # A and B: errors (.2 + .6)/2 = .4, then (.1 + .4)/2 = .25, then .05; C is never confused.
    found = plan_with(
        [[8, 2, 0], [6, 4, 0], [0, 0, 10]],
        [[9, 1, 0], [4, 6, 0], [0, 0, 10]],
        [[10, 0, 0], [1, 9, 0], [0, 0, 10]],
    )
    assert found.pairs.filter(model="A", other_model="B")["error"].to_list() == pytest.approx(
        [0.4, 0.25, 0.05]
    )
    expected = "aic: models that are confused: A and B (up to 200 trials, error 25%)."
    assert found.sentences[1] == expected
    # The error is a mean of two shares of 10 learners: ½·√(.2·.8/10 + .6·.4/10).
    first = found.pairs.row(0, named=True)
    assert first["standard_error"] == pytest.approx(0.5 * (0.016 + 0.024) ** 0.5)


def test_of_many_confused_pairs_the_worst_come_first() -> None:
    # C and D toss a coin. Against A or B alone the half of C's learners who are given D are a tie.
    even = np.full((4, 4), 3).tolist()
    better = [[12, 0, 0, 0], [0, 12, 0, 0], [0, 0, 6, 6], [0, 0, 6, 6]]
    text = plan_with(even, better).sentences[1]
    assert "confused: C and D (up to 200 trials, error 50%); A and C (up to 200 trials" in text
    assert text.endswith(", and 4 more.")
