"""Ctrl-C at any moment: one sentence that is true, and no traceback."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import howlearn.cli
from folders import content, leftovers, tables
from forked import FILES, Server
from howlearn.cli.app import COMMANDS

WORDS = "select trials.csv --criterion aic --workers 1 --out results".split()
GOES_ON = (
    "howlearn: interrupted; what is finished is kept, and the same command {} continues from there"
)
ALL_THERE = "howlearn: interrupted while results were shown; all files are complete"
# Ctrl-C at the n-th import of a command; it says how many there were.
IMPORTS = """
import signal, sys
seen = 0
def look(event, arguments):
    global seen
    if event == "import":
        seen += 1
        if seen == {at}:
            signal.raise_signal(signal.SIGINT)
from howlearn.cli import main
sys.addaudithook(look)
try:
    main()
finally:
    print("imports:", seen)
"""
# Ctrl-C where exceptions are dropped, or become others; in place of all commands.
ODD = """
import signal, sys, time
import howlearn.cli, howlearn.cli.app
class Dropping:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def app():
    {what}
    time.sleep(20)
howlearn.cli.app.app = app
sys.argv = ["howlearn", "select"]
howlearn.cli.main()
"""
# SIGTERM when the interpreter is taken down: before, while and after it forgets signal handlers.
LATE = """
import atexit, os, signal, sys
def stop():
    os.kill(os.getpid(), signal.SIGTERM)
class Late:
    __del__ = staticmethod(lambda stop=stop, kill=os.kill, me=os.getpid(): kill(me, 15))
{when}
import howlearn.cli, howlearn.cli.app
howlearn.cli.app.app = lambda: {ends}
sys.argv = ["howlearn", "select"]
howlearn.cli.main()
"""
# A signal where a command has written its files, and says what it found.
SHOWN = """
import signal, sys
import howlearn.cli.show, howlearn.cli.simulate
def stopped(*_):
    signal.raise_signal(signal.{signal})
howlearn.cli.show.{where} = stopped
howlearn.cli.main()
"""


def test_at_random_moments(server: Server, here: Path, trials: Path) -> None:
    count = server.events(*WORDS)
    calm = content()
    draw = random.Random(2)
    for n, moment in enumerate(draw.sample(range(1, count), 6)):
        fresh = ["--fresh"] * (n % 2)
        if not fresh:
            shutil.rmtree("results")
        ran = server.run(*WORDS, *fresh, fault=["interrupt", moment, FILES, "results"])
        assert ran.status == 130, f"{moment} of {count}: {ran.err}"
        lines = ran.err.splitlines()[:-1]
        assert lines[-1] == GOES_ON.format("without --fresh" if fresh else "started again")
        assert "Traceback" not in ran.err
        assert "Exception" not in ran.err
        assert {*leftovers()} <= {".lock"}
        assert tables(content()).items() <= calm.items()
    assert server.run(*WORDS).status == 0
    assert content() == calm
    assert leftovers() == []


def test_while_it_is_loaded(here: Path, trials: Path) -> None:
    """Three of the moments, spread over all imports; in processes that have loaded nothing."""

    def run(at: int) -> subprocess.CompletedProcess[str]:
        code = IMPORTS.format(at=at)
        return subprocess.run([sys.executable, "-c", code, *WORDS], capture_output=True, text=True)

    for at in (3, 150, 700):
        ran = run(at)
        assert ran.returncode == 130, ran.stderr
        assert ran.stderr.splitlines()[-1] == GOES_ON.format("started again")
        assert "Traceback" not in ran.stderr
    assert not Path("results").exists()


@pytest.mark.parametrize(
    "what",
    [
        "Dropping()",
        "exec('try: signal.raise_signal(signal.SIGINT)\\nexcept BaseException: 1 / 0')",
        "exec('try: signal.raise_signal(signal.SIGINT)\\nexcept BaseException: sys.exit(1)')",
    ],
    ids=["dropped", "another error", "an exit"],
)
def test_where_libraries_take_it_for_something_else(server: Server, here: Path, what: str) -> None:
    ran = server.run(code=ODD.format(what=what))
    assert ran.status == 130, ran.err
    assert ran.err.splitlines() == [GOES_ON.format("started again")]


def test_the_sentence_is_true_for_each_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands with a --fresh that concerns a folder go on; the others restart."""
    anew = {"inspect", "report", "compare", "check", "freeze", "simulate", "models", "theory"}
    names = {command.__name__ for commands in COMMANDS.values() for command in commands}
    assert names == anew | howlearn.cli.GOING_ON
    assert not anew & howlearn.cli.GOING_ON
    for name in names:
        monkeypatch.setattr(sys, "argv", ["howlearn", name])
        goes_on = "continues from there" in howlearn.cli._kept()
        assert goes_on == (name not in anew)


def test_a_command_that_starts_anew(server: Server, here: Path) -> None:
    words = "simulate --task five-four --learners 2 --trials 20 --out trials.csv".split()
    ran = server.run(*words, fault=["interrupt", 1, FILES, "trials.csv"])
    assert ran.status == 130
    assert "howlearn: interrupted; no file is incomplete\n" in ran.err
    assert not Path("trials.csv").exists()


@pytest.mark.parametrize("when", ["atexit.register(stop)", "sys.late = Late()"])
@pytest.mark.parametrize(("ends", "status"), [("None", 0), ("sys.exit(3)", 3)])
def test_a_signal_after_the_end_changes_no_status(when: str, ends: str, status: int) -> None:
    code = LATE.format(when=when, ends=ends)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (status, "", "")


@pytest.mark.parametrize(("signal", "status"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_the_status_says_whether_the_run_is_complete(
    signal: str, status: int, server: Server, here: Path, trials: Path
) -> None:
    """All tables are there when the summary begins; before, a run is not complete."""
    early = SHOWN.format(signal=signal, where="reading")
    ran = server.run(*WORDS, code=early)
    assert ran.status == status, ran.err
    assert ran.err.splitlines()[-1] == GOES_ON.format("started again")
    late = SHOWN.format(signal=signal, where="listing")
    ran = server.run(*WORDS, code=late)
    assert ran.status == 0, ran.err
    assert ran.err.splitlines()[-1] == ALL_THERE
    assert "The model that explains" not in ran.out
    left = content()
    assert server.run(*WORDS).status == 0
    assert content() == left


def test_a_step_of_a_demo_is_not_its_end(server: Server, here: Path) -> None:
    """The report is still to come when the selection has been shown."""
    code = SHOWN.format(signal="SIGTERM", where="show_recovery")
    ran = server.run("demo", "--learners", "1", "--out", "demo", code=code)
    assert ran.status == 143, ran.err
    assert Path("demo/results/selection.csv").exists()
