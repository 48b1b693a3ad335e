"""Mutations of bytes, whatever they stand for."""

from __future__ import annotations

from random import Random

from fuzz.mutations.chance import number, size


def flipped(content: bytes, rng: Random) -> bytes:
    """A few bits are others."""
    found = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 4, 16]) if found else 0):
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def overwritten(content: bytes, rng: Random) -> bytes:
    """A few bytes are others."""
    found = bytearray(content)
    for _ in range(rng.choice([1, 2, 8]) if found else 0):
        found[rng.randrange(len(found))] = rng.choice([0, 1, 10, 34, 44, 127, 128, 255])
    return bytes(found)


def cut(content: bytes, rng: Random) -> bytes:
    """The end is missing, or the beginning."""
    place = rng.randint(0, len(content))
    return content[:place] if rng.random() < 0.8 else content[place:]


def removed(content: bytes, rng: Random) -> bytes:
    """A part is missing."""
    start, end = _part(content, rng)
    return content[:start] + content[end:]


def repeated(content: bytes, rng: Random) -> bytes:
    """A part comes several times."""
    start, end = _part(content, rng)
    times = min(size(rng), 2_000_000 // max(1, end - start))
    return content[:end] + content[start:end] * times + content[end:]


def swapped(content: bytes, rng: Random) -> bytes:
    """Two parts have changed places."""
    a, b, c, d = sorted(rng.randint(0, len(content)) for _ in range(4))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def inserted(content: bytes, rng: Random) -> bytes:
    """Bytes that do not belong there."""
    place = rng.randint(0, len(content))
    more = rng.choice([b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x1a"])
    return content[:place] + more * size(rng) + content[place:]


def any_bytes(content: bytes, rng: Random) -> bytes:
    """A part is noise."""
    start, end = _part(content, rng)
    return content[:start] + rng.randbytes(end - start) + content[end:]


def counted(content: bytes, rng: Random) -> bytes:
    """Some four or eight bytes are a number that claims too much."""
    width, order = rng.choice([1, 2, 4, 4, 8, 8]), rng.choice(["little", "big"])
    place = rng.randint(0, max(0, len(content) - width))
    claim = (number(rng) % 256**width).to_bytes(width, order)
    return content[:place] + claim + content[place + width :]


def spliced(content: bytes, rng: Random) -> bytes:
    """Half of it, then half of a file of another format."""
    from fuzz.seeds import seed_of, writers

    other = rng.choice([*seed_of(rng.choice([*writers()])).files.values()])
    return content[: rng.randint(0, len(content))] + other[rng.randint(0, len(other)) :]


def _part(content: bytes, rng: Random) -> tuple[int, int]:
    start = rng.randint(0, len(content))
    return start, min(len(content), start + rng.choice([1, 4, 16, 64, 512, 4096]))


ALL = (
    flipped,
    overwritten,
    cut,
    removed,
    repeated,
    swapped,
    inserted,
    any_bytes,
    counted,
    spliced,
)
