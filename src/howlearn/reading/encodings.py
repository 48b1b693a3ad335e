"""Which letters the bytes of a text file stand for."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHUNK = 2**20
UTF8, WINDOWS = "utf-8", "cp1252"
WORDS = {UTF8: "", "utf-8-sig": "", WINDOWS: "Windows-1252"}
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
    """The encoding, None where the bytes are no text; a large file is looked at in parts."""
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
    return Encoding(name, returns and not news)


def decoded(content: bytes, encoding: Encoding) -> str:
    """The text with one kind of line ends; raises UnicodeError where it is not what it seems."""
    if encoding.name == WINDOWS:
        try:
            text = content.decode(WINDOWS)
        except UnicodeDecodeError:  # a few bytes have no letter there
            text = content.decode("latin-1")
    else:
        text = content.decode(encoding.name)
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _marked(chunk: bytes) -> str | None:
    for mark, name in _MARKS.items():
        if chunk.startswith(mark):
            return name
    sample = chunk[: _SAMPLE // 2 * 2]
    if len(sample) >= 4 and b"\0" in sample:  # UTF-16 without a mark: every other byte is 0
        first, second = sample[::2].count(0), sample[1::2].count(0)
        half = len(sample) // 2
        if second > 0.7 * half and first < 0.1 * half:
            return "utf-16-le"
        if first > 0.7 * half and second < 0.1 * half:
            return "utf-16-be"
    return None


def _chunks(source: Path | bytes) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield from (source[i : i + CHUNK] for i in range(0, len(source), CHUNK))
        return
    with source.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk
