"""``--help``, ``models``, ``simulate`` and ``demo``."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from howlearn.cli.app import COMMANDS
from howlearn.cli.build import Command
from running import Run


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["select", "--help"],
        ["discover", "--help"],
        ["path", "--help"],
        ["simulate", "-h"],
    ],
)
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys, atexit\n"
        "heavy = {'numba', 'polars', 'numpy', 'pandas'}\n"
        "atexit.register(lambda: print('loaded:', sorted(heavy & set(sys.modules))))\n"
        f"sys.argv = ['howlearn', *{words!r}]\n"
        "from howlearn.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert "loaded: []" in done.stdout
    assert "Usage: howlearn" in done.stdout


@pytest.mark.parametrize("command", [each for some in COMMANDS.values() for each in some])
def test_help_shows_few_options_and_help_all_shows_all(run: Run, command: Command) -> None:
    words = [each.word for each in command.options if not each.is_argument]
    short, whole = (run(command.__name__, flag).out for flag in ("--help", "--help-all"))
    shown = [word for word in words if re.search(rf"│ .*{word}\b(?!-)", short)]
    assert len(re.findall(r"^│ +\*? *--", short, re.M)) <= 15
    assert [word for word in words if word not in whole] == []
    assert len(words) <= 15 or f"howlearn {command.__name__} --help-all" in short
    assert len(shown) > 2
    assert not re.search(r"--[\w-]+…", short + whole)  # a name that is cut off
    first = command.help.partition("\n")[0]
    assert " ".join(first.split()) in " ".join(run("--help").out.replace("│", " ").split())


def test_names_load_neither_the_compiler_nor_what_reads_task_files() -> None:
    code = (
        "import sys, howlearn as hl\n"
        "hl.read, hl.select, hl.Task\n"
        "print(sorted({'numba', 'scipy', 'pydantic', 'narwhals'} & set(sys.modules)))\n"
        "import numba\n"
        "import numpy as np\n"
        "own = hl.log_softmax\n"  # which functions of one's own may call, whoever compiles them
        "numba.njit(lambda x: own(x))(np.ones(2))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


def test_version_and_unknown_words(run: Run) -> None:
    assert run("--version").out.startswith("howlearn 0.")
    assert run("chose").status == 2


def test_models_lists_cells_in_the_order_of_set(run: Run) -> None:
    out = run("models", "--task", "five-four").out
    assert "ByPatternExc   4" in out
    assert "1+2+13  8+11+12+15  7  14" in out
    assert "shepard-6" in run("models").out


def test_simulate_takes_one_value_per_cell(run: Run) -> None:
    words = ("simulate", "--model", "OnePerItem", "--out", "a.csv", "--learners", 2, "--trials", 90)
    rates = ",".join(f"{0.003 + 0.007 * k:.3f}" for k in range(9))
    ran = run(*words, "--set", f"eta={rates}")
    assert ran.status == 0
    assert "Next: howlearn select a.csv --task five-four" in ran.out
    frame = pl.read_csv("a.csv")
    assert frame.columns == ["learner", "trial", "context", "action", "reward"]
    assert frame["context"].to_list()[:10] == [1, 2, 7, 8, 11, 12, 13, 14, 15, 1]
    assert frame.height == 180


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "eta=0.1,0.2"], "needs one value, or 9, one per cell (1, 2, 7"),
        (["--set", "theta=0.1"], "needs a value for eta; given: theta"),
        (["--set", "eta"], "write each parameter once, as eta=0.03"),
        (["--set", "eta=2"], "must lie between 0 and 1, got 2"),
        (["--set", "eta=nan"], "must lie between 0 and 1, got nan"),
        (["--model", "Nobody"], "has no model 'Nobody'"),
        (["--out", "a.xlsx"], "must end in .csv, .tsv, .parquet"),
        (["--out", "no/where.csv"], "there is no folder no"),
    ],
)
def test_simulate_says_what_is_wrong(run: Run, words: list[str], message: str) -> None:
    ran = run("simulate", "--model", "OnePerItem", "--out", "a.csv", *words)
    assert ran.status == 2
    assert message in ran.err.replace("\n", " ")
    assert list(Path().iterdir()) == []


def test_simulate_overwrites_only_when_asked(run: Run) -> None:
    Path("mine.csv").write_text("precious")
    ran = run("simulate", "--out", "mine.csv")
    assert ran.status == 2
    assert "--fresh" in ran.err
    assert Path("mine.csv").read_text() == "precious"
    assert run("simulate", "--out", "mine.csv", "--fresh").status == 0
    assert run("simulate", "--out", "mine.csv").status == 0  # the same content again


def test_demo_ends_in_results_and_files(run: Run) -> None:
    ran = run("demo", "--out", "demo", "--learners", 1)
    assert ran.status == 0
    assert Path("demo/report.html").exists()
    assert "Were the models found again?" in ran.out
    assert Path("demo/trials.csv").exists()
    assert pl.read_csv("demo/results/learners.csv").height == 6
