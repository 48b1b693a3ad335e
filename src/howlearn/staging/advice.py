"""The probabilities that any model gives along a record, at given parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.rule import Rule
from howlearn.engine import compile as compiled
from howlearn.engine.layout import LEARNED
from howlearn.engine.whole import Records, Setting, Whole, replay
from howlearn.models.coin import Coin, FixedPolicy
from howlearn.models.mixture import Mixture, Trials
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel
from howlearn.staging.wholes import by_cells, cells_by_rule, check_needs, whole_of, whole_of_unit

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
