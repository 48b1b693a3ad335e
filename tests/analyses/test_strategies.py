"""Shares of groups: the Bayes factor against exact ones, p under the null, power, odd groups."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.special import gammaln

from howlearn.analyses.compare_groups import Groups, dealt, resampled
from howlearn.analyses.compare_tests import (
    difference,
    group_shares,
    permutation_test,
    posterior,
    shares_test,
)
from howlearn.selection.mixture_shares import certain, mixture_shares


def groups_of(code: list[int], owner: list[int] | None = None) -> Groups:
    """Groups by number; sequences with the same owner are one learner's."""
    names = tuple("ABC"[: max(code) + 1])
    whose = np.arange(len(code)) if owner is None else np.array(owner)
    design = "group" if owner is None else "within"
    return Groups(design, "group", names, np.array(code), whose, np.arange(len(code)), ())


def drawn(shares: list[list[float]], n: int, seed: int, clear: float = 2.0) -> np.ndarray:
    """Log-evidence of n learners of every group."""
    random = np.random.default_rng(seed)
    true = np.concatenate([random.choice(len(p), n, p=p) for p in shares])
    shown = random.normal(size=(len(true), len(shares[0])))
    shown[np.arange(len(true)), true] += clear
    return clear * shown


def log_beta(counts: np.ndarray) -> float:
    """Of a Dirichlet-multinomial with a flat prior."""
    k = len(counts)
    return float(gammaln(counts + 1).sum() - gammaln(counts.sum() + k) + gammaln(k))


def test_the_bayes_factor_of_known_models_is_that_of_counts() -> None:
    a, b = np.array([6, 3, 1]), np.array([2, 2, 6])
    models = np.concatenate([np.repeat(np.arange(3), a), np.repeat(np.arange(3), b)])
    found = shares_test(certain(models, 3), groups_of([0] * 10 + [1] * 10), 200, (0,))
    exact = log_beta(a + b) - log_beta(a) - log_beta(b)
    assert found.error < 0.02
    assert abs(found.log_bayes_factor - exact) < 4 * found.error + 1e-6
    pooled = (a + b) / 20
    separate = (a * np.log(a / 10)).sum() + (b * np.log(b / 10)).sum()
    assert found.statistic == pytest.approx(separate - ((a + b) * np.log(pooled)).sum(), abs=1e-5)


def test_p_is_that_of_all_deals() -> None:
    evidence = drawn([[0.9, 0.1], [0.1, 0.9]], 4, seed=4, clear=1.5)
    groups = groups_of([0] * 4 + [1] * 4)
    found = shares_test(evidence, groups, 3000, (1,))

    def statistic(code: np.ndarray) -> float:
        parts = [mixture_shares(evidence[code == g], 0).log_likelihood for g in (0, 1)]
        return sum(parts) - mixture_shares(evidence, 0).log_likelihood

    every = [statistic(np.array(code)) for code in set(permutations([0] * 4 + [1] * 4))]
    observed = statistic(groups.code)
    assert found.statistic == pytest.approx(observed, abs=1e-5)
    exact = np.mean(np.array(every) >= observed - 1e-5)
    assert abs(found.p - exact) < 4 * found.p_error + 1e-3


@pytest.mark.parametrize("design", ["group", "within"])
def test_p_is_uniform_where_groups_are_alike(design: str) -> None:
    p = []
    for seed in range(200):
        if design == "group":
            evidence = drawn([[0.6, 0.3, 0.1]] * 2, 12, seed)
            groups = groups_of([0] * 12 + [1] * 12)
        else:  # learners who keep their models under both conditions
            random = np.random.default_rng(seed)
            true = np.tile(random.choice(3, 12, p=[0.6, 0.3, 0.1]), 2)
            shown = random.normal(size=(24, 3))
            shown[np.arange(24), true] += 1.5
            evidence, owner = 1.5 * shown, [*range(12), *range(12)]
            groups = groups_of([0] * 12 + [1] * 12, owner)
        p.append(permutation_test(evidence, groups, 99, np.random.default_rng(seed))[1])
    below = [np.mean(np.array(p) <= level) for level in (0.05, 0.1, 0.25, 0.5, 0.75)]
    for share, level in zip(below, (0.05, 0.1, 0.25, 0.5, 0.75), strict=True):
        assert abs(share - level) < 3.5 * np.sqrt(level * (1 - level) / 200)


def test_different_groups_are_told_apart_and_equal_ones_are_not() -> None:
    groups = groups_of([0] * 30 + [1] * 30)
    apart = shares_test(drawn([[0.8, 0.2], [0.2, 0.8]], 30, 1), groups, 500, (0,))
    assert apart.log_bayes_factor < -5
    assert apart.p < 0.01
    alike = shares_test(certain(np.arange(60) % 2, 2), groups, 500, (0,))
    assert alike.log_bayes_factor > 1
    assert alike.p == 1.0


