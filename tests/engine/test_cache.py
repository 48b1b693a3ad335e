"""Compiled code is kept where nobody else can put any."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
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
    return kernels.cache_folder.__wrapped__()


def test_a_new_folder_is_the_users_alone(folder: Path) -> None:
    assert _chosen() == folder
    assert folder.stat().st_mode & 0o777 == 0o700


def test_an_open_folder_is_closed(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert _chosen() == folder
    assert folder.stat().st_mode & 0o777 == 0o700


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


STRANGER = 54321  # a user who is not this one
AS_ROOT = pytest.mark.skipif(
    getattr(os, "getuid", lambda: 1)() != 0, reason="only root can give files away"
)


def _filled(folder: Path) -> list[Path]:
    """Compiled code as a run leaves it, and a file that is none."""
    inner = folder / "__pycache__"
    inner.mkdir(parents=True)
    names = ("howlearn_search_0.py", "__pycache__/howlearn_search_0.locate-1.py311.nbi")
    files = [folder / name for name in names]
    for file in files:
        file.write_text("code")
        file.chmod(0o644)
    (folder / "notes.txt").write_text("somebody's")
    inner.chmod(0o755)
    folder.chmod(0o755)
    return files


def test_what_only_the_user_could_write_is_kept(folder: Path) -> None:
    files = _filled(folder)
    assert _chosen() == folder
    assert all(file.exists() for file in files)


OPENED = {
    "the folder": lambda folder: folder.chmod(0o777),
    "its group's": lambda folder: folder.chmod(0o775),
    "the inner folder": lambda folder: (folder / "__pycache__").chmod(0o777),
    "a file": lambda folder: next(folder.glob("*/*.nbi")).chmod(0o666),
    "a link": lambda folder: _linked(next(folder.glob("*/*.nbi"))),
    "a hard link": lambda folder: os.link(next(folder.glob("*/*.nbi")), folder.parent / "same"),
    "an inner link": lambda folder: _linked(folder / "__pycache__"),
    "another's file": lambda folder: os.chown(next(folder.glob("*/*.nbi")), STRANGER, 0),
    "another's source": lambda folder: os.chown(next(folder.glob("*.py")), STRANGER, 0),
    "another's inner folder": lambda folder: os.chown(folder / "__pycache__", STRANGER, 0),
}


def _linked(path: Path) -> None:
    elsewhere = path.parents[1] / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=[AS_ROOT] if "another's" in how else []) for how in OPENED]
)
def test_what_others_may_have_put_there_is_not_read(folder: Path, how: str) -> None:
    files = _filled(folder)
    OPENED[how](folder)
    assert _chosen() == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not any(os.path.lexists(file) for file in files)
    assert not (folder / "__pycache__").exists()
    assert (folder / "notes.txt").read_text() == "somebody's"


@pytest.mark.parametrize(
    "opened",
    [
        lambda above: above.chmod(0o777),
        pytest.param(lambda above: os.chown(above, STRANGER, 0), marks=AS_ROOT),
    ],
)
def test_a_folder_that_others_may_exchange_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, opened: Callable[[Path], None]
) -> None:
    above = folder / "above"
    above.mkdir(parents=True)
    for name in ("link", "plain"):
        monkeypatch.setenv("HOWLEARN_CACHE", str(above / name))
        above.chmod(0o755)
        os.chown(above, os.getuid(), -1)
        if name == "link":
            (folder / "target").mkdir(mode=0o700)
            (above / "link").symlink_to(folder / "target")
            assert _chosen() == folder / "target"
        else:
            assert _chosen() == above / "plain"
        opened(above)
        assert not _chosen().is_relative_to(folder)
    above.chmod(0o1777)  # as /tmp: everybody may write, and nobody rename what is another's
    os.chown(above, os.getuid(), -1)
    assert _chosen() == above / "plain"


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_only_absolute_paths_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    """Else a stranger's folder in which one works would be the one whose code is run."""
    home = folder.parent / "home"
    monkeypatch.chdir(folder.parent)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", str(home))
    usual = {"linux": ".cache", "darwin": "Library/Caches", "win32": ""}[platform]
    variable = {"linux": "XDG_CACHE_HOME", "win32": "LOCALAPPDATA"}.get(platform, "UNUSED")
    for chosen in ("", "relative", "./relative", "../relative"):
        monkeypatch.setenv("HOWLEARN_CACHE", chosen)
        for value in ("", ".", "relative"):
            monkeypatch.setenv(variable, value)
            assert _chosen() == home / usual / "howlearn"
    if platform != "darwin":
        monkeypatch.setenv(variable, str(folder))
        assert _chosen() == folder / "howlearn"
    monkeypatch.setenv(variable, "")
    monkeypatch.setenv("HOME", "relative")
    assert _chosen().name.startswith("howlearn-")
    assert not Path("relative").exists()


def test_numba_keeps_nothing_elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba import config

    elsewhere = folder.parent / "elsewhere"
    monkeypatch.setattr(config, "CACHE_DIR", str(elsewhere))
    chosen = _chosen()
    monkeypatch.setattr(kernels, "cache_folder", lambda: chosen)
    text = "from numba import njit\n@njit(cache=True)\ndef found():\n    return 1\n"
    assert kernels._load("tried", text, "*").found() == 1
    assert [*folder.glob("__pycache__/*.nbi")]
    assert not elsewhere.exists()
    assert str(elsewhere) == config.CACHE_DIR


def test_a_passing_folder_goes_with_its_process(tmp_path: Path) -> None:
    """Not with one that was forked from it."""
    (tmp_path / "file").write_text("")
    code = """
import os, sys
from howlearn.engine import compile
found = compile.cache_folder()
assert found.is_dir()
if hasattr(os, "fork"):
    if os.fork() == 0:
        sys.exit()
    os.wait()
    assert found.is_dir()
print(found)
"""
    told = {**os.environ, "HOWLEARN_CACHE": str(tmp_path / "file"), "TMPDIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", code], env=told, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert Path(ran.stdout.strip()).parent == tmp_path
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_altered_sources_are_written_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(kernels, "cache_folder", lambda: folder)
    assert kernels._load("tried", "found = 1\n", "*").found == 1
    (file,) = folder.glob("howlearn_tried_*.py")
    file.write_text("found = 2\n")
    assert kernels._load("tried", "found = 1\n", "*").found == 1
    assert file.read_text() == "found = 1\n"


def test_what_is_kept_is_loaded_without_making_ready_to_compile(folder: Path) -> None:
    """By the second of two processes; what is not kept is compiled as ever."""
    code = """if True:
        import sys
        import numpy as np
        from howlearn.engine import compile
        out = np.empty(4)
        compile.foretelling().softened(np.array([0, 2, 4]), np.zeros(4), out)
        print("numba.np.arraymath" in sys.modules, np.exp(out).tolist())
        """

    def told() -> str:
        bare = {**os.environ, "HOWLEARN_COMPILED": "0"}  # nothing comes with the installation
        return subprocess.run(
            [sys.executable, "-c", code], env=bare, check=True, capture_output=True, text=True
        ).stdout

    first, second = told(), told()
    assert first.startswith("True")
    assert second == first.replace("True", "False")
