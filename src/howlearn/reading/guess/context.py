"""Which columns are the context: what was shown before the choice."""

from __future__ import annotations

import numpy as np

from howlearn.core.options import NONE
from howlearn.core.text import few
from howlearn.reading.columns import (
    BLOCKS,
    CONDITIONS,
    is_answer,
    is_feature,
    is_mistake,
    is_numbered,
    is_time,
    like,
    named_like,
    parts_of,
)
from howlearn.reading.guess.behaviour import (
    FEWEST,
    NEARLY,
    explained,
    families,
    follows_from,
    goes_on,
    hangs_on,
    is_of_one_option,
    pair_on_screen,
    purity,
    says_the_outcome,
    settles,
    told_by_chance,
)
from howlearn.reading.guess.column_checks import (
    are_among,
    are_places,
    comes_back,
    derived_from_trials,
    is_number,
    over_all,
    resembles_last,
    rows_among,
    runs_within,
    tell_the_same,
    worth_in,
)
from howlearn.reading.guess.draft import BY_CONTENT, BY_NAME, Answer, Draft, Guess, typed
from howlearn.reading.guess.sample import Sample, together

COUNTING = 0.9  # of the steps from row to row of a counter go up

CHOSEN = {"chosen", "chose", "selected", "picked"}


def is_chosen(name: str) -> bool:
    """Whether a name is that of what was chosen, so that it is not what was shown."""
    return not CHOSEN.isdisjoint(parts_of(name))


def put_pair(draft: Draft, rows: Sample, pair: tuple[str, str]) -> None:
    """The context is what is on both sides, unless the same two are always there."""
    action, both_of = draft.column("action"), typed(",".join(pair))
    shown = {*rows.counts(pair[0]), *rows.counts(pair[1])}
    names_it = action is not None and {*rows.counts(action)} <= shown
    at = np.unique(together(*(rows.codes(c) for c in pair)), return_index=True)[1]
    two = {frozenset(both) for both in zip(*(rows.texts(c)[at] for c in pair), strict=True)}
    what = f"what is on screen is a pair ({pair[0]} and {pair[1]})"
    if names_it and len(two) == 1:
        draft.put("context", (NONE,), BY_CONTENT, f"{what}, always the same two")
        draft.odd(
            f"{what}, always of the same two, so only what is chosen counts",
            f"--context {both_of} to distinguish the sides",
        )
        return
    draft.put("context", pair, BY_CONTENT, what)
    chosen = [c for c in draft.free if is_chosen(c) and {*rows.counts(c)} <= shown]
    which = f" --action {typed(chosen[0])}" if chosen and not names_it else ""
    counts = "only what is chosen counts" if which or names_it else "what is shown does not matter"
    draft.odd(
        f"{what}: each pair is a separate context, even the same two with sides exchanged",
        f"--context none{which} if {counts}",
    )


# Which column is the context.


