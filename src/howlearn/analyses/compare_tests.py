"""Shares of the models in every group, how they differ, and what would have been found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from howlearn.analyses.compare_groups import Groups, dealt, p_value, resampled
from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.study import Study
from howlearn.models.model import Model
from howlearn.runs.parts import Progress
from howlearn.selection.learning_population import fitted
from howlearn.selection.mixture_shares import climb, interval, scaled
from howlearn.selection.population_tables import Layout, Tables
from howlearn.selection.sampler import Fitted, Options, answered, fitted_to

LEVEL = 0.95
POWER_SWEEPS, POWER_STUDIES = 400, 20
SHIFTS = (0.3, 0.5, 0.7)  # differences of a share that are tried


@dataclass(frozen=True, eq=False)
class GroupShares:
    """Shares drawn from their posterior; axes: draw, group, model."""

    draws: Floats
    keeps: Floats  # [draw]: the share of learners who use one model under all conditions
    probability: Floats  # [sequence, model]

    @property
    def share(self) -> Floats:
        return self.draws.mean(axis=0)

    @property
    def interval(self) -> Floats:
        """[end, group, model]"""
        return np.quantile(self.draws, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), axis=0)


@dataclass(frozen=True, eq=False)
class Compared:
    """What a comparison rests on: tables of likelihoods by group, and what was drawn from them."""

    fitted: Fitted
    code: Ints
    owner: Ints | None
    back: Ints  # from the order of tables to that of the models

    def shares(self, threads: int | None = None) -> GroupShares:
        found = answered(self.fitted, threads, self.owner)
        return GroupShares(
            found.shares[:, :, self.back], found.keeps, found.probability[:, self.back]
        )

    def resampled(self, who: Ints, code: Ints, seed: int) -> Compared:
        """The same with other learners, who may be there more than once."""
        options = replace(
            self.fitted.options,
            sweeps=POWER_SWEEPS,
            longest=2 * POWER_SWEEPS,
            seed=seed,
            paired=False,
        )
        tables = self.fitted.tables.take(who)
        fitted = replace(self.fitted, tables=tables, group=code, options=options)
        return replace(self, fitted=fitted, code=code, owner=None)


def by_rates(
    study: Study, models: Sequence[Model], fixed: Floats, groups: Groups, seed: int
) -> Compared:
    """With the parameters' distributions free in every group, so that speed is not strategy."""
    order, owner, options = _rows(groups, seed)
    layout, code = Layout.of(models, study), groups.code[order]
    found = fitted(study.take(order), layout, fixed[order], code, options)
    return Compared(found, code, owner, np.argsort(layout.order))


def by_evidence(evidence: Floats, groups: Groups, seed: int) -> Compared:
    """With log-evidence [sequence, model] that does not depend on the groups."""
    order, owner, options = _rows(groups, seed)
    code, n = groups.code[order], evidence.shape[1]
    layout = Layout((), (), (), tuple(range(n)), np.empty(0, np.int64))
    tables = Tables.known(layout, evidence[order])
    return Compared(fitted_to(tables, code, options), code, owner, np.arange(n))


