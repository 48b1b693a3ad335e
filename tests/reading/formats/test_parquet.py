"""Parquet: folders divided by learner, and columns of every type."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from fuzz.mutations.claims import zigzag

from howlearn.core.errors import DataError
from howlearn.reading.formats.parquet import Damage, Parquet, check_pages
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


DATA, DICTIONARY = b"\x2c\x15", b"\x4c\x15"  # before the number of values of a page
FOOTER = b"\x16"  # before that of a column
TRIALS, CHOICES = 50, 2
CODE = """
import sys
import howlearn as hl
try:
    hl.read(sys.argv[1])
except hl.DataError as error:
    print(error)
"""


def claiming(path: Path, before: bytes, count: int, claim: int) -> str:
    """What reading says, in a process of its own, where pages claim other numbers of values."""
    frame = pl.DataFrame(
        {
            "participant": [1] * TRIALS,
            "trial": [*range(TRIALS)],
            "choice": ["L", "R"] * (TRIALS // CHOICES),
            "stimulus": [None, "a"] * (TRIALS // 2),
            "reward": [0, 1] * (TRIALS // 2),
        }
    )
    frame.write_parquet(path)
    raw = path.read_bytes()
    assert before + zigzag(count) in raw
    assert len(zigzag(claim)) == len(zigzag(count))
    path.write_bytes(raw.replace(before + zigzag(count), before + zigzag(claim)))
    words = [sys.executable, "-c", CODE, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("claim", [-1, -40, TRIALS + 1])
def test_pages_that_claim_other_numbers_of_values(tmp_path: Path, claim: int) -> None:
    said = claiming(tmp_path / "a.parquet", DATA, TRIALS, claim)
    assert "found a file that is not Parquet or is damaged (a page claims" in said


@pytest.mark.parametrize("claim", [-1, 60])
def test_dictionaries_that_claim_other_numbers_of_values(tmp_path: Path, claim: int) -> None:
    said = claiming(tmp_path / "a.parquet", DICTIONARY, CHOICES, claim)
    assert "found a file that is not Parquet or is damaged (a page claims" in said


def test_columns_that_claim_more_values_than_their_pages_have(tmp_path: Path) -> None:
    said = claiming(tmp_path / "a.parquet", FOOTER, TRIALS, TRIALS + 1)
    assert "(a column claims 1 value more than there are)" in said


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("packed", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_pages_as_others_write_them(
    tmp_path: Path, version: str, packed: str, dictionary: bool
) -> None:
    """Small pages, two groups of rows, lists, and statistics that are longer than a head is."""
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    frame = pl.concat([FRAME] * 3).with_columns(
        pair=pl.concat_list("trial", "trial"), long=pl.lit("x" * 5000) + pl.col("choice")
    )
    parquet.write_table(
        frame.to_arrow(),
        path,
        data_page_version=version,
        compression=packed,
        use_dictionary=dictionary,
        data_page_size=64,
        write_batch_size=8,
        row_group_size=2 * FRAME.height,
        write_page_checksum=True,
    )
    [read_back] = Parquet(path).frames(["trial", "choice", "pair", "long"])
    assert read_back["long"].equals(frame["long"])
    assert read_back["trial"].equals(frame["trial"])


def test_a_footer_that_does_not_say_where_columns_are(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path)
    raw = path.read_bytes()
    start = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    for length in range(0, len(raw) - 8 - start, 7):  # cut, or followed by what nothing stands for
        for end in (b"", b"\x1f" * 40, b"\x1c" * 40, b"\x19" * 9000, b"\x19\xf3" + b"\xff" * 40):
            footer = raw[start : start + length] + end
            path.write_bytes(raw[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
            with pytest.raises(Damage):
                check_pages(path, FRAME.columns)
