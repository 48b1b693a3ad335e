"""Mutations: each takes a file's bytes and a source of chance, and gives other bytes.

A mutation that does not fit a file gives it back as it is, or changed in a plainer way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from fuzz.mutations import archives, claims, encodings, raw, text, trees, workbooks

Mutation = Callable[[bytes, Random], bytes]

_TEXT = (*text.ALL, *text.ALL, *encodings.ALL)
OF_KIND: dict[str, Sequence[Mutation]] = {
    "text": (*_TEXT, *raw.ALL),
    "json": (*trees.ALL, *trees.ALL, *encodings.ALL, *raw.ALL),
    "toml": (*text.LINES, *encodings.ALL, *raw.ALL),
    "zip": (*workbooks.ALL, *workbooks.ALL, *archives.ZIPS, *archives.ZIPS, *raw.ALL),
    "xlsb": (*workbooks.BINARY, *workbooks.BINARY, *archives.ZIPS, *raw.ALL),
    "xls": (*workbooks.OLD, *workbooks.OLD, *claims.ALL, *raw.ALL),
    "parquet": (*claims.PARQUET, *claims.PARQUET, *claims.ALL, *raw.ALL),
    "matlab": (*claims.MATLAB, *claims.ALL, *raw.ALL),
    "npy": (*claims.ALL, *raw.ALL),
    "npz": (*archives.ZIPS, *claims.ALL, *raw.ALL),
    "hdf5": (*claims.HDF5, *claims.HDF5, *claims.ALL, *raw.ALL),
    "r": (*claims.R, *archives.STREAMS, *claims.ALL, *raw.ALL),
    "sav": (*claims.SPSS, *claims.ALL, *raw.ALL),
    "dta": (*claims.ALL, *raw.ALL),
    "gzip": (*archives.STREAMS, *archives.INSIDE, *raw.ALL),
}
EVERYWHERE: Sequence[Mutation] = (*[raw.spliced, archives.compressed] * 5, archives.bomb)


def mutation_for(kind: str, rng: Random) -> Mutation:
    """A mutation for a file of a kind; rarely one that may happen to any file."""
    return rng.choice(EVERYWHERE if rng.random() < 0.02 else OF_KIND[kind])


def name_of(mutation: Mutation) -> str:
    """How a mutation is called in tables and findings."""
    return f"{mutation.__module__.rpartition('.')[2]}.{mutation.__name__}"
