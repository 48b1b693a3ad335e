"""What the tests of runs share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from forked import Server
from studies import random_trials


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Started once for all tests."""
    if not hasattr(os, "fork"):
        pytest.skip("needs a system that forks")
    server = Server()
    yield server
    server.process.communicate()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def trials(here: Path) -> Path:
    """Seven learners, four contexts, three actions, names that need care."""
    rows = ["learner,context,action,reward"]
    for learner in range(7):
        for n, trial in enumerate(random_trials(learner, 24, "wxyz", n_actions=3)):
            name = f'"<b>{learner}, ""x"""' if learner else "../1"
            rows.append(f"{name},{trial.context},{'abc'[trial.action]},{(trial.reward + n) % 2}")
    path = here / "trials.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
