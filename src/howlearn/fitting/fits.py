"""Fits: estimates, likelihoods and statuses of every model, learner and number of trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.engine.crossings import Reach
from howlearn.engine.layout import Statuses
from howlearn.models.model import Model

# How many trials a fit sees: a share of each learner's scored trials, a count, or up to T_ε.


@dataclass(frozen=True)
class Stop:
    """Up to T_ε: the trials during which no action is less probable than ε.

    ``by`` the paper's formula, which depends on the models' bounds only, or by the ``path``: before
    the first trial at which a candidate, fitted to all trials, gives any action less than ε.
    """

    epsilon: float
    by: Literal["path", "paper"] = "path"


def check_epsilon(epsilon: float, actions: int) -> None:
    """Refuse probabilities that some action falls under at once."""
    if not 0 < epsilon < 1 / actions:
        raise HowlearnError(
            f"epsilon must lie between 0 and 1/K = {1 / actions:g}, got {epsilon:g}"
        )


Truncation = float | int | Stop  # a float is a share, 1.0 all of them; an int is a number of trials
ALL = 1.0


def sizes_of(n_scored: NDArray[np.int64], truncations: Sequence[float | int]) -> NDArray[np.int64]:
    """Scored trials fitted: [learner, truncation].

    >>> sizes_of(np.array([10, 101]), [0.5, 20, 1.0]).tolist()
    [[5, 10, 10], [50, 20, 101]]
    """
    columns = []
    for truncation in truncations:
        if isinstance(truncation, float):
            if not 0.0 < truncation <= 1.0:
                raise HowlearnError(
                    f"a share of the trials must be above 0 and at most 1, got {truncation:g}"
                )
            # 1e-9, so that 0.3·10 is 3 although it is 2.9999… in floating point
            columns.append(np.floor(truncation * n_scored + 1e-9).astype(np.int64))
        elif truncation < 1:
            raise HowlearnError(f"a number of trials must be at least 1, got {truncation}")
        else:
            columns.append(np.minimum(truncation, n_scored))
    return np.stack(columns, axis=1)


def distinct(truncations: Iterable[Truncation]) -> list[Truncation]:
    """Each of them once, in order; 1 is one trial, and 1.0 all of them.

    >>> distinct([1.0, 0.5, 1, 1.0])
    [0.5, 1.0, 1]
    """
    found = {(isinstance(each, int), each): each for each in truncations}
    stops = [each for each in found.values() if isinstance(each, Stop)]
    plain = [key for key, each in found.items() if not isinstance(each, Stop)]
    return [*stops, *(found[key] for key in sorted(plain, key=lambda key: (key[1], key[0])))]


def marks_of(study: Study, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The trial before which each truncation ends, counted within the learner."""
    position = np.flatnonzero(study.scored)
    before = np.concatenate(([0], np.cumsum(study.scored, dtype=np.int64)))[study.starts[:-1]]
    last = before[:, None] + sizes - 1  # the last scored trial fitted
    marks = position[np.clip(last, 0, len(position) - 1)] + 1 - study.starts[:-1, None]
    marks = np.where(sizes == 0, 0, marks)
    everything = sizes == study.n_scored[:, None]
    return np.where(everything, np.diff(study.starts)[:, None], marks).astype(np.int64)


Thetas = Mapping[str, NDArray[np.float64]]  # by model, [learner, …]
Refused = dict[int, Exception] | None  # learners to whom a model cannot be fitted, and why
STATUSES = {
    "ok": "the best value lies inside the bounds",
    "at lower bound": "the best value is the smallest one allowed (a rate of 0 means no learning)",
    "at upper bound": "the best value is the largest one allowed (--max-rate raises a bandit's)",
    "capped": "a choice was so improbable under this fit that the update of Exp3 had to be capped",
    "unstable": "the likelihood is rough: this is a narrow spike, or no better than guessing; the "
    "value means little, and a better one may have been missed",
    "flat": "the trials say nothing about this value; the mean over the model's other cells is "
    "used, or its default",
    "unseen": "the cell does not occur in the trials; the mean over the model's other cells is "
    "used, or its default",
    "starts disagree": "only one of the searches, or a quarter of many, ended at the best value "
    "found; there may be a better one",
    "no fit": "the model gives these choices probability 0 at all parameters (see "
    "howlearn.check_model)",
    "own fit": "a strategy fitted alone, held fixed in the mixture, and counted as a parameter",
    "from others": "a strategy's value from other learners or a calibration, held fixed in the "
    "mixture",
}
STATUS_WORDS = {
    Statuses.OK: "ok",
    Statuses.AT_LOWER: "at lower bound",
    Statuses.AT_UPPER: "at upper bound",
    Statuses.CAPPED: "capped",
    Statuses.UNSTABLE: "unstable",
    Statuses.FLAT: "flat",
    Statuses.UNSEEN: "unseen",
    Statuses.ALONE: "starts disagree",
    Statuses.BROKEN: "no fit",
    Statuses.PLUGGED: "own fit",
    Statuses.BORROWED: "from others",
}


