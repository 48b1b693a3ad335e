"""The authors' fits of their synthetic learners, from R's nested lists in their RData files.

Which list is which is settled by the learners' files: at the right learner and model, and only
there, the stored estimates give the stored likelihood. The likelihoods of the trials after a
truncation are computed at the stored estimates, which makes ``alldataholdoutbis`` superfluous.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.study import Study
from howlearn.models.task import Task
from howlearn.paper import published

# R's nested lists as trees of numbers, and trees as arrays.

EXTRA = "reading RData files needs the package rdata: pip install 'howlearn[r]'"


class Unfit(Exception):
    """A file is not what its name promises; the text says what was expected and found."""


@dataclass(frozen=True)
class Branch:
    """A list of R, with the names of its entries where it has any."""

    items: tuple[Branch | Floats, ...]
    names: tuple[str, ...] | None = None


Node = Branch | Floats


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Puts the file's name before what is said about it."""
    try:
        yield
    except Unfit as error:
        raise Unfit(f"{path}: {error}") from None


def rdata_file(files: Mapping[str, Path], name: str) -> Path | None:
    """The RData file of that name, however it is spelled."""
    return files.get(f"{name}.rdata".casefold()) or files.get(f"{name}.rda".casefold())


def load(path: Path) -> Node:
    """The one object in an RData file."""
    import rdata

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about classes of R that we do not need
            objects = rdata.read_rda(path)
    except Exception as error:
        # rdata has no error class: a broken file may raise anything.
        raise Unfit(f"cannot be read as RData: {error!r}") from None
    if len(objects) != 1:
        raise Unfit(f"one object is expected, found {', '.join(objects) or 'none'}")
    node = _node(next(iter(objects.values())))
    while isinstance(node, Branch) and len(node.items) == 1:  # a list around a list
        node = node.items[0]
    return node


def component(node: Node, depth: int, which: int) -> Node:
    """The tree without the level at a depth, of which one entry is kept."""
    if not isinstance(node, Branch) or (depth == 0 and which >= len(node.items)):
        raise Unfit("no such level")
    if depth == 0:
        return node.items[which]
    return Branch(tuple(component(item, depth - 1, which) for item in node.items), node.names)


def numbers(node: Node) -> Floats:
    """A tree as an array; a vector of several numbers is a further axis."""
    if isinstance(node, Branch):
        return _stacked([numbers(item) for item in node.items])
    return node.reshape(()) if node.size == 1 else node


def _stacked(parts: list[NDArray[Any]]) -> NDArray[Any]:
    if len({part.shape for part in parts}) != 1:
        raise Unfit("lists of unequal lengths")
    return np.stack(parts)


def vectors(node: Node) -> NDArray[np.object_]:
    """A tree as an array of the vectors at its ends."""
    if isinstance(node, Branch):
        return _stacked([vectors(item) for item in node.items])
    if node.ndim != 1:
        raise Unfit("a matrix where a vector is expected")
    end = np.empty((), dtype=object)
    end[()] = node
    return end


def axis_names(node: Node, axes: int) -> tuple[tuple[str, ...] | None, ...]:
    """The names along each level; they must be the same in all its lists."""
    levels = [{branch.names for branch in level(node, depth)} for depth in range(axes)]
    if any(len(level) > 1 for level in levels):
        raise Unfit("lists of one level with different names")
    return tuple(next(iter(level)) if level else None for level in levels)


def level(node: Node, depth: int) -> Iterator[Branch]:
    if not isinstance(node, Branch):
        return
    if depth == 0:
        yield node
    else:
        for item in node.items:
            yield from level(item, depth - 1)


def described(node: Node) -> str:
    """The outline of a tree.

    >>> described(Branch((Branch((np.zeros(9), np.zeros(1))), np.zeros(1))))
    'a list of 2, of which the first is a list of 2, of which the first is a vector of 9'
    """
    if isinstance(node, Branch):
        inside = f", of which the first is {described(node.items[0])}" if node.items else ""
        return f"a list of {len(node.items)}{inside}"
    kind = "vector" if node.ndim == 1 else "matrix"
    return f"a {kind} of {' × '.join(map(str, node.shape))}"


