"""``compare``: shares of the models and learning rates, group by group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.analyses.compare_groups import Design, Groups, Outcome, groups_of, outcome_of
from howlearn.analyses.compare_tests import (
    GroupShares,
    Rate,
    SharesTest,
    difference,
    group_shares,
    parameters_of,
    posterior,
    rate,
    shares_test,
)
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.core.text import listed, many
from howlearn.results.analysis import Analysis, Listing, Sentence
from howlearn.results.results import Results
from howlearn.selection.criterion import Criterion

# A comparison in sentences.


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
    found += _rates_sentence(rates)
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
            f"{row['model']}: {row['share']:z.0%} of {row['group']}, {row['other_share']:z.0%} of "
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


def _rates_sentence(rates: pl.DataFrame) -> list[str]:
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


RESAMPLES, PERMUTATIONS = 1_000, 2_000
FEWEST = 20  # resamples and permutations that say anything


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Analysis):
    """What groups of learners, or conditions of the same learners, have in common."""

    command = "compare"
    CHARTS = ("comparison",)
    FILES = ("comparison.txt",)

    groups: Groups
    criterion: str
    graded: bool  # whether the uncertainty of each learner's model is taken along
    models: tuple[str, ...]
    found: GroupShares
    tested: tuple[SharesTest, ...]  # of all groups, then of the pairs where there are several
    compared: tuple[Rate, ...]
    permutations: int

    def __repr__(self) -> str:
        return (
            f"Comparison of {self.groups.column} {', '.join(self.groups.names)} by "
            f"{self.criterion}: see .sentences, .shares, .differences, .tests, .rates"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, and what to bear in mind."""
        if self.graded:
            return self.groups.notes
        return (
            *self.groups.notes,
            f"{self.criterion} gives no probabilities of models: the selected ones are counted, as "
            "if they were certain; use --criterion evidence or population to take their "
            "uncertainty along",
        )

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        """Shares by group."""
        return {"comparison": self.shares}

    def summary(self) -> Iterator[Listing | Sentence]:
        """Shares in every group, then the answers in words."""
        names = self.groups.names
        sizes = zip(names, self.groups.sizes(), strict=True)
        columns = ["model", *(f"{name} ({n})" for name, (n, _) in sizes)]
        pairs = self.differences.select("group", "other").unique().height
        one = {row["model"]: row for row in self.differences.to_dicts()} if pairs == 1 else {}
        columns += ["difference"] if one else []
        known = {(row["group"], row["model"]): row for row in self.shares.to_dicts()}
        rows = []
        for model in self.models:
            cells = [_span(known[name, model], "share") for name in names]
            cells += [_span(one[model], "difference", "+")] if one else []
            rows.append((model, *cells))
        title = (
            f"Shares of the models by {self.groups.column}, {self.criterion}, with 95% intervals"
        )
        yield Listing(title, tuple(columns), rows)
        told = sentences(self.groups, self.tested, self.differences, self.rates)
        yield from map(Sentence, told)

    def texts(self) -> Mapping[str, str]:
        """The answers, for those who have only the folder."""
        return {"comparison.txt": "\n".join([*self.sentences, *self.notes]) + "\n"}

    @cached_property
    def shares(self) -> pl.DataFrame:
        """One row per group and model, the most common first."""
        found = self.found
        sizes = zip(self.groups.names, self.groups.sizes(), strict=True)
        rows = [
            (name, self.models[m], *many, found.share[g, m], found.lower[g, m], found.upper[g, m])
            for g, (name, many) in enumerate(sizes)
            for m in np.argsort(-found.share[g], kind="stable")
        ]
        return of("shares", "compare").of_rows(rows)

    @cached_property
    def differences(self) -> pl.DataFrame:
        """One row per pair of groups and model: the share in ``group`` minus that in ``other``."""
        names, share = self.groups.names, self.found.share
        paired = self.groups.n_learners if self.groups.design == "within" else 0
        rows = []
        for a, b in combinations(range(len(names)), 2):
            ends = difference(self.found, a, b, paired)
            for m in np.argsort(-np.abs(ends[0]), kind="stable"):
                differs = (end[m] for end in ends)
                rows.append(
                    (names[a], names[b], self.models[m], share[a, m], share[b, m], *differs)
                )
        return of("differences", "compare").of_rows(rows)

    @cached_property
    def tests(self) -> pl.DataFrame:
        """Whether shares are the same: all groups together, then pair by pair."""
        rows = []
        for test in self.tested:
            kept = test.kept
            row = {
                "groups": ", ".join(test.groups),
                "learners": test.learners,
                "log_marginal_same": test.same.value,
                "log_marginal_different": test.different.value,
                "log_bayes_factor": test.log_bayes_factor,
                "log_bayes_factor_error": test.error,
                "statistic": test.statistic,
                "p": test.p,
                "p_error": test.p_error,
                "permutations": self.permutations,
            }
            if kept is not None:
                row["log_marginal_kept"] = kept.value
            rows.append(row)
        return pl.DataFrame(rows)

    @cached_property
    def rates(self) -> pl.DataFrame:
        """One row per parameter, model (none: all models) and pair of groups."""
        return of("rates", "compare").of_rows([astuple(each) for each in self.compared])


