"""The weights of a mixture's strategies, trial by trial, and when the leading one changes."""

from __future__ import annotations

import numpy as np
import polars as pl

from howlearn.core.columns import RARE, of, renamed
from howlearn.core.errors import HowlearnError
from howlearn.fitting.fits import Fits
from howlearn.fitting.replay import weights as log_weights
from howlearn.models.mixture import Mixture
from howlearn.models.model import Model
from howlearn.selection import Selection
from howlearn.tables import labels as labels_of

AHEAD = 1e-9  # a strategy leads if its weight is larger than all others by more than this


def is_weighted(model: Model) -> bool:
    """Whether a model has several strategies to weigh."""
    return isinstance(model, Mixture) and len(model.experts) > 1


def weights(fits: Fits | Selection) -> pl.DataFrame:
    """The weight of every strategy before every trial, of all mixtures, fitted on all trials.

    One row per learner, model, trial and strategy.

    >>> import howlearn as hl
    >>> task = hl.Task.load("five-four")
    >>> model = task.model("exp4(ByPattern[eta=0.05], ByPatternExc[eta=0.05])")
    >>> study = hl.simulate(task, model, {"theta": 0.1}, learners=2, trials=50)
    >>> weights(hl.fit(study, [model])).columns
    ['learner', 'model', 'trial', 'strategy', 'weight', 'leads']
    """
    fits = fits.fits if isinstance(fits, Selection) else fits
    if not isinstance(fits, Fits):
        raise HowlearnError(
            f"weights are of fits or a selection, not of {type(fits).__name__}: see howlearn.fit"
        )
    mixtures = [part for part in fits.of.values() if is_weighted(part.model)]
    if not mixtures:
        raise HowlearnError(
            "there is no mixture of strategies among the candidates; add one, such as "
            "exp4(ByShape, ByShapeExc)"
        )
    j = fits.at(fits.fullest)
    labels = renamed(labels_of(fits), {name for table in RARE for name in of(table).names})
    frames = [labels[:0].hstack(of("weights").of_rows([]).get_columns())]
    for i in range(len(fits.study)):
        for part in mixtures:
            assert isinstance(part.model, Mixture)
            q = np.exp(log_weights(fits.study, i, part.model, part.theta[i, j]))
            n, k = q.shape
            # Where learning starts anew, nobody leads.
            starts = np.flatnonzero(fits.study[i].reset[1:]) + 1
            first = np.concatenate([leader(block) for block in np.split(q, starts)])
            frame = of("weights").frame(
                {
                    "model": part.model.name,
                    "trial": np.repeat(np.arange(1, n + 1), k),
                    "strategy": part.model.strategies * n,
                    "weight": q.reshape(-1),
                    "leads": (first[:, None] == np.arange(k)).reshape(-1),
                }
            )
            frames.append(labels[np.full(n * k, i)].hstack(frame.get_columns()))
    return pl.concat(frames)


def leader(q: np.ndarray) -> np.ndarray:
    """The strategy with the largest weight [trial]; while two are level, the one that led before.

    >>> leader(np.array([[0.5, 0.5], [0.6, 0.4], [0.5, 0.5], [0.3, 0.7]])).tolist()
    [-1, 0, 0, 1]
    """
    order = np.sort(q, axis=1)
    ahead = order[:, -1] - order[:, -2] > AHEAD
    last = np.maximum.accumulate(np.where(ahead, np.arange(len(q)), -1))
    return np.where(last >= 0, np.argmax(q, axis=1)[last], -1)


def leaders(frame: pl.DataFrame) -> pl.DataFrame:
    """When the lead was taken: one row per learner, model and change, the first lead included.

    ``trial`` is the first at which the strategy leads, ``before`` the one that led until then.
    """
    own = of("weights").names
    if not {"learner", *own} <= set(frame.columns):
        raise HowlearnError("leaders are found in the table that howlearn.weights gives")
    labels = [c for c in frame.columns if c == "model" or c not in own]
    led = frame.filter("leads").sort("trial", maintain_order=True)
    before = pl.col("strategy").shift(1).over(labels).alias("before")
    first = pl.col("before").is_null() | (pl.col("before") != pl.col("strategy"))
    changes = led.with_columns(before).filter(first)
    order = frame.select(labels).unique(maintain_order=True)
    found = changes.select(*labels, "trial", "strategy", "before")
    return order.join(found, on=labels, how="inner", nulls_equal=True, maintain_order="left_right")


def last_changes(changes: pl.DataFrame) -> pl.Series:
    """Of every learner whose leading strategy changed: the last trial at which it did."""
    by = [c for c in changes.columns if c not in ("trial", "strategy", "before")]
    changed = changes.filter(pl.col("before").is_not_null())
    return changed.group_by(by, maintain_order=True).agg(pl.col("trial").last())["trial"]


def averages(frame: pl.LazyFrame) -> pl.DataFrame:
    """The weights over all learners: mean, quartiles, and the share of learners whom it leads.

    Conditions, that is, labels that differ within a learner, are kept apart.
    """
    weight = pl.col("weight")
    own = ("learner", *of("weights").names)
    labels = [c for c in frame.collect_schema().names() if c not in own]
    differ = frame.group_by("learner").agg(pl.col(labels).n_unique()).collect() if labels else {}
    conditions = [c for c in labels if (differ[c] > 1).any()]
    return (
        frame.group_by(*conditions, "model", "strategy", "trial")
        .agg(
            learners=pl.len(),
            weight=weight.mean(),
            lower_quartile=weight.quantile(0.25, "linear"),
            upper_quartile=weight.quantile(0.75, "linear"),
            leads=pl.col("leads").mean(),
        )
        .sort(*conditions, "model", "strategy", "trial")
        .collect()
    )
