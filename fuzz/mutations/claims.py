"""Mutations of what binary files say about their sizes: billions of rows, and no room for them."""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from fuzz.mutations import raw
from fuzz.mutations.chance import number, token
from fuzz.rows import LEARNERS, TRIALS

ROWS = LEARNERS * TRIALS
FOOT = 8  # bytes of a Parquet file after its footer: its length, and PAR1
SMALL = 40  # numbers up to here may be a count of rows or columns


def count_changed(content: bytes, rng: Random) -> bytes:
    """A number that may be the count of the rows, of four or eight bytes, is a very large one."""
    width, order = rng.choice([4, 8]), rng.choice(["little", "big"])
    wanted = rng.choice([1, 2, 6, ROWS, ROWS, 24, 48, 96]).to_bytes(width, order)  # type: ignore[arg-type]
    places = [i for i in range(len(content) - width) if content[i : i + width] == wanted][:200]
    if not places:
        return raw.counted(content, rng)
    place = rng.choice(places)
    claim = (number(rng) % 256**width).to_bytes(width, order)  # type: ignore[arg-type]
    return content[:place] + claim + content[place + width :]


# -- Parquet: numbers of its footer and of the heads of its pages are varints


def _varint(value: int) -> bytes:
    found = bytearray()
    value &= 2**64 - 1
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def zigzag(value: int) -> bytes:
    """A number as Parquet's footers and the heads of its pages have it."""
    return _varint(value << 1 ^ value >> 63)


def _with_footer(content: bytes, change: Callable[[bytes], bytes]) -> bytes:
    if content[-4:] != b"PAR1" or len(content) < 2 * FOOT:
        return content
    [length] = struct.unpack("<I", content[-FOOT:-4])
    start = len(content) - FOOT - length
    if start < 4:
        return content
    footer = change(content[start:-FOOT])
    return content[:start] + footer + struct.pack("<I", len(footer)) + b"PAR1"


def rows_claimed(content: bytes, rng: Random) -> bytes:
    """The footer says that there are other numbers of rows or values."""

    def change(footer: bytes) -> bytes:
        wanted = zigzag(rng.choice([ROWS, ROWS, 6]))
        places = [i for i in range(len(footer)) if footer[i : i + len(wanted)] == wanted]
        for place in sorted(rng.sample(places, min(len(places), rng.choice([1, 1, 40]))))[::-1]:
            claim = zigzag(rng.choice([10**9, 2**31, 2**40, 2**62, -1, 0, 13, 11, 100_000]))
            footer = footer[:place] + claim + footer[place + len(wanted) :]
        return footer

    return _with_footer(content, change)


def footer_changed(content: bytes, rng: Random) -> bytes:
    """Bytes of the footer are others, or it is longer or shorter."""
    how = rng.choice((raw.flipped, raw.overwritten, raw.any_bytes, raw.repeated, raw.swapped))
    return _with_footer(content, lambda footer: how(footer, rng))


