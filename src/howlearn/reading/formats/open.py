"""From whatever the user points at to tables: files, folders and data frames look alike here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from os import PathLike
from os.path import realpath
from pathlib import Path
from typing import Any

from howlearn.core.errors import DataError, HowlearnError, Problem
from howlearn.core.expressions import is_expression
from howlearn.reading.formats import allowed
from howlearn.reading.formats.detect import format_named, format_of, refused
from howlearn.reading.formats.encodings import as_utf8, check_encoding
from howlearn.reading.formats.folders import (
    as_bids,
    begins_with,
    chosen_kind,
    continues,
    files_inside,
    nameless,
    shares_columns,
    spelled_alike,
    strays,
    with_places,
)
from howlearn.reading.formats.levels import arranged, by_tree, files_in_tree, shaped
from howlearn.reading.formats.parquet import partitioned
from howlearn.reading.formats.quantities import put_together
from howlearn.reading.formats.sidecars import describe, dictionaries
from howlearn.reading.formats.table import FILE, FOLDER, Frame, Table, split_name
from howlearn.reading.formats.wide import Staged, long, texts
from howlearn.reading.labels import natural_key
from howlearn.reading.options import ReadOptions
from howlearn.reading.problems import listed
from howlearn.runs.files import read_record
from howlearn.runs.shards import MANIFEST

# Which files of a folder are the study.


_STATISTICS = (".por", ".sas7bdat", ".xpt")  # data that are not read here
_NO_DATA = (".", "~$", "readme", "license")
_ABOUT = (  # what BIDS puts beside data
    *("participants.tsv", "samples.tsv", "participants.json", "samples.json"),
    *("dataset_description.json", "datapackage.json", "package.json", "howlearn.toml"),
)
_ABOUT_ENDS = ("_scans.tsv", "_sessions.tsv", "_channels.tsv", "_electrodes.tsv")


def files_of(folder: Path) -> tuple[list[Path], list[Path], list[str]]:
    """The data files of a folder, JSON beside them, notes on what was not read.

    DataError if it has none.
    """
    inside = sorted(folder.iterdir(), key=lambda inner: natural_key(inner.name))
    direct = [inner for inner in inside if _is_data(inner)]
    if all(map(_explains, direct)):
        spread = files_inside(folder)
        if spread:
            files, notes = chosen_kind(spread)
            return files, [], notes
        divided = partitioned(folder)
        if divided:
            return sorted(divided, key=lambda path: natural_key(str(path))), [], []
    spread = _in_folders(inside)
    if not direct and not _belong_together(spread):
        spread = []  # folders may be groups, and files people
    if not spread and len(direct) <= FEW_LISTS:
        spread = files_in_tree(folder, lambda path: _is_data(path) and not _explains(path))
        spread = [path for path in spread if not _is_results(path.parent, folder)]
    places = [path.relative_to(folder).parts[:-1] for path in spread]
    levels = [{*names} for names in zip(*places, strict=True)]
    if any(_are_lists(direct, names) for names in levels):
        folders = len({path.parent for path in spread})
        notes = [f"{folder}: the files are those of the {folders} folders inside it"]
        if direct:
            names = listed([path.name for path in direct])
            notes.append(f"{folder}: {names} was left out: it lists the folders")
        return spread, [], notes
    files, left = _of_one_kind(direct)
    unread = list(dict.fromkeys(str(f.relative_to(folder)) for i in inside for f in _unread(i)))
    only = folder / unread[0] if len(unread) == 1 else folder
    # As Psych-DS has it; the parent of "." is itself.
    if not files and only != folder == only.parent and not only.is_symlink():
        files, beside, notes = files_of(only)
        return files, beside, [f"{folder}: the data are in {only.name}", *notes]
    others = [path for path in inside if path.suffix.lower() in _STATISTICS]
    if not files and others:
        format_of(others[0])  # tells how to export it
    if not files:
        found, wanted = "a folder without data files", f"{allowed()} directly inside"
        remedy = f"name the folders inside it that have some: {listed(unread)}" if unread else ""
        remedy += "; --learner folder if each is one learner" if len(unread) > 1 else ""
        raise DataError([Problem(str(folder), None, None, found, wanted, remedy)])
    stems = {path.stem for path in files}
    beside = [p for p in direct if _explains(p) and p not in files and p.stem not in stems]
    left += [path.name for path in others]
    notes = []
    if left:
        notes.append(f"{folder} has files of other kinds that were not read: {listed(left)}")
    if unread:
        notes.append(
            f"{folder} has folders inside it with data files that were not read: {listed(unread)}; "
            "name them too if they belong to the study"
        )
    return files, beside, notes


def _in_folders(inside: Sequence[Path]) -> list[Path]:
    """The data files of all folders, where every folder has some of the same kind."""
    folders = [inner for inner in inside if inner.is_dir() and not inner.name.startswith(".")]
    try:
        found = [
            [one for one in folder.iterdir() if _is_data(one) and not _explains(one)]
            for folder in folders
            if not _is_results(folder, folder)
        ]
    except OSError:  # a folder that may not be read
        return []
    kinds = {one.suffix.lower() for files in found for one in files}
    if len(found) < 2 or len(kinds) != 1 or not all(found):
        return []
    return sorted((one for files in found for one in files), key=lambda p: natural_key(str(p)))


def _belong_together(paths: Sequence[Path]) -> bool:
    """Whether folders have a file each, files of the same names, or their names in their files'."""
    alone = len({path.parent for path in paths}) == len(paths)
    again = len({path.stem for path in paths}) < len(paths)
    return alone or again or all(begins_with(path.stem, path.parent.name) for path in paths)