def _rows(groups: Groups, seed: int) -> tuple[Ints, Ints | None, Options]:
    """Sequences, those of a learner together; where each learner starts; and what is free."""
    options = Options(apart=False, seed=seed)
    if groups.design == "group":
        return np.arange(len(groups.code)), None, options
    order = np.argsort(groups.owner, kind="stable")
    starts = np.searchsorted(groups.owner[order], np.arange(groups.n_learners + 1))
    return order, starts, replace(options, paired=True)


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences of shares [pair, model] with simultaneous intervals, and the test of them all.

    All intervals reach equally far, so far that in 95% of the draws no difference lies outside of
    its own. The p-value says in how many draws a difference lies as far from its mean as the
    largest mean lies from 0; so it is below 0.05 exactly if an interval excludes 0.
    """

    pairs: list[tuple[int, int]]
    value: Floats
    lower: Floats
    upper: Floats
    p: Floats  # [pair]

    @classmethod
    def of(cls, found: GroupShares) -> Differences:
        n_groups, n_models = found.draws.shape[1:]
        pairs = list(combinations(range(n_groups), 2))
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        draws = (found.draws[:, first] - found.draws[:, second]).reshape(len(found.draws), -1)
        mean = draws.mean(axis=0)
        away = np.sort(np.abs(draws - mean).max(axis=1))
        reach = float(away[min(int(LEVEL * len(away)), len(away) - 1)])
        value = mean.reshape(len(pairs), n_models)
        largest = np.abs(value).max(axis=1)
        p = np.array([(1 + (away >= each).sum()) / (1 + len(away)) for each in largest])
        lower, upper = np.maximum(value - reach, -1.0), np.minimum(value + reach, 1.0)
        return cls(pairs, value, lower, upper, p)

    @property
    def different(self) -> Bools:
        """[pair]: whether an interval excludes 0."""
        return np.any((self.lower > 0.0) | (self.upper < 0.0), axis=1)


@dataclass(frozen=True)
class Power:
    """How often a difference of a share between two groups of these sizes would be found."""

    difference: float
    found: float
    error: float


def power(
    compared: Compared, found: GroupShares, groups: Groups, seed: int, progress: Progress | None
) -> list[Power]:
    """By studies made of these learners: in one group more of them use the commonest model.

    A learner is drawn with the probability that it uses a model, from its own group where somebody
    may, so that groups keep their speeds.
    """
    share = found.share.mean(axis=0)
    if len(share) < 2 or len(groups.names) != 2:
        return []
    first, second = np.argsort(-share)[:2]
    results = []
    for s, shift in enumerate(SHIFTS):
        hits = 0
        for study in range(POWER_STUDIES):
            random = np.random.default_rng((seed, 3, s, study))
            who, code = [], []
            for g, sign in enumerate((1.0, -1.0)):
                n = int((compared.code == g).sum())
                many = random.binomial(n, 0.5 + sign * shift / 2)
                for model, count in ((first, many), (second, n - many)):
                    weight = found.probability[:, model] * (compared.code == g)
                    weight = weight if weight.sum() > 0.5 else found.probability[:, model]
                    if weight.sum() < 0.5:
                        return []  # nobody uses the model
                    p = weight / weight.sum()
                    who.append(random.choice(len(p), count, p=p))
                    code.append(np.full(count, g))
            made = compared.resampled(np.concatenate(who), np.concatenate(code), seed + study)
            hits += bool(Differences.of(made.shares()).different.any())
            if progress:
                progress(s * POWER_STUDIES + study + 1, len(SHIFTS) * POWER_STUDIES)
        p = hits / POWER_STUDIES
        n = POWER_STUDIES
        results.append(Power(shift, p, float(np.sqrt((hits + 1) * (n - hits + 1) / (n + 2) ** 3))))
    return results


def posterior(evidence: Floats) -> Floats:
    """The probability of every model for every sequence, with shares that all have in common.

    The same shares for every group: otherwise groups would be pulled apart by what they are asked
    about.
    """
    likelihood, _ = scaled(evidence)
    share = climb(likelihood, np.ones((1, len(likelihood))))[0][0]
    joint = likelihood * share
    return joint / joint.sum(axis=1, keepdims=True)


# Learning rates, and other parameters, of the groups.
#
# A rate may be 0, so that rates are compared on the scale asinh(η / 0.002): logarithmic from a few
# thousandths on, linear around 0. A learner's value is the mean over the cells that its data
# inform, and over the models by their probability.


SCALE = 0.002
ENOUGH = 5.0  # learners of a model in each group, counted by probability
UNINFORMED = ("unseen", "flat")  # cells whose estimates are not of this learner's own


@dataclass(frozen=True, eq=False)
class ComparedParameter:
    """One parameter of one model, or of all that have it."""

    parameter: str
    model: str | None
    value: Floats  # [sequence], on the scale above
    weight: Floats  # [sequence]: the probability of the model, or models


@dataclass(frozen=True)
class Rate:
    """A difference between two groups, ``group`` minus ``other``."""

    parameter: str
    model: str | None
    group: str
    other: str
    learners: float  # counted by the probability of the model
    other_learners: float
    typical: float  # on the parameter's own scale
    other_typical: float
    difference: float
    lower: float
    upper: float
    p: float
    p_error: float


def typical(value: float) -> float:
    """Back to the parameter's own scale."""
    return float(SCALE * np.sinh(value))


