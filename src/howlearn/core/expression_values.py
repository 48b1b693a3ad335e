"""What the parts of an expression are, row by row: text, numbers, conditions; and comparing them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl

TRUE_WORDS = ("true", "1", "yes")
FALSE_WORDS = ("false", "0", "no")
NO_TEXT = pl.lit(None, pl.String)
_COMPARE: dict[type, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    ast.Eq: operator.eq,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class Refused(Exception):
    """Why an expression cannot be understood."""


class TooLong(Refused):
    """It would take very long."""


@dataclass(frozen=True)
class Value:
    """A part of an expression, seen as text, as a number, or as true or false."""

    kind: str  # column, text, number, truth, word (True or False) or missing
    text: pl.Expr | None = None
    number: pl.Expr | None = None
    truth: pl.Expr | None = None
    word: bool = False
    known: pl.Expr | None = None  # where whatever it is made of is there; None: everywhere


def column_value(text: pl.Expr, known: pl.Expr | None = None) -> Value:
    """What a column holds, or what is computed and may be text."""
    lower = text.str.to_lowercase()
    truth = lower.is_in(TRUE_WORDS).fill_null(False)
    number = text.cast(pl.Float64, strict=False)
    # R and Excel write TRUE where others write 1
    number = pl.coalesce(number, (lower == "true").replace_strict({True: 1.0, False: 0.0})).filter
    raise NotImplementedError
