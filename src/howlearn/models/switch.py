"""Switch: a learner who gives up one strategy for another, at one trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Parameter
from howlearn.engine.layout import SCORED, Statuses
from howlearn.models.mixture import Best, Expert, Mixture, Source, WeighedTrials
from howlearn.models.model import Model

LONGEST = 1e9  # trials
LEVEL = 1e-9  # nats; trials that differ less are equally good


@dataclass(frozen=True, repr=False, init=False)
class Switch(Mixture):
    """The first strategy chooses up to some trial, the second from it on.

    Both see the learner's choices and rewards from the beginning. ``trial`` is the number of the
    first trial at which the second chooses, counted within the learner's sequence: 1 if it always
    does, and one more than there are trials if it never does. It counts as three parameters in D:
    chosen among all trials, it gains as much by chance (Ninomiya, 2015, Ann. Inst. Stat. Math. 67,
    943–961).

    >>> from howlearn.models.candidates import candidates
    >>> Switch(*candidates(["1", "2"])).name
    'switch(OneForAll, OnePerItem)'
    """

    kind = "switch"
    counts = 3
    title = "follows one strategy, then switches to another"
    phrase = "a switch from one strategy to another at one trial, counted as three parameters"
    cites = ("ninomiya2015",)
    profiled = True
    abrupt = True

    def __init__(
        self,
        first: Model | Expert,
        second: Model | Expert,
        source: Source = "training",
        label: str = "",
    ) -> None:
        vars(self).update(experts=(first, second), source=source, label=label, of_others=None)
        self.__post_init__()

    @classmethod
    def of(cls, experts: Sequence[Expert], settings: Mapping[str, Any]) -> Switch:
        if len(experts) != 2:
            raise HowlearnError(
                f"{cls.kind} needs two experts, the first and the second, got {len(experts)}"
            )
        return cls(experts[0], experts[1], **settings)

    own = (Parameter("trial", 1.0, LONGEST, default=100.0, scale=1.0),)

    def feedback(
        self, reward: Floats, learned: NDArray[np.bool_], extent: tuple[float, float]
    ) -> Floats:
        return np.zeros(len(reward))  # it does not learn when to switch

    def is_like(self, other: Model) -> bool:
        ordered = [e.meaning for e in self.experts] == [e.meaning for e in other.experts]
        return ordered and super().is_like(other)

    def blend(self, own: Floats, advice: Floats, trials: WeighedTrials) -> tuple[Floats, Floats]:
        second = self._second(own, len(advice))
        weight = np.column_stack([~second, second])
        with np.errstate(divide="ignore"):
            log_q = np.log(weight.astype(float))
        return log_q, np.where(second[:, None], advice[:, 1], advice[:, 0])

    def slopes(
        self, own: Floats, advice: Floats, slopes: Floats, owner: Ints, trials: WeighedTrials
    ) -> tuple[Floats, Floats]:
        second = self._second(own, len(advice))
        chooses = np.where(second[:, None], owner == 1, owner == 0)
        return np.where(second, advice[:, 1], advice[:, 0]), np.where(chooses, slopes, 0.0)

    def _second(self, own: Floats, n: int) -> NDArray[np.bool_]:
        return np.arange(1, n + 1) >= np.floor(own[0])

    def best(self, advice: Floats, trials: WeighedTrials, marks: Ints, seen: Ints) -> Best:
        theta = np.empty((*marks.shape, 1))
        status = np.full((*marks.shape, 1), Statuses.OK, np.int8)
        value, rest = np.empty(marks.shape), np.empty(marks.shape)
        scored = (trials.flags & SCORED) > 0
        for i in range(len(marks)):
            mine = slice(trials.offsets[i], trials.offsets[i + 1])
            each = np.where(scored[mine, None], advice[mine], 0.0)
            n = len(each)
            before = np.concatenate([[0.0], np.cumsum(each[:, 0])])  # by the first, up to a trial
            for j, mark in enumerate(marks[i].tolist()):
                # at[k]: the first chooses the first k trials. Sums, no differences: one of the
                # two may be out of the question, and its sum huge.
                after = np.concatenate([np.cumsum(each[:mark, 1][::-1])[::-1], [0.0]])
                at = before[: mark + 1] + after
                k = int(np.argmax(at))
                for end in (0, mark):  # no switch at all, rather than one by rounding
                    if at[end] >= at[k] - LEVEL:
                        k = end
                if np.max(at) - np.min(at) < LEVEL:
                    status[i, j] = Statuses.FLAT
                value[i, j] = at[k]
                never = k == mark
                theta[i, j] = n + 1 if never else k + 1
                rest[i, j] = each[mark:, 0 if never else 1].sum()
                if seen[i, j] == 0:
                    status[i, j] = Statuses.UNSEEN
        return Best(theta, status, value, rest)