def parameters_of(
    estimates: pl.DataFrame,
    labels: pl.DataFrame,
    models: tuple[str, ...],
    probability: Floats,
) -> list[ComparedParameter]:
    """Every parameter, first of all models that share its name, then model by model."""
    values = _values(estimates, labels, models)
    found = []
    for name, value in values.items():
        known = np.isfinite(value)
        weight = np.where(known, probability, 0.0)
        total = weight.sum(axis=1)
        mean = (weight * np.where(known, value, 0.0)).sum(axis=1)
        mean = np.divide(mean, total, out=np.zeros_like(mean), where=total > 0)
        if known.any(axis=0).sum() > 1:
            found.append(ComparedParameter(name, None, mean, total))
        for m, model in enumerate(models):
            if known[:, m].any():
                own = np.where(known[:, m], value[:, m], 0.0)
                found.append(ComparedParameter(name, model, own, weight[:, m]))
    return found


def _values(
    estimates: pl.DataFrame, labels: pl.DataFrame, models: tuple[str, ...]
) -> dict[str, Floats]:
    """The mean over informed cells, fitted on as many trials as were: [sequence, model]."""
    keys = [name for name in labels.columns if name in estimates.columns]
    numbered = labels.select(keys).with_row_index("_sequence")
    place = pl.DataFrame({"model": models, "_model": np.arange(len(models))})
    informed = estimates.with_columns(pl.col("model").cast(pl.String)).filter(
        ~pl.col("status").is_in(UNINFORMED) & pl.col("estimate").is_finite()
    )
    rows = (
        informed.join(numbered, on=keys, nulls_equal=True)
        .join(place, on="model")
        .filter(pl.col("trials_fitted") == pl.col("trials_fitted").max().over("_sequence"))
        .group_by("parameter", "_sequence", "_model", maintain_order=True)
        .agg((pl.col("estimate") / SCALE).arcsinh().mean().alias("value"))
    )
    found: dict[str, Floats] = {}
    for (name,), mine in rows.group_by("parameter", maintain_order=True):
        table = np.full((len(labels), len(models)), np.nan)
        table[mine["_sequence"].to_numpy(), mine["_model"].to_numpy()] = mine["value"].to_numpy()
        found[str(name)] = table
    return found


def rate(
    parameter: ComparedParameter,
    groups: Groups,
    resamples: int,
    permutations: int,
    random: np.random.Generator,
) -> Rate | None:
    """Compare the two groups; nothing where one of them has too few learners."""
    value, weight = parameter.value, parameter.weight
    member = np.stack([groups.code == g for g in (0, 1)]).astype(np.float64)
    counts = member @ weight
    if counts.min() < ENOUGH - 1e-9:
        return None
    means = _means(member, value, weight)
    drawn = np.concatenate(
        [_difference(times * member[0], times * member[1], value, weight)
         for times in resampled(groups, resamples, random)]
    )  # fmt: skip
    observed = means[0] - means[1]
    lower, upper = interval(drawn[np.isfinite(drawn)][:, None], np.array([observed]))
    others = np.concatenate(
        [_difference(codes == 0, codes == 1, value, weight)
         for codes in dealt(groups, permutations, random)]
    )  # fmt: skip
    p, error = p_value(abs(observed), np.abs(others), 1e-9)
    return Rate(
        parameter.parameter,
        parameter.model,
        groups.names[0],
        groups.names[1],
        float(counts[0]),
        float(counts[1]),
        typical(means[0]),
        typical(means[1]),
        float(observed),
        float(lower[0]),
        float(upper[0]),
        p,
        error,
    )


def _means(member: Floats, value: Floats, weight: Floats) -> Floats:
    total = member @ weight
    return np.divide(
        member @ (weight * value), total, out=np.full(len(member), np.nan), where=total > 0
    )


def _difference(a: np.ndarray, b: np.ndarray, value: Floats, weight: Floats) -> Floats:
    first, second = (_means(m.astype(np.float64), value, weight) for m in (a, b))
    return first - second