def test_learners_who_keep_their_models() -> None:
    """Nothing differs between conditions, though every condition has many models."""
    true = np.tile(np.repeat([0, 1, 2], 8), 2)
    groups = groups_of([0] * 24 + [1] * 24, [*range(24), *range(24)])
    found = shares_test(certain(true, 3), groups, 99, (0,))
    assert found.kept is not None
    assert found.kept.value > found.same.value + 10
    assert found.p == 1.0
    moved = shares_test(
        certain(np.concatenate([true[:24], np.roll(true[:24], 1)]), 3), groups, 99, (0,)
    )
    assert moved.kept is not None
    assert np.isneginf(moved.kept.value)


def test_the_uncertainty_of_models_is_taken_along() -> None:
    """A selected model is often wrong; its evidence knows, a count does not."""
    shares = [[0.85, 0.15, 0.0], [0.15, 0.85, 0.0]]
    graded, counted = [], []
    groups = groups_of([0] * 40 + [1] * 40)
    truth = np.array([0.7, -0.7, 0.0])
    for seed in range(20):
        evidence = drawn(shares, 40, seed, clear=1.2)
        hard = certain(evidence.argmax(axis=1), 3)
        for result, given in ((graded, evidence), (counted, hard)):
            found = group_shares(given, groups, 20, np.random.default_rng(0))
            result.append(difference(found, 0, 1, paired=0)[0] - truth)
    assert np.abs(np.mean(graded, axis=0)).max() < 0.08
    assert np.abs(np.mean(counted, axis=0)).max() > 0.15


def test_intervals_of_differences_cover() -> None:
    shares = [[0.6, 0.3, 0.1], [0.3, 0.6, 0.1]]
    truth = np.subtract(*shares)
    groups = groups_of([0] * 25 + [1] * 25)
    covered = []
    for seed in range(120):
        found = group_shares(drawn(shares, 25, seed), groups, 200, np.random.default_rng(seed))
        _, lower, upper = difference(found, 0, 1, paired=0)
        covered.append((lower <= truth) & (truth <= upper))
    assert np.mean(covered, axis=0).min() > 0.88
    assert np.mean(covered) < 0.995


def test_one_model_in_every_group() -> None:
    evidence = certain(np.zeros(10, int), 3)
    groups = groups_of([0] * 5 + [1] * 5)
    found = group_shares(evidence, groups, 50, np.random.default_rng(0))
    value, lower, upper = difference(found, 0, 1, paired=0)
    assert value.tolist() == [0, 0, 0]
    assert (lower < -0.2).all()  # five learners do not show that shares are equal
    assert (upper > 0.2).all()
    test = shares_test(evidence, groups, 50, (0,))
    assert test.p == 1.0
    assert test.log_bayes_factor > 0


def test_labels_are_dealt_between_learners_or_within_them() -> None:
    random = np.random.default_rng(0)
    owner = np.array([0, 0, 1, 2, 2, 3])
    code = np.array([0, 0, 1, 1, 1, 0])
    between = Groups("group", "g", ("A", "B"), code, owner, np.arange(6), ())
    for row in np.concatenate([*dealt(between, 50, random)]):
        assert row[0] == row[1]
        assert row[3] == row[4]
        assert row[[0, 2, 3, 5]].sum() == 2
    within = Groups("within", "g", ("A", "B", "C"), np.array([0, 1, 2, 2, 0, 1]),
                    np.array([0, 1, 0, 1, 1, 0]), np.arange(6), ())  # fmt: skip
    deals = np.concatenate([*dealt(within, 200, random)])
    assert (np.sort(deals[:, [0, 2, 5]], axis=1) == [0, 1, 2]).all()
    assert (np.sort(deals[:, [1, 3, 4]], axis=1) == [0, 1, 2]).all()
    assert len(np.unique(deals, axis=0)) == 36
    times = np.concatenate([*resampled(between, 50, random)])
    assert (times[:, [0, 5]].sum(axis=1) == 2).all()  # two learners of A, whatever their sequences
    assert (times[:, [2, 3]].sum(axis=1) == 2).all()


def test_probabilities_use_the_shares_of_all() -> None:
    evidence = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 4.0]])
    found = posterior(evidence)
    assert found.sum(axis=1) == pytest.approx(1)
    share = mixture_shares(evidence, 0).share
    assert found[0] == pytest.approx(share, abs=1e-6)


def test_groups_of_a_pair() -> None:
    groups = groups_of([0, 1, 2, 2, 0])
    pair = groups.only((0, 2))
    assert pair.names == ("A", "C")
    assert pair.code.tolist() == [0, 1, 1, 0]
    assert pair.kept.tolist() == [0, 2, 3, 4]
    assert pair.owner.tolist() == [0, 1, 2, 3]
    assert groups.sizes() == [(2, 2), (1, 1), (2, 2)]
