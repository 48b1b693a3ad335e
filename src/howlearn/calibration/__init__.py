"""Calibration by simulation: which constants, which errors, how many trials and learners."""

from howlearn.calibration.calibrate import calibrate
from howlearn.calibration.plan import Plan, plan
from howlearn.calibration.result import Calibration

__all__ = ["Calibration", "Plan", "calibrate", "plan"]
