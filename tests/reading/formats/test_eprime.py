"""E-Prime's logs: trials, the lists above them, the head of the session."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from howlearn.core.errors import DataError
from howlearn.reading.formats.open import open_tables
from howlearn.reading.guess import inspect
from howlearn.reading.read import read


def frame(level: int, **values: object) -> list[str]:
    tabs = "\t" * (level - 1)
    lines = ["*** LogFrame Start ***", *(f"{k}: {v}" for k, v in values.items())]
    return [f"{tabs}Level: {level}", *(tabs + line for line in [*lines, "*** LogFrame End ***"])]


def log(who: int) -> list[str]:
    lines = ["*** Header Start ***", "VersionPersist: 1", "LevelName: Session", "LevelName: Block"]
    lines += [f"Subject: {who}", "SessionTime: 10:30:05", "*** Header End ***"]
    for block in (1, 2):
        for i in range(8):
            answer = {"Stim.RESP": "" if i == 7 else "fj"[i % 3 > 0], "Stim.ACC": int(i % 2)}
            lines += frame(3, Procedure="TrialProc", Picture=f"p{i % 2}.bmp", **answer)
        lines += frame(2, Procedure="BlockProc", BlockNumber=block)
    return lines + frame(1, Experiment="cat: a study", Subject=99)


OPTIONS = {"context": "Picture", "action": "Stim.RESP", "reward": "Stim.ACC"}


def test_logs(tmp_path: Path) -> None:
    for who, encoding in ((1, "utf-16"), (2, "utf-8"), (3, "utf-16-le")):
        text = "\r\n".join([*log(who), ""])
        (tmp_path / f"cat-{who}.txt").write_bytes(text.encode(encoding))
    (tmp_path / "cat-3.txt.gz").write_bytes(gzip.compress((tmp_path / "cat-3.txt").read_bytes()))
    (tmp_path / "cat-3.txt").unlink()
    study = read(tmp_path, by="BlockNumber", **OPTIONS)
    assert (study.learners, study.actions) == (("1", "1", "2", "2", "3", "3"), ("f", "j"))
    assert (len(study.starts) - 1, len(study.action)) == (6, 3 * 2 * 7)
    assert study.counts["missed trials"] == 6
    [table, *_] = open_tables(tmp_path)[0]
    assert table.columns == (
        *("Subject", "SessionTime", "Procedure", "Picture", "Stim.RESP", "Stim.ACC"),
        *("BlockNumber", "Experiment"),
    )
    [rows] = table.frames(["Procedure", "SessionTime", "Experiment"])
    assert set(rows.rows()) == {("TrialProc", "10:30:05", "cat: a study")}
    assert inspect(tmp_path).study is not None


def test_logs_that_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    lines = log(1)
    path.write_text("\n".join(lines[: 7 + 7 * 5 + 3]))
    study = read(path, **OPTIONS)
    assert len(study.action) == 5
    assert any("the log is cut off" in note for note in study.notes)
    for rows in (lines[:5], lines[:7], [*lines[:7], "x" * 50, "*** LogFrame End ***"]):
        path.write_text("\n".join(rows))
        with pytest.raises(DataError, match=r"an E-Prime log without trials; .*E-DataAid"):
            read(path)


def frames(level: int, said: dict) -> list[str]:
    lines = [f"\t{name}: {value}" for name, value in said.items()]
    return [f"\tLevel: {level}", "\t*** LogFrame Start ***", *lines, "\t*** LogFrame End ***"]


def phases(folder: Path, practice: int = 2, told: bool = True, merged: bool = False) -> list[dict]:
    """Practice, training and a test, each with an object that takes the responses."""
    draw, trials, text = np.random.default_rng(6), [], []
    for who in range(1, 7):
        head = {"Subject": who, "Session": 1}
        lines = ["*** Header Start ***", *(f"{k}: {v}" for k, v in head.items())]
        lines.append("*** Header End ***")
        last = dict.fromkeys("ABC", 0)
        rows = [(practice, "Practice", "P", 0) for _ in range(6)]
        rows += [(2, "Train", "ABC"[i % 3], i) for i in range(48)]
        rows += [(2, "Test", "ABC"[i % 3], i) for i in range(12)]
        for n, (level, phase, cue, i) in enumerate(rows):
            right = int(cue != "B")
            made = last.get(cue, 0)
            won = int(draw.random() < (0.85 if made == right else 0.15))
            if phase == "Train":
                last[cue] = made if won else 1 - made
            said = {"Procedure": f"{phase}Proc", "Cue": f"{cue}.bmp", "Running": f"{phase}List"}
            said |= {f"{phase}List.Sample": i + 1, f"{phase}Stim.RT": 300 + n}
            said |= {f"{phase}Stim.RESP": "fj"[made], f"{phase}Stim.CRESP": "fj"[right]}
            said |= {f"{phase}Stim.ACC": int(made == right)}
            if told and phase == "Train":
                said["Outcome"] = ("Incorrect", "Correct")[won]
            lines += frames(level, said)
            text.append(head | said)
            if phase != "Practice":
                trials.append({"phase": phase, "cue": cue, "made": "fj"[made], "won": won})
        if not merged:
            (folder / f"task-{who}-1.txt").write_text("\r\n".join(lines), encoding="utf-16")
    if merged:
        names = [*dict.fromkeys(name for row in text for name in row)]
        below = ["\t".join(str(row.get(name, "NULL")) for name in names) for row in text]
        (folder / "merged.txt").write_text("\n".join(["merged files", "\t".join(names), *below]))
    return trials


@pytest.mark.parametrize(("practice", "merged"), [(2, False), (3, False), (2, True)])
def test_training_and_test(tmp_path: Path, practice: int, merged: bool) -> None:
    trials = phases(tmp_path, practice, merged=merged)
    found = inspect(tmp_path)
    table = found.trials()
    assert found.roles["learner"] == "Subject"
    assert found.roles["action"] == "RESP"
    assert table["action"].to_list() == [t["made"] for t in trials]
    assert table["context"].to_list() == [f"{t['cue']}.bmp" for t in trials]
    assert table["learned"].to_list() == [t["phase"] == "Train" for t in trials]
    learned = [t["won"] for t in trials if t["phase"] == "Train"]
    assert table.filter("learned")["reward"].to_list() == learned
    assert any("respond in turn" in note for note in found.notes)


def test_people_have_one_name_in_all_blocks(tmp_path: Path) -> None:
    """BlockList.Sample is no sample of people."""
    phases(tmp_path)
    for path in tmp_path.iterdir():
        text = path.read_text(encoding="utf-16")
        for i, part in enumerate(("Train", "Test")):
            text = text.replace(f"Running: {part}List", f"Running: X\n\tBlockList.Sample: {i + 1}")
        path.write_text(text, encoding="utf-16")
    assert inspect(tmp_path).roles["learner"] == "Subject"
