"""Text files as they come: whatever separates, encodes or precedes the same rows."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import polars as pl
import pytest

from howlearn.core.errors import DataError
from howlearn.reading.formats.open import open_tables
from howlearn.reading.read import read
from sameness import FRAME, ROWS, assert_same, comma, lines
from workbooks import write_xlsx

PLAIN = "\n".join(lines()) + "\n"
SEMICOLONS = "\n".join(lines(";", reward=comma)) + "\n"
TABS = "\n".join(lines("\t")) + "\n"
NA = {"choice": lambda value: value}
BLANKS = PLAIN.replace(",,", ",NA,").replace(",", "   ")
R_TABLE = "\n".join(
    [
        " ".join(f'"{name}"' for name in ROWS),
        *(
            f'"{i}" {s} {t} "{c}" {"NA" if a is None else repr(a)} {r}'.replace("'", '"')
            for i, (s, t, c, a, r) in enumerate(FRAME.rows(), start=1)
        ),
    ]
)
ODD = {
    "semicolons, decimal comma": SEMICOLONS.encode(),
    "tabs, decimal comma": "\n".join(lines("\t", reward=comma)).encode(),
    "bars": PLAIN.replace(",", "|").encode(),
    "runs of blanks": BLANKS.encode(),
    "blanks before": BLANKS.replace("\n", "\n  ").rstrip().encode(),
    "R's write.table": R_TABLE.encode(),
    "R's write.table with tabs": R_TABLE.replace(" ", "\t").encode(),
    "R's write.csv": "\n".join(
        f'"{i or ""}",{line}' for i, line in enumerate(PLAIN.splitlines())
    ).encode(),
    "UTF-8 with a mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "UTF-16": TABS.encode("utf-16"),
    "UTF-16, big end first": TABS.encode("utf-16-be"),
    "UTF-16, no mark": TABS.encode("utf-16-le"),
    "Latin-1": PLAIN.encode("latin-1"),
    "old Mac": PLAIN.replace("\n", "\r").encode(),
    "Windows": PLAIN.replace("\n", "\r\n").encode(),
    "old Mac, Latin-1": PLAIN.replace("\n", "\r").encode("latin-1"),
    "Excel's sep": ("sep=;\r\n" + SEMICOLONS.replace("\n", "\r\n")).encode(),
    "comments": ("# made by, a programme\n#\n\n" + PLAIN).encode(),
    "names behind #": ("# a study\n#" + TABS).encode(),
    "separators at the end": PLAIN.replace("\n", ",\n").encode(),
    "separators at the end of rows": PLAIN.replace("\n", ",,\n").replace(",,", "", 1).encode(),
    "blank lines": PLAIN.replace("\n", "\n\n", 3).encode(),
    "quoted": "\n".join(
        ",".join(f'"{v}"' for v in line.split(",")) for line in PLAIN.splitlines()
    ).encode(),
    "gzip": gzip.compress(PLAIN.encode("utf-16")),
    "bzip2": bz2.compress(SEMICOLONS.encode()),
}


@pytest.mark.parametrize("content", ODD.values(), ids=list(ODD))
@pytest.mark.parametrize("name", ["a.csv", "a.dat"])
def test_the_same_rows(tmp_path: Path, content: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    study = read(path)
    assert_same(study)
    assert any("Windows-1252" in note for note in study.notes) == (b"\xe9t\xe9" in content)


def test_rows_are_counted_as_a_spreadsheet_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    bad = [line.replace("\tleft\t", "\tleft\tx", 1) for line in TABS.splitlines()]
    row = 1 + next(i for i, line in enumerate(bad) if "\tx" in line)
    for before, text in (
        (0, TABS),
        (3, "# one\n\n# two\n" + TABS),
        (1, "sep=\t\n" + TABS),
        (0, TABS.replace("\t\t", "\tNA\t").replace("\t", " ")),
    ):
        path.write_text(text.replace("left\t", "left\tx").replace("left ", "left x"))
        with pytest.raises(DataError) as caught:
            read(path)
        assert caught.value.problems[0].row == row + before, text[:20]


def test_quoted_fields_hold_separators_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [
        f'{s},"said ""a, b""\nand; c",{c},{a},0' for s, c, a in [(1, "x", "l"), (1, "y", "r")] * 3
    ]
    path.write_text("\n".join(['id,"a\nnote",item,choice,reward', *rows]))
    study = read(path)
    assert study.contexts == ("x", "y")
    assert len(study.context) == 6


def test_lists_of_numbers_are_no_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(
        "id\titem\tchoice\treward\n1\t1,2\ta\t0,5\n1\t3,4\tb\t1\n1\t1,2\ta\tNA\n1\t3,4\ta\t,5\n"
    )
    study = read(path)
    assert study.contexts == ("1,2", "3,4")
    assert study.reward.tolist() == [0.5, 1.0, 0.0, 0.5]
    [table] = open_tables(path)[0]
    assert table.format == "TSV, separated by tabs, decimal comma"


def test_names_that_come_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,rt,rt,item,choice,reward\n1,5,6,x,a,1\n1,5,6,y,b,0\n")
    study = read(path)
    assert study.notes == (
        f"{path}: two columns have the same name (rt); the second is called “rt (2)” here",
    )
    assert read(path, where="`rt (2)` > 5").counts["rows read"] == 2
    assert read(path, where="rt < 6").counts["rows read"] == 2


def test_commas_in_names_do_not_mislead(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id;a,b,c,d,e,f;item;choice;reward\n1;x;1;l;1\n1;y;2;r;0\n")
    assert read(path).contexts == ("1", "2")


def test_columns_that_come_and_go(tmp_path: Path) -> None:
    """PsychoPy: a routine that a learner did not reach leaves no column, keys stand in quotes."""
    first = (
        "stim,key_resp.keys,key_resp.corr,bonus.rt,participant,psychopyVersion,\n"
        ",,,3.5,p 1,2023.1,\nx,'left',1,,p 1,2023.1,\n"
        "y,['right'],0,,p 1,2023.1,\nx,None,0,,p 1,2023.1,\n"
    )
    second = (
        "participant,key_resp.keys,stim,key_resp.corr,psychopyVersion,\n"
        "p 2,right,x,1,2023.1,\np 2,\"['left']\",y,1,2023.1,\n"
    )
    paths = [tmp_path / name for name in ("1.csv", "2.csv")]
    for path, text in zip(paths, (first, second), strict=True):
        path.write_text(text)
    told = {"action": "key_resp.keys", "reward": "key_resp.corr", "context": "stim"}
    study = read(paths, **told, where="`bonus.rt` == missing")
    assert study.learners == ("p 1", "p 2")
    assert [study.actions[i] for i in study.action] == ["left", "right", "right", "left"]
    assert study.counts["missed trials"] == 1
    assert study.counts["left out by --where"] == 1
    assert {table.format for table in open_tables(paths)[0]} == {
        "PsychoPy CSV, separated by commas"
    }
    paths[1].write_text(second.replace("stim", "stimulus"))
    with pytest.raises(DataError, match=r"2\.csv, row 1, column stim: found no such column"):
        read(paths, **told)


def test_hbayesdm(tmp_path: Path) -> None:
    path = tmp_path / "bandit.txt"
    rows = [f"{s}.0\t{t}.0\t{1 + t % 2}.0\t{t % 3 / 2}" for s in (1, 2) for t in range(1, 7)]
    path.write_text("\n".join(["subjID\ttrial\tchoice\toutcome", *rows]))
    study = read(path, context="none")
    assert (study.learners, study.actions) == (("1", "2"), ("1", "2"))
    assert study.reward.tolist() == [t % 3 / 2 for t in range(1, 7)] * 2
    [table] = open_tables(path)[0]
    assert table.format == "hBayesDM TSV, separated by tabs"


def test_objects_in_cells(tmp_path: Path) -> None:
    """jsPsych's CSV: every cell in quotes, answers as JSON, other trials between."""
    path = tmp_path / "a.csv"
    rows = [
        ("survey", 0, "", '{""Q0"": ""x"", ""more"": {""a"": 1}}', ""),
        *(("choice", i, f"s{i % 2}", "fj"[i % 2 or i % 3 == 0], "01"[i % 2]) for i in range(1, 9)),
        ("survey", 9, "", '{""Q1"": [1, 2], ""Q0"": """"}', ""),
    ]
    text = ['"trial_type","trial_index","stimulus","response","correct"']
    text += [",".join(f'"{value}"' for value in row) for row in rows]
    path.write_text("\n".join(text))
    study = read(path, where="trial_type == 'choice'")
    assert (study.contexts, study.actions) == (("s0", "s1"), ("f", "j"))
    [table] = open_tables(path)[0]
    assert table.format == "jsPsych CSV, separated by commas"
    names = ["response.Q0", "response.more.a", "response.Q1"]
    assert list(table.columns[5:]) == names
    frame = pl.concat(table.frames([*names, "trial_index"]))
    assert frame.row(0) == ("x", "1", None, "0")
    assert frame.row(9) == (None, None, "[1, 2]", "9")
    assert frame[1:9].select(names).null_count().row(0) == (8, 8, 8)