@dataclass(frozen=True)
class ModelFits:
    """One model's fits; the axes are learner, truncation, (parameter)."""

    model: Model
    cells: tuple[str, ...]  # of each parameter: the cell it belongs to
    parameters: tuple[str, ...]
    theta: NDArray[np.float64]
    status: NDArray[np.int8]
    log_likelihood: NDArray[np.float64]  # of the trials fitted
    rest: NDArray[np.float64]  # of the trials after them, parameters frozen, state carried on
    n_parameters: NDArray[np.int64]  # [learner]: D, without cells that the learner never met
    agreement: NDArray[np.float64] | None = None  # share of the searches that ended at the best
    n_met: NDArray[np.int64] | None = None  # [learner, truncation]: D, without cells not met so far
    ends: NDArray[np.float64] | None = None  # of intervals: [learner, parameter, 2]; NaN: none
    inside: NDArray[np.float64] | None = None  # what scores later trials, where it is not theta

    @property
    def plugged(self) -> NDArray[np.float64]:
        """The parameters at which trials after those fitted are scored; see ``kept_inside``."""
        return self.theta if self.inside is None else self.inside

    def picked(self, learners: slice | NDArray[np.integer]) -> ModelFits:
        """The fits of some learners."""
        known = {name: getattr(self, name) for name in ARRAYS}
        return replace(self, **{n: v if v is None else v[learners] for n, v in known.items()})


class FitWork(NamedTuple):
    """Some learners who are to be fitted at their marks."""

    study: Study
    marks: NDArray[np.int64]  # [learner, truncation]
    known: Mapping[str, ModelFits]  # fits of models that others are made of
    reach: Reach | None = None  # of intervals


ARRAYS = tuple(field.name for field in fields(ModelFits))[3:]  # whose first axis is the learner


