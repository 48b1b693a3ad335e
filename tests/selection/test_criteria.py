"""The criteria: their formulas, and one text for option, table and Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from howlearn.analyses.check import select
from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3IX, GradientBandit
from howlearn.fitting.fit import fit
from howlearn.models.coin import Coin
from howlearn.models.task import Task
from howlearn.selection.criteria import AIC, BIC, DEFAULT, HoldOut, Penalized, criterion_named
from howlearn.simulation.simulate import simulate
from studies import model_of, random_trials, study_of

CELLS = [["x"], ["y"]]
LENGTHS = (31, 60)


@pytest.fixture(scope="module")
def learners():
    return [random_trials(i, n, flags=True, better=0.7) for i, n in enumerate(LENGTHS)]


@pytest.fixture(scope="module")
def fits(learners):
    models = [
        model_of(CELLS, GradientBandit(), name="each"),
        model_of(CELLS, GradientBandit(), "shared", name="one rate"),
        model_of(CELLS, Exp3IX(), name="two parameters"),
        Coin(),
    ]
    return fit(study_of(*learners), models, [0.3, 0.5, 1.0])


@pytest.mark.parametrize(
    ("criterion", "price"),
    [
        (AIC(), lambda n: 1.0),
        (BIC(), lambda n: math.log(n) / 2),
        (Penalized(), lambda n: 0.012 * math.log(n) ** 2),
        (Penalized(c=0.5), lambda n: 0.5 * math.log(n) ** 2),
        (Penalized(c=0.0), lambda n: 0.0),
    ],
    ids=["aic", "bic", "penalized", "dear", "free"],
)
def test_a_price_per_parameter(fits, learners, criterion, price):
    """n is the learner's own number of scored trials; D counts parameters, not cells."""
    scores = criterion.scores(fits)
    for i, trials in enumerate(learners):
        n = sum(t.scored for t in trials)
        assert scores.n_trials[i] == n < len(trials)
        assert scores.penalty[i] == pytest.approx([price(n) * d for d in (2, 1, 4, 1)])
    np.testing.assert_array_equal(scores.log_likelihood, fits.log_likelihood(1.0))
    np.testing.assert_array_equal(scores.score, scores.log_likelihood - scores.penalty)


@pytest.mark.parametrize("split", [0.3, 0.5])
def test_hold_out_is_the_oracles_continuation(fits, learners, split):
    """The first ⌊split·n⌋ scored trials train; then the state is carried on."""
    scores = HoldOut(split).scores(fits)
    for i, trials in enumerate(learners):
        n = sum(t.scored for t in trials)
        size = math.floor(split * n + 1e-9)
        assert scores.n_trials[i] == n - size
        stop = oracle.mark_of(trials, size)
        assert sum(t.scored for t in trials[:stop]) == size
        for k, (name, rule) in enumerate((("each", "gradient"), ("two parameters", "exp3-ix"))):
            theta = fits.of[name].theta[i, fits.at(split)]
            points = theta.reshape(2, -1).tolist()
            whole = oracle.log_likelihood(trials, CELLS, rule, points)
            train = oracle.log_likelihood(trials, CELLS, rule, points, stop=stop)
            assert scores.score[i, 2 * k] == pytest.approx(whole - train, abs=1e-8)
    assert not scores.penalty.any()


@pytest.mark.parametrize(
    ("n", "split", "size"),
    [(10, 0.3, 3), (7, 0.5, 3), (119, 0.5, 59), (100, 0.29, 29), (3, 0.1, 0)],
)
def test_where_the_split_falls(n, split, size):
    """0.29·100 lies just below 29 in floating point; a training set may be empty."""
    study = study_of(random_trials(1, n))
    fits = fit(study, [model_of(CELLS, GradientBandit())], [split])
    assert fits.sizes.tolist() == [[size]]
    scores = HoldOut(split).scores(fits)
    assert scores.n_trials.tolist() == [n - size]
    assert np.isfinite(scores.score).all()


def test_an_empty_training_set_uses_the_default():
    trials = random_trials(1, 3)
    study = study_of(trials, contexts=("x", "y"))
    fits = fit(study, [model_of(CELLS, GradientBandit())], [0.1])
    expected = oracle.log_likelihood(trials, CELLS, "gradient", [(0.03,)] * 2)
    assert HoldOut(0.1).scores(fits).score[0, 0] == pytest.approx(expected, abs=1e-12)


# Texts


@pytest.mark.parametrize(
    ("text", "criterion"),
    [
        ("penalized(c=0.012)", Penalized()),
        ("penalized", Penalized()),
        (" holdout(split = 0.25) ", HoldOut(0.25)),
        ("holdout()", HoldOut()),
        ("aic", AIC()),
        ("bic()", BIC()),
        ("penalized(c=1)", Penalized(1.0)),
        ("penalized(c=1e-3)", Penalized(0.001)),
    ],
)
def test_a_criterion_by_its_text(text, criterion):
    assert criterion_named(text) == criterion
    assert criterion_named(repr(criterion)) == criterion


@given(st.floats(0.0, 1e300))
def test_any_c_comes_back_from_its_text(c):
    """Also with more digits than are usual: two criteria never look the same in a table."""
    assert criterion_named(repr(Penalized(c))) == Penalized(c)
    assert Penalized(c).key == f"penalized_{repr(Penalized(c))[len('penalized(c=') : -1]}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dic",
        "penalized(1, 2, 3)",
        "penalized(d=1)",
        "holdout(split=half)",
        "holdout(split='half')",
        "aic(c=1)",
        "penalized(c=0.012",
        "__import__('os').getcwd()",
        "penalized(**{'c': 1})",
    ],
)
def test_a_text_that_names_no_criterion(text):
    with pytest.raises(HowlearnError) as error:
        criterion_named(text)
    assert str(error.value) == (
        f"there is no criterion {text!r}; the criteria are population(per_model=true), evidence, "
        "penalized(c=0.012, stop_at=150), holdout(split=0.5), "
        "prequential(blocks=5, start=0.5), aic, bic, likelihood(trials=20)"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("holdout(split=0)", "the split must lie between 0 and 1, got 0"),
        ("holdout(split=1)", "the split must lie between 0 and 1, got 1"),
        ("penalized(c=-1)", "c must be 0 or greater, got -1"),
        ("penalized(c=1e999)", "c must be 0 or greater, got inf"),
    ],
)
def test_a_value_that_a_criterion_cannot_have(text, message):
    with pytest.raises(HowlearnError) as error:
        criterion_named(text)
    assert str(error.value) == f"criterion {text!r}: {message}"


def test_the_criteria_when_none_is_named():
    assert list(map(repr, DEFAULT)) == ["penalized(c=0.012)", "holdout(split=0.5)", "aic"]
    assert [c.key for c in DEFAULT] == ["penalized_0.012", "holdout_0.5", "aic"]


def test_the_likelihood_of_one_trial():
    task = Task.load("five-four")
    study = simulate(task, "ByShape", {"eta": 0.1}, 2, 20, seed=1)
    scores = select(study, task.models, ["likelihood(trials=1)", "aic"]).scores
    short = scores.filter(criterion="likelihood(trials=1)")
    assert set(short["n_trials"]) == {1}
    assert short["log_likelihood"].to_numpy() == pytest.approx(np.full(12, -np.log(2)))
