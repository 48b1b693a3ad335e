"""From a study and candidate models to fits: exact, and at several truncations at once."""

from howlearn.fitting.fits import STATUSES, Fits, ModelFits
from howlearn.fitting.run import fit

__all__ = ["STATUSES", "Fits", "ModelFits", "fit"]
