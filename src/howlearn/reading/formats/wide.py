"""Tables with several trials in a row: of one learner, or the stages of one trial."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.errors import DataError, HowlearnError
from howlearn.core.expressions import derive, is_expression
from howlearn.core.options import NONE
from howlearn.reading.columns import guess, plain
from howlearn.reading.formats.table import Table, Wrapped
from howlearn.reading.options import STAGE, STAGE_CHOICE, STAGE_STATE, ReadOptions

FEWEST = 3  # numbers of a family
ENOUGH = 8  # numbers that are a learner's trials whatever the columns are called
TRIAL, LEARNER = "trial", "learner"
RESPONSE = "responseid"  # whose row it is where surveys have one row per learner
_BEFORE = re.compile(
    r"(?:t|tr|trial)?[\s_.\-]?(?P<number>[0-9]+)[\s_.\-]+(?P<name>[^\W\d_].*)", re.IGNORECASE
)
_OTREE = re.compile(r"(?P<app>[^.]+)\.(?P<number>[0-9]+)\.(?P<name>(player|group|subsession)\..+)")
_RUN = re.compile(r"[0-9]+")
_LONG, _MOST_RUNS = 200, 4  # letters of a name; numbers in it
_LETTER = re.compile(r"[^\W\d_]")
_BETWEEN = "_.-" + "".join(filter(str.isspace, map(chr, range(0x3001))))
_DIGITS = "0123456789"
_TRIAL_ENDS = ("trial", "tr", "t")  # choice_t1
_LONGEST = 7  # digits of a number


@dataclass(frozen=True)
class Families:
    """Columns that differ by a number only: name → number → column."""

    members: Mapping[str, Mapping[int, str]]
    numbers: tuple[int, ...]

    @property
    def columns(self) -> frozenset[str]:
        """All of their columns."""
        return frozenset(c for family in self.members.values() for c in family.values())


def families_in(columns: Sequence[str]) -> Families | None:
    """The families with the same numbers, at least two of them.

    >>> found = families_in(["id", "choice_1", "choice_2", "choice_3", "r1", "r2", "r3"])
    >>> list(found.members), found.numbers
    (['choice', 'r'], (1, 2, 3))
    >>> families_in(["id", "arm", "won", "arm (2)", "won (2)", "arm (3)", "won (3)"]).numbers
    (1, 2, 3)
    """
    families: dict[str, dict[int, str]] = {}
    there = {*columns}
    for column in columns:
        name, number = numbered(column)
        if 0 < len(number) <= _LONGEST:
            families.setdefault(_without_trial(name), {}).setdefault(int(number), column)
    for name, family in families.items():
        first = min(family)  # of x, x (2), x (3) and of x, x.1, x.2 the first has no number
        if first == 2 or (first == 1 and all(c == f"{name}.{k}" for k, c in family.items())):
            family.update({first - 1: name} if name in there else {})
    alike: dict[tuple[int, ...], dict[str, dict[int, str]]] = {}
    for name, family in families.items():
        if len(family) >= FEWEST:
            alike.setdefault(tuple(sorted(family)), {})[name] = family
    best = _best(alike)
    inside = _best(_by_numbers_inside(columns))
    if inside is not None and (best is None or len(inside.columns) > len(best.columns)):
        return inside
    return best


def _best(alike: Mapping[tuple[int, ...], Mapping[str, Mapping[int, str]]]) -> Families | None:
    """The families with the most numbers, where several have them."""
    best = max(alike.items(), key=lambda item: len(item[0]) * (len(item[1]) > 1), default=None)
    return None if best is None or len(best[1]) < 2 else Families(best[1], best[0])


def _by_numbers_inside(
    columns: Sequence[str],
) -> dict[tuple[int, ...], dict[str, dict[int, str]]]:
    """Many columns whose names differ by one or two numbers, wherever these stand.

    >>> names = [f"b{i}_t{k}_{what}" for i in (1, 2) for k in range(4) for what in ("key", "won")]
    >>> [found] = _by_numbers_inside(names).values()
    >>> [*found], found["b_t_key"][5]
    (['b_t_key', 'b_t_won'], 'b2_t0_key')
    """
    groups: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    for column in columns:
        runs = _RUN.findall(column) if len(column) < _LONG else []
        if 0 < len(runs) <= _MOST_RUNS and max(map(len, runs)) <= _LONGEST:
            groups.setdefault(_RUN.sub("0", column), []).append((tuple(map(int, runs)), column))
    alike: dict[tuple[tuple[int, ...], ...], dict[str, dict[tuple[int, ...], str]]] = {}
    for group in groups.values():
        different = [len({*each}) > 1 for each in zip(*(runs for runs, _ in group), strict=True)]
        if len(group) < ENOUGH or not 1 <= sum(different) <= 2:
            continue
        name = _without_runs(group[0][1], different)
        keys = {tuple(itertools.compress(runs, different)): column for runs, column in group}
        if _LETTER.search(name) and len(keys) == len(group):
            alike.setdefault(tuple(sorted(keys)), {})[name] = keys
    return {
        (numbers := tuple(key[0] if len(key) == 1 else i for i, key in enumerate(keys, start=1))): {
            name: {n: family[key] for n, key in zip(numbers, keys, strict=True)}
            for name, family in families.items()
        }
        for keys, families in alike.items()
    }


def _without_runs(column: str, left_out: Sequence[bool]) -> str:
    """A name without some of its numbers, and without brackets and doubled signs between words."""
    kept = iter(left_out)
    name = _RUN.sub(lambda run: "" if next(kept) else run[0], column).replace("[]", "")
    name = re.sub(r"([\s_.:\-])[\s_.:\-]+", r"\1", name.replace("()", ""))
    return name.strip(_BETWEEN + ":")


def numbered(column: str) -> tuple[str, str]:
    """What a column is called beside its number, and the number; nothing where it has none.

    Letter by letter from the end: a pattern would take minutes for a name of thousands of letters.

    >>> [numbered(column) for column in ("choice_12", "r [3]", "t4 key", "x", "7")]
    [('choice', '12'), ('r', '3'), ('key', '4'), ('', ''), ('', '')]
    >>> numbered("task.12.player.option_2")  # as oTree names columns
    ('task.player.option_2', '12')
    """
    match = _OTREE.fullmatch(column)
    if match is not None:
        return f"{match['app']}.{match['name']}", match["number"]
    match = _BEFORE.fullmatch(column)
    if match is not None:
        return match["name"].strip(), match["number"]
    closed = column[:-1] if column[-1:] in ("]", ")") else column
    before = closed.rstrip(_DIGITS)
    name = (before[:-1] if before[-1:] in ("[", "(") else before).rstrip(_BETWEEN)
    if before == closed or "\n" in name or not _LETTER.search(name):
        return "", ""
    return name.strip(), closed[len(before) :]


def _without_trial(name: str) -> str:
    """A name without the word for trial at its end."""
    for end in _TRIAL_ENDS:
        if name[-len(end) :].lower() == end:
            bare = name[: -len(end)].rstrip(_BETWEEN)
            if len(bare) + len(end) < len(name):
                return bare
    return name


def long(table: Table, options: ReadOptions | None) -> Table:
    """The table as it is, or with one row per trial where it has one row per learner."""
    families = families_in(table.columns)
    if families is None or not _is_wide(table, families, options):
        return table
    return Long(table, families)


def _is_wide(table: Table, families: Families, options: ReadOptions | None) -> bool:
    """Whether a table can only be meant as wide: no choices and rewards beside the families."""
    numbered = families.columns
    rest = [column for column in table.columns if column not in numbered]
    given = [] if options is None else list(texts(vars(options).values()))
    alone = [column for column in numbered if column not in families.members]  # not a family's name
    if any(_named(column, given) for column in alone):
        return False
    if _known("action", rest, options) and _known("reward", rest, options):
        return False
    names = [*families.members, *rest]
    few = len(families.numbers) < ENOUGH
    if few and not (_known("action", names, options) and _known("reward", names, options)):
        return False
    return len(families.numbers) >= ENOUGH or _once_each(table, rest)


def _known(role: str, names: Sequence[str], options: ReadOptions | None) -> bool:
    """Whether one of the names is told or looks like a role."""
    given = getattr(options, role, None)
    return given in names if given is not None else bool(guess(role, names))


def _once_each(table: Table, rest: Sequence[str]) -> bool:
    """Whether each learner has one row."""
    owners = guess(LEARNER, rest)
    return not owners or _unique(table, owners[0])


def _unique(table: Table, column: str) -> bool:
    """Whether no value of a column comes twice."""
    try:
        frames = [frame[column] for frame in table.frames([column])]
    except DataError:  # will be told when the rows are read
        return False
    return not frames or not pl.concat(frames).drop_nulls().is_duplicated().any()


def texts(values: Iterable[Any]) -> Iterator[str]:
    """The texts among values and inside those that hold several."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            yield from texts(value)


