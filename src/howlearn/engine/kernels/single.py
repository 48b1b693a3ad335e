"""One learner, one set of parameters, plainly: the probabilities of a record, and a new record."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.example import update_with
from howlearn.engine.kernels.numeric import CACHED, FLAGS, LEARNED, RESET


@njit(**FLAGS)
def log_policy(h, out):
    """log softmax(h)."""
    largest = np.max(h)
    total = 0.0
    for a in range(len(h)):
        total += math.exp(h[a] - largest)
    for a in range(len(h)):
        out[a] = h[a] - largest - math.log(total)


@njit(**FLAGS)
def learn(h, log_p, action, feedback, theta):
    """The rule, for every action; ``log_p`` is the policy before it."""
    p_chosen = math.exp(log_p[action])
    for a in range(len(h)):
        chosen = 1.0 if a == action else 0.0
        h[a] = update_with(theta, h[a], math.exp(log_p[a]), chosen, p_chosen, feedback)


@njit(**CACHED)
def replay(context, action, feedback, flags, cell_of, theta, out):
    """Log-probabilities out[trial, action] where the context has a cell (cell_of ≥ 0)."""
    h = np.zeros((len(theta), out.shape[1]))
    for t in range(len(context)):
        if flags[t] & RESET:
            h[:] = 0.0
        cell = cell_of[context[t]]
        if cell >= 0:
            log_policy(h[cell], out[t])
            if flags[t] & LEARNED:
                learn(h[cell], out[t], action[t], feedback[t], theta[cell])


@njit(**CACHED)
def play(
    context,
    draws,
    phase,
    probability,
    reward,
    otherwise,
    gain_scale,
    gain_shift,
    cell_of,
    theta,
    actions,
    rewards,
):
    """Draw actions and rewards where the context has a cell.

    draws[trial] holds two uniform numbers, for the action and for the reward; the feedback that
    the rule sees is gain_shift + gain_scale · reward.
    """
    n_actions = probability.shape[2]
    h = np.zeros((len(theta), n_actions))
    log_p = np.empty(n_actions)
    for t in range(len(context)):
        cell = cell_of[context[t]]
        if cell < 0:
            continue
        log_policy(h[cell], log_p)
        action = n_actions - 1
        cumulated = 0.0
        for a in range(n_actions - 1):
            cumulated += math.exp(log_p[a])
            if draws[t, 0] < cumulated:
                action = a
                break
        where = (phase[t], context[t], action)
        paid = draws[t, 1] < probability[where]
        gain = reward[where] if paid else otherwise[where]
        actions[t] = action
        rewards[t] = gain
        learn(h[cell], log_p, action, gain_shift + gain_scale * gain, theta[cell])
