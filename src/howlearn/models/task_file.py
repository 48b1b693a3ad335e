"""The form of a task file, and the sentences that say where a file departs from it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import parsed_toml
from howlearn.core.text import canonical, many

Loc = tuple[str | int, ...]  # where in the file: ("models", 1, "by") is `by` in the second model
Problem = tuple[Loc, str]
MOST = 10**9  # trials
MOST_SHOWN = 50  # problems that a message lists
LONGEST_SHOWN = 60  # characters of a value that a message repeats


Order = Literal["periodic", "blocks", "independent"]


def label_of(value: object) -> object:
    """A name may be written as a number.

    >>> [label_of(value) for value in (1, 1.0, "1.0", "0.50", "007")]
    ['1', '1', '1', '0.5', '007']
    """
    plain = isinstance(value, int | float | str) and not isinstance(value, bool)
    return canonical(value) if plain else value


def _table_of_name(value: object) -> object:
    return value if isinstance(value, dict) else {"name": value}


def _table_of_reward(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return {"probability": 1.0, "reward": value, "otherwise": value}


Name = Annotated[
    str,
    BeforeValidator(label_of),
    StringConstraints(strip_whitespace=True, min_length=1),
]
Number = Annotated[float, Field(allow_inf_nan=False)]


class _Section(BaseModel):
    # The description of every field is what messages give as allowed.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


OFFERS = 'lists of actions on offer, such as [["A", "B"], ["A", "C"]]'


class RewardTable(_Section):
    """What an action earns in a context."""

    probability: Number = Field(ge=0, le=1, description="a number from 0 to 1")
    reward: Number = Field(1.0, description="a number")
    otherwise: Number = Field(0.0, description="a number")


class ContextTable(_Section):
    """A context: what it looks like, and what the actions earn in it."""

    name: Name = Field(description="a name, as text or a number")
    features: dict[str, Name] = Field({}, description='a table such as {shape = "square"}')
    correct: Name | None = Field(None, description="the name of an action")
    rewards: dict[Name, Annotated[RewardTable, BeforeValidator(_table_of_reward)]] | None = Field(
        None, description="a number or {probability = 0.8} for every action"
    )
    offers: list[list[Name]] | None = Field(None, min_length=1, description=OFFERS)


class ReversalTable(_Section):
    """A change of the rewards."""

    trial: int = Field(ge=2, le=MOST, description=f"a whole number from 2 to {MOST}")
    swap: list[Name] | None = Field(
        None, min_length=2, max_length=2, description='two actions, such as ["A", "B"]'
    )
    contexts: list[Name] | None = Field(None, min_length=1, description="a list of contexts")
    correct: dict[Name, Name] | None = Field(
        None, min_length=1, description='an action for each changed context, such as {square = "A"}'
    )


class StopTable(_Section):
    """When a learner has learned."""

    correct_in_a_row: int = Field(ge=1, le=MOST, description=f"a whole number from 1 to {MOST}")


class ModelTable(_Section):
    """A candidate model."""

    name: Name = Field(description="a name")
    kind: Literal["partition", "exp4", "switch", "hmm"] = Field(
        "partition", description='"partition", "exp4", "switch" or "hmm"'
    )
    partition: Literal["all", "each"] | None = Field(None, description='"all" or "each"')
    by: list[str] | None = Field(None, min_length=1, description="a list of features")
    cells: list[list[Name]] | None = Field(
        None, min_length=1, description="a list of lists of contexts"
    )
    exceptions: list[Name] = Field([], description="a list of contexts")
    rule: str | None = Field(None, description="the name of a rule")
    rules: list[str] | None = Field(None, description="a list of rules, one per cell")
    form: Literal["gain", "loss"] | None = Field(None, description='"gain" or "loss"')
    rates: Literal["per-cell", "shared"] = Field("per-cell", description='"per-cell" or "shared"')
    max_rate: Number | None = Field(None, description="a number")
    transitions: Literal["shared", "free"] | None = Field(None, description='"shared" or "free"')
    experts: list[Name] | None = Field(
        None, description='a list of models, such as ["ByPattern", "ByPatternExc"]'
    )
    source: Literal["training", "joint", "population"] | None = Field(
        None, description='"training", "joint" or "population"'
    )
    parameters: dict[Name, dict[str, Any]] = Field(
        {}, description="for experts, a table such as {ByPattern = {eta = 0.03}}"
    )


class TaskFile(_Section):
    """A whole task file."""

    name: Name | None = Field(None, description="a name")
    description: str = Field("", description="a text")
    actions: list[Name] = Field(min_length=2, description="a list of two or more names")
    contexts: list[Annotated[ContextTable, BeforeValidator(_table_of_name)]] = Field(
        min_length=1, description="a list of contexts, each a name or a table"
    )
    action_aliases: dict[Name, Name] = Field({}, description='a table such as {1 = "A"}')
    context_aliases: dict[Name, Name] = Field({}, description='a table such as {1 = "square"}')
    reward_range: list[Number] = Field(
        [0.0, 1.0], min_length=2, max_length=2, description="the lowest and the highest reward"
    )
    trials: int = Field(500, ge=1, le=MOST, description=f"a whole number from 1 to {MOST}")
    order: Order = Field("periodic", description='"periodic", "blocks" or "independent"')
    offers: list[list[Name]] | None = Field(None, min_length=1, description=OFFERS)
    reversals: list[ReversalTable] = Field([], description="a list of tables [[reversals]]")
    stop: StopTable | None = Field(None, description="a table [stop]")
    models: list[ModelTable] | None = Field(
        None, min_length=1, description="a list of tables [[models]]"
    )


_INNER: dict[str, type[_Section]] = {
    "contexts": ContextTable,
    "rewards": RewardTable,
    "reversals": ReversalTable,
    "stop": StopTable,
    "models": ModelTable,
}


def parse_task_file(text: str, file: str) -> tuple[TaskFile, dict[str, Any]]:
    """The content of a task file, checked against the form, and as it was written."""
    try:
        written = parsed_toml(text)
    except ValueError as error:  # not only TOMLDecodeError: also a number of 5,000 digits
        raise HowlearnError(f"{file} is not a valid TOML file: {error}") from None
    try:
        return TaskFile.model_validate(written), written
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        problems = [(_loc(d), _sentence(_loc(d), d["type"], d["input"])) for d in details]
    raise task_error(file, written, problems)


def _loc(details: ErrorDetails) -> Loc:
    return tuple(part for part in details["loc"] if part != "[key]")  # pydantic's own mark


def task_error(file: str, written: dict[str, Any], problems: Sequence[Problem]) -> HowlearnError:
    """One error that lists every problem with its place."""
    lines = [f"{file}, {_place(loc, written)}: {text}" for loc, text in problems[:MOST_SHOWN]]
    if len(problems) > MOST_SHOWN:
        lines.append(f"… and {len(problems) - MOST_SHOWN:,} more")
    return HowlearnError(
        "\n  ".join([f"the task cannot be used as it is: {many(len(problems), 'problem')}", *lines])
    )


def found(value: object, allowed: str) -> str:
    """What was found and what is allowed, in the words of every message.

    >>> print(found("C", "A, B"))
    found "C"; allowed: A, B
    """
    if isinstance(value, dict):
        shown = "a table"
    elif isinstance(value, float):
        shown = f"{value:g}"
    else:
        shown = json.dumps(value, ensure_ascii=False, default=str)
    shown = shown if len(shown) <= LONGEST_SHOWN else shown[:LONGEST_SHOWN] + " …"
    return f"found {shown}; allowed: {allowed}"


def _sentence(loc: Loc, kind: str, value: object) -> str:
    field, table = _field_at(loc)
    if kind == "extra_forbidden" or field is None:
        sentence = f"unknown key; allowed: {', '.join(table.model_fields)}"
        if table is not TaskFile and loc[-1] in TaskFile.model_fields:
            # In TOML, what follows [[contexts]] belongs to that context.
            sentence += f" ({loc[-1]} of the task itself stands above the first [table])"
        return sentence
    if kind == "missing":
        return f"missing; needed: {field.description}"
    return found(value, field.description or "")


def _field_at(loc: Loc) -> tuple[FieldInfo | None, type[_Section]]:
    """The innermost field of the form on the way to a place, and the table it belongs to."""
    keys = [part for part in loc if isinstance(part, str)]
    table, field = TaskFile, None
    while keys:
        key = keys.pop(0)
        field = table.model_fields.get(key)
        if field is None or key not in _INNER or (key == "rewards" and len(keys) < 2):
            break
        if key == "rewards":
            keys.pop(0)  # the action, which is the user's own word
        if keys:
            table = _INNER[key]
    return field, table


def _place(loc: Loc, written: dict[str, Any]) -> str:
    """As a person counts, from 1, with the name if there is one: ``models[2].by (model m)``."""
    place = ""
    for part in loc:
        place += f"[{part + 1}]" if isinstance(part, int) else f"{'.' * bool(place)}{part}"
    if len(loc) > 1 and loc[0] in ("contexts", "models") and isinstance(loc[1], int):
        member = written[loc[0]][loc[1]]
        name = member.get("name") if isinstance(member, dict) else member
        if isinstance(name, str | int | float) and loc[-1] != "name":
            place += f" ({str(loc[0])[:-1]} {name})"
    return place


# What the form of a task file cannot say: that its parts fit together.


def check_task(task: TaskFile) -> list[Problem]:
    """Every problem of the contexts, actions, rewards and reversals."""
    lo, hi = task.reward_range
    problems = [*repeated("actions", task.actions)]
    problems += repeated("contexts", [context.name for context in task.contexts])
    if not lo < hi:
        problems.append((("reward_range",), found(task.reward_range, "[lo, hi] with lo below hi")))
    problems += _check_features(task)
    problems += _check_aliases("action_aliases", task.action_aliases, task.actions)
    contexts = dict.fromkeys(context.name for context in task.contexts)
    problems += _check_aliases("context_aliases", task.context_aliases, contexts)
    problems += _check_offers(task)
    problems += _check_rewards(task)
    problems += _check_reversals(task)
    return problems


def offers_in(task: TaskFile, context: ContextTable) -> list[list[str]]:
    """The sets of which one is on offer at every trial with this context; all actions if none."""
    return context.offers or task.offers or [task.actions]


def known(name: str, names: Collection[str], loc: Loc) -> Iterator[Problem]:
    if name not in names:
        yield loc, found(name, ", ".join(dict.fromkeys(names)) or "none, since there are none")


def repeated(key: str, names: Sequence[str]) -> Iterator[Problem]:
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
        yield from known(name, names, (key, alias))
        if alias in names and alias != name:
            yield (key, alias), f"{alias} is itself one of the names; allowed: other words"


def _check_offers(task: TaskFile) -> Iterator[Problem]:
    given: list[tuple[Loc, list[list[str]] | None]] = [(("offers",), task.offers)]
    given += [(("contexts", i, "offers"), c.offers) for i, c in enumerate(task.contexts)]
    for loc, sets in given:
        for actions in sets or []:
            for action in actions:
                yield from known(action, task.actions, loc)
            if len(set(actions)) < len(actions) or not actions:
                yield loc, found(actions, "at least one action, each of them once")
    if all(len(one) < 2 for context in task.contexts for one in offers_in(task, context)):
        yield ("offers",), "one action is on offer everywhere; needed: at least two somewhere"


def _check_rewards(task: TaskFile) -> Iterator[Problem]:
    rewarded = _is_rewarded(task)
    for i, context in enumerate(task.contexts):
        loc: Loc = ("contexts", i)
        if context.correct is not None and context.rewards is not None:
            yield loc, "has correct and rewards; allowed: one of them"
        if rewarded and context.correct is None and context.rewards is None:
            yield loc, "has no rewards; needed: correct or rewards in every context, or in none"
        if context.correct is not None:
            yield from known(context.correct, task.actions, (*loc, "correct"))
            yield from _check_range(task, (0.0, 1.0), (*loc, "correct"))
        for action, reward in (context.rewards or {}).items():
            yield from known(action, task.actions, (*loc, "rewards", action))
            values = (reward.reward, reward.otherwise)
            yield from _check_range(task, values, (*loc, "rewards", action))
        there = {action for actions in offers_in(task, context) for action in actions}
        lacking = [a for a in task.actions if a in there and a not in (context.rewards or {})]
        if context.rewards is not None and lacking:
            text = f"lacks {', '.join(lacking)}; needed: a reward for every action"
            yield (*loc, "rewards"), text


def _is_rewarded(task: TaskFile) -> bool:
    return any(c.correct is not None or c.rewards is not None for c in task.contexts)


def _check_range(task: TaskFile, values: Sequence[float], loc: Loc) -> Iterator[Problem]:
    lo, hi = task.reward_range
    outside = [value for value in dict.fromkeys(values) if not lo <= value <= hi]
    if outside and lo < hi:  # what is not a range is reported separately
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
            yield from known(name, contexts, (*loc, "contexts"))
        swap = reversal.swap or []
        for action in swap:
            yield from known(action, task.actions, (*loc, "swap"))
        if len(set(swap)) == 1:
            yield (*loc, "swap"), found(swap, "two different actions")
        for context, action in (reversal.correct or {}).items():
            yield from known(context, contexts, (*loc, "correct"))
            yield from known(action, task.actions, (*loc, "correct", context))
        if reversal.correct is not None:
            yield from _check_range(task, (0.0, 1.0), (*loc, "correct"))
