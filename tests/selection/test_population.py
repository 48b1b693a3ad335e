"""Shares and parameters from all learners: tables, clouds, the sampler, Other, the criterion."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from howlearn.analyses.check import select
from howlearn.core.arrays import log_sum
from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.rule import Parameter
from howlearn.core.rules import Exp3, GradientBandit
from howlearn.core.study import together
from howlearn.core.world import log_softmax
from howlearn.engine import compile as compiled
from howlearn.engine.kernels.chains import _variance
from howlearn.engine.kernels.population import likely_variance, log_variance
from howlearn.fitting.fit import fit
from howlearn.models.coin import Coin
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel
from howlearn.models.q_learning import QLearning
from howlearn.models.task import Task
from howlearn.selection import learning_population as home
from howlearn.selection.clouds import Cloud, Likelihood, effective
from howlearn.selection.criteria import Penalized, criterion_named
from howlearn.selection.evidence import Evidence
from howlearn.selection.hierarchy import Hyper, groups_of
from howlearn.selection.other_partitions import log_evidence_other
from howlearn.selection.population import Population
from howlearn.selection.population_tables import SPREADS, Layout, Tables
from howlearn.selection.rate_grid import curves_of, log_rates, plan_of
from howlearn.selection.sampler import Options, drawn, prior_of, share_interval, start
from howlearn.selection.select import choose
from howlearn.simulation.simulate import simulate
from populations import population, slow_log_evidence
from studies import random_trials, study_of


@pytest.fixture(scope="module")
def three():
    """Three models of five-four, 70% of the learners with one of them."""
    task = Task.load("five-four")
    models = [task.model(name) for name in ("ByShape", "ByPattern", "ByShapeExc")]
    study, true = population(task, models, [42, 9, 9], tau=0.5, s=0.2, trials=300, seed=4)
    return task, models, study, true


@pytest.fixture(scope="module")
def selected(three):
    _, models, study, _ = three
    return select(study, models, [Population(), Penalized()])


def groups(study, models):
    return groups_of(models, range(len(models)), curves_of(study, plan_of(models, study)))


def test_what_was_learned_is_known_again(three):
    """From a table, to the last bit."""
    _, models, study, _ = three
    part = study.part(30, 50)
    found = Population().learn(part, models)
    again = Population().knowing(found.knowledge(), models)
    assert again.learned.prints.dtype == np.uint64
    fits = fit(part, models, found.truncations)
    for name in ("score", "penalty", "probability", "p_other"):
        mine, theirs = (getattr(each.scores(fits), name) for each in (found, again))
        assert np.array_equal(mine, theirs)
    new = fit(study.part(0, 3), models)
    assert np.array_equal(found.scores(new).score, again.scores(new).score)
    assert Penalized().knowledge() is None


# Tables and loops


def test_tables_are_likelihoods_with_cells_integrated_out(three):
    """One learner and one node of the effect, by sums over all rates of every cell."""
    _, models, study, _ = three
    part = study.part(0, 2)
    tables = Tables.of(part, Layout.of(models, part), np.empty((2, 3)))
    (group,) = groups(part, models)
    rule = group.rules[0]
    nodes, values = group.curves.nodes[rule], group.curves.values[rule]
    for j, a, k in ((0, 40, 0), (3, 60, 1), (6, 85, 2)):
        kernel = np.exp(-0.5 * ((nodes - tables.nodes[0, a]) / SPREADS[j]) ** 2)
        kernel /= kernel.sum()
        units = group.curves.units_of(models[k])[rule]
        slow = sum(np.log((np.exp(values[:, u]) * kernel).sum(axis=1)) for u in units)
        fast = np.log(tables.rated[j, :, k, a]) + tables.top_rated[:, k]
        assert fast == pytest.approx(slow, abs=1e-9)


def test_one_rate_for_all_cells_has_no_spread(three):
    _, _, study, _ = three
    shared = PartitionModel("s", Partition.each(list(study.contexts)), rates="shared")
    part = study.part(0, 2)
    tables = Tables.of(part, Layout.of([shared], part), np.empty((2, 1)))
    assert np.array_equal(tables.rated[0], tables.rated[-1])
    rate = np.exp(tables.nodes[0, 50])
    theta = np.full((2, 1), rate)
    from howlearn.fitting.replay import log_probabilities

    for i in range(2):
        each = log_probabilities(part, i, shared, theta[i])
        mine = part[i]
        expected = each[np.arange(len(mine)), mine.action].sum()
        found = np.log(tables.rated[0, i, 0, 50]) + tables.top_rated[i, 0]
        assert found == pytest.approx(expected, abs=1e-8)


def test_the_loops_reweigh_tables_as_one_would_by_hand(three):
    _, models, study, _ = three
    part = study.part(0, 4)
    mixed = [*models, QLearning()]
    tables = Tables.of(part, Layout.of(mixed, part), np.empty((4, 4)))
    prior, state = prior_of(tables)
    group = np.array([0, 1, 0, 1])
    state = start(tables, prior, state, group, Options(apart=False))[0]
    centre, width = np.array([[[-2.0, -3.0]]]), np.array([[[0.5, 0.8]]])
    mean, variance = np.array([[[[0.3, -1.0], [1.0, 0.0]]]]), np.array([[[[1.0, 2.0]] * 2]])
    hyper = (centre, width, np.array([[2]]), np.array([[0.1, 0.0, -0.2]]), mean, variance)
    shares = np.array([[[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]]])
    posterior, evidence = np.zeros((4, 4)), np.zeros((4, 4))
    module = compiled.population()
    module.judge(*tables.arrays, group, hyper, shares, posterior, evidence)
    nodes = tables.nodes[0]
    rated, _, _, points, weight = (each.astype(float) for each in tables.arrays[:5])
    exact = tables.rated, *tables.packed[:2]
    for short, long in zip((rated, points, weight), exact, strict=True):  # 24 bits are kept
        np.testing.assert_allclose(short, long, rtol=2**-24, atol=1e-37)
    for i, g in enumerate(group):
        for k in range(3):
            z = (nodes - centre[0, 0, g] - hyper[3][0, k]) / width[0, 0, g]
            p = np.exp(-0.5 * z**2) / (width[0, 0, g] * np.sqrt(2 * np.pi)) * (nodes[1] - nodes[0])
            assert evidence[i, k] == pytest.approx((rated[2, i, k] * p).sum(), rel=1e-9)
        density = np.prod([
            np.exp(-0.5 * (points[i, 0, d] - mean[0, 0, g, d]) ** 2 / variance[0, 0, g, d])
            / np.sqrt(2 * np.pi * variance[0, 0, g, d]) for d in range(2)
        ], axis=0)  # fmt: skip
        assert evidence[i, 3] == pytest.approx((weight[i, 0] * density).sum(), rel=1e-9)
        joint = shares[0, g] * tables.scale[i] * evidence[i]
        assert posterior[i] == pytest.approx(joint / joint.sum(), rel=1e-9)


def test_the_sampler_agrees_with_sums_over_all_labels():
    """Six learners of two models with known evidence: every labelling, with its exact weight."""
    log_l = np.array([[0.0, -1.0], [0.0, -2.0], [-1.5, 0.0], [0.0, -0.2], [0.0, -3.0], [-0.1, 0.0]])
    layout = Layout((), (), (), (0, 1), np.empty(0, np.int64))
    tables = Tables.known(layout, log_l)
    prior, state = prior_of(tables)
    group, options = np.zeros(6, np.int64), Options(alpha=0.5, sweeps=20_000)
    found = drawn(tables, group, options, prior, start(tables, prior, state, group, options))
    total, share, label = 0.0, 0.0, np.zeros(6)
    for labels in itertools.product((0, 1), repeat=6):
        n1 = sum(labels)
        weight = np.exp(sum(log_l[i, k] for i, k in enumerate(labels)))
        weight *= math.gamma(0.5 + 6 - n1) * math.gamma(0.5 + n1) / math.gamma(7)
        total += weight
        share += weight * (0.5 + n1) / 7
        label += weight * np.array(labels)
    assert found.shares[:, 0, 1].mean() == pytest.approx(share / total, abs=0.01)
    assert found.probability[:, 1] == pytest.approx(label / total, abs=0.01)


def test_learners_who_keep_their_model_are_paired():
    """Both rows of each learner clearly of one model, as often of either: all keep theirs."""
    log_l = np.where(np.repeat([[1, 0], [0, 1]], 20, axis=0) == 1, 0.0, -9.0)
    tables = Tables.known(Layout((), (), (), (0, 1), np.empty(0, np.int64)), log_l)
    prior, state = prior_of(tables)
    group, owner = np.tile([0, 1], 20), np.arange(0, 41, 2)
    shares = {}
    for paired in (True, False):
        options = Options(alpha=1.0, paired=paired)
        begin = start(tables, prior, state, group, options)
        found = drawn(tables, group, options, prior, begin, owner if paired else None)
        shares[paired] = found.shares[:, 0, 0] - found.shares[:, 1, 0]
        if paired:
            assert found.keeps.mean() > 0.7
    assert shares[True].std() < 0.5 * shares[False].std()


def test_no_step_of_em_lowers_the_objective(three):
    _, models, study, _ = three
    part = study.part(0, 51)
    tables = Tables.of(part, Layout.of([*models, QLearning()], part), np.empty((51, 4)))
    prior, state = prior_of(tables)
    found = np.ones(tables.scale.shape), np.empty(tables.scale.shape)
    values = []
    for rounds in (1, 2, 3, 20, 60):
        now = state.copy()
        values.append(compiled.population().climb(
            *tables.arrays, np.zeros(51, np.int64), prior.arrays, True, False, rounds, 0.0,
            *now.hyper, now.shares, *found,
        ))  # fmt: skip
    assert np.all(np.diff(values) >= -1e-9)


@pytest.mark.parametrize(("count", "left"), [(0.0, 0.0), (3.0, 0.4), (25.0, 2.0), (4.0, 6.0)])
def test_variances_are_drawn_from_half_cauchy_priors(count, left):
    """By sums over a grid of log v: the best, and the quartiles of draws one after the other."""
    log_v = np.linspace(-14.0, 14.0, 20_000)
    prior = np.array([log_variance.py_func(v, 0.7) for v in np.exp(log_v)])
    log_p = prior - 0.5 * (count * log_v + left * np.exp(-log_v))
    assert np.log(likely_variance.py_func(left, count, 0.7)) == pytest.approx(
        log_v[log_p.argmax()], abs=2e-3
    )
    now, draws = 0.7, []
    np.random.seed(1)  # noqa: NPY002 - the loops' own way to draw
    for _ in range(40_000):
        now = _variance.py_func(left, count, 0.7, now)
        draws.append(now)
    below = np.cumsum(np.exp(log_p - log_p.max()))
    for part in (0.25, 0.5, 0.75):
        expected = np.exp(np.interp(part * below[-1], below, log_v))
        found = np.mean(np.array(draws) < expected)
        assert found == pytest.approx(part, abs=0.05 if count == 0.0 else 0.02)


def test_learners_who_hardly_differ_beside_others_are_a_narrow_population():
    """τ = 0.3, and no wider because Q-learners compete, whose rates would be very different."""
    task = Task.load("shepard-2")
    models = [m for m in task.models if m.name != "ByCategory"]
    part = [m for m in models if m.name == "OnePerItem"]
    bandits, _ = population(task, part, [25], tau=0.3, s=0.2, trials=200, seed=3, rate=0.3)
    theta = np.random.default_rng(3).uniform((0.1, 2.0), (0.6, 8.0), (25, 2))
    others = simulate(task, QLearning(), theta, trials=200, seed=8)
    known = Population().learn(together([others, bandits]), [*models, QLearning()], thorough=False)
    assert known.learned.width[0, 0] < 0.42


# Clouds


class OwnBandit(Model):
    """The Gradient Bandit with one rate for all contexts, as somebody would write it."""

    parameters = (Parameter("eta", 0.0, 1.0, default=0.05),)
    cells = "shared"

    @staticmethod
    def start(world):
        return np.zeros((world.n_cells, world.n_actions))

    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = state[shown.cell]
        log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        out = state[trial.cell].copy()
        log_softmax(out)
        for a in range(len(out)):
            chosen = 1.0 if a == trial.action else 0.0
            state[trial.cell, a] += theta.eta * trial.reward * (chosen - np.exp(out[a]))


@pytest.fixture(scope="module")
def doors():
    """Learners of one model that is entered twice: on a grid, and as somebody's own."""
    task = Task.load("shepard-2")
    contexts = list(task.contexts)
    grid = PartitionModel("grid", Partition.each(contexts), rates="shared")
    random = np.random.default_rng(5)
    theta = np.exp(np.log(0.15) + 0.5 * random.standard_normal((30, 1)))
    study = simulate(task, grid, np.minimum(theta, 1.0), trials=200, seed=6)
    return study, grid, OwnBandit()


