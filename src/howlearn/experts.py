"""Where the parameters of a mixture's strategies come from, when an option says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import read_json
from howlearn.fitting.joint import without_own
from howlearn.manifest import describe
from howlearn.models.mixture import SOURCES, Expert, Mixture
from howlearn.models.model import Model
from howlearn.runs.folder import read_table
from howlearn.runs.shards import MANIFEST

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
    return model.from_source("population").known_from(table, folder.told)


class _Folder:
    """The results of an earlier command."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.manifest: dict[str, Any] = read_json(path / MANIFEST)
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
        if self.estimates is not None and "excluded" in self.estimates.columns:
            self.estimates = self.estimates.filter(pl.col("excluded").is_null())

    def values(self, expert: Expert) -> dict[str, Floats]:
        """By learner the expert's parameters, and under "" those of anybody else."""
        name = expert.model.name
        self._check_same(expert)
        if self.estimates is None:
            return {"": self._simulated(name)}
        mine = self.estimates.filter(pl.col("model") == name)
        most = pl.col("trials_fitted").max().over("learner")
        mine = mine.filter(pl.col("trials_fitted") == most)
        learners = mine["learner"].unique(maintain_order=True).to_list()
        columns = [frame for _, frame in mine.group_by("cell", "parameter", maintain_order=True)]
        table = np.stack([_medians(frame, learners) for frame in columns], axis=1)
        # Where nobody was informed, the estimates are what stands in for information.
        guess = np.array([float(np.median(frame["estimate"].to_numpy())) for frame in columns])
        others = np.full(table.shape, np.nan)  # one learner alone has no others
        if len(learners) > 1:
            pairs = zip(table.T, guess, strict=True)
            others = np.stack([without_own(column, default) for column, default in pairs], axis=1)
        usual = np.where(np.isnan(table).all(axis=0), guess, _median(table))
        return {"": usual, **dict(zip(learners, others, strict=True))}

    @property
    def told(self) -> str:
        """Where these parameters come from, in words."""
        what = "simulated learners" if self.estimates is None else "learners, without the learner"
        return f"the {what} of {self.path}; not counted"

    def _check_same(self, expert: Expert) -> None:
        """Refuse a model that was another one there: other cells, another rule, other bounds."""
        known = {model["name"]: model for model in self.manifest.get("models", [])}
        name = expert.model.name
        if name not in known:
            raise HowlearnError(
                f"--experts-from {self.path}: nothing is known there about {name}; its models are "
                f"{', '.join(known)}"
            )
        if json.loads(json.dumps(describe(expert.model))) != known[name]:
            raise HowlearnError(
                f"--experts-from {self.path}: {name} is another model there (other cells, another "
                "rule, form or bounds), so that its parameters mean something else"
            )

    def _simulated(self, name: str) -> Floats:
        known = self.manifest.get("design", {}).get("parameters")
        if not isinstance(known, dict):
            raise HowlearnError(
                f"--experts-from {self.path}: the learners of this calibration were doubles of "
                "recorded ones; give the results of that howlearn select"
            )
        ends = [[float(end) for end in text.split(":")] for text in known[name]]
        return np.array([_middle(pair[0], pair[-1]) for pair in ends])


def _middle(low: float, high: float) -> float:
    """Of a range: on the log scale, as learners are drawn from it."""
    return float(np.sqrt(low * high)) if low > 0 else (low + high) / 2


def _medians(frame: pl.DataFrame, learners: Sequence[str]) -> Floats:
    """One parameter by learner; NaN where nothing was learned about it."""
    known = frame.filter(~pl.col("status").is_in(UNINFORMED))
    by_learner = dict(known.group_by("learner").agg(pl.col("estimate").median()).iter_rows())
    return np.array([by_learner.get(name, np.nan) for name in learners])


def _median(table: Floats) -> Floats:
    """By column, of what is known; 0 where nothing is."""
    known = [column[~np.isnan(column)] for column in table.T]
    return np.array([float(np.median(column)) if len(column) else 0.0 for column in known])
