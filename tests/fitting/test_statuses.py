"""How a fit ended: every status provoked, and what is used where the data say nothing."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from howlearn.analyses.check import select
from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
from howlearn.fitting.counts import floored
from howlearn.fitting.fit import fit
from howlearn.fitting.fits import STATUS_WORDS, STATUSES
from howlearn.models.coin import Coin
from oracle import Trial
from studies import model_of, random_trials, study_of


def run(text, context="x"):
    """``A+ B-``: first action with reward 1, second with reward 0."""
    return [Trial(context, "AB".index(word[0]), float(word[1] == "+")) for word in text.split()]


LEARNS = "A+ B- A+ A+ B- A+ A+ A+ B- A+ A+"
AVOIDS = "A+ B+ " * 6  # every reward is followed by the other action
KEEPS = "A+ " * 8


def statuses(part, learner=0, mark=0):
    return [STATUS_WORDS[int(code)] for code in part.status[learner, mark]]


def test_every_status_has_a_word_and_a_sentence():
    assert list(STATUS_WORDS.values()) == list(STATUSES)


@pytest.mark.parametrize("rates", ["per-cell", "shared"])
@pytest.mark.parametrize(
    ("text", "status", "estimate"),
    [
        (LEARNS, "ok", None),
        (AVOIDS, "at lower bound", 0.0),
        (KEEPS, "at upper bound", 1.0),
        ("A- B- A- A- B-", "flat", 0.03),
        ("A- B- A- A- B+", "flat", 0.03),  # the last reward moves nothing that is seen
        ("A+", "flat", 0.03),
    ],
)
def test_one_parameter(text, status, estimate, rates):
    part = fit(study_of(run(text)), [model_of([["x"]], GradientBandit(), rates)]).of["m"]
    assert statuses(part) == [status]
    if estimate is None:
        assert 0.01 < part.theta[0, 0, 0] < 0.99
    else:
        assert part.theta[0, 0, 0] == estimate
    if status == "flat":
        assert part.log_likelihood[0, 0] == pytest.approx(len(text.split()) * np.log(0.5))


@pytest.mark.parametrize(
    ("text", "words", "estimates"),
    [
        (AVOIDS, ["at lower bound", "flat"], [0.0, 0.03]),  # a rate of 0: gamma has no effect
        ("A- B- A-", ["flat", "flat"], [0.03, 0.03]),
        (KEEPS, ["at upper bound", "at lower bound"], [1.0, 0.0]),
    ],
)
def test_two_parameters(text, words, estimates):
    part = fit(study_of(run(text)), [model_of([["x"]], Exp3IX())]).of["m"]
    assert statuses(part) == words
    assert part.theta[0, 0].tolist() == estimates


def test_a_largest_rate_below_the_default():
    part = fit(study_of(run("A- B-")), [model_of([["x"]], GradientBandit(max_rate=0.01))]).of["m"]
    assert part.theta[0, 0, 0] == 0.01


@pytest.mark.parametrize("rule", [GradientBandit(), Exp3(), Exp3IX()], ids=repr)
def test_a_cell_that_is_not_in_the_trials_fitted(rule):
    """It takes the rate of the informed cells and starts uniform: the rest is the oracle's."""
    trials = run(LEARNS, "x") + run("B+ A- B+ A- B+ B+", "y") + run("A- A- A+", "z")
    later = run("A+ B-", "x") + run("A+ B- A+ A+", "w") + run("A+ A+ B-", "z")
    cells = [["x"], ["y"], ["z"], ["w"]]
    study = study_of(trials + later, contexts=["x", "y", "z", "w"])
    size = len(trials)
    part = fit(study, [model_of(cells, rule)], [size, 1.0]).of["m"]
    k = len(rule.parameters)
    words = [statuses(part)[c * k : c * k + k] for c in range(4)]
    assert not {"flat", "unseen"} & set(words[0] + words[1])
    assert words[2:] == [["flat"] * k, ["unseen"] * k]
    points = part.theta[0, 0].reshape(4, k)
    mean = points[:2].mean(axis=0)
    assert points[2] == pytest.approx(mean)
    assert points[3] == pytest.approx(mean)
    whole = oracle.log_likelihood(trials + later, cells, rule.name, points.tolist())
    fitted = oracle.log_likelihood(trials + later, cells, rule.name, points.tolist(), stop=size)
    assert part.log_likelihood[0, 0] == pytest.approx(fitted, abs=1e-8)
    assert part.rest[0, 0] == pytest.approx(whole - fitted, abs=1e-8)


def test_without_any_informed_cell_the_default_predicts():
    trials = run("A- B- A+ A+ A+ B-")
    part = fit(study_of(trials), [model_of([["x"]], GradientBandit())], [2]).of["m"]
    assert statuses(part) == ["flat"]
    whole = oracle.log_likelihood(trials, [["x"]], "gradient", [(0.03,)])
    assert part.rest[0, 0] == pytest.approx(whole - 2 * np.log(0.5), abs=1e-12)


