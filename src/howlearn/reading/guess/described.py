"""What people were told: amounts and chances before the choice, and outcomes that may mislead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from howlearn.reading.columns import is_time, like
from howlearn.reading.guess.behaviour import (
    NEARLY,
    follows_from,
    hangs_on,
    is_of_one_option,
    purity,
)
from howlearn.reading.guess.coding import without_nothing
from howlearn.reading.guess.column_checks import constant_within, resembles_last, tell_the_same
from howlearn.reading.guess.draft import Answer, Draft, in_expression, in_quotes
from howlearn.reading.guess.evidence import (
    NOT_COVERED,
    Codes,
    Evidence,
    Kind,
    centred,
    changes,
    follows_success,
    position_in,
    score,
)
from howlearn.reading.guess.options_outcomes import (
    MOST_CHOSEN,
    changing_columns,
    may_be_earned,
    running_total,
)
from howlearn.reading.guess.sample import together


class Described(Kind):
    """Amounts and chances that are told before the choice, and differ from trial to trial."""

    name = NOT_COVERED
    about = "described gambles: what can be won is told before the choice"
    settled_by = ("action", "reward")

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """Several columns of amounts that change at random, and choices that follow no outcome."""
        if draft is not None and (offer := accepted(draft)) is not None:
            return (f"{offer} is what was on offer, to be accepted or not",)
        if draft is not None and (offer := is_no_outcome(draft)) is not None:
            return (
                f"{offer} has the same average for every learner, however they choose, and "
                "choices follow it from the first trials on: it is told before the choice",
            )
        if draft is None or found is None or changes(found).both > 4:
            return ()
        if follows_success(found, same_action=True):
            return ()
        weighed = weighed_at_once(draft)
        if weighed:
            return (
                f"choices follow {' and '.join(weighed[:3])} from the first trials on, as much as "
                "later: it is told before the choice and differs from trial to trial",
            )
        told = described(draft)
        if len(told) < 2:
            return ()
        return (
            f"{', '.join(told[:3])} are told before the choice and differ from trial to trial, so "
            "that no option comes back",
        )

    def stops(
        self, reasons: Sequence[str], found: Evidence | None, draft: Draft | None
    ) -> str | None:
        """Options that come back are needed."""
        return (
            "no outcome: these models need feedback about options that come back, and "
            f"{reasons[0]}; if they were not told, name --action and --reward"
        )


MANY_VALUES = 8
AMOUNTS = """
amt cert certain certainty safe risky sure magnitude magnitudes amount amounts probability prob p
delay sooner later ambig ambiguity lottery ev lowpayoff highpayoff
"""
SIDES = "gain loss win lose high low"


def described(draft: Draft) -> list[str]:
    """Columns of amounts or chances that change at random from trial to trial."""
    rows, context = draft.chosen, draft.contexts()
    used = {name for role in ("action", "reward", "context") for name in draft.columns(role)}
    likely = [c for c in draft.sample.columns if c not in used and not is_time(c)]
    paid = _paid_from(draft, likely)
    if paid:
        return paid
    if not any(like(c, AMOUNTS) for c in likely):
        return []
    owner = draft.learners()[rows]
    found = []
    for column in [c for c in likely if like(c, f"{AMOUNTS} {SIDES}")]:
        numbers = draft.sample.numbers(column)[rows]
        if np.isnan(numbers).any() or len(np.unique(numbers)) < MANY_VALUES:
            continue
        place = owner if context is None else together(owner, context[rows])
        if resembles_last(owner, numbers) < 0.3 and not constant_within(
            place, draft.sample.codes(column)[rows]
        ):
            found.append(column)
    return found if any(like(c, AMOUNTS) for c in found) else []


ACCEPTED = "accept accepted accepts reject rejected"


def accepted(draft: Draft) -> str | None:
    """What was offered, where choices say whether it was accepted; None if they do not."""
    action, reward = draft.column("action"), draft.column("reward")
    if action is None or reward is None or not like(action, ACCEPTED):
        return None
    sample, rows = draft.sample, draft.chosen
    earned, made = sample.numbers(reward)[rows], sample.codes(action)[rows]
    if np.isnan(earned).any() or len(np.unique(earned)) < 3:
        return None
    if all(len(np.unique(earned[made == each])) > 2 for each in np.unique(made)):
        return reward  # it is told for what was rejected, too
    told = earned != 0
    likely = [c for c in draft.free if not is_time(c)]
    return next(
        (c for c in likely if np.array_equal(sample.numbers(c)[rows][told], earned[told])), None
    )


def _paid_from(draft: Draft, columns: Sequence[str]) -> list[str]:
    """Columns of amounts one of which is what was paid, whatever was chosen: a lottery's prizes."""
    action, reward = draft.column("action"), draft.column("reward")
    if action is None or reward is None:
        return []
    rows, sample = draft.chosen, draft.sample
    owner, earned = draft.learners()[rows], sample.numbers(reward)[rows]
    covered, found = earned == 0, []
    for column in columns:
        numbers = sample.numbers(column)[rows]
        if np.isnan(numbers).any() or len(np.unique(numbers)) < MANY_VALUES:
            continue
        same = numbers == earned
        if same.mean() < PAID or resembles_last(owner, numbers) > 0.3:
            continue
        covered |= same
        if not is_of_one_option(sample, column, action, reward):
            found.append(column)
    return found if len(found) > 1 and covered.mean() > 1 - PAID else []


