"""The authors' fits in R's nested lists, found by their structure.

Nobody wrote down how the lists are nested. A fit is (estimates, negative log-likelihood, horizon);
the level of these three may lie below or above the levels of learners and models, and the level of
models is known by the numbers of estimates. Whatever does not fit raises ``Unfit``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.paper.layout import AUTHORS, model_order
from howlearn.paper.rtree import (
    Floats,
    Node,
    Unfit,
    axis_names,
    component,
    described,
    level,
    numbers,
    vectors,
)

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
    expected = dict(zip(AUTHORS.values(), CELLS, strict=True))
    found = []
    for axis in range(sizes.ndim):
        along = np.moveaxis(sizes, axis, -1).reshape(-1, sizes.shape[axis])
        if along.shape[1] != len(CELLS) or (along != along[0]).any():
            continue
        order = model_order(names[axis])
        if order and all(along[0, order[model]] == size for model, size in expected.items()):
            found.append((axis, order))
    if len(found) != 1:
        raise Unfit("no level of models")
    return found[0]
