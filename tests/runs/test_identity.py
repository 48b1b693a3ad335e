"""What makes a run another run: what the learners saw, did and earned, and how they are judged."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import howlearn as hl
from folders import content, stamps
from howlearn.core.errors import HowlearnError
from howlearn.results.inputs import recorded
from howlearn.runs.folder import RunFolder

OTHER = "holds the results of another run"
COLUMNS = ("context", "action", "reward")


@pytest.fixture(scope="module")
def study() -> hl.Study:
    return hl.simulate("shepard-1", "ByFeature1", {"eta": 0.2}, learners=3, trials=40, seed=1)


def corrected(study: hl.Study, column: str) -> hl.Study:
    """The same study, but for one trial of the second learner."""
    values = getattr(study, column).copy()
    values[50] = 1 - values[50] if values[50] in (0, 1) else 0
    assert (values != getattr(study, column)).sum() == 1
    return replace(study, **{column: values})


def run(folder: Path, study: hl.Study, fresh: bool = False) -> pl.DataFrame:
    models = hl.Task.load("shepard-1").models
    return hl.select(study, models, ["aic", "bic"], folder=folder, fresh=fresh).scores


@pytest.mark.parametrize("column", COLUMNS)
def test_a_study_with_one_trial_corrected_is_another_run(
    column: str, study: hl.Study, tmp_path: Path
) -> None:
    before = run(tmp_path / "results", study)
    other = corrected(study, column)
    with pytest.raises(HowlearnError, match=OTHER):
        run(tmp_path / "results", other)
    after = run(tmp_path / "results", other, fresh=True)
    assert after.equals(run(tmp_path / "new", other))
    changed = before["score"] != after["score"]
    assert set(before.filter(changed)["learner"]) == {"2"}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("command", ["select", "discover", "path"])
def test_a_file_with_one_trial_corrected_is_another_run(
    command: str, column: str, study: hl.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from howlearn.cli.app import app

    monkeypatch.chdir(tmp_path)
    words = [command, "trials.csv", "--out", "results"]
    words += ["--criterion", "aic"] if command != "path" else ["--max-rates", "1"]
    study.frame().write_csv("trials.csv")
    app(words, standalone_mode=False)
    app(words, standalone_mode=False)  # the same run again
    corrected(study, column).frame().write_csv("trials.csv")
    with pytest.raises(HowlearnError, match=OTHER):
        app(words, standalone_mode=False)


def test_parts_of_other_trials_are_not_taken_up(
    study: hl.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was stopped, its rewards corrected, and restarted."""
    monkeypatch.setattr(RunFolder, "assemble", _stopped)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "results", study)
    monkeypatch.undo()
    assert any((tmp_path / "results/parts").iterdir())
    other = corrected(study, "reward")
    with pytest.raises(HowlearnError, match=OTHER):
        run(tmp_path / "results", other)
    after = run(tmp_path / "results", other, fresh=True)
    assert after.equals(run(tmp_path / "new", other))


def _stopped(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("command", ["select", "discover", "path"])
def test_a_task_file_that_reads_the_actions_otherwise_is_another_run(
    command: str, study: hl.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of the trials is the same, and so are options and models."""
    from howlearn.cli.app import app

    monkeypatch.chdir(tmp_path)
    text = files("howlearn").joinpath("tasks", "shepard-1.toml").read_text()
    Path("task.toml").write_text(text)
    frame = study.frame().with_columns(pl.col("action").replace({"A": "1", "B": "2"}))
    frame.write_csv("trials.csv")
    words = [command, "trials.csv", "--task", "task.toml", "--out", "results"]
    words += ["--criterion", "aic"] if command != "path" else ["--max-rates", "1"]
    app(words, standalone_mode=False)
    aliases = '1 = "A"\n2 = "B"', '1 = "B"\n2 = "A"'
    assert aliases[0] in text
    Path("task.toml").write_text(text.replace(*aliases))
    with pytest.raises(HowlearnError, match=OTHER):
        app(words, standalone_mode=False)
    if command == "select":
        with pytest.raises(HowlearnError, match=r"the task file, or .*, has changed since"):
            recorded(Path("results"))


@pytest.mark.parametrize("out", ["data/results", "data/one/results"])
def test_results_inside_the_folder_of_the_data_are_gone_on_with(
    out: str, study: hl.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results of a run are no data that were not read, and nothing of its identity."""
    from howlearn.cli.app import app

    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    study.frame().write_csv("data/trials.csv")
    words = ["select", "data", "--criterion", "aic", "--out", out]
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "assemble", _stopped)
        app(words, standalone_mode=False)  # which makes a status of Ctrl-C
    parts = stamps(out)
    assert parts
    assert not Path(out, "selection.csv").exists()
    app(words, standalone_mode=False)
    first = content(out)
    app(words, standalone_mode=False)
    assert content(out) == first
    assert stamps(out) == parts
    assert not any("not read" in note for note in recorded(Path(out)).study.notes)


def test_what_is_only_told_makes_no_other_run(
    study: hl.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder beside the data that is not read gives a note; the data are the same."""
    from howlearn.cli.app import app

    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    study.frame().write_csv("data/trials.csv")
    words = ["select", "data", "--criterion", "aic", "--out", "results"]
    app(words, standalone_mode=False)
    parts = stamps()
    Path("data/old").mkdir()
    study.frame().write_csv("data/old/trials.csv")
    app(words, standalone_mode=False)
    assert stamps() == parts
    told = json.loads(Path("results/manifest.json").read_text())["notes"]
    assert any("data files that were not read: old" in note for note in told)


@pytest.mark.parametrize("command", ["select", "discover", "path"])
@pytest.mark.parametrize("how", ["replaced", "grown", "removed"])
def test_a_file_that_changes_while_it_is_read_is_no_input(
    command: str, how: str, study: hl.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hash would be of other trials than those that the tables are about."""
    from howlearn.cli.app import app
    from howlearn.reading.read import read

    def changed(*given: Any, **options: Any) -> hl.Study:
        found = read(*given, **options)
        if how == "grown":
            with Path("trials.csv").open("a") as file:
                file.write("\n")
        elif how == "removed":
            Path("trials.csv").unlink()
        else:
            corrected(study, "reward").frame().write_csv("other.csv")
            Path("other.csv").replace("trials.csv")
        return found

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("howlearn.results.inputs.read", changed)
    study.frame().write_csv("trials.csv")
    words = [command, "trials.csv", "--out", "results"]
    with pytest.raises(HowlearnError, match=r"trials\.csv has changed since it was read"):
        app(words, standalone_mode=False)
    assert not Path("results").exists()


def test_latents_stand_beside_the_rows_that_were_read(
    study: hl.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from howlearn.cli.app import app
    from howlearn.results import select_into

    def changed(*given: Any) -> Any:
        corrected(study, "reward").frame().write_csv("trials.csv")  # as many rows as before
        return originals(*given)

    originals = select_into.originals
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(select_into, "originals", changed)
    study.frame().write_csv("trials.csv")
    words = "select trials.csv --criterion aic --predictions --latents --out results".split()
    with pytest.raises(HowlearnError, match="has changed since it was read"):
        app(words, standalone_mode=False)
    assert not Path("results/predictions.csv").exists()
