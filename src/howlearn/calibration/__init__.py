"""Calibration by simulation: which constants, which errors, how many trials and learners."""

from howlearn.calibration.bootstrap import stability
from howlearn.calibration.calibrate import calibrate
from howlearn.calibration.plan import Plan, plan
from howlearn.calibration.recover import Recovery, recover
from howlearn.calibration.result import Calibration

__all__ = ["Calibration", "Plan", "Recovery", "calibrate", "plan", "recover", "stability"]
