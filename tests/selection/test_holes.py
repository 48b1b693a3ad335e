"""Models that contain others: who uses the simpler one is not taken by the larger one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from howlearn import Range
from howlearn.core.rule import Parameter
from howlearn.core.study import together
from howlearn.engine import compile as compiled
from howlearn.fitting.replay import advisor_for
from howlearn.models import FIELD, field_model
from howlearn.models.adjustments import Adjustment
from howlearn.models.names import ADJUSTMENTS, model_named
from howlearn.models.q_learning import QLearning, QLearningForgetting, QLearningStart
from howlearn.models.task import Task
from howlearn.models.values import Reward
from howlearn.selection.holes import ABOVE, BELOW, BOTH, holes_of, log_outside
from howlearn.selection.learning_population import judge_others
from howlearn.selection.population import Population
from howlearn.selection.population_tables import Layout, Tables
from howlearn.selection.sampler import Options, drawn, fitted_to, prior_of
from howlearn.simulation.simulate import simulate
from models.records import record
from models.records import study_of as study_of_records

ACTIONS = ("nogo", "B")
FIELDS = {name: field_model(name, 3) for name in FIELD}
LARGER = [n for n, m in FIELDS.items() if any(m.contains(o, ACTIONS) for o in FIELDS.values())]
WITH_PARTS = [f"q-learning+{name}" for name in ADJUSTMENTS]


def contained(larger: str, simpler: str) -> tuple[str, ...]:
    return model_named([], larger).contains(model_named([], simpler), ACTIONS)


def test_which_model_is_which_where():
    assert contained("q-forgetting", "q-learning") == ("phi",)
    assert contained("go-no-go", "q-learning") == ("go_bias", "pavlovian")
    assert contained("kalman-ucb", "kalman-mean") == ("explore",)
    assert contained("q-forgetting+stickiness", "q-forgetting") == ("stickiness",)
    assert contained("q-forgetting+stickiness", "q-learning+stickiness") == ("phi",)
    assert contained("q-forgetting+stickiness", "q-learning") == ("phi", "stickiness")
    assert contained("hmm(q-learning, coin)", "q-learning") == ("stay",)
    for larger, other in (
        ("q-learning", "q-forgetting"), ("q-forgetting", "q-start"), ("q-signed", "q-learning"),
        ("q-forgetting", "q-forgetting"), ("q-forgetting", "q-learning+stickiness"),
        ("q-learning+stickiness", "q-learning+lapse"),
    ):  # fmt: skip
        assert contained(larger, other) == ()


def test_a_bandit_with_one_rate_says_nothing_that_one_with_several_could_not():
    task = Task.load("shepard-2")
    sticky = task.model("OnePerItem (one rate)+stickiness")
    assert sticky.contains(task.model("OnePerItem"), task.actions) == ("stickiness",)
    assert sticky.contains(task.model("OneForAll"), task.actions) == ()


class Whim(Adjustment):
    name = "whim"

    def parameters(self, actions):
        return (Parameter("whim", 0.0, 1.0, default=0.0),)


def test_of_a_part_without_a_smallest_size_nobody_knows_how_much_is_little():
    assert (QLearning() + Whim()).contains(QLearning(), ACTIONS) == ()


@pytest.mark.parametrize("name", LARGER + WITH_PARTS)
def test_at_its_neutral_values_the_larger_model_is_the_simpler_one(name):
    study = study_of_records(record(3, 60), rich=False)
    larger = model_named([], name)
    simpler = larger.unadjusted if larger.adjustments else FIELDS[larger.simpler]
    held = larger.contains(simpler, study.actions)
    assert held
    rng = np.random.default_rng(5)
    both = [advisor_for(model, study) for model in (larger, simpler)]
    every = {p.name: rng.uniform(0.2, 0.6) for advisor in both for p in advisor.parameters}
    every["alpha_better"] = every.get("alpha", 0.3)
    for parameter in both[0].parameters:
        if parameter.name in held:
            neutral = larger.neutral(parameter, study.reward_range)
            every[parameter.name] = every[neutral] if isinstance(neutral, str) else neutral
    at = [np.array([[every[p.name] for p in advisor.parameters]]) for advisor in both]
    one, other = (
        a.log_likelihoods(study, np.zeros(1, int), x) for a, x in zip(both, at, strict=True)
    )
    assert_allclose(one, other, rtol=1e-10)


# A hole in a normal

MEAN, VARIANCE = np.array([0.4, -1.0, 0.7]), np.array([0.8, 2.0, 0.5])
HOLES = {
    "both sides": [[0, -1, BOTH, 0.1, 0.3, 1]],
    "down to a bound": [[1, -1, BELOW, -0.8, 0.5, 1]],
    "up to a bound": [[1, -1, ABOVE, -0.8, 0.5, 1]],
    "two that are equal": [[2, 0, BOTH, 0.0, 0.6, 1]],
    "only where both are neutral": [[0, -1, BOTH, 0.0, 0.8, 1], [1, -1, BELOW, 0.0, 0.5, 1]],
    "where either is": [[0, -1, BOTH, 0.0, 0.8, 1], [1, -1, BELOW, -1.0, 0.5, 2]],
}


def integral(holes):
    """Of a population's density over all its points, by the compiled loops."""
    rng = np.random.default_rng(2)
    points = MEAN + np.sqrt(VARIANCE) * rng.standard_normal((200_000, 3))
    log_p = -0.5 * ((points - MEAN) ** 2 / VARIANCE + np.log(2 * np.pi * VARIANCE))
    weight = np.exp(log_outside(holes, points) - log_p.sum(axis=1)) / len(points)
    nothing, none = np.empty((1, 1, 0, 2)), np.empty((1, 0))
    family, one = np.empty(0, np.int64), np.ones((1, 1))
    clouds = np.ascontiguousarray(points.T[None, None]), weight[None, None], np.array([3])
    hyper = none[None], none[None], none.astype(np.int64), none
    here = MEAN[None, None, None], VARIANCE[None, None, None]
    found = np.zeros((1, 1))
    compiled.population().judge(
        nothing, nothing[0, 0], family, *clouds, holes[None], one, np.zeros(1, np.int64),
        (*hyper, *here), one[None], np.zeros((1, 1)), found,
    )  # fmt: skip
    return found[0, 0], np.exp(log_outside(holes, points)).mean()


