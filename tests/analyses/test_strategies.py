"""Shares of groups: against exact ones, intervals and p, pairs, power, odd groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from howlearn.analyses.compare_groups import Groups, dealt, resampled
from howlearn.analyses.compare_tests import (
    Differences,
    GroupShares,
    by_evidence,
    posterior,
    power,
)
from howlearn.engine.kernels.chains import LEAN
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


def shares_by(evidence: np.ndarray, groups: Groups, seed: int = 0) -> GroupShares:
    return by_evidence(evidence, groups, seed).shares()


def test_shares_of_known_models_are_those_of_a_sum_over_typical_shares() -> None:
    """Given what is typical of both groups, shares are Dirichlet; what is typical is summed out."""
    groups = np.array([[6, 3, 1], [2, 2, 6]])
    models = np.concatenate([np.repeat(np.arange(3), counts) for counts in groups])
    found = shares_by(certain(models, 3), groups_of([0] * 10 + [1] * 10))
    x = (np.arange(120) + 0.5) / 120
    typical = np.array([(p, q, 1 - p - q) for p in x for q in x if p + q < 1])
    lean = LEAN * typical
    seen = gammaln(groups[:, None] + lean) - gammaln(lean)  # a flat prior, Dirichlet–multinomial
    weight = np.exp(seen.sum(axis=(0, 2)) - seen.sum(axis=(0, 2)).max())
    for g, counts in enumerate(groups):
        mean = np.average((counts + lean) / (10 + LEAN), axis=0, weights=weight)
        assert found.share[g] == pytest.approx(mean, abs=0.015)


@pytest.mark.parametrize("n_draws", [800, 1600, 3000, 12000])
def test_different_is_said_exactly_if_an_interval_excludes_0_and_p_is_below_a_twentieth(
    n_draws: int,
) -> None:
    seen = set()
    for seed in range(60):
        random = np.random.default_rng(seed)
        first = random.dirichlet([20 + seed / 2, 20, 10], n_draws)
        second = random.dirichlet([20, 20 + seed / 4, 10], n_draws)
        third = random.dirichlet([20, 20, 10], n_draws)
        draws = np.stack([first, second, third], axis=1)
        found = Differences.of(GroupShares(draws, np.zeros(n_draws), np.empty((0, 3))))
        excludes = ((found.lower > 0) | (found.upper < 0)).any(axis=1)
        assert found.different.tolist() == excludes.tolist() == (found.p < 0.05).tolist()
        seen |= set(excludes.tolist())
    assert seen == {False, True}


def test_intervals_hold_all_differences_together() -> None:
    """95% of the draws have no difference outside of its interval."""
    random = np.random.default_rng(1)
    draws = random.dirichlet([4, 3, 2], (3000, 3))
    found = Differences.of(GroupShares(draws, np.zeros(3000), np.empty((0, 3))))
    assert found.pairs == [(0, 1), (0, 2), (1, 2)]
    first, second = ([pair[side] for pair in found.pairs] for side in (0, 1))
    apart = draws[:, first] - draws[:, second]
    inside = ((apart >= found.lower) & (apart <= found.upper)).all(axis=(1, 2))
    assert inside.mean() == pytest.approx(0.95, abs=0.002)


def test_false_alarms_are_rare_and_large_differences_are_found() -> None:
    groups = groups_of([0] * 20 + [1] * 20)
    alarms = [
        Differences.of(shares_by(drawn([[0.6, 0.3, 0.1]] * 2, 20, seed), groups)).different[0]
        for seed in range(40)
    ]
    assert sum(alarms) <= 6  # of 40 at 5%: more in 1 of 200
    found = [
        Differences.of(
            shares_by(drawn([[0.9, 0.05, 0.05], [0.1, 0.85, 0.05]], 20, seed), groups)
        ).different[0]
        for seed in range(10)
    ]
    assert sum(found) >= 9


def test_learners_who_keep_their_models() -> None:
    true = np.tile(np.repeat([0, 1, 2], 8), 2)
    groups = groups_of([0] * 24 + [1] * 24, [*range(24), *range(24)])
    kept = shares_by(certain(true, 3), groups)
    assert kept.keeps.mean() > 0.7  # they may also have chosen the same twice
    assert not Differences.of(kept).different.any()
    moved = certain(np.concatenate([true[:24], (true[:24] + 1) % 3]), 3)
    assert shares_by(moved, groups).keeps.mean() < 0.15


def test_pairs_are_more_exact_where_learners_keep_their_models() -> None:
    true = np.tile(np.repeat([0, 1], 12), 2)
    code, owner = [0] * 24 + [1] * 24, [*range(24), *range(24)]
    paired = Differences.of(shares_by(certain(true, 2), groups_of(code, owner)))
    apart = Differences.of(shares_by(certain(true, 2), groups_of(code)))
    assert paired.upper.max() < 0.7 * apart.upper.max()


def test_the_uncertainty_of_models_is_taken_along() -> None:
    """A selected model is often wrong; its evidence knows, a count does not."""
    shares = [[0.85, 0.15, 0.0], [0.15, 0.85, 0.0]]
    graded, counted = [], []
    groups = groups_of([0] * 40 + [1] * 40)
    truth = np.array([0.7, -0.7, 0.0])
    for seed in range(10):
        evidence = drawn(shares, 40, seed, clear=1.2)
        hard = certain(evidence.argmax(axis=1), 3)
        for result, given in ((graded, evidence), (counted, hard)):
            result.append(Differences.of(shares_by(given, groups)).value[0] - truth)
    wrong, more = (np.abs(np.mean(each, axis=0)).max() for each in (graded, counted))
    assert wrong < 0.15
    assert more > wrong + 0.05


def test_one_model_in_every_group() -> None:
    found = Differences.of(shares_by(certain(np.zeros(10, int), 3), groups_of([0] * 5 + [1] * 5)))
    assert np.abs(found.value).max() < 0.03
    assert (found.lower < -0.2).all()  # five learners do not show that shares are equal
    assert (found.upper > 0.2).all()
    assert not found.different.any()


def test_power_grows_with_the_difference_and_with_the_learners() -> None:
    found = {}
    for n in (8, 40):
        groups = groups_of([0] * n + [1] * n)
        compared = by_evidence(drawn([[0.5, 0.5]] * 2, n, 1, clear=4.0), groups, 0)
        found[n] = power(compared, compared.shares(), groups, 0, None)
        assert [each.difference for each in found[n]] == [0.3, 0.5, 0.7]
        assert all(0 < each.error < 0.13 for each in found[n])
    assert found[40][2].found == 1.0
    assert found[40][0].found < found[40][2].found
    assert found[8][1].found < found[40][1].found


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
