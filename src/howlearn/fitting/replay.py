"""The probabilities that any model gives along a record, at given parameters, and its choices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.core.world import drawn, renormalised
from howlearn.engine import compile as compiled
from howlearn.engine.layout import LEARNED, SCORED
from howlearn.engine.whole import RecordLikelihood, Records, Setting, Whole, play, replay, replay_at
from howlearn.fitting.settings import (
    cells_by_rule,
    check_needs,
    feature_names,
    latent_names,
    places_by_unit,
    records_of,
    setting_of,
    whole_of,
    whole_of_unit,
)
from howlearn.models.coin import Coin, FixedPolicy
from howlearn.models.mixture import Mixture, States, WeighedTrials
from howlearn.models.model import Model

M = TypeVar("M", bound=Model)
STEP = 1e-5  # of a parameter's range in u: for differences in place of derivatives


class Scene(NamedTuple):
    """Trials at which a learner is to choose."""

    shown: Records
    draws: Floats  # [trial]
    gains: Floats  # what every action earns: [trial, action]
    first: Floats  # the same at the first trial of a cell, where it differs; else empty
    told: bool  # whether the learner sees what the other actions would have earned


class Advisor(ABC, Generic[M]):
    """A model in the setting of a study, ready to be replayed on one learner's record."""

    published: ClassVar[bool] = True  # whether the paper's generator, mistake and all, can play it
    positive: bool = False  # whether it never rules an action out
    constant: ClassVar[bool] = False  # whether it is the same at all trials of all learners
    # Of cells in which rules learn: by rule the cell of every context, and each cell's parameters.
    rules: Sequence[tuple[Rule, NDArray[np.int64], NDArray[np.int64]]] = ()

    def __init__(
        self, model: M, contexts: Sequence[str], actions: Sequence[str], setting: Setting
    ) -> None:
        model.check_covers(contexts)
        self.model, self.setting = model, setting
        self.contexts, self.actions = tuple(contexts), tuple(actions)
        self.parameters = tuple(parameter for _, parameter in model.owners(actions))
        self.prepare()

    def prepare(self) -> None:
        """Make ready what does not depend on the learner; refuse what the data do not tell."""

    @abstractmethod
    def log_probabilities(self, records: Records, theta: Floats) -> Floats:
        """Of every action at every trial of one learner: [trial, action]."""

    def at_points(self, records: Records, theta: Floats) -> Floats:
        """The same at theta[point, parameter]: [point, trial, action]."""
        return np.stack([self.log_probabilities(records, each) for each in theta])

    def latents(self, records: Records, theta: Floats) -> Floats:
        """Its latent variables before each update, as in ``latent_names``: [trial, latent]."""
        return np.empty((len(records.context), 0))

    def feedback(self, records: Records, rule: Rule) -> Floats:
        """What a rule sees of the rewards; 0 where a trial does not teach."""
        low, high = self.setting.rewards
        gain = rule.form == "gain"
        feedback = records.reward if gain else (records.reward - high) / (high - low)
        return np.where((records.flags & LEARNED) > 0, feedback, 0.0)

    def chosen(self, records: Records, theta: Floats) -> Floats:
        """Log-probabilities of what was chosen: [trial]."""
        log_p = self.log_probabilities(records, theta)
        return log_p[np.arange(len(log_p)), records.action]

    def log_likelihoods(self, study: Study, learner: Ints, theta: Floats) -> Floats:
        """[problem]: of all scored trials of a learner of the study, at theta[problem]."""
        out = np.empty(len(learner))
        for i in np.unique(learner).tolist():
            one = study.part(i, i + 1)
            records = records_of(one)
            for p in np.flatnonzero(learner == i).tolist():
                out[p] = self.chosen(records, np.ascontiguousarray(theta[p]))[one.scored].sum()
        return out

    def slopes(self, records: Records, theta: Floats) -> tuple[Floats, Floats]:
        """Log-probabilities of what was chosen, and their derivatives [trial, parameter]."""
        out = np.zeros((len(records.context), len(self.parameters)))
        for d, parameter in enumerate(self.parameters):
            u = float(parameter.u(theta[d : d + 1])[0])
            step = STEP * parameter.end
            ends = np.array([max(u - step, 0.0), min(u + step, parameter.end)])
            low, high = parameter.at(ends)
            below, above = theta.copy(), theta.copy()
            below[d], above[d] = low, high
            rise = self.chosen(records, above) - self.chosen(records, below)
            out[:, d] = rise / (high - low)
        return self.chosen(records, theta), out

    def states(self, records: Records, theta: Floats) -> States | None:
        """Which strategy chose, where that is a hidden state."""
        return None

    def play(self, scene: Scene, theta: Floats) -> None:
        """Choose at every trial that is scored, and earn: into the actions and rewards shown.

        The draws are made beforehand, so that there is one sequence that agrees with them. It is
        found by replaying the model on what was found so far: every round makes at least one more
        trial right, and most rounds far more.
        """
        shown, draws, gains = scene.shown, scene.draws, scene.gains
        free, learned = (shown.flags & SCORED) > 0, (shown.flags & LEARNED) > 0
        n, n_actions = gains.shape
        evenly = np.exp(renormalised(np.full((n, n_actions), -np.log(n_actions)), shown.offered))
        shown.action[free] = drawn(evenly, draws, shown.offered)[free]
        instructed = shown.reward.copy()
        for _ in range(n + 1):
            paid = gains[np.arange(n), shown.action]
            shown.reward[:] = np.where(learned, np.where(free, paid, instructed), np.nan)
            forgone = np.empty((0, n_actions))
            if scene.told:
                forgone = np.where(learned[:, None], gains, np.nan)
                forgone[np.arange(n), shown.action] = np.nan
                if len(shown.offered):
                    forgone[~shown.offered] = np.nan
            p = np.exp(self.log_probabilities(replace(shown, forgone=forgone), theta))
            action = drawn(p, draws, shown.offered)
            if np.array_equal(action[free], shown.action[free]):
                return
            shown.action[free] = action[free]


