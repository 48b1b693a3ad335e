"""The language of --exclude: that of --where, about a learner in place of a row.

``accuracy``, ``missed``, ``trials`` and ``same`` are known of every learner; functions such as
``median(rt)`` and ``share(rt < 0.2)`` make one value of a column.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.expressions import (
    LITERALS,
    TRUE_WORDS,
    Refused,
    TooLong,
    Translator,
    Value,
    syntax_of,
)
from howlearn.core.text import LONGEST, one_line

OPTION = "--exclude"
WORDS = {
    "accuracy": "the share of right choices, or the mean reward from 0 to 1",
    "missed": "the share of rows without a choice",
    "trials": "choices that count",
    "same": "the share of the action chosen most often",
}
NUMBERS = ("mean", "median", "min", "max", "sd")  # of a column of numbers
CONDITIONS = ("share", "count")  # of the rows where a condition holds
FIRST = "first"  # value that is there, in the order of the rows
FUNCTIONS = (*NUMBERS, *CONDITIONS, FIRST)


@dataclass(frozen=True)
class Measure:
    """A function of the rows of a learner, and what it is a function of, row by row."""

    name: str  # as it was written: median(rt)
    function: str
    of: str  # the text between the brackets
    columns: tuple[str, ...]
    rows: pl.Expr = field(repr=False, compare=False)  # of columns of text, null where missing


@dataclass(frozen=True)
class Condition:
    """A condition on a learner.

    >>> slow = parse("accuracy < 0.55 or median(rt) > 2", ["subject", "rt"])
    >>> slow.columns, slow.words, [measure.name for measure in slow.measures]
    (('rt',), ('accuracy',), ['median(rt)'])
    >>> slow.holds(pl.DataFrame({"accuracy": [0.5, 0.9, 0.9], "median(rt)": [None, 3.0, None]}))
    array([ True,  True, False])
    """

    text: str
    words: tuple[str, ...]
    measures: tuple[Measure, ...]
    _condition: pl.Expr = field(repr=False, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that are needed."""
        return tuple(dict.fromkeys(c for measure in self.measures for c in measure.columns))

    @property
    def values(self) -> tuple[str, ...]:
        """The columns of a table of learners that ``holds`` looks at."""
        return (*self.words, *(measure.name for measure in self.measures))

    def holds(self, learners: pl.DataFrame) -> NDArray[np.bool_]:
        """Whether it holds, learner by learner; what is not known fulfils no comparison."""
        found = learners.select(self._condition.fill_null(False).alias("holds"))
        return found.to_series().to_numpy()


def parse(
    text: str, columns: Sequence[str], also: Mapping[str, str] = MappingProxyType({})
) -> Condition:
    """Translate the text of --exclude; ``also`` are further names of columns."""
    try:
        tree, names = _syntax_of(text)
        translator = _AboutLearner(columns, names, also)
        condition = translator.truth(tree)
        if not (translator.words or translator.measures):
            raise Refused(f"says nothing about a learner; {_allowed()}")
    except Refused as refused:
        raise HowlearnError(f"{OPTION} {one_line(text, LONGEST)!r}: {refused}") from None
    except RecursionError:
        raise HowlearnError(f"{OPTION}: the expression is nested too deeply") from None
    measures = tuple(translator.measures.values())
    return Condition(text.strip(), tuple(translator.words), measures, condition)


def _syntax_of(text: str) -> tuple[ast.expr, list[str]]:
    try:
        return syntax_of(text)
    except TooLong:
        raise
    except Refused:
        raise Refused(
            "is not a condition such as accuracy < 0.55 or share(rt < 0.2) > 0.1 "
            "(== compares, text stands in quotes, names with spaces in `backticks`)"
        ) from None


def _allowed() -> str:
    calls = [f"{name}(COL)" for name in (*NUMBERS, FIRST)]
    calls += [f"{name}(CONDITION)" for name in CONDITIONS]
    return f"there are {', '.join(WORDS)} and {', '.join(calls)}"


class _AboutLearner(Translator):
    """Builds a condition on learners; what stands in a function is about their rows.

    A comparison with what is not known is neither true nor false, so that ``not`` does not make it
    true.
    """

    def __init__(
        self, columns: Sequence[str], backticked: Sequence[str], also: Mapping[str, str]
    ) -> None:
        super().__init__(columns, backticked)
        self.also = {name: column for name, column in also.items() if name not in columns}
        self.words: dict[str, None] = {}
        self.measures: dict[str, Measure] = {}

    def value(self, node: ast.expr) -> Value:
        if not isinstance(node, ast.Call):
            return super().value(node)
        self.count()
        return self._call(node)

    def _known(self, comparison: pl.Expr) -> pl.Expr:
        return comparison

    def _name(self, name: str) -> Value:
        if name in WORDS:
            self.words[name] = None
            return Value("measure", number=pl.col(name).cast(pl.Float64))
        column = self.backticked.get(name, name)
        if column in self.columns or column in self.also:
            raise Refused(
                f"a learner has many values of {column}: say what counts, such as "
                f"median({column}), share({column} < 0.2) or first({column})"
            )
        if name == "missing" or name in LITERALS:
            return super()._name(name)
        hint = "" if name in self.backticked else " (text stands in quotes)"
        raise Refused(f"there is no {column}{hint}; {_allowed()}")

    def _compare(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> pl.Expr:
        for one, other in ((left, right), (right, left)):
            missing = isinstance(one, ast.Name) and one.id == "missing"
            if missing and isinstance(op, ast.Eq):
                value = self.value(other)
                known = value.text if value.number is None else value.number
                if known is not None and value.kind in ("column", "measure"):
                    return known.is_null()
        return super()._compare(left, op, right)

    def _call(self, node: ast.Call) -> Value:
        function = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if function not in FUNCTIONS:
            raise Refused(f"there is no {function}(…); {_allowed()}")
        if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
            raise Refused(f"{function}(…) takes one thing between its brackets")
        measure = self._measure(function, node.args[0])
        self.measures.setdefault(measure.name, measure)
        value = pl.col(measure.name)
        if function != FIRST:
            return Value("measure", number=value)
        words = value.str.to_lowercase().is_in(TRUE_WORDS)
        number = value.cast(pl.Float64, strict=False)
        return Value("column", text=value, number=number, truth=words)

    def _measure(self, function: str, of: ast.expr) -> Measure:
        rows = Translator(self.columns, list(self.backticked.values()))
        rows.backticked.update(self.also)
        written = self._written(of)
        if function == FIRST:
            found = rows.value(of)
            if found.kind != "column" or found.text is None:
                raise Refused(f"first(…) takes a column, not {written!r}")
            expression = found.text
        elif function in CONDITIONS:
            expression = rows.truth(of)
        else:
            expression = rows.number(of)
        if not rows.used:
            raise Refused(f"{function}({written}) names no column")
        name = f"{function}({written})"
        return Measure(name, function, written, tuple(rows.used), expression)

    def _written(self, node: ast.expr) -> str:
        """As the user wrote it, names in backticks included."""
        text = ast.unparse(node)
        for stand_in, column in self.backticked.items():
            text = text.replace(stand_in, f"`{column}`")
        return text
