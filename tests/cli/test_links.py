"""Links in a stranger's folder of results: nothing outside of it is read, written or removed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from howlearn.runs import files
from running import Run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")

EVENTS = "sub-{:02d}/func/sub-{:02d}_task-x_events.tsv"
SELECT = ("select", "data", "--context", "shown", "--action", "chose", "--reward", "reward")
SELECT = (*SELECT, "--criterion", "aic", "--model", "OneForAll", "--predictions", "--latents")

TOP = ("manifest.json", "shards.json", "scores.csv", "learners.csv")  # files of the folder itself


@pytest.fixture
def made(run: Run) -> Run:
    """Results with parts and events files, and a copy of them elsewhere that is precious."""
    for who in (1, 2):
        rows = [f"{t}\t1\t{'xy'[t % 2]}\t{'AB'[t % 3 == 0]}\t{t % 2}" for t in range(12)]
        file = Path("data", EVENTS.format(who, who))
        file.parent.mkdir(parents=True)
        file.write_text("\n".join(["onset\tduration\tshown\tchose\treward", *rows]) + "\n")
    ran = run(*SELECT, "--out", "results")
    assert ran.status == 0, ran.err
    assert list(Path("results/bids").rglob("*howlearn_events.tsv"))
    Path("results/shards.json").write_text(json.dumps({"command": SELECT, "count": 1}))
    shutil.copytree("results", "precious")
    return run


def _state(folder: str) -> dict[str, object]:
    """Everything below a folder: what links say, when files were written, and what they hold."""
    found: dict[str, object] = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = path.readlink()
        elif path.is_file():
            found[name] = (path.stat().st_mtime_ns, path.read_bytes())
    return found


def _link(name: str) -> None:
    path, target = Path("results", name), Path("precious", name).resolve()
    assert target.exists()
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to(target)


def _names() -> list[str]:
    part = next(Path("results/parts").glob("*.scores.*")).relative_to("results")
    events = next(Path("results/bids").rglob("*howlearn_events.tsv")).relative_to("results")
    inner = ("parts", str(part), "bids", "bids/sub-01", str(events))
    return [*inner, "bids/dataset_description.json", *TOP]


def test_no_command_follows_a_link(made: Run) -> None:
    shutil.copytree("results", "whole")
    for name in _names():
        shutil.rmtree("results")
        shutil.copytree("whole", "results")
        _link(name)
        here, there = _state("results"), _state("precious")
        for words in (
            (*SELECT, "--out", "results"),
            (*SELECT, "--out", "results", "--fresh"),
            ("report", "results", "-o", "page.html"),
            ("compare", "results", "--group", "sub"),
            ("merge", "results"),
            ("merge", "whole", "results", "--out", "merged"),
            ("merge", "whole", "--out", "results"),
            ("calibrate", "--like", "results", "--out", "c"),
            ("simulate", "--like", "results", "--model", "OneForAll", "-o", "s.csv"),
            ("select", "data", "--calibration", "results", "--out", "new"),
            (*SELECT, "--add-model", "exp4(OneForAll)", "--experts-from", "results", "-o", "new"),
        ):
            ran = made(*words)
            assert ran.status == 2, (name, words, ran.err)
            assert f"results/{name} is a link" in " ".join(ran.err.split()), (name, words, ran.err)
        assert _state("results") == here
        assert _state("precious") == there


def test_results_that_are_a_link_must_be_typed(made: Run) -> None:
    shutil.rmtree("results")
    Path("results").symlink_to("precious")
    before = _state("precious")
    ran = made(*SELECT, "--fresh")
    assert ran.status == 2
    assert "results is a link to precious" in ran.err
    assert _state("precious") == before
    assert made(*SELECT, "--out", "results").status == 0


def test_the_demo_does_not_leave_its_folder(run: Run) -> None:
    Path("elsewhere").mkdir()
    Path("demo").mkdir()
    Path("demo/results").symlink_to(Path("elsewhere").resolve())
    ran = run("demo", "--learners", 1)
    assert ran.status == 2
    assert "demo/results is a link" in ran.err
    assert not list(Path("elsewhere").iterdir())


def test_a_guessed_name_of_a_half_file_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    monkeypatch.setattr(files, "_host", lambda: "host")
    (tmp_path / f".a.txt.host-{os.getpid()}.tmp").symlink_to(precious)
    files.write_whole(tmp_path / "a.txt", lambda file: file.write_text("mine"), tidy=False)
    assert precious.read_text() == "precious"
    assert (tmp_path / "a.txt").read_text() == "mine"
    assert not (tmp_path / "a.txt").is_symlink()


def test_a_lock_that_is_another_file_too_is_refused(made: Run) -> None:
    Path("letter").write_text("precious")
    os.link("letter", "results/.lock")
    ran = made(*SELECT, "--out", "results")
    assert ran.status == 2
    assert "results cannot be used (.lock" in ran.err
    assert Path("letter").read_text() == "precious"
