"""Which learners a page shows one by one, where it cannot show all."""

from __future__ import annotations

import numpy as np
import polars as pl


def sampled(models: pl.Series, size: int, seed: int) -> list[int]:
    """Places of ``size`` sequences: every selected model has its share of them, and at least one.

    >>> models = pl.Series(["a"] * 98 + ["b"] * 2)
    >>> chosen = sampled(models, 10, seed=0)
    >>> len(chosen), [models[place] for place in chosen].count("b")
    (10, 1)
    """
    if size >= len(models):
        return [*range(len(models))]
    draw = np.random.default_rng(seed)
    groups = pl.DataFrame({"model": models}).with_row_index("place").group_by("model")
    places = {str(key[0]): frame["place"].to_numpy() for key, frame in groups}
    if size < len(places):
        return sorted(draw.choice(len(models), size, replace=False).tolist())
    chosen: list[int] = []
    left, rooms, waiting = len(models), size, len(places)
    # The rare first: their one place must not be rounded away.
    for own in sorted(places.values(), key=lambda found: (len(found), found[0])):
        waiting -= 1
        fair = max(1, round(rooms * len(own) / left))
        count = min(fair, len(own), rooms - waiting)
        chosen += draw.choice(own, count, replace=False).tolist()
        rooms, left = rooms - count, left - len(own)
    return sorted(chosen)
