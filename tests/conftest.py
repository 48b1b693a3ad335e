"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from howlearn.models.task import Task

# The same examples in every run, and no clock: a slow machine is not a failure.
settings.register_profile("howlearn", derandomize=True, deadline=None)
settings.load_profile("howlearn")

# Imported by the tests that register them, and by nothing else.
collect_ignore = ["toys"]
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Data that are not the project's own, found beside it where they are at hand."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"needs the data of other projects in {SHARED_DATA}, which is not there")
    return SHARED_DATA


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load a task from its text; the file is called my.toml in messages."""
    monkeypatch.chdir(tmp_path)

    def load(text):
        (tmp_path / "my.toml").write_text(text, encoding="utf-8")
        return Task.load("my.toml")

    return load
