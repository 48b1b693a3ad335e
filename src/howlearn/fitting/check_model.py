"""``check_model``: a user's own model is tried on records that hold all that a task may have."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Parameter
from howlearn.core.study import Study
from howlearn.engine.search import filling
from howlearn.engine.whole import RecordLikelihood, Records, Setting, Whole, play, replay
from howlearn.fitting.interpreted import ModelError, compiled_or_error, interpreted, wrong_gradient
from howlearn.fitting.settings import records_of, setting_of, whole_of
from howlearn.models.model import Model
from howlearn.models.names import among

N_TRIALS = 60


def example(n_actions: int = 2, seed: int = 0) -> Study:
    """One learner's random choices among contexts with two features, with a new start midway.

    >>> example(3)
    Study of 1 learners: 1 sequences, 60 trials, 4 contexts, 3 actions
    """
    random = np.random.default_rng(seed)
    contexts = ("a", "b", "c", "d")
    context = random.integers(0, len(contexts), N_TRIALS)
    action = random.integers(0, n_actions, N_TRIALS)
    answers = np.arange(len(contexts)) % n_actions
    reset = np.isin(np.arange(N_TRIALS), (0, 40))
    forgone = (np.arange(n_actions) == answers[context][:, None]).astype(float)
    forgone[np.arange(N_TRIALS), action] = np.nan
    forgone[random.random(N_TRIALS) < 0.5] = np.nan
    return Study(
        learners=("example",),
        starts=np.array([0, N_TRIALS]),
        contexts=contexts,
        actions=tuple("ABCDEFGH"[:n_actions]),
        context=context.astype(np.int32),
        action=action.astype(np.int16),
        reward=(action == answers[context]).astype(float),
        scored=np.ones(N_TRIALS, bool),
        learned=random.random(N_TRIALS) < 0.9,
        reset=reset,
        features={
            name: {"size": str(1 + i // 2), "shape": ("round", "square")[i % 2]}
            for i, name in enumerate(contexts)
        },
        forgone=forgone,
        episode_end=random.random(N_TRIALS) < 0.5,
        duration=random.uniform(0.2, 2.0, N_TRIALS),
        right_wrong=(0.0, 1.0),
        answers=answers.astype(np.int16),
        load=np.where(np.arange(N_TRIALS) < 40, 4.0, 2.0),
    )


# ``check_model``: one call before a model competes; what is wrong comes back as sentences.


EQUAL = 1e-9  # nats
POINTS = 6  # sets of parameters inside the bounds, besides the defaults and the bounds themselves

FUNCTIONS = {
    "start": ("world", "theta"),
    "log_policy": ("state", "shown", "theta", "out"),
    "update": ("state", "trial", "theta"),
    "observe": ("state", "trial", "theta", "out"),
    "gradient": ("state", "shown", "theta", "action", "out"),
}


@dataclass(frozen=True)
class Checked:
    """What was looked at, and found to be right."""

    model: str
    checks: tuple[str, ...]

    def __repr__(self) -> str:
        return f"{self.model} passes: {', '.join(self.checks)}"


def check_model(model: Model | type[Model] | str, study: Study | None = None) -> Checked:
    """Check your own model; raises a HowlearnError that says in sentences what is wrong.

    It is tried on made-up records with two and with three actions, or on a ``study``'s first
    learner: its parameters and functions, normalisation at and within the bounds, no look at the
    future, new starts, compiled code equal to plain Python, play and replay, and its gradient and
    latents if it gives them.

    >>> from howlearn.models.q_learning import QLearning
    >>> check_model(QLearning())
    q-learning passes: parameters, functions, probabilities, compiled code, no look at the future,
    new starts, play and replay, latents
    """
    if isinstance(model, str):
        model = among(example(2) if study is None else study)(model)
    if isinstance(model, type):
        model = model()
    if not isinstance(model, Model):
        raise HowlearnError(
            f"{model!r} is not a model: it must be of a class that inherits from howlearn.Model"
        )
    if model.way != "whole":
        raise HowlearnError(
            f"{model.name} has nothing to check; check_model is for models that you wrote, also "
            "those that learn in its cells or are its experts"
        )
    for form in (_parameters, _functions):
        problems = list(form(model))
        if problems:
            raise _error(model, problems)
    studies = [example(2), example(3)] if study is None else [study.part(0, 1)]
    try:
        cases = [_CheckCase.of(model, each) for each in studies]
        for case in cases:
            case.run_plainly()
        problems = list(_rebinding(model))
        if problems:
            raise _error(model, problems)
    except ModelError as error:
        raise _error(model, [str(error)]) from None
    checks: dict[str, Callable[[_CheckCase], Iterator[str]]] = {
        "compiled code": _compiled,
        "no look at the future": _future,
        "new starts": _starts,
        "play and replay": _play,
    }
    if model.gradient is not None:
        checks["gradient"] = _gradient
    if model.latents:
        checks["latents"] = _latents
    for check in checks.values():
        try:
            problems = [problem for case in cases for problem in check(case)]
        except ModelError as error:
            problems = [str(error)]
        if problems:
            raise _error(model, problems[:1])
    return Checked(model.name, ("parameters", "functions", "probabilities", *checks))


def _error(model: Model, problems: list[str]) -> HowlearnError:
    if len(problems) == 1:
        return ModelError(f"model {model.name}: {problems[0]}")
    return ModelError("\n".join([f"model {model.name}:", *(f"  {each}" for each in problems)]))


def _parameters(model: Model) -> Iterator[str]:
    found = model.parameters
    if not isinstance(found, tuple | list) or not all(isinstance(p, Parameter) for p in found):
        yield (
            f"its parameters are {found!r}; needed: a tuple such as "
            '(Parameter("alpha", 0, 1), Parameter("beta", 0, 20))'
        )
        return
    names = [parameter.name for parameter in found]
    for name in names:
        if not name.isidentifier():
            yield f"the parameter {name!r} has no name that Python can write as theta.NAME"
    if len(set(names)) < len(names):
        yield f"two parameters have the same name: {', '.join(names)}"


def _functions(model: Model) -> Iterator[str]:
    if not isinstance(model.latents, tuple | list):
        yield f"its latents are {model.latents!r}; needed: a tuple such as ('value(action)',)"
    for name, arguments in FUNCTIONS.items():
        function = getattr(model, name, None)
        if function is None:
            if name in ("start", "log_policy", "update"):
                some = arguments[:1] if name == "start" else arguments
                yield f"it has no function {name}({', '.join(some)})"
            elif name == "observe" and model.latents:
                yield "it names latents, but has no function observe that fills them"
            continue
        own = inspect.getattr_static(type(model), name)
        if not isinstance(own, staticmethod):
            yield f"{name} must be a @staticmethod: all that it may know are its arguments"
            continue
        n = len(inspect.signature(function).parameters)
        if n != len(arguments) and not (name == "start" and n == 1):
            yield f"{name} takes {n} arguments; needed: {name}({', '.join(arguments)})"


def _rebinding(model: Model) -> Iterator[str]:
    """``state = …`` in update gives the name to something new, and the state stays as it was."""
    code = inspect.unwrap(model.update).__code__
    own = code.co_varnames[0]
    if any(i.opname == "STORE_FAST" and i.argval == own for i in dis.get_instructions(code)):
        yield (
            f"update writes {own} = …, which leaves the state as it was; change it in place, as in "
            f"{own}[:] = …"
        )


@dataclass(frozen=True, eq=False)
class _CheckCase:
    """A model and records to try it on."""

    model: Model
    study: Study
    setting: Setting
    records: Records
    whole: Whole

    @classmethod
    def of(cls, model: Model, study: Study) -> _CheckCase:
        setting = setting_of(study)
        whole = whole_of(model, study.contexts, study.actions, setting)
        return cls(model, study, setting, records_of(study), whole)

    @property
    def points(self) -> Floats:
        """Parameters at which the model is tried: defaults, both bounds, some in between."""
        d = len(self.model.parameters)
        if d == 0:
            return np.empty((1, 0))
        default = np.array([[p.default for p in self.model.parameters]])
        u = np.concatenate([np.zeros((1, d)), np.ones((1, d)), filling(POINTS, d)])
        return np.concatenate([default, self.whole.at(u * self.whole.ends)])

    @property
    def inside(self) -> Floats:
        """The points that lie within the bounds."""
        return np.delete(self.points, [1, 2], axis=0) if len(self.model.parameters) else self.points

    def run_plainly(self) -> None:
        for x in self.points:
            interpreted(self.model, self.setting, self.records, x)
        if self.model.cells != "none":  # a partition has fewer cells than contexts
            halves = np.arange(len(self.study.contexts)) // 2
            interpreted(self.model, self.setting, self.records, self.points[0], cell_of=halves)

    def replayed(self, x: Floats, records: Records | None = None) -> Floats:
        return compiled_or_error(
            self.model, lambda: replay(self.whole, self.setting, records or self.records, x)[0]
        )


def _compiled(case: _CheckCase) -> Iterator[str]:
    for x in case.points:
        plain = interpreted(case.model, case.setting, case.records, x)
        fast = case.replayed(x)
        with np.errstate(invalid="ignore"):
            apart = np.where(plain == fast, 0.0, np.abs(plain - fast))
        if not np.all(apart < EQUAL):
            t = int(np.argmax(~np.all(apart < EQUAL, axis=1)))
            yield (
                "compiled and run as plain Python it gives different probabilities, first at trial "
                f"{t + 1}; look for indices outside an array, or for values that are not floats"
            )
            return


def _future(case: _CheckCase) -> Iterator[str]:
    """Change everything after a trial: the probabilities until then must not change."""
    n, records = len(case.study.context), case.records
    random = np.random.default_rng(1)
    for x in case.inside[:3]:
        before = case.replayed(x)
        for t in sorted({1, n // 3, n // 2, n - 1}):
            later = np.arange(n) >= t
            altered = replace(
                records,
                action=np.where(later, (records.action + 1) % case.setting.n_actions,
                                records.action).astype(np.int16),
                reward=np.where(later, random.permutation(records.reward), records.reward),
                context=np.where(np.arange(n) > t, records.context[::-1], records.context),
            )  # fmt: skip
            after = case.replayed(x, altered)
            if not np.array_equal(before[: t + 1], after[: t + 1]):
                yield (
                    f"the probabilities up to trial {t + 1} change when later trials are changed: "
                    "it looks at the future"
                )
                return


def _starts(case: _CheckCase) -> Iterator[str]:
    """After a new start the same trials get the same probabilities as at the very start."""
    records, n = case.records, len(case.study.context)
    half = n // 2

    def twice(column: Any) -> Any:
        return np.concatenate([column[:half], column[:half]]) if len(column) else column

    again = Records(
        np.array([0, 2 * half]),
        twice(records.context),
        twice(records.action),
        twice(records.reward),
        twice(records.flags),
        twice(records.forgone),
        twice(records.ends),
        twice(records.duration),
        twice(records.offered),
        twice(records.load),
    )
    for x in case.inside[:2]:
        log_p = case.replayed(x, again)
        if not np.array_equal(log_p[:half], log_p[half:]):
            yield "where learning restarts the state is not what start gives at first"
            return


def _play(case: _CheckCase) -> Iterator[str]:
    """Choices drawn from the model must be those that the replayed probabilities give."""
    n, k = len(case.study.context), case.setting.n_actions
    draws = np.random.default_rng(2).random(n)
    gains = np.zeros((n, k))
    gains[np.arange(n), case.setting.answers[case.study.context]] = 1.0
    told = replace(case.records, forgone=np.empty((0, k)))
    for x in case.inside[:3]:
        action, reward = case.records.action.copy(), case.records.reward.copy()
        played = replace(told, action=action, reward=reward)
        scene = (played, draws, gains, np.empty((0, k)), False)
        compiled_or_error(
            case.model, lambda x=x, scene=scene: play(case.whole, case.setting, *scene, x)
        )
        edges = np.cumsum(np.exp(case.replayed(x, played)), axis=1)[:, :-1]
        if not np.array_equal((draws[:, None] >= edges).sum(axis=1), action):
            yield "choices that it makes are not those whose probabilities it gives afterwards"
            return


def _gradient(case: _CheckCase) -> Iterator[str]:
    likelihood = RecordLikelihood(case.whole, case.setting, case.records)
    problem = compiled_or_error(
        case.model, lambda: wrong_gradient(likelihood, case.inside, len(case.study.context))
    )
    if problem:
        yield problem


def _latents(case: _CheckCase) -> Iterator[str]:
    _, found = compiled_or_error(
        case.model,
        lambda: replay(case.whole, case.setting, case.records, case.points[0], looks=True),
    )
    learned = case.study.learned
    if np.isnan(found[learned]).all(axis=0).any():
        yield (
            f"observe leaves some of its latents ({', '.join(case.model.latents)}) without any "
            "number"
        )