def _node(value: Any) -> Node:
    if isinstance(value, Mapping):
        return Branch(tuple(_node(v) for v in value.values()), tuple(str(k) for k in value))
    if isinstance(value, list | tuple):
        return Branch(tuple(_node(item) for item in value))
    if not hasattr(value, "dtype") or np.ma.is_masked(value):  # text, frames, missing whole numbers
        raise Unfit(f"lists of numbers are expected, found {type(value).__name__} in them")
    named = _named(value)
    if named is not None:
        return named
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.ndim == 0 or array.size == 0:
        raise Unfit(f"numbers are expected, found {array.dtype} of shape {array.shape}")
    return array.astype(np.float64)


def _named(value: Any) -> Branch | None:
    """A matrix with names as lists with names, and a vector with the models' names as one.

    Other names of vectors (DEoptim's "par1") say nothing.
    """
    if not hasattr(value, "coords"):
        return None
    labels = [
        tuple(str(name) for name in value.coords[dim].values) if dim in value.coords else None
        for dim in value.dims
    ]
    if value.ndim == 2:
        return Branch(tuple(_row(row, labels[1]) for row in value.values), labels[0])
    if value.ndim == 1 and published.model_order(labels[0]):
        return _row(value.values, labels[0])
    return None


def _row(values: Any, names: tuple[str, ...] | None) -> Branch:
    return Branch(tuple(np.array([value], dtype=np.float64) for value in values), names)


# The authors' fits in R's nested lists, found by their structure.
#
# Nobody wrote down how the lists are nested. A fit is (estimates, negative log-likelihood,
# horizon); the level of these three may lie below or above the levels of learners and models, and
# the level of models is known by the numbers of estimates. Whatever does not fit raises ``Unfit``.

CELLS = (9, 1, 2, 2, 4, 4)  # estimates of each model, in the authors' order


@dataclass(frozen=True, eq=False)
class FitArrays:
    """Fits as arrays; the last axis is that of the models, in our order."""

    estimates: Mapping[str, NDArray[np.object_]]  # of a model: a vector for all other axes
    values: Floats
    horizon: Floats | None
    axis: int  # the level of the models in the file
    names: tuple[tuple[str, ...] | None, ...]  # along the other axes


def fits_in(node: Node, models: tuple[str, ...]) -> FitArrays:
    """The fits of all models, wherever the levels are."""
    found = []
    for depth in range(4):
        try:
            found.append(_fits_at(node, depth, models))
        except Unfit:
            continue
    if len(found) != 1:
        raise Unfit(
            "expected are lists of (estimates, likelihood, horizon) with a level of six models of "
            f"{', '.join(map(str, CELLS))} estimates; found {described(node)}"
        )
    return found[0]


def _fits_at(node: Node, depth: int, models: tuple[str, ...]) -> FitArrays:
    """The fits, if the level of (estimates, likelihood, horizon) is the one at that depth."""
    widths = {len(branch.items) for branch in level(node, depth)}
    if widths not in ({2}, {3}):
        raise Unfit("no level of two or three")
    estimates = vectors(component(node, depth, 0))
    values = numbers(component(node, depth, 1))
    if values.shape != estimates.shape:
        raise Unfit("not one likelihood for each vector of estimates")
    names = axis_names(component(node, depth, 0), estimates.ndim)
    axis, order = _model_axis(np.vectorize(len, otypes=[int])(estimates), names)
    estimates, values = np.moveaxis(estimates, axis, -1), np.moveaxis(values, axis, -1)
    horizon = numbers(component(node, depth, 2)) if widths == {3} else None
    if horizon is not None and horizon.shape == estimates.shape[:-1]:  # one for all models
        horizon = np.stack([horizon] * len(models), axis=axis)
    if horizon is not None:
        horizon = np.moveaxis(horizon, axis, -1)
        if horizon.shape != values.shape:
            raise Unfit("not one horizon for each vector of estimates")
        horizon = horizon[..., [order[m] for m in models]]
    return FitArrays(
        {m: estimates[..., order[m]] for m in models},
        values[..., [order[m] for m in models]],
        horizon,
        axis,
        names[:axis] + names[axis + 1 :],
    )


