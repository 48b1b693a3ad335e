"""Gathered results as the charts take them: all learners, or those that are not excluded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from howlearn.report.findings import OfFolder
from howlearn.report.gather import Gathered


@dataclass(frozen=True, eq=False)
class Known(OfFolder):
    """A folder whose tables have been read already."""

    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def whole(self, name: str) -> pl.DataFrame:
        return self.tables[name] if name in self.tables else super().whole(name)


def everyone(gathered: Gathered) -> Known:
    """Of all learners, as if nobody had been excluded."""
    unmarked = {
        name: frame.drop("excluded", strict=False) for name, frame in gathered.tables.items()
    }
    inputs = gathered.inputs
    if inputs is not None:
        inputs = replace(inputs, study=replace(inputs.study, excluded=None))
    return Known(gathered.folder, inputs, unmarked)


def included(gathered: Gathered) -> Known:
    """Of those who are not excluded; of all where that leaves nobody."""
    found, kept = everyone(gathered), ~gathered.excluded
    if kept.all() or not kept.any():
        return found
    whose = gathered.tables["learners"].select(gathered.labels).filter(kept)
    tables = dict(found.tables)
    for name in ("selection", "scores", "estimates"):
        keys = [key for key in whose.columns if key in tables[name].columns]
        tables[name] = tables[name].join(
            whose.select(keys), on=keys, how="semi", nulls_equal=True, maintain_order="left"
        )
    inputs = found.known
    if inputs is not None:
        places = np.flatnonzero(kept.to_numpy())
        inputs = replace(inputs, study=inputs.study.take(places))
    return Known(gathered.folder, inputs, tables)