def _are_lists(paths: Sequence[Path], folders: Collection[str]) -> bool:
    """Whether files only list the folders beside them, as a table of animals does."""
    named = {name.casefold() for name in folders}
    try:
        for path in paths:
            if path.stat().st_size > LARGEST_LIST:
                return False
            for table in _open(path, set()):
                known = [
                    {str(v).casefold() for v in c} for f in table.frames(table.columns) for c in f
                ]
                if not any(2 * len(values & named) > len(folders) for values in known):
                    return False
    except (DataError, OSError):
        return False
    return True


LARGEST_LIST, FEW_LISTS = 100_000, 3  # bytes, files


def _of_one_kind(paths: list[Path]) -> tuple[list[Path], list[str]]:
    """The files of the first kind, and the names of others that may be data too."""
    ranks = {path: format.rank for path in paths if (format := format_named(path)) is not None}
    first = min(ranks.values(), default=0)
    files = [path for path, rank in ranks.items() if rank == first]
    return files, [path.name for path in ranks if path not in files and not _explains(path)]


def _is_data(path: Path) -> bool:
    name = path.name.lower()
    about = name in _ABOUT or name.endswith(_ABOUT_ENDS)
    named = name.startswith(_NO_DATA) or about
    return format_named(path) is not None and not named and not path.is_dir()


def _explains(path: Path) -> bool:
    """Whether a file may stand beside data to explain them, as JSON often does."""
    format = format_named(path)
    return format is not None and format.explains


def _unread(path: Path) -> list[Path]:
    """The folders with data files in a folder: itself, and those directly inside."""
    try:
        if path.name.startswith(".") or not path.is_dir():
            return []
        inside = [inner for depth in ("*", "*/*") for inner in path.glob(depth)]
        found = {p.parent for p in inside if _is_data(p) and not _explains(p)}
        return sorted(folder for folder in found if not _is_results(folder, path))
    except OSError:  # a folder that may not be read
        return []


def _is_results(folder: Path, top: Path) -> bool:
    """Whether a folder, or one above it up to ``top``, is one that howlearn wrote."""
    above = [folder, *(each for each in folder.parents if each.is_relative_to(top))]
    return any("howlearn" in (read_record(each / MANIFEST) or {}) for each in above)


def _places_named(learner: str | None) -> list[str]:
    """Whether people are told apart by file or folder, as in join(file, subject) or folder."""
    if learner is None or not (learner == FOLDER or is_expression(learner)):
        return []
    return [word for word in (FILE, FOLDER) if re.search(rf"\b{word}\b", learner)]


