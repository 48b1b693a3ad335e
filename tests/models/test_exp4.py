"""Exp4: the paper's metalearning, against vectors, a plain version and dense grids."""

from __future__ import annotations

import math

import numpy as np
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3IX, GradientBandit
from howlearn.fitting.fit import fit
from howlearn.fitting.replay import advisor_for, latents_of, log_probabilities
from howlearn.fitting.settings import records_of
from howlearn.models.coin import Coin, FixedPolicy
from howlearn.models.exp4 import Exp4
from howlearn.models.mixture import Expert, WeighedTrials
from howlearn.models.q_learning import QLearning
from howlearn.models.task import Task
from howlearn.simulation.simulate import simulate
from oracle import Trial, exp4, replay
from studies import model_of, random_trials, study_of, trials_of

TASK = Task.load("five-four")
PATTERN, PATTERN_EXC = TASK.model("ByPattern"), TASK.model("ByPatternExc")
COINS = (Expert(Coin(), {"p(A)": 0.9}), Expert(Coin(), {"p(A)": 0.2}))


# The sequence and the numbers of the specification's Exp4 vectors.
VECTORS = {
    "gain": ([0.55, 0.6160180859, 0.6160180859, 0.6712435673, 0.7165959534], -3.698980672181),
    "loss": ([0.55, 0.4839819141, 0.4839819141, 0.4146712522, 0.3473232708], -3.292100768217),
}


@pytest.mark.parametrize("form", ["gain", "loss"])
def test_the_vectors(form: str) -> None:
    chosen, feedback = (0, 1, 0, 0, 1), (1, 0, 1, 1, 1)
    if form == "loss":  # there the numbers are losses
        feedback = tuple(1 - g for g in feedback)
    trials = [Trial("x", a, float(g)) for a, g in zip(chosen, feedback, strict=True)]
    study = study_of(trials)
    log_p = log_probabilities(study, 0, Exp4(COINS, form=form), np.array([0.3]))
    expected, total = VECTORS[form]
    assert np.exp(log_p[:, 0]) == pytest.approx(expected, abs=1e-10)
    assert log_p[np.arange(5), chosen].sum() == pytest.approx(total, abs=1e-11)


@pytest.mark.parametrize("form", ["gain", "loss"])
@pytest.mark.parametrize("n_actions", [2, 3])
def test_mixtures_of_bandits_equal_the_plain_way(form: str, n_actions: int) -> None:
    trials = random_trials(5, 120, ("x", "y", "z"), n_actions, (0.0, 0.4, 1.0), flags=True)
    study = study_of(trials, n_actions=n_actions)
    cells = ([("x", "y", "z")], [("x",), ("y", "z")])
    rules = (GradientBandit(form=form), Exp3IX(form=form))
    values = (((0.3,),), ((0.2, 0.1), (0.4, 0.3)))
    experts = [
        Expert(model_of(c, rule, name=name), given)
        for c, rule, name, given in zip(
            cells,
            rules,
            "ab",
            ({"eta": 0.3}, {"eta": (0.2, 0.4), "gamma": (0.1, 0.3)}),
            strict=True,
        )
    ]
    each = [
        replay(trials, c, rule.name, points, form, n_actions)
        for c, rule, points in zip(cells, rules, values, strict=True)
    ]
    advice = [[[math.exp(x) for x in log_p[t]] for log_p in each] for t in range(len(trials))]
    q, policy = exp4(advice, trials, 0.35, form)
    model = Exp4(experts, form=form)
    theta = np.array([0.35])
    assert latents_of(study, 0, model, theta)[1] == pytest.approx(np.array(q), abs=1e-12)
    found = np.exp(log_probabilities(study, 0, model, theta))
    assert found == pytest.approx(np.array(policy), abs=1e-12)


def test_one_expert_is_that_expert() -> None:
    study = simulate(TASK, PATTERN, {"eta": 0.05}, learners=3, trials=150, seed=3)
    alone, same = PATTERN, Exp4([PATTERN])
    fits = fit(study, [alone, same], [0.5, 1.0])
    one, other = fits.of[alone.name], fits.of[same.name]
    assert np.array_equal(one.n_parameters, other.n_parameters)  # nothing is mixed
    assert other.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-9)
    assert other.rest == pytest.approx(one.rest, abs=1e-9)
    assert fits.probabilities(1, same.name) == pytest.approx(fits.probabilities(1, alone.name))
    given = Exp4([Expert(PATTERN, {"eta": 0.05})])
    assert given.n_parameters(2) == 0
    assert fit(study, [given]).of[given.name].n_parameters.tolist() == [0, 0, 0]


