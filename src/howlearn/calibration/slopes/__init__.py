"""Penalty constants from the data themselves, where the data allow it: slope heuristics.

Each method gives a constant only where its own picture holds (a line, a jump); on few models that
do not contain one another, such as the paper's six, it does not, and the methods say so.
"""

from __future__ import annotations

from howlearn.calibration.slopes.ddse import Slope, slope_heuristic
from howlearn.calibration.slopes.jump import Jump, dimension_jump
from howlearn.calibration.slopes.pooled import PooledJump, pooled_jump

__all__ = ["Jump", "PooledJump", "Slope", "dimension_jump", "pooled_jump", "slope_heuristic"]
