"""All that the theory says of one design."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from howlearn.core.errors import HowlearnError
from howlearn.theory.exp3_ix import exp3_ix_bounds
from howlearn.theory.exp4 import exp4_quantities
from howlearn.theory.gradient import gradient_bounds
from howlearn.theory.holdout import SMALLEST_LEADING, published, repaired, telling_from
from howlearn.theory.penalised import penalty_bounds
from howlearn.theory.quantity import Quantity

DIMENSIONS = {"gradient": 1, "exp3-ix": 2, "exp4": 1}  # parameters of a cell, or of a mixture


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
        raise HowlearnError(f"the split lies between 0 and 1, not at {design.split:g}")
    common = (design.epsilon, design.actions, design.trials, design.R)
    if design.rule == "gradient":
        found = gradient_bounds(*common)
    elif design.rule == "exp3-ix":
        found = exp3_ix_bounds(*common)
    else:
        if design.actions < 2 or design.rho * design.actions > design.experts * (1 + 1e-12):
            raise HowlearnError(
                f"with {design.experts} experts and K = {design.actions} actions (at least 2), rho "
                f"is at most |F|/K = {design.experts / max(design.actions, 1):g}: the experts' "
                f"probabilities add up to |F| over all actions; not {design.rho:g}"
            )
        found = exp4_quantities(design.epsilon, design.experts, design.rho, design.trials, design.R)
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
                     "H^2 is at most 1: from 1 on the bound says nothing"),
            Quantity(f"holdout_trials_needed_{key}", telling_from(bound, design.leading, models),
                     source, "both", assumed, "tested trials from which the residual is below 1"),
        ]  # fmt: skip
    return found
