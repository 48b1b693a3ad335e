"""What the form of a task file cannot say: that its parts fit together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.rule import Rule
from howlearn.core.rules import RULES, GradientBandit
from howlearn.model import Model
from howlearn.models.named import IN_CELLS, learning_named
from howlearn.models.partition_model import PartitionModel
from howlearn.task.file import Loc, ModelTable, Problem, TaskFile, found

RESERVED = "Coin"  # known to every task


def check_task(task: TaskFile) -> list[Problem]:
    """Every problem of the contexts, actions, rewards and reversals."""
    lo, hi = task.reward_range
    problems = [*_repeated("actions", task.actions)]
    problems += _repeated("contexts", [context.name for context in task.contexts])
    if not lo < hi:
        problems.append((("reward_range",), found(task.reward_range, "[lo, hi] with lo below hi")))
    problems += _check_features(task)
    problems += _check_aliases("action_aliases", task.action_aliases, task.actions)
    contexts = dict.fromkeys(context.name for context in task.contexts)
    problems += _check_aliases("context_aliases", task.context_aliases, contexts)
    problems += _check_rewards(task)
    problems += _check_reversals(task)
    return problems


def build_models(task: TaskFile) -> tuple[tuple[PartitionModel, ...], list[Problem]]:
    """The partition models of the file, and what is wrong with those that cannot be built."""
    tables = task.models or []
    models: list[PartitionModel] = []
    problems = [*_repeated("models", [table.name for table in tables])]
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


def _known(name: str, names: Collection[str], loc: Loc) -> Iterator[Problem]:
    if name not in names:
        yield loc, found(name, ", ".join(dict.fromkeys(names)) or "none, since there are none")


def _repeated(key: str, names: Sequence[str]) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            loc = (key, i) if key == "actions" else (key, i, "name")
            yield loc, found(name, "a name that is not used above")
        seen.add(name)


def _check_features(task: TaskFile) -> Iterator[Problem]:
    every = dict.fromkeys(name for context in task.contexts for name in context.features)
    for i, context in enumerate(task.contexts):
        lacking = [name for name in every if name not in context.features]
        if lacking:
            text = f"lacks {', '.join(lacking)}; needed: the same features for every context"
            yield ("contexts", i, "features"), text


def _check_aliases(
    key: str, aliases: Mapping[str, str], names: Collection[str]
) -> Iterator[Problem]:
    for alias, name in aliases.items():
        yield from _known(name, names, (key, alias))
        if alias in names and alias != name:
            yield (key, alias), f"{alias} is itself one of the names; allowed: other words"


def _check_rewards(task: TaskFile) -> Iterator[Problem]:
    rewarded = _is_rewarded(task)
    for i, context in enumerate(task.contexts):
        loc: Loc = ("contexts", i)
        if context.correct is not None and context.rewards is not None:
            yield loc, "has correct and rewards; allowed: one of them"
        if rewarded and context.correct is None and context.rewards is None:
            yield loc, "has no rewards; needed: correct or rewards in every context, or in none"
        if context.correct is not None:
            yield from _known(context.correct, task.actions, (*loc, "correct"))
            yield from _check_range(task, (0.0, 1.0), (*loc, "correct"))
        for action, reward in (context.rewards or {}).items():
            yield from _known(action, task.actions, (*loc, "rewards", action))
            values = (reward.reward, reward.otherwise)
            yield from _check_range(task, values, (*loc, "rewards", action))
        lacking = [a for a in task.actions if a not in (context.rewards or {})]
        if context.rewards is not None and lacking:
            text = f"lacks {', '.join(lacking)}; needed: a reward for every action"
            yield (*loc, "rewards"), text


def _is_rewarded(task: TaskFile) -> bool:
    return any(c.correct is not None or c.rewards is not None for c in task.contexts)


def _check_range(task: TaskFile, values: Sequence[float], loc: Loc) -> Iterator[Problem]:
    lo, hi = task.reward_range
    outside = [value for value in dict.fromkeys(values) if not lo <= value <= hi]
    if outside and lo < hi:  # a range that is none is reported on its own
        text = found(outside[0], f"rewards from {lo:g} to {hi:g}")
        yield loc, f"{text} (helps: reward_range = [lo, hi])"


def _check_reversals(task: TaskFile) -> Iterator[Problem]:
    contexts = dict.fromkeys(context.name for context in task.contexts)
    rewarded = _is_rewarded(task)
    for i, reversal in enumerate(task.reversals):
        loc: Loc = ("reversals", i)
        if not rewarded:
            yield loc, "there is nothing to reverse; needed: correct or rewards in every context"
        if (reversal.swap is None) == (reversal.correct is None):
            yield loc, "needed: one of swap and correct"
        if reversal.contexts is not None and reversal.swap is None:
            yield (*loc, "contexts"), "stands without swap; allowed: only beside swap"
        for name in reversal.contexts or []:
            yield from _known(name, contexts, (*loc, "contexts"))
        swap = reversal.swap or []
        for action in swap:
            yield from _known(action, task.actions, (*loc, "swap"))
        if len(set(swap)) == 1:
            yield (*loc, "swap"), found(swap, "two different actions")
        for context, action in (reversal.correct or {}).items():
            yield from _known(context, contexts, (*loc, "correct"))
            yield from _known(action, task.actions, (*loc, "correct", context))
        if reversal.correct is not None:
            yield from _check_range(task, (0.0, 1.0), (*loc, "correct"))


def _check_model(task: TaskFile, table: ModelTable) -> Iterator[Problem]:
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
        yield from _known(feature, shared, ("by",))
    members = dict.fromkeys(name for cell in table.cells or [] for name in cell)
    for name in members:
        yield from _known(name, contexts, ("cells",))
    lacking = [name for name in contexts if name not in members]
    if table.cells is not None and lacking:
        yield ("cells",), f"lacks {', '.join(lacking)}; needed: every context in one cell"
    for name in table.exceptions:
        yield from _known(name, contexts, ("exceptions",))
    yield from _check_rule(table)


def _check_rule(table: ModelTable) -> Iterator[Problem]:
    if table.rule is not None and table.rules is not None:
        yield (), "has rule and rules; allowed: one of them"
    if table.rule is not None:
        yield from _known(table.rule, [*RULES, *IN_CELLS], ("rule",))
    for name in table.rules or []:
        yield from _known(name, [*RULES, *IN_CELLS], ("rules",))
    if table.rule is None and table.rules is None:
        for key in ("form", "max_rate"):
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
