"""Who is simulated: learners of a task with given parameters, or doubles of the learners of a
study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import own_names
from howlearn.core.study import Study
from howlearn.fitting.fit import guarded_fit
from howlearn.fitting.fits import Fits
from howlearn.fitting.unfittable import Guard
from howlearn.models.model import Model
from howlearn.models.task import Task
from howlearn.models.user_code import own_model
from howlearn.models.values import (
    Parameters,
    Range,
    Reward,
    Value,
    defaults,
    drawn,
    parameter_values,
)
from howlearn.results.inputs import Inputs
from howlearn.results.select_into import content_hash
from howlearn.simulation.shown import RecordedRewards
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
        theirs = {p.name for model in self.truths for _, p in model.owners(self.actions)}
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
        mine = {parameter.name for _, parameter in model.owners(self.actions)}
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
        **({"offers": dict(task.offers)} if task.offers else {}),
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


# Doubles of recorded learners: the same contexts and number of trials, at their estimates.


MANY = 2_000  # recorded learners who get a double each; of more, so many are picked evenly


class LikeDesign:
    """Doubles: each recorded learner's contexts and n, every model at that learner's estimates."""

    def __init__(
        self,
        study: Study,
        truths: Sequence[Model],
        task: Task | None = None,
        learners: int | None = None,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.truths = tuple(truths)
        self.task, self.seed = task, seed
        study = study.without_excluded()
        self.recorded, guard = len(study), Guard()
        study = guard.long_enough(study)
        if not len(study):
            guard.end()
        while True:
            self._imitate(study, learners)
            guard = Guard()
            self.fits = guarded_fit(guard, self.study, self.truths, threads=threads)
            if guard.kept is None:
                break
            if not len(guard.kept):
                guard.end()
            lost = np.unique(self.imitated[[*guard.why]])
            study = study.take(np.delete(np.arange(len(study)), lost))  # others take their places

    def _imitate(self, study: Study, learners: int | None) -> None:
        """Who is imitated: cycle through few, pick evenly among many."""
        if learners is None:
            whole = -(-ENOUGH // len(study)) * len(study)
            learners = whole if len(study) <= MANY else MANY
        if learners < 1:
            raise HowlearnError(f"at least one double is needed, got {learners}")
        self.learners, self.usable = learners, len(study)
        who = np.arange(learners) % len(study)
        if learners < len(study):
            who = np.arange(learners) * len(study) // learners
        self.imitated, self.place = np.unique(who, return_inverse=True)
        self.study = study.take(self.imitated)

    def simulate(self, truth: int, stream: int, start: int, stop: int) -> tuple[Study, Floats]:
        model = self.truths[truth]
        place = self.place[start:stop]
        theta = self.fits.of[model.name].theta[place, 0]
        stage = stage_for(self.task, model, like=self.study)
        seeds = (self.seed, truth, stream, APART)
        return play(stage, theta, range(start, stop), seeds, who=place), theta

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know before reading error rates."""
        return (
            *self.about_play,
            "doubles learn at their learners' estimates, which scatter more than true rates do; so "
            "models with many cells are easier to recognise here than among your learners",
            *self._about_rates(),
        )

    @property
    def about_play(self) -> tuple[str, ...]:
        """What a user should know about the doubles themselves."""
        lost = self.recorded - self.usable
        found = ()
        if lost:
            found = (
                f"{lost:,} of {self.recorded:,} recorded learners could not be fitted, and have no "
                "doubles",
            )
        if self.task is None or not self.task.rewards:
            return (*found, self._about_rewards())
        if self.task.stop is None:
            return found
        return (
            *found,
            "the stopping rule is applied again: a double may stop earlier than the learner it "
            "imitates, never later",
        )

    def _about_rewards(self) -> str:
        rewards = RecordedRewards(self.study)
        for trials in self.study:
            rewards.complete(trials)
        if rewards.changing is not None:
            return (
                "no task file says what the actions earn, and that changes over time: rewards "
                f"follow {rewards.changing.states} hidden states of the task, learned from the "
                "records of all learners"
            )
        note = (
            "no task file says what the actions earn, so rewards are drawn from what each learner "
            "was paid for the same action in the same context, as if that never changed between "
            "two restarts (--reset-by)"
        )
        if rewards.implied:
            note += (
                f"; for {rewards.implied:,} actions that a learner never tried there, right or "
                "wrong follows from the others"
            )
        if rewards.borrowed:
            note += f"; for {rewards.borrowed:,} it is what other learners or contexts were paid"
        return note

    def _about_rates(self) -> list[str]:
        """Doubles of learners who do not learn under a model follow no model in particular."""
        counts = []
        for name, part in self.fits.of.items():
            if part.model.units:
                idle = np.all(part.theta[:, 0] == 0, axis=1)[self.place].sum()
                counts += [f"{name} {idle:,}"] if idle else []
        if not counts:
            return []
        return [
            f"of {self.learners:,} doubles per model some have no positive rate in any cell and "
            f"choose by chance, so their model cannot be recognised: {', '.join(counts)}; they "
            "are counted among the errors"
        ]

    def described(self) -> dict[str, Any]:
        return {
            "like": {
                "sequences": self.recorded,
                "trials": int(self.study.starts[-1]),
                "imitated": content_hash(self.study),
            },
            **(described(self.task) if self.task else {"task": None}),
            "learners_per_model": self.learners,
            "seed": self.seed,
        }


def doubles(
    inputs: Inputs,
    model: str,
    parameters: Parameters,
    learners: int | None = None,
    trials: int | None = None,
    seed: int = 0,
    as_published: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Study, tuple[str, ...]]:
    """Doubles who follow one model, at given parameters or else at each learner's estimates."""
    known = {candidate.name: candidate for candidate in inputs.candidates}
    for each in own_names(model):  # as it is typed to allow its code
        model = model.replace(each, own_model(each).name)
    if model not in known:
        raise HowlearnError(
            f"the results have no model {model!r}; their models are {', '.join(known)}"
        )
    n = learners or len(inputs.study)
    design = LikeDesign(inputs.study, [known[model]], inputs.task, n, seed)
    place = design.place
    theta = design.fits.of[model].theta[place, 0]
    stage = stage_for(inputs.task, known[model], trials, design.study, as_published)
    study = play(stage, parameters or theta, range(n), seed, progress, place)
    return study, design.about_play
