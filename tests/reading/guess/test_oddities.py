"""What is odd is told, and nothing that a file holds makes an inspection fail."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.reading.guess import inspect
from howlearn.reading.guess.behaviour import explained, goes_on, hangs_on
from howlearn.reading.guess.evidence import score
from made import choices


def rows(n: int = 40, who: str = "ab", **more: Any) -> list[dict[str, Any]]:
    return [
        {"participant": one, "cue": context, "choice": key, "reward": int(key == right), **more}
        for one in who
        for context, right, key in choices(ord(one[0]), n)
    ]


def told(data: list[dict[str, Any]] | pl.DataFrame, **options: Any) -> str:
    frame = pl.DataFrame(data, infer_schema_length=None) if isinstance(data, list) else data
    found = inspect(frame, **options)
    assert found.study is not None, found.problems
    return "\n".join(map(str, found.oddities))


def test_learners() -> None:
    few = [*rows(60), *rows(3, "c")]
    assert "few trials: c (fewer than 4; the median is 60) (--min-trials 4" in told(few)
    stuck = [*rows(), *({**row, "choice": "f"} for row in rows(20, "z"))]
    assert "z always chooses the same" in told(stuck)
    one = [*rows(), {**rows(1, "q")[0]}]
    found = inspect(pl.DataFrame(one))
    assert found.options["min_trials"] == 2
    assert found.study is not None
    assert found.study.learners == ("a", "b")
    assert "differ only in case or spaces" in told([*rows(who="x"), *rows(who="X")])


def test_names_that_are_nearly_the_same() -> None:
    near = [{**row, "choice": "F" if i == 0 else row["choice"]} for i, row in enumerate(rows())]
    assert "the actions F and f differ only in case or spaces (--recode action:f=F" in told(near)


def test_columns() -> None:
    text = told([{**row, "site": "here", "notes": None} for row in rows()])
    assert "site has one value only" in text
    assert "notes has no value in any row" in text
    assert "the reward is 1 in every trial" in told([{**row, "reward": 1} for row in rows()])
    twice = [{**row, "trial": i % 40} for i, row in enumerate(rows())]
    assert "3 rows occur twice in the data" in told([*twice, *twice[:3]])


def test_contexts() -> None:
    draw = random.Random(2)
    many = [{**row, "cue": f"c{draw.randrange(25)}"} for row in rows(200)]
    assert "there are 25 contexts, each shown 8 times" in told(many)
    single = [{**row, "cue": i / 7} for i, row in enumerate(rows())]
    text = told(single)
    assert "cue differs in nearly every trial" in text
    assert "--bin cue:4" in text


def test_right_or_wrong_is_not_a_choice() -> None:
    found = inspect(pl.DataFrame(rows()).drop("choice").rename({"reward": "correct"}))
    assert found.lacking == ("action",)
    assert "no column says which it was" in repr(found)
    marked = [{**row, "response": ("no", "yes")[row["reward"]]} for row in rows()]
    other = inspect(pl.DataFrame(marked).drop("choice"))
    assert other.lacking == ("action",)
    assert "response says only whether a choice was right" in repr(other)


def test_reaction_times() -> None:
    slow = [{**row, "RT": 9000 if i == 5 else 20 if i < 2 else 500} for i, row in enumerate(rows())]
    text = told(slow)
    assert "of 80 choices 2 took less than 100 ms and 1 more than ten times the median" in text
    assert '--where "RT >= 100"' in text


def test_a_test_with_rewards() -> None:
    data = [{**row, "phase": "test" if i % 40 > 29 else "learn"} for i, row in enumerate(rows())]
    [question] = inspect(pl.DataFrame(data)).questions
    assert "--test-when \"phase == 'test'\"" in str(question)


def test_a_running_total_is_no_reward() -> None:
    data = [{**row, "points": 5 * i} for i, row in enumerate(rows(who="a"))]
    text = told(pl.DataFrame(data).rename({"reward": "acc"}))
    assert "points only ever grows within a learner" in text


def test_missing_contexts_are_left_out_and_counted() -> None:
    data = [{**row, "cue": None if i == 4 else row["cue"]} for i, row in enumerate(rows())]
    found = inspect(pl.DataFrame(data))
    assert found.options["where"] == "cue != missing"
    assert found.study is not None
    assert found.study.counts["left out by --where"] == 1


def test_roles_that_nobody_plays() -> None:
    found = inspect(pl.DataFrame({"a": [0.5, 1.5, 2.5] * 2, "b": ["one", "two", "six"] * 2}))
    assert found.lacking == ("action", "reward")
    assert found.study is None
    assert found.examples == {"a": "0.5, 1.5, 2.5", "b": "one, two, six"}


@pytest.mark.parametrize("text", ["", "\n\n", "a", "a\n", "a\n1\n", "a,b\n1,2\n", "a,b\n,\n"])
def test_nearly_empty_files(text: str, tmp_path: Path) -> None:
    path = tmp_path / "small.csv"
    path.write_text(text)
    assert _study_or_error(path) in (None, "small.csv")


def _study_or_error(path: Path) -> object:
    try:
        return inspect(path).study
    except HowlearnError as error:
        return path.name if path.name in str(error) else str(error)


def test_thousands_of_columns() -> None:
    draw = np.random.default_rng(1)
    wide = {f"v{i}": draw.integers(0, 5, 80) for i in range(1200)}
    found = inspect(pl.DataFrame(rows()).hstack(pl.DataFrame(wide)))
    assert found.study is not None
    assert found.roles["action"] == "choice"


NAMES = (
    "participant trial block choice response reward correct correct_choice cue phase condition "
    "practice rt gain loss feature1 [red] a`b * ^a$ '\" missing and trial_type where a:b a,b "
    "<script> thisN id file none"
).split()
VALUES = (
    "0 1|-1 1|a b|f j |TRUE FALSE|1 2 3 -1|practice main|training test|0 50 100|correct incorrect |"
    "x'y z\"w q`r|[1,2] {}|NaN 1 2|- 1 2|1e999 inf 2|\x00 é|timeout f j|0 1 7|a:b c,d|1||0.1 0.2"
).split("|")


def test_nothing_makes_it_fail() -> None:
    usable = 0
    for seed in range(50):
        draw = random.Random(seed)
        height = draw.choice([0, 1, 2, 40, 120])
        columns: dict[str, list[str]] = {}
        for name in [*draw.sample(NAMES, draw.randint(1, 8)), "x\ny"]:
            kind, values = draw.random(), draw.choice(VALUES).split(" ")
            step = draw.randint(1, 30)
            columns[name] = [
                str(i // step)
                if kind < 0.2
                else str(i % step)
                if kind < 0.3
                else draw.choice(values)
                for i in range(height)
            ]
        frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        if not height:
            with pytest.raises(HowlearnError, match="found no rows"):
                inspect(frame)
            continue
        found = inspect(frame)
        usable += found.study is not None
        assert repr(found)
        assert found.comments() is not None
    assert usable


@pytest.mark.parametrize("tells", [hangs_on, goes_on, explained])
def test_outcomes_tell_the_same_on_any_scale(tells: Any) -> None:
    draw = np.random.default_rng(1)
    action, place = draw.integers(0, 2, 400), np.repeat([0, 1], 200)
    worth = draw.normal(size=400) + action
    assert tells(worth * 2.0**1020, action, place) == pytest.approx(tells(worth, action, place))
    worth[7] = 1e308  # beside others that are small: no overflow, which would be a warning
    assert 0 <= abs(tells(worth, action, place)) <= 1


@pytest.mark.parametrize("huge", [1e200, 1.7e308])
def test_huge_numbers_are_no_warnings(huge: float) -> None:
    data = rows(60)
    data[3]["reward"] = huge
    found = inspect(pl.DataFrame(data, infer_schema_length=None), reward="reward")
    assert "taken as missing" in str(found)
    assert "rewards from 0 to" in str(inspect(pl.DataFrame(data), reward_range=(0, huge)))
    amounts = [{**row, "amount": huge / (i % 17 + 1)} for i, row in enumerate(rows(60))]
    assert told(amounts, context="cue", action="choice", reward="reward") == ""
    often = [{**row, "reward": row["reward"] * huge} for row in data if row["reward"] < huge]
    assert inspect(pl.DataFrame(often)).roles["reward"] == "reward"  # sums of them are infinite


def test_huge_response_times_are_looked_at_without_a_warning() -> None:
    rows = {"subject": [1] * 6, "choice": [*"abbaab"], "reward": [1, 0, 1, 1, 0, 1]}
    assert inspect(pl.DataFrame({**rows, "rt": [1e308] * 6})).study is not None


def test_sums_of_huge_numbers_are_in_standard_errors() -> None:
    products = np.array([3.0, -1.0, 2.0])
    assert score(products * 1e300) == pytest.approx(score(products))
    assert score(np.zeros(3)) == score(np.zeros(0)) == 0