def compare(
    results: Results | Path | str,
    group: str | None = None,
    within: str | None = None,
    *,
    groups: Any | None = None,
    criterion: Criterion | str | None = None,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Comparison:
    """Do groups of learners use different strategies, and learn at different rates?

    ``group`` is a column of the results that belongs to the learner, or one of ``groups``, a file
    or frame with a row per learner; ``within`` a condition under which every learner was observed
    (``howlearn select --by``). ``results`` is what ``select`` gives, or its folder.

    >>> import howlearn as hl
    >>> task = hl.Task.load("shepard-1")
    >>> study = hl.simulate(task, "OneForAll", {"eta": 0.1}, learners=8, trials=60, seed=1)
    >>> who = {"learner": list(study.learners), "group": ["a", "b"] * 4}
    >>> result = hl.select(study, task.models, ["aic"])
    >>> hl.compare(result, "group", groups=pl.DataFrame(who), permutations=50).tests.shape
    (1, 10)
    """
    column, design = _asked(group, within)
    for name, number in (("resamples", resamples), ("permutations", permutations)):
        if number < FEWEST:
            raise HowlearnError(f"{name} are at least {FEWEST}, not {number}")
    if groups is not None and design == "within":
        raise HowlearnError(
            "a file with a row per learner says nothing about conditions of the same learner: "
            "--groups goes with --group"
        )
    named = repr(criterion) if isinstance(criterion, Criterion) else criterion
    outcome = outcome_of(results, named)
    who = groups_of(outcome.labels, column, design, groups)
    if outcome.n_excluded:
        note = f"{outcome.n_excluded:,} learners are excluded (--exclude), and left out here"
        who = replace(who, notes=(note, *who.notes))
    if outcome.n_unfitted:
        note = f"{many(outcome.n_unfitted, 'learner')} could not be fitted: left out here"
        who = replace(who, notes=(note, *who.notes))
    evidence = outcome.evidence[who.kept]
    pairs = [who.only(pair) for pair in combinations(range(len(who.names)), 2)]
    several = [who, *pairs] if len(pairs) > 1 else [who]
    tested = [
        shares_test(evidence if k == 0 else evidence[each.kept], each, permutations, (seed, 1, k))
        for k, each in enumerate(several)
    ]
    return Comparison(
        who,
        outcome.criterion,
        outcome.graded,
        outcome.models,
        group_shares(evidence, who, resamples, np.random.default_rng((seed, 0))),
        tuple(tested),
        tuple(_rates(outcome, who, pairs, resamples, permutations, seed)),
        permutations,
    )


def _span(row: Mapping[str, float], value: str, sign: str = "") -> str:
    share, lower, upper = (100 * row[name] for name in (value, "lower", "upper"))
    return f"{share:{sign}.0f}%  ({lower:{sign}.0f} to {upper:{sign}.0f})"


def _asked(group: str | None, within: str | None) -> tuple[str, Design]:
    if group is not None and within is None:
        return group, "group"
    if within is not None and group is None:
        return within, "within"
    raise HowlearnError(
        "say what to compare: --group COL for groups of learners, or --within COL for conditions "
        "of the same learners"
    )


def _rates(
    outcome: Outcome,
    who: Groups,
    pairs: Sequence[Groups],
    resamples: int,
    permutations: int,
    seed: int,
) -> list[Rate]:
    probability = posterior(outcome.evidence[who.kept])
    parameters = parameters_of(
        outcome.estimates, outcome.labels[who.kept], outcome.models, probability
    )
    found = []
    for k, parameter in enumerate(parameters):
        for j, pair in enumerate(pairs):
            own = replace(
                parameter, value=parameter.value[pair.kept], weight=parameter.weight[pair.kept]
            )
            random = np.random.default_rng((seed, 2, k, j))
            result = rate(own, pair, resamples, permutations, random)
            if result is not None:
                found.append(result)
    return found
