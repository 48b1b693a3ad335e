"""The small language of --where and the like: conditions on, and values from, the columns of a row.

Comparisons (also chained), ``in [...]``, ``and``, ``or``, ``not``, arithmetic on numbers, and the
word ``missing``. Nothing is executed: the text is parsed and translated into a polars expression.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl

from howlearn.core.arrays import Bools
from howlearn.core.errors import HowlearnError
from howlearn.core.text import LONGEST as SHOWN
from howlearn.core.text import one_line

TRUE_WORDS = ("true", "1", "yes")
LONGEST = 100_000  # characters of an expression
MOST_PARTS = 10_000  # names, numbers and signs; what stands in the middle of a chain counts twice
FALSE_WORDS = ("false", "0", "no")
LITERALS = {"true": True, "TRUE": True, "false": False, "FALSE": False}
_COMPARE: dict[type, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    ast.Eq: operator.eq,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC: dict[type, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right.replace(0.0, None),  # x / 0 is missing
}
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`([^`]+)`""")


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

    def holds(self, labels: pl.DataFrame) -> Bools:
        """Whether the condition holds, row by row; ``labels`` holds text, null where missing."""
        return labels.select(self._condition.alias("holds")).to_series().to_numpy()


@dataclass(frozen=True)
class Derived:
    """A value that is computed from the columns of a row, where a column could have stood.

    A row in which one of these columns is missing has no value, unless the expression itself asks
    what is ``missing``. Conditions have the two values of ``words``: false, then true.

    >>> labels = pl.DataFrame({"gain": ["5", "1.5", None], "loss": ["-5", "0", "-1"]})
    >>> derive("gain + loss", "--reward", labels.columns).values(labels).to_list()
    ['0', '1.5', None]
    >>> derive("gain > 2", "--action", labels.columns).values(labels).to_list()
    ['yes', 'no', None]
    """

    text: str
    columns: tuple[str, ...]
    _value: pl.Expr = field(repr=False)
    _asks_missing: bool = False

    def values(self, labels: pl.DataFrame, words: tuple[str, str] = ("no", "yes")) -> pl.Series:
        """The value of each row as text, null where it is missing."""
        found = labels.select(self._value.alias(self.text)).to_series()
        if found.dtype == pl.Boolean:
            found = found.replace_strict({False: words[0], True: words[1]}, return_dtype=pl.String)
        elif found.dtype == pl.Float64:
            numbers = found.unique()
            texts = [None if x is None else f"{x:.12g}" for x in numbers]  # not 0.30000000000000004
            found = found.replace_strict(numbers, pl.Series(texts, dtype=pl.String))
        if self._asks_missing:
            return found
        complete = labels.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
        return found.zip_with(complete, pl.Series([None], dtype=pl.String))


def parse(text: str, option: str, columns: Sequence[str]) -> Expression:
    """Translate the text of an option; a missing value equals nothing but ``missing``."""
    translator, condition = _translated(text, option, columns, lambda walk, tree: walk.truth(tree))
    return Expression(text, tuple(translator.used), condition)


def derive(text: str, option: str, columns: Sequence[str]) -> Derived:
    """Translate a text that stands where a column is expected."""
    translator, value = _translated(text, option, columns, lambda walk, tree: walk.result(tree))
    return Derived(text, tuple(translator.used), value, translator.asks_missing)


def is_expression(text: str) -> bool:
    """Whether a text that is no column's name may be meant as an expression.

    >>> [is_expression(text) for text in ("old == chosen", "key_resp.keys", "my column", "a,b")]
    [True, False, False, False]
    """
    try:
        tree, names = syntax_of(text)
    except (Refused, RecursionError):
        return False
    if isinstance(tree, ast.Compare | ast.BoolOp | ast.BinOp | ast.UnaryOp):
        return any(isinstance(node, ast.Name) for node in ast.walk(tree))
    return bool(names)


def _translated(
    text: str,
    option: str,
    columns: Sequence[str],
    translate: Callable[[Translator, ast.expr], pl.Expr],
) -> tuple[Translator, pl.Expr]:
    try:
        tree, names = syntax_of(text)
        translator = Translator(columns, names)
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
    return f"; a name with a point, a space or a sign stands in backticks: `{max(found, key=len)}`"


class Refused(Exception):
    """Why an expression cannot be understood."""


class TooLong(Refused):
    """It would take very long."""


@dataclass(frozen=True)
class Value:
    """One side of a comparison, seen as text, as a number, or as true or false."""

    kind: str  # column, text, number, truth, word (True or False) or missing
    text: pl.Expr | None = None
    number: pl.Expr | None = None
    truth: pl.Expr | None = None
    word: bool = False


def syntax_of(text: str) -> tuple[ast.expr, list[str]]:
    """The parsed text, and the names that stood in backticks, by the order of their stand-ins."""
    if len(text) > LONGEST:
        raise TooLong(f"is too long: it has more than {LONGEST:,} characters")
    names: list[str] = []
    return _syntax(_QUOTED.sub(lambda found: _stand_in(found, names), text)), names


def _stand_in(found: re.Match[str], names: list[str]) -> str:
    """A name in backticks becomes an identifier that Python's parser accepts."""
    if found[1] is None:
        return found[0]
    names.append(found[1])
    return f"_backticked_{len(names) - 1}_"


