"""R's nested lists as trees of numbers, and trees as arrays."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.paper.layout import model_order

EXTRA = "reading RData files needs the package rdata: pip install 'howlearn[r]'"


class Unfit(Exception):
    """A file is not what its name promises; the text says what was expected and found."""


@dataclass(frozen=True)
class Branch:
    """A list of R, with the names of its entries where it has any."""

    items: tuple[Branch | Floats, ...]
    names: tuple[str, ...] | None = None


Node = Branch | Floats


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Puts the file's name before what is said about it."""
    try:
        yield
    except Unfit as error:
        raise Unfit(f"{path}: {error}") from None


def rdata_file(files: Mapping[str, Path], name: str) -> Path | None:
    """The RData file of that name, however it is spelled."""
    return files.get(f"{name}.rdata".casefold()) or files.get(f"{name}.rda".casefold())


def load(path: Path) -> Node:
    """The one object in an RData file."""
    import rdata

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about classes of R that we do not need
            objects = rdata.read_rda(path)
    except Exception as error:
        # rdata has no error of its own: a broken file may raise anything.
        raise Unfit(f"cannot be read as RData: {error!r}") from None
    if len(objects) != 1:
        raise Unfit(f"one object is expected, found {', '.join(objects) or 'none'}")
    node = _node(next(iter(objects.values())))
    while isinstance(node, Branch) and len(node.items) == 1:  # a list around a list
        node = node.items[0]
    return node


def component(node: Node, depth: int, which: int) -> Node:
    """The tree without the level at a depth, of which one entry is kept."""
    if not isinstance(node, Branch) or (depth == 0 and which >= len(node.items)):
        raise Unfit("no such level")
    if depth == 0:
        return node.items[which]
    return Branch(tuple(component(item, depth - 1, which) for item in node.items), node.names)


def numbers(node: Node) -> Floats:
    """A tree as an array; a vector of several numbers is a further axis."""
    if isinstance(node, Branch):
        parts = [numbers(item) for item in node.items]
        if len({part.shape for part in parts}) != 1:
            raise Unfit("lists of unequal lengths")
        return np.stack(parts)
    return node.reshape(()) if node.size == 1 else node


def vectors(node: Node) -> NDArray[np.object_]:
    """A tree as an array of the vectors at its ends."""
    if isinstance(node, Branch):
        parts = [vectors(item) for item in node.items]
        if len({part.shape for part in parts}) != 1:
            raise Unfit("lists of unequal lengths")
        return np.stack(parts)
    if node.ndim != 1:
        raise Unfit("a matrix where a vector is expected")
    end = np.empty((), dtype=object)
    end[()] = node
    return end


def axis_names(node: Node, axes: int) -> tuple[tuple[str, ...] | None, ...]:
    """The names along each level; they must be the same in all its lists."""
    levels = [{branch.names for branch in level(node, depth)} for depth in range(axes)]
    if any(len(level) > 1 for level in levels):
        raise Unfit("lists of one level with different names")
    return tuple(next(iter(level)) if level else None for level in levels)


def level(node: Node, depth: int) -> Iterator[Branch]:
    if not isinstance(node, Branch):
        return
    if depth == 0:
        yield node
    else:
        for item in node.items:
            yield from level(item, depth - 1)


def described(node: Node) -> str:
    """The outline of a tree.

    >>> described(Branch((Branch((np.zeros(9), np.zeros(1))), np.zeros(1))))
    'a list of 2, of which the first is a list of 2, of which the first is a vector of 9'
    """
    if isinstance(node, Branch):
        inside = f", of which the first is {described(node.items[0])}" if node.items else ""
        return f"a list of {len(node.items)}{inside}"
    kind = "vector" if node.ndim == 1 else "matrix"
    return f"a {kind} of {' × '.join(map(str, node.shape))}"


def _node(value: Any) -> Node:
    if isinstance(value, Mapping):
        return Branch(tuple(_node(v) for v in value.values()), tuple(str(k) for k in value))
    if isinstance(value, list | tuple):
        return Branch(tuple(_node(item) for item in value))
    if not hasattr(value, "dtype") or np.ma.is_masked(value):  # text, frames, missing whole numbers
        raise Unfit(f"lists of numbers are expected, found {type(value).__name__} in them")
    named = _named(value)
    if named is not None:
        return named
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.ndim == 0 or array.size == 0:
        raise Unfit(f"numbers are expected, found {array.dtype} of shape {array.shape}")
    return array.astype(np.float64)


def _named(value: Any) -> Branch | None:
    """A matrix with names as lists with names, and a vector with the models' names as one.

    Other names of vectors (DEoptim's "par1") say nothing.
    """
    if not hasattr(value, "coords"):
        return None
    labels = [
        tuple(str(name) for name in value.coords[dim].values) if dim in value.coords else None
        for dim in value.dims
    ]
    if value.ndim == 2:
        return Branch(tuple(_row(row, labels[1]) for row in value.values), labels[0])
    if value.ndim == 1 and model_order(labels[0]):
        return _row(value.values, labels[0])
    return None


def _row(values: Any, names: tuple[str, ...] | None) -> Branch:
    return Branch(tuple(np.array([value], dtype=np.float64) for value in values), names)
