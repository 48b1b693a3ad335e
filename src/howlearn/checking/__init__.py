"""Whether a model of a user's own keeps the promises that every model makes."""

from howlearn.checking.check import Checked, check_model

__all__ = ["Checked", "check_model"]
