"""hmm: strategies as hidden states, against a sum over all sequences of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.replay import advisor_for, log_probabilities, states_of
from howlearn.fitting.settings import records_of
from howlearn.models import FixedPolicy, HiddenStrategies
from howlearn.models.mixture import WeighedTrials

TASK = hl.Task.load("five-four")
TWO = "hmm(ByPattern[eta=0.2], ByShape[eta=0.3])"
THREE = "hmm(ByPattern[eta=0.2], ByShape[eta=0.3], coin[p(A)=0.6])"
CHAINS = {
    TWO: [0.8],
    TWO.replace(")", ", transitions=free)"): [0.3, 0.1],
    THREE: [0.7],
    THREE[:-1] + ", transitions=free)": [0.3, 0.1, 0.2, 0.6, 0.2, 0.9],
}


def short(trials: int = 7, **changed) -> Study:
    study = hl.simulate(TASK, "ByPattern", {"eta": 0.3}, learners=1, trials=trials, seed=3)
    return replace(study, **changed)


def advice_of(study: Study, model) -> np.ndarray:
    """What each strategy alone gives to what was chosen: [trial, strategy]."""
    each = []
    for expert in model.experts:
        values = expert.values(study.actions)
        log_p = log_probabilities(study, 0, expert.model, values)
        each.append(log_p[np.arange(len(log_p)), study.action])
    return np.stack(each, axis=1)


def chain_of(model, own) -> np.ndarray:
    """The transition matrix, once more: from the words of the documentation."""
    n = len(model.experts)
    if model.transitions == "shared":
        return np.array([[own[0] if u == s else (1 - own[0]) / (n - 1) for s in range(n)]
                         for u in range(n)])  # fmt: skip
    t = np.zeros((n, n))
    for u in range(n):
        others, left = [s for s in range(n) if s != u], own[u]
        shares = own[n + u * (n - 2) : n + (u + 1) * (n - 2)]
        for s, share in zip(others, [*shares, 1.0], strict=True):
            t[u, s] = left * share
            left *= 1 - share
        t[u, u] = 1 - own[u]
    return t


def sequences(study: Study, model, own) -> dict[tuple[int, ...], float]:
    """The probability of every sequence of strategies together with the choices."""
    n, t, advice = len(model.experts), chain_of(model, own), np.exp(advice_of(study, model))
    found = {}
    for path in product(range(n), repeat=len(study.context)):
        p = 1.0
        for k, s in enumerate(path):
            p *= 1 / n if k == 0 or study.reset[k] else t[path[k - 1], s]
            p *= advice[k, s] if study.scored[k] else 1.0
        found[path] = p
    return found


RESET = np.array([False, False, False, True, False, False, False])
SCORED = np.array([True, True, False, True, True, False, True])


@pytest.mark.parametrize("text", CHAINS)
@pytest.mark.parametrize("changed", [{}, {"reset": RESET}, {"scored": SCORED}], ids=str)
def test_the_likelihood_is_the_sum_over_all_sequences(text, changed):
    study, model, own = short(**changed), TASK.model(text), CHAINS[text]
    log_p = log_probabilities(study, 0, model, np.array(own))
    mine = log_p[np.arange(len(log_p)), study.action][study.scored].sum()
    every = sequences(study, model, own)
    assert mine == pytest.approx(np.log(sum(every.values())), abs=1e-10)
    found = states_of(study, 0, model, np.array(own))
    assert found is not None
    total = sum(every.values())
    for t in range(len(study.context)):
        for s in range(len(model.experts)):
            share = sum(p for path, p in every.items() if path[t] == s) / total
            assert found.smoothed[t, s] == pytest.approx(share, abs=1e-10)
    best = max(every, key=lambda path: every[path])
    assert every[tuple(found.path.tolist())] == pytest.approx(every[best], rel=1e-12)
    upto = replace(short(4), reset=study.reset[:4], scored=study.scored[:4])
    every = sequences(upto, model, own)
    for s in range(len(model.experts)):
        share = sum(p for path, p in every.items() if path[3] == s) / sum(every.values())
        assert found.filtered[3, s] == pytest.approx(share, abs=1e-10)


@pytest.mark.parametrize("text", CHAINS)
def test_gradient(text):
    study, model = short(60), TASK.model(text.replace("ByShape[eta=0.3]", "ByShape"))
    advisor = advisor_for(model, study)
    records = records_of(study)
    theta = np.array([*CHAINS[text], 0.3, 0.2])
    own, each = model.split(theta, study.actions)

    def value(x):
        log_p = advisor.log_probabilities(records, x)
        return log_p[np.arange(len(log_p)), study.action].sum()

    log_p, slopes = advisor.experts[1].slopes(records, each[1])
    advice = advisor.advice(records, theta)
    np.testing.assert_allclose(advice[:, 1], log_p)
    owner = np.full(slopes.shape[1], 1)
    found = model.slopes(own, advice, slopes, owner, advisor.trials(records))[1].sum(axis=0)
    for k in range(len(theta)):
        step = np.zeros(len(theta))
        step[k] = 1e-6
        differences = (value(theta + step) - value(theta - step)) / 2e-6
        assert found[k] == pytest.approx(differences, rel=1e-5, abs=1e-6)


def test_special_cases():
    study = short(50)
    model = TASK.model(TWO)
    alone = advice_of(study, model).sum(axis=0)
    log_p = log_probabilities(study, 0, model, np.array([1.0]))
    mine = log_p[np.arange(50), study.action].sum()
    assert mine == pytest.approx(np.logaddexp(*alone) - np.log(2), abs=1e-10)  # it never changes
    absorbing = TASK.model(TWO.replace(")", ", transitions=free)"))
    found = states_of(study, 0, absorbing, np.array([0.05, 0.0]))
    assert found is not None
    assert (np.diff(found.path) >= 0).all()  # as in switch: there is no way back


def two_sides(first: float, second: float) -> list[FixedPolicy]:
    """Two strategies that choose A with these probabilities."""
    return [FixedPolicy(f"A {p:g}", {"A": p, "B": 1 - p}) for p in (first, second)]


def test_nothing_underflows():
    model = HiddenStrategies(two_sides(1 - 1e-12, 1e-12))
    n = 2_000
    action = np.repeat([0, 1], n // 2)
    advice = np.where(action[:, None] == [0, 1], np.log1p(-1e-12), np.log(1e-12))
    trials = WeighedTrials(np.array([0, n]), action, np.zeros(n), np.ones(n, np.uint8))
    log_p, _ = model.slopes(np.array([1.0]), advice, np.empty((n, 0)), np.empty(0, int), trials)
    assert log_p.sum() == pytest.approx(n / 2 * np.log(1e-12), rel=1e-9)
    found = model.states(np.array([0.999]), advice, trials)
    assert np.flatnonzero(np.diff(found.path)).tolist() == [n // 2 - 1]


@pytest.mark.parametrize("transitions", ["shared", "free"])
@pytest.mark.parametrize("source", ["training", "joint"])
def test_a_fit_is_never_worse_than_any_chain(transitions, source):
    study = hl.simulate(TASK, "ByPattern", {"eta": 0.1}, learners=2, trials=80, seed=5)
    model = TASK.model(f"hmm(ByPattern, ByShape, transitions={transitions}, source={source})")
    part = hl.fit(study, [model, *TASK.models]).of[model.name]
    n_own = len(model.own)
    for i in range(2):
        theta = part.theta[i, 0].copy()
        for stay in np.linspace(0, 1, 41):
            theta[:n_own] = stay if transitions == "shared" else 1 - stay
            log_p = log_probabilities(study, i, model, theta)
            mine = log_p[np.arange(len(log_p)), study[i].action].sum()
            assert part.log_likelihood[i, 0] >= mine - 1e-9


def test_when_the_strategy_changes_is_recovered():
    """Learners who follow one strategy and later another, in a task that has changed by then."""
    rng, n = np.random.default_rng(4), 300
    model = HiddenStrategies(two_sides(0.9, 0.2))
    study = hl.simulate(TASK, "OneForAll", {"eta": 0.0}, learners=20, trials=n, seed=1)
    truth = rng.integers(60, n - 60, 20)
    second = np.arange(n) >= truth[:, None]
    action = (rng.random((20, n)) < np.where(second, 0.8, 0.1)).astype(np.int16)
    found = hl.leaders(hl.weights(hl.fit(replace(study, action=action.reshape(-1)), [model])))
    changes = found.filter(pl.col("before").is_not_null())
    last = changes.group_by("learner", maintain_order=True).last()
    assert len(last) == 20
    errors = np.abs(last["trial"].to_numpy() - 1 - truth)
    assert np.median(errors) <= 2  # 1 here, and the largest is 3
    assert np.mean(errors > 10) <= 0.1


def test_weights_have_the_states():
    study = hl.simulate(TASK, TWO, {"stay": 0.95}, learners=2, trials=100, seed=1)
    frame = hl.weights(hl.fit(study, [TASK.model(TWO)]))
    sums = frame.group_by("learner", "trial").agg(
        pl.col("weight", "filtered", "smoothed", "leads").sum()
    )
    for column in ("weight", "filtered", "smoothed", "leads"):
        np.testing.assert_allclose(sums[column], 1.0, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hmm(ByShape)", "hmm(ByShape): a hidden Markov model needs two strategies or more"),
        ("hmm(ByShape, ByShape)", "two experts are identical: ByShape twice"),
        ("hmm()", "hmm has no experts"),
        ("hmm(ByShape, ByPattern, transitions=any)", "transitions must be shared or free, got any"),
        ("hmm(ByShape, ByPattern, form=loss)", "hmm has no setting form"),
        ("exp4(ByShape, ByPattern, transitions=free)", "exp4 has no setting transitions"),
    ],
)
def test_what_cannot_be_is_refused(text, message):
    with pytest.raises(HowlearnError) as error:
        TASK.model(text)
    assert message in str(error.value)
