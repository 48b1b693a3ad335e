"""Task: the contexts, the actions, what they earn, and the candidate models, from a TOML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core import safe_files
from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.rule import Rule
from howlearn.core.rules import RULES, GradientBandit
from howlearn.core.safe_files import text_in
from howlearn.models import values
from howlearn.models.mixture import Expert, Mixture
from howlearn.models.model import Model
from howlearn.models.names import MIXTURES, learning_named, learning_names, model_named
from howlearn.models.partition_model import PartitionModel, candidates

if TYPE_CHECKING:  # which takes a while
    from howlearn.models.task_file import ModelTable, Order, Problem, TaskFile

# The partition models of a task file.


RESERVED = "Coin"  # known to every task


def build_models(task: TaskFile) -> tuple[tuple[PartitionModel, ...], list[Problem]]:
    """The partition models of the file, and what is wrong with those that cannot be built."""
    from howlearn.models.task_file import repeated

    tables = task.models or []
    models: list[PartitionModel] = []
    problems = [*repeated("models", [table.name for table in tables])]
    for i, table in enumerate(tables):
        if table.kind != "partition":
            continue
        mistakes = [*_check_model(task, table)]
        if not mistakes:
            try:
                models.append(_build_model(task, table))
            except HowlearnError as error:
                mistakes = [((), str(error))]
        problems += [(("models", i, *loc), text) for loc, text in mistakes]
    return tuple(models), problems


def _check_model(task: TaskFile, table: ModelTable) -> Iterator[Problem]:
    from howlearn.models.task_file import known

    contexts = dict.fromkeys(context.name for context in task.contexts)
    for key in ("experts", "source", "parameters"):
        if getattr(table, key):
            yield (key,), 'stands in a partition model; needed: kind = "exp4" or "switch"'
    if table.name == RESERVED:
        yield ("name",), f'"{RESERVED}" is known to every task; allowed: another name'
    ways = [key for key in ("partition", "by", "cells") if getattr(table, key) is not None]
    if len(ways) != 1:
        yield (), f"has {' and '.join(ways) or 'no cells'}; needed: one of partition, by and cells"
    # Only what every context has: a context that lacks a feature is reported on its own.
    shared = [
        name for name in task.contexts[0].features if all(name in c.features for c in task.contexts)
    ]
    for feature in table.by or []:
        yield from known(feature, shared, ("by",))
    members = dict.fromkeys(name for cell in table.cells or [] for name in cell)
    for name in members:
        yield from known(name, contexts, ("cells",))
    lacking = [name for name in contexts if name not in members]
    if table.cells is not None and lacking:
        yield ("cells",), f"lacks {', '.join(lacking)}; needed: every context in one cell"
    for name in table.exceptions:
        yield from known(name, contexts, ("exceptions",))
    yield from _check_rule(table)


def _check_rule(table: ModelTable) -> Iterator[Problem]:
    from howlearn.models.task_file import known

    if table.rule is not None and table.rules is not None:
        yield (), "has rule and rules; allowed: one of them"
    if table.rule is not None:
        yield from known(table.rule, learning_names(), ("rule",))
    for name in table.rules or []:
        yield from known(name, learning_names(), ("rules",))
    if table.rule is None and table.rules is None:
        for key in ("form", "max_rate", "transitions"):
            if getattr(table, key) is not None:
                yield (key,), f"stands without a rule; needed: rule, one of {', '.join(RULES)}"


def _build_model(task: TaskFile, table: ModelTable) -> PartitionModel:
    features = {context.name: context.features for context in task.contexts}
    if table.by is not None:
        partition = Partition.by(features, table.by)
    elif table.cells is not None:
        partition = Partition(tuple(tuple(cell) for cell in table.cells))
    elif table.partition == "each":
        partition = Partition.each(tuple(features))
    else:
        partition = Partition.all(tuple(features))
    return PartitionModel(
        table.name, partition.without(table.exceptions), _rules(table), table.rates
    )


def _rules(table: ModelTable) -> Rule | Model | tuple[Rule | Model, ...]:
    form = table.form or "gain"
    max_rate = 1.0 if table.max_rate is None else table.max_rate
    if table.rules is not None:
        return tuple(learning_named(name, form, max_rate) for name in table.rules)
    return GradientBandit() if table.rule is None else learning_named(table.rule, form, max_rate)


# The mixtures of a task file: Exp4 and Switch over its models.


NOT_MIXED = ("partition", "by", "cells", "exceptions", "rule", "rules")  # keys of partition models


def build_mixture(table: ModelTable, models: Sequence[PartitionModel], n_features: int) -> Mixture:
    """A mixture of these models, as the file describes it."""
    experts = []
    names = table.experts or []
    if table.source is not None and names and all(table.parameters.get(name) for name in names):
        raise HowlearnError("all parameters are given, so that a source for them is not needed")
    for name in table.parameters:
        if name not in names:
            raise HowlearnError(
                f"parameters are given for {name}, which is not among the experts "
                f"({', '.join(names) or 'none'})"
            )
    for name in names:
        given = table.parameters.get(name, {})
        experts.append(Expert(_model(name, models, n_features), given))
    kind = MIXTURES.named(table.kind)
    settings: dict[str, Any] = {"label": table.name}
    if table.source is not None:
        settings["source"] = table.source
    for key in ("form", "max_rate"):
        value = getattr(table, key)
        if value is not None:
            if key not in kind.allowed:
                raise HowlearnError(f"a {table.kind} has no {key}")
            settings[key] = value
    return kind.of(experts, settings)


def _model(name: str, models: Sequence[PartitionModel], n_features: int) -> Model:
    if ":" in name and name not in {model.name for model in models}:
        raise HowlearnError(
            f"expert {name}: a task file does not run code; name a mixture with your model "
            f'on the command line, --add-model "exp4({name}, …)"'
        )
    return model_named(models, name, "the task", n_features)


def check_mixtures(task: TaskFile, models: Sequence[PartitionModel]) -> list[Problem]:
    """What is wrong with mixtures that cannot be built."""
    return [
        (("models", i, *loc), text)
        for i, table in enumerate(task.models or [])
        if table.kind != "partition"
        for loc, text in _problems(task, table, models)
    ]


def _problems(
    task: TaskFile, table: ModelTable, models: Sequence[PartitionModel]
) -> Iterator[tuple[tuple[str, ...], str]]:
    for key in NOT_MIXED:
        if getattr(table, key):
            yield (key,), 'stands in a mixture; allowed: only where kind = "partition"'
            return
    mixtures = [each.name for each in task.models or [] if each.kind != "partition"]
    for name in table.experts or []:
        if name in mixtures:
            yield ("experts",), f"{name} is a mixture itself; allowed: models that are not mixtures"
            return
    if table.experts is None:
        yield ("experts",), "missing; needed: a list of models"
        return
    try:
        mixture = build_mixture(table, models, len(task.contexts[0].features))
        for expert in mixture.experts:
            expert.values(task.actions)
    except HowlearnError as error:
        yield ("experts",), str(error)


Offers = Mapping[str, tuple[tuple[str, ...], ...]]


@dataclass(frozen=True)
class Task:
    """What the learners were asked to do, and the models that may explain how they learned it.

    >>> task = Task.load("five-four")
    >>> task.actions, len(task.contexts)
    (('A', 'B'), 9)
    >>> task.model("ByShapeExc").partition.cells
    (('1', '2', '7'), ('11', '12', '14', '15'), ('8',), ('13',))
    """

    name: str
    contexts: tuple[str, ...]
    actions: tuple[str, ...]
    models: tuple[PartitionModel, ...]
    description: str = ""
    features: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of every context
    action_aliases: Mapping[str, str] = field(default_factory=dict)  # what data may write: name
    context_aliases: Mapping[str, str] = field(default_factory=dict)
    rewards: values.Rewards = field(
        default_factory=dict
    )  # empty: good for data, not for simulation
    reward_range: tuple[float, float] = (0.0, 1.0)
    reversals: tuple[values.Reversal, ...] = ()
    trials: int = 500  # of a simulated learner, unless another number is asked for
    order: Order = "periodic"
    stop: int | None = None  # a learner stops after so many correct actions in a row
    fixed_rules: frozenset[str] = frozenset()  # models that name their rule themselves
    mixed: tuple[ModelTable, ...] = ()  # mixtures, as the file describes them
    offers: Offers = field(default_factory=dict)  # by context: one of these; empty: all actions

    @staticmethod
    def shipped() -> tuple[str, ...]:
        """The tasks that come with the package.

        >>> Task.shipped()[:2]
        ('five-four', 'shepard-1')
        """
        names = (Path(entry.name) for entry in files("howlearn").joinpath("tasks").iterdir())
        return tuple(sorted(path.stem for path in names if path.suffix == ".toml"))

    @classmethod
    def load(cls, name_or_path: str | Path) -> Task:
        """A shipped task by its name, or your own task by the path of its TOML file."""
        if str(name_or_path) in cls.shipped():
            entry = files("howlearn").joinpath("tasks", f"{name_or_path}.toml")
            return _from_text(entry.read_text(encoding="utf-8"), entry.name)
        path = Path(name_or_path)
        if path.suffix != ".toml" and not path.is_file():
            raise HowlearnError(
                f"there is no task {str(path)!r}; the tasks are {', '.join(cls.shipped())}, and "
                "your task is named by the path of its .toml file"
            )
        return _from_text(_text_of(path), str(path))

    @property
    def candidates(self) -> tuple[Model, ...]:
        """All models of the file: the partition models, then the mixtures of them."""
        return (*self.models, *self.mixtures)

    @property
    def mixtures(self) -> tuple[Mixture, ...]:
        """The mixtures of the file, with the models as they are now."""
        return tuple(build_mixture(table, self.models, self.n_features) for table in self.mixed)

    def model(self, name: str) -> Model:
        """The model of that name: one of the task's, or any that ``--model`` takes.

        ``my_module:MyModel`` is loaded, which runs its code.

        >>> Task.load("five-four").model("ByShape (one rate)").n_parameters(n_actions=2)
        1
        >>> Task.load("five-four").model("q-learning(ByShape)+lapse").n_parameters(n_actions=2)
        3
        """
        for mixture in self.mixtures:
            if mixture.name == name:
                return mixture
        safe_files.allow_code(name)
        return model_named(self.models, name, f"task {self.name}", self.n_features)

    @property
    def n_features(self) -> int:
        """How many features describe each context."""
        return len(next(iter(self.features.values()), {}))

    def with_rule(self, rule: Rule | Model | str) -> Task:
        """The task with this rule in all models that do not name their own.

        >>> from howlearn.core.rules import Exp3
        >>> Task.load("five-four").with_rule(Exp3()).models[0].rules
        Exp3(form='gain', max_rate=1.0)
        """
        models = (
            model if model.name in self.fixed_rules else replace(model, rules=rule)
            for model in self.models
        )
        return replace(self, models=tuple(models))

    def schedule(self) -> values.Schedule:
        """What every action earns in every context, from which trial on."""
        if not self.rewards:
            first, second = self.actions[:2]
            raise HowlearnError(
                f"task {self.name} does not say what its actions earn; add to every context of "
                f'its file correct = "{first}", or '
                f"rewards = {{{first} = 1, {second} = {{probability = 0.2}}, …}}"
            )
        ordered = {c: {a: self.rewards[c][a] for a in self.actions} for c in self.contexts}
        return values.build_schedule(ordered, self.reversals)

    @property
    def answers(self) -> NDArray[np.int16] | None:
        """The action that is always right in each context; −1 where several are as good.

        None if the task does not say, leaves rewards to chance, or reverses them.

        >>> Task.load("shepard-1").answers
        array([0, 0, 0, 0, 1, 1, 1, 1], dtype=int16)
        """
        if not self.rewards or self.reversals:
            return None
        schedule = self.schedule()
        if not np.isin(schedule.probability, (0.0, 1.0)).all():
            return None
        best = schedule.best[0]
        if self.offers:  # right whatever is on offer
            sets = [np.array(self.offered_in(c)) for c in self.contexts]
            best = np.stack([
                np.all(schedule.best_of(np.zeros(len(s), int), np.full(len(s), i), s), axis=0)
                for i, s in enumerate(sets)
            ])  # fmt: skip
        return np.where(best.sum(axis=1) == 1, best.argmax(axis=1), -1).astype(np.int16)

    def offered_in(self, context: str) -> list[list[bool]]:
        """The sets of actions of which one is on offer in a context: [set][action]."""
        sets = self.offers.get(context, (self.actions,))
        return [[action in one for action in self.actions] for one in sets]


def _text_of(path: Path) -> str:
    try:
        return text_in(path)
    except FileNotFoundError:
        raise HowlearnError(f"there is no file {path}") from None
    except UnicodeDecodeError:
        raise HowlearnError(f"{path} is not a text file in UTF-8, as TOML must be") from None
    except OSError as error:
        raise HowlearnError(f"{path} cannot be read: {error.strerror}") from None


def _from_text(text: str, file: str) -> Task:
    from howlearn.models.task_file import check_task, parse_task_file, task_error

    form, written = parse_task_file(text, file)
    models, mistakes = build_models(form)
    contexts = tuple(context.name for context in form.contexts)
    features = {context.name: dict(context.features) for context in form.contexts}
    problems = check_task(form) + mistakes
    mixed = tuple(table for table in form.models or [] if table.kind != "partition")
    if not problems:
        models = models or candidates(contexts, features)
        problems = check_mixtures(form, models)
    if problems:
        raise task_error(file, written, problems)
    lo, hi = form.reward_range
    return Task(
        name=form.name or Path(file).stem,
        contexts=contexts,
        actions=tuple(form.actions),
        models=models,
        description=form.description,
        features=features,
        action_aliases=dict(form.action_aliases),
        context_aliases=dict(form.context_aliases),
        rewards=_rewards(form),
        reward_range=(lo, hi),
        reversals=tuple(
            values.Reversal(
                trial=table.trial,
                swap=tuple(table.swap or ()),
                contexts=tuple(table.contexts or contexts) if table.swap else (),
                correct=dict(table.correct or {}),
            )
            for table in form.reversals
        ),
        trials=form.trials,
        order=form.order,
        stop=None if form.stop is None else form.stop.correct_in_a_row,
        fixed_rules=frozenset(
            table.name for table in form.models or [] if table.rule or table.rules
        ),
        mixed=mixed,
        offers=_offers(form),
    )


def _offers(form: TaskFile) -> Offers:
    """By context the sets of actions of which each trial offers one; nothing if always all are."""
    from howlearn.models.task_file import offers_in

    each = {c.name: tuple(map(tuple, offers_in(form, c))) for c in form.contexts}
    whole = all(set(one) == {*form.actions} for sets in each.values() for one in sets)
    return {} if whole else each


def _rewards(form: TaskFile) -> values.Rewards:
    rewards: dict[str, dict[str, values.Reward]] = {}
    for context in form.contexts:
        if context.correct is not None:
            rewards[context.name] = values.correct_rewards(form.actions, context.correct)
        elif context.rewards is not None:
            rewards[context.name] = {
                action: values.Reward(**context.rewards[action].model_dump())
                if action in context.rewards
                else values.certain(form.reward_range[0])  # it is never on offer there
                for action in form.actions
            }
    return rewards