class WholeAdvisor(Advisor[Model]):
    """A model that is replayed with all of its parameters at once."""

    def prepare(self) -> None:
        check_needs(self.model, self.setting)
        assert self.wholes

    @cached_property
    def wholes(self) -> list[tuple[Whole, NDArray[np.int64]]]:
        """What compiled loops take, with the places of its parameters."""
        whole = whole_of(self.model, self.contexts, self.actions, self.setting)
        return [(whole, np.arange(len(whole.parameters)))]

    def log_probabilities(self, records: Records, theta: Floats) -> Floats:
        return self.at_points(records, theta[None])[0]

    def at_points(self, records: Records, theta: Floats) -> Floats:
        out = np.zeros((len(theta), len(records.context), len(self.actions)))
        for whole, mine in self.wholes:
            # A trial belongs to one unit; the others leave 0 there.
            out += replay_at(whole, self.setting, records, theta[:, mine])
        return out

    def log_likelihoods(self, study: Study, learner: Ints, theta: Floats) -> Floats:
        records, out = records_of(study), np.zeros(len(learner))
        marks = np.diff(records.offsets)[learner][:, None]
        for whole, mine in self.wholes:
            found = RecordLikelihood(whole, self.setting, records)
            out += found.at(learner, np.ascontiguousarray(theta[:, mine]), marks)[:, 0]
        return out

    def latents(self, records: Records, theta: Floats) -> Floats:
        ((whole, _),) = self.wholes
        return replay(whole, self.setting, records, theta, looks=True)[1]

    def play(self, scene: Scene, theta: Floats) -> None:
        for whole, mine in self.wholes:
            play(whole, self.setting, *scene, theta[mine])


