"""``--exclude``: conditions on learners, in the language of ``--where``.

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

from howlearn.core.arrays import Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.expression_grammar import LITERALS, Translator, syntax_of
from howlearn.core.expression_values import TRUE_WORDS, Refused, TooLong, Value
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
class LearnerMeasure:
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
    measures: tuple[LearnerMeasure, ...]
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
            raise Refused(f"is not about a learner; {_allowed()}")
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
            "(== compares, put text in quotes, names with spaces in `backticks`)"
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
        self.measures: dict[str, LearnerMeasure] = {}

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
        hint = "" if name in self.backticked else " (put text in quotes)"
        raise Refused(f"there is no {column}{hint}; {_allowed()}")

    def _compare(
        self, left: ast.expr, op: ast.cmpop, right: ast.expr, known: list[pl.Expr | None]
    ) -> pl.Expr:
        for one, other in ((left, right), (right, left)):
            missing = isinstance(one, ast.Name) and one.id == "missing"
            if missing and isinstance(op, ast.Eq):
                value = self.value(other)
                there = value.text if value.number is None else value.number
                if there is not None and value.kind in ("column", "measure"):
                    return there.is_null()
        return super()._compare(left, op, right, known)

    def _call(self, node: ast.Call) -> Value:
        function = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if function not in FUNCTIONS:
            raise Refused(f"there is no {function}(…); {_allowed()}")
        if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
            raise Refused(f"{function}(…) takes one argument")
        measure = self._measure(function, node.args[0])
        self.measures.setdefault(measure.name, measure)
        value = pl.col(measure.name)
        if function != FIRST:
            return Value("measure", number=value)
        words = value.str.to_lowercase().is_in(TRUE_WORDS)
        number = value.cast(pl.Float64, strict=False)
        return Value("column", text=value, number=number, truth=words)

    def _measure(self, function: str, of: ast.expr) -> LearnerMeasure:
        rows = Translator(self.columns, list(self.backticked.values()))
        rows.backticked.update(self.also)
        written = self.written(of)
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
        return LearnerMeasure(name, function, written, tuple(rows.used), expression)


# What the rows of every learner say, gathered batch by batch: of lists, so that a learner's number
# does not depend on how many others there are.
_OF_NUMBERS = {
    "mean": pl.col("value").list.mean(),
    "median": pl.col("value").list.median(),
    "min": pl.col("value").list.min(),
    "max": pl.col("value").list.max(),
    "sd": pl.col("value").list.std(),
}


class Seen:
    """Collects what conditions need to know of every sequence, by its code.

    Counts and first values are kept as such; numbers are kept one by one, since a median needs all
    of them.

    >>> from howlearn.reading.exclude import parse
    >>> seen = Seen([parse("share(rt < 1) > 0.5 or max(rt) > 9", ["rt"])])
    >>> rows = pl.DataFrame({"rt": ["0.5", "3", None, "10"]})
    >>> seen.see(rows, np.array([0, 0, 1, 1]), np.array([False, False, True, False]))
    >>> seen.table([0, 1]).rows()
    [(0.0, 0.5, 3.0), (0.5, 0.0, 10.0)]
    """

    def __init__(self, conditions: Sequence[Condition]) -> None:
        measures = {m.name: m for condition in conditions for m in condition.measures}
        self.measures: tuple[LearnerMeasure, ...] = tuple(measures.values())
        self.columns = tuple(dict.fromkeys(c for m in self.measures for c in m.columns))
        self._rows = np.zeros(0, np.int64)
        self._missed = np.zeros(0, np.int64)
        self._counts: dict[str, Ints] = {}
        self._first: dict[str, dict[int, str]] = {}
        self._sequences: dict[str, list[NDArray[np.int32]]] = {}  # by what stands in the brackets
        self._numbers: dict[str, list[NDArray[np.float64]]] = {}
        self._settled: dict[str, list[pl.DataFrame]] = {}  # by measure
        self._done = np.zeros(0, np.bool_)
        self.late = False  # a row of a sequence came after it was settled

    def see(
        self, labels: pl.DataFrame, sequence: NDArray[np.integer], missed: NDArray[np.bool_]
    ) -> None:
        """Take in some rows: their labels, the sequence of each (−1: none), who did not choose."""
        mine = sequence >= 0
        owner = sequence[mine]
        self._rows = _added(self._rows, owner)
        self.late |= bool(self._done[owner[owner < len(self._done)]].any())
        self._missed = _added(self._missed, owner[missed[mine]])
        numbers: set[str] = set()
        for measure in self.measures:
            if measure.function not in (*CONDITIONS, FIRST):
                if measure.of in numbers:
                    continue
                numbers.add(measure.of)
            found = labels.select(measure.rows.alias("value")).to_series()
            if len(found) != labels.height:  # a constant condition
                found = found.new_from_index(0, labels.height)
            found = found.filter(pl.Series(mine))
            if measure.function in CONDITIONS:
                before = self._counts.get(measure.name, np.zeros(0, np.int64))
                holds = found.fill_null(False).to_numpy()
                self._counts[measure.name] = _added(before, owner[holds])
            elif measure.function == FIRST:
                self._see_first(measure.name, found, owner)
            else:
                self._see_numbers(measure.of, found, owner)

    def _see_first(self, name: str, values: pl.Series, owner: NDArray[np.integer]) -> None:
        known = self._first.setdefault(name, {})
        frame = pl.DataFrame({"owner": owner, "value": values}).drop_nulls()
        for code, value in frame.unique("owner", keep="first", maintain_order=True).iter_rows():
            known.setdefault(code, value)

    def _see_numbers(self, of: str, values: pl.Series, owner: NDArray[np.integer]) -> None:
        there = (values.is_not_null() & values.is_finite()).fill_null(False).to_numpy()
        numbers = values.to_numpy()[there].astype(np.float64)
        self._sequences.setdefault(of, []).append(owner[there].astype(np.int32))
        self._numbers.setdefault(of, []).append(numbers)

    def settle(self, codes: Sequence[int]) -> None:
        """No more rows of these sequences will come: their single numbers can be forgotten."""
        size = max([*codes, len(self._done) - 1]) + 1
        self._done = np.pad(self._done, (0, size - len(self._done)))
        self._done[codes] = True
        for of, parts in self._sequences.items():
            owner, value = np.concatenate(parts), np.concatenate(self._numbers[of])
            done = np.append(self._done, np.zeros(1, np.bool_))[np.minimum(owner, size)]
            mine = _lists(owner[done], value[done])
            for measure in self.measures:
                if measure.of == of and measure.function in _OF_NUMBERS:
                    found = mine.select("owner", _OF_NUMBERS[measure.function])
                    self._settled.setdefault(measure.name, []).append(found)
            self._sequences[of], self._numbers[of] = [owner[~done]], [value[~done]]

    def table(self, codes: Sequence[int]) -> pl.DataFrame:
        """``missed`` and every measure of these sequences; null where nothing is known."""
        size = len(self._rows)
        rows = np.maximum(self._rows, 1)
        columns = {"missed": pl.Series(_whole(self._missed, size) / rows)}
        for measure in self.measures:
            if measure.function in CONDITIONS:
                counts = _whole(self._counts.get(measure.name, np.zeros(0, np.int64)), size)
                share = measure.function == "share"
                columns[measure.name] = pl.Series(counts / rows if share else counts.astype(float))
            elif measure.function == FIRST:
                known: Mapping[int, str] = self._first.get(measure.name, {})
                values = [known.get(code) for code in range(size)]
                columns[measure.name] = pl.Series(values, dtype=pl.String)
            else:
                columns[measure.name] = self._aggregated(measure, size)
        return pl.DataFrame(columns)[list(codes)]

    def _aggregated(self, measure: LearnerMeasure, size: int) -> pl.Series:
        parts = self._sequences.get(measure.of, [])
        if not parts:
            return pl.Series([None] * size, dtype=pl.Float64)
        rest = _lists(np.concatenate(parts), np.concatenate(self._numbers[measure.of]))
        settled = self._settled.get(measure.name, [])
        found = pl.concat([*settled, rest.select("owner", _OF_NUMBERS[measure.function])])
        every = pl.DataFrame({"owner": np.arange(size)})
        return every.join(found, on="owner", how="left", maintain_order="left")["value"]


def _lists(owner: NDArray[np.integer], value: NDArray[np.float64]) -> pl.DataFrame:
    """The numbers of every sequence as a list, in the order of the rows."""
    frame = pl.DataFrame({"owner": owner.astype(np.int64), "value": value})
    return frame.group_by("owner", maintain_order=True).agg("value")


def _added(counts: Ints, codes: NDArray[np.integer]) -> Ints:
    """The counts, with one more for every code."""
    more = np.bincount(codes, minlength=len(counts)).astype(np.int64)
    more[: len(counts)] += counts
    return more


def _whole(counts: Ints, size: int) -> Ints:
    return np.pad(counts, (0, size - len(counts)))


# What excluding learners changes, in words.


def differ(shares: pl.DataFrame) -> bool:
    """Whether any share, in whole per cent, is another one among all learners."""
    sides = [_by_model(shares, who) for who in ("included", "all")]
    pairs = {*sides[0], *sides[1]}
    return any(len({f"{side.get(pair) or 0.0:z.0%}" for side in sides}) > 1 for pair in pairs)


def sentence(n: int, n_excluded: int, counts: Mapping[str, int], shares: pl.DataFrame) -> str:
    """How many were excluded, why, and whether another model leads among all learners.

    >>> columns = ["among", "criterion", "model", "learners", "share"]
    >>> rows = [("included", "aic", "A", 2, 1.0), ("all", "aic", "A", 2, 2 / 3)]
    >>> shares = pl.DataFrame(rows, schema=columns, orient="row")
    >>> sentence(3, 1, {"learners excluded (trials < 9)": 1}, shares)
    '1 of 3 learners is excluded (trials < 9). The leading model is the same among all: aic A.'
    """
    unit = "sequences" if any(name.startswith("sequences") for name in counts) else "learners"
    reasons = {name.partition("(")[2][:-1]: count for name, count in reasons_of(counts).items()}
    if not n_excluded:
        return f"None of the {n:,} {unit} is excluded ({'; '.join(reasons)})."
    several = len(reasons) > 1
    why = "; ".join(f"{text}: {count:,}" if several else text for text, count in reasons.items())
    start = f"{n_excluded:,} of {n:,} {unit} {'is' if n_excluded == 1 else 'are'} excluded ({why})."
    lead = {who: leaders(shares, who) for who in ("included", "all")}
    changed = [c for c in lead["included"] if lead["included"][c] != lead["all"][c]]
    if not changed:
        same = ", ".join(f"{c} {' and '.join(names)}" for c, names in lead["included"].items())
        return f"{start} The leading model is the same among all: {same}."
    told = "; ".join(
        f"by {c} {' and '.join(lead['included'][c])} leads, and among all "
        f"{' and '.join(lead['all'][c])}"
        for c in changed
    )
    return f"{start} The answer depends on them: {told}."


def reasons_of(counts: Mapping[str, int]) -> dict[str, int]:
    """What a study's counts say about excluded learners."""
    starts = ("learners excluded (", "sequences excluded (")
    return {name: count for name, count in counts.items() if name.startswith(starts)}


def leaders(shares: pl.DataFrame, who: str) -> dict[str, list[str]]:
    """By criterion the models that most learners are given."""
    mine = shares.filter(pl.col("among") == who)
    top = pl.col("learners") == pl.col("learners").max().over("criterion")
    found: dict[str, list[str]] = {}
    for criterion, model in mine.filter(top).select("criterion", "model").iter_rows():
        found.setdefault(criterion, []).append(model)
    return {criterion: sorted(models) for criterion, models in found.items()}


def _by_model(shares: pl.DataFrame, who: str) -> dict[tuple[str, str], float]:
    rows = shares.filter(pl.col("among") == who).select("criterion", "model", "share")
    return {(criterion, model): share for criterion, model, share in rows.iter_rows()}
