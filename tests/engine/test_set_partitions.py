"""Recursions over all partitions against plain enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from howlearn.engine import set_partitions

SIZES = [1, 2, 3, 5, 8]
BELL = {1: 1, 2: 2, 3: 5, 5: 52, 8: 4140}


def every_partition(n: int) -> list[tuple[int, ...]]:
    """All partitions of n contexts as masks, each context put into a cell or a new one in turn."""
    found: list[tuple[int, ...]] = [()]
    for j in range(n):
        found = [
            (*cells[:i], cells[i] | 1 << j, *cells[i + 1 :]) if i < len(cells) else (*cells, 1 << j)
            for cells in found
            for i in range(len(cells) + 1)
        ]
    return found


def summed(weight: np.ndarray, partitions: list[tuple[int, ...]]) -> np.ndarray:
    return np.array([weight[list(cells)].sum(axis=0) for cells in partitions])


def random_weights(n: int, columns: int) -> np.ndarray:
    """Log-weights such as long records give, which no product of exponentials would survive."""
    rng = np.random.default_rng(n)
    return -900.0 * rng.random((2**n, 1)) + rng.normal(size=(2**n, columns)) * 3.0


@pytest.mark.parametrize("n", SIZES)
def test_totals_are_sums_over_every_partition(n):
    partitions = every_partition(n)
    assert len(partitions) == BELL[n]
    weight = random_weights(n, 35)
    expected = np.logaddexp.reduce(summed(weight, partitions), axis=0)
    assert set_partitions.log_total(weight) == pytest.approx(expected, abs=1e-9)
    assert set_partitions.log_totals(weight)[-1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("scale", [0.002, 1.0])
def test_cells_and_pairs_are_as_probable_as_enumeration_says(n, scale):
    partitions = every_partition(n)
    weight = random_weights(n, 3) * scale
    probability, total = set_partitions.cell_probabilities(weight)
    weights = np.exp(summed(weight, partitions) - total)
    assert weights.sum(axis=0) == pytest.approx(1.0)
    for a in range(3):
        pairs = expected_pairs(n, partitions, weights[:, a])
        assert set_partitions.together(probability[:, a]) == pytest.approx(pairs, abs=1e-10)


def expected_pairs(n: int, partitions: list[tuple[int, ...]], weights: np.ndarray) -> np.ndarray:
    pairs = np.zeros((n, n))
    for cells, w in zip(partitions, weights, strict=True):
        for cell in cells:
            inside = [j for j in range(n) if cell >> j & 1]
            pairs[np.ix_(inside, inside)] += w
    return pairs


@pytest.mark.parametrize("n", SIZES)
def test_totals_and_pairs_with_a_term_for_the_number_of_cells(n):
    partitions = every_partition(n)
    weight = random_weights(n, 1)[:, 0] * 0.01
    by_size = np.random.default_rng(0).normal(size=n + 1) * 5
    scores = summed(weight, partitions) + by_size[[len(cells) for cells in partitions]]
    probability, total = set_partitions.cell_probabilities_by_size(weight, by_size)
    assert total == pytest.approx(np.logaddexp.reduce(scores))
    pairs = expected_pairs(n, partitions, np.exp(scores - total))
    assert set_partitions.together(probability) == pytest.approx(pairs, abs=1e-10)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("count", [1, 7, 60])
@pytest.mark.parametrize("sized", [False, True])
def test_the_best_partitions_in_order(n, count, sized):
    partitions = every_partition(n)
    weight = random_weights(n, 1)[:, 0]
    by_size = np.random.default_rng(1).normal(size=n + 1) * 200 if sized else None
    scores = summed(weight, partitions)
    if by_size is not None:
        scores += by_size[[len(cells) for cells in partitions]]
    order = np.argsort(-scores)[:count]
    found = set_partitions.best(weight, count, by_size)
    assert [one.score for one in found] == pytest.approx(scores[order])
    expected = [tuple(sorted(partitions[i], key=lambda c: c & -c)) for i in order]
    assert [one.cells for one in found] == expected


def test_of_equal_partitions_the_one_with_fewer_cells_is_first():
    found = set_partitions.best(np.zeros(2**4), 15)
    assert [len(one.cells) for one in found] == [1] + [2] * 7 + [3] * 6 + [4]
    assert found[0].cells == (0b1111,)


def test_weights_of_nothing_leave_partitions_out():
    weight = np.zeros((2**3, 2))
    weight[0b111, 0] = weight[0b011, 0] = -np.inf  # one cell for all, and one for the first two
    weight[:, 1] = -np.inf
    assert set_partitions.log_total(weight).tolist() == [pytest.approx(np.log(3)), -np.inf]


def test_fourteen_contexts_have_bell_many_partitions():
    assert set_partitions.log_total(np.zeros((2**14, 1))) == pytest.approx(np.log(190_899_322))


@pytest.mark.parametrize("n", SIZES)
def test_sums_in_plain_floats_are_those_of_any_size(n):
    partitions, weight = every_partition(n), random_weights(n, 70) * 0.02
    expected = np.logaddexp.reduce(summed(weight, partitions), axis=0)
    for every in (True, False):
        plain = set_partitions.Plain.of(weight, every)
        assert plain is not None
        assert plain.log_total == pytest.approx(expected, abs=1e-10)
    probability, _ = set_partitions.cell_probabilities(weight)
    of_columns = np.random.default_rng(n).dirichlet(np.ones(70))
    plain = set_partitions.Plain.of(weight)
    assert plain.mean_shares(of_columns) == pytest.approx(probability @ of_columns, abs=1e-12)


def test_weights_that_are_no_floats_are_left_to_sums_of_any_size():
    weight = np.zeros((2**3, 2))
    weight[0b110, 1] = 800.0
    assert set_partitions.Plain.of(weight) is None
    expected = np.logaddexp.reduce(summed(weight, every_partition(3)), axis=0)
    assert set_partitions.log_total(weight) == pytest.approx(expected)
    weight[0b010, 0] = -np.inf  # nothing can be over the weight of nothing
    assert set_partitions.Plain.of(weight[:, :1]) is None


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_the_best_of_a_sum_over_columns(n, count, spread):
    partitions = every_partition(n)
    random = np.random.default_rng(n)
    weight = np.exp(random.normal(size=(2**n, 1)) + spread * random.normal(size=(2**n, 20)))
    factor = random.random(20)
    scores = np.array([(factor * weight[list(cells)].prod(axis=0)).sum() for cells in partitions])
    order = np.argsort(-scores)[:count]
    expected = [{*partitions[i]} for i in order]
    found, sure = set_partitions.best_of_sum(weight, factor, count, 0.0, 10**6)
    assert sure
    assert [{*row} - {0} for row in found.tolist()] == expected
    # A lower end leaves what is above it, and too few choices are owned up to.
    least = scores[order[0]] * (1 - 1e-6)
    found, sure = set_partitions.best_of_sum(weight, factor, count, least, 10**6)
    assert [{*row} - {0} for row in found.tolist()] == expected[:1]
    assert n < 3 or not set_partitions.best_of_sum(weight, factor, count, 0.0, 3)[1]
