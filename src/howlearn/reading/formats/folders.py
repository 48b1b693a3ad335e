"""Folders: names of BIDS files, and which files belong together.

Brain Imaging Data Structure: https://bids-specification.readthedocs.io.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.core.errors import DataError
from howlearn.core.safe_files import text_in
from howlearn.reading.columns import GUESSED, guess, named_like
from howlearn.reading.formats.sidecars import json_in
from howlearn.reading.formats.table import FILE, FOLDER, Extended, Table, Wrapped, file_of
from howlearn.reading.labels import natural_key
from howlearn.reading.problems import listed

NAMES = {"ses": "session", "run": "run", "task": "task"}  # entities that become columns
_PATTERN = re.compile(
    r"(?P<entities>sub[-_][A-Za-z0-9+]+(_[a-z]+-[A-Za-z0-9+]+)*)_(?P<kind>events|beh)\.tsv(\.gz)?"
)
_LEARNERS = "sub[-_]*"  # the folders of learners; BIDS has sub-, some have sub_


def entities_of(path: Path) -> dict[str, str] | None:
    """The entities in a file's name, None where it is no BIDS name.

    >>> entities_of(Path("sub-01_ses-2_task-x_events.tsv"))
    {'sub': '01', 'ses': '2', 'task': 'x', 'kind': 'events'}
    >>> entities_of(Path("sub_1_task-x_events.tsv"))["sub"]  # nearly one
    '1'
    """
    match = _PATTERN.fullmatch(path.name)
    if match is None:
        return None
    parts = _as_agreed(match["entities"]).split("_")
    pairs = [(part.split("-")[0], part.split("-")[1]) for part in parts]
    return {**dict(pairs), "kind": match["kind"]}


def _as_agreed(name: str) -> str:
    """A name with sub-1 in the place of sub_1."""
    return re.sub(r"^sub_", "sub-", name)


def files_inside(folder: Path) -> list[Path]:
    """The data files of a BIDS data set, wherever they lie; none if the folder is no such set."""
    learners = [inner for inner in folder.glob(_LEARNERS) if inner.is_dir()]
    if not learners:
        return []
    depths = ("", "*/", "*/*/")  # sub-01/, its func/ or ses-1/, ses-1/func/
    found = {
        path
        for learner in learners
        for depth in depths
        for path in learner.glob(f"{depth}{_LEARNERS}_*.tsv")
        if entities_of(path) is not None and not path.is_dir()
    }
    return sorted(found, key=_order)


def chosen_kind(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Where a data set has both, _beh.tsv files are read and _events.tsv are not."""
    behaviour = [path for path in paths if path.name.endswith("_beh.tsv")]
    if not behaviour or len(behaviour) == len(paths):
        return list(paths), []
    left = len(paths) - len(behaviour)
    return behaviour, [
        f"the data set has _beh.tsv files, which were read, and {left} _events.tsv files, which "
        "were not; name these if they are the study"
    ]


def as_bids(tables: list[Table], lists: Collection[Path] = ()) -> tuple[list[Table], list[str]]:
    """Tables with the learners of their names, if all files have BIDS names; and notes.

    ``lists``: folders in which a file lists the folders inside.
    """
    known = [entities_of(Path(table.name)) for table in tables]
    entities = [found for found in known if found is not None]
    if not tables or len(entities) < len(tables):
        return _by_names(tables, lists)
    roots = [_root(Path(table.name)) for table in tables]
    several = len(set(roots)) > 1
    people = {root: _participants(root) for root in dict.fromkeys(roots)}
    sidecars: dict[tuple[Path, str], list[Path]] = {}
    found: list[tuple[tuple[object, ...], Table]] = []
    for table, entity, root in zip(tables, entities, roots, strict=True):
        learner = f"{root.name}/{entity['sub']}" if several else entity["sub"]
        own = {column: entity[key] for key, column in NAMES.items() if key in entity}
        more = {**people[root].get(f"sub-{entity['sub']}", {}), **own}
        about = _about(Path(table.name), root, sidecars)
        found.append((_order(Path(table.name)), Extended(table, more, about, learner)))
    if not several:
        found.sort(key=lambda pair: pair[0])
    return [table for _, table in found], [*_notes(entities), *_oddities(tables, people)]


