"""The grammar of expressions: the text is parsed by Python and translated, and nothing else."""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

import polars as pl

from howlearn.core.columns import column_named
from howlearn.core.expression_values import (
    COMPARED,
    Refused,
    TooLong,
    Value,
    both,
    chosen,
    compared,
    literal,
    of_text,
    of_truth,
)

LONGEST = 100_000  # characters of an expression
MOST_PARTS = 10_000  # names, numbers and signs; what stands in the middle of a chain counts twice
MOST_LAGS = 1_000  # rows that lag(x, n) looks back
LITERALS = {"true": True, "TRUE": True, "false": False, "FALSE": False}
OWNER = "\0learner"  # the column that says whose row it is, for lag
_ARITHMETIC: dict[type, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda left, right: left / right.replace(0.0, None),  # x / 0 is missing
    ast.FloorDiv: lambda left, right: left // right.replace(0.0, None),
    ast.Mod: lambda left, right: left % right.replace(0.0, None),
}
CLOSE = 0.8  # how like a column's name a word is that may be a slip of the pen
IF, LAG, COLUMN, JOIN = "_if_", "lag", "column", "join"  # Python has another "if"
PART = "part"
FUNCTIONS = 'if(CONDITION, A, B), lag(COL), join(COL, COL), part(COL, N) and column("NAME")'
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`([^`]+)`""")
_IF = re.compile(r"(^|[-(,+*/%=<>\[{]|\b(?:and|or|not|in|else)\b)(\s*)if(?=\s*\()")


def syntax_of(text: str) -> tuple[ast.expr, list[str]]:
    """The parsed text, and the names that stood in backticks, by the order of their stand-ins."""
    if len(text) > LONGEST:
        raise TooLong(f"is too long: it has more than {LONGEST:,} characters")
    names: list[str] = []
    named = _QUOTED.sub(lambda found: _stand_in(found, names), text)
    return _syntax(_IF.sub(rf"\1\2{IF}", named.strip())), names


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
            "(== compares, put text in quotes, names with spaces in `backticks`)"
        ) from None


class Translator:
    """Walks the parsed text and builds the condition; remembers the columns it met."""

    def __init__(
        self, columns: Sequence[str], backticked: Sequence[str], may_lag: bool = False
    ) -> None:
        self.columns = columns
        self.backticked = {f"_backticked_{i}_": name for i, name in enumerate(backticked)}
        self.used: dict[str, None] = {}
        self.bare: dict[tuple[str, str], None] = {}
        self.numbers: list[tuple[str, pl.Expr, pl.Expr]] = []
        self.asks_missing = False
        self.parts = 0
        self.may_lag, self.lags = may_lag, 0
        self._taken: list[pl.Expr] = []  # conditions under which the current part counts

    def result(self, node: ast.expr) -> tuple[pl.Expr, pl.Expr | None]:
        """The node as the value of a row: text, a number, or true or false; and where it is one."""
        value = self.value(node)
        by_kind = {"column": value.text, "number": value.number, "truth": value.truth}
        found = by_kind.get(value.kind)
        if found is None:
            raise Refused(f"{self.written(node)!r} is the same in every row")
        return found, value.known

    def truth(self, node: ast.expr) -> pl.Expr:
        """The node as a condition."""
        return self._condition(node).truth  # type: ignore[return-value]

    def _condition(self, node: ast.expr) -> Value:
        value = self.value(node)
        if value.truth is None:
            raise Refused(f"{self.written(node)!r} is not a condition")
        return value

    def value(self, node: ast.expr) -> Value:
        """The node as one side of a comparison, or as a condition."""
        self.count()
        match node:
            case ast.Constant():
                return literal(node.value)
            case ast.Name():
                return self._name(node.id)
            case ast.UnaryOp(op=ast.Not()):
                inner = self._condition(node.operand)
                assert inner.truth is not None
                return of_truth(~inner.truth, inner.known)
            case ast.UnaryOp(op=ast.USub()):
                inner = self._number(node.operand)
                assert inner.number is not None
                return Value("number", number=-inner.number, known=inner.known)
            case ast.BoolOp():
                join = pl.all_horizontal if isinstance(node.op, ast.And) else pl.any_horizontal
                each = [self._condition(part) for part in node.values]
                truths = [part.truth for part in each if part.truth is not None]
                return of_truth(join(truths), both(*(part.known for part in each)))
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                return self._calculated(node)
            case ast.Compare():
                return self._comparisons(node)
            case ast.IfExp():
                return self._chosen(node.test, node.body, node.orelse)
            case ast.Call(func=ast.Name()):
                return self._function(node)
        raise Refused(f"{self.written(node)!r} is not allowed in an expression")

    def count(self) -> None:
        """One more part; so many that nobody can have meant them are refused."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise TooLong(f"is too long: it has more than {MOST_PARTS:,} parts")

    def written(self, node: ast.expr) -> str:
        """A part as the user wrote it, nearly."""
        text = ast.unparse(node).replace(IF, "if")
        for stand_in, name in self.backticked.items():
            text = text.replace(stand_in, f"`{name}`")
        return text

    def _name(self, name: str) -> Value:
        column = self.backticked.get(name, name)
        if column in self.columns:
            return self._column(column)
        if name == "missing":
            self.asks_missing = True
            return Value("missing")
        if name in LITERALS:
            return literal(LITERALS[name])
        hint = "" if name in self.backticked else " (put text in quotes)"
        raise self._no_column(column, hint)

    def _column(self, column: str) -> Value:
        self.used[column] = None
        text = column_named(column)
        return of_text(text, text.is_not_null())

    def _no_column(self, column: str, hint: str = "") -> Refused:
        return Refused(f"there is no column {column}{hint}; the columns: {', '.join(self.columns)}")

    def _word(self, node: ast.expr) -> str | None:
        """The label that a bare word stands for: it is not a column, nor like one."""
        if not isinstance(node, ast.Name) or node.id in self.backticked:
            return None
        if node.id in self.columns or node.id in ("missing", *LITERALS):
            return None
        close = get_close_matches(node.id, self.columns, 1, CLOSE)
        if close:
            raise self._no_column(node.id, f" (did you mean {close[0]}? put text in quotes)")
        return node.id

    def _label(self, node: ast.expr) -> Value:
        """A part where a bare word is taken as text."""
        word = self._word(node)
        return self.value(node) if word is None else literal(word)

    def number(self, node: ast.expr) -> pl.Expr:
        """The node as a number."""
        return self._number(node).number  # type: ignore[return-value]

    def _number(self, node: ast.expr) -> Value:
        value = self.value(node)
        if value.number is None:
            raise Refused(f"{self.written(node)!r} is not a number")
        self._must_be_number(node, value)
        return value

    def _must_be_number(self, node: ast.expr, value: Value) -> None:
        """Remember that there must be a number wherever there is a value that counts."""
        if value.text is not None and value.number is not None:
            wrong = value.text.is_not_null() & value.number.is_null()
            counts = pl.all_horizontal(wrong, *self._taken)
            self.numbers.append((self.written(node), value.text, counts))

    @contextmanager
    def _where(self, condition: pl.Expr) -> Iterator[None]:
        self._taken.append(condition)
        yield
        self._taken.pop()

    def _calculated(self, node: ast.BinOp) -> Value:
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(node.op, ast.Mult) and _is_condition(one) and not _is_condition(other):
                return self._times(one, other)
        left, right = self._number(node.left), self._number(node.right)
        assert left.number is not None
        assert right.number is not None
        found = _ARITHMETIC[type(node.op)](left.number, right.number)
        return Value("number", number=found, known=both(left.known, right.known))

    def _times(self, condition: ast.expr, node: ast.expr) -> Value:
        """A condition times a number: 0 where it does not hold, whatever is missing there."""
        holds = self._condition(condition)
        assert holds.truth is not None
        with self._where(holds.truth):
            value = self._number(node)
        nothing = Value("number", number=pl.lit(0.0))
        number = Value("number", number=value.number, known=value.known)
        return chosen(holds.truth, holds.known, number, nothing)

    def _chosen(self, condition: ast.expr, one: ast.expr, other: ast.expr) -> Value:
        holds = self._condition(condition)
        assert holds.truth is not None
        with self._where(holds.truth):
            left = self._label(one)
        with self._where(~holds.truth):
            right = self._label(other)
        return chosen(holds.truth, holds.known, left, right)

    def _function(self, node: ast.Call) -> Value:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        plain = not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)
        if name == IF and plain and len(node.args) == 3:
            return self._chosen(*node.args)
        if name == COLUMN and plain and len(node.args) == 1:
            return self._named(node.args[0])
        if name == LAG and plain and 1 <= len(node.args) <= 2:
            return self._lagged(*node.args)
        if name == JOIN and plain and len(node.args) > 1:
            parts = [self.value(each) for each in node.args]
            text = pl.concat_str([part.label for part in parts], separator=":")
            return of_text(text, both(text.is_not_null(), *(part.known for part in parts)))
        if name == PART and plain and len(node.args) == 2:
            return self._part(*node.args)
        raise Refused(
            f"{self.written(node)!r} is not allowed in an expression; there are {FUNCTIONS}"
        )

    def _named(self, node: ast.expr) -> Value:
        name = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(name, str):
            raise Refused(f'column({self.written(node)}): write column("NAME")')
        if name not in self.columns:
            raise self._no_column(name)
        return self._column(name)

    def _part(self, node: ast.expr, place: ast.expr) -> Value:
        """The first, second, … part of a name such as rat7_2_2019: what marks separate."""
        number = place.value if isinstance(place, ast.Constant) else None
        value = self.value(node)
        if type(number) is not int or number < 1 or value.text is None:
            raise Refused("part(COL, N) needs a column and a whole number N from 1")
        text = value.text.str.extract_all(r"[^_\-. ]+").list.get(number - 1, null_on_oob=True)
        return of_text(text, text.is_not_null())

    def _lagged(self, node: ast.expr, by: ast.expr | None = None) -> Value:
        back = 1 if by is None else by.value if isinstance(by, ast.Constant) else None
        if type(back) is not int or not 1 <= back <= MOST_LAGS:
            raise Refused(f"lag(COL, N) needs a whole number N from 1 to {MOST_LAGS:,}")
        if not self.may_lag:
            raise Refused("lag(…) cannot be used here")
        before = self.lags
        self.lags = 0
        value = self.value(node)
        self.lags = max(before, self.lags + back)
        if value.kind == "column" and value.text is not None:
            text = value.text.shift(back).over(OWNER)
            return of_text(text, text.is_not_null())
        if value.number is None:
            raise Refused(f"lag({self.written(node)}) is the same in every row")
        number = value.number if value.known is None else pl.when(value.known).then(value.number)
        number = number.shift(back).over(OWNER)
        if value.kind == "truth":
            return of_truth(number == 1.0, number.is_not_null())
        return Value("number", number=number, known=number.is_not_null())

    def _comparisons(self, node: ast.Compare) -> Value:
        sides = [node.left, *node.comparators]
        known: list[pl.Expr | None] = []
        conditions = [
            self._compare(left, op, right, known)
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False)
        ]
        return of_truth(pl.all_horizontal(conditions), both(*known))

    def _compare(
        self, left: ast.expr, op: ast.cmpop, right: ast.expr, known: list[pl.Expr | None]
    ) -> pl.Expr:
        if isinstance(op, ast.NotEq):
            return ~self._compare(left, ast.Eq(), right, known)
        if isinstance(op, ast.NotIn):
            return ~self._compare(left, ast.In(), right, known)
        if isinstance(op, ast.In):
            if not isinstance(right, ast.List | ast.Tuple | ast.Set) or not right.elts:
                raise Refused("after 'in' a list is needed, such as in [1, 2]")
            equal = [self._compare(left, ast.Eq(), item, known) for item in right.elts]
            return pl.any_horizontal(equal)
        if type(op) not in COMPARED:
            raise Refused("only == != < <= > >= in and not in compare")
        one = self.value(left)
        equal_to = isinstance(op, ast.Eq) and one.kind == "column"
        other = self._label(right) if equal_to else self.value(right)
        if equal_to and isinstance(left, ast.Name) and self._word(right) is not None:
            column = self.backticked.get(left.id, left.id)
            self.bare[column, right.id] = None  # type: ignore[attr-defined]
        if not isinstance(op, ast.Eq) and "text" not in (one.kind, other.kind):
            self._must_be_number(left, one)
            self._must_be_number(right, other)
        known += [one.known, other.known]
        return self._known(compared(one, op, other))

    def _known(self, comparison: pl.Expr) -> pl.Expr:
        """A comparison with a missing value does not hold; conditions of --exclude differ."""
        return comparison.fill_null(False)


def _is_condition(node: ast.expr) -> bool:
    """Whether a part can only be true or false."""
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return negated or isinstance(node, ast.Compare | ast.BoolOp)
