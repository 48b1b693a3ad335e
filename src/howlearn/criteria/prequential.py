"""The hold-out criterion, refitted from block to block."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from howlearn.core.errors import HowlearnError
from howlearn.criteria.criterion import Criterion, Likelihoods, Scores
from howlearn.fitting.fits import ALL, Truncation

DIGITS = 12  # of a share, so that 0.5 + 0.5·1/5 is the 0.6 of a hold-out, not 0.6000000000000001


@dataclass(frozen=True, repr=False)
class Prequential(Criterion):
    """Refit before each block of later trials, and score the block: Dawid (1984).

    The trials after the first ⌊start·n⌋ are cut into ``blocks`` of about equal length. Each is
    scored at the parameters fitted on all trials before it, with the state carried on. Every
    probability depends on the past only, so that Theorem 1 of Aubert et al. (2025) holds as for a
    hold-out at ``start``; with one block it is that hold-out.

    >>> Prequential(blocks=5, start=0.5)
    prequential(blocks=5, start=0.5)
    >>> Prequential(blocks=4).truncations
    (0.5, 0.625, 0.75, 0.875)
    """

    blocks: int = 5
    start: float = 0.5
    name = "prequential"
    title = "log-likelihood of the later trials, block by block, parameters refitted before each"

    def __post_init__(self) -> None:
        if not (self.blocks >= 1 and float(self.blocks).is_integer()):
            raise HowlearnError(f"blocks must be a whole number from 1 on, not {self.blocks:g}")
        if not 0 < self.start < 1:
            raise HowlearnError(f"the start must lie between 0 and 1, not at {self.start:g}")
        object.__setattr__(self, "blocks", int(self.blocks))  # a text gives 5.0

    @property
    def truncations(self) -> tuple[Truncation, ...]:
        start, step = float(self.start), (1.0 - self.start) / self.blocks
        return (start, *(round(start + step * i, DIGITS) for i in range(1, self.blocks)))

    def scores(self, fits: Likelihoods) -> Scores:
        ends = (*self.truncations, ALL)
        score = np.sum([fits.between(*block) for block in pairwise(ends)], axis=0)
        left = fits.n_scored - fits.n_fitted(ends[0])
        return Scores(left, score, np.zeros_like(score))
