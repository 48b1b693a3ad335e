"""The paper's theory as calculators.

The hold-out theorem with explicit constants, as the paper's proof has them, and repaired; what
Theorem 3 asks of a penalty; and all that the theory says of one design.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from howlearn.core.errors import HowlearnError
from howlearn.core.rules import rule_named
from howlearn.paper.bounds import (
    CELL_BOUNDS,
    Exp4Bounds,
    Quantity,
    exp,
    exp3_ix_bounds,
    exp4_bounds,
    exp4_quantities,
    gradient_bounds,
    lowest_probability,
    worst_case_horizon,
)

__all__ = [
    "Exp4Bounds",
    "TheoryDesign",
    "exp3_ix_bounds",
    "exp4_bounds",
    "gradient_bounds",
    "lowest_probability",
    "penalty_bounds",
    "published",
    "quantities",
    "repaired",
    "telling_from",
    "worst_case_horizon",
]

B = 2 * math.log(2) - 1
SMALLEST_LEADING = 1 / (2 * B)  # of the paper's proof
MIXED = 0.8  # a of the repaired proof


class HoldOutBound(NamedTuple):
    """E[H²] of the selected model ≤ leading · E[inf K] + residual."""

    leading: float
    multiplier: float  # of (…+ log|M|)/n'
    residual: float


def published(leading: float, tested: int, models: int, rounded: bool = False) -> HoldOutBound:
    """The published proof's; ``rounded`` as the paper states it, with C' ≤ 13/κ₁.

    ``tested`` is n', the number of trials that are scored.

    >>> [round(published(d, 250, 6).multiplier) for d in (1.3, 1.5, 2, 3, 5)]
    [71483, 2289, 936, 666, 668]
    """
    _check(tested, models)
    if not leading > SMALLEST_LEADING:
        raise HowlearnError(
            f"the published proof covers leading constants above {SMALLEST_LEADING:.4f} only, not "
            f"{leading:g}"
        )
    share = (2 * B * leading - 1) / (2 * B * leading + 1)
    k = share / (8 * math.sqrt(5))
    inner = 13 / k if rounded else 4 + 1.5 * math.sqrt(5) * (k / math.log(2) + 1 / k)
    multiplier = inner / (B * (1 - share))
    tail = 2 * math.log(tested + 1) + 1
    return HoldOutBound(leading, multiplier, multiplier * (tail + math.log(models)) / tested)


def repaired(leading: float, tested: int, models: int) -> HoldOutBound:
    """This project's: any leading constant above ½, and log log n in place of log n.

    >>> [math.floor(repaired(d, 250, 6).multiplier) for d in (0.75, 1, 1.5, 2, 3)]
    [223, 162, 146, 153, 182]
    """
    _check(tested, models)
    c_a = min(2 * (-math.log1p(-MIXED) - MIXED), 2 * MIXED)
    if not leading > MIXED / c_a:
        raise HowlearnError(
            f"the repaired proof covers leading constants above {MIXED / c_a:g} only, not "
            f"{leading:g}"
        )
    share = (leading * c_a - MIXED) / (leading * c_a + c_a / 2)
    spread = math.sqrt(5 * MIXED / (1 - MIXED))
    k = share * c_a / (3 * spread)
    inner = 4 + 1.5 * spread * (k / math.log(2) + 1 / k)
    multiplier = inner / (c_a * (1 - share))
    tail = 1 + math.log(1 + 2 * math.log(tested + 1))
    return HoldOutBound(leading, multiplier, multiplier * (tail + math.log(models)) / tested)


def telling_from(
    bound: Callable[[float, int, int], HoldOutBound], leading: float, models: int
) -> int:
    """The smallest number of tested trials for which the residual is below 1, the largest H².

    >>> telling_from(repaired, 2, 6) < telling_from(published, 2, 6)
    True
    """
    low, high = 1, 2
    while bound(leading, high, models).residual >= 1:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if bound(leading, middle, models).residual >= 1:
            low = middle
        else:
            high = middle
    return high


def _check(tested: int, models: int) -> None:
    if tested < 1:
        raise HowlearnError(f"at least one scored trial is needed, got {tested}")
    if models < 1:
        raise HowlearnError(f"at least one model is needed, got {models}")


# What Theorem 3 asks of a penalty, up to the constants that the paper leaves open.


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
    steepness, spread = math.log(math.sqrt(dimension) * R), math.log(2 * math.log(1 / epsilon))
    log_a = float(np.logaddexp(log_lipschitz + steepness, spread))
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
            Quantity(f"penalty_per_parameter{suffix}", exp(log_penalty), source, form, needs,
                     brief="smallest penalty, up to an unknown factor"),
        ]  # fmt: skip
    return found


# All that the theory says of one design.

# Parameters of a cell, or of a mixture.
DIMENSIONS = {name: len(rule_named(name).parameters) for name in CELL_BOUNDS} | {"exp4": 1}


@dataclass(frozen=True)
class TheoryDesign:
    """A rule, a number of trials, and the range of its parameter, in the paper's units."""

    rule: str
    trials: int
    R: float
    epsilon: float
    actions: int = 2
    experts: int = 2
    rho: float = 0.5
    sizes: Sequence[int] = ()  # numbers of parameters of the models that compete
    split: float = 0.5
    leading: float = 2.0

    @property
    def rate(self) -> float:
        """The largest rate of a trial."""
        return self.R / math.sqrt(self.trials)


