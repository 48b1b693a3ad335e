"""What inspect says about files that cannot be read, and names that leave it open what is meant."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest

from howlearn.core.errors import DataError, HowlearnError
from howlearn.reading.guess import inspect
from howlearn.reading.read import read

NAMES = "who,trial,stim,resp,points"
GOOD = [f"{'ab'[i % 2]},{i},s{i % 3},{'fj'[i % 5 > 1]},{int(i % 4 > 0)}" for i in range(1, 41)]
RAGGED = "row 42: found 3 values; allowed: 5 in every row, separated by commas"
UNREADABLE = {
    "a short row": ([NAMES, *GOOD, "a,41,s1"], RAGGED),
    "an open quote": ([NAMES, *GOOD, 'a,41,"s1,f,1', "a,42,s0,j,0"], RAGGED),
    "a long row": ([NAMES, *GOOD, "a,41,s1,f,1,9"], "row 42: found 6 values"),
    "names alone": ([NAMES], "found no rows; allowed: one row per trial below"),
    "names and blank lines": ([NAMES, "", ""], "found no rows"),
}


@pytest.mark.parametrize(("rows", "told"), UNREADABLE.values(), ids=list(UNREADABLE))
def test_inspect_says_what_the_reader_says(tmp_path: Path, rows: list[str], told: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join([*rows, ""]))
    with pytest.raises(DataError) as caught:
        inspect(path)
    assert told in str(caught.value)
    with pytest.raises(DataError) as reader:
        read(path, learner="who", action="resp", reward="points")
    assert caught.value.problems == reader.value.problems


def test_one_unreadable_file_among_others(tmp_path: Path) -> None:
    """The reader names it where the others tell what is what, and inspect where they do not."""
    (tmp_path / "a.csv").write_text("\n".join(["x,y,z", "1,2,3"]))
    (tmp_path / "b.csv").write_text("\n".join(["x,y,z", "1,2,3", "1,2"]))
    with pytest.raises(DataError, match=r"b.csv, row 3: found 2 values"):
        inspect(tmp_path)
    for name, rows in (("a", GOOD), ("b", [*GOOD, "a,41"])):
        (tmp_path / f"{name}.csv").write_text("\n".join([NAMES, *rows]))
    found = inspect([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert found.study is None
    assert "b.csv, row 42: found 2 values" in found.problems


def test_a_condition_that_holds_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join([NAMES, *GOOD]))
    with pytest.raises(HowlearnError, match=r"holds in no row; stim has s1, s2, s0$"):
        inspect(path, where="stim == 'S1'")


def test_rows_that_stand_in_quotes_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join([NAMES, *GOOD]))
    plain = read(path)
    noted = [NAMES, *GOOD[:-1], GOOD[-1].replace("s1", '"s1"')]
    for rows in (
        [f'"{row.replace(",", ";")}"' for row in [NAMES, *GOOD]],
        [NAMES, *(f'"{row}"' for row in GOOD)],
        ['"{}"'.format(row.replace('"', '""')) for row in noted],
    ):
        path.write_text("\r\n".join(rows))
        study = read(path)
        assert study.contexts == plain.contexts
        assert study.reward.tolist() == plain.reward.tolist()
        assert "each of its rows was in quotes as a whole" in study.notes[0]


def test_either_of_two_columns_of_one_name_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join([NAMES.replace("points", "resp"), *GOOD]))
    study = read(path, action="resp", reward="resp (2)")
    assert (study.actions, study.reward.sum()) == (("f", "j"), 30.0)
    assert read(path, action="resp (2)", reward="resp (2)").actions == ("0", "1")
    assert inspect(path).roles["action"] == "resp"
    with pytest.raises(DataError) as caught:
        read(path, reward="resp (2)")
    [problem] = caught.value.problems
    assert (problem.row, problem.column) == (1, "resp")
    assert problem.remedy == '--action "resp" is the first of them, --action "resp (2)" the second'


def test_a_million_rows_of_the_wrong_length_are_told_once(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join([NAMES, *GOOD, *["a;41;s1;f;1"] * 1_000_000, "a,41,s1", ""]))
    begun = process_time()
    with pytest.raises(DataError) as caught:
        inspect(path)
    assert [(p.row, p.found, p.more) for p in caught.value.problems] == [
        (42, "1 value", 999_999),
        (1_000_042, "3 values", 0),
    ]
    assert process_time() - begun < 5
