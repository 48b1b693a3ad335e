"""Exclusions of real learners with three actions, against a table made with polars alone."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import howlearn as hl

CASES = {
    "median(rt) > 0.5": pl.col("rt").median() > 0.5,
    "missed > 0.02": pl.col("choice").is_null().mean() > 0.02,
    "accuracy < 0.75": pl.col("rew").filter(pl.col("choice").is_not_null()).mean() < 0.75,
    "share(rt < 0.3) > 0.01": (pl.col("rt") < 0.3).fill_null(False).mean() > 0.01,
    "count(ns == 6 and cor == 0) > 60": ((pl.col("ns") == 6) & (pl.col("cor") == 0)).sum() > 60,
    "same > 0.36": pl.col("choice")
    .drop_nulls()
    .value_counts(sort=True)
    .first()
    .struct.field("count")
    > 0.36 * pl.col("choice").count(),
}


def test_rlwm(shared_data: Path) -> None:
    file = shared_data / "rlwm" / "Expe3.csv"
    frame = pl.read_csv(file, infer_schema_length=None)
    gone = frame.with_columns(pl.when(pl.all() != -1).then(pl.all()))
    kept = gone.filter(pl.col("block") > 2)
    by = kept.group_by("subno", maintain_order=True)
    for text, expression in CASES.items():
        study = hl.read(
            file,
            learner="subno",
            context="stimseq",
            action="choice",
            reward="rew",
            missing="-1",
            where="block > 2",
            reset_by="block",
            exclude=text,
        )
        held = by.agg(expression.alias("held"))["held"].fill_null(False).to_list()
        assert study.excluded == tuple(text if each else None for each in held), text
        assert 0 < sum(held) < len(held), text
