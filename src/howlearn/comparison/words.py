"""A comparison in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from howlearn.comparison.groups import Groups
from howlearn.comparison.strategies import SharesTest
from howlearn.core.text import listed

# Bayes factors that are worth a word (Jeffreys 1961)
SOME, STRONG, DECISIVE = math.log(3), math.log(10), math.log(100)
MOST_RATES = 8  # rows of rates that are
SMALL = 0.05  # a p that is worth one
SHOWN = 3  # differences of shares that are put into words


def sentences(
    groups: Groups, tested: Sequence[SharesTest], differences: pl.DataFrame, rates: pl.DataFrame
) -> list[str]:
    """The verdict on the shares, the largest differences, and the rates."""
    found = [verdict(groups, test) for test in tested]
    for test in tested[:1]:
        if test.kept is not None:
            found.append(_kept(test))
    found += _largest(differences)
    found += _rates(rates)
    return found


def verdict(groups: Groups, test: SharesTest) -> str:
    """Whether the shares are the same, by the Bayes factor and by p.

    With many models and few learners a flat prior favours the same shares, so that a Bayes factor
    alone would call small differences none.
    """
    names = listed(test.groups)
    who = f"Learners of {groups.column} {names}"
    if groups.design == "within":
        who = f"Under {groups.column} {names} learners"
    nats = test.log_bayes_factor
    if (nats >= SOME and test.p <= SMALL) or (nats <= -SOME and test.p > SMALL):
        text = f"{who}: the two tests disagree on whether strategies are equally common"
    elif abs(nats) < SOME:
        text = f"{who}: these data do not tell whether strategies are equally common"
    else:
        words = ("probably", "very probably", "almost surely")
        how = words[(abs(nats) >= STRONG) + (abs(nats) >= DECISIVE)]
        same = "the same strategies equally often" if nats > 0 else "strategies differently often"
        text = f"{who} {how} use {same}"
    favour = "the same shares" if nats >= 0 else "different shares"
    p = f"p = {test.p:.2g} ± {test.p_error:.1g}"
    return f"{text}: Bayes factor {factor(nats)} for {favour}; permutation test {p}."


def factor(nats: float) -> str:
    """A Bayes factor from 1 on, as one would say it.

    >>> factor(-1.1), factor(30.0)
    ('3.0', 'e^30')
    """
    size = abs(nats)
    return f"{math.exp(size):.1f}" if size < math.log(1e4) else f"e^{size:.0f}"


def _kept(test: SharesTest) -> str:
    assert test.kept is not None
    nats = test.kept.value - max(test.same.value, test.different.value)
    if not math.isfinite(nats):
        return "Counted as selected, some learners change their strategy between conditions."
    if nats > SOME:
        return (
            f"That every learner keeps its strategy is more probable: Bayes factor {factor(nats)} "
            "against strategies chosen anew in every condition."
        )
    if nats < -SOME:
        return (
            "That every learner keeps its strategy is less probable: Bayes factor "
            f"{factor(nats)} for strategies chosen anew in every condition."
        )
    return "Whether learners keep their strategies between conditions these data do not tell."


def _largest(differences: pl.DataFrame) -> list[str]:
    apart = differences.filter((pl.col("lower") > 0) | (pl.col("upper") < 0))
    found = []
    for row in apart.sort(pl.col("difference").abs(), descending=True).head(SHOWN).to_dicts():
        found.append(
            f"{row['model']}: {row['share']:.0%} of {row['group']}, {row['other_share']:.0%} of "
            f"{row['other']}; difference {100 * row['difference']:+.0f} points (95% interval "
            f"{100 * row['lower']:+.0f} to {100 * row['upper']:+.0f})."
        )
    if not found:
        most = differences.select(pl.max_horizontal(-pl.col("lower"), pl.col("upper")).max()).item()
        found.append(
            "No share of a model differs by more than its 95% interval; differences of up to "
            f"{100 * (most or 0.0):.0f} points are not excluded."
        )
    return found


def _rates(rates: pl.DataFrame) -> list[str]:
    found = [
        f"Typical {row['parameter']}{' of ' + row['model'] if row['model'] else ''}: "
        f"{row['typical']:.3g} for {row['group']}, {row['other_typical']:.3g} for {row['other']} "
        f"(p = {row['p']:.2g} ± {row['p_error']:.1g})."
        for row in rates.head(MOST_RATES).to_dicts()
    ]
    if len(rates) and rates["model"].null_count():
        found.append(
            "Rates of different models are not on one scale: where strategies differ, compare "
            "those of the same model."
        )
    return found
