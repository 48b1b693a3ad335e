"""The field's models once more, the slow and obvious way, from their formulas.

Without numpy and without howlearn. Each is a function of what is known about the task and of the
parameters that gives a learner: an object with ``log_p(context)`` and ``learn(row)``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scipy.special import log_ndtr

TOO_FAR = 1e100  # outputs of a network that runs away: it stops learning


@dataclass(frozen=True)
class Row:
    """One trial; what is not known is None."""

    context: str
    action: int
    reward: float
    scored: bool = True
    learned: bool = True
    reset: bool = False
    correct: int | None = None
    forgone: Sequence[float | None] = ()
    ends: bool = True
    duration: float | None = None
    load: float = 5.0  # stimuli of the block

    def outcome(self, action: int) -> float | None:
        if action == self.action:
            return self.reward
        return self.forgone[action] if self.forgone else None


@dataclass(frozen=True)
class Facts:
    """The task: actions, cells of the contexts, features as written in a file, rewards."""

    n_actions: int
    cell: Mapping[str, str]
    features: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rewards: tuple[float, float] = (0.0, 1.0)

    @property
    def names(self) -> list[str]:
        return list(next(iter(self.features.values())))

    def distance(self, name: str, one: str, other: str) -> float:
        """Of two contexts in one feature: numbers by their share of the range, words 0 or 1."""
        words = [values[name] for values in self.features.values()]
        a, b = self.features[one][name], self.features[other][name]
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            return 0.0 if a == b else 1.0
        width = max(numbers) - min(numbers)
        return abs(float(a) - float(b)) / width if width else 0.0


def log_softmax(scores: Sequence[float]) -> list[float]:
    top = max(scores)
    log_sum = top + math.log(sum(math.exp(x - top) for x in scores))
    return [x - log_sum for x in scores]


def log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf


class Values:
    """Q-learning; its relatives change how an action learns."""

    def __init__(self, facts, theta):
        self.facts, self.theta = facts, theta
        self.q = {cell: [0.0] * facts.n_actions for cell in facts.cell.values()}

    def log_p(self, context):
        return log_softmax([self.theta["beta"] * q for q in self.q[self.facts.cell[context]]])

    def learn(self, row):
        q = self.q[self.facts.cell[row.context]]
        for a in range(self.facts.n_actions):
            q[a] = self.moved(q[a], row.outcome(a))

    def moved(self, q, outcome):
        return q if outcome is None else q + self.theta["alpha"] * (outcome - q)


class Start(Values):
    def __init__(self, facts, theta):
        super().__init__(facts, theta)
        low, high = facts.rewards
        first = low + theta["start"] * (high - low)
        self.q = {cell: [first] * facts.n_actions for cell in self.q}


class Parts:
    """Q-learning with any of the parts that value learners have, one after the other.

    The first action is not to respond.
    """

    def __init__(self, facts, theta):
        self.facts, self.theta = facts, theta
        cells = facts.cell.values()
        self.q = {(cell, a): 0.0 for cell in cells for a in range(facts.n_actions)}
        self.salience = dict.fromkeys(self.q, 1.0)
        self.v = dict.fromkeys(cells, 0.0)

    def log_p(self, context):
        cell, get = self.facts.cell[context], self.theta.get
        scores = [self.theta["beta"] * self.q[cell, a] for a in range(self.facts.n_actions)]
        for a in range(1, len(scores)):
            scores[a] += get("go_bias", 0) + self.theta["beta"] * get("pavlovian", 0) * self.v[cell]
        return log_softmax(scores)

    def rate(self, error):
        alpha, delta = self.theta["alpha"], self.theta.get("asymmetry", 0.0)
        if alpha in (0.0, 1.0):
            return alpha
        logit = math.log(alpha / (1 - alpha)) + (delta / 2 if error > 0 else -delta / 2)
        return 1 / (1 + math.exp(-logit))

    def learn(self, row):
        cell, get = self.facts.cell[row.context], self.theta.get
        low, high = self.facts.rewards
        for a in range(self.facts.n_actions):
            place, outcome = (cell, a), row.outcome(a)
            if outcome is None:
                opposite = low + high - row.reward - self.q[place]
                if a in getattr(self, "offer", range(self.facts.n_actions)):
                    self.q[place] += get("fictive", 0.0) * self.rate(opposite) * opposite
                self.q[place] -= get("phi", 0.0) * self.q[place]
            else:
                error = outcome - self.q[place]
                self.q[place] += self.rate(error) * self.salience[place] * error
                surprise = min(1.0, abs(error) / (high - low))
                eta = get("attention", 0.0)
                self.salience[place] = (1 - eta) * self.salience[place] + eta * surprise
        error = row.reward - self.v[cell]
        self.v[cell] += self.rate(error) * error


class TwoRates(Values):
    def moved(self, q, outcome):
        if outcome is None:
            return q
        rate = self.theta["alpha_better" if outcome > q else "alpha_worse"]
        return q + rate * (outcome - q)


class Forgetting(Values):
    def moved(self, q, outcome):
        return (1 - self.theta["phi"]) * q if outcome is None else super().moved(q, outcome)


class Perseveration(Values):
    def __init__(self, facts, theta):
        super().__init__(facts, theta)
        self.kernel = {cell: [0.0] * facts.n_actions for cell in facts.cell.values()}

    def log_p(self, context):
        cell = self.facts.cell[context]
        pairs = zip(self.q[cell], self.kernel[cell], strict=True)
        return log_softmax([self.theta["beta"] * q + self.theta["kappa"] * c for q, c in pairs])

    def learn(self, row):
        super().learn(row)
        cell = self.facts.cell[row.context]
        self.kernel[cell] = [
            c + self.theta["tau"] * ((a == row.action) - c) for a, c in enumerate(self.kernel[cell])
        ]


class WinStayLoseShift:
    def __init__(self, facts, theta):
        self.facts, self.theta, self.last = facts, theta, {}

    def log_p(self, context):
        n = self.facts.n_actions
        offer = getattr(self, "offer", range(n))  # what can be chosen now
        if self.facts.cell[context] not in self.last:
            return [math.log(1 / n)] * n
        action, won = self.last[self.facts.cell[context]]
        if action not in offer or len(offer) == 1:
            return [math.log(1 / n)] * n
        stay = self.theta["win_stay"] if won else 1 - self.theta["lose_shift"]
        others = 1 - self.theta["win_stay"] if won else self.theta["lose_shift"]
        others /= len(offer) - 1
        return [log(stay if a == action else others if a in offer else 0.0) for a in range(n)]

    def learn(self, row):
        won = row.reward >= sum(self.facts.rewards) / 2
        self.last[self.facts.cell[row.context]] = (row.action, won)


class ACA:
    def __init__(self, facts, theta, block=0):
        self.facts, self.theta, self.block = facts, theta, block
        self.h = {(s, a): 0.0 for s in facts.cell.values() for a in range(facts.n_actions)}
        self.episode = []

    def log_p(self, context):
        cell = self.facts.cell[context]
        return log_softmax([self.h[cell, a] for a in range(self.facts.n_actions)])

    def learn(self, row):
        self.episode.append(row)
        if len(self.episode) == self.block if self.block else row.ends:
            times = [each.duration for each in self.episode]
            if None in times:
                times = [1.0] * len(times)
            gain = sum(each.reward for each in self.episode)
            for each, time in zip(self.episode, times, strict=True):
                place = (self.facts.cell[each.context], each.action)
                self.h[place] += self.theta["alpha"] * gain * time / sum(times)
            self.episode = []
        self.h = {place: self.theta["gamma"] * h for place, h in self.h.items()}


class Kalman:
    """A filter per cell and action; ``scores`` says what is chosen by."""

    def __init__(self, facts, theta):
        self.facts, self.theta = facts, theta
        low, high = facts.rewards
        self.span = high - low
        places = [(cell, a) for cell in set(facts.cell.values()) for a in range(facts.n_actions)]
        self.m = dict.fromkeys(places, (low + high) / 2)
        self.v = dict.fromkeys(places, (self.span / 2) ** 2)

    def log_p(self, context):
        cell = self.facts.cell[context]
        known = [(self.m[cell, a], self.v[cell, a]) for a in range(self.facts.n_actions)]
        return log_softmax(self.scores(known))

    def scores(self, known):
        explore = self.theta.get("explore", 0.0)
        return [self.theta["beta"] * (m + explore * math.sqrt(v)) for m, v in known]

    def learn(self, row):
        noise = (self.theta["noise"] * self.span) ** 2
        for a in range(self.facts.n_actions):
            place, outcome = (self.facts.cell[row.context], a), row.outcome(a)
            if outcome is not None:
                total = self.v[place] + noise
                self.m[place] += self.v[place] / total * (outcome - self.m[place])
                self.v[place] *= noise / total
        for place in self.v:
            self.v[place] += (self.theta["drift"] * self.span) ** 2


class Thompson(Kalman):
    def scores(self, known):
        offer = getattr(self, "offer", range(len(known)))
        return [
            sum(
                float(log_ndtr((m - known[b][0]) / math.sqrt(v + known[b][1])))
                for b in offer
                if b != a
            )
            for a, (m, v) in enumerate(known)
        ]


class WorkingMemory:
    """RLWM; ``taught`` is what a loss teaches the slow part."""

    taught = 0.0

    def __init__(self, facts, theta):
        self.facts, self.theta, self.last = facts, theta, None
        even = 1 / facts.n_actions
        self.q = {cell: [even] * facts.n_actions for cell in facts.cell.values()}
        self.w = {cell: [even] * facts.n_actions for cell in facts.cell.values()}

    def policy(self, table):
        offer = getattr(self, "offer", range(self.facts.n_actions))
        scores = [25 * (table[a] + self.theta["kappa"] * (a == self.last)) for a in offer]
        p = dict(zip(offer, map(math.exp, log_softmax(scores)), strict=True))
        epsilon = self.theta["epsilon"]
        return [
            epsilon / len(offer) + (1 - epsilon) * p[a] if a in offer else 0.0
            for a in range(self.facts.n_actions)
        ]

    def log_p(self, context):
        cell = self.facts.cell[context]
        w = self.theta["rho"] * min(1, self.theta["capacity"] / self.load)
        both = zip(self.policy(self.w[cell]), self.policy(self.q[cell]), strict=True)
        return [log(w * memory + (1 - w) * slow) for memory, slow in both]

    def learn(self, row):
        cell, a, phi = self.facts.cell[row.context], row.action, self.theta["phi"]
        low, high = self.facts.rewards
        r = (row.reward - low) / (high - low)
        even = 1 / self.facts.n_actions
        for table in self.w.values():
            table[:] = [w + phi * (even - w) for w in table]
        self.w[cell][a] += (1 if r == 1 else self.theta["b_memory"]) * (r - self.w[cell][a])
        rate = self.theta["alpha"] * (1 if r == 1 else self.theta["b_slow"])
        self.q[cell][a] += rate * ((1 if r == 1 else self.taught) - self.q[cell][a])
        self.last = a


class WorkingMemoryHabit(WorkingMemory):
    taught = 1.0


def taught(row, n_actions) -> list[float | None]:
    """What the outputs should be: 1, −1, or nobody knows."""
    if row.correct is not None:
        return [1.0 if k == row.correct else -1.0 for k in range(n_actions)]
    return [-1.0 if k == row.action else None for k in range(n_actions)]


class Alcove:
    def __init__(self, facts, theta):
        self.facts, self.theta = facts, theta
        self.attention = {name: 1 / len(facts.names) for name in facts.names}
        self.w = {(k, h): 0.0 for k in range(facts.n_actions) for h in facts.features}

    def active(self, context):
        return {
            h: math.exp(
                -self.theta["c"]
                * sum(
                    alpha * self.facts.distance(name, h, context)
                    for name, alpha in self.attention.items()
                )
            )
            for h in self.facts.features
        }

    def out(self, context):
        active = self.active(context)
        return [
            sum(self.w[k, h] * a for h, a in active.items()) for k in range(self.facts.n_actions)
        ]

    def log_p(self, context):
        return log_softmax([self.theta["phi"] * out for out in self.out(context)])

    def learn(self, row):
        out, active = self.out(row.context), self.active(row.context)
        if any(abs(o) > TOO_FAR for o in out):
            return
        delta = []
        for o, t in zip(out, taught(row, self.facts.n_actions), strict=True):
            humble = o if t is None else max(t, o) if t > 0 else min(t, o)
            delta.append(humble - o)
        steps = {}
        for name in self.attention:
            total = 0.0
            for h, a in active.items():
                blame = sum(d * self.w[k, h] for k, d in enumerate(delta))
                total += blame * a * self.theta["c"] * self.facts.distance(name, h, row.context)
            steps[name] = -self.theta["lambda_alpha"] * total
        for (k, h), w in self.w.items():
            self.w[k, h] = w + self.theta["lambda_w"] * delta[k] * active[h]
        self.attention = {name: max(0.0, a + steps[name]) for name, a in self.attention.items()}


class ComponentCue:
    def __init__(self, facts, theta):
        self.facts, self.theta, self.w = facts, theta, {}

    def out(self, context):
        cues = self.facts.features[context].items()
        return [sum(self.w.get((k, cue), 0.0) for cue in cues) for k in range(self.facts.n_actions)]

    def log_p(self, context):
        return log_softmax([self.theta["phi"] * out for out in self.out(context)])

    def learn(self, row):
        out = self.out(row.context)
        if any(abs(o) > TOO_FAR for o in out):
            return
        for k, t in enumerate(taught(row, self.facts.n_actions)):
            for cue in self.facts.features[row.context].items() if t is not None else ():
                w = self.w.get((k, cue), 0.0)
                self.w[k, cue] = w + self.theta["lambda_w"] * (t - out[k])


class GCM:
    def __init__(self, facts, theta):
        self.facts, self.theta, self.examples = facts, theta, []
        shares = [theta[name] for name in theta if name.startswith("share_")]
        weights = [1 / len(facts.names)] * len(facts.names)
        if shares:
            weights = [
                share * math.prod(1 - s for s in shares[:i])
                for i, share in enumerate([*shares, 1.0])
            ]
        self.weights = dict(zip(facts.names, weights, strict=True))

    def log_p(self, context):
        evidence = [self.theta["b"]] * self.facts.n_actions
        for h, answer in self.examples:
            distance = sum(w * self.facts.distance(n, h, context) for n, w in self.weights.items())
            evidence[answer] += math.exp(-self.theta["c"] * distance)
        return log_softmax([self.theta["gamma"] * math.log(e) for e in evidence])

    def learn(self, row):
        if row.correct is not None:
            self.examples.append((row.context, row.correct))


ORACLES = {
    "q-learning": Values,
    "q-two-rates": TwoRates,
    "q-forgetting": Forgetting,
    "q-perseveration": Perseveration,
    "q-start": Start,
    "q-signed": Values,
    "pearce-hall": Parts,
    "go-no-go": Parts,
    "win-stay-lose-shift": WinStayLoseShift,
    "aca": ACA,
    "alcove": Alcove,
    "component-cue": ComponentCue,
    "gcm": GCM,
    "kalman-mean": Kalman,
    "kalman-ucb": Kalman,
    "kalman-thompson": Thompson,
    "rlwm": WorkingMemory,
    "wm-habit": WorkingMemoryHabit,
}


def replay(rows: Sequence[Row], begin) -> list[list[float]]:
    """log p of every action at every trial; ``begin()`` gives a learner that knows nothing."""
    learner, found = begin(), []
    for row in rows:
        if row.reset:
            learner = begin()
        learner.load = row.load
        found.append(learner.log_p(row.context))
        if row.learned:
            learner.learn(row)
    return found