def find_context(draft: Draft) -> None:
    """A column that describes the situation and comes back again and again, or none."""
    sample, task = draft.sample, draft.task
    if "context" in draft.guesses or (task is not None and len(task.contexts) == 1):
        return
    if draft.given.features:  # reading takes them for the context
        return
    draft.derived |= derived_from_trials(draft)
    rows = sample.only(over_all(sample, draft.chosen))
    if task is not None:
        labels = {*task.contexts, *task.context_aliases}
        matching = [c for c in draft.free if are_among(rows, c, labels)]
        if matching:
            why = f"its values are the contexts of the task {task.name}"
            draft.put("context", (matching[0],), BY_CONTENT, why, tuple(matching[1:]))
            return
    if draft.columns("offered"):
        _beside_offers(draft, rows)
        return
    named = draft.named("context")
    pair = pair_on_screen(rows, [c for c in draft.free if not is_chosen(c)])
    free = [c for c in named if not (is_feature(c) or is_numbered(c) or is_chosen(c))]
    free = [c for c in free if named[c] >= 3 or not _is_no_situation(draft, rows, c)]
    fit = [c for c in free if c not in (pair or ()) and _is_situation(draft, rows, c)]
    if fit:
        _put_named(draft, rows, fit, named, pair or ())
        return
    if pair is not None:
        put_pair(draft, rows, pair)
        return
    if _put_features(draft, rows):
        return
    mixed = [c for c in draft.free if like(c, f"{CONDITIONS} pair") and _is_mixed(draft, rows, c)]
    if mixed:
        why = "it changes from trial to trial"
        draft.put("context", (mixed[0],), BY_CONTENT, why, tuple(mixed[1:]))
        return
    telling = what_tells(draft, rows, ())
    if telling:
        why = "what a choice earns depends on it, and it changes from trial to trial"
        shown = _with_sisters(draft, rows, telling[0])  # left and right at once
        draft.put("context", shown, BY_CONTENT, why, tuple(c for c in telling if c not in shown))
        return
    if _ask_about_numbers(draft, rows):
        return
    _ask_what_choices_follow(draft, rows)
    draft.put("context", (NONE,), BY_CONTENT, "no column looks like it: always the same situation")


FOLLOWED, MUCH = 0.02, 0.06  # how much more of the choices a column tells
SURELY = 1e-4  # by chance


def _ask_what_choices_follow(draft: Draft, rows: Sample) -> None:
    """A column without a telling name that choices hang on from trial to trial: was it shown?"""
    action = draft.column("action")
    if action is None or rows.height < LEAST_ROWS:
        return
    owner, codes = draft.learners()[rows_among(draft, rows)], rows.codes(action)
    alone = purity(codes, owner)
    for column in draft.free:
        if not _may_be_shown(draft, rows, column, owner) or len(rows.counts(column)) > FEW_SHOWN:
            continue
        if like(column, BLOCKS):
            continue  # the rows are not in their order
        here = rows.codes(column)
        if follows_from(here, codes) or follows_from(codes, here):
            continue  # the choice in other words
        more = purity(codes, together(owner, here)) - alone
        usual = (codes == np.bincount(codes).argmax()).astype(float)
        if more > MUCH or (more > FOLLOWED and hangs_on(usual, here, owner) < SURELY):
            _ask_if_shown(draft, rows, column)
            return


def _with_sisters(draft: Draft, rows: Sample, column: str) -> tuple[str, ...]:
    """A column, and others that are shown with it: cards or cues, which are only counted."""
    owner = draft.learners()[rows_among(draft, rows)]
    likely = [c for c in draft.free if _may_be_shown(draft, rows, c, owner)]
    group = next((f for f in families(likely) if column in f.values()), {})
    every = tuple(c for c in likely if c in group.values())
    return every if every and comes_back(draft, rows, every) else (column,)


def _ask_if_shown(draft: Draft, rows: Sample, column: str) -> None:
    """Ask whether a column says what was shown, alone or with others."""
    ways = [*dict.fromkeys((_with_sisters(draft, rows, column), (column,)))]
    draft.ask(
        "context",
        f"choices follow {few([*ways[0]], 4)} from trial to trial: was it shown?",
        [
            *(Answer("context", way, "yes: it is the situation that they were in") for way in ways),
            Answer("context", (NONE,), "no: always the same situation"),
        ],
    )
    draft.put("context", ways[0], BY_CONTENT, "choices follow it from trial to trial")


LEAST_ROWS, FEW_SHOWN = 200, 12
DRAWN = 0.3  # correlation with the last trial, of what is drawn anew


