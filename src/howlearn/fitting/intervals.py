"""Profile-likelihood intervals: how much worse a value may be and still be held."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Parameter, Rule
from howlearn.engine.layout import Statuses
from howlearn.models.model import Model

LEVEL = 0.95
# The mean of 2·(ℓ(θ̂) − ℓ(θ)) is 1 in theory, and up to 1.2 where a cell holds contexts with
# different right answers (docs/intervals.md); the quantile is stretched by it, as Bartlett did.
STRETCH = 1.2
# With Exp3's and Exp3-IX's steps, gains or losses over a probability, one rare choice may decide
# where the learner ends up: that mean is up to 1.6 and the 95% quantile up to 1.3 times that of χ².
# Rules of which nobody says that they are smooth are taken for no better.
STRETCH_OF_LEAPS = 1.6
WORDS = ("closed", "reaches lower bound", "reaches upper bound", "whole range")
# Nothing is known of them from this learner's trials, or they are held fixed.
WITHOUT = (Statuses.UNSEEN, Statuses.BROKEN, Statuses.PLUGGED, Statuses.BORROWED)


def nats_within(level: float) -> float:
    """Nats by which a value in the interval may be worse than the best one, before ``stretch_of``.

    >>> round(nats_within(0.95), 3)
    2.305
    """
    if not 0.0 < level < 1.0:
        raise HowlearnError(
            f"the level of intervals must lie between 0 and 1, such as 0.95, got {level:g}"
        )
    return STRETCH * 0.5 * NormalDist().inv_cdf((1.0 + level) / 2.0) ** 2


def stretch_of(learns: Rule | Model) -> float:
    """How many times ``nats_within`` intervals reach, by what learns: more if it leaps.

    >>> from howlearn.core.rules import Exp3

    >>> from howlearn.core.rules import GradientBandit
    >>> round(stretch_of(GradientBandit()), 2), round(stretch_of(Exp3()), 2)
    (1.0, 1.33)
    """
    steady = not isinstance(learns, Rule) or learns.smooth_with_gains
    return 1.0 if steady else STRETCH_OF_LEAPS / STRETCH


def known_ends(ends: Floats, status: NDArray[np.int8], parameters: list[Parameter]) -> Floats:
    """Ends [learner, parameter, 2], empty (NaN) and whole ranges where the status says so."""
    bounds = np.array([[p.lower, p.upper] for p in parameters]).reshape(-1, 2)
    whole = np.isin(status, (Statuses.FLAT, Statuses.CAPPED, Statuses.UNSTABLE))
    ends = np.where(whole[..., None], bounds, ends)
    return np.where(np.isin(status, WITHOUT)[..., None], np.nan, ends)


def reaches(ends: Floats, parameters: list[Parameter]) -> NDArray[np.int64]:
    """Which of the bounds an interval reaches, as a place in WORDS; −1 without an interval."""
    bounds = np.array([[p.lower, p.upper] for p in parameters]).reshape(-1, 2)
    code = (ends[..., 0] <= bounds[:, 0]) + 2 * (ends[..., 1] >= bounds[:, 1])
    return np.where(np.isnan(ends[..., 0]), -1, code)
