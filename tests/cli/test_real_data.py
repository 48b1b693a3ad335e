"""Data of real people, from the command line, with options only."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from running import Run


def test_badham_each_condition_on_its_own(run: Run, shared_data: Path) -> None:
    ran = run(
        "select",
        shared_data / "badham2017" / "badham2017deficits.csv",
        *("--by", "condition", "--context", "object", "--features", "feature1,feature2,feature3"),
        *("--recode", "reward:-1=0,1=1", "--criterion", "evidence", "--out", "badham"),
    )
    assert ran.status == 0
    assert "errors then teach a gain-form rule nothing" in ran.err
    learners = pl.read_csv("badham/learners.csv")
    assert learners.height == 95 * 4
    assert learners.columns[:2] == ["learner", "condition"]
    scores = pl.read_csv("badham/scores.csv")
    assert scores["model"].n_unique() == 8 + 4  # partitions, and the models of every task
    assert scores["score"].is_finite().all()


def test_rlwm_with_three_actions_in_blocks(run: Run, shared_data: Path) -> None:
    file = shared_data / "rlwm" / "Expe3.csv"
    roles = ("--learner", "subno", "--action", "choice", "--reward", "rew", "--missing=-1")
    by = ("--criterion", "aic", "--out", "sets")
    ran = run("select", file, *roles, "--context", "block,stimseq", "--no-field", *by)
    assert ran.status == 0
    assert "missed trials: 458" in ran.err
    assert pl.read_csv("sets/learners.csv").height == 40
    ran = run(
        "select",
        file,
        *roles,
        "--context",
        "stimseq",
        "--reset-by",
        "block",
        "--no-field",
        "--out",
        "blocks",
    )
    assert ran.status == 0
    chosen = pl.read_csv("blocks/selection.csv")
    assert set(chosen["model"]) == {"OnePerItem"}  # every stimulus has a rule of its own


def test_bids_events_learners_from_file_names(run: Run, shared_data: Path) -> None:
    words = ("--context", "none", "--action", "condchosen", "--reward", "outcome")
    files = sorted((shared_data / "bids_reversal").glob("*.tsv"))
    ran = run("select", *files, *words, "--add-model", "Coin")
    assert ran.status == 0
    assert pl.read_csv("results/learners.csv")["learner"].to_list() == [
        int(f.stem.split("_")[0].removeprefix("sub-")) for f in files
    ]


def test_the_authors_files_are_refused_as_they_are_and_fitted_as_recorded(
    run: Run, shared_data: Path
) -> None:
    folder = shared_data / "aubert2025" / "syntheticdatabis" / "OnePerItem_bis"
    ran = run("select", folder, "--task", "five-four", "--out", "a")
    assert ran.status == 2
    assert "--reward-range 0,15 takes them as recorded" in ran.err
    assert not Path("a").exists()
    ran = run("select", folder, "--task", "five-four", "--reward-range", "0,15", "--out", "a")
    assert ran.status == 0
    assert pl.read_csv("a/learners.csv").height == 50
