"""The trials that are in every seed."""

from __future__ import annotations

from typing import Any

LEARNERS, TRIALS = 2, 6
NAMES = ("participant", "trial", "stimulus", "choice", "reward", "rt")


def rows() -> list[tuple[Any, ...]]:
    """Two learners, three stimuli, two choices."""
    return [
        (learner, trial, "abc"[trial % 3], "LR"[(trial + learner) % 2], trial % 2, 0.5 + trial / 8)
        for learner in range(1, LEARNERS + 1)
        for trial in range(1, TRIALS + 1)
    ]


def records() -> list[dict[str, Any]]:
    """The same, each with its names."""
    return [dict(zip(NAMES, row, strict=True)) for row in rows()]


def columns() -> dict[str, list[Any]]:
    """The same by column."""
    return {name: [row[i] for row in rows()] for i, name in enumerate(NAMES)}


def separated(separator: str = ",", comma: bool = False, names: tuple[str, ...] = NAMES) -> str:
    """The same as text."""
    lines = [separator.join(names)]
    lines += [separator.join(map(str, row)) for row in rows()]
    text = "\n".join([*lines, ""])
    return text.replace(".", ",") if comma else text