def rule_bounds(design: TheoryDesign) -> list[Quantity]:
    """T_ε and L_ε of the rule."""
    if design.rule in CELL_BOUNDS:
        bounds = CELL_BOUNDS[design.rule]
        return bounds(design.epsilon, design.actions, design.trials, design.R)
    return exp4_quantities(design.epsilon, design.experts, design.rho, design.trials, design.R)


def quantities(design: TheoryDesign) -> list[Quantity]:
    """T_ε and L_ε, A_ε, Σ_ε and the penalty, and the hold-out bound: one row per formula.

    >>> found = quantities(TheoryDesign("gradient", 500, 1.3193, 0.05))
    >>> found[0].key, found[0].value
    ('T_epsilon', 19)
    """
    if design.rule not in DIMENSIONS:
        raise HowlearnError(
            f"the paper has bounds for {', '.join(DIMENSIONS)}, not for {design.rule}"
        )
    if not 0 < design.split < 1:
        raise HowlearnError(f"the split must lie between 0 and 1, got {design.split:g}")
    too_sure = design.rho * design.actions > design.experts * (1 + 1e-12)
    if design.rule == "exp4" and (design.actions < 2 or too_sure):
        raise HowlearnError(
            f"with {design.experts} experts and K = {design.actions} actions (at least 2), rho "
            f"is at most |F|/K = {design.experts / max(design.actions, 1):g}: the experts' "
            f"probabilities add up to |F| over all actions; got {design.rho:g}"
        )
    found = rule_bounds(design)
    known = {quantity.key: quantity.value for quantity in found}
    found += penalty_bounds(
        design.epsilon, int(known["T_epsilon"]), known["log_L_epsilon"], design.R,
        DIMENSIONS[design.rule], design.sizes, form=found[0].form,
    )  # fmt: skip
    if "epsilon_at_n" in known:  # no action ever falls lower: all n trials may be used
        sharper = math.log(known["L_linear_n"]) if known["L_linear_n"] > 0 else -math.inf
        found += penalty_bounds(
            known["epsilon_at_n"], design.trials, sharper, design.R, 1, design.sizes,
            suffix="_all_trials", form="gain",
            source="sharper: Theorem 3 with T = n, epsilon_at_n and L_linear_n",
        )  # fmt: skip
    return found + _holdout(design)


def _holdout(design: TheoryDesign) -> list[Quantity]:
    tested = design.trials - math.floor(design.trials * design.split + 1e-9)
    models = max(len(design.sizes), 1)
    assumed = "predictable models, n' trials after the split"
    found = []
    for key, bound, source in (
        ("published", published, "Theorem 1, constants of its proof"),
        ("repaired", repaired, "sharper: repaired proof"),
    ):
        if bound is published and design.leading <= SMALLEST_LEADING:
            continue  # its proof says nothing there
        value = bound(design.leading, tested, models)
        found += [
            Quantity(f"holdout_multiplier_{key}", value.multiplier, source, "both", assumed,
                     f"of (… + log|M|)/n' beside the leading constant {design.leading:g}"),
            Quantity(f"holdout_residual_{key}", value.residual, source, "both", assumed,
                     "H^2 is at most 1, so a bound of 1 or more says nothing",
                     "bound on the error of the hold-out"),
            Quantity(f"holdout_trials_needed_{key}", telling_from(bound, design.leading, models),
                     source, "both", assumed, "tested trials needed for a residual below 1",
                     "tested trials that bring it below 1"),
        ]  # fmt: skip
    return found