def test_a_cloud_is_an_integral(doors):
    """Against a fine sum over the rate, for a population like the learners'; worth many points."""
    study, _, own = doors
    likelihood = Likelihood(own, study)
    mean, variance = np.array([[-1.8]] * 30), np.array([[0.4]] * 30)
    cloud = Cloud.around(likelihood, seed=3).renewed(mean, variance)
    log_w = cloud.log_weight - 0.5 * ((cloud.points[..., 0] + 1.8) ** 2 / 0.4)
    found = log_sum(log_w) - 0.5 * np.log(2 * np.pi * 0.4)
    u = np.linspace(-9, 5, 1401)
    each = likelihood.at(np.broadcast_to(u[None, :, None], (30, 1401, 1)))
    log_p = -0.5 * ((u + 1.8) ** 2 / 0.4 + np.log(2 * np.pi * 0.4)) + np.log(0.01)
    assert found == pytest.approx(log_sum(each + log_p), abs=0.08)
    assert np.std(found - log_sum(each + log_p)) < 0.04
    worth = effective(cloud.log_weight, cloud.points, mean, variance)
    assert worth.min() > 20


def test_one_model_by_two_doors_is_judged_alike(doors):
    study, grid, own = doors
    known = Population().learn(study, [grid, own], thorough=False).learned
    assert 0.25 < known.probability[:, 0].mean() < 0.75
    assert np.abs(np.mean(known.log_evidence[:, 0] - known.log_evidence[:, 1])) < 0.15
    assert np.isnan(known.effective[0]).all()
    assert known.effective[1, 1] > 10


