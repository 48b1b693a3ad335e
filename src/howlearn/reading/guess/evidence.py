"""What trials say about the task they come from: who could have learned what, and when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from howlearn.core.study import Study
from howlearn.reading.guess.behaviour import purity
from howlearn.reading.guess.draft import Draft
from howlearn.reading.guess.sample import scaled, together
from howlearn.reading.labels import natural_key
from howlearn.reading.offers import options_in, parse_offers
from howlearn.reading.rewards import worth_of

NOT_COVERED = "nothing that these models cover"
MOST_TRIALS = 100_000  # that are looked at; more say the same
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Evidence:
    """The trials with a choice and an outcome, in the order in which each learner made them."""

    learner: Codes
    sequence: Codes  # learner × condition
    owner: Codes  # sequence × stretch after which learning restarts
    context: Codes
    shown: Codes  # context × what was on offer
    action: Codes
    reward: NDArray[np.float64]
    contexts: tuple[str, ...]
    actions: tuple[str, ...]
    names: dict[str, str]  # role → its column, or what stands for one
    answer: Codes | None = None  # the right action of each trial, −1 where it is not known
    sets: frozenset[frozenset[str]] = frozenset()  # of actions that were on offer together
    columns: tuple[str, ...] = ()  # of the data, where only a study is left of them
    features: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of each context

    def __len__(self) -> int:
        return len(self.action)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The rewards that occur."""
        return np.unique(self.reward)

    @cached_property
    def n_learners(self) -> int:
        """How many learners there are."""
        return int(self.learner.max(initial=-1)) + 1

    @property
    def is_binary(self) -> bool:
        """Whether a choice earns one of two rewards."""
        return len(self.values) == 2

    @cached_property
    def good(self) -> NDArray[np.float64]:
        """1 where the choice earned the highest reward, else 0."""
        return (self.reward == self.values.max(initial=-np.inf)).astype(np.float64)

    @cached_property
    def fixed(self) -> float:
        """The share of trials whose reward follows from learner, what was shown and action."""
        cell = together(self.sequence, self.shown, self.action)
        times = np.bincount(cell)
        highest = np.full(len(times), -np.inf)
        lowest = np.full(len(times), np.inf)
        np.maximum.at(highest, cell, self.reward)
        np.minimum.at(lowest, cell, self.reward)
        again = times[cell] > 1
        return float((highest == lowest)[cell][again].mean()) if again.any() else 0.0

    @property
    def usual(self) -> float:
        """The share of trials with the outcome that is usual for learner, what is shown, action."""
        cell = together(self.sequence, self.shown, self.action)
        return purity(together(self.good.astype(np.intp)), cell)

    @property
    def comes_back(self) -> float:
        """How often a learner meets the same context, on average."""
        return len(self) / (1 + int(together(self.sequence, self.shown).max(initial=0)))

    @property
    def visits(self) -> float:
        """The same, whatever was on offer there and under whatever condition."""
        return len(self) / (1 + int(together(self.learner, self.context).max(initial=0)))

    def per_owner(self) -> NDArray[np.intp]:
        """How many contexts are met between two fresh starts."""
        pairs = np.unique(together(self.owner, self.context), return_index=True)[1]
        return np.bincount(self.owner[pairs])


