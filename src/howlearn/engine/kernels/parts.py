"""The model's place: ``engine.parts`` writes these names anew for the model at hand."""

from __future__ import annotations

import numpy as np
from numba import njit

from howlearn.core.world import keep_offered, log_softmax
from howlearn.engine.kernels.numeric import FLAGS


@njit(**FLAGS)
def begin(world, x, index):
    """The state of every part before the first trial."""
    return (np.zeros((world.n_cells, world.n_actions)),)


@njit(**FLAGS)
def policy(state, shown, x, index, edges, out):
    """Log-probabilities of all actions."""
    out[:] = state[0][shown.cell]
    log_softmax(out)
    if shown.n_offered < len(out):
        keep_offered(out, shown.offered)


@njit(**FLAGS)
def learn(extent, state, trial, x, index):
    """Change the state after a trial that teaches."""
    state[0][trial.cell, trial.action] += x[index[trial.cell, 0]] * trial.reward


@njit(**FLAGS)
def note(state, trial, x, edges):
    """Change the state of adjustments after any trial."""


@njit(**FLAGS)
def look(state, trial, x, index, out):
    """Latent variables before the trial's update."""
    out[:] = state[0][trial.cell]


@njit(**FLAGS)
def slope(state, shown, x, index, action, log_p, out, slope):
    """Add the derivatives of the log-probability of an action."""
    slope[0] += 0.0
