"""MATLAB's .mat files: version 7.3, which is HDF5, by h5py, and the older ones."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from howlearn.core.errors import DataError, HowlearnError, Problem
from howlearn.reading.formats import Format
from howlearn.reading.formats.detect import check_growth, no_damage
from howlearn.reading.formats.table import Table
from howlearn.reading.formats.variables import tables_of

if TYPE_CHECKING:
    import h5py

HDF5 = b"\x89HDF\r\n\x1a\n"
NEW = "MATLAB 7.3"
OLD = b"MATLAB 5.0"
OPAQUE = (
    "a MATLAB table, string array or other object, which only MATLAB can open",
    "structures, cells, matrices and text",
    "in MATLAB: s = table2struct(T, 'ToScalar', true); save x.mat s, or writetable(T, 'x.csv')",
)


def open_matlab(path: Path, inside: str | None = None, content: bytes | None = None) -> list[Table]:
    """The tables in a .mat file; their rows are counted as trials, from 1."""
    with path.open("rb") as file:
        head = file.read(1024)
    new = head.startswith((NEW.encode(), HDF5)) or HDF5 in head
    variables, opaque = _new(path) if new else _old(path)
    words = NEW if new else "MATLAB"
    if opaque and (not variables or inside in opaque):
        raise DataError([Problem(str(path), None, None, *OPAQUE)])
    try:
        tables = tables_of(path, variables, inside, words, frames=False)
    except DataError:
        if opaque:
            raise DataError([Problem(str(path), None, None, *OPAQUE)]) from None
        raise
    if opaque:
        left = "an object of MATLAB" if len(opaque) == 1 else f"{len(opaque)} objects of MATLAB"
        tables[0].notes = (*tables[0].notes, f"{left} cannot be read and was left out")
    return tables


def _old(path: Path) -> tuple[dict[str, Any], list[str]]:
    from howlearn.reading.formats.matlab5 import File

    with no_damage(path, "a MATLAB file"):
        content = path.read_bytes()
        if not content.startswith(OLD):
            return _oldest(path), []
        file = File(content)
        return file.variables(), file.opaque


def _oldest(path: Path) -> dict[str, Any]:
    """Version 4, which has matrices and text only."""
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import matfile_version

    if matfile_version(str(path))[0] != 0:
        raise ValueError("another version inside than at its start")  # which scipy may not survive
    most = path.stat().st_size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names and numbers that are odd
        if any(math.prod(shape) > most for _, shape, _ in whosmat(path)):
            raise ValueError("it claims to hold more values than it has room for")
        found = loadmat(path)
    loaded = {name: tree(value) for name, value in found.items() if name[:2] != "__"}
    return {name: value for name, value in loaded.items() if value is not None}


def _new(path: Path) -> tuple[dict[str, Any], list[str]]:
    try:
        import h5py
    except ImportError:
        raise HowlearnError(
            f"{path} is a MATLAB file of version 7.3, which needs the package h5py: "
            "pip install 'howlearn[matlab]', or save it in MATLAB with the option -v7"
        ) from None

    with no_damage(path, "a MATLAB file", (MemoryError,)), h5py.File(path, "r") as file:
        reader = Reader(file, path)
        variables = reader.variables()
    return variables, reader.opaque


def tree(value: Any) -> Any:
    """What scipy loads of a version that has matrices and text only."""
    if hasattr(value, "toarray"):  # sparse
        value = value.toarray()
    if value.dtype.kind == "U":
        texts = [str(text).rstrip() for text in value.reshape(-1)]
        return texts[0] if len(texts) == 1 else texts or None
    return numbers(value)


def numbers(value: np.ndarray[Any, Any]) -> Any:
    """A matrix as it is, one with a single row or column as a vector, a single number alone."""
    if value.size == 1:
        return value.reshape(-1)[0].item()
    squeezed = value.squeeze() if value.ndim > 2 or 1 in value.shape else value
    return squeezed if squeezed.dtype.kind in "biuf" else None


def cell(items: list[Any], shape: tuple[int, ...]) -> Any:
    """A cell array: a list, or a table where its first row has the names of the columns."""
    if len(shape) == 2 and min(shape) > 1:
        rows = [items[i : i + shape[1]] for i in range(0, len(items), shape[1])]
        names = [_plain(name) for name in rows[0]]
        if all(isinstance(name, str) and name for name in names):
            columns = zip(*rows[1:], strict=True)
            return {n: [_plain(v) for v in c] for n, c in zip(names, columns, strict=True)}
        return [[_plain(item) for item in row] for row in rows]
    return [_plain(item) for item in items]


def in_rows(items: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """Structures, listed row by row, as people × blocks where their array has both."""
    if len(shape) != 2 or min(shape) < 2:
        return items
    return [items[i : i + shape[1]] for i in range(0, len(items), shape[1])]


def _plain(item: Any) -> Any:
    """An empty cell is a missing value."""
    return None if isinstance(item, np.ndarray) and not item.size else item


# MATLAB 7.3: HDF5 in which structures are groups and cells are references.


DEEPEST = 12  # references that are followed
SMALLEST = 50  # bytes that a value takes in a file, at the very least
_OWN = "#"  # names of MATLAB's own groups start with it


class Reader:
    """Reads the variables of a file, and keeps the names of those that only MATLAB can open."""

    def __init__(self, file: h5py.File, path: Path) -> None:
        self.file, self.path = file, path
        self.opaque: list[str] = []
        self._size = path.stat().st_size
        self._values = self._bytes = 0  # that were read

    def variables(self) -> dict[str, Any]:
        """The variables as dicts, lists, arrays and single values."""
        found = {}
        for name, node in _inside(self.file):
            if name.startswith(_OWN):
                continue
            if "MATLAB_object_decode" in node.attrs:
                self.opaque.append(name)
                continue
            value = self._tree(node, 0)
            if value is not None:
                found[name] = value
        return found

    def _tree(self, node: Any, depth: int) -> Any:
        import h5py

        self._values += 1
        if self._values > 1000 + self._size // SMALLEST:
            raise ValueError("its values refer to each other in circles")
        if depth > DEEPEST:
            return None
        if isinstance(node, h5py.Group):
            return self._struct(node, depth)
        if node.is_virtual or node.external:
            raise ValueError("its values lie in other files, which are not read")
        kind = _class(node)
        if "MATLAB_empty" in node.attrs:
            return "" if kind == "char" else []
        if node.dtype.kind == "O" and h5py.check_ref_dtype(node.dtype) is not None:
            values = self._array(node)
            items = [self._tree(self.file[ref], depth + 1) for ref in values.reshape(-1)]
            return cell(items, values.shape)
        if node.dtype.names or node.dtype.kind not in "biuf":
            return None
        values = self._array(node)
        if kind == "char":
            return _text(values)
        return numbers(values.astype(bool) if kind == "logical" else values)

    def _array(self, node: h5py.Dataset) -> np.ndarray[Any, Any]:
        """The values, unless there is no room for them: what was never written takes none."""
        self._bytes += node.size * node.dtype.itemsize if node.size else 0
        check_growth(self.path, self._size, self._bytes)
        return np.asarray(node[()]).T  # MATLAB counts along columns

    def _struct(self, group: h5py.Group, depth: int) -> Any:
        """A structure; an array of them has references in place of values."""
        import h5py

        fields = dict(_inside(group))
        arrays = [
            isinstance(node, h5py.Dataset)
            and h5py.check_ref_dtype(node.dtype) is not None
            and "MATLAB_class" not in node.attrs
            for node in fields.values()
        ]
        if not arrays or not all(arrays):
            return {name: self._tree(node, depth + 1) for name, node in fields.items()}
        references = {name: self._array(node) for name, node in fields.items()}
        shape = next(iter(references.values())).shape
        columns = {
            name: [self._tree(self.file[ref], depth + 1) for ref in values.flat]
            for name, values in references.items()
        }
        length = min(map(len, columns.values()))
        rows = [{name: column[i] for name, column in columns.items()} for i in range(length)]
        return in_rows(rows, shape)


def _class(node: h5py.Dataset) -> str:
    """The class that MATLAB says; words without a stated length may claim any, and are not its."""
    if "MATLAB_class" not in node.attrs or node.attrs.get_id("MATLAB_class").dtype.kind != "S":
        return ""
    return np.asarray(node.attrs["MATLAB_class"]).tobytes().decode("latin-1")


def _inside(group: h5py.Group) -> Iterator[tuple[str, Any]]:
    """The members of a group; a link, perhaps to another file, MATLAB never writes."""
    import h5py

    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"{name} is a link, perhaps to another file, which is not read")
        yield str(name), group[name]


def _text(values: np.ndarray[Any, Any]) -> Any:
    """Letters as text; a matrix of them has one text per row."""
    if values.dtype.kind not in "iu":
        return None
    rows = np.atleast_2d(values).astype("<u2")
    if rows.shape[1] == 1 and len(rows) > 1:  # one letter each, perhaps of millions
        codes = rows[:, 0]
        letters = np.empty(2**16, dtype=object)
        for code in np.flatnonzero(np.bincount(codes)).tolist():
            letter = "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)
            letters[code] = "" if letter.isspace() else letter
        return letters[codes].tolist()
    texts = [row.tobytes().decode("utf-16-le", errors="replace").rstrip() for row in rows]
    return texts[0] if len(texts) == 1 else texts


def _may_be_oldest(head: bytes, named: bool) -> bool:
    """Version 4 has nothing that tells it."""
    return named and b"\0" in head


FORMATS = (
    Format(
        "MATLAB",
        "MATLAB: structures, cells and matrices; `file.mat#name` is one of several variables",
        open_matlab,
        (".mat",),
        starts=(b"MATLAB 5.0 MAT-file", b"MATLAB 7.3 MAT-file", HDF5),
        may_be=_may_be_oldest,
        called="MATLAB",
        binary=True,
        packed=False,
        has_parts=True,
        rank=2,
        seeds=("matlab 4", "matlab 5", "matlab 7", "matlab 7.3"),
    ),
)
