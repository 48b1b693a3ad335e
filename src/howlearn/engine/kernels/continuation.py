"""The same past, many futures: how a learner goes on, and what other models say to it.

All futures show the same contexts, so that they stand side by side in vector lanes. They are of
free choices that teach, without new starts.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.example import update_with
from howlearn.engine.kernels.numeric import (
    CACHED,
    FLAGS,
    exp,
    exponent_of,
    log_of_product,
    mantissa_of,
    unowned,
)
from howlearn.engine.kernels.single import learn, log_policy

EVERY = 16  # trials between two moves of exponents


@njit(**CACHED)
def advance(context, action, feedback, cell_of, theta, h):
    """Let a record teach the states h[cell, action]."""
    log_p, p = np.empty(h.shape[1]), np.empty(h.shape[1])
    for t in range(len(context)):
        cell = cell_of[context[t]]
        log_policy(h[cell], log_p, p)
        learn(h[cell], p, action[t], feedback[t], theta[cell])


@njit(**FLAGS)
def policies(h, p, largest, total):
    """softmax(h[action, future]) into p, with the max and the sum of exp(h − max)."""
    n_actions, n = h.shape
    for f in range(n):
        largest[f] = h[0, f]
        total[f] = 0.0
    for a in range(1, n_actions):
        for f in range(n):
            largest[f] = max(largest[f], h[a, f])
    for a in range(n_actions):
        for f in range(n):
            e = exp(h[a, f] - largest[f])
            p[a, f] = e
            total[f] += e
    for a in range(n_actions):
        for f in range(n):
            p[a, f] /= total[f]


@njit(**FLAGS)
def taught(h, p, p_chosen, action, reward, origin, width, theta):
    """The rule, for every action and future."""
    n_actions, n = h.shape
    for f in range(n):
        p_chosen[f] = 0.0
    for a in range(n_actions):
        for f in range(n):
            p_chosen[f] = p[a, f] if action[f] == a else p_chosen[f]
    for a in range(n_actions):
        for f in range(n):
            chosen = 1.0 if action[f] == a else 0.0
            feedback = (reward[f] - origin) / width
            h[a, f] = update_with(theta, h[a, f], p[a, f], chosen, p_chosen[f], feedback)


@njit(**FLAGS)
def states(start, futures):
    """The same states[cell, action, future] in all futures."""
    h = np.empty((start.shape[0], start.shape[1], futures))
    for f in range(futures):
        h[:, :, f] = start
    return h


@njit(**CACHED)
def continued(
    context, draws, gains, origin, width, cell_of, theta, start, actions, rewards, p_true
):
    """Draw actions[trial, future] and rewards, from the states ``start`` on.

    gains[trial, action, future or one for all] is what each action would earn; the rule sees
    (reward − origin) / width. p_true[trial, action, future] are the probabilities drawn from.
    """
    n_actions, n = start.shape[1], draws.shape[1]
    largest, total, p_chosen = np.empty(n), np.empty(n), np.empty(n)
    all_states = states(start, n)
    same = gains.shape[2] == 1
    for t in range(len(context)):
        cell = cell_of[context[t]]
        h, p = all_states[cell], p_true[t]
        policies(h, p, largest, total)
        for f in range(n):
            action, cumulated = n_actions - 1, 0.0
            for a in range(n_actions - 1):
                cumulated += p[a, f]
                if draws[t, f] < cumulated:
                    action = a
                    break
            actions[t, f] = action
            rewards[t, f] = gains[t, action, 0 if same else f]
        taught(h, p, p_chosen, actions[t], rewards[t], origin, width, theta[cell])


@njit(**CACHED)
def versus(context, actions, rewards, origin, width, cell_of, theta, start, p_true, out):
    """What a model says to futures: out[:, future] = Σ Σ_a p*(a) log p(a), Σ log p(A) and
    Σ Σ_a √(p*(a) p(a)).

    The sums are over the trials of a future; A is what was chosen.
    """
    n = actions.shape[1]
    space = np.empty((start.shape[1] + 5, n))
    _versus(
        context, actions, rewards, origin, width, cell_of, theta, states(start, n), space,
        p_true, out,
    )  # fmt: skip


@njit(**FLAGS)
def _versus(
    context, actions, rewards, origin, width, cell_of, theta, owner, space, p_true, out
):  # fmt: skip
    n_actions, n = owner.shape[1], owner.shape[2]
    all_states, scratch = unowned(owner), unowned(space)
    p, largest, total = scratch[:n_actions], scratch[n_actions], scratch[n_actions + 1]
    p_chosen, product = scratch[n_actions + 2], scratch[n_actions + 3]
    exponent = scratch[n_actions + 4]
    product[:] = 1.0
    exponent[:] = 0.0
    out[:] = 0.0
    expected, actual, overlap = out[0], out[1], out[2]
    for t in range(len(context)):
        cell = cell_of[context[t]]
        h, action, truth = all_states[cell], actions[t], p_true[t]
        policies(h, p, largest, total)
        for a in range(n_actions):
            for f in range(n):
                above = h[a, f] - largest[f]
                expected[f] += truth[a, f] * above
                actual[f] += above if action[f] == a else 0.0
                overlap[f] += math.sqrt(truth[a, f] * p[a, f])
        for f in range(n):
            product[f] *= total[f]
        if t % EVERY == EVERY - 1:
            for f in range(n):
                exponent[f] += exponent_of(product[f])
                product[f] = mantissa_of(product[f])
        taught(h, p, p_chosen, action, rewards[t], origin, width, theta[cell])
    for f in range(n):
        log_sums = log_of_product(product[f], exponent[f])
        expected[f] -= log_sums
        actual[f] -= log_sums
