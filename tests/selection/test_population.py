"""Shares and rates from all learners: EM, Other, the criterion."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.rules import Exp3, GradientBandit
from howlearn.core.study import together
from howlearn.fitting.fit import fit
from howlearn.models.coin import Coin
from howlearn.models.partition_model import PartitionModel
from howlearn.models.q_learning import QLearning
from howlearn.models.task import Task
from howlearn.results.select_into import select
from howlearn.selection import learning_population as home
from howlearn.selection.criteria import Penalized, criterion_named
from howlearn.selection.em import estimate, fitted_normal
from howlearn.selection.evidence import Evidence
from howlearn.selection.hierarchy import Hyper, groups_of, normal
from howlearn.selection.other_partitions import log_evidence_other
from howlearn.selection.population import Population
from howlearn.selection.rate_grid import curves_of, log_rates, plan_of
from howlearn.selection.select import choose
from howlearn.simulation.simulate import simulate
from populations import population
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


def groups(study, models, per_model=False):
    curves = curves_of(study, plan_of(models, study))
    return groups_of(models, range(len(models)), curves, per_model)


def test_what_was_learned_is_known_again(three, monkeypatch):
    """From a table, to the last bit: folds, rivals and all."""
    _, models, study, _ = three
    monkeypatch.setattr(home, "FOLDS", 2)
    part = study.part(30, 50)
    found = Population(leave_one_out=True).learn(part, models, thorough=False)
    again = Population(leave_one_out=True).knowing(found.knowledge(), models)
    rival = replace(found, learned=replace(found.learned, rival=found.learned.folds[1]))
    assert again.learned.prints.dtype == np.uint64
    fits = fit(part, models, found.truncations)
    for name in ("score", "penalty", "probability"):
        mine, theirs = (getattr(each.scores(fits), name) for each in (found, again))
        assert np.array_equal(mine, theirs)
    for each in (again, Population().knowing(rival.knowledge(), models)):
        assert each.learned.rates == found.learned.rates
        assert each.learned.shares.log_likelihood == found.learned.shares.log_likelihood
    kept = Population().knowing(rival.knowledge(), models)
    assert kept.learned.rival.rates == found.learned.folds[1].rates
    assert Penalized().knowledge() is None


# EM


@pytest.mark.parametrize("per_model", [False, True])
@pytest.mark.parametrize("independent", [False, True])
def test_no_step_lowers_the_objective(three, per_model, independent):
    _, models, study, _ = three
    parts = groups(study.part(0, 51), models, per_model)
    found = estimate(parts, np.zeros((51, 3)), independent=independent)
    assert np.all(np.diff(found.objectives) >= -1e-6)
    assert len(found.objectives) > 2
    assert found.shares.sum() == pytest.approx(1.0)


def test_no_hyperparameters_nearby_are_better(three):
    """The objective, computed anew, falls on all sides of what EM found."""
    _, models, study, _ = three
    (group,) = groups(study, models)
    found = estimate([group], np.zeros((len(study), 3)))
    (best,) = found.hypers

    def objective(hyper, shares):
        weighed = group.log_evidence(hyper) + np.log(shares)
        return float(np.logaddexp.reduce(weighed, axis=1).sum())

    top = objective(best, found.shares)
    assert top == pytest.approx(found.objective, abs=1e-6)
    for mu, tau, s in itertools.product((-0.1, 0, 0.1), (0.9, 1, 1.1), (0.85, 1, 1.15)):
        moved = Hyper(best.mu + mu, best.tau * tau, max(best.s * s, 0.1))
        assert objective(moved, found.shares) <= top + 1e-3
    for k in range(3):
        shares = found.shares.copy()
        shares[k] *= 1.1
        assert objective(best, shares / shares.sum()) <= top + 1e-3


def test_planted_shares_and_rates_are_found(selected, three):
    """Within two standard errors: 60 learners, τ = 0.5, s = 0.2, a median rate of 0.05."""
    known = selected.choices[0].criterion.learned
    error = np.sqrt(0.7 * 0.3 / 60)
    assert known.shares.share == pytest.approx([0.7, 0.15, 0.15], abs=2 * error)
    (rates,) = known.rates
    assert np.log(0.05) == pytest.approx(rates.hyper.mu, abs=2.5 * 0.5 / np.sqrt(60))
    assert rates.hyper.tau == pytest.approx(0.5, abs=2.5 * 0.5 / np.sqrt(120))
    assert 0.1 <= rates.hyper.s < 0.35
    assert np.all(known.shares.lower <= known.shares.share)
    assert np.all(known.shares.share <= known.shares.upper)


@pytest.mark.parametrize("shape", [
    lambda x: np.exp(normal(x, -0.5, 1.3)) * (1 + 0.3 * np.sin(3 * x)),
    lambda x: np.exp(8 * x),  # piled up at the bound
    lambda x: np.exp(0.3 * x),
    lambda x: np.exp(-2 * x),
])  # fmt: skip
def test_the_normal_on_a_grid_is_fitted_exactly(shape):
    from scipy.optimize import minimize

    x = np.linspace(-9.2, 0.0, 96)
    weight = shape(x) / shape(x).sum()

    def loss(point):
        return -float(weight @ normal(x, point[0], np.exp(point[1])))

    bounds = [(-9.2, 0.0), (math.log(0.1), math.log(3.0))]
    starts = [(m, t) for m in (-9.0, -4.0, -0.1) for t in (-2.0, 0.0, 1.0)]
    best = min(minimize(loss, start, bounds=bounds, tol=1e-12).fun for start in starts)
    found = fitted_normal(x, weight, -3.0, 0.5)
    assert loss([found[0], math.log(found[1])]) <= best + 1e-6


def test_learners_at_one_rate_reach_the_smallest_spreads():
    task = Task.load("five-four")
    study, _ = population(task, [task.model("ByShape")], [15], tau=0.0, s=0.0, trials=400)
    found = estimate(groups(study, [task.model("ByShape")]), np.zeros((15, 1)))
    assert found.hypers[0].tau < 0.25
    assert found.hypers[0].s < 0.25


# The criterion


def test_probabilities_and_scores(selected):
    choice = selected.choices[0]
    known = choice.criterion.learned
    evidence = known.log_evidence
    assert choice.scores.score == pytest.approx(evidence + np.log(known.expected))
    assert known.expected == pytest.approx(known.shares.share, abs=0.05)
    assert known.expected.min() > 0
    weights = np.exp(choice.scores.score - choice.scores.score.max(axis=1, keepdims=True))
    expected = weights / weights.sum(axis=1, keepdims=True)
    assert choice.scores.probability == pytest.approx(expected)
    frame = selected.selection.filter(criterion="population")
    assert frame["probability"].min() > 1 / 3
    assert frame["p_other"].is_between(0, 1).all()
    assert selected.selection.filter(criterion="penalized(c=0.012)")["probability"].is_null().all()
    assert set(selected.learners.columns) >= {
        "criteria_agree", "smallest_margin", "probability_population", "p_other_population",
    }  # fmt: skip


def test_the_population_recognises_its_learners_and_judges_others(three, selected):
    """Some learners, or in another order: the same scores; others are judged by the same rates."""
    task, models, study, _ = three
    criterion = selected.choices[0].criterion
    scores = selected.choices[0].scores.score
    taken = np.array([50, 3, 17])
    some = criterion.scores(fit(study.take(taken), models))
    assert some.score == pytest.approx(scores[taken], abs=1e-12)
    new, _ = population(task, models, [2, 0, 1], seed=99)
    fits = fit(new, models)
    found = criterion.scores(fits)
    (group,) = groups(new, models)
    assert found.log_likelihood == pytest.approx(
        group.log_evidence(criterion.learned.rates[0].hyper), abs=1e-9
    )
    assert found.p_other is not None


def test_chunks_and_large_studies_give_the_same(three, selected, monkeypatch):
    """Evidence of learners beyond the sample is computed block by block."""
    _, models, study, _ = three
    monkeypatch.setattr(home, "SAMPLE", 40)
    monkeypatch.setattr(home, "BLOCK", 7)
    found = select(study, models, [Population()]).choices[0]
    hyper = found.criterion.learned.rates[0].hyper
    assert found.criterion.learned.n_sampled == 40
    (group,) = groups(study, models)
    assert found.scores.log_likelihood == pytest.approx(group.log_evidence(hyper), abs=1e-9)
    same = np.mean(found.selected == selected.choices[0].selected)
    assert same >= 0.95


def test_leave_one_out_uses_the_others_only(three, monkeypatch):
    _, models, study, _ = three
    monkeypatch.setattr(home, "FOLDS", 2)
    part = study.take(np.r_[0:6, 42:44, 51:53])
    found = select(part, models, [Population(leave_one_out=True)]).choices[0]
    known = found.criterion.learned
    assert len(known.folds) == 2
    for fold in range(2):
        mine = np.flatnonzero(known.fold_of == fold)
        rest = part.take(np.flatnonzero(known.fold_of != fold))
        plain = home.learn(
            rest, models, lambda s: np.full((len(s), 3), np.nan), everyone=False, resamples=0
        )
        assert known.folds[fold].rates == plain.rates
        shares = np.log(plain.expected)
        assert -found.scores.penalty[mine] == pytest.approx(np.tile(shares, (len(mine), 1)))


def test_rates_on_another_scale_fire_the_warning():
    """OnePerItem at five times the rate: shared rates miss it, rates per model find it."""
    task = Task.load("five-four")
    models = [task.model("ByShapeExc"), task.model("OnePerItem")]
    slow, _ = population(task, models[:1], [15], tau=0.1, s=0.1, rate=0.03, trials=400)
    fast, _ = population(task, models[1:], [15], tau=0.1, s=0.1, rate=0.15, trials=400, seed=2)
    study = together([slow, fast])
    true = np.repeat([0, 1], 15)
    shared = select(study, models, [Population()]).choices[0]
    known = shared.criterion.learned
    assert known.gain > known.price
    assert known.rival is not None
    apart = select(study, models, [Population(per_model=True)]).choices[0]
    assert np.mean(apart.selected != true) <= 0.1
    assert np.mean(apart.selected != true) < np.mean(shared.selected != true)
    assert known.rival.shares.share == pytest.approx(apart.criterion.learned.shares.share, abs=1e-6)


def test_other_models_take_part_by_their_evidence(three):
    _, models, study, _ = three
    part = study.take(np.r_[0:8, 42:46])
    found = select(part, [*models, Coin()], [Population(), Evidence()])
    mine, alone = (choice.scores.log_likelihood[:, 3] for choice in found.choices)
    assert mine == pytest.approx(alone)
    assert found.choices[0].criterion.learned.shares.share[3] < 0.05


def test_texts_and_mistakes(three):
    assert repr(criterion_named("population(other=true)")) == "population(other=true)"
    assert criterion_named("population(per_model=True)") == Population(per_model=True)
    with pytest.raises(HowlearnError, match="per_model is true or false, not maybe"):
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
    evidence = group.log_evidence(hyper)
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
    evidence = group.log_evidence(hyper)
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
    share = found.choices[0].criterion.learned.with_other.share[-1]
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
