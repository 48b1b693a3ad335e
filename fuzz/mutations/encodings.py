"""Mutations of how a text is written: encodings, marks, line ends."""

from __future__ import annotations

from random import Random

OTHERS = (
    *("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-8-sig", "utf-7", "cp1252"),
    *("latin-1", "cp037", "shift_jis", "gb18030", "koi8-r", "cp1255"),
)
MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"+/v8-")
ENDS = ("\r", "\r\n", "\n\r", "\n\n", "\x0b", "\x0c", "\x85", "\u2028", "\r\r\n", "\0", "\x1e")


def text_of(content: bytes) -> str:
    """The text of a seed, as far as it is one."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", errors="replace")
    return content.decode("utf-8", errors="replace")


def bytes_of(text: str, like: bytes) -> bytes:
    """A text written as another one is."""
    encoding = "utf-16" if like[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    return text.encode(encoding, errors="replace")


def recoded(content: bytes, rng: Random) -> bytes:
    """Another encoding."""
    return text_of(content).encode(rng.choice(OTHERS), errors="replace")


def half_recoded(content: bytes, rng: Random) -> bytes:
    """Another encoding from some place on."""
    text = text_of(content)
    place = rng.randint(0, len(text))
    rest = text[place:].encode(rng.choice(OTHERS), errors="replace")
    return bytes_of(text[:place], content) + rest


def marked(content: bytes, rng: Random) -> bytes:
    """A mark of another encoding, or several."""
    return rng.choice(MARKS) * rng.choice([1, 1, 2, 5]) + content


def decoded_twice(content: bytes, rng: Random) -> bytes:
    """What was UTF-8 taken for Windows' letters, and written again."""
    return content.decode("latin-1").encode("utf-8")


def other_ends(content: bytes, rng: Random) -> bytes:
    """Other line ends, everywhere or in places."""
    text = text_of(content).replace("\r\n", "\n")
    share = rng.choice([1.0, 0.5, 0.05])
    parts = text.split("\n")
    ends = [rng.choice(ENDS) if rng.random() < share else "\n" for _ in parts]
    if share == 1.0:
        ends = [rng.choice(ENDS)] * len(parts)
    joined = "".join(part + end for part, end in zip(parts, ends, strict=True))
    return bytes_of(joined, content)


ALL = (recoded, half_recoded, marked, decoded_twice, other_ends)