def _model_axis(
    sizes: NDArray[np.int_], names: tuple[tuple[str, ...] | None, ...]
) -> tuple[int, dict[str, int]]:
    expected = dict(zip(published.AUTHORS.values(), CELLS, strict=True))
    found = []
    for axis in range(sizes.ndim):
        along = np.moveaxis(sizes, axis, -1).reshape(-1, sizes.shape[axis])
        if along.shape[1] != len(CELLS) or (along != along[0]).any():
            continue
        order = published.model_order(names[axis])
        if order and all(along[0, order[model]] == size for model, size in expected.items()):
            found.append((axis, order))
    if len(found) != 1:
        raise Unfit("no level of models")
    return found[0]


Parts = dict[str, published.LearnerFits]


def read_recorded(
    around: Mapping[str, Path],
    task: Task,
    learners: Mapping[str, Study],
    files: Mapping[str, tuple[str, ...]],
) -> tuple[published.StoredFits | None, list[str]]:
    """The fits in the RData files that are there, or None; and notes."""
    paths = {n: path for n in published.TRUNCATIONS if (path := rdata_file(around, _name(n)))}
    if not paths:
        return None, ["no fits of the synthetic learners by the authors were found"]
    if find_spec("rdata") is None:
        return None, [f"{', '.join(map(str, paths.values()))}: not read; {EXTRA}"]
    parts = {model: published.no_fits(task, of) for model, of in files.items()}
    used, notes = [], []
    for n, path in paths.items():
        try:
            parts = _with(parts, _fits(path, n, task, learners, files))
            used.append(path.name)
        except Unfit as error:
            notes.append(f"{error}; left out")
    absent = [_name(n) for n in published.TRUNCATIONS if n not in paths]
    if absent:
        notes.append(f"no RData file {', '.join(absent)}: their fits are missing")
    if not used:
        return None, notes
    models = tuple(model.name for model in task.models)
    source = ", ".join(used)
    notes.append(f"{source}: the authors' fits, equal to the likelihoods at their estimates")
    return published.StoredFits(source, models, published.TRUNCATIONS, parts), notes


def _name(trials: int) -> str:
    if trials == published.TRIALS:
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
        faults = [published.disagreement(parts[m], learners[m], files[m], task) for m in parts]
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
        if len(count) != 1 or shape != (len(published.AUTHORS), *count):
            continue
        parts = {}
        for model, at in (published.model_order(arrays.names[axes[0]]) or {}).items():
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
) -> published.LearnerFits:
    """One generating model's fits after one number of trials, in the order of our learners."""
    j = published.TRUNCATIONS.index(trials)
    # R lists files alphabetically: 1, 10, 100, 11 … (SPEC 8.B6)
    alphabetical = sorted(files)
    rows = [alphabetical.index(name) for name in files]
    part = published.no_fits(task, files)
    part.fitted[:, :, j] = value[rows]
    for model, rates in estimates.items():
        part.estimates[model][:, j] = rates[rows]
    part.rest[:] = published.replayed(study, part.estimates, task)[1]
    return part


def _with(parts: Parts, more: Parts) -> Parts:
    """Both, where each has numbers that the other lacks."""

    def filled(a: Floats, b: Floats) -> Floats:
        return np.where(np.isnan(b), a, b)

    return {
        model: published.LearnerFits(
            part.files,
            filled(part.fitted, more[model].fitted),
            filled(part.rest, more[model].rest),
            {m: filled(e, more[model].estimates[m]) for m, e in part.estimates.items()},
        )
        for model, part in parts.items()
    }
