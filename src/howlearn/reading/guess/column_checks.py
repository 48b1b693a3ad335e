"""Looking at columns together: which rows, the same values, choices that follow rewards."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.expression_grammar import OWNER
from howlearn.core.expressions import derive
from howlearn.core.text import few, shortened
from howlearn.reading.columns import VALUES
from howlearn.reading.guess.draft import Draft, in_expression, typed
from howlearn.reading.guess.sample import Sample, scaled, together
from howlearn.reading.rewards import BAD_WORDS, GOOD_WORDS, worth_of


def materialise(draft: Draft, option: str, text: str) -> None:
    """Compute an expression, so that its values can be looked at like a column's."""
    columns = draft.sample.columns
    derived = derive(text, f"--{option.replace('_', '-')}", [*columns])
    who, file = draft.column("learner"), pl.Series(draft.sample.file).cast(pl.String)
    owner = file if who is None or who in draft.computed else columns[who].per_row()
    labels = pl.DataFrame([columns[name].per_row().alias(name) for name in derived.columns])
    labels = labels.with_columns(owner.alias(OWNER))
    words = ("0", "1") if option == "reward" else ("no", "yes")
    draft.sample = draft.sample.having(text, derived.values(labels, words))
    draft.computed.add(text)


def repeats(sample: Sample, column: str) -> bool:
    """Whether a column has values for most rows, and each for several of them."""
    counts = sample.counts(column)
    total = sum(counts.values())
    return bool(counts) and 2 * total > sample.height and (2 * len(counts) <= total or total < 4)


def sparse(draft: Draft, columns: Sequence[str]) -> frozenset[str]:
    """Those of the columns with less than half as many values for choices as the fullest one."""
    told = {c: int(np.sum(~draft.sample.missing(c) & draft.chosen)) for c in columns}
    most = max(told.values(), default=0)
    return frozenset(c for c, times in told.items() if 2 * times < most)


def with_reward(draft: Draft) -> Sample:
    """The rows with a reward, if it is known which they are."""
    reward = draft.column("reward")
    if reward is None or draft.sample.columns[reward].missing().all():
        return draft.sample
    return draft.sample.only(~draft.sample.columns[reward].missing())


def share(mask: np.ndarray) -> float:
    """How many of these are true; 0 where there are none at all."""
    return float(mask.mean()) if len(mask) else 0.0


def over_all(sample: Sample, part: np.ndarray) -> np.ndarray:
    """A mask over the rows that are looked at as one over all rows."""
    rows = np.zeros(len(sample.rows), dtype=np.bool_)
    rows[np.flatnonzero(sample.rows)[part]] = True
    return rows


def rows_among(draft: Draft, rows: Sample) -> np.ndarray:
    """Which of the draft's rows are among these."""
    return rows.rows[draft.sample.rows]


def tell_the_same(sample: Sample, one: str, other: str) -> bool:
    """Whether two columns tell the same."""
    pairs = together(sample.codes(one), sample.codes(other))
    sizes = {len(np.unique(sample.codes(name))) for name in (one, other)}
    return sizes == {int(pairs.max(initial=-1)) + 1}


def follows(draft: Draft, rows: Sample, column: str) -> float:
    """How much likelier a value is at least repeated after a reward: learned choices are."""
    reward = draft.column("reward")
    if reward is None:
        return 0.0
    inside = rows_among(draft, rows)
    seen = [*draft.columns("context")] or [c for c in draft.shown() if repeats(rows, c)][:1]
    owner = together(draft.learners()[inside], *(rows.codes(c) for c in seen))
    order = np.argsort(owner, kind="stable")
    worth = worth_in(rows, reward)[order]
    same = np.diff(owner[order]) == 0
    stays = (np.diff(rows.codes(column)[order]) == 0)[same]
    good = (worth[:-1] > np.nanmean(worth))[same] if len(worth) else np.empty(0, np.bool_)
    if not good.any() or good.all():
        return 0.0
    after, without = stays[good], stays[~good]
    gap, often = after.mean() - without.mean(), stays.mean()
    error = np.sqrt(often * (1 - often) * (1 / len(after) + 1 / len(without)))
    return float(np.sign(gap) * max(0.0, abs(gap) - (2 if gap > 0 else 4) * error))