# The criterion


def test_planted_shares_and_rates_are_found(selected, three):
    """Within two standard errors: 60 learners, τ = 0.5, s = 0.2, a median rate of 0.05."""
    known = selected.choices[0].criterion.learned
    error = np.sqrt(0.7 * 0.3 / 60)
    assert known.share[0] == pytest.approx([0.7, 0.15, 0.15], abs=2 * error)
    centre = known.centre[0, 0] + known.share[0] @ known.offset
    assert np.log(0.05) == pytest.approx(centre, abs=2.5 * 0.5 / np.sqrt(60))
    assert known.width[0, 0] == pytest.approx(0.5, abs=2.5 * 0.5 / np.sqrt(120))
    assert 0.1 <= known.cells[0] < 0.35
    assert np.all(known.lower <= known.share)
    assert np.all(known.share <= known.upper)
    assert known.difference < 0.05


def test_an_interval_may_hold_nobody_and_everybody():
    random, code = np.random.default_rng(1), np.zeros(20, int)
    lower, upper = share_interval(random.dirichlet([20.5, 0.5, 0.5], 4000)[:, None], code)
    assert lower[0] == pytest.approx([0.86, 0, 0], abs=0.05)
    assert lower[0, 1] == 0
    assert upper[0, 0] == 1
    assert 0.05 < upper[0, 1] < 0.3
    lower, upper = share_interval(random.dirichlet([19.5, 1.5, 0.5], 4000)[:, None], code)
    assert lower[0, 1] > 0  # one learner uses it
    assert lower[0, 2] == 0
    assert upper[0, 0] < 1


