"""Which column is the reward: what a choice brought about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howlearn.core.text import shortened
from howlearn.reading.columns import (
    BLOCKS,
    CONDITIONS,
    GROUPS,
    KINDS,
    is_answer,
    is_feature,
    is_mistake,
    is_practice,
    is_time,
    like,
    parts_of,
    plain,
)
from howlearn.reading.guess.action import FOR_A_NAME, RANK
from howlearn.reading.guess.behaviour import FEWEST, NEARLY, families, follows_from, purity
from howlearn.reading.guess.coding import without_nothing, worth
from howlearn.reading.guess.column_checks import (
    are_words,
    constant_within,
    examples,
    is_number,
    materialise,
    repeats,
    share,
    sparse,
    tell_the_same,
)
from howlearn.reading.guess.draft import (
    BY_CONTENT,
    BY_NAME,
    SAID,
    Answer,
    Candidate,
    Draft,
    in_expression,
    in_quotes,
    typed,
)
from howlearn.reading.guess.sample import Sample, together
from howlearn.reading.rewards import worth_of

# Columns that count what went wrong: a success is where they have nothing to say.


NO_WORDS = ("false", "f", "no", "n")
YES_WORDS = ("true", "t", "yes", "y")


def find_reward_in_mistakes(draft: Draft) -> None:
    """The reward from errors or losses, turned round; never such a column as it is."""
    for column in [c for c in draft.free if is_mistake(c) and c not in draft.design]:
        text = turned_round(draft, column)
        if "reward" in draft.guesses:
            return
        if text is None:
            continue
        if text == in_expression(column):
            draft.put("reward", column, BY_NAME, "losses, with their sign")
            return
        why = f"{column} says what went wrong, so it is reversed"
        draft.put("reward", text, BY_NAME, why)
        materialise(draft, "reward", text)
        draft.odd(
            f"{column} is taken the other way round, since its name says that more of it is worse",
            f"--reward {typed(column)} takes it as it is",
        )


def turned_round(draft: Draft, column: str) -> str | None:
    """The expression that is higher where less went wrong; None where the column is no such one."""
    counts, name = draft.sample.counts(column), in_expression(column)
    if name is None or len(counts) < 2:
        return None
    lower = {value.lower(): value for value in counts}
    if len(counts) == 2 and {*lower} <= {*NO_WORDS, *YES_WORDS}:
        good = [lower[word] for word in lower if word in NO_WORDS]
        return f"{name} == {in_quotes(good[0])}" if len(good) == 1 else None
    if not all(is_number(value) for value in counts):
        return None
    numbers = np.array([float(value) for value in counts])
    if numbers.min() < 0:
        return name if numbers.max() <= 0 else None  # losses with their sign are rewards
    return f"{name} == 0" if {*numbers.tolist()} == {0.0, 1.0} else f"0 - {name}"


def remark_mistakes(draft: Draft) -> None:
    """What the user calls the reward may be the opposite of one."""
    guess, column = draft.guesses.get("reward"), draft.column("reward")
    if guess is None or guess.how != SAID or column is None or not is_mistake(column):
        return
    text = turned_round(draft, column)
    if text is not None and text != in_expression(column):
        draft.odd(
            f"{column} sounds as if more of it were worse, and is taken as the reward as it is",
            f"--reward {typed(text)} reverses it",
        )


# Which column is the reward.


SIDES = "gain win gains wins won"  # what losses may be set against
FEW_WORDS = 6  # that are put into an option as it is to be typed
FEW_LETTERS = 40
GAINS = """
gain win gains wins won wonamount gewinn gewinne ganancia ganancias winst guadagno vincita ganho
ganhos reward
""".split()
LOSSES = """
loss lose losses lost lostamount punishment penalty verlust verluste perte pertes perdida perdidas
pérdida pérdidas verlies perdita perda
""".split()


AGAINST_RIGHT = 2.5  # where another column says what was earned: feedback may mislead
AGAINST_SPARSE, AGAINST_CONSTANT, AGAINST_OPTIONS = 2.0, 4.0, 3.0
FOR_NET = 3.0  # gains minus losses say more than either
MOSTLY, MANY_AMOUNTS = 0.8, 6
RIGHT = """
correct corr cor accuracy acc iscorrect hit right richtig korrekt goed juist acierto correcto
correcte juste giusto corretto acerto
""".split()
EARNED = {"reward", "rewarded", "rew", "outcome", "feedback", "points", "payoff"}


def reward_candidates(draft: Draft) -> list[Candidate]:
    """The columns that may hold what choices earned, the likeliest first."""
    named = {c: strength for c, strength in draft.named("reward").items() if not is_mistake(c)}
    fit = [c for c in named if is_outcome(draft, c)]
    design = {c for c in fit if _is_design(draft, c, others=len(fit) > 1)}
    fit = [c for c in fit if c not in design or named[c] >= 3]
    few = sparse(draft, fit)
    options = _of_options(draft, fit)
    earned = [c for c in fit if c not in options and not says_right(c)]
    found = []
    for rank, column in enumerate(fit):
        score = FOR_A_NAME[named[column]] - RANK * min(rank, 5)
        score -= AGAINST_SPARSE * (column in few)
        score -= AGAINST_SPARSE * (is_practice(column) and "action" not in draft.guesses)
        score -= AGAINST_CONSTANT * (len(draft.sample.counts(column)) < 2)
        score -= AGAINST_OPTIONS * (column in options or column in design)
        score += FOR_NET * ({*parts_of(column)} >= {"net"} or "netgain" in parts_of(column))
        score -= AGAINST_RIGHT * (says_right(column) and bool(earned))
        reasons = ("its description" if named[column] == 4 else "its name",)
        found.append(Candidate(column, score, reasons))
    told = [c for c in fit if c not in options and len(draft.sample.counts(c)) > 1]
    if not any(named[c] >= 3 and not like(c, SIDES) for c in told):
        found += _gain_and_loss(draft)  # an outcome of its own says more than their sum
    found = [each for each in found if each.column not in draft.design or each.column in design]
    return sorted(found, key=lambda each: -each.score)


def says_right(column: str) -> bool:
    """Whether a name says that a choice was right, rather than what it earned."""
    words = {*parts_of(column), plain(column)}
    return not words.isdisjoint(RIGHT) and EARNED.isdisjoint(words)


def _of_options(draft: Draft, columns: list[str]) -> set[str]:
    """Outcomes of several options, of which one was chosen: none of them alone is the reward."""
    found: set[str] = set()
    for family in families(columns):
        if not any(
            tell_the_same(draft.sample, *pair)
            for pair in zip(list(family.values()), list(family.values())[1:], strict=False)
        ):
            found |= {*family.values()}
    return found


def _is_design(draft: Draft, column: str, others: bool) -> bool:
    """Whether a column follows from what is shown: it cannot be what a choice brought about."""
    codes = draft.sample.codes(column)
    for shown in draft.shown():
        if shown == column or not repeats(draft.sample, shown):
            continue
        if follows_from(codes, draft.sample.codes(shown)) and not tell_the_same(
            draft.sample, column, shown
        ):
            draft.design.add(column)
            if others:
                draft.odd(
                    f"{column} is always the same where {shown} is, whatever was chosen: it is "
                    "hardly the reward",
                    f"--reward {typed(column)} if it is the reward after all",
                )
            return True
    return False


def unreadable_rewards(draft: Draft) -> None:
    """Say of columns with a reward's name what keeps them from being one."""
    named = draft.named("reward")
    _unreadable(draft, [c for c in named if len(draft.sample.counts(c)) > 1])


