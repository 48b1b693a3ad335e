"""Every rule, in both forms, with 2, 3 and 5 actions, runs every check: one list drives them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import oracle
from howlearn.core.errors import HowlearnError
from howlearn.core.rules import RULES, Exp3, Exp3IX, GradientBandit, rule_named
from howlearn.engine import compile as compiled
from howlearn.engine.cell_fits import Passes
from howlearn.engine.layout import LANES, RATES, lay_out
from howlearn.fitting.cells import block_of
from howlearn.fitting.replay import log_probabilities
from howlearn.models.task import Task
from howlearn.models.values import Reward
from howlearn.simulation.simulate import simulate
from studies import model_of, random_trials, study_of, trials_of

CELLS = [["x", "z"], ["y"]]
CONTEXTS = ("x", "y", "z")
# Two points per rule: one per cell of CELLS. A rule without points here fails the first test.
POINTS = {
    "gradient": [(0.7,), (0.2,)],
    "exp3": [(0.05,), (0.12,)],
    "exp3-ix": [(0.15, 0.05), (0.3, 0.4)],
}


@dataclass(frozen=True)
class Case:
    rule: GradientBandit | Exp3 | Exp3IX
    n_actions: int

    @property
    def points(self):
        return POINTS[self.rule.name]

    @property
    def theta(self):
        return np.array([value for point in self.points for value in point])

    @property
    def model(self):
        return model_of(CELLS, self.rule)

    def oracle(self, trials, reward_range=(0.0, 1.0)):
        return np.array(
            oracle.replay(
                trials,
                CELLS,
                self.rule.name,
                self.points,
                self.rule.form,
                self.n_actions,
                reward_range,
            )
        )

    def study(self, *learners, **kwargs):
        return study_of(*learners, n_actions=self.n_actions, contexts=CONTEXTS, **kwargs)

    def trials(self, seed=1, n=40, **kwargs):
        rewards = kwargs.pop("rewards", (0.0, 0.3, 1.0))
        return random_trials(seed, n, CONTEXTS, self.n_actions, rewards, **kwargs)

    def passes(self, study):
        """The engine's passes, with the two cells as units 0 and 1 and their union as unit 2."""
        ends = np.diff(study.starts)[:, None]
        block = block_of(study, self.rule, np.hstack([ends // 2, ends]))
        code = {context: i for i, context in enumerate(CONTEXTS)}
        coded = [[code[c] for c in cell] for cell in CELLS]
        units = lay_out([[coded[0]], [coded[1]], coded], len(CONTEXTS))
        return Passes.prepare(block, units, self.rule)


CASES = [
    Case(rule(form), n_actions)
    for rule, form, n_actions in product(RULES.values(), ("gain", "loss"), (2, 3, 5))
]
each_case = pytest.mark.parametrize(
    "case", CASES, ids=[f"{c.rule.name}-{c.rule.form}-{c.n_actions}" for c in CASES]
)


def test_every_rule_is_on_the_list():
    assert set(POINTS) == set(RULES) == set(oracle.RULES)


@each_case
def test_replay_is_the_oracle(case):
    """Contexts share cells, some trials are not scored or not learned, and some restart."""
    for seed in range(3):
        trials = case.trials(seed, 80, flags=True)
        replayed = log_probabilities(case.study(trials), 0, case.model, case.theta)
        np.testing.assert_allclose(replayed, case.oracle(trials), rtol=0, atol=1e-11)


@each_case
def test_rewards_of_any_range(case):
    """The loss is (HI − reward)/(HI − LO); a gain is the reward as it stands."""
    trials = case.trials(4, 30, rewards=(-0.5, 0.5, 1.5))
    study = case.study(trials, reward_range=(-0.5, 1.5))
    replayed = log_probabilities(study, 0, case.model, case.theta)
    np.testing.assert_allclose(replayed, case.oracle(trials, (-0.5, 1.5)), rtol=0, atol=1e-10)


@each_case
def test_the_start_is_uniform_in_every_cell_and_after_a_reset(case):
    trials = case.trials(2, 30)
    trials[20] = replace(trials[20], reset=True)
    replayed = log_probabilities(case.study(trials), 0, case.model, case.theta)
    firsts = [
        next(t for t in range(start, 30) if trials[t].context in cell)
        for cell in CELLS
        for start in (0, 20)
    ]
    assert np.exp(replayed[firsts]) == pytest.approx(1 / case.n_actions, abs=1e-15)


@each_case
def test_probabilities_of_all_sequences_sum_to_one(case):
    """Rewards are a function of trial and action, as a learner would meet them."""
    rewards = np.random.default_rng(0).random((4, case.n_actions))
    learners = [
        [oracle.Trial("xyzx"[t], a, rewards[t, a]) for t, a in enumerate(sequence)]
        for sequence in product(range(case.n_actions), repeat=4)
    ]
    passes = case.passes(case.study(*learners))
    n = len(learners)
    whole = np.empty((n, 2))
    for unit, point in enumerate(case.points):
        points = np.tile(np.array(point)[None, :, None], (n, 1, LANES))
        stops = np.full((n, LANES), 4)
        whole[:, unit] = passes.probe(np.arange(n), np.full(n, unit), points, stops)[0][:, 0]
    assert np.exp(whole.sum(axis=1)).sum() == pytest.approx(1.0, abs=1e-13)


@each_case
def test_grid_probe_and_replay_agree(case):
    """At every rate of the grid, at both marks, also for cells that share their rates."""
    trials = case.trials(5, 60, flags=True)
    study = case.study(trials)
    passes = case.passes(study)
    rates = np.stack([p.at(np.linspace(0, p.end, RATES) * 0.8) for p in case.rule.parameters])
    grid = passes.grid(rates)
    assert grid.shape == (1, 2, 3, RATES)
    np.testing.assert_allclose(grid[:, :, 2], grid[:, :, 0] + grid[:, :, 1], atol=1e-10)
    for i in (0, 20, RATES - 1):
        values, _, totals = passes.probe(
            np.zeros(6, np.int64),
            np.repeat([0, 1, 2], 2),
            np.tile(rates[None, :, [i]], (6, 1, LANES)),
            np.tile(np.array([30, 60])[:, None], (3, LANES)),
        )
        np.testing.assert_allclose(values[:, 0].reshape(3, 2), grid[0, :, :, i].T, rtol=1e-12)
        np.testing.assert_allclose(totals[:, 0].reshape(3, 2)[:, 0], grid[0, 1, :, i], rtol=1e-12)
        shared = model_of(CELLS, case.rule, "shared")
        replayed = log_probabilities(study, 0, shared, rates[:, i])
        chosen = replayed[np.arange(60), study.action]
        np.testing.assert_allclose(chosen[study.scored].sum(), grid[0, 1, 2, i], rtol=1e-9)


@each_case
def test_gradients_against_finite_differences(case):
    trials = case.trials(6, 50, flags=True)
    passes = case.passes(case.study(trials))
    n_parameters = len(case.rule.parameters)
    step = 1e-5
    for unit, point in ((0, case.points[0]), (1, case.points[1]), (2, case.points[0])):
        points = np.tile(np.array(point)[None, :, None], (1, 1, LANES))
        for d in range(n_parameters):  # lanes 0, 1: −2 and −1 steps; 2, 3: 1 and 2 steps
            points[0, d, 4 * d : 4 * d + 4] += step * np.array([-2, -1, 1, 2])
        stops = np.full((1, LANES), 40)
        values, _, _ = passes.probe(np.zeros(1, np.int64), np.array([unit]), points, stops)
        centre = np.tile(np.array(point)[None, :, None], (1, 1, LANES))
        _, gradients, _ = passes.probe(np.zeros(1, np.int64), np.array([unit]), centre, stops)
        for d in range(n_parameters):
            a, b, c, e = values[0, 4 * d : 4 * d + 4]
            difference = (a - 8 * b + 8 * c - e) / (12 * step)
            assert gradients[0, d, 0] == pytest.approx(difference, rel=1e-7, abs=1e-7)


@each_case
def test_the_future_changes_nothing(case):
    """Other choices and rewards from trial 20 on leave what was predicted up to it as it was."""
    trials = case.trials(7)
    other = trials[:20] + [
        replace(t, action=(t.action + 1) % case.n_actions, reward=1.0 - t.reward)
        for t in trials[20:]
    ]
    first, second = (
        log_probabilities(case.study(record), 0, case.model, case.theta)
        for record in (trials, other)
    )
    np.testing.assert_array_equal(first[:21], second[:21])
    assert not np.array_equal(first[21:], second[21:])


@each_case
def test_inputs_are_not_changed(case):
    study = case.study(case.trials(8, flags=True))
    arrays = ("starts", "context", "action", "reward", "scored", "learned", "reset")
    before = {name: getattr(study, name).copy() for name in arrays}
    theta = case.theta
    log_probabilities(study, 0, case.model, theta)
    passes = case.passes(study)
    rates = np.stack([p.at(np.linspace(0, p.end, RATES)) for p in case.rule.parameters])
    kept = rates.copy()
    passes.grid(rates)
    np.testing.assert_array_equal(rates, kept)
    np.testing.assert_array_equal(theta, case.theta)
    for name in arrays:
        np.testing.assert_array_equal(getattr(study, name), before[name])


# Play and replay


def task_of(case):
    """Every context prefers another action, and pays with a probability."""
    actions = tuple("ABCDE"[: case.n_actions])
    rewards = {
        context: {
            action: Reward(0.8 if a == i % case.n_actions else 0.3)
            for a, action in enumerate(actions)
        }
        for i, context in enumerate(CONTEXTS)
    }
    return Task("played", CONTEXTS, actions, (case.model,), rewards=rewards, order="independent")


@each_case
def test_play_then_replay(case):
    """Choices come from the probabilities that replay finds for them.

    In ten bins of the predicted probability the choices of each action are counted: a sum of
    martingale differences, approximately normal. The false-alarm rate over all bins, actions and
    cases together is at most 1e-4 (Bonferroni).
    """
    names = dict.fromkeys(p.name for p in case.rule.parameters)
    values = {
        name: [point[d] for point in case.points] for d, name in enumerate(names)
    }  # one value per cell
    study = simulate(task_of(case), case.model, values, learners=40, trials=150, seed=5)
    replayed = [log_probabilities(study, i, case.model, case.theta) for i in range(40)]
    np.testing.assert_allclose(replayed[7], case.oracle(trials_of(study, 7)), rtol=0, atol=1e-11)
    p = np.exp(np.concatenate(replayed))
    chosen = study.action[:, None] == np.arange(case.n_actions)
    tests = 10 * sum(c.n_actions for c in CASES)
    worst = norm.isf(1e-4 / tests / 2)
    for a in range(case.n_actions):
        edges = np.quantile(p[:, a], np.linspace(0, 1, 11)[1:-1])
        bin_of = np.searchsorted(edges, p[:, a])
        for b in np.unique(bin_of):
            inside = bin_of == b
            variance = (p[inside, a] * (1 - p[inside, a])).sum()
            if variance > 9:  # else the normal approximation does not hold
                z = (chosen[inside, a] - p[inside, a]).sum() / np.sqrt(variance)
                assert abs(z) < worst, (a, b)


# The kernel for two actions, and extremes


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 120),
    max_rate=st.sampled_from([0.5, 1.0, 20.0]),
    rewards=st.sampled_from([(0.0, 1.0), (0.0, 0.2, 1.0), (0.0, 1.0, 12.0)]),
)
def test_the_two_action_kernel_is_the_general_one(seed, n, max_rate, rewards):
    case = Case(GradientBandit(max_rate=max_rate), 2)
    study = case.study(case.trials(seed, n, rewards=rewards, flags=True), reward_range=(0, 12))
    pair = case.passes(study)
    assert pair.module is compiled.passes(case.rule, True)
    general = replace(pair, module=compiled.passes(case.rule, False))
    parameter = case.rule.parameters[0]
    rates = parameter.at(np.linspace(0, parameter.end, RATES))[None, :]
    np.testing.assert_allclose(pair.grid(rates), general.grid(rates), rtol=1e-11, atol=1e-11)
    tasks = np.zeros(3, np.int64), np.arange(3)
    points, stops = np.tile(rates[:, 3::8], (3, 1, 1)), np.full((3, LANES), n)
    for one, other in zip(
        pair.probe(*tasks, points, stops), general.probe(*tasks, points, stops), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_negative_rewards_and_losses_take_the_general_kernel():
    """The pair kernel multiplies a probability by exp(−2ηg·q), which a negative g would make
    overflow."""
    for case, rewards in (
        (Case(GradientBandit(), 2), (-1.0, 1.0)),
        (Case(GradientBandit("loss"), 2), (0.0, 1.0)),
        (Case(GradientBandit(max_rate=20.0), 2), (0.0, 15.0)),
    ):
        study = case.study(case.trials(1, 30, rewards=rewards), reward_range=(-1, 15))
        assert case.passes(study).module is compiled.passes(case.rule, False)


@each_case
def test_the_largest_rates_are_safe(case):
    """With η = 20 and rewards up to 15 probabilities leave the floats; log-probabilities do not."""
    case = replace(case, rule=replace(case.rule, max_rate=20.0))
    study = case.study(case.trials(9, 300, rewards=(0.0, 1.0, 15.0)), reward_range=(0.0, 15.0))
    passes = case.passes(study)
    rates = np.stack([p.at(np.linspace(0, p.end, RATES)) for p in case.rule.parameters])
    grid = passes.grid(rates)
    assert np.all(np.isfinite(grid))
    assert np.all(grid <= 0)
    upper = np.array([p.upper for p in case.rule.parameters])
    replayed = log_probabilities(study, 0, case.model, np.tile(upper, 2))
    assert not np.any(np.isnan(replayed))
    assert np.exp(replayed).sum(axis=1) == pytest.approx(1.0, abs=1e-12)


# Names and bounds


def test_rules_by_name():
    assert rule_named("exp3-ix", "loss", 2.0) == Exp3IX("loss", 2.0)
    with pytest.raises(
        HowlearnError,
        match=r"there is no rule 'exp4'; the rules are gradient, exp3, exp3-ix",
    ):
        rule_named("exp4")


@pytest.mark.parametrize("rate", [0.0, -1.0, 20.1, float("nan")])
def test_the_largest_rate_has_bounds(rate):
    with pytest.raises(HowlearnError, match="the largest rate must be above 0 and at most 20"):
        GradientBandit(max_rate=rate)


def test_a_form_is_gain_or_loss():
    with pytest.raises(HowlearnError, match="the form of a rule must be gain or loss, got 'both'"):
        GradientBandit("both")
