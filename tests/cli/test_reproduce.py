"""``howlearn reproduce``: what it writes, says, keeps and leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from howlearn.paper import reproduce as module
from running import Run

# The command with few learners; it says when the third part is written, then waits.
TABLES = ("reproduction.csv", "claims.csv")
FOLDERS = "OnePerItem OneForAll byShape byPattern byShape_Exceptions_Sep byPattern_Exceptions_Sep"


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims rest on three learners here, and charts are not drawn unless a test asks for them."""
    monkeypatch.setattr(module, "CLAIM_LEARNERS", 3)
    monkeypatch.setattr("howlearn.report.charts.available", lambda *_: False)


def tables_of(folder: str) -> dict[str, bytes]:
    return {name: (Path(folder) / name).read_bytes() for name in TABLES}


def test_what_it_writes_and_prints(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.setattr("howlearn.report.charts.available", lambda *_: True)
    ran = run("reproduce", "--out", "out here", "--learners", 2, "--seed", 4)
    assert ran.status == 0
    names = sorted(path.name for path in Path("out here").iterdir())
    assert names == [
        "claims.csv",
        "findings.txt",
        "manifest.json",
        "parts",
        "reproduction.csv",
        "reproduction.html",
    ]
    assert "recovers OnePerItem" in ran.out
    assert "the paper: about 6 hours" in ran.out
    page = Path("out here/reproduction.html").read_text("utf-8")
    assert "estimation, figures" in page
    assert "reading the archive" not in page
    command = "howlearn reproduce --out &#39;out here&#39; --learners 2 --seed 4"
    assert command in page
    table = pl.read_csv("out here/reproduction.csv")
    assert table.columns == (
        "figure quantity setting true_model selected_model published archive corrected".split()
    )
    assert table["archive"].null_count() == len(table)


def test_without_the_report_extra_the_tables_are_there(run: Run) -> None:
    ran = run("reproduce", "--out", "out", "--learners", 2)
    assert ran.status == 0
    assert ran.out.count("pip install 'howlearn[report]'") == 1
    assert all(tables_of("out").values())
    assert not Path("out/reproduction.html").exists()


def test_the_number_of_workers_changes_no_byte(run: Run) -> None:
    """Learners are fitted in blocks of 50, so that there is something to share out."""
    for workers in (1, 2):
        words = ("--learners", 120, "--workers", workers, "--out", f"by{workers}")
        assert run("reproduce", *words).status == 0
    assert tables_of("by1") == tables_of("by2")
    assert run("reproduce", "--learners", 120, "--seed", 1, "--out", "other").status == 0
    assert tables_of("other") != tables_of("by1")


def test_started_again_it_repeats_nothing(run: Run) -> None:
    words = ("reproduce", "--out", "out", "--learners", 2)
    assert run(*words).status == 0
    before = {path: path.stat().st_mtime_ns for path in Path("out/parts").iterdir()}
    tables = tables_of("out")
    assert len(before) == 3 * 6 * 2  # figures, claims, claims with the fault: contest, estimates
    ran = run(*words)
    assert ran.status == 0
    assert {path: path.stat().st_mtime_ns for path in Path("out/parts").iterdir()} == before
    assert tables_of("out") == tables
    ran = run(*words[:-1], 3)
    assert ran.status == 2
    assert "design.learners_per_model: 2 there, 3 now" in ran.err
    assert "--fresh" in ran.err


def make_archive(folder: Path, text: str = "Action,Reward,Item\n1,0,1\n") -> Path:
    """Folders as the authors name them, each with one file."""
    for name in FOLDERS.split():
        (folder / "syntheticdatabis" / f"{name}_bis").mkdir(parents=True)
        (folder / "syntheticdatabis" / f"{name}_bis" / "databis_1_1.csv").write_text(text)
    return folder


def missing(folder: Path) -> str:
    return f"{folder}: no such folder; expected is syntheticdatabis"


def something_else(folder: Path) -> str:
    folder.mkdir()
    return "no folder syntheticdatabis in it, 4 levels deep"


def a_file(folder: Path) -> str:
    folder.write_text("PK")
    return "no such folder"


def without_a_model(folder: Path) -> str:
    make_archive(folder)
    (folder / "syntheticdatabis" / "byShape_bis").rename(folder / "syntheticdatabis" / "byForm")
    return "no folder byShape_bis"


def too_short(folder: Path) -> str:
    make_archive(folder, "Action,Reward,Item\n" + "1,0,1\n" * 499)
    return "databis_1_1.csv: 499 trials found; 500 are expected"


def other_columns(folder: Path) -> str:
    make_archive(folder, "a,b,c\n1,2,3\n")
    return "expected are CSV files with the columns Action (1 or 2), Reward and Item"


BAD = [missing, something_else, a_file, without_a_model, too_short, other_columns]


@pytest.mark.parametrize("breaking", BAD)
def test_a_bad_archive_leaves_nothing_behind(run: Run, breaking) -> None:
    message = breaking(Path("theirs"))
    ran = run("reproduce", "--archive", "theirs", "--out", "out")
    assert ran.status == 2
    assert message in " ".join(ran.err.split())
    assert "Traceback" not in ran.err
    assert not Path("out").exists()


def test_a_bad_archive_does_not_touch_an_earlier_run(run: Run) -> None:
    assert run("reproduce", "--out", "out", "--learners", 2).status == 0
    before = tables_of("out")
    words = ("--learners", 2, "--fresh", "--archive", "nowhere")
    assert run("reproduce", "--out", "out", *words).status == 2
    assert tables_of("out") == before


def real_archive(shared_data: Path) -> None:
    """Two learners of each model, in the folder where the command is run."""
    source = shared_data / "aubert2025" / "syntheticdatabis"
    for name in FOLDERS.split():
        folder = Path("syntheticdatabis") / f"{name}_bis"
        folder.mkdir(parents=True)
        for i in (1, 2):
            file = f"databis_1_{i}.csv"
            (folder / file).write_bytes((source / f"{name}_bis" / file).read_bytes())


def test_results_inside_the_archive_are_no_part_of_it(run: Run, shared_data: Path) -> None:
    """Started again in the archive's own folder, the run is still the same run."""
    real_archive(shared_data)
    words = ("reproduce", "--archive", ".", "--out", "out", "--learners", 2)
    ran = run(*words)
    assert ran.status == 0
    assert "12 learners of 6 models" in ran.err
    assert json.loads(Path("out/manifest.json").read_text())["archive"]["files"] == 12
    assert run(*words).status == 0
    table = pl.read_csv("out/reproduction.csv")
    assert table.filter(figure="3b")["archive"].null_count() == 0
    assert not Path("out/differences.csv").exists()  # no stored fits here


def test_the_authors_archive(run: Run, shared_data: Path) -> None:
    words = ("--archive", shared_data / "aubert2025", "--out", "out", "--learners", 2)
    ran = run("reproduce", *words)
    assert ran.status == 0
    assert "left out, since only the models' folders hold learners: databis_500.csv" in ran.err
    assert pl.read_csv("out/differences.csv").height == 133
