"""Roles and codings that are guessed from names and from what columns hold."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import howlearn
from howlearn.core.errors import HowlearnError
from howlearn.reading.guess import inspect
from howlearn.reading.guess.column_checks import is_key, nothing_in
from howlearn.reading.guess.inspection import Inspection
from howlearn.reading.read import read
from made import MADE, choices

EXPECTED: dict[str, dict[str, Any]] = {
    "jspsych": {
        "learner": "subject_id",
        "context": ("stimulus",),
        "action": "response",
        "reward": "correct",
        "trial": ("trial_index",),
        "where": "task == 'response'",
        "rt": "rt",
    },
    "psychopy": {
        "learner": "participant",
        "context": ("stimFile",),
        "action": "key_resp.keys",
        "reward": "key_resp.corr",
        "trial": ("trials.thisN",),
        "where": "`trials.thisN` != missing",
        "missing": ("action:None",),
        "rt": "key_resp.rt",
    },
    "hbayesdm_bandit": {
        "learner": "subjID",
        "context": ("none",),
        "action": "choice",
        "reward": "outcome",
        "trial": ("trial",),
        "recode": ("reward:-1=0,1=1",),
    },
    "hbayesdm_gamble": {
        "learner": "subjID",
        "context": ("none",),
        "action": "choice",
        "reward": "gain + loss",
        "trial": ("trial",),
        "reward_scale": (-200.0, 100.0),
    },
    "gorilla": {
        "learner": "Participant Private ID",
        "context": ("Spreadsheet: Image",),
        "action": "Response",
        "reward": "Correct",
        "trial": ("none",),
        "where": "(display != 'practice') and (`Zone Type` == 'response_keyboard')",
        "rt": "Reaction Time",
    },
    "restarting": {
        "learner": "person",
        "context": ("cue",),
        "action": "choice",
        "reward": "points",
        "trial": ("block", "trial"),
        "reward_scale": (2.0, 10.0),
    },
    "nameless": {"learner": "q1", "context": ("none",), "action": "q3", "reward": "q4"},
    "phases": {
        "learner": "Subject",
        "context": ("stimulus",),
        "action": "response",
        "reward": "accuracy",
        "where": "phase != 'practice'",
    },
}
TRIALS = {
    "jspsych": 72,
    "psychopy": 58,
    "hbayesdm_bandit": 120,
    "hbayesdm_gamble": 80,
    "gorilla": 120,
    "restarting": 120,
    "nameless": 180,
    "phases": 80,
}


def said(found: Inspection) -> str:
    return "\n".join(map(str, found.oddities))


@pytest.mark.parametrize("name", MADE)
def test_made_files(name: str) -> None:
    data = MADE[name]()
    found = inspect(data)
    assert found.options == EXPECTED[name]
    assert found.study is not None
    assert len(found.study.context) == TRIALS[name]
    again = read(data, **found.options)  # what was guessed is all that reading needs
    assert again.action.tolist() == found.study.action.tolist()
    told = found.comments()
    assert told.keys() == found.options.keys()  # no guess without its reason
    assert all("guessed" in line for lines in told.values() for line in lines)
    assert "learner ←" in repr(found)


def test_made_files_as_text(tmp_path: Path) -> None:
    for name, made in MADE.items():
        path = tmp_path / f"{name}.csv"
        made().write_csv(path)
        found = inspect(path)
        expected = {**EXPECTED[name]}
        if name == "psychopy":  # in its files None is known to mean nothing
            del expected["missing"]
        assert found.options == expected, name
        assert list(found.files) == [str(path)]


def frame(n: int = 40, **columns: Any) -> pl.DataFrame:
    """Two learners with n trials each; further columns may be lists or functions of the row."""
    rows = [
        {"participant": who, "cue": context, "choice": key, "reward": int(key == right)}
        for who in ("a", "b")
        for context, right, key in choices(ord(who), n)
    ]
    data = pl.DataFrame(rows)
    for name, values in columns.items():
        made = [values(row) for row in range(2 * n)] if callable(values) else values
        data = data.with_columns(pl.Series(name, made, strict=False))
    return data


def test_what_is_said_is_never_guessed() -> None:
    data = frame(correct=lambda row: row % 2, key=lambda row: "xy"[row % 2])
    found = inspect(data, reward="correct", action="key", learner="file", min_trials=3)
    assert {found.guesses[name].how for name in ("reward", "action", "learner", "min_trials")} == {
        "you said so"
    }
    assert found.options["min_trials"] == 3
    derived = inspect(data, action="choice == 'f'", reward="choice == key")
    assert derived.study is not None
    assert derived.study.actions == ("no", "yes")
    with pytest.raises(HowlearnError, match="there is no column chois"):
        inspect(data, action="chois == 'f'")
    with pytest.raises(HowlearnError, match="there is no option contxt"):
        inspect(data, contxt="cue")


def test_other_candidates_are_named() -> None:
    found = inspect(frame(response=lambda row: "xy"[row % 2]))
    assert found.options["action"] == "choice"
    assert found.guesses["action"].others == ("response",)
    assert "--action response" in said(found)
    assert "could also be response" in found.comments()["action"][0]


def test_the_right_answer_helps() -> None:
    key = {"A": "f", "B": "j"}
    data = frame().with_columns(pl.col("cue").replace(key).alias("correct_key"))
    compared = inspect(data.drop("reward"))
    assert compared.options["reward"] == "choice == correct_key"
    assert compared.study is not None
    assert compared.study.reward.tolist() == data["reward"].to_list()
    only = inspect(data.drop("choice"))  # right or wrong, and what was right
    assert only.study is not None
    chosen = ["yes" if choice == "j" else "no" for choice in data["choice"]]
    yes = str(only.options["action"]).split("'")[1]
    assert [only.study.actions[a] for a in only.study.action] == (
        chosen if yes == "j" else [{"yes": "no", "no": "yes"}[c] for c in chosen]
    )


@pytest.mark.parametrize(
    ("column", "values", "where"),
    [
        ("phase", ["practice", "learn", "learn", "learn"], "phase != 'practice'"),
        (
            "block_type",
            ["demo", "warm-up", "main", "main"],
            "block_type not in ['demo', 'warm-up']",
        ),
        ("phase", ["training", "main", "main", "main"], "phase != 'training'"),
        ("phase", ["training", "training", "test", "test"], None),
        ("is_practice", ["TRUE", "FALSE", "FALSE", "FALSE"], "not is_practice"),
        ("phase", ["learn", "learn", "learn", "learn"], None),
        ("phase", ["it's practice", "a", "a", "b"], 'phase != "it\'s practice"'),
    ],
)
def test_practice(column: str, values: list[str], where: str | None) -> None:
    data = frame(phase=lambda row: values[row % 40 // 10])
    found = inspect(data.rename({"phase": column}))
    assert found.options.get("where") == where
    assert found.study is not None
    left = 0 if where is None else 20 * (2 if "not in" in where else 1)
    assert found.study.counts.get("left out by --where", 0) == left


@pytest.mark.parametrize(
    ("rewards", "option", "value"),
    [
        ((0, 1), None, None),
        ((0.2, 0.7), None, None),
        ((-1, 1), "recode", ("reward:-1=0,1=1",)),
        ((-1, 0, 1), "reward_scale", (-1.0, 1.0)),
        ((0, 5, 100), "reward_scale", (0.0, 100.0)),
        ((5, 10), "reward_scale", (5.0, 10.0)),
        ((3, 5, 10), "reward_scale", (0.0, 10.0)),
        (("correct", "incorrect"), None, None),
        (("TRUE", "FALSE"), None, None),
    ],
)
def test_codings_of_rewards(rewards: tuple[Any, ...], option: str | None, value: Any) -> None:
    draw = random.Random(3)
    found = inspect(frame(reward=lambda _: str(draw.choice(rewards))))
    coded = {"recode", "reward_scale", "missing", "reward_range"} & found.options.keys()
    assert coded == ({option} if option else set())
    if option:
        assert found.options[option] == value
    assert found.study is not None
    assert found.study.reward.min() >= 0
    assert found.study.reward.max() <= 1


def test_a_few_wrong_rewards_are_told() -> None:
    found = inspect(frame(100, reward=lambda row: "7" if row in (3, 50) else str(row % 2)))
    assert found.options["missing"] == ("reward:7",)
    assert "--reward-range 0,7" in said(found)
    assert found.study is not None
    assert int((~found.study.learned).sum()) == 2


def test_codes_for_nothing() -> None:
    assert nothing_in({"f": 5, "j": 5, "No response": 1, "too slow": 1}) == (
        "No response",
        "too slow",
    )
    assert nothing_in({"1": 5, "2": 5, "3": 1}) == ()
    assert nothing_in({"0": 5, "1": 5, "2": 4, "999": 1}) == ("999",)
    assert nothing_in({"miss": 5, "hit": 5}) == ()  # then there would be one action only
    assert [is_key(v) for v in ("ArrowLeft", "space", "left arrow", "maybe")] == [1, 1, 1, 0]


def test_conditions_with_other_answers_and_blocks_with_new_contexts() -> None:
    rows = [
        {"id": who, "condition": c, "item": x, "resp": key, "acc": int(key == right)}
        for who in (1, 2, 3)
        for c in ("easy", "hard")
        for x, right, key in choices(who, 30, "AB", ("f", "j") if c == "easy" else ("j", "f"))
    ]
    assert inspect(pl.DataFrame(rows)).options["by"] == ("condition",)
    same = [row | {"condition": c} for c in ("easy", "hard") for row in rows[:30]]
    assert "by" not in inspect(pl.DataFrame(same)).options
    sets = [
        {"id": who, "block": b, "item": x, "resp": key, "acc": int(key == right)}
        for who in (1, 2, 3)
        for b in (1, 2, 3)
        for x, right, key in choices(who, 24, "ABC"[:b])
    ]
    found = inspect(pl.DataFrame(sets))
    assert found.options["context"] == ("block", "item")
    assert found.options["reset_by"] == ("block",)
    assert inspect(pl.DataFrame(sets), context="item").options["context"] == ("item",)


def test_orders() -> None:
    numbers = [row % 20 + 1 for row in range(80)]
    block = inspect(frame(trial=numbers, block=[row % 40 // 20 for row in range(80)]))
    assert block.options["trial"] == ("block", "trial")
    assert "--reset-by block" in said(block)
    days = [f"2024-01-{9 + row % 40 // 20:02}" for row in range(80)]
    assert inspect(frame(trial=numbers, date=days)).options["trial"] == ("date", "trial")
    rows = inspect(frame(trial=numbers))
    assert rows.options["trial"] == ("none",)
    assert "restarts within learners" in said(rows)
    mixed = inspect(frame(trial=[row % 2 for row in range(80)]))
    assert "several learners read as one" in said(mixed)
    usual = inspect(frame(trial=[*range(40), *range(40)]))
    assert usual.options["trial"] == ("trial",)


def test_features_and_groups() -> None:
    data = frame().with_columns(
        pl.col("cue").replace({"A": "round", "B": "square"}).alias("shape"),
        pl.col("cue").replace({"A": "1", "B": "2"}).alias("answer"),
    )
    assert "features" not in inspect(data).options  # as fine as the context
    rows = [
        {"id": w, "item": x, "resp": k, "acc": int(k == r), "colour": x in "AB", "group": w % 2}
        for w in range(6)
        for x, r, k in choices(w, 40, "ABCD")
    ]
    found = inspect(pl.DataFrame(rows))
    assert found.options["features"] == ("colour",)
    assert found.options["keep"] == ("group",)
    assert "howlearn compare results --group group" in said(found)


def test_it_is_howlearn_inspect() -> None:
    assert howlearn.inspect is inspect


def test_an_empty_column_is_not_taken_by_its_name() -> None:
    data = frame(trial=[*range(40), *range(40)]).rename({"choice": "button_pressed"})
    empty = data.with_columns(response=pl.lit(None, pl.String))
    assert read(empty).actions == read(data).actions
