"""The ways in which models are fitted: a model names its own (``Model.way``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.cells import Cells
from howlearn.fitting.counts import Counts
from howlearn.fitting.fits import (
    ALL,
    Fits,
    FitWork,
    ModelFits,
    Refused,
    Stop,
    Thetas,
    Truncation,
    marks_of,
    sizes_of,
)
from howlearn.fitting.mixtures import Mixtures, Tables
from howlearn.fitting.replay import ADVISORS, advisor_for
from howlearn.fitting.settings import Marked, records_of, setting_of
from howlearn.fitting.whole import UnitWise, Wholes
from howlearn.models.model import Model

INSIDE = 1e-3  # of a parameter's range: how far a plug-in keeps from its bounds


class Way(Protocol):
    """Models that are fitted in one way, ready for the learners of a study.

    How such models are replayed and played is in ``advisors``.
    """

    searched: bool  # whether parameters are searched; those of others are computed
    slow: bool  # whether it takes so long that every worker should have some of the learners
    evidence: str  # how that of models without a grid is had: exact, schwarz or laplace
    n_units: int  # curves of 64 nodes that take as long as one learner's fits, about
    n_curves: int  # of these: how many are held in memory at once
    kernels: tuple[object, ...]  # what must have been compiled

    def __init__(self, models: Sequence[Any], study: Study, refused: Refused = None) -> None:
        """Refuse models that cannot be fitted to the study.

        Where it is one learner to whom they cannot, that one may be ``refused`` instead.
        """

    def fit(self, work: FitWork) -> list[ModelFits]:
        """Fit them to some learners."""
        ...

    @staticmethod
    def later(models: Sequence[Any], at: Marked) -> Thetas:
        """The likelihood of the trials between the marks, by model."""
        ...


# In this order: what is made of others comes after them.
WAYS: dict[str, type[Way]] = {
    "cells": Cells,
    "units": UnitWise,
    "whole": Wholes,
    "counts": Counts,
    "table": Tables,
    "mixture": Mixtures,
}


def way_of(model: Model) -> type[Way]:
    """How a model is fitted."""
    return WAYS[model.way]


def by_way(models: Iterable[Model]) -> Iterator[tuple[type[Way], list[Model]]]:
    """The models of each way, where there are any."""
    every = list(models)
    for name, way in WAYS.items():
        mine = [model for model in every if model.way == name]
        if mine:
            yield way, mine


def between(fits: Fits, truncation: Truncation, following: Truncation) -> Floats:
    """Of the scored trials after ``truncation`` up to ``following``: [learner, model]."""
    if following == ALL and isinstance(following, float):
        return fits.rest(truncation)
    study, j = fits.study, fits.at(truncation)
    if isinstance(following, Stop):
        ends = fits.n_fitted(following)
    else:
        ends = sizes_of(study.n_scored, [following])[:, 0]
    sizes = np.column_stack([fits.sizes[:, j], ends])
    if np.any(sizes[:, 1] < sizes[:, 0]):
        raise HowlearnError(f"truncation {following!r} does not follow {truncation!r}")
    learners = np.flatnonzero(sizes[:, 1] > sizes[:, 0])
    found = {name: np.zeros(len(study)) for name in fits.of}
    if len(learners):
        marks = marks_of(study, sizes)[learners]
        theta = {name: part.plugged[learners, j] for name, part in fits.of.items()}
        fitted = {name: part.log_likelihood[learners, j] for name, part in fits.of.items()}
        setting, records = setting_of(study), records_of(study)
        at = Marked(study, setting, records, learners, marks, theta, fitted)
        for way, models in by_way(fits.models):
            for name, values in way.later(models, at).items():
                found[name][learners] = values
    return np.stack([*found.values()], axis=1)


def kept_inside(part: ModelFits, study: Study, marks: Ints) -> ModelFits:
    """The fits with plug-ins for later trials that rule no action out for ever.

    An estimate at a bound may give an action probability 0, as that of a learner who has always
    stayed after a win does, and one later choice would then make the score −∞. Where it does so at
    a trial that was fitted, later trials are scored with every parameter at least ``INSIDE`` of its
    range away from its bounds. Later trials have no part in this.
    """
    n_trials, parameters = np.diff(study.starts), part.model.owners(study.actions)
    if ADVISORS[part.model.way].positive or not parameters or (marks >= n_trials[:, None]).all():
        return part
    lower, upper = (np.array([getattr(p, e) for _, p in parameters]) for e in ("lower", "upper"))
    keep = INSIDE * (upper - lower)
    inside = np.clip(part.theta, lower + keep, upper - keep)
    moved = (inside != part.theta).any(axis=2) & (marks < n_trials[:, None])
    advisor = advisor_for(part.model, study)
    for i, j in np.argwhere(moved).tolist() if not advisor.positive else []:
        records, theta = records_of(study.part(i, i + 1)), np.ascontiguousarray(part.theta[i, j])
        moved[i, j] = np.isneginf(advisor.log_probabilities(records, theta)[: marks[i, j]]).any()
    if advisor.positive or not moved.any():
        return replace(part, inside=part.theta)
    inside, rest = np.where(moved[..., None], inside, part.theta), part.rest.copy()
    setting, records = setting_of(study), records_of(study)
    for j in np.flatnonzero(moved.any(axis=0)).tolist():
        who = np.flatnonzero(moved[:, j])
        ends = np.column_stack([marks[who, j], n_trials[who]])
        theta, fitted = {part.model.name: inside[who, j]}, {part.model.name: rest[who, j]}
        at = Marked(study, setting, records, who, ends, theta, fitted)
        rest[who, j] = way_of(part.model).later([part.model], at)[part.model.name]
    return replace(part, rest=rest, inside=inside)
