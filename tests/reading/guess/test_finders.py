"""One guesser: its steps are in an order that is written down, and reading uses it too."""

from __future__ import annotations

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


def test_what_inspection_would_set_besides_is_told() -> None:
    data = SESSION.with_columns(
        phase=pl.when(pl.int_range(pl.len()) % TRIALS < 4)
        .then(pl.lit("practice"))
        .otherwise(pl.lit("main"))
    )
    assert "where" in inspect(data).options
    (note,) = read(data).notes
    assert note.endswith("it would also set where, which is not done here")
    assert read(data, where="phase == 'main'").notes == ()


def test_one_context_has_to_be_said() -> None:
    with pytest.raises(DataError, match="no column for the context among"):
        read(SESSION.drop("stimulus_name"))


def test_what_nobody_finds_is_refused() -> None:
    with pytest.raises(HowlearnError, match="no outcome: these models need feedback"):
        read(SESSION.drop("key_resp.corr"))
    with pytest.raises(DataError, match="no column for the reward among"):
        read(SESSION.drop("key_resp.corr").head(6))  # too few rows to say more
