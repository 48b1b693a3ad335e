"""The paper's theory as calculators."""

from howlearn.theory.design import TheoryDesign, quantities
from howlearn.theory.exp3_ix import exp3_ix_bounds
from howlearn.theory.exp4 import Exp4Bounds, exp4_bounds
from howlearn.theory.gradient import gradient_bounds, lowest_probability, worst_case_horizon
from howlearn.theory.holdout import published, repaired, telling_from
from howlearn.theory.penalised import penalty_bounds

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
