"""Calibration by simulation: which constants, which errors, how many trials and learners."""