class UnitAdvisor(WholeAdvisor):
    """A partition in whose cells models learn: unit by unit."""

    def prepare(self) -> None:
        for unit in self.model.units:
            check_needs(unit.rule, self.setting)
        assert self.wholes

    @cached_property
    def wholes(self) -> list[tuple[Whole, NDArray[np.int64]]]:
        return [
            (whole_of_unit(unit, self.contexts, self.setting), mine)
            for unit, mine in places_by_unit(self.model)
        ]

    def latents(self, records: Records, theta: Floats) -> Floats:
        names = latent_names(self.model, self.actions, range(self.setting.features.shape[1]))
        out = np.full((len(records.context), len(names)), np.nan)
        for whole, mine in self.wholes:
            look = replay(whole, self.setting, records, theta[mine], looks=True)[1]
            own = latent_names(whole.first, self.actions, range(self.setting.features.shape[1]))
            columns = [names.index(name) for name in own]
            out[:, columns] = np.where(np.isnan(out[:, columns]), look, out[:, columns])
        return out


class CellAdvisor(UnitAdvisor):
    """A partition in whose cells rules learn: by loops made for them."""

    positive = True

    def prepare(self) -> None:
        self.rules = cells_by_rule(self.model, self.contexts)

    def log_probabilities(self, records: Records, theta: Floats) -> Floats:
        return self.at_points(records, theta[None])[0]

    def at_points(self, records: Records, theta: Floats) -> Floats:
        out = np.zeros((len(theta), len(records.context), len(self.actions)))
        for rule, cell_of, places in self.rules:
            compiled.single(rule).replay(
                records.context, records.action, self.feedback(records, rule), records.flags,
                records.offered, cell_of, theta[:, places], out,
            )  # fmt: skip
        return out

    def slopes(self, records: Records, theta: Floats) -> tuple[Floats, Floats]:
        n = len(records.context)
        log_p, out = np.zeros((n, len(self.actions))), np.zeros((n, len(self.parameters)))
        for rule, cell_of, places in self.rules:
            each = np.zeros((n, len(rule.parameters)))
            compiled.single(rule).slopes(
                records.context, records.action, self.feedback(records, rule), records.flags,
                records.offered, cell_of, theta[places], log_p, each,
            )  # fmt: skip
            cell = cell_of[records.context]
            mine = np.flatnonzero(cell >= 0)
            out[mine[:, None], places[cell[mine]]] = each[mine]
        return log_p[np.arange(n), records.action], out

    def play(self, scene: Scene, theta: Floats) -> None:
        shown, draws, gains, first, _ = scene
        low, high = self.setting.rewards
        context = shown.context.astype(np.int64)  # as it was compiled for
        for rule, cell_of, places in self.rules:
            zero, unit = (0.0, 1.0) if rule.form == "gain" else (high, high - low)
            compiled.single(rule).play(
                context, draws, gains, first, zero, unit, cell_of, theta[places], shown.flags,
                shown.offered, shown.action, shown.reward,
            )  # fmt: skip


class CoinAdvisor(Advisor[Coin]):
    """Every action keeps its probability."""

    constant = True

    def log_probabilities(self, records: Records, theta: Floats) -> Floats:
        out = np.zeros((len(records.context), len(self.actions)))
        with np.errstate(divide="ignore"):
            out[:] = np.log([*theta, max(1.0 - float(np.sum(theta)), 0.0)])
        return renormalised(out, records.offered)

    def play(self, scene: Scene, theta: Floats) -> None:
        shown = scene.shown
        free = (shown.flags & SCORED) > 0
        tossed = np.searchsorted(np.cumsum(theta), scene.draws, side="right")
        if len(shown.offered):
            p = np.exp(self.log_probabilities(shown, theta))
            tossed = drawn(p, scene.draws, shown.offered)
        shown.action[free] = tossed[free]
        shown.reward[free] = scene.gains[free, tossed[free]]
        shown.reward[(shown.flags & LEARNED) == 0] = np.nan


class TableAdvisor(Advisor[FixedPolicy]):
    """Given probabilities."""

    published = False

    def prepare(self) -> None:
        self.table = self.model.log_table(self.contexts, self.actions)

    def log_probabilities(self, records: Records, theta: Floats) -> Floats:
        return renormalised(self.table[records.context], records.offered)


