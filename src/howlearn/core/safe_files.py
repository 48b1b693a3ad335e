"""Files from strangers: nothing takes endless time or memory, and no code runs unasked."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import shutil
import stat
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from howlearn.core.errors import HowlearnError

log = logging.getLogger("howlearn")

LARGEST = 2_000_000  # characters of a TOML file, which people write
LARGEST_JSON = 100_000_000  # bytes of a JSON file that howlearn wrote
LARGEST_NUMBER = 2**63  # as both formats' readers agree on
DEEPEST = 50  # tables and lists inside one another
# Python's parser takes quadratic time for a key of many parts.
_KEY = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"""(?<![\w"'-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{{DEEPEST}}}""")
_QUOTED = re.compile(r"(namespace|table key|character) ['\"(].*(?= \(at )", re.S)
DEEP = f"it is nested more than {DEEPEST} times"


def text_in(path: Path) -> str:
    """The text of a file in UTF-8; OSError also for a pipe or a device, which may never end."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "a pipe or a device, not a file")
    return path.read_text(encoding="utf-8-sig")  # editors on Windows may write a mark first


def parsed_toml(text: str) -> dict[str, Any]:
    """The content of a TOML file; ValueError says what is wrong with it.

    >>> parsed_toml("files = ['a.csv']")
    {'files': ['a.csv']}
    >>> parsed_toml("a = " + "[" * 10_000)
    Traceback (most recent call last):
    ValueError: it is nested more than 50 times
    """
    if len(text) > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} characters")
    if _LONG_KEY.search(text):
        raise ValueError(DEEP)
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise ValueError(DEEP) from None
    except tomllib.TOMLDecodeError as error:  # which may repeat what is not TOML, and a secret
        told = re.sub(r"declare .* twice", "declare a table twice", str(error), flags=re.S)
        raise ValueError(_QUOTED.sub(r"\1", told)) from None
    return _shallow(found)


def read_json(path: Path) -> Any:
    """The content of a JSON file that howlearn wrote; ValueError where it did not."""
    try:
        if path.is_file() and path.stat().st_size > LARGEST_JSON:
            raise ValueError(f"it has more than {LARGEST_JSON:,} bytes")
        return _shallow(json.loads(text_in(path)))
    except RecursionError:
        raise ValueError(DEEP) from None


def _shallow(found: Any) -> Any:
    """The same, or an error: what comes after this may follow it inwards."""
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(DEEPEST):
        each = (one.values() if isinstance(one, dict) else one for one in level)
        inner = [one for several in each for one in several]
        if any(isinstance(one, int) and abs(one) >= LARGEST_NUMBER for one in inner):
            raise ValueError("a number in it is too large")
        level = [one for one in inner if isinstance(one, dict | list)]
        if not level:
            return found
    raise ValueError(DEEP)


# The only door for code: the files and modules that the user has named in this very command.
#
# Names of models also stand in what others may have written: the manifest of results, a task file,
# howlearn.toml, a plan. There ``my_file.py:MyModel`` is text and nothing more, unless the user has
# named the same file or module: with ``--model``, or as text that a function of Python is given.

# Around the name of a model: the parentheses of mixtures and partitions, commas, +lapse.
_AROUND = re.compile(r"[(),\[\]]|\+(?=\s*(?:lapse|bias|stickiness)\b)")
_OWN = re.compile(r"\S.*:\s*[^\W\d]\w*", re.S)
_allowed: set[str] = set()
_sealed = False
_places: list[Path] = []


def own_names(text: str) -> list[str]:
    """The models of a user's own in the text of a model.

    >>> own_names("exp4(my files/a.py:One(ByShape), ByShape, b:Two+lapse)")
    ['my files/a.py:One', 'b:Two']
    """
    parts = (part.strip() for part in _AROUND.split(text))
    return [part for part in parts if _OWN.fullmatch(part)]


def allow_code(*texts: str) -> None:
    """Let models that these texts name be loaded, which runs the code of their file or module.

    >>> allow_code("q-learning", "my_module:MyModel+lapse")
    >>> is_allowed("my_module"), is_allowed("another")
    (True, False)
    """
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise HowlearnError(
            f"allow_code takes texts such as 'my_file.py:MyModel', got {wrong[0]!r}"
        )
    if _sealed:
        return
    _allowed.update(_place(name.rpartition(":")[0]) for text in texts for name in own_names(text))


def is_allowed(where: str) -> bool:
    """Whether the user has named this file or module."""
    return _place(where) in _allowed


def seal(places: Iterable[Path] = ()) -> None:
    """Allow no more in this command: the words that follow come from a file.

    They may name files in these places only.
    """
    global _sealed
    _sealed = True
    _places.extend(place.resolve() for place in places)


def is_closed_to(path: Path) -> bool:
    """Whether a file or folder is named by a file alone, and lies in none of its places."""
    return _sealed and not any(path.resolve().is_relative_to(place) for place in _places)


def close() -> None:
    """Forget what was allowed: a new command begins."""
    global _sealed
    _sealed = False
    _allowed.clear()
    _places.clear()


def _place(where: str) -> str:
    """One spelling for a file, however it is reached."""
    where = where.strip()
    return str(Path(where).resolve()) if where.endswith(".py") else where


# Where compiled code is kept. What lies there is run (numba keeps machine code and a pickled
# index, Python its bytecode), so nobody else may ever have been able to put anything there.

OTHERS = 0o022  # the bits of a mode that let others write
LINKS = 40  # on the way to a folder, as systems allow


def is_private(base: Path) -> bool:
    """Whether nobody else could put anything into the folder, now and before.

    A folder of one's own that was open is closed, and emptied of what may be a stranger's. A
    folder of results is none: it may come from others.
    """
    if (base / "manifest.json").exists():
        log.warning("%s holds results, so compiled code is not kept there", base)
        return False
    if sys.platform == "win32":  # by default other users have no access to one's own folders
        return True
    *above, base = way = [*_way(base)]
    wrong = [each for each in way if each.lstat().st_uid not in (os.getuid(), 0)]
    wrong += filter(_is_open, above)
    if wrong:
        log.warning("others may write to %s, so compiled code is not kept there", wrong[0])
        return False
    mode = base.stat().st_mode
    if mode & 0o077:
        base.chmod(0o700)
    kept = [*_code_in(base)]
    if kept and (mode & OTHERS or not all(_is_mine(each, bool(mode & 0o077)) for each in kept)):
        log.warning("others could write to %s: the compiled code in it is made again", base)
        for each in kept:
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            else:
                each.unlink()
    return True


def _way(path: Path) -> Iterator[Path]:
    """Every folder and every link on the way to a folder, itself included."""
    left, here, links = [*reversed(path.parts[1:])], Path(path.anchor), 0
    yield here
    while left:
        name = left.pop()
        there = here.parent if name == ".." else here / name
        yield there
        if not there.is_symlink():
            here = there
            continue
        links += 1
        if links > LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = there.readlink()
        here = Path(target.anchor) if target.is_absolute() else here
        left += reversed(target.parts[target.is_absolute() :])


def _is_open(folder: Path) -> bool:
    """Whether others may rename what is in a folder that belongs to the user or to root."""
    about = folder.lstat()
    if stat.S_ISLNK(about.st_mode) or about.st_mode & stat.S_ISVTX:  # as /tmp has it
        return False
    own_group = bool(about.st_mode & 0o020) and _is_own_group(about.st_gid)
    return bool(about.st_mode & (0o002 if own_group else OTHERS))


def _is_own_group(number: int) -> bool:
    """Whether a group is the user's alone, as many systems make one for every user."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(number)
    except KeyError:
        return False
    return group.gr_name == user and {*group.gr_mem} <= {user}


def _code_in(base: Path) -> Iterator[Path]:
    """Everything in a folder that could be run: ours by their names."""
    inner = base / "__pycache__"
    yield from base.glob("howlearn_*")
    if os.path.lexists(inner):
        if not inner.is_symlink():
            yield from inner.glob("howlearn_*")
        yield inner


def _is_mine(path: Path, reached: bool) -> bool:
    """Whether something that is kept was written by this user, or by root, and by nobody else.

    ``reached``: others could get into the folder; then they may not be allowed to write either.
    """
    about = path.lstat()
    folder = path.name == "__pycache__"
    kind = stat.S_ISDIR if folder else stat.S_ISREG
    once = folder or about.st_nlink == 1  # else it is a file of another folder, too
    owned = about.st_uid in (os.getuid(), 0) and kind(about.st_mode)
    return owned and once and not (reached and about.st_mode & OTHERS)
