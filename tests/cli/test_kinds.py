"""The kind of task, through the commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

from running import Run


def _bandit() -> pl.DataFrame:
    rng, n = np.random.default_rng(3), 80
    chosen = rng.integers(1, 3, n)
    return pl.DataFrame(
        {
            "subject": np.repeat([1, 2], n // 2),
            "trial": np.tile(np.arange(n // 2), 2),
            "choice": chosen,
            "reward": (rng.random(n) < 0.3 * chosen).astype(int),
        }
    )


def test_what_is_not_covered_stops_and_writes_nothing(run: Run) -> None:
    _bandit().drop("reward").write_csv("data.csv")
    ran = run("inspect", "data.csv")
    assert ran.status == 2
    assert "no outcome: these models need feedback" in ran.err
    assert "--reward COL" in ran.err
    assert not Path("howlearn.toml").exists()


def test_the_kind_goes_from_inspection_to_results(run: Run) -> None:
    _bandit().write_csv("data.csv")
    ran = run("inspect", "data.csv")
    kind = "bandit (always the same situation, 2 options; rewards are 0 and 1)"
    assert f"Kind of task: {kind.partition(';')[0]}" in " ".join(ran.out.split())
    assert f"# Kind of task: {kind}" in Path("howlearn.toml").read_text()
    ran = run("select", "--model", "OneForAll", "--criterion", "aic")
    assert ran.status == 0, ran.err
    assert "Kind of task: bandit" in ran.err.splitlines()[:2]
    manifest = json.loads(Path("results", "manifest.json").read_text())
    assert manifest["kind"]["name"] == "bandit"


def test_files_that_nobody_inspected_have_a_kind_too(run: Run) -> None:
    _bandit().write_csv("data.csv")
    ran = run("select", "data.csv", "--context", "none", "--model", "OneForAll")
    assert ran.err.splitlines()[0].startswith("Kind of task: bandit")


STAGES = "choice1; choice2@final_state"


def _two_step() -> pl.DataFrame:
    rng, n = np.random.default_rng(1), 120
    first = rng.integers(1, 3, n)
    columns = {
        "subject": np.repeat([1, 2], n // 2),
        "trial": np.tile(np.arange(n // 2), 2),
        "choice1": first,
        "final_state": np.where(rng.random(n) < 0.7, first, 3 - first),
        "choice2": rng.integers(1, 3, n),
        "reward": rng.integers(0, 2, n),
    }
    return pl.DataFrame(columns)


def test_stages_are_named_and_read(run: Run) -> None:
    _two_step().write_csv("data.csv")
    ran = run("inspect", "data.csv")
    assert ran.status == 2
    assert f'--stages "{STAGES}"' in ran.err
    assert not Path("howlearn.toml").exists()
    assert run("inspect", "data.csv", "--stages", STAGES).status == 0
    ran = run("select", "--model", "OnePerItem", "--criterion", "aic", "--predictions", "--latents")
    assert ran.status == 0, ran.err
    assert "Kind of task: two-step" in ran.err
    manifest = json.loads(Path("results", "manifest.json").read_text())
    assert manifest["options"]["stages"] == STAGES
    chosen = _two_step()["choice1"].to_list()
    predicted = pl.read_csv(next(Path("results").glob("predictions*.csv")))
    assert predicted["choice1"].to_list()[:4] == [chosen[0], chosen[0], chosen[1], chosen[1]]
