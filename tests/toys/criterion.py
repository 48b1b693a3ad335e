"""A criterion: a price per parameter that grows with the root of the number of trials."""

from dataclasses import dataclass

import howlearn as hl


@hl.register
@dataclass(frozen=True, repr=False)
class Toy(hl.Criterion):
    """ℓ − w·√n·D."""

    weight: float = 0.1
    name = "toy"
    title = "log-likelihood minus a toy price per parameter"
    cites = ("Toymaker, 2026",)

    def price(self, n):
        return self.weight * n**0.5