def _named(column: str, given: Sequence[str]) -> bool:
    """Whether an option names a column, alone or in a condition."""
    return any(
        column in text
        and (column == text or re.search(rf"(?<![\w.]){re.escape(column)}(?![\w.])", text))
        for text in given
    )


class Long(Wrapped):
    """A wide table with one row per trial; trials that nobody recorded anything in are left out."""

    def __init__(self, table: Table, families: Families) -> None:
        super().__init__(table)
        self.families, self.first_row = families, 1  # trials are counted
        numbered = families.columns
        self._rest = [c for c in table.columns if c and c not in numbered]
        self._names = {
            name if name not in self._rest else f"{name} (each trial)": family
            for name, family in families.members.items()
        }
        self._trial = TRIAL if not guess("trial", self._rest) else f"{TRIAL} (of the columns)"
        self._learner = () if guess(LEARNER, self._rest) else (LEARNER,)
        named = [c for c in self._rest if plain(c) == RESPONSE and _unique(table, c)]
        self._response = named[:1] if self._learner else []
        self.columns = (*self._learner, *self._rest, self._trial, *self._names)
        said = {name: table.about.get(next(iter(f.values()))) for name, f in self._names.items()}
        self.about = {**table.about, **{name: text for name, text in said.items() if text}}
        self.format = f"{table.format}, several trials per row, rows counted as trials"
        shown = ", ".join(f"{name} ({len(families.numbers)})" for name in families.members)
        self.notes = (
            *table.notes,
            f"it has several trials per row, in numbered columns: {shown}; it was read as one row "
            "per trial",
        )

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """One row per learner and trial, in this order."""
        before = 0
        needed = {*columns, *(self._response if LEARNER in columns else ())}
        used = [name for name in self._rest if name in needed]
        inner = [*used, *(c for family in self._names.values() for c in family.values())]
        for frame in self.table.frames(inner):
            rows = self._long(frame, used, before)
            yield pl.DataFrame([rows.get_column(name) for name in columns])
            before += frame.height

    def _long(self, frame: pl.DataFrame, used: Sequence[str], before: int) -> pl.DataFrame:
        # column by column: a selection for each number would look at all columns each time
        own = dict(zip(frame.columns, frame.get_columns(), strict=True))
        numbers, height = self.families.numbers, frame.height
        order = np.arange(before + 1, before + height + 1)
        parts = [
            pl.Series("\0row", np.tile(order, len(numbers))),
            pl.Series("\0number", np.repeat(np.array(numbers, dtype=np.int64), height)),
            *(_below([own[name]] * len(numbers), name) for name in used),
            *(_below([own[f[n]] for n in numbers], name) for name, f in self._names.items()),
        ]
        rows = pl.DataFrame(parts).sort("\0row", "\0number")
        blank = [_blank(rows.get_column(name)).to_numpy() for name in self._names]
        kept = rows.filter(~np.logical_and.reduce(blank))
        who = self._response[0] if {*self._response} & {*used} else "\0row"
        return kept.with_columns(
            pl.col("\0number").cast(pl.String).alias(self._trial),
            *(pl.col(who).cast(pl.String).alias(name) for name in self._learner),
        )


