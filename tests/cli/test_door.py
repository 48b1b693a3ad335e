"""Files that name code: each is refused in a sentence until the user types the name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from running import Run

TRAP = """import pathlib
from howlearn.models.q_learning import QLearning
pathlib.Path("ran").touch()
class Mine(QLearning):
    pass
"""
ROWS = [f"{i},{t},{'xy'[t % 2]},{'AB'[t % 3 == 0]},{t % 2}" for i in (1, 2) for t in range(12)]


@pytest.fixture
def data(run: Run) -> Run:
    Path("trap.py").write_text(TRAP)
    Path("t.csv").write_text("\n".join(["learner,trial,context,action,reward", *ROWS]))
    ran = run("select", "t.csv", "--criterion", "aic", "--out", "r")
    assert ran.status == 0, ran.err
    return run


def _named(folder: str, **options: object) -> None:
    """The results, as if they had been made with other options."""
    file = Path(folder, "manifest.json")
    manifest = json.loads(file.read_text())
    manifest["options"] |= options
    file.write_text(json.dumps(manifest))


def test_no_file_runs_code(data: Run) -> None:
    own = ["OneForAll", "trap.py:Mine"]
    for part in ("model", "add_model"):
        option = f"--{part.replace('_', '-')}"
        Path("howlearn.toml").write_text(f'files = ["t.csv"]\n[models]\n{part} = {own}\n')
        for command in ("select", "path"):
            ran = data(command, "--out", "new")
            assert ran.status == 2, command
            assert f"{option} OneForAll {option} trap.py:Mine" in ran.err
        ran = data("freeze", "--study", "howlearn.toml", "-o", "f.toml")
        assert ran.status == 2
        assert "trap.py:Mine" in ran.err
    Path("howlearn.toml").unlink()
    _named("r", add_model=["exp4(trap.py:Mine, OneForAll)"])
    for words in (
        ("calibrate", "--like", "r", "--out", "c"),
        ("simulate", "--like", "r", "--model", "OneForAll", "-o", "s.csv"),
    ):
        ran = data(*words)
        assert ran.status == 2
        assert "trap.py:Mine is code" in ran.err
    Path("shards").mkdir()
    words = ["select", "t.csv", "--model", "trap.py:Mine", "--out", "x"]
    Path("shards/shards.json").write_text(json.dumps({"command": words, "count": 2}))
    ran = data("merge", "shards")
    assert ran.status == 2
    assert "trap.py:Mine is code" in ran.err
    plan = 'howlearn = "0"\n[data]\n[models]\nadd_model = ["trap.py:Mine"]\n[resolved]\n'
    Path("frozen.toml").write_text(plan + "criteria = ['aic']\ncriteria_few = ['aic']\n")
    ran = data("select", "t.csv", "--out", "new")
    assert ran.status == 2
    assert "frozen.toml names code, trap.py:Mine" in ran.err
    assert not Path("ran").exists()
    assert not Path("new").exists()


def test_what_is_typed_is_run(data: Run) -> None:
    Path("howlearn.toml").write_text('files = ["t.csv"]\n[models]\nadd_model = ["trap.py:Mine"]\n')
    ran = data("select", "--model", "trap.py:Nope", "--out", "r2")
    assert ran.status == 2
    assert "has no model 'Nope'" in ran.err  # which one knows after its file was run only
    assert Path("ran").exists()
    ran = data("simulate", "--model", "OneForAll", "--add-model", "trap.py:Mine", "-o", "s.csv")
    assert ran.status == 2
    assert "--add-model goes with --like" in ran.err


def test_help_says_that_this_is_the_only_door(run: Run) -> None:
    for command in ("select", "report", "simulate", "merge", "calibrate", "freeze"):
        told = " ".join(run(command, "--help").out.replace("│", " ").split())
        assert "ame only files that you trust" in told, command


def test_files_from_elsewhere_are_told(data: Run) -> None:
    Path("inner").mkdir()
    Path("inner/howlearn.toml").write_text('files = ["../t.csv"]\n')
    ran = data("select", "--study", "inner/howlearn.toml", "--criterion", "aic", "--out", "r3")
    assert ran.status == 0, ran.err
    assert "from outside its folder" in ran.err
    assert "t.csv" in ran.err
