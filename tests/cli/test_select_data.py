"""``howlearn select``: what may be said about the data goes from the options to the manifest."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from running import Run


@pytest.fixture
def sizes(run: Run) -> None:
    """Two learners who see sixty sizes four times each, with what they missed and how long."""
    n = 480
    pl.DataFrame(
        {
            "id": [i // 240 for i in range(n)],
            "size": [i % 60 / 10 for i in range(n)],
            "choice": [*"ABB"] * (n // 3),
            "reward": [1, 0, 0, 1] * (n // 4),
            "other": [0, 1, 1, 0] * (n // 4),
            "maze": [i // 4 for i in range(n)],
            "rt": [0.5] * n,
        }
    ).write_csv("sizes.csv")


def test_every_option_stands_in_the_manifest(run: Run, sizes: None) -> None:
    options = "--forgone other --episode maze --duration rt --bin size:1.5,3 --bin other:2"
    words = f"--context size,other --action choice {options} --criterion aic --out results".split()
    ran = run("select", "sizes.csv", *words)
    assert ran.status == 0, ran.err
    assert "forgone ← other (of the other action)" in ran.err
    assert "episode ← maze" in ran.err
    assert "duration ← rt" in ran.err
    assert "note: size is cut into 3 bins: <1.5, 1.5–3, ≥3" in ran.err
    manifest = json.loads(Path("results/manifest.json").read_text(encoding="utf-8"))
    said = {name: manifest["options"][name] for name in ("forgone", "episode", "duration", "bin")}
    assert said == {
        "forgone": ["other"],
        "episode": "maze",
        "duration": "rt",
        "bin": ["size:1.5,3", "other:2"],
    }


@pytest.mark.parametrize("model", [[], ["--model", "OnePerItem"]])
def test_too_many_contexts_leave_no_folder(run: Run, sizes: None, model: list[str]) -> None:
    ran = run(
        "select", "sizes.csv", "--context", "size", "--action", "choice", *model, "--out", "results"
    )
    assert ran.status == 2
    assert "there are 60 contexts, and a typical learner met 60 of them in 240 trials" in ran.err
    assert not Path("results").exists()


def test_a_model_with_one_cell_is_not_refused(run: Run, sizes: None) -> None:
    words = "--context size --action choice --model OneForAll --criterion aic --out results"
    assert run("select", "sizes.csv", *words.split()).status == 0
