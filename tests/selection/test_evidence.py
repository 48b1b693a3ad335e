"""Evidence by quadrature, against plain Python and against numerical integration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from howlearn.analyses.check import select
from howlearn.core.arrays import log_sum
from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
from howlearn.fitting.fit import fit
from howlearn.models.coin import Coin
from howlearn.models.q_learning import QLearning
from howlearn.models.task import Task
from howlearn.selection.criteria import criterion_named, usual
from howlearn.selection.evidence import Evidence, log_evidence_alone, log_volume
from howlearn.selection.hierarchy import Hyper, RateGroup, groups_of
from howlearn.selection.rate_grid import SECOND, SPREADS, curves_of, log_rates, plan_of
from howlearn.simulation.simulate import simulate
from oracle import log_likelihood
from populations import slow_log_evidence
from studies import model_of, random_trials, study_of, trials_of

ONE = model_of([["x", "y"]], GradientBandit(), name="one")
TWO = model_of([["x"], ["y"]], GradientBandit(), name="two")
Curve = list[float]


@pytest.fixture(scope="module")
def study():
    return study_of(*(random_trials(i, 30 + 10 * i, better=0.8) for i in range(2)))


def normal(points: Curve, mean: float, spread: float) -> Curve:
    """Normalised on the points."""
    found = [math.exp(-0.5 * ((p - mean) / spread) ** 2) for p in points]
    return [f / sum(found) for f in found]


def given_effect(curves: list[Curve], x: Curve, a: float, s: float) -> float:
    """Π over cells of Σ_g N(log η_g; a, s²) e^ℓ, as SPEC 10.e has it."""
    kernel = normal(x, a, s)
    return math.prod(
        sum(k * math.exp(value) for k, value in zip(kernel, curve, strict=True)) for curve in curves
    )


def by_oracle(study, learner: int, model, x: Curve) -> list[Curve]:
    """Likelihoods of the cells of a model at every rate, in plain Python."""
    trials, found = trials_of(study, learner), []
    for cell in model.partition.cells:
        mine = [t for t in trials if t.context in cell]
        found.append([_value(mine, cell, math.exp(v)) for v in x])
    return found


def _value(trials, cell, eta: float) -> float:
    return log_likelihood(trials, [cell], "gradient", [(eta,)])


def group_of(study, models) -> RateGroup:
    curves = curves_of(study, plan_of(models, study))
    return groups_of(models, range(len(models)), curves)[0]


@pytest.mark.parametrize("hyper", [Hyper(-3.0, 0.5, 0.3), Hyper(-1.0, 2.0, 0.1)])
def test_the_hierarchy_is_the_sum_that_defines_it(study, hyper):
    group = group_of(study, [ONE, TWO])
    x = group.curves.nodes[GradientBandit()].tolist()
    effects = group.effects.tolist()
    found = slow_log_evidence(group, hyper)
    for k, model in enumerate((ONE, TWO)):
        curves = by_oracle(study, 1, model, x)
        prior = normal(effects, hyper.mu, hyper.tau)
        total = sum(
            p * given_effect(curves, x, a, hyper.s) for a, p in zip(effects, prior, strict=True)
        )
        assert found[1, k] == pytest.approx(math.log(total), abs=1e-9)


def test_one_learner_alone_is_the_average_over_spreads(study):
    group = group_of(study, [TWO])
    x, effects = group.curves.nodes[GradientBandit()].tolist(), group.effects.tolist()
    curves = by_oracle(study, 0, TWO, x)
    terms = [given_effect(curves, x, a, s) for a in effects for s in SPREADS]
    assert log_evidence_alone(group)[0, 0] == pytest.approx(math.log(np.mean(terms)), abs=1e-9)
    criterion = select(study, [TWO], [Evidence()]).choices[0].scores
    assert criterion.log_likelihood[0, 0] == pytest.approx(math.log(np.mean(terms)), abs=1e-9)


def test_independent_cells_are_a_product(study):
    group = group_of(study, [TWO])
    x = group.curves.nodes[GradientBandit()].tolist()
    curves = by_oracle(study, 0, TWO, x)
    found = slow_log_evidence(group, Hyper(-2.0, 0.0, 0.7))
    assert found[0, 0] == pytest.approx(math.log(given_effect(curves, x, -2.0, 0.7)), abs=1e-9)


def test_a_finer_grid_changes_nothing(study):
    """Spacing 0.05 for a spread of 0.1: the sum is the integral."""
    coarse = group_of(study, [ONE, TWO])
    x = np.linspace(*coarse.curves.nodes[GradientBandit()][[0, -1]], 5001)
    a = np.linspace(x[0], x[-1], 1501)
    hyper = Hyper(-3.0, 1.0, 0.1)
    curve = np.interp(x, coarse.curves.nodes[GradientBandit()], by_oracle(
        study, 0, ONE, coarse.curves.nodes[GradientBandit()].tolist())[0])  # fmt: skip
    kernel = np.exp(-0.5 * ((x[None] - a[:, None]) / hyper.s) ** 2)
    kernel /= kernel.sum(axis=1, keepdims=True)
    prior = np.exp(-0.5 * ((a - hyper.mu) / hyper.tau) ** 2)
    expected = np.log((prior / prior.sum()) @ (kernel @ np.exp(curve)))
    assert slow_log_evidence(coarse, hyper)[0, 0] == pytest.approx(expected, abs=0.003)


def test_effects_far_from_everything_do_not_underflow():
    """2,000 trials that all speak for one rate: other learner effects are e^-1000 as probable."""
    task = Task.load("five-four")
    study = simulate(task, "OneForAll", {"eta": 0.9}, learners=1, trials=4000, seed=3)
    group = group_of(study, list(task.models))
    for spread in (0.1, 1.0):
        found = slow_log_evidence(group, Hyper(-9.0, 0.1, spread))
        assert np.all(np.isfinite(found))
        assert np.all(found <= slow_log_evidence(group, Hyper(-0.1, 0.1, spread)).max() + 1e-9)


def test_cells_never_met_change_nothing():
    trials = random_trials(5, 60, contexts=("x",), better=0.8)
    study = study_of(trials, contexts=["x", "y"])
    scores = select(study, [ONE, TWO], [Evidence()]).choices[0].scores
    assert scores.log_likelihood[0, 0] == pytest.approx(scores.log_likelihood[0, 1], abs=1e-9)


def test_a_second_parameter_is_averaged(study):
    rule = Exp3IX()
    model = model_of([["x", "y"]], rule, name="ix")
    group = group_of(study, [model])
    x = group.curves.nodes[rule]
    second = rule.parameters[1]
    middles = second.at(np.linspace(0.0, second.end, 2 * SECOND + 1)[1::2])
    trials = trials_of(study, 0)
    for node in (20, 100, 180):
        values = [
            log_likelihood(trials, [["x", "y"]], "exp3-ix", [(math.exp(x[node]), float(gamma))])
            for gamma in middles
        ]
        expected = np.logaddexp.reduce(values) - math.log(SECOND)
        assert group.curves.values[rule][0, 0, node] == pytest.approx(expected, abs=1e-9)


def test_models_of_different_rules_have_groups_of_their_own(study):
    models = [ONE, TWO, model_of([["x"], ["y"]], Exp3(), name="exp3")]
    curves = curves_of(study, plan_of(models, study))
    groups = groups_of(models, range(3), curves)
    assert [group.columns for group in groups] == [(0, 1), (2,)]


def test_probabilities_are_those_of_equally_common_models(study):
    scores = select(study, [ONE, TWO, Coin()], [Evidence()]).scores
    for _, rows in scores.group_by("learner"):
        weights = np.exp(rows["score"].to_numpy() - rows["score"].max())
        assert rows["probability"].to_numpy() == pytest.approx(weights / weights.sum())


def test_the_evidence_of_a_coin_is_exact(study):
    scores = select(study, [ONE, Coin()], [Evidence()]).choices[0].scores
    trials = trials_of(study, 0)
    first = sum(t.action == 0 for t in trials)
    n = len(trials)
    p = np.linspace(0, 1, 200_001)[1:-1]
    integral = np.mean(np.exp(first * np.log(p) + (n - first) * np.log1p(-p)))
    assert scores.log_likelihood[0, 1] == pytest.approx(np.log(integral), abs=1e-4)


# Laplace's approximation


def test_laplace_of_a_normal_is_exact():
    def values(u):
        x, y = u.T
        return -0.5 * ((x - 3) / 0.1) ** 2 - 0.5 * ((y - 2 - 0.5 * (x - 3)) / 0.2) ** 2

    found = log_volume(values, np.array([3.0, 2.0]), np.array([6.0, 5.0]))
    assert found == pytest.approx(np.log(2 * np.pi * 0.1 * 0.2 / 30.0), abs=1e-6)


def test_laplace_at_a_bound_counts_the_slope():
    found = log_volume(lambda u: -50.0 * u[:, 0], np.array([0.0]), np.array([2.0]))
    assert found == pytest.approx(np.log(1 / 50.0 / 2.0), abs=1e-3)


def test_what_says_nothing_has_the_whole_range():
    assert log_volume(lambda u: np.zeros(len(u)), np.array([1.0]), np.array([2.0])) == 0.0
    assert log_volume(lambda u: np.zeros(len(u)), np.array([0.0]), np.array([2.0])) == 0.0


def test_a_model_without_a_grid_competes_by_laplace():
    """Against an integral on a grid of both parameters, even in the scale of the search."""
    study = study_of(random_trials(3, 150, better=0.9))
    model = QLearning()
    found = select(study, [model, ONE], [Evidence()]).choices[0].scores.log_likelihood[0, 0]
    parameters = [p for _, p in model.owners(study.actions)]
    axes = [p.at(np.linspace(0, p.end, 42)[:-1] + p.end / 82) for p in parameters]
    from howlearn.fitting.replay import log_probabilities

    values = []
    for point in np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes)):
        log_p = log_probabilities(study, 0, model, point)
        values.append(log_p[np.arange(len(log_p)), study.action].sum())
    integral = float(log_sum(np.array(values))) - np.log(len(values))
    assert found == pytest.approx(integral, abs=1.0)  # an approximation
    assert found < fit(study, [model]).log_likelihood(1.0)[0, 0]


# The criterion


def test_texts():
    assert repr(criterion_named("evidence")) == "evidence"
    with pytest.raises(HowlearnError, match="there is no criterion 'evidence"):
        criterion_named("evidence(0.1)")
    assert [repr(c) for c in usual(3)] == ["evidence", "penalized(c=0.012)", "holdout(split=0.5)"]


def test_rates_go_up_to_the_bound_and_down_with_large_rewards():
    assert np.exp(log_rates(GradientBandit(max_rate=20))[-1]) == pytest.approx(20)
    assert np.exp(log_rates(GradientBandit(), 100.0)[0]) == pytest.approx(1e-6)
    for rate in (0.5, 1.0, 5.0, 20.0):
        x = log_rates(GradientBandit(max_rate=rate))
        assert len(x) % 64 == 0
        assert np.diff(x).max() <= 0.05
