"""Estimates that score later trials stay inside their bounds where they would rule an action out.

The fits themselves are not changed, and nothing of the later trials decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.fitting.ways import INSIDE
from howlearn.models import QLearning, WinStayLoseShift
from howlearn.models.coin import FixedPolicy
from howlearn.models.model import Model

TRIALS, SLIP = 60, 45


def stubborn(slips: bool = True, context: str = "x") -> pl.DataFrame:
    """Who stays after every win and shifts after every loss; but once, late, does not stay."""
    rng = np.random.default_rng(3)
    rows, action = [], 0
    for t in range(TRIALS):
        reward = int(rng.random() < 0.6)
        rows.append({"learner": "1", "context": context, "action": action, "reward": reward})
        stays = bool(reward) if t + 1 != SLIP else not (reward and slips)
        action = action if stays else 1 - action
    assert rows[SLIP - 1]["reward"] == 1  # a win, after which the learner shifts
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def study() -> hl.Study:
    return hl.read(stubborn(), context="context")


@dataclass(frozen=True, repr=False)
class Own(Model):
    """A user's model: the last action again with probability ``stay``."""

    name = "again"
    parameters = (hl.Parameter("stay", 0.0, 1.0),)

    @staticmethod
    def start(world):
        return np.full(1, -1)

    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = -np.log(len(out))
        if state[0] >= 0:
            out[:] = np.log(1.0 - theta.stay)
            out[state[0]] = np.log(theta.stay)

    @staticmethod
    def update(state, trial, theta):
        state[0] = trial.action


def by_hand(study: hl.Study, split: float, stay: float, shift: float) -> float:
    """The score of the later trials under win-stay-lose-shift, trial by trial."""
    total, first = 0.0, int(split * TRIALS)
    for t in range(first, TRIALS):
        won, same = study.reward[t - 1] == 1, study.action[t] == study.action[t - 1]
        p = stay if won else 1 - shift
        total += np.log(p if same else 1 - p)
    return total


def test_win_stay_lose_shift_is_scored_a_thousandth_inside(study: hl.Study) -> None:
    fits = hl.fit(study, [WinStayLoseShift()], [0.5, 1.0])
    part = fits.of["win-stay-lose-shift"]
    assert part.theta[0, 0].tolist() == [1.0, 1.0]  # the estimate is what it is
    assert part.log_likelihood[0, 0] == pytest.approx(-np.log(2))
    assert INSIDE == 1e-3
    expected = by_hand(study, 0.5, 1 - INSIDE, 1 - INSIDE)
    assert fits.rest(0.5)[0, 0] == pytest.approx(expected, abs=1e-9)
    # All trials were fitted: nothing is left to be scored, and the estimate lies inside by itself.
    assert 0.9 < part.theta[0, 1, 0] < 1
    assert fits.rest(1.0)[0, 0] == 0.0


@pytest.mark.parametrize(
    "model",
    [
        WinStayLoseShift(),
        WinStayLoseShift() + hl.models.Lapse(),
        hl.PartitionModel("cells", hl.Partition([["x"]]), WinStayLoseShift()),
        hl.models.Exp4([WinStayLoseShift()]),
    ],
    ids=lambda model: model.name,
)
def test_no_later_choice_is_impossible(model: Model, study: hl.Study) -> None:
    criteria = [hl.HoldOut(0.5), hl.Prequential(blocks=3, start=0.5)]
    fits = hl.fit(study, [model], sorted({t for c in criteria for t in c.truncations}))
    for criterion in criteria:
        score = criterion.scores(fits).score[0, 0]
        assert np.isfinite(score)
        future = hl.leave_future_out(fits, criterion)["log_probability"]
        assert future.sum() == pytest.approx(score, abs=1e-9)
        # One slip costs what a thousandth costs, about.
        assert score == pytest.approx(np.log(INSIDE), abs=2.0)


def test_a_model_of_ones_own_too() -> None:
    rows = {"learner": ["1"] * 40, "context": ["x"] * 40, "reward": [0, 1] * 20}
    study = hl.read(pl.DataFrame({**rows, "action": [0] * 30 + [1] * 10}), context="context")
    fits = hl.fit(study, [Own()], [0.5])
    assert fits.of["again"].theta[0, 0, 0] == 1.0
    expected = np.log(INSIDE) + 19 * np.log(1 - INSIDE)
    assert fits.rest(0.5)[0, 0] == pytest.approx(expected, abs=1e-9)


def test_later_trials_decide_nothing(study: hl.Study) -> None:
    """The same plug-in for one who never slips."""
    fits = [
        hl.fit(each, [WinStayLoseShift()], [0.5]).of["win-stay-lose-shift"]
        for each in (study, hl.read(stubborn(slips=False), context="context"))
    ]
    assert fits[0].plugged.tolist() == fits[1].plugged.tolist() == [[[1 - INSIDE] * 2]]
    assert fits[1].rest[0, 0] == pytest.approx(30 * np.log(1 - INSIDE), abs=1e-9)


def test_estimates_that_rule_nothing_out_are_scored_as_they_are(study: hl.Study) -> None:
    """At a bound too: a softmax leaves every action possible."""
    models = [QLearning(), hl.PartitionModel("one", hl.Partition([["x"]]))]
    fits = hl.fit(study, models, [0.5])
    for part in fits.of.values():
        assert part.plugged is part.theta or np.array_equal(part.plugged, part.theta)
    assert (fits.of["q-learning"].theta == [1.0, 50.0]).any()


def test_no_verdict_rests_on_an_infinite_margin(study: hl.Study) -> None:
    """A given policy may rule a choice out, whatever is done: then the other is all there is."""
    never = FixedPolicy("never 1", {"0": 1.0, "1": 0.0})
    models = [WinStayLoseShift(), never, replace(never, name="never 1 either")]
    for criterion in ("holdout(split=0.5)", "aic"):
        found = hl.select(study, models, [criterion])
        row = found.selection.row(0, named=True)
        assert (row["model"], row["margin"]) == ("win-stay-lose-shift", None)
        assert row["verdict"] == "the only one possible"
        assert found.learners["smallest_margin"].to_list() == [None]
    found = hl.select(study, models[1:], ["aic"]).selection.row(0, named=True)
    assert (found["margin"], found["verdict"]) == (None, "no better than a coin")
    shown = hl.select(study, models, ["aic"])
    assert any("only one model is possible" in str(part) for part in shown.summary())
