"""What can be foretold of a choice: by many models at once, by history, by what is added to them.

A record is one sequence of trials; ``log_p[…, trial, action]`` is −∞ where an action was not on
offer. Rows are the actions on offer at the trials that are scored, trial after trial.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.numeric import BARE, CACHED, LEARNED, RESET, SCORED, exp, log

TINY = 1e-250  # a sum below this may have lost terms


@njit(**BARE)
def _exp(x):
    """e^x, and 0 for what is impossible."""
    return exp(x) if x > -700.0 else 0.0


@njit(**CACHED)
def integrated(log_p, unit, action, flags, kernel, like, out):
    """A partition whose rates are integrated out: out[component, trial, action].

    log_p[node, trial, action] has all cells at one rate; unit[trial] says whose rate counts, and
    kernel[node, component] how probable the rate is. Rates of different units are independent;
    like[unit, node] is 0, and gains what each rate explains.
    """
    n_nodes, n_trials, n_actions = log_p.shape
    n = kernel.shape[1]
    weight, total = np.empty(n_nodes), np.empty(n)
    each, p = np.empty((n_actions, n)), np.empty((n_actions, n_nodes))
    for t in range(n_trials):
        mine = like[unit[t]]
        top = mine[0]
        for g in range(1, n_nodes):
            top = max(top, mine[g])
        total[:], each[:] = 0.0, 0.0
        for g in range(n_nodes):
            weight[g] = _exp(mine[g] - top)
        for a in range(n_actions):
            for g in range(n_nodes):
                p[a, g] = _exp(log_p[g, t, a])
        for g in range(n_nodes):
            for q in range(n):
                total[q] += kernel[g, q] * weight[g]
            for a in range(n_actions):
                by = weight[g] * p[a, g]
                for q in range(n):
                    each[a, q] += kernel[g, q] * by
        for q in range(n):
            if total[q] < TINY:  # where this component has its rates, the likelihood is far lower
                near = -np.inf
                for g in range(n_nodes):
                    if kernel[g, q] > 0.0:
                        near = max(near, mine[g] + math.log(kernel[g, q]))
                total[q] = 0.0
                each[:, q] = 0.0
                for g in range(n_nodes):
                    if kernel[g, q] > 0.0:
                        by = math.exp(mine[g] + math.log(kernel[g, q]) - near)
                        total[q] += by
                        for a in range(n_actions):
                            each[a, q] += by * p[a, g]
        for a in range(n_actions):
            for q in range(n):
                part = each[a, q] / total[q]
                each[a, q] = log(part) if part > TINY else -np.inf
            for q in range(n):
                out[q, t, a] = each[a, q]
        if flags[t] & SCORED:
            for g in range(n_nodes):
                mine[g] += log_p[g, t, action[t]]


@njit(**CACHED)
def evidence(log_p, action, flags, out):
    """The log-likelihood of a record under every component: out[component]."""
    for q in range(len(log_p)):
        out[q] = 0.0
        for t in range(len(action)):
            if flags[t] & SCORED:
                out[q] += log_p[q, t, action[t]]


@njit(**CACHED)
def mixed(log_p, log_weight, action, flags, out):
    """Bayes' rule along a record: out[trial, action] knows the trials before, and the weights."""
    n, n_trials, n_actions = log_p.shape
    now, by = log_weight.copy(), np.empty(n)
    for t in range(n_trials):
        top, total = now[0], 0.0
        for q in range(1, n):
            top = max(top, now[q])
        for q in range(n):
            by[q] = _exp(now[q] - top)
        for q in range(n):
            total += by[q]
        for a in range(n_actions):
            p = 0.0
            for q in range(n):
                p += by[q] * _exp(log_p[q, t, a])
            out[t, a] = math.log(p / total)
        if flags[t] & SCORED:
            for q in range(n):
                now[q] += log_p[q, t, action[t]]


