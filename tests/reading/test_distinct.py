"""Few values are coded one by one, and as many at once would be."""

from __future__ import annotations

from random import Random

import polars as pl
import pytest

from howlearn.reading import labels

VALUES = {
    pl.String: ["a", "b", "", "1"],
    pl.Int64: [0, -1, 2**60],
    pl.UInt8: [1, 2],
    pl.Boolean: [True, False],
}


@pytest.mark.parametrize("kind", list(VALUES))
def test_few_values(monkeypatch: pytest.MonkeyPatch, kind: type[pl.DataType]) -> None:
    rng = Random(1)
    for length in range(12):
        chosen = [rng.choice([None, *VALUES[kind]]) for _ in range(length)]
        values = pl.Series("^x$", chosen, dtype=kind)
        monkeypatch.setattr(labels, "FEW", 100)
        few = labels.distinct(values)
        monkeypatch.setattr(labels, "FEW", -1)
        many = labels.distinct(values)
        assert few[0].dtype == many[0].dtype
        assert few[0].to_list() == many[0].to_list()
        for one, other in zip(few[1:], many[1:], strict=True):
            assert one.dtype == other.dtype
            assert one.tolist() == other.tolist()
