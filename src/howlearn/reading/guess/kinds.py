"""What kind of task the trials come from, with reasons; and what these models do not cover."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from howlearn.core.study import Study
from howlearn.core.text import many
from howlearn.core.world import FoundKind, no_go_of
from howlearn.reading.columns import parts_of
from howlearn.reading.guess.described import Described
from howlearn.reading.guess.draft import SAID, Draft, together, typed
from howlearn.reading.guess.evidence import Evidence, Kind, changes, evidence_in, evidence_of
from howlearn.reading.guess.not_covered import (
    NoOutcome,
    NothingComesBack,
    StimulusMissing,
    Untaught,
    ask_if_learned,
)
from howlearn.reading.guess.stages import (
    STATES,
    TwoStages,
    filled,
    one_choice_of_two,
    two_stages,
    under_any_names,
    words_of,
)

if TYPE_CHECKING:
    from howlearn.reading.plan import ReadingPlan

Cells = tuple[tuple[str, ...], ...]


class TwoStep(Kind):
    """Two steps in each trial, of which the first leads to what the second is about."""

    name = "two-step"
    about = "a choice leads to a state, in which the next one is made or the outcome waits"

    def is_settled(self, said: set[str]) -> bool:
        """The stages are named, or one choice of the two is."""
        return not said.isdisjoint({"stages", "action"})

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """Two columns of choices that are called stages, or a state that a choice led to."""
        named = "" if found is None else found.names.get("stages")
        if named:
            return (f"each choice of a row is a trial: {named}",)
        stages = self._stages(found, draft)
        if stages is not None:
            return stages.reasons
        one = None if draft is None else one_choice_of_two(draft)
        return () if one is None else (one.reason,)

    def stops(
        self, reasons: Sequence[str], found: Evidence | None, draft: Draft | None
    ) -> str | None:
        """Which option reads the stages."""
        stages = self._stages(found, draft)
        one = None if draft is None or stages is not None else one_choice_of_two(draft)
        if one is not None and draft is not None:
            stages = filled(draft)
        two = "reads each row as two trials, one per stage"
        helps = "" if stages is None else f"--stages {typed(stages.typed)} {two}"
        if one is not None:
            helps = "; ".join(filter(None, (helps, one.helps)))
            return f"this is a two-step task ({one.reason}), not a bandit; {helps}"
        if stages is None:
            return None
        return (
            f"this is a two-step task ({stages.reasons[0]}), and one choice per row would be a "
            f"bandit, which it is not; {helps}"
        )

    def _stages(self, found: Evidence | None, draft: Draft | None) -> TwoStages | None:
        if draft is not None:
            named = two_stages([*draft.sample.columns], draft.sample.counts)
            if named is not None:
                return filled(draft, named.first, named.second) or named
            told = any(STATES & {*words_of(c)} for c in draft.sample.columns)
            return (filled(draft) if told else None) or under_any_names(draft)
        return None if found is None else two_stages(found.columns)


# Kinds that are covered.


class ProbabilisticSelection(Kind):
    """Fixed pairs of stimuli, of which one pays more often."""

    name = "probabilistic selection"
    about = "fixed pairs of stimuli, of which one is rewarded more often than the other"

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """Contexts that are pairs, or pairs on offer, and rewards by chance."""
        if found is None or not found.is_binary or found.fixed > 0.9:
            return ()
        if found.sets and not _are_apart(found.sets):
            return ()
        if found.sets:
            shown = ", ".join(sorted(" or ".join(sorted(each)) for each in found.sets))
            why = f"pairs of stimuli are on offer ({shown})"
        elif _are_pairs(found.contexts):
            shown = ", ".join(found.contexts[:4])
            why = f"{found.names.get('context', 'the context')} names pairs of stimuli ({shown})"
        else:
            return ()
        return why, "each stimulus has its own chance of reward"


class GoNoGo(Kind):
    """To act or not to act."""

    name = "go/no-go"
    about = "to respond or to withhold the response"

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """Two actions, one of which is not to respond."""
        if found is None or len(found.actions) != 2:
            return ()
        words = {re.sub(r"[\W_]+", "", label.lower()) for label in found.actions}
        if no_go_of(found.actions) is not None:
            return (f"the actions are {' and '.join(found.actions)}",)
        name = found.names.get("action", "")
        parts = {*parts_of(name), re.sub(r"[\W_]+", "", name.lower())}
        pressed = parts & {"go", "pressed", "gonogo", "keypressed", "press", "approach"}
        untimed = [1.0] if draft is None else _untimed(draft)
        if (
            pressed
            and "button" not in parts  # the number of a button
            and words <= {"0", "1", "yes", "no", "true", "false"}
            and max(untimed, default=1.0) > 0.05  # else both are responses, with their times
        ):
            return (f"{name} says whether there was a response",)
        quiet = None if draft is None else _without_times(draft)
        return () if quiet is None else (f"{name} = {quiet} has no response times",)


def _untimed(draft: Draft) -> list[float]:
    """The share of each action's trials without a response time; empty where none are recorded."""
    action, times = draft.column("action"), draft.column("rt")
    if action is None or times is None:
        return []
    rows = draft.chosen
    codes = together(draft.sample.codes(action)[rows])
    missing = ~np.isfinite(draft.sample.numbers(times)[rows])
    return (np.bincount(codes, weights=missing) / np.bincount(codes)).tolist()


