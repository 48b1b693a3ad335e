"""Tasks: what the learners were asked to do, read from TOML files."""

from howlearn.task.task import Task

__all__ = ["Task"]
