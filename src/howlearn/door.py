"""The only door for code: the files and modules that the user has named in this very command.

Names of models also stand in what others may have written: the manifest of results, a task file,
howlearn.toml, a plan. There ``my_file.py:MyModel`` is text and nothing more, unless the user has
named the same file or module: with ``--model``, or as text that a function of Python is given.
"""

from __future__ import annotations

import re
from pathlib import Path

# Around the name of a model: the parentheses of mixtures and partitions, commas, +lapse.
_AROUND = re.compile(r"[(),\[\]]|\+(?=\s*(?:lapse|bias|stickiness)\b)")
_OWN = re.compile(r"\S.*:\s*[^\W\d]\w*", re.S)
_allowed: set[str] = set()
_sealed = False


def own_names(text: str) -> list[str]:
    """The models of a user's own in the text of a model.

    >>> own_names("exp4(my files/a.py:One(ByShape), ByShape, b:Two+lapse)")
    ['my files/a.py:One', 'b:Two']
    """
    parts = (part.strip() for part in _AROUND.split(text))
    return [part for part in parts if _OWN.fullmatch(part)]


def allow(*texts: str) -> None:
    """Let models that these texts name be loaded, which runs the code of their file or module.

    >>> allow("q-learning", "my_module:MyModel+lapse")
    >>> is_allowed("my_module"), is_allowed("another")
    (True, False)
    """
    if _sealed:
        return
    _allowed.update(_place(name.rpartition(":")[0]) for text in texts for name in own_names(text))


def is_allowed(where: str) -> bool:
    """Whether the user has named this file or module."""
    return _place(where) in _allowed


def seal() -> None:
    """Allow no more in this command: the words that follow come from a file."""
    global _sealed
    _sealed = True


def close() -> None:
    """Forget what was allowed: a new command begins."""
    global _sealed
    _sealed = False
    _allowed.clear()


def _place(where: str) -> str:
    """One spelling for a file, however it is reached."""
    where = where.strip()
    return str(Path(where).resolve()) if where.endswith(".py") else where
