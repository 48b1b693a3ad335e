"""The procedure of Aubert et al. (2025) in plain NumPy: differential evolution, cell by cell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import howlearn as hl

POPULATION, GENERATIONS, WEIGHT = 10, 20, 0.8


def negative_log_likelihood(
    eta: float, action: NDArray[np.int64], reward: NDArray[np.float64]
) -> float:
    """Of one cell's trials, one after the other, as one would write it down."""
    preference = np.zeros(2)
    total = 0.0
    for t in range(len(action)):
        weight = np.exp(preference)
        policy = weight / weight.sum()
        total += np.log(policy[action[t]])
        chosen = np.zeros(2)
        chosen[action[t]] = 1.0
        preference = preference + eta * reward[t] * (chosen - policy)
    return -total


def minimum(
    objective: Callable[[float], float], random: np.random.Generator
) -> tuple[float, float]:
    """DE/local-to-best/1/bin on [0, 1]: strategy 2, DEoptim's own choice, with its settings."""
    points = random.random(POPULATION)
    heights = np.array([objective(x) for x in points])
    for _ in range(GENERATIONS):
        best = points[heights.argmin()]
        old = points.copy()
        for i in range(POPULATION):
            others = [j for j in range(POPULATION) if j != i]
            a, b = random.choice(others, 2, replace=False)
            # One dimension: the crossover always takes the one coordinate that there is.
            trial = old[i] + WEIGHT * (best - old[i]) + WEIGHT * (old[a] - old[b])
            if not 0.0 <= trial <= 1.0:
                trial = random.random()
            height = objective(trial)
            if height <= heights[i]:
                points[i], heights[i] = trial, height
    return float(points[heights.argmin()]), float(heights.min())


def fit_models(
    trials: hl.Trials, models: tuple[hl.PartitionModel, ...], truncations: tuple[int, ...]
) -> NDArray[np.float64]:
    """Log-likelihoods [truncation, model] of one learner; nothing is shared between the fits."""
    random = np.random.default_rng(1)
    code = {name: i for i, name in enumerate(trials.contexts)}
    found = np.zeros((len(truncations), len(models)))
    for row, size in enumerate(truncations):
        for column, model in enumerate(models):
            for cell in model.partition.cells:
                mine = np.isin(trials.context[:size], [code[c] for c in cell])
                action, reward = trials.action[:size][mine], trials.reward[:size][mine]
                if len(action):
                    found[row, column] -= minimum(
                        lambda eta, a=action, g=reward: negative_log_likelihood(eta, a, g), random
                    )[1]
    return found