def open_tables(
    source: Any, options: ReadOptions | None = None
) -> tuple[list[Table], list[Problem], list[str]]:
    """The tables of a source that can be opened, what is wrong with the others, and notes.

    The options decide only whether a table may be a wide one: none of whose columns they name.
    """
    if isinstance(source, str | PathLike):
        paths = [Path(source)]
    elif isinstance(source, Iterable) and not (
        hasattr(source, "columns") or isinstance(source, Mapping | bytes)
    ):
        paths = _paths(list(source))
    else:
        (table,) = _staged([long(Frame(source), options)], options)
        return [table], [], _told([table])
    tables: list[Table] = []
    problems: list[Problem] = []
    notes: list[str] = []
    seen: set[str] = set()
    done = False  # whether files of one quantity each were put together
    encoding = None if options is None else options.encoding
    check_encoding(encoding or "utf-8")
    lists: set[Path] = set()  # folders with a list of the folders inside them
    told = set() if options is None else {*texts(vars(options).values())}
    for given in paths:
        files, beside = _expanded(given, problems, notes)
        if files and all(path.parent.parent == given for path in files):
            lists |= {given} if any(map(_is_data, given.iterdir())) else set()
        opened: list[Table] = []
        unread: list[Problem] = []
        for path in files:
            try:
                opened += arranged(_open(path, seen, encoding), options)
            except DataError as error:
                beside_data = files != [given] and _explains(path)
                (unread if beside_data else problems).extend(error.problems)
        if opened:
            notes += [f"{one.file} was left out: it is {one.found}" for one in unread]
        else:
            problems += unread
        if files != [given]:
            whole = put_together(opened, options, notes)
            done = done or whole != opened
            opened = whole if done else _of_folder(given, opened, beside, told, seen, notes)
        tables += opened
    tables = tables if done else put_together(tables, options, notes)
    tables = _shaped(tables, options, problems)
    tables, spelled = spelled_alike(tables)
    tables, placed = by_tree([long(table, options) for table in tables])
    tables, found = (tables, placed) if placed else as_bids(tables, lists)
    tables = _staged(tables, options)
    if options is not None:
        tables = with_places(tables, _places_named(options.learner))
    describe(tables)
    return tables, problems, [*notes, *spelled, *_told(tables), *found]


def _staged(tables: Sequence[Table], options: ReadOptions | None) -> list[Table]:
    """The tables, with one row per choice where the user says that rows hold several."""
    if options is None or options.stages is None:
        return [*tables]
    return [Staged(table, options.stages) for table in tables]


def _shaped(
    tables: Sequence[Table], options: ReadOptions | None, problems: list[Problem]
) -> list[Table]:
    """The tables with the names that the options give their columns."""
    found: list[Table] = []
    for table in tables:
        try:
            found += shaped([table], options)
        except DataError as error:
            problems += error.problems
    return found


def learner_names(tables: Sequence[Table]) -> list[str]:
    """Each file's learner or stem; where stems collide, the folder stands before them."""
    if all(table.learner is not None for table in tables):
        return [table.learner or "" for table in tables]
    times = Counter(table.stem for table in tables)
    names = [
        table.stem if times[table.stem] == 1 else f"{Path(table.name).parent.name}/{table.stem}"
        for table in tables
    ]
    again = Counter(names)
    return [
        name if again[name] == 1 else table.name for name, table in zip(names, tables, strict=True)
    ]


def _told(tables: Sequence[Table]) -> list[str]:
    """The notes of all tables, each once, with the first file that it is about."""
    about: dict[str, list[str]] = {}
    for table in tables:
        for note in table.notes:
            about.setdefault(note, []).append(table.name)
    return [f"{_and_more(names)}: {note}" for note, names in about.items()]


def _and_more(names: Sequence[str]) -> str:
    more = len(names) - 1
    return f"{names[0]} and {more} more file{'s' * (more > 1)}" if more else names[0]


def _paths(items: list[Any]) -> list[Path]:
    if not items:
        raise HowlearnError("no file was given")
    if not all(isinstance(item, str | PathLike) for item in items):
        raise HowlearnError(
            "a list of files may hold paths only; several data frames are put together into one "
            "before they are read"
        )
    return [Path(item) for item in items]


