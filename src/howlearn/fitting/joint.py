"""Mixtures whose experts are fitted too: together with the weights, or to all learners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.engine.layout import Statuses
from howlearn.engine.whole import Records, Space
from howlearn.fitting.fits import ALL, Fits
from howlearn.fitting.replay import MixtureAdvisor
from howlearn.fitting.settings import records_of
from howlearn.models.mixture import Best, Mixture, WeighedTrials
from howlearn.models.model import Model


class _Searched(Space):
    def __init__(self, parameters: Sequence) -> None:
        self.parameters = tuple(parameters)


class JointLikelihood:
    """Some learners' likelihood under a mixture, as ``engine.tops`` climbs it.

    A mixture's own parameter is searched beside the experts', unless it is found exactly for any
    advice: then it is at its best wherever the search looks.
    """

    analytic = True

    def __init__(self, advisor: MixtureAdvisor, records: Sequence[Records], study: Study) -> None:
        model = advisor.model
        self.model, self.advisor, self.records = model, advisor, records
        self.actions, self.log_options = study.actions, records_of(study).log_options
        self.scored = [study.part(i, i + 1).scored for i in range(len(study))]
        self.hidden = len(model.own) if model.profiled else 0
        parameters = [p for _, p in model.owners(study.actions)]
        self.whole = _Searched(parameters[self.hidden :])
        sizes = [len(expert.parameters(study.actions)) for expert in model.experts]
        self.owner = np.repeat(np.arange(len(sizes)), sizes)

    @cached_property
    def trials(self) -> list[WeighedTrials]:
        """What the weights of every learner learn from."""
        return [self.advisor.trials(records) for records in self.records]

    def at(self, learner: Ints, x: Floats, marks: Ints) -> Floats:
        """Log-likelihoods [problem, mark] at parameters x."""
        out = np.empty(marks.shape)
        for p, i in enumerate(learner.tolist()):
            advice = self._advice(i, x[p])
            if self.hidden:
                out[p] = self._profiled(i, advice, marks[p]).value[0]
            else:
                each = self._each(i, self._split(x[p])[0], advice)
                out[p] = np.concatenate(([0.0], np.cumsum(each)))[marks[p]]
        return out

    def value(self, learner: Ints, u: Floats, mark: Ints) -> Floats:
        """Of the trials before one mark per problem."""
        found = self.at(learner, self.whole.at(u), mark[:, None])[:, 0]
        return np.where(np.isnan(found), -np.inf, found)

    def slope(self, learner: Ints, u: Floats, mark: Ints, value: Floats | None = None) -> Floats:
        """Its gradient in u."""
        return self.both(learner, u, mark)[1]

    def both(self, learner: Ints, u: Floats, mark: Ints) -> tuple[Floats, Floats]:
        """The value and its gradient in u."""
        x = self.whole.at(u)
        value, out = np.empty(len(u)), np.empty_like(u)
        for p, (i, stop) in enumerate(zip(learner.tolist(), mark.tolist(), strict=True)):
            own, each = self._split(x[p])
            found = [
                advisor.slopes(self.records[i], mine)
                if not expert.given
                else (advisor.chosen(self.records[i], mine), np.empty((len(self.scored[i]), 0)))
                for expert, advisor, mine in zip(
                    self.model.experts, self.advisor.experts, each, strict=True
                )
            ]
            advice = np.stack([log_p for log_p, _ in found], axis=1)
            slopes = np.concatenate([d for _, d in found], axis=1)
            if self.hidden:
                own = self._profiled(i, advice, mark[p : p + 1]).theta[0, 0]
            log_pi, d = self.model.slopes(own, advice, slopes, self.owner, self.trials[i])
            mine = self.scored[i][:stop]
            value[p] = log_pi[:stop][mine].sum()
            out[p] = d[:stop][mine].sum(axis=0)
        stretch = [p.slope(u[:, d]) for d, p in enumerate(self.whole.parameters)]
        value = np.where(np.isnan(value), -np.inf, value)
        return value, np.nan_to_num(out, posinf=0.0, neginf=0.0) * np.stack(stretch, axis=1)

    def ended(self, x: Floats, marks: Ints) -> Best:
        """All parameters [learner, mark, …] where a search ended, and the likelihoods there."""
        found = []
        for i in range(len(marks)):
            rows = []
            for j, mark in enumerate(marks[i].tolist()):
                advice = self._advice(i, x[i, j])
                own, theta = self._split(x[i, j])[0], x[i, j]
                status = np.empty(0, np.int8)
                if self.hidden:
                    best = self._profiled(i, advice, marks[i, j : j + 1])
                    own, status = best.theta[0, 0], best.status[0, 0]
                    theta = np.concatenate([own, theta])
                each = self._each(i, own, advice)
                rows.append((theta, status, each[:mark].sum(), each[mark:].sum()))
            found.append([np.stack(column) for column in zip(*rows, strict=True)])
        return Best(*(np.stack(column) for column in zip(*found, strict=True)))

    def _each(self, i: int, own: Floats, advice: Floats) -> Floats:
        """What every trial adds to the log-likelihood of learner i."""
        nothing, nobody = np.empty((len(advice), 0)), np.empty(0, np.int64)
        log_pi, _ = self.model.slopes(own, advice, nothing, nobody, self.trials[i])
        return np.where(self.scored[i], log_pi, 0.0)

    def _all(self, x: Floats) -> Floats:
        return np.concatenate([np.zeros(self.hidden), x])

    def _split(self, x: Floats) -> tuple[Floats, list[Floats]]:
        return self.model.split(self._all(x), self.actions)

    def _advice(self, i: int, x: Floats) -> Floats:
        return self.advisor.advice(self.records[i], self._all(x))

    def _profiled(self, i: int, advice: Floats, marks: Ints) -> Best:
        seen = np.array([[int(self.scored[i][:mark].sum()) for mark in marks.tolist()]])
        return self.model.best(advice, self.trials[i], marks[None], seen)


# Parameters of a mixture's strategies as the other learners tell them.


def with_others(
    study: Study, models: Sequence[Model], fit: Callable[[Sequence[Model]], Fits]
) -> list[Model]:
    """The models, where mixtures that ask for it know what the other learners' fits say."""
    if not any(model.asks_others for model in models):
        return list(models)
    names = list(dict.fromkeys(study.learners))
    if len(names) < 2:
        raise HowlearnError(
            "source=population takes the strategies' parameters from other learners, and there is "
            "one learner only; source=training or source=joint needs no others"
        )
    asking = [model for model in models if model.asks_others]
    experts = {e.model.name: e.model for m in asking for e in m.experts if e.fitted}
    fits = fit([*experts.values()])
    found: list[Model] = []
    for model in models:
        if not (model.asks_others and isinstance(model, Mixture)):
            found.append(model)
            continue
        columns = [_of_model(fits, e.model, names) for e in model.experts if e.fitted]
        values = np.concatenate(columns, axis=1)
        found.append(model.known_from(dict(zip([*names, ""], values, strict=True))))
    return found


