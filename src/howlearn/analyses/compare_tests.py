"""Shares of the models in every group, how they differ, and whether they are the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from howlearn.analyses.compare_groups import Groups, dealt, p_value, resampled
from howlearn.core.arrays import Floats
from howlearn.selection.mixture_shares import GAP, ROUGH, climb, interval, scaled, tidy, widened
from howlearn.selection.random_effects import Marginal, log_marginal

LOOSE = 1e-6  # nats per sequence, up to LOOSEST, by which the statistics of deals may be too low
LOOSEST = 0.01


@dataclass(frozen=True, eq=False)
class GroupShares:
    """Axes: group, model."""

    share: Floats
    lower: Floats
    upper: Floats
    resampled: Floats  # [resample, group, model]


def group_shares(
    evidence: Floats, groups: Groups, resamples: int, random: np.random.Generator
) -> GroupShares:
    """Shares by EM within every group."""
    likelihood, _ = scaled(evidence)
    parts = [
        np.stack([_within(likelihood, groups, g, times) for g in range(len(groups.names))], axis=1)
        for times in resampled(groups, resamples, random)
    ]
    drawn = np.concatenate(parts)
    found = []
    for g in range(len(groups.names)):
        mine = likelihood[groups.code == g]
        share = tidy(climb(mine, np.ones((1, len(mine))))[0][0])
        found.append((share, *widened(*interval(drawn[:, g], share), mine, share)))
    share, lower, upper = (np.stack(each) for each in zip(*found, strict=True))
    return GroupShares(share, lower, upper, drawn)


def _within(likelihood: Floats, groups: Groups, g: int, times: Floats) -> Floats:
    mine = groups.code == g
    return climb(likelihood[mine], times[:, mine], ROUGH)[0]


def difference(
    found: GroupShares, a: int, b: int, paired: int = 0
) -> tuple[Floats, Floats, Floats]:
    """The shares of group a minus those of b, with the ends of 95% intervals.

    Intervals are no narrower than what the two groups' own intervals imply (Newcombe 1998), which
    matters where a share is 0 in every resample. Where ``paired`` learners are their own controls,
    they are no narrower than what so many can exclude: if none of n changes, 1 − 0.05^(1/n) may.
    """
    value = found.share[a] - found.share[b]
    lower, upper = interval(found.resampled[:, a] - found.resampled[:, b], value)
    down_a, up_a = found.share[a] - found.lower[a], found.upper[a] - found.share[a]
    down_b, up_b = found.share[b] - found.lower[b], found.upper[b] - found.share[b]
    low = np.minimum(lower, value - np.sqrt(down_a**2 + up_b**2))
    high = np.maximum(upper, value + np.sqrt(up_a**2 + down_b**2))
    if paired:
        unseen = 1.0 - 0.05 ** (1.0 / paired)
        low = np.maximum(low, np.minimum(lower, value - unseen))
        high = np.minimum(high, np.maximum(upper, value + unseen))
    return value, np.maximum(low, -1.0), np.minimum(high, 1.0)


@dataclass(frozen=True)
class SharesTest:
    """Whether groups have the same shares."""

    groups: tuple[str, ...]
    learners: int
    same: Marginal  # log marginal likelihoods
    different: Marginal
    kept: Marginal | None  # that every learner keeps its model; for sequences of the same learners
    statistic: float  # log-likelihood of separate over common shares
    p: float
    p_error: float

    @property
    def log_bayes_factor(self) -> float:
        """Nats for the same shares, against different ones."""
        return self.same.value - self.different.value

    @property
    def error(self) -> float:
        return float(np.hypot(self.same.error, self.different.error))


def shares_test(
    evidence: Floats,
    groups: Groups,
    permutations: int,
    seed: tuple[int, ...],
    prior: float = 1.0,
) -> SharesTest:
    """A Bayes factor and a permutation test."""
    n_groups = len(groups.names)
    each = [
        log_marginal(evidence[groups.code == g], prior, seed=(*seed, 1, g)) for g in range(n_groups)
    ]
    apart = Marginal(
        sum(found.value for found in each), float(np.sqrt(sum(found.error**2 for found in each)))
    )
    same = log_marginal(evidence, prior, seed=(*seed, 2))
    kept = None
    if groups.design == "within":
        summed = np.zeros((groups.n_learners, evidence.shape[1]))
        np.add.at(summed, groups.owner, evidence)
        if np.isneginf(summed).all(axis=1).any():
            kept = Marginal(-np.inf, 0.0)
        else:
            kept = log_marginal(summed, prior, seed=(*seed, 3))
    statistic, p, error = permutation_test(
        evidence, groups, permutations, np.random.default_rng(seed)
    )
    return SharesTest(groups.names, groups.n_learners, same, apart, kept, statistic, p, error)


def permutation_test(
    evidence: Floats, groups: Groups, permutations: int, random: np.random.Generator
) -> tuple[float, float, float]:
    """Nats by which separate shares explain more than common ones, p, and the error of p."""
    likelihood, _ = scaled(evidence)
    common, value = climb(likelihood, np.ones((1, len(likelihood))), GAP)
    # From the common shares, without a 0 that EM could not leave.
    start = 0.999 * common[0] + 0.001 / len(common[0])
    gap = min(LOOSE * len(evidence), LOOSEST)
    observed = _separate(likelihood, groups.code[None], len(groups.names), start, GAP)[0]
    others = [
        _separate(likelihood, codes, len(groups.names), start, gap)
        for codes in dealt(groups, permutations, random)
    ]
    slack = len(groups.names) * gap + 1e-6
    p, error = p_value(observed, np.concatenate([np.empty(0), *others]), slack)
    return max(0.0, float(observed - value[0])), p, error


def _separate(
    likelihood: Floats, codes: np.ndarray, n_groups: int, start: Floats, gap: float
) -> Floats:
    """The log-likelihood when every group has shares of its own: [deal]."""
    begin = np.tile(start, (len(codes), 1))
    total = np.zeros(len(codes))
    for g in range(n_groups):
        total += climb(likelihood, (codes == g).astype(np.float64), gap, begin)[1]
    return total


def posterior(evidence: Floats) -> Floats:
    """The probability of every model for every sequence, with shares that all have in common.

    The same shares for every group: otherwise groups would be pulled apart by what they are asked
    about.
    """
    likelihood, _ = scaled(evidence)
    share = climb(likelihood, np.ones((1, len(likelihood))))[0][0]
    joint = likelihood * share
    return joint / joint.sum(axis=1, keepdims=True)


# Learning rates, and other parameters, of the groups.
#
# A rate may be 0, so that rates are compared on the scale asinh(η / 0.002): logarithmic from a few
# thousandths on, linear around 0. A learner's value is the mean over the cells that its data
# inform, and over the models by their probability.


SCALE = 0.002
ENOUGH = 5.0  # learners of a model in each group, counted by probability
UNINFORMED = ("unseen", "flat")  # cells whose estimates are not of this learner's own


@dataclass(frozen=True, eq=False)
class ComparedParameter:
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
) -> list[ComparedParameter]:
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
            found.append(ComparedParameter(name, None, mean, total))
        for m, model in enumerate(models):
            if known[:, m].any():
                own = np.where(known[:, m], value[:, m], 0.0)
                found.append(ComparedParameter(name, model, own, weight[:, m]))
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
    parameter: ComparedParameter,
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
