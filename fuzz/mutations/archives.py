"""Mutations of compressed files: bombs, sizes that are lies, parts that are missing."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from random import Random

from fuzz.mutations.chance import number, token

LONG_AGO = (2000, 1, 1, 0, 0, 0)
BLOCK = 2**24
LARGEST = 2**26  # bytes that are unpacked to be changed
ROW = b"1,1,a,L,1,0.5\n"
HEAD = b"participant,trial,stimulus,choice,reward,rt\n"


@cache
def block(packed: str, content: bytes) -> bytes:
    """16 MB of the same, compressed by itself; such parts may stand one after the other."""
    whole = content * (BLOCK // len(content))
    match packed:
        case "gzip":
            return gzip.compress(whole, 9, mtime=0)
        case "bz2":
            return bz2.compress(whole)
    return lzma.compress(whole)


def bomb(content: bytes, rng: Random) -> bytes:
    """A small file that unpacks to up to 8 GB."""
    packed = rng.choice(["gzip", "gzip", "bz2", "xz"])
    blocks = rng.choice([1, 5, 30, 300, 500])
    filling = rng.choice([b"\0", b"a", b"\n", b",", b" ", ROW, b"[", b'"'])
    start = {"gzip": lambda b: gzip.compress(b, mtime=0), "bz2": bz2.compress, "xz": lzma.compress}
    head = rng.choice([HEAD, content[:4096], b"[", b"X\n\0\0\0\3\0\4\2\1", b"MATLAB 5.0 MAT-file"])
    return start[packed](head) + block(packed, filling) * blocks


def compressed(content: bytes, rng: Random) -> bytes:
    """Compressed, perhaps several times, perhaps cut."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        pack = rng.choice([lambda b: gzip.compress(b, mtime=0), bz2.compress, lzma.compress])
        content = pack(content)
    return content if rng.random() < 0.7 else content[: rng.randint(0, len(content))]


def inside(change: Callable[[bytes, Random], bytes]) -> Callable[[bytes, Random], bytes]:
    """A mutation of what is inside a compressed file."""

    def mutation(content: bytes, rng: Random) -> bytes:
        try:
            found = gzip.GzipFile(fileobj=io.BytesIO(content)).read(LARGEST + 1)
        except (OSError, EOFError, zlib.error):
            return change(content, rng)
        if len(found) > LARGEST:  # a bomb of our own
            return change(content, rng)
        return gzip.compress(change(found, rng), mtime=0)

    mutation.__name__ = f"{change.__name__}_inside"
    mutation.__module__ = __name__
    mutation.__doc__ = change.__doc__
    return mutation


def _inside() -> tuple[Callable[[bytes, Random], bytes], ...]:
    from fuzz.mutations import encodings, raw, text

    return tuple(map(inside, (*text.ALL, *encodings.ALL, raw.flipped, raw.any_bytes, raw.spliced)))


def members_of(content: bytes) -> dict[str, bytes] | None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if any(part.file_size > BLOCK for part in archive.infolist()):
                return None
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # an earlier mutation may have left anything
        return None


def zipped(members: list[tuple[str, bytes]], rng: Random) -> bytes:
    how = rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name[:60_000].encode("utf-8", "replace").decode(), LONG_AGO)
            try:
                archive.writestr(info, content, how)
            except (UserWarning, ValueError):  # a name twice
                continue
    return buffer.getvalue()


def member_lost(content: bytes, rng: Random) -> bytes:
    """A part is missing, is called otherwise, is empty, or has come to another place."""
    members = members_of(content)
    if not members:
        return content
    name = rng.choice([*members])
    match rng.randrange(4):
        case 0:
            members = {n: c for n, c in members.items() if n != name}
        case 1:
            new = rng.choice(["../../x", "/x", token(rng).replace("\0", ""), name.upper(), "xl/"])
            members = {new if n == name else n: c for n, c in members.items()}
        case 2:
            members[name] = b""
        case _:
            members[name] = members[rng.choice([*members])]
    return zipped([*members.items()], rng)


@cache
def _gigabyte(letter: bytes) -> tuple[bytes, int]:
    """A deflated gigabyte of the same letter, and its checksum."""
    one = letter * BLOCK
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    part = packer.compress(one) + packer.flush(zlib.Z_FULL_FLUSH)
    crc = 0
    for _ in range(2**30 // BLOCK):
        crc = zlib.crc32(one, crc)
    return part * (2**30 // BLOCK) + b"\x03\0", crc


def member_huge(content: bytes, rng: Random) -> bytes:
    """A part that unpacks to a gigabyte, and may say that it is small."""
    members = members_of(content)
    if not members:
        return content
    data, crc = _gigabyte(rng.choice([b"a", b"\0", b" "]))
    chosen = rng.choice([*members])
    claimed = rng.choice([2**30, 2**30, 100, 0, 2**32 - 1])
    body, directory = b"", b""
    for name, inner in members.items():
        packed = zlib.compressobj(9, zlib.DEFLATED, -15)
        small = packed.compress(inner) + packed.flush()
        kept, check, long = (
            (data, crc, claimed) if name == chosen else (small, zlib.crc32(inner), len(inner))
        )
        label = name.encode()
        common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, check, len(kept), long, len(label), 0)
        # flags and method in the order that both headers have
        directory += (
            b"PK\x01\x02\x14\0" + common + struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + label
        )
        body += b"PK\x03\x04" + common + label + kept
    end = struct.pack("<HHHHIIH", 0, 0, *[len(members)] * 2, len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def fields_wrong(content: bytes, rng: Random) -> bytes:
    """The directory of an archive says something else: sizes, methods, places, counts."""
    found = bytearray(content)
    marks = (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06")
    places = [i for mark in marks for i in _all(content, mark)]
    for place in rng.sample(places, min(len(places), rng.choice([1, 2]))):
        width = rng.choice([2, 4])
        at = place + 4 + rng.randrange(0, 42)
        claim = (number(rng) % 256**width).to_bytes(width, "little")
        found[at : at + width] = claim[: max(0, len(found) - at)]
    return bytes(found)


def _all(content: bytes, mark: bytes) -> list[int]:
    found, place = [], content.find(mark)
    while place >= 0 and len(found) < 1000:
        found.append(place)
        place = content.find(mark, place + 1)
    return found


ZIPS = (member_lost, fields_wrong, fields_wrong)
STREAMS = (compressed,)
INSIDE = _inside()
