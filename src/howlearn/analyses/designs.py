"""Who is simulated; here learners of a task with given parameters (``doubles`` has the others)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.fits import Fits
from howlearn.models.model import Model
from howlearn.models.schedule import Reward
from howlearn.models.task import Task
from howlearn.models.values import (
    Parameters,
    Range,
    Value,
    defaults,
    drawn,
    owners,
    parameter_values,
)
from howlearn.simulation.simulate import play, stage_for

ENOUGH = 200  # learners per model, unless another number is asked for
APART = 1  # ends the seed of a design, so that no learner is one of `howlearn simulate`


class Design(Protocol):
    """A way of making learners whose true model is known."""

    @property
    def truths(self) -> tuple[Model, ...]: ...

    @property
    def learners(self) -> int:
        """Of each true model."""
        ...

    @property
    def fits(self) -> Fits | None:
        """Of recorded learners, where there are any."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that the user should read."""
        ...

    def simulate(self, truth: int, stream: int, start: int, stop: int) -> tuple[Study, Floats]:
        """Learners start to stop of a true model, with their parameters [learner, parameter]."""
        ...

    def described(self) -> dict[str, Any]:
        """For the manifest: everything that decides who is simulated."""
        ...


@dataclass(frozen=True, eq=False)
class TaskDesign:
    """Learners of a task; ``parameters`` by the name of the model, or under "" for all others."""

    task: Task
    truths: tuple[Model, ...]
    parameters: Mapping[str, Parameters]
    learners: int = ENOUGH
    trials: int | None = None
    seed: int = 0
    as_published: bool = False

    def __post_init__(self) -> None:
        known = {"", *(model.name for model in self.truths)}
        for name in self.parameters:
            if name not in known:
                raise HowlearnError(
                    f"parameters are given for model {name}, which is not simulated; simulated "
                    f"are {', '.join(model.name for model in self.truths)}"
                )
        names = [model.name for model in self.truths]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise HowlearnError(f"two candidates have the same name: {', '.join(twice)}")
        theirs = {owner.name for model in self.truths for owner in owners(model, self.actions)}
        for name in self.parameters.get("", {}):
            if name not in theirs:
                raise HowlearnError(
                    f"no simulated model has a parameter {name}; there is "
                    f"{', '.join(sorted(theirs))}"
                )
        for truth in range(len(self.truths)):
            self.values(truth)
        self.task.schedule()  # refuses a task that does not say what its actions earn

    @property
    def actions(self) -> tuple[str, ...]:
        return self.task.actions

    @property
    def fits(self) -> None:
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    def values(self, truth: int) -> list[Value]:
        """What is given for a true model: for all of its parameters, a value or a range."""
        model = self.truths[truth]
        mine = {owner.name for owner in owners(model, self.actions)}
        common = {k: v for k, v in self.parameters.get("", {}).items() if k in mine}
        own = self.parameters.get(model.name, {})
        for name in own:
            if name not in mine:
                raise HowlearnError(
                    f"model {model.name} has no parameter {name}; it has {', '.join(sorted(mine))}"
                )
        return parameter_values(
            model, {**defaults(model, self.actions), **common, **own}, self.actions
        )

    def simulate(self, truth: int, stream: int, start: int, stop: int) -> tuple[Study, Floats]:
        seeds = (self.seed, truth, stream, APART)
        theta = drawn(self.values(truth), range(start, stop), seeds)
        stage = stage_for(
            self.task, self.truths[truth], self.trials, as_published=self.as_published
        )
        return play(stage, theta, range(start, stop), seeds), theta

    def described(self) -> dict[str, Any]:
        return {
            **described(self.task),
            "trials": self.trials or self.task.trials,
            "order": self.task.order,
            "learners_per_model": self.learners,
            "seed": self.seed,
            "as_published": self.as_published,
            "parameters": {
                model.name: [_text(value) for value in self.values(truth)]
                for truth, model in enumerate(self.truths)
            },
        }


def by_model_name(parameters: Parameters | Mapping[str, Parameters]) -> dict[str, Parameters]:
    """Parameters by the model's name; common ones stand under "".

    >>> by_model_name({"eta": 0.03, "ByShape": {"eta": 0.1}})
    {'': {'eta': 0.03}, 'ByShape': {'eta': 0.1}}
    """
    common: dict[str, object] = {}
    found: dict[str, Parameters] = {}
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            found[name] = value
        else:
            common[name] = value
    return {"": common, **found} if common else found  # pyright: ignore[reportReturnType]


def _text(value: Value) -> str:
    ends = (value.lower, value.upper) if isinstance(value, Range) else (value,)
    return ":".join(repr(float(end)) for end in ends)


def described(task: Task) -> dict[str, Any]:
    """A task as far as it decides what simulated learners do: its file may change."""
    return {
        "task": task.name,
        "actions": list(task.actions),
        "reward_range": list(task.reward_range),
        "rewards": {
            context: {action: _paid(reward) for action, reward in rewards.items()}
            for context, rewards in task.rewards.items()
        },
        "reversals": [asdict(reversal) for reversal in task.reversals],
        "stop": task.stop,
    }


def _paid(reward: Reward) -> str:
    """In words.

    >>> _paid(Reward(probability=0.8)), _paid(Reward())
    ('1.0 with probability 0.8, else 0.0', '1.0')
    """
    text = f"{float(reward.reward)!r}"
    if reward.probability == 1:
        return text
    return f"{text} with probability {reward.probability!r}, else {float(reward.otherwise)!r}"