@pytest.mark.parametrize("models", [2, 6, 8, 12])
def test_an_interval_holds_what_is_plainly_there(models):
    """All but one of 20 learners with the first model: however many others there are."""
    log_l = np.full((20, models), -30.0)
    log_l[:, 0] = 0.0
    log_l[-1, :2] = -30.0, 0.0
    tables = Tables.known(Layout((), (), (), (*range(models),), np.empty(0, np.int64)), log_l)
    prior, state = prior_of(tables)
    group, options = np.zeros(20, np.int64), Options()
    found = drawn(tables, group, options, prior, start(tables, prior, state, group, options))
    lower, upper = share_interval(found.shares, group)
    assert lower[0, 0] < 0.95 < upper[0, 0]


def test_probabilities_and_scores(selected):
    choice = selected.choices[0]
    known = choice.criterion.learned
    assert choice.scores.score == pytest.approx(known.log_evidence + np.log(known.share[0]))
    assert known.share.min() > 0
    weights = np.exp(choice.scores.score - choice.scores.score.max(axis=1, keepdims=True))
    expected = weights / weights.sum(axis=1, keepdims=True)
    assert choice.scores.probability == pytest.approx(expected, abs=1e-12)
    frame = selected.selection.filter(criterion="population")
    assert frame["probability"].min() > 1 / 3
    assert frame["p_other"].is_between(0, 1).all()
    assert selected.selection.filter(criterion="penalized(c=0.012)")["probability"].is_null().all()
    assert set(selected.learners.columns) >= {
        "criteria_agree", "smallest_margin", "probability_population", "p_other_population",
    }  # fmt: skip


