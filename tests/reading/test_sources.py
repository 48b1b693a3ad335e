"""Files, folders and data frames of every kind give the same study."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.reading.read import read

FRAME = pl.DataFrame(
    {
        "subject": [2, 2, 2, 1, 1],
        "item": [3.0, 10.0, 3.0, 10.0, 3.0],
        "choice": ["b", "a", "b", "b", None],
        "reward": [1.0, 0.0, None, 0.5, 1.0],
    }
).extend(
    pl.DataFrame(
        {"subject": [1], "item": [3.0], "choice": ["a"], "reward": [1.0]},
    )
)


def same(one: Study, other: Study) -> bool:
    arrays = ("starts", "context", "action", "reward", "scored", "learned", "reset")
    return (one.learners, one.contexts, one.actions, one.counts) == (
        other.learners,
        other.contexts,
        other.actions,
        other.counts,
    ) and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)


def test_what_is_read() -> None:
    study = read(FRAME)
    assert study.learners == ("2", "1")
    assert study.contexts == ("3", "10")
    assert study.actions == ("a", "b")
    assert study.starts.tolist() == [0, 3, 5]
    assert study.context.tolist() == [0, 1, 0, 1, 0]
    assert study.action.tolist() == [1, 0, 1, 1, 0]
    assert study.reward.tolist() == [1.0, 0.0, 0.0, 0.5, 1.0]
    assert study.learned.tolist() == [True, True, False, True, True]
    assert study.scored.all()
    assert study.reset.tolist() == [True, False, False, True, False]
    assert study.counts == {"rows read": 6, "missed trials": 1, "choices without feedback": 1}
    assert study.notes == ("1 choice without a reward: scored, but nothing is learned from them",)
    dtypes = (study.context.dtype, study.action.dtype, study.reward.dtype, study.starts.dtype)
    assert dtypes == (np.int32, np.int16, np.float64, np.int64)
    assert study.source is not None
    assert study.source.files == ("data frame",)
    assert study.source.file_rows == (6,)
    assert study.source.row.tolist() == [0, 1, 2, 3, 5]


@pytest.mark.parametrize(
    "write",
    [
        lambda path: FRAME.write_csv(path / "a.csv"),
        lambda path: FRAME.write_csv(path / "a.csv", separator=";", include_bom=True),
        lambda path: FRAME.write_csv(path / "a.csv", separator="|"),
        lambda path: FRAME.write_csv(path / "a.csv", line_terminator="\r\n"),
        lambda path: FRAME.write_csv(path / "a.csv", quote_style="always"),
        lambda path: FRAME.write_csv(path / "a.tsv", separator="\t", null_value="n/a"),
        lambda path: FRAME.write_csv(path / "a.txt", separator="\t", null_value="NaN"),
        lambda path: FRAME.write_parquet(path / "a.parquet", row_group_size=2),
    ],
    ids=["csv", "semicolons", "bars", "windows", "quotes", "tsv", "txt", "parquet"],
)
def test_file_formats(write, tmp_path: Path) -> None:
    write(tmp_path)
    [path] = tmp_path.iterdir()
    study = read(path)
    assert same(study, read(FRAME))
    assert study.source is not None
    assert study.source.files == (str(path),)


@pytest.mark.parametrize(
    "frame",
    [
        FRAME.to_pandas(),
        FRAME.to_pandas().astype({"choice": "category", "item": object}),
        FRAME.to_pandas().convert_dtypes(),
        FRAME.with_columns(pl.col("choice").cast(pl.Categorical)),
        FRAME.to_arrow(),
    ],
    ids=["pandas", "categories", "nullable", "polars", "arrow"],
)
def test_frames(frame: object) -> None:
    assert same(read(frame), read(FRAME))


def test_pandas_booleans_and_gaps() -> None:
    frame = pd.DataFrame(
        {
            "id": [1, 1, 1],
            "cue": ["x", "y", "x"],
            "resp": [True, False, True],
            "acc": [True, None, False],
        }
    )
    study = read(frame)
    assert study.actions == ("false", "true")
    assert study.reward.tolist() == [1.0, 0.0, 0.0]
    assert study.learned.tolist() == [True, False, True]


def test_a_folder_has_one_learner_per_file(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        (tmp_path / f"s_{number}.csv").write_text(f"item,choice,reward\n1,A,0\n2,B,0.{number}\n")
    (tmp_path / ".hidden.csv").write_text("nothing")
    (tmp_path / "notes.json").write_text("{}")
    study = read(tmp_path)
    assert study.learners == ("s_1", "s_2", "s_10")
    assert study.reward.tolist() == [0, 0.1, 0, 0.2, 0, 0.1]
    assert study.roles["learner"] == "the file's name"
    assert study.source is not None
    assert study.source.file_rows == (2, 2, 2)
    assert study.source.rows is None
    assert study.source.row.tolist() == [0, 1, 2, 3, 4, 5]


def test_colliding_stems_have_their_folder(tmp_path: Path) -> None:
    paths = [tmp_path / "easy" / "1.csv", tmp_path / "hard" / "1.csv", tmp_path / "hard" / "2.csv"]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text("item,choice,reward\n1,A,0\n2,B,1\n")
    assert read(paths).learners == ("easy/1", "hard/1", "2")


def test_files_with_a_learner_column_are_put_together(tmp_path: Path) -> None:
    for session in (1, 2):
        rows = f"subj,item,choice,reward\n7,{session},A,0\n8,{session},B,1\n"
        (tmp_path / f"session{session}.csv").write_text(rows)
    study = read(tmp_path)
    assert study.learners == ("7", "8")
    assert study.context.tolist() == [0, 1, 0, 1]
    assert study.source is not None
    assert study.source.row.tolist() == [0, 2, 1, 3]
    assert read(tmp_path, learner="file").learners == ("session1", "session2")


def test_many_batches_are_one_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    learner = np.repeat(np.arange(30), 20)
    frame = pl.DataFrame(
        {
            "learner": learner,
            "trial": np.tile(np.arange(20), 30),
            "context": rng.integers(0, 12, 600),
            "action": rng.integers(0, 3, 600),
            "reward": rng.integers(0, 2, 600),
        }
    ).sample(fraction=1.0, shuffle=True, seed=3)
    path = tmp_path / "a.parquet"
    frame.write_parquet(path)
    whole = read(path)
    for module in ("streaming", "formats.parquet"):
        monkeypatch.setattr(f"howlearn.reading.{module}.BATCH_ROWS", 70)
    parts = read(path)
    assert same(parts, whole)
    assert whole.source is not None
    assert parts.source is not None
    assert np.array_equal(parts.source.row, whole.source.row)
    sorted_frame = frame.sort("learner", "trial")
    order = np.argsort([int(name) for name in whole.learners])
    rewards = np.concatenate([whole[int(i)].reward for i in order])
    assert np.array_equal(rewards, sorted_frame["reward"].to_numpy())


@pytest.mark.parametrize("source", [3, None, [], [3], FRAME.lazy(), {"a": [1]}])
def test_what_is_no_source(source: object) -> None:
    with pytest.raises(HowlearnError):
        read(source)


@pytest.mark.parametrize("source", [{"a": [1]}, b"a.csv", 3])
def test_what_is_accepted_is_told(source: object) -> None:
    needed = "a path, a list of paths, or a pandas or polars data frame"
    with pytest.raises(HowlearnError, match=f"cannot read a {type(source).__name__}: {needed}"):
        read(source)


def test_folders_inside_that_are_not_read_are_told(tmp_path: Path) -> None:
    for name in ("1.csv", "2.csv", "more/3.csv", "deep/er/4.csv", ".git/5.csv", "notes/6.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("item,choice,reward\n1,A,0\n2,B,1\n")
    study = read(tmp_path)
    assert study.learners == ("1", "2")
    assert study.notes == (
        f"{tmp_path} has folders inside it with data files that were not read: deep/er, more; "
        "name them too if they belong to the study",
    )
