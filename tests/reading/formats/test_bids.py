"""BIDS: learners from names, sessions and runs in order, sidecars, participants.tsv."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from howlearn.core.errors import DataError
from howlearn.reading.formats import folders
from howlearn.reading.formats.open import open_tables
from howlearn.reading.read import read
from sameness import FRAME, assert_same

PARTS = FRAME.partition_by("subject", include_key=False)


def write(path: Path, frame: pl.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.write_csv(path, separator="\t", null_value="n/a")


@pytest.mark.parametrize("inside", ["", "sub-{0}/beh/", "sub-{0}/ses-1/func/"])
@pytest.mark.parametrize("kind", ["events", "beh"])
def test_the_same_rows(tmp_path: Path, inside: str, kind: str) -> None:
    for i, part in enumerate(PARTS, start=1):
        ses = "_ses-1" if "ses" in inside else ""
        name = f"{inside.format(f'0{i}')}sub-0{i}{ses}_task-x_{kind}.tsv"
        write(tmp_path / name, part)
    (tmp_path / "dataset_description.json").write_text("{}")
    (tmp_path / "participants.tsv").write_text(
        "participant_id\tage\tgroup\tscore\nsub-01\t20\tpatient\t3\nsub-02\t30\tcontrol\t4\n"
    )
    study = read(tmp_path, keep=("group", "age"))
    assert_same(study, ("01", "02", "03"))
    assert study.about["group"].to_list() == ["patient", "control", None]
    assert study.about["age"].to_list() == [20, 30, None]
    assert study.notes == ()
    columns = open_tables(tmp_path)[0][0].columns
    assert set(columns) >= {"task", "group", "age"}
    assert "score" not in columns  # would be taken for the reward
    assert ("session" in columns) == ("ses" in inside)


def test_sessions_and_runs_are_put_together_in_order(tmp_path: Path) -> None:
    for session, run, context in ((1, 2, "b"), (2, 1, "c"), (1, 1, "a"), (10, 1, "d")):
        name = f"sub-7/ses-{session}/func/sub-7_ses-{session}_task-x_run-{run}_events.tsv"
        rows = {"trial": [1, 2], "cue": [context] * 2, "choice": ["l", "r"], "reward": [1, 0]}
        write(tmp_path / name, pl.DataFrame(rows))
    study = read(tmp_path, reset_by=("session", "run"))
    assert study.learners == ("7",)
    assert [study.contexts[i] for i in study.context] == list("aabbccdd")
    assert study.reset.tolist() == [True, False] * 4
    assert study.notes[0].startswith("4 files of 1 learner were put together; the columns session")


def test_two_data_sets_have_learners_of_their_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name / "sub-1_task-x_events.tsv", PARTS[0])
    assert read([tmp_path / "one", tmp_path / "two"]).learners == ("one/1", "two/1")


def test_other_names_keep_their_stems(tmp_path: Path) -> None:
    write(tmp_path / "sub-1_task-x_events.tsv", PARTS[0])
    write(tmp_path / "pilot.tsv", PARTS[1])
    assert set(read(tmp_path).learners) == {"pilot", "sub-1_task-x_events"}


def test_behaviour_comes_before_events(tmp_path: Path) -> None:
    write(tmp_path / "sub-1/beh/sub-1_task-x_beh.tsv", PARTS[0])
    write(tmp_path / "sub-1/func/sub-1_task-x_events.tsv", PARTS[0])
    study = read(tmp_path)
    assert study.counts["rows read"] == 9
    assert "which were read, and 1 _events.tsv files" in study.notes[0]


def test_sidecars(tmp_path: Path) -> None:
    write(tmp_path / "sub-1/func/sub-1_task-x_events.tsv", PARTS[0])
    above = {"choice": {"LongName": "key", "Levels": {"l": "left"}}, "reward": {"Units": "€"}}
    (tmp_path / "task-x_events.json").write_text(json.dumps(above))
    (tmp_path / "task-y_events.json").write_text('{"stimulus": {"LongName": "of another"}}')
    own = tmp_path / "sub-1/func/sub-1_task-x_events.json"
    own.write_text('{"choice": {"LongName": "own"}, "StimulusPresentation": "text"}')
    [table] = open_tables(tmp_path)[0]
    assert table.about == {"choice": {"LongName": "own"}, "reward": {"Units": "€"}}
    own.write_text("{broken")
    [table] = open_tables(tmp_path)[0]
    assert table.about == above


def test_a_role_that_one_file_lacks(tmp_path: Path) -> None:
    write(tmp_path / "sub-1_task-x_events.tsv", PARTS[0])
    write(tmp_path / "sub-2_task-x_events.tsv", PARTS[1].drop("choice"))
    with pytest.raises(DataError, match=r"sub-2_.*tsv, row 1, column choice: found no"):
        read(tmp_path)


def test_nearly_bids(tmp_path: Path) -> None:
    for i, part in enumerate(PARTS, start=1):
        write(tmp_path / f"sub_{i}" / f"sub_{i}_task-x_events.tsv", part)
        about = {"reward": {"Description": f"points of {i}"}}
        (tmp_path / f"sub_{i}" / f"sub_{i}_task-x_events.json").write_text(json.dumps(about))
    (tmp_path / "dataset_description.json").write_text('{"Name": "x"}')
    (tmp_path / "participants.json").write_text('{"age": {"Description": "years"}}')
    study = read(tmp_path)
    assert_same(study)
    assert "files are called sub_1_task-x_events.tsv, where BIDS has sub-" in study.notes[0]
    assert study.notes[1].endswith("has a participants.json without a participants.tsv next to it")
    tables, _, _ = open_tables(tmp_path)
    assert [table.about["reward"]["Description"][-1] for table in tables] == ["1", "2", "3"]


def test_thousands_of_participants_take_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "sub-01" / "beh" / "sub-01_task-x_beh.tsv", PARTS[0])
    rows = "".join(f"sub-{i:02}\t{i}\n" for i in range(2000))
    (tmp_path / "participants.tsv").write_text(f"participant_id\tage\n{rows}")
    known, times = folders._plays_a_role, []
    monkeypatch.setattr(folders, "_plays_a_role", lambda name: times.append(1) or known(name))
    assert "age" in open_tables(tmp_path)[0][0].columns
    assert len(times) == 2  # once for each column