def ask_good_word(draft: Draft, columns: Sequence[str] = ()) -> bool:
    """Whether a reward has two words of which nobody here knows which means a success."""
    named = columns or [c for c, strength in draft.named("reward").items() if strength >= 2]
    return any(_ask_good_word(draft, c) for c in named if not is_mistake(c))


def _ask_good_word(draft: Draft, column: str) -> bool:
    counts, name = draft.sample.counts(column), in_expression(column)
    words = sorted(without_nothing(counts), key=lambda value: -counts[value])
    if len(words) != 2 or name is None or is_time(column) or any(map(is_number, words)):
        return False
    if constant_within(draft.learners(), draft.sample.codes(column)):
        return False
    ways = [f"{name} == {in_quotes(word)}" for word in words]
    says = [f"{word} is a success ({counts[word]:,} rows)" for word in words]
    draft.ask(
        "reward",
        f"{column} is {words[0]} or {words[1]}: which of them is a success?",
        [Answer("reward", way, what) for way, what in zip(ways, says, strict=True)],
    )
    draft.put("reward", ways[0], BY_NAME, f"{words[0]} is taken as a success")
    materialise(draft, "reward", ways[0])
    return True


MOST_WORDS = 4


def ask_about_unknown_words(draft: Draft) -> None:
    """What was right is known, and words of feedback that nobody here knows say something else."""
    mark, sample = draft.column("reward"), draft.sample
    if mark is None or draft.guesses["reward"].how == SAID or not says_right(mark):
        return
    for column in [c for c, strength in draft.named("reward").items() if strength > 1]:
        rows = draft.chosen & ~sample.missing(column) & ~sample.missing(mark)
        words = [w for w in without_nothing(sample.counts(column)) if not is_number(w)]
        name, known = in_expression(column), is_outcome(draft, column) or is_mistake(column)
        if known or name is None or says_right(column) or not 2 <= len(words) <= MOST_WORDS:
            continue
        said, right = sample.texts(column)[rows], earnings(sample, mark)[rows]
        if len(said) < FEWEST or follows_from(sample.codes(mark)[rows], sample.codes(column)[rows]):
            continue
        best = max(words, key=lambda word: share(right[said == word] > right.min()))
        draft.ask(
            "reward",
            f"{mark} says whether the choice was right, and {column} ({', '.join(words)}) often "
            "something else: what were people told?",
            [
                Answer("reward", mark, f"values {examples(sample, mark)}"),
                Answer("reward", f"{name} == {in_quotes(best)}", f"{best} is a success"),
            ],
        )
        return


