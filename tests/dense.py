"""Maxima over very many rates, by the engine's grid, which test_rules compares with the oracle."""

from __future__ import annotations

import numpy as np

from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.engine.cell_fits import Passes
from howlearn.engine.layout import RATES, lay_out
from howlearn.fitting.cells import block_of


def dense_maximum(
    study: Study, rule: Rule, units, marks: np.ndarray | None = None, n: int = 64 * RATES
) -> np.ndarray:
    """The highest log-likelihood [learner, mark, unit] on n rates, evenly spread in log η.

    Units are lists of cells, cells lists of codes of contexts. With two parameters, the second
    takes n / RATES values and the first RATES.
    """
    if marks is None:
        marks = np.diff(study.starts)[:, None]
    passes = Passes.prepare(block_of(study, rule, marks), lay_out(units, len(study.contexts)), rule)
    best = np.full((*marks.shape, len(units)), -np.inf)
    for rates in _rates(rule, n):
        best = np.maximum(best, passes.grid(np.ascontiguousarray(rates)).max(axis=-1))
    return best


def _rates(rule: Rule, n: int):
    first, *others = rule.parameters
    if not others:
        every = first.at(np.linspace(0.0, first.end, n))
        return [every[None, k : k + RATES] for k in range(0, n, RATES)]
    second = others[0].at(np.linspace(0.0, others[0].end, n // RATES))
    every = first.at(np.linspace(0.0, first.end, RATES))
    return [np.vstack([every, np.full(RATES, value)]) for value in second]