def evidence_in(draft: Draft, reset_by: Sequence[str] | None = None) -> Evidence | None:
    """The evidence of a draft whose action and reward are known; None where there is none.

    Learning restarts with ``reset_by``, or else as the draft has it.
    """
    sample, action, reward = draft.sample, draft.column("action"), draft.column("reward")
    if action is None or reward is None:
        return None
    numbers = sample.numbers(reward)
    if np.isnan(numbers).all():
        numbers = worth_of(sample.columns[reward].labels)[sample.codes(reward)]
    rows = np.flatnonzero(draft.chosen & ~np.isnan(numbers))[:MOST_TRIALS]
    if not len(rows):
        return None
    sequence = draft.sequences()[rows]
    began = np.full(int(sequence.max()) + 1, len(numbers))
    np.minimum.at(began, sequence, rows)
    keys = [sample.places(name)[rows] for name in draft.columns("trial")]
    order = np.lexsort((rows, *reversed(keys), began[sequence]))
    rows, sequence = rows[order], together(sequence[order])
    context = draft.contexts()
    context = np.zeros(len(rows), np.intp) if context is None else context[rows]
    resets = draft.columns("reset_by") if reset_by is None else reset_by
    stretches = [sample.codes(name)[rows] for name in resets]
    made, actions = _compact(sample.codes(action)[rows], sample.columns[action].labels.to_list())
    answer = None
    if draft.answer is not None and draft.answer in sample.columns:
        known = {label: code for code, label in enumerate(actions)}
        labels = sample.columns[draft.answer].labels.to_list()
        table = np.array([known.get(label, -1) for label in labels], dtype=np.intp)
        answer = table[sample.codes(draft.answer)[rows]]
    names = {role: guess.typed for role, guess in draft.guesses.items()}
    columns = draft.columns("context")
    labels = sorted(sample.counts(columns[0]), key=natural_key) if len(columns) == 1 else []
    on_offer = [sample.codes(name)[rows] for name in draft.columns("offered")]
    return Evidence(
        together(draft.learners()[rows]),
        sequence,
        together(sequence, *stretches),
        together(context),
        together(context, *on_offer),
        made,
        numbers[rows],
        tuple(labels),
        actions,
        names,
        answer,
        _sets(draft),
    )


def _sets(draft: Draft) -> frozenset[frozenset[str]]:
    """The actions that were on offer together, as the options tell it."""
    offers, columns = draft.guesses.get("offers"), draft.columns("offered")
    if offers is not None:
        return frozenset(frozenset(each) for each in parse_offers(offers.columns).values())
    if len(columns) < 2:
        lists = draft.sample.counts(columns[0]) if columns else ()
        return frozenset(frozenset(options_in(each)) for each in lists)
    sample = draft.sample
    at = np.unique(together(*(sample.codes(c) for c in columns)), return_index=True)[1]
    labels = [sample.columns[c].labels.to_list() for c in columns]
    codes = [sample.codes(c)[at].tolist() for c in columns]
    each = ([names[i] for i in mine] for names, mine in zip(labels, codes, strict=True))
    rows = zip(*each, strict=True)
    return frozenset(frozenset(str(one) for one in row if one is not None) for row in rows)


def _compact(codes: NDArray[np.integer], labels: list[str | None]) -> tuple[Codes, tuple[str, ...]]:
    """Codes of the labels that occur, and these labels."""
    used, made = np.unique(codes, return_inverse=True)
    return made.reshape(-1), tuple(str(labels[code]) for code in used.tolist())


def evidence_of(
    study: Study,
    names: dict[str, str],
    scale: tuple[float, float] | None,
    columns: Sequence[str] = (),
) -> Evidence:
    """The evidence of a study, of its first learners if it is large."""
    stop = max(1, int(np.searchsorted(study.starts, MOST_TRIALS, side="right")) - 1)
    part = study.part(0, min(stop, len(study)))
    taught = np.asarray(part.learned)
    sequence = np.repeat(np.arange(len(part)), np.diff(part.starts))[taught]
    known = {name: code for code, name in enumerate(dict.fromkeys(part.learners))}
    learner = np.array([known[name] for name in part.learners], dtype=np.intp)[sequence]
    started = np.cumsum(np.asarray(part.reset), dtype=np.intp)[taught]
    reward = np.asarray(part.reward, dtype=np.float64)[taught]
    low, high = scale or (0.0, 1.0)
    reward = reward if scale is None else low + reward * (high - low)
    context, offer = np.asarray(part.context)[taught], part.offer
    met = tuple(study.contexts[c] for c in np.unique(context).tolist())
    on_offer = () if offer is None else (np.asarray(offer)[taught],)
    sets, actions = () if part.offers is None else part.offers, np.array(study.actions)
    return Evidence(
        together(learner),
        together(sequence),
        together(sequence, started),
        together(context),
        together(context, *on_offer),
        np.asarray(part.action, dtype=np.intp)[taught],
        reward,
        met,
        study.actions,
        names,
        None,
        frozenset(frozenset(actions[row].tolist()) for row in sets),
        tuple(columns),
        study.features,
    )


# Choices at the very first presentations: nobody can have learned them from outcomes.


