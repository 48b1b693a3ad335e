"""A report finds the data again, whatever they were read from."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from howlearn.results.inputs import recorded
from running import Run
from workbooks import write_xlsx


@pytest.fixture
def trials(run: Run) -> pl.DataFrame:
    words = "simulate --task shepard-1 --learners 3 --trials 40 --seed 1 --out t.csv"
    assert run(*words.split()).status == 0
    return pl.read_csv("t.csv", schema_overrides={"context": pl.String})


def one_each(frame: pl.DataFrame) -> dict[int, pl.DataFrame]:
    return {learner: own.drop("learner") for (learner,), own in frame.group_by("learner")}  # type: ignore[misc]


def workbook(frame: pl.DataFrame) -> str:
    sheets = {f"S{n}": [own.columns, *own.rows()] for n, own in sorted(one_each(frame).items())}
    write_xlsx(Path("many.xlsx"), sheets)
    return "many.xlsx"


def sheet(frame: pl.DataFrame) -> str:
    write_xlsx(Path("two.xlsx"), {"Info": [["x"], [1]], "Data": [frame.columns, *frame.rows()]})
    return "two.xlsx#Data"


def divided(frame: pl.DataFrame) -> str:
    for learner, own in one_each(frame).items():
        folder = Path(f"all/learner={learner}")
        folder.mkdir(parents=True)
        own.write_parquet(folder / "part.parquet")
    return "all"


def runs(frame: pl.DataFrame) -> str:
    """A BIDS data set: two runs of each learner, trial numbers restart, groups beside it."""
    Path("bids").mkdir()
    Path("bids/dataset_description.json").write_text('{"Name": "x", "BIDSVersion": "1.8.0"}')
    for learner, own in one_each(frame).items():
        folder = Path(f"bids/sub-0{learner}/beh")
        folder.mkdir(parents=True)
        for number in (1, 2):
            part = own.slice(20 * (number - 1), 20).with_columns(trial=pl.arange(1, 21))
            part.write_csv(folder / f"sub-0{learner}_task-x_run-{number}_beh.tsv", separator="\t")
    groups = "".join(f"sub-0{n}\t{'ab'[n % 2]}\n" for n in one_each(frame))
    Path("bids/participants.tsv").write_text(f"participant_id\tgroup\n{groups}")
    return "bids"


@pytest.mark.parametrize("write", [workbook, sheet, divided, runs])
def test_inspected_selected_and_found_again(run: Run, trials: pl.DataFrame, write) -> None:
    ran = run("inspect", write(trials), "--task", "shepard-1")
    assert ran.status == 0, ran.err
    ran = run("select", "--criterion", "aic")
    assert ran.status == 0, ran.err
    study = recorded(Path("results")).study
    assert len(study) == 3
    assert study.reward.tolist() == trials["reward"].to_list()


def test_groups_beside_a_data_set(run: Run, trials: pl.DataFrame) -> None:
    assert run("inspect", runs(trials), "--task", "shepard-1", "--keep", "group").status == 0
    assert 'trial = ["run", "trial"]' in Path("howlearn.toml").read_text(encoding="utf-8")
    assert run("select", "--criterion", "aic").status == 0
    learners = pl.read_csv("results/learners.csv", schema_overrides={"learner": pl.String})
    assert dict(learners.select("learner", "group").iter_rows()) == {
        "01": "b",
        "02": "a",
        "03": "b",
    }


def test_results_of_other_commands_and_versions(run: Run, trials: pl.DataFrame) -> None:
    assert run("select", "t.csv", "--task", "shepard-1", "--criterion", "aic").status == 0
    path = Path("results/manifest.json")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    old = {**manifest, "howlearn": "0.0.1"}
    old["options"] = {k: v for k, v in manifest["options"].items() if k not in ("rt", "exclude")}
    for changed, said in (
        (old, "another version of howlearn (0.0.1; this is "),
        ({**manifest, "command": "plan"}, "holds the results of howlearn plan"),
        ([], "manifest.json is damaged"),
    ):
        path.write_text(json.dumps(changed), encoding="utf-8")
        ran = run("calibrate", "--like", "results", "--out", "calibration")
        assert ran.status == 2
        assert said in ran.err
        assert not Path("calibration").exists()