def earnings(rows: Sample, column: str) -> np.ndarray:
    """What a column says that choices earned, as numbers; NaN where it says nothing."""
    numbers = rows.numbers(column)
    if np.isnan(numbers).all():
        labels = rows.columns[column].labels
        numbers = worth_of(labels)[rows.codes(column)]
        values = worth(rows.counts(column))
        if values is not None:
            table = np.array(
                [float(values.get(v, "nan")) if v is not None else np.nan for v in labels]
            )
            numbers = table[rows.codes(column)]
    return numbers


def _gain_and_loss(draft: Draft) -> list[Candidate]:
    """Gains and losses in two columns: their sum is what was earned."""
    names = {part: column for column in reversed(draft.free) for part in parts_of(column)}
    names |= {parts_of(column)[-1]: column for column in draft.free if parts_of(column)}
    names |= {plain(column): column for column in draft.free}
    gain = next((names[w] for w in GAINS if w in names), None)
    loss = next((names[w] for w in LOSSES if w in names), None)
    if gain is None or loss is None:
        return []
    sides = [_as_number(draft, gain), _as_number(draft, loss)]
    numbers = earnings(draft.sample, loss)
    if None in sides:
        return []
    if _are_on_offer(draft, gain, loss):
        draft.design |= {gain, loss}
        return []
    sign = "+" if np.nanmin(numbers) < 0 or np.nanmax(numbers) <= 0 else "-"
    text = f"{sides[0]} {sign} {sides[1]}"
    materialise(draft, "reward", text)
    return [Candidate(text, FOR_A_NAME[3] + 1.5, ("gains and losses are in two columns",))]


def _as_number(draft: Draft, column: str) -> str | None:
    """An expression with the numbers of a column, also where they have a unit."""
    name = in_expression(column)
    if name is None or np.isfinite(draft.sample.numbers(column)).any():
        return name
    values = worth(draft.sample.counts(column))
    if values is None or len(values) > FEW_WORDS:
        return None
    *others, last = values
    text = values[last]
    for value in others:
        text = f"if({name} == {in_quotes(value)}, {values[value]}, {text})"
    return text


def _are_on_offer(draft: Draft, gain: str, loss: str) -> bool:
    """Whether gains and losses are those of a gamble that is shown: both in nearly every trial."""
    numbers = [draft.sample.numbers(c) for c in (gain, loss)]
    both = float(np.mean((np.nan_to_num(numbers[0]) != 0) & (np.nan_to_num(numbers[1]) != 0)))
    return both > MOSTLY and min(len(draft.sample.counts(c)) for c in (gain, loss)) >= MANY_AMOUNTS


def is_outcome(draft: Draft, column: str) -> bool:
    counts = draft.sample.counts(column)
    if not counts or is_time(column):
        return False
    if are_words(counts):
        return True
    rest = without_nothing(counts)
    if (rest and are_words(rest)) or (draft.open("recode") and worth(counts) is not None):
        return True
    if not all(is_number(value) for value in rest):
        return False
    return not _is_total(draft, column)


def _unreadable(draft: Draft, columns: list[str]) -> None:
    """Columns that have a reward's name, and what keeps them from being one."""
    for column in columns:
        odd = [v for v in without_nothing(draft.sample.counts(column)) if not is_number(v)]
        if not odd or is_time(column) or in_expression(column) is None:
            continue
        pairs = ",".join(f"{value}=NUMBER" for value in odd)
        helps = f"--reward {typed(column)} --recode {typed(f'{column}:{pairs}')}"
        if len(odd) > FEW_WORDS or any("," in value for value in odd) or ":" in column:
            first = typed(f"{in_expression(column)} == {in_quotes(odd[0])}")
            helps = f"--reward {first} if that is a success"
        draft.odd(
            f"{column} looks like the reward, but {shortened(odd[0], FEW_LETTERS)!r} is not a "
            "number",
            helps,
        )