def test_the_mean_is_of_cells_at_their_bounds_too():
    """0 and 1 are estimates like others; only flat and unseen cells are left out of it."""
    trials = run(AVOIDS, "x") + run(KEEPS, "y") + run("A-", "z")
    part = fit(study_of(trials), [model_of([["x"], ["y"], ["z"]], GradientBandit())]).of["m"]
    assert statuses(part) == ["at lower bound", "at upper bound", "flat"]
    assert part.theta[0, 0].tolist() == [0.0, 1.0, 0.5]


def test_a_cell_without_trials_of_its_learner_costs_no_parameter():
    """The other learner met it."""
    study = study_of(run(LEARNS, "x"), run(LEARNS, "x") + run(LEARNS, "y"))
    fits = fit(study, [model_of([["x"], ["y"]], GradientBandit()), Coin()])
    assert fits.n_parameters.tolist() == [[1, 1], [2, 1]]
    assert statuses(fits.of["m"]) == ["ok", "unseen"]


def test_trials_that_teach_but_are_not_scored_hold_no_information():
    trials = [Trial("x", 0, 1.0, scored=False)] * 5 + run("A+", "y") + run("A+", "y")
    part = fit(study_of(trials), [model_of([["x"], ["y"]], GradientBandit())]).of["m"]
    assert statuses(part) == ["flat", "at upper bound"]


def test_capped_updates_are_reported():
    """After 800 rewards at rate 1 the other action has probability e^−800; Exp3 divides by it."""
    trials = run("A+ " * 800) + run("B+ A+ B+")
    model = model_of([["x"]], Exp3())
    part = fit(study_of(trials), [model], [800, 1.0]).of["m"]
    assert statuses(part, mark=0) == ["capped"]
    assert statuses(part, mark=1) != ["capped"]
    assert np.all(np.isfinite(part.rest))


def test_statuses_stand_in_the_table_of_estimates():
    trials = run(LEARNS, "x") + run("A-", "y")
    frame = select(study_of(trials), [model_of([["x"], ["y"]], GradientBandit())]).estimates
    full = frame.filter(frame["trials_fitted"] == len(trials))
    assert full["status"].to_list() == ["ok", "flat"]


# Coin


def test_a_coin_is_the_frequency():
    trials = random_trials(3, 40, n_actions=3, flags=True)
    study = study_of(trials, n_actions=3)
    fits = fit(study, [Coin()], [10, 1.0])
    part = fits.of["Coin"]
    scored = [t.action for t in trials if t.scored]
    for j, n in enumerate((10, len(scored))):
        p = [scored[:n].count(a) / n for a in range(3)]
        assert part.theta[0, j] == pytest.approx(p[:2])
        assert part.log_likelihood[0, j] == pytest.approx(sum(np.log(p[a]) for a in scored[:n]))
        assert part.rest[0, j] == pytest.approx(sum(np.log(p[a]) for a in scored[n:]))
    assert part.parameters == ("p(A)", "p(B)")


def test_a_coin_never_gives_probability_0():
    """Its floor for two actions is 1e-3: a choice unseen in training costs log 1000, not ∞."""
    part = fit(study_of(run("A+ A+ A+ A+ B+")), [Coin()], [4]).of["Coin"]
    assert part.theta[0, 0] == pytest.approx([0.999])
    assert statuses(part) == ["at upper bound"]
    assert part.rest[0, 0] == pytest.approx(np.log(0.001))
    part = fit(study_of(run("B+ B+ A+")), [Coin()], [2]).of["Coin"]
    assert statuses(part) == ["at lower bound"]


def test_many_actions_have_a_lower_floor():
    assert [Coin.floor(k) for k in (2, 100, 1000)] == [1e-3, 1e-3, 1e-4]


@pytest.mark.parametrize("counts", [(9, 1, 0), (5, 5, 5), (100, 1, 1), (0, 0, 3), (7, 1, 1)])
def test_floored_frequencies_are_the_maximum(counts):
    """Against every point of a fine grid of the simplex above the floor."""
    floor, steps = 0.1, 140
    best = -np.inf
    for i in range(steps + 1):
        for j in range(steps + 1 - i):
            p = floor + 0.7 * np.array([i, j, steps - i - j]) / steps
            best = max(best, float(np.dot(counts, np.log(p))))
    p = floored(np.array([counts], float), floor)[0]
    assert p.sum() == pytest.approx(1.0, abs=1e-14)
    assert p.min() >= floor - 1e-15
    assert best - 1e-9 <= np.dot(counts, np.log(p)) <= best + 0.01
