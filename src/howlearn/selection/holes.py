"""Models that contain others: what makes the larger one different must be there.

Q-learning with forgetting is q-learning where nothing is forgotten. If both compete, a population
of the larger model that reaches to where nothing is forgotten explains the learners of both, and
takes those of the simpler one. So the larger model means people for whom the difference matters:
the density of its population has a hole where it is the simpler candidate. How wide the hole is
stands with the parameter: ``smallest``, the smallest size of interest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howlearn.core.arrays import Floats, special
from howlearn.core.rule import Parameter
from howlearn.models.model import Model

COLUMNS = 6  # of a hole's coordinate, as engine/kernels/population.py takes it
BOTH, BELOW, ABOVE = 1.0, 2.0, 3.0
NEAR = 0.25  # times the smallest size of interest: half of the depth of a hole is left there
SIZES = (NEAR, 1.0)  # how wide a hole should be is a matter of definition: answers are averaged
EDGE = 0.5  # how soft the edge of a hole is that reaches to a bound: a logit
HALF = float(np.sqrt(2.0 * np.log(2.0)))  # widths at which a hole has half its depth
FURTHEST = 12.0


def holes_of(
    models: Sequence[Model],
    which: Sequence[int],
    parameters: Sequence[Sequence[Parameter]],
    actions: Sequence[str],
    rewards: tuple[float, float],
    near: float = NEAR,
) -> Floats:
    """[model, coordinate, COLUMNS] of the models ``which`` among the candidates."""
    every = [
        _of_model(models[k], [models[k].contains(m, actions) for m in models], mine, rewards, near)
        for k, mine in zip(which, parameters, strict=True)
    ]
    out = np.zeros((len(which), max(map(len, every), default=0), COLUMNS))
    for j, rows in enumerate(every):
        out[j, : len(rows)] = np.reshape(rows, (-1, COLUMNS))
    return out


def _of_model(
    model: Model,
    held: Sequence[tuple[str, ...]],
    parameters: Sequence[Parameter],
    rewards: tuple[float, float],
    near: float,
) -> list[tuple[float, ...]]:
    """One hole for every set of parameters that are neutral where it is a rival.

    Where a set holds another, its hole lies within that of the other; of those that only overlap
    the first counts.
    """
    rows: list[tuple[float, ...]] = []
    used: set[str] = set()
    for names in sorted({tuple(sorted(each)) for each in held if each}, key=len):
        found = [_coordinate(model, name, parameters, rewards, near) for name in names]
        if used.isdisjoint(names) and all(found):
            used.update(names)
            rows += [(*each, float(len(used))) for each in found if each]
    return rows


def _coordinate(
    model: Model,
    name: str,
    parameters: Sequence[Parameter],
    rewards: tuple[float, float],
    near: float,
) -> tuple[float, ...] | None:
    """Where a parameter makes no difference; None if that lies outside of its bounds."""
    names = [parameter.name for parameter in parameters]
    d = names.index(name)
    parameter, neutral = parameters[d], model.neutral(parameters[d], rewards)
    size = near * parameter.smallest
    if isinstance(neutral, str):
        return d, names.index(neutral), BOTH, 0.0, size / HALF
    if not parameter.lower <= neutral <= parameter.upper:
        return None
    if neutral == parameter.lower:
        return d, -1, BELOW, _logit(parameter, neutral + size), EDGE
    if neutral == parameter.upper:
        return d, -1, ABOVE, _logit(parameter, neutral - size), EDGE
    ends = [_logit(parameter, neutral + sign * size) for sign in (-1.0, 1.0)]
    return d, -1, BOTH, _logit(parameter, neutral), (ends[1] - ends[0]) / 2.0 / HALF


def _logit(parameter: Parameter, value: float) -> float:
    place = (value - parameter.lower) / (parameter.upper - parameter.lower)
    with np.errstate(divide="ignore"):
        return float(np.clip(np.log(place) - np.log1p(-place), -FURTHEST, FURTHEST))


def log_outside(holes: Floats, points: Floats) -> Floats:
    """[learner, point]: the log of what the holes of a model leave at points[…, parameter]."""
    inside: dict[float, Floats] = {}
    for d, e, kind, at, width, number in holes:
        if not kind:
            break
        t = points[..., int(d)] - (points[..., int(e)] if e >= 0 else 0.0)
        z = (t - at) / width
        taken = np.exp(-0.5 * z**2) if kind == BOTH else special().ndtr(-z if kind == BELOW else z)
        inside[number] = inside.get(number, 1.0) * taken
    with np.errstate(divide="ignore"):
        found = [np.log1p(-taken) for taken in inside.values()]
    return np.sum(found, axis=0) if found else np.zeros(points.shape[:-1])
