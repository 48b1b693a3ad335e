"""Partitions of the contexts: which contexts a learner treats alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from howlearn.core.errors import HowlearnError
from howlearn.core.text import canonical, listed

Cell = tuple[str, ...]


def cell_name(cell: Iterable[str]) -> str:
    """The way a cell is written in every table; a name that looks like several is quoted.

    >>> cell_name(["1", "2", "7"]), cell_name(["p", "p+q"])
    ('1+2+7', 'p+"p+q"')
    >>> cell_name(["+a", "b+"]) == cell_name(['+a"+"b+'])
    False
    """
    return "+".join(_quoted(name) if set(name) & set('+|"') else name for name in cell)


def _quoted(name: str) -> str:
    """As CSV does it, so that no two cells are written alike."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class Partition:
    """Contexts split into cells; the contexts of a cell share what is learned.

    >>> Partition.by({"1": {"shape": "square"}, "2": {"shape": "circle"}}, ["shape"])
    Partition(cells=(('1',), ('2',)))
    """

    cells: tuple[Cell, ...]
    made_by: str = field(default="", compare=False, repr=False)  # the features, in words

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "cells", tuple(tuple(canonical(c) for c in cell) for cell in self.cells)
        )
        if not self.cells or not all(self.cells):
            raise HowlearnError("a partition needs at least one cell, and no cell may be empty")
        twice = sorted(c for c, times in Counter(self.contexts).items() if times > 1)
        if twice:
            raise HowlearnError(
                f"a context belongs to one cell only, but these are in two: {', '.join(twice)}"
            )

    @cached_property
    def contexts(self) -> tuple[str, ...]:
        """Every context of the partition, cell after cell."""
        return tuple(context for cell in self.cells for context in cell)

    @classmethod
    def all(cls, contexts: Sequence[str]) -> Partition:
        """One cell for everything."""
        return cls((tuple(contexts),))

    @classmethod
    def each(cls, contexts: Sequence[str]) -> Partition:
        """One cell per context."""
        return cls(tuple((context,) for context in contexts))

    @classmethod
    def by(cls, features: Mapping[str, Mapping[str, str]], names: Sequence[str]) -> Partition:
        """One cell per combination of the named features, in order of first appearance."""
        cells: dict[tuple[str, ...], list[str]] = {}
        for context, values in features.items():
            unknown = [name for name in names if name not in values]
            if unknown:
                known = ", ".join(values) or "none"
                raise HowlearnError(
                    f"context {context} has no feature {unknown[0]}; its features: {known}"
                )
            cells.setdefault(tuple(values[name] for name in names), []).append(context)
        return cls(tuple(map(tuple, cells.values())), listed(names))

    def without(self, exceptions: Sequence[str]) -> Partition:
        """Take each exception out into its own cell, after the others.

        >>> Partition((("1", "2", "8"), ("9",))).without(["8"]).cells
        (('1', '2'), ('9',), ('8',))
        """
        unknown = [context for context in exceptions if context not in self.contexts]
        if unknown:
            raise HowlearnError(f"exception {unknown[0]} is not a context of the partition")
        kept = (tuple(c for c in cell if c not in exceptions) for cell in self.cells)
        made_by = self.made_by
        if made_by and exceptions:
            made_by += f", except {listed(exceptions)}"
        return Partition((*(cell for cell in kept if cell), *((c,) for c in exceptions)), made_by)