@pytest.mark.parametrize("end", ["END OF FILE\n", "END OF FILE", '"END OF FILE",,,,\r\n'])
def test_the_last_line_of_gorilla(tmp_path: Path, end: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join([*lines(), end]))
    assert_same(read(path))


META = ("file,date,participant,zone", "rl.csv,May 4,p9,GMT")


@pytest.mark.parametrize(
    "above",
    [
        META,
        (*META, ""),
        tuple(line + "," for line in META),
        (*(line + "," for line in META), ",,,,"),
        ("file,date,version,zone,room", "rl.csv,May 4,3,GMT,12"),
        ("Experiment,learning", "Date,May 4", "Version,3", ""),
        ("Scenario - learning", "written - May 4, 10:11", ""),
        ("Design,,,Behaviour,",),
        ("Who,Design,Design,Behaviour,Behaviour",),
    ],
)
def test_rows_above_the_names(tmp_path: Path, above: tuple[str, ...]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join(above) + "\n" + PLAIN)
    assert_same(read(path))


def test_the_learner_above_the_table(tmp_path: Path) -> None:
    for i in (1, 2, 3):
        rows = [line.split(",", 1)[1] for line in lines() if line.startswith((f"{i},", "subject"))]
        (tmp_path / f"run{i}.csv").write_text("\n".join([META[0], f"a,b,{i},c", "", *rows]))
    study = read(tmp_path)
    assert_same(study)
    assert any("what is above was left out (participant was kept)" in n for n in study.notes)


HEADS = {
    "groups": ["Design,,,Behaviour,", ",".join(ROWS)],
    "split": ["subject,trial,stimulus,response,", ",,,choice,reward"],
    "units": [",".join(ROWS), ",#,,,points"],
    "labels above": ["Number of the person,Count,What was shown,Pressed,Won", ",".join(ROWS)],
}


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("name", ["a.csv", "a.xlsx"])
def test_two_rows_of_names(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    if name == "a.csv":
        path.write_text("\n".join([*HEADS[kind], *lines()[1:]]))
    else:
        heads = [[text or None for text in line.split(",")] for line in HEADS[kind]]
        write_xlsx(path, {"Data": [*heads, *FRAME.rows()]})
    assert_same(read(path))


def test_the_same_name_below_two_groups(tmp_path: Path) -> None:
    rows = [line + ",7" for line in lines()[1:]]
    heads = ["subject,trial,stimulus,choice,outcome,", ",,,key,value,value"]
    (tmp_path / "a.csv").write_text("\n".join([*heads, *rows]))
    table = open_tables(tmp_path / "a.csv")[0][0]
    assert table.columns[3:] == ("key", "outcome value", "outcome value (2)")
    assert table.first_row == 3
