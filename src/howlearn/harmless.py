"""Text from strangers that is shown: nothing in it steers a terminal or turns a line around."""

from __future__ import annotations

import re
from typing import Any

LONGEST = 300  # characters of a name in a message
# Control characters but tabs and line ends, marks of writing direction, separators of lines, and
# what no XML file may hold: halves of characters, and codes that are none.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
# Letters that run from right to left, and several words of them.
_LEFTWARD = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
_RUN = re.compile(f"{_LEFTWARD}+(?:[ '-]{_LEFTWARD}+)*")


def visible(text: str) -> str:
    """The text with everything that steers written out; lines stay lines.

    >>> print(visible("red \\x1b[31m, turned \\u202e, two\\nlines"))
    red \\x1b[31m, turned \\u202e, two
    lines
    """
    return _STEERING.sub(lambda found: _written(found[0]), text)


def one_line(text: str, longest: int | None = None) -> str:
    """The same in one line, and cut in the middle where it is longer than that.

    >>> print(one_line("two\\nlines"), one_line("x" * 1000, 9))
    two\\nlines xxxx…xxxx
    """
    if longest is not None and len(text) > longest:
        text = f"{text[: longest // 2]}…{text[len(text) - (longest - 1) // 2 :]}"
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def everywhere(value: Any) -> Any:
    """The same for all texts in lists and tables, keys included.

    >>> everywhere({"a\\x00": ["b\\x00", 1]})
    {'a\\\\x00': ['b\\\\x00', 1]}
    """
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {everywhere(key): everywhere(each) for key, each in value.items()}
    return [everywhere(each) for each in value] if isinstance(value, list | tuple) else value


def isolated(text: str) -> str:
    """A sentence in which names that run from right to left leave the rest of the line in order.

    >>> isolated("a b") == "a b", len(isolated("the model \\u05d0\\u05d1, 2 of 3"))
    (True, 22)
    """
    return _RUN.sub(lambda found: f"\u2068{found[0]}\u2069", text)


def _written(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
