"""The risks of the theorems, learner by learner, for one true model and one number of trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Rule
from howlearn.core.study import PER_TRIAL, Study, Trials
from howlearn.engine import compile as compiled
from howlearn.engine.layout import LEARNED, SCORED
from howlearn.fitting.fit import fit
from howlearn.fitting.fits import ALL, Fits
from howlearn.fitting.replay import advisor_for
from howlearn.fitting.settings import cells_by_rule, records_of
from howlearn.models.partition_model import PartitionModel
from howlearn.models.task import Task
from howlearn.paper.risks import highest_expected
from howlearn.runs.parts import in_threads
from howlearn.selection.criteria import Penalized
from howlearn.selection.select import winners
from howlearn.simulation.shown import ShownTrials, TaskRewards
from howlearn.simulation.simulate import simulate

# What a learner might do after the training trials, many times over, and what models say to it.


class Verdicts(NamedTuple):
    """One model's risks over some futures: [future]."""

    kl: Floats  # K_{N,n}
    hellinger: Floats  # H²_{N,n}
    log_likelihood: Floats  # of what was chosen: what a hold-out looks at


class Bandit:
    """A partition model with one rule for all cells, laid out for the contexts of a study."""

    def __init__(self, model: PartitionModel, study: Study) -> None:
        rules = cells_by_rule(model, study.contexts) if model.way == "cells" else []
        if len(rules) != 1:
            raise HowlearnError(
                f"{model.name}: futures are drawn for partition models with one learning rule"
            )
        self.rule, self.cell_of, self.places = rules[0]
        self.origin, self.width = _feedback(self.rule, study.reward_range)
        self.n_actions = len(study.actions)
        self.kernels = compiled.continuation(self.rule)

    def after(self, past: Trials, theta: Floats) -> Floats:
        """The preferences [cell, action] that a record leaves."""
        h = np.zeros((len(self.places), self.n_actions))
        feedback = (past.reward - self.origin) / self.width
        self.kernels.advance(
            past.context, past.action, feedback, self.cell_of, theta[self.places], h
        )
        return h


def _feedback(rule: Rule, rewards: tuple[float, float]) -> tuple[float, float]:
    """What a rule sees of a reward: (reward − origin) / width."""
    low, high = rewards
    return (0.0, 1.0) if rule.form == "gain" else (high, high - low)


class Futures:
    """``count`` continuations of one learner's first trials, the contexts being as they were."""

    def __init__(
        self,
        task: Task,
        trials: Trials,
        known: int,
        truth: Bandit,
        theta: Floats,
        count: int,
        random: np.random.Generator,
    ) -> None:
        self.past = head(trials, known)
        self.context = trials.context[known:]
        n, k = len(self.context), truth.n_actions
        rewards = TaskRewards(task)
        flags = np.full(len(trials), SCORED | LEARNED, np.uint8)
        nobody = ShownTrials(
            trials.context.astype(np.int64), flags, np.zeros(len(trials), np.int16),
            np.zeros(len(trials)),
        )  # fmt: skip
        u = random.random((1 if rewards.certain else count, len(trials)))
        gains = np.stack([rewards.gains(0, nobody, each)[known:] for each in u], axis=2)
        self.actions = np.empty((n, count), np.int64)
        self.rewards = np.empty((n, count))
        self.p_true = np.empty((n, k, count))
        truth.kernels.continued(
            self.context, random.random((n, count)), gains, truth.origin, truth.width,
            truth.cell_of, theta[truth.places], truth.after(self.past, theta), self.actions,
            self.rewards, self.p_true,
        )  # fmt: skip
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(self.p_true > 0, self.p_true * np.log(self.p_true), 0.0)
        self.entropy = terms.sum(axis=(0, 1))

    def seen_by(self, model: Bandit, theta: Floats) -> Verdicts:
        """The risks of a model at theta, whose state the past has left."""
        out = np.empty((3, self.actions.shape[1]))
        model.kernels.versus(
            self.context, self.actions, self.rewards, model.origin, model.width, model.cell_of,
            theta[model.places], model.after(self.past, theta), self.p_true, out,
        )  # fmt: skip
        n = len(self.context)
        kl = np.maximum((self.entropy - out[0]) / n, 0.0)
        return Verdicts(kl, np.maximum(1.0 - out[2] / n, 0.0), out[1])


def head(trials: Trials, n: int) -> Trials:
    """The first n trials."""
    return replace(trials, **{name: getattr(trials, name)[:n] for name in PER_TRIAL})


MANY = 2_000  # trials from which an oracle's rate is near the estimate


@dataclass(frozen=True)
class Measure:
    """What is measured: the hold-out's split, how many futures, the penalty's constant."""

    split: float = 0.5
    futures: int = 20
    c: float = 0.012


