"""``howlearn simulate``, and what it says should come next."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from running import Ran, Run

FIVE_FOUR = [1, 2, 7, 8, 11, 12, 13, 14, 15]
SMALL = ("--learners", 4, "--trials", 90, "--seed", 1)


def next_of(ran: Ran) -> list[str]:
    """The words of the command that the output recommends."""
    assert ran.status == 0, ran.err
    found = re.search(r"^Next: howlearn (.*)$", ran.out, re.MULTILINE)
    assert found
    return shlex.split(found[1])


def follow(run: Run, ran: Ran) -> dict:
    """Do what comes next, and return the manifest of the results."""
    words = next_of(ran)
    done = run(*words)
    assert done.status == 0, done.err
    results = Path(words[words.index("--out") + 1])
    assert (results / "selection.csv").is_file()
    return json.loads((results / "manifest.json").read_text(encoding="utf-8"))


def rules_of(manifest: dict) -> set[tuple[str, str]]:
    return {(unit["rule"], unit["form"]) for m in manifest["models"] for unit in m.get("units", ())}


# The design


@pytest.mark.parametrize("order", ["periodic", "blocks", "independent"])
def test_orders(run: Run, order: str) -> None:
    ran = run("simulate", *SMALL, "--order", order, "--out", "a.csv")
    assert "4 learners, 360 trials → a.csv" in ran.out
    rounds = pl.read_csv("a.csv")["context"].to_numpy().reshape(-1, 9)
    each_once = (np.sort(rounds, axis=1) == FIVE_FOUR).all()
    assert each_once == (order != "independent")
    assert (rounds == FIVE_FOUR).all() == (order == "periodic")


def test_ranges(run: Run) -> None:
    for name, eta in (("value", "0.2"), ("range", "0.2:0.2"), ("wide", "0.01:0.9")):
        ran = run(
            "simulate", *SMALL, "--model", "ByShape", "--set", f"eta={eta}", "-o", name + ".csv"
        )
        assert ran.status == 0
    texts = [Path(name + ".csv").read_bytes() for name in ("value", "range", "wide")]
    assert texts[0] == texts[1] != texts[2]
    words = ("--model", "ByShape", "--set", "eta=0.2,0.1:0.4", "--out", "cells.csv")
    assert run("simulate", *SMALL, *words).status == 0


def test_settings_of_two_parameters(run: Run) -> None:
    words = ("simulate", *SMALL, "--rule", "exp3-ix", "--out", "a.csv")
    assert run(*words, "--set", "eta=0.1:0.2", "--set", "gamma=0.3").status == 0
    ran = run(*words, "--set", "eta=0.1", "--fresh")
    assert ran.status == 2
    assert "model OneForAll needs a value for eta, gamma; given: eta" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "eta=0.2:0.1"], "a range goes from its lower to its upper end, as 0.01:0.1"),
        (["--set", "eta=0.1:2"], "must lie between 0 and 1, got 2"),
        (["--set", "eta=0.1:"], "write each parameter once, as eta=0.03"),
        (["--set", "eta=0.1:0.2:0.3"], "write each parameter once, as eta=0.03"),
        (["--set", "eta=0.1", "--set", "eta=0.2"], "write each parameter once"),
        (["--set", "ByShape:eta=0.1"], "there is one model only"),
        (["--set", "eta=0.1:0.2,0.3,0.4"], "given: 3"),
        (["--set", "eta=0.2", "--max-rate", "0.1"], "must lie between 0 and 0.1, got 0.2"),
        (["--model", "Coin", "--set", "p(A)=0.1:1.2"], "p(A) of cell all must lie between 0 and 1"),
        (["--order", "odd"], "is not one of 'periodic', 'blocks'"),
        (["--learners", "0"], "--learners"),
        (["--trials", "0"], "--trials"),
        (["--seed", "-1"], "--seed"),
        (["--task", "six-five"], "there is no task 'six-five'"),
        (
            ["--like", "nowhere"],
            "nowhere does not exist; howlearn select writes this kind of folder",
        ),
        (["--max-rate", "30"], "at most 20, got 30"),
    ],
)
def test_what_cannot_be(run: Run, words: list[str], message: str) -> None:
    ran = run("simulate", "--model", "ByShape", "--out", "a.csv", *words)
    assert ran.status == 2
    assert message in re.sub(r"[\s│]+", " ", ran.err)
    assert list(Path().iterdir()) == []


def test_the_file_is_replaced_only_when_asked(run: Run) -> None:
    words = ("simulate", *SMALL, "--out", "a.csv")
    assert run(*words).status == 0
    first = Path("a.csv").read_bytes()
    assert run(*words).status == 0  # the same again
    other = (*words, "--set", "eta=0.5")
    ran = run(*other)
    assert ran.status == 2
    assert "a.csv exists and holds something else" in ran.err
    assert "--fresh" in ran.err
    assert Path("a.csv").read_bytes() == first
    assert run(*other, "--fresh").status == 0
    assert Path("a.csv").read_bytes() != first
    assert [path.name for path in Path().iterdir()] == ["a.csv"]


# What comes next


@pytest.mark.parametrize("name", ["a.csv", "my learners.csv", "b.tsv", "c.parquet", "[red].csv"])
def test_next_works_whatever_the_file(run: Run, name: str) -> None:
    manifest = follow(run, run("simulate", *SMALL, "--out", name))
    assert manifest["learners"] == 4
    assert manifest["models"][0]["name"] == "OneForAll"


@pytest.mark.parametrize("rule", ["gradient", "exp3-ix"])
@pytest.mark.parametrize("form", ["gain", "loss"])
def test_next_fits_the_rule_that_was_simulated(run: Run, rule: str, form: str) -> None:
    words = ("--rule", rule, "--form", form, "--max-rate", 2, "--learners", 1, "--trials", 40)
    ran = run("simulate", *words, "--out", "a.csv")
    manifest = follow(run, ran)
    assert rules_of(manifest) == {(rule, form)}
    assert manifest["options"]["max_rate"] == 2


@pytest.mark.parametrize("model", ["OnePerItem", "Coin"])
def test_next_of_the_published_mistake(run: Run, model: str) -> None:
    ran = run("simulate", *SMALL, "--as-published", "--model", model, "--out", "a.csv")
    assert "--reward-range 0,15" in ran.out
    rewards = pl.read_csv("a.csv")["reward"]
    assert (rewards.max() > 1) == (model == "OnePerItem")
    assert follow(run, ran)["options"]["reward_range"] == ["0", "15"]


TASK = """
name = "mine"
actions = ["left", "mid", "right"]
order = "independent"
trials = 40
reward_range = [-2, 2]
contexts = [
  { name = "a b", rewards = { left = -2, mid = 0.5, right = { probability = 0.8, reward = 2 } } },
  { name = "c", rewards = { left = 1, mid = 0, right = -1.5 } },
]
[stop]
correct_in_a_row = 6
"""


def test_next_with_a_task_of_ones_own(run: Run) -> None:
    Path("a task.toml").write_text(TASK, encoding="utf-8")
    words = ("simulate", "--task", "a task.toml", "--model", "OnePerItem", "--set", "eta=0.5")
    ran = run(*words, "--out", "a.csv")
    frame = pl.read_csv("a.csv")
    assert frame["reward"].min() == -2
    assert frame.group_by("learner").len()["len"].max() <= 40
    assert follow(run, ran)["options"]["task"] == "a task.toml"
    ran = run(*words, "--as-published", "--out", "b.csv", "--learners", 30)
    assert next_of(ran)[:3] == ["select", "b.csv", "--task"]
    assert "--reward-range" not in ran.out  # places 1 and 2 are in the range
    assert run(*next_of(ran)[:-1], "results-b").status == 0


def test_next_leaves_out_learners_of_one_trial(run: Run) -> None:
    Path("quick.toml").write_text(TASK.replace("= 6", "= 1"), encoding="utf-8")
    ran = run("simulate", "--task", "quick.toml", "--learners", 30, "--out", "a.csv")
    lengths = pl.read_csv("a.csv").group_by("learner").len()["len"]
    assert lengths.min() == 1
    assert next_of(ran)[-4:-2] == ["--min-trials", "2"]
    assert follow(run, ran)["learners"] == (lengths > 1).sum()


# Doubles of recorded learners


@pytest.fixture
def recorded(run: Run) -> Path:
    """Results of four learners of five-four."""
    words = ("--model", "ByShape", "--set", "eta=0.3", "--order", "blocks")
    assert run("simulate", *SMALL, *words, "--out", "a.csv").status == 0
    ran = run("select", "a.csv", "--task", "five-four", "--out", "res")
    assert ran.status == 0, ran.err
    return Path("res")


def test_like_results(run: Run, recorded: Path) -> None:
    words = ("simulate", "--like", recorded, "--model", "ByShape")
    ran = run(*words, "--out", "b.csv")
    assert ran.err == ""
    one, two = pl.read_csv("a.csv"), pl.read_csv("b.csv")
    assert one.select("learner", "trial", "context").equals(
        two.select("learner", "trial", "context")
    )
    assert not one["action"].equals(two["action"])
    assert run(*words, "--set", "eta=0.3", "--out", "c.csv").status == 0
    assert run(*words, "--set", "eta=0.3:0.3", "--out", "c.csv").status == 0  # the same again
    assert run(*words, "--seed", 9, "--out", "c.csv").status == 2
    assert Path("b.csv").read_bytes() != Path("c.csv").read_bytes()
    manifest = follow(run, ran)
    assert manifest["options"]["task"] == "five-four"
    assert len(manifest["models"]) == 6


def test_like_is_at_the_learners_estimates(run: Run, recorded: Path) -> None:
    estimates = pl.read_csv(recorded / "estimates.csv").filter(
        model="OneForAll", trials_fitted=90, learner=1
    )
    words = ("simulate", "--like", recorded, "--model", "OneForAll")
    assert run(*words, "--out", "b.csv").status == 0
    eta = repr(estimates["estimate"].item())
    assert run(*words, "--set", f"eta={eta}", "--out", "c.csv").status == 0
    mine = [pl.read_csv(name).filter(learner=1) for name in ("b.csv", "c.csv")]
    assert mine[0].equals(mine[1])


@pytest.mark.parametrize(("learners", "rows"), [(2, [0, 2]), (6, [0, 1, 2, 3, 0, 1])])
def test_like_with_fewer_or_more_learners(
    run: Run, recorded: Path, learners: int, rows: list[int]
) -> None:
    ran = run("simulate", "--like", recorded, "--learners", learners, "--out", "b.csv")
    assert ran.status == 0
    context = [pl.read_csv(f)["context"].to_numpy().reshape(-1, 90) for f in ("a.csv", "b.csv")]
    np.testing.assert_array_equal(context[1], context[0][rows])


@pytest.mark.parametrize(
    "words",
    [
        ["--task", "five-four"],
        ["--order", "blocks"],
        ["--rule", "exp3"],
        ["--form", "loss"],
        ["--max-rate", "2"],
    ],
)
def test_like_takes_the_design_of_the_results(run: Run, recorded: Path, words: list[str]) -> None:
    ran = run("simulate", "--like", recorded, *words, "--out", "b.csv")
    assert ran.status == 2
    assert f"{words[0]} beside --like" in ran.err
    assert not Path("b.csv").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trials", "20"], "have as many trials as were recorded"),
        (["--model", "Nobody"], "the results have no model 'Nobody'; their models are OneForAll"),
        (["--set", "eta=0.1,0.2"], "needs one value; given: 2"),
        (["--set", "eta=1.2"], "must lie between 0 and 1, got 1.2"),
    ],
)
def test_like_says_what_is_wrong(run: Run, recorded: Path, words: list[str], message: str) -> None:
    ran = run("simulate", "--like", recorded, *words, "--out", "b.csv")
    assert ran.status == 2
    assert message in ran.err
    assert not Path("b.csv").exists()


def test_like_notices_that_the_data_have_changed(run: Run, recorded: Path) -> None:
    text = Path("a.csv").read_text()
    Path("a.csv").write_text(text.replace("B", "A", 1))
    ran = run("simulate", "--like", recorded, "--out", "b.csv")
    assert ran.status == 2
    assert "a.csv has changed since res was made" in ran.err
    Path("a.csv").unlink()
    ran = run("simulate", "--like", recorded, "--out", "b.csv")
    assert ran.status == 2
    assert "res was made from a.csv, which is not there" in ran.err


def test_like_with_the_published_mistake(run: Run, recorded: Path) -> None:
    words = ("simulate", "--like", recorded, "--model", "OnePerItem")
    ran = run(*words, "--as-published", "--out", "b.csv")
    assert pl.read_csv("b.csv")["reward"].max() > 1
    assert follow(run, ran)["options"]["reward_range"] == ["0", "15"]


def test_like_without_a_task(run: Run) -> None:
    """Tests, forced choices, rewards of -1 and 1, a rule: all is there when the file is read."""
    rows = [
        (i, t, "xy"[t % 2], "LR"[(t // 2 + i) % 2], t >= 40, t % 7 == 3)
        for i in range(3)
        for t in range(50)
    ]
    frame = pl.DataFrame(
        rows, ["learner", "trial", "item", "choice", "test", "forced"], orient="row"
    )
    right = (pl.col("item") == "x") == (pl.col("choice") == "L")
    frame.with_columns(reward=pl.when(right).then(1).otherwise(-1)).write_csv("a.csv")
    rule = ("--rule", "exp3", "--form", "loss")
    ran = run(
        *("select", "a.csv", "--reward-range", "-1,1", "--out", "res", *rule),
        *("--test-when", "test == true", "--forced-when", "forced == true"),
    )
    assert ran.status == 0, ran.err
    ran = run("simulate", "--like", "res", "--model", "OnePerItem", "--out", "b.csv")
    assert "no task file says what the actions earn" in ran.err
    doubles = pl.read_csv("b.csv").with_columns(pl.col("learner") - 1)
    forced = frame["forced"]
    assert doubles["scored"].to_list() == (~forced).to_list()
    assert doubles["learned"].to_list() == (~frame["test"]).to_list()
    assert doubles["action"].filter(forced).equals(frame["choice"].filter(forced))
    assert doubles["reward"].is_null().to_list() == frame["test"].to_list()
    right = (doubles["context"] == "x") == (doubles["action"] == "L")
    taught = ~frame["test"]
    assert (doubles["reward"].filter(taught) == 1).equals(right.filter(taught))
    assert "--task" not in ran.out
    manifest = follow(run, ran)
    assert rules_of(manifest) == {("exp3", "loss")}
    assert manifest["options"]["reward_range"] == ["-1", "1"]
    assert manifest["columns"]["scored"] == "scored (guessed)"
    assert manifest["columns"]["learned"] == "learned (guessed)"
    ran = run("simulate", "--like", "res", "--as-published", "--out", "c.csv")
    assert ran.status == 2
    assert "can be made in a task only" in ran.err
