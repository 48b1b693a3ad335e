"""What was compiled at installation is used where it fits, and then nothing else is compiled."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZipFile

import pytest

import howlearn
from howlearn.engine import compile as kernels

SOURCE = Path(howlearn.__file__).parent
TEXT = "from numba import njit\n@njit('int64()', cache=True)\ndef found():\n    return 1\n"
COUNTED = """
from numba.core import event
from howlearn.cli import main
with event.install_recorder("numba:compile") as seen:
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, stop.code
for _, each in seen.buffer:
    if each.is_start:
        print("compiled", each.data["dispatcher"].py_func)
"""


def _archive(path: Path, made_for: str, cache: Path) -> None:
    with ZipFile(path, "w", strict_timestamps=False) as archive:
        for file in (*cache.glob("__pycache__/howlearn_*.nb?"), *cache.glob("howlearn_*")):
            archive.write(file, file.relative_to(cache).as_posix())
        archive.comment = made_for.encode()


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One compiled module and a kept text; nothing of it is in the cache."""
    monkeypatch.setattr(kernels, "INSTALLED", tmp_path / "compiled.zip")
    monkeypatch.delenv("HOWLEARN_COMPILED", raising=False)
    for name in ("first", "second"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setattr(kernels, "cache_folder", lambda: tmp_path / "first")
    assert _compiles(TEXT) == 1
    assert kernels.kept_text("tried", "it", lambda: "kept") == "kept"
    _archive(tmp_path / "compiled.zip", kernels.made_for(), tmp_path / "first")
    monkeypatch.setattr(kernels, "cache_folder", lambda: tmp_path / "second")
    return tmp_path / "compiled.zip"


def _compiles(text: str) -> int:
    """How many functions are compiled to load a module."""
    from numba.core import event

    with event.install_recorder("numba:compile") as seen:
        assert kernels._load("tried", text, "*").found() == 1
    return sum(each.is_start for _, each in seen.buffer)


def test_what_was_compiled_at_installation_is_not_compiled_again(archive: Path) -> None:
    assert _compiles(TEXT) == 0
    assert kernels.kept_text("tried", "it", pytest.fail) == "kept"
    written = [each for each in (archive.parent / "second").rglob("*") if each.is_file()]
    assert len([each for each in written if each.suffix in (".py", ".txt", ".nbi", ".nbc")]) == 4
    if sys.platform != "win32":
        assert all(each.stat().st_mode & 0o077 == 0 for each in written if each.suffix != ".pyc")


def test_a_changed_source_is_compiled(archive: Path) -> None:
    assert _compiles(f"{TEXT}# changed\n") == 1


@pytest.mark.parametrize("how", ["another machine", "damaged", "no archive", "cut", "switched off"])
def test_what_does_not_fit_is_compiled(
    archive: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "another machine":
        _archive(archive, kernels.made_for().replace("numba", "other") + "+", archive.parent)
    elif how == "damaged":
        content = bytearray(archive.read_bytes())
        content[len(content) // 10 : len(content) // 2] = bytes(
            len(content) // 2 - len(content) // 10
        )
        archive.write_bytes(content)
    elif how == "no archive":
        archive.unlink()
    elif how == "cut":
        archive.write_bytes(archive.read_bytes()[:500])
    else:
        monkeypatch.setenv("HOWLEARN_COMPILED", "0")
    assert _compiles(TEXT) == 1


def test_code_is_told_apart_by_versions_and_processor() -> None:
    import llvmlite
    import numba

    words = kernels.made_for().split()
    assert {sys.implementation.cache_tag, numba.__version__, llvmlite.__version__} <= {*words}
    assert any("+" in word for word in words[4:]) or len(words) > 5


def _present() -> bool:
    """Whether code was compiled at installation, from these sources and for this machine."""
    installed = SOURCE / "compiled.zip"
    if not installed.exists():
        return False
    made = installed.stat().st_mtime
    if any(each.stat().st_mtime > made for each in SOURCE.rglob("*.py")):
        return False
    with ZipFile(installed) as archive:
        return archive.comment.decode() == kernels.made_for()


@pytest.mark.skipif(not _present(), reason="compiled of other sources, or not at installation")
@pytest.mark.parametrize("more", [[], ["--add-model", "field"]])
def test_nothing_is_left_to_compile(tmp_path: Path, more: list[str]) -> None:
    """By commands that are not those of ``hatch_build.py``: another study, from its design."""
    (tmp_path / "cache").mkdir(mode=0o700)
    simulate = "simulate --task five-four --model ByShape --set eta=0.1 --learners 10".split()
    select = ["select", "trials.csv", "--task", "five-four", *more, "--out", "results"]
    told = {**os.environ, "HOWLEARN_CACHE": str(tmp_path / "cache")}
    for words in ([*simulate, *"--trials 80 --seed 2 --out trials.csv".split()], select):
        ran = subprocess.run(
            [sys.executable, "-c", COUNTED, *words],
            cwd=tmp_path,
            env=told,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr
        assert "compiled <" not in ran.stdout, ran.stdout
        assert "Compiling" not in ran.stderr


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("hatchling")
    file = Path(__file__).parents[2] / "hatch_build.py"
    spec = importlib.util.spec_from_file_location("hatch_build", file)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    monkeypatch.delenv("HOWLEARN_COMPILED", raising=False)
    simulate = "simulate --task five-four --model ByShape --set eta=0.1 --learners 1 --trials 9"
    monkeypatch.setattr(found, "COMMANDS", [[*simulate.split(), "--seed", "1", "--out", "t.csv"]])
    return found


class _App:
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, text: str) -> None:
        self.warnings.append(text)

    def display_info(self, text: str) -> None:
        pass


def _built(hook: ModuleType, version: str = "standard", target: str = "wheel") -> Any:
    """A hook after its work, and what it told the builder."""
    root, data = str(SOURCE.parents[1]), {"force_include": {}}
    made = hook.Compiled(root, {}, None, None, "", target, _App())
    made.initialize(version, data)
    return made, data


def test_a_wheel_holds_what_the_commands_compile(hook: ModuleType) -> None:
    made, data = _built(hook)
    ((path, inside),) = data["force_include"].items()
    assert inside == "howlearn/compiled.zip"
    assert data["infer_tag"]
    assert not data["pure_python"]
    with ZipFile(path) as archive:
        assert archive.comment.decode() == kernels.made_for()
        names = archive.namelist()
    assert any("GradientBandit_single" in name and name.endswith(".nbc") for name in names)
    assert names[-1].endswith(".py")  # last: who sees a source has all of its module
    made.finalize("standard", data, "")
    assert not Path(path).exists()
    assert made.app.warnings == []


def test_a_failure_is_a_message_and_a_pure_wheel(
    hook: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "COMMANDS", [["no-such-command"]])
    made, data = _built(hook)
    made.finalize("standard", data, "")
    assert data == {"force_include": {}}
    (told,) = made.app.warnings
    assert told.startswith("Not compiled now, but at first use: ")
    monkeypatch.setattr(hook, "SECONDS", 0.01)
    made, data = _built(hook)
    made.finalize("standard", data, "")
    assert data == {"force_include": {}}
    assert len(made.app.warnings) == 1


def test_it_can_be_switched_off(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "compiled", pytest.fail)
    made, data = _built(hook, target="sdist")
    assert made.dependencies() == []
    monkeypatch.setenv("HOWLEARN_COMPILED", "0")
    made, data = _built(hook)
    assert data == {"force_include": {}}
    assert made.dependencies() == []
