"""Fits are exact: the global maximum, at every truncation, whatever else is fitted beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from dense import dense_maximum
from howlearn.analyses.check import select
from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.rule import Parameter, Rule
from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
from howlearn.fitting.fit import fit
from howlearn.fitting.replay import log_probabilities
from howlearn.models.coin import Coin
from howlearn.models.partition_model import PartitionModel, one_rate_versions
from howlearn.models.task import Task
from howlearn.selection.criteria import AIC, BIC, HoldOut, Penalized
from howlearn.simulation.simulate import simulate
from studies import model_of, random_trials, study_of

EACH, ALL = [["x"], ["y"], ["z"]], [["x", "y", "z"]]
CONTEXTS = ("x", "y", "z")


@dataclass(frozen=True)
class Bounded(GradientBandit):
    """A rule whose rate cannot fall to 0: searches must not take the lower bound for 0."""

    lower: ClassVar[float] = 0.05

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (Parameter("eta", self.lower, self.max_rate, default=0.1, scale=0.002),)


@dataclass(frozen=True)
class Situation:
    """Learners made at random, and a model for them whose units have one parameter vector."""

    rule: Rule
    n_actions: int = 2
    rewards: tuple[float, ...] = (0.0, 1.0)
    better: float = 0.6
    flags: bool = False
    cells: tuple = tuple(map(tuple, ALL))
    n: int = 30

    @property
    def reward_range(self):
        return (0.0, max(self.rewards))

    def trials(self, seed):
        return random_trials(
            seed, self.n, CONTEXTS, self.n_actions, self.rewards, self.flags, self.better
        )

    def study(self, seeds):
        return study_of(
            *map(self.trials, seeds),
            n_actions=self.n_actions,
            contexts=CONTEXTS,
            reward_range=self.reward_range,
        )

    @property
    def model(self):
        return model_of(self.cells, self.rule, "shared")

    def log_likelihood(self, trials, *point, stop=None):
        return oracle.log_likelihood(
            trials,
            self.cells,
            self.rule.name,
            [point] * len(self.cells),
            self.rule.form,
            self.n_actions,
            self.reward_range,
            stop=stop,
        )


SITUATIONS = {
    "gain": Situation(GradientBandit()),
    "choices at random": Situation(GradientBandit(), better=0.0),
    "rates up to 20": Situation(GradientBandit(max_rate=20.0)),
    "rates up to 20, rewards up to 15": Situation(
        GradientBandit(max_rate=20.0), rewards=(0.0, 1.0, 15.0), better=0.0
    ),
    "rates up to 0.2": Situation(GradientBandit(max_rate=0.2)),
    "loss": Situation(GradientBandit("loss")),
    "loss, rewards up to 4": Situation(GradientBandit("loss"), rewards=(0.0, 1.0, 4.0)),
    "three actions": Situation(GradientBandit(), n_actions=3),
    "three actions, loss": Situation(GradientBandit("loss"), n_actions=3),
    "resets, unscored and unlearned trials": Situation(GradientBandit(), flags=True, n=60),
    "one rate for three cells": Situation(GradientBandit(), cells=tuple(map(tuple, EACH)), n=50),
    "Exp3": Situation(Exp3()),
    "Exp3, rates up to 20": Situation(Exp3(max_rate=20.0), better=0.0),
    "Exp3, loss": Situation(Exp3("loss"), n_actions=3),
    "lower bound above 0": Situation(Bounded(max_rate=0.6), better=0.0),
}
each_situation = pytest.mark.parametrize(
    "situation", SITUATIONS.values(), ids=[name.replace(" ", "-") for name in SITUATIONS]
)


@each_situation
def test_equal_to_the_oracle_on_a_dense_grid(situation):
    study = situation.study(range(2))
    found = fit(study, [situation.model]).of["m"]
    (parameter,) = situation.rule.parameters
    for i in range(2):
        trials = situation.trials(i)

        def at(eta, trials=trials):
            return situation.log_likelihood(trials, eta)

        (best,), top = oracle.maximum(at, [(parameter.lower, parameter.upper)], n=300)
        assert found.log_likelihood[i, 0] == pytest.approx(top, abs=1e-6)
        assert found.log_likelihood[i, 0] >= top - 1e-8
        assert at(found.theta[i, 0, 0]) == pytest.approx(found.log_likelihood[i, 0], abs=1e-9)
        assert found.theta[i, 0, 0] == pytest.approx(best, rel=0.01, abs=1e-4)


@each_situation
def test_never_below_four_thousand_rates(situation):
    """40 learners, three cells and their union, two lengths."""
    situation = replace(situation, n=120)
    study = situation.study(range(100, 140))
    study = replace(study, scored=np.ones_like(study.scored))  # so that 35 scored are 35 trials
    marks = np.tile([35, 120], (40, 1))
    units = [[[0]], [[1]], [[2]], [[0, 1, 2]], [[0], [1], [2]]]
    top = dense_maximum(study, situation.rule, units, marks)
    models = [
        model_of(EACH, situation.rule, name="each"),
        model_of(ALL, situation.rule, name="all"),
        model_of(EACH, situation.rule, "shared", name="shared"),
    ]
    fits = fit(study, models, [35, 1.0])
    each, whole, shared = (fits.of[m.name].log_likelihood for m in models)
    for found, expected in (
        (each, top[:, :, :3].sum(axis=2)),
        (whole, top[:, :, 3]),
        (shared, top[:, :, 4]),
    ):
        assert np.all(found >= expected - 1e-6)
        if situation.rule.form == "gain":  # a smooth curve cannot rise much between the rates
            assert np.all(found <= expected + 0.05)


@pytest.mark.parametrize(
    ("rule", "eta"), [(GradientBandit("loss"), 0.3), (Exp3("loss"), 0.03)], ids=repr
)
def test_spikes_of_the_loss_form(rule, eta):
    """One cell for items that earn by different actions never stops losing.

    Losses drive preferences apart, so that the likelihood has a spike at the rate of the learner,
    far narrower than the distance of the nodes: without it up to 200 nats are missed. The plain
    replay confirms it, as well as it can: on a spike roundings grow a billion times.
    """
    task = Task.load("five-four").with_rule(rule)
    study = simulate(task, "OneForAll", {"eta": eta}, learners=12, trials=400, seed=3)
    models = [task.model("OneForAll"), task.model("ByShape")]
    fits = fit(study, models)
    units = [[list(range(9))], [list(range(4))], [list(range(4, 9))]]
    top = dense_maximum(study, rule, units, n=128 * 64)[:, 0]
    assert np.all(fits.of["OneForAll"].log_likelihood[:, 0] >= top[:, 0] - 1e-6)
    assert np.all(fits.of["ByShape"].log_likelihood[:, 0] >= top[:, 1:].sum(axis=1) - 1e-6)
    for i in range(12):
        value = fits.of["OneForAll"].log_likelihood[i, 0]
        assert fits.log_probability(i, "OneForAll").sum() == pytest.approx(value, abs=0.01)
        truth = log_probabilities(study, i, models[0], np.array([eta]))
        assert value >= truth[np.arange(400), study[i].action].sum() - 1e-6


def test_a_false_top_beside_a_cliff_does_not_win():
    """A curve laid through the nodes rises far too high where the likelihood falls off by 1e8."""
    rule = Exp3("loss", max_rate=5.0)
    study = study_of(random_trials(400_010, 400, CONTEXTS, 3, better=0.6), n_actions=3)
    found = fit(study, [model_of(ALL, rule)]).of["m"]
    assert found.log_likelihood[0, 0] >= dense_maximum(study, rule, [[[0, 1, 2]]]) - 1e-6


@pytest.mark.parametrize("better", [0.0, 0.7])
@pytest.mark.parametrize(("form", "n_actions"), [("gain", 2), ("gain", 3), ("loss", 3)])
def test_two_parameters_never_below_a_dense_grid(form, n_actions, better):
    situation = Situation(Exp3IX(form), n_actions, better=better, n=40)
    study = situation.study(range(200, 215))
    top = dense_maximum(study, situation.rule, [[[0, 1, 2]]], n=128 * 64)[:, 0, 0]
    found = fit(study, [situation.model]).of["m"]
    assert np.all(found.log_likelihood[:, 0] >= top - 1e-6)
    assert np.all(found.log_likelihood[:, 0] <= top + 0.05)
    for i in (0, 7):
        value = situation.log_likelihood(situation.trials(200 + i), *found.theta[i, 0])
        assert value == pytest.approx(found.log_likelihood[i, 0], abs=1e-9)


def test_two_parameters_against_the_oracle():
    situation = Situation(Exp3IX(), better=0.8, n=25)
    found = fit(situation.study([3]), [situation.model]).of["m"]
    trials = situation.trials(3)
    _, top = oracle.maximum(
        lambda eta, gamma: situation.log_likelihood(trials, eta, gamma), [(0, 1), (0, 1)], n=25
    )
    assert found.log_likelihood[0, 0] == pytest.approx(top, abs=1e-6)


# One pass serves all


@pytest.mark.parametrize("rule", [GradientBandit(), Exp3IX()], ids=repr)
def test_one_pass_for_many_truncations_is_as_many_fits(rule):
    """Eleven truncations, more than there are lanes; shortened learners have the same fits."""
    situation = Situation(rule, n=60)
    study = situation.study(range(3))
    model = model_of(EACH, rule)
    truncations = [1, 2, 3, 5, 8, 13, 21, 34, 0.5, 0.75, 1.0]
    fits = fit(study, [model], truncations)
    assert fits.sizes[0].tolist() == [1, 2, 3, 5, 8, 13, 21, 34, 30, 45, 60]
    for j, size in enumerate(fits.sizes[0]):
        short = study_of(*(situation.trials(i)[:size] for i in range(3)), contexts=CONTEXTS)
        alone, part = fit(short, [model]).of["m"], fits.of["m"]
        np.testing.assert_allclose(
            part.log_likelihood[:, j], alone.log_likelihood[:, 0], rtol=0, atol=1e-8
        )
        np.testing.assert_array_equal(part.status[:, j], alone.status[:, 0])


def test_a_cell_has_the_same_numbers_in_every_model():
    situation = Situation(GradientBandit(), n=80)
    models = [
        model_of([["x"], ["y", "z"]], situation.rule, name="one"),
        model_of([["z"], ["x"], ["y"]], situation.rule, name="other"),
    ]
    fits = fit(situation.study(range(4)), models, [20, 1.0])
    one, other = fits.of["one"], fits.of["other"]
    assert (one.cells[0], other.cells[1]) == ("x", "x")
    informed = one.status[:, :, 0] < 3
    assert informed.any()
    np.testing.assert_array_equal(one.theta[:, :, 0][informed], other.theta[:, :, 1][informed])
    np.testing.assert_array_equal(one.status[:, :, 0], other.status[:, :, 1])


@pytest.mark.parametrize("rule", [GradientBandit(), GradientBandit("loss"), Exp3IX()], ids=repr)
def test_the_number_of_threads_changes_no_bit(rule):
    """Three blocks of learners; and a learner is the same among others and alone."""
    task = Task.load("five-four").with_rule(rule)
    values = {p.name: 0.05 for p in rule.parameters}
    study = simulate(task, "ByShape", values, learners=120, trials=40, seed=4)
    models = [task.model("OneForAll"), task.model("ByShapeExc"), task.model("ByShape (one rate)")]
    one, two = (fit(study, models, [20, 1.0], threads=threads) for threads in (1, 2))
    alone = fit(study.part(77, 78), models, [20, 1.0])
    for name, part in one.of.items():
        for array in ("theta", "status", "log_likelihood", "rest", "n_parameters"):
            values = getattr(part, array)
            np.testing.assert_array_equal(values, getattr(two.of[name], array))
            np.testing.assert_array_equal(values[77:78], getattr(alone.of[name], array))


def test_progress_ends_with_all_learners():
    seen = []
    fit(
        Situation(GradientBandit(), n=5).study(range(60)),
        [Coin()],
        threads=1,
        progress=lambda *step: seen.append(step),
    )
    assert seen == [(50, 60), (60, 60)]


# The log-probability of every trial


MIXED = PartitionModel("mixed", Partition((("x", "y"), ("z",))), (Exp3IX("loss"), GradientBandit()))


@pytest.mark.parametrize(
    "model",
    [
        model_of(EACH, GradientBandit()),
        model_of(ALL, Exp3()),
        model_of(EACH, GradientBandit("loss"), "shared"),
        MIXED,
        Coin(),
    ],
    ids=["per-cell", "exp3", "shared", "mixed", "coin"],
)
def test_log_probabilities_sum_to_the_log_likelihood(model):
    """Before the truncation to the likelihood of the fit, after it to that of the rest."""
    study = Situation(GradientBandit(), flags=True, n=70).study(range(4))
    fits = fit(study, [model], [0.5, 1.0])
    for truncation, i in ((0.5, 0), (0.5, 3), (1.0, 1)):
        j = fits.at(truncation)
        per_trial = fits.log_probability(i, model.name, truncation)
        assert np.exp(fits.probabilities(i, model.name, truncation)).sum(1) == pytest.approx(1)
        scored = per_trial[study[i].scored]
        size = fits.sizes[i, j]
        part = fits.of[model.name]
        assert scored[:size].sum() == pytest.approx(part.log_likelihood[i, j], abs=1e-9)
        assert scored[size:].sum() == pytest.approx(part.rest[i, j], abs=1e-9)


# Sizes


def test_long_sequences():
    """20,000 trials in one cell: products of that many probabilities leave the floats."""
    for rule in (GradientBandit(), GradientBandit(max_rate=20.0), Exp3()):
        study = study_of(random_trials(1, 20_000, CONTEXTS, better=0.3))
        model = model_of(ALL, rule)
        fits = fit(study, [model], [0.5, 1.0])
        part = fits.of["m"]
        for j, truncation in enumerate((0.5, 1.0)):
            per_trial = fits.log_probability(0, "m", truncation)
            half = per_trial[:10_000] if truncation == 0.5 else per_trial
            assert half.sum() == pytest.approx(part.log_likelihood[0, j], rel=1e-10)
            assert per_trial.sum() == pytest.approx(
                part.log_likelihood[0, j] + part.rest[0, j], rel=1e-10
            )


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    lengths=st.lists(st.integers(2, 25), min_size=1, max_size=4),
    n_actions=st.integers(2, 4),
    rewards=st.sampled_from([(0.0,), (1.0,), (0.0, 1.0), (0.0, 0.5, 15.0)]),
    flags=st.booleans(),
    rule=st.sampled_from([GradientBandit, Exp3, Exp3IX]),
    form=st.sampled_from(["gain", "loss"]),
    max_rate=st.sampled_from([0.01, 1.0, 20.0]),
)
def test_nothing_is_nan(seed, lengths, n_actions, rewards, flags, rule, form, max_rate):
    learners = [
        random_trials(seed + i, n, CONTEXTS, n_actions, rewards, flags)
        for i, n in enumerate(lengths)
    ]
    learners = [[replace(t[0], scored=True), replace(t[1], scored=True), *t[2:]] for t in learners]
    study = study_of(
        *learners, n_actions=n_actions, contexts=CONTEXTS, reward_range=(0.0, max(1.0, *rewards))
    )
    rule = rule(form, max_rate)
    each = model_of(EACH, rule, name="each")
    models = [each, model_of(ALL, rule, name="all"), *one_rate_versions([each]), Coin()]
    selection = select(study, models, [Penalized(), HoldOut(), HoldOut(0.1), AIC(), BIC()])
    bounds = {p.name: p for p in rule.parameters}
    for part in selection.fits.of.values():
        for array in (part.theta, part.log_likelihood, part.rest):
            assert np.all(np.isfinite(array))
        assert np.all(part.log_likelihood <= 1e-12)
        if part.model is not models[-1]:
            for p, parameter in enumerate(part.parameters):
                bound = bounds[parameter]
                inside = (bound.lower <= part.theta[..., p]) & (part.theta[..., p] <= bound.upper)
                assert inside.all()
    assert selection.selection["margin"].is_finite().all()


# What cannot be fitted


@pytest.mark.parametrize(
    ("models", "truncations", "message"),
    [
        ([], [1.0], "there is no candidate model"),
        ([Coin(), Coin()], [1.0], "two candidates have the same name: Coin"),
        (["ByShape"], [1.0], "the study has no model 'ByShape'"),
        ([3], [1.0], "3 is not a model"),
        ([model_of([["x"]], GradientBandit())], [1.0], "m has no cell for context y and 1 more"),
        ([Coin()], [1.5], "a share of the trials must be above 0 and at most 1, got 1.5"),
        ([Coin()], [0.0], "a share of the trials must be above 0 and at most 1, got 0"),
        ([Coin()], [0], "a number of trials must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_fitted(models, truncations, message):
    study = Situation(GradientBandit()).study([1])
    with pytest.raises(HowlearnError, match=message):
        fit(study, models, truncations)


def test_a_truncation_that_was_not_fitted():
    fits = fit(Situation(GradientBandit()).study([1]), [Coin()], [0.5, 20])
    assert (fits.at(0.5), fits.at(20)) == (0, 1)
    with pytest.raises(HowlearnError, match=r"nothing was fitted at truncation 1\.0; there are"):
        fits.log_likelihood(1.0)
    with pytest.raises(HowlearnError, match="nothing was fitted at truncation 20"):
        fits.rest(20.0)  # all of the trials twenty times over, not 20 of them


def test_every_model_names_a_way_that_there_is():
    from howlearn.fitting.replay import ADVISORS
    from howlearn.fitting.ways import WAYS
    from howlearn.models.coin import FixedPolicy
    from howlearn.models.exp4 import Exp4
    from howlearn.models.q_learning import QLearning

    assert set(WAYS) == set(ADVISORS)
    bandit = model_of([["x"], ["y"]], GradientBandit())
    inside = model_of([["x"], ["y"]], QLearning())
    policy = FixedPolicy("fixed", {"A": 0.5, "B": 0.5})
    made = (bandit, inside, QLearning(), Coin(), policy, Exp4([bandit, Coin()]))
    assert [model.way for model in made] == [*WAYS]
