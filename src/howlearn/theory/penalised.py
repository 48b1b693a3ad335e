"""What Theorem 3 asks of a penalty, up to the constants that the paper leaves open."""

from __future__ import annotations

import math
from collections.abc import Sequence

from howlearn.core.errors import HowlearnError
from howlearn.theory.quantity import Quantity, exp, log_sum


def penalty_bounds(
    epsilon: float,
    horizon: int,
    log_lipschitz: float,
    R: float,
    dimension: int = 1,
    sizes: Sequence[int] = (),
    suffix: str = "",
    form: str = "both",
    source: str = "Theorem 3",
) -> list[Quantity]:
    """A_ε, Σ_ε and the smallest penalty per parameter, for a cell with ``dimension`` parameters.

    ``sizes`` are the numbers D of parameters of all models that compete.

    >>> found = penalty_bounds(0.05, 19, math.log(78.0537), 0.059 * 500**0.5)
    >>> round(found[1].value, 2)
    108.97
    """
    if any(size < 0 for size in sizes):
        raise HowlearnError("a model has 0 or more parameters")
    log_a = log_sum(
        log_lipschitz + math.log(math.sqrt(dimension) * R), math.log(2 * math.log(1 / epsilon))
    )
    assumed = "Assumptions of Theorem 3; theta in [0, R]"
    found = [
        Quantity(f"log_A_epsilon{suffix}", log_a, source, form, assumed,
                 "log of A_epsilon = L sqrt(d) R + 2 log(1/epsilon)"),
        Quantity(f"A_epsilon{suffix}", exp(log_a), source, form, assumed),
    ]  # fmt: skip
    if sizes:
        total = sum(math.exp(-size) for size in sizes)
        found.append(
            Quantity(f"Sigma_epsilon{suffix}", log_a * total, source, form, assumed,
                     "log(A_epsilon) times the sum of exp(-D) over the models")
        )  # fmt: skip
    if horizon >= 2:
        log_penalty = 2 * log_a + math.log(math.log(1 / epsilon)) - math.log(horizon)
        log_penalty += 2 * math.log(math.log(horizon) + log_a)
        needs = "T_epsilon >= 2; times the paper's unspecified constant"
        found += [
            Quantity(f"log_penalty_per_parameter{suffix}", log_penalty, source, form, needs,
                     "log of A^2 log(1/epsilon) log(T A)^2 / T: the smallest penalty per "
                     "parameter, of likelihoods divided by T"),
            Quantity(f"penalty_per_parameter{suffix}", exp(log_penalty), source, form, needs),
        ]  # fmt: skip
    return found
