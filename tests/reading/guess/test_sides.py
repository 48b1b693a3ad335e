"""Columns whose names differ by the words for two sides are found quickly among very many."""

from __future__ import annotations

from itertools import combinations
from time import process_time

import numpy as np
import polars as pl

from howlearn.reading.formats.table import Frame
from howlearn.reading.guess import inspect
from howlearn.reading.guess.behaviour import _differing, _sides, pair_on_screen, words_of
from howlearn.reading.guess.sample import take_sample

PARTS = ["left", "right", "stim", "1", "2", "a", "b", "l", "r", "up", "down", "x"]


def test_the_pairs_are_those_of_looking_at_each_two() -> None:
    generator = np.random.default_rng(3)
    names = {"_".join(generator.choice(PARTS, size=generator.integers(1, 4))) for _ in range(600)}
    words = {name: words_of(name) for name in sorted(names)}
    slow = [pair for pair in combinations(words, 2) if _sides(words[pair[0]], words[pair[1]])]
    assert len(slow) > 20
    assert _differing(words) == slow


def test_hundreds_of_columns_take_no_time() -> None:
    names = [f"part {i} of {chr(97 + i % 26)}{i}" for i in range(400)]
    sample = take_sample([Frame(pl.DataFrame({name: ["x", "y"] for name in names}))])
    begun = process_time()
    assert pair_on_screen(sample, names) is None
    assert process_time() - begun < 0.5


def test_places_of_three_options_one_of_which_may_be_empty() -> None:
    rng, rows = np.random.default_rng(5), []
    worth = {"1": 80, "2": 50, "3": 20, "4": 80, "6": 20}
    for person in range(10):
        for trial in range(100):
            shown = [*rng.permutation(["1", "2", "3"] if trial % 2 else ["4", "6"])]
            shown = shown if len(shown) == 3 else [shown[0], "-1", shown[1]]
            chosen = max(
                (s for s in shown if s != "-1"), key=lambda s: worth[s] + rng.gumbel(0, 25)
            )
            place = shown.index(chosen) - 1
            rows.append((person, *shown, place, worth[chosen] + int(rng.normal(0, 5)), 0.5))
    names = ["id", "left_option", "middle_option", "right_option", "choice", "outcome", "rt"]
    found = inspect(pl.DataFrame(rows, schema=names, orient="row"))
    assert found.study is not None
    assert found.study.actions == ("1", "2", "3", "4", "6")
    assert {*found.trials()["offered"]} == {"1|2|3", "4|6"}


def test_feedback_that_may_mislead_is_what_was_earned() -> None:
    rng, rows = np.random.default_rng(6), []
    for person in range(10):
        for _ in range(100):
            shown = str(rng.choice(["S1", "S2"]))
            key = str(rng.choice(["left", "right"]))
            right = (key == "left") == (shown == "S1")
            told = right if rng.random() < 0.8 else not right
            rows.append((person, shown, key, int(right), "pos" if told else "neg"))
    names = ["subj", "stim", "key", "accuracy", "feedback"]
    found = inspect(pl.DataFrame(rows, schema=names, orient="row"))
    assert found.roles["reward"] == "feedback"


def test_pairs_in_one_label_are_on_offer() -> None:
    rng = np.random.default_rng(7)
    pairs = [("w", "z"), ("x", "y"), ("w", "x")]
    shown = [pairs[i] for i in rng.integers(3, size=200)]
    chosen = [pair[i] for pair, i in zip(shown, rng.integers(2, size=200), strict=True)]
    rows = [
        ("-".join(pair), c, int(rng.random() < 0.5)) for pair, c in zip(shown, chosen, strict=True)
    ]
    found = inspect(pl.DataFrame(rows, schema=["pair", "chosen", "points"], orient="row"))
    assert {*found.trials()["offered"]} == {"w|z", "x|y", "w|x"}


def test_words_that_nobody_knows_are_asked_about() -> None:
    rng = np.random.default_rng(8)
    columns = {"key": rng.choice(["f", "j"], 100), "feedback": rng.choice(["glorp", "blick"], 100)}
    found = inspect(pl.DataFrame(columns))
    assert [question.about for question in found.questions] == ["reward"]
    assert "feedback == 'glorp'" in str(found.questions[0])
    assert inspect(pl.DataFrame(columns), reward="feedback == 'blick'").questions == ()
