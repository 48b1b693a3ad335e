"""Numbers, names and lists as people read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from unicodedata import normalize

# One spelling for every name that data may write as a number.

DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]*")
SCIENTIFIC = re.compile(r"[-+]?[0-9]\.[0-9]+[eE][-+][0-9]{2}")  # as numpy.savetxt writes numbers
_WHOLE = 2.0**53  # up to here a float that is whole is shown as one


def canonical(value: object) -> str:
    """The label of a value: 1, 1.0 and "1" are the same.

    >>> [canonical(value) for value in (1, 1.0, " 1 ", "1.00", "0.50", "01", "-0")]
    ['1', '1', '1', '1', '0.5', '01', '0']
    >>> canonical("1.000000000000000000e+00"), canonical("1e5"), canonical("e\u0301") == "é"
    ('1', '1e5', True)
    """
    text = str(value).strip()
    if not text.isascii():
        text = normalize("NFC", text)  # é may be one letter or two
    elif SCIENTIFIC.fullmatch(text):
        number = float(text)
        text = str(int(number)) if number.is_integer() and abs(number) < _WHOLE else repr(number)
    if DECIMAL.fullmatch(text):
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


# Text from strangers that is shown: nothing in it steers a terminal or turns a line around.

LONGEST = 300  # characters of a name in a message
# Control characters but tabs and line ends, marks of writing direction, separators of lines, and
# what no XML file may hold: halves of characters, and codes that are not characters.
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


SMALL = "no one two three four five six seven eight nine ten".split()


def many(count: int, what: str) -> str:
    """A count with its noun.

    >>> many(1, "learner"), many(1200, "learner")
    ('1 learner', '1,200 learners')
    """
    return f"{count:,} {what}{'s' * (count != 1)}"


def in_words(count: int, most: int = 9) -> str:
    """Small numbers as words; up to nine, as APA style has it.

    >>> in_words(3), in_words(10), in_words(10, most=10), in_words(12_000)
    ('three', '10', 'ten', '12,000')
    """
    return SMALL[count] if 0 <= count <= most else f"{count:,}"


def listed(words: Sequence[str], last: str = "and", *, oxford: bool = False) -> str:
    """Words in a sentence, with commas and a last word.

    >>> listed("abc"), listed("ab", "or"), listed("a"), listed("abc", oxford=True)
    ('a, b and c', 'a or b', 'a', 'a, b, and c')
    """
    if len(words) < 2:
        return "".join(words)
    comma = "," if oxford and len(words) > 2 else ""
    return f"{', '.join(words[:-1])}{comma} {last} {words[-1]}"


def few(names: Sequence[str], most: int, rest: str = ", …") -> str:
    """The first of the names, and a word about the rest.

    >>> few("ab", 2), few("abcd", 2), few("abcd", 2, " and {left} more"), few("abc", 2, "; {all}")
    ('a, b', 'a, b, …', 'a, b and 2 more', 'a, b; 3')
    """
    shown, left = ", ".join(names[:most]), len(names) - most
    return shown + rest.format(left=left, all=len(names)) if left > 0 else shown


def shortened(text: str, longest: int, kept: int | None = None) -> str:
    """The beginning of a text that is too long; one character less than the longest is kept.

    >>> shortened("abcd", 4), shortened("abcde", 4), shortened("abcde", 4, kept=4)
    ('abcd', 'abc…', 'abcd…')
    """
    return text if len(text) <= longest else f"{text[: longest - 1 if kept is None else kept]}…"


def quoted(value: str | None) -> str:
    """A value as it stands in a message; what cannot be seen is named or quoted.

    >>> quoted("left"), quoted(" left"), quoted(" ")
    ('left', "' left'", 'nothing')
    """
    if value is None or not value.strip():
        return "nothing"
    value = shortened(value, 60, kept=60)
    return value if value.isprintable() and value == value.strip() else repr(value)


def percent(share: float | None) -> str:
    """A share as a whole percentage; nothing that is there is called 0%.

    >>> percent(0.646), percent(0.001), percent(None)
    ('65%', '<1%', '–')
    """
    if share is None or share != share:
        return "–"
    return "<1%" if 0 < share < 0.005 else f"{100 * share:.0f}%"


def p_value(p: float) -> str:
    """As a paper writes it.

    >>> p_value(0.0321), p_value(1e-9)
    ('p = .032', 'p < .001')
    """
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".", 1)


# What a command prints: sentences and small tables.

Kind = Literal["answer", "detail", "note", "next"]  # a detail gives way on a full screen


class Sentence(str):
    """Words about what was found; their kind says whether they answer, warn or lead on."""

    kind: Kind
    strong: str  # a word in it that matters

    def __new__(cls, text: str, kind: Kind = "answer", strong: str = "") -> Sentence:
        found = super().__new__(cls, text)
        found.kind, found.strong = kind, strong
        return found


@dataclass(frozen=True)
class Listing:
    """A small table to print; what stands in the second line of a cell is grey."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    grey: list[tuple[str, ...]] = field(default_factory=list)  # rows in a section below
    legend: str = ""  # a grey line below
    whole: bool = False  # no row gives way on a full screen