class MixtureAdvisor(Advisor[Mixture]):
    """A mixture, with an advisor for each of its experts."""

    published = False

    def prepare(self) -> None:
        self.experts = [
            advisor(expert.model, self.contexts, self.actions, self.setting)
            for expert in self.model.experts
        ]
        self.positive = all(expert.positive for expert in self.experts)

    def log_probabilities(self, records: Records, theta: Floats) -> Floats:
        return self._blended(records, theta)[1]

    def latents(self, records: Records, theta: Floats) -> Floats:
        return np.exp(self._blended(records, theta)[0])

    def _blended(self, records: Records, theta: Floats) -> tuple[Floats, Floats]:
        """Log-weights [trial, expert] and log-probabilities [trial, action]."""
        own, each = self.model.split(theta, self.actions)
        pairs = zip(self.experts, each, strict=True)
        advice = [expert.log_probabilities(records, mine) for expert, mine in pairs]
        return self.model.blend(own, np.stack(advice, axis=1), self.trials(records))

    def advice(self, records: Records, theta: Floats) -> Floats:
        """The log-probabilities that the experts gave to what was chosen: [trial, expert].

        ``theta`` are all parameters of the mixture; its own do not matter.
        """
        pairs = zip(self.experts, self.model.split(theta, self.actions)[1], strict=True)
        return np.stack([expert.chosen(records, mine) for expert, mine in pairs], axis=1)

    def states(self, records: Records, theta: Floats) -> States | None:
        own, _ = self.model.split(theta, self.actions)
        return self.model.states(own, self.advice(records, theta), self.trials(records))

    def trials(self, records: Records) -> WeighedTrials:
        """What the weights learn from."""
        learned = (records.flags & LEARNED) > 0
        return WeighedTrials(
            records.offsets,
            np.ascontiguousarray(records.action, np.int64),
            self.model.feedback(records.reward, learned, self.setting.rewards),
            records.flags,
        )


# By the way in which a model is fitted.
ADVISORS: dict[str, type[Advisor[Any]]] = {
    "cells": CellAdvisor,
    "units": UnitAdvisor,
    "whole": WholeAdvisor,
    "counts": CoinAdvisor,
    "table": TableAdvisor,
    "mixture": MixtureAdvisor,
}


def advisor(
    model: Model, contexts: Sequence[str], actions: Sequence[str], setting: Setting
) -> Advisor[Any]:
    """The model, ready to be replayed and played, whatever its kind."""
    return ADVISORS[model.way](model, contexts, actions, setting)


def advisor_for(model: Model, study: Study) -> Advisor[Any]:
    """The model, ready for the learners of a study."""
    return advisor(model, study.contexts, study.actions, setting_of(study))


def log_probabilities(
    study: Study, learner: int, model: Model, theta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log-probability of every action at every trial: [trial, action]."""
    study = study.part(learner, learner + 1)
    theta = np.ascontiguousarray(theta)
    return advisor_for(model, study).log_probabilities(records_of(study), theta)


def latents_of(
    study: Study, learner: int, model: Model, theta: NDArray[np.float64]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The latent variables of a model with their names: [trial, latent], before each update.

    Those of a mixture are the weights of its strategies.
    """
    study = study.part(learner, learner + 1)
    found = advisor_for(model, study).latents(records_of(study), np.ascontiguousarray(theta))
    return latents_named(study, model), found


def states_of(
    study: Study, learner: int, model: Model, theta: NDArray[np.float64]
) -> States | None:
    """Which strategy of a mixture chose, where that is a hidden state."""
    study = study.part(learner, learner + 1)
    return advisor_for(model, study).states(records_of(study), np.ascontiguousarray(theta))


def latents_named(study: Study, model: Model) -> tuple[str, ...]:
    """The names of a model's latent variables, with the actions and features of the study.

    >>> from howlearn.models.q_learning import QLearning
    >>> from howlearn.simulation.simulate import simulate
    >>> from howlearn.models.task import Task
    >>> study = simulate(Task.load("five-four"), "ByShape", {"eta": 0.05}, 1, 10, seed=1)
    >>> latents_named(study, QLearning())
    ('value(A)', 'value(B)', 'prediction_error')
    """
    features = feature_names(study.contexts, study.features)
    return latent_names(model.unadjusted, study.actions, features)
