"""Spreadsheets: titles above, several sheets, dates, and what is no table."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl
import pytest

from howlearn.core.errors import DataError
from howlearn.reading.formats.open import open_tables
from howlearn.reading.read import read
from howlearn.results.select_into import originals
from sameness import FRAME, NAMES, assert_same
from workbooks import write_ods, write_xlsx

CODES = [["key", "is"], ["f", "x"]]
DAY = date(2024, 1, 2)
TABLE = [NAMES, *FRAME.rows()]
TEXT = [NAMES, *([None if v is None else str(v) for v in row] for row in FRAME.rows())]


@pytest.mark.parametrize(
    "sheets",
    [
        {"Data": TABLE},
        {"Read me": [["A study"]], "Empty": [], "Data": [["Study 1"], [], *TABLE]},
        {"numbers as text": [["made", "2024"], [None], *TEXT], "Codes": CODES},
        {"<script>&": [[*row, None, DAY if i else "day"] for i, row in enumerate(TABLE)]},
    ],
    ids=["plain", "title", "text", "gap"],
)
@pytest.mark.parametrize("name", ["a.xlsx", "a.ods", "a.csv"])
def test_the_same_rows(tmp_path: Path, sheets: dict, name: str) -> None:
    path = tmp_path / name
    if name == "a.ods":
        sheets = {
            n: [[str(v) if isinstance(v, date) else v for v in r] for r in rows]
            for n, rows in sheets.items()
        }
    (write_ods if name == "a.ods" else write_xlsx)(path, sheets)
    study = read(path)
    assert_same(study)
    assert originals(study)[0].height == FRAME.height


def test_a_learner_per_sheet(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    parts = FRAME.partition_by("subject", include_key=False)
    sheets = {f"P{i}": [p.columns, *p.rows()] for i, p in enumerate(parts, start=1)}
    write_xlsx(path, {**sheets, "Codes": CODES})
    study = read(path)
    assert_same(study, ("P1", "P2", "P3"))
    assert study.notes == (
        f"{path}#P1: 3 sheets with the same columns were read",
        f"{path}#P1: the sheet Codes has other columns and was not read",
    )
    assert study.source is not None
    assert study.source.files == tuple(f"{path}#P{i}" for i in (1, 2, 3))
    assert [frame.height for frame in originals(study)] == [9, 9, 9]
    one = read(f"{path}#P2")
    assert one.learners == ("P2",)
    assert one.n_scored.tolist() == [9]
    with pytest.raises(DataError, match=r"no sheet P9; allowed: a sheet that is there: P1, P2, P3"):
        read(f"{path}#P9")


def test_rows_types_and_names(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    rows = [
        ["Title"],
        ["id", "item", "choice", "correct", "day", "day"],
        [1, 1.0, "01", True, date(2024, 2, 29), 3],
        [1, 2, "1", False, None, 4],
        [1, "A", "1", "maybe", None, 5],
    ]
    write_xlsx(path, {"One": rows[:-1]})
    study = read(path)
    assert (study.contexts, study.actions) == (("1", "2"), ("1", "01"))
    assert study.reward.tolist() == [1.0, 0.0]
    [table] = open_tables(path)[0]
    assert table.format == "Excel, sheet One"
    assert pl.concat(table.frames(["day (2)"])).row(0) == ("3",)
    assert originals(study)[0].row(0) == ("1", "1", "01", True, "2024-02-29", "3")
    assert "two columns have the same name (day)" in study.notes[0]
    assert read(path, context="day (2)").contexts == ("3", "4")
    write_xlsx(path, {"One": rows})
    with pytest.raises(DataError, match=r"row 5, column correct: found maybe"):
        read(path)
    write_xlsx(path, {"One": [], "Two": [["x"], ["y"]]})
    with pytest.raises(DataError, match="no sheet with a table"):
        read(path)
