"""How choices and rewards are coded: what means nothing, and what becomes 0 to 1."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import combinations
from operator import eq

import numpy as np

from howlearn.core.options import NONE
from howlearn.core.study import SHORTEST
from howlearn.core.text import few
from howlearn.reading.columns import (
    PART_WORDS,
    VALUES,
    is_answer,
    is_feature,
    is_numbered,
    is_practice,
    is_rt,
    is_time,
)
from howlearn.reading.guess.column_checks import (
    NOTHING_NUMBERS,
    are_words,
    constant_within,
    is_number,
    nothing_in,
    over_all,
    sparse,
    tell_the_same,
)
from howlearn.reading.guess.draft import BY_CONTENT, BY_NAME, SAID, Draft, Guess, add_missing
from howlearn.reading.guess.sample import together
from howlearn.reading.labels import natural_key, split_names

# Rewards that are written for people: amounts with a unit, and words for success and failure.


MOST_VALUES = 101  # that are recoded one by one: 0% to 100%
_GOOD = {*VALUES["good"], *VALUES["success"]}
_BAD = {*VALUES["bad"], *VALUES["failure"]}
_BETWEEN = {*"neutral nothing zero nogain nothingwon niente nada nichts niets".split()}
_GAINED = {*"win won wins earn earned earns gain gained get got receive received".split()}
_GAINS = (_GOOD | _GAINED) - {"right"}  # which is a side, too
_LETTERS = {"".join(sorted(pair)): pair[0] for pair in VALUES["letters"]}
_AMOUNT = re.compile(
    r"([-+−]?)\s*([$€£¥]?)\s*([-+−]?)\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*"
    r"(%|€|\$|£|¥|[a-z]{1,7})?\.?",
    re.IGNORECASE,
)


SIGNS = ({"+", "-"}, {"+", "−"}, {"+", "–"})


def without_nothing(values: Iterable[str]) -> list[str]:
    """The values but for those that mean that there was no outcome.

    >>> without_nothing(["Correct", "Too slow", "Incorrect"])
    ['Correct', 'Incorrect']
    """
    return [
        value
        for value in values
        if (value not in NOTHING_NUMBERS and is_number(value))  # of which there may be thousands
        or not nothing_in({value: 1, "1": 2, "0": 2})
    ]


def worth(values: Iterable[str]) -> Mapping[str, str] | None:
    """What each value is as a number, where it is none itself; None if it cannot be told.

    >>> worth(["right", "wrong"]), worth(["$0.50", "$0.00"]), worth(["96%", "5%"])
    ({'right': '1', 'wrong': '0'}, {'$0.50': '0.5', '$0.00': '0'}, {'96%': '0.96', '5%': '0.05'})
    >>> worth(["+", "-"])
    {'+': '1', '-': '0'}
    >>> worth(["5 ct", "1 €"]), worth(["left", "right"]), worth(["0", "1"])
    (None, None, None)
    >>> worth(["win", "nothing", "loss"]), worth(["You win 10 p", "You win 0 p"])
    ({'win': '1', 'nothing': '0', 'loss': '-1'}, {'You win 10 p': '10', 'You win 0 p': '0'})
    """
    values = [*values]
    if {*values} in SIGNS:  # alone, a dash means nothing
        return {value: "1" if value == "+" else "0" for value in values}
    rest = without_nothing(values)
    if len(rest) < 2 <= len(values):  # of hit and miss the one is no missed trial
        rest = values
    if not 2 <= len(rest) <= MOST_VALUES or any("," in value for value in rest):
        return None
    if are_words(rest) or all(is_number(value) for value in rest):
        return None
    words = _telling_words(rest)
    if "".join(sorted(words.values())) in _LETTERS and len(rest) == 2:
        good_letter = _LETTERS["".join(sorted(words.values()))]
        return {value: "1" if words[value] == good_letter else "0" for value in rest}
    good = [value for value in rest if words[value] in _GOOD]
    bad = [value for value in rest if words[value] in _BAD]
    if good and bad and len(good) + len(bad) == len(rest):
        between = [value for value in bad if words[value] in _BETWEEN]
        if len(rest) == 3 and len(between) == 1:  # win, nothing, loss
            return {v: "1" if v in good else "0" if v in between else "-1" for v in rest}
        return {value: "1" if value in good else "0" for value in rest}
    between = [value for value in bad if words[value] in _BETWEEN]
    if len(bad) == len(rest) == 2 and len(between) == 1:  # nothing is better than a loss
        return {value: "0" if value in between else "-1" for value in rest}
    return _amounts(rest) or _in_sentences(rest) or _won_and_lost(rest)


def _telling_words(values: list[str]) -> dict[str, str]:
    """Values without case and punctuation, and without the words that all of them share.

    >>> _telling_words(["fb_win.png", "fb_loss.png"])
    {'fb_win.png': 'win', 'fb_loss.png': 'loss'}
    """
    words = {value: re.split(r"[\s_.!:/-]+", value.lower()) for value in values}
    shared = set.intersection(*({*each} for each in words.values()))
    return {value: "".join(w for w in each if w not in shared) for value, each in words.items()}


def _in_sentences(values: list[str]) -> Mapping[str, str] | None:
    """Amounts in sentences that are alike but for the number: You win 10 points."""
    numbers = {value: re.findall(r"[-+−]?[0-9]+(?:\.[0-9]+)?", value) for value in values}
    rests = {re.sub(r"[0-9.+−-]+", "#", value.lower()) for value in values}
    if len(rests) > 1 or any(len(found) != 1 for found in numbers.values()):
        return None
    if not {*re.findall(r"[a-z]+", rests.pop())} & _GAINED:
        return None
    return {value: f"{float(found[0].replace('−', '-')):.12g}" for value, found in numbers.items()}


def _won_and_lost(values: list[str]) -> Mapping[str, str] | None:
    """Amounts with a word that tells a gain from a loss.

    >>> _won_and_lost(["win 10 p", "loss 5 p", "nothing"]), _won_and_lost(["left 1", "right 2"])
    ({'win 10 p': '10', 'loss 5 p': '-5', 'nothing': '0'}, None)
    """
    numbers: dict[str, str] = {}
    for value in values:
        words = {*re.split(r"[\s_.!:/+−-]+", value.lower())}
        amounts = re.findall(r"[0-9]+(?:\.[0-9]+)?", value)
        good, bad = bool(words & _GAINS), bool(words & _BAD - _BETWEEN)
        if words & _BETWEEN and not amounts:
            numbers[value] = "0"
        elif len(amounts) == 1 and good != bad:
            numbers[value] = f"{float(amounts[0]) * (1 if good else -1):.12g}"
        else:
            return None
    return numbers if max(map(float, numbers.values())) > 0 else None


def _amounts(values: list[str]) -> Mapping[str, str] | None:
    """Amounts as numbers, if all that are more than a number have the same unit."""
    found = {value: _AMOUNT.fullmatch(value.strip()) for value in values}
    units: set[str] = set()
    numbers: dict[str, str] = {}
    for value, match in found.items():
        if match is None:
            return None
        sign, before, inner, number, after = match.groups()
        unit = (before or after or "").lower().rstrip("s")
        units |= {unit} if unit or float(number) else set()  # 0 is 0 in any unit
        amount = float(number) / (100 if unit == "%" else 1)
        minus = {sign, inner} & {"-", "−"} and amount
        numbers[value] = f"{-amount if minus else amount:.12g}"
    return numbers if len(units) == 1 else None


FEW = 0.05  # of the rewards: fewer are mistakes or codes, more are points
MOST_CODES = 12


def find_words(draft: Draft) -> None:
    """Rewards that are amounts with a unit, or words; what means that there was none."""
    reward = draft.column("reward")
    if reward is None or draft.given.recode:
        return
    counts = draft.sample.counts(reward)
    values, rest = worth(counts), without_nothing(counts)
    name = reward if "reward" in draft.sample.columns else "reward"
    understood = len(rest) > 1 and are_words(rest)
    if values is not None and draft.open("recode") and ":" not in name:
        pairs = ",".join(f"{old}={new}" for old, new in values.items())
        shown = few([f"{old} is {new}" for old, new in values.items()], 4)
        draft.put("recode", (f"{name}:{pairs}",), BY_CONTENT, f"rewards as numbers: {shown}")
        draft.sample = draft.sample.recoded(reward, values)
        understood = True
    if third := draft.thirds.pop(reward, ""):
        why = f"no outcome, as nothing was chosen: {third}"
        add_missing(draft, "reward", reward, (third,), why)
    known = {*rest, *(values or {})}
    nothing = tuple(v for v in counts if v not in known and not is_number(v))
    if understood and nothing and not any("," in v or ":" in v for v in nothing):
        times = ", ".join(f"{v} ({counts[v]:,} rows)" for v in nothing)
        add_missing(draft, "reward", reward, nothing, f"no outcome: {times}")


def find_reward_coding(draft: Draft) -> None:
    """Rewards that are not between 0 and 1: signs, points, or a few values that are wrong."""
    reward = draft.column("reward")
    told = draft.given.recode or draft.given.reward_range or draft.given.reward_scale
    if reward is None or told or (draft.task is not None and draft.task.reward_range != (0, 1)):
        return
    rows = np.zeros(len(draft.sample.rows), dtype=np.bool_)
    rows[np.flatnonzero(draft.sample.rows)[draft.chosen]] = True
    counts = draft.sample.only(rows).counts(reward)
    if are_words(counts):
        return
    words = tuple(value for value in counts if not is_number(value))
    if words and len(words) <= MOST_CODES and not any("," in w or ":" in w for w in words):
        times = sum(counts[word] for word in words)
        if times < 0.5 * sum(counts.values()):
            shown = ", ".join(words[:3])
            add_missing(draft, "reward", reward, words, f"no reward: {shown} ({times:,} rows)")
            counts = {value: n for value, n in counts.items() if value not in words}
    if not counts or not all(is_number(value) for value in counts):
        return
    numbers = {value: float(value) for value in counts}
    if 0 <= min(numbers.values()) <= max(numbers.values()) <= 1:
        return
    if not _few_odd(draft, reward, counts, numbers):
        _signs_or_points(draft, reward, numbers)


def _few_odd(draft: Draft, reward: str, counts: dict[str, int], numbers: dict[str, float]) -> bool:
    """A few other numbers among many 0 and 1."""
    odd = tuple(value for value, number in numbers.items() if number not in (0.0, 1.0))
    times = sum(counts[value] for value in odd)
    usual = {0.0, 1.0} <= {*numbers.values()}
    if (
        not usual
        or NONE in draft.given.missing
        or times > FEW * sum(counts.values())
        or len(odd) > MOST_CODES
    ):
        return False
    shown = ", ".join(sorted(odd, key=float))
    low, high = min(numbers.values()), max(numbers.values())
    helps = f"--reward-range {low:g},{high:g} would take them as recorded"
    why = f"{shown} among 0 and 1 in {times:,} rows: taken as no reward; {helps}"
    add_missing(draft, "reward", reward, odd, why)
    draft.odd(
        f"{reward} is 0 or 1, but for {times:,} rows with {shown}: these are taken as missing, "
        f"so nothing is learned there",
        helps,
    )
    return True


def _signs_or_points(draft: Draft, reward: str, numbers: dict[str, float]) -> None:
    values = {*numbers.values()}
    name = reward if "reward" in draft.sample.columns or ":" in reward else "reward"
    if values <= {-1.0, 1.0} and ":" not in name and draft.open("recode"):
        why = (
            "rewards are -1 and 1: -1 becomes 0, and errors then teach a gain-form rule nothing; "
            "reward_range = [-1, 1] instead takes them as recorded"
        )
        pairs = ",".join(f"{v}={0 if numbers[v] < 0 else 1}" for v in sorted(numbers, key=float))
        draft.put("recode", (f"{name}:{pairs}",), BY_CONTENT, why)
        return
    low, high = min(0.0, *values) if len(values) != 2 else min(values), max(values)
    if low >= high:
        low, high = (low, 0.0) if low < 0 else (0.0, 1.0)
    why = (
        f"rewards from {low:.15g} to {high:.15g} become 0 to 1; reward_range = [{low:.15g}, "
        f"{high:.15g}] instead takes them as recorded, where rates are per point"
    )
    draft.put("reward_scale", (low, high), BY_CONTENT, why)
    if values == {1.0, 2.0}:  # either may be the success; nothing but a codebook tells
        bad, good = sorted(numbers, key=float)
        draft.odd(
            f"{reward} is 1 or 2, and 2 is taken as the success",
            f"--recode {name}:{bad}=1,{good}=0 reverses it",
        )


# Features of contexts, reaction times, and learners that are too short.


def find_features(draft: Draft) -> None:
    """Columns with the names of features that are the same wherever a context is shown."""
    context = draft.contexts()
    if context is None or not draft.open("features") or draft.task is not None:
        return
    rows = draft.chosen
    found = tuple(
        column
        for column in draft.free
        if (is_feature(column) or is_numbered(column)) and describes(draft, column, rows, context)
    )
    if found:
        draft.put("features", found, BY_NAME, "they describe the context: each gives candidates")


MANY_NAMES = 100
MOST_PARTS, MOST_OF_A_PART, MOST_DIGITS = 6, 12, 3


def find_parts(draft: Draft) -> None:
    """Contexts whose names are made of parts, such as white-square-large: the parts are features.

    Where two columns tell the same, the one with such names is the context.
    """
    shown = draft.column("context")
    if shown is None or not draft.open("features") or draft.task is not None:
        return
    rows = draft.sample.only(over_all(draft.sample, draft.chosen))
    alike = [c for c in draft.free if tell_the_same(rows, c, shown)]
    said = draft.guesses["context"].how == SAID
    for column in (shown,) if said else (shown, *alike):
        names = sorted(rows.counts(column), key=natural_key)
        parts = split_names(names) if 4 <= len(names) <= MANY_NAMES else None
        if parts is None or not _is_product(parts):
            continue
        if all(len(part) == 1 for each in parts for part in each) and _are_spoken(names):
            continue
        called = _called(parts, draft.sample.columns)
        places = zip(called, zip(*parts, strict=True), strict=True)
        words = [f"{name} ({few(sorted({*each}), 3)})" for name, each in places]
        if column != shown:
            why = f"it has the same information as {shown}, in names that are made of parts"
            draft.guesses["context"] = Guess("context", (column,), BY_CONTENT, why, (shown,))
        draft.put("features", called, BY_CONTENT, f"the parts of its names: {', '.join(words)}")
        draft.odd(
            f"the names of the contexts are split into features: {', '.join(words)}",
            "--features none keeps them whole",
        )
        return


_VOWELS, _FEW_LETTERS, _PICTOGRAMS = {*"aeiouyäöüáéíóúàèìòùâêîôûåøæ"}, 4, "\u2e80"


def _are_spoken(names: Sequence[str]) -> bool:
    """Whether names are words, or could be, so that their letters mean nothing by themselves.

    >>> [_are_spoken(names) for names in (["bad", "cat"], ["fup", "gep"], ["aba", "abb"], ["A1"])]
    [True, True, False, False]
    """
    letters = {letter for name in names for letter in name.lower()}
    if not all(map(str.isalpha, names)) or len(letters) < _FEW_LETTERS:
        return False
    if min(letters) >= _PICTOGRAMS:
        return True
    each = [{*name.lower()} for name in names]
    return min(map(len, names)) > 2 and all(one & _VOWELS and one - _VOWELS for one in each)


def _is_product(parts: Sequence[tuple[str, ...]]) -> bool:
    """Whether at least half of all combinations of parts are there, each once."""
    sizes = [len({*each}) for each in zip(*parts, strict=True)]
    digits = all(len(part) == 1 and part.isdigit() for each in parts for part in each)
    most = MOST_DIGITS if digits else MOST_OF_A_PART  # else they count the contexts
    whole = int(np.prod(sizes))
    distinct = len({*parts}) == len(parts)
    for one, other in combinations(zip(*parts, strict=True), 2):
        if {*one} & {*other} and not any(map(eq, one, other)):
            return False  # pairs of things, never the same one twice
    return distinct and len(sizes) <= MOST_PARTS and max(sizes) <= most and 2 * len(parts) >= whole


def _called(parts: Sequence[tuple[str, ...]], taken: Container[str]) -> tuple[str, ...]:
    """A name for each part: by its values where they are known words."""
    found = []
    for each in zip(*parts, strict=True):
        words = {word.lower() for word in each}
        found.append(next((name for name, known in PART_WORDS.items() if words <= known), ""))
    clear = [bool(name) and name not in taken and found.count(name) == 1 for name in found]
    return tuple(
        name if own else f"part{i}"
        for i, (name, own) in enumerate(zip(found, clear, strict=True), start=1)
    )


def describes(draft: Draft, column: str, rows: np.ndarray, context: np.ndarray) -> bool:
    """Whether a column is a function of the context, and coarser than it."""
    sample = draft.sample
    if is_answer(column) or is_time(column) or sample.missing(column)[rows].any():
        return False
    codes = sample.codes(column)[rows]
    different = len(np.unique(codes))
    if not 2 <= different < len(np.unique(context[rows])):
        return False
    return constant_within(context[rows], codes)


def find_rt(draft: Draft) -> None:
    """The column with reaction times."""
    numbers = [c for c in draft.free if is_rt(c) and np.isfinite(draft.sample.numbers(c)).any()]
    few = sparse(draft, numbers)
    numbers.sort(key=lambda c: (c in few, is_practice(c)))
    if numbers:
        draft.put("rt", numbers[0], BY_NAME, "for --exclude", tuple(numbers[1:]))


def find_shortest(draft: Draft) -> None:
    """Learners with so few choices that they would be refused."""
    if draft.given.min_trials is not None or not draft.sample.whole:
        return
    owner = draft.sequences()
    trials = np.bincount(owner[draft.chosen], minlength=int(owner.max(initial=0)) + 1)
    short = int(np.count_nonzero(trials < SHORTEST))
    if short and short < len(trials):
        why = f"{short:,} of {len(trials):,} sequences have fewer than {SHORTEST} choices"
        draft.put("min_trials", SHORTEST, BY_CONTENT, why)


# How many stimuli a block has.

MOST_BLOCKS = 0.9  # of the blocks: the last of a sample may be cut, and choices may be missing


def find_load(draft: Draft) -> None:
    """A number that is the same within a block, and that of the contexts which the block shows."""
    resets, context = draft.columns("reset_by"), draft.contexts()
    if not draft.open("load") or not resets or context is None:
        return
    block = together(draft.sequences(), *(draft.sample.codes(name) for name in resets))
    pairs = np.unique(together(block, context), return_index=True)[1]
    shown = np.bincount(block[pairs])
    if len(np.unique(shown)) < 2:
        return  # the same in all blocks tells nothing
    first = np.unique(block, return_index=True)[1]
    for name in draft.free:
        numbers = draft.sample.numbers(name)
        same = np.array_equal(numbers, numbers[first][block])
        if same and np.mean(numbers[first] == shown) >= MOST_BLOCKS:
            why = f"how many contexts each {resets[0]} shows; models of working memory need it"
            draft.put("load", name, BY_CONTENT, why)
            return
