"""MATLAB 7.3: HDF5 in which structures are groups and cells are references."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from howlearn.reading.matlab import cell, numbers

DEEPEST = 12  # references that are followed
_OWN = "#"  # names of MATLAB's own groups start with it


class Reader:
    """Reads the variables of a file, and keeps the names of those that only MATLAB can open."""

    def __init__(self, file: h5py.File) -> None:
        self.file = file
        self.opaque: list[str] = []

    def variables(self) -> dict[str, Any]:
        """The variables as dicts, lists, arrays and single values."""
        found = {}
        for name, node in self.file.items():
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
        if isinstance(node, h5py.Group):
            return self._struct(node, depth)
        kind = node.attrs.get("MATLAB_class", b"")
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        if "MATLAB_empty" in node.attrs:
            return "" if kind == "char" else []
        if node.dtype.kind == "O" and h5py.check_ref_dtype(node.dtype) is not None:
            values = np.asarray(node[()]).T
            items = [self._tree(self.file[ref], depth + 1) for ref in values.reshape(-1)]
            return cell(items, values.shape)
        values = np.asarray(node[()]).T  # MATLAB counts along columns
        if kind == "char":
            return _text(values)
        if node.dtype.names or values.dtype.kind not in "biuf":
            return None
        return numbers(values.astype(bool) if kind == "logical" else values)

    def _struct(self, group: h5py.Group, depth: int) -> Any:
        """A structure; an array of them has references in place of values."""
        arrays = [
            isinstance(node, h5py.Dataset)
            and h5py.check_ref_dtype(node.dtype) is not None
            and "MATLAB_class" not in node.attrs
            for node in group.values()
        ]
        fields = {str(name): node for name, node in group.items()}
        if not arrays or not all(arrays):
            return {name: self._tree(node, depth + 1) for name, node in fields.items()}
        columns = {
            name: [self._tree(self.file[ref], depth + 1) for ref in np.asarray(node[()]).T.flat]
            for name, node in fields.items()
        }
        length = min(map(len, columns.values()))
        return [{name: column[i] for name, column in columns.items()} for i in range(length)]


def _text(values: np.ndarray[Any, Any]) -> Any:
    """Letters as text; a matrix of them has one text per row."""
    rows = np.atleast_2d(values)
    texts = ["".join(chr(int(letter)) for letter in row).rstrip() for row in rows]
    return texts[0] if len(texts) == 1 else texts