def _is_total(draft: Draft, column: str) -> bool:
    """Whether numbers only ever grow within a learner: a sum of what was earned so far."""
    numbers, owner = draft.sample.numbers(column), draft.learners()
    codes, kinds = draft.sample.codes(column), len(draft.sample.counts(column))
    if kinds > 1 and 4 * (int(owner.max()) + 1) < len(owner) and constant_within(owner, codes):
        return True  # of a whole session
    if kinds < 6:
        return False
    order = np.argsort(owner, kind="stable")
    steps, same = np.diff(numbers[order]), np.diff(owner[order]) == 0
    steps = steps[same & ~np.isnan(steps)]
    how, kinds, values = "", len(np.unique(steps)), kinds
    if len(steps) and np.all(steps >= 0):
        how = "only ever grows within a learner"
    elif len(steps) > 4 * values and kinds > 1 and values > 4 * kinds:
        how = "goes up and down by the same few steps"
    if how:
        draft.odd(f"{column} {how}: a running total, not a reward")
    return bool(how)


def is_binary(draft: Draft, column: str) -> bool:
    counts = without_nothing(draft.sample.counts(column))
    if len(counts) != 2 or is_feature(column) or is_answer(column) or is_time(column):
        return False
    if is_mistake(column) or like(column, f"{BLOCKS} {CONDITIONS} {GROUPS} {KINDS}"):
        return False
    return {*counts} in ({"0", "1"}, {"-1", "1"}) or are_words(counts) or worth(counts) is not None


def either_may_be(draft: Draft, one: Candidate, other: Candidate) -> bool:
    """Whether only people can tell which of two outcomes was meant."""
    return _are_mark_and_amount(draft, one, other) or _are_two_marks(draft, one, other)


def _are_two_marks(draft: Draft, one: Candidate, other: Candidate) -> bool:
    """Whether both say that a choice was right and often disagree: one of them was not shown."""
    if not (says_right(one.column) and says_right(other.column)):
        return False
    sample = draft.sample
    rows = ~sample.missing(one.column) & ~sample.missing(other.column)
    a, b = (sample.codes(c.column)[rows] for c in (one, other))
    binary = len(np.unique(a)) == len(np.unique(b)) == 2
    return binary and len(a) >= FEWEST and purity(a, together(b)) < NEARLY


def _are_mark_and_amount(draft: Draft, one: Candidate, other: Candidate) -> bool:
    """Whether one says who won and the other how much: either may be the reward."""
    mark, amount = sorted((one, other), key=lambda c: len(draft.sample.counts(c.column)))
    rows = ~draft.sample.missing(mark.column) & ~draft.sample.missing(amount.column)
    codes = draft.sample.codes(mark.column)[rows]
    worth = draft.sample.numbers(amount.column)[rows]
    if len(np.unique(codes)) != 2 or not np.isfinite(worth).all() or len(np.unique(worth)) < 3:
        return False
    won = (worth > worth.min()).astype(np.intp)
    return int(together(codes, won).max()) == 1 and not (mark is one and says_right(one.column))


MANY_SIZES, MANY_ROWS = 8, 200


def are_amounts(draft: Draft, column: str, worth: np.ndarray) -> bool:
    """Whether gains or losses vary as if each trial had new ones."""
    if not any(like(c, f"{SIDES} loss lose losses amount") for c in sums_of(draft, column)):
        return False
    sizes = len(np.unique(worth))
    return sizes >= MANY_SIZES or (sizes > 2 and len(worth) >= MANY_ROWS)


def sums_of(draft: Draft, column: str) -> list[str]:
    """The columns of an expression of gains and losses, or the column itself."""
    return [c for c in draft.free if c == column or in_expression(c) in column.split()]


# An outcome in the words of the choices.


def came_true(draft: Draft, action: str) -> bool:
    """An outcome in the words of the choices, as sun and rain: a prediction came true or not."""
    counts = draft.sample.counts(action)
    for column in draft.named("reward"):
        values, names = draft.sample.counts(column), (draft.written(action), in_expression(column))
        if {*values} == {*counts} and len(values) > 1 and None not in names:
            text = f"{names[0]} == {names[1]}"
            why = f"{column} has the values of {action}: a prediction that came true is a success"
            draft.put("reward", text, BY_CONTENT, why)
            materialise(draft, "reward", text)
            return True
    return False
