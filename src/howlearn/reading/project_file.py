"""``howlearn.toml``: where a study's files are and what is in them, for all commands to share."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise
from os.path import relpath
from pathlib import Path
from typing import Any

from howlearn.core.errors import HowlearnError
from howlearn.core.options import Option, Repeated
from howlearn.core.safe_files import parsed_toml, text_in
from howlearn.core.text import few, one_line
from howlearn.reading.analysis_options import MODELS
from howlearn.reading.formats.table import file_of
from howlearn.reading.options import DATA
from howlearn.runs.files import write_whole

NAME = "howlearn.toml"
PLAN = "frozen.toml"  # which howlearn freeze writes
UNCHANGED = "# as it was written: "
GUESSED = "guessed"  # how the comment on a guess begins
FILES = Option("files", Repeated())
_BARE = re.compile(r"[A-Za-z0-9_-]+")  # keys without quotes
SECTIONS = {"data": DATA, "models": MODELS}


@dataclass(frozen=True)
class StudyFile:
    """The options that a file holds: by the names they have on the command line, with _ for -."""

    path: Path
    files: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Any] = field(default_factory=dict)


def read_study_file(path: Path) -> StudyFile:
    """The file's options; whatever is not understood is refused, with what is allowed."""
    try:
        found = parsed_toml(text_in(path))
    except UnicodeDecodeError:
        raise HowlearnError(f"{path}: not a text file in UTF-8") from None
    except ValueError as error:
        raise HowlearnError(
            f"{path}: not a TOML file ({error}); write option = value, with text in quotes"
        ) from None
    except OSError as error:
        raise HowlearnError(
            f"{path}: {error.strerror or error}; howlearn inspect FILES writes it"
        ) from None
    _check_names(path, "", found, ("files", *SECTIONS))
    for name in SECTIONS:
        if not isinstance(found.get(name, {}), dict):
            raise HowlearnError(
                f"{path}: {name} must be a separate section that begins with [{name}]"
            )
    files = checked(path, FILES, found.get("files", []))
    parts = {}
    for section, known in SECTIONS.items():
        given = found.get(section, {})
        _check_names(path, section, given, known)
        parts[section] = {n: checked(path, known[n], value) for n, value in given.items()}
    models = parts["models"]
    for name in ("task", "calibration"):  # a file beside this one
        if name in models and (path.parent / models[name]).exists():
            models[name] = beside(path, models[name])
    return StudyFile(path, tuple(beside(path, each) for each in files), parts["data"], models)


def own_study_file(path: Path, with_task: bool) -> StudyFile:
    """The file's options for Python, where nothing is typed: all in its folder, or refused."""
    found = read_study_file(path)
    task = str(found.models.get("task", "")) if with_task else ""
    named = [*found.files, *([task] if Path(task).is_file() else [])]
    refuse_outside(path, named, "give the files and the task to howlearn.read yourself")
    return found


