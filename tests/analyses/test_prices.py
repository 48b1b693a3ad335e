"""The path along the price of a parameter against every price of a grid, one by one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howlearn.analyses.path_tables import corners, counts_at, intervals, runs
from howlearn.selection.select import ranking

MOST = 10.0


def selected_at(found, learner: int, kappa: float) -> int:
    mine = found.learner == learner
    inside = mine & (found.start <= kappa) & ((kappa < found.stop) | (found.stop == MOST))
    assert inside.sum() == 1
    return int(found.model[inside][0])


def check_against_grid(height: np.ndarray, count: np.ndarray, grid: np.ndarray) -> None:
    found = intervals(height, count, MOST)
    for i in range(len(height)):
        mine = found.learner == i
        start, stop = found.start[mine], found.stop[mine]
        assert start[0] == 0.0
        assert stop[-1] == MOST
        assert np.array_equal(start[1:], stop[:-1])  # no gaps
        assert np.all(stop > start)
        assert np.all(np.diff(count[i, found.model[mine]]) < 0)  # fewer and fewer parameters
        for kappa in grid:
            if np.min(np.abs(start - kappa)) < 1e-6 and kappa > 0:
                continue  # a tie
            best = ranking((height[i] - kappa * count[i])[None], count[i][None])[0, 0]
            assert selected_at(found, i, kappa) == best


def test_random_scores_with_dimensions_of_each_learners_own() -> None:
    random = np.random.default_rng(1)
    height = random.normal(0, 6, (40, 7))
    count = random.integers(0, 10, (40, 7))
    check_against_grid(height, count, np.linspace(0, MOST, 101))


@given(
    st.lists(st.tuples(st.integers(-20, 0), st.integers(0, 5)), min_size=1, max_size=6),
)
def test_whole_numbers_which_tie_often(lines: list[tuple[int, int]]) -> None:
    height = np.array([[float(a) for a, _ in lines]])
    count = np.array([[b for _, b in lines]])
    check_against_grid(height, count, np.linspace(0, MOST, 41))


def test_ties_go_to_fewer_parameters_then_to_the_order() -> None:
    # All three meet at κ = 1; of those with one parameter the first is taken.
    found = intervals(np.array([[-10.0, -12.0, -12.0, -11.0]]), np.array([[3, 1, 1, 2]]), MOST)
    assert found.model.tolist() == [0, 1]
    assert found.start.tolist() == [0.0, 1.0]
    same = intervals(np.array([[-5.0, -5.0 + 1e-10]]), np.array([[1, 2]]), MOST)
    assert same.model.tolist() == [0]


def test_models_with_equally_many_parameters() -> None:
    found = intervals(np.array([[-3.0, -2.0, -9.0]]), np.array([[4, 4, 4]]), MOST)
    assert found.model.tolist() == [1]


def test_what_is_impossible_is_never_selected_unless_everything_is() -> None:
    height = np.array([[-5.0, -np.inf], [-np.inf, -np.inf]])
    found = intervals(height, np.array([[3, 0], [2, 1]]), MOST)
    assert found.model.tolist() == [0, 1]
    assert np.all(np.isfinite(found.stop))


def test_counts_between_corners_are_exact() -> None:
    random = np.random.default_rng(2)
    height, count = random.normal(0, 6, (40, 5)), random.integers(1, 8, (40, 5))
    found = intervals(height, count, MOST)
    names = [f"m{k}" for k in range(5)]
    frame = pl.DataFrame(
        {
            "axis": ["kappa"] * len(found.model),
            "from_kappa": found.start,
            "to_kappa": found.stop,
            "model": [names[k] for k in found.model],
        }
    )
    at, counts = corners(frame, names)
    assert np.all(counts.sum(axis=1) == 40)
    grid = np.linspace(0, MOST, 173)
    for kappa, mine in zip(grid, counts_at(at, counts, grid.tolist()), strict=True):
        best = ranking(height - kappa * count, count)[:, 0]
        assert np.array_equal(mine, np.bincount(best, minlength=5))


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([[3, 1]], [(0, 0, [0])]),
        ([[2, 2]], [(0, 0, [0, 1])]),
        ([[3, 1], [2, 2], [1, 3]], [(0, 1, [0]), (2, 2, [1])]),
        ([[2, 2], [1, 3]], [(0, 1, [1])]),
        ([[3, 1], [1, 3], [3, 1]], [(0, 0, [0]), (1, 1, [1]), (2, 2, [0])]),
    ],
)
def test_who_leads(counts, expected) -> None:
    assert runs(np.array(counts)) == expected
