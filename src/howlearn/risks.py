"""Stochastic risks of simulated learners: how far a model is from the one that made the data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.engine import compile as compiled
from howlearn.engine.whole import Records
from howlearn.errors import HowlearnError
from howlearn.model import Model
from howlearn.models import PartitionModel
from howlearn.rule import Parameter
from howlearn.staging.advice import Advisor
from howlearn.staging.setting import records_of, setting_of
from howlearn.staging.wholes import by_cells
from howlearn.study import Study

Floats = NDArray[np.float64]
GRID = 48  # rates at which the oracle looks first
GOLDEN = (5**0.5 - 1) / 2
SHRINKS = 40  # steps of the golden section


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
    first: NDArray[np.int64] | int = 0,
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
    firsts = np.broadcast_to(first, len(study))
    advisors = [_advisor(study, each) for each in (truth, model)]
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
    model: PartitionModel,
    first: NDArray[np.int64] | int = 0,
) -> Oracle:
    """inf over the parameters of K(p*, p_θ), learner by learner, cell by cell."""
    if not by_cells(model) or any(len(unit.rule.parameters) != 1 for unit in model.units):
        raise HowlearnError(
            f"{model.name}: the oracle is computed for partition models whose cells have one rate"
        )
    firsts = np.broadcast_to(first, len(study))
    teller, advisor = _advisor(study, truth), _advisor(study, model)
    theta, kl = np.empty((len(study), len(model.owned))), np.empty(len(study))
    parameter = model.owned[0][1]
    for i in range(len(study)):
        one = study.part(i, i + 1)
        records, start = records_of(one), int(firsts[i])
        log_true = teller.log_probabilities(records, np.ascontiguousarray(true_theta[i]))
        mine = _counted(one, start)
        entropy = float(np.sum(np.exp(log_true[mine]) * log_true[mine]))
        theta[i], best = _highest(advisor, records, log_true, start, parameter)
        kl[i] = max((entropy - best) / len(mine), 0.0)
    return Oracle(kl, theta)


def _highest(
    advisor: Advisor, records: Records, log_true: Floats, first: int, parameter: Parameter
) -> tuple[Floats, float]:
    """The rates that maximise the expected log-likelihood: all cells of a pass at once."""
    n = len(advisor.parameters)

    def expected(u: Floats) -> Floats:
        """By parameter: cells that share one are summed."""
        theta, found = parameter.at(u), np.zeros(n)
        for rule, cell_of, places in advisor.rules:
            out = np.empty(len(places))
            compiled.single(rule).expected(
                records.context, records.action, advisor.feedback(records, rule), records.flags,
                cell_of, theta[places], log_true, first, out,
            )  # fmt: skip
            np.add.at(found, places[:, 0], out)
        return found

    nodes = np.linspace(0.0, parameter.end, GRID)
    values = np.stack([expected(np.full(n, node)) for node in nodes])
    top = np.argmax(values, axis=0)
    low, high = nodes[np.maximum(top - 1, 0)], nodes[np.minimum(top + 1, GRID - 1)]
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    f_a, f_b = expected(a), expected(b)
    for _ in range(SHRINKS):
        left = f_a >= f_b
        low, high = np.where(left, low, a), np.where(left, b, high)
        step = GOLDEN * (high - low)
        a, b = np.where(left, high - step, b), np.where(left, a, low + step)
        probe = expected(np.where(left, a, b))
        f_a, f_b = np.where(left, probe, f_b), np.where(left, f_a, probe)
    ends = np.stack([low, high, nodes[top]])
    heights = np.stack([expected(end) for end in ends])
    best = np.argmax(heights, axis=0)
    u = np.take_along_axis(ends, best[None], axis=0)[0]
    return parameter.at(u), float(np.sum(expected(u)))


def _advisor(study: Study, model: Model) -> Advisor:
    return Advisor(model, study.contexts, study.actions, setting_of(study))


def _counted(one: Study, first: int) -> NDArray[np.int64]:
    mine = np.flatnonzero(one.scored)
    mine = mine[mine >= first]
    if not len(mine):
        raise HowlearnError(f"learner {one.learners[0]} has no scored trial from {first + 1} on")
    return mine