def test_threads_and_the_order_of_learners_change_nothing(three):
    _, models, study, _ = three
    part = study.take(np.r_[0:8, 42:46])
    mixed = [*models, QLearning()]
    plain = Population().learn(part, mixed, threads=1).learned
    turned = np.array([11, 3, 0, 7, 5, 1, 2, 4, 6, 8, 9, 10])
    other = Population().learn(part.take(turned), mixed, threads=2).learned
    assert np.array_equal(other.probability, plain.probability[turned])
    assert np.array_equal(other.share, plain.share)


def test_the_population_recognises_its_learners_and_judges_others(three, selected):
    """Some learners, or in another order: the same scores; others are judged by the same draws."""
    task, models, study, _ = three
    criterion = selected.choices[0].criterion
    scores = selected.choices[0].scores.score
    taken = np.array([50, 3, 17])
    some = criterion.scores(fit(study.take(taken), models))
    assert some.score == pytest.approx(scores[taken], abs=1e-12)
    again = home.judge_others(criterion.learned, study.take(taken), lambda s: np.empty((len(s), 3)))
    assert again[1] == pytest.approx(criterion.learned.probability[taken], abs=0.05)
    new, _ = population(task, models, [2, 0, 1], seed=99)
    found = criterion.scores(fit(new, models))
    assert found.probability.argmax(axis=1).tolist() == [0, 0, 2]
    assert found.p_other is not None


def test_large_studies_are_judged_block_by_block(three, selected, monkeypatch):
    _, models, study, _ = three
    monkeypatch.setattr(home, "SAMPLE", 40)
    monkeypatch.setattr(home, "BLOCK", 7)
    found = select(study, models, [Population()]).choices[0]
    assert found.criterion.learned.n_sampled == 40
    assert len(found.criterion.learned.depends) == 60
    same = np.mean(found.selected == selected.choices[0].selected)
    assert same >= 0.95


