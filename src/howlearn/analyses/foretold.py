"""How well candidates foretell choices: from other learners and a learner's own past alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from howlearn.analyses.doubles import sampled
from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.engine import compile as compiled
from howlearn.engine.whole import Records
from howlearn.fitting.replay import Advisor, advisor_for
from howlearn.fitting.settings import places_by_unit, records_of
from howlearn.models.model import Model
from howlearn.results.results import Results
from howlearn.runs.parts import Progress
from howlearn.selection.rate_grid import on_grid

FOLDS = 10  # of people
NODES, LOWEST = 32, 0.002  # learning rates, and the smallest where rewards go up to 1
EFFECTS, SPREADS = 16, (0.1, 0.4, 1.0)  # of a learner's rates, and of the cells' around them
SECOND = 4  # values of a cell's second parameter
ATOMS = 400  # estimates of other people, of all models that have no grid
TOGETHER = 1_000  # sequences from which weights are learned
ROUNDS, CLOSE = 200, 1e-6  # of EM
PRIOR = 1.0  # learners' worth of equal weights
STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)  # trials that others' frequencies count for
MEMORY = 600_000_000  # bytes of components that are kept


def folds_of(study: Study, seed: int, n: int = FOLDS) -> Ints:
    """The fold of every sequence; those of one learner stay together.

    >>> import howlearn as hl
    >>> study = hl.simulate("shepard-1", "OneForAll", {"eta": 0.1}, learners=4, trials=9)
    >>> sorted(folds_of(study, 0, 2).tolist())
    [0, 0, 1, 1]
    """
    names = [*dict.fromkeys(study.learners)]
    order = np.random.default_rng([seed, len(names)]).permutation(len(names))
    place = dict(zip(names, (order % min(n, len(names))).tolist(), strict=True))
    return np.array([place[name] for name in study.learners], np.int64)


@dataclass(frozen=True, eq=False)
class Grid:
    """A partition model at many rates at once."""

    model: Model
    theta: Floats  # [node, parameter]
    unit_of: Ints  # [context]
    kernel: Floats  # [node, component]

    @classmethod
    def of(cls, model: Model, study: Study) -> Grid:
        largest = max(1.0, *(abs(value) for value in study.reward_range))
        unit_of = np.zeros(len(study.contexts), np.int64)
        code = {name: i for i, name in enumerate(study.contexts)}
        columns = []
        seconds = max(len(_seconds(unit.rule)) for unit in model.units)
        for number, (unit, _) in enumerate(places_by_unit(model)):
            for cell in unit.cells:
                unit_of[[code[c] for c in cell if c in code]] = number
            rates = np.exp(_log_rates(unit.rule, largest))
            columns.append(np.repeat(rates, seconds))
            mine = _seconds(unit.rule)
            if len(unit.rule.parameters) > 1:
                columns.append(np.tile(mine, NODES))
        x = np.linspace(0.0, 1.0, NODES) * np.ptp(_log_rates(model.units[0].rule, largest))
        middle = np.linspace(x[0], x[-1], EFFECTS)
        spread = np.repeat(SPREADS, EFFECTS)
        kernel = np.exp(-0.5 * ((x[:, None] - np.tile(middle, len(SPREADS))) / spread) ** 2)
        kernel /= kernel.sum(axis=0)
        kernel = np.repeat(kernel, seconds, axis=0) / seconds
        theta = np.ascontiguousarray(np.stack(columns, axis=1))
        return cls(model, theta, unit_of, np.ascontiguousarray(kernel))

    def __len__(self) -> int:
        return self.kernel.shape[1]

    def fill(self, ready: Advisor, records: Records, out: Floats) -> None:
        """The log-probabilities of the components: out[component, trial, action]."""
        at = ready.at_points(records, self.theta)
        unit = self.unit_of[records.context]
        like = np.zeros((len(self.model.units), len(at)))
        given = (records.action.astype(np.int64), records.flags, self.kernel, like)
        with np.errstate(divide="ignore"):
            compiled.foretelling().integrated(at, unit, *given, out)


def _log_rates(rule: Rule | Model, largest: float) -> Floats:
    upper = rule.parameters[0].upper
    lower = min(LOWEST / largest, upper / 100)
    return np.minimum(np.linspace(np.log(lower), np.log(upper), NODES), np.log(upper))


def _seconds(rule: Rule | Model) -> Floats:
    if len(rule.parameters) == 1:
        return np.zeros(1)
    second = rule.parameters[1]
    return second.at(np.linspace(0.0, second.end, 2 * SECOND + 1)[1::2])


@dataclass(frozen=True, eq=False)
class Bank:
    """Any other model, at the estimates of people and half-way to the median of their fold."""

    model: Model
    theta: Floats  # [atom, parameter]
    fold: Ints  # [atom]: of the person; −1: of nobody

    @classmethod
    def of(cls, model: Model, study: Study, theta: Floats, fold: Ints, most: int) -> Bank:
        parameters = [parameter for _, parameter in model.owners(study.actions)]
        if not parameters:
            return cls(model, theta[:1], np.full(1, -1))
        u = np.stack([p.u(theta[:, d]) for d, p in enumerate(parameters)], axis=1)
        middle = np.stack([np.median(u[fold == k], axis=0) for k in range(fold.max() + 1)])[fold]
        half = (u + middle) / 2
        between = np.stack([p.at(half[:, d]) for d, p in enumerate(parameters)], axis=1)
        if model.adds_up:  # probabilities whose sum is at most 1
            between = np.where(between.sum(axis=1, keepdims=True) > 1.0, theta, between)
        known = np.flatnonzero(np.isfinite(theta).all(axis=1))
        count = min(len(known), max(1, most // 2))
        some = known[np.arange(count) * len(known) // max(count, 1)]
        both = np.concatenate([theta[some], between[some]])
        return cls(model, np.ascontiguousarray(both), np.tile(fold[some], 2))

    def __len__(self) -> int:
        return len(self.theta)

    def fill(self, ready: Advisor, records: Records, out: Floats) -> None:
        """The log-probabilities of the atoms: out[atom, trial, action]."""
        out[:] = ready.at_points(records, self.theta)


class Foretelling:
    """The whole candidate set as one mixture, weighted by what other people did."""

    def __init__(
        self, study: Study, models: Sequence[Model], thetas: Sequence[Floats], fold: Ints
    ) -> None:
        self.study, self.fold = study, fold
        banked = [not on_grid(model) for model in models]
        most = ATOMS // max(1, sum(banked))
        self.sources: list[Grid | Bank] = []
        for model, theta, bank in zip(models, thetas, banked, strict=True):
            made = Bank.of(model, study, theta, fold, most) if bank else Grid.of(model, study)
            self.sources += [made] if len(made) else []
        self.ready = [advisor_for(source.model, study) for source in self.sources]
        # A guesser is always among them, so that no choice is impossible.
        self.size = 1 + sum(map(len, self.sources))
        owner = [getattr(each, "fold", np.full(len(each), -1)) for each in self.sources]
        self.owner = np.concatenate([np.full(1, -1), *owner])
        self.kept: dict[int, Floats] = {}
        self.room = MEMORY // (4 * self.size * max(1, len(study.actions)))  # trials

    def components(self, sequence: int) -> tuple[Records, Floats]:
        """One record, and its log-probabilities [component, trial, action]."""
        part = self.study.part(sequence, sequence + 1)
        records = records_of(part)
        if sequence in self.kept:
            return records, self.kept[sequence]
        # half as long as other numbers: there may be many
        out: Any = np.empty((self.size, len(part.context), len(part.actions)), np.float32)
        there = np.ones(out.shape[1:], bool) if part.offered is None else part.offered
        with np.errstate(divide="ignore"):
            out[0] = np.where(there, -np.log(part.n_offered)[:, None], -np.inf)
            at = 1
            for source, ready in zip(self.sources, self.ready, strict=True):
                source.fill(ready, records, out[at : at + len(source)])
                at += len(source)
        if np.isnan(out.sum()):  # a model that gives NaN explains nothing
            out[np.isnan(out)] = -np.inf
        if self.room >= len(part.context):
            self.room -= len(part.context)
            self.kept[sequence] = out
        return records, out

    def log_probabilities(self, progress: Progress | None = None) -> Floats:
        """[trial, action]: of every choice, before it was made."""
        study, fold, kernel = self.study, self.fold, compiled.foretelling()
        n, known = len(study), np.empty((len(study), self.size))
        for i in range(n):
            records, log_p = self.components(i)
            kernel.evidence(log_p, records.action.astype(np.int64), records.flags, known[i])
            if progress:
                progress(i, 2 * n)
        out = np.empty((len(study.context), len(study.actions)))
        for k in np.unique(fold):
            weights = self.weights(known, fold != k, int(k))
            with np.errstate(divide="ignore"):
                log_weights = np.log(weights)
            for i in np.flatnonzero(fold == k):
                records, log_p = self.components(int(i))
                given = (log_weights, records.action.astype(np.int64), records.flags)
                kernel.mixed(log_p, *given, out[study.starts[i] : study.starts[i + 1]])
                self.kept.pop(int(i), None)
                if progress:
                    progress(min(n + int(i), 2 * n), 2 * n)
        return out

    def weights(self, known: Floats, others: Bools, fold: int) -> Floats:
        """Of the components, by EM on other people, none of whom is explained by their own fold."""
        usable = self.owner != fold
        who = np.flatnonzero(others)
        who = who[np.arange(min(len(who), TOGETHER)) * len(who) // max(1, min(len(who), TOGETHER))]
        like = known[np.ix_(who, np.flatnonzero(usable))]
        own = self.owner[usable][None, :] == self.fold[who][:, None]
        like = np.where(own & (self.owner[usable] >= 0)[None, :], -np.inf, like)
        found = np.zeros(self.size)
        found[usable] = em_weights(like)
        return found


def em_weights(log_likelihood: Floats) -> Floats:
    """Weights of components from log-likelihoods [learner, component], by EM.

    >>> em_weights(np.log([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])).round(2).tolist()
    [0.61, 0.39]
    """
    n, size = log_likelihood.shape
    weights = np.full(size, 1.0 / size)
    if not n:
        return weights
    each = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    for _ in range(ROUNDS):
        share = each * weights
        new = (share / share.sum(axis=1, keepdims=True)).sum(axis=0)
        new = (new + PRIOR / size) / (n + PRIOR)
        done = np.abs(new - weights).max() < CLOSE
        weights = new
        if done:
            break
    return weights


@dataclass(frozen=True, eq=False)
class Rows:
    """The actions on offer at the trials that are scored, trial after trial."""

    trial: Ints  # [row]: in the study
    action: Ints  # [row]
    first: Ints  # [scored trial + 1]: its rows
    chosen: Ints  # [scored trial]: the row that was chosen
    person: Ints  # [scored trial]
    fold: Ints  # [scored trial]
    sequence: Ints  # [scored trial]

    @classmethod
    def of(cls, study: Study, fold: Ints) -> Rows:
        at = np.flatnonzero(study.scored & (study.n_offered > 1))
        there = np.ones((len(at), len(study.actions)), bool)
        if study.offered is not None:
            there = study.offered[at]
        trial, action = np.nonzero(there)
        first = np.concatenate(([0], np.cumsum(there.sum(axis=1)))).astype(np.int64)
        before = np.cumsum(there, axis=1)[np.arange(len(at)), study.action[at]] - 1
        sequence = np.repeat(np.arange(len(study)), np.diff(study.starts))[at]
        names = {name: k for k, name in enumerate(dict.fromkeys(study.learners))}
        who = np.array([names[name] for name in study.learners], np.int64)
        return cls(at[trial], action, first, first[:-1] + before, who[sequence], fold[sequence],
                   sequence)  # fmt: skip

    def __len__(self) -> int:
        return len(self.chosen)

    @cached_property
    def per_trial(self) -> Ints:
        """How many rows every trial has."""
        return np.diff(self.first)

    @cached_property
    def of_row(self) -> Ints:
        """[row]: which of the scored trials."""
        return np.repeat(np.arange(len(self)), self.per_trial)

    def by_person(self, value: Floats) -> Floats:
        """Sums over the scored trials of every person."""
        n = int(self.person.max()) + 1
        return np.bincount(self.person, value, minlength=n).astype(np.float64)

    def softened(self, score: Floats) -> Floats:
        """Log-probabilities [row] from scores."""
        out = np.empty(len(score))
        compiled.foretelling().softened(self.first, np.ascontiguousarray(score), out)
        return out

    def centred(self, value: Floats) -> Floats:
        """[row, …] without the mean over the actions on offer."""
        total = np.add.reduceat(value, self.first[:-1], axis=0)
        shape = (-1, *[1] * (value.ndim - 1))
        return value - (total / self.per_trial.reshape(shape))[self.of_row]


def chance_of(rows: Rows) -> Floats:
    """The log-probability of every choice if all actions on offer are as likely."""
    return -np.log(rows.per_trial)


def coin_of(study: Study, rows: Rows) -> Floats:
    """The log-probability of every choice by a fitted coin, or by chance where that is better.

    The coin knows how often each action was chosen: by others, and by the learner before.
    """
    n = len(study.actions)
    each = np.zeros((len(rows), n))
    each[np.arange(len(rows)), rows.action[rows.chosen]] = 1.0
    total = np.cumsum(each, axis=0) - each
    starts = np.flatnonzero(np.diff(rows.sequence, prepend=-1))
    own = total - total[starts[np.searchsorted(starts, np.arange(len(rows)), side="right") - 1]]
    folds = np.unique(rows.fold)
    counts = np.stack([each[rows.fold == k].sum(axis=0) for k in folds])
    scores = np.empty((len(STRENGTHS), len(rows)))
    frequency = np.empty((len(rows), n))
    for j, k in enumerate(folds):
        others = counts.sum(axis=0) - counts[j] + 1.0
        frequency[rows.fold == k] = others / others.sum()
    for s, strength in enumerate(STRENGTHS):
        p = np.log(own + strength * frequency)[rows.of_row, rows.action]
        scores[s] = rows.softened(p)[rows.chosen]
    found = np.empty(len(rows))
    for k in folds:
        mine = rows.fold == k
        rest = ~mine if not mine.all() else mine
        found[mine] = scores[int(np.argmax(scores[:, rest].sum(axis=1))), mine]
    chance = chance_of(rows)
    return found if found.sum() > chance.sum() else chance


def row_scores(rows: Rows, log_p: Floats) -> Floats:
    """[row] of log-probabilities [trial, action], which sum to 1 over what was on offer."""
    found = log_p[rows.trial, rows.action]
    low = np.where(np.isfinite(found), found, -700.0)  # what a model rules out stays improbable
    return rows.softened(low)


@dataclass(frozen=True)
class AbsoluteFit:
    """How well the candidates foretell choices, without anything on top of them."""

    model: float  # the mean probability of the choices
    chance: float
    coin: float
    ahead: float  # of the coin, in nats per trial
    learners: int

    def described(self) -> dict[str, Any]:
        """What the manifest of the selection tells of it."""
        told = (
            f"The models predict each choice with probability {self.model:.2f} on average "
            f"(chance {self.chance:.2f}, a fitted coin {self.coin:.2f})."
            if self.ahead > 0
            else f"The models predict choices no better than a coin: the mean probability is "
            f"{self.model:.2f} (chance {self.chance:.2f}, a fitted coin {self.coin:.2f})."
        )
        names = ("model", "chance", "coin", "ahead", "learners")
        return {**{name: getattr(self, name) for name in names}, "sentence": told}


def absolute_fit(results: Results, learners: int = 30, seed: int = 0) -> AbsoluteFit | None:
    """Of some learners, picked evenly; None where one learner has nobody to be foretold from."""
    who = sampled(results.study.learners, learners)
    study = results.study.take(who)
    n = len(set(study.learners))
    if n < 2 and not all(map(on_grid, results.models)):
        return None
    fold = folds_of(study, seed)
    rows = Rows.of(study, fold)
    if not len(rows):
        return None
    thetas = [results.theta(k)[who] for k in range(len(results.models))]
    log_p = Foretelling(study, results.models, thetas, fold).log_probabilities()
    score = row_scores(rows, log_p)[rows.chosen]
    coin = coin_of(study, rows)
    model, chance, tossed = (float(np.exp(v).mean()) for v in (score, chance_of(rows), coin))
    return AbsoluteFit(model, chance, tossed, float((score - coin).mean()), n)
