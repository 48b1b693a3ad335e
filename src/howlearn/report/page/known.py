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

    def table(self, name: str) -> pl.DataFrame:
        return self.tables[name] if name in self.tables else super().table(name)


def everyone(gathered: Gathered) -> Known:
    """Of all learners."""
    return Known(gathered.folder, gathered.inputs, gathered.tables)


def included(gathered: Gathered) -> Known:
    """Of those who are not excluded; of all where that leaves nobody."""
    kept = ~gathered.excluded
    if kept.all() or not kept.any():
        return everyone(gathered)
    whose = gathered.tables["learners"].select(gathered.labels).filter(kept)
    tables = dict(gathered.tables)
    for name in ("selection", "scores", "estimates"):
        keys = [key for key in whose.columns if key in tables[name].columns]
        tables[name] = tables[name].join(
            whose.select(keys), on=keys, how="semi", nulls_equal=True, maintain_order="left"
        )
    inputs = gathered.inputs
    if inputs is not None:
        places = np.flatnonzero(kept.to_numpy())
        inputs = replace(inputs, study=inputs.study.take(places))
    return Known(gathered.folder, inputs, tables)
