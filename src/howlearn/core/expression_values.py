"""What the parts of an expression are, row by row: text, numbers and conditions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

TRUE_WORDS = ("true", "1", "yes")
FALSE_WORDS = ("false", "0", "no")
YES_NO = ("no", "yes")  # conditions as labels: false, then true
_WHOLE = 2.0**53  # up to here a float that is whole is shown as one
_COMPARE: dict[type, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    ast.Eq: operator.eq,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
COMPARED = tuple(_COMPARE)


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

    @property
    def label(self) -> pl.Expr:
        """The value as text, whatever it is; null where it is missing."""
        if self.text is not None:
            return self.text
        if self.kind in ("truth", "word") and self.truth is not None:
            return pl.when(self.truth).then(pl.lit(YES_NO[1])).otherwise(pl.lit(YES_NO[0]))
        if self.number is None:
            return pl.lit(None, pl.String)
        whole = (self.number.floor() == self.number) & (self.number.abs() < _WHOLE)
        rounded = self.number.round_sig_figs(12)
        short = pl.when(whole).then(rounded).cast(pl.Int64, strict=False).cast(pl.String)
        return pl.when(whole).then(short).otherwise(rounded.cast(pl.String))


def of_text(text: pl.Expr, known: pl.Expr | None = None) -> Value:
    """What a column holds, or text that is computed: it may stand for numbers and conditions."""
    lower = text.str.to_lowercase()
    number = (
        pl.when(lower == "true")  # R and Excel write TRUE where others write 1
        .then(1.0)
        .when(lower == "false")
        .then(0.0)
        .otherwise(text.cast(pl.Float64, strict=False))
    )
    truth = lower.is_in(TRUE_WORDS).fill_null(False)
    return Value("column", text, number, truth, known=known)


def of_truth(truth: pl.Expr, known: pl.Expr | None = None) -> Value:
    """A condition; in arithmetic it is 1 or 0."""
    return Value("truth", number=truth.cast(pl.Float64), truth=truth, known=known)


def both(*known: pl.Expr | None) -> pl.Expr | None:
    """Where all of these are known."""
    told = [each for each in known if each is not None]
    return pl.all_horizontal(told) if told else None


def chosen(condition: pl.Expr, known: pl.Expr | None, one: Value, other: Value) -> Value:
    """The one value where a condition holds, the other elsewhere."""

    def pick(left: pl.Expr, right: pl.Expr) -> pl.Expr:
        return pl.when(condition).then(left).otherwise(right)

    told = None
    if one.known is not None or other.known is not None:
        always = pl.lit(True)
        told = pick(
            always if one.known is None else one.known,
            always if other.known is None else other.known,
        )
    told = both(known, told)
    kinds = {one.kind, other.kind}
    if kinds <= {"truth", "word"} and one.truth is not None and other.truth is not None:
        return of_truth(pick(one.truth, other.truth), told)
    if kinds <= {"number", "truth", "missing"} and kinds != {"missing"}:
        nothing = pl.lit(None, pl.Float64)
        left, right = (nothing if v.number is None else v.number for v in (one, other))
        return Value("number", number=pick(left, right), known=told)
    return of_text(pick(one.label, other.label), told)


def literal(value: object) -> Value:
    """What stands in the text itself."""
    if isinstance(value, bool):
        return Value("word", truth=pl.lit(value), number=pl.lit(float(value)), word=value)
    if isinstance(value, int | float):
        try:
            return Value("number", number=pl.lit(float(value)))
        except OverflowError:
            raise Refused("a number is too large") from None
    if isinstance(value, str) and not value.strip():
        return Value("missing")  # an empty cell is a missing one
    if isinstance(value, str):
        return Value("text", text=pl.lit(value.strip()))
    raise Refused(f"{value!r} is neither a number nor text")


def compared(left: Value, op: ast.cmpop, right: Value) -> pl.Expr:
    """What the two sides are decides how they are compared: as text or as numbers."""
    for one, other in ((left, right), (right, left)):
        if one.kind in ("missing", "word"):
            return _compared_with_word(one, op, other)
    compare = _COMPARE[type(op)]
    kinds = {left.kind, right.kind}
    if kinds == {"truth"} and isinstance(op, ast.Eq) and left.truth is not None:
        return left.truth == right.truth  # (answer == 'f') == (correct == 1)
    as_text = "text" in kinds or (kinds == {"column"} and isinstance(op, ast.Eq))
    sides = (left.text, right.text) if as_text else (left.number, right.number)
    if sides[0] is None or sides[1] is None:
        raise Refused("compare text with text, and numbers with numbers")
    return compare(sides[0], sides[1])


def _compared_with_word(word: Value, op: ast.cmpop, other: Value) -> pl.Expr:
    if not isinstance(op, ast.Eq) or other.text is None or other.kind != "column":
        raise Refused("True, False and missing can be compared with a column by == and != only")
    if word.kind == "missing":
        return other.text.is_null()
    return other.text.str.to_lowercase().is_in(TRUE_WORDS if word.word else FALSE_WORDS)
