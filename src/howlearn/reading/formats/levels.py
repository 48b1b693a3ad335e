"""The levels of nested data: which part each row comes from, and what the levels are called.

While a nested value is taken apart, every level of it is a column whose name begins with MARK; the
innermost is number 1. When all is known they get names: learner, session, block, or what the user
says with ``--axes``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import polars as pl

from howlearn.core.errors import DataError, HowlearnError, Problem
from howlearn.core.text import many, shortened
from howlearn.reading.columns import guess, parts_of
from howlearn.reading.formats.folders import Respelled, entities_of
from howlearn.reading.formats.table import Asking, Extended, Table, distinct_names, file_of
from howlearn.reading.formats.wide import texts
from howlearn.reading.labels import natural_key
from howlearn.reading.options import ReadOptions
from howlearn.reading.problems import listed

MARK, AXIS = "\0level", "="
LEARNER, TRIAL, COLUMN = "learner", "trial", "column"
MOST_PARTS = 30_000  # tables in one value
INNER = {1: ("block",), 2: ("session", "block")}  # by how many levels are below the learner
_WORDS = {
    "learner": "learner subject subj sub participant person people animal mouse rat monkey user id",
    "session": "session sess ses day visit",
    "block": "block blk run",
    "group": "group cohort",
    "phase": "phase part stage",
    "game": "game round episode",
}
_CALLED = {word: name for name, words in _WORDS.items() for word in words.split()}


@dataclass
class Look:
    """How a nested value is looked at: what the user says, and what is to be told."""

    axes: tuple[str, ...] = ()  # names of all levels from the outermost to the trials
    padding: str | None = None  # VALUE, or NAME:VALUE
    notes: list[str] = field(default_factory=list)
    left: dict[str, None] = field(default_factory=dict)  # what has no place in the table
    bare: int = 0  # columns that nobody has named
    parts: int = 0  # tables that were looked for so far

    def count(self, more: int = 1) -> None:
        """Remember that tables were looked for."""
        self.parts += more
        self.check()

    def check(self, more: int = 0) -> None:
        """Refuse a value of so many small tables that to put them together takes too long."""
        if self.parts + more > MOST_PARTS:
            raise ValueError(
                f"more than {MOST_PARTS:,} small tables are nested in it; write one row per trial"
            )

    def leave(self, name: str, what: str) -> None:
        """Remember that something was not read."""
        if what and len(self.left) < 100:
            self.left.setdefault(f"{name} ({what})")

    def told(self) -> list[str]:
        """All notes."""
        left = [f"what does not belong to a trial was left out: {listed([*self.left])}"]
        return [*dict.fromkeys(self.notes), *(left if self.left else ())]


class Unclear(Exception):
    """Something that only the user knows: what was found, what is allowed, what helps."""

    def problem(self, file: str) -> Problem:
        """The question as it is told."""
        found, allowed, remedy = self.args
        return Problem(file, None, None, found, allowed, remedy)


def levels_of(frame: pl.DataFrame) -> list[str]:
    """The columns of the levels, the outermost first."""
    found = [name for name in frame.columns if name.startswith(MARK)]
    return sorted(found, key=_number, reverse=True)


def level(number: int, hint: str = "") -> str:
    """What a level is called until all are known; the hint is the name of what holds it."""
    return f"{MARK}{number} {hint}"


def _number(name: str) -> int:
    return int(name.removeprefix(MARK).split(" ")[0])


def together_as(found: Mapping[str, pl.DataFrame], hint: str) -> dict[str, pl.DataFrame]:
    """Parts of one kind, each with one more level that says which it is."""
    inside: dict[int, set[str]] = {}
    for frame in found.values():
        for name in levels_of(frame):
            inside.setdefault(_number(name), set()).add(name)
    # a level that is called otherwise in each part, as after its learner, has no name
    same = {n: names.pop() if len(names) == 1 else level(n) for n, names in inside.items()}
    new = level(max(inside, default=0) + 1, hint)
    return {
        label: pl.DataFrame(
            [
                pl.Series(new, [label]).new_from_index(0, frame.height),
                *(c.alias(_same_name(c.name, same)) for c in frame.get_columns()),
            ]
        )
        for label, frame in found.items()
    }


def _same_name(name: str, same: Mapping[int, str]) -> str:
    return same[_number(name)] if name.startswith(MARK) else name


def named_levels(frame: pl.DataFrame, look: Look) -> pl.DataFrame:
    """The table with names for its levels; what the learners are is told by their number."""
    levels = levels_of(frame)
    names = _asked(frame, levels, look) if look.axes else _usual(frame, levels)
    if look.axes:  # the trials of a learner are counted through all blocks
        whose = levels[: names.index(LEARNER) + 1] if LEARNER in names else []
        counted = pl.int_range(pl.len()).over(whose) if whose else pl.int_range(pl.len())
        frame = frame.with_columns((counted + 1).cast(pl.String).alias(TRIAL))
    kept = {old: new for old, new in zip(levels, names, strict=True) if new is not None}
    frame = frame.drop([old for old in levels if old not in kept])
    who = next((old for old, new in kept.items() if new == LEARNER), None)
    above = [*kept][: [*kept].index(who)] if who is not None else []
    if who is not None and above and _exactly(who) is None:
        # the first learner of one group is not the first of another
        frame = frame.with_columns(pl.concat_str([*above, who], separator="/").alias(who))
    own = {*frame.columns}
    frame = frame.rename({o: n if n not in own else f"{n} (level)" for o, n in kept.items()})
    shown = [name for name in names if name is not None]
    if shown and not look.bare:
        look.notes.append(_outline(frame, shown))
    return frame


def _asked(frame: pl.DataFrame, levels: Sequence[str], look: Look) -> list[str | None]:
    names = [n for n in look.axes if n not in (TRIAL, COLUMN)]
    known = [_exactly(name) for name in levels]
    open_names = iter(name for name in names if name not in known)
    if len(names) == len(levels):
        return [next(open_names, None) if name is None else name for name in known]
    sizes = [str(frame[name].n_unique()) for name in levels]
    kinds = f" (of {' × '.join(sizes)} parts)" if sizes else ""
    found = f"{many(len(levels), 'level')} above the trials{kinds}"
    allowed = f"as many as --axes names: {listed(names)}"
    raise Unclear(found, allowed, "--axes NAME,…,trial in their order")


def _usual(frame: pl.DataFrame, levels: Sequence[str]) -> list[str | None]:
    """What the levels are most likely: learners outside, unless the data have them as a column."""
    varied = [name for name in levels if frame[name].n_unique() > 1]
    names: dict[str, str | None] = dict.fromkeys(levels)
    hints = {name: _called(name) for name in varied}
    owner = _owner(frame, varied)
    rest = list(varied)
    if owner is not None and rest:
        if frame.select(owner, rest[0]).n_unique() == frame[owner].n_unique():
            rest.pop(0)  # the column says the same
        inner = rest
    else:
        who = [name for name in varied if hints[name] == LEARNER][:1] or varied[:1]
        for name in who:
            names[name] = LEARNER
        outside = rest[: rest.index(who[0])] if who else []
        for place, name in enumerate(outside):
            names[name] = hints[name] or ("group" if place == 0 else f"group {place + 1}")
        inner = [name for name in rest if name not in who and name not in outside]
    usual = INNER.get(len(inner), tuple(f"level {i + 2}" for i in range(len(inner))))
    if owner is not None and inner and inner[0] == varied[0] and len(inner) == 1:
        usual = ("session",)
    for name, word in zip(inner, usual, strict=True):
        hint = hints[name]
        names[name] = hint if hint and hint not in names.values() else word
    return [names[name] for name in levels]


def _owner(frame: pl.DataFrame, levels: Sequence[str]) -> str | None:
    """A column that says whose each part is: it is the same in all rows of every part."""
    own = [name for name in frame.columns if not name.startswith(MARK)]
    for column in guess(LEARNER, own):
        outer = levels[:1]
        if not outer or frame[column].null_count():
            continue
        if frame.select(outer[0], column).n_unique() == frame[outer[0]].n_unique():
            return column
    return None


def _exactly(name: str) -> str | None:
    """The name of a level that is an axis of an array."""
    hint = name.split(" ", 1)[1] if " " in name else ""
    return hint.removeprefix(AXIS) if hint.startswith(AXIS) else None


def _called(name: str) -> str | None:
    """What a level is called, by the name of what holds it."""
    hint = name.split(" ", 1)[1] if " " in name else ""
    for part in parts_of(hint):
        word = part.rstrip("0123456789")
        found = _CALLED.get(word) or _CALLED.get(word.removesuffix("s"))
        if found:
            return found
    return None


def _outline(frame: pl.DataFrame, levels: Sequence[str]) -> str:
    """Learners, blocks and trials with their numbers, in a line."""
    said, keys = [], []
    for name in levels:
        column = name if name in frame.columns else f"{name} (level)"
        above = frame.select(*keys, column).unique()
        counts = above.group_by(keys).len()["len"] if keys else pl.Series([above.height])
        said.append(f"{_range(counts)} {name}")
        keys.append(column)
    trials = frame.group_by(keys).len()["len"] if keys else pl.Series([frame.height])
    own = listed([name for name in frame.columns if name not in keys])
    return f"its layout: {' × '.join(said)} × {_range(trials)} trials of {own}"


def _range(counts: pl.Series) -> str:
    low, high = counts.min(), counts.max()
    return f"{low}" if low == high else f"{low} to {high}"


def check_axes(axes: Sequence[str]) -> None:
    """Refuse names that cannot be meant."""
    if len({*axes}) < len(axes):
        raise HowlearnError(f"--axes {','.join(axes)}: a name occurs twice")
    if axes and TRIAL not in axes:
        raise HowlearnError(f"--axes {','.join(axes)}: one of them must be trial")


def no_levels(file: str) -> DataError:
    """What is wrong where --axes or --padding is given for a plain table."""
    found, allowed = "a table without axes", "arrays, or data in levels, for --axes and --padding"
    return DataError([Problem(file, None, None, found, allowed, "leave them out")])


# Folders in folders, as people / sessions / files: their levels.

_DATED = re.compile(r"(19|20)[0-9]{2}[-_.]?[01][0-9][-_.]?[0-3][0-9].*")
_FEWEST_FOLDERS, _MOST_FILES = 3, 100_000
_PEOPLE = {*_WORDS["learner"].split(), *"p s vp pp ppt sujet sujeto proband".split()}


def levels_of_paths(paths: Sequence[tuple[str, ...]]) -> list[str | None] | None:
    """What the levels of folders and files are: learner, session (also block), group, or nothing.

    None where that cannot be told: no level has numbered people, or two people have one name.

    >>> paths = [(f"sub-{i}", f"ses-{k}", "task") for i in range(9) for k in (1, 2)]
    >>> levels_of_paths(paths), levels_of_paths([("old", "a"), ("new", "b"), ("x", "c")])
    (['learner', 'session', None], None)
    """
    if len({*map(len, paths)}) != 1:
        return None
    levels = [*zip(*paths, strict=True)]
    kinds = [_kind_of({*names}) for names in levels]
    likely = [i for i, kind in enumerate(kinds) if kind == LEARNER]
    if not likely:
        return None
    named = [i for i in likely if _stem(levels[i][0]) in _PEOPLE]
    if not named and len(likely) > 1:
        return None
    who = min(named or likely)
    found: list[str | None] = []
    for i, (names, kind) in enumerate(zip(levels, kinds, strict=True)):
        pairs, own = {*zip(levels[who], names, strict=True)}, len({*levels[who]})
        several = len(pairs) > own
        if i < who and kind == "group" and several:
            return None  # is it one person in both, or two?
        part = "session" if several else "group" if kind == "group" and i < who else None
        found.append(LEARNER if i == who else part)
    return found


def _kind_of(names: set[str]) -> str | None:
    """What the names of folders on one level, or of files, are."""
    stems = {*map(_stem, names)}
    called = {_CALLED.get(stem) for stem in stems}
    if len(names) < 2:
        return None
    if called <= {"session", "block", "phase", "game"} or all(map(_DATED.fullmatch, names)):
        return "session"
    numbered = all(any(letter.isdigit() for letter in name) for name in names)
    return LEARNER if numbered and len(stems) == 1 and len(names) >= _FEWEST_FOLDERS else "group"


def _stem(name: str) -> str:
    return re.sub(r"[0-9]+.*", "", name).strip("_-. ").lower()


def files_in_tree(folder: Path, is_data: Callable[[Path], bool]) -> list[Path]:
    """The data files two or more levels deep, if their folders tell the learners."""
    try:
        found = [path for path in islice(folder.glob("*/*/**/*"), _MOST_FILES) if is_data(path)]
    except OSError:  # a folder that may not be read
        return []
    parts = [(*path.relative_to(folder).parts[:-1], path.stem) for path in found]
    hidden = any(part.startswith(".") for each in parts for part in each)
    if hidden or len({path.suffix.lower() for path in found}) != 1 or not levels_of_paths(parts):
        return []
    return sorted(found, key=lambda path: natural_key(str(path)))


def by_tree(tables: Sequence[Table]) -> tuple[list[Table], list[str]]:
    """The tables with learner, group and session, where their folders tell these; and a note."""
    paths = [file_of(table.name) for table in tables]
    if (
        len(tables) < _FEWEST_FOLDERS
        or entities_of(paths[0]) is not None
        or any(t.learner or guess(LEARNER, t.columns) for t in tables)
    ):
        return [*tables], []
    try:
        top = Path(os.path.commonpath([path.parent for path in paths]))
    except ValueError:
        return [*tables], []
    parts = [
        (*path.parent.relative_to(top).parts, t.stem) for path, t in zip(paths, tables, strict=True)
    ]
    roles = levels_of_paths(parts) if min(map(len, parts)) > 2 else None
    if roles is None:
        return [*tables], []
    who = [each[roles.index(LEARNER)] for each in parts]
    order = sorted(
        range(len(tables)), key=lambda i: (natural_key(who[i]), *map(natural_key, parts[i]))
    )
    times: dict[str, int] = {}
    found: list[Table] = []
    for i in order:
        times[who[i]] = times.get(who[i], 0) + 1
        more = {r: name for r, name in zip(roles, parts[i], strict=True) if r == "group"}
        if "session" in roles:
            more["session"] = str(times[who[i]])
        found.append(Extended(tables[i], more, tables[i].about, who[i]))
    return found, [
        f"{len(tables)} files of {len(times)} learners were put together: each folder such as "
        f"{who[0]} is one" + ("; the column session separates their trials" * ("session" in roles))
    ]


# What the user says about the shape of data: names of columns, axes of arrays, padding.

HEADER = "header"  # --names header: the first row has the names, whatever it looks like
BY_NUMBER = ("learner", "context", "action", "reward", "trial")  # may name a column by its number
ROWS_SHOWN = 3  # of a table without names
LONGEST_ROW = 80  # letters of such a row


def shaped(tables: Sequence[Table], options: ReadOptions | None) -> list[Table]:
    """The tables of a file as the options say that they are; DataError where something is asked."""
    options = options or ReadOptions()
    if options.axes or options.padding is not None:
        for table in tables:
            if table.again is None:
                raise no_levels(table.name)
    said = {*texts(getattr(options, name) for name in BY_NUMBER)}
    return [_named(table, options.names, not said.isdisjoint(table.bare)) for table in tables]


def arranged(tables: Sequence[Table], options: ReadOptions | None) -> Sequence[Table]:
    """The tables of one file with the axes and the padding that the options name."""
    if options is None or not (options.axes or options.padding is not None):
        return tables
    check_axes(options.axes)
    again = next((table.again for table in tables if table.again is not None), None)
    return tables if again is None else again(options.axes, options.padding)


def _named(table: Table, names: Sequence[str], by_number: bool) -> Table:
    if isinstance(table, Asking):
        raise DataError([table.question])
    if tuple(names) == (HEADER,):
        return table if table.with_header is None else table.with_header()
    if not names:
        if table.bare and not by_number:
            raise DataError([_question(table)])
        return table
    unnamed = list(table.bare or table.columns)
    if len(names) != len(unnamed):
        found = f"{len(unnamed)} columns ({_first_rows(table) or listed(unnamed)})"
        allowed = f"as many as --names has: {len(names)} ({listed(list(names))})"
        raise DataError([Problem(table.name, None, None, found, allowed, "--names NAME,NAME,…")])
    if len({*names}) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise HowlearnError(f"--names: {twice} occurs twice; each column needs its own name")
    rest = [name for name in table.columns if name not in unnamed]
    others = dict(zip(rest, distinct_names([*names, *rest])[len(names) :], strict=True))
    new = {**others, **dict(zip(unnamed, names, strict=True))}
    found = Respelled(table, [new[name] for name in table.columns])
    if not table.bare:
        old = listed([name for name in table.columns if name])
        found.notes = (*table.notes, f"--names stands for the names in its first row: {old}")
    return found


def _question(table: Table) -> Problem:
    """What is asked where nobody knows what the columns are."""
    found = f"no names of columns; the first rows: {_first_rows(table)}"
    names = ",".join(f"NAME{i}" for i in range(1, min(len(table.bare), 4) + 1))
    more = ",…" * (len(table.bare) > 4)
    remedy = (
        f"--names {names}{more} with what each column is, as in "
        "learner,trial,context,action,reward; or its number, as in --action 4 --reward 5"
    )
    if len(table.bare) == 1:
        remedy = '--wide "action=FILE; reward=FILE" where each file is one quantity'
    if table.with_header is not None:
        remedy += f"; --names {HEADER} if the first row has the names"
    allowed = f"a name for {'each column' if len(table.bare) > 1 else 'its column'}"
    return Problem(table.name, None, None, found, allowed, remedy)


def _first_rows(table: Table) -> str:
    """The first rows as a message shows them."""
    if not table.bare:
        return ""
    try:
        frame = next(iter(table.frames(list(table.bare))), None)
    except DataError as error:
        raise error from None
    rows = [] if frame is None else frame.head(ROWS_SHOWN).rows()
    shown = [", ".join("" if v is None else str(v) for v in row) for row in rows]
    return " / ".join(shortened(row, LONGEST_ROW) for row in shown)
