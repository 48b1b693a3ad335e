"""Parameters: values, values of cells, ranges that learners draw from, and arrays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3IX, GradientBandit
from howlearn.core.study import Study
from howlearn.models.coin import Coin
from howlearn.models.task import Task
from howlearn.models.values import Range, defaults, drawn, parameter_values
from howlearn.simulation.simulate import play, simulate, stage_for
from studies import model_of

TASK = Task.load("five-four")
LARGE = range(4000)


def same(one: Study, other: Study) -> bool:
    names = ("starts", "context", "action", "reward", "scored", "learned", "reset")
    return all(getattr(one, n).tobytes() == getattr(other, n).tobytes() for n in names)


def simulated(parameters, model="ByShape", **kwargs) -> Study:
    return simulate(TASK, model, parameters, **{"learners": 6, "trials": 90, "seed": 3, **kwargs})


def test_a_range_of_no_width_is_the_value():
    assert same(simulated({"eta": Range(0.07, 0.07)}), simulated({"eta": 0.07}))
    assert same(simulated({"eta": [0.2, Range(0.07, 0.07)]}), simulated({"eta": [0.2, 0.07]}))
    assert not same(simulated({"eta": Range(0.07, 0.9)}), simulated({"eta": 0.07}))


def test_one_learners_parameters_do_not_depend_on_the_others():
    values = [Range(0.01, 0.1), 0.5, Range(0.2, 0.9)]
    whole = drawn(values, range(20), (3,))
    np.testing.assert_array_equal(drawn(values, range(7, 12), (3,)), whole[7:12])
    assert len(np.unique(whole[:, 0])) == 20
    assert not np.array_equal(drawn(values, range(20), (4,)), whole)


def test_a_range_leaves_the_other_parameters_draws_alone():
    alone = drawn([0.5, Range(0.2, 0.9)], range(9), (3,))
    both = drawn([Range(0.01, 0.1), Range(0.2, 0.9)], range(9), (3,))
    np.testing.assert_array_equal(alone[:, 1], both[:, 1])


def test_draws_are_even_on_the_log_scale_and_cells_are_independent():
    """Kolmogorov-Smirnov and rank correlation, 4 tests: a false alarm once in 10,000 each."""
    theta = drawn([Range(0.003, 0.9)] * 2, LARGE, (1,))
    assert theta.min() >= 0.003
    assert theta.max() <= 0.9
    share = np.log(theta / 0.003) / np.log(0.9 / 0.003)
    for k in range(2):
        assert stats.kstest(share[:, k], "uniform").pvalue > 1e-4
        assert stats.kstest(theta[:, k], stats.uniform(0.003, 0.897).cdf).pvalue < 1e-20
    assert stats.spearmanr(theta[:, 0], theta[:, 1]).pvalue > 1e-4
    from_zero = drawn([Range(0.0, 0.5)], LARGE, (1,))[:, 0]
    assert stats.kstest(2 * from_zero, "uniform").pvalue > 1e-4


def test_draws_of_parameters_tell_nothing_about_the_draws_of_choices():
    """First choices are fair coins whatever the rate; Mann-Whitney, one false alarm in 10,000."""
    study = simulated({"eta": Range(0.01, 1.0)}, learners=4000, trials=1)
    eta = drawn([Range(0.01, 1.0)] * 2, LARGE, (3,))[:, 0]
    assert stats.mannwhitneyu(eta[study.action == 0], eta[study.action == 1]).pvalue > 1e-4


def test_ends_are_exact():
    for lower, upper in ((0.003, 0.059), (0.01, 1.0), (0.007, 0.7), (0.0, 0.3), (0.3, 0.3)):
        ends = Range(lower, upper).at(np.array([0.0, 1.0]))
        assert ends[0] == lower
        assert ends[1] <= upper
        assert ends[1] == pytest.approx(upper)


def test_learners_follow_what_they_drew():
    theta = drawn([Range(0.01, 1.0), 0.3], range(5), (3,))
    given = simulated(theta, learners=None)
    assert same(given, simulated({"eta": [Range(0.01, 1.0), 0.3]}, learners=5))


# Arrays


def test_an_array_gives_every_learner_its_own():
    theta = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    study = simulated(theta, learners=None)
    assert len(study) == 3
    for i in range(3):
        alone = play(stage_for(TASK, "ByShape", 90), {"eta": theta[i].tolist()}, [i], 3)
        np.testing.assert_array_equal(study[i].action, alone.action)


def test_arrays_of_whole_numbers_and_arrays_of_cells():
    assert same(simulated(np.ones((6, 2), int)), simulated({"eta": 1.0}))
    assert same(simulated({"eta": np.array([0.1, 0.2])}), simulated({"eta": [0.1, 0.2]}))


def test_an_array_in_the_order_of_the_parameters():
    model = model_of([TASK.contexts[:4], TASK.contexts[4:]], Exp3IX())
    theta = np.tile([0.1, 0.5, 0.2, 0.6], (6, 1))
    assert same(simulated(theta, model), simulated({"eta": [0.1, 0.2], "gamma": [0.5, 0.6]}, model))


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        (np.array([0.1, 0.2]), r"array of \[learner, parameter\] has 2 columns; .* shape \(2,\)"),
        (np.full((6, 3), 0.1), r"has 2 parameters, .* shape \(6, 3\)"),
        (np.full((5, 2), 0.1), "there are parameters for 5 learners, not for 6"),
        (np.full((6, 2), np.nan), r"eta of cell 1\+2\+7\+8 must lie between 0 and 1, got nan"),
        (np.tile([0.1, 1.5], (6, 1)), r"eta of cell 11\+.* between 0 and 1, got 1.5"),
        (np.tile([0.1, -0.5], (6, 1)), "got -0.5"),
    ],
)
def test_arrays_that_cannot_be(theta, message):
    with pytest.raises(HowlearnError, match=message):
        simulated(theta)


# What cannot be


@pytest.mark.parametrize(("lower", "upper"), [(0.2, 0.1), (float("nan"), 1.0), (0.1, float("nan"))])
def test_ranges_that_are_none(lower, upper):
    with pytest.raises(HowlearnError, match=r"from its lower to its upper end, as 0\.01:0\.1, got"):
        Range(lower, upper)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Range(0.1, 1.1), "must lie between 0 and 1, got 1.1"),
        (Range(-0.1, 1.0), "must lie between 0 and 1, got -0.1"),
        (Range(0.1, float("inf")), "got inf"),
        ([0.1, Range(0.1, 2.0)], r"eta of cell 11\+12\+13\+14\+15 must .* got 2"),
        ([], "needs one value, or 2, one per cell .* given: 0"),
    ],
)
def test_values_out_of_bounds(value, message):
    with pytest.raises(HowlearnError, match=message):
        simulated({"eta": value})


def test_bounds_are_those_of_the_rule():
    model = model_of([TASK.contexts], GradientBandit(max_rate=3.0))
    assert parameter_values(model, {"eta": 3.0}, TASK.actions) == [3.0]
    with pytest.raises(HowlearnError, match=r"between 0 and 3, got 3\.5"):
        parameter_values(model, {"eta": Range(1.0, 3.5)}, TASK.actions)


def test_ranges_of_a_coin():
    values = parameter_values(Coin(), {"p(A)": Range(0.1, 0.4), "p(B)": 0.6}, "ABC")
    assert values == [Range(0.1, 0.4), 0.6]
    with pytest.raises(HowlearnError, match="add up to at most 1"):
        parameter_values(Coin(), {"p(A)": Range(0.1, 0.5), "p(B)": 0.6}, "ABC")


def test_defaults_are_values_that_can_be_simulated():
    ix = model_of([TASK.contexts[:4], TASK.contexts[4:]], Exp3IX())
    for model in (*TASK.models, ix, Coin()):
        values = parameter_values(model, defaults(model, TASK.actions), TASK.actions)
        assert len(values) == model.n_parameters(2)
    assert defaults(Coin(), "ABCD") == {f"p({a})": [0.25] for a in "ABC"}
