"""Rows that some software writes between trials are no missed trials."""

from __future__ import annotations

import polars as pl

from howlearn.reading.read import read

ROWS = [
    ("a", None, None, None),  # instructions
    *[("a", "x", "f", 1), ("a", "y", "j", 0), ("a", "x", None, None), ("a", "y", "f", 1)],
    ("a", None, None, None),
]


def test_nothing_shown_chosen_or_earned():
    frame = pl.DataFrame(ROWS, schema=["participant", "stim", "key", "reward"], orient="row")
    study = read(frame, context="stim", action="key", exclude="missed > 0.3")
    assert study.counts["rows that are not trials"] == 2
    assert study.counts["missed trials"] == 1
    assert study.excluded == (None,) or not any(study.excluded)  # 1 of 4, not 3 of 6
    alike = read(frame, context="none", action="key")  # without a context nobody can tell
    assert alike.counts["missed trials"] == 3
