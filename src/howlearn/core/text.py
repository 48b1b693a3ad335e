"""Numbers, names and lists as people read them."""

from __future__ import annotations

from collections.abc import Sequence

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
