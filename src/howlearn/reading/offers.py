"""What was on offer at every trial: one column per option, lists, or labels that are explained."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.text import canonical
from howlearn.core.world import BETWEEN
from howlearn.reading.labels import CodedColumn, combine
from howlearn.reading.problems import Problems
from howlearn.reading.rows import Rows

if TYPE_CHECKING:
    from howlearn.reading.streaming import TrialStore

Options = tuple[str, ...]  # on offer, in the order in which they stand
_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_SEPARATORS = ("|", ";", ",")
_WORD = re.compile(r"""'[^']*'|"[^"]*"|\S+""")  # in [1 2] and ['a' 'b']
_PAIR = re.compile(r",(?=[^=|]*=)")  # a comma after which another label is explained

EMPTY = "at least one action on offer in every row with a choice"
HELP = "--offered COL[,COL], --offers '=A|B' if an empty cell means A and B, --where EXPR"


def options_in(text: str) -> Options:
    """The options in a list, however it is written.

    >>> options_in("a|b"), options_in("[1, 2.0]"), options_in("('x', \\"y z\\")")
    (('a', 'b'), ('1', '2'), ('x', 'y z'))
    >>> options_in("left"), options_in("[1 2]"), options_in("[]")
    (('left',), ('1', '2'), ())
    """
    inside = text.strip()
    bracketed = len(inside) > 1 and _BRACKETS.get(inside[0]) == inside[-1]
    if bracketed:
        inside = inside[1:-1].strip()
    separator = next((one for one in _SEPARATORS if one in inside), None)
    if separator is None:
        parts = _WORD.findall(inside) if bracketed else [inside]
    else:
        parts = inside.split(separator)
    return tuple(label for label in (_unquoted(part) for part in parts) if label)


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return canonical(text)


def parse_offers(texts: Sequence[str]) -> dict[str, Options]:
    """What each label says was on offer.

    >>> parse_offers(["12=1|2, 34=3|4"])
    {'12': ('1', '2'), '34': ('3', '4')}
    >>> parse_offers(["=1|2|3"])  # what an empty cell means
    {'': ('1', '2', '3')}
    >>> parse_offers(['{"a, b": ["1", "2"]}'])
    {'a, b': ('1', '2')}
    """
    found: dict[str, Options] = {}
    for text in texts:
        for label, options in _pairs(text):
            known = found.setdefault(label, options)
            if known != options:
                raise HowlearnError(
                    f"--offers: {label} has {BETWEEN.join(known)} and {BETWEEN.join(options)}"
                )
    return found


def _pairs(text: str) -> list[tuple[str, Options]]:
    if text.lstrip().startswith("{"):
        return _from_json(text)
    pairs = []
    for part in _PAIR.split(text):
        label, equals, options = part.partition("=")
        there = options_in(options)
        if not equals or not there:
            raise HowlearnError(f"--offers {text!r}: write LABEL=A|B, LABEL=C|D")
        pairs.append((_unquoted(label), there))
    return pairs


def _from_json(text: str) -> list[tuple[str, Options]]:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        table = None
    lists = isinstance(table, dict) and all(isinstance(v, list) and v for v in table.values())
    if not lists or not table:
        raise HowlearnError(f'--offers {text!r}: write {{"LABEL": ["A", "B"]}}')
    return [
        (canonical(str(label)), tuple(canonical(str(one)) for one in options))
        for label, options in table.items()
    ]


