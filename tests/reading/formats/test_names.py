"""Tables without a row of names: a question, and --names that answers it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from howlearn.core.errors import DataError, HowlearnError
from howlearn.reading.guess import inspect
from howlearn.reading.read import read
from workbooks import write_xlsx

NAMES = "learner,trial,context,action,reward".split(",")
ROWS = [
    (who, t, t % 3 + 1, (t + who) % 2 * 2 - 1, (t * who) % 3 % 2)
    for who in range(1, 5)
    for t in range(1, 13)
]
FRAME = pl.DataFrame(ROWS, schema=NAMES, orient="row")


def same(study: Any) -> None:
    usual = read(FRAME)
    assert study.learners == usual.learners
    for name in ("context", "action", "reward", "starts"):
        assert getattr(study, name).tolist() == getattr(usual, name).tolist()


@pytest.mark.parametrize(
    ("name", "separator"), [("a.csv", ","), ("a.tsv", "\t"), ("a.csv", ";"), ("a.txt", " ")]
)
@pytest.mark.parametrize("before", ["", "\ufeff", "# a comment\n", "sep=SEP\n"])
def test_text(tmp_path: Path, name: str, separator: str, before: str) -> None:
    path = tmp_path / name
    before = "" if before[:3] == "sep" and separator == " " else before
    rows = [separator.join(map(str, row)) for row in ROWS]
    path.write_text(before.replace("SEP", separator) + "\n".join(rows) + "\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    said = str(caught.value)
    assert "no names of columns; the first rows: 1, 1, 2, -1, 1 / 1, 2, 3, 1, 0" in said
    assert "--names NAME1,NAME2,NAME3,NAME4,…" in said
    with pytest.raises(DataError):
        inspect(path)
    study = read(path, names=NAMES)
    same(study)
    assert study.source is not None
    assert study.source.first_rows[0] == 1 + before.startswith(("#", "sep"))
    assert inspect(path, names=NAMES).roles["action"] == "action"


def test_excel(tmp_path: Path) -> None:
    write_xlsx(tmp_path / "a.xlsx", {"Data": ROWS})
    with pytest.raises(DataError, match="no names of columns; the first rows: 1, 1, 2, -1, 1"):
        read(tmp_path / "a.xlsx")
    same(read(tmp_path / "a.xlsx", names=NAMES))


@pytest.mark.parametrize(
    ("first", "asked"),
    [
        ("p1,101,left,0", True),
        ("p1,left,win,a", True),
        ("p1,left,win,1", True),
        ("0.5,0.7,1,0", True),
        ("1,NaN,left,0", True),
        ("who,trial,side,won", False),
        ("1,2,3,4", False),
        ("who,2019,2020,2021", False),
        ("p1,trial,side,won", False),  # one name among the values may be chance
    ],
)
def test_what_is_taken_for_names(tmp_path: Path, first: str, asked: bool) -> None:
    below = ["p1,left,win,0", "p2,right,win,1", "p1,7,lose,a", "1,8,right,0"]
    (tmp_path / "a.csv").write_text("\n".join([first, *below]))
    with pytest.raises(HowlearnError) as caught:
        read(tmp_path / "a.csv")
    assert ("no names of columns" in str(caught.value)) == asked


def test_names_that_come_again_in_files_put_together(tmp_path: Path) -> None:
    text = FRAME.write_csv()
    (tmp_path / "a.csv").write_text(text + text.replace("\n1,", "\n9,"))
    with pytest.raises(DataError) as caught:
        read(tmp_path / "a.csv")
    assert "no names" not in str(caught.value)


def test_a_first_row_that_only_looks_like_data(tmp_path: Path) -> None:
    lines = FRAME.write_csv().replace(",".join(NAMES), "1.5,2.5,3.5,4.5,5.5")
    (tmp_path / "a.csv").write_text(lines)
    options = dict(zip(NAMES, ("1.5", "2.5", "3.5", "4.5", "5.5"), strict=True))
    same(read(tmp_path / "a.csv", names="header", **options))


def test_other_names_for_columns_that_have_some(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(FRAME.write_csv().replace("learner", "Vp-Nr."))
    study = read(tmp_path / "a.csv", names=NAMES)
    same(study)
    assert any("--names stands for the names in its first row: Vp-Nr., trial" in note
               for note in study.notes)  # fmt: skip


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (NAMES[:3], "found 5 columns (1, 1, 2, -1, 1 / 1, 2, 3, 1, 0 / 1, 3, 1, -1, 0); allowed: "
         "as many as --names has: 3 (learner, trial, context)"),
        ([*NAMES[:4], "trial"], "--names: trial occurs twice"),
    ],
)  # fmt: skip
def test_names_that_do_not_fit(tmp_path: Path, names: list[str], said: str) -> None:
    FRAME.write_csv(tmp_path / "a.csv", include_header=False)
    with pytest.raises(HowlearnError) as caught:
        read(tmp_path / "a.csv", names=names)
    assert said in str(caught.value)


def test_a_table_without_names_beside_the_data_is_left_out(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "a.csv")
    (tmp_path / "index.csv").write_text("1,0.5,20\n2,0.7,31\n3,0.1,22\n")
    study = read(tmp_path)
    same(study)
    assert "index.csv has no names of columns, and was left out" in study.notes[0]
