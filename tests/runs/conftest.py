"""What the tests of runs share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from forked import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Started once for all tests."""
    if not hasattr(os, "fork"):
        pytest.skip("needs a system that forks")
    server = Server()
    yield server
    assert server.process.stdin is not None
    server.process.stdin.close()
    server.process.wait()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path
