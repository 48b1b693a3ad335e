"""Fits of mixtures: strategies are replayed once, then the mixture's own parameter is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.engine.crossings import Reach, crossings, depth_of, on_nodes
from howlearn.engine.layout import Statuses
from howlearn.engine.search import JOINT, ROUGH_JOINT, highest
from howlearn.engine.whole import Records, Space
from howlearn.fitting.fits import FitWork, ModelFits, Refused, Thetas, names_of
from howlearn.fitting.intervals import known_ends
from howlearn.fitting.joint import JointLikelihood
from howlearn.fitting.replay import MixtureAdvisor
from howlearn.fitting.replay import advisor as advisor_of
from howlearn.fitting.settings import Marked, records_of, setting_of
from howlearn.fitting.whole import SEARCH
from howlearn.models.coin import FixedPolicy
from howlearn.models.mixture import Best, Mixture
from howlearn.models.model import Model

MIXED = 100  # curves that take as long as replaying strategies and fitting their mixture


class Mixtures:
    """Mixtures, fitted from their strategies' advice: a way of fitting."""

    searched, slow, evidence, n_curves = True, False, "schwarz", 0

    def __init__(self, models: Sequence[Mixture], study: Study, refused: Refused = None) -> None:
        self.advisors = advisors_for(models, study)
        for model in models:
            model.check_given(study.actions)
            model.values_of_others(study)  # refuses learners who have no others
            _check_positive(study, self.advisors[model.name], refused)
        joint = {m.name: SEARCH * len(m.owners(study.actions)) for m in models if m.joint}
        self.n_units = sum(MIXED * joint.get(model.name, 1) for model in models)
        self.kernels: tuple[object, ...] = tuple(type(model) for model in models)

    def fit(self, work: FitWork) -> list[ModelFits]:
        mine = _MixtureFits(
            work.study, records_each(work.study), work.marks, work.known, work.reach
        )
        return [mine.fitted(advisor) for advisor in self.advisors.values()]

    @staticmethod
    def later(models: Sequence[Model], at: Marked) -> Thetas:
        found = {}
        for name, advisor in advisors_for(models, at.study).items():
            found[name] = np.empty(len(at.learners))
            for k, i in enumerate(at.learners.tolist()):
                one, mine = at.study.part(i, i + 1), slice(*at.marks[k].tolist())
                log_p = advisor.chosen(records_of(one), np.ascontiguousarray(at.theta[name][k]))
                found[name][k] = log_p[mine][one.scored[mine]].sum()
        return found


class Tables:
    """Policies without parameters, whose likelihood is all there is: a way of fitting."""

    searched, slow, evidence, n_curves = True, False, "schwarz", 0
    kernels: tuple[object, ...] = ()
    later = staticmethod(Mixtures.later)

    def __init__(
        self, models: Sequence[FixedPolicy], study: Study, refused: Refused = None
    ) -> None:
        self.advisors = advisors_for(models, study)
        self.n_units = MIXED * len(models)

    def fit(self, work: FitWork) -> list[ModelFits]:
        study, marks, found = work.study, work.marks, []
        n, m = marks.shape
        nothing, nobody = np.empty((n, m, 0)), np.zeros(n, np.int64)
        for advisor in self.advisors.values():
            value, rest = np.empty((n, m)), np.empty((n, m))
            for i, records in enumerate(records_each(study)):
                scored = study.part(i, i + 1).scored
                each = np.where(scored, advisor.chosen(records, np.empty(0)), 0.0)
                value[i] = np.concatenate(([0.0], np.cumsum(each)))[marks[i]]
                rest[i] = [each[mark:].sum() for mark in marks[i]]
            status = nothing.astype(np.int8)
            found.append(ModelFits(advisor.model, (), (), nothing, status, value, rest, nobody))
        return found


def advisors_for(models: Sequence[Model], study: Study) -> dict[str, Any]:
    """Ready to be replayed, by name."""
    setting = setting_of(study)
    return {m.name: advisor_of(m, study.contexts, study.actions, setting) for m in models}


def records_each(study: Study) -> list[Records]:
    """The records of every learner on its own."""
    return [records_of(study.part(i, i + 1)) for i in range(len(study))]


