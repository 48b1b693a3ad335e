"""Profile-likelihood intervals against slow ones, their marks, and how often they are right."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
from howlearn.engine.cell_fits import Passes
from howlearn.engine.crossings import between_nodes, crossings, depth_of, march, on_nodes
from howlearn.engine.layout import lay_out
from howlearn.fitting.cells import block_of
from howlearn.fitting.intervals import nats_within, stretch_of
from howlearn.fitting.replay import log_probabilities
from howlearn.models.task import Task
from oracle import dense, log_likelihood, maximum
from studies import model_of, random_trials, study_of

FIVE_FOUR = Task.load("five-four")
NATS = nats_within(0.95)


def slow_ends(function, bounds, nats=NATS) -> tuple[float, float]:
    """The outermost points of a dense grid above the level, then bisection."""
    (best,), top = maximum(function, [bounds], n=100)
    points = sorted({*dense(*bounds, 100), best})
    inside = [i for i, x in enumerate(points) if function(x) >= top - nats]
    ends = []
    for i, step in ((inside[0], -1), (inside[-1], 1)):
        if not 0 <= i + step < len(points):
            ends.append(points[i])
            continue
        good, bad = points[i], points[i + step]
        for _ in range(14):
            middle = 0.5 * (good + bad)
            good, bad = (middle, bad) if function(middle) >= top - nats else (good, middle)
        ends.append(good)
    return ends[0], ends[1]


@pytest.mark.parametrize(
    ("rule", "name", "n_actions"),
    [
        (GradientBandit(), "gradient", 2),
        (GradientBandit(max_rate=20.0), "gradient", 2),
        (GradientBandit(), "gradient", 3),
        (GradientBandit(form="loss"), "gradient", 2),
        (Exp3(), "exp3", 2),
    ],
)
def test_as_a_dense_grid_and_bisection_say(rule, name, n_actions):
    """Learners who choose well, learners who choose at random, one cell and two."""
    learners = [
        random_trials(1, 50, n_actions=n_actions, flags=True, better=0.7),
        random_trials(2, 70, n_actions=n_actions, better=0.9),
        random_trials(3, 40, n_actions=n_actions),
    ]
    study = study_of(*learners, n_actions=n_actions)
    models = [model_of([["x"], ["y"]], rule, name="two"), model_of([["x", "y"]], rule, name="one")]
    fits = hl.fit(study, models, level=0.95)
    parameter, nats = rule.parameters[0], NATS * stretch_of(rule)
    compared = 0
    for i, trials in enumerate(learners):
        for model, p, cell in (("two", 0, "x"), ("two", 1, "y"), ("one", 0, "xy")):
            mine = [trial for trial in trials if trial.context in cell]
            resets = [t.reset for t in trials]
            if len(mine) < len(trials) and sum(resets) > 1:
                continue  # a reset may stand at another cell's trial

            def value(eta, mine=mine):
                return log_likelihood(
                    mine, [["x", "y"]], name, [(eta,)], rule.form, n_actions=n_actions
                )

            found = fits.of[model].ends[i, p]
            expected = slow_ends(value, (parameter.lower, parameter.upper), nats)
            if rule.form == "loss" and found.tolist() == [parameter.lower, parameter.upper]:
                continue  # several tops: see below
            assert found == pytest.approx(expected, rel=1e-3, abs=2e-6)
            compared += 1
    assert compared >= 5


def test_two_parameters_as_a_dense_grid_says():
    """For each value of one parameter the best value of the other."""
    rule = Exp3IX()
    first, second = rule.parameters
    study = hl.simulate(
        FIVE_FOUR,
        hl.PartitionModel("m", FIVE_FOUR.model("ByShape").partition, rule),
        {"eta": 0.1, "gamma": 0.2},
        learners=6,
        trials=150,
        seed=4,
    )
    codes = [range(9), [0, 1, 2, 3]]
    units = lay_out([[list(cell)] for cell in codes], 9)
    cells = [[study.contexts[c] for c in cell] for cell in codes]
    models = [
        model_of([cell, *([[c] for c in study.contexts if c not in cell])], rule, name=str(k))
        for k, cell in enumerate(cells)
    ]
    fits = hl.fit(study, models, level=0.95)
    passes = Passes.prepare(block_of(study, rule, np.diff(study.starts)[:, None]), units, rule)
    u, v = np.linspace(0.0, first.end, 256), np.linspace(0.0, second.end, 128)
    grid = np.stack([passes.curves(first.at(u), row) for row in second.at(v)], axis=1)
    for curve, (i, k) in enumerate(np.ndindex(6, 2)):
        ends = fits.of[str(k)].ends[i, :2]
        top = grid[curve].max()
        for d, (parameter, nodes) in enumerate(((first, u), (second, v))):
            inside = np.flatnonzero(grid[curve].max(axis=d) >= top - NATS * stretch_of(rule))
            expected = nodes[inside[[0, -1]]]
            # The grid's ends lie inside the true ones, by less than a node, up to its own top.
            assert np.abs(parameter.u(ends[d]) - expected).max() < 1.3 * nodes[1]


def test_models_fitted_whole_as_a_dense_grid_says():
    from howlearn.engine.whole import RecordLikelihood
    from howlearn.fitting.settings import records_of
    from howlearn.fitting.whole import Wholes

    model = hl.models.QLearning()
    study = hl.simulate(
        FIVE_FOUR, model, {"alpha": 0.2, "beta": 3.0}, learners=2, trials=200, seed=2
    )
    part = hl.fit(study, [model], level=0.9).of[model.name]
    plan = Wholes([model], study)
    whole = plan.wholes[model.name]
    likelihood = RecordLikelihood(whole, plan.setting, records_of(study))
    axes = [np.linspace(0.0, end, 150) for end in whole.ends]
    points = np.stack([each.reshape(-1) for each in np.meshgrid(*axes, indexing="ij")], axis=1)
    for i in range(len(study)):
        values = likelihood.value(
            np.full(len(points), i), points, np.full(len(points), 200)
        ).reshape(150, 150)
        for d, parameter in enumerate(whole.parameters):
            inside = np.flatnonzero(
                values.max(axis=1 - d) >= part.log_likelihood[i, 0] - nats_within(0.9)
            )
            ends = parameter.u(part.ends[i, d])
            assert np.abs(ends - axes[d][inside[[0, -1]]]).max() < 1.3 * axes[d][1]


def test_a_coin_by_its_formula():
    """Three actions, the second probability with the others in proportion."""
    study = study_of(list(random_trials(5, 80, n_actions=3)), n_actions=3)
    part = hl.fit(study, [hl.models.Coin()], level=0.95).of["Coin"]
    counts = np.bincount(study.action, minlength=3)
    for a in range(2):
        k, n = counts[a], counts.sum()

        def value(p, k=k, n=n):
            return k * np.log(p) + (n - k) * np.log1p(-p)

        expected = slow_ends(value, (0.001, 0.998))
        assert part.ends[0, a] == pytest.approx(expected, abs=1e-4)


def test_a_coin_that_always_falls_on_one_side():
    trials = [trial for trial in random_trials(5, 80) if trial.action == 0]
    frame = intervals_of(study_of(trials), [hl.models.Coin()])
    (row,) = frame.rows(named=True)
    assert row["interval"] == "reaches upper bound"
    assert (row["lower"] > 0.9, row["upper"]) == (True, 1.0)


def test_a_mixture_s_own_rate():
    """By the oracle, the strategies being as they are; nothing for these."""
    model = FIVE_FOUR.model("exp4(ByShape[eta=0.2], ByPattern[eta=0.2])")
    study = hl.simulate(FIVE_FOUR, model, {"theta": 0.3}, learners=2, trials=80, seed=1)
    fits = hl.fit(study, [model], level=0.95)
    part = fits.of[model.name]

    def value(i):
        def of(theta):
            from howlearn.fitting.replay import log_probabilities

            log_p = log_probabilities(study, i, model, np.array([theta]))
            return float(log_p[np.arange(80), study[i].action].sum())

        return of

    for i in range(2):
        assert part.ends[i, 0] == pytest.approx(slow_ends(value(i), (0.0, 1.0)), rel=1e-3, abs=1e-5)
    switch = FIVE_FOUR.model("switch(ByShape, ByPattern)")
    assert np.isnan(hl.fit(study, [switch], level=0.95).of[switch.name].ends).all()


# Curves made by hand


def wave(u):
    """Two tops, at 1 and at 4, the second 1 lower."""
    return np.maximum(-4.0 * (u - 1.0) ** 2, -1.0 - 4.0 * (u - 4.0) ** 2)


def ends_of(function, at, nodes, limit):
    top = function(np.array(at))
    depth = depth_of(np.full((1, 1), top), function(nodes)[None])
    brackets = on_nodes(nodes, depth, np.array([at]), limit)

    def look(sides, u):
        return depth_of(np.full((1, 1), top), function(u))

    return crossings(look, brackets.flat, limit, lanes=4), brackets, depth


def test_two_stretches_above_the_level_count_as_one():
    nodes = np.linspace(0.0, 6.0, 40)
    found, _, _ = ends_of(wave, 1.0, nodes, np.sqrt(2.0))
    assert found == pytest.approx([1.0 - np.sqrt(0.5), 4.0 + np.sqrt(0.25)], abs=5e-4)
    alone, _, _ = ends_of(wave, 1.0, nodes, np.sqrt(0.5))
    assert alone == pytest.approx([1.0 - np.sqrt(0.125), 1.0 + np.sqrt(0.125)], abs=5e-4)


def test_a_top_between_two_nodes():
    """Narrower than the nodes are apart, at places where no node is above the level."""
    narrow = lambda u: -1e6 * (u - 2.03) ** 2  # noqa: E731
    found, _, _ = ends_of(narrow, 2.03, np.linspace(0.0, 6.0, 40), 1.0)
    assert found == pytest.approx([2.029, 2.031], abs=2e-4)


def test_a_bound_that_is_inside_and_a_cliff():
    def cliff(u):
        return np.where(u > 3.0, -np.inf, -0.1 * (u - 0.5) ** 2)

    found, brackets, _ = ends_of(cliff, 0.5, np.linspace(0.0, 6.0, 40), 1.0)
    assert brackets.inside[0, 0] == brackets.outside[0, 0] == found[0] == 0.0
    assert found[1] == pytest.approx(3.0, abs=5e-4)


def test_interpolation_is_trusted_where_it_is_right():
    nodes = np.linspace(0.0, 6.0, 60)
    skewed = lambda u: -np.exp(0.3 * u) * (u - 3.0) ** 2  # noqa: E731
    exact, brackets, depth = ends_of(skewed, 3.0, nodes, 1.4)
    found, sure = between_nodes(nodes, depth, np.array([3.0]), brackets, 1.4)
    assert sure.all()
    assert found[0] == pytest.approx(exact, abs=5e-4)
    exact, brackets, depth = ends_of(wave, 1.0, nodes, np.sqrt(2.0))
    _, sure = between_nodes(nodes, depth, np.array([1.0]), brackets, np.sqrt(2.0))
    kinked = lambda u: -np.abs(u - 3.0) - (u > 3.93)  # noqa: E731
    _, brackets, depth = ends_of(kinked, 3.0, nodes, np.sqrt(1.5))
    assert not between_nodes(nodes, depth, np.array([3.0]), brackets, np.sqrt(1.5))[1][0, 1]


def test_marching_outwards():
    def look(sides, u):
        return np.where(np.array([True, False, True])[sides, None], np.abs(u - 1.0), 0.0)

    at, step = np.ones(3), np.full(3, 0.01)
    found = march(look, at, step, np.array([0.0, 0.0, 9.0]), 0.7)
    assert found.inside[0] > 0.3 >= found.outside[0]
    assert found.inside[1] == found.outside[1] == 0.0
    ends = crossings(look, found, 0.7)
    assert ends == pytest.approx([0.3, 0.0, 1.7], abs=5e-4)


# What a user reads


def intervals_of(study, models, **options) -> pl.DataFrame:
    frame = hl.select(study, models, ["aic"], **options).estimates
    return frame.select("learner", "cell", "estimate", "lower", "upper", "interval", "status")


def test_marks():
    """A learner who never learns from x, always from y; whose trials at z tell nothing; no w."""
    trials = list(random_trials(8, 60, "x"))
    trials += list(random_trials(9, 40, "y", better=1.0))
    trials += list(random_trials(10, 1, "z"))
    other = random_trials(11, 400, "w", better=0.8)
    study = study_of(trials, other, contexts="xyzw")
    model = model_of([["x"], ["y"], ["z"], ["w"]], GradientBandit())
    frame = intervals_of(study, [model])
    rows = {row["cell"]: row for row in frame.rows(named=True) if row["learner"] == "learner 1"}
    assert rows["x"]["interval"] == "reaches lower bound"
    assert (rows["x"]["lower"], rows["x"]["upper"] < 1.0) == (0.0, True)
    assert rows["y"]["interval"] == "reaches upper bound"
    assert (rows["y"]["lower"] > 0.0, rows["y"]["upper"]) == (True, 1.0)
    assert (rows["z"]["status"], rows["z"]["interval"]) == ("flat", "whole range")
    assert (rows["z"]["lower"], rows["z"]["upper"]) == (0.0, 1.0)
    assert rows["w"]["status"] == "unseen"
    assert (rows["w"]["lower"], rows["w"]["upper"], rows["w"]["interval"]) == (None, None, None)
    (w,) = frame.filter((pl.col("learner") == "learner 2") & (pl.col("cell") == "w")).rows(
        named=True
    )
    assert w["interval"] == "closed"
    assert 0.0 < w["lower"] < w["estimate"] < w["upper"] < 1.0


def test_losses_that_make_spikes_leave_the_whole_range():
    rule = GradientBandit(form="loss")
    model = hl.PartitionModel("m", FIVE_FOUR.model("OneForAll").partition, rule)
    study = hl.simulate(FIVE_FOUR, model, {"eta": 0.05}, learners=30, trials=200, seed=1)
    frame = intervals_of(study, [model])
    held = (frame["lower"] <= 0.05) & (frame["upper"] >= 0.05)
    assert (frame["interval"] == "whole range").mean() > 0.3
    assert held.mean() > 0.85


def test_levels_are_nested_and_only_the_fullest_fits_have_intervals():
    study = hl.simulate(FIVE_FOUR, "ByShape", {"eta": 0.05}, learners=3, trials=300, seed=1)
    model = FIVE_FOUR.model("ByShape")
    found = [hl.fit(study, [model], [0.5, 1.0], level=level) for level in (0.8, 0.95, 0.99)]
    ends = [fits.of["ByShape"].ends for fits in found]
    for inner, outer in itertools.pairwise(ends):
        assert np.all(outer[..., 0] <= inner[..., 0])
        assert np.all(outer[..., 1] >= inner[..., 1])
        assert np.all(outer[..., 1] > inner[..., 1]) or np.any(inner[..., 1] == 1.0)
    frame = hl.select(study, [model], ["holdout"]).estimates
    assert frame["trials_fitted"].unique().to_list() == [150]
    assert frame["lower"].null_count() == 0
    both = hl.select(study, [model], ["holdout", "aic"]).estimates
    empty = both.filter(pl.col("lower").is_null())["trials_fitted"].unique().to_list()
    assert empty == [150]


def test_searched_models_have_intervals_when_asked():
    study = hl.simulate(FIVE_FOUR, "ByShape", {"eta": 0.1}, learners=1, trials=80, seed=1)
    models = [FIVE_FOUR.model("ByShape"), hl.models.QLearning(), hl.models.Coin()]
    usual = hl.select(study, models, ["aic"]).estimates
    by = dict(usual.group_by("model").agg(pl.col("lower").null_count()).iter_rows())
    assert by == {"ByShape": 0, "q-learning": 2, "Coin": 0}
    asked = hl.select(study, models, ["aic"], intervals=0.95).estimates
    assert asked["lower"].null_count() == 0
    cells = pl.col("model") == "ByShape"
    assert asked.filter(cells).equals(usual.filter(cells))


def test_neither_threads_nor_other_learners_matter():
    study = hl.simulate(FIVE_FOUR, "ByShapeExc", {"eta": 0.1}, learners=120, trials=60, seed=1)
    models = FIVE_FOUR.models
    together = hl.fit(study, models, threads=2, level=0.95)
    alone = hl.fit(study.part(77, 78), models, threads=1, level=0.95)
    for name, part in alone.of.items():
        np.testing.assert_allclose(part.ends[0], together.of[name].ends[77], rtol=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95, float("nan")])
def test_levels_that_cannot_be(level):
    study = study_of(random_trials(1, 10))
    with pytest.raises(HowlearnError, match=r"must lie between 0 and 1, such as 0\.95"):
        hl.select(study, [model_of([["x", "y"]], GradientBandit())], ["aic"], intervals=level)


@pytest.mark.parametrize(("name", "n", "eta"), [("ByShapeExc", 125, 0.1), ("OneForAll", 500, 0.05)])
def test_coverage(name, n, eta):
    """At least 91%; and not by being wide, since half of them hold the truth at level one half."""
    model = FIVE_FOUR.model(name)
    study = hl.simulate(FIVE_FOUR, model, {"eta": eta}, learners=400, trials=n, seed=11)
    held = {}
    for level in (0.5, 0.95):
        ends = hl.fit(study, [model], level=level).of[name].ends
        held[level] = np.mean((ends[..., 0] <= eta) & (eta <= ends[..., 1]))
    assert held[0.95] >= 0.91
    assert 0.45 < held[0.5] < 0.65


def test_coverage_of_a_rule_that_leaps():
    """One cell of contexts with different right answers; 90% with the Gradient Bandit's stretch."""
    model = hl.PartitionModel("m", FIVE_FOUR.model("OneForAll").partition, Exp3())
    study = hl.simulate(FIVE_FOUR, model, {"eta": 0.3}, learners=400, trials=60, seed=11)
    ends = hl.fit(study, [model], level=0.95).of["m"].ends
    assert np.mean((ends[..., 0] <= 0.3) & (ends[..., 1] >= 0.3)) >= 0.95
    assert np.mean(ends[..., 1] - ends[..., 0]) < 0.5


def test_two_parameters_on_a_narrow_ridge():
    """A true point within the nats of the top is in both intervals, whatever the nodes missed."""
    rule, truth = Exp3IX(form="loss"), np.array([0.1, 0.3])
    cells = [list(cell) for cell in FIVE_FOUR.model("ByShape").partition.cells]
    model = model_of(cells, rule, name="m")
    study = hl.simulate(FIVE_FOUR, model, {"eta": 0.1, "gamma": 0.3}, 6, 1000, seed=(7775,))
    part = hl.fit(study, [model], level=0.95).of["m"]
    nats, compared = NATS * stretch_of(rule), 0
    for i, k in np.ndindex(len(study), len(cells)):
        mine = np.isin(study[i].context, [study.contexts.index(c) for c in cells[k]])
        lost = 0.0
        for sign, theta in ((1.0, part.theta[i, 0]), (-1.0, np.tile(truth, len(cells)))):
            log_p = log_probabilities(study, i, model, theta)
            lost += sign * log_p[np.arange(1000), study[i].action][mine].sum()
        if lost < nats:
            ends = part.ends[i, 2 * k : 2 * k + 2]
            assert np.all((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
            compared += 1
    assert compared >= 8
