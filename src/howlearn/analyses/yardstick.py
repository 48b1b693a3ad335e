"""How choices are judged, and along what: right answers, rewards, trials in bins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study, right_and_wrong
from howlearn.models.task import Task
from howlearn.simulation.shown import codes_in

BINS = 20  # at most, along the trials
MOST = 0.9  # of the stretches end within the last bin
LOCAL = 0.5  # of a sequence: contexts that stay for less come and go

UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What is measured at every trial of a study, and where the trial stands."""

    study: Study
    right: Ints  # [trial]: the right action, or −1
    measure: str
    percent: bool
    along: str  # what `place` counts
    place: Ints  # [trial], from 1

    @property
    def values(self) -> Floats:
        """Of every choice; NaN where it was not free, or cannot be judged."""
        return self.of(self.study, np.arange(len(self.place)))

    def of(self, study: Study, original: Ints) -> Floats:
        """The same for learners who imitate those of the study, whose trials stand for others."""
        if self.measure in ("right choices", "best choices"):
            right = self.right[original]
            value = np.where(right == UNKNOWN, np.nan, study.action == right)
        else:
            value = np.where(study.learned, study.reward, np.nan)
            if self.percent:
                _, high = two_rewards(self.study) or (0.0, 1.0)
                value = np.where(np.isnan(value), np.nan, value == high)
        return np.where(study.scored, value, np.nan)

    @cached_property
    def width(self) -> int:
        """Trials in a bin, such that the last one is about as full as the others."""
        longest = self._longest
        least = max(1, -(-longest // BINS))
        return min(range(least, 2 * least), key=lambda width: ((-longest % width) / width, width))

    @cached_property
    def n_bins(self) -> int:
        return max(1, -(-self._longest // self.width))

    @cached_property
    def _longest(self) -> int:
        ends = _stretch_ends(self.study, self.place, self.along)
        return int(np.quantile(ends, MOST, method="higher")) if len(ends) else 1

    @cached_property
    def bins(self) -> Ints:
        """[trial]; −1 for what lies beyond the last bin."""
        found = (self.place - 1) // self.width
        return np.where(found < self.n_bins, found, -1)

    def edges(self, bin: int) -> tuple[int, int]:
        """The first and the last place of a bin."""
        return bin * self.width + 1, (bin + 1) * self.width


def yardstick(study: Study, task: Task | None = None) -> Yardstick:
    """Right answers where they are known, else whether a choice was paid, else how much."""
    right, certain = right_actions(study, task)
    along, place = _places(study)
    if np.any((right != UNKNOWN) & study.scored):
        measure = "right choices" if certain else "best choices"
        return Yardstick(study, right, measure, True, along, place)
    two = two_rewards(study) is not None
    return Yardstick(study, right, "rewarded choices" if two else "reward", two, along, place)


def right_actions(study: Study, task: Task | None = None) -> tuple[Ints, bool]:
    """The right action of every trial, −1 where none or several are; and whether it always pays.

    From the task, from the study, or from the records where exactly one action is ever paid.
    """
    if task is not None and task.rewards:
        schedule = task.schedule()
        try:
            codes = codes_in(task, study)
        except HowlearnError:
            codes = None
        if codes is not None:
            trial = np.arange(len(study.context)) - np.repeat(
                study.starts[:-1] - study.starts[0], np.diff(study.starts)
            )
            phase = np.searchsorted(schedule.from_trial, trial, side="right") - 1
            best = schedule.best[phase, codes[study.context]]
            if study.offered is not None:
                best = schedule.best_of(phase, codes[study.context], study.offered)
            found = np.where(best.sum(axis=1) == 1, best.argmax(axis=1), UNKNOWN)
            return found, bool(np.isin(schedule.probability, (0.0, 1.0)).all())
    if study.answers is not None and np.any(study.answers >= 0):
        right = study.answers[study.context].astype(np.int64)
        if study.offered is not None:
            there = study.offered[np.arange(len(right)), right]
            right = np.where((right >= 0) & there, right, UNKNOWN)
        return right, True
    return _by_records(study), True


def _by_records(study: Study) -> Ints:
    nothing = np.full(len(study.context), UNKNOWN, np.int64)
    two = two_rewards(study)
    if two is None:
        return nothing
    n_actions = len(study.actions)
    situation = runs_of(study) * len(study.contexts) + study.context
    sets = np.ones((1, n_actions), bool) if study.offers is None else study.offers
    if study.offer is not None:  # what is right depends on what is on offer
        situation = situation * len(sets) + study.offer
    told = study.learned & np.isfinite(study.reward)
    pair = situation * n_actions + study.action
    paid, unpaid = (np.unique(pair[told & (study.reward == value)]) for value in two[::-1])
    where = paid // n_actions
    if len(np.intersect1d(paid, unpaid)) or len(np.unique(where)) < len(where):
        return nothing
    left = unpaid[~np.isin(unpaid // n_actions, where)]
    left = left[sets.sum(axis=1)[left // n_actions % len(sets)] == 2]
    if len(left):  # of two the other one must be right
        if len(np.unique(left // n_actions)) < len(left):
            return nothing
        others = sets[left // n_actions % len(sets)].copy()
        others[np.arange(len(left)), left % n_actions] = False
        right = left // n_actions * n_actions + others.argmax(axis=1)
        paid = np.sort(np.concatenate([paid, right]))
        where = paid // n_actions
    if not len(where):
        return nothing
    at = np.minimum(np.searchsorted(where, situation), len(where) - 1)
    return np.where(where[at] == situation, paid[at] % n_actions, UNKNOWN)


def two_rewards(study: Study) -> tuple[float, float] | None:
    return study.right_wrong or right_and_wrong(study.reward, study.learned)


def runs_of(study: Study) -> Ints:
    """Of each trial: the number of its run, which ends where learning restarts."""
    new = study.reset.copy()
    new[(study.starts[:-1] - study.starts[0])[np.diff(study.starts) > 0]] = True
    return np.cumsum(new, dtype=np.int64) - 1


def _places(study: Study) -> tuple[str, Ints]:
    """Where each trial stands, and in what: the sequence, a run, or the showings of its context."""
    if _come_and_go(study):
        situation = runs_of(study) * len(study.contexts) + study.context
        return "times the context was shown", ranks_of(situation)
    if study.block_column is not None:
        return "trial since the new start", ranks_of(runs_of(study))
    return "trial", ranks_of(_sequences(study))


def _sequences(study: Study) -> Ints:
    return np.repeat(np.arange(len(study)), np.diff(study.starts))


def ranks_of(code: Ints) -> Ints:
    """The how-manieth each entry is among those of its code, from 1."""
    order = np.argsort(code, kind="stable")
    _, start, count = np.unique(code[order], return_index=True, return_counts=True)
    found = np.empty(len(code), np.int64)
    found[order] = np.arange(len(code)) - np.repeat(start, count) + 1
    return found


def _come_and_go(study: Study) -> bool:
    """Whether most contexts are met during a small part of a sequence only."""
    if len(study.contexts) < 2 or not len(study.context):
        return False
    sequence = _sequences(study)
    pair = sequence * len(study.contexts) + study.context
    found, first = np.unique(pair, return_index=True)
    _, last = np.unique(pair[::-1], return_index=True)
    span = len(pair) - last - first
    length = np.diff(study.starts)[found // len(study.contexts)]
    many = len(found) > 2 * len(np.unique(sequence))
    return bool(many and np.median(span / length) < LOCAL)


def _stretch_ends(study: Study, place: Ints, along: str) -> Ints:
    """The last place of every sequence, run, or situation."""
    if along == "trial":
        code = _sequences(study)
    else:
        code = runs_of(study)
        if along != "trial since the new start":
            code = code * len(study.contexts) + study.context
    if not len(code):
        return np.empty(0, np.int64)
    _, inverse = np.unique(code, return_inverse=True)
    ends = np.zeros(int(inverse.max()) + 1, np.int64)
    np.maximum.at(ends, inverse, place)
    return ends