def _expanded(
    path: Path, problems: list[Problem], notes: list[str]
) -> tuple[list[Path], list[Path]]:
    """A folder stands for the data files in it; JSON beside them may be data too."""
    try:
        if not path.is_dir():
            return ([path] if _is_text(path, problems) else []), []
        files, beside, found = files_of(path)
    except DataError as error:
        problems += error.problems
        return [], []
    except (OSError, ValueError) as error:
        problems.append(_unreadable(path, error))
        return [], []
    notes += found
    return [path for path in files if _is_text(path, problems)], beside


def _is_text(path: Path, problems: list[Problem]) -> bool:
    """Whether the name of a file can be written; on Linux it may be any bytes."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        found, allowed = "a name that is not valid text", "names in UTF-8"
        problems.append(Problem(str(path), None, None, found, allowed, "rename it"))
        return False
    return True


def _of_folder(
    folder: Path,
    tables: list[Table],
    beside: Sequence[Path],
    told: Collection[str],
    seen: set[str],
    notes: list[str],
) -> list[Table]:
    """The tables of a folder that belong together, and notes on the others."""
    lists = dictionaries(tables)
    if lists:
        names = listed([Path(table.name).name for table in lists])
        notes.append(f"{folder}: {names} describes the columns of the others, and was used for it")
        tables = [table for table in tables if not any(table is one for one in lists)]
    unnamed = nameless(tables, told)
    if unnamed:
        names = listed([Path(table.name).name for table in unnamed])
        notes.append(f"{folder}: {names} has no names of columns, and was left out")
        tables = [table for table in tables if not any(table is one for one in unnamed)]
    left = strays(tables, told)
    seen -= {realpath(table.name) for table in left}
    if left:
        names = listed([Path(table.name).name for table in left])
        one = len(left) == 1
        notes.append(
            f"{folder} has {'a file' if one else 'files'} with other columns than the trials, "
            f"which {'was' if one else 'were'} left out: {names}; what is named itself is read"
        )
    study = [table for table in tables if not any(table is one for one in left)]
    more: list[Table] = []
    unread = []
    for path in [path for path in beside if realpath(path) not in seen]:
        try:
            found = _open(path, set())
        except DataError:  # JSON often explains data
            continue
        if all(continues(table, study) for table in found):
            more += found
            seen.add(realpath(path))
        elif any(shares_columns(table, study) for table in found):
            unread.append(path.name)
    if more:
        notes.append(
            f"{folder} has JSON files with the columns of the others, which were read too: "
            f"{listed([Path(table.name).name for table in more])}"
        )
    if unread:
        notes.append(
            f"{folder} has JSON files that were not read: {listed(unread)}; name the files "
            "themselves if these belong to the study"
        )
    return [*study, *more]


def stamps_of(files: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Of every file of a study, by name: what differs once it was written to or replaced."""
    found = [path for given in files for path in chain(*_expanded(Path(given), [], []))]
    return {str(path): stamp_of(path) for path, _ in map(split_name, found)}


def stamp_of(path: Path) -> tuple[int, ...]:
    """What differs once a file was written to or replaced; nothing where there is no file."""
    try:
        now = path.stat()
    except (OSError, ValueError):
        return ()
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns


def _open(given: Path, seen: set[str], encoding: str | None = None) -> Sequence[Table]:
    """The tables of a file, or the one that FILE#NAME means."""
    path, inside = split_name(given)
    try:
        place = f"{realpath(path)}#{inside}" if inside else realpath(path)
        if place in seen:
            found = "the same file twice"
            raise DataError([Problem(str(given), None, None, found, "each file once")])
        seen.add(place)
        format, content = format_of(path)
        if inside is not None and not format.has_parts:
            raise refused(
                given, f"a file without sheets or variables: {path.name}", "name it alone"
            )
        if encoding is not None and not format.binary:
            content = as_utf8(path, content, encoding)
        return format.open(path, inside, content)
    except (OSError, ValueError) as error:
        raise DataError([_unreadable(path, error)]) from None


def _unreadable(path: Path, error: Exception) -> Problem:
    if isinstance(error, FileNotFoundError):
        return Problem(str(path), None, None, "no such file", "a file or a folder that exists")
    reason = getattr(error, "strerror", None) or str(error)
    if isinstance(error, ValueError) and "\0" in str(path):  # Python's words for it vary
        reason = "a null character in its name"
    found = f"a file that cannot be read ({reason})"
    return Problem(str(path), None, None, found, "a file that may be read")
