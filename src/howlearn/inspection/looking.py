"""Looking at columns together: which rows, the same values, choices that follow rewards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from howlearn.core.expressions import derive
from howlearn.inspection.draft import Draft
from howlearn.inspection.names import named_like
from howlearn.inspection.sample import Sample, together
from howlearn.reading.rewards import worth_of


def materialise(draft: Draft, option: str, text: str) -> None:
    """Compute an expression, so that its values can be looked at like a column's."""
    columns = draft.sample.columns
    derived = derive(text, f"--{option.replace('_', '-')}", [*columns])
    labels = pl.DataFrame([columns[name].per_row().alias(name) for name in derived.columns])
    words = ("0", "1") if option == "reward" else ("no", "yes")
    draft.sample = draft.sample.having(text, derived.values(labels, words))


def repeats(sample: Sample, column: str) -> bool:
    """Whether a column has values for most rows, and each for several of them."""
    counts = sample.counts(column)
    total = sum(counts.values())
    return bool(counts) and 2 * total > sample.height and (2 * len(counts) <= total or total < 4)


def sparse(draft: Draft, columns: Sequence[str]) -> frozenset[str]:
    """Those of the columns with less than half as many values for choices as the fullest one."""
    told = {c: int(np.sum(~draft.sample.missing(c) & draft.chosen)) for c in columns}
    most = max(told.values(), default=0)
    return frozenset(c for c, times in told.items() if 2 * times < most)


def with_reward(draft: Draft) -> Sample:
    """The rows with a reward, if it is known which they are."""
    reward = draft.column("reward")
    if reward is None or draft.sample.columns[reward].missing().all():
        return draft.sample
    return draft.sample.only(~draft.sample.columns[reward].missing())


def over_all(sample: Sample, part: np.ndarray) -> np.ndarray:
    """A mask over the rows that are looked at as one over all rows."""
    rows = np.zeros(len(sample.rows), dtype=np.bool_)
    rows[np.flatnonzero(sample.rows)[part]] = True
    return rows


def rows_among(draft: Draft, rows: Sample) -> np.ndarray:
    """Which of the draft's rows are among these."""
    return rows.rows[draft.sample.rows]


def tell_the_same(sample: Sample, one: str, other: str) -> bool:
    """Whether two columns tell the same."""
    pairs = together(sample.codes(one), sample.codes(other))
    sizes = {len(np.unique(sample.codes(name))) for name in (one, other)}
    return sizes == {int(pairs.max(initial=-1)) + 1}


def follows(draft: Draft, rows: Sample, column: str) -> float:
    """How much likelier a value is repeated after a reward than without: learned choices are."""
    reward = draft.column("reward")
    if reward is None:
        return 0.0
    inside = rows_among(draft, rows)
    seen = [c for c in named_like("context", draft.free) if repeats(rows, c)][:1]
    owner = together(draft.learners()[inside], *(rows.codes(c) for c in seen))
    order = np.argsort(owner, kind="stable")
    worth = worth_in(rows, reward)[order]
    same = np.diff(owner[order]) == 0
    stays = (np.diff(rows.codes(column)[order]) == 0)[same]
    good = (worth[:-1] > np.nanmean(worth))[same] if len(worth) else np.empty(0, np.bool_)
    if not good.any() or good.all():
        return 0.0
    return float(stays[good].mean() - stays[~good].mean())


def worth_in(rows: Sample, reward: str) -> np.ndarray:
    """Rewards as numbers, whether the column has numbers or words."""
    numbers = rows.numbers(reward)
    if np.isnan(numbers).all():
        numbers = worth_of(rows.columns[reward].labels)[rows.codes(reward)]
    return np.nan_to_num(numbers)
