"""Run commands as a user would, in the same process so that compiled code is shared."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from howlearn.cli import main, show
from running import Ran, Run


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """``run("select", "trials.csv")`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for console in (show.console, show.aside):
        monkeypatch.setattr(console, "_width", 200)

    def command(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["howlearn", *map(str, words)])
        capsys.readouterr()
        status = 0
        try:
            main()
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return command


@pytest.fixture
def trials(run: Run) -> Path:
    """Ten learners who follow ByShape."""
    words = "simulate --task five-four --model ByShape --set eta=0.03 --learners 10 --trials 500"
    assert run(*words.split(), "--seed", 1, "--out", "trials.csv").status == 0
    return Path("trials.csv")
