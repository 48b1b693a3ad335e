"""Shares along the price of a parameter from the likelihoods in the scores: no new fit."""

from __future__ import annotations

import polars as pl

from howlearn.report.findings import Findings


def price_path(found: Findings) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The frame and the marks that ``figures.path`` draws; both empty where nothing is known.

    Frame: axis, value, criterion, model, learners, share. Marks: criterion, kappa, lowest, highest.
    """
    raise NotImplementedError
