"""What simulated learners have and meet: their parameters, and what every action earns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Parameter
from howlearn.models.model import Model

STREAM = 1  # of random numbers for parameters, apart from that for choices


@dataclass(frozen=True)
class Range:
    """Each learner and cell draws a separate value, evenly on the log scale (if lower > 0).

    >>> Range(0.01, 0.1).at(np.array([0.0, 0.5, 1.0])).round(4).tolist()
    [0.01, 0.0316, 0.1]
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise HowlearnError(
                f"a range goes from its lower to its upper end, as 0.01:0.1, got "
                f"{self.lower:g}:{self.upper:g}"
            )

    def at(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """The value at a share u of the way."""
        if self.lower > 0:
            value = self.lower * (self.upper / self.lower) ** u
            return np.minimum(value, self.upper)  # rounding may go past it
        return self.lower + (self.upper - self.lower) * u


Value = float | Range
Parameters = Mapping[str, Value | Sequence[Value]]  # one value for all cells, or one per cell


Owner = tuple[str, Parameter]  # a parameter of a model, and the cell that it belongs to


def defaults(model: Model, actions: Sequence[str]) -> dict[str, list[Value]]:
    """Values for a model whose parameters were not given; a coin is then fair."""
    values: dict[str, list[Value]] = {}
    for _, parameter in model.owners(actions):
        values.setdefault(parameter.name, []).append(parameter.default)
    return values


def parameter_values(model: Model, parameters: Parameters, actions: Sequence[str]) -> list[Value]:
    """One value or range per parameter, in the model's own order, checked against the bounds."""
    mine = model.owners(actions)
    names = list(dict.fromkeys(parameter.name for _, parameter in mine))
    for name in [*parameters, *names]:
        if name not in names or name not in parameters:
            wanted = f"needs a value for {', '.join(names)}"
            raise HowlearnError(
                f"model {model.name} {wanted if names else 'has no parameters to set'}; "
                f"given: {', '.join(parameters) or 'none'}"
            )
    found: dict[int, Value] = {}
    for name in names:
        places = [k for k, (_, parameter) in enumerate(mine) if parameter.name == name]
        values = _one_each(parameters[name], [mine[k] for k in places], model.name)
        for k, value in zip(places, values, strict=True):
            _check_bounds(value, mine[k])
            found[k] = value
    ordered = [found[k] for k in range(len(mine))]
    if model.adds_up and sum(_ends(value)[1] for value in ordered) > 1:
        raise HowlearnError("the probabilities of a coin add up to at most 1")
    return ordered


def _one_each(given: Value | Sequence[Value], mine: Sequence[Owner], model: str) -> list[Value]:
    several = isinstance(given, Sequence | np.ndarray)
    values: list[Value] = [*given] if several else [given]
    if len(values) == 1:
        values *= len(mine)
    if len(values) != len(mine):
        cells = ", ".join(cell for cell, _ in mine)
        each = f", or {len(mine)}, one per cell ({cells})" if len(mine) > 1 else ""
        raise HowlearnError(
            f"{mine[0][1].name} of model {model} needs one value{each}; given: {len(values)}"
        )
    return values


def _ends(value: Value) -> tuple[float, float]:
    return (value.lower, value.upper) if isinstance(value, Range) else (value, value)


def _check_bounds(value: Value, owner: Owner) -> None:
    cell, parameter = owner
    for end in _ends(value):
        if not parameter.lower <= end <= parameter.upper:
            raise HowlearnError(
                f"{parameter.name} of cell {cell} must lie between {parameter.lower:g} and "
                f"{parameter.upper:g}, got {end:g}"
            )


def checked(
    model: Model, given: NDArray[np.float64], actions: Sequence[str]
) -> NDArray[np.float64]:
    """Parameters that are given as an array [learner, parameter], checked against the bounds."""
    mine = model.owners(actions)
    if given.ndim != 2 or given.shape[1] != len(mine):
        raise HowlearnError(
            f"model {model.name} has {len(mine)} parameters, so an array of [learner, parameter] "
            f"has {len(mine)} columns; the one given has the shape {given.shape}"
        )
    for k, owner in enumerate(mine):
        column = given[:, k]
        outside = column[~((column >= owner[1].lower) & (column <= owner[1].upper))]
        for value in outside[:1].tolist():
            _check_bounds(value, owner)
    return given.astype(np.float64)


def drawn(
    values: Sequence[Value], learners: Sequence[int], seeds: Sequence[int]
) -> NDArray[np.float64]:
    """The parameters of some learners, [learner, parameter]; learner i's depend on (seeds, i)."""
    theta = np.empty((len(learners), len(values)))
    for k, value in enumerate(values):
        theta[:, k] = value.lower if isinstance(value, Range) else value
    ranges = [(k, value) for k, value in enumerate(values) if isinstance(value, Range)]
    for row, i in enumerate(learners if ranges else ()):
        u = np.random.default_rng([*seeds, i, STREAM]).random(len(values))
        for k, value in ranges:
            theta[row, k] = value.at(u[k])
    return theta


# What every action earns in every context, from which trial on: what a simulated learner meets.


SAME = 1e-12  # expected rewards closer than this are equal: 0.1 + 0.2 is as good as 0.3


@dataclass(frozen=True)
class Reward:
    """What an action earns: ``reward`` with a probability, ``otherwise`` in the other trials.

    >>> Reward(probability=0.8).expected
    0.8
    """

    probability: float = 1.0
    reward: float = 1.0
    otherwise: float = 0.0

    @property
    def expected(self) -> float:
        """The mean reward."""
        return self.probability * self.reward + (1 - self.probability) * self.otherwise


Rewards = Mapping[str, Mapping[str, Reward]]  # of every context, of every action


@dataclass(frozen=True)
class Reversal:
    """From a trial on two actions exchange their rewards, or other actions are correct."""

    trial: int  # the first trial with the new rewards, counted from 1
    swap: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()  # where the two actions exchange their rewards
    correct: Mapping[str, str] = field(default_factory=dict)

    def applied(self, rewards: Rewards) -> Rewards:
        """The rewards after the reversal."""
        changed = dict(rewards)
        for context in self.contexts:
            one, other = self.swap
            row = rewards[context]
            changed[context] = {**row, one: row[other], other: row[one]}
        for context, action in self.correct.items():
            changed[context] = correct_rewards(tuple(rewards[context]), action)
        return changed


def correct_rewards(actions: Sequence[str], correct: str) -> dict[str, Reward]:
    """1 for the correct action and 0 for every other, always.

    >>> [reward.expected for reward in correct_rewards(["A", "B"], "B").values()]
    [0.0, 1.0]
    """
    return {action: certain(float(action == correct)) for action in actions}


def certain(reward: float) -> Reward:
    """The same reward in every trial."""
    return Reward(1.0, reward, reward)


@dataclass(frozen=True, eq=False)
class Schedule:
    """The rewards as arrays: phase × context × action, in the order of the task.

    An action earns ``reward`` with ``probability``, and ``otherwise`` in the other trials. ``best``
    marks the actions with the highest expected reward, which a stopping rule counts as correct.
    """

    from_trial: NDArray[np.int64]  # the first trial of each phase, counted from 0
    probability: NDArray[np.float64]
    reward: NDArray[np.float64]
    otherwise: NDArray[np.float64]
    best: NDArray[np.bool_]

    def best_of(
        self, phase: NDArray[np.int64], context: NDArray[np.int64], offered: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """[trial, action]: those with the highest expected reward among those on offer."""
        at = (phase, context)
        p = self.probability[at]
        mean = p * self.reward[at] + (1 - p) * self.otherwise[at]
        mean = np.where(offered, mean, -np.inf)
        best: NDArray[np.bool_] = mean >= mean.max(axis=1, keepdims=True) - SAME
        return best


def build_schedule(rewards: Rewards, reversals: Sequence[Reversal]) -> Schedule:
    """Lay out the rewards of every phase; reversals take effect one after another.

    >>> rewards = {"1": correct_rewards(["A", "B"], "A")}
    >>> schedule = build_schedule(rewards, [Reversal(81, ("A", "B"), ("1",))])
    >>> schedule.from_trial.tolist(), schedule.reward.tolist()
    ([0, 80], [[[1.0, 0.0]], [[0.0, 1.0]]])
    """
    phases = {0: rewards}
    for reversal in sorted(reversals, key=lambda reversal: reversal.trial):
        rewards = reversal.applied(rewards)
        phases[reversal.trial - 1] = rewards  # reversals at the same trial make one phase
    table = np.array(
        [
            [[_numbers(reward) for reward in row.values()] for row in rows.values()]
            for rows in phases.values()
        ]
    )
    probability, reward, otherwise, expected = np.ascontiguousarray(np.moveaxis(table, -1, 0))
    best = expected >= expected.max(axis=2, keepdims=True) - SAME
    return Schedule(np.array(list(phases), dtype=np.int64), probability, reward, otherwise, best)


def _numbers(reward: Reward) -> tuple[float, ...]:
    return reward.probability, reward.reward, reward.otherwise, reward.expected
