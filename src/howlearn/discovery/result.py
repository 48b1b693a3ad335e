"""What ``discover`` found: tables of the learners, and of the population they make."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from howlearn.discovery import population

JUDGED, NOT_JUDGED = "judged", "not judged"  # a status, and how another begins


@dataclass(frozen=True, eq=False, repr=False)
class Discovery:
    """The best partitions of every learner, and which contexts are treated alike, as tables."""

    partitions: pl.DataFrame  # one row per learner, criterion and rank
    coclassification: pl.DataFrame  # one row per learner, criterion and pair of contexts
    marked: pl.DataFrame  # one row per learner, criterion and marked partition
    contexts: tuple[str, ...]
    criteria: tuple[str, ...]
    by: tuple[str, ...] = ()  # columns: each combination of values is a population of its own
    n_unmet: int = 0  # learners who did not meet every context

    def __repr__(self) -> str:
        return (
            f"Discovery among all partitions of {len(self.contexts)} contexts by "
            f"{', '.join(self.criteria)}: see .partitions, .coclassification, .population, "
            ".consensus, .marked, .models"
        )

    @cached_property
    def unjudged(self) -> pl.DataFrame:
        """One row per learner who could not be judged, with a status that says why."""
        rows = self.partitions.filter(pl.col("status") != JUDGED)
        first = rows.filter(pl.col("criterion") == self.criteria[0])
        return first.select(pl.all().exclude("criterion"))

    @property
    def exact(self) -> bool:
        """Whether nothing had to be searched."""
        return bool(self.partitions["exact"].all())

    @cached_property
    def population(self) -> pl.DataFrame:
        """The mean co-classification of every pair of contexts, in the order of a clustering."""
        return population.means(self.coclassification, self.consensus, self.by)

    @cached_property
    def consensus(self) -> pl.DataFrame:
        """The contexts in the order of a clustering, and the cells that it gives."""
        return population.consensus(self.coclassification, self.contexts, self.by)

    @cached_property
    def models(self) -> pl.DataFrame:
        """How probable each marked partition is on average, and how often it is the best."""
        return population.models(self.marked, self.by)