@dataclass(frozen=True)
class Agreement:
    """How often choices were right, and how far that is above what answering blindly earns."""

    times: int
    right: float
    guessing: float  # with the same answers in any other order
    score: float  # above guessing, in standard errors

    @property
    def skill(self) -> float:
        """0 where answers have nothing to do with what was shown, 1 where all are right."""
        return self.skill_above(self.guessing)

    def skill_above(self, guessing: float) -> float:
        """The same, with what guessing earns elsewhere: few trials may all have one answer."""
        return (self.right - guessing) / max(1 - guessing, 1e-9)


def agreement(action: Codes, answer: Codes) -> Agreement:
    """Compare choices with what would have been right.

    >>> agreement(np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1])).skill
    1.0
    """
    n, kinds = len(action), 1 + int(max(action.max(initial=0), answer.max(initial=0)))
    if n < 2:
        return Agreement(n, 0.0, 1.0, 0.0)
    made, due = (np.bincount(codes, minlength=kinds) / n for codes in (action, answer))
    both = made * due
    right, guessing = float(np.mean(action == answer)), float(both.sum())
    spread = (both.sum() ** 2 + both.sum() - np.sum(both * (made + due))) / (n - 1)
    score = (right - guessing) / np.sqrt(spread) if spread > 0 else 0.0
    return Agreement(n, right, guessing, float(score))


@dataclass(frozen=True)
class FirstChoices:
    """How right people were in their first trials and with each new context, and later."""

    early: Agreement
    opening: Agreement  # in the first trials of each learner alone
    late: Agreement  # in the second half of the trials


OPENING = 3  # trials


def first_choices(found: Evidence) -> FirstChoices:
    """Compare the first presentations with guessing and with the second half."""
    position = position_in(found.learner)
    late = 2 * position >= np.bincount(found.learner)[found.learner]
    # The right action of each learner and context; one that nobody chose where it was never found.
    cell, hits, kinds = together(found.sequence, found.shown), found.good == 1, len(found.actions)
    right = np.full(int(cell.max(initial=-1)) + 1, kinds)
    if kinds == 2:
        right[cell] = 1 - found.action
    right[cell[hits]] = found.action[hits]
    answer = np.where(hits, found.action, right[cell])
    opening = position < OPENING
    early = opening.copy()
    early[np.unique(together(found.learner, found.shown), return_index=True)[1]] = True
    some = (early, opening, late)
    return FirstChoices(*(agreement(found.action[rows], answer[rows]) for rows in some))


def position_in(owner: Codes) -> Codes:
    """The place of each row among those of its owner."""
    order = np.argsort(owner, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(owner))))[:-1]
    place = np.empty(len(owner), dtype=np.intp)
    place[order] = np.arange(len(owner)) - starts[owner[order]]
    return place


# What is right from trial to trial: is it told by the context and by what was right before?


def predictable(found: Evidence) -> float:
    """How often the right action could be told from the context and the last right ones."""
    answer = found.answer
    if answer is None or (answer < 0).all():
        answer = np.where(found.good == 1, found.action, -1)
        if len(found.actions) == 2:
            answer = np.where(answer < 0, 1 - found.action, answer)
    known = answer >= 0
    answer, sequence, context = answer[known], found.sequence[known], found.shown[known]
    if not len(answer):
        return 1.0
    before, again = _previous(answer, sequence), _previous(answer, together(sequence, context))
    earlier = _previous(before, sequence)
    keys = (
        np.zeros(len(answer), dtype=np.intp),
        context,
        together(sequence, context),
        together(context, again + 1),
        together(context, before + 1, earlier + 1),
    )
    return max(1 / max(2, len(found.actions)), *(_told_by(key, answer) for key in keys))


def _previous(values: Codes, owner: Codes) -> Codes:
    """The value of the owner's last row; −1 at the first."""
    order = np.argsort(owner, kind="stable")
    found = np.full(len(values), -1, dtype=np.intp)
    same = np.diff(owner[order]) == 0
    found[order[1:][same]] = values[order[:-1][same]]
    return found


def _told_by(key: Codes, answer: Codes) -> float:
    """How often the most frequent answer in the other trials of the same key is the right one."""
    table = np.zeros((int(key.max()) + 1, int(answer.max()) + 1))
    np.add.at(table, (key, answer), 1)
    mine = table[key, answer] - 1
    rivals = table[key]
    rivals[np.arange(len(key)), answer] = 0
    best = rivals.max(axis=1)
    return float(np.mean((mine > best) + 0.5 * ((mine == best) & (mine > 0))))


