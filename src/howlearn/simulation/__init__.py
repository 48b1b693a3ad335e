"""Learners who follow a model: what they are shown, what they earn, what they choose."""
