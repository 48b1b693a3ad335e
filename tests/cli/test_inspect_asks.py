"""What the data do not tell is asked; what was not clear is repeated in the results."""

from __future__ import annotations

import json
import os
import pty
import random
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howlearn.reading.guess import inspect
from running import Run


@pytest.fixture
def unclear(run: Run) -> Path:
    """Two columns that could both be the choice."""
    draw = random.Random(1)
    rows = [
        {"who": who, "cue": "AB"[t % 2], "choice": draw.choice("fj"), "response": draw.choice("lr")}
        | {"reward": draw.randint(0, 1)}
        for who in "abcd"
        for t in range(60)
    ]
    pl.DataFrame(rows).rename({"who": "subject"}).write_csv("unclear.csv")
    return Path("unclear.csv")


def test_nobody_to_ask(run: Run, unclear: Path) -> None:
    ran = run("inspect", unclear, "--trials", "trials.csv")
    assert ran.status == 2
    assert "which column is the action: choice, response?" in ran.err
    assert "--action response" in ran.err
    assert [path.name for path in Path().iterdir()] == ["unclear.csv"]
    selected = run("select", unclear, "--criterion", "aic")
    assert selected.status == 2
    assert "--action response" in selected.err
    assert not Path("results").exists()


def test_the_answer_is_an_option(run: Run, unclear: Path) -> None:
    ran = run("inspect", unclear, "--action", "response", "--trials", "trials.csv")
    assert ran.status == 0, ran.err
    assert "doubts" not in Path("howlearn.toml").read_text()
    table = pl.read_csv("trials.csv")
    assert table.columns == (
        "learner trial context action reward offered block scored learned".split()
    )
    assert table["action"].to_list() == pl.read_csv(unclear)["response"].to_list()
    assert table["offered"].null_count() == table["block"].null_count() == table.height
    again = run("inspect", unclear, "--action", "response", "--trials", "trials.csv")
    assert again.status == 2
    assert "--fresh replaces it" in again.err


def test_yes_takes_the_first_and_says_so(run: Run, unclear: Path) -> None:
    ran = run("inspect", unclear, "--yes")
    assert ran.status == 0, ran.err
    (doubt,) = tomllib.loads(Path("howlearn.toml").read_text())["data"]["doubts"]
    assert "--action choice was taken" in doubt
    selected = run("select", "--criterion", "aic")
    assert selected.status == 0, selected.err
    assert doubt in selected.err
    assert doubt in json.dumps(json.loads(Path("results/manifest.json").read_text()))
    assert run("inspect", unclear, "--action", "choice").status == 0  # now it is clear
    assert "doubts" not in Path("howlearn.toml").read_text()


def test_json(run: Run, unclear: Path) -> None:
    ran = run("inspect", unclear, "--json")
    assert ran.status == 2
    told = json.loads(ran.out)
    assert told["roles"]["action"]["column"] == "choice"
    (runner,) = told["roles"]["action"]["runners_up"]
    assert runner["column"] == "response"
    (question,) = told["questions"]
    assert [answer["option"] for answer in question["answers"]] == [
        "--action choice",
        "--action response",
    ]
    assert told["kind"]["name"] == "contextual learning"
    found = inspect(unclear)
    assert found.as_json() == told
    answered = run("inspect", unclear, "--json", "--action", "response")
    assert answered.status == 0
    assert json.loads(answered.out)["questions"] == []


def test_json_where_nothing_can_be_read_before_an_answer(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    arrays = {n: rng.integers(2, size=(6, 30, 3)) for n in ("stim", "choice", "reward")}
    np.savez(tmp_path / "a.npz", **arrays)
    ran = run("inspect", tmp_path / "a.npz", "--json")
    assert ran.status == 2
    told = json.loads(ran.out)
    (question,) = told["questions"]
    assert question["about"] == "axes"
    [answer] = question["answers"]
    assert answer["option"] == "--axes learner,trial,block"
    assert told["roles"] == {}
    assert "arrays with 3 axes" in told["problems"]
    answered = run("inspect", tmp_path / "a.npz", "--json", *answer["option"].split(), "--yes")
    assert "learner" in json.loads(answered.out)["roles"]
    nothing = run("inspect", tmp_path / "absent.csv", "--json")
    assert nothing.status == 2
    assert json.loads(nothing.out)["questions"] == []


def test_somebody_is_asked_on_a_terminal(unclear: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "howlearn", "inspect", str(unclear)]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, b"2\n")
    said = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    assert process.wait(60) == 0, said.decode()
    assert b"Which?" in said
    assert tomllib.loads(Path("howlearn.toml").read_text())["data"]["action"] == "response"


def test_blocks_and_offers_are_in_the_trials(run: Run) -> None:
    draw = random.Random(2)
    rows = []
    for who in range(4):
        for block in (1, 2):
            for t in range(1, 31):
                pair = draw.sample("abc", 2)
                row = {"subject": who, "block": block, "trial": t, "opt1": pair[0], "opt2": pair[1]}
                rows.append(row | {"chosen": draw.choice(pair), "reward": draw.randint(0, 1)})
    pl.DataFrame(rows).write_csv("data.csv")
    ran = run("inspect", "data.csv", "--reset-by", "block", "--trials", "trials.csv")
    assert ran.status == 0, ran.err
    table = pl.read_csv("trials.csv")
    assert table["block"].to_list() == pl.read_csv("data.csv")["block"].to_list()
    shown = ["|".join(sorted((row["opt1"], row["opt2"]))) for row in rows]
    assert table["offered"].to_list() == shown
    assert table["trial"].to_list() == [*range(1, 61)] * 4


def test_yes_does_not_say_that_people_learned(run: Run, tmp_path: Path) -> None:
    draw, rows = np.random.default_rng(0), []
    for who in range(8):
        for t in range(100):
            target = int(draw.random() < 0.5)
            made = target if draw.random() < 0.85 else 1 - target
            rows.append({"subj": who, "trial": t, "cue": f"c{target}", "key": made})
            rows[-1] |= {"acc": int(made == target)}
    path = tmp_path / "known.csv"
    pl.DataFrame(rows).write_csv(path)
    ran = run("inspect", path, "--yes")
    assert ran.status == 2
    assert "were people told acc, and learned from it?" in ran.err
    assert "--yes" not in ran.err
    assert not (tmp_path / "howlearn.toml").exists()
    assert run("inspect", path, "--reward", "acc").status == 0
