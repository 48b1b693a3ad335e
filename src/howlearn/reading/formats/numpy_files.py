"""NumPy's .npy and .npz files: arrays of numbers and text, never Python objects."""

from __future__ import annotations

import math
import warnings
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from howlearn.reading.formats import Format
from howlearn.reading.formats.detect import FREE, TIMES, ZIP, names_in, no_damage, refused
from howlearn.reading.formats.matrices import column_of
from howlearn.reading.formats.table import Table
from howlearn.reading.formats.variables import tables_of

MAGIC = b"\x93NUMPY"
LONGEST_HEAD = 2**20  # bytes about an array; numpy itself writes some hundred
_ENDING = ".npy"
_OBJECTS = "arrays of Python objects, which are not read, since opening them can run code"
_REMEDY = "save plain arrays of numbers or text with numpy.savez, or the table as CSV"


def open_numpy(path: Path, inside: str | None = None, content: bytes | None = None) -> list[Table]:
    """The tables in arrays; their rows are counted as trials, from 1."""
    with path.open("rb") as file:
        single = file.read(len(MAGIC)) == MAGIC
    with no_damage(path, "a numpy file", (OSError, MemoryError)):
        arrays = _single(path) if single else _several(path)
        trees = {name: _tree(array) for name, array in arrays.items()}
    return tables_of(path, trees, inside, "numpy", frames=True)


def _single(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {path.stem: _array(path, file)}


def _several(path: Path) -> dict[str, Any]:
    found = {}
    with zipfile.ZipFile(path) as archive:
        for part in archive.infolist():
            if part.filename.endswith(_ENDING):
                with archive.open(part) as file:
                    found[part.filename.removesuffix(_ENDING)] = _array(path, file)
    return found


def _array(path: Path, file: IO[bytes]) -> np.ndarray[Any, Any]:
    """The array in a file, unless it claims more than there can be room for."""
    version = np.lib.format.read_magic(file)
    read, digits = np.lib.format.read_array_header_1_0, 2
    if version > (1, 0):
        read, digits = np.lib.format.read_array_header_2_0, 4
    start = file.tell()
    length = int.from_bytes(file.read(digits), "little")
    file.seek(start)
    try:
        if length > LONGEST_HEAD:
            raise ValueError
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files of Python 2, which are read all the same
            shape, by_columns, kind = read(file)
    except (ValueError, SyntaxError, TypeError):  # numpy's own words speak of syntax trees
        raise ValueError("what it says about its array is damaged") from None
    if kind.hasobject:
        raise refused(path, _OBJECTS, _REMEDY)
    count = math.prod(shape)
    size = count * kind.itemsize
    if size > FREE + TIMES * path.stat().st_size:
        raise ValueError("it claims to hold more values than it has room for")
    content = file.read(size)
    if len(content) < size:
        raise ValueError("it ends too early")
    array = np.frombuffer(content, dtype=kind, count=count) if size else np.empty(0, kind)
    return array.reshape(shape, order="F" if by_columns else "C") if size else array


def _tree(array: np.ndarray[Any, Any]) -> Any:
    """An array as nested values have it: named fields are columns, text is text."""
    if array.dtype.names:
        flat = array.reshape(-1)
        return pl.DataFrame(
            [column_of(name, _tree_of_text(flat[name]).tolist()) for name in array.dtype.names]
        )
    array = _tree_of_text(array)
    if array.size == 1:
        return array.reshape(-1)[0]
    return array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array


def _tree_of_text(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8", "replace").astype(object)
    if array.dtype.kind in "biuf":
        return array.astype(array.dtype.newbyteorder("="))
    return array.astype(str).astype(object)


def _is_several(path: Path, head: bytes) -> bool:
    return head.startswith(ZIP) and any(name.endswith(_ENDING) for name in names_in(path))


FORMATS = (
    Format(
        "numpy",
        "NumPy: arrays of `numpy.save` and `numpy.savez`; `file.npz#name` is one of them",
        open_numpy,
        (".npy", ".npz"),
        starts=(MAGIC,),
        knows=_is_several,
        may_be=lambda head, named: False,
        called="NumPy",
        binary=True,
        packed=False,
        has_parts=True,
        rank=3,
        seeds=("npy", "npz"),
    ),
)
