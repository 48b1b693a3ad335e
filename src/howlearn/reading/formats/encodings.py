"""Which letters the bytes of a text file stand for."""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from howlearn.core.errors import DataError, HowlearnError, Problem

CHUNK = 2**20
UTF8, WINDOWS, UNKNOWN = "utf-8", "cp1252", "unknown"
UNTOLD = "letters in an encoding that cannot be told"
SAY_IT = "--encoding NAME, for example shift_jis, gb18030, euc_kr, big5 or windows-1251"
WORDS = {UTF8: "", "utf-8-sig": "", WINDOWS: "Windows-1252", "cp932": "Shift-JIS"}
WORDS |= {"gb18030": "GB18030", "cp949": "EUC-KR", "big5": "Big5", "euc_jp": "EUC-JP"}
WORDS |= {"cp1251": "Windows-1251", "koi8-r": "KOI8-R"}
_MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1a"))  # of no use in a text
_SAMPLE = 4096


@dataclass(frozen=True)
class Encoding:
    """How a text is written."""

    name: str
    old_mac: bool  # lines end with \r alone

    @property
    def plain(self) -> bool:
        """Whether the bytes can be read as they are."""
        return self.name in (UTF8, "utf-8-sig") and not self.old_mac

    @property
    def words(self) -> str:
        """Its name for people; nothing where it is UTF-8."""
        return WORDS.get(self.name, self.name[:6].upper())


def encoding_of(source: Path | bytes) -> Encoding | None:
    """The encoding; None where the bytes are not text. A large file is looked at in parts."""
    decoder = codecs.getincrementaldecoder(UTF8)()
    name, returns, news, controls = UTF8, False, False, False
    for i, chunk in enumerate(_chunks(source)):
        if i == 0:
            marked = _marked(chunk)
            if marked is not None and marked != "utf-8-sig":
                return Encoding(marked, False)
            name = marked or UTF8
        if b"\0" in chunk:
            return None
        returns, news = returns or b"\r" in chunk, news or b"\n" in chunk
        controls = controls or len(chunk.translate(None, _CONTROLS)) < len(chunk)
        if name != WINDOWS:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                name = WINDOWS
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        name = WINDOWS
    if name == WINDOWS and controls:
        return None
    return Encoding(_by_letters(source) if name == WINDOWS else name, returns and not news)