def worth_in(rows: Sample, reward: str) -> np.ndarray:
    """Rewards as numbers up to a factor, whether the column has numbers or words."""
    numbers = rows.numbers(reward)
    if np.isnan(numbers).all():
        numbers = worth_of(rows.columns[reward].labels)[rows.codes(reward)]
    return scaled(np.nan_to_num(numbers))


def comes_back(draft: Draft, rows: Sample, columns: tuple[str, ...]) -> bool:
    """Whether combinations are met more than once by a learner."""
    owner = draft.learners()[rows_among(draft, rows)]
    met = int(together(owner, *(rows.codes(c) for c in columns)).max(initial=-1)) + 1
    return met * 2 <= rows.height


def are_among(rows: Sample, column: str, labels: set[str]) -> bool:
    """Whether a column has several of these labels, and no others."""
    counts = rows.counts(column)
    return len(counts) > 1 and {*counts} <= labels


MOST_SCREENS, LONGEST_SCREEN = 24, 2_000


def are_places(rows: Sample, column: str, action: str) -> bool:
    """Whether a column shows always the same things, all that can be chosen, in other places."""
    values, made = rows.counts(column), {value.lower() for value in rows.counts(action)}
    if not 2 <= len(values) <= MOST_SCREENS or max(map(len, values)) > LONGEST_SCREEN:
        return False
    words = {tuple(sorted(re.findall(r"[^\W_]+", value.lower()))) for value in values}
    return len(words) == 1 and len(made) > 1 and made <= {*next(iter(words))}


# What values look like: keys, words for right and wrong, codes for nothing, counters.


FEW_VALUES = 1_000  # of a column, that are worth being sorted
NOTHING_NUMBERS = ("-1", "-9", "-99", "-999", "-9999", "9999", "999", "99")
PRACTICE = re.compile(
    r"(practi[cs]e|prac|demo|demonstration|instruction|warm.?up|example|tutorial|exercise|"
    r"familiari[sz]ation|comprehension|quiz)(s|_?trials?|_?block|_?phase|[ _-]?[0-9]+)*|"
    r"(practi[cs]e|instruct|demo|tutorial).*|prac(proc|list|trials?|block|run|loop).*|"
    r".*[ _-](practi[cs]e|instructions?|demo)|"
    # in other languages, with whatever follows, such as the word for block
    r"([üu]e?bung|probe(durchg|versuch|aufg|lauf)|einübung|anleitung|oefen|uitleg|"
    r"pr[aá]c?tica|pratique|familiarisation|consigne|instru[cçk]|istruzion|exempl[eo]|ejemplo|"
    r"ćwicz|övning|øvelse|al[ıi]şt[ıi]rma|практи|инструк|练习|練習|연습|说明|教示).*"
)
_TRAINED = (
    "train|entra[iî]nement|entrenamiento|treino|treinamento|addestramento|allenamento|trening|träning"
    "|тренировк[аи]|тренировочн..|训练|訓練|훈련"
)
TRAINING = re.compile(rf"({_TRAINED})(ing)?([ _-]?[0-9]+)?")
TESTING = re.compile(
    r"(.*[ _-])?(teste?|transfer[et]?|transferencia|prueba|prova|generali[sz]ation|тест|测试|"
    r"テスト|시험)(ing)?(proc|list|block|phase|trials?|[0-9]+)?([ _-].*)?"
)
_SIDES = "|".join(VALUES["keys"])
_KEYS = re.compile(
    r"[a-z0-9]|key[a-z]|digit[0-9]|arrow_?(left|right|up|down)|"
    rf"({_SIDES})([ _-]?arrow|[ _-]?button)?|space|num_?[0-9]|\[?'[a-z0-9]+'\]?"
)


AT_A_TIME, MOST_PARTS = 3, 30  # rows of practice, at least; values
MOST_TRAINED = 0.2  # of the rows: more training than that is what was learned from


