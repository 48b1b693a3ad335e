"""The authors' fits of their synthetic learners, from their RData files.

Which list is which is settled by the learners' files: at the right learner and model, and only
there, the stored estimates give the stored likelihood. The likelihoods of the trials after a
truncation are computed at the stored estimates, which makes ``alldataholdoutbis`` superfluous.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.study import Study
from howlearn.models.task import Task
from howlearn.paper.layout import AUTHORS, TRIALS, TRUNCATIONS, model_order
from howlearn.paper.rfits import FitArrays, fits_in
from howlearn.paper.rtree import EXTRA, Unfit, load, naming, rdata_file
from howlearn.paper.stored import LearnerFits, StoredFits, disagreement, replayed

Parts = dict[str, LearnerFits]


def read_recorded(
    around: Mapping[str, Path],
    task: Task,
    learners: Mapping[str, Study],
    files: Mapping[str, tuple[str, ...]],
) -> tuple[StoredFits | None, list[str]]:
    """The fits in the RData files that are there, or None; and notes."""
    paths = {n: path for n in TRUNCATIONS if (path := rdata_file(around, _name(n)))}
    if not paths:
        return None, ["no fits of the synthetic learners by the authors were found"]
    if find_spec("rdata") is None:
        return None, [f"{', '.join(map(str, paths.values()))}: not read; {EXTRA}"]
    parts, used, notes = _nothing(task, files), [], []
    for n, path in paths.items():
        try:
            parts = _with(parts, _fits(path, n, task, learners, files))
            used.append(path.name)
        except Unfit as error:
            notes.append(f"{error}; left out")
    absent = [_name(n) for n in TRUNCATIONS if n not in paths]
    if absent:
        notes.append(f"no RData file {', '.join(absent)}: their fits are missing")
    if not used:
        return None, notes
    models = tuple(model.name for model in task.models)
    source = ", ".join(used)
    notes.append(f"{source}: the authors' fits, equal to the likelihoods at their estimates")
    return StoredFits(source, models, TRUNCATIONS, parts), notes


def _name(trials: int) -> str:
    if trials == TRIALS:
        return "Datalikelihood100agents6modeletabis500horizon"
    return f"holdoutbis100agents6models_horizon_{trials}"


def _fits(
    path: Path,
    trials: int,
    task: Task,
    learners: Mapping[str, Study],
    files: Mapping[str, tuple[str, ...]],
) -> Parts:
    """The fits of one file; the arrangement that the learners' files confirm."""
    with naming(path):
        arrays = fits_in(load(path), tuple(model.name for model in task.models))
    fault = ""
    for parts in _arrangements(arrays, trials, task, learners, files):
        faults = [disagreement(parts[m], learners[m], files[m], task) for m in parts]
        fault = next(filter(None, faults), "")
        if not fault:
            return parts
    counts = sorted({len(of) for of in files.values()})
    raise Unfit(
        f"{path}: fits of 6 generating models and {' or '.join(map(str, counts))} learners each "
        f"are expected, in the alphabetical order of the learners' files; found the shape "
        f"{' × '.join(map(str, arrays.values.shape))}" + f": {fault}" * bool(fault)
    )


def _arrangements(
    arrays: FitArrays,
    trials: int,
    task: Task,
    learners: Mapping[str, Study],
    files: Mapping[str, tuple[str, ...]],
) -> Iterator[Parts]:
    """The ways to read two axes as generating models and learners, as far as their lengths go."""
    count = {len(of) for of in files.values()}
    for axes in permutations(range(arrays.values.ndim - 1)):
        shape = tuple(arrays.values.shape[axis] for axis in axes)
        if len(count) != 1 or shape != (len(AUTHORS), *count):
            continue
        parts = {}
        for model, at in (model_order(arrays.names[axes[0]]) or {}).items():
            mine = {
                m: np.stack([*np.take(e, at, axis=axes[0])]) for m, e in arrays.estimates.items()
            }
            value = np.take(arrays.values, at, axis=axes[0])
            parts[model] = _part(mine, value, trials, task, learners[model], files[model])
        if parts:
            yield parts


def _part(
    estimates: Mapping[str, Floats],
    value: Floats,
    trials: int,
    task: Task,
    study: Study,
    files: tuple[str, ...],
) -> LearnerFits:
    """One generating model's fits after one number of trials, in the order of our learners."""
    j = TRUNCATIONS.index(trials)
    # R lists files alphabetically: 1, 10, 100, 11 … (SPEC 8.B6)
    alphabetical = sorted(files)
    rows = [alphabetical.index(name) for name in files]
    part = _empty(task, files)
    part.fitted[:, :, j] = value[rows]
    for model, rates in estimates.items():
        part.estimates[model][:, j] = rates[rows]
    part.rest[:] = replayed(study, part.estimates, task)[1]
    return part


def _empty(task: Task, files: tuple[str, ...]) -> LearnerFits:
    def nothing(*shape: int) -> Floats:
        return np.full((len(files), *shape), np.nan)

    shape = (len(task.models), len(TRUNCATIONS))
    cells = {m.name: nothing(len(TRUNCATIONS), len(m.partition.cells)) for m in task.models}
    return LearnerFits(files, nothing(*shape), nothing(*shape), cells)


def _nothing(task: Task, files: Mapping[str, tuple[str, ...]]) -> Parts:
    return {model: _empty(task, of) for model, of in files.items()}


def _with(parts: Parts, more: Parts) -> Parts:
    """Both, where each has numbers that the other lacks."""

    def filled(a: Floats, b: Floats) -> Floats:
        return np.where(np.isnan(b), a, b)

    return {
        model: LearnerFits(
            part.files,
            filled(part.fitted, more[model].fitted),
            filled(part.rest, more[model].rest),
            {m: filled(e, more[model].estimates[m]) for m, e in part.estimates.items()},
        )
        for model, part in parts.items()
    }