def decoded(content: bytes, encoding: Encoding) -> str:
    """The text with one kind of line ends; raises UnicodeError where it is not what it seems."""
    if encoding.name == UNKNOWN:
        raise UnicodeError(UNTOLD)
    text = content.decode(encoding.name)
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _marked(chunk: bytes) -> str | None:
    for mark, name in _MARKS.items():
        if chunk.startswith(mark):
            return name
    sample = chunk[: _SAMPLE // 2 * 2]
    if len(sample) < 4 or b"\0" not in sample:
        return None
    # UTF-16 without a mark: digits, separators and ends of lines have a 0 in one of their bytes.
    first, second = sample[::2].count(0), sample[1::2].count(0)
    name, others = ("utf-16-le", first) if second > first else ("utf-16-be", second)
    if max(first, second) < 0.05 * len(sample) or others > 0.01 * len(sample):
        return None
    try:
        text = codecs.getincrementaldecoder(name)().decode(sample)
    except UnicodeDecodeError:
        return None
    return name if all(c.isprintable() or c in "\t\r\n\f" for c in text) else None


# Bytes that are not UTF-8 and do not say what they are: by the letters that they would be.

_ENOUGH = 2**16  # bytes in lines with other letters than those of ASCII
_FITS, _LATIN = 0.95, 0.5  # of these letters
_FEWEST = 3  # different letters that tell an encoding
_AHEAD = 2.0  # nats
_SIGNS = frozenset("“”‘’–—…€£°±µ×÷«»¿¡§©®²³½¼¾·•™‰")


def _by_letters(source: Path | bytes) -> str:
    """The encoding whose usual letters the bytes are; UNKNOWN where several or none may be meant.

    Of several with double bytes the one with the fewest usual letters is likelier.
    """
    lines = _other_lines(source)
    latin, letters = _share(lines, WINDOWS, _latin)
    if latin >= _LATIN:
        return WINDOWS
    found: list[tuple[float, str]] = []
    for name, (fits, usual) in _USUAL.items():
        share, letters = _share(lines, name, fits)
        if share >= _FITS and letters >= _FEWEST:
            found.append((letters * math.log(usual), name))
    found.sort()
    if len(found) == 1 or (len(found) > 1 and found[0][0] + _AHEAD < found[1][0]):
        return found[0][1]
    return UNKNOWN if found or latin < 0 else WINDOWS


def _other_lines(source: Path | bytes) -> list[bytes]:
    """The first lines with other letters than those of ASCII, none of them cut."""
    found, size = [], 0
    for i, chunk in enumerate(_chunks(source)):
        lines = chunk.replace(b"\r", b"\n").split(b"\n")
        for line in lines[int(i > 0) : len(lines) - (len(chunk) == CHUNK)]:
            if not line.isascii() and size < _ENOUGH:
                found.append(line)
                size += len(line)
        if size >= _ENOUGH:
            break
    return found


Fits = Callable[[str], list[bool]]


def _share(lines: Sequence[bytes], name: str, fits: Fits) -> tuple[float, int]:
    """The share of other letters than those of ASCII that are likely, how many different ones.

    −1 where the bytes cannot be such letters.
    """
    try:
        text = "\n".join(line.decode(name) for line in lines)
    except UnicodeDecodeError:
        return -1.0, 0
    each = fits(text)
    letters = len({c for c in text if not c.isascii()}) if each else 0
    return sum(each) / len(each) if each else 1.0, letters


def _latin(text: str) -> list[bool]:
    """Latin letters stand beside those of ASCII."""
    near = zip(" " + text, text, text[1:] + " ", strict=False)
    return [
        c.isalpha() and any(n.isascii() and n.isalpha() for n in (left, right))
        for left, c, right in near
        if not c.isascii() and c not in _SIGNS
    ]


def _cyrillic(text: str) -> list[bool]:
    """Cyrillic letters are small, but for the first of a word."""
    return [
        ("а" <= c <= "ё") or ("А" <= c <= "Я" and not left.isalpha())
        for left, c in zip(" " + text, text, strict=False)
        if not c.isascii() and c not in _SIGNS
    ]


def _in_rows(name: str, *rows: tuple[int, int], second: int = 0) -> Fits:
    """Letters in those rows of a table of letters that hold the usual ones."""

    def is_usual(letter: str) -> bool:
        code = letter.encode(name, errors="replace")
        there = any(low <= code[0] <= high for low, high in rows)
        return there and len(code) == 2 and code[1] >= second

    def fits(text: str) -> list[bool]:
        known = {c: is_usual(c) for c in {*text} if not c.isascii()}
        return [known[c] for c in text if c in known]

    return fits


_JAPANESE = _in_rows("euc_jp", (0xA1, 0xA8), (0xB0, 0xCF), second=0xA1)
_USUAL = {  # with the number of usual letters
    "cp1251": (_cyrillic, 66),
    "koi8-r": (_cyrillic, 66),
    "cp932": (_JAPANESE, 3_500),
    "euc_jp": (_JAPANESE, 3_500),
    "gb18030": (_in_rows("gb18030", (0xA1, 0xA3), (0xB0, 0xD7), second=0xA1), 3_755),
    "cp949": (_in_rows("cp949", (0xA1, 0xA3), (0xB0, 0xC8), second=0xA1), 2_350),
    "big5": (_in_rows("big5", (0xA1, 0xA3), (0xA4, 0xC6)), 5_401),
}


def _chunks(source: Path | bytes) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield from (source[i : i + CHUNK] for i in range(0, len(source), CHUNK))
        return
    with source.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def check_encoding(name: str) -> None:
    """Refuse the name of an encoding that there is not."""
    try:
        "a".encode(name)
    except (LookupError, ValueError):
        raise HowlearnError(
            f"--encoding {name}: there is no such encoding; for example shift_jis, gb18030, "
            "euc_kr, big5, windows-1251, koi8-r, windows-1252, utf-8 or utf-16"
        ) from None


def as_utf8(path: Path, content: bytes | None, name: str) -> bytes:
    """Text in an encoding that the user names, as UTF-8."""
    raw = path.read_bytes() if content is None else content
    try:
        return raw.decode(name).removeprefix("\ufeff").encode("utf-8")
    except UnicodeError:
        found = f"text in another encoding than {name}"
        raise DataError(
            [Problem(str(path), None, None, found, f"text in {name}", SAY_IT)]
        ) from None