_DAY = "20[0-9]{2}[-_]?[01][0-9][-_]?[0-3][0-9]"
_PARTS = "session sess ses run block blk day visit part phase round"
_PART = rf"(?P<part>{_PARTS.replace(' ', '|')})[ _.-]?(?P<number>[0-9]{{1,3}})"
_WHO_FIRST = re.compile(
    rf"(?P<who>.+?)(?:(?<=[0-9])|[ _./-]){_PART}(?P<rest>[^0-9]*)(?:{_DAY})?", re.I
)
_WHO_LAST = re.compile(rf"{_PART}[ _./-](?P<who>.+)(?P<rest>)", re.I)
_WHO_AND_DAY = re.compile(rf"(?P<who>.+?)[ _./-](?P<part>)(?P<number>{_DAY})(?P<rest>[^0-9]*)")


def _by_names(tables: list[Table], lists: Collection[Path]) -> tuple[list[Table], list[str]]:
    """Files such as VP03_session2 that are parts of what one learner did, put together; a note.

    >>> _WHO_FIRST.fullmatch("VP03_session2").group("who", "part", "number")
    ('VP03', 'session', '2')
    >>> _WHO_LAST.fullmatch("day1/rat_7")["who"]
    'rat_7'
    >>> _WHO_AND_DAY.fullmatch("rat1_2019-05-01").group("who", "number")
    ('rat1', '2019-05-01')
    """
    if len(tables) < 3 or any(guess("learner", table.columns) for table in tables):
        return tables, []
    again = len({table.stem for table in tables}) < len(tables)
    names = [
        f"{Path(table.name).parent.name}/{table.stem}" if again else table.stem for table in tables
    ]
    for pattern in (_WHO_FIRST, _WHO_LAST, _WHO_AND_DAY):
        found = [match for match in map(pattern.fullmatch, names) if match is not None]
        parts = {(match["part"].lower(), match["rest"]) for match in found}
        keys = {(match["who"], match["number"]) for match in found}
        people = {who for who, _ in keys}
        if len(found) < len(tables) or len(parts) > 1 or len(keys) < len(tables):
            continue
        if 1 < len(people) < len(tables):
            part = next(iter(parts))[0] or "day"
            put = sorted(
                zip(found, tables, strict=True),
                key=lambda pair: tuple(map(natural_key, pair[0].group("who", "number"))),
            )
            note = (
                f"{len(tables)} files of {len(people)} learners were put together, by their names "
                f"such as {names[0]}; the column {part} separates their trials, as in --by {part}"
            )
            return [
                Extended(table, {part: match["number"]}, table.about, match["who"])
                for match, table in put
            ], [note]
    return _by_folders(tables, lists)


def _by_folders(tables: list[Table], lists: Collection[Path]) -> tuple[list[Table], list[str]]:
    """Tables with their folder and session, where a folder has files of what may be one learner.

    It is one where a file lists the folders; otherwise it is asked who the learner is.
    """
    paths = [file_of(table.name) for table in tables]
    folders = {path.parent for path in paths}
    if not 2 <= len(folders) <= len(tables) / 2 or any(table.learner for table in tables):
        return tables, []
    found = with_places(tables, [FOLDER])
    if not {folder.parent for folder in folders} <= {*lists}:
        return found, []
    note = (
        f"{len(tables)} files of {len(folders)} learners were put together: each folder is one; "
        f"the column {SESSION} separates their trials, as in --by {SESSION}"
    )
    for table, path in zip(found, paths, strict=True):
        table.learner = path.parent.name
    return found, [note]


SESSION = "session"


def with_places(tables: Sequence[Table], words: Collection[str]) -> list[Table]:
    """The tables with columns for their file or folder, and for the place of the file in it."""
    paths = [file_of(table.name) for table in tables]
    inside: dict[Path, list[Path]] = {}
    for path in paths:
        inside.setdefault(path.parent, []).append(path)
    names = Counter(folder.resolve().name for folder in inside)
    found = []
    for table, path in zip(tables, paths, strict=True) if words else ():
        folder = path.parent.resolve()
        once = names[folder.name] == 1
        places = {FILE: table.stem, FOLDER: folder.name if once else str(Path(*folder.parts[-2:]))}
        more: dict[str, str | None] = {word: places[word] for word in words}
        beside = sorted(inside[path.parent], key=lambda one: natural_key(one.name))
        if FOLDER in words and len(beside) > 1:
            more[SESSION] = str(1 + beside.index(path))
        found.append(Extended(table, more, table.about, table.learner))
    return found or [*tables]


def begins_with(stem: str, folder: str) -> bool:
    """Whether a file is called after its folder.

    >>> begins_with("Rat7_2_2019", "rat7"), begins_with("rat71", "rat7")
    (True, False)
    """
    stem, folder = stem.casefold(), folder.casefold()
    return stem.startswith(folder) and not stem.removeprefix(folder)[:1].isalnum()


