"""Hidden states that follow a Markov chain: which of several strategies chooses, trial by trial.

``advice[trial, state]`` is the log-probability that each strategy gave to what was chosen,
``log_t[from, to]`` the chain. The states are told by scored trials; the chain moves at every trial,
and begins again where learning does. All is kept as logs, so that nothing underflows.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.numeric import CACHED, FLAGS, RESET, SCORED


@njit(**FLAGS)
def log_sum(x):
    """log Σ exp x."""
    largest = np.max(x)
    if largest == -np.inf:
        return -np.inf
    total = 0.0
    for k in range(len(x)):
        total += math.exp(x[k] - largest)
    return largest + math.log(total)


@njit(**CACHED)
def forward(advice, flags, log_start, log_t, d_t, slopes, owner, log_q, log_p, d_log_p):
    """Log-probabilities of the states before every trial, log_q, and of what was chosen, log_p.

    ``d_t[parameter, from, to]`` are derivatives of the chain's probabilities, ``slopes[trial, p]``
    those of the advice in a parameter of state ``owner[p]``; d_log_p has both, in this order.
    """
    n, n_states = advice.shape
    n_own, n_all = len(d_t), len(d_t) + len(owner)
    now, joint, after = log_start.copy(), np.empty(n_states), np.empty(n_states)
    d, d_after = np.zeros((n_all, n_states)), np.zeros((n_all, n_states))
    for t in range(n):
        if flags[t] & RESET:
            now[:], d[:] = log_start, 0.0
        elif t > 0:
            for s in range(n_states):
                for u in range(n_states):
                    joint[u] = after[u] + log_t[u, s]
                now[s] = log_sum(joint)
                for k in range(n_all):
                    d[k, s] = 0.0
                    if now[s] > -np.inf:
                        for u in range(n_states):
                            d[k, s] += math.exp(joint[u] - now[s]) * d_after[k, u]
                            if k < n_own and d_t[k, u, s] != 0.0:
                                d[k, s] += math.exp(after[u] - now[s]) * d_t[k, u, s]
        for s in range(n_states):
            log_q[t, s] = now[s]
            joint[s] = now[s] + advice[t, s]
        log_p[t] = log_sum(joint)
        told = flags[t] & SCORED and log_p[t] > -np.inf
        for k in range(n_all):
            total = 0.0
            for s in range(n_states):
                d_after[k, s] = d[k, s]
                if k >= n_own and owner[k - n_own] == s:
                    d_after[k, s] += slopes[t, k - n_own]
                if joint[s] > -np.inf:
                    total += math.exp(joint[s] - log_p[t]) * d_after[k, s]
            d_log_p[t, k] = total
            for s in range(n_states):
                d_after[k, s] = d_after[k, s] - total if told else d[k, s]
        for s in range(n_states):
            after[s] = joint[s] - log_p[t] if told else now[s]


@njit(**CACHED)
def states(advice, flags, log_start, log_t, log_q, filtered, smoothed, path):
    """Log-probabilities of the states after each choice and after all; the likeliest path."""
    n, n_states = advice.shape
    joint, later = np.empty(n_states), np.zeros(n_states)
    for t in range(n):
        told = flags[t] & SCORED
        for s in range(n_states):
            joint[s] = log_q[t, s] + (advice[t, s] if told else 0.0)
        total = log_sum(joint)
        for s in range(n_states):
            filtered[t, s] = joint[s] - total if total > -np.inf else log_q[t, s]
    for t in range(n - 1, -1, -1):
        if t < n - 1:
            before = later.copy()
            for u in range(n_states):
                for s in range(n_states):
                    told = flags[t + 1] & SCORED
                    joint[s] = log_t[u, s] + before[s] + (advice[t + 1, s] if told else 0.0)
                later[u] = 0.0 if flags[t + 1] & RESET else log_sum(joint)
        for s in range(n_states):
            joint[s] = filtered[t, s] + later[s]
        total = log_sum(joint)
        for s in range(n_states):
            smoothed[t, s] = joint[s] - total if total > -np.inf else filtered[t, s]
    _likeliest(advice, flags, log_start, log_t, path)


@njit(**FLAGS)
def _likeliest(advice, flags, log_start, log_t, path):
    n, n_states = advice.shape
    best, origin = np.empty((n, n_states)), np.zeros((n, n_states), np.int64)
    for t in range(n):
        told = flags[t] & SCORED
        for s in range(n_states):
            if t == 0 or flags[t] & RESET:
                best[t, s] = log_start[s]
            else:
                best[t, s] = -np.inf
                for u in range(n_states):
                    value = best[t - 1, u] + log_t[u, s]
                    if value > best[t, s] or (value == best[t, s] and u == s):
                        best[t, s], origin[t, s] = value, u
            best[t, s] += advice[t, s] if told else 0.0
    for t in range(n - 1, -1, -1):
        if t == n - 1 or flags[t + 1] & RESET:
            path[t] = np.argmax(best[t])
        else:
            path[t] = origin[t + 1, path[t + 1]]
