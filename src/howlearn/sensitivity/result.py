"""What ``path`` found, as tables and in words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from howlearn.sensitivity import tables, words


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """What is selected along the price of a parameter, the largest rate and the prior."""

    learners: pl.DataFrame  # one row per learner and interval of prices, bound, or prior
    models: tuple[str, ...]
    criteria: tuple[str, ...]
    n_learners: int  # or sequences, where a learner has several
    max_kappa: float
    prices: pl.DataFrame  # what criteria charge for a parameter
    conditions: bool = False  # whether learners have several sequences
    n_unfitted: int = 0  # who could not be fitted, and are left out

    def __repr__(self) -> str:
        return (
            f"Path of the selection among {', '.join(self.models)} for {self.n_learners:,} "
            "sequences: see .shares, .leaders, .marks, .learners, .sentences"
        )

    @cached_property
    def shares(self) -> pl.DataFrame:
        """How many learners each model is selected for; along the price at every 0.05 nats."""
        marks = self.prices["kappa"].to_list()
        return tables.shares(self.learners, self.models, marks, self.max_kappa, self.n_learners)

    @cached_property
    def leaders(self) -> pl.DataFrame:
        """The stretches of every axis that one model leads; along the price they are exact."""
        return tables.leaders(
            self.learners, self.shares, self.models, self.max_kappa, self.n_learners
        )

    @cached_property
    def marks(self) -> pl.DataFrame:
        """What criteria charge for a parameter, and who leads at that price."""
        lead = tables.leading(self.shares, tables.KAPPA)
        names = [
            " and ".join(lead[price, tables.KAPPA]) if price <= self.max_kappa else None
            for price in self.prices["kappa"]
        ]
        return self.prices.with_columns(pl.Series("model", names, dtype=pl.String))

    @property
    def sentences(self) -> list[str]:
        """Whether the leading model changes along each axis, where, and what that means."""
        return words.sentences(self)