def _blank(column: pl.Series) -> pl.Series:
    """Where nothing was recorded."""
    column = column.alias("values")  # polars would read a name such as ^a$ as a pattern
    if column.dtype.is_float():
        return column.is_null() | column.is_nan().fill_null(True)
    if column.dtype != pl.String:
        return column.is_null()
    return column.is_null() | (column.str.strip_chars() == "").fill_null(True)


def _below(columns: Sequence[pl.Series], name: str) -> pl.Series:
    """Columns below one another as one; text where their types differ."""
    if len({column.dtype for column in columns}) > 1:
        columns = [column.cast(pl.String) for column in columns]
    return pl.concat([column.alias(name) for column in columns])


# Several choices in a row: one trial per choice.


def parse_stages(text: str) -> list[tuple[str, str | None]]:
    """The choice of each stage, and where its state stands; None: it has none.

    >>> parse_stages("choice1; choice2@final_state")
    [('choice1', None), ('choice2', 'final_state')]
    """
    found = []
    for part in text.split(";"):
        choice, at, state = (each.strip() for each in part.partition("@"))
        if not choice or (at and not state):
            raise HowlearnError(f'--stages {text!r}: write "COL; COL@STATE", one COL per choice')
        found.append((choice, state or None))
    if len(found) < 2:
        raise HowlearnError(f"--stages {text!r}: one choice only; two or more need ; between them")
    return found


