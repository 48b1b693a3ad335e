"""Every file that was not made by this project, from the file to the page, with options only."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from running import Run

SYNTHETIC = "aubert2025/syntheticdatabis"
SIX = ("OneForAll", "OnePerItem", "byPattern", "byPattern_Exceptions_Sep", "byShape")
WAYS = {
    "badham2017/badham2017deficits.csv": (["--where", "condition == 1 and participant < 30"], 30),
    "rlwm/Expe3.csv": (["--where", "subno <= 6"], 6),
    "bids_reversal": ([], 4),
    **{f"{SYNTHETIC}/{name}_bis": (["--task", "five-four"], 50) for name in SIX},
    f"{SYNTHETIC}/byShape_Exceptions_Sep_bis": (["--task", "five-four"], 50),
}
NOT_TRIALS = ("alcove/alcove_case1.csv", "alcove/alcove_case2.csv", "aubert2025/published_fits.csv")


def test_all_of_them_are_tried(shared_data: Path) -> None:
    """Each file is a study, in a folder that is one, or no record of choices at all.

    Made files with a reading of their own (hard, tasks) are not among them.
    """
    described = {"README.md", "LICENSE", "dataset_description.json", "databis_500.csv"}
    files = [f for f in shared_data.rglob("*") if f.is_file() and f.name not in described]
    files = [f for f in files if f.relative_to(shared_data).parts[0] not in ("hard", "tasks")]
    known = [shared_data / name for name in (*WAYS, *NOT_TRIALS)]
    assert files
    assert [f for f in files if not {f, f.parent} & {*known}] == []


def next_command(out: str) -> list[str]:
    """What inspect prints to be typed next: it names the files, which lie in another folder."""
    [line] = [line for line in out.splitlines() if line.startswith("Next: howlearn select ")]
    command, _why = line.removeprefix("Next: ").rsplit("   (", 1)
    return shlex.split(command)[1:]


@pytest.mark.parametrize("name", WAYS)
def test_from_the_file_to_the_page(run: Run, shared_data: Path, name: str) -> None:
    options, learners = WAYS[name]
    ran = run("inspect", shared_data / name, *options)
    assert ran.status == 0, ran.err
    ran = run(*next_command(ran.out), "--criterion", "aic")
    assert ran.status == 0, ran.err
    assert "Next: howlearn report results -o report.html" in ran.out
    assert pl.read_csv("results/learners.csv")["learner"].n_unique() == learners
    if name.startswith(SYNTHETIC) and "OneForAll" not in name:  # one of these pages is enough
        return
    ran = run("report", "results", "-o", "report.html")
    assert ran.status == 0, ran.err
    page = Path("report.html").read_text(encoding="utf-8")
    assert len(page) < 2_000_000
    warnings = re.findall(r'<p class="warning">(.*?)</p>', page, re.DOTALL)
    assert not [text for text in warnings if "left out" in text]  # nothing lacks its data
    assert Path("report-tables.docx").stat().st_size > 0


@pytest.mark.parametrize("name", NOT_TRIALS)
def test_what_is_no_record_of_choices(run: Run, shared_data: Path, name: str) -> None:
    ran = run("inspect", shared_data / name)
    assert ran.status == 2
    assert "no column was found for the action and the reward" in ran.err
    assert not Path("howlearn.toml").exists()