def _syntax(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError):
        raise Refused(
            "is not an expression such as block > 1 and phase == 'learn' "
            "(== compares, text stands in quotes, names with spaces in `backticks`)"
        ) from None


class Translator:
    """Walks the parsed text and builds the condition; remembers the columns it met."""

    def __init__(self, columns: Sequence[str], backticked: Sequence[str]) -> None:
        self.columns = columns
        self.backticked = {f"_backticked_{i}_": name for i, name in enumerate(backticked)}
        self.used: dict[str, None] = {}
        self.asks_missing = False
        self.parts = 0

    def result(self, node: ast.expr) -> pl.Expr:
        """The node as the value of a row: text, a number, or true or false."""
        value = self.value(node)
        by_kind = {"column": value.text, "number": value.number, "truth": value.truth}
        found = by_kind.get(value.kind)
        if found is None:
            raise Refused(f"{ast.unparse(node)!r} is the same in every row")
        return found

    def truth(self, node: ast.expr) -> pl.Expr:
        """The node as a condition."""
        value = self.value(node)
        if value.truth is None:
            raise Refused(f"{ast.unparse(node)!r} is not a condition")
        return value.truth

    def value(self, node: ast.expr) -> Value:
        """The node as one side of a comparison, or as a condition."""
        self.count()
        match node:
            case ast.Constant():
                return _literal(node.value)
            case ast.Name():
                return self._name(node.id)
            case ast.UnaryOp(op=ast.Not()):
                return _condition(~self.truth(node.operand))
            case ast.UnaryOp(op=ast.USub()):
                return Value("number", number=-self.number(node.operand))
            case ast.BoolOp():
                join = pl.all_horizontal if isinstance(node.op, ast.And) else pl.any_horizontal
                return _condition(join([self.truth(part) for part in node.values]))
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                calculate = _ARITHMETIC[type(node.op)]
                left, right = self.number(node.left), self.number(node.right)
                return Value("number", number=calculate(left, right))
            case ast.Compare():
                return self._comparisons(node)
        raise Refused(f"{ast.unparse(node)!r} is not part of the language of conditions")

    def count(self) -> None:
        """One more part; so many that nobody can have meant them are refused."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise TooLong(f"is too long: it has more than {MOST_PARTS:,} parts")

    def _name(self, name: str) -> Value:
        column = self.backticked.get(name, name)
        if column in self.columns:
            self.used[column] = None
            pattern = column == "*" or (column.startswith("^") and column.endswith("$"))
            text = pl.col(f"^{re.escape(column)}$") if pattern else pl.col(column)
            words = text.str.to_lowercase().is_in(TRUE_WORDS).fill_null(False)
            number = text.cast(pl.Float64, strict=False)
            return Value("column", text=text, number=number, truth=words)
        if name == "missing":
            self.asks_missing = True
            return Value("missing")
        if name in LITERALS:
            return _literal(LITERALS[name])
        hint = "" if name in self.backticked else " (text stands in quotes)"
        known = ", ".join(self.columns)
        raise Refused(f"there is no column {column}{hint}; the columns: {known}")

    def number(self, node: ast.expr) -> pl.Expr:
        """The node as a number."""
        value = self.value(node)
        if value.number is None:
            raise Refused(f"{ast.unparse(node)!r} is not a number")
        return value.number

    def _comparisons(self, node: ast.Compare) -> Value:
        sides = [node.left, *node.comparators]
        conditions = [
            self._compare(left, op, right)
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False)
        ]
        return _condition(pl.all_horizontal(conditions))

    def _compare(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> pl.Expr:
        if isinstance(op, ast.NotEq):
            return ~self._compare(left, ast.Eq(), right)
        if isinstance(op, ast.NotIn):
            return ~self._compare(left, ast.In(), right)
        if isinstance(op, ast.In):
            if not isinstance(right, ast.List | ast.Tuple | ast.Set) or not right.elts:
                raise Refused("after 'in' a list is needed, such as in [1, 2]")
            equal = [self._compare(left, ast.Eq(), item) for item in right.elts]
            return pl.any_horizontal(equal)
        if type(op) not in _COMPARE:
            raise Refused("only == != < <= > >= in and not in compare")
        return self._known(_compared(self.value(left), op, self.value(right)))

    def _known(self, comparison: pl.Expr) -> pl.Expr:
        """A comparison with a missing value does not hold."""
        return comparison.fill_null(False)


def _condition(expression: pl.Expr) -> Value:
    return Value("truth", truth=expression)


def _literal(value: object) -> Value:
    if isinstance(value, bool):
        return Value("word", truth=pl.lit(value), word=value)
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


def _compared(left: Value, op: ast.cmpop, right: Value) -> pl.Expr:
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
        raise Refused("text can be compared with text, and numbers with numbers only")
    return compare(sides[0], sides[1])


def _compared_with_word(word: Value, op: ast.cmpop, other: Value) -> pl.Expr:
    if not isinstance(op, ast.Eq) or other.text is None or other.kind != "column":
        raise Refused("True, False and missing can be compared with a column by == and != only")
    if word.kind == "missing":
        return other.text.is_null()
    return other.text.str.to_lowercase().is_in(TRUE_WORDS if word.word else FALSE_WORDS)
