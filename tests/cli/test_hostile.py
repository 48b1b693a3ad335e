"""Names that bite, through the commands: they come back exactly, and nothing obeys them."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import polars as pl
import pytest

from hostile_names import (
    ACTIONS,
    BY,
    CONTEXTS,
    FEATURE,
    FORMULAS,
    KEEP,
    MARKUP,
    MODELS,
    NAMES,
    STEERING,
    hostile_task,
)
from howlearn.runs.folder import read_table
from running import Ran, Run

STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
RUNS = re.compile(r"[=+\-@\t\r\n＝]")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@pytest.fixture(autouse=True)
def no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take most of the time, and are looked at in tests/report."""
    monkeypatch.setattr("howlearn.report.charts.available", lambda *_: False)


def _study(path: Path, learners: tuple[str, ...]) -> None:
    rows = [
        (learner, t + 1, CONTEXTS[t % 4], ACTIONS[(i + t * t) % 3], t % 2, STEERING[i % 3],
         FORMULAS[t // 12], MARKUP[t % 2])
        for i, learner in enumerate(learners)
        for t in range(24)
    ]  # fmt: skip
    columns = ["learner", "trial", "context", "action", "reward", KEEP, BY, FEATURE]
    pl.DataFrame(rows, columns, orient="row").write_csv(path)


def _harmless(ran: Ran, status: int = 0) -> Ran:
    assert ran.status == status, ran.err
    assert not STEERS.search(ran.out + ran.err), (ran.out, ran.err)
    return ran


def _check_tables(folder: Path) -> None:
    csv.field_size_limit(10**7)
    for file in folder.rglob("*.csv"):
        with file.open(encoding="utf-8", newline="") as opened:
            cells = {cell for row in csv.reader(opened) for cell in row}
        running = {c for c in cells if RUNS.match(c) and not NUMBER.fullmatch(c)} - {"-inf"}
        assert not running, file
    for file in folder.rglob("*.txt"):
        assert not STEERS.search(file.read_text("utf-8"))


def test_every_command_that_takes_data(run: Run) -> None:
    _study(Path("t.csv"), NAMES)
    data = ("t.csv", "--keep", KEEP, "--by", BY, "--features", FEATURE)
    _harmless(run("inspect", *data, "-o", "howlearn.toml"))
    aic = ("--criterion", "aic", "--criterion", "evidence")
    latents = ("--predictions", "--latents")
    _harmless(run("select", "t.csv", "--study", "howlearn.toml", *aic, *latents, "--out", "r"))
    _harmless(run("select", *data, *aic, *latents, "--format", "parquet", "--out", "p"))
    for name in ("learners", "scores", "selection", "estimates", "predictions"):
        exact, found = read_table(Path("p"), name), read_table(Path("r"), name)
        assert found.columns == exact.columns, name
        for column in ("learner", KEEP, BY):
            assert found[column].to_list() == exact[column].to_list(), (name, column)
    assert {*read_table(Path("r"), "learners")["learner"]} == {*NAMES}
    _harmless(run("compare", "r", "--within", BY, "--permutations", 20, "--resamples", 20))
    _harmless(run("freeze", "--keep", KEEP, "--exclude", f"first(`{KEEP}`) == 'x'", "-o", "f.toml"))
    roles = ("--context", "context", "--action", "action", "--reward", "reward")
    _harmless(run("discover", *data[:3], *roles, "--out", "d"))
    _check_tables(Path("r"))
    _check_tables(Path("d"))
    made = {path.name for path in Path().iterdir()}
    assert made == {"t.csv", "howlearn.toml", "r", "p", "d", "f.toml"}


def test_tasks_and_their_models(run: Run) -> None:
    Path("t.toml").write_text(hostile_task(), encoding="utf-8")
    task = ("--task", "t.toml")
    shown = _harmless(run("models", *task))
    assert "[/]" in shown.out
    few = ("--learners", 3, "--trials", 16)
    _harmless(run("simulate", *task, "--model", "=1+1", *few, "-o", "s.csv"))
    _harmless(run("select", "s.csv", *task, "--criterion", "aic", "--out", "r"))
    assert {*read_table(Path("r"), "scores")["model"]} == {*MODELS}
    _harmless(run("simulate", "--like", "r", "--model", "007", "-o", "again.csv"))
    _harmless(run("recover", *task, *few, "--criterion", "aic", "--out", "v"))
    _check_tables(Path("r"))
    _check_tables(Path("v"))
    # What is simulated is data, for programs: names are exact there.
    assert {*pl.read_csv("s.csv")["context"]} == {*CONTEXTS}


def test_names_of_columns_files_and_folders(run: Run) -> None:
    columns = ("=c", STEERING[2], "two\nlines", "x" * 10_000, "*", "'=c")
    for i, name in enumerate(columns):
        rows = [("1", t, "xy"[t % 2], "ab"[t % 3 == 0], t % 2) for t in range(8)]
        frame = pl.DataFrame(rows, ["learner", "trial", name, "action", "reward"], orient="row")
        file = f"{('[x]', '=x', STEERING[2], STEERING[0], '-x', 'CON')[i % 6]}{i}.csv"
        frame.write_csv(file)
        out = f"[r]{i}"
        words = (
            "--context",
            name,
            "--criterion",
            "aic",
            "--predictions",
            "--latents",
            "--out",
            out,
        )
        _harmless(run("select", f"./{file}", *words))
        assert name in read_table(Path(out), "predictions").columns
        _check_tables(Path(out))
    bytes_only = "no text \udcff.csv"
    assert "rename it" in _harmless(run("select", bytes_only), 2).err
    assert "no such file" in _harmless(run("select", f"{STEERING[0]}.csv"), 2).err
    long = f"sub-{'1' * 225}_task-a_events.tsv"
    table = "onset\tduration\tlearner\taction\treward\n" + "0\t1\t1\ta\t1\n1\t1\t1\tb\t0\n" * 4
    Path(long).write_text(table)
    words = ("--context", "none", "--criterion", "aic", "--predictions", "--latents", "--out", "e")
    assert "rename it" in _harmless(run("select", long, *words), 2).err


@pytest.mark.parametrize("name", ["x\ud800", "nul\0"])
def test_what_no_file_can_hold(run: Run, name: str) -> None:
    """Frames may hold a NUL; halves of characters are refused by the frames themselves."""
    learners = [name] * 8
    columns = {"learner": learners, "action": ["a", "b"] * 4, "reward": [0, 1] * 4}
    try:
        pl.DataFrame(columns).write_parquet("t.parquet")
    except UnicodeEncodeError:
        return
    words = ("--context", "none", "--criterion", "aic", "--out", "r")
    _harmless(run("select", "t.parquet", *words))
    assert read_table(Path("r"), "learners")["learner"].to_list() == [name]
