"""``howlearn discover``: tables, chart, words, and going on after a stop."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from howlearn.analyses import discover
from running import Run

WORDS = ("discover", "trials.csv", "--task", "five-four", "--out", "found")
TABLES = ("partitions", "coclassification", "marked", "population", "consensus", "models")


def test_tables_chart_and_words(run: Run, trials: Path) -> None:
    ran = run(*WORDS)
    assert ran.status == 0
    assert "All 21,147 partitions of 9 contexts were judged for 10 learners, exactly." in ran.out
    assert "Next: " in ran.out
    frames = {name: pl.read_csv(f"found/{name}.csv", infer_schema_length=None) for name in TABLES}
    assert frames["partitions"].height == 10 * 2 * 5
    assert frames["coclassification"].height == 10 * 2 * 36
    assert frames["marked"].height == 10 * 2 * 7  # six candidates, and contexts by their answer
    assert frames["population"].height == 2 * 36
    assert frames["consensus"].height == 2 * 9
    best = frames["models"].filter(pl.col("criterion") == "ewens(alpha=1, cells=learner)")
    assert best["model"][0] == "ByShape"
    assert all(frame["exact"].all() for frame in frames.values())
    for ending in ("svg", "png"):
        assert Path(f"found/coclassification.{ending}").stat().st_size > 1000
    svg = Path("found/coclassification.svg").read_text()
    assert "ByShapeExc" in svg
    manifest = json.loads(Path("found/manifest.json").read_text())
    assert manifest["command"] == "discover"
    assert manifest["options"]["criteria"] == [
        "ewens(alpha=1, cells=learner)",
        "codelength(nats=1)",
    ]


def test_a_run_goes_on_where_it_was_stopped(
    run: Run, trials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discover, "CHUNK", 4)
    words = (*WORDS, "--criterion", "bic")
    assert run(*words).status == 0
    whole = {name: Path(f"found/{name}.csv").read_bytes() for name in TABLES}
    parts = sorted(Path("found/parts").iterdir())
    assert len(parts) == 3 * 3
    for path in parts[-3:]:
        path.unlink()
    kept = {path: path.stat().st_mtime_ns for path in parts[:-3]}
    judged = []
    attempt = discover.attempt

    def counted(asked, study, *rest):
        judged.append(len(study))
        return attempt(asked, study, *rest)

    monkeypatch.setattr(discover, "attempt", counted)
    assert run(*words).status == 0
    assert judged == [2, 10, 10, 10]  # the last of three chunks; then all with three bounds
    assert {path: path.stat().st_mtime_ns for path in parts[:-3]} == kept
    assert {name: Path(f"found/{name}.csv").read_bytes() for name in TABLES} == whole


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--criterion", "best"], "there is no criterion 'best' for partitions"),
        (["--rule", "q-learning"], "q-learning is fitted whole"),
        (["--task", "six-five"], "there is no task 'six-five'"),
        (["--context", "nothing"], "nothing"),
    ],
)
def test_what_is_wrong_is_said_and_leaves_no_folder(
    run: Run, trials: Path, more: list[str], message: str
) -> None:
    ran = run(*WORDS, *more)
    assert ran.status == 2
    assert message in ran.err
    assert not Path("found").exists()


def test_another_run_is_not_overwritten(run: Run, trials: Path) -> None:
    assert run(*WORDS, "--criterion", "bic").status == 0
    ran = run(*WORDS, "--criterion", "aic")
    assert ran.status == 2
    assert "--fresh" in ran.err
    assert run(*WORDS, "--criterion", "aic", "--fresh").status == 0
    ran = run("select", "trials.csv", "--task", "five-four", "--out", "found")
    assert ran.status == 2
    assert "holds the results of howlearn discover" in ran.err


def test_without_a_task_by_conditions_and_with_names_that_look_like_markup(run: Run) -> None:
    rows = []
    for learner in ("[red]", "2"):
        for day in (1, 2):
            for t in range(60):
                context = ("[bold]x", "y", "z")[t % 3]
                action = "ab"[(t * 7 + len(context)) % 2]
                reward = int(action == "a")
                rows.append((learner, day, context, action, reward))
    columns = ["learner", "day", "context", "action", "reward"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv("days.csv")
    ran = run("discover", "days.csv", "--by", "day", "--criterion", "bic", "--out", "found")
    assert ran.status == 0
    assert "4 learner × condition sequences" in ran.out
    assert "day 2" in ran.out
    assert "[bold]x" in ran.out
    population = pl.read_csv("found/population.csv")
    assert population.height == 2 * 3
    assert population["learners"].to_list() == [2] * 6


def test_parquet_and_more_partitions(run: Run, trials: Path) -> None:
    ran = run(*WORDS, "--criterion", "kappa(2)", "--list", 12, "--format", "parquet")
    assert ran.status == 0
    assert pl.read_parquet("found/partitions.parquet").height == 10 * 12
