"""All learners together: mean co-classification, its clusters, and the marked partitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from howlearn.core.arrays import Floats
from howlearn.core.columns import of

CUT = 0.5  # contexts that go together more often than not, on average, are one cell
UNKNOWN = 0.5  # of a pair that no learner met


def _mean() -> list[pl.Expr]:
    p = pl.col("probability")
    return [
        p.mean().alias("mean_probability"),
        (p.std() / p.count().sqrt()).fill_nan(None).alias("standard_error"),
        p.count().cast(pl.Int64).alias("learners"),
    ]


def _by_pair(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    keys = [*by, "criterion", "context_a", "context_b"]
    return frame.group_by(keys, maintain_order=True).agg(*_mean(), pl.col("exact").all())


def consensus(frame: pl.DataFrame, contexts: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """One row per criterion and context: its place in the order, and the number of its cell.

    Average linkage of 1 − the mean co-classification; cells are cut where the contexts of two
    clusters go together less often than not.
    """
    keys = [*by, "criterion"]
    parts = []
    code = {context: i for i, context in enumerate(contexts)}
    for _, rows in _by_pair(frame, by).group_by(keys, maintain_order=True):
        together = np.full((len(contexts),) * 2, UNKNOWN)
        a = rows["context_a"].replace_strict(code, return_dtype=pl.Int64).to_numpy()
        b = rows["context_b"].replace_strict(code, return_dtype=pl.Int64).to_numpy()
        together[a, b] = together[b, a] = rows["mean_probability"].fill_null(UNKNOWN).to_numpy()
        order, cell = clustered(together)
        columns = {
            "context": [contexts[i] for i in order],
            "place": np.arange(1, len(order) + 1),
            "cell": cell,
            "exact": bool(rows["exact"].all()),
        }
        front = rows.select(keys)[np.zeros(len(order), int)]
        parts.append(front.hstack(pl.DataFrame(columns).get_columns()))
    if not parts:  # a single context has no pair
        own = of("consensus", "discover").types
        return pl.DataFrame(schema={**{key: frame.schema[key] for key in keys}, **own})
    return pl.concat(parts)


def clustered(together: Floats) -> tuple[list[int], list[int]]:
    """The contexts in order, and the cell of each of them.

    >>> clustered(np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]]))
    ([1, 2, 0], [1, 2, 2])
    """
    from scipy.cluster.hierarchy import fcluster, leaves_list, linkage

    pairs = 1.0 - together[np.triu_indices(len(together), 1)]
    tree = linkage(pairs, "average", optimal_ordering=True)
    order = leaves_list(tree).tolist()
    numbers = fcluster(tree, 1.0 - CUT, "distance")[order]
    first = dict.fromkeys(numbers.tolist())
    number = {label: i for i, label in enumerate(first, 1)}
    return order, [number[label] for label in numbers.tolist()]


def means(frame: pl.DataFrame, order: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """One row per criterion and pair of contexts, the first one before the other in the order."""
    keys = [*by, "criterion"]
    places = order.select(*keys, "context", "place")
    found = _by_pair(frame, by)
    for side in ("a", "b"):
        renamed = places.rename({"context": f"context_{side}", "place": f"place_{side}"})
        found = found.join(renamed, [*keys, f"context_{side}"], "left", nulls_equal=True)
    turned = pl.col("place_a") > pl.col("place_b")
    swapped = [
        pl.when(turned).then(pl.col(f"{what}_{other}")).otherwise(f"{what}_{side}")
        .alias(f"{what}_{side}")
        for what in ("context", "place") for side, other in (("a", "b"), ("b", "a"))
    ]  # fmt: skip
    found = found.with_columns(*swapped, _groups(found, keys))
    ordered = found.sort("_group", "place_a", "place_b").drop("_group")
    front = [*keys, "context_a", "context_b", "mean_probability", "standard_error", "learners"]
    return ordered.select(*front, "place_a", "place_b", "exact")


def models(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """One row per criterion and marked partition, the most probable one first."""
    keys = [*by, "criterion", "model"]
    found = frame.group_by(keys, maintain_order=True).agg(
        *_mean(),
        (pl.col("rank") == 1).fill_null(False).mean().alias("share_best"),
        pl.col("rank").is_not_null().mean().alias("share_listed"),
        pl.col("difference").median().alias("median_difference"),
        pl.col("exact").all(),
    )
    group = _groups(found, keys[:-1])
    ordered = found.with_columns(group).sort(
        "_group", "mean_probability", descending=[False, True], maintain_order=True
    )
    return ordered.drop("_group")


def _groups(frame: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """The number of each row's group, in order of first appearance."""
    rows = frame.select(keys).rows()
    number = {row: i for i, row in enumerate(dict.fromkeys(rows))}
    return pl.Series("_group", [number[row] for row in rows], pl.Int64)