@njit(**CACHED)
def history(starts, context, action, gain, flags, levels, actions, told):
    """What went before every trial: actions[trial, action, …] and told[trial, …].

    ``gain`` lies between 0 and 1. Only earlier trials of the same sequence count, from where
    learning last started over; nothing depends on how many trials follow.
    """
    n_contexts, n_features = levels.shape
    n = actions.shape[1]
    decay = np.array([1.0, 0.8, 0.5])
    met = np.empty(n_contexts, np.int64)
    for i in range(len(starts) - 1):
        first = starts[i]
        for t in range(starts[i], starts[i + 1]):
            if t == starts[i] or flags[t] & RESET:
                first, n_met, n_paid, paid = t, 0, 0, 0.0
                won, lost = np.zeros((n_contexts, n, 3)), np.zeros((n_contexts, n, 3))
                chosen, trace = np.zeros((n_contexts, n)), np.zeros((n_contexts, n))
                fading, faded = np.zeros((n_contexts, n)), np.full(n_contexts, -1)
                seen, last = np.full(n_contexts, -1), np.full(n_contexts, -1)
                last_gain, shown = np.zeros(n_contexts), np.zeros(n_contexts)
                anywhere, often = np.zeros(n), np.zeros(n)
                before, before_gain = -1, 0.0
            c, k = context[t], t - first
            fade = 0.95 ** (t - faded[c]) if faded[c] >= 0 else 0.0
            for a in range(n):
                out = actions[t, a]
                for back in range(3):
                    out[back] = 1.0 if k > back and action[t - 1 - back] == a else 0.0
                out[3] = anywhere[a]
                out[4] = 1.0 if last[c] == a else 0.0
                out[5] = trace[c, a]
                out[6] = math.log(1.0 + chosen[c, a])
                out[7] = (often[a] + 1.0) / (k + n)
                out[8] = last_gain[c] if last[c] == a else 0.0
                out[9] = before_gain if before == a else 0.0
                for d in range(3):
                    out[10 + d] = won[c, a, d] - lost[c, a, d]
                out[13] = fading[c, a] * fade
                out[14] = math.log(1.0 + won[c, a, 0])
                out[15] = math.log(1.0 + lost[c, a, 0])
                out[16:] = 0.0
                for j in range(n_met):
                    other = met[j]
                    if other == c:
                        continue
                    value, shared = won[other, a, 1] - lost[other, a, 1], 0
                    for f in range(n_features):
                        if levels[other, f] == levels[c, f]:
                            out[18 + f] += value
                            shared += 1
                    out[16] += value
                    if n_features > 1 and shared == n_features - 1:
                        out[17] += value
            told[t, 0] = math.log(1.0 + k)
            told[t, 1] = math.log(t - seen[c]) if seen[c] >= 0 else math.log(1.0 + k) + 1.0
            told[t, 2] = (paid + 1.0) / (n_paid + 2.0)
            told[t, 3] = shown[c]
            told[t, 4] = n_met
            # and now the trial itself
            a = action[t]
            if seen[c] < 0:
                met[n_met] = c
                n_met += 1
            seen[c], last[c], before = t, a, a
            shown[c] += 1.0
            chosen[c, a] += 1.0
            often[a] += 1.0
            for b in range(n):
                trace[c, b] *= 0.6
                anywhere[b] *= 0.7
            trace[c, a] += 1.0
            anywhere[a] += 1.0
            last_gain[c] = before_gain = 0.0
            if flags[t] & LEARNED:
                g = gain[t]
                last_gain[c] = before_gain = 2.0 * g - 1.0
                paid += g
                n_paid += 1
                for b in range(n):
                    for d in range(3):
                        won[c, b, d] *= decay[d]
                        lost[c, b, d] *= decay[d]
                    fading[c, b] *= fade
                for d in range(3):
                    won[c, a, d] += g
                    lost[c, a, d] += 1.0 - g
                fading[c, a] += 2.0 * g - 1.0
                faded[c] = t


@njit(**CACHED)
def softened(first, score, out):
    """Log-probabilities of the rows of every trial from their scores."""
    for t in range(len(first) - 1):
        top, total = -np.inf, 0.0
        for r in range(first[t], first[t + 1]):
            top = max(top, score[r])
        for r in range(first[t], first[t + 1]):
            total += math.exp(score[r] - top)
        total = math.log(total) + top
        for r in range(first[t], first[t + 1]):
            out[r] = score[r] - total


@njit(**CACHED)
def slopes(first, label, score, gradient, hessian):
    """Of minus the log-likelihood of a conditional logit in every row's score."""
    for t in range(len(first) - 1):
        top, total, n = -np.inf, 0.0, first[t + 1] - first[t]
        for r in range(first[t], first[t + 1]):
            top = max(top, score[r])
        for r in range(first[t], first[t + 1]):
            total += math.exp(score[r] - top)
        for r in range(first[t], first[t + 1]):
            p = math.exp(score[r] - top) / total
            gradient[r] = p - label[r]
            hessian[r] = max(p * (1.0 - p) * n / (n - 1.0), 1e-3)


@njit(**CACHED)
def logit(first, trials, chosen, x, score, beta, gradient, hessian):
    """Minus the log-likelihood of these trials with x·beta added to the scores; its derivatives."""
    n, value = x.shape[1], 0.0
    gradient[:], hessian[:] = 0.0, 0.0
    mean, second = np.empty(n), np.empty((n, n))
    for t in trials:
        top, total = -np.inf, 0.0
        z = np.empty(first[t + 1] - first[t])
        for k in range(len(z)):
            z[k] = score[first[t] + k]
            for j in range(n):
                z[k] += x[first[t] + k, j] * beta[j]
            top = max(top, z[k])
        for k in range(len(z)):
            total += math.exp(z[k] - top)
        mean[:], second[:] = 0.0, 0.0
        for k in range(len(z)):
            p = math.exp(z[k] - top) / total
            row = x[first[t] + k]
            for j in range(n):
                mean[j] += p * row[j]
                for i in range(j + 1):
                    second[j, i] += p * row[j] * row[i]
        value -= z[chosen[t] - first[t]] - top - math.log(total)
        for j in range(n):
            gradient[j] += mean[j] - x[chosen[t], j]
            for i in range(j + 1):
                hessian[j, i] += second[j, i] - mean[j] * mean[i]
    for j in range(n):
        for i in range(j):
            hessian[i, j] = hessian[j, i]
    return value
