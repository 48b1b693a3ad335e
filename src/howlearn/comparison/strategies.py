"""Shares of the models in every group, how they differ, and whether they are the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howlearn.comparison.chance import dealt, p_value, resampled
from howlearn.comparison.groups import Groups
from howlearn.core.arrays import Floats
from howlearn.selection.random_effects import Marginal, log_marginal
from howlearn.selection.shares import GAP, ROUGH, climb, interval, scaled, tidy, widened

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