PAID = 0.1  # of the trials are paid by each of the prizes that are shown


# Choices that follow numbers as soon as these are seen: nothing has to be learned for that.

FIRST = 20  # trials of each learner
SOME_VALUES = 5
FEWEST_PAID = 3  # amounts with which a choice is paid
AT_ONCE, CLEARLY = 0.7, 4.0  # of the later correlation; standard errors
DRAWN = 0.3  # correlation with the last trial, of what is drawn anew
PROCESS = """
confidence conf rating dwell fix fixation fixations gaze pupil look looking saccade saccades mouse
click clicks x y slider pe rpe pred predicted model
"""


def weighed_at_once(draft: Draft) -> list[str]:
    """Numbers that choices follow at once: two of them, or one that a choice is paid with."""
    found = followed_at_once(draft)
    return found if len(found) > 1 or any(_pays(draft, c) for c in found) else []


def followed_at_once(draft: Draft) -> list[str]:
    """Numbers, drawn anew for each trial, that choices follow at first as much as later."""
    action, rows = draft.column("action"), draft.chosen
    if action is None:
        return []
    owner, made = together(draft.learners()[rows]), draft.sample.codes(action)[rows]
    found = []
    for column in draft.sample.columns:
        if column in (action, draft.column("reward")) or like(column, PROCESS) or is_time(column):
            continue
        numbers = draft.sample.numbers(column)[rows]
        values = len(np.unique(numbers))
        if np.isnan(numbers).any() or values < FEWEST_PAID:
            continue
        if values < SOME_VALUES and not _pays(draft, column):
            continue
        if resembles_last(owner, numbers) > DRAWN or _tells_the_choice(numbers, made):
            continue
        if _is_followed_at_once(owner, made, numbers):
            again = any(tell_the_same(draft.sample, column, one) for one in found)
            found += [] if again else [column]
    return found


ALIKE, UNLIKE, RATHER_UNLIKE = 1e-2, 1e-4, 1e-2  # by chance


def is_no_outcome(draft: Draft) -> str | None:
    """The reward, where it was told before the choice: learners differ in what they take of it.

    Outcomes are the other way round: the same on average for whoever chooses the same, so that who
    chooses otherwise earns otherwise. None where learners tell nothing of the kind.
    """
    action, reward = draft.column("action"), draft.column("reward")
    rows = draft.chosen
    if action is None or reward is None or len(draft.sample.counts(reward)) < SOME_VALUES:
        return None
    owner, made = together(draft.learners()[rows]), draft.sample.codes(action)[rows]
    earned = draft.sample.numbers(reward)[rows]
    if np.isnan(earned).any() or resembles_last(owner, earned) > DRAWN:
        return None
    everywhere = np.zeros_like(owner)
    least = RATHER_UNLIKE if followed_at_once(draft) else UNLIKE
    if hangs_on(earned, owner, everywhere) < ALIKE or hangs_on(earned, owner, made) > least:
        return None
    return reward if _is_followed_at_once(owner, made, earned) else None


