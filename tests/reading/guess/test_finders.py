"""One guesser: its steps are in an order that is written down, and reading uses it too."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import DataError, HowlearnError
from howlearn.reading.guess import FINDERS, inspect
from howlearn.reading.read import read

LEARNERS, TRIALS = 2, 20
SESSION = pl.DataFrame(
    {
        "Teilnehmer": ["a"] * TRIALS + ["b"] * TRIALS,
        "stimulus_name": ["x", "y"] * TRIALS,
        "key_resp.keys": ["f", "j", "j", "f"] * 10,
        "key_resp.corr": [1, 0, 1, 1] * 10,
        "trials.thisN": [*range(TRIALS)] * LEARNERS,
    }
)


def test_what_a_step_asks_for_is_found_before_it() -> None:
    known: set[str] = set()
    for finder in FINDERS:
        assert {*finder.after.split()} <= known, finder
        known |= {*finder.finds.split()}


def test_reading_takes_the_columns_that_inspection_finds() -> None:
    study, found = read(SESSION), inspect(SESSION)
    assert study.roles == {role: f"{column} (guessed)" for role, column in found.roles.items()}
    assert found.study is not None
    assert study.frame().equals(found.study.frame())
    assert study.notes == ()


def test_a_column_by_its_values() -> None:
    """The keys have no name that says so."""
    data = SESSION.rename({"key_resp.keys": "wert"})
    assert inspect(data).roles["action"] == "wert"
    assert read(data).roles["action"] == "wert (guessed)"


def test_a_learner_whose_name_is_a_word_of_the_vocabulary() -> None:
    names = {"stimulus_name": "context", "key_resp.keys": "action", "key_resp.corr": "reward"}
    data = SESSION.rename(names)
    assert read(data).roles["learner"] == "Teilnehmer (guessed)"
    assert set(read(data).learners) == {"a", "b"}


def test_what_is_said_about_learners_is_not_the_learner() -> None:
    data = SESSION.with_columns(pl.lit(30).alias("participant_age")).drop("Teilnehmer")
    assert inspect(data.head(TRIALS)).roles["learner"] == "file"
    assert read(data.head(TRIALS)).roles["learner"] == "the file's name"


def test_what_inspection_sets_besides_is_done_and_told() -> None:
    data = SESSION.with_columns(
        phase=pl.when(pl.int_range(pl.len()) % TRIALS < 4)
        .then(pl.lit("practice"))
        .otherwise(pl.lit("main"))
    )
    assert "where" in inspect(data).options
    study = read(data)
    (note,) = study.notes
    assert note.startswith("as howlearn inspect finds it: --where phase != 'practice'")
    assert len(study.action) == len(read(data, where="phase == 'main'").action)
    assert len(study.action) < len(read(data, where="none").action)
    assert read(data, where="none").notes == ()


def test_missed_trials_and_new_blocks_are_read_as_inspection_finds_them() -> None:
    rng = np.random.default_rng(5)
    rows = []
    for learner in range(6):
        for block in range(4):
            right = rng.integers(0, 3, 3)
            for trial in range(24):
                item = int(rng.integers(3))
                key = -1 if rng.random() < 0.05 else int(rng.integers(3))
                key = int(right[item]) if key >= 0 and trial > 8 and rng.random() < 0.8 else key
                row = {"subj": learner, "block": block, "trial": trial, "item": item, "key": key}
                rows.append({**row, "reward": -1 if key < 0 else int(key == right[item])})
    data = pl.DataFrame(rows)
    found = inspect(data)
    assert not found.questions
    study, same = read(data), found.study
    assert same is not None
    assert study.actions == same.actions == ("0", "1", "2")
    assert study.reset.sum() == 24
    assert study.frame().equals(same.frame())


def test_one_context_has_to_be_said() -> None:
    with pytest.raises(DataError, match="no column for the context among"):
        read(SESSION.drop("stimulus_name"))


def test_what_nobody_finds_is_refused() -> None:
    with pytest.raises(HowlearnError, match="no outcome: these models need feedback"):
        read(SESSION.drop("key_resp.corr"))
    with pytest.raises(DataError, match="no column for the reward among"):
        read(SESSION.drop("key_resp.corr").head(6))  # too few rows to say more
