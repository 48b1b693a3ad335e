"""Learners of several models whose rates have a distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howlearn import Study, simulate
from howlearn.core.arrays import log_sum
from howlearn.core.study import together
from howlearn.selection.hierarchy import Hyper, RateGroup, normal


def population(
    task, models: Sequence, counts: Sequence[int], tau=0.5, s=0.2, trials=300, seed=1, rate=0.05
) -> tuple[Study, np.ndarray]:
    """log η = log(rate) + N(0, τ²) per learner + N(0, s²) per cell; and who uses which model."""
    studies = []
    for k, (model, count) in enumerate(zip(models, counts, strict=True)):
        random = np.random.default_rng([seed, k])
        log_rate = np.log(rate) + tau * random.standard_normal((count, 1))
        log_rate = log_rate + s * random.standard_normal((count, len(model.units)))
        theta = np.minimum(np.exp(log_rate), 1.0)
        if count:
            studies.append(simulate(task, model, theta, trials=trials, seed=(seed, k)))
    return together(studies), np.repeat(np.arange(len(models)), counts)


def slow_log_evidence(group: RateGroup, hyper: Hyper) -> np.ndarray:
    """[learner, model], the slow way: normals on the grid, cells given the effect."""
    if hyper.tau == 0.0:
        effects, prior = np.array([hyper.mu]), np.zeros(1)
    else:
        effects = group.effects
        prior = normal(effects, hyper.mu, hyper.tau)
    cells = {rule: group.cells(hyper.s, rule, effects) for rule in group.rules}
    return np.stack([log_sum(group.sums(m, cells) + prior) for m in group.models], axis=1)
