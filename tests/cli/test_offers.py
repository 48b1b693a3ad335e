"""--offered on the command line: from a file to tables, and what cannot be."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest

from running import Run

PAIRS = ("AB", "CD", "AC")


@pytest.fixture
def pairs(run: Run) -> Path:
    """Four learners who choose at random from pairs; every tenth trial offers one stimulus."""
    draw, rows = random.Random(1), []
    for learner in range(4):
        for trial in range(40):
            left, right = draw.sample(draw.choice(PAIRS), 2)
            side = draw.choice(["f", "j"])
            if trial % 10 == 9:
                left, right, side = left, None, "f"
            chosen = left if side == "f" else right
            rows.append((learner, "x", left, right, side, chosen, draw.randrange(2)))
    names = ["id", "item", "left", "right", "key", "chosen", "reward"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv("pairs.csv")
    return Path("pairs.csv")


OPTIONS = ["--offered", "left,right", "--action", "key", "--positions", "f,j", "--context", "none"]
SELECT = ["--model", "OneForAll", "--model", "Coin", "--criterion", "aic", "--predictions"]


def test_from_a_file_to_tables(run: Run, pairs: Path) -> None:
    ran = run("select", pairs, *OPTIONS, *SELECT, "--out", "results")
    assert ran.status == 0, ran.err
    assert "4 actions, 1 to 2 of them on offer" in ran.err
    table = pl.read_csv("results/predictions.csv")
    data = pl.read_csv(pairs)
    assert table["action"].to_list() == data["chosen"].to_list()
    assert table["scored"].to_list() == data["right"].is_not_null().to_list()
    p = table.select(f"p({a})" for a in "ABCD")
    for row, (left, right) in zip(
        p.iter_rows(named=True), data["left", "right"].rows(), strict=True
    ):
        shown = {f"p({a})" for a in (left, right) if a}
        assert sum(row.values()) == pytest.approx(1.0)
        assert all(value == 0.0 for name, value in row.items() if name not in shown)
    counts = json.loads(Path("results/manifest.json").read_text())["rows"]
    assert counts["trials with one action on offer"] == 16
    assert pl.read_csv("results/scores.csv")["n_trials"].to_list() == [36] * 8


def test_the_page_tells_of_offers(run: Run, pairs: Path) -> None:
    assert run("select", pairs, *OPTIONS, *SELECT, "--out", "results").status == 0
    assert run("report", "results", "-o", "page.html").status == 0
    page = Path("page.html").read_text()
    assert "Not every action was on offer in every trial" in page
    assert "chance: 0.50" in page


def test_doubles_meet_the_same_offers(run: Run, pairs: Path) -> None:
    assert run("select", pairs, *OPTIONS, *SELECT, "--out", "results").status == 0
    ran = run("simulate", "--like", "results", "--model", "gradient bandit", "--out", "doubles.csv")
    assert ran.status == 0, ran.err
    assert "--offered offered" in ran.out
    doubles = pl.read_csv("doubles.csv")
    data = pl.read_csv(pairs)
    assert doubles.height == data.height
    for shown, action, left, right in zip(
        doubles["offered"], doubles["action"], data["left"], data["right"], strict=True
    ):
        assert shown == "|".join(sorted(a for a in (left, right) if a))
        assert action in shown.split("|")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--offered", "left,right", "--action", "key"], "found f where"),
        (["--offered", "left", "--action", "left"], "one action on offer in every row"),
        (["--offered", "right", "--action", "chosen"], "found nothing on offer"),
        (["--offered", "item", "--action", "chosen", "--offers", "y=A|B"], "--offers explains: y"),
        (["--offered", "item", "--action", "chosen", "--offers", "x"], "write LABEL=A|B"),
        (["--offered", "nowhere", "--action", "chosen"], "no such column"),
        (["--action", "key", "--positions", "f,j"], "--offered COL,COL"),
    ],
)
def test_nothing_is_written_where_offers_cannot_be(
    run: Run, pairs: Path, options: list[str], words: str
) -> None:
    ran = run("select", pairs, *options, "--context", "none", *SELECT, "--out", "results")
    assert ran.status == 2
    assert words in ran.err
    assert not Path("results").exists()
