"""What a page shows of one learner, as a small dictionary that becomes JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.analyses.yardstick import UNKNOWN, Yardstick, yardstick
from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.text import few, shortened
from howlearn.report.partition_drawing import cells_of
from howlearn.report.predicted import Replays
from howlearn.results.results import Results

POINTS, PER_CELL, FEWEST = 180, 60, 8  # of all trajectories; of one; of one where cells are many
CELLS = 24  # trajectories that are drawn
APART = 12  # contexts that have a trajectory each where a model has no cells
LONGEST = 40  # characters of a cell's name
EVERY = "all contexts"
RIGHT = "right"


def common(found: Results) -> dict[str, Any]:
    """What all learners share, to be stored once.

    models, criteria, contexts, actions: names; measure, percent, along: as in Behaviour; owners: of
    every model, [[cell, parameter, lower, upper], …]; cells: of every model, the places of the
    contexts in each cell, [[0, 1], …], or null where it has none.
    """
    return _known(found).common


def detail(found: Results, sequence: int) -> dict[str, Any]:
    """One learner (or one under one condition); about 2 to 4 kB as JSON for 300 trials.

    learner, about ({condition: value}), trials; model (place, first criterion);
    selected: per criterion [model, runner_up, margin, verdict] (places, or names such as Other);
    scores: per criterion a score per model (nats, null: none);
    estimates: per parameter of the selected model [estimate, lower, upper, status];
    curve: {"x": middles of bins, "y": thousandths (of the measure itself if not percent)};
    cells: [{"name", "of": "right" or an action, "x", "p": predicted, "y": observed}], where x
    counts what ``along`` says, and p and y are thousandths: means over the trials that are nearest
    to x (one of them, if the cell has few trials and the learner never restarts).
    """
    known = _known(found)
    model = int(found.chosen[sequence])
    return {
        "learner": found.study.learners[sequence],
        "about": known.about(sequence),
        "trials": known.trials(sequence),
        "model": model,
        "selected": known.selected(sequence),
        "scores": known.scores(sequence),
        "estimates": known.estimates(sequence, model),
        "curve": known.curve(sequence),
        "cells": known.trajectories(sequence, model),
    }


def sequence_named(found: Results, name: str, conditions: Mapping[str, Any] | None = None) -> int:
    """The place of a learner's sequence, under these conditions; the first one of several."""
    labels = found.study.labels
    wanted = {"learner": str(name), **(conditions or {})}
    unknown = [column for column in wanted if column not in labels.columns]
    if unknown:
        raise HowlearnError(
            f"there is no column {unknown[0]!r} in the table of learners; there are "
            f"{', '.join(labels.columns)}"
        )
    same = [pl.col(column).cast(pl.String) == str(value) for column, value in wanted.items()]
    found_at = labels.select(pl.all_horizontal(same).fill_null(False)).to_series().arg_true()
    if len(found_at):
        return int(found_at[0])
    if str(name) in found.study.learners:
        under = ", ".join(f"{k} {v}" for k, v in (conditions or {}).items())
        raise HowlearnError(f"learner {name!r} has no trials under {under}")
    some = [*dict.fromkeys(found.study.learners)]
    raise HowlearnError(f"there is no learner {name!r}; there are {few(some, 8)}")


@lru_cache(maxsize=1)
def _known(found: Results) -> _LearnerTables:
    """Tables in the order of the sequences, made once for all learners."""
    return _LearnerTables(found)


