"""The probabilities of one learner's record under given parameters, trial by trial."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.engine import compile as compiled
from howlearn.engine.layout import LEARNED
from howlearn.engine.whole import Records, Setting, Whole, replay
from howlearn.fitting.settings import (
    by_cells,
    cells_by_rule,
    check_needs,
    feature_names,
    latent_names,
    records_of,
    setting_of,
    whole_of,
    whole_of_unit,
)
from howlearn.models.adjustments import Adjusted
from howlearn.models.coin import Coin, FixedPolicy
from howlearn.models.mixture import Mixture, Trials
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel

# --------------------
# The probabilities that any model gives along a record, at given parameters.


STEP = 1e-5  # of a parameter's range in u: for differences in place of derivatives


class Advisor:
    """A model in the setting of a study, ready to be replayed on one learner's record."""

    def __init__(
        self, model: Model, contexts: Sequence[str], actions: Sequence[str], setting: Setting
    ) -> None:
        self.model, self.actions, self.setting = model, tuple(actions), setting
        self.parameters = tuple(parameter for _, parameter in model.owners(actions))
        self.table: Floats | None = None
        self.rules: list[tuple[Rule, NDArray[np.int64], NDArray[np.int64]]] = []
        self.wholes: list[tuple[Whole, NDArray[np.int64]]] = []
        self.experts: list[Advisor] = []
        if isinstance(model, PartitionModel):
            model.check_covers(contexts)
        if isinstance(model, Mixture):
            self.experts = [Advisor(e.model, contexts, actions, setting) for e in model.experts]
        elif isinstance(model, FixedPolicy):
            self.table = model.log_table(contexts, actions)
        elif by_cells(model):
            self.rules = cells_by_rule(model, contexts)
        elif isinstance(model, PartitionModel):
            for unit, mine in model.by_unit(np.arange(len(model.owned), dtype=float)):
                if isinstance(unit.rule, Model):
                    check_needs(unit.rule, setting)
                self.wholes.append((whole_of_unit(unit, contexts, setting), mine.astype(np.int64)))
        elif not isinstance(model, Coin):
            check_needs(model, setting)
            whole = whole_of(model, contexts, actions, setting)
            self.wholes = [(whole, np.arange(len(whole.parameters)))]

    def log_probabilities(self, records: Records, theta: Floats) -> Floats:
        """Of every action at every trial of one learner: [trial, action]."""
        if isinstance(self.model, Mixture):
            return self.blended(records, theta)[1]
        out = np.zeros((len(records.context), len(self.actions)))
        if isinstance(self.model, Coin):
            with np.errstate(divide="ignore"):
                out[:] = np.log([*theta, max(1.0 - float(np.sum(theta)), 0.0)])
        elif self.table is not None:
            out[:] = self.table[records.context]
        for rule, cell_of, places in self.rules:
            feedback = self.feedback(records, rule)
            compiled.single(rule).replay(
                records.context, records.action, feedback, records.flags, cell_of, theta[places],
                out,
            )  # fmt: skip
        for whole, mine in self.wholes:
            # A trial belongs to one unit; the others leave 0 there.
            out += replay(whole, self.setting, records, theta[mine])[0]
        return out

    def chosen(self, records: Records, theta: Floats) -> Floats:
        """Log-probabilities of what was chosen: [trial]."""
        log_p = self.log_probabilities(records, theta)
        return log_p[np.arange(len(log_p)), records.action]

    def slopes(self, records: Records, theta: Floats) -> tuple[Floats, Floats]:
        """Log-probabilities of what was chosen, and their derivatives [trial, parameter]."""
        n = len(records.context)
        out = np.zeros((n, len(self.parameters)))
        if not self.rules:
            return self.chosen(records, theta), self._differences(records, theta)
        log_p = np.zeros((n, len(self.actions)))
        for rule, cell_of, places in self.rules:
            each = np.zeros((n, len(rule.parameters)))
            compiled.single(rule).slopes(
                records.context, records.action, self.feedback(records, rule), records.flags,
                cell_of, theta[places], log_p, each,
            )  # fmt: skip
            cell = cell_of[records.context]
            mine = np.flatnonzero(cell >= 0)
            out[mine[:, None], places[cell[mine]]] = each[mine]
        return log_p[np.arange(n), records.action], out

    def _differences(self, records: Records, theta: Floats) -> Floats:
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
        return out

    def feedback(self, records: Records, rule: Rule) -> Floats:
        """What a rule sees of the rewards; 0 where a trial does not teach."""
        low, high = self.setting.rewards
        gain = rule.form == "gain"
        feedback = records.reward if gain else (records.reward - high) / (high - low)
        return np.where((records.flags & LEARNED) > 0, feedback, 0.0)

    # Mixtures

    def blended(self, records: Records, theta: Floats) -> tuple[Floats, Floats]:
        """A mixture's log-weights [trial, expert] and log-probabilities [trial, action]."""
        assert isinstance(self.model, Mixture)
        own, each = self.model.split(theta, self.actions)
        pairs = zip(self.experts, each, strict=True)
        advice = [expert.log_probabilities(records, mine) for expert, mine in pairs]
        return self.model.blend(own, np.stack(advice, axis=1), self.trials(records))

    def advice(self, records: Records, theta: Floats) -> Floats:
        """The log-probabilities that a mixture's experts gave to what was chosen: [trial, expert].

        ``theta`` are all parameters of the mixture; its own do not matter.
        """
        assert isinstance(self.model, Mixture)
        pairs = zip(self.experts, self.model.split(theta, self.actions)[1], strict=True)
        return np.stack([expert.chosen(records, mine) for expert, mine in pairs], axis=1)

    def trials(self, records: Records) -> Trials:
        """What a mixture's weights learn from."""
        assert isinstance(self.model, Mixture)
        learned = (records.flags & LEARNED) > 0
        return Trials(
            records.offsets,
            np.ascontiguousarray(records.action, np.int64),
            self.model.feedback(records.reward, learned, self.setting.rewards),
            records.flags,
        )