def test_a_strategy_that_is_faster_is_recognised():
    """OnePerItem at five times the rate of the others: offsets of models are learned."""
    task = Task.load("five-four")
    models = [task.model("ByShapeExc"), task.model("OnePerItem")]
    slow, _ = population(task, models[:1], [15], tau=0.1, s=0.1, rate=0.03, trials=400)
    fast, _ = population(task, models[1:], [15], tau=0.1, s=0.1, rate=0.15, trials=400, seed=2)
    known = Population().learn(together([slow, fast]), models, thorough=False).learned
    assert np.mean(known.probability.argmax(axis=1) != np.repeat([0, 1], 15)) <= 0.1
    assert known.offset[1] - known.offset[0] > 0.5


def test_conditions_have_populations_apart():
    """Slow under one condition, fast under the other: both are described, each learner twice."""
    task = Task.load("five-four")
    model = task.model("ByShape")
    slow, _ = population(task, [model], [12], tau=0.1, s=0.1, rate=0.03, trials=300)
    fast, _ = population(task, [model], [12], tau=0.1, s=0.1, rate=0.2, trials=300, seed=2)
    study = together([slow, fast])
    learners = tuple(f"{i % 12}" for i in range(24))
    about = pl.DataFrame({"drug": ["no"] * 12 + ["yes"] * 12, "site": ["x"] * 24})
    study = replace(study, learners=learners, about=about)
    found = select(study, [model, task.model("ByPattern")], [Population()])
    known = found.choices[0].criterion.learned
    assert known.groups == ("no", "yes")
    assert known.centre[0, 1] - known.centre[0, 0] > 1.0
    assert found.tables["population"]["condition"].unique().sort().to_list() == ["no", "yes"]


def test_an_answer_that_depends_on_the_bound_is_withheld():
    """Q-learners who are fast, with partitions only: rates run into their bound."""
    task = Task.load("shepard-2")
    study = simulate(
        task, QLearning(), {"alpha": 0.5, "beta": 8.0}, learners=20, trials=200, seed=3
    )
    models = [m for m in task.models if m.name != "ByCategory"]
    found = select(study, models, [Population()])
    verdicts = found.selection["verdict"].to_list()
    assert sum(word.startswith("depends on the bound") for word in verdicts) > 10
    assert any("depends on the bound" in str(each) for each in found.sentences)


def test_repeats_are_long_enough_when_chains_agree_on_clear_winners():
    def of(*probability) -> Any:
        return SimpleNamespace(probability=np.array(probability))

    apart = home.on_winners(of([0.95, 0.05], [0.6, 0.4], [0.02, 0.98]), 2)
    assert apart([of([0.9, 0.1], [0.1, 0.9], [0.0, 1.0]), of([0.9, 0.1], [0.9, 0.1], [0, 1])]) == 0
    away = apart([of([0.9, 0.1], [0.5, 0.5], [0.4, 0.6]), of([0.9, 0.1], [0.5, 0.5], [0, 1])])
    assert away == pytest.approx(0.4 / np.sqrt(2))
    assert home.on_winners(of([0.5, 0.5]), 2)([of([1.0, 0.0]), of([0.0, 1.0])]) == 0.0


def test_other_models_take_part_by_their_evidence(three):
    _, models, study, _ = three
    part = study.take(np.r_[0:8, 42:46])
    found = select(part, [*models, Coin()], [Population(), Evidence()])
    assert found.choices[0].criterion.learned.share[0, 3] < 0.15
    words = found.tables["population"].filter(model="Coin")["evidence"].to_list()
    assert words == ["exact"]


def test_one_candidate_has_no_share(three):
    _, models, study, _ = three
    found = select(study.part(0, 12), models[:1], [Population()])
    assert found.tables["population"].filter(model="ByShape")["share"].to_list() == [None]
    assert any("nothing was compared" in str(each) for each in found.sentences)


