"""What actions pay where that changes over the trials, as the records of all learners suggest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints
from howlearn.core.study import Study

CHANGES = (
    4.0  # standard errors by which outcomes resemble those shortly before, else they are fixed
)
BINS = 8  # kinds of outcomes that are told apart, at most
MOST_STATES = 8
ITERATIONS, SETTLED = 60, 0.01  # of the search; nats
STAYS, LEAVES, SEEN = 5.0, 0.5, 0.25  # counts before any is seen: of staying, leaving, an outcome


@dataclass(frozen=True, eq=False)
class _Outcomes:
    """One row per learner, context and new start, in the order of the trials; −1: none."""

    action: Ints
    kind: Ints  # which bin the outcome falls into

    @property
    def known(self) -> NDArray[np.bool_]:
        return self.kind >= 0

    def chances(self, pays: Floats) -> Floats:
        """How probable each outcome is in every state: [row, place, state]."""
        seen = np.moveaxis(pays, 0, -1)[self.action, self.kind]
        return np.where(self.known[..., None], seen, 1.0)


@dataclass(frozen=True, eq=False)
class _States:
    """A hidden Markov chain: in each state every action has its own chances of outcomes."""

    pays: Floats  # [state, action, kind of outcome]
    moves: Floats  # [from, to]
    start: Floats
    score: float = -np.inf  # BIC, in nats
    log_likelihood: float = -np.inf

    def smoothed(self, seen: _Outcomes) -> tuple[Floats, Floats, float]:
        """The states' probabilities [row, place, state], those of moves, and the likelihood."""
        chance = seen.chances(self.pays)
        rows, length, n = chance.shape
        forward, scale = np.empty_like(chance), np.empty((rows, length))
        now = np.broadcast_to(self.start, (rows, n))
        for t in range(length):
            now = (now if t == 0 else now @ self.moves) * chance[:, t]
            scale[:, t] = total = now.sum(axis=1)
            now = forward[:, t] = now / total[:, None]
        backward = np.ones_like(chance)
        for t in range(length - 1, 0, -1):
            ahead = backward[:, t] * chance[:, t] / scale[:, t, None]
            backward[:, t - 1] = ahead @ self.moves.T
        ahead = (backward * chance / scale[..., None])[:, 1:]
        moved = np.einsum("rts,rtu->su", forward[:, :-1], ahead) * self.moves
        return forward * backward, moved, float(np.log(scale).sum())

    def renewed(self, seen: _Outcomes) -> _States:
        """One step of expectation and maximisation."""
        state, moved, log_likelihood = self.smoothed(seen)
        n, actions, kinds = self.pays.shape
        counts = np.full((actions * kinds, n), SEEN)
        code = (seen.action * kinds + seen.kind)[seen.known]
        np.add.at(counts, code, state[seen.known])
        pays = np.moveaxis(counts.reshape(actions, kinds, n), -1, 0)
        moves = moved + LEAVES + (STAYS - LEAVES) * np.eye(n)
        start = state[:, 0].sum(axis=0) + LEAVES
        return _States(
            pays / pays.sum(axis=-1, keepdims=True),
            moves / moves.sum(axis=1, keepdims=True),
            start / start.sum(),
            log_likelihood=log_likelihood,
        )