def _ask_about_numbers(draft: Draft, rows: Sample) -> bool:
    """Numbers that are others in nearly every trial, and that choices follow: were they shown?"""
    action = draft.column("action")
    if action is None or rows.height < LEAST_ROWS or not draft.open("features"):
        return False
    from howlearn.reading.guess.described import AMOUNTS  # which needs this module

    owner, codes = draft.learners()[rows_among(draft, rows)], rows.codes(action)
    usual = (codes == np.bincount(codes).argmax()).astype(float)
    found = []
    for column in [c for c in draft.free if _is_called_shown(c) and not like(c, AMOUNTS)]:
        numbers = rows.numbers(column)
        if len(rows.counts(column)) <= MOST_SITUATIONS or not np.isfinite(numbers).all():
            continue
        if resembles_last(owner, numbers) > DRAWN:
            continue  # it drifts, as what is learned does
        part = np.searchsorted(np.quantile(numbers, (0.25, 0.5, 0.75)), numbers)
        more = purity(codes, together(owner, part)) - purity(codes, owner)
        if more > MUCH and hangs_on(usual, part, owner) < SURELY:
            found.append(column)
    if found:
        draft.ask(
            "context",
            f"choices follow {few(found, 4)}, with another value in nearly every trial: what is "
            "it?",
            [
                Answer("features", tuple(found), "shown before the choice; --bin makes bins of it"),
                Answer("context", (NONE,), "not shown"),
            ],
        )
        draft.put("features", tuple(found), BY_CONTENT, "choices follow it")
    return bool(found)


def _beside_offers(draft: Draft, rows: Sample) -> None:
    """What is on offer is no context: only what is shown besides."""
    options = draft.columns("offered")
    shown = together(*(rows.codes(c) for c in options))
    named = {c: strength for c, strength in draft.named("context").items() if strength >= 2}
    fit = [
        c
        for c in named
        if not (is_chosen(c) or is_answer(c) or is_feature(c) or is_numbered(c))
        and _is_situation(draft, rows, c)
        and not follows_from(rows.codes(c), shown)
        and not follows_from(rows.codes(options[0]), rows.codes(c))
        and not any(tell_the_same(rows, c, option) for option in options)
    ]
    fit = [c for c in fit if not like(c, SIDE_WORDS) and not _is_no_situation(draft, rows, c)]
    if fit:
        draft.put("context", (fit[0],), BY_NAME, "", tuple(fit[1:]))
        return
    telling = [c for c in what_tells(draft, rows, ()) if c not in options]
    telling = [c for c in telling if not follows_from(rows.codes(c), shown)]
    if telling:
        why = "which of those on offer is right depends on it"
        draft.put("context", (telling[0],), BY_CONTENT, why, tuple(telling[1:]))
    draft.put("context", (NONE,), BY_CONTENT, "what is shown is on offer, and nothing else is")


def _made(draft: Draft, rows: Sample, action: str) -> np.ndarray:
    """What was chosen, as codes: of sides the stimulus that was there."""
    places, options = draft.guesses.get("positions"), draft.columns("offered")
    if places is None or len(options) != len(places.columns):
        return rows.codes(action)
    sides = [rows.texts(action) == value for value in places.columns]
    chosen = np.select(sides, [rows.texts(c) for c in options], "").astype(str)
    return np.unique(chosen, return_inverse=True)[1]


SIDE_WORDS = "left right top bottom unchosen chosen l r"


def _put_named(
    draft: Draft, rows: Sample, fit: list[str], named: dict[str, int], pair: tuple[str, ...]
) -> None:
    """The context by its name, unless it names what is right and another one does not."""
    fit = [c for c in fit if not _names_the_right(draft, rows, c)] or fit
    how = BY_NAME if named[fit[0]] > 1 else BY_CONTENT
    draft.put("context", (fit[0],), how, "", (*fit[1:], *pair))
    length, at_once = runs_within(draft.learners()[rows_among(draft, rows)], rows.codes(fit[0]))
    if length > LONG_STATE and not at_once:
        draft.ask(
            "context",
            f"{fit[0]} stays the same for {length:.0f} trials and comes back: was it shown?",
            [
                Answer("context", (fit[0],), "yes: what is best may be learned for each"),
                Answer("context", (NONE,), "no: nobody was told when it changed"),
            ],
        )
    more = what_tells(draft, rows, (fit[0],))
    if more:
        both = (fit[0], more[0])
        draft.ask(
            "context",
            f"what a choice earns depends on {more[0]} as well as on {fit[0]}: was it shown?",
            [
                Answer("context", both, "each combination is a separate situation"),
                Answer("context", (fit[0],), f"{more[0]} was not shown before the choice"),
            ],
        )
        draft.guesses["context"] = Guess(
            "context", both, BY_CONTENT, "what a choice earns depends on both", (fit[0],)
        )


