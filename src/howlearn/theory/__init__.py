"""The paper's theory as calculators."""

from howlearn.theory.exp4 import Exp4Bounds, exp4_bounds

__all__ = ["Exp4Bounds", "exp4_bounds"]
