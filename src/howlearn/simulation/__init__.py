"""Learners who follow a model: what they are shown, what they earn, what they choose."""

from howlearn.simulation.play import simulate
from howlearn.simulation.values import Parameters, Range

__all__ = ["Parameters", "Range", "simulate"]
