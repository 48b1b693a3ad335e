"""Which files of a folder are the study."""

from __future__ import annotations

from pathlib import Path

from howlearn.core.errors import DataError, Problem
from howlearn.reading.bids_names import chosen_kind, files_inside
from howlearn.reading.labels import natural_key
from howlearn.reading.parquet import partitioned
from howlearn.reading.problems import listed
from howlearn.reading.sniffing import ALLOWED, SUFFIXES, suffix_of

# Of several kinds in one folder the first is read: JSON often stands beside data to explain them.
_FIRST = (("text", "parquet"), ("excel",), ("matlab",), ("r",), ("json",))
_STATISTICS = (".sav", ".dta", ".sas7bdat")  # data that are not read here
_NO_DATA = (".", "~$", "readme", "license")
_ABOUT = ("participants.tsv", "samples.tsv")  # what BIDS puts beside data
_ABOUT_ENDS = ("_scans.tsv", "_sessions.tsv", "_channels.tsv", "_electrodes.tsv")


def files_of(folder: Path) -> tuple[list[Path], list[Path], list[str]]:
    """The data files of a folder, JSON beside them, notes on what was not read.

    DataError if it has none.
    """
    inside = sorted(folder.iterdir(), key=lambda inner: natural_key(inner.name))
    direct = [inner for inner in inside if _is_data(inner)]
    if all(map(_is_json, direct)):
        spread = files_inside(folder)
        if spread:
            files, notes = chosen_kind(spread)
            return files, [], notes
        divided = partitioned(folder)
        if divided:
            return sorted(divided, key=lambda path: natural_key(str(path))), [], []
    files, left = _of_one_kind(direct)
    unread = list(dict.fromkeys(str(f.relative_to(folder)) for i in inside for f in _unread(i)))
    if not files:
        allowed = f"{ALLOWED} directly inside"
        found = "a folder without data files"
        remedy = f"name the folders inside it that have some: {listed(unread)}" if unread else ""
        raise DataError([Problem(str(folder), None, None, found, allowed, remedy)])
    stems = {path.stem for path in files}
    beside = [p for p in direct if _is_json(p) and p not in files and p.stem not in stems]
    left += [path.name for path in inside if path.suffix.lower() in _STATISTICS]
    notes = []
    if left:
        notes.append(f"{folder} has files of other kinds that were not read: {listed(left)}")
    if unread:
        notes.append(
            f"{folder} has folders inside it with data files that were not read: {listed(unread)}; "
            "name them too if they belong to the study"
        )
    return files, beside, notes


def _of_one_kind(paths: list[Path]) -> tuple[list[Path], list[str]]:
    """The files of the first kind, and the names of others that may be data too."""
    for kinds in _FIRST:
        files = [path for path in paths if SUFFIXES[suffix_of(path)] in kinds]
        if files:
            others = [p for p in paths if SUFFIXES[suffix_of(p)] not in (*kinds, "json")]
            return files, [path.name for path in others]
    return [], []


def _is_data(path: Path) -> bool:
    name = path.name.lower()
    about = name in _ABOUT or name.endswith(_ABOUT_ENDS) or name == "dataset_description.json"
    named = name.startswith(_NO_DATA) or about
    return suffix_of(path) in SUFFIXES and not named and not path.is_dir()


def _is_json(path: Path) -> bool:
    return SUFFIXES[suffix_of(path)] == "json"


def _unread(path: Path) -> list[Path]:
    """The folders with data files in a folder: itself, and those directly inside."""
    try:
        if path.name.startswith(".") or not path.is_dir():
            return []
        inside = [inner for depth in ("*", "*/*") for inner in path.glob(depth)]
        found = [p for p in inside if _is_data(p) and not _is_json(p)]
        return sorted({inner.parent for inner in found})
    except OSError:  # a folder that may not be read
        return []
