"""Simulated populations: learners of several models whose rates have a distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import howlearn as hl
from howlearn.core.study import together
from howlearn.models.partition_model import PartitionModel

APART = 7  # the stream of random numbers for rates


@dataclass(frozen=True)
class Population:
    """log η = log(rate·factor) + learner effect N(0, τ²) + cell effect N(0, s²), at most 1."""

    name: str
    tau: float = 0.0
    s: float = 0.0
    rate: float | None = 0.03  # None: as in the paper, a rate per model and cell
    factors: Mapping[str, float] = field(default_factory=dict)

    def draw(
        self,
        task: hl.Task,
        models: Sequence[PartitionModel],
        counts: Sequence[int],
        trials: int,
        seed: int,
    ) -> tuple[hl.Study, NDArray[np.int64]]:
        """A study, and of each learner the number of its model."""
        studies, true = [], []
        for k, (model, count) in enumerate(zip(models, counts, strict=True)):
            if not count:
                continue
            random = np.random.default_rng([seed, k, APART])
            rate = 0.03 if self.rate is None else self.rate
            log_rate = np.log(rate * self.factors.get(model.name, 1.0))
            effects = self.tau * random.standard_normal((count, 1))
            cells = self.s * random.standard_normal((count, len(model.units)))
            theta = np.minimum(np.exp(log_rate + effects + cells), 1.0)
            if self.rate is None and model.name == "OnePerItem":
                theta[:] = 0.003 + 0.007 * np.arange(len(model.units))
            studies.append(hl.simulate(task, model, theta, trials=trials, seed=(seed, k)))
            true += [k] * count
        return together(studies), np.array(true)
