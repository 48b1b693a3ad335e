"""Records with everything in them, for the oracles and for the package."""

from __future__ import annotations

import itertools
import random

import numpy as np

from howlearn.core.study import Study
from models.oracles import Facts, Row

FEATURES = {
    "a": {"size": "10", "shape": "round", "colour": "red"},
    "b": {"size": "20", "shape": "square", "colour": "blue"},
    "c": {"size": "20", "shape": "star", "colour": "red"},
    "d": {"size": "50", "shape": "round", "colour": "blue"},
    "e": {"size": "-30", "shape": "star", "colour": "blue"},
}
WRONG, RIGHT = -1.0, 2.0


def record(seed: int, n: int, n_actions: int = 2, rich: bool = True) -> list[Row]:
    """Choices at random; a ``rich`` record has tests, resets, forgone outcomes and episodes."""
    draw, loads = random.Random(seed), itertools.cycle([4.0, 2.0, 7.0])
    rows: list[Row] = []
    for t in range(n):
        context = draw.choice(list(FEATURES))
        answer = (ord(context) + (context == "d")) % n_actions
        action = answer if draw.random() < 0.4 else draw.randrange(n_actions)
        reward = RIGHT if action == answer else WRONG
        known = answer if action == answer or n_actions == 2 else None
        flags = {"reset": t == 0}
        forgone: list[float | None] = [None] * n_actions
        if rich:
            flags |= {"scored": draw.random() > 0.2, "learned": draw.random() > 0.2}
            flags["reset"] |= draw.random() < 0.03
            flags["ends"] = draw.random() < 0.4
            if draw.random() > 0.15:
                flags["duration"] = draw.uniform(0.2, 3.0)
            for a in range(n_actions):
                if a != action and draw.random() < 0.3:
                    forgone[a] = draw.uniform(WRONG, RIGHT)
        load = next(loads) if flags["reset"] else rows[-1].load
        told = {"correct": known, "forgone": forgone, "load": load}
        rows.append(Row(context, action, reward, **told, **flags))
    return rows


def study_of(*records: list[Row], n_actions: int = 2, rich: bool = True) -> Study:
    """The same for the package."""
    rows = [row for rows in records for row in rows]
    known = [[np.nan if f is None else f for f in row.forgone] for row in rows]
    durations = [np.nan if row.duration is None else row.duration for row in rows]
    return Study(
        learners=tuple(str(i) for i in range(len(records))),
        starts=np.cumsum([0, *map(len, records)]),
        contexts=tuple(FEATURES),
        actions=("nogo", "B", "C", "D")[:n_actions],
        context=np.array([list(FEATURES).index(row.context) for row in rows], np.int32),
        action=np.array([row.action for row in rows], np.int16),
        reward=np.array([row.reward for row in rows]),
        scored=np.array([row.scored for row in rows]),
        learned=np.array([row.learned for row in rows]),
        reset=np.array([row.reset for row in rows]),
        reward_range=(WRONG, RIGHT),
        features=FEATURES,
        forgone=np.array(known) if rich else None,
        episode_end=np.array([row.ends for row in rows]) if rich else None,
        duration=np.array(durations) if rich else None,
        right_wrong=(WRONG, RIGHT),
        load=np.array([row.load for row in rows]),
    )


def facts_of(n_actions: int, cell: dict[str, str] | None = None) -> Facts:
    """What the oracles are told; without cells every context is one."""
    return Facts(n_actions, cell or {c: c for c in FEATURES}, FEATURES, (WRONG, RIGHT))


def points(parameters, seed: int, n: int) -> list[dict[str, float]]:
    """All lower bounds, all upper bounds, the defaults, and parameters drawn between bounds."""
    draw = random.Random(seed)
    found = [{p.name: getattr(p, end) for p in parameters} for end in ("lower", "upper", "default")]
    for _ in range(n):
        # Now and then at a bound, else with steps as a search takes them.
        us = {p.name: p.end * min(1.0, max(0.0, draw.uniform(-0.2, 1.2))) for p in parameters}
        found.append({p.name: float(p.at(np.array([us[p.name]]))[0]) for p in parameters})
    return found
