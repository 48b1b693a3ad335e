"""Bandits along chosen sequences of actions, plainly: probabilities and their derivatives.

Written for the check of the propositions, with nothing of the engine in it: many paths side by
side, one rate each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.core.rule import Form

# From the probabilities [path, action] and the trial: the actions and the feedback in [0, 1].
Player = Callable[[Floats, int], tuple[Ints, Floats]]


@dataclass(frozen=True)
class Extremes:
    """Per trial, over all paths."""

    probability: Floats  # the smallest of any action
    slope: Floats  # the largest |∂ log p / ∂(η, γ)| of any action
    invariant: Floats  # the largest η·|∂x/∂η| where no probability was under ε yet, two actions


def gradient_paths(
    eta: Floats, actions: int, trials: int, player: Player, form: Form, epsilon: float
) -> Extremes:
    """h ← h ± η·g·(e_A − p), with u = ∂h/∂η; eta[path]."""
    sign = 1.0 if form == "gain" else -1.0
    h, u = np.zeros((len(eta), actions)), np.zeros((len(eta), actions))
    found = _empty(trials)
    above = np.ones(len(eta), bool)
    for t in range(trials):
        p = _softmax(h)
        mean = np.sum(p * u, axis=1, keepdims=True)
        above &= p.min(axis=1) >= epsilon
        found.probability[t] = p.min()
        found.slope[t] = np.abs(u - mean).max()
        found.invariant[t] = np.max(eta * np.abs(u[:, 0] - u[:, -1]), initial=0.0, where=above)
        chosen, g = player(p, t)
        step = _one_hot(chosen, actions) - p
        rate = (sign * g)[:, None]
        u += rate * step - rate * eta[:, None] * p * (u - mean)
        h += rate * eta[:, None] * step
    return found


def exp3_ix_paths(
    eta: Floats, gamma: Floats, actions: int, trials: int, player: Player, form: Form
) -> Extremes:
    """h_A ← h_A ± η·g/(p_A + γ), with u = ∂h/∂(η, γ)."""
    sign = 1.0 if form == "gain" else -1.0
    every = np.arange(len(eta))
    h, u = np.zeros((len(eta), actions)), np.zeros((2, len(eta), actions))
    found = _empty(trials)
    for t in range(trials):
        p = _softmax(h)
        d = u - np.sum(p * u, axis=2, keepdims=True)
        found.probability[t] = p.min()
        found.slope[t] = np.hypot(d[0], d[1]).max()
        chosen, g = player(p, t)
        q, dq = p[every, chosen], p[every, chosen] * d[:, every, chosen]
        den = q + gamma
        u[0, every, chosen] += sign * g * (1.0 - eta * dq[0] / den) / den
        u[1, every, chosen] -= sign * g * eta * (1.0 + dq[1]) / den**2
        h[every, chosen] += sign * eta * g / den
    return found


def exp4_paths(
    theta: Floats, trials: int, player: Player, advise: Callable[[int], Floats], form: Form
) -> Extremes:
    """H_j ← H_j ± θ·ξ_j(A)·g/π(A); advise(t)[path, expert, action] are the experts'."""
    sign = 1.0 if form == "gain" else -1.0
    every = np.arange(len(theta))
    xi = advise(0)
    weight, u = np.zeros(xi.shape[:2]), np.zeros(xi.shape[:2])
    found = _empty(trials)
    for t in range(trials):
        xi = advise(t)
        q = _softmax(weight)
        pi = np.einsum("bj,bjk->bk", q, xi)
        lean = q * (u - np.sum(q * u, axis=1, keepdims=True))
        slope = np.einsum("bj,bjk->bk", lean, xi) / pi
        found.probability[t] = pi.min()
        found.slope[t] = np.abs(slope).max()
        chosen, g = player(pi, t)
        y = xi[every, :, chosen] * (g / pi[every, chosen])[:, None]
        u += sign * y * (1.0 - theta * slope[every, chosen])[:, None]
        weight += sign * theta[:, None] * y
    return found


def _empty(trials: int) -> Extremes:
    return Extremes(np.empty(trials), np.empty(trials), np.zeros(trials))


def _softmax(h: Floats) -> Floats:
    e = np.exp(h - h.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _one_hot(chosen: Ints, actions: int) -> Floats:
    return np.eye(actions)[chosen]