def _check_positive(
    study: Study, advisor: MixtureAdvisor, refused: dict[int, Exception] | None = None
) -> None:
    """Refuse experts with given parameters that rule an action out, before anything is fitted.

    Where that depends on the learner, learners may be ``refused`` instead.
    """
    model = advisor.model
    pairs = zip(model.experts, advisor.experts, strict=True)
    known = [(e, a) for e, a in pairs if e.given or not a.parameters]
    if all(expert.positive for _, expert in known):
        return
    alike = study.offers is None and all(expert.constant for _, expert in known)
    for i in range(1 if alike else len(study)):
        records = records_of(study.part(i, i + 1))
        advice = [a.log_probabilities(records, e.values(study.actions)) for e, a in known]
        names = [model.strategies[model.experts.index(expert)] for expert, _ in known]
        try:
            _refuse_zero(np.stack(advice, axis=1), names, model, study, i)
        except HowlearnError as error:
            if alike or refused is None:
                raise
            refused.setdefault(i, error)


def _refuse_zero(
    advice: Floats, names: Sequence[str], model: Mixture, study: Study, learner: int
) -> None:
    """Refuse advice[trial, expert, action] that rules an action on offer out."""
    offered = study[learner].offered
    if offered is not None:
        advice = np.where(offered[:, None], advice, 0.0)
    if np.isfinite(advice).all():
        return
    t, k, a = (int(place) for place in np.argwhere(~np.isfinite(advice))[0])
    rho = float(np.exp(advice).sum(axis=1).min())
    of = "experts" if len(names) == len(model.experts) else "experts that are given"
    raise HowlearnError(
        f"{model.name}: expert {names[k]} gives action {study.actions[a]} probability 0 at trial "
        f"{t + 1} of learner {study.learners[learner]}; every expert must leave every action "
        f"possible, so that the paper's Assumption 4 holds for every set it belongs to (the {of} "
        f"give each action probabilities that add up to rho = {rho:.3g} or more here)"
    )


NODES = 64  # rates at which the profile of a mixture's own is looked at first
VARIED = (1.0, 0.25, 4.0)  # times the plug-in fit: where a joint search starts, besides


def _varied(theta: Floats, space: Space, n_own: int) -> Floats:
    """Starts [learner, mark, start, parameter] around a plug-in fit: slower and faster ones."""
    lower = np.array([parameter.lower for parameter in space.parameters])
    upper = np.array([parameter.upper for parameter in space.parameters])
    starts = []
    for own in VARIED if n_own else (1.0,):
        for theirs in VARIED:
            factor = np.full(theta.shape[2], theirs)
            factor[:n_own] = own
            starts.append(np.clip(theta * factor, lower, upper))
    return np.stack(starts, axis=2)