LONG_STATE = 8.0  # trials in a row: a state that nobody sees, or a block


def _is_no_situation(draft: Draft, rows: Sample, column: str) -> bool:
    """Whether another word of a name, or long stretches of one value, speak against a context."""
    speaks = [named_like(role, [column]).get(column, 0) for role in ("action", "reward")]
    if is_answer(column) or max(speaks) >= 2:
        return True
    length, _ = runs_within(draft.learners()[rows_among(draft, rows)], rows.codes(column))
    return length > LONG_STATE


def _names_the_right(draft: Draft, rows: Sample, column: str) -> bool:
    """Whether choosing what a column says is what is rewarded: it names the right answer."""
    action, reward = draft.column("action"), draft.column("reward")
    if action is None or reward is None:
        return False
    worth = worth_in(rows, reward)
    same = rows.texts(column) == rows.texts(action)
    return len(worth) > 0 and bool(np.mean(same == (worth > worth.min())) >= NEARLY)


TELLS_MORE = 0.05  # of the variance of outcomes, to be taken as shown without a telling name
MOST_SITUATIONS = 30
SHORT_RUN = 3.0


def what_tells(draft: Draft, rows: Sample, context: tuple[str, ...]) -> list[str]:
    """Columns that change from trial to trial, and on which the outcomes of choices hang."""
    action, reward = draft.column("action"), draft.column("reward")
    if action is None or reward is None or rows.height < FEWEST:
        return []
    owner = draft.learners()[rows_among(draft, rows)]
    worth, codes = worth_in(rows, reward), _made(draft, rows, action)
    worth = np.where(rows.missing(reward), np.nan, worth)
    base = together(*(rows.codes(c) for c in context)) if context else np.zeros_like(owner)

    def told(place: np.ndarray) -> float:
        """How much of the outcomes the choice tells beyond the place."""
        return explained(worth, codes, place) - explained(worth, np.zeros_like(codes), place)

    known = max(told(base), told(together(owner, base)))
    gains: dict[str, float] = {}
    for column in draft.free:
        if not _may_be_shown(draft, rows, column, owner):
            continue
        place = together(base, rows.codes(column))
        own = together(owner, place)  # what is right may be another for each learner
        more = max(told(place), told(own)) - known
        here, anywhere = (goes_on(worth, codes, at) for at in (own, together(owner, base)))
        turns = here < min(1e-10, anywhere**3)  # what is right where it is shown, changes
        hangs = min(hangs_on(worth, codes, at) for at in (place, own))
        if turns or (
            more > TELLS_MORE
            and hangs < 1e-8
            and more > told_by_chance(rows.codes(column), owner, base, told) - known
        ):
            gains[column] = more
    due = {c for c in gains if _is_told_by_another(draft, rows, c, action, owner)}
    return sorted((c for c in gains if c not in due), key=lambda column: -gains[column])


def _is_told_by_another(
    draft: Draft, rows: Sample, column: str, action: str, owner: np.ndarray
) -> bool:
    """Whether a column has the values of the choices, and what is shown tells it: the answer."""
    if not {*rows.counts(column)} <= {*rows.counts(action)}:
        return False
    codes, others = rows.codes(column), [c for c in draft.free if c != column]
    shown = [rows.codes(c) for c in others if _may_be_shown(draft, rows, c, owner)]
    return any(follows_from(codes, at) or follows_from(codes, together(owner, at)) for at in shown)