@pytest.mark.parametrize("rows", HOLES.values(), ids=[*HOLES])
def test_a_density_with_holes_is_one(rows):
    total, left = integral(np.array(rows, float))
    assert total == pytest.approx(1.0, abs=0.01)
    assert left < 0.95


def test_without_holes_all_is_as_before():
    assert integral(np.zeros((0, 6)))[0] == pytest.approx(1.0, rel=1e-9)
    assert not holes_of([QLearning()], [0], [QLearning().parameters], ACTIONS, (0.0, 1.0)).size


def test_a_start_at_0_is_neutral_wherever_it_lies():
    models = [QLearning(), QLearningStart()]
    told = [1], [QLearningStart().parameters], ACTIONS
    for rewards, kind in (((0.0, 1.0), BELOW), ((-1.0, 1.0), BOTH), ((-1.0, 0.0), ABOVE)):
        assert holes_of(models, *told, rewards)[0, 0, 2] == kind
    assert not holes_of(models, *told, (0.5, 1.0)).size  # no start is 0


# In a population


PAYS = {"A": (0.5, 1.0, 0.4), "B": (0.9, 1.0, 0.0), "C": (0.5, 0.9, 0.75), "D": (0.9, 0.9, 0.25)}
RATES = {"alpha": Range(0.05, 0.8), "beta": Range(5, 30)}
EACH = 25


DECKS = {"decks": {deck: Reward(*pay) for deck, pay in PAYS.items()}}
TASK = Task("decks", ("decks",), tuple(PAYS), (), rewards=DECKS)