@dataclass(frozen=True, eq=False)
class _MixtureFits:
    """Some learners' records, and up to where they are fitted."""

    study: Study
    records: list[Records]
    marks: Ints
    known: Mapping[str, ModelFits]
    reach: Reach | None = None

    @property
    def seen(self) -> Ints:
        """Scored trials before each mark."""
        counts = np.concatenate(([0], np.cumsum(self.study.scored)))
        starts = self.study.starts[:-1, None]
        return counts[starts + self.marks] - counts[starts]

    def fitted(self, advisor: MixtureAdvisor) -> ModelFits:
        model = advisor.model
        theta, status = self._experts(model)
        best = self._own(advisor, theta)
        agreement = None
        theta = np.concatenate([best.theta, theta], axis=2)
        status = np.concatenate([best.status, status], axis=2)
        value, rest = best.value, best.rest
        several = len(model.experts) > 1  # one alone is at its best already
        if several and theta.shape[2] > len(model.own) and model.joint:
            likelihood = JointLikelihood(advisor, self.records, self.study)
            hidden = len(model.own) if model.profiled else 0
            guesses = _varied(theta[:, :, hidden:], likelihood.whole, len(model.own) - hidden)
            effort = ROUGH_JOINT if model.rough else JOINT
            tops = highest(likelihood, self.marks, self.seen, guesses, effort)
            found = likelihood.ended(tops.theta, self.marks)
            # Never worse than the plug-in fit, whatever rounding does to a search.
            better = found.value >= best.value
            theta = np.where(better[..., None], found.theta, theta)
            ended = np.concatenate([found.status[:, :, :hidden], tops.status], axis=2)
            status = np.where(better[..., None], ended, status)
            value = np.where(better, found.value, best.value)
            rest = np.where(better, found.rest, best.rest)
            agreement = tops.agreement
        counted, met = self._counted(model)
        ends = None
        if self.reach is not None and len(model.own) == 1 and agreement is None:
            ends = self._ends(advisor, self.reach, theta, status, value)
        return ModelFits(
            model,
            *names_of(model, self.study.actions),
            theta,
            status,
            value,
            rest,
            counted,
            agreement,
            met,
            ends,
        )

    def _ends(
        self,
        advisor: MixtureAdvisor,
        reach: Reach,
        theta: Floats,
        status: NDArray[np.int8],
        value: Floats,
    ) -> Floats:
        """Of an interval for a rate of the mixture's own, the strategies being as they are.

        None for the trial of a switch, where likelihood ratios follow another law, nor for the
        strategies, which are held fixed.
        """
        model, j = advisor.model, reach.mark
        ends = np.full((len(theta), theta.shape[2], 2), np.nan)
        if model.profiled:
            return ends
        nobody, own = np.empty(0, np.int64), model.own[0]
        advice = [advisor.advice(each, theta[i, j]) for i, each in enumerate(self.records)]
        trials = [advisor.trials(each) for each in self.records]
        scored = [self.study.part(i, i + 1).scored[: self.marks[i, j]] for i in range(len(theta))]

        def values(who: Ints, u: Floats) -> Floats:
            out = np.empty(u.shape)
            for row, i in enumerate(who.tolist()):
                nothing = np.empty((len(advice[i]), 0))
                for lane, rate in enumerate(own.at(u[row])):
                    at = model.slopes(np.array([rate]), advice[i], nothing, nobody, trials[i])[0]
                    out[row, lane] = at[: len(scored[i])][scored[i]].sum()
            return out

        every, at = np.arange(len(theta)), own.u(theta[:, j, 0])
        nodes = np.linspace(0.0, own.end, NODES)
        found = values(every, np.tile(nodes, (len(every), 1)))
        top = np.maximum(value[:, j], found.max(axis=1))
        brackets = on_nodes(nodes, depth_of(top[:, None], found), at, reach.limit)

        def look(sides: Ints, u: Floats) -> Floats:
            return depth_of(top[sides // 2][:, None], values(sides // 2, u))

        crossed = crossings(look, brackets.flat, reach.limit)
        mine = own.at(crossed).reshape(-1, 1, 2)
        ends[:, :1] = known_ends(mine, status[:, j, :1], [own])
        return ends

    def _experts(self, model: Mixture) -> tuple[Floats, NDArray[np.int8]]:
        """The parameters of the experts that are not given, and how they were found."""
        n, m = self.marks.shape
        if model.source == "population":
            values = model.values_of_others(self.study)
            theta = np.repeat(values[:, None], m, axis=1)
            return theta, np.full(theta.shape, Statuses.BORROWED, np.int8)
        fits = [self.known[e.model.name] for e in model.experts if e.fitted]
        theta = np.concatenate([np.empty((n, m, 0)), *(fit.theta for fit in fits)], axis=2)
        nothing = np.empty((n, m, 0), np.int8)
        status = np.concatenate([nothing, *(fit.status for fit in fits)], axis=2)
        # What is to be said of a fit is still said.
        return theta, np.where(status == Statuses.OK, Statuses.PLUGGED, status).astype(np.int8)

    def _own(self, advisor: MixtureAdvisor, theta: Floats) -> Best:
        """The mixture's own parameter, the experts' being as they are."""
        model = advisor.model
        trials = advisor.trials(records_of(self.study))
        same = model.source == "population" or theta.shape[2] == 0
        found = []
        everything = np.concatenate([np.zeros((*theta.shape[:2], len(model.own))), theta], axis=2)
        for j in range(1 if same else self.marks.shape[1]):
            advice = np.concatenate(
                [advisor.advice(each, everything[i, j]) for i, each in enumerate(self.records)]
            )
            mine = slice(None) if same else slice(j, j + 1)
            found.append(model.best(advice, trials, self.marks[:, mine], self.seen[:, mine]))
        return Best(*(np.concatenate(each, axis=1) for each in zip(*found, strict=True)))

    def _counted(self, model: Mixture) -> tuple[Ints, Ints]:
        """D: the mixture's own parameter, and those of experts that were fitted; and at marks."""
        count = np.full(len(self.study), model.counts * len(model.own), np.int64)
        met = np.repeat(count[:, None], self.marks.shape[1], axis=1)
        if model.source != "population":
            for expert in model.experts:
                if expert.fitted:
                    known = self.known[expert.model.name]
                    count = count + known.n_parameters
                    met = met + (
                        known.n_parameters[:, None] if known.n_met is None else known.n_met
                    )
        return count, met
