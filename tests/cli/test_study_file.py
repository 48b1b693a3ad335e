"""``howlearn.toml``: options that a file holds, for all commands."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import polars as pl
import pytest

import howlearn as hl
from howlearn.reading.project_file import read_study_file, write_study_file
from running import Run

AWKWARD = 'a "quoted" \\ name [of] two\tparts \u202e'


@pytest.fixture
def trials(run: Run) -> pl.DataFrame:
    """Two learners whose columns nobody could guess, and rows that are practice."""
    frame = pl.DataFrame(
        {
            "wer": [1] * 40 + [2] * 40,
            AWKWARD: ["x", "y"] * 40,
            "was": [*"ABBA"] * 20,
            "punkte": [1, -1, -1, 1] * 20,
            "teil": (["übung"] * 8 + ["test"] * 32) * 2,
        }
    )
    frame.write_csv("trials.csv")
    return frame


def described(path: str = "howlearn.toml", files: tuple[str, ...] = ("trials.csv",)) -> None:
    data = {
        "learner": "wer",
        "context": (AWKWARD,),
        "action": "was",
        "reward": "punkte",
        "recode": ("reward:-1=0,1=1",),
        "where": "teil != 'übung'",
        "min_trials": None,
        "by": (),
    }
    models = {"criterion": ("aic", "bic"), "rule": "gradient", "max_rate": 2.0}
    notes = {"": ["What was found."], "where": ["practice\ntrials"], "by": ["nothing to split"]}
    write_study_file(Path(path), files, data, models, notes)


def options(out: str = "results") -> dict[str, object]:
    return json.loads(Path(out, "manifest.json").read_text(encoding="utf-8"))["options"]


def test_what_is_written_is_read(run: Run, trials: pl.DataFrame) -> None:
    described()
    text = Path("howlearn.toml").read_text(encoding="utf-8")
    assert text.startswith("# What was found.\n")
    assert "# practice trials\nwhere = " in text
    assert "# nothing to split" in text
    assert "min_trials" not in text
    found = read_study_file(Path("howlearn.toml"))
    assert found.files == ("trials.csv",)
    assert found.data["context"] == (AWKWARD,)
    assert found.data["recode"] == ("reward:-1=0,1=1",)
    assert dict(found.models) == {"criterion": ("aic", "bic"), "rule": "gradient", "max_rate": 2.0}


def test_select_needs_no_options(run: Run, trials: pl.DataFrame) -> None:
    described()
    ran = run("select")
    assert ran.status == 0, ran.err
    assert "options from howlearn.toml" in ran.err
    found = options()
    assert found["learner"] == "wer"
    assert found["criteria"] == ["aic", "bic"]
    assert found["max_rate"] == 2.0
    manifest = json.loads(Path("results/manifest.json").read_text(encoding="utf-8"))
    assert 16 in manifest["rows"].values()
    study = hl.read("howlearn.toml")
    assert (len(study), len(study.context)) == (2, 64)
    assert hl.read("howlearn.toml", where="teil == 'test' and wer == 1").learners == ("1",)


def test_what_is_typed_wins(run: Run, trials: pl.DataFrame) -> None:
    described()
    ran = run("select", "--criterion", "bic", "--where", "wer == 1", "--max-rate", 1.0)
    assert ran.status == 0, ran.err
    assert options()["criteria"] == ["bic"]
    assert options()["max_rate"] == 1.0
    assert options()["where"] == "wer == 1"
    trials.filter(pl.col("wer") == 2).write_csv("other.csv")
    ran = run("select", "other.csv", "--study", "howlearn.toml", "--out", "other")
    assert ran.status == 0, ran.err
    assert options("other")["learner"] == "wer"
    ran = run("select", "howlearn.toml", "--out", "same")  # as one might type it
    assert ran.status == 0, ran.err


def test_a_file_elsewhere_names_what_lies_beside_it(run: Run, trials: pl.DataFrame) -> None:
    Path("study").mkdir()
    trials.write_csv("study/mine.csv")
    described("study/howlearn.toml", ("study/mine.csv",))
    assert 'files = ["mine.csv"]' in Path("study/howlearn.toml").read_text(encoding="utf-8")
    ran = run("select", "--study", "study/howlearn.toml")
    assert ran.status == 0, ran.err


def test_files_that_are_named_are_read_as_they_are(run: Run, trials: pl.DataFrame) -> None:
    described()
    ran = run("select", "trials.csv")
    assert ran.status == 2
    assert "howlearn.toml in this folder is not used" in ran.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("files = [", "not a TOML file"),
        ("fils = ['a']", "there is no 'fils' (did you mean files?)"),
        ("learner = 'a'", "there is no 'learner'; it stands under [data]"),
        ("[data]\nlerner = 'a'", "there is no 'lerner' in [data] (did you mean learner?)"),
        ("[data]\ntask = 'a'", "it stands under [models]"),
        ("[data]\nlearner = ['a']", "learner = ['a']: a text in quotes is needed"),
        ("[data]\nmin_trials = 2.5", "min_trials = 2.5: a whole number is needed"),
        ("[data]\nreward_range = [1]", "reward_range = [1]: two numbers such as [0, 5]"),
        ("[data]\ncontext = [true]", "context = [True]: a text, or a list"),
        ("[models]\none_rate = 1", "one_rate = 1: true or false is needed"),
        ("files = ['trials.csv']\n[models]\nrule = 'x'", "rule = 'x': one of gradient, exp3"),
        ("data = 3", "data must be a separate section that begins with [data]"),
        ("[data]\nlearner = 'wer'", "names no files"),
        ("", "names no files"),
    ],
)
def test_a_mistake_is_named(run: Run, trials: pl.DataFrame, text: str, said: str) -> None:
    Path("howlearn.toml").write_text(text, encoding="utf-8")
    ran = run("select")
    assert ran.status == 2
    assert said in ran.err
    assert not Path("results").exists()


def test_without_any_file(run: Run) -> None:
    for command in ("select", "discover", "path"):
        ran = run(command)
        assert ran.status == 2
        assert f"type howlearn {command} FILES, or first howlearn inspect FILES" in ran.err


def test_other_commands_take_the_task(run: Run) -> None:
    write_study_file(Path("howlearn.toml"), ["x.csv"], {}, {"task": "shepard-2", "model": ["X"]})
    assert tomllib.loads(Path("howlearn.toml").read_text(encoding="utf-8"))["files"] == ["x.csv"]
    ran = run("models", "--study", "howlearn.toml")
    assert ran.status == 0
    assert "Models of shepard-2" in ran.out
    assert run("simulate", "--study", "howlearn.toml", "--out", "t.csv").status == 0
    assert hl.read("t.csv", task="shepard-2").contexts == hl.Task.load("shepard-2").contexts


def test_what_was_said_is_kept_until_it_is_said_otherwise(run: Run, trials: pl.DataFrame) -> None:
    roles = ["--learner", "wer", "--action", "was", "--reward", "punkte"]
    assert run("inspect", "trials.csv", *roles, "--where", "teil == 'test'").status == 0
    assert read_study_file(Path("howlearn.toml")).data["where"] == "teil == 'test'"
    ran = run("inspect", "trials.csv", "--context", "none")
    assert ran.status == 0, ran.err
    assert "kept from howlearn.toml, because you gave them before" in ran.err
    found = read_study_file(Path("howlearn.toml")).data
    assert (found["where"], found["context"], found["learner"]) == (
        "teil == 'test'",
        ("none",),
        "wer",
    )
    assert run("inspect", "trials.csv", *roles, "--fresh").status == 0
    assert read_study_file(Path("howlearn.toml")).data["where"] == "teil != 'übung'"  # as guessed
    Path("howlearn.toml").write_text(Path("howlearn.toml").read_text("utf-8") + "\n", "utf-8")
    Path("howlearn.toml").write_text("# mine\n" + Path("howlearn.toml").read_text("utf-8"), "utf-8")
    assert run("inspect", "trials.csv", *roles).status == 2  # what a person wrote is not replaced