def replayed(
    study: Study, model: Model, theta: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-probabilities [trial, action] of one learner, and latents [trial, …]."""
    setting, records = setting_of(study), records_of(study)
    theta = np.ascontiguousarray(theta)
    if isinstance(model, Mixture | FixedPolicy):
        advisor = Advisor(model, study.contexts, study.actions, setting)
        if isinstance(model, FixedPolicy):
            return advisor.log_probabilities(records, theta), np.empty((len(study.context), 0))
        log_q, log_pi = advisor.blended(records, theta)
        return log_pi, np.exp(log_q)
    if not isinstance(model, PartitionModel):
        whole = whole_of(model, study.contexts, study.actions, setting)
        return replay(whole, setting, records, theta)
    names = latents_named(study, model)
    out = np.zeros((len(study.context), len(study.actions)))
    latents = np.full((len(study.context), len(names)), np.nan)
    for unit, mine in model.by_unit(theta):
        log_p, look = replay(whole_of_unit(unit, study.contexts, setting), setting, records, mine)
        # A trial belongs to one unit; the others leave 0 and NaN there.
        out += log_p
        own = [names.index(name) for name in _names(study, unit.rule)]
        latents[:, own] = np.where(np.isnan(latents[:, own]), look, latents[:, own])
    return out, latents


def latents_of(
    study: Study, learner: int, model: Model, theta: NDArray[np.float64]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The latent variables of a model with their names: [trial, latent], before each update."""
    study = study.part(learner, learner + 1)
    names = latents_named(study, model)
    if not names:  # such as Coin, which is not replayed
        return names, np.empty((len(study.context), 0))
    return names, replayed(study, model, theta)[1]


def latents_named(study: Study, model: Model) -> tuple[str, ...]:
    """The names of a model's latent variables, with the actions and features of the study.

    >>> from howlearn.models.q_learning import QLearning
    >>> from howlearn.simulation.simulate import simulate
    >>> from howlearn.models.task import Task
    >>> study = simulate(Task.load("five-four"), "ByShape", {"eta": 0.05}, 1, 10, seed=1)
    >>> latents_named(study, QLearning())
    ('value(A)', 'value(B)', 'prediction_error')
    """
    base = model.base if isinstance(model, Adjusted) else model
    firsts = [unit.rule for unit in base.units] if isinstance(base, PartitionModel) else [base]
    return tuple(dict.fromkeys(name for first in firsts for name in _names(study, first)))


def _names(study: Study, first: Rule | Model) -> tuple[str, ...]:
    features = feature_names(study.contexts, study.features)
    return latent_names(first, study.actions, features)


def log_probabilities(
    study: Study, learner: int, model: Model, theta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log-probability of every action at every trial: [trial, action]."""
    study = study.part(learner, learner + 1)
    advisor = Advisor(model, study.contexts, study.actions, setting_of(study))
    return advisor.log_probabilities(records_of(study), np.ascontiguousarray(theta))


def weights(
    study: Study, learner: int, model: Mixture, theta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log-weights of a mixture's strategies before every trial: [trial, strategy]."""
    study = study.part(learner, learner + 1)
    advisor = Advisor(model, study.contexts, study.actions, setting_of(study))
    return advisor.blended(records_of(study), np.ascontiguousarray(theta))[0]
