"""Logs with many screens per trial: practice, instructions, feedback and surveys are told apart."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import polars as pl
import pytest

from howlearn.reading.guess import inspect
from made import choices

TRIALS = 40
Row = dict[str, Any]


def jspsych(who: str, draw: random.Random) -> list[Row]:
    rows: list[Row] = [
        {"trial_type": "fullscreen", "success": "true"},
        {"trial_type": "survey-html-form", "response.age": "23", "rt": 2000},
        {"trial_type": "instructions", "rt": 9000},
    ]
    for phase, n in (("practice", 3), ("main", TRIALS)):
        for _ in range(n):
            key = draw.choice("01")
            won = int(draw.random() < (0.8 if key == "1" else 0.2))
            here = {"phase": phase}
            rows += [
                {"trial_type": "html-keyboard-response", **here, "task": "fixation"},
                {"trial_type": "html-button-response", "stimulus": "choose", "response": key,
                 "reward": won, "rt": draw.randint(200, 900), **here, "task": "choice"},
                {"trial_type": "html-keyboard-response", **here, "task": "feedback"},
            ]  # fmt: skip
    rows.append({"trial_type": "survey-likert", "response.Q0": "3"})
    return [{"subject": who, "trial_index": i, **row} for i, row in enumerate(rows)]


def gorilla(who: str, draw: random.Random) -> list[Row]:
    rows: list[Row] = [
        {"Trial Number": "BEGIN TASK"},
        {"Screen Name": "instructions", "display": "instructions", "Response": "Next"},
    ]
    for display, n in (("practice", 3), ("trial", TRIALS)):
        for t in range(n):
            key = draw.choice("AB")
            won = int(draw.random() < (0.8 if key == "A" else 0.2))
            here = {"Trial Number": t + 1, "display": display}
            rows += [
                {**here, "Screen Name": "fix"},
                {**here, "Screen Name": "choice", "Response": key, "reward": won},
                {**here, "Screen Name": "feedback"},
            ]
    rows.append({"Screen Name": "survey", "display": "debrief", "Response": draw.randint(1, 7)})
    return [{"Participant Private ID": who, **row} for row in rows]


def inquisit(who: str, draw: random.Random) -> list[Row]:
    rows: list[Row] = [{"trialcode": "instructions", "response": "57"}]
    for _ in range(TRIALS):
        key = draw.choice("AB")
        told = {"values.reward": int(draw.random() < (0.8 if key == "A" else 0.2))}
        rows += [
            {"trialcode": "choice", "response": key, **told},
            {"trialcode": "feedback", "response": "0", **told},  # it repeats what was earned
        ]
    return [{"subject": who, "trialnum": i, **row} for i, row in enumerate(rows)]


def opensesame(who: str, draw: random.Random) -> list[Row]:
    rows = [{**row} for row in inquisit(who, draw) if row["trialcode"] != "instructions"]
    for before, row in pairwise(rows):
        if row["trialcode"] == "feedback":
            row["response"] = before["response"]  # as everything else that was last known
    return rows


@pytest.mark.parametrize("log", [jspsych, gorilla, inquisit, opensesame])
def test_trials_among_screens(log: Callable[[str, random.Random], list[Row]]) -> None:
    draw = random.Random(5)
    rows = [row for who in ("s1", "s2", "s3") for row in log(who, draw)]
    names = dict.fromkeys(name for row in rows for name in row)
    columns: Mapping[str, Any] = {
        name: [None if row.get(name) is None else str(row[name]) for row in rows] for name in names
    }
    found = inspect(pl.DataFrame(columns))
    assert found.study is not None, found.problems
    assert found.roles["action"] in ("response", "Response")
    assert found.roles["reward"] in ("reward", "values.reward")
    assert len(found.study.learners) == 3
    assert len(found.study.action) == 3 * TRIALS  # neither practice nor other screens


def words_for_outcomes() -> list[Row]:
    return [
        {"subject": who, "trial": t, "stim": stim, "key": key, "seen": ("naja", "hurra")[key == ok]}
        for who in "abcd"
        for t, (stim, ok, key) in enumerate(choices(ord(who), 60))
    ]


def test_a_filter_for_an_expression_names_its_columns() -> None:
    rows = words_for_outcomes()
    for row in rows[5::17]:
        row |= {"key": "escape", "seen": None}
    found = inspect(pl.DataFrame(rows), reward="seen == 'hurra'")
    assert found.study is not None, found.problems
    assert found.options["where"] == "seen != missing"
    assert len(found.study.context) == len(rows) - len(rows[5::17])


@pytest.mark.parametrize("part", ["extinction", "questions"])
def test_answers_about_an_expression_can_be_read(part: str) -> None:
    rows = [{"phase": "learn", **row} for row in words_for_outcomes()]
    for row in [row for row in rows if row["trial"] >= 40]:
        row |= {"phase": part, "seen": None}
    (question,) = inspect(pl.DataFrame(rows), reward="seen == 'hurra'").questions
    for answer in question.answers:
        options = {"reward": "seen == 'hurra'", answer.option: answer.value, **answer.also}
        found = inspect(pl.DataFrame(rows), **options)
        assert found.study is not None, found.problems
