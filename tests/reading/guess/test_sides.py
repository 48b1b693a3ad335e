"""Columns whose names differ by the words for two sides are found quickly among very many."""

from __future__ import annotations

from itertools import combinations
from time import process_time

import numpy as np
import polars as pl

from howlearn.reading.formats.table import Frame
from howlearn.reading.guess.behaviour import words_of
from howlearn.reading.guess.sample import take_sample
from howlearn.reading.guess.sides import _differing, _sides, pair_on_screen

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
