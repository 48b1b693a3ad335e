"""What names do not tell is found by what columns do, and asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from howlearn.reading.guess import inspect

PEOPLE, TRIALS = 8, 80


def learners(contexts: str = "a", chance: float = 0.85, turns: int = 0) -> list[dict[str, Any]]:
    """People who stay after a success and mostly leave after a failure; what is right may turn."""
    draw = np.random.default_rng(len(contexts) + turns)
    rows = []
    for who in range(PEOPLE):
        last = {c: int(draw.integers(2)) for c in contexts}
        for t in range(TRIALS):
            c = contexts[draw.integers(len(contexts))]
            right = (contexts.index(c) + (t // turns if turns else 0)) % 2
            won = bool(draw.random() < (chance if last[c] == right else 1 - chance))
            rows.append({"who": f"p{who}", "t": t, "shown": c, "made": last[c], "won": won})
            if draw.random() < (0.1 if won else 0.7):
                last[c] = 1 - last[c]
    return rows


def asked(data: Any, **options: Any) -> dict[str, list[Any]]:
    """The answers to what is asked, by the option that it is about."""
    found = inspect(data, **options)
    return {q.about: [answer.value for answer in q.answers] for q in found.questions}


def test_a_choice_and_an_outcome_without_telling_names() -> None:
    rows = [
        {"subject": r["who"], "trial": r["t"], "flower": ("blue", "pink")[r["made"]]}
        | {"reward": ("quinine", "sucrose")[r["won"]]}
        for r in learners(turns=20)
    ]
    found = inspect(pl.DataFrame(rows))
    assert found.questions == ()
    assert found.roles["action"] == "flower"
    assert any("flower is taken as what was chosen" in str(each) for each in found.oddities)
    idle = [row | {"flower": ("blue", "pink")[i % 7 < 3]} for i, row in enumerate(rows)]
    assert "action" not in inspect(pl.DataFrame(idle)).roles
    pecks = [
        {"bird": r["who"], "trial": r["t"], "sample": r["shown"], "peck": "LR"[r["made"]]}
        | {"grain": ("no", "yes")[r["won"]]}
        for r in learners("ab")
    ]
    found = inspect(pl.DataFrame(pecks))
    assert found.roles["reward"] == "grain"
    assert "is grain what a choice earned?" in str(found.questions[0])
    assert asked(pl.DataFrame(pecks), reward="grain", context="sample") == {}


def test_wins_and_points_may_both_be_meant() -> None:
    draw = np.random.default_rng(2)
    rows = [
        {"subject": r["who"], "trial": r["t"], "choice": r["made"], "win": int(r["won"])}
        | {"points": int(r["won"]) * int(draw.integers(1, 100))}
        for r in learners(turns=20)
    ]
    assert sorted(asked(pl.DataFrame(rows))["reward"]) == ["points", "win"]
    assert asked(pl.DataFrame(rows), reward="points") == {}


def test_a_column_with_long_stretches_may_be_the_learner() -> None:
    rows = [
        {"tank": r["who"], "choice": r["made"], "reward": int(r["won"])} for r in learners(turns=20)
    ]
    assert asked(pl.DataFrame(rows)) == {"learner": ["tank", "file"]}
    counted = pl.DataFrame(rows).with_row_index("trial")
    assert asked(counted) == {"learner": ["file", "tank"]}


def test_what_changes_from_row_to_row_is_not_the_learner() -> None:
    rows = [
        {"child": r["who"], "trial": r["t"], "animal": {"a": "frog", "b": "owl"}[r["shown"]]}
        | {"choice": r["made"], "reward": int(r["won"])}
        for r in learners("ab")
    ]
    assert inspect(pl.DataFrame(rows)).roles["learner"] == "child"


def test_numbers_that_choices_follow_may_have_been_shown() -> None:
    draw = np.random.default_rng(3)
    rows = []
    for who in range(PEOPLE):
        for t in range(TRIALS):
            x, y = draw.uniform(0, 90, 2).round(2)
            skill = min(0.5 + t / TRIALS, 0.95)
            made = int(x > y) if draw.random() < skill else int(x <= y)
            rows.append([who, t, x, y, made, int(made == (x > y))])
    names = ["subject", "trial", "pitch", "tilt", "response", "correct"]
    data = pl.DataFrame(rows, schema=names, orient="row")
    found = inspect(data)
    assert found.questions[0].answers[0].typed == "--features pitch,tilt"
    assert inspect(data, features=["pitch", "tilt"]).questions == ()


def test_three_stimuli_that_change_places() -> None:
    draw = np.random.default_rng(4)
    rows = []
    for r in learners(turns=20):
        places = draw.permutation(["sun", "moon", "star"])
        key = int(np.flatnonzero(places == ("sun", "moon")[r["made"]])[0])
        shown = dict(zip(("stim_pos1", "stim_pos2", "stim_pos3"), places, strict=True))
        rows.append(
            {"subject": r["who"], "trial": r["t"], **shown, "key": key + 1, "won": r["won"]}
        )
    found = inspect(pl.DataFrame(rows), reward="won")
    assert found.options["offered"] == ("stim_pos1", "stim_pos2", "stim_pos3")
    assert found.options["positions"] == ("1", "2", "3")
    assert found.study is not None
    assert {*found.trials()["action"]} == {"sun", "moon"}


@pytest.mark.parametrize("name", ["VP{}_session{}.csv", "day{1}/VP{0}.csv", "VP{}/run-{}.csv"])
def test_files_of_one_learner_are_put_together(tmp_path: Path, name: str) -> None:
    data = pl.DataFrame(learners("ab"))
    for i in range(3):
        for part in (1, 2):
            path = tmp_path / name.format(f"0{i}", part)
            path.parent.mkdir(exist_ok=True)
            rows = data.filter(pl.col("who") == f"p{i}").slice(40 * (part - 1), 40)
            rows.select(stimulus="shown", choice="made", reward=pl.col("won").cast(int)).write_csv(
                path
            )
    found = inspect(sorted(tmp_path.iterdir()))
    assert found.study is not None
    assert [*found.study.learners] == ["VP00", "VP01", "VP02"]
    assert found.trials().height == 3 * TRIALS
    assert any("6 files of 3 learners were put together" in note for note in found.notes)


def test_a_stop_signal_task_is_not_covered() -> None:
    draw = np.random.default_rng(5)
    rows = []
    for who in range(12):
        for t in range(160):
            arrow = ("left", "right")[draw.integers(2)]
            stop, late = draw.random() < 0.25, draw.random() < 0.5
            slip = "left" if arrow == "right" else "right"
            made = "none" if stop and not late else slip if draw.random() < 0.04 else arrow
            right = not stop or not late if made != slip else False
            rows.append([who, t, arrow, made, int(right), None if stop else 400])
    names = ["subject", "trial", "stimulus", "response", "accuracy", "RT"]
    found = inspect(pl.DataFrame(rows, schema=names, orient="row"))
    assert found.kind is not None
    assert "not learned from outcomes" in str(found.kind.stops)


def test_shocks_and_words_of_other_languages() -> None:
    rows = [
        {"subject": r["who"], "trial": r["t"], "cue": r["shown"], "button": "LR"[r["made"]]}
        | {"shock": int(not r["won"]), "fb_text": ("Falsch", "Richtig")[r["won"]]}
        for r in learners("ab")
    ]
    data = pl.DataFrame(rows)
    assert inspect(data.drop("fb_text")).roles["reward"] == "shock == 0"
    assert inspect(data.drop("shock")).roles["reward"] == "fb_text"
    late = data.with_columns(
        fb_text=pl.when(pl.col("trial") == 7).then(pl.lit("No response given")).otherwise("fb_text")
    )
    assert inspect(late.drop("shock")).options["missing"] == ("reward:No response given",)
