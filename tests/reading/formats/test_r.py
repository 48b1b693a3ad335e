"""Files of R: data frames, lists of them, lists of vectors, matrices."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import rdata
import xarray as xr

from howlearn.core.errors import DataError
from howlearn.reading.formats.open import open_tables
from howlearn.reading.formats.r import _named_matrix
from howlearn.reading.formats.variables import tables_of
from howlearn.reading.read import read
from sameness import FRAME, ROWS, assert_same


def frame_of(part: Any = FRAME, without: str = "") -> pd.DataFrame:
    """The rows as R would have them: factors, NA."""
    frame = pd.DataFrame({n: part[n].to_list() for n in part.columns if n != without})
    frame["stimulus"] = pd.Categorical(frame["stimulus"])
    frame["choice"] = pd.array(frame["choice"].to_list(), dtype=pd.StringDtype("python", pd.NA))
    if "subject" in frame:
        frame["subject"] = frame["subject"].astype("int32")
    frame["trial"] = frame["trial"].astype("int32")
    return frame


PARTS = [part for _, part in FRAME.group_by("subject", maintain_order=True)]
VECTORS = {n: np.array(["NA" if v is None else v for v in vs]) for n, vs in ROWS.items()}
VALUES = {
    "a data frame": frame_of(),
    "a list of data frames": [frame_of(part) for part in PARTS],
    "by name": {str(i): frame_of(part, "subject") for i, part in enumerate(PARTS, start=1)},
    "vectors": VECTORS,
    "a data frame beside settings": {"data": frame_of(), "date": "today", "n": np.array([3, 9])},
    "nested": {"study": {"data": frame_of()}, "n": 3.0},
}


@pytest.mark.parametrize("value", VALUES.values(), ids=list(VALUES))
def test_the_same_rows(tmp_path: Path, value: Any) -> None:
    rdata.write_rds(tmp_path / "a.rds", value)
    assert_same(read(tmp_path / "a.rds"))
    for compression in ("gzip", "xz"):
        path = tmp_path / f"{compression}.dat"  # known by its content
        rdata.write_rda(path, {"d": value, "k": 1.5}, compression=compression)
        assert_same(read(path))


def test_which_object(tmp_path: Path) -> None:
    path = tmp_path / "a.RData"
    other = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    rdata.write_rda(path, {"d": frame_of(), "other": other})
    with pytest.raises(DataError, match=r"several tables: d \(.*\); other \(x, y\).*a\.RData#d"):
        read(path)
    assert_same(read(f"{path}#d"))
    [table] = open_tables(f"{path}#d")[0]
    assert table.format == "RData, variable d, rows counted as trials"
    rdata.write_rda(path, {f"s{i}": frame_of(part) for i, part in enumerate(PARTS)})
    study = read(path)
    assert_same(study)
    assert study.notes[0] == f"{path}#s0: 3 variables with the same columns were read"


def test_learners_by_trials(tmp_path: Path) -> None:
    """What Stan is given: matrices of choices and outcomes."""
    path = tmp_path / "a.rds"
    choice = np.array([[1, 2, 1, 1], [2, 2, 1, 2]], dtype="int32")
    outcome = np.array([[0.0, 1.0, np.nan, 1.0], [1.0, 0.5, 0.0, 1.0]])
    rdata.write_rds(path, {"N": 2.0, "T": 4.0, "choice": choice, "outcome": outcome})
    study = read(path, context="none")
    assert study.learners == ("1", "2")
    assert study.action.tolist() == [0, 1, 0, 0, 1, 1, 0, 1]
    assert study.reward.tolist() == [0, 1, 0, 1, 1, 0.5, 0, 1]
    assert study.learned.tolist() == [True, True, False, *[True] * 5]


def matrix(name: str, values: np.ndarray[Any, Any]) -> Any:
    rows, columns = values.shape
    names = {"dim_0": [f"S{i}" for i in range(rows)]}
    names["dim_1"] = [f"{name}_{i + 1}" for i in range(columns)]
    return _named_matrix(xr.DataArray(values, names, ["dim_0", "dim_1"]))


def test_one_matrix_per_quantity(tmp_path: Path) -> None:
    """As in the collection of Iowa data: three matrices, and a table of who took part."""
    path, draw = tmp_path / "a.rda", np.random.default_rng(1)
    made, won, lost = (draw.integers(1, 5, (6, 40)) * 1.0 for _ in range(3))
    whose = pl.DataFrame({"Subj": ["1"] * 6, "Study": ["x"] * 6})
    values = {"choice_40": matrix("Choice", made), "wi_40": matrix("Wins", won)}
    values |= {"lo_40": matrix("Losses", -lost), "index_40": whose}
    [table] = tables_of(path, values, None, "RData", frames=True)
    assert table.name == str(path)
    [frame] = table.frames(["learner", "Choice", "Wins", "Losses"])
    assert frame["learner"].unique(maintain_order=True).to_list() == [f"S{i}" for i in range(6)]
    told = [frame[name].cast(pl.Float64).to_list() for name in ("Choice", "Wins", "Losses")]
    assert told == [each.ravel().tolist() for each in (made, won, -lost)]
    values = {"one": matrix("this", made), "two": matrix("that", won), "index": whose}
    with pytest.raises(DataError) as caught:
        tables_of(path, values, None, "RData", frames=True)
    assert caught.value.problems[0].remedy == (
        "name one of them, as in a.rda#one, or those that belong together: 'a.rda#one' 'a.rda#two'"
    )


# Functions, as R writes them: flags, environment, arguments, body; the body would make a file.


def number(value: int) -> bytes:
    return struct.pack(">i", value)


def letters(text: str) -> bytes:
    return number(9 | 64 << 12) + number(len(text)) + text.encode()


def texts(*values: str) -> bytes:
    return number(16) + number(len(values)) + b"".join(map(letters, values))


def pair(tag: str, value: bytes, rest: bytes) -> bytes:
    return number(2 | 1 << 10) + number(1) + letters(tag) + value + rest


NOTHING, GLOBAL = number(254), number(253)
CALL = number(6) + number(1) + letters("file.create") + number(2) + texts("made") + NOTHING
CODE = {
    "function": number(3 | 1 << 10) + GLOBAL + NOTHING + CALL,
    "promise": number(5 | 1 << 10) + GLOBAL + NOTHING + CALL,
    "builtin": number(8) + number(6) + b"system",
}
CODE["environment"] = (
    number(4) + number(0) + GLOBAL + pair("f", CODE["function"], NOTHING) + NOTHING + NOTHING
)
HEAD = b"X\n" + number(2) + number(0x40000) + number(0x20300)


def frame(more: bytes, column: bytes = b"") -> bytes:
    """A data frame of eight trials with another attribute, and perhaps another column."""
    names = ["participant", "stimulus", "choice", "reward", *(["f"] if column else [])]
    rewards = number(14) + number(8) + struct.pack(">8d", 0, 1, 1, 0, 1, 0, 1, 1)
    columns = texts(*"aaaaaaaa"), texts(*"xyxyxyxy"), texts(*"LRLRLLRR"), rewards
    held = number(19 | 3 << 8) + number(len(names)) + b"".join(columns) + column
    rows = number(13) + number(2) + number(-(2**31)) + number(-8)
    about = pair("row.names", rows, pair("class", texts("data.frame"), pair("hook", more, NOTHING)))
    return held + pair("names", texts(*names), about)


@pytest.mark.parametrize("kind", CODE)
def test_functions_are_left_out_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code = CODE[kind]
    several = number(19) + number(8) + code * 8
    beside = pair("f", code, pair("d", frame(NOTHING), NOTHING))
    kept = {
        "attribute.rds": HEAD + frame(code),
        "column.rds": HEAD + frame(NOTHING, several),
        "beside.RData": b"RDX2\n" + HEAD + beside,
    }
    for name, content in kept.items():
        Path(name).write_bytes(content)
        assert len(read(name).context) == 8
    alone = {"a.rds": HEAD + code, "a.RData": b"RDX2\n" + HEAD + pair("f", code, NOTHING)}
    for name, content in alone.items():
        Path(name).write_bytes(content)
        with pytest.raises(DataError, match="function"):
            read(name)
    assert {path.name for path in tmp_path.iterdir()} == {*kept, *alone}