def _may_be_shown(draft: Draft, rows: Sample, column: str, owner: np.ndarray) -> bool:
    """Whether a column may say what was shown: it changes often, and no name speaks against it."""
    if not _is_called_shown(column) or column in draft.one_of:
        return False
    if is_feature(column) or is_numbered(column):
        return False  # one of several, which were not shown often enough together
    if not 2 <= len(rows.counts(column)) <= MOST_SITUATIONS or rows.missing(column).any():
        return False
    action, reward = draft.column("action"), draft.column("reward")
    if action is not None and reward is not None:
        if is_of_one_option(rows, column, action, reward):
            return False
        if settles(rows, column, action, reward) or says_the_outcome(rows, column, reward):
            return False
        if like(column, "opp opponent partner") and {*rows.counts(column)} & {*rows.counts(action)}:
            return False  # what the other player chose, rather than who it was
    if _names_the_right(draft, rows, column) or column in draft.design:
        return False
    length, _ = runs_within(owner, rows.codes(column))
    steps = np.diff(rows.numbers(column))
    counts = float(np.mean(steps >= 0)) > COUNTING  # how often something was shown
    return length < SHORT_RUN and not counts


def _is_called_shown(column: str) -> bool:
    """Whether no name speaks against a column's saying what was shown."""
    against = {"prob", "probability", "p", "value", "ev", "q", "pe", "best", "better", "optimal"}
    against |= {"prev", "previous", "last", "lag", "prior"}
    column = column.removeprefix("lag(")  # what stood in the row of the choice
    if is_answer(column) or is_time(column) or is_chosen(column) or is_mistake(column):
        return False
    if like(column, "gain loss win wins losses gains") or not against.isdisjoint(parts_of(column)):
        return False
    return not any(named_like(role, [column]) for role in ("trial", "action", "reward"))


def _put_features(draft: Draft, rows: Sample) -> bool:
    """Features whose combination is the context; whether there are any."""
    for sort in (is_feature, is_numbered):
        likely = [c for c in draft.free if sort(c) and len(rows.counts(c)) > 1 and not is_answer(c)]
        found = tuple(c for c in likely if _is_situation(draft, rows, c))
        if sort is is_numbered and (len(found) < 2 or not comes_back(draft, rows, found)):
            continue
        if found:
            draft.put("context", found, BY_NAME, "the features that describe it")
            if len(found) > 1:
                draft.put("features", found, BY_NAME, "")
            return True
    return False


def _is_situation(draft: Draft, rows: Sample, column: str) -> bool:
    counts = rows.counts(column)
    if len(counts) < 2 or is_time(column):
        return False
    inside = rows_among(draft, rows)
    owner = draft.learners()[inside]
    met = int(together(owner, rows.codes(column)).max(initial=-1)) + 1
    if met * 2 > rows.height and rows.height > 3:
        numeric = all(is_number(value) for value in counts)
        helps = f"--context {column} --bin {column}:4 makes bins of it" if numeric else ""
        draft.odd(f"{column} differs in nearly every trial, so it is not the context", helps)
        return False
    action, reward = draft.column("action"), draft.column("reward")
    if action is not None and are_places(rows, column, action):
        return False
    weak = named_like("context", [column]).get(column, 0) < 3
    if action is not None and weak and follows_from(rows.codes(column), rows.codes(action)):
        return False  # what was chosen, in other words
    return all(
        other is None or not tell_the_same(rows, column, other) for other in (action, reward)
    )


def _is_mixed(draft: Draft, rows: Sample, column: str) -> bool:
    length, _ = runs_within(draft.learners()[rows_among(draft, rows)], rows.codes(column))
    return length < 3 and len(rows.counts(column)) <= 20 and _is_situation(draft, rows, column)
