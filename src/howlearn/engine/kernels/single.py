"""One learner, one set of parameters, plainly: the probabilities of a record, and a new record."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.example import differential_with, update_with
from howlearn.engine.kernels.numeric import BARE, CACHED, LEARNED, RESET, SCORED


@njit(**BARE)
def offered_policy(h, offered, out, p):
    """log softmax(h) over what is on offer, and its exponentials p."""
    largest = -np.inf
    for a in range(len(h)):
        if offered[a]:
            largest = max(largest, h[a])
    total = 0.0
    for a in range(len(h)):
        p[a] = math.exp(h[a] - largest) if offered[a] else 0.0
        total += p[a]
    log_total = math.log(total)
    for a in range(len(h)):
        out[a] = h[a] - largest - log_total if offered[a] else -np.inf
        p[a] /= total


@njit(**BARE)
def log_policy(h, out, p):
    """log softmax(h), and its exponentials p."""
    largest = h[0]
    for a in range(1, len(h)):
        largest = max(largest, h[a])
    total = 0.0
    for a in range(len(h)):
        p[a] = math.exp(h[a] - largest)
        total += p[a]
    log_total = math.log(total)
    for a in range(len(h)):
        out[a] = h[a] - largest - log_total
        p[a] /= total


@njit(**BARE)
def learn(h, p, action, feedback, theta):
    """The rule, for every action; ``p`` is the policy before it."""
    p_chosen = p[action]
    for a in range(len(h)):
        chosen = 1.0 if a == action else 0.0
        h[a] = update_with(theta, h[a], p[a], chosen, p_chosen, feedback)


@njit(**CACHED)
def replay(context, action, feedback, flags, offered, cell_of, theta, out):
    """Log-probabilities out[point, trial, action] at theta[point, cell, parameter].

    Those are left as they are where the context has no cell (cell_of < 0).
    """
    h, p = np.empty((theta.shape[1], out.shape[2])), np.empty(out.shape[2])
    for x in range(len(theta)):
        replay_at(context, action, feedback, flags, offered, cell_of, theta[x], h, p, out[x])


@njit(**BARE)
def replay_at(context, action, feedback, flags, offered, cell_of, theta, h, p, out):
    h[:] = 0.0
    for t in range(len(context)):
        if flags[t] & RESET:
            h[:] = 0.0
        cell = cell_of[context[t]]
        if cell >= 0:
            if len(offered):
                offered_policy(h[cell], offered[t], out[t], p)
            else:
                log_policy(h[cell], out[t], p)
            if flags[t] & LEARNED:
                learn(h[cell], p, action[t], feedback[t], theta[cell])


@njit(**CACHED)
def slopes(context, action, feedback, flags, offered, cell_of, theta, log_ps, out):
    """Log-probabilities [trial, action], and derivatives out[trial, parameter] of the choices' in
    the parameters of the trial's cell."""
    n_parameters, n_actions = out.shape[1], log_ps.shape[1]
    h = np.zeros((len(theta), n_actions))
    dh = np.zeros((len(theta), n_parameters, n_actions))
    p, dp = np.empty(n_actions), np.empty(n_actions)
    for t in range(len(context)):
        if flags[t] & RESET:
            h[:] = 0.0
            dh[:] = 0.0
        cell, a = cell_of[context[t]], action[t]
        if cell < 0:
            continue
        log_p = log_ps[t]
        if len(offered):
            offered_policy(h[cell], offered[t], log_p, p)
        else:
            log_policy(h[cell], log_p, p)
        for d in range(n_parameters):
            u = dh[cell, d]
            mean = 0.0
            for b in range(n_actions):
                mean += p[b] * u[b]
            out[t, d] = u[a] - mean
            if flags[t] & LEARNED:
                for b in range(n_actions):
                    dp[b] = p[b] * (u[b] - mean)
                for b in range(n_actions):
                    chosen = 1.0 if b == a else 0.0
                    u[b] = differential_with(
                        theta[cell], d, h[cell, b], u[b], p[b], dp[b], chosen, p[a], dp[a],
                        feedback[t],
                    )  # fmt: skip
        if flags[t] & LEARNED:
            learn(h[cell], p, a, feedback[t], theta[cell])


@njit(**CACHED)
def play(
    context,
    draws,
    gains,
    first_gains,
    origin,
    width,
    cell_of,
    theta,
    flags,
    offered,
    actions,
    rewards,
):
    """Draw actions, where the context has a cell, and pay what they earn.

    gains[trial, action] is what each action would earn; first_gains, unless it is empty, stands in
    at the first trial of every cell. A trial that is not scored keeps the action and the reward
    that are there: it was instructed. The feedback that the rule sees is (reward − origin) / width,
    rounded as in a fit, where no loss is exactly 0; a trial that does not teach has none.
    """
    n_actions = gains.shape[1]
    h = np.zeros((len(theta), n_actions))
    visited = np.zeros(len(theta), np.bool_)
    log_p, p = np.empty(n_actions), np.empty(n_actions)
    for t in range(len(context)):
        if flags[t] & RESET:
            h[:] = 0.0
        cell = cell_of[context[t]]
        if cell < 0:
            continue
        last = n_actions - 1
        if len(offered):
            offered_policy(h[cell], offered[t], log_p, p)
            while not offered[t, last]:
                last -= 1
        else:
            log_policy(h[cell], log_p, p)
        if flags[t] & SCORED:
            action = last
            cumulated = 0.0
            for a in range(last):
                cumulated += p[a]
                if draws[t] < cumulated:
                    action = a
                    break
            actions[t] = action
            rewards[t] = gains[t, action]
            if len(first_gains) and not visited[cell]:
                rewards[t] = first_gains[t, action]
        visited[cell] = True
        if flags[t] & LEARNED:
            learn(h[cell], p, actions[t], (rewards[t] - origin) / width, theta[cell])
        else:
            rewards[t] = math.nan
