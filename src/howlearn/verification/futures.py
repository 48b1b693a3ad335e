"""What a learner might do after the training trials, many times over, and what models say to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Rule
from howlearn.core.study import Study, Trials
from howlearn.engine import compile as compiled
from howlearn.engine.layout import LEARNED, SCORED
from howlearn.fitting.settings import by_cells, cells_by_rule
from howlearn.models.partition_model import PartitionModel
from howlearn.models.task import Task
from howlearn.simulation.shown import ShownTrials, TaskRewards


class Verdicts(NamedTuple):
    """One model's risks over some futures: [future]."""

    kl: Floats  # K_{N,n}
    hellinger: Floats  # H²_{N,n}
    log_likelihood: Floats  # of what was chosen: what a hold-out looks at


class Bandit:
    """A partition model with one rule for all cells, laid out for the contexts of a study."""

    def __init__(self, model: PartitionModel, study: Study) -> None:
        if not by_cells(model) or len(rules := cells_by_rule(model, study.contexts)) != 1:
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
    return Trials(
        trials.learner, trials.contexts, trials.actions, trials.context[:n], trials.action[:n],
        trials.reward[:n], trials.scored[:n], trials.learned[:n], trials.reset[:n],
    )  # fmt: skip