def _without_times(draft: Draft) -> str | None:
    """The action of two that is never timed, while the other is: not to respond."""
    share, action = _untimed(draft), draft.column("action")
    if len(share) != 2 or min(share) > 0.05 or max(share) < 0.95 or action is None:
        return None
    codes = draft.sample.codes(action)[draft.chosen]
    quiet = codes[together(codes) == share.index(max(share))][0]
    return str(draft.sample.columns[action].labels[int(quiet)])


class Gambling(Kind):
    """Always the same options, which bring gains and losses of several sizes."""

    name = "gambling with gains and losses"
    about = "the same options again and again, with gains and losses of several sizes"

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """Rewards of both signs and several sizes."""
        if found is None or int(found.context.max(initial=0)) > 0 or len(found.values) < 4:
            return ()
        low, high = found.values[[0, -1]]
        words = {*parts_of(found.names.get("reward", "")), *parts_of(found.names.get("action", ""))}
        named = words & {"gain", "gains", "win", "wins", "loss", "losses", "deck", "card", "gamble"}
        if not low < 0 < high or not (named or len(found.actions) > 2):
            return ()
        return (
            f"rewards go from {low:g} to {high:g}, in {len(found.values):,} sizes",
            f"always the same situation, {_options(found)}",
            *_fresh_starts(found),
        )


class NewStimuli(Kind):
    """Blocks, each of which brings stimuli that nobody knows yet."""

    name = "blocks of new stimuli"
    about = "learning restarts in each block, with other stimuli"

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """Several fresh starts of each learner, and contexts that belong to one of them."""
        if found is None or int(found.context.max(initial=0)) < 1:
            return ()
        starts = _fresh_starts(found)
        if not starts:
            return ()
        sizes = np.unique(found.per_owner())
        size = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        what = "stimulus" if size == "1" else "stimuli"
        return *starts, f"set size: {size} {what} in a block"


class Reversal(Kind):
    """What was right becomes wrong, and the other way round."""

    name = "reversal"
    about = "the better action becomes the worse one, once or again and again"

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """When one action's outcomes get worse, the other's get better."""
        if found is None:
            return ()
        seen = changes(found)
        names = [] if draft is None else [c for c in draft.sample.columns if _tells_reversal(c)]
        if seen.both < (2.5 if names else 4) or (seen.other > -2 and seen.far > -3):
            return ()
        told = (f"{names[0]} mentions reversals",) if names else ()
        return ("what the actions earn changes places in the course of the trials", *told)


