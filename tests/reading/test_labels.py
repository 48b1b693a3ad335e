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
