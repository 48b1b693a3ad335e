"""How far what is selected depends on the price of a parameter, on bounds, and on priors."""

from howlearn.sensitivity.result import Path
from howlearn.sensitivity.work import path

__all__ = ["Path", "path"]
