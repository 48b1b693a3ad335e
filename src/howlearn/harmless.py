"""Text from strangers that is shown: nothing in it steers a terminal or turns a line around."""

from __future__ import annotations

import re

LONGEST = 300  # characters of a name in a message
# Control characters but tabs and line ends, marks of writing direction, separators of lines, and
# halves of characters, which cannot be written at all.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


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


def _written(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
