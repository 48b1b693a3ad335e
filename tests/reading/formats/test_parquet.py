"""Parquet: folders divided by learner, and columns of every type."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import DataError
from howlearn.reading.read import read
from howlearn.results.select_into import originals
from sameness import FRAME, assert_same


def test_columns_of_many_types(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"  # known by its content
    FRAME.with_columns(
        pl.col("stimulus", "choice").cast(pl.Categorical),
        pl.col("reward").cast(pl.Decimal(4, 2)),
        pl.date(2024, 1, pl.col("trial")).alias("day"),
        pl.concat_list("trial", "trial").alias("pair"),
        (pl.col("reward") > 0.5).alias("won"),
    ).write_parquet(path)
    assert_same(read(path))
    days = read(path, context="day")
    assert days.contexts[0] == "2024-01-01"
    assert read(path, context="pair").contexts[:2] == ("[1, 1]", "[2, 2]")
    assert read(path, context="won").contexts == ("false", "true")


@pytest.mark.parametrize("name", ["subject", "learner id"])
def test_a_folder_per_learner(tmp_path: Path, name: str) -> None:
    for i, part in enumerate(FRAME.partition_by("subject", include_key=False), start=1):
        folder = tmp_path / f"{name.replace(' ', '%20')}={i}" / f"half={i % 2}"
        folder.mkdir(parents=True)
        part.write_parquet(folder / "part-0.parquet")
    (tmp_path / "_SUCCESS").touch()
    study = read(tmp_path, keep="half")
    assert_same(study)
    assert study.about["half"].to_list() == [1, 0, 1]
    assert [frame.width for frame in originals(study)] == [4, 4, 4]


def test_bytes_that_are_text_and_bytes_that_are_not(tmp_path: Path) -> None:
    columns = {"learner": [1] * 4, "choice": [b"a", b"b", b"a", b"b"], "reward": [0, 1] * 2}
    frame = pl.DataFrame(columns)
    path = tmp_path / "a.parquet"
    frame.write_parquet(path)
    assert read(path, context="none").actions == ("a", "b")
    wrong = pl.Series("choice", [b"a", b"\xff\xfe", b"a", b"\xff"])
    frame.with_columns(wrong).write_parquet(path)
    with pytest.raises(DataError, match="row 3 and 1 more, column choice: found bytes"):
        read(path, context="none")


def test_text_that_is_not_utf_8(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    places = np.array([0, 1, 3, 4, 5], dtype=np.int32)
    kept = pa.py_buffer(places.tobytes()), pa.py_buffer(b"a\xff\xfeab")
    text = pa.StringArray.from_buffers(4, *kept)
    columns = {"learner": pa.array([1] * 4), "choice": text, "reward": pa.array([0, 1, 0, 1])}
    table = pa.table(columns)
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="column choice: found bytes that are not text in UTF-8"):
        read(tmp_path / "a.parquet", context="none")