def pages_changed(content: bytes, rng: Random) -> bytes:
    """Bytes of the pages are others."""
    found = bytearray(content)
    for _ in range(rng.choice([1, 2, 8])):
        if len(found) > 600:
            found[rng.randrange(4, len(found) // 2)] = rng.choice([0, 1, 127, 128, 254, 255, 24, 2])
    return bytes(found)


def other_types(content: bytes, rng: Random) -> bytes:
    """An intact file with columns of other types."""
    return _written(rng.randrange(len(_frames())))


@cache
def _written(which: int) -> bytes:
    buffer = io.BytesIO()
    _frames()[which].write_parquet(buffer)
    return buffer.getvalue()


@cache
def _frames() -> list[Any]:
    from datetime import date, datetime, time, timedelta
    from decimal import Decimal

    import polars as pl

    from fuzz.rows import columns

    plain = pl.DataFrame(columns())
    odd = [
        [None] * ROWS,
        [float("nan"), float("inf")] * (ROWS // 2),
        [[1, 2]] * ROWS,
        [{"a": 1, "b": [None]}] * ROWS,
        [b"\xff\0"] * ROWS,
        [date(1, 1, 1)] * ROWS,
        [datetime(9999, 12, 31)] * ROWS,
        [time(1)] * ROWS,
        [timedelta(days=99999)] * ROWS,
        [Decimal("1.5")] * ROWS,
        [True, None, False] * (ROWS // 3),
        [2**63 - 1] * ROWS,
        ["x" * 100_000] * ROWS,
    ]
    found = [
        plain.with_columns(pl.Series(name, values, strict=False))
        for values in odd
        for name in ("participant", "trial", "stimulus", "choice", "reward")
    ]
    found += [
        plain.clear(),
        plain.select([]),
        plain.with_columns(pl.col("choice").cast(pl.Categorical)),
    ]
    found += [plain.rename({"choice": new}) for new in ("", "*", "^a$", "reward ", "x" * 50_000)]
    found += [plain.with_columns(pl.lit(1).alias(f"reward_{i}") for i in range(2_000))]
    return found


# -- HDF5: data sets of any shape take no room until something is written into them


def shapes_claimed(content: bytes, rng: Random) -> bytes:
    """An intact file whose data sets are huge, of odd types, or linked in circles."""
    import h5py
    import numpy as np

    from fuzz.packed_seeds import matlab73

    buffer = io.BytesIO(matlab73())
    with h5py.File(buffer, "r+") as file:
        node: Any = rng.choice([file, file["d"], file["d"]])
        name = rng.choice(["trial", "reward", "choice", "new", "x y", token(rng).replace("\0", "")])
        name = name.replace("/", "")[:60_000] or "x"
        if name in node:
            del node[name]
        match rng.randrange(9):
            case 0 | 1 | 2:
                long = rng.choice([10**4, 10**6, 10**7, 10**9, 10**12, 2**40])
                shape = rng.choice([(1, long), (long, 1), (long,), (10, long), (long, 2, 2)])
                kind = rng.choice(["f8", "u1", "u2", "i8", "S10", "S100000", "c16"])
                packed = rng.choice([None, "gzip"])
                chunks = rng.choice([True, tuple(min(n, 100_000) for n in shape)])
                made = node.create_dataset(
                    name, shape, kind, chunks=chunks, compression=packed, track_times=False
                )
                classes = [b"double", b"char", b"cell", b"logical", b"struct", b"", b"x"]
                made.attrs["MATLAB_class"] = np.bytes_(rng.choice(classes))
            case 3:
                node[name] = h5py.SoftLink(rng.choice(["/", "/d", "/nowhere", f"/d/{name}", "."]))
            case 4:
                node[name] = h5py.ExternalLink(rng.choice(["a.mat", "/etc/passwd", "none"]), "/d")
            case 5:
                refs = [rng.choice([file["d"].ref, file.ref, h5py.Reference()]) for _ in range(4)]
                many = rng.choice([1, 1, 100])
                made = node.create_dataset(
                    name, data=np.array([refs * many], dtype=h5py.ref_dtype), track_times=False
                )
                made.attrs["MATLAB_class"] = np.bytes_("cell")
            case 6:
                inner = node.create_group(name)
                for _ in range(rng.choice([3, 30, 200])):
                    inner = inner.create_group("a")
                inner["x"] = h5py.SoftLink("/d")
            case 7:
                texts = np.array([[token(rng).replace("\0", "")] for _ in range(4)], dtype=object)
                node.create_dataset(name, data=texts, dtype=h5py.string_dtype(), track_times=False)
            case _:
                made = node.create_dataset(name, data=np.arange(4.0), track_times=False)
                made.attrs["MATLAB_class"] = rng.choice([b"\xff", b"char", b"table"])
                made.attrs[rng.choice(["MATLAB_empty", "MATLAB_object_decode"])] = 1
    return buffer.getvalue()


# -- MATLAB 5 to 7


def deflated_zeros(content: bytes, rng: Random) -> bytes:
    """A variable that unpacks to as much as a gigabyte."""
    if rng.random() < 0.97:
        return deflated_changed(content, rng)
    packed = _deflated(rng.choice([1, 64]), rng.choice([b"\0", b"\x0e\0\0\0\xff\xff\xff\x0f"]))
    return content[:128] + struct.pack("<II", 15, len(packed)) + packed


@cache
def _deflated(blocks: int, filling: bytes) -> bytes:
    packer = zlib.compressobj(9)
    one = filling * (2**24 // len(filling))
    first = packer.compress(one) + packer.flush(zlib.Z_FULL_FLUSH)
    part = packer.compress(one) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + part * (blocks - 1) + packer.flush()


def deflated_changed(content: bytes, rng: Random) -> bytes:
    """Bytes inside of a deflated variable are others."""
    try:
        inner = zlib.decompress(content[136:])
    except zlib.error:
        return count_changed(content, rng)
    how = rng.choice((*raw.ALL, count_changed, count_changed))
    packed = zlib.compress(how(inner, rng)[:20_000_000])
    return content[:128] + struct.pack("<II", 15, len(packed)) + packed


# -- R: what is inside is compressed


def r_changed(content: bytes, rng: Random) -> bytes:
    """Numbers of R's objects are others: lengths, types, references."""
    try:
        inner = gzip.GzipFile(fileobj=io.BytesIO(content)).read(20_000_000)  # it may be a bomb
    except (OSError, EOFError, zlib.error):
        inner = content
    how = rng.choice((*raw.ALL, count_changed, count_changed, _type_changed))
    changed = how(inner, rng)
    return changed if inner is content else gzip.compress(changed[:20_000_000], mtime=0)


def _type_changed(content: bytes, rng: Random) -> bytes:
    """An object has another type, or is said to have attributes."""
    places = [i for i in range(14, len(content) - 4, 4) if content[i : i + 2] == b"\0\0"]
    if not places:
        return content
    at = rng.choice(places)
    return content[: at + 2] + bytes([rng.randrange(4), rng.randrange(256)]) + content[at + 4 :]


# -- SPSS: a block of .zsav files is deflated


def block_changed(content: bytes, rng: Random) -> bytes:
    """Bytes of a deflated block are others, or it unpacks to far more."""
    from fuzz.statistics_seeds import deflated

    start = content.find(struct.pack("<ii", 999, 0)) + 8
    try:
        inner = zlib.decompressobj().decompress(content[start + 24 :])
    except zlib.error:
        return count_changed(content, rng)
    if rng.random() < 0.02:
        inner *= 200_000
    how = rng.choice((*raw.ALL, count_changed))
    return deflated(content[:start], how(inner, rng)[:100_000_000])


ALL = (count_changed, count_changed, raw.counted)
PARQUET = (rows_claimed, rows_claimed, footer_changed, footer_changed, pages_changed, other_types)
HDF5 = (shapes_claimed, shapes_claimed, shapes_claimed, count_changed)
MATLAB = (deflated_zeros, deflated_changed, count_changed)
SPSS = (block_changed, count_changed)
R = (r_changed, r_changed, r_changed)