@pytest.fixture(scope="module")
def half():
    """Half of the learners forget what they do not choose, some of them hardly."""
    forgets = {**RATES, "phi": Range(0.02, 0.5)}
    kinds = (QLearning(), RATES), (QLearningForgetting(), forgets)
    return together([
        simulate(TASK, model, values, learners=EACH, trials=300, seed=1 + k)
        for k, (model, values) in enumerate(kinds)
    ])  # fmt: skip


def test_no_step_of_em_lowers_the_objective(half):
    models = [QLearning(), QLearningForgetting(), QLearningStart()]
    tables = Tables.of(half, Layout.of(models, half), np.empty((2 * EACH, 3)))
    assert tables.holes.any()
    prior, state = prior_of(tables)
    found = np.ones(tables.scale.shape), np.empty(tables.scale.shape)
    values = []
    for rounds in (1, 2, 3, 5, 10, 20, 60):
        now = state.copy()
        values.append(compiled.population().climb(
            *tables.arrays, np.zeros(2 * EACH, np.int64), prior.arrays, False, False, rounds, 0.0,
            *now.hyper, now.shares, *found,
        ))  # fmt: skip
    assert np.all(np.diff(values) >= -1e-9)


FEW = np.array([-0.6, -0.3, 0.0, 0.1, 0.3, 0.5, 0.8, 1.1, 1.6])
MANY = np.abs(np.random.default_rng(4).normal(-0.8, 1.5, 60)) - 0.6  # most of them near the hole


