"""CSV tables that a spreadsheet may open, and that give every name back."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile_names import FORMULAS, NAMES
from howlearn.core.columns import guard, guarded, read_csv, unguard, unguarded, write_csv

NUMBERS = ("-2", "+1e5", "-.5", "1.50", "-0")
TEXT = st.text(st.sampled_from("'=+-@\t\r\n＝.1eE a"), max_size=6) | st.text(max_size=5)


@given(st.lists(TEXT, max_size=8))
def test_every_text_comes_back_and_columns_do_as_single_texts(texts: list[str]) -> None:
    frame = pl.DataFrame({"a": texts}, schema={"a": pl.String})
    kept = guarded(frame)
    assert kept["a"].to_list() == [guard(text) for text in texts]
    assert unguarded(kept)["a"].to_list() == [unguard(guard(text)) for text in texts] == texts


def test_nothing_in_a_file_begins_as_a_formula(tmp_path: Path) -> None:
    names = [*NAMES, *NUMBERS]
    columns = [*FORMULAS, "*", "^a.*$", "x", "two\nlines", '"', 'a""b', "a,b"]
    frame = pl.DataFrame(dict.fromkeys(columns, names)).with_columns(
        number=pl.Series(range(len(names))) - 5, of=pl.Series(names, dtype=pl.Categorical)
    )
    write_csv(frame, tmp_path / "a.csv")
    write_csv(frame.lazy(), tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    running = {c for c in cells if c[:1] in tuple("=+-@\t\r\n＝＋－＠")}
    assert running == {*NUMBERS, "-5", "-4", "-3", "-2", "-1"} - {"1.50"}
    again = read_csv(tmp_path / "a.csv", columns)
    assert again.columns == frame.columns
    for column in columns:
        assert again[column].to_list() == names, column


@pytest.mark.parametrize("text", [("b", "x", "y"), ("c", "b", "a"), ("x",)])
def test_columns_are_text_by_their_names_not_by_their_number(tmp_path: Path, text) -> None:
    """Polars 1.24 took as many types as there are columns for the columns themselves."""
    frame = pl.DataFrame({"a": [1], "b": ["2"], "c": [3.5]})
    write_csv(frame, tmp_path / "a.csv")
    again = read_csv(tmp_path / "a.csv", text)
    told = {name: pl.String for name in frame.columns if name in text}
    assert again.schema == pl.Schema({"a": pl.Int64, "b": pl.Int64, "c": pl.Float64} | told)
    assert [str(value) for value in again.row(0)] == ["1", "2", "3.5"]