def _of_model(fits: Fits, model: Model, names: Sequence[str]) -> Floats:
    """For every learner, and last for anybody else, the median of the others' estimates."""
    part, j = fits.of[model.name], fits.at(ALL)
    known = ~np.isin(part.status[:, j], (Statuses.FLAT, Statuses.UNSEEN, Statuses.BROKEN))
    place = {name: k for k, name in enumerate(names)}
    learner = np.array([place[name] for name in fits.study.learners])
    defaults = [parameter.default for _, parameter in model.owners(fits.study.actions)]
    out = np.empty((len(names) + 1, len(defaults)))
    for p, default in enumerate(defaults):
        own = np.full(len(names) + 1, np.nan)
        for k in np.unique(learner[known[:, p]]):
            own[k] = np.median(part.theta[known[:, p] & (learner == k), j, p])
        out[:, p] = without_own(own, default)
    return out


def without_own(values: Floats, default: float) -> Floats:
    """Of every entry, the median of all others that are known.

    >>> without_own(np.array([1.0, 2.0, 9.0, np.nan]), 0.0).tolist()
    [5.5, 5.0, 1.5, 2.0]
    """
    known = np.flatnonzero(~np.isnan(values))
    out = np.full(len(values), np.median(values[known]) if len(known) else default)
    n = len(known) - 1  # others of a known one
    if n < 1:
        out[known] = default
        return out
    order = known[np.argsort(values[known], kind="stable")]
    ranked = values[order]
    rank = np.arange(len(order))
    low, high = (n - 1) // 2, n // 2
    out[order] = (ranked[low + (rank <= low)] + ranked[high + (rank <= high)]) / 2
    return out
