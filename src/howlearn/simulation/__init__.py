"""Learners who follow a model: what they are shown, what they earn, what they choose."""

from howlearn.models.values import Parameters, Range
from howlearn.simulation.play import simulate

__all__ = ["Parameters", "Range", "simulate"]