def _oddities(tables: Sequence[Table], people: Mapping[Path, Mapping[str, Any]]) -> list[str]:
    """Where a data set is not quite as BIDS has it."""
    odd = [Path(table.name).name for table in tables if Path(table.name).name.startswith("sub_")]
    notes = []
    if odd:
        notes.append(f"files are called {odd[0]}, where BIDS has sub-; they were read anyway")
    for root, known in people.items():
        if not known and (root / "participants.json").exists():
            notes.append(f"{root} has a participants.json without a participants.tsv next to it")
    return notes


def _notes(entities: Sequence[Mapping[str, str]]) -> list[str]:
    tasks = sorted({entity["task"] for entity in entities if "task" in entity}, key=natural_key)
    notes = []
    if len(tasks) > 1:
        notes.append(
            f"the files are of several tasks ({', '.join(tasks)}); --where \"task == '{tasks[0]}'\""
            " keeps one, --by task separates them"
        )
    learners = {entity["sub"] for entity in entities}
    if len(learners) < len(entities):
        columns = [column for key, column in NAMES.items() if any(key in e for e in entities)]
        notes.append(
            f"{len(entities)} files of {len(learners)} learner{'s' * (len(learners) != 1)} were "
            f"put together; the columns {', '.join(columns)} separate their trials, as in "
            f"--reset-by {columns[0]}"
            if columns
            else f"{len(entities)} files of {len(learners)} learners were put together"
        )
    return notes


def _order(path: Path) -> tuple[object, ...]:
    """Learners in the order of their numbers, and their files in that of sessions and runs."""
    entities = entities_of(path) or {}
    keys = ("sub", "ses", "task", "run")
    return (*(natural_key(entities.get(key, "")) for key in keys), str(path))


def _root(path: Path) -> Path:
    """The folder of the data set: above the learner's own folder, or where the file lies."""
    for folder in path.parents:
        if folder.name.startswith(("sub-", "sub_")):
            return folder.parent
    return path.parent


def _participants(root: Path) -> dict[str, dict[str, str | None]]:
    """What participants.tsv says about each learner, unless a role would be guessed from it."""
    try:
        text = text_in(root / "participants.tsv")
        rows = list(csv.DictReader(text.splitlines(), delimiter="\t"))
    except (OSError, ValueError, csv.Error):
        return {}
    found = {}
    names = {name for row in rows[:1] for name in row if isinstance(name, str) and name}
    told = {name for name in names if not _plays_a_role(name)}
    for row in rows:
        learner = row.get("participant_id") or ""
        found[learner if learner.startswith("sub-") else f"sub-{learner}"] = {
            name: value for name, value in row.items() if name in told
        }
    return found


def _plays_a_role(name: str) -> bool:
    return any(guess(role, [name]) for role in GUESSED)


def _about(
    path: Path, root: Path, known: dict[tuple[Path, str], list[Path]]
) -> dict[str, Mapping[str, Any]]:
    """What sidecars say about the columns: those above, then the file's own."""
    entities = entities_of(path) or {}
    parts = {f"{key}-{label}" for key, label in entities.items() if key != "kind"}
    folders = [folder for folder in (*path.parents,) if folder == root or root in folder.parents]
    about: dict[str, Mapping[str, Any]] = {}
    for folder in reversed(folders):
        key = (folder, entities["kind"])
        if key not in known:
            known[key] = sorted(folder.glob(f"*_{entities['kind']}.json"))
        fitting = [
            (sidecar.name.count("_"), sidecar)
            for sidecar in known[key]
            if set(_as_agreed(sidecar.name).split("_")[:-1]) <= parts
        ]
        for _, sidecar in sorted(fitting):
            said = json_in(sidecar)
            if isinstance(said, dict):
                about.update({name: what for name, what in said.items() if isinstance(what, dict)})
    return about


# Which tables of a folder belong together, and what their columns are called in all of them.


ROLES = ("action", "reward", "context", "learner", "trial")
FEWEST_ROLES = 2  # that the names of columns tell, or that another file lacks


class Respelled(Wrapped):
    """A table some of whose columns are called as another file spells them."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        super().__init__(table)
        self.columns = tuple(columns)
        self._own = dict(zip(columns, table.columns, strict=True))

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The table's frames under the other names."""
        for frame in self.table.frames([self._own[name] for name in columns]):
            frame.columns = list(columns)
            yield frame


def own(table: Table) -> Table:
    """The table as its file has it, without other spellings and what the file's name adds."""
    while isinstance(table, Extended | Respelled):
        table = table.table
    return table


