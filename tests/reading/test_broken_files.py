"""Every broken file has its exact message: where, what was found, what is allowed, what helps."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from howlearn.core.errors import DataError, HowlearnError
from howlearn.core.text import one_line
from howlearn.models.task import Task
from howlearn.reading.options import DATA
from howlearn.reading.read import read

GOOD = "participant,trial,item,choice,reward\n1,1,7,A,1\n1,2,8,B,0\n"


def cases() -> list:
    """The cases of broken_files.txt: content, options, message."""
    text = (Path(__file__).parent / "broken_files.txt").read_text(encoding="utf-8")
    params = []
    for case in text.split("=== ")[1:]:
        head, message = case.split("--- message\n")
        head, content = head.split("--- file\n")
        name, options = head.strip().split("\n")
        params.append(
            pytest.param(content, ast.literal_eval(options), message.rstrip("\n"), id=name)
        )
    return params


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_there_are_enough_cases() -> None:
    assert len(cases()) >= 25


@pytest.mark.parametrize(("content", "options", "message"), cases())
def test_broken_file(content: str, options: dict, message: str) -> None:
    Path("a.csv").write_text(content, encoding="utf-8", newline="")
    if "task" in options:
        options["task"] = Task.load(options["task"])
    with pytest.raises(HowlearnError) as caught:
        read("a.csv", **options)
    assert str(caught.value) == message.replace("{options}", ", ".join(DATA))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"\x00\x01\x02\n\x00", "a file that is not text"),
        (GOOD.encode() + b"1,3,7,\0\0\0", "a file that is not text"),
        (b"\xe9\x01\x02 neither UTF-8 nor letters", "a file that is not text"),
        (b"\x89PNG\r\n\x1a\n", "a picture"),
        (b"PK\x03\x04 a spreadsheet", "a damaged spreadsheet or ZIP archive"),
        (b"\x1f\x8b broken", "a damaged compressed file"),
        (b"<html><table>", "a web page"),
        (b"PAR1", "a file that is not Parquet or is damaged"),
    ],
    ids=["binary", "NUL at the end", "controls", "PNG", "ZIP", "gzip", "HTML", "Parquet"],
)
def test_files_that_are_no_tables(content: bytes, found: str) -> None:
    Path("a.csv").write_bytes(content)
    with pytest.raises(DataError) as caught:
        read("a.csv")
    [problem] = caught.value.problems
    assert str(problem).startswith(f"a.csv: found {found}")


def test_the_same_file_twice() -> None:
    Path("data").mkdir()
    Path("data/a.csv").write_text(GOOD)
    with pytest.raises(DataError) as caught:
        read(["data", "data/../data/a.csv"])
    assert [str(problem) for problem in caught.value.problems] == [
        "data/../data/a.csv: found the same file twice; allowed: each file once"
    ]


def test_the_problems_of_all_files_are_told_at_once() -> None:
    Path("a.csv").write_text(GOOD + "1,3,7,A,x\n")
    Path("b.csv").write_text("")
    Path("c.csv").write_text("participant,trial,item,choice\n1,1,7,A\n")
    Path("d.csv").write_text(GOOD.replace("\n1,", "\n2,") + "2,3,7,A\n")
    with pytest.raises(DataError) as caught:
        read(["a.csv", "b.csv", "c.csv", "d.csv", "e.csv"])
    places = {(problem.file, problem.row) for problem in caught.value.problems}
    assert places == {("a.csv", 4), ("b.csv", None), ("c.csv", 1), ("d.csv", 4), ("e.csv", None)}


def test_many_problems_of_a_kind_are_cut_but_counted() -> None:
    rows = "".join(f"1,{i},7,A,word{i}\n" for i in range(3, 403))
    Path("a.csv").write_text(GOOD + rows)
    with pytest.raises(DataError) as caught:
        read("a.csv")
    lines = str(caught.value).splitlines()
    assert lines[0] == "the data cannot be used as they are: 101 problems"
    assert lines[-1] == "  … and 96 more like these"
    assert caught.value.problems[-1].found == "300 more values"
    assert caught.value.problems[-1].more == 299


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("none.csv", None, "found no such file; allowed: a file or a folder that exists"),
        (
            "a\0.csv",
            None,
            "found a file that cannot be read (a null character in its name); "
            "allowed: a file that may be read",
        ),
        (
            "book.xlsx",
            b"PK",
            "found a file that is not Excel or is damaged; allowed: CSV, TSV or other text with "
            "columns, Excel, OpenDocument, JSON, Parquet, MATLAB, NumPy, R, SPSS or Stata files "
            "(helps: save it as CSV UTF-8, or read it into a data frame)",
        ),
    ],
)
def test_files_that_cannot_be_opened(name: str, content: bytes | None, line: str) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        read(name)
    assert str(caught.value.problems[0]) == f"{one_line(name)}: {line}"


def test_damaged_parquet() -> None:
    Path("a.parquet").write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(DataError, match=r"a\.parquet: found a file that is not Parquet or is dam"):
        read("a.parquet")


def test_folder_without_data() -> None:
    Path("folder").mkdir()
    Path("folder/README.txt").write_text("not data")
    with pytest.raises(DataError, match=r"folder: found a folder without data files; .* inside$"):
        read("folder")
    Path("folder/sub-01/beh").mkdir(parents=True)
    Path("folder/sub-01/beh/a.tsv").write_text("data")
    with pytest.raises(DataError, match=r"\(helps: name the folders inside .* some: sub-01/beh\)$"):
        read("folder")
