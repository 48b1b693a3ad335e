"""Where the parameters of a mixture's strategies come from, when an option says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.errors import HowlearnError
from howlearn.fitting.population import without_own
from howlearn.folder import MANIFEST, read_table
from howlearn.model import Model
from howlearn.models.expert import Expert
from howlearn.models.mixture import SOURCES, Mixture

Floats = NDArray[np.float64]
UNINFORMED = ("flat", "unseen", "no fit")


def with_source(models: Sequence[Model], source: str | None) -> tuple[Model, ...]:
    """Mixtures that do not name a source themselves take this one: a word, or a folder.

    The folder of a ``howlearn select`` gives the medians of its learners' estimates (of a learner
    who is among them, those of the others); that of a ``howlearn calibrate`` the parameters of its
    simulated learners.
    """
    if source is None:
        return tuple(models)
    folder = None
    if source not in SOURCES:
        folder = _Folder(Path(source))
    return tuple(_one(model, source, folder) for model in models)


def _one(model: Model, source: str, folder: _Folder | None) -> Model:
    if not isinstance(model, Mixture) or model.source != "training":
        return model
    if not any(expert.fitted for expert in model.experts):
        return model
    if folder is None:
        return model.from_source(source)  # pyright: ignore[reportArgumentType]
    each = [folder.values(expert) for expert in model.experts if expert.fitted]
    names = dict.fromkeys(name for values in each for name in values)
    table = {
        name: np.concatenate([values.get(name, values[""]) for values in each]) for name in names
    }
    return model.from_source("population").known_from(table)


class _Folder:
    """The results of an earlier command."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.manifest: dict[str, Any] = json.loads((path / MANIFEST).read_text("utf-8"))
            command = self.manifest["command"]
        except (OSError, ValueError, KeyError, TypeError):
            raise HowlearnError(
                f"--experts-from {path}: neither one of {', '.join(SOURCES)}, nor a folder with "
                "results of howlearn select or howlearn calibrate"
            ) from None
        if command not in ("select", "calibrate"):
            raise HowlearnError(
                f"--experts-from {path}: these are results of howlearn {command}; parameters come "
                "from those of howlearn select or howlearn calibrate"
            )
        self.estimates = read_table(path, "estimates") if command == "select" else None

    def values(self, expert: Expert) -> dict[str, Floats]:
        """By learner the expert's parameters, and under "" those of anybody else."""
        name = expert.model.name
        if self.estimates is None:
            return {"": self._simulated(name)}
        mine = self.estimates.filter(pl.col("model") == name)
        if not len(mine):
            raise self._lacks(name, self.estimates["model"].unique(maintain_order=True).to_list())
        most = pl.col("trials_fitted").max().over("learner")
        mine = mine.filter(pl.col("trials_fitted") == most)
        learners = mine["learner"].unique(maintain_order=True).to_list()
        columns = mine.group_by("cell", "parameter", maintain_order=True)
        table = np.stack([_medians(frame, learners) for _, frame in columns], axis=1)
        usual = np.array([_median(column) for column in table.T])
        others = np.stack([without_own(table[:, p], usual[p]) for p in range(len(usual))], axis=1)
        return {"": usual, **dict(zip(learners, others, strict=True))}

    def _simulated(self, name: str) -> Floats:
        known = self.manifest.get("design", {}).get("parameters")
        if not isinstance(known, dict):
            raise HowlearnError(
                f"--experts-from {self.path}: the learners of this calibration were doubles of "
                "recorded ones; give the results of that howlearn select"
            )
        if name not in known:
            raise self._lacks(name, [*known])
        ends = [[float(end) for end in text.split(":")] for text in known[name]]
        return np.array([_middle(pair[0], pair[-1]) for pair in ends])

    def _lacks(self, name: str, there: Sequence[str]) -> HowlearnError:
        return HowlearnError(
            f"--experts-from {self.path}: nothing is known there about {name}; its models are "
            f"{', '.join(there)}"
        )


def _middle(low: float, high: float) -> float:
    """Of a range: on the log scale, as learners are drawn from it."""
    return float(np.sqrt(low * high)) if low > 0 else (low + high) / 2


def _medians(frame: pl.DataFrame, learners: Sequence[str]) -> Floats:
    """One parameter by learner; NaN where nothing was learned about it."""
    known = frame.filter(~pl.col("status").is_in(UNINFORMED))
    by_learner = dict(known.group_by("learner").agg(pl.col("estimate").median()).iter_rows())
    return np.array([by_learner.get(name, np.nan) for name in learners])


def _median(column: Floats) -> float:
    known = column[~np.isnan(column)]
    return float(np.median(known)) if len(known) else 0.0
