"""Every partition of the contexts at once: the best ones, and who is treated alike."""

from __future__ import annotations

from howlearn.discovery.criteria import Codelength, Ewens, Kappa
from howlearn.discovery.discover import discover
from howlearn.discovery.result import Discovery

__all__ = ["Codelength", "Discovery", "Ewens", "Kappa", "discover"]
