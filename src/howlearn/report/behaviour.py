"""Learning curves of the data, and of doubles who follow each learner's selected model."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from howlearn.report.findings import Findings


@dataclass(frozen=True, eq=False)
class Behaviour:
    """Curves with bands, and in words what they are of and how well they agree.

    ``frame`` has context (or "all"), trial (the middle of the bin), first, last, source ("people"
    or "model"), mean, lower, upper, n (learners). ``measure`` is what the mean is of, such as
    "right choices"; ``percent`` whether it is a share; ``along`` what trial counts, such as "trial".
    """

    frame: pl.DataFrame
    measure: str
    percent: bool
    along: str
    statement: str  # how well the curves agree
    notes: tuple[str, ...]  # what was sampled, left out, or could not be simulated


def behaviour(
    found: Findings, learners: int = 200, replications: int | None = None, seed: int = 0
) -> Behaviour:
    """Curves of at most so many learners and of their doubles, every learner at its estimates.

    People: the mean over learners with its 95% interval. Model: the mean over replications of the
    study, and the range that holds 95% of them.
    """
    raise NotImplementedError
