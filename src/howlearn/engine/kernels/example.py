"""The places of a rule and of parts of the user: ``engine.compile`` writes these names anew."""

from __future__ import annotations

from numba import njit

from howlearn.core.rules import GradientBandit
from howlearn.engine.kernels.numeric import FLAGS

N_PARAMETERS = 1
update = njit(**FLAGS)(GradientBandit.update)
differential = njit(**FLAGS)(GradientBandit.differential)


@njit(**FLAGS)
def update_at(cell, i, h, p, chosen, p_chosen, feedback):
    """The update with the parameters of lane i."""
    return update(h, p, chosen, p_chosen, feedback, cell[0, i])


@njit(**FLAGS)
def update_with(theta, h, p, chosen, p_chosen, feedback):
    """The update with a vector of parameters."""
    return update(h, p, chosen, p_chosen, feedback, theta[0])


@njit(**FLAGS)
def differential_at(cell, i, d, h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback):
    """The derivative of the update in parameter d, in lane i."""
    unit = 1.0 if d == 0 else 0.0
    return differential(h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, cell[0, i], unit)


@njit(**FLAGS)
def differential_with(theta, d, h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback):
    """The derivative of the update in parameter d, with a vector of parameters."""
    unit = 1.0 if d == 0 else 0.0
    return differential(h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, theta[0], unit)


# The place of parts of the user's own in the loop of ``mechanisms``.
OWN = False


@njit(**FLAGS)
def own_start(own):
    """Their states at the start."""


@njit(**FLAGS)
def own_adjust(own, theta, n_actions, c, t, offered, p):
    """What they make of probabilities, in place."""


@njit(**FLAGS)
def own_update(own, theta, n_actions, c, t, k, reward, offered):
    """What they learn."""
