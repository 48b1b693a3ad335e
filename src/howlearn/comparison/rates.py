"""Learning rates, and other parameters, of the groups.

A rate may be 0, so that rates are compared on the scale asinh(η / 0.002): logarithmic from a few
thousandths on, linear around 0. A learner's value is the mean over the cells that its data inform,
and over the models by their probability.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from howlearn.comparison.chance import dealt, p_value, resampled
from howlearn.comparison.groups import Groups
from howlearn.core.arrays import Floats
from howlearn.selection.shares import interval

SCALE = 0.002
ENOUGH = 5.0  # learners of a model in each group, counted by probability
UNINFORMED = ("unseen", "flat")  # cells whose estimates are not of this learner's own


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter of one model, or of all that have it."""

    parameter: str
    model: str | None
    value: Floats  # [sequence], on the scale above
    weight: Floats  # [sequence]: the probability of the model, or models


@dataclass(frozen=True)
class Rate:
    """A difference between two groups, ``group`` minus ``other``."""

    parameter: str
    model: str | None
    group: str
    other: str
    learners: float  # counted by the probability of the model
    other_learners: float
    typical: float  # on the parameter's own scale
    other_typical: float
    difference: float
    lower: float
    upper: float
    p: float
    p_error: float


def typical(value: float) -> float:
    """Back to the parameter's own scale."""
    return float(SCALE * np.sinh(value))


def parameters_of(
    estimates: pl.DataFrame,
    labels: pl.DataFrame,
    models: tuple[str, ...],
    probability: Floats,
) -> list[Parameter]:
    """Every parameter, first of all models that share its name, then model by model."""
    values = _values(estimates, labels, models)
    found = []
    for name, value in values.items():
        known = np.isfinite(value)
        weight = np.where(known, probability, 0.0)
        total = weight.sum(axis=1)
        mean = (weight * np.where(known, value, 0.0)).sum(axis=1)
        mean = np.divide(mean, total, out=np.zeros_like(mean), where=total > 0)
        if known.any(axis=0).sum() > 1:
            found.append(Parameter(name, None, mean, total))
        for m, model in enumerate(models):
            if known[:, m].any():
                own = np.where(known[:, m], value[:, m], 0.0)
                found.append(Parameter(name, model, own, weight[:, m]))
    return found


def _values(
    estimates: pl.DataFrame, labels: pl.DataFrame, models: tuple[str, ...]
) -> dict[str, Floats]:
    """The mean over informed cells, fitted on as many trials as were: [sequence, model]."""
    keys = [name for name in labels.columns if name in estimates.columns]
    numbered = labels.select(keys).with_row_index("_sequence")
    place = pl.DataFrame({"model": models, "_model": np.arange(len(models))})
    informed = estimates.with_columns(pl.col("model").cast(pl.String)).filter(
        ~pl.col("status").is_in(UNINFORMED) & pl.col("estimate").is_finite()
    )
    rows = (
        informed.join(numbered, on=keys, nulls_equal=True)
        .join(place, on="model")
        .filter(pl.col("trials_fitted") == pl.col("trials_fitted").max().over("_sequence"))
        .group_by("parameter", "_sequence", "_model", maintain_order=True)
        .agg((pl.col("estimate") / SCALE).arcsinh().mean().alias("value"))
    )
    found: dict[str, Floats] = {}
    for (name,), mine in rows.group_by("parameter", maintain_order=True):
        table = np.full((len(labels), len(models)), np.nan)
        table[mine["_sequence"].to_numpy(), mine["_model"].to_numpy()] = mine["value"].to_numpy()
        found[str(name)] = table
    return found


def rate(
    parameter: Parameter,
    groups: Groups,
    resamples: int,
    permutations: int,
    random: np.random.Generator,
) -> Rate | None:
    """Compare the two groups; nothing where one of them has too few learners."""
    value, weight = parameter.value, parameter.weight
    member = np.stack([groups.code == g for g in (0, 1)]).astype(np.float64)
    counts = member @ weight
    if counts.min() < ENOUGH - 1e-9:
        return None
    means = _means(member, value, weight)
    drawn = np.concatenate(
        [_difference(times * member[0], times * member[1], value, weight)
         for times in resampled(groups, resamples, random)]
    )  # fmt: skip
    observed = means[0] - means[1]
    lower, upper = interval(drawn[np.isfinite(drawn)][:, None], np.array([observed]))
    others = np.concatenate(
        [_difference(codes == 0, codes == 1, value, weight)
         for codes in dealt(groups, permutations, random)]
    )  # fmt: skip
    p, error = p_value(abs(observed), np.abs(others), 1e-9)
    return Rate(
        parameter.parameter,
        parameter.model,
        groups.names[0],
        groups.names[1],
        float(counts[0]),
        float(counts[1]),
        typical(means[0]),
        typical(means[1]),
        float(observed),
        float(lower[0]),
        float(upper[0]),
        p,
        error,
    )


def _means(member: Floats, value: Floats, weight: Floats) -> Floats:
    total = member @ weight
    return np.divide(
        member @ (weight * value), total, out=np.full(len(member), np.nan), where=total > 0
    )


def _difference(a: np.ndarray, b: np.ndarray, value: Floats, weight: Floats) -> Floats:
    first, second = (_means(m.astype(np.float64), value, weight) for m in (a, b))
    return first - second
