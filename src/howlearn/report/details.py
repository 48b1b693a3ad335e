"""What a page shows of one learner, as a small dictionary that becomes JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from howlearn.report.findings import Findings


def common(found: Findings) -> dict[str, Any]:
    """What all learners share, to be stored once.

    models, criteria, contexts, actions: names; measure, percent, along: as in Behaviour; owners: of
    every model, [[cell, parameter, lower, upper], …]; cells: of every model, the places of the
    contexts in each cell, [[0, 1], …], or null where it has none.
    """
    raise NotImplementedError


def detail(found: Findings, sequence: int) -> dict[str, Any]:
    """One learner (or one under one condition); about 2 to 4 kB as JSON for 300 trials.

    learner, about ({condition: value}), trials; model (place, first criterion);
    selected: per criterion [model, runner_up, margin, verdict] (places; null: none);
    scores: per criterion a score per model (nats, null: none);
    estimates: per parameter of the selected model [estimate, lower, upper, status];
    curve: {"x": middles of bins, "y": thousandths (of the measure itself if not percent)};
    cells: [{"name", "of": "right" or an action, "x": trials, "p": predicted, "y": observed}], where
    p and y are thousandths, means over as many consecutive trials of the cell as there are
    between two points (one, if the cell has few trials).
    """
    raise NotImplementedError


def details(found: Findings, sequences: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The details of several, one after the other."""
    return (detail(found, i) for i in sequences)


def sequence_named(found: Findings, name: str) -> int:
    """The place of a learner's only (or first) sequence."""
    raise NotImplementedError