def as_lists(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """A frame whose columns of lists, of those that say what was on offer, are texts."""
    for name in columns:
        kind = frame.schema.get(name)
        if isinstance(kind, pl.List | pl.Array) and not isinstance(kind.inner, pl.List | pl.Array):
            lists = frame.get_column(name).to_list()
            texts = [None if one is None else _list_text(one) for one in lists]
            frame = frame.with_columns(pl.Series(name, texts, dtype=pl.String))
    return frame


def _list_text(options: Sequence[object]) -> str:
    return f"[{BETWEEN.join(str(one) for one in options if one is not None)}]"


@dataclass(frozen=True)
class OfferPlan:
    """How what was on offer is found in a row."""

    columns: tuple[str, ...]  # none: the context says
    meaning: Mapping[str, Options]  # of labels
    positions: Options  # what the action says of the first, second, … option; none: its name
    recode: Mapping[str, str]  # of actions
    missing: Set[str]
    aliases: Mapping[str, str]  # of actions, in a task
    nothing: Options = ()  # on offer where nothing is said

    def named(self, action: str | None) -> str | None:
        """An action as the task calls it."""
        return None if action is None else self.aliases.get(action, action)

    def placed(self, labels: Sequence[str | None]) -> tuple[str | None, ...]:
        """What stood at each position by the labels of a row; None where nothing did."""
        found: tuple[str | None, ...] = tuple(labels)
        if not any(labels):
            found = self.nothing
        elif len(labels) == 1 and labels[0] is not None:
            found = self.meaning[labels[0]] if self.meaning else options_in(labels[0])
        elif self.meaning:
            found = tuple(one for label in labels if label for one in self.meaning[label])
        named = [None if one is None or one in self.missing else one for one in found]
        if not self.positions:
            named = [one and self.recode.get(one, one) for one in named]
        return tuple(map(self.named, named))


@dataclass(frozen=True)
class Offered:
    """What was on offer, and chosen, in each kind of row."""

    codes: NDArray[np.int32]  # [row of the batch]: its kind
    options: tuple[Options, ...]  # of each kind
    chosen: CodedColumn  # the action by its name, with the same codes


def offers_of(
    rows: Rows,
    plan: OfferPlan,
    action: CodedColumn,
    context: CodedColumn | None,
    problems: Problems,
) -> Offered:
    """What was on offer in the rows of a batch; what cannot be is a problem with its row."""
    columns = [rows.columns[name] for name in plan.columns]
    if not columns and context is not None:
        columns = [context]
    keys = combine([action, *columns])
    name = ", ".join(column.name for column in columns)
    kinds = [_kind(plan, key) for key in keys.members()]
    labels = pl.Series([kind.chosen for kind in kinds], dtype=pl.String)
    shown = pl.Series([kind.wrong for kind in kinds], dtype=pl.String)
    present = rows.present(keys.codes, len(kinds))
    for fault in dict.fromkeys(kind.fault for kind in kinds if kind.fault is not None):
        bad = np.array([kind.fault is fault for kind in kinds]) & present
        where = action.name if fault.of_action else name
        column = CodedColumn(where, keys.codes, labels, shown, keys.first)
        rows.refuse(problems, column, bad, fault.allowed(plan), fault.remedy)
    chosen = CodedColumn(action.name, keys.codes, labels, labels, keys.first)
    return Offered(keys.codes, tuple(kind.options for kind in kinds), chosen)


@dataclass(frozen=True)
class _Fault:
    """A way in which an offer and a choice do not fit."""

    needed: str
    remedy: str
    of_action: bool = False

    def allowed(self, plan: OfferPlan) -> str:
        return self.needed.format(
            labels=", ".join(plan.meaning), positions=", ".join(plan.positions)
        )


NOTHING = _Fault(EMPTY, HELP)
UNEXPLAINED = _Fault("a label that --offers explains: {labels}", "--offers LABEL=A|B")
NOT_THERE = _Fault(
    "an action that was on offer",
    "--offered COL[,COL], --action COL, --positions FIRST,SECOND if the action is a position",
    of_action=True,
)
NO_POSITION = _Fault(
    "a position among the options on offer: {positions}",
    "--positions FIRST,SECOND, --missing action:VALUE for missed trials",
    of_action=True,
)


@dataclass(frozen=True)
class _Kind:
    """A kind of row: what was on offer, what was chosen, and what is wrong."""

    options: Options
    chosen: str | None
    fault: _Fault | None = None
    wrong: str | None = None  # as it is shown


def _kind(plan: OfferPlan, key: tuple[str | None, ...]) -> _Kind:
    action, *labels = key
    for label in labels:
        if plan.meaning and label is not None and label not in plan.meaning:
            return _Kind((), action, UNEXPLAINED, label)
    placed = plan.placed(labels)
    options = tuple(dict.fromkeys(one for one in placed if one is not None))
    if not options:
        return _Kind((), action, NOTHING, "nothing on offer")
    if action is None:
        return _Kind(options, None)
    there = BETWEEN.join(options)
    if not plan.positions:
        if plan.named(action) in options:
            return _Kind(options, action)
        return _Kind(options, action, NOT_THERE, f"{action} where {there} was on offer")
    if action not in plan.positions:
        return _Kind(options, action, NO_POSITION, action)
    place = plan.positions.index(action)
    chosen = placed[place] if place < len(placed) else None
    if chosen is None:
        return _Kind(options, action, NO_POSITION, f"{action} where {there} was on offer")
    return _Kind(options, chosen)


def settle_offers(
    store: TrialStore,
    sets: Iterable[tuple[int, ...]],
    used: NDArray[np.bool_],
    names: Sequence[str],
    actions: Sequence[str],
) -> NDArray[np.bool_] | None:
    """The ``sets`` that are ``used`` as [set, action]; None where all actions always were on offer.

    A set has codes of ``names``, and ``actions`` are the names in their final order.
    """
    if not used.any():
        return None
    place = {name: i for i, name in enumerate(actions)}
    table = np.zeros((int(used.sum()), len(actions)), np.bool_)
    for row, codes in zip(table, sets, strict=True):
        row[[place[names[code]] for code in codes]] = True
    if table.all():
        store.drop("offer")
        return None
    store.recode("offer", np.where(used, np.cumsum(used) - 1, -1).astype(np.int32))
    return table