class Bandit(Kind):
    """Always the same situation."""

    name = "bandit"
    about = "always the same situation: some options, each with its own outcomes"

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """One context."""
        if found is None or int(found.context.max(initial=0)) > 0:
            return ()
        return (
            f"always the same situation, {_options(found)}",
            _rewards(found),
            *(("what the options pay drifts",) if _drifts(found) else ()),
            *_fresh_starts(found),
        )

    def traits(self, found: Evidence) -> tuple[str, ...]:
        """Whether rewards have several sizes, or change in the course of the trials."""
        graded = ("graded rewards",) if len(found.values) > 3 else ()
        return (*graded, *(("drifting rewards",) if _drifts(found) else ()))


def _drifts(found: Evidence) -> bool:
    return changes(found).same > 4


class Categories(Kind):
    """Several contexts share a right answer, which never changes."""

    name = "category learning"
    about = "more stimuli than answers, each with one right answer"

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """Fixed answers that are fewer than the contexts."""
        if found is None or not found.is_binary or found.fixed < 0.9:
            return ()
        contexts = int(np.median(found.per_owner()))
        if contexts <= len(found.actions) or contexts < 3:
            return ()
        return (
            *_shepard(found),
            f"{contexts:,} contexts with one right answer each, out of {len(found.actions)}",
            "what is right never changes",
        )

    def cells(self, found: Evidence) -> Cells:
        """The categories of a Shepard task, if they are the same for everybody."""
        each = {cells for _, cells in shepard_types(found)}
        return each.pop() if len(each) == 1 else ()


def _shepard(found: Evidence) -> tuple[str, ...]:
    """Which of Shepard's types it is, in words."""
    types = sorted({name for name, _ in shepard_types(found)}, key=[*DEGREES.values()].index)
    if not types:
        return ()
    of = ", ".join(next(iter(found.features.values())))
    name = f"types {', '.join(types)}" if len(types) > 1 else f"type {types[0]}"
    return (f"Shepard {name}: eight stimuli of three features with two values each ({of})",)


# How many neighbours the members of a category have in it, on the cube of three features.
DEGREES = {
    (2, 2, 2, 2): "I",
    (1, 1, 1, 1): "II",
    (1, 1, 2, 2): "III",
    (1, 1, 1, 3): "IV",
    (0, 1, 1, 2): "V",
    (0, 0, 0, 0): "VI",
}


def shepard_types(found: Evidence) -> list[tuple[str, Cells]]:
    """The type and the two categories of each sequence, where these are four and four of eight."""
    names, features = found.contexts, found.features
    if len(names) != 8 or len(found.actions) != 2 or not all(c in features for c in names):
        return []
    values = np.array([[*features[c].values()] for c in names])
    if values.shape != (8, 3):
        return []
    bits = np.stack([np.unique(each, return_inverse=True)[1].reshape(-1) for each in values.T], 1)
    if bits.max() != 1 or len(np.unique(bits, axis=0)) != 8:
        return []
    near = np.abs(bits[:, None] - bits[None]).sum(axis=2) == 1
    answers = np.full((int(found.sequence.max()) + 1, 8), -1)
    right = np.where(found.good == 1, found.action, 1 - found.action)
    answers[found.sequence, found.context] = right
    kinds: list[tuple[str, Cells]] = []
    for mine in answers[(answers >= 0).all(axis=1)]:
        one = mine == mine[0]
        name = DEGREES.get(tuple(sorted(near[one][:, one].sum(axis=1).tolist())))
        if name is not None:
            both = (np.array(names)[one].tolist(), np.array(names)[~one].tolist())
            kinds.append((name, tuple(tuple(sorted(cell)) for cell in both)))
    return kinds


class Contextual(Kind):
    """What is best depends on what is shown."""

    name = "contextual learning"
    about = "what is best depends on what is shown"

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """Several contexts."""
        if found is None or int(found.context.max(initial=0)) < 1:
            return ()
        contexts = int(np.median(found.per_owner()))
        return (f"{many(contexts, 'context')}, {_options(found)}", _rewards(found))