def stage_columns(
    text: str, action: str | None, context: Sequence[str]
) -> dict[str, str | tuple[str, ...]]:
    """The columns of a table of stages that play the roles of action and context."""
    parse_stages(text)
    if action not in (None, STAGE_CHOICE):
        raise HowlearnError(
            f"--stages {text!r} names the choices, and --action {action} another one: give one of "
            "the two"
        )
    shown = tuple(name for name in context if name not in (NONE, STAGE_STATE))
    return {"action": STAGE_CHOICE, "context": (*shown, STAGE_STATE)}


class Staged(Wrapped):
    """A table with several choices in each row, as one row per choice.

    All have the row's reward. The context is the state in which the choice was made, or else the
    stage; a choice that is missing is a missed trial.
    """

    def __init__(self, table: Table, stages: str) -> None:
        super().__init__(table)
        self.stages = parse_stages(stages)
        taken = [name for name in (STAGE, STAGE_CHOICE, STAGE_STATE) if name in table.columns]
        if taken:
            raise HowlearnError(
                f"--stages: {table.name} has a column {taken[0]} already; call it something else"
            )
        self.first_row = 1  # trials are counted
        names = [name for stage in self.stages for name in stage if name is not None]
        others = [name for name in names if name not in table.columns]
        for name in others:
            if not is_expression(name):
                close = get_close_matches(name, table.columns, 1)
                hint = f" (did you mean {close[0]}?)" if close else ""
                known = ", ".join(filter(None, table.columns))
                raise HowlearnError(
                    f"--stages {stages!r}: there is no column {name}{hint}; the columns: {known}"
                )
        self._derived = {name: derive(name, "--stages", table.columns) for name in others}
        self.columns = (*table.columns, STAGE, STAGE_CHOICE, STAGE_STATE)
        self.format = f"{table.format}, {len(self.stages)} choices per row counted as trials"

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """One row per row and stage, in this order."""
        own = [name for name in columns if name in self.table.columns]
        inner = dict.fromkeys((*own, *self._needed()))
        for frame in self.table.frames([*inner]):
            height, n = frame.height, len(self.stages)
            row = np.repeat(np.arange(height), n)
            order = np.arange(n * height).reshape(n, height).T.reshape(-1)
            choices = [self._values(frame, choice) for choice, _ in self.stages]
            states = [
                pl.Series([f"stage {i}"]).new_from_index(0, height)
                if state is None
                else self._values(frame, state)
                for i, (_, state) in enumerate(self.stages, start=1)
            ]
            numbers = [pl.Series([str(i + 1)]).new_from_index(0, height) for i in range(n)]
            made = {STAGE: numbers, STAGE_CHOICE: choices, STAGE_STATE: states}
            found = {name: frame.get_column(name).gather(row) for name in own}
            for name, parts in made.items():
                found[name] = _below(parts, name).gather(order)
            yield pl.DataFrame([found[name] for name in columns])

    def _needed(self) -> Iterator[str]:
        """The columns that the stages are made of."""
        for stage in self.stages:
            for name in stage:
                if name is not None:
                    yield from self._derived[name].columns if name in self._derived else (name,)

    def _values(self, frame: pl.DataFrame, name: str) -> pl.Series:
        if name not in self._derived:
            return frame.get_column(name).cast(pl.String)
        derived = self._derived[name]
        labels = pl.DataFrame([frame.get_column(c).cast(pl.String) for c in derived.columns])
        return derived.values(labels, ("no", "yes")).cast(pl.String)