def spelled_alike(tables: Sequence[Table]) -> tuple[list[Table], list[str]]:
    """The tables with columns that differ in case only called as in the first file; and notes."""
    exact: set[str] = set()
    known: dict[str, str] = {}
    found: list[Table] = []
    changed: dict[str, str] = {}
    for table in tables:
        if exact.issuperset(table.columns):  # nearly always
            found.append(table)
            continue
        here = set(table.columns)
        columns = []
        for name in table.columns:
            usual = known.get(name.casefold(), name)
            new = name if name in exact or usual in here else usual
            if new != name:
                here.add(new)
                changed.setdefault(name, new)
            columns.append(new)
        found.append(table if columns == list(table.columns) else Respelled(table, columns))
        exact.update(columns)
        for name in columns:
            known.setdefault(name.casefold(), name)
    pairs = listed([f"{name} as {new}" for name, new in changed.items()])
    return found, [f"columns that some files spell differently were read: {pairs}"] if pairs else []


def strays(tables: Sequence[Table], told: Collection[str] = ()) -> list[Table]:
    """The tables with other columns than the others, where it is clear which are the study's.

    These have the columns that options name (``told``), or those whose names tell most roles.
    """
    groups: list[tuple[set[str], list[Table]]] = []
    if len({table.columns for table in tables}) < 2:
        return []
    for table in tables:
        names = {name.casefold() for name in table.columns if name}
        if groups and names and names == groups[0][0]:  # nearly always
            groups[0][1].append(table)
            continue
        joined = [group for group in groups if _alike(group[0], names)]
        apart = [group for group in groups if not _alike(group[0], names)]
        whole = names.union(*(group[0] for group in joined))
        groups = [(whole, [*(one for group in joined for one in group[1]), table]), *apart]
    ranks = [_rank(members, told) for _, members in groups]
    if ranks.count(max(ranks)) > 1:
        return []
    members = groups[ranks.index(max(ranks))][1]
    study = {id(table) for table in members} - {
        id(table) for table in _without_roles(members, told)
    }
    return [table for table in tables if id(table) not in study]


def _without_roles(tables: Sequence[Table], told: Collection[str]) -> list[Table]:
    """The tables that lack what the others have for several roles, such as a questionnaire's.

    With other columns of their own: where one is spelled otherwise, that is told as a mistake.
    """
    different = {table.columns: table for table in tables}
    best = max(different.values(), key=lambda table: _rank([table], told))
    columns = {name.casefold() for name in best.columns}
    needs = [{*named_like(role, best.columns)} - {*told} for role in ROLES]
    needs = [need for need in (*needs, *({name} for name in told if name in best.columns)) if need]
    found = []
    for table in tables:
        names = {name.casefold() for name in table.columns}
        lacks = [n for n in needs if names.isdisjoint(name.casefold() for name in n)]
        if len(lacks) >= FEWEST_ROLES and not names <= columns:
            found.append(table)
    return found


def _alike(one: set[str], other: set[str]) -> bool:
    """Whether tables have most columns of the smaller in common; an index of people has one."""
    return 2 * len(one & other) > min(len(one), len(other))


def nameless(tables: Sequence[Table], told: Collection[str]) -> list[Table]:
    """The tables without names of columns, where others have the columns of a study."""
    named = [table for table in tables if not table.bare]
    if not named or max(_rank(named, told)[:2]) < FEWEST_ROLES:
        return []
    return [table for table in tables if table.bare]


def _rank(tables: Sequence[Table], told: Collection[str]) -> tuple[int, int, int]:
    named = max(sum(name in told for name in table.columns) for table in tables)
    roles = max(sum(bool(guess(role, table.columns)) for role in ROLES) for table in tables)
    return named, roles, len(tables)


def shares_columns(table: Table, tables: Sequence[Table]) -> bool:
    """Whether a table has a column of one of the others."""
    return any(not {*table.columns}.isdisjoint(one.columns) for one in tables)


def continues(table: Table, tables: Sequence[Table]) -> bool:
    """Whether a table has the columns of the others, and learners whom they have not."""
    if not tables or not {*tables[0].columns} <= {*table.columns}:
        return False
    owners = guess("learner", tables[0].columns)
    if not owners:
        return all(table.stem != one.stem for one in tables)
    try:
        new = _values(table, owners[0])
        return all(new.isdisjoint(_values(one, owners[0])) for one in tables)
    except DataError:  # told when the rows are read
        return False


def _values(table: Table, column: str) -> set[str]:
    if column not in table.columns:
        return set()
    found = [frame[column].drop_nulls().unique() for frame in table.frames([column])]
    return {str(value) for values in found for value in values.to_list()}
