"""Qualtrics: two rows below the names say what was asked and where; each row is a learner."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from howlearn.core.errors import DataError
from howlearn.reading.guess import inspect
from howlearn.reading.read import read
from howlearn.results.select_into import originals

TRIALS = 60  # the questions fill more lines than are looked at first


def export(separator: str = ",", people: int = 2, asking: str = "Which door,\n\n") -> str:
    trials = range(1, TRIALS + 1)
    names = ["StartDate", "ResponseId", "Finished"]
    names += [f"{t}_choice" for t in trials] + [f"{t}_reward" for t in trials]
    asked = [f"{asking}{name}?" for name in names]
    where = [f'{{"ImportId":"{name}"}}' for name in names]
    rows = [
        ["2020-01-01", f"R_{who}", "True", *("lr"[t % (1 + (who > 1))] for t in trials)]
        + [str(int(t % 3 > 0)) for t in trials]
        for who in range(1, people + 1)
    ]
    out = io.StringIO()
    csv.writer(out, delimiter=separator).writerows([names, asked, where, *rows])
    return out.getvalue()


@pytest.mark.parametrize(("separator", "encoding"), [(",", "utf-8-sig"), ("\t", "utf-16")])
def test_rows_about_the_columns_are_no_learners(
    tmp_path: Path, separator: str, encoding: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(export(separator), encoding=encoding)
    study = read(path, context="none")
    assert study.learners == ("R_1", "R_2")
    assert (study.actions, len(study.action)) == (("l", "r"), 2 * TRIALS)
    assert any("an export of Qualtrics; the two rows below" in note for note in study.notes)
    assert originals(study)[0].height == 2 * TRIALS
    found = inspect(path)
    assert found.study is not None
    assert found.study.learners == study.learners
    assert not any("ImportId" in column for column in found.examples)


def test_many_people_below_short_questions(tmp_path: Path) -> None:
    """Numbers below three rows of words: the first row has the names all the same."""
    path = tmp_path / "a.csv"
    path.write_text(export(people=6, asking="Which? "))
    found = inspect(path)
    assert found.study is not None
    assert found.study.learners == tuple(f"R_{who}" for who in range(1, 7))
    assert found.roles["reward"] == "reward"


def test_a_long_table_and_rows_counted_below(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "id,item,choice,reward\nWho?,What?,Which?,How much?\n"
        + ",".join(f'"{{""ImportId"":""{name}""}}"' for name in "abcd")
        + "\n1,x,l,1\n1,y,r,much\n1,y,r\n"
    )
    with pytest.raises(DataError, match=r"row 6: found 3 values"):
        read(path)
    path.write_text(path.read_text().replace("1,y,r\n", ""))
    with pytest.raises(DataError, match=r"row 5, column reward: found much"):
        read(path)
    path.write_text(path.read_text().replace("much\n", "0\n"))
    assert read(path).contexts == ("x", "y")
