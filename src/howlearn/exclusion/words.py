"""What excluding learners changes, in words."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl


def differ(shares: pl.DataFrame) -> bool:
    """Whether any share, in whole per cent, is another one among all learners."""
    sides = [_by_model(shares, who) for who in ("included", "all")]
    pairs = {*sides[0], *sides[1]}
    return any(len({f"{side.get(pair, 0.0):.0%}" for side in sides}) > 1 for pair in pairs)


def sentence(n: int, n_excluded: int, counts: Mapping[str, int], shares: pl.DataFrame) -> str:
    """How many were excluded, why, and whether another model leads among all learners.

    >>> columns = ["among", "criterion", "model", "learners", "share"]
    >>> rows = [("included", "aic", "A", 2, 1.0), ("all", "aic", "A", 2, 2 / 3)]
    >>> shares = pl.DataFrame(rows, schema=columns, orient="row")
    >>> sentence(3, 1, {"learners excluded (trials < 9)": 1}, shares)
    '1 of 3 learners is excluded (trials < 9). The leading model is the same among all: aic A.'
    """
    unit = "sequences" if any(name.startswith("sequences") for name in counts) else "learners"
    reasons = {name.partition("(")[2][:-1]: count for name, count in reasons_of(counts).items()}
    if not n_excluded:
        return f"None of the {n:,} {unit} is excluded ({'; '.join(reasons)})."
    several = len(reasons) > 1
    why = "; ".join(f"{text}: {count:,}" if several else text for text, count in reasons.items())
    start = f"{n_excluded:,} of {n:,} {unit} {'is' if n_excluded == 1 else 'are'} excluded ({why})."
    lead = {who: leaders(shares, who) for who in ("included", "all")}
    changed = [c for c in lead["included"] if lead["included"][c] != lead["all"][c]]
    if not changed:
        same = ", ".join(f"{c} {' and '.join(names)}" for c, names in lead["included"].items())
        return f"{start} The leading model is the same among all: {same}."
    told = "; ".join(
        f"by {c} {' and '.join(lead['included'][c])} leads, and among all "
        f"{' and '.join(lead['all'][c])}"
        for c in changed
    )
    return f"{start} The answer depends on them: {told}."


def reasons_of(counts: Mapping[str, int]) -> dict[str, int]:
    """What a study's counts say about excluded learners."""
    starts = ("learners excluded (", "sequences excluded (")
    return {name: count for name, count in counts.items() if name.startswith(starts)}


def leaders(shares: pl.DataFrame, who: str) -> dict[str, list[str]]:
    """By criterion the models that most learners are given."""
    mine = shares.filter(pl.col("among") == who)
    top = pl.col("learners") == pl.col("learners").max().over("criterion")
    found: dict[str, list[str]] = {}
    for criterion, model in mine.filter(top).select("criterion", "model").iter_rows():
        found.setdefault(criterion, []).append(model)
    return {criterion: sorted(models) for criterion, models in found.items()}


def _by_model(shares: pl.DataFrame, who: str) -> dict[tuple[str, str], float]:
    rows = shares.filter(pl.col("among") == who).select("criterion", "model", "share")
    return {(criterion, model): share for criterion, model, share in rows.iter_rows()}
