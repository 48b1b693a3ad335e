"""What actions pay where that changes over the trials, as the records of all learners suggest.

A task is in hidden states that change now and then, a Markov chain: either all actions together, as
where good and bad change places, or each by itself, as where payoffs drift. The chain is learned
from what all learners were paid, by expectation and maximisation; BIC decides which it is, and
among how many states.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints
from howlearn.core.study import Study

CHANGES = (
    4.0  # standard errors by which outcomes resemble the ones before them; else they are fixed
)
BINS = 8  # kinds of outcomes that are told apart, at most
LONGEST = 200  # trials that are followed in one piece
TOGETHER, APART = (2, 3, 4, 5, 8), (2, 3, 5, 8)  # numbers of states that are tried
ITERATIONS, SETTLED = 40, 0.5  # of the search; nats
STAYS, LEAVES, SEEN = 5.0, 0.5, 0.25  # counts before any is seen: of staying, leaving, an outcome


@dataclass(frozen=True, eq=False)
class _Outcomes:
    """Outcomes in few kinds, a row for each piece of a record; −1: none."""

    action: Ints
    kind: Ints
    actions: int

    @property
    def known(self) -> NDArray[np.bool_]:
        return self.kind >= 0

    @property
    def kinds(self) -> int:
        return int(self.kind.max()) + 1

    def apart(self) -> _Outcomes:
        """A row for each piece and action, as if each action were a task alone."""
        mine = self.action[:, None] == np.arange(self.actions)[:, None]
        kind = np.where(mine, self.kind[:, None], -1).reshape(-1, self.kind.shape[1])
        return _Outcomes(np.zeros_like(kind), kind, 1)

    def chances(self, pays: Floats) -> Floats:
        """How probable each outcome is in every state: [row, place, state]."""
        seen = np.moveaxis(pays, 0, -1)[self.action, self.kind]
        return np.where(self.known[..., None], seen, 1.0)


@dataclass(frozen=True, eq=False)
class _States:
    """In each state every action has its own chances of outcomes."""

    pays: Floats  # [state, action, kind of outcome]
    moves: Floats  # [from, to]
    start: Floats
    log_likelihood: float = -np.inf
    score: float = -np.inf  # BIC, in nats

    def filtered(self, chance: Floats) -> tuple[Floats, Floats]:
        """The states' probabilities given the outcomes so far, and each outcome's probability."""
        forward, scale = np.empty_like(chance), np.empty(chance.shape[:2])
        now = np.broadcast_to(self.start, (len(chance), len(self.start)))
        for t in range(chance.shape[1]):
            now = (now if t == 0 else now @ self.moves) * chance[:, t]
            scale[:, t] = total = now.sum(axis=1)
            now = forward[:, t] = now / total[:, None]
        return forward, scale

    def smoothed(self, seen: _Outcomes) -> tuple[Floats, Floats, float]:
        """The states' probabilities [row, place, state], those of moves, and the likelihood."""
        chance = seen.chances(self.pays)
        forward, scale = self.filtered(chance)
        backward = np.ones_like(chance)
        for t in range(chance.shape[1] - 1, 0, -1):
            ahead = backward[:, t] * chance[:, t] / scale[:, t, None]
            backward[:, t - 1] = ahead @ self.moves.T
        ahead = (backward * chance / scale[..., None])[:, 1:]
        moved = np.einsum("rts,rtu->su", forward[:, :-1], ahead) * self.moves
        return forward * backward, moved, float(np.log(scale).sum())

    def drawn(self, seen: _Outcomes, random: np.random.Generator) -> Ints:
        """States that may have been there, drawn given all outcomes of a row: [row, place]."""
        forward, _ = self.filtered(seen.chances(self.pays))
        u = random.random(forward.shape[:2])
        state = np.empty(forward.shape[:2], np.int64)
        for t in range(forward.shape[1] - 1, -1, -1):
            p = forward[:, t]
            if t + 1 < forward.shape[1]:
                p = p * self.moves[:, state[:, t + 1]].T
            upto = np.cumsum(p, axis=1)
            state[:, t] = (u[:, t, None] * upto[:, -1:] >= upto[:, :-1]).sum(axis=1)
        return state

    def renewed(self, seen: _Outcomes) -> _States:
        """One step of expectation and maximisation."""
        state, moved, log_likelihood = self.smoothed(seen)
        n, actions, kinds = self.pays.shape
        counts = np.full((actions * kinds, n), SEEN)
        np.add.at(counts, (seen.action * kinds + seen.kind)[seen.known], state[seen.known])
        pays = np.moveaxis(counts.reshape(actions, kinds, n), -1, 0)
        moves = moved + LEAVES + (STAYS - LEAVES) * np.eye(n)
        start = state[:, 0].sum(axis=0) + LEAVES
        return _States(
            pays / pays.sum(axis=-1, keepdims=True),
            moves / moves.sum(axis=1, keepdims=True),
            start / start.sum(),
            log_likelihood,
        )