class _LearnerTables:
    def __init__(self, found: Results) -> None:
        self.found = found
        self.rod: Yardstick = yardstick(found.study, found.task)
        self.values = self.rod.values
        self.replays = Replays(found)
        study = found.study
        self.common = {
            "models": found.names,
            "criteria": found.criteria,
            "contexts": [*study.contexts],
            "actions": [*study.actions],
            "measure": self.rod.measure,
            "percent": self.rod.percent,
            "along": self.rod.along,
            "owners": [
                [[cell, p.name, _short(p.lower), _short(p.upper)] for cell, p in owners]
                for owners in (model.owners(study.actions) for model in found.models)
            ],
            "cells": [self._cells(k) for k in range(len(found.models))],
        }
        self.labels = study.labels.drop("learner")
        n = len(found.criteria)
        self.chosen = (
            found.table("selection")
            .select("criterion", "model", "runner_up", "margin", "verdict")
            .with_columns(pl.col("model", "runner_up").cast(pl.String))
        )
        if self.chosen.height != n * len(study):
            raise HowlearnError(
                "the table of selections does not fit the study; run howlearn select again"
            )
        self.scored = self._scores()
        self._parameters: dict[int, tuple[NDArray[Any], ...]] = {}

    def _cells(self, model: int) -> list[list[int]] | None:
        cells = cells_of(self.found.models[model])
        if cells is None:
            return None
        place = {c: k for k, c in enumerate(self.found.study.contexts)}
        return [[place[c] for c in cell if c in place] for cell in cells]

    def _scores(self) -> Floats:
        """[sequence, criterion, model]; NaN where there is none."""
        found = self.found
        place = {name: k for k, name in enumerate(found.names)}
        which = {name: k for k, name in enumerate(found.criteria)}
        frame = found.table("scores").select(
            pl.col("model").cast(pl.String).replace_strict(place, default=None).alias("model"),
            pl.col("criterion").replace_strict(which).alias("criterion"),
            pl.col("score").cast(pl.Float64),
            "rank",
        )
        # The rows of a sequence stand together, and begin with the best of the first criterion.
        begins = (frame["rank"] == 1) & (frame["criterion"] == 0)
        frame = frame.with_columns(sequence=begins.cum_sum().cast(pl.Int64) - 1)
        frame = frame.drop_nulls("model")
        out = np.full((len(found.study), len(which), len(place)), np.nan)
        at = tuple(frame[c].to_numpy() for c in ("sequence", "criterion", "model"))
        out[at] = frame["score"].to_numpy()
        return out

    def about(self, sequence: int) -> dict[str, Any]:
        """Conditions and kept columns."""
        row = self.labels.row(sequence, named=True) if self.labels.width else {}
        return {name: _plain(value) for name, value in row.items()}

    def trials(self, sequence: int) -> int:
        """Choices that were free."""
        return int(self.found.study.scored[self._trials(sequence)].sum())

    def selected(self, sequence: int) -> list[list[Any]]:
        place = {name: k for k, name in enumerate(self.found.names)}
        n = len(self.found.criteria)
        rows = self.chosen[sequence * n : (sequence + 1) * n]
        return [
            [place.get(model, model), place.get(second, second), _short(margin, 4), verdict]
            for _, model, second, margin, verdict in rows.rows()
        ]

    def scores(self, sequence: int) -> list[list[float | None]]:
        return [[_rounded(s, 2) for s in each] for each in self.scored[sequence].tolist()]

    def estimates(self, sequence: int, model: int) -> list[list[Any]]:
        if model not in self._parameters:
            found = self.found
            ends = (found.column(model, name) for name in ("lower", "upper"))
            self._parameters[model] = (found.theta(model), *ends, found.status(model))
        theta, low, high, status = (part[sequence] for part in self._parameters[model])
        return [
            [_short(t), _short(a), _short(b), s]
            for t, a, b, s in zip(theta, low, high, status, strict=True)
        ]

    def curve(self, sequence: int) -> dict[str, list[Any]]:
        """Means in the bins of the learning curves."""
        mine = self._trials(sequence)
        value, bin = self.values[mine], self.rod.bins[mine]
        good = np.isfinite(value) & (bin >= 0)
        n = np.bincount(bin[good], minlength=self.rod.n_bins)
        total = np.bincount(bin[good], value[good], minlength=self.rod.n_bins)
        kept = np.flatnonzero(n)
        mean = total[kept] / n[kept]
        middle = (2 * kept * self.rod.width + self.rod.width + 1) / 2
        y = np.rint(1000 * mean).astype(int).tolist()
        if not self.rod.percent:
            y = [_short(v, 4) for v in mean]
        return {"x": [_short(x) for x in middle], "y": y}

    def trajectories(self, sequence: int, model: int) -> list[dict[str, Any]]:
        """Predicted and observed, cell by cell; by context where the model has no cells."""
        found, mine = self.found, self._trials(sequence)
        study = found.study
        p = self.replays.probabilities(sequence)
        context = study.context[mine].astype(np.int64)
        action = study.action[mine].astype(np.int64)
        right, free = self.rod.right[mine], study.scored[mine]
        cells = self.common["cells"][model]
        if cells is None:
            met = np.unique(context)
            few = len(met) <= APART
            cells = [[int(c)] for c in met] if few else [met.tolist()]
        code = np.full(len(study.contexts), -1)
        for k, cell in enumerate(cells):
            code[cell] = k
        of_cell = code[context]
        present = [k for k in range(len(cells)) if np.any(free & (of_cell == k))][:CELLS]
        most = min(PER_CELL, max(FEWEST, POINTS // max(len(present), 1)))
        out = []
        for k in present:
            at = np.flatnonzero(free & (of_cell == k))
            target, of = right[at], RIGHT
            if np.any(target == UNKNOWN):
                usual = int(np.bincount(action[at]).argmax())
                if study.offers is not None and study.offer is not None:
                    at = at[study.offers[study.offer[mine][at], usual]]
                target, of = np.full(len(at), usual), study.actions[usual]
            place = self.rod.place[mine][at]
            _, group = np.unique(place, return_inverse=True)
            group = group // -(-(int(group.max()) + 1) // most)
            size = np.bincount(group)
            means = [
                np.rint(1000 * np.bincount(group, values) / size).astype(int).tolist()
                for values in (p[at, target], (action[at] == target).astype(float))
            ]
            x = np.rint(np.bincount(group, place) / size).astype(int).tolist()
            out.append(
                {"name": self._name(cells[k]), "of": of, "x": x, "p": means[0], "y": means[1]}
            )
        return out

    def _name(self, cell: list[int]) -> str:
        contexts = self.found.study.contexts
        if len(cell) == len(contexts) > 1:
            return EVERY
        name = "+".join(contexts[c] for c in cell)
        return shortened(name, LONGEST)

    def _trials(self, sequence: int) -> slice:
        starts = self.found.study.starts
        return slice(int(starts[sequence]), int(starts[sequence + 1]))


def _plain(value: Any) -> Any:
    """As JSON can say it."""
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, int | float | str | None) else str(value)


def _rounded(value: float | None, digits: int) -> float | None:
    if value is None or not np.isfinite(value):
        return None
    return round(float(value), digits)


def _short(value: Any, digits: int = 3) -> float | int | None:
    """With few digits, and whole where it is."""
    if value is None or not np.isfinite(value):
        return None
    number = float(f"{float(value):.{digits}g}")
    return int(number) if number.is_integer() else number