KINDS: tuple[Kind, ...] = (  # the first that is recognised counts
    TwoStep(),
    NoOutcome(),
    Described(),
    NothingComesBack(),
    StimulusMissing(),
    Untaught(),
    ProbabilisticSelection(),
    GoNoGo(),
    Gambling(),
    NewStimuli(),
    Reversal(),
    Bandit(),
    Categories(),
    Contextual(),
)


def find_kind(draft: Draft) -> FoundKind | None:
    """The kind of task, for all roles that are known; it is kept in the draft."""
    found = evidence_in(draft)
    for kind in KINDS:
        reasons = tuple(kind.reasons(found, draft))
        if not reasons:
            continue
        said = {name for name, guess in draft.guesses.items() if guess.how == SAID}
        stops = None if kind.is_settled(said) else kind.stops(reasons, found, draft)
        draft.kind = FoundKind(kind.name, reasons, stops)
        if stops is None:
            ask_if_learned(draft, found)
        break
    return draft.kind


def with_kind(study: Study, plan: ReadingPlan) -> Study:
    """The study, and what kind of task its trials come from, as far as they tell it."""
    roles, options = plan.roles, plan.options
    names = {
        "context": ",".join(roles.context),
        "action": roles.action,
        "reward": roles.reward,
    }
    names |= {"stages": options.stages} if options.stages else {}
    found = evidence_of(study, names, options.reward_scale, sorted(plan.anywhere))
    said = {name for name in names if getattr(options, name)}
    for kind in KINDS if len(found) else ():
        reasons = tuple(kind.reasons(found, None))
        if reasons:
            stops = None if kind.is_settled(said) else kind.stops(reasons, found, None)
            known = FoundKind(kind.name, reasons, stops, kind.cells(found), kind.traits(found))
            return replace(study, kind=known)
    return study


def _fresh_starts(found: Evidence) -> tuple[str, ...]:
    """That learning restarts again and again, if it does."""
    starts, sequences = int(found.owner.max()) + 1, int(found.sequence.max()) + 1
    if starts < 2 * sequences:
        return ()
    each = round(starts / sequences)
    return (f"learning restarts in each of about {each:,} blocks of a learner",)


def _are_pairs(labels: Sequence[str]) -> bool:
    """Whether labels name pairs, of which at least three have nothing in common.

    >>> _are_pairs(["AB", "CD", "EF"]), _are_pairs(["12", "34", "56"]), _are_pairs(["12", "13"])
    (True, True, False)
    """
    split = [re.fullmatch(r"([^\W_])[\W_]*([^\W_])", label) for label in labels]
    pairs = {frozenset((m[1], m[2])) for m in split if m and m[1].isdigit() == m[2].isdigit()}
    return len(pairs) == len(labels) and _are_apart(pairs)


def _are_apart(sets: Collection[frozenset[str]]) -> bool:
    """Whether sets are pairs, of which at least three have nothing in common."""
    apart: set[str] = set()
    for pair in sets:
        apart |= pair if apart.isdisjoint(pair) else set()
    return len(apart) >= 6 and all(len(pair) == 2 for pair in sets)


def _tells_reversal(column: str) -> bool:
    return any(part.startswith("revers") for part in parts_of(column))


def _options(found: Evidence) -> str:
    """How many options there are, and how many at once."""
    every = {*found.actions} if not found.sets else {one for each in found.sets for one in each}
    sizes = sorted({len(each) for each in found.sets})
    if not sizes or sizes[0] == len(every):
        return many(len(every), "option")
    at_once = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    return f"{at_once} of {len(every)} options on offer at a time"


def _rewards(found: Evidence) -> str:
    """The rewards in words."""
    values = found.values
    if len(values) <= 3:
        return f"rewards are {' and '.join(f'{value:g}' for value in values)}"
    return f"graded rewards from {values[0]:g} to {values[-1]:g}"
