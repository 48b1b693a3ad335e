"""The learners of the paper's study (SPEC 7.3), and files of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import howlearn as hl

TRUNCATIONS = (20, 50, 100, 150, 200, 250, 500)
TRIALS = 500


def paper_rates(model: str) -> float | list[float]:
    """0.03 in every cell; where every item has its own, rates from 0.003 to 0.059."""
    return [0.003 + 0.007 * k for k in range(9)] if model == "OnePerItem" else 0.03


def learners(model: str, count: int, trials: int = TRIALS, seed: int = 1) -> hl.Study:
    """Simulated learners of the five-four task."""
    task = hl.Task.load("five-four")
    return hl.simulate(task, model, {"eta": paper_rates(model)}, count, trials, seed)


def frame(study: hl.Study, prefix: str) -> pl.DataFrame:
    """The trials as an experiment would have written them."""
    lengths = np.diff(study.starts)
    names = pl.Series([f"{prefix}{name}" for name in study.learners])
    return pl.DataFrame(
        {
            "participant": names.gather(np.repeat(np.arange(len(study)), lengths)),
            "trial": np.concatenate([np.arange(1, n + 1) for n in lengths]),
            "item": pl.Series([int(c) for c in study.contexts]).gather(study.context),
            "choice": pl.Series(study.actions).gather(study.action.astype(np.int64)),
            "reward": study.reward.astype(np.int8),
        }
    )


def paper_csv(path: Path, per_model: int) -> None:
    """One CSV with learners of all six models."""
    models = hl.Task.load("five-four").models
    frames = [
        frame(learners(model.name, per_model, seed=k), f"{model.name}-")
        for k, model in enumerate(models)
    ]
    pl.concat(frames).write_csv(path)


def parquet(path: Path, count: int, chunk: int = 1000, trials: int = TRIALS) -> None:
    """One Parquet file of many learners, who never are in memory all at once."""
    parts = list(_parts(path.parent, count, chunk, trials))
    pl.scan_parquet(parts).sink_parquet(path, row_group_size=chunk * trials)
    for part in parts:
        part.unlink()


def _parts(folder: Path, count: int, chunk: int, trials: int) -> Iterator[Path]:
    models = hl.Task.load("five-four").models
    for k, first in enumerate(range(0, count, chunk)):
        study = learners(models[k % len(models)].name, min(chunk, count - first), trials, seed=k)
        part = folder / f"part-{k:05}.parquet"
        frame(study, f"{k}-").write_parquet(part)
        yield part