@dataclass(frozen=True, eq=False)
class Case:
    """Learners of one true model with one number of trials."""

    task: Task
    truth: PartitionModel
    rate: float
    trials: int
    learners: int
    seed: tuple[int, ...]

    def simulate(self) -> tuple[Study, Floats]:
        """The learners, and their parameters."""
        parameters = [parameter for _, parameter in self.truth.owned]
        values = [self.rate if p.name == "eta" else p.default for p in parameters]
        theta = np.tile(values, (self.learners, 1)).astype(float)
        return simulate(self.task, self.truth, theta, trials=self.trials, seed=self.seed), theta


def measured(
    case: Case, models: Sequence[PartitionModel], measure: Measure, threads: int | None = None
) -> pl.DataFrame:
    """One row per learner.

    ``hellinger`` is the mean over the futures of H²_{N,n} of the model that the hold-out selects;
    ``best_kl`` the smallest, over the models, of the mean over the futures of K_{N,n}, and
    ``best_kl_split`` that of the model that is best in every other future, in the remaining ones:
    the first is too small on average, the second too large. ``kl`` is K_n of the model that the
    penalised criterion selects, and ``penalised_oracle`` the smallest, over the models, of inf K_n
    plus penalty.
    """
    study, theta = case.simulate()
    fits = fit(study, models, [measure.split, ALL], threads)
    work = _LearnerRisks(case, models, measure, study, theta, fits)
    # Short records are little work, of which threads would wait for each other.
    threads = threads if case.trials >= MANY else 1
    return pl.DataFrame(in_threads(work.row, range(len(study)), threads))


class _LearnerRisks:
    def __init__(
        self,
        case: Case,
        models: Sequence[PartitionModel],
        measure: Measure,
        study: Study,
        theta: Floats,
        fits: Fits,
    ) -> None:
        self.case, self.models, self.measure = case, models, measure
        self.study, self.theta, self.fits = study, theta, fits
        self.truth, self.bandits = Bandit(case.truth, study), [Bandit(m, study) for m in models]
        self.advisors = [advisor_for(model, study) for model in (case.truth, *models)]
        scores = Penalized(measure.c).scores(fits)
        self.selected = winners(scores.score, fits.n_parameters)
        self.penalty = scores.penalty / scores.n_trials[:, None]

    def row(self, i: int) -> dict[str, float]:
        return {"learner": i, **self._holdout(i), **self._penalised(i)}

    def _holdout(self, i: int) -> dict[str, float]:
        split = self.measure.split
        j = self.fits.at(split)
        random = np.random.default_rng([*self.case.seed, 1, i])
        futures = Futures(
            self.case.task, self.study[i], int(self.fits.sizes[i, j]), self.truth, self.theta[i],
            self.measure.futures, random,
        )  # fmt: skip
        found = [
            futures.seen_by(bandit, part.theta[i, j])
            for bandit, part in zip(self.bandits, self.fits.of.values(), strict=True)
        ]
        kl = np.stack([each.kl for each in found], axis=1)
        hellinger = np.stack([each.hellinger for each in found], axis=1)
        score = np.stack([each.log_likelihood for each in found], axis=1)
        sizes = np.broadcast_to(self.fits.n_parameters[i], score.shape)
        chosen = winners(score, sizes)
        best = int(np.argmin(kl[::2].mean(axis=0)))
        return {
            "hellinger": float(hellinger[np.arange(len(chosen)), chosen].mean()),
            "best_kl": float(kl.mean(axis=0).min()),
            "best_kl_split": float(kl[1::2, best].mean()),
        }

    def _penalised(self, i: int) -> dict[str, float]:
        records = records_of(self.study.part(i, i + 1))
        log_true = self.advisors[0].log_probabilities(records, self.theta[i])
        p_true = np.exp(log_true)
        entropy, n = float(np.sum(p_true * log_true)), len(log_true)
        j, name = self.fits.at(ALL), self.models[self.selected[i]].name
        fitted = np.ascontiguousarray(self.fits.of[name].theta[i, j])
        log_p = self.advisors[1 + self.selected[i]].log_probabilities(records, fitted)
        penalised = np.inf
        for m in np.argsort(self.penalty[i], kind="stable").tolist():
            if self.penalty[i, m] >= penalised:
                break  # inf K is 0 at best
            model = self.models[m]
            guess = self.fits.of[model.name].theta[i, j] if n >= MANY else None
            parameter = model.owned[0][1]
            _, best = highest_expected(self.advisors[1 + m], records, p_true, 0, parameter, guess)
            penalised = min(penalised, max((entropy - best) / n, 0.0) + self.penalty[i, m])
        return {
            "kl": max(float(np.sum(p_true * (log_true - log_p))) / n, 0.0),
            "penalised_oracle": float(penalised),
        }
