"""Where things lie in the authors' supplement, and what they are called there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from howlearn.core.errors import HowlearnError
from howlearn.reading.labels import natural_key

# Their names, in the order of their lists (which is also the order of their ties), and ours.
AUTHORS = {
    "OnePerItem": "OnePerItem",
    "OneForAll": "OneForAll",
    "byShape": "ByShape",
    "byPattern": "ByPattern",
    "byShape_Exceptions_Sep": "ByShapeExc",
    "byPattern_Exceptions_Sep": "ByPatternExc",
}
TRUNCATIONS = (20, 50, 100, 150, 200, 250, 500)
TRIALS = 500  # of every synthetic learner
SYNTHETIC = "syntheticdatabis"
DEPTH = 4  # levels below the given path that are searched


def model_order(names: tuple[str, ...] | None) -> dict[str, int] | None:
    """The place of each of our models among six: by their names, or as the authors list them.

    None where there are names, but not those of the six models.

    >>> model_order(None)["OneForAll"]
    1
    """
    ours = list(AUTHORS.values())
    if names is None:
        return {model: i for i, model in enumerate(ours)}
    spelled = {theirs.casefold(): model for theirs, model in AUTHORS.items()}
    spelled |= {model.casefold(): model for model in ours}
    found = [spelled.get(name.casefold().removesuffix("_bis"), "") for name in names]
    if sorted(found) != sorted(ours):
        return None
    return {model: found.index(model) for model in ours}


def synthetic_folder(path: Path) -> Path:
    """The folder of the synthetic learners: the given path or one below it."""
    if not path.is_dir():
        raise HowlearnError(f"{path}: no such folder; {_expected()}")
    found = [folder for folder in _folders(path) if folder.name.casefold() == SYNTHETIC]
    if not found:
        raise HowlearnError(
            f"{path}: no folder {SYNTHETIC} in it, {DEPTH} levels deep; {_expected()}"
        )
    if len(found) > 1:
        listed = ", ".join(str(folder) for folder in found)
        raise HowlearnError(f"{path}: several folders {SYNTHETIC} ({listed}); name one of them")
    return found[0]


def model_folders(synthetic: Path) -> dict[str, Path]:
    """The folder of every generating model, by our names in the authors' order."""
    present = {folder.name.casefold(): folder for folder in _subfolders(synthetic)}
    wanted = {f"{theirs}_bis": ours for theirs, ours in AUTHORS.items()}
    missing = [name for name in wanted if name.casefold() not in present]
    if missing:
        raise HowlearnError(f"{synthetic}: no folder {', '.join(missing)}; {_expected()}")
    return {ours: present[name.casefold()] for name, ours in wanted.items()}


def learner_files(folder: Path) -> tuple[Path, ...]:
    """One CSV file per learner, in natural order."""
    files = [file for file in _files(folder) if file.suffix.casefold() == ".csv"]
    if not files:
        raise HowlearnError(
            f"{folder}: no CSV file in it; one per learner is expected, "
            "with the columns Action, Reward, Item"
        )
    return tuple(sorted(files, key=lambda file: natural_key(file.name)))


def files_around(path: Path, synthetic: Path) -> dict[str, Path]:
    """Files in and below the path, and beside the synthetic learners, by lower-case name.

    Of files with one name the highest is taken.
    """
    learners = {folder for folder in _folders(synthetic) if folder != synthetic}
    places = [place for place in _folders(path) if place not in learners]
    found: dict[str, Path] = {}
    for place in [*places, synthetic.resolve().parent]:
        for file in _files(place):
            found.setdefault(file.name.casefold(), file)
    return found


def left_out(synthetic: Path) -> str:
    """A sentence about what lies among the models' folders and is no learner; "" if nothing."""
    known = set(model_folders(synthetic).values())
    others = [entry.name for entry in _subfolders(synthetic) if entry not in known]
    others += [file.name for file in _files(synthetic)]
    if not others:
        return ""
    return f"{synthetic}: left out, since only the models' folders hold learners: " + ", ".join(
        sorted(others, key=natural_key)
    )


def _expected() -> str:
    names = ", ".join(f"{name}_bis" for name in AUTHORS)
    return f"expected is {SYNTHETIC} with the folders {names}, each with a CSV file per learner"


def _folders(path: Path) -> Iterator[Path]:
    """The path and the folders below it, level by level."""
    level = [path]
    for _ in range(DEPTH + 1):
        yield from level
        level = [below for folder in level for below in _subfolders(folder)]


def _subfolders(folder: Path) -> list[Path]:
    return [entry for entry in _entries(folder) if entry.is_dir()]


def _files(folder: Path) -> list[Path]:
    return [entry for entry in _entries(folder) if entry.is_file()]


def _entries(folder: Path) -> list[Path]:
    """What is in a folder but for what archivers of the Mac leave behind."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:  # not ours to read
        return []
    return [entry for entry in entries if not entry.name.startswith((".", "__MACOSX"))]
