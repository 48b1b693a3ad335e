"""--episode and --duration: where an episode ends, and how long each trial took."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import DataError
from howlearn.core.study import joined
from howlearn.reading.read import read


def frame(**columns: list) -> pl.DataFrame:
    n = len(next(iter(columns.values())))
    basis = {"id": [1] * n, "item": [1] * n, "choice": ["A", "B"] * (n // 2) + ["A"] * (n % 2)}
    rewards = {"reward": [i / 100 for i in range(n)]}
    return pl.DataFrame({**basis, **rewards, **columns}, strict=False)


def ends(study) -> list[int]:
    assert study.episode_end is not None
    return study.episode_end.astype(int).tolist()


def test_the_last_of_a_run_is_its_end() -> None:
    study = read(frame(maze=[*"xxyxx"]), episode="maze")
    assert ends(study) == [0, 1, 1, 0, 1]
    assert study.roles["episode"] == "maze"


def test_without_the_option_there_is_nothing() -> None:
    study = read(frame(episode=[*"xxyxx"], duration=[1] * 5))
    assert study.episode_end is None
    assert study.duration is None
    assert "episode" not in study.frame().columns


def test_in_the_order_of_the_trials() -> None:
    study = read(frame(maze=[*"yxyx"], trial=[3, 1, 4, 2]), episode="maze")
    assert study.reward.tolist() == [0.01, 0.03, 0, 0.02]
    assert ends(study) == [0, 1, 0, 1]


def test_steps_that_are_counted_anew_in_every_episode() -> None:
    data = frame(trial=[1, 1, 2, 2, 3, 3], step=[2, 1, 2, 1, 1, 2], id=[7] * 6)
    study = read(data, episode="trial", trial="step")
    assert study.reward.tolist() == [0.01, 0, 0.03, 0.02, 0.04, 0.05]
    assert ends(study) == [0, 1, 0, 1, 0, 1]
    with pytest.raises(DataError, match="of learner 7 a second time"):
        read(data, trial="step")


def test_steps_in_episodes_in_blocks() -> None:
    data = frame(block=[*"yyyyxxxx"], maze=[1, 1, 2, 2, 1, 1, 2, 2], step=[2, 1, 1, 2] * 2)
    study = read(data, episode="maze", reset_by="block", trial="step")
    assert [round(100 * reward) for reward in study.reward] == [1, 0, 2, 3, 5, 4, 6, 7]
    assert ends(study) == [0, 1] * 4


def test_the_column_of_the_episode_is_not_guessed_as_the_trial() -> None:
    study = read(frame(trial=[1, 1, 2, 2]), episode="trial")
    assert study.roles["trial"] == "the order of the rows"
    assert ends(study) == [0, 1, 0, 1]


def test_a_new_start_ends_an_episode() -> None:
    study = read(frame(maze=[1] * 4, block=[1, 1, 2, 2]), episode="maze", reset_by="block")
    assert ends(study) == [0, 1, 0, 1]


def test_so_does_the_end_of_a_sequence() -> None:
    assert ends(read(frame(maze=[1] * 4, id=[1, 2, 1, 2]), episode="maze")) == [0, 1, 0, 1]
    assert ends(read(frame(maze=[1] * 4, load=[*"abab"]), episode="maze", by="load")) == [0, 1] * 2


def test_missed_trials_and_rows_that_are_left_out() -> None:
    data = frame(maze=[*"xxxyy"], choice=["A", "B", None, None, "A"], phase=[*"mmmmm"])
    assert ends(read(data, episode="maze")) == [0, 1, 1]
    data = frame(maze=[*"xxyyx"], phase=[*"mpmmm"])
    assert ends(read(data, episode="maze", where="phase == 'm'")) == [1, 0, 1, 1]


def test_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("howlearn.reading.streaming.BATCH_ROWS", 2)
    study = read(frame(maze=[*"xxxyy"], rt=[1, 2, 3, 4, 5]), episode="maze", duration="rt")
    assert ends(study) == [0, 0, 1, 0, 1]
    assert study.duration is not None
    assert study.duration.tolist() == [1, 2, 3, 4, 5]


def test_durations() -> None:
    data = frame(rt=["0.5", "NA", "2", "1e3"], trial=[2, 1, 4, 3])
    study = read(data, duration="rt")
    np.testing.assert_array_equal(study.duration, [np.nan, 0.5, 1000, 2])  # pyright: ignore
    assert study.roles["duration"] == "rt"
    study = read(frame(rt=["-1", "fast", "2", "3"]), duration="rt", missing="duration:-1",
                 recode="duration:fast=0.1")  # fmt: skip
    np.testing.assert_array_equal(study.duration, [np.nan, 0.1, 2, 3])  # pyright: ignore


@pytest.mark.parametrize("value", ["0", "-0.5", "inf", "fast"])
def test_durations_that_cannot_be(value: str) -> None:
    with pytest.raises(DataError) as caught:
        read(frame(rt=["1", "1", value, "1"]), duration="rt")
    assert str(caught.value).splitlines()[1] == (
        f"  data frame, row 4, column rt: found {value}; allowed: a number greater than 0 (helps: "
        "--missing duration:VALUE for a value that means none, --duration COL)"
    )


def test_a_decimal_comma_in_a_duration() -> None:
    with pytest.raises(DataError, match=r"found 1,5; allowed: a number greater than 0 .*commas"):
        read(frame(rt=["1", "1", "1,5", "1"]), duration="rt")


@pytest.mark.parametrize("option", ["episode", "duration"])
def test_a_column_that_is_not_there(option: str) -> None:
    with pytest.raises(
        DataError, match=rf"column nowhere: found no such .*\(helps: --{option} COL"
    ):
        read(frame(rt=[1, 2]), **{option: "nowhere"})


def test_no_duration_at_all_is_told() -> None:
    study = read(frame(rt=[None, None, None]), duration="rt")
    assert study.notes == ("--duration rt: no value in any row",)


def test_there_and_back() -> None:
    data = frame(
        maze=[*"xxyyxxxx"],
        block=[*"aaaabbbb"],
        id=[1, 1, 1, 1, 1, 1, 2, 2],
        rt=[1, 2, 3, None, 5, 6, 7, 8],
    )
    study = read(data, episode="maze", duration="rt", reset_by="block")
    table = study.frame()
    assert table["episode"].to_list() == [1, 1, 2, 2, 3, 3, 1, 1]
    assert table["duration"].to_list() == [1, 2, 3, None, 5, 6, 7, 8]
    again = read(table, episode="episode", duration="duration", reset_by=study.block_column)
    assert ends(again) == ends(study) == [0, 1, 0, 1, 0, 1, 0, 1]
    np.testing.assert_array_equal(again.duration, study.duration)  # pyright: ignore


def test_kept_columns_of_these_names_are_renamed() -> None:
    study = read(frame(episode=[*"xx"], duration=[1, 1], forgone_A=[3, 3]),
                 keep=["duration", "forgone_A"])  # fmt: skip
    assert study.labels.columns == ["learner", "input_duration", "input_forgone_A"]


def test_parts_and_studies_put_together() -> None:
    data = frame(maze=[*"xxyxyy"], rt=[1, 2, 3, 4, 5, 6], id=[1, 1, 1, 2, 2, 2])
    study = read(data, episode="maze", duration="rt")
    second = study.part(1, 2)
    assert ends(second) == [1, 0, 1]
    assert study.take(np.array([1, 0])).duration.tolist() == [4, 5, 6, 1, 2, 3]
    both = joined([("a", second), ("b", study)], "group")
    assert ends(both) == [1, 0, 1, 0, 1, 1, 1, 0, 1]
    assert joined([("a", read(data)), ("b", study)], "group").episode_end is None