def has_practice_at_a_time(sample: Sample, column: str) -> bool:
    """Whether a column, whatever its name, calls several rows at a time practice."""
    counts = sample.counts(column)
    few = [v.lower() for v in counts] if len(counts) <= MOST_PARTS else []
    values = [v for v in counts if v.lower() in few and PRACTICE.fullmatch(v.lower())]
    trained = [v for v in counts if v.lower() in few and TRAINING.fullmatch(v.lower())]
    if 0 < sum(counts[v] for v in trained) < MOST_TRAINED * sum(counts.values()):
        values += trained  # before much longer parts
    here = np.isin(sample.texts(column), values) if values else np.zeros(1, np.bool_)
    return here.sum() >= AT_A_TIME * max(1, np.sum(here & ~np.roll(here, 1)))


def is_number(value: str) -> bool:
    """Whether a value is a finite number."""
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


LONGEST_LABEL = 200
_FILE = re.compile(r"(?:.*[/\\])?([^/\\]+)\.(?:png|jpe?g|gif|bmp|svg|webp|tiff?|wav|mp[34])", re.I)


def bare(label: str) -> str:
    """A label without the folder and the kind of a picture or sound.

    >>> bare("img/green.png"), bare("green"), bare("0.5")
    ('green', 'green', '0.5')
    """
    found = _FILE.fullmatch(label[:LONGEST_LABEL]) if "." in label else None
    return found[1] if found else label


def is_key(value: str) -> bool:
    """Whether a value looks like a key or a side.

    >>> [is_key(value) for value in ("f", "ArrowLeft", "left", "2", "square")]
    [True, True, True, True, False]
    """
    return _KEYS.fullmatch(value.lower()) is not None


def are_shares(*values: str) -> bool:
    """Whether these are numbers that are not whole: no names of things."""
    return all(map(is_number, values)) and not all(float(v).is_integer() for v in values)


def first_word(one: str, other: str) -> str:
    """What the first of two names has and the other has not."""
    words = re.findall(r"[a-z]+|[0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", one).lower())
    against = re.findall(r"[a-z]+|[0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", other).lower())
    return next((word for word in words if word not in against), "")


def are_words(values: Iterable[str]) -> bool:
    """Whether all values are words for right and wrong."""
    return {value.lower() for value in values} <= {*GOOD_WORDS, *BAD_WORDS}


def nothing_in(counts: Mapping[str, int]) -> tuple[str, ...]:
    """The values of a column of choices that seem to mean that there was none.

    >>> nothing_in({"1": 50, "2": 40, "-1": 3}), nothing_in({"left": 9, "right": 7, "timeout": 1})
    (('-1',), ('timeout',))
    >>> nothing_in({"-1": 50, "1": 40}), nothing_in({"0": 9, "1": 8, "99": 1})
    ((), ('99',))
    """
    words = ("", *VALUES["nothing"])  # of dashes nothing is left
    plain = {value: re.sub(r"[\s_-]+", "", value.lower()) for value in counts}
    found = [v for v, w in plain.items() if w in words or w.startswith(VALUES["nothing_began"])]
    rest = [value for value in counts if value not in found]
    words = [value for value in rest if not is_number(value)]
    if len(words) > 1:  # 99 or 0 among words
        found += [value for value in rest if value in (*NOTHING_NUMBERS, "0")]
    if len(rest) > 2 and all(is_number(value) for value in rest):
        numbers = {value: float(value) for value in rest}
        for value in NOTHING_NUMBERS:
            others = [number for other, number in numbers.items() if other != value]
            outside = value in numbers and not _within(numbers[value], others)
            if outside and counts[value] < max(counts.values()):
                found.append(value)
    return tuple(found) if len(found) < len(counts) - 1 else ()


def _within(number: float, others: list[float]) -> bool:
    """Whether a number could be one of the others: near them, and not of another sign."""
    low, high = min(others), max(others)
    step = 1 if number > high else 0  # 1, 2, 3 may go on with 4; below 0 there is nothing
    return low <= number <= high + step or (number < 0 and low < 0)


