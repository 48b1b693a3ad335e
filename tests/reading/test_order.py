"""Trials stand in the order of their numbers, and the state restarts where it should."""

from __future__ import annotations

import polars as pl
import pytest

from howlearn.core.errors import DataError
from howlearn.reading.read import read


def frame(**columns: list) -> pl.DataFrame:
    n = len(next(iter(columns.values())))
    basis = {"id": [1] * n, "item": [1] * n, "choice": ["A", "B"] * (n // 2) + ["A"] * (n % 2)}
    rewards = {"reward": [i / 100 for i in range(n)]}
    return pl.DataFrame({**basis, **rewards, **columns})


def order(study) -> list[int]:
    """The rows of the study's trials; the rewards have to follow them."""
    assert study.source is not None
    rows = study.source.row.tolist()
    assert study.reward.tolist() == [row / 100 for row in rows]
    return rows


def test_by_trial_number() -> None:
    assert order(read(frame(trial=["10", "9", "1.5", "-1"]))) == [3, 2, 1, 0]


def test_file_order_without_trial_numbers() -> None:
    assert order(read(frame(trial=[3, 2, 1]), trial="none")) == [0, 1, 2]


def test_interleaved_learners() -> None:
    study = read(frame(id=["b", "a", "b", "a", "b"], trial=[2, 1, 1, 2, 3]))
    assert study.learners == ("b", "a")
    assert order(study) == [2, 0, 4, 1, 3]
    assert study.reset.tolist() == [True, False, False, True, False]


def test_reset_by_with_running_numbers() -> None:
    study = read(frame(trial=[1, 2, 3, 4], block=["x", "x", "y", "x"]), reset_by="block")
    assert order(study) == [0, 1, 2, 3]
    assert study.reset.tolist() == [True, False, True, True]


def test_reset_by_with_numbers_that_restart() -> None:
    data = frame(id=[1, 1, 1, 1, 2, 2, 2, 2], block=[*"yyxxxxyy"], trial=[2, 1, 1, 2, 1, 2, 1, 2])
    study = read(data, reset_by="block")
    assert order(study) == [1, 0, 2, 3, 4, 5, 6, 7]  # learner 1 began with block y
    assert study.reset.tolist() == [True, False] * 4


def test_numbers_twice_within_a_segment() -> None:
    data = frame(block=[*"xxyy"], trial=[1, 2, 1, 1])
    with pytest.raises(DataError, match="row 5, column trial: found trial 1 of learner 1 a second"):
        read(data, reset_by="block")


def test_numbers_may_repeat_under_another_condition() -> None:
    data = frame(block=[*"yyxx"], trial=[1, 2, 1, 2])
    study = read(data, by="block")
    assert study.learners == ("1", "1")
    assert order(study) == [2, 3, 0, 1]


def test_a_reset_before_a_trial_that_was_left_out_still_counts() -> None:
    data = frame(block=[1, 1, 2, 2, 2], choice=["A", "B", None, "A", "B"])
    study = read(data, reset_by="block")
    assert study.reset.tolist() == [True, False, True, False]


def test_several_reset_columns() -> None:
    data = frame(day=[1, 1, 1, 2, 2], block=[1, 1, 2, 2, 2])
    assert read(data, reset_by=["day", "block"]).reset.tolist() == [True, False, True, True, False]


def test_rows_without_a_condition_are_not_taken_for_duplicates():
    """Found by a user: such rows were pooled with another learner's, and called doubled."""
    frame = pl.DataFrame(
        {
            "subject": [2, 3, 2, 1, 3, 1],
            "trial": [38.0, 57.5, 0.5, 57.5, 1.0, 2.0],
            "stimulus": list("abdbab"),
            "choice": list("XXYXYX"),
            "reward": [1, 0, 1, 1, 0, 1],
            "condition": ["B", None, "A", None, "A", "B"],
        }
    )
    with pytest.raises(DataError) as error:
        read(frame, by="condition")
    assert not any("a second time" in problem.found for problem in error.value.problems)
