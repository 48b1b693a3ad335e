"""Calibration by simulation: which constants, which errors, how many trials and learners."""

from howlearn.calibration.calibrate import calibrate, calibrate_design
from howlearn.calibration.design import LikeDesign, TaskDesign
from howlearn.calibration.result import Calibration

__all__ = ["Calibration", "LikeDesign", "TaskDesign", "calibrate", "calibrate_design"]
