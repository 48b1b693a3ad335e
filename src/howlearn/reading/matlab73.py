"""MATLAB 7.3: HDF5 in which structures are groups and cells are references."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from howlearn.reading.matlab import cell, numbers
from howlearn.reading.unpacking import check_growth

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
        if depth > DEEPEST:
            return None
        self._values += 1
        if self._values > 1000 + self._size // SMALLEST:
            raise ValueError("its values refer to each other in circles")
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
        fields = dict(_inside(group))
        arrays = [
            isinstance(node, h5py.Dataset)
            and h5py.check_ref_dtype(node.dtype) is not None
            and "MATLAB_class" not in node.attrs
            for node in fields.values()
        ]
        if not arrays or not all(arrays):
            return {name: self._tree(node, depth + 1) for name, node in fields.items()}
        columns = {
            name: [self._tree(self.file[ref], depth + 1) for ref in self._array(node).flat]
            for name, node in fields.items()
        }
        length = min(map(len, columns.values()))
        return [{name: column[i] for name, column in columns.items()} for i in range(length)]


def _class(node: h5py.Dataset) -> str:
    """The class that MATLAB says; words without a stated length may claim any, and are not its."""
    if "MATLAB_class" not in node.attrs or node.attrs.get_id("MATLAB_class").dtype.kind != "S":
        return ""
    said: Any = node.attrs["MATLAB_class"]
    return bytes(said).decode("latin-1")


def _inside(group: h5py.Group) -> Iterator[tuple[str, Any]]:
    """The members of a group; a link, perhaps to another file, MATLAB never writes."""
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"{name} is a link, perhaps to another file, which is not read")
        yield str(name), group[name]


def _text(values: np.ndarray[Any, Any]) -> Any:
    """Letters as text; a matrix of them has one text per row."""
    if values.dtype.kind not in "iu":
        return None
    rows = np.atleast_2d(values).astype("<u2")
    texts = [row.tobytes().decode("utf-16-le", errors="replace").rstrip() for row in rows]
    return texts[0] if len(texts) == 1 else texts