def test_independent_learners_hardly_differ(three):
    _, models, study, _ = three
    found = Population(independent=True).learn(study.part(0, 20), models, thorough=False)
    assert (found.learned.hyper[1] == 0.1).all()
    free = Population().learn(study.part(0, 20), models, thorough=False)
    assert free.learned.width[0, 0] > 0.2


def test_texts_and_mistakes(three):
    assert repr(criterion_named("population(other=true)")) == "population(other=true)"
    assert criterion_named("population(per_model=True)") == Population(per_model=True)
    with pytest.raises(HowlearnError, match="per_model must be true or false, got maybe"):
        criterion_named("population(per_model=maybe)")
    _, models, study, _ = three
    with pytest.raises(HowlearnError, match="at least two learners"):
        select(study.part(0, 1), models, [Population()])
    known = Population().learn(study.part(0, 5), models)
    fits = fit(study.part(0, 5), models[:2])
    with pytest.raises(HowlearnError, match="learned with other candidates"):
        choose(fits, [known])


# Other


def all_partitions(items):
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for k in range(len(rest) + 1):
        for mates in itertools.combinations(rest, k):
            left = [item for item in rest if item not in mates]
            for others in all_partitions(left):
                yield [(first, *mates), *others]


def of_first_contexts(n):
    """Two learners of ByShape, and only what they did in the first contexts."""
    task = Task.load("five-four")
    study = simulate(task, "ByShape", {"eta": 0.1}, learners=2, trials=200, seed=8)
    keep = study.context < n
    counts = [keep[study.starts[i] : study.starts[i + 1]].sum() for i in range(2)]
    columns = ("context", "action", "reward", "scored", "learned", "reset")
    return replace(
        study, contexts=study.contexts[:n], starts=np.concatenate([[0], np.cumsum(counts)]),
        features={}, answers=None, **{name: getattr(study, name)[keep] for name in columns},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tau", "rule"), [(0.6, GradientBandit()), (0.0, GradientBandit()), (0.6, Exp3("loss"))]
)
def test_other_is_the_sum_over_all_partitions_not_listed(tau, rule):
    """Every partition of five contexts as a model of its own, with Ewens' weights."""
    study = of_first_contexts(5)
    contexts = list(study.contexts)
    listed = [
        PartitionModel("each", Partition.each(contexts), rule),
        PartitionModel("pair", Partition(((contexts[0], contexts[1]), tuple(contexts[2:]))), rule),
    ]
    hyper = Hyper(-2.5, tau, 0.3)
    every = [
        PartitionModel(str(k), Partition(tuple(map(tuple, cells))), rule)
        for k, cells in enumerate(all_partitions(contexts))
    ]
    assert len(every) == 52
    (group,) = groups(study, every)
    evidence = slow_log_evidence(group, hyper)
    prior = np.array([
        sum(math.lgamma(len(cell)) for cell in m.partition.cells) - math.lgamma(6) for m in every
    ])  # fmt: skip
    assert np.exp(prior).sum() == pytest.approx(1.0)
    known = {frozenset(map(frozenset, m.partition.cells)) for m in listed}
    other = np.array([frozenset(map(frozenset, m.partition.cells)) not in known for m in every])
    expected = np.logaddexp.reduce(evidence[:, other] + prior[other], axis=1)
    expected -= np.logaddexp.reduce(prior[other])
    found = log_evidence_other(study, listed, log_rates(rule), hyper)
    assert found == pytest.approx(
        expected, abs=0.02 if rule.form == "gain" else 0.2
    )  # another grid