def _started(n: int, seen: _Outcomes) -> _States:
    """A start in which each state favours an action or, of one action, another height."""
    height = np.linspace(-1.0, 1.0, seen.kinds)
    overall = np.bincount(seen.kind[seen.known], minlength=seen.kinds) + SEEN
    if seen.actions == 1:
        favour = np.linspace(-3.0, 3.0, n)[:, None] if n > 1 else np.zeros((1, 1))
    else:
        state, action = np.arange(n)[:, None], np.arange(seen.actions)
        strength = np.where(state < seen.actions, 1.0, 0.3 * (1 + state - seen.actions))
        favour = np.where(action == state % seen.actions, strength, -strength) * (n > 1)
    pays = overall * np.exp(favour[..., None] * height)
    off = (1 - np.eye(n)) * (0.05 / max(n - 1, 1))
    moves = off + np.eye(n) * (1 - off.sum(axis=1))
    return _States(pays / pays.sum(axis=-1, keepdims=True), moves, np.full(n, 1 / n))


def _searched(n: int, seen: _Outcomes) -> _States:
    """The likeliest chain of so many states that is found from the start."""
    states = _started(n, seen)
    for _ in range(ITERATIONS):
        new = states.renewed(seen)
        settled = new.log_likelihood - states.log_likelihood < SETTLED
        states = new
        if settled:
            break
    free = n * seen.actions * (seen.kinds - 1) + n * (n - 1) + n - 1
    score = states.log_likelihood - 0.5 * free * np.log(max(int(seen.known.sum()), 2))
    return replace(states, score=float(score))


def _best(numbers: tuple[int, ...], seen: _Outcomes) -> _States:
    """The number of states after which further ones are not worth it."""
    best = _searched(1, seen)
    for n in numbers:
        new = _searched(n, seen)
        if new.score <= best.score and n > numbers[0]:
            break
        best = max(best, new, key=lambda states: states.score)
    return best


class ChangingRewards:
    """Outcomes that follow hidden states of the task."""

    def __init__(self, study: Study, pieces: list[Ints], seen: _Outcomes, seed: int = 0) -> None:
        together, apart = _best(TOGETHER, seen), _best(APART, seen.apart())
        self.apart = apart.score > together.score
        best = apart if self.apart else together
        self.states = len(best.pays)
        self.pays = np.broadcast_to(best.pays, (self.states, seen.actions, seen.kinds))
        drawn = best.drawn(seen.apart() if self.apart else seen, np.random.default_rng(seed))
        drawn = drawn.reshape(len(pieces), -1, seen.kind.shape[1])  # [piece, action or 1, place]
        reward = np.asarray(study.reward)
        self.state = np.zeros((len(reward), seen.actions), np.int64)  # at every trial of the study
        kind = np.full(len(reward), -1)
        for k, trials in enumerate(pieces):
            self.state[trials] = drawn[k, :, : len(trials)].T
            kind[trials] = seen.kind[k, : len(trials)]
        self.values = [np.sort(reward[kind == k]) for k in range(seen.kinds)]

    def gains(self, trials: NDArray[np.int64], u: Floats) -> Floats:
        """What each action would earn at these trials of the study; u is uniform."""
        chance = self.pays[self.state[trials], np.arange(self.pays.shape[1])]  # [trial, action, ·]
        upto = np.cumsum(chance, axis=-1)
        kind = (u[:, None, None] >= upto[..., :-1]).sum(axis=-1)
        own = np.take_along_axis(chance, kind[..., None], -1)[..., 0]
        below = np.take_along_axis(upto, kind[..., None], -1)[..., 0] - own
        part = np.clip((u[:, None] - below) / own, 0.0, 1 - 1e-9)
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
    pieces = [row[i : i + LONGEST] for row in rows for i in range(0, len(row), LONGEST)]
    found = ChangingRewards(study, pieces, _outcomes(study, pieces))
    return found if found.states > 1 else None


def _outcomes(study: Study, pieces: list[Ints]) -> _Outcomes:
    reward = np.asarray(study.reward)
    paid = np.asarray(study.learned) & np.isfinite(reward)
    values = np.unique(reward[paid])
    if len(values) > BINS:
        edges = np.unique(np.quantile(reward[paid], np.arange(1, BINS) / BINS))
    else:
        edges = (values[1:] + values[:-1]) / 2
    made = np.where(paid, np.searchsorted(edges, reward, side="right"), -1)
    action = np.zeros((len(pieces), max(map(len, pieces))), np.int64)
    kind = np.full(action.shape, -1)
    for k, trials in enumerate(pieces):
        action[k, : len(trials)], kind[k, : len(trials)] = study.action[trials], made[trials]
    return _Outcomes(action, kind, len(study.actions))
