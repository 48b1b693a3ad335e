"""What no model here covers: no outcome, choices that nothing taught, stimuli that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from howlearn.reading.columns import is_feature, is_mistake, like, named_like, parts_of
from howlearn.reading.guess.behaviour import follows_from, hangs_on, settles
from howlearn.reading.guess.column_checks import examples, is_number, worth_in
from howlearn.reading.guess.described import MANY_VALUES
from howlearn.reading.guess.draft import BY_CONTENT, SAID, Answer, Draft, Guess, typed
from howlearn.reading.guess.evidence import (
    MOST_TRIALS,
    NOT_COVERED,
    Codes,
    Evidence,
    FirstChoices,
    Kind,
    changes,
    evidence_in,
    first_choices,
    follows_success,
    pays_alike,
    position_in,
    predictable,
)
from howlearn.reading.guess.sample import together

FEWEST_TRIALS = 60  # from which something can be said about people's choices
CORRECT = ("correct", "corr", "cor", "accuracy", "acc", "richtig", "korrekt", "hit", "right")


UNCLEAR = "it is not clear which of its values is a success"
NO_CHOICE = "no column says what was chosen"


class NoOutcome(Kind):
    """Choices after which nothing happened, or nothing that was written down."""

    name = NOT_COVERED
    about = "choices without feedback: perceptual decisions, discounting, described gambles"
    settled_by = ("reward",)

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """No reward at all, or what was taken for one was laid down before the choice."""
        if draft is None:
            return ()
        if "reward" not in draft.guesses:
            if any(question.about == "reward" for question in draft.questions):
                return ()  # then it may well be there
            if "action" not in draft.guesses:
                return ("no column says what was chosen, nor what it earned",)
            sounding = [
                c for c in draft.named("reward") if c not in draft.design | {*draft.on_offer}
            ]
            sounding = [c for c in sounding if _has_words(draft, c) and not is_mistake(c)]
            if sounding:
                values = examples(draft.sample, sounding[0])
                return (f"{sounding[0]} ({values}) sounds like one, but {UNCLEAR}",)
            return ("no column says what a choice earned, or whether it was right",)
        if found is not None and found.visits >= AGAIN and said_again(draft):
            name = draft.guesses["reward"].typed
            return (f"{name} only repeats what was chosen, in other numbers",)
        guess, reward = draft.guesses.get("reward"), draft.column("reward")
        if "action" not in draft.guesses and reward and len(draft.sample.counts(reward)) < 2:
            return (f"{reward} is the same in every row, and no column says what was chosen",)
        asked = {question.about for question in draft.questions}
        if "action" not in draft.guesses and asked.isdisjoint({"action", "reward"}):
            return (NO_CHOICE,)
        for column in draft.columns("reward") if guess is not None else ():
            shown = bool(named_like("context", [column])) or is_feature(column)
            if guess is not None and guess.how == BY_CONTENT and shown:
                return (f"{column} is what was shown, and no column says what a choice earned",)
            if is_designed(draft, column):
                return (
                    f"{column} has the same values equally often for every learner, whatever they "
                    "chose: it was laid down before, and is not what a choice earned",
                )
        return ()

    def stops(
        self, reasons: Sequence[str], found: Evidence | None, draft: Draft | None
    ) -> str | None:
        """Feedback is needed."""
        both = draft is not None and "action" not in draft.guesses
        if reasons[0] == NO_CHOICE:
            return (
                "no choices: these models explain what was chosen, and no column says it; if one "
                "does, name it with --action COL, or an expression"
            )
        if reasons[0].endswith(UNCLEAR):
            return (
                f"no outcome was understood: {reasons[0]}; --reward \"COL == 'VALUE'\" says it, "
                "and --reward COL takes numbers as they are"
            )
        return (
            f"no outcome: these models need feedback, and {reasons[0]}; if one does, name it with "
            f"{'--action COL and ' if both else ''}--reward COL, or an expression such as --reward "
            '"choice == answer"'
        )


MANY, OFTEN = 3, 2  # values that repeat what was chosen; rows of each choice in a context


def said_again(draft: Draft) -> bool:
    """Whether each of several choices has a separate number in each context, as scales have."""
    action, reward = draft.column("action"), draft.column("reward")
    if action is None or reward is None:
        return False
    rows, context = draft.chosen & ~draft.sample.missing(reward), draft.contexts()
    made, earned = (draft.sample.codes(c)[rows] for c in (action, reward))
    place = np.zeros_like(made) if context is None else context[rows]
    cell = together(place, made)
    if min(len(np.unique(made)), len(np.unique(earned))) < MANY or not len(cell):
        return False
    often = len(cell) >= OFTEN * (int(cell.max()) + 1)
    return often and follows_from(earned, cell) and follows_from(made, together(place, earned))


def _has_words(draft: Draft, column: str) -> bool:
    """Whether a column has several values, and not only numbers."""
    values = draft.sample.counts(column)
    return len(values) > 1 and not all(map(is_number, values))


class StimulusMissing(Kind):
    """People are right about something that the context does not tell."""

    name = NOT_COVERED
    about = "what was shown is not among the context"
    settled_by = ("context",)

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """Right far more often than context and earlier answers could tell."""
        if found is None or not found.is_binary or found.fixed > 0.95:
            return ()
        if len(found) < FEWEST_TRIALS or found.comes_back < 4:
            return ()
        right = float(found.good.mean())
        named = draft is not None and _right_is_told(draft) is not None
        if not (named or _is_correctness(found)) and not (
            right > 0.25 + 1 / len(found.actions) and pays_alike(found)
        ):
            return ()
        told = predictable(found)
        spread = np.sqrt(max(told * (1 - told), 0.01) / len(found))
        each = np.bincount(found.learner, weights=found.good) / np.bincount(found.learner)
        least = max(0.06, 5 * spread) if named else max(0.12, 6 * spread)
        alike = right - told >= least and np.mean(each > told + 0.4 * least) >= 0.7
        chance = 1 / len(found.actions)  # what is right changes at random: nobody could learn it
        random = named and told < chance + least and right > chance + 2 / np.sqrt(len(found))
        if not (alike or random):
            return ()
        fresh = int(found.owner.max()) > int(found.sequence.max())
        if fresh and hangs_on(found.good, found.action, found.owner) < TAUGHT:
            return ()  # in each block another action is better
        if follows_success(
            found, 5.0 if named else 3.0
        ):  # then outcomes teach, as those of a bandit do
            return ()
        return (
            f"choices are right in {right:z.0%} of the trials, though the context and what was "
            f"right before tell at most {told:z.0%}",
        )

    def stops(
        self, reasons: Sequence[str], found: Evidence | None, draft: Draft | None
    ) -> str | None:
        """Which option says what was shown."""
        named = () if draft is None else draft.columns("context")
        now = f" (now {typed(','.join(named))})" if named else ""
        return (
            f"the stimulus is missing: {reasons[0]}, so something that was shown is not among "
            f"the context{now}; --context COL[,COL] names it, --context none goes on without"
        )


TAUGHT = 1e-4  # by chance
AGAIN = 1.5  # times that a learner meets a context, on average: with fewer nothing comes back


class NothingComesBack(Kind):
    """Every situation is met once, as the items of a questionnaire are."""

    name = NOT_COVERED
    about = "nothing comes back, so that no outcome could be used: questionnaires, single decisions"
    settled_by = ("features",)

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """Contexts without features that hardly any learner meets twice."""
        if found is None or len(found) < FEWEST_TRIALS or int(found.context.max()) < 1:
            return ()
        grouped = draft is not None and (
            "features" in draft.guesses or draft.given.bin or draft.task is not None
        )
        if grouped or found.features or found.sets or found.visits >= AGAIN:
            return ()
        name = found.names.get("context", "the context")
        return (f"{name} is hardly ever the same twice for a learner",)

    def stops(
        self, reasons: Sequence[str], found: Evidence | None, draft: Draft | None
    ) -> str | None:
        """What is shown must come back, or have features that do."""
        return (
            f"nothing comes back: {reasons[0]}, so that no outcome could teach what to choose "
            "there; --context COL names what is shown again and again, --features COL[,COL] what "
            "contexts have in common, --context none says that it does not matter"
        )


class Untaught(Kind):
    """People are right before any outcome could have told them."""

    name = NOT_COVERED
    about = "choices that no outcome could have taught: Stroop, flanker, perceptual decisions"
    settled_by = ("context", "action", "reward")

    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """Right at the first presentations as often as later."""
        first = None if found is None else known_at_once(found, draft, SURELY)
        if first is None:
            return () if draft is None or found is None else _as_seen(draft, found)
        return (
            f"choices are right in {first.early.right:z.0%} of the first trials and where "
            f"something is new (guessing: {first.early.guessing:z.0%}), and in "
            f"{first.late.right:z.0%} later",
        )

    def stops(
        self, reasons: Sequence[str], found: Evidence | None, draft: Draft | None
    ) -> str | None:
        """Nothing is learned here."""
        return (
            f"these choices were not learned from outcomes: {reasons[0]}; if they were learned "
            "here all the same, name --context, --action and --reward"
        )


STRENGTHS = """
coherence coh contrast snr strength intensity numerosity ndots noise signal gap disparity loudness
"""
FIRST, SAME_SKILL = 20, 0.08  # trials of each learner; how much less right these may be than later


def _as_seen(draft: Draft, found: Evidence) -> Sequence[str]:
    """Why choices are decisions about what is seen: right where it is strong, from the start."""
    reward, rows = draft.column("reward"), draft.chosen
    if reward is None or not found.is_binary or len(found) < FEWEST_TRIALS:
        return ()
    good = worth_in(draft.sample, reward)[rows]
    good, owner = good > good.min(initial=np.inf), together(draft.learners()[rows])
    early = position_in(owner) < FIRST
    gain = good[~early].mean() - good[early].mean() if early.any() and not early.all() else 1.0
    little = max(SAME_SKILL, 1.25 / np.sqrt(max(1, int(early.sum()))))  # 2.5 standard errors
    sides = [c for c in draft.sample.columns if like(c, STRENGTHS)]
    shown = np.array([draft.sample.numbers(c)[rows] for c in sides])
    if not len(sides) or np.isnan(shown).any() or gain > little:
        return ()
    strong = np.abs(shown[0]) if len(sides) == 1 else np.ptp(shown, axis=0)
    weak = strong <= np.median(strong)
    if len(np.unique(strong)) < 3 or weak.all() or good[~weak].mean() < good[weak].mean():
        return ()
    if hangs_on(good.astype(float), weak.astype(np.intp), owner) > TAUGHT:
        return ()
    return (
        f"choices are right in {good[early].mean():z.0%} of the first {FIRST} trials and in "
        f"{good[~early].mean():z.0%} later, more often where {' and '.join(sides[:2])} tell more",
    )


SURELY = 3.5, 0.75  # standard errors of first choices above guessing, share of later skill
PERHAPS = 2.0, 0.5
FIXED = 0.85  # of the outcomes are as always, or as mostly, where the same is shown and chosen
SKILLED = 0.8  # of what there is above guessing, where outcomes are not as always
GOES_ON = 3.0  # standard errors by which outcomes are like the last ones


def known_at_once(
    found: Evidence, draft: Draft | None, least: tuple[float, float]
) -> FirstChoices | None:
    """The first choices, where they are as right as later ones; None where they are not.

    What is right is told by the context, or else by a column that says it with the choice.
    """
    told = None if draft is None else _right_is_told(draft)
    if told is not None and draft is not None:
        shown = Guess("context", (*draft.columns("context"), told), SAID)
        found = evidence_in(replace(draft, guesses={**draft.guesses, "context": shown})) or found
    if not found.is_binary or int(found.context.max()) < 1 or len(found) < FEWEST_TRIALS:
        return None
    if found.fixed < FIXED and (found.usual < FIXED or changes(found).same > GOES_ON):
        return None  # chances, or what is right changes
    first = first_choices(found)
    early, later = first.early, first.late.skill
    if found.fixed < FIXED and later < SKILLED:
        return None
    if early.times < 12 or later < 0.25 or early.score < least[0]:
        return None
    opening = max(first.opening.skill, first.opening.skill_above(early.guessing))
    at_once = early.skill >= least[1] * later and opening >= least[1] * later / 1.4
    at_most = early.skill * (1 + 2 / early.score)  # what chance may hide
    return first if at_once and at_most > 0.9 * later else None


def ask_if_learned(draft: Draft, found: Evidence | None) -> None:
    """Ask whether people were told what was right, where they seem to have known it at once."""
    guess = draft.guesses.get("reward")
    if found is None or guess is None or guess.how == SAID or draft.task is not None:
        return
    first = known_at_once(found, draft, PERHAPS)
    if first is not None:
        draft.ask(
            "reward",
            f"choices are right in {first.early.right:z.0%} of the first trials already, and in "
            f"{first.late.right:z.0%} later: were people told {guess.typed}, and learned from it?",
            [Answer("reward", guess.value, "yes; else these models have nothing to explain")],
            by_hand=True,
        )


def _right_is_told(draft: Draft) -> str | None:
    """A column without a role that says with the choice what is right, as word or nonword does."""
    action, reward = draft.column("action"), draft.column("reward")
    if action is None or reward is None:
        return None
    likely = [c for c in draft.free if 2 <= len(draft.sample.counts(c)) <= MANY_VALUES]
    likely = [c for c in likely if not named_like("reward", [c]) and not is_mistake(c)]
    outcome = draft.sample.codes(reward)
    likely = [c for c in likely if settles(draft.sample, c, action, reward)]
    # What tells the outcome without the choice was computed from it.
    return next((c for c in likely if not follows_from(outcome, draft.sample.codes(c))), None)


def _is_correctness(found: Evidence) -> bool:
    """Whether a reward says that the choice was right, so that one action is in each trial."""
    name = found.names.get("reward", "")
    named = not {*CORRECT}.isdisjoint(parts_of(name)) or "correct" in name.lower()
    return found.is_binary and (named or found.answer is not None)


# Columns that are laid down before anybody chooses.

FEW_VALUES = 4  # that may be as frequent in several learners by chance
FEW_LEARNERS, FEW_TRIALS = 5, 10
ALIKE = 0.9  # of the learners


def is_designed(draft: Draft, column: str) -> bool:
    """Whether each learner has the values of a column equally often, whatever was chosen.

    What choices earn differs between learners who choose differently; amounts on offer do not.
    """
    action, rows = draft.column("action"), draft.chosen
    if action is None or column not in draft.sample.columns:
        return False
    owner, codes = together(draft.learners()[rows]), together(draft.sample.codes(column)[rows])
    made = together(draft.sample.codes(action)[rows])
    if len(owner) == 0 or owner.max() < 1:
        return False
    values, people = int(codes.max()) + 1, int(owner.max()) + 1
    if values < 2 or values * people > MOST_TRIALS:
        return False
    named = named_like("reward", [column]).get(column) == 3
    if values < FEW_VALUES and (named or people < FEW_LEARNERS):
        return False
    if len(owner) < FEW_TRIALS * people:
        return False
    alike = _most_alike(_times(owner, codes))
    return alike >= max(2, ALIKE * people) and _most_alike(_times(owner, made)) < ALIKE * people


def _times(owner: Codes, codes: Codes) -> NDArray[np.intp]:
    table = np.zeros((int(owner.max()) + 1, int(codes.max()) + 1), dtype=np.intp)
    np.add.at(table, (owner, codes), 1)
    return table


def _most_alike(table: NDArray[np.intp]) -> int:
    """How many rows of a table are the same, at most."""
    return int(np.unique(table, axis=0, return_counts=True)[1].max())