def runs_within(owner: NDArray[np.integer], codes: NDArray[np.integer]) -> tuple[float, bool]:
    """The mean length of runs of one value within owners; whether each value has one run only."""
    if not len(codes):
        return 0.0, False
    order = np.argsort(owner, kind="stable")
    owner, codes = owner[order], codes[order]
    pairs = together(owner, codes)
    runs = 1 + int(np.count_nonzero(pairs[1:] != pairs[:-1]))
    different = int(pairs.max()) + 1
    return len(codes) / runs, runs <= 1.05 * different


def resembles_last(owner: NDArray[np.integer], numbers: NDArray[np.float64]) -> float:
    """How far numbers are like those of the trial before: their correlation within learners."""
    order = np.argsort(owner, kind="stable")
    near = np.diff(owner[order]) == 0
    first, second = numbers[order][:-1][near], numbers[order][1:][near]
    if len(first) < FEWEST_TOLD or np.ptp(first) == 0 or np.ptp(second) == 0:
        return 1.0
    return float(np.corrcoef(scaled(first), scaled(second))[0, 1])


def same_values(draft: Draft, action: str) -> None:
    """What turned out to be right may stand under any name, in the words of the choices."""
    counts = draft.sample.counts(action)
    for column in draft.free:
        same = {*draft.sample.counts(column)} == {*counts} and not all(map(is_number, counts))
        if same and not tell_the_same(draft.sample, column, action):
            names = draft.written(action), in_expression(column)
            draft.odd(
                f"{column} has the same values as {action}; is it what turned out to be right?",
                f"--reward {typed(f'{names[0]} == {names[1]}')} if so",
            )


def says_the_place(draft: Draft, column: str, action: str) -> bool:
    """Whether a column says which of the options on offer was chosen: the choice once more."""
    if action not in draft.one_of:
        return False
    made, rows = draft.sample.texts(action), ~draft.sample.missing(column)
    places = [(draft.sample.texts(c) == made).astype(np.intp)[rows] for c in draft.on_offer]
    return constant_within(together(*places), draft.sample.codes(column)[rows])


def constant_within(owner: NDArray[np.integer], codes: NDArray[np.integer]) -> bool:
    """Whether each owner has one value only.

    >>> constant_within(np.array([0, 0, 1]), np.array([5, 5, 5]))
    True
    """
    return int(together(owner, codes).max(initial=-1)) == int(together(owner).max(initial=-1))


def unique_within(owner: NDArray[np.integer], codes: NDArray[np.integer]) -> bool:
    """Whether no owner has a value twice."""
    return int(together(owner, codes).max(initial=-1)) + 1 == len(codes)


def examples(sample: Sample, name: str, most: int = 4) -> str:
    """Some values of a column, as it is printed.

    Long ones are cut, and control characters are not shown as they are.
    """
    counts = sample.counts(name)
    if not counts:
        return "(empty)"
    values = list(counts)
    if len(values) <= FEW_VALUES and all(is_number(value) for value in values):
        values.sort(key=float)
    return few([*map(_short, values)], most, ", … ({all:,} values)")


def _short(value: str) -> str:
    if is_number(value) and len(value) > 8:
        value = f"{float(value):.4g}"
    plain = "".join(c if c.isprintable() else " " for c in value)
    return shortened(plain, 24)


FEWEST_TOLD, COPIED = 20, 0.98  # trials; of them


def derived_from_trials(draft: Draft) -> set[str]:
    """What the choice or the outcome was computed from, and copies of those of the last trial."""
    sample, found = draft.sample, set[str]()
    order = np.argsort(draft.learners(), kind="stable")
    near = np.diff(draft.learners()[order]) == 0
    for role in ("action", "reward"):
        made = draft.column(role)
        if made is None:
            continue
        if made in draft.computed:
            known = [c for c in sample.columns if c not in draft.computed]
            found |= {*derive(made, f"--{role}", known).columns}
        before, values = sample.texts(made)[order][:-1][near], {*sample.counts(made)}
        for column in draft.free:
            if len(mine := sample.counts(column)) > 1 and {*mine} <= values:
                now = sample.texts(column)[order][1:][near]
                told = ~sample.missing(column)[order][1:][near]
                if told.sum() >= FEWEST_TOLD and np.mean(now[told] == before[told]) >= COPIED:
                    found.add(column)
    return found
