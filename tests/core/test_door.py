"""Code comes in through one door: a model that the user names in this very command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import howlearn as hl
from howlearn.core import safe_files
from howlearn.core.errors import HowlearnError
from howlearn.models.user_code import own_model

TRAP = """
import pathlib
pathlib.Path("ran").write_text("x")
from howlearn import Model
from howlearn.models.q_learning import QLearning
class Mine(QLearning):
    pass
"""
TASK = """
actions = ["A", "B"]
contexts = [{ name = "x" }, { name = "y" }]
[[models]]
name = "m"
partition = "each"
[[models]]
name = "mixed"
kind = "exp4"
experts = ["trap.py:Mine", "m"]
"""


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A folder with code in it, and a door that nobody has opened."""
    monkeypatch.chdir(tmp_path)
    Path("trap.py").write_text(TRAP)
    safe_files.close()
    yield
    safe_files.close()


def test_names_of_ones_own_models_are_found_wherever_they_stand() -> None:
    texts = {
        "q-learning(ByShape)+lapse": [],
        "a.py:A+lapse": ["a.py:A"],
        "my files/a+b.py:A(ByShape, per-cell)": ["my files/a+b.py:A"],
        "exp4(C:\\x\\a.py:A[eta=0.1], switch, mod.sub:B)": ["C:\\x\\a.py:A", "mod.sub:B"],
        "ByShape:": [],
        ":A": [],
    }
    assert {text: safe_files.own_names(text) for text in texts} == texts


def test_only_what_was_allowed_is_loaded_however_it_is_spelled() -> None:
    with pytest.raises(HowlearnError, match=r"type --model trap\.py:Mine in this command"):
        own_model("trap.py:Mine")
    assert not Path("ran").exists()
    safe_files.allow_code("exp4(sub/../trap.py:Other, ByShape)")
    Path("sub").mkdir()
    assert own_model(f"{Path.cwd()}/trap.py:Mine").name == "Mine"
    assert Path("ran").exists()
    safe_files.seal()
    safe_files.allow_code("trap:Mine")
    with pytest.raises(HowlearnError, match="is code"):
        own_model("trap:Mine")


def test_a_module_of_this_folder_is_found_and_the_folder_is_not_searched_later() -> None:
    safe_files.allow_code("trap:Mine")
    before = [*sys.path]
    try:
        assert own_model("trap:Mine").name == "Mine"
    finally:
        sys.modules.pop("trap", None)
    assert sys.path == before


def test_a_task_file_brings_no_code() -> None:
    Path("t.toml").write_text(TASK)
    with pytest.raises(HowlearnError, match=r"models\[2\].experts.*does not run code"):
        hl.Task.load("t.toml")
    assert not Path("ran").exists()


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(hl.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "howlearn", *words],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_libraries_are_not_looked_for_among_the_data() -> None:
    for name in ("rich", "typer", "shlex", "shutil"):
        Path(f"{name}.py").write_text("open('ran', 'w')\n")
    ran = _run("--version")
    assert ran.returncode == 0, ran.stderr
    assert not Path("ran").exists()