class ChangingRewards:
    """Outcomes that follow hidden states of the task, learned from all learners together."""

    def __init__(self, study: Study, rows: list[Ints], states: _States, seen: _Outcomes) -> None:
        reward = np.asarray(study.reward)
        self.states = len(states.pays)
        self.pays = states.pays
        self.state = np.zeros(len(reward), np.int64)  # the likeliest at every trial of the study
        found = states.smoothed(seen)[0].argmax(axis=-1)
        for k, trials in enumerate(rows):
            self.state[trials] = found[k, : len(trials)]
        kinds = states.pays.shape[-1]
        code = np.full(len(reward), -1)
        for k, trials in enumerate(rows):
            code[trials] = seen.kind[k, : len(trials)]
        self.values = [np.sort(reward[code == kind]) for kind in range(kinds)]

    def gains(self, trials: NDArray[np.int64], u: Floats) -> Floats:
        """What each action would earn at these trials of the study; u is uniform."""
        upto = np.cumsum(self.pays[self.state[trials]], axis=-1)  # [trial, action, kind]
        kind = np.minimum((u[:, None, None] >= upto).sum(axis=-1), len(self.values) - 1)
        below = np.take_along_axis(np.insert(upto, 0, 0.0, axis=-1), kind[..., None], -1)[..., 0]
        width = np.take_along_axis(self.pays[self.state[trials]], kind[..., None], -1)[..., 0]
        part = np.clip((u[:, None] - below) / np.maximum(width, 1e-12), 0.0, 1 - 1e-9)
        gains = np.empty(kind.shape)
        for k, known in enumerate(self.values):
            mine = kind == k
            gains[mine] = known[(part[mine] * len(known)).astype(np.int64)]
        return gains


def changing_rewards(study: Study, rows: list[Ints]) -> ChangingRewards | None:
    """The states of a task whose outcomes change; None where they do not.

    ``rows`` has the trials of each learner, context and new start.
    """
    from howlearn.reading.guess.evidence import changes, evidence_of

    seen = changes(evidence_of(study, {}, None))
    if max(seen.same, seen.both) < CHANGES:
        return None
    outcomes = _outcomes(study, rows)
    one = _best_with(1, outcomes, len(study.actions))
    some = [_best_with(n, outcomes, len(study.actions)) for n in _numbers(len(study.actions))]
    best = max(some, key=lambda states: states.score)
    return ChangingRewards(study, rows, best, outcomes) if best.score > one.score else None


def _numbers(actions: int) -> Sequence[int]:
    """How many states are tried."""
    return sorted({2, *(n for n in (actions, actions + 1, 2 * actions) if n <= MOST_STATES)})


def _outcomes(study: Study, rows: list[Ints]) -> _Outcomes:
    """Outcomes in few kinds, a row for each learner, context and new start."""
    reward = np.asarray(study.reward)
    paid = np.asarray(study.learned) & np.isfinite(reward)
    values = np.unique(reward[paid])
    if len(values) > BINS:
        edges = np.unique(np.quantile(reward[paid], np.arange(1, BINS) / BINS))
    else:
        edges = (values[1:] + values[:-1]) / 2
    kind = np.where(paid, np.searchsorted(edges, reward, side="right"), -1)
    action = np.zeros((len(rows), max(map(len, rows))), np.int64)
    kinds = np.full(action.shape, -1)
    for k, trials in enumerate(rows):
        action[k, : len(trials)], kinds[k, : len(trials)] = study.action[trials], kind[trials]
    return _Outcomes(action, kinds)


def _best_with(n: int, seen: _Outcomes, actions: int) -> _States:
    """The likeliest chain of so many states, from a start in which each favours an action."""
    kinds = int(seen.kind.max()) + 1
    height = np.linspace(-1.0, 1.0, kinds)
    overall = np.bincount(seen.kind[seen.known], minlength=kinds) + SEEN
    favour = np.zeros((n, actions))
    for s in range(n if n > 1 else 0):
        strength = 1.0 if s < actions else 0.3 * (1 + s - actions)
        favour[s] = np.where(np.arange(actions) == s % actions, strength, -strength)
    pays = overall * np.exp(favour[..., None] * height)
    off = (1 - np.eye(n)) * (0.05 / max(n - 1, 1))
    states = _States(
        pays / pays.sum(axis=-1, keepdims=True), off + np.eye(n) * (1 - off.sum(1)),
        np.full(n, 1 / n),
    )  # fmt: skip
    before = -np.inf
    for _ in range(ITERATIONS):
        new = states.renewed(seen)
        if new.log_likelihood - before < SETTLED:
            break
        states, before = new, new.log_likelihood
    free = n * actions * (kinds - 1) + n * (n - 1) + n - 1
    score = before - 0.5 * free * np.log(max(int(seen.known.sum()), 2))
    return replace(states, score=float(score))
