"""Cells with two parameters: never below a dense grid, in gain and loss form, and safe."""

from __future__ import annotations

import numpy as np
import pytest

from howlearn.core.partition import Partition
from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
from howlearn.engine.cell_fits import Passes, fit_units
from howlearn.engine.layout import RATES, Statuses, lay_out
from howlearn.fitting.cells import block_of
from howlearn.fitting.fit import fit
from howlearn.models.partition_model import PartitionModel
from howlearn.models.task import Task
from howlearn.simulation.simulate import simulate
from oracle import Trial, log_likelihood
from studies import study_of, trials_of

TASK = Task.load("five-four")
UNITS = [[[*range(9)]], [[0]], [[0, 1, 2, 3]], [[k] for k in range(9)]]


def shortfall(study, rule, units, etas, gammas):
    """How far the fit lies below the highest point of a dense grid: [learner, unit]."""
    marks = np.diff(study.starts)[:, None]
    layout = lay_out(units, len(study.contexts))
    passes = Passes.prepare(block_of(study, rule, marks), layout, rule)
    found = fit_units(passes.block, passes.units, rule)
    best = np.full(found.value.shape, -np.inf)
    for gamma in gammas:
        for k in range(0, len(etas), RATES):
            points = np.stack([etas[k : k + RATES], np.full(RATES, gamma)])
            best = np.maximum(best, passes.grid(points).max(axis=-1))
    return (best - found.value)[:, 0]


def grids(rule):
    """Even in u, as the fit's own nodes are, and even in the parameters."""
    first, second = rule.parameters
    yield (
        first.at(np.linspace(0.0, first.end, 8 * RATES)),
        second.at(np.linspace(0.0, second.end, 20)),
    )
    yield np.linspace(0.0, first.upper, 8 * RATES), np.linspace(0.0, second.upper, 20)


@pytest.mark.parametrize("form", ["gain", "loss"])
@pytest.mark.parametrize("truth", ["exp3-ix", "exp3", "gradient"])
@pytest.mark.parametrize("cells", ["all", "each"])
def test_no_grid_is_higher(form, truth, cells):
    own = {"exp3-ix": Exp3IX, "exp3": Exp3, "gradient": GradientBandit}[truth](form)
    partition = getattr(Partition, cells)(TASK.contexts)
    model = PartitionModel("truth", partition, own)
    values = {"eta": [0.01, 0.03, 0.1, 0.3], "gamma": [0.0, 0.02, 0.1, 0.5]}
    theta = np.array([[values[p.name][i] for _, p in model.owned] for i in range(4)])
    study = simulate(TASK, model, theta, trials=300, seed=8)
    for max_rate in (1.0, 5.0):
        rule = Exp3IX(form, max_rate)
        for etas, gammas in grids(rule):
            assert shortfall(study, rule, UNITS, etas, gammas).max() <= 1e-6


def noisy(rng, form):
    """Rewards by chance, so that losses never stop."""
    n, k = 200, int(rng.integers(2, 4))
    context, action = rng.integers(0, 2, n), rng.integers(0, k, n)
    chance = rng.random((2, k))
    reward = (rng.random(n) < chance[context, action]).astype(float)
    trials = [("xy"[c], int(a), float(r)) for c, a, r in zip(context, action, reward, strict=True)]
    return trials, k


@pytest.mark.parametrize("form", ["gain", "loss"])
@pytest.mark.parametrize("seed", range(4))
def test_no_grid_is_higher_on_any_record(form, seed):
    rng = np.random.default_rng(seed)
    trials, k = noisy(rng, form)
    study = study_of([Trial(c, a, r) for c, a, r in trials], n_actions=k)
    rule = Exp3IX(form)
    for etas, gammas in grids(rule):
        assert shortfall(study, rule, [[[0, 1]], [[0]]], etas, gammas).max() <= 1e-6


@pytest.mark.parametrize("form", ["gain", "loss"])
@pytest.mark.parametrize("seed", range(6))
def test_no_grid_is_higher_for_a_learner_who_repeats_himself(form, seed):
    """Choices that have little to do with the rewards make ridges at a small γ."""
    rng = np.random.default_rng(seed)
    n, k = 200, 2 + seed % 2
    context, chance = rng.integers(0, 2, n), rng.random((2, k))
    action = rng.integers(0, k, n)
    for t in range(1, n):
        action[t] = action[t - 1] if rng.random() < 0.9 else action[t]
    trials = [
        Trial("xy"[c], int(a), float(chance[c, a])) for c, a in zip(context, action, strict=True)
    ]
    study = study_of(trials, n_actions=k)
    for max_rate in (1.0, 5.0):
        rule = Exp3IX(form, max_rate)
        for etas, gammas in grids(rule):
            assert shortfall(study, rule, [[[0, 1]]], etas, gammas).max() <= 1e-6


@pytest.mark.parametrize("form", ["gain", "loss"])
def test_values_are_those_of_the_plain_replay_however_improbable(form):
    """A learner who does everything against the model, whose probabilities underflow."""
    pattern = [(0, 1.0)] * 60 + [(1, 0.0)] * 40 + [(1, 1.0), (0, 0.0)] * 30
    study = study_of([Trial("x", a, r) for a, r in pattern])
    model = PartitionModel("cell", Partition.all(("x",)), Exp3IX(form))
    fits = fit(study, [model], [0.3, 0.6, 1.0])
    part = fits.of["cell"]
    assert np.isfinite(part.log_likelihood).all()
    assert np.isfinite(part.rest).all()
    for j, n in enumerate((48, 96, 160)):
        point = tuple(part.theta[0, j])
        plain = log_likelihood(trials_of(study), [["x"]], "exp3-ix", [point], form, stop=n)
        assert part.log_likelihood[0, j] == pytest.approx(plain, abs=1e-8)


def test_a_loss_landscape_of_cliffs_is_called_unstable():
    """Seed 5: a learner for whom nine objects in one cell never stop losing."""
    model = PartitionModel("cell", Partition.all(TASK.contexts), Exp3IX("loss"))
    study = simulate(TASK, model, np.array([[0.1, 0.1], [0.3, 0.1]]), trials=500, seed=5)
    part = fit(study, [model]).of["cell"]
    assert np.all(part.log_likelihood > -500 * np.log(2) - 1e-9)
    assert (part.status[:, 0] == Statuses.UNSTABLE).any()