def write_study_file(
    path: Path,
    files: Sequence[str],
    data: Mapping[str, Any],
    models: Mapping[str, Any] | None = None,
    comments: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write the options that are set; ``comments`` are lines that stand above an option.

    The comments under "" open the file. It is written whole or not at all.
    """
    notes = comments or {}
    lines = [_comment(line) for line in notes.get("", ())]
    lines += ["", *(_comment(line) for line in notes.get("files", ()))]
    lines.append(toml_line("files", [relative(each, path.parent) for each in files]))
    for part, given in (("data", data), ("models", models or {})):
        lines += ["", f"[{part}]"]
        for name, value in given.items():
            told = [_comment(line) for line in notes.get(name, ())]
            empty = value is None or value is False or (value == () or value == [])
            lines += told if empty else [*told, toml_line(name, value)]
    text = "\n".join(lines).strip() + "\n"
    text += f"\n{UNCHANGED}{_digest(text)}\n"
    write_whole(path, lambda file: file.write_bytes(text.encode()))


def is_unchanged(path: Path) -> bool:
    """Whether a file is as it was written: nobody's work is lost if it is replaced."""
    try:
        text, mark, digest = path.read_text(encoding="utf-8").rpartition(f"\n{UNCHANGED}")
    except (OSError, UnicodeDecodeError):
        return False
    return bool(mark) and digest.strip() == _digest(text)


def said_in(path: Path, files: Sequence[str]) -> dict[str, Any]:
    """The task and the options that somebody typed when the file was written for these files.

    What was guessed has a comment that says so.
    """
    found = read_study_file(path)
    if found.files != tuple(beside(path, relative(each, path.parent)) for each in files):
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    guessed = {
        line.partition(" = ")[0]
        for above, line in pairwise(lines)
        if above.startswith(f"# {GUESSED}")
    }
    said = {name: value for name, value in found.data.items() if name not in guessed}
    return {**said, **({"task": found.models["task"]} if "task" in found.models else {})}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def relative(file: str, folder: Path) -> str:
    """A file as seen from a folder, if it lies in it or near it."""
    try:
        seen = relpath(file, folder)
    except ValueError:  # another drive
        return str(Path(file).absolute())
    return str(Path(file).absolute()) if seen.startswith("../../..") else seen


def beside(path: Path, name: str) -> str:
    """A file that is named as seen from the folder of another one."""
    return name if path.parent == Path() else str(path.parent / name)


def outside(path: Path, names: Iterable[str]) -> list[str]:
    """Of the files and folders that a file names, those outside of its folder, also by a link.

    Whoever wrote the file must not have others read.
    """
    root = path.parent.resolve()
    found = []
    for name in names:
        if all(_is_in(root, each) for each in (Path(name), file_of(name))):
            found += [str(link) for link in _links(Path(name)) if not _is_in(root, link)]
        else:
            found.append(name)
    return found


def _is_in(root: Path, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (ValueError, OSError, RuntimeError):  # no name that a file could have
        return False


def _links(folder: Path) -> Iterator[Path]:
    """All in a folder and those below it."""
    for place, folders, files in os.walk(folder):
        yield from (each for name in (*folders, *files) if (each := Path(place, name)).is_symlink())


def refuse_outside(path: Path, names: Iterable[str], remedy: str) -> None:
    """Read nothing outside of a file's folder that the file alone names."""
    if found := outside(path, names):
        named = few([*map(one_line, found)], 5, " and {left:,} more")
        raise HowlearnError(
            f"{path} names {named}, outside of its folder, where only what is typed is read; if "
            f"you trust it, {remedy}"
        )


def _check_names(path: Path, section: str, given: Iterable[str], known: Collection[str]) -> None:
    for name in given:
        if name in known:
            continue
        where = f" in [{section}]" if section else ""
        close = get_close_matches(name.replace("-", "_"), known, 1)
        homes = [home for home, options in SECTIONS.items() if name in options]
        hint = f" (did you mean {close[0]}?)" if close else ""
        if homes:
            hint = f"; it stands under [{homes[0]}]"
        allowed = ", ".join(known)
        raise HowlearnError(f"{path}: there is no {name!r}{where}{hint}; allowed: {allowed}")


def checked(path: Path, option: Option, value: Any) -> Any:
    """The value of an option in a file, as the options take it."""
    found = option.kind.in_file(value)
    if found is None:
        raise HowlearnError(f"{path}: {option.name} = {value!r}: {option.kind.needed} is needed")
    return found


def _comment(line: str) -> str:
    printable = "".join(c if c.isprintable() else " " for c in line)
    return f"# {printable}".rstrip()


def toml(value: Any) -> str:
    """A value in one line of TOML.

    >>> print(toml({"cells": ["1+2", "3"], "bounds": {"eta": [0, 1.0]}, "none": None}))
    { cells = ["1+2", "3"], bounds = { eta = [0, 1.0] } }
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml(one) for one in value)}]"
    if isinstance(value, dict):
        pairs = (toml_line(key, one) for key, one in value.items() if one is not None)
        return "{ " + ", ".join(pairs) + " }" if value else "{}"
    return quoted(str(value))


def toml_line(key: str, value: Any) -> str:
    """A key and its value."""
    return f"{key if _BARE.fullmatch(key) else quoted(key)} = {toml(value)}"


def quoted(text: str) -> str:
    """A text as TOML has it.

    >>> print(quoted("phase == 'learn'"), quoted('a "b"' + chr(10)))
    "phase == 'learn'" "a \\"b\\"\\n"
    """
    special = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(special.get(c, c if c.isprintable() else _code(c)) for c in text) + '"'


def _code(character: str) -> str:
    point = ord(character)
    return f"\\u{point:04X}" if point < 0x10000 else f"\\U{point:08X}"
