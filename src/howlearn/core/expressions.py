"""The language of --where and similar options: conditions on, and values from, columns of a row.

Comparisons (also chained), ``in [...]``, ``and``, ``or``, ``not``, arithmetic on numbers (in which
a condition is 1 or 0), the word ``missing``, and the functions ``if(condition, a, b)``, ``lag(a)``
(in the learner's row before), ``join(a, b)``, ``part(a, 1)`` and ``column("a name")``.
Nothing is executed: the text is parsed and translated into a polars expression.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import polars as pl

from howlearn.core.arrays import Bools
from howlearn.core.errors import HowlearnError
from howlearn.core.expression_grammar import (
    COLUMN,
    IF,
    JOIN,
    LAG,
    OWNER,
    PART,
    Translator,
    syntax_of,
)
from howlearn.core.expression_values import YES_NO, Refused
from howlearn.core.text import LONGEST as SHOWN
from howlearn.core.text import one_line

T = TypeVar("T")


@dataclass(frozen=True)
class Expression:
    """A condition on a row, and the columns it needs.

    >>> late = parse("trial > 2 and phase != 'test'", "--where", ["trial", "phase"])
    >>> late.columns
    ('trial', 'phase')
    >>> late.holds(pl.DataFrame({"trial": ["1", "3", "4"], "phase": ["learn", "learn", "test"]}))
    array([False,  True, False])
    """

    text: str
    columns: tuple[str, ...]
    _condition: pl.Expr = field(repr=False)
    lags: int = 0  # rows that it looks back
    words: tuple[tuple[str, str], ...] = ()  # columns with bare words that they are compared with

    def holds(self, labels: pl.DataFrame) -> Bools:
        """Whether the condition holds, row by row; ``labels`` holds text, null where missing.

        Where it looks back, the column OWNER says whose rows these are.
        """
        rows = _with_owner(labels) if self.lags else labels
        found = rows.select(self._condition.alias("holds")).to_series()
        return found.fill_null(False).to_numpy()


@dataclass(frozen=True)
class Derived:
    """A value that is computed from the columns of a row, where a column could have stood.

    A row in which one of these columns is missing has no value, unless the expression itself asks
    what is ``missing``; of ``if(…)`` only the side that is taken counts. Conditions have the two
    values of ``words``: false, then true.

    >>> labels = pl.DataFrame({"gain": ["5", "1.5", None], "loss": ["-5", "0", "-1"]})
    >>> derive("gain + loss", "--reward", labels.columns).values(labels).to_list()
    ['0', '1.5', None]
    >>> derive("gain > 2", "--action", labels.columns).values(labels).to_list()
    ['yes', 'no', None]
    >>> derive("if(loss < 0, won, gain)", "--action", labels.columns).values(labels).to_list()
    ['won', '1.5', 'won']
    """

    text: str
    columns: tuple[str, ...]
    _value: pl.Expr = field(repr=False)
    _known: pl.Expr | None = field(default=None, repr=False)
    lags: int = 0  # rows that it looks back
    words: tuple[tuple[str, str], ...] = ()  # columns with bare words that they are compared with
    _numbers: tuple[tuple[str, pl.Expr, pl.Expr], ...] = field(default=(), repr=False)

    def values(self, labels: pl.DataFrame, words: tuple[str, str] = YES_NO) -> pl.Series:
        """The value of each row as text, null where it is missing."""
        rows = _with_owner(labels) if self.lags else labels
        found = rows.select(self._value.alias(self.text)).to_series()
        if len(found) != len(labels):  # the same in every row
            found = found.new_from_index(0, len(labels))
        if found.dtype == pl.Boolean:
            found = found.replace_strict({False: words[0], True: words[1]}, return_dtype=pl.String)
        elif found.dtype == pl.Float64:
            numbers = found.unique()
            texts = [None if x is None else f"{x:.12g}" for x in numbers]  # not 0.30000000000000004
            found = found.replace_strict(numbers, pl.Series(texts, dtype=pl.String))
        if self._known is None:
            return found
        known = rows.select(self._known.alias("known")).to_series().fill_null(False)
        return found.zip_with(known, pl.Series([None], dtype=pl.String))

    def misfits(self, labels: pl.DataFrame) -> Iterator[tuple[str, Bools, pl.Series]]:
        """Of each part that must be a number: its text, the rows where it is not, its values."""
        rows = _with_owner(labels) if self.lags else labels
        for written, text, wrong in self._numbers:
            found = rows.select(text.alias("text"), wrong.fill_null(False).alias("wrong"))
            if found["wrong"].any():
                yield written, found["wrong"].to_numpy(), found["text"]


def _with_owner(labels: pl.DataFrame) -> pl.DataFrame:
    """The rows with the column that lag needs; without it all are one learner's."""
    return labels if OWNER in labels.columns else labels.with_columns(pl.lit("").alias(OWNER))


def parse(text: str, option: str, columns: Sequence[str]) -> Expression:
    """Translate the text of an option; a missing value equals nothing but ``missing``."""
    walk, condition = _translated(text, option, columns, lambda walk, tree: walk.truth(tree))
    return Expression(text, tuple(walk.used), condition, walk.lags, tuple(walk.bare))


def derive(text: str, option: str, columns: Sequence[str]) -> Derived:
    """Translate a text that stands where a column is expected."""
    walk, value = _translated(text, option, columns, lambda walk, tree: walk.result(tree))
    result, known = value
    known = None if walk.asks_missing else known
    return Derived(
        text, tuple(walk.used), result, known, walk.lags, tuple(walk.bare), tuple(walk.numbers)
    )


def is_expression(text: str) -> bool:
    """Whether a text that is not a column's name may be meant as an expression.

    >>> [is_expression(text) for text in ("old == chosen", "key_resp.keys", "my column", "a,b")]
    [True, False, False, False]
    >>> is_expression("if(correct == 1, shape, other)"), is_expression('column("a b")')
    (True, True)
    """
    try:
        tree, names = syntax_of(text)
    except (Refused, RecursionError):
        return False
    if isinstance(tree, ast.Compare | ast.BoolOp | ast.BinOp | ast.UnaryOp | ast.IfExp):
        return any(isinstance(node, ast.Name) for node in ast.walk(tree))
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        return tree.func.id in (IF, LAG, COLUMN, JOIN, PART)
    return bool(names)


def _translated(
    text: str,
    option: str,
    columns: Sequence[str],
    translate: Callable[[Translator, ast.expr], T],
) -> tuple[Translator, T]:
    try:
        tree, names = syntax_of(text)
        translator = Translator(columns, names, may_lag=True)
        expression = translate(translator, tree)
    except Refused as refused:
        shown = repr(one_line(text, SHOWN))
        raise HowlearnError(f"{option} {shown}: {refused}{_in_backticks(text, columns)}") from None
    except RecursionError:
        raise HowlearnError(f"{option}: the expression is nested too deeply") from None
    if not translator.used:
        shown, known = repr(one_line(text, SHOWN)), ", ".join(columns)
        raise HowlearnError(f"{option} {shown}: names no column; the columns: {known}")
    return translator, expression


def _in_backticks(text: str, columns: Sequence[str]) -> str:
    """The hint for a column that stands in the text as no name may stand there."""
    bare = [
        c for c in columns if not c.isidentifier() and re.search(r"[^\W\d]", c) and "`" not in c
    ]
    found = [c for c in bare if len(c) > 1 and c in text and f"`{c}`" not in text]
    if not found:
        return ""
    return f"; put a name with a dot, a space or a sign in backticks: `{max(found, key=len)}`"
