"""Where learning starts again: conditions, blocks with new contexts or new arms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from howlearn.core.options import NONE
from howlearn.reading.columns import (
    BLOCKS,
    CONDITIONS,
    KINDS,
    is_answer,
    is_day,
    is_time,
    like,
    named_like,
)
from howlearn.reading.guess.behaviour import families
from howlearn.reading.guess.column_checks import constant_within, is_number, runs_within
from howlearn.reading.guess.draft import BY_CONTENT, SAID, Answer, Draft, Guess
from howlearn.reading.guess.evidence import (
    Evidence,
    centred,
    changes,
    evidence_in,
    position_in,
    score,
)
from howlearn.reading.guess.sample import scaled, together
from howlearn.reading.guess.trial_order import restart_in, unit_of

# Stretches of trials within learners: conditions with problems of their own, and blocks.


PROBLEMS = "game problem puzzle"
THINGS = "pair stim stimulus stimset set image picture item cue symbol object fractal card"
PAYOFFS = "mu mean prob probability p rate payoff ev value"
SHORTEST = 4  # trials of a stretch, on average
SHOWN_OFTEN = 4  # times each context of a stretch is shown, so that none is missing by chance
CHANGED = 0.2  # of the contexts: more are another problem
Codes = NDArray[np.intp]


def find_stretches(draft: Draft) -> None:
    """Conditions under which the same contexts have other answers, and blocks with new contexts."""
    context = draft.contexts()
    named = [*draft.free, *draft.columns("context")]  # block × stimulus may be the context
    likely = [c for c in named if _is_stretch(draft, c, draft.learners())]
    conditions = [c for c in likely if like(c, CONDITIONS) and not like(c, "block")]
    if context is not None and draft.open("by") and "reset_by" not in draft.guesses:
        found = [c for c in conditions if _answers_change(draft, c, context)]
        if found:
            why = "the same contexts have other right answers under each of its values"
            draft.put("by", (found[0],), BY_CONTENT, why, tuple(found[1:]))
    here = {*draft.free, *draft.columns("context")}
    blocks = [c for c in likely if draft.like(c, BLOCKS) and c in here]
    blocks = [c for c in blocks if _is_stretch(draft, c, draft.sequences())]
    if context is not None and draft.open("reset_by"):
        _find_sets(draft, blocks, context)
    if draft.open("reset_by"):
        _find_new_arms(draft, [*((c,) for c in blocks), *_twofold(draft)])
    where = draft.guesses.get("where")
    rest = [c for c in dict.fromkeys((*conditions, *blocks)) if c in draft.free]
    rest = [c for c in rest if where is None or c not in str(where.value)]
    for column in [c for c in rest if c not in draft.columns("context")][:3]:
        if _without_rewards(draft, column).any():
            continue  # a test of what was learned before it
        if _is_stretch(draft, column, draft.sequences()):
            draft.odd(
                f"{column} divides each learner's trials into parts; learning is assumed to "
                f"continue across them",
                f"--reset-by {column} if it restarts in each, --by {column} to analyse each "
                f"separately",
            )


def _is_stretch(draft: Draft, column: str, owner: Codes) -> bool:
    """Whether each value of a column has one stretch of trials within each owner."""
    return _may_be_stretch(draft, column) and _in_stretches(owner, draft.sample.codes(column))


def _may_be_stretch(draft: Draft, column: str) -> bool:
    """Whether a column is called like blocks or conditions, and has a value in every row."""
    known = draft.like(column, f"{BLOCKS} {CONDITIONS} {KINDS}") and not is_answer(column)
    timed = is_time(column) and not is_day(column)
    return known and not timed and not draft.sample.missing(column).any()


def _in_stretches(owner: Codes, codes: NDArray[np.integer]) -> bool:
    length, one_run = runs_within(owner, codes)
    return one_run and length >= SHORTEST and not constant_within(owner, codes)


def _answers_change(draft: Draft, column: str, context: Codes) -> bool:
    """Whether what is right in a context differs between the stretches of a learner."""
    sample, action, reward = draft.sample, draft.column("action"), draft.column("reward")
    rows = draft.chosen
    if draft.answer is not None:
        right = sample.codes(draft.answer)
        rows = rows & ~sample.missing(draft.answer)
    elif action is not None and reward is not None:
        right = sample.codes(action)
        numbers = sample.numbers(reward)
        if np.isnan(numbers).all():
            return False
        rows = rows & (numbers == np.nanmax(numbers))
    else:
        return False
    if not rows.any():
        return False
    place = together(draft.learners()[rows], context[rows])
    stretch = together(place, sample.codes(column)[rows])
    answers = right[rows]
    one_answer = constant_within(stretch, answers)  # else what is right is a matter of chance
    return one_answer and _differing(place, answers) > CHANGED


def _differing(owner: Codes, codes: NDArray[np.integer]) -> float:
    """The share of owners with several values."""
    pairs, first = np.unique(together(owner, codes), return_index=True)
    several = np.bincount(owner[first], minlength=int(owner.max(initial=0)) + 1) > 1
    return float(several.mean()) if len(pairs) else 0.0


def _find_sets(draft: Draft, blocks: list[str], context: Codes) -> None:
    """Blocks that bring new contexts, even if they have the same names."""
    for block in blocks:
        if not _sets_differ(draft, block, context):
            continue
        names = draft.guesses["context"]
        if names.how != SAID:
            draft.guesses["context"] = Guess(
                "context",
                (block, *names.columns),
                BY_CONTENT,
                f"each {block} shows another set, so a context is {block} × "
                f"{' × '.join(names.columns)}; if {names.typed} means the same in all, use it "
                f"alone",
                names.others,
            )
        why = f"each {block} shows another set of contexts; without this line learning continues"
        draft.put("reset_by", (block,), BY_CONTENT, why)
        return


def _twofold(draft: Draft) -> list[tuple[str, str]]:
    """Sessions and blocks, where each session counts its blocks from the start."""
    owner, sample = draft.sequences(), draft.sample
    named = [c for c in draft.free if like(c, BLOCKS) and _may_be_stretch(draft, c)]
    outside = [c for c in named if _in_stretches(owner, sample.codes(c))]
    inside, found = [c for c in named if c not in outside], []
    for outer in outside if inside else ():
        within = together(owner, sample.codes(outer))
        found += [(outer, c) for c in inside if _in_stretches(within, sample.codes(c))]
    return found


def _find_new_arms(draft: Draft, blocks: Sequence[tuple[str, ...]]) -> None:
    """Blocks or games in which the same actions pay otherwise, and learners start afresh."""
    for columns in blocks:
        block = " × ".join(columns)
        told = next((c for c in columns if draft.brings_new(c)), None)
        if told is None and not restart_in(draft, columns):
            _ask_if_new(draft, columns)
            continue
        unit, new = unit_of(draft, columns), _new_things(draft, columns)
        if told is not None:
            why = f'{told} is described as "{draft.about[told].text}"'
        elif unit is not None:
            why = f"{unit} names learner and {block} together, as separate units"
        elif new is not None:
            why = f"{new} shows other things in each {block}"
        elif _are_new_arms(draft, columns):
            why = (
                f"what the actions earn differs between {block}, and first choices do not "
                f"follow the last {block}"
            )
        elif _start_again(draft, columns):
            why = f"people begin each {block} as if they had learned nothing in the last one"
        else:
            continue
        draft.put("reset_by", columns, BY_CONTENT, f"{why}; without this line learning continues")
        draft.odd(
            f"each {block} is taken as a new problem, so learning restarts in it",
            "--reset-by none if it continues",
        )
        return


def _ask_if_new(draft: Draft, blocks: tuple[str, ...]) -> None:
    """Ask where what pays changes just when a block begins, unless people go on as before."""
    found, block = evidence_in(draft, blocks), " × ".join(blocks)
    if found is None or not differs(found) or goes_over(found):
        return  # nothing changes, or little by little
    if max(changes(found).same, changes(found).both) > 4:
        return  # not only there
    forgot = (starts_afresh(found), forgets(found))
    if False in forgot or True not in forgot or _without_rewards(draft, blocks[0]).any():
        return
    answers = [
        Answer("reset_by", blocks, f"yes: learning restarts in each {block}"),
        Answer("reset_by", (NONE,), "no: what was right before is reversed, and learning goes on"),
    ]
    draft.ask(
        "reset_by",
        f"what the actions earn changes where a {block} begins, and only there: is each {block} a "
        "new problem?",
        answers,
    )
    draft.put("reset_by", blocks, BY_CONTENT, f"what the actions earn changes with each {block}")


def _are_new_arms(draft: Draft, blocks: tuple[str, ...]) -> bool:
    found = evidence_in(draft, blocks)
    if found is None or not differs(found) or changes(found).same > 4:
        return False  # nothing new, or new all the time
    return _has_payoffs(draft, blocks) or (bool(starts_afresh(found)) and not goes_over(found))


def _start_again(draft: Draft, blocks: tuple[str, ...]) -> bool:
    """Whether what people had settled on is gone at the start of each block; asked if unclear."""
    found = evidence_in(draft, blocks)
    if found is None:
        return False
    forgot = forgets(found)
    if forgot is not None or not falls_back(found):
        return bool(forgot)
    if all(like(block, PROBLEMS) for block in blocks):
        return True
    block = " × ".join(blocks)
    draft.ask(
        "reset_by",
        f"people earn no more at the start of each {block} than at the very beginning: is it a new "
        "problem?",
        [
            Answer("reset_by", (NONE,), "no: what was learned before still holds"),
            Answer("reset_by", blocks, f"yes: learning restarts in each {block}"),
        ],
    )
    return False


def _new_things(draft: Draft, blocks: Sequence[str]) -> str | None:
    """A column of stimuli, each of which a learner meets in one block only, again and again."""
    rows, owner = draft.chosen, draft.sequences()[draft.chosen]
    block = together(*(draft.sample.codes(block)[rows] for block in blocks))
    inside = together(owner, block)
    likely = [c for c in draft.free if named_like("context", [c]) or like(c, THINGS)]
    for column in [c for c in likely if not is_time(c)]:
        codes = draft.sample.codes(column)[rows]
        met = together(owner, codes)
        n, places = int(met.max(initial=0)) + 1, int(inside.max(initial=0)) + 1
        counted = runs_within(owner, codes)[1]  # each once, and never again: a counter
        often = SHOWN_OFTEN * n <= len(codes)
        one_each = n == places and constant_within(inside, codes)
        shuffled = one_each and not constant_within(block, codes)  # between learners: no counter
        again = often and ((n >= 2 * places and not counted) or shuffled)
        if again and constant_within(met, inside) and not draft.sample.missing(column)[rows].any():
            return column
    return None


def _has_payoffs(draft: Draft, blocks: Sequence[str]) -> bool:
    """Whether columns say what each action pays: the same within blocks, and not only exchanged."""
    rows, owner = draft.chosen, draft.sequences()[draft.chosen]
    inside = together(owner, *(draft.sample.codes(block)[rows] for block in blocks))
    alike = [c for family in families(draft.free) for c in family.values()]
    likely = [c for c in draft.free if like(c, PAYOFFS) or c in alike]
    pays = [c for c in likely if constant_within(inside, draft.sample.codes(c)[rows])]
    pays = [c for c in pays if np.isfinite(draft.sample.numbers(c)[rows]).all()]
    if len(pays) < 2:
        return False
    each = np.sort(np.stack([draft.sample.numbers(c)[rows] for c in pays], axis=1), axis=1)
    return len(np.unique(each, axis=0)) > 2


def _without_rewards(draft: Draft, block: str) -> NDArray[np.bool_]:
    """The choices in blocks in which nobody was ever rewarded, though others were."""
    reward, rows = draft.column("reward"), draft.chosen
    if reward is None:
        return np.zeros(int(rows.sum()), dtype=np.bool_)
    codes = draft.sample.codes(block)[rows]
    told = np.bincount(codes, weights=~draft.sample.missing(reward)[rows])
    return told[codes] == 0 if told.any() else np.zeros(len(codes), dtype=np.bool_)


def _sets_differ(draft: Draft, block: str, context: Codes) -> bool:
    """Whether contexts are missing in blocks that show each of theirs often."""
    rows = draft.chosen
    rows[rows] = ~_without_rewards(draft, block)
    if not rows.any():
        return False
    owner, context = draft.sequences()[rows], context[rows]
    place = together(owner, draft.sample.codes(block)[rows])
    pairs, first = np.unique(together(place, context), return_index=True)
    met = np.bincount(place[first])  # contexts of each block
    trials = np.bincount(place)
    _, start = np.unique(place, return_index=True)
    known, at = np.unique(together(owner, context), return_index=True)
    all_met = np.bincount(owner[at])[owner[start]]  # contexts of the learner of each block
    often = trials >= SHOWN_OFTEN * met
    if len(pairs) > len(known) and not _are_numbered(draft, block):
        return False  # some come back, and are the same
    return len(known) > 0 and float(np.mean(often & (met < all_met))) > CHANGED


def _are_numbered(draft: Draft, block: str) -> bool:
    """Whether blocks have numbers, and contexts too, so that 1 may be another one in each block."""
    labels = [value for name in draft.columns("context") for value in draft.sample.counts(name)]
    numbers = all(is_number(value) for value in draft.sample.counts(block))
    return numbers and all(is_number(value) or len(value) == 1 for value in labels)


# Blocks with new arms: they pay otherwise, the same all along, and choices start afresh.

FEWEST_STARTS = 10  # of blocks, after others in which a learner preferred one action


def differs(found: Evidence) -> bool:
    """Whether what actions pay differs between the stretches of a learner, by more than chance."""
    base = together(found.sequence, found.shown, found.action)
    cell = together(found.owner, found.shown, found.action)
    reward = scaled(found.reward)
    rest = centred(base, reward)
    inside = float(np.sum(centred(cell, reward) ** 2))
    between = float(np.sum(rest**2)) - inside
    more = int(cell.max()) - int(base.max())
    left = len(cell) - int(cell.max()) - 1
    if more < 2 or left < 2 or between <= 0:
        return False
    ratio = (between / more) / max(inside / left, 1e-12)
    return ratio > 1.5 and ratio > 1 + 6 * np.sqrt(2 / more)


def goes_over(found: Evidence) -> bool:
    """Whether actions pay at the start of a stretch as at the end of the last one, as if drifting.

    Compared are the halves of each stretch with what the action pays on average.
    """
    base = together(found.sequence, found.shown, found.action)
    cell = together(found.owner, found.shown, found.action)
    rest, late = (
        centred(base, scaled(found.reward)),
        2 * position_in(cell) >= np.bincount(cell)[cell],
    )
    first = np.unique(cell, return_index=True)[1]
    halves = []
    for half in (late, ~late):
        times = np.bincount(cell, weights=half)
        halves.append(np.bincount(cell, weights=rest * half) / np.maximum(times, 1))
    home = base[first]
    order = np.lexsort((first, home))
    near = np.diff(home[order]) == 0
    return score(halves[0][order[:-1][near]] * halves[1][order[1:][near]]) > 2.5


def starts_afresh(found: Evidence) -> bool | None:
    """Whether first choices of a stretch ignore what was preferred before it; None: unclear."""
    place = together(found.owner, found.shown)
    first = np.unique(place, return_index=True)[1]
    times = np.zeros((len(first), len(found.actions)))
    late = 2 * position_in(place) >= np.bincount(place)[place]
    np.add.at(times, (place[late], found.action[late]), 1)
    liked = np.where(times.max(axis=1) >= 0.7 * times.sum(axis=1), times.argmax(axis=1), -1)
    home = together(found.sequence, found.shown)[first]  # what the stretches belong to
    order = np.lexsort((first, home))
    near = (np.diff(home[order]) == 0) & (liked[order][:-1] >= 0)
    whose = together(home[order][1:][near])
    then, before = found.action[first][order][1:][near], liked[order][:-1][near]
    n = np.bincount(whose)
    if len(then) < FEWEST_STARTS:
        return None
    chance = 1 / len(found.actions)
    if _upper((then == before) - chance) < 0.2:
        return True
    # Some always begin with the same action: what would be the same if nothing were remembered.
    shape = (len(n), len(found.actions))
    begun, preferred = np.zeros(shape), np.zeros(shape)
    np.add.at(begun, (whose, then), 1)
    np.add.at(preferred, (whose, before), 1)
    telling = (preferred.max(axis=1) < 0.9 * n)[whose]  # others never changed their preference
    if np.count_nonzero(telling) < FEWEST_STARTS:
        return None
    by_chance = (np.sum(begun * preferred, axis=1) / n**2)[whose]
    more = ((then == before) - by_chance)[telling]
    return True if _upper(more) < 0.3 else False if -_upper(-more) > 0.15 else None


def forgets(found: Evidence) -> bool | None:
    """Whether what was preferred at the end of a stretch is not chosen first in the next one.

    It is compared with how often the last choice of the stretch follows this preference.
    """
    place, n = together(found.owner, found.shown), len(found.actions)
    first = np.unique(place, return_index=True)[1]
    last = np.full(len(first), -1)
    np.maximum.at(last, place, np.arange(len(place)))
    late = 2 * position_in(place) >= np.bincount(place)[place]
    late[last] = False
    times = np.zeros((len(first), n))
    np.add.at(times, (place[late], found.action[late]), 1)
    clear = (times.sum(axis=1) > 1) & (times.max(axis=1) >= 0.7 * times.sum(axis=1))
    liked = np.where(clear, times.argmax(axis=1), -1)
    home = together(found.sequence, found.shown)[first]
    order = np.lexsort((first, home))
    near = (np.diff(home[order]) == 0) & (liked[order][:-1] >= 0)
    before, after = order[:-1][near], order[1:][near]
    if len(before) < 3 * FEWEST_STARTS:
        return None
    kept = float(np.mean(found.action[last[before]] == liked[before])) - 1 / n
    again = (found.action[first[after]] == liked[before]) - 1 / n
    if kept < 0.25:
        return None
    return True if _upper(again) < 0.55 * kept else False if -_upper(-again) > 0.5 * kept else None


STARTING = 2  # trials of a stretch


def falls_back(found: Evidence) -> bool:
    """Whether outcomes are at the start of stretches as at the very beginning, and rise in each."""
    reward, place = scaled(found.reward), position_in(found.owner)
    start = place < STARTING
    late = 2 * place >= np.bincount(found.owner)[found.owner]
    begun = np.unique(found.owner, return_index=True)[1]
    new = np.isin(found.owner, found.owner[np.unique(found.sequence, return_index=True)[1]])
    if len(begun) < FEWEST_STARTS or not (start & new).any() or not (start & ~new).any():
        return False
    low, high, once = reward[start & ~new], reward[late], reward[start & new]
    rise, apart = float(high.mean() - low.mean()), abs(float(low.mean() - once.mean()))
    spread = float(reward.std())
    unsure = 2 * spread * np.sqrt(1 / len(low) + 1 / len(once))
    return rise > 4 * spread / np.sqrt(len(low)) and apart < max(rise / 2, unsure)


def _upper(values: NDArray[np.float64]) -> float:
    """What a mean is below in nineteen of twenty samples."""
    return float(values.mean()) + 1.64 * float(values.std()) / np.sqrt(len(values))
