"""``compare``: shares of the models and learning rates, group by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.analyses import compare_tests
from howlearn.analyses.compare_groups import Design, Groups, Outcome, groups_of, outcome_of
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.core.text import Listing, Sentence, listed
from howlearn.results.analysis import MOST_ROWS, Analysis
from howlearn.results.results import Results
from howlearn.results.select_summary import SelectedModels
from howlearn.runs.parts import Progress
from howlearn.selection.criterion import Criterion
from howlearn.selection.population import Population, fixed_evidence

# A comparison in sentences.

MOST_RATES = 8  # rows of rates that are
SHOWN = 3  # differences of shares that are put into words
ENOUGH_POWER = 0.8


def _power_sentence(groups: Groups, powers: Sequence[compare_tests.Power]) -> list[str]:
    """Before the answer: what groups of these sizes can show."""
    sizes = " and ".join(str(n) for n, _ in groups.sizes())
    if not powers and len(groups.names) == 2:
        return [
            f"How large a difference groups of {sizes} learners can show cannot be simulated: "
            "hardly anybody uses a second strategy."
        ]
    if not powers:
        return []
    each = ", ".join(
        f"{round(100 * p.difference)} points in {p.found:z.0%} (± {100 * p.error:.0f})"
        for p in powers
    )
    return [
        f"What groups of {sizes} learners can show here: a difference in the share of a strategy "
        f"of {each} of simulated studies with these learners would be found. "
        + (
            "Finding no difference says little."
            if powers[-1].found < ENOUGH_POWER
            else "Smaller differences are easily missed."
        )
    ]


ALONE = (
    "There is one candidate only, so strategies were not compared, and "
    "only its parameters are compared. Give howlearn select several models."
)
BLURRED = (
    "These trials do not distinguish the models (no model leads by 1 nat for any learner): "
    "nothing can be said about strategies."
)
AHEAD = 1.0  # nats: less says nothing about a learner


def _verdicts(groups: Groups, found: compare_tests.Differences) -> list[str]:
    """Whether strategies differ: exactly if an interval of a difference excludes 0."""
    who = f"{groups.column} {listed(groups.names)}"
    told = []
    pairs = zip(found.pairs, found.different, found.p, strict=True)
    for (a, b), differ, p in pairs:
        names = f"{groups.column} {groups.names[a]} and {groups.names[b]}"
        if differ:
            told.append(f"Strategies differ between {names} (p = {p:.2g}).")
    if not told:
        told.append(
            f"No difference in strategies was found between {who} (p = {found.p.min():.2g}); "
            "differences of up to "
            f"{100 * float(max(-found.lower.min(), found.upper.max())):.0f} points are not "
            "excluded."
        )
    return told


def _kept(found: compare_tests.GroupShares) -> list[str]:
    """How many learners use one strategy under all conditions."""
    low, high = np.quantile(found.keeps, (0.025, 0.975))
    return [
        f"{found.keeps.mean():z.0%} of the learners use one strategy under all conditions (95% "
        f"interval {low:z.0%} to {high:z.0%}); the others choose separately in each condition."
    ]


def _largest(differences: pl.DataFrame) -> list[str]:
    apart = differences.filter((pl.col("lower") > 0) | (pl.col("upper") < 0))
    return [
        f"{row['model']}: {row['share']:z.0%} of {row['group']}, {row['other_share']:z.0%} of "
        f"{row['other']}; difference {100 * row['difference']:+z.0f} points (simultaneous 95% "
        f"interval {100 * row['lower']:+z.0f} to {100 * row['upper']:+z.0f})."
        for row in apart.sort(pl.col("difference").abs(), descending=True).head(SHOWN).to_dicts()
    ]


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


POOLED = (
    "The trials of these results cannot be read again as they were analysed, so all groups share "
    "one distribution of learning rates: groups that differ only in speed may seem to use "
    "other strategies."
)
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
    apart: bool  # whether rates are free in every group
    models: tuple[str, ...]
    found: compare_tests.GroupShares
    differs: compare_tests.Differences
    powers: tuple[compare_tests.Power, ...]
    compared: tuple[compare_tests.Rate, ...]
    blurred: bool = False  # whether nobody's trials tell the models apart
    withheld: tuple[str, ...] = ()  # what ``select`` says first where it withholds answers

    def __repr__(self) -> str:
        return (
            f"Comparison of {self.groups.column} {', '.join(self.groups.names)} by "
            f"{self.criterion}: see .sentences, .shares, .differences, .tests, .rates"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, and what to bear in mind."""
        known = self.groups.notes
        if not self.apart and self.criterion.startswith("population"):
            known = (*known, POOLED)
        if self.graded:
            return known
        return (
            *known,
            f"{self.criterion} gives no probabilities of models: the selected ones are counted, as "
            "if they were certain; use --criterion evidence or population to take their "
            "uncertainty along",
        )

    @property
    def alone(self) -> bool:
        """Whether there is nothing to compare."""
        return len(self.models) == 1

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        """Shares by group."""
        return {"comparison": self.shares}

    def summary(self) -> Iterator[Listing | Sentence]:
        """Whether answers are withheld, shares in every group, then the answers in words."""
        yield from map(Sentence, self.withheld)
        if self.alone:
            yield from map(Sentence, [ALONE, *_rates_sentence(self.rates)])
            return
        names = self.groups.names
        sizes = zip(names, self.groups.sizes(), strict=True)
        columns = ["model", *(f"{name} ({n})" for name, (n, _) in sizes)]
        pairs = self.differences.select("group", "other").unique().height
        one = {row["model"]: row for row in self.differences.to_dicts()} if pairs == 1 else {}
        columns += ["difference"] if one else []
        known = {(row["group"], row["model"]): row for row in self.shares.to_dicts()}
        rows = []
        top = {model: max(known[name, model]["share"] for name in names) for model in self.models}
        shown = sorted(self.models, key=lambda model: -top[model])[:MOST_ROWS]
        for model in shown:  # the most common first: a small screen shows fewer
            cells = [_span(known[name, model], "share") for name in names]
            cells += [_span(one[model], "difference", "+")] if one else []
            rows.append((model, *cells))
        title = (
            f"Shares of the models by {self.groups.column}, {self.criterion}, with 95% intervals"
        )
        left = len(self.models) - len(rows)
        legend = "Rarer models: shares.csv." if left else ""
        yield Listing(title, tuple(columns), rows, legend=legend)
        told = [POOLED] if POOLED in self.notes else []
        told += [BLURRED] if self.blurred else []
        told += _power_sentence(self.groups, self.powers) + _verdicts(self.groups, self.differs)
        told += _largest(self.differences)
        told += _kept(self.found) if self.groups.design == "within" else []
        told += _rates_sentence(self.rates)
        yield from map(Sentence, told)

    def texts(self) -> Mapping[str, str]:
        """The answers, for those who have only the folder."""
        return {"comparison.txt": "\n".join([*self.sentences, *self.notes]) + "\n"}

    @cached_property
    def shares(self) -> pl.DataFrame:
        """One row per group and model, the most common first."""
        share, (lower, upper) = self.found.share, self.found.interval
        sizes = zip(self.groups.names, self.groups.sizes(), strict=True)
        rows = [
            (name, self.models[m], *many)
            + ((None,) * 3 if self.alone else (share[g, m], lower[g, m], upper[g, m]))
            for g, (name, many) in enumerate(sizes)
            for m in np.argsort(-share[g], kind="stable")
        ]
        return of("shares", "compare").of_rows(rows)

    @cached_property
    def differences(self) -> pl.DataFrame:
        """One row per pair of groups and model: the share in ``group`` minus that in ``other``."""
        names, share, found = self.groups.names, self.found.share, self.differs
        rows = []
        for p, (a, b) in enumerate([] if self.alone else found.pairs):
            for m in np.argsort(-np.abs(found.value[p]), kind="stable"):
                differs = (each[p, m] for each in (found.value, found.lower, found.upper))
                rows.append(
                    (names[a], names[b], self.models[m], share[a, m], share[b, m], *differs)
                )
        return of("differences", "compare").of_rows(rows)

    @cached_property
    def tests(self) -> pl.DataFrame:
        """Whether strategies differ: all groups together, then pair by pair."""
        if self.alone:
            return of("tests", "compare").of_rows([])
        found, names = self.differs, self.groups.names
        sizes = [n for n, _ in self.groups.sizes()]
        low, high = np.quantile(self.found.keeps, (0.025, 0.975))
        kept = (float(self.found.keeps.mean()), float(low), float(high))
        kept = kept if self.groups.design == "within" else (None, None, None)
        rows = [
            (", ".join(names), self.groups.n_learners, bool(found.different.any()),
             float(found.p.min()), *kept)
        ]  # fmt: skip
        for p, (a, b) in enumerate(found.pairs if len(names) > 2 else []):
            n = sizes[a] if self.groups.design == "within" else sizes[a] + sizes[b]
            different, p_value = bool(found.different[p]), float(found.p[p])
            rows.append((f"{names[a]}, {names[b]}", n, different, p_value, None, None, None))
        return of("tests", "compare").of_rows(rows)

    @cached_property
    def power(self) -> pl.DataFrame:
        """How often a difference of a share would be found by a study like this one."""
        return of("power", "compare").of_rows([astuple(each) for each in self.powers])

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
    progress: Progress | None = None,
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
    >>> hl.compare(result, "group", groups=pl.DataFrame(who), permutations=50).tests["different"][0]
    False
    """
    column, design = _asked(group, within, groups is not None)
    for name, number in (("resamples", resamples), ("permutations", permutations)):
        if number < FEWEST:
            raise HowlearnError(f"{name} must be at least {FEWEST}, got {number}")
    named = repr(criterion) if isinstance(criterion, Criterion) else criterion
    outcome = outcome_of(results, named)
    who = groups_of(outcome.labels, column, design, groups)
    who = replace(who, notes=(*outcome.left_out, *who.notes))
    evidence = outcome.evidence[who.kept]
    pairs = [who.only(pair) for pair in combinations(range(len(who.names)), 2)]
    compared = _by_rates(Results.of(results), outcome, who, seed)
    apart = compared is not None
    compared = compared or compare_tests.by_evidence(evidence, who, seed)
    shares = compared.shares()
    return Comparison(
        who,
        outcome.criterion,
        outcome.graded,
        apart,
        outcome.models,
        shares,
        compare_tests.Differences.of(shares),
        tuple(compare_tests.power(compared, shares, who, seed, progress)),
        tuple(_rates(outcome, who, pairs, resamples, permutations, seed)),
        bool((np.ptp(evidence, axis=1) < AHEAD).all()),
        _withheld(Results.of(results)),
    )


def _withheld(results: Results) -> tuple[str, ...]:
    """What ``select`` says first where it withholds answers; tables alone do not tell it."""
    try:
        return tuple(SelectedModels(results).withheld())
    except HowlearnError:
        return ()


def _by_rates(
    results: Results, outcome: Outcome, who: Groups, seed: int
) -> compare_tests.Compared | None:
    """With rates free in every group; None where the criterion or the lack of trials forbids it."""
    if not outcome.criterion.startswith(Population.name):
        return None
    try:
        study, models = results.study, results.models
    except HowlearnError:
        return None
    if len(study) != len(outcome.evidence):
        return None
    study = study.take(who.kept)
    names = [model.name for model in models]
    models = [models[names.index(name)] for name in outcome.models if name in names]
    if len(models) != len(outcome.models):
        return None
    return compare_tests.by_rates(study, models, fixed_evidence(models, study), who, seed)


def _span(row: Mapping[str, float], value: str, sign: str = "") -> str:
    share, lower, upper = (100 * row[name] for name in (value, "lower", "upper"))
    return f"{share:{sign}.0f}%  ({lower:{sign}.0f} to {upper:{sign}.0f})"


def _asked(group: str | None, within: str | None, with_file: bool) -> tuple[str, Design]:
    if group is not None and within is None:
        return group, "group"
    if within is not None and group is None:
        if with_file:
            raise HowlearnError(
                "a file with a row per learner says nothing about conditions of the same learner: "
                "--groups goes with --group"
            )
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
) -> list[compare_tests.Rate]:
    probability = compare_tests.posterior(outcome.evidence[who.kept])
    parameters = compare_tests.parameters_of(
        outcome.estimates, outcome.labels[who.kept], outcome.models, probability
    )
    found = []
    for k, parameter in enumerate(parameters):
        for j, pair in enumerate(pairs):
            own = replace(
                parameter, value=parameter.value[pair.kept], weight=parameter.weight[pair.kept]
            )
            random = np.random.default_rng((seed, 2, k, j))
            result = compare_tests.rate(own, pair, resamples, permutations, random)
            if result is not None:
                found.append(result)
    return found