def test_what_listed_partitions_explain_is_taken_out_of_other():
    """Where all partitions but one are listed, Other is that one, however bad it is."""
    study, rule, hyper = of_first_contexts(3), GradientBandit(), Hyper(-2.5, 0.6, 0.3)
    every = [
        PartitionModel(str(k), Partition(tuple(map(tuple, cells))), rule)
        for k, cells in enumerate(all_partitions(list(study.contexts)))
    ]
    (group,) = groups(study, every)
    evidence = slow_log_evidence(group, hyper)
    worst = int(evidence[0].argmin())
    assert evidence[0].max() > evidence[0, worst] + 1  # what is taken out counts
    listed = [model for k, model in enumerate(every) if k != worst]
    found = log_evidence_other(study, listed, log_rates(rule), hyper)
    assert found == pytest.approx(evidence[:, worst], abs=0.02)  # another grid


def test_a_model_that_nobody_else_uses_is_not_ruled_out(three, monkeypatch):
    """Shares are never 0: a learner alone with its model keeps it, the learner left out or not."""
    _, models, study, _ = three
    part = study.take(np.array([0, 1, 2, 3, 42]))  # one of ByPattern among four of ByShape
    for criterion in (Population(), Population(leave_one_out=True)):
        found = select(part, models, [criterion]).choices[0]
        assert found.selected[4] == 1
        assert found.scores.penalty.max() < 5


def test_records_without_information_leave_everything_open():
    study = study_of(*(random_trials(i, 3) for i in range(12)))
    models = [PartitionModel("one", Partition.all(["x", "y"])),
              PartitionModel("two", Partition.each(["x", "y"]))]  # fmt: skip
    frame = select(study, models, [Population()]).selection
    assert frame["probability"].max() < 0.95


def test_learners_of_a_partition_that_is_not_listed_are_recognised():
    task = Task.load("five-four")
    models = list(task.models)
    contexts = models[0].partition.contexts
    strange = PartitionModel("strange", Partition((contexts[::2], contexts[1::2])))
    study, true = population(task, [models[1], models[2], strange], [14, 14, 12], trials=400)
    found = select(study, models, [Population(), Population(other=True)])
    frame = found.selection.filter(criterion="population")
    p = frame["p_other"].to_numpy()
    assert np.mean(p[true == 2] > 0.5) > 0.6
    assert np.mean(p[true < 2] > 0.5) <= 0.15
    assert "probably none of these" in frame["verdict"].to_list()
    assert "Other" not in frame["model"].to_list()
    share = found.choices[0].criterion.learned.with_other[0, 0, -1]
    assert share == pytest.approx(0.3, abs=0.15)
    competing = found.selection.filter(criterion="population(other=true)")
    assert np.mean(competing["model"].to_numpy()[true == 2] == "Other") > 0.6
    shares = found.shares.filter(criterion="population(other=true)")
    assert shares["learners"].sum() == 40
    scores = found.scores.filter(criterion="population(other=true)")
    assert len(scores) == 40 * 7
    chosen = scores.filter("selected")
    assert chosen["model"].cast(str).to_list() == competing["model"].to_list()
    by_learner = scores["probability"].to_numpy().reshape(40, 7).sum(axis=1)
    assert by_learner == pytest.approx(1.0)


@pytest.mark.parametrize("criterion", [Population(), Population(other=True), Evidence()])
def test_partitions_with_one_rate_only(criterion):
    """No listed partition is then part of Other, which is the mixture over all of them."""
    task = Task.load("shepard-1")
    study = simulate(task, "ByFeature1", {"eta": 0.1}, learners=4, trials=60, seed=1)
    shared = PartitionModel("two", Partition.each(task.contexts), rates="shared")
    found = select(study, [shared, QLearning()], [criterion])
    assert np.isfinite(found.scores["score"].to_numpy()).all()
    # As if a partition were listed to which the learners give nothing.
    nodes, hyper = log_rates(GradientBandit()), Hyper(-2.5, 0.5, 0.3)
    every = log_evidence_other(study, [shared], nodes, hyper)
    listed = PartitionModel("each", Partition.each(task.contexts))
    less = log_evidence_other(study, [shared, listed], nodes, hyper)
    assert np.isfinite(every).all()
    assert np.abs(every - less).max() < 1.0
