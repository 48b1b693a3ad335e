"""Results as ``howlearn select`` leaves them, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

MODELS = ("OneForAll", "ByShape", "OnePerItem")


def tables(
    evidence: np.ndarray,
    labels: pl.DataFrame,
    eta: np.ndarray | None = None,
    models: Sequence[str] = MODELS,
    criterion: str = "evidence",
) -> dict[str, pl.DataFrame]:
    """Scores by ``criterion`` and by aic, which selects the first model for everybody; estimates.

    ``eta`` is [sequence, cell]: two cells in every model.
    """
    n, m = evidence.shape
    eta = np.full((n, 2), 0.05) if eta is None else eta
    order = np.argsort(-evidence, axis=1, kind="stable")
    first = np.broadcast_to(np.arange(m), (n, m))
    rows = np.repeat(np.arange(n), m)

    def scores(text: str, ranked: np.ndarray, probable: bool) -> pl.DataFrame:
        own = evidence[rows, ranked.reshape(-1)]
        top = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        share = (top / top.sum(axis=1, keepdims=True))[rows, ranked.reshape(-1)]
        columns = {
            "model": [models[k] for k in ranked.reshape(-1)],
            "criterion": text,
            "n_trials": 100,
            "n_parameters": 2,
            "log_likelihood": own,
            "penalty": 0.0,
            "score": own,
            "rank": np.tile(np.arange(1, m + 1), n),
            "selected": np.tile(np.arange(m) == 0, n),
            "probability": share if probable else pl.Series([None] * (n * m), dtype=pl.Float64),
        }
        return labels[rows].hstack(pl.DataFrame(columns).get_columns())

    both = pl.concat([scores("aic", first, False), scores(criterion, order, True)])
    place = np.concatenate([rows, rows])
    cells = np.repeat(np.arange(n), m * 2)
    estimates = labels[cells].hstack(
        pl.DataFrame(
            {
                "model": np.tile(np.repeat(np.array(models, object), 2), n),
                "cell": ["1+2", "3"] * (n * m),
                "parameter": "eta",
                "estimate": np.repeat(eta, m, axis=0).reshape(-1),
                "trials_fitted": 100,
                "lower": pl.Series([None] * len(cells), dtype=pl.Float64),
                "upper": pl.Series([None] * len(cells), dtype=pl.Float64),
                "status": "ok",
                "agreement": pl.Series([None] * len(cells), dtype=pl.Float64),
            },
            schema_overrides={"model": pl.String},
        ).get_columns()
    )
    # As select writes it: the rows of a learner stand together.
    whole = both.with_columns(pl.Series("_at", place)).sort("_at", maintain_order=True)
    return {"scores": whole.drop("_at"), "estimates": estimates}


def folder_of(path: Path, made: dict[str, pl.DataFrame], format: str = "csv") -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, frame in made.items():
        if format == "csv":
            frame.write_csv(path / f"{name}.csv")
        else:
            frame.write_parquet(path / f"{name}.parquet")
    return path


def two_groups(n: int = 20, seed: int = 0, same: bool = False) -> tuple[np.ndarray, pl.DataFrame]:
    """Patients use the first model, controls the second, but for every fifth."""
    random = np.random.default_rng(seed)
    true = np.repeat([0, 0 if same else 1], n)
    true[::5] = 2
    evidence = random.normal(size=(2 * n, 3)) - 100
    evidence[np.arange(2 * n), true] += 5
    labels = pl.DataFrame(
        {
            "learner": [f"{i + 1}" for i in range(2 * n)],
            "group": ["patient"] * n + ["control"] * n,
            "age": list(range(2 * n)),
        }
    )
    return evidence, labels
