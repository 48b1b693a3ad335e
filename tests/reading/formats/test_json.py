"""JSON of every make: jsPsych, JATOS, JSON Lines, pandas, one object per learner."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from howlearn.core.errors import DataError
from howlearn.reading.formats.open import open_tables
from howlearn.reading.read import read
from sameness import FRAME, NAMES, RECORDS, ROWS, assert_same

DATA = [name for name in NAMES if name != "subject"]
LEARNERS = {
    str(i): part.drop("subject") for (i,), part in FRAME.group_by("subject", maintain_order=True)
}
TRIALS = [list(part.rows(named=True)) for part in LEARNERS.values()]
COLUMNS = {name: {str(i): v for i, v in enumerate(values)} for name, values in ROWS.items()}
SPLIT = {"columns": NAMES, "index": list(range(27)), "data": [list(row) for row in FRAME.rows()]}
WHOLE = {
    "records": RECORDS,
    "trials": {"version": 7, "when": {"day": "monday"}, "trials": RECORDS},
    "data": {"data": RECORDS, "other": [{"a": 1}]},
    "columns": ROWS,
    "pandas, columns": COLUMNS,
    "pandas, index": {str(i): record for i, record in enumerate(RECORDS)},
    "pandas, split": SPLIT,
    "learners": [
        {"subject": int(i), "age": 20, "trials": trials}
        for i, trials in zip(LEARNERS, TRIALS, strict=True)
    ],
    "learners as columns": [
        {"subject": int(i), **part.to_dict(as_series=False)} for i, part in LEARNERS.items()
    ],
    "learners by name": {i: {"trials": t} for i, t in zip(LEARNERS, TRIALS, strict=True)},
    "learners by number": TRIALS,
    "learners by name and column": {i: p.to_dict(as_series=False) for i, p in LEARNERS.items()},
    "matrices": {
        name: [part[name].to_list() for part in LEARNERS.values()]
        for name in ("stimulus", "choice", "reward")
    },
    "numbers as text": [{k: v if v is None else str(v) for k, v in r.items()} for r in RECORDS],
}
TEXTS = {name: json.dumps(value) for name, value in WHOLE.items()}
TEXTS |= {
    "indented": json.dumps(RECORDS, indent=2, ensure_ascii=False),
    "JSON Lines": "\n".join(map(json.dumps, RECORDS)),
    "JATOS": "\n".join(map(json.dumps, TRIALS)),
    "JATOS, without lines": "".join(map(json.dumps, TRIALS)),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_the_same_rows(tmp_path: Path, text: str) -> None:
    for name, encoding in (("a.json", "utf-8"), ("a.txt", "utf-8-sig"), ("a.csv", "utf-16")):
        path = tmp_path / name
        path.write_text(text, encoding=encoding)
        assert_same(read(path))


def test_jspsych(tmp_path: Path) -> None:
    """Other trials between, answers as objects, lists, booleans, keys that are missed."""
    shown = [
        {"trial_type": "instructions", "trial_index": 0, "view_history": [{"page_index": 0}]},
        {"trial_type": "survey", "trial_index": 1, "response": {"Q0": "x", "b": {"c": [1, 2]}}},
        *(
            {
                "trial_type": "html-keyboard-response",
                "trial_index": i,
                "stimulus": f"<p>{i % 2}</p>",
                "response": None if i == 5 else "fj"[i % 3 == 0],
                "correct": i % 2 == 0,
                "rt": 400.5,
            }
            for i in range(2, 9)
        ),
        {"trial_type": "survey-6", "trial_index": 9, "responses": '{"Q0":"","Q1":"<script>"}'},
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(shown))
    study = read(path, where="trial_type == 'html-keyboard-response'")
    assert study.contexts == ("<p>0</p>", "<p>1</p>")
    assert study.actions == ("f", "j")
    assert study.reward.tolist() == [1, 0, 1, 1, 0, 1]
    assert study.counts["missed trials"] == 1
    [table] = open_tables(path)[0]
    assert table.format == "jsPsych JSON, rows counted as trials"
    columns = ["response.Q0", "response.b.c", "responses.Q1", "responses.Q0"]
    frame = pl.concat(table.frames(columns))
    assert frame.row(1) == ("x", "[1, 2]", None, None)
    assert frame.row(9) == (None, None, "<script>", None)
    shown[4]["correct"] = "word"
    path.write_text(json.dumps(shown))
    with pytest.raises(DataError) as caught:
        read(path, where="trial_type == 'html-keyboard-response'")
    assert {problem.row for problem in caught.value.problems} >= {5}  # the fifth trial


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "an empty file"),
        ("[]", "JSON without trials"),
        ("{}", "JSON without trials"),
        ('{"a": 1}', "JSON without trials"),
        ("[1, 2]", "JSON without trials"),
        ("null", "JSON without trials"),
        ('[{"a": 1}', "a file that is not JSON or is damaged (line 1"),
        ("[" * 100_000, "a file that is not JSON or is damaged"),
    ],
)
def test_what_is_no_table(tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read(path)
    assert caught.value.problems[0].found.startswith(found)


def test_logs_that_are_nearly_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    whole = json.dumps(RECORDS)
    for text in (whole[:-1], whole[:-1] + ", ", whole[:-1] + ', {"subject": 3, "tri'):
        path.write_text(text)
        study = read(path)
        assert_same(study)
        assert any("the list of trials is cut off" in note for note in study.notes)
    path.write_text(whole.replace('"choice": null', '"choice": '))
    study = read(path)
    assert_same(study)
    assert any("were read as missing values" in note for note in study.notes)
    path.write_text(whole.replace('"trial": 3', '"trial" 3'))
    with pytest.raises(DataError, match="not JSON or is damaged"):
        read(path)


def test_a_number_of_thousands_of_digits(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(f'[{{"a": {"1" * 5000}}}]')
    with pytest.raises(DataError, match="a whole number of more than 4,300 digits"):
        read(tmp_path / "a.json")


def counted(items: list) -> dict:
    """A list as Firebase keeps it: an object whose names are numbers."""
    return {str(i): item for i, item in enumerate(items)}


IDS = tuple(f"-N{i}xKq3bAbZ" for i in LEARNERS)
PEOPLE = dict(zip(IDS, TRIALS, strict=True))
FIREBASE = {
    "in people": {w: {"age": 9, "trials": counted(t)} for w, t in PEOPLE.items()},
    "beside what is known": {w: {"age": 9, **counted(t)} for w, t in PEOPLE.items()},
    "trial_1": {w: {f"trial_{i}": r for i, r in enumerate(t)} for w, t in PEOPLE.items()},
    "under ids": {
        "study": {
            w: {f"-M{i:09}": {**r, "at": {"x": i}} for i, r in enumerate(t)}
            for w, t in PEOPLE.items()
        }
    },
    "with a hole": {w: {"trials": [None, *t]} for w, t in PEOPLE.items()},
    "columns": {
        w: {"age": 9, **{name: counted([r[name] for r in t]) for name in t[0]}}
        for w, t in PEOPLE.items()
    },
    "with a list of people": {
        "people": {w: {"age": 20, "sex": "f"} for w in IDS},
        "task": {w: counted([{**r, "on": ["l", "r"]} for r in t]) for w, t in PEOPLE.items()},
    },
    "as text": {w: {"age": 9, "data": json.dumps(t)} for w, t in PEOPLE.items()},
}


@pytest.mark.parametrize("kind", FIREBASE)
def test_numbered_objects_are_lists(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(FIREBASE[kind]))
    assert_same(read(path), IDS)


def test_numbers_of_learners_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    people = {str(7 * i): t for i, t in enumerate(TRIALS, start=1)}
    path.write_text(json.dumps({"subjects": people}))
    assert_same(read(path), ("7", "14", "21"))