@pytest.mark.parametrize("form", ["gain", "loss"])
@pytest.mark.parametrize("rate", [0.001, 1.0, 20.0])
def test_weights_add_up_over_a_hundred_thousand_trials(form: str, rate: float) -> None:
    n = 100_000
    random = np.random.default_rng(4)
    advice = np.log(random.beta(0.3, 0.3, (n, 3, 1)) * 0.999 + 5e-4)
    advice = np.concatenate([advice, np.log1p(-np.exp(advice))], axis=2)
    reward = random.random(n)
    feedback = reward if form == "gain" else reward - 1.0
    trials = WeighedTrials(
        np.array([0, n]), random.integers(0, 2, n), feedback, np.full(n, 3, np.uint8)
    )
    model = Exp4([*COINS, Expert(Coin(), {"p(A)": 0.5})], form=form, max_rate=20.0)
    log_q, log_pi = model.blend(np.array([rate]), advice, trials)
    assert np.abs(np.logaddexp.reduce(log_q, axis=1)).max() < 1e-12
    assert np.abs(np.logaddexp.reduce(log_pi, axis=1)).max() < 1e-12


def _problem(seed: int, n: int, form: str):
    """Advice of three experts, and what the weights learn from."""
    random = np.random.default_rng(seed)
    speed = random.uniform(0.005, 0.1, 3)
    right = random.random((n, 3)) < 0.7
    p = 0.5 + 0.45 * np.tanh(speed * np.arange(n)[:, None]) * np.where(right, 1, -1)
    reward = (random.random(n) < 0.6).astype(float)
    feedback = reward if form == "gain" else reward - 1.0
    flags = np.full(n, 3, np.uint8)
    flags[random.random(n) < 0.1] = 2  # instructed
    flags[random.random(n) < 0.1] = 1  # without feedback
    flags[n // 2] |= 4  # learning restarts
    feedback = np.where(flags & 2, feedback, 0.0)
    return np.log(p), WeighedTrials(np.array([0, n]), np.zeros(n, np.int64), feedback, flags)


@pytest.mark.parametrize("form", ["gain", "loss"])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_rate_is_the_best_of_a_dense_grid(form: str, seed: int) -> None:
    advice, trials = _problem(seed, 400, form)
    model = Exp4([*COINS, Expert(Coin(), {"p(A)": 0.5})], form=form)
    marks = np.array([[150, 400]])
    best = model.best(advice, trials, marks, marks)
    scored = (trials.flags & 1) > 0
    nothing, nobody = np.empty((400, 0)), np.empty(0, np.int64)
    for j, mark in enumerate(marks[0]):
        rates = np.append(np.geomspace(1e-5, 1.0, 3000), 0.0)
        grid = []
        for rate in rates:
            log_pi, _ = model.slopes(np.array([rate]), advice, nothing, nobody, trials)
            grid.append(log_pi[:mark][scored[:mark]].sum())
        assert best.value[0, j] >= max(grid) - 1e-9
        log_pi, _ = model.slopes(best.theta[0, j], advice, nothing, nobody, trials)
        assert best.value[0, j] == pytest.approx(log_pi[:mark][scored[:mark]].sum(), abs=1e-9)
        assert best.rest[0, j] == pytest.approx(log_pi[mark:][scored[mark:]].sum(), abs=1e-9)


@pytest.mark.parametrize("form", ["gain", "loss"])
def test_derivatives_equal_differences(form: str) -> None:
    """Of the mixture in all parameters, through the advice of bandits and of other models."""
    study = simulate(TASK, PATTERN, {"eta": 0.1}, learners=1, trials=80, seed=2)
    ix = model_of(PATTERN_EXC.partition.cells, Exp3IX(form=form), name="ix")
    model = Exp4([PATTERN, ix, QLearning()], source="joint", form=form)
    advisor = advisor_for(model, study)
    records = records_of(study)
    x = np.concatenate([[0.3], [0.1, 0.05], np.tile([0.08, 0.2], 4), [0.3, 3.0]])
    own, each = model.split(x, study.actions)
    found = [a.slopes(records, mine) for a, mine in zip(advisor.experts, each, strict=True)]
    advice = np.stack([log_p for log_p, _ in found], axis=1)
    slopes = np.concatenate([d for _, d in found], axis=1)
    owner = np.repeat([0, 1, 2], [2, 8, 2])
    _, d = model.slopes(own, advice, slopes, owner, advisor.trials(records))
    for p in range(len(x)):
        step = 1e-6 * max(x[p], 0.1)
        above, below = x.copy(), x.copy()
        above[p] += step
        below[p] -= step
        rise = advisor.chosen(records, above) - advisor.chosen(records, below)
        assert d[:, p] == pytest.approx(rise / (2 * step), abs=2e-6), p


def test_equal_advice_tells_nothing_about_the_rate() -> None:
    study = study_of(random_trials(1, 40))
    same = [FixedPolicy("one", {"A": 0.7, "B": 0.3}), Expert(Coin(), {"p(A)": 0.7})]
    model = Exp4(same)
    part = fit(study, [model]).of[model.name]
    assert part.theta[0, 0, 0] == model.own[0].default
    assert part.n_parameters[0] == 1


def test_a_fixed_policy_competes_by_itself() -> None:
    trials = random_trials(3, 60, contexts=("x", "y"))
    study = study_of(trials)
    policy = FixedPolicy("own", {"x": {"A": 0.8, "B": 0.2}, "y": {"A": 0.1, "B": 0.9}})
    part = fit(study, [policy, Coin()], [0.5, 1.0]).of["own"]
    table = {"x": (0.8, 0.2), "y": (0.1, 0.9)}
    each = [math.log(table[t.context][t.action]) for t in trials]
    assert part.log_likelihood[0].tolist() == pytest.approx([sum(each[:30]), sum(each)])
    assert part.rest[0].tolist() == pytest.approx([sum(each[30:]), 0.0])
    made = simulate(TASK, FixedPolicy("likes A", {"A": 0.9, "B": 0.1}), {}, 20, 200, seed=1)
    assert abs((made.action == 0).mean() - 0.9) < 4 * math.sqrt(0.09 / 4000)


@pytest.mark.parametrize("form", ["gain", "loss"])
def test_simulated_learners_are_those_of_the_plain_way(form: str) -> None:
    """Repeated replay finds the one sequence that agrees with the draws."""
    experts = [Expert(PATTERN, {"eta": 0.3}), Expert(QLearning(), {"alpha": 0.4, "beta": 6})]
    model = Exp4(experts, form=form)
    study = simulate(TASK, model, {"theta": 0.4}, learners=4, trials=120, seed=9)
    for i in range(len(study)):
        random = np.random.default_rng([9, i])
        draws = random.random((120, 2))[:, 0]
        p = np.exp(log_probabilities(study, i, model, np.array([0.4])))
        assert np.array_equal(study[i].action, (draws >= p[:, 0]).astype(int))
        assert len(trials_of(study, i)) == 120


def test_what_cannot_be_is_refused() -> None:
    for experts, words in (
        ([], "no experts"),
        ([PATTERN, PATTERN], "identical"),
        ([Expert(PATTERN, {"eta": 0.1}), Expert(PATTERN, {"eta": [0.1]})], "identical"),
        ([Exp4([PATTERN])], "itself a mixture"),
        (["ByShape"], "not known without its task"),
        ([QLearning], "give a model"),
        (None, "list of experts"),
        ([Expert(PATTERN, {"eta": 0.1}), Expert(PATTERN, {"eta": [0.1, 0.1]})], "identical"),
        ([FixedPolicy("a", {"A": 0.5, "B": 0.5}), FixedPolicy("b", {"A": 0.5, "B": 0.5})], "same"),
        (
            [
                Expert(QLearning(), {"alpha": 0.1, "beta": 1}),
                Expert(QLearning(), {"beta": 1, "alpha": 0.1}),
            ],
            "identical",
        ),
    ):
        with pytest.raises(HowlearnError, match=words):
            Exp4(experts)
    renamed = model_of(PATTERN.partition.cells, GradientBandit(), name="other name")
    with pytest.raises(HowlearnError, match="which are the same"):
        Exp4([PATTERN, renamed])
    with pytest.raises(HowlearnError, match="given by name"):
        Expert(PATTERN, 0.1)
    with pytest.raises(HowlearnError, match="a number, or one per cell"):
        Expert(PATTERN, {"eta": "fast"})
    with pytest.raises(HowlearnError, match="come from training, joint, population"):
        Exp4([PATTERN, PATTERN_EXC], source="nowhere")
    with pytest.raises(HowlearnError, match="gain or loss"):
        Exp4([PATTERN, PATTERN_EXC], form="both")
    with pytest.raises(HowlearnError, match="largest rate"):
        Exp4([PATTERN, PATTERN_EXC], max_rate=0.0)


@pytest.mark.parametrize(
    "given", [{"eta": 2.0}, {"et": 0.1}, {"eta": [0.1, 0.2, 0.3]}, {"eta": 0.1, "beta": 2.0}]
)
def test_given_parameters_are_checked_before_any_fit(given: dict) -> None:
    study = simulate(TASK, PATTERN, {"eta": 0.1}, learners=1, trials=20)
    with pytest.raises(HowlearnError, match="expert ByPattern"):
        fit(study, [Exp4([Expert(PATTERN, given), PATTERN_EXC])])


def test_an_expert_that_rules_an_action_out_is_named() -> None:
    study = simulate(TASK, PATTERN, {"eta": 0.1}, learners=2, trials=20)
    sure = FixedPolicy("sure", {"A": 1.0, "B": 0.0})
    with pytest.raises(HowlearnError) as caught:
        fit(study, [Exp4([Expert(PATTERN, {"eta": 0.1}), sure])])
    text = str(caught.value)
    for words in ("expert sure", "action B", "trial 1 ", "learner 1", "rho = 0.5", "Assumption 4"):
        assert words in text
    by_context = {c: {"A": 0.5, "B": 0.5} for c in TASK.contexts}
    by_context[TASK.contexts[3]] = {"A": 0.0, "B": 1.0}
    trial = 1 + next(t for t, c in enumerate(study[0].context) if c == 3)
    with pytest.raises(HowlearnError, match=f"expert later gives action A .* at trial {trial} "):
        fit(study, [Exp4([FixedPolicy("later", by_context), PATTERN])])


def test_experts_may_be_given_as_texts() -> None:
    assert Exp4(("q-learning", "aca+lapse")).name == "exp4(q-learning, aca+lapse)"
    with pytest.raises(HowlearnError, match="'ByShape' is not known without its task"):
        Exp4(("ByShape", "aca"))
