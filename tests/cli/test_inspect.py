"""From an unknown file to a result in two commands."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl
import pytest

from howlearn.reading.read import read
from made import MADE, restarting
from running import Run


def test_two_commands(run: Run) -> None:
    restarting().write_csv("data.csv")
    ran = run("inspect", "data.csv")
    assert ran.status == 0, ran.err
    assert ran.out.rstrip().splitlines()[-1].startswith("Next: howlearn select ")
    for told in ("person", "block,trial", "2 learners, 120 trials", "f, j"):
        assert told in ran.out
    text = Path("howlearn.toml").read_text()
    found = tomllib.loads(text)
    assert found["files"] == ["data.csv"]
    assert found["data"]["trial"] == ["block", "trial"]
    assert found["data"]["reward_scale"] == [2.0, 10.0]
    lines = text.splitlines()
    options = lines[lines.index("[data]") + 1 : lines.index("[models]") - 1]
    assert all(above.startswith("# guessed") for above in options[::2])  # each with its reason
    selected = run("select", "--criterion", "aic")
    assert selected.status == 0, selected.err
    assert "120 trials" in selected.err
    manifest = Path("results/manifest.json").read_text()
    assert "recoded reward by --reward-scale 2,10" in manifest


def test_every_made_file_can_be_read_from_its_options(run: Run) -> None:
    for name, made in MADE.items():
        made().write_csv(f"{name}.csv")
        ran = run("inspect", f"{name}.csv", "-o", f"{name}.toml")
        assert ran.status == 0, (name, ran.err)
        assert f"howlearn select --study {name}.toml" in ran.out
        found = tomllib.loads(Path(f"{name}.toml").read_text())
        assert len(read(found["files"], **found["data"]).context) > 0


def test_options_correct_guesses(run: Run) -> None:
    restarting().with_columns(pl.col("choice").alias("key")).write_csv("data.csv")
    corrections = ["--action", "key", "--reward", "points > 5", "--reset-by", "block"]
    ran = run("inspect", "data.csv", *corrections, "--recode", "action:f=left,j=right")
    assert ran.status == 0, ran.err
    assert "you said so" in ran.out
    assert "left, right" in ran.out
    data = tomllib.loads(Path("howlearn.toml").read_text())["data"]
    assert data["action"] == "key"
    assert data["reward"] == "points > 5"
    assert data["recode"] == ["action:f=left,j=right"]
    assert "reward_scale" not in data


def test_a_file_that_is_there_is_kept(run: Run) -> None:
    restarting().write_csv("data.csv")
    Path("howlearn.toml").write_text("files = []")
    ran = run("inspect", "data.csv")
    assert ran.status == 2
    assert "--fresh" in ran.err
    assert Path("howlearn.toml").read_text() == "files = []"
    assert run("inspect", "data.csv", "--fresh").status == 0
    assert "person" in Path("howlearn.toml").read_text()


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("x,b\none,1.5\ntwo,2.5\nsix,3.5\none,1.5\ntwo,2.5\n", [], "--action COL --reward COL"),
        ("a,b\none,1.5\n", ["--action", "c"], "--action c: there is no column c"),
        ("who,b\none,1.5\n", ["--learner", "who"], "data.csv --learner who --action COL"),
        ("", [], "an empty file"),
        ("choice,reward\n1,1\n2,0\n", ["--where", "x > 1"], "there is no column x"),
        ("choice,reward\n1,1\n2,0\n", ["--out", "a.txt"], "ends in .toml"),
        ("choice,reward\n1,1\n2,0\n", ["--out", "no/a.toml"], "there is no folder no"),
    ],
)
def test_what_cannot_be_used_writes_nothing(
    run: Run, text: str, words: list[str], said: str
) -> None:
    Path("data.csv").write_text(text)
    ran = run("inspect", "data.csv", *words)
    assert ran.status == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert [path.name for path in Path().iterdir()] == ["data.csv"]


def test_hostile_names(run: Run) -> None:
    names = {"person": "[red]who[/red]", "choice": "choice <script>", "cue": "cue [/]"}
    data = restarting().rename(names).with_columns(pl.lit("[bold]x\n").alias("[/dim]"))
    data.write_csv("data.csv")
    options = ["--learner", names["person"], "--action", names["choice"]]
    ran = run("inspect", "data.csv", *options)
    assert ran.status == 0, ran.err
    assert "[red]who[/red]" in ran.out
    assert "cue [/]" in ran.out
    assert tomllib.loads(Path("howlearn.toml").read_text())["data"]["context"] == ["cue [/]"]


def test_real_people(run: Run, shared_data: Path) -> None:
    ran = run("inspect", shared_data / "bids_reversal")
    assert ran.status == 0, ran.err
    words = ("select", shared_data / "bids_reversal", "--study", "howlearn.toml")
    assert run(*words, "--criterion", "aic").status == 0
