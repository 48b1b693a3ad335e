"""What every command prints fits one screen of 25 lines and 80 columns, and says what comes next.

Commands and paths may be longer than a line: they are to be copied. They count as the lines that
they take.
"""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
import typer

from howlearn.cli import show
from howlearn.cli.app import app
from running import Run

LINES, WIDTH = 25, 80
UNBROKEN = (
    "Which model of learning ",
    "Next: ",
    "Tables",
    "More: ",
    "2. howlearn",
    "4. howlearn",
    "howlearn: ",
    "Options ",
)
TASK = ("--task", "five-four")

# By command, what is run; {many} are twenty-one models, {long} are names of forty letters.
COMMANDS: dict[str, list[str]] = {
    "inspect": ["inspect grouped.csv --yes", "inspect long.csv --yes", "inspect wide.csv --yes"],
    "select": [
        "select grouped.csv --task five-four --keep group --out results",
        "select halves.csv --task five-four --by half --criterion aic --out halves",
        "select long.csv --add-model q-learning --add-model q-start --criterion bic --out long",
        "select halves.csv --task five-four --by block --criterion aic --out blocks",
    ],
    "report": ["report results -o page.html"],
    "check": ["check results", "check halves"],
    "completeness": ["completeness results"],
    "discover": [
        "discover grouped.csv --task five-four --out found",
        "discover halves.csv --task five-four --by block --out found2",
        "discover long.csv --criterion ewens --criterion bic --criterion aic --out found3",
    ],
    "mechanisms": ["mechanisms grouped.csv --keep group --out mechanisms"],
    "compare": [
        "compare results --group group",
        "compare halves --within half",
        "compare mechanisms --group group",
    ],
    "path": ["path grouped.csv --task five-four --max-rates 1,2 --out path"],
    "calibrate": ["calibrate --task shepard-2 --learners 2 --trials 30 --out calibration"],
    "recover": ["recover --task shepard-2 --learners 2 --trials 30 --out recovery"],
    "plan": ["plan --task five-four --learners 20 --simulated 4 --trials 30,60 --out plan"],
    "freeze": ["freeze --task five-four --out plan.toml"],
    "simulate": ["simulate --task five-four --learners 2 --trials 20 --out new.csv"],
    "models": ["models", "models --task five-four", "models --task shepard-6"],
    "merge": ["merge shards"],
    "demo": ["demo --learners 1 --out demo"],
    "theory": ["theory", "theory --rule exp3-ix --sizes 1,2,2,4,4,9", "theory --rule exp4 --R 1"],
    "verify": ["verify --trials 30,60 --learners 2 --out verification"],
    "reproduce": [],  # takes a minute: in test_reproduce
}


def lines_of(text: str) -> int:
    return sum(max(1, math.ceil(len(line) / WIDTH)) for line in text.splitlines())


def test_every_command_is_listed() -> None:
    commands = typer.main.get_command(app).commands  # pyright: ignore[reportAttributeAccessIssue]
    assert {*COMMANDS} == {*commands}


@pytest.fixture
def folder(run: Run) -> None:
    """Two groups of six learners, in one file; conditions; long names; many columns."""
    words = "simulate --task five-four --trials 72 --learners 6 --set eta=0.1"
    frames = []
    for k, (group, model) in enumerate((("young", "ByShape"), ("old", "OnePerItem"))):
        assert run(*words.split(), "--model", model, "--seed", k, "--out", f"{k}.csv").status == 0
        frame = pl.read_csv(f"{k}.csv")
        frames.append(frame.with_columns(pl.col("learner") + 100 * k, group=pl.lit(group)))
    grouped = pl.concat(frames)
    grouped.write_csv("grouped.csv")
    trial = pl.col("trial")
    halves = grouped.filter(pl.col("learner") < 100).with_columns(
        half=pl.when(trial <= 36).then(pl.lit("the first half of the session")).otherwise(
            pl.lit("the second half of the session")
        ),
        block=(trial - 1) // 9,
    )  # fmt: skip
    halves.write_csv("halves.csv")
    long = pl.lit("a stimulus with a name of many letters, ") + pl.col("context").cast(pl.String)
    frames[0].with_columns(context=long).write_csv("long.csv")
    more = {f"questionnaire_item_{k:02}": (trial * (k + 3)) % (k + 2) for k in range(40)}
    grouped.with_columns(**more).write_csv("wide.csv")


def test_what_is_printed_fits_one_screen(
    run: Run, folder: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for console in (show.console, show.aside):
        monkeypatch.setattr(console, "_width", WIDTH)
    for part in (1, 2):
        words = ("select", "grouped.csv", *TASK, "--criterion", "aic", "--out", "shards")
        assert run(*words, "--shard", f"{part}/2").status == 0
    too_long = []
    for command in (one for several in COMMANDS.values() for one in several):
        Path("howlearn.toml").unlink(missing_ok=True)
        ran = run(*command.split())
        assert ran.status == 0, f"{command}: {ran.err}"
        wide = [
            line
            for line in ran.out.splitlines()
            if len(line.rstrip()) > WIDTH and not line.startswith(UNBROKEN)
        ]
        if lines_of(ran.out) > LINES or wide:
            too_long.append(f"{command}: {lines_of(ran.out)} lines, too wide: {wide}\n{ran.out}")
        if not command.startswith("simulate"):
            assert "Next: " in ran.out or command.startswith("compare mech"), command
    assert not too_long, "\n".join(too_long)


def test_what_has_no_room_is_in_a_file(
    run: Run, folder: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show.console, "_width", WIDTH)
    words = ("--criterion", "ewens", "--criterion", "bic", "--out", "found")
    ran = run("discover", "long.csv", *words)
    assert ran.status == 0
    assert "More: found/summary.txt" in ran.out
    text = Path("found/summary.txt").read_text("utf-8")
    assert "No single partition is certain." in text
    assert text.count("a stimulus with a name of many letters, 15") >= 1
    monkeypatch.setattr(show.console, "_width", 400)
    assert run("discover", "long.csv", *words).status == 0  # all fits: the file goes
    assert not Path("found/summary.txt").exists()
