"""Compiled code is kept where nobody else can put any."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from howlearn.engine import compile as kernels

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    found = tmp_path / "cache"
    monkeypatch.setenv("HOWLEARN_CACHE", str(found))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return found


def _chosen() -> Path:
    return kernels._cache_folder.__wrapped__()


def test_a_new_folder_is_the_users_alone(folder: Path) -> None:
    assert _chosen() == folder
    assert folder.stat().st_mode & 0o777 == 0o700


def test_an_open_folder_is_closed(folder: Path) -> None:
    for each in (folder, folder / "__pycache__"):
        each.mkdir()
        each.chmod(0o777)
    assert _chosen() == folder
    assert folder.stat().st_mode & 0o022 == 0
    assert (folder / "__pycache__").stat().st_mode & 0o022 == 0


def test_a_folder_of_others_or_of_results_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir(mode=0o777)
    (folder / "manifest.json").write_text("{}")
    other = _chosen()
    assert other != folder
    assert other.stat().st_mode & 0o777 == 0o700
    (folder / "manifest.json").unlink()
    monkeypatch.setattr("os.getuid", lambda: folder.stat().st_uid + 1)
    if folder.stat().st_uid != 0:  # what belongs to root is trusted
        assert _chosen() != folder


def test_altered_sources_are_written_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(kernels, "_cache_folder", lambda: folder)
    assert kernels._load("tried", "found = 1\n", "*").found == 1
    (file,) = folder.glob("howlearn_tried_*.py")
    file.write_text("found = 2\n")
    assert kernels._load("tried", "found = 1\n", "*").found == 1
    assert file.read_text() == "found = 1\n"
