"""What the end of a run tells: counts over all learners."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import polars as pl


@dataclass
class Summary:
    """Counts over all learners."""

    n_learners: int = 0
    selected: dict[str, Counter[str]] = field(default_factory=dict)  # by criterion
    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    agreeing: int = 0  # learners for whom all criteria select the same model
    statuses: Counter[str] = field(default_factory=Counter)  # of the selected models' estimates
    together: dict[str, pl.DataFrame] = field(default_factory=dict)  # what all learners tell
    n_excluded: int | None = None  # None: nobody was asked about
    shares: pl.DataFrame = field(default_factory=pl.DataFrame)  # of the included, and of all
    unfitted: pl.DataFrame = field(default_factory=pl.DataFrame)  # who, and why


def summary(selection: pl.LazyFrame, statuses: pl.LazyFrame, n_criteria: int) -> Summary:
    """Count over the parts."""
    verdict = pl.col("verdict").str.replace(r" between .*", "")
    counts = selection.group_by("criterion", "model", verdict.alias("verdict")).len().collect()
    result = Summary()
    for criterion, model, word, count in counts.sort("criterion", "model", "verdict").iter_rows():
        result.selected.setdefault(criterion, Counter())[model] += count
        result.verdicts.setdefault(criterion, Counter())[word] += count
    models = selection.select("model").collect()["model"].to_numpy()
    by_learner = models.reshape(-1, n_criteria)  # the rows of a learner stand together
    result.n_learners = len(by_learner)
    result.agreeing = int(np.all(by_learner == by_learner[:, :1], axis=1).sum())
    total = statuses.group_by("status").agg(pl.col("count").sum()).collect()
    result.statuses = Counter(dict(total.iter_rows()))
    return result