@pytest.mark.parametrize("seen", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("row", [[0, -1, BELOW, -0.4, 0.5, 1], [0, -1, BOTH, 0.2, 0.6, 1]])
def test_the_sampler_agrees_with_a_sum_over_means_and_variances(row, seen):
    """Learners who differ in one parameter, each of which is known to ±0.5."""
    holes = np.array([[row]], float)
    x = np.linspace(-6.0, 6.0, 241)
    weight = np.exp(-0.5 * ((x - seen[:, None]) / 0.5) ** 2 + log_outside(holes[0], x[:, None]))
    n, sweeps, none = len(seen), 20_000, np.empty((1, 0))
    points = np.broadcast_to(x, (n, 1, 1, len(x))).copy()
    mean, variance, one = np.array([[[1.0]]]), np.ones((1, 1, 1)), np.ones((1, 1))
    before = np.empty(0), np.empty(0), np.array([[0.5]]), np.array([[0.6]]), 1.5
    hyper = [np.empty((sweeps, *shape)) for shape in ((0, 1), (0, 1))]
    hyper += [np.empty((sweeps, 0), np.int64), np.empty((sweeps, 0))]
    hyper += [np.empty((sweeps, 1, 1, 1)), np.empty((sweeps, 1, 1, 1))]
    compiled.population().sample(
        np.empty((1, n, 0, 2)), none.T[:0].reshape(0, 2), np.empty(0, np.int64), points,
        weight[:, None], np.array([1]), holes, np.ones((n, 1)), np.empty((0, 3), np.int64),
        np.zeros(n, np.int64), np.arange(n + 1), before, False, np.ones(1), True, 0.5, False, 3,
        500, sweeps, 1,
        np.empty(0, np.int64), none.T, none.T, np.empty(0), mean, variance, one.copy(),
        np.empty((sweeps, 1, 1)), np.empty(sweeps), tuple(hyper), np.zeros((n, 1)),
        np.zeros((n, 1)),
    )  # fmt: skip
    m, v = np.meshgrid(np.linspace(-3, 5, 161), np.exp(np.linspace(np.log(0.01), np.log(9), 140)))
    log_p = -0.5 * ((m - 0.5) / 1.5) ** 2  # and per log v what a half-Cauchy √v has
    log_p += 0.5 * np.log(v) - np.log1p(v / 0.6)
    density = np.exp(-0.5 * (x - m[..., None]) ** 2 / v[..., None]) / np.sqrt(v[..., None])
    room = (density * np.exp(log_outside(holes[0], x[:, None]))).sum(axis=2)
    log_p = log_p + np.log(density @ weight.T / room[..., None]).sum(axis=2)
    if row[2] == BELOW:
        log_p = np.where(m < row[3], -np.inf, log_p)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    assert hyper[4].mean() == pytest.approx((p * m).sum(), abs=0.04)
    assert np.log(hyper[5]).mean() == pytest.approx((p * np.log(v)).sum(), abs=0.06)


def test_learners_of_the_simpler_model_keep_it(half):
    known = Population().learn(half, [QLearning(), QLearningForgetting()], thorough=False).learned
    assert known is not None
    best, top = known.probability.argmax(axis=1), known.probability.max(axis=1)
    true = np.repeat([0, 1], EACH)
    assert np.mean(best[:EACH] == 0) > 0.6
    assert np.mean(best[EACH:] == 1) > 0.5
    assert not np.any((best != true) & (top > 0.88))
    assert abs(known.share[0, 0] - 0.5) < 0.15


def test_where_nobody_forgets_nobody_is_said_to(half):
    plain = half.part(0, EACH)
    known = Population().learn(plain, [QLearning(), QLearningForgetting()], thorough=False).learned
    assert known is not None
    assert np.all(known.probability.argmax(axis=1) == 0)


def test_how_small_is_small_is_no_certainty():
    """Half of the definitions of little forgetting leave these learners to q-learning."""
    values = {**RATES, "phi": Range(0.005, 0.05)}
    study = simulate(TASK, QLearningForgetting(), values, learners=40, trials=300, seed=3)
    known = Population().learn(study, [QLearning(), QLearningForgetting()], thorough=False).learned
    assert known is not None
    assert np.all(known.upper - known.lower > 0.3)
    assert np.mean(known.probability.max(axis=1) > 0.88) < 0.6
    again = judge_others(known, study, lambda some: np.full((len(some), 2), np.nan))[1]
    assert_allclose(again, known.probability, atol=0.1)


def test_chains_go_from_one_model_to_another_that_explains_as_much():
    """In this task, nobody can tell who forgets. One by one, learners would not change."""
    task = Task.load("shepard-2")
    values = {"alpha": Range(0.2, 0.6), "beta": Range(4, 8), "phi": Range(0.05, 0.3)}
    study = simulate(task, QLearningForgetting(), values, learners=40, trials=200, seed=2)
    models = [QLearning(), QLearningForgetting()]
    known = Population().learn(study, models, thorough=False).learned
    assert known is not None
    assert known.difference < 0.05
    assert np.all(known.lower < 0.1)
    assert np.all(known.upper > 0.9)
    assert known.probability.max() < 0.88


def test_exchanges_within_a_condition_leave_the_answer_as_it_is(half):
    """Chains of 12 learners under three conditions get there one by one, too."""
    some = half.take(np.array([*range(6), *range(EACH, EACH + 6)]))
    tables = Tables.of(
        some, Layout.of([QLearning(), QLearningForgetting()], some), np.empty((12, 2))
    )
    group = np.arange(12) % 3
    found = []
    for pairs in (tables.pairs, tables.pairs[:0]):
        now = replace(tables)
        now.__dict__["pairs"] = pairs
        fitted = fitted_to(now, group, Options(sweeps=30_000, longest=0, apart=False))
        found.append(drawn(now, group, fitted.options, fitted.prior, fitted.starts))
    exchanged, alone = found
    assert len(tables.pairs) == 1
    assert_allclose(exchanged.shares.mean(axis=0), alone.shares.mean(axis=0), atol=0.03)
    assert_allclose(exchanged.shares.std(axis=0), alone.shares.std(axis=0), atol=0.03)
    assert_allclose(exchanged.probability, alone.probability, atol=0.05)
