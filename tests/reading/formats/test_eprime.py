"""E-Prime's logs: trials, the lists above them, the head of the session."""

from __future__ import annotations

import gzip
from pathlib import Path

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
