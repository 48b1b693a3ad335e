"""Stochastic risks of simulated learners: how far a model is from the one that made the data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Parameter
from howlearn.core.study import Study
from howlearn.engine import compile as compiled
from howlearn.engine.layout import POINTS
from howlearn.engine.search import filling
from howlearn.engine.whole import Records
from howlearn.fitting.replay import Advisor, advisor_for
from howlearn.fitting.settings import records_of
from howlearn.models.model import Model
from howlearn.models.values import checked

__all__ = ["Oracle", "Risk", "oracle", "risk"]

NODES = 128  # rates at which the oracle looks first, where it has no guess
NEAR = 0.22  # in u, around a guess
ZOOMS = 6  # at most: each lays 32 points over the bracket of the one before
STARTS = 7  # of a search, besides the guess
CLOSE = 2e-3  # in u, log-rates about: K is a parabola there


class Risk(NamedTuple):
    """Per learner, means over the scored trials from ``first`` on."""

    kl: Floats  # K_{N,n}
    hellinger: Floats  # H²_{N,n}


def risk(
    study: Study,
    truth: Model,
    true_theta: Floats,
    model: Model,
    theta: Floats,
    first: Ints | int = 0,
) -> Risk:
    """K and H² of ``model`` at theta[learner, …] against the generating ``truth``.

    Exact given the record: at every trial the expectation over the next choice is a sum. ``first``
    is where the trials begin that count, one number or one per learner.

    >>> import howlearn as hl
    >>> task = hl.Task.load("five-four")
    >>> model, theta = task.model("ByShape"), np.full((3, 2), 0.05)
    >>> study = hl.simulate(task, model, theta, trials=100)
    >>> float(risk(study, model, theta, model, theta).kl.max())
    0.0
    """
    firsts = _firsts(study, first)
    true_theta, theta = _given(study, truth, true_theta), _given(study, model, theta)
    advisors = [advisor_for(each, study) for each in (truth, model)]
    kl, hellinger = np.empty(len(study)), np.empty(len(study))
    for i in range(len(study)):
        one = study.part(i, i + 1)
        records = records_of(one)
        log_true = advisors[0].log_probabilities(records, np.ascontiguousarray(true_theta[i]))
        log_p = advisors[1].log_probabilities(records, np.ascontiguousarray(theta[i]))
        mine = _counted(one, int(firsts[i]))
        p = np.exp(log_true[mine])
        kl[i] = np.sum(p * (log_true[mine] - log_p[mine])) / len(mine)
        overlap = np.exp((log_true[mine] + log_p[mine]) / 2).sum(axis=1)
        hellinger[i] = np.mean(1.0 - overlap)
    return Risk(np.maximum(kl, 0.0), np.maximum(hellinger, 0.0))


class Oracle(NamedTuple):
    """The smallest K that a model can reach, and where."""

    kl: Floats  # [learner]
    theta: Floats  # [learner, parameter]


def oracle(
    study: Study,
    truth: Model,
    true_theta: Floats,
    model: Model,
    first: Ints | int = 0,
    near: Floats | None = None,
) -> Oracle:
    """inf over the parameters of K(p*, p_θ), learner by learner.

    Exact for partition models with one rate per cell that learn from gains; with losses K has
    spikes too narrow for any grid. For other models it is searched, from ``near`` and from several
    starts, and may lie above the infimum. ``near`` are parameters
    [learner, parameter] near which to look first, such as a fit's.
    """
    firsts = _firsts(study, first)
    true_theta = _given(study, truth, true_theta)
    near = None if near is None else _given(study, model, near)
    teller, advisor = advisor_for(truth, study), advisor_for(model, study)
    exact = model.way == "cells" and all(len(u.rule.parameters) == 1 for u in model.units)
    theta, kl = np.empty((len(study), len(advisor.parameters))), np.empty(len(study))
    for i in range(len(study)):
        one = study.part(i, i + 1)
        records, start = records_of(one), int(firsts[i])
        log_true = teller.log_probabilities(records, np.ascontiguousarray(true_theta[i]))
        mine, p_true = _counted(one, start), np.exp(log_true)
        entropy = float(np.sum(p_true[mine] * log_true[mine]))
        guess = None if near is None else near[i]
        if exact:
            parameter = advisor.parameters[0]
            theta[i], best = highest_expected(advisor, records, p_true, start, parameter, guess)
        else:
            theta[i], best = _searched(advisor, records, p_true, mine, guess)
        kl[i] = max((entropy - best) / len(mine), 0.0)
    return Oracle(kl, theta)


def _searched(
    advisor: Advisor, records: Records, p_true: Floats, mine: Ints, near: Floats | None
) -> tuple[Floats, float]:
    """The expected log-likelihood climbed from several starts; cells that share nothing apart."""
    parameters = advisor.parameters
    if not parameters:
        log_p = advisor.log_probabilities(records, np.empty(0))
        return np.empty(0), float(np.sum(p_true[mine] * log_p[mine]))
    start = np.array([p.default for p in parameters]) if near is None else near.astype(float)
    blocks = [(np.arange(len(parameters)), mine)]
    if advisor.rules:
        blocks = []
        for _, cell_of, places in advisor.rules:
            cell = cell_of[records.context[mine]]
            owner = places[:, 0]
            for first in np.unique(owner):
                in_unit = (cell >= 0) & (owner[np.maximum(cell, 0)] == first)
                blocks.append((places[np.flatnonzero(owner == first)[0]], mine[in_unit]))
    theta, total = start.copy(), 0.0
    for own, trials in blocks:
        theta[own], best = _climbed(advisor, records, p_true, trials, theta, own)
        total += best
    return theta, total


def _climbed(
    advisor: Advisor, records: Records, p_true: Floats, trials: Ints, theta: Floats, own: Ints
) -> tuple[Floats, float]:
    """Some of the parameters at their best for some trials, the others as they are."""
    parameters = [advisor.parameters[p] for p in own]

    def at(u: Floats) -> Floats:
        return np.array([float(p.at(np.array(x))) for p, x in zip(parameters, u, strict=True)])

    def loss(u: Floats) -> float:
        point = theta.copy()
        point[own] = at(u)
        log_p = advisor.log_probabilities(records, point)[trials]
        with np.errstate(invalid="ignore"):
            value = np.sum(np.where(p_true[trials] > 0, p_true[trials] * log_p, 0.0))
        return -float(value) if np.isfinite(value) else 1e300

    ends = np.array([p.end for p in parameters])
    first = np.array([float(p.u(np.array(theta[k]))) for k, p in zip(own, parameters, strict=True)])
    starts = [first, *(filling(STARTS, len(own)) * ends)]
    found = [
        minimize(loss, u, method="L-BFGS-B", bounds=[(0.0, end) for end in ends]) for u in starts
    ]
    best = min(found, key=lambda each: each.fun)
    return at(best.x), -float(best.fun)


def highest_expected(
    advisor: Advisor,
    records: Records,
    p_true: Floats,
    first: int,
    parameter: Parameter,
    near: Floats | None,
) -> tuple[Floats, float]:
    """The rates that maximise the expected log-likelihood, all cells at once.

    Points are laid over the whole range, or near a guess, then over ever smaller brackets.
    """
    n = len(advisor.parameters)

    def expected(u: Floats) -> Floats:
        """[parameter, point] at u[parameter, point]: cells that share one are summed."""
        theta, found = parameter.at(u), np.zeros((n, POINTS))
        for rule, cell_of, places in advisor.rules:
            out = np.empty((len(places), POINTS))
            compiled.expectation(rule).expected(
                records.context, records.action, advisor.feedback(records, rule), records.flags,
                cell_of, np.ascontiguousarray(theta[places]), p_true, first, out,
            )  # fmt: skip
            np.add.at(found, places[:, 0], out)
        return found

    best, u = np.full(n, -np.inf), np.zeros(n)
    width = parameter.end / (NODES - 1)
    if near is None:
        nodes = np.linspace(0.0, parameter.end, NODES)
        for k in range(0, NODES, POINTS):
            points = np.tile(nodes[k : k + POINTS], (n, 1))
            u, best, _, _ = _better(points, expected(points), u, best)
    else:
        u = parameter.u(near)
    centre, width = u.copy(), np.full(n, width if near is None else NEAR)
    top, values = np.zeros(n, np.int64), np.empty((n, POINTS))
    for step in range(ZOOMS):
        low, high = np.maximum(centre - width, 0.0), np.minimum(centre + width, parameter.end)
        points = np.linspace(low, high, POINTS, axis=1)
        u, best, top, values = _better(points, expected(points), u, best)
        outside = ((u <= low) & (low > 0.0)) | ((u >= high) & (high < parameter.end))
        if step == 0 and near is not None and outside.any():
            return highest_expected(advisor, records, p_true, first, parameter, None)
        centre, width = u, (high - low) / (POINTS - 1)
        if np.max(width) < CLOSE:
            break
    # The top of a parabola through the best point and its neighbours, where it has two.
    at = np.clip(top, 1, POINTS - 2)
    below, middle, above = (values[np.arange(n), at + k] for k in (-1, 0, 1))
    bend, rise = 2 * middle - below - above, above - below
    inside = (top == at) & (middle >= best) & (bend > 0.0)
    bend = np.where(inside, bend, 1.0)
    u = np.where(inside, u + rise / (2 * bend) * width, u)
    best = np.where(inside, best + rise**2 / (8 * bend), best)
    return parameter.at(u), float(np.sum(best))


def _better(
    points: Floats, values: Floats, u: Floats, best: Floats
) -> tuple[Floats, Floats, Ints, Floats]:
    """The best points so far with their values; and where the new ones are highest."""
    top = np.argmax(values, axis=1)
    every = np.arange(len(values))
    highest = values[every, top]
    u = np.where(highest > best, points[every, top], u)
    return u, np.maximum(highest, best), top, values


def _given(study: Study, model: Model, theta: Floats) -> Floats:
    """Parameters [learner, parameter], checked."""
    if not isinstance(model, Model):
        raise HowlearnError(f"{model!r} is not a model, such as task.model({model!r})")
    given = np.asarray(theta, np.float64)
    if given.ndim != 2 or len(given) != len(study):
        raise HowlearnError(
            f"the parameters of {model.name} are an array of [learner, parameter] with "
            f"{len(study)} rows, one per learner; the one given has the shape {given.shape}"
        )
    return checked(model, given, study.actions)


def _firsts(study: Study, first: Ints | int) -> Ints:
    firsts = np.broadcast_to(first, len(study))
    if np.any(firsts < 0):
        raise HowlearnError(f"the first trial that counts must be 0 or later, got {firsts.min()}")
    return firsts


def _counted(one: Study, first: int) -> Ints:
    mine = np.flatnonzero(one.scored)
    mine = mine[mine >= first]
    if not len(mine):
        raise HowlearnError(f"learner {one.learners[0]} has no scored trial after trial {first}")
    return mine