def names_of(model: Model, actions: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of every parameter of a model: the cell it belongs to, and its own name."""
    owners = model.owners(actions)
    return tuple(cell for cell, _ in owners), tuple(parameter.name for _, parameter in owners)


@dataclass(frozen=True, eq=False, repr=False)
class Fits:
    """Every model fitted to every learner of a study, at every truncation."""

    study: Study
    truncations: tuple[Truncation, ...]
    sizes: NDArray[np.int64]  # scored trials fitted: [learner, truncation]
    of: dict[str, ModelFits]  # by the model's name, in the order of the candidates
    reach: Reach | None = None  # of the intervals, and at which truncation they are

    def __repr__(self) -> str:
        at = ", ".join(map(repr, self.truncations))
        return f"Fits of {', '.join(self.of)} to {len(self.study):,} sequences, at {at}"

    @property
    def models(self) -> tuple[Model, ...]:
        """The candidates."""
        return tuple(part.model for part in self.of.values())

    @property
    def n_scored(self) -> NDArray[np.int64]:
        """Scored trials of every learner: the n of every criterion."""
        return self.study.n_scored

    @property
    def n_parameters(self) -> NDArray[np.int64]:
        """D of every model for every learner; a cell that was never shown to it is not counted."""
        return np.stack([part.n_parameters for part in self.of.values()], axis=1)

    def n_parameters_at(self, truncation: Truncation) -> NDArray[np.int64]:
        """D of the trials fitted alone, as if the record ended there: [learner, model]."""
        j = self.at(truncation)
        return np.stack(
            [part.n_parameters if part.n_met is None else part.n_met[:, j]
             for part in self.of.values()], axis=1,
        )  # fmt: skip

    def at(self, truncation: Truncation) -> int:
        """Where a truncation stands on the truncation axis."""
        for j, known in enumerate(self.truncations):
            if known == truncation and type(known) is type(truncation):
                return j
        raise HowlearnError(
            f"nothing was fitted at truncation {truncation!r}; there are "
            f"{', '.join(map(repr, self.truncations))}: add it to fit(…, truncations=…)"
        )

    def n_fitted(self, truncation: Truncation) -> NDArray[np.int64]:
        """Scored trials that were fitted, of every learner."""
        return self.sizes[:, self.at(truncation)]

    def part(self, start: int, stop: int) -> Fits:
        """The fits of sequences start to stop."""
        return self._picked(slice(start, stop), self.study.part(start, stop))

    def take(self, sequences: NDArray[np.integer]) -> Fits:
        """The fits of these sequences, in this order."""
        return self._picked(sequences, self.study.take(sequences))

    def _picked(self, mine: slice | NDArray[np.integer], study: Study) -> Fits:
        of = {name: part.picked(mine) for name, part in self.of.items()}
        return Fits(study, self.truncations, self.sizes[mine], of, self.reach)

    @property
    def fullest(self) -> Truncation:
        """The truncation that sees most: all trials, where they were fitted."""
        return self.truncations[fullest(self.truncations, self.sizes)]

    def log_likelihood(self, truncation: Truncation) -> NDArray[np.float64]:
        """Of the trials fitted: [learner, model]."""
        j = self.at(truncation)
        return np.stack([part.log_likelihood[:, j] for part in self.of.values()], axis=1)

    def rest(self, truncation: Truncation) -> NDArray[np.float64]:
        """Of the trials after those fitted, at the same parameters: [learner, model]."""
        j = self.at(truncation)
        return np.stack([part.rest[:, j] for part in self.of.values()], axis=1)

    def between(self, truncation: Truncation, following: Truncation) -> NDArray[np.float64]:
        """Of the trials after those fitted, up to another truncation: [learner, model].

        The parameters are those fitted at ``truncation``, and the state is carried on; nothing
        needs to have been fitted at ``following``.
        """
        from howlearn.fitting.ways import between

        return between(self, truncation, following)

    def probabilities(
        self, learner: int, model: str, truncation: Truncation = 1.0
    ) -> NDArray[np.float64]:
        """Log-probability of every action at every trial of a learner: [trial, action].

        Where trials are left after those fitted, at the parameters that score them.
        """
        from howlearn.fitting.replay import log_probabilities

        if model not in self.of:
            raise HowlearnError(f"no model {model!r} was fitted; there are {', '.join(self.of)}")
        part = self.of[model]
        theta = part.plugged[learner, self.at(truncation)]
        return log_probabilities(self.study, learner, part.model, theta)

    def log_probability(
        self, learner: int, model: str, truncation: Truncation = 1.0
    ) -> NDArray[np.float64]:
        """Log-probability of what the learner chose, trial by trial."""
        trials = self.study[learner]
        return self.probabilities(learner, model, truncation)[np.arange(len(trials)), trials.action]


def fullest(truncations: Sequence[Truncation], sizes: NDArray[np.int64]) -> int:
    """Which truncation sees most."""
    for j, truncation in enumerate(truncations):
        if isinstance(truncation, float) and truncation == ALL:  # 1 is one trial
            return j
    return int(np.argmax(sizes.sum(axis=0)))


def joined(study: Study, chunks: Sequence[Fits]) -> Fits:
    """The fits of consecutive parts of a study as one."""
    first = chunks[0]
    of = {}
    for name, part in first.of.items():
        columns = {key: [getattr(chunk.of[name], key) for chunk in chunks] for key in ARRAYS}
        known = {key: None if v[0] is None else np.concatenate(v) for key, v in columns.items()}
        of[name] = replace(part, **known)
    sizes = np.concatenate([c.sizes for c in chunks])
    return Fits(study, first.truncations, sizes, of, first.reach)


def of_nobody(
    study: Study,
    models: Sequence[Model],
    truncations: Sequence[Truncation],
    reach: Reach | None = None,
) -> Fits:
    """The fits to a study without learners, so that tables of it have their columns."""
    n_marks, of = len(truncations), {}
    for model in models:
        cells, names = names_of(model, study.actions)
        theta, value = np.empty((0, n_marks, len(names))), np.empty((0, n_marks))
        status, counted = theta.astype(np.int8), np.empty(0, np.int64)
        of[model.name] = ModelFits(model, cells, names, theta, status, value, value, counted)
    return Fits(study, tuple(truncations), np.empty((0, n_marks), np.int64), of, reach)