def pays_alike(found: Evidence) -> bool:
    """Whether all actions earn about the same, so that no outcome could prefer one of them."""
    made = together(found.action)
    each = np.bincount(made, weights=found.good) / np.bincount(made)
    return float(np.ptp(each)) < 0.1


def follows_success(found: Evidence, sure: float = 3.0, same_action: bool = False) -> bool:
    """Whether choices are repeated more often after a success than after a failure.

    Learners and contexts are compared with themselves: some repeat more, and some earn more. So are
    actions, if asked for: what is chosen more often is repeated more often, and may earn more.
    """
    place = together(found.sequence, found.shown)
    order = np.argsort(place, kind="stable")
    near = np.diff(place[order]) == 0
    where = together(place[order][1:][near])
    if same_action:
        where = together(where, found.action[order][:-1][near])
    stays = centred(where, np.diff(found.action[order])[near] == 0)
    reward = scaled(found.reward)
    won = centred(where, (reward > reward.mean())[order][:-1][near])
    more = float(np.sum(stays * won)) / max(float(np.sum(won**2)), 1e-9)
    return more > 0.05 and score(stays * won) > sure


def centred(owner: Codes, values: NDArray[Any]) -> NDArray[np.float64]:
    """Values less the mean of their owner."""
    if not len(values):
        return np.zeros(0)
    return values - (np.bincount(owner, weights=values) / np.bincount(owner))[owner]


# Outcomes that change: of the same action, and of one when the other's do.

NEAR, FAR = 4, 12  # trials in the same context that are compared


@dataclass(frozen=True)
class Changes:
    """How far what an action earns goes with what was earned shortly before, in standard errors.

    Fixed chances give 0 everywhere, drifting ones a positive ``same``, reversals also a negative
    ``other`` or ``far``: who leaves an action after one bad outcome soon returns to it.
    """

    same: float  # of the same action
    other: float  # of another one
    both: float  # both together: same minus other
    far: float  # of another one, some trials later


def changes(found: Evidence) -> Changes:
    """Compare each outcome with those of the last trials of the same context."""
    cell = together(found.owner, found.shown, found.action)
    rest = centred(cell, scaled(found.reward))
    place = together(found.owner, found.shown)
    order = np.argsort(place, kind="stable")
    same, other, far = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
    for lag in range(1, FAR + 1):
        near = place[order[lag:]] == place[order[:-lag]]
        first, second = order[:-lag][near], order[lag:][near]
        alike = found.action[first] == found.action[second]
        products = rest[first] * rest[second]
        if lag <= NEAR:
            same.append(products[alike])
        (other if lag <= NEAR else far).append(products[~alike])
    own, others = np.concatenate(same), np.concatenate(other)
    both = np.concatenate((own, -others))
    return Changes(score(own), score(others), score(both), score(np.concatenate(far)))


def score(products: NDArray[np.float64]) -> float:
    """The sum of numbers that are 0 on average by chance, in standard errors."""
    products = scaled(products)
    spread = float(np.sqrt(np.sum(products**2)))
    return float(products.sum()) / spread if spread > 0 else 0.0


# Kinds of tasks, which are recognised by such evidence.


class Kind(ABC):
    """A kind of task: its name, what it is, and how it is recognised."""

    name: ClassVar[str]
    about: ClassVar[str]  # one line in plain words
    settled_by: ClassVar[tuple[str, ...]] = ()  # options with which the user ends all doubt

    @abstractmethod
    def reasons(self, found: Evidence | None, draft: Draft | None) -> Sequence[str]:
        """Why this is such a task, the main reason first; none if it is not one."""

    def stops(
        self, reasons: Sequence[str], found: Evidence | None, draft: Draft | None
    ) -> str | None:
        """What is missing, in a sentence with the option that helps, where reading must stop."""
        return None

    def is_settled(self, said: set[str]) -> bool:
        """Whether the user has said what the doubt is about, and goes on."""
        return said.issuperset(self.settled_by)

    def cells(self, found: Evidence) -> tuple[tuple[str, ...], ...]:
        """Contexts that belong together in such a task, where that is known."""
        return ()

    def traits(self, found: Evidence) -> tuple[str, ...]:
        """What else is known of the task that decides which models are its candidates."""
        return ()