def _is_followed_at_once(
    owner: Codes, made: NDArray[np.integer], numbers: NDArray[np.float64]
) -> bool:
    """Whether choices go with numbers, the same way for all learners and at first as later."""
    place = position_in(owner)
    early, late = place < FIRST, 2 * place >= np.bincount(owner)[owner]
    usual = centred(owner, made == np.bincount(made).argmax())
    ranks = centred(owner, np.argsort(np.argsort(numbers, kind="stable")) / len(numbers))
    first, then = (_correlation(usual[part], ranks[part]) for part in (early, late))
    sure = [abs(score((usual * ranks)[part])) > CLEARLY for part in (early, late)]
    return all(sure) and first * then > 0 and abs(first) > AT_ONCE * abs(then)


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    size = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / size if size > 0 else 0.0


def _tells_the_choice(numbers: NDArray[np.float64], made: NDArray[np.integer]) -> bool:
    """Whether one limit divides the numbers by what was chosen: they are the choice once more."""
    order = np.argsort(numbers, kind="stable")
    first = (made == made[order[0]])[order] if len(order) else np.zeros(0, np.bool_)
    right = np.cumsum(first) + (~first).sum() - np.cumsum(~first)
    return bool(right.max(initial=0) > NEARLY * len(made))


def _pays(draft: Draft, column: str) -> bool:
    """Whether an action is paid with the amount in a column, and another one is not."""
    action, reward = draft.column("action"), draft.column("reward")
    if action is None or reward is None:
        return False
    rows, sample = draft.chosen, draft.sample
    made, told = sample.codes(action)[rows], sample.numbers(column)[rows]
    earned = np.nan_to_num(sample.numbers(reward)[rows])
    hits = []
    for each in np.unique(made):
        here = (made == each) & (earned != 0) & (told != 0)
        rate = earned[here] / told[here] if here.any() else np.zeros(1)
        same = np.mean(np.isclose(rate, np.median(rate))) > NEARLY
        hits.append(bool(same and len(np.unique(told[here])) >= FEWEST_PAID))
    return any(hits) and not all(hits)


# After the choice: what they saw may differ from what was right.

MUCH, COUNTING = 10.0, 0.9  # standard errors; of the steps of what is counted go up


def ask_what_was_told(draft: Draft, right: str) -> None:
    """A column that goes with what was right, and not always: what people were told may mislead."""
    sample = draft.sample
    good = sample.numbers(right)
    for column in changing_columns(draft, MOST_CHOSEN):
        words, name = without_nothing(sample.counts(column)), in_expression(column)
        if len(words) != 2 or name is None or column in draft.design:
            continue
        said = sample.texts(column) == words[0]
        if abs(score(centred(draft.learners(), good) * centred(draft.learners(), said))) < MUCH:
            continue
        if purity(said.astype(np.intp), together((good > 0).astype(np.intp))) < NEARLY:
            ways = [f"{name} == {in_quotes(word)}" for word in words]
            draft.ask(
                "reward",
                f"{column} often goes with right choices, and not always: is it what people saw?",
                [
                    Answer("reward", right, "no: they saw whether they were right"),
                    *(
                        Answer("reward", w, f"yes: {v} is a success")
                        for w, v in zip(ways, words, strict=True)
                    ),
                ],
            )
            return
    action, owner = draft.column("action"), draft.learners()
    if action is None:
        return
    made = sample.codes(action)
    column, text = running_total(draft, made, owner)
    for other in [c for c in draft.free if not column and may_be_earned(draft, c)]:
        worth, codes = sample.numbers(other), sample.codes(other)
        if len(np.unique(worth)) < 3 or is_time(other) or sample.missing(other)[draft.chosen].any():
            continue
        after = follows_from(codes, made) or constant_within(owner, codes)
        counts = np.mean(np.diff(worth) >= 0) > COUNTING
        if not (after or counts) and hangs_on(worth, made, owner) < UNLIKE**2:
            column = text = other
    if column:
        no = Answer("reward", right, "no: they saw whether they were right")
        yes = Answer("reward", text, f"yes: {column} says what was earned")
        draft.ask("reward", f"{column} depends on the choice: did people see it?", [no, yes])
