"""1, 1.0 and "1" are one label; labels sort as people expect."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howlearn.core.text import canonical
from howlearn.reading.labels import canonical_series, natural_key, typed
from howlearn.reading.read import read

SEEDED = settings(derandomize=True, deadline=None)


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("1", "1"),
        (1.0, "1"),
        (" 1.00 ", "1"),
        ("1.", "1"),
        ("0.50", "0.5"),
        ("100.0", "100"),
        ("100", "100"),
        ("-1.0", "-1"),
        ("-0.0", "0"),
        ("01", "01"),
        ("01.0", "01.0"),
        ("1.0.0", "1.0.0"),
        ("a.0", "a.0"),
        ("", ""),
    ],
)
def test_canonical(value: object, label: str) -> None:
    assert canonical(value) == label


@SEEDED
@given(st.lists(st.one_of(st.text(max_size=6), st.floats().map(str), st.integers().map(str))))
def test_canonical_labels_stay_as_they_are(values: list[str]) -> None:
    labels = canonical_series(pl.Series(values, dtype=pl.String))
    assert canonical_series(labels).to_list() == labels.to_list()


@SEEDED
@given(st.integers(-(10**9), 10**9), st.integers(1, 4))
def test_whole_numbers_are_one_label(number: int, zeros: int) -> None:
    spellings = [str(number), f" {number}", f"{number}.{'0' * zeros}", str(float(number))]
    assert {canonical(spelling) for spelling in spellings} == {str(number)}


def test_one_context_however_it_is_written(tmp_path) -> None:
    (tmp_path / "a.csv").write_text('item,choice,reward\n1,A,1\n1.0,B,0\n" 1 ",A,1\n"1",B,1\n')
    assert read(tmp_path / "a.csv").contexts == ("1",)


@SEEDED
@given(st.lists(st.text(max_size=8)))
def test_natural_order_is_an_order(labels: list[str]) -> None:
    ordered = sorted(labels, key=natural_key)
    backwards = list(reversed(labels))
    assert sorted(backwards, key=natural_key) == ordered


def test_natural_order() -> None:
    labels = ["databis_10", "databis_2", "10", "9", "-3", "0.5", "3:10", "3:9"]
    expected = ["-3", "0.5", "9", "10", "3:9", "3:10", "databis_2", "databis_10"]
    assert sorted(labels, key=natural_key) == expected


def test_typed() -> None:
    assert typed(["1", None, "-2"]).dtype == pl.Int64
    assert typed(["1", "2.5"]).dtype == pl.Float64
    assert typed(["1", "01"]).dtype == pl.String
    assert typed([None, None]).to_list() == [None, None]


def test_learners_in_two_spellings_are_told_once() -> None:
    who = ["7", "7.0", "bob", "bob ", "José", "Jose\u0301"]
    data = pl.DataFrame({"who": who * 3, "key": ["a", "b"] * 9, "reward": [0, 1, 1] * 6})
    study = read(data, learner="who", action="key", context="none")
    assert study.learners == ("7", "bob", "José")
    [note] = [note for note in study.notes if "two ways" in note]
    assert note.startswith("learners who are written in two ways were taken as one: '7.0' and '7',")
    assert "'bob ' and 'bob'" in note
    plain = read(data.with_columns(who=pl.lit(1.0)), learner="who", action="key", context="none")
    assert plain.notes == ()


def test_an_action_called_na() -> None:
    data = pl.DataFrame({"key": ["EU", "NA", "EU", "NA", "AS"] * 2, "reward": [0, 1, 1, 0, 1] * 2})
    study = read(data, action="key", context="none", learner="file")
    assert study.actions == ("AS", "EU")
    assert study.notes[-1] == (
        "the action NA (4 rows) was taken as missing, though it has rewards; --recode "
        "action:NA=NAME keeps it as an action"
    )
    kept = read(data, action="key", context="none", learner="file", recode="action:NA=Africa")
    assert kept.actions == ("AS", "Africa", "EU")
    missed = data.with_columns(reward=pl.when(pl.col("key") != "NA").then("reward"))
    assert read(missed, action="key", context="none", learner="file").notes == ()


def test_numbers_as_numpy_writes_them() -> None:
    data = pl.DataFrame(
        {
            "key": ["1.000000000000000000e+00", "2.0", "6.970000000000000000e-01"] * 2,
            "reward": [0, 1] * 3,
        }
    )
    study = read(data, action="key", context="none", learner="file")
    assert study.actions == ("0.697", "1", "2")
