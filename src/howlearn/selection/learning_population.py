"""A population: who uses which model, and where parameters lie, from all learners of a study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints, log_sum
from howlearn.core.rule import MAX_RATE, Rule
from howlearn.core.study import Study
from howlearn.models.model import Model
from howlearn.selection import clouds
from howlearn.selection.hierarchy import Hyper
from howlearn.selection.learned import Learned, prints_of
from howlearn.selection.other_partitions import can_have_other, log_evidence_other
from howlearn.selection.population_tables import Layout, Tables
from howlearn.selection.rate_grid import log_rates, on_grid
from howlearn.selection.sampler import (
    LOCATION,
    OFFSETS,
    SWEEPS,
    Apart,
    Chain,
    Fitted,
    Options,
    Posterior,
    State,
    answered,
    fitted_to,
    judged,
    prior_of,
    share_interval,
    spread_of,
    start,
)
from howlearn.selection.tables import conditions

SAMPLE = 500  # learners from whom hyperparameters and shares are drawn, if there are more
BLOCK = 500  # learners whose tables are held at once
RENEWALS = 2  # times that clouds get points where the population lies
SEED = 0  # of the chains
WITH_OTHER = 20_000  # learners up to whom p_other is told though Other does not compete
FEWEST_ALIKE = 5  # sequences under a condition that make a population
CLEAR = 0.88  # a probability: two nats ahead of all others
LOST = 0.5  # a winner that falls below this under another bound or prior is withheld
MOST_LOST = 0.35  # a share of clear winners; if more are lost, all are withheld
BOUND = 5.0  # times the largest rate: what the answer is tried with
WIDTHS = (0.5, 2.0)  # times the prior width of locations
FEWER, FEWER_BURN = 600, 100  # sweeps of these, and of those that go on where others stopped

Progress = Callable[[int, int], None]
Fixed = Callable[[Study], Floats]  # the evidence of models in no family and without a cloud


def conditions_of(study: Study) -> tuple[tuple[str, ...], Ints]:
    """Conditions of the same learners, which may differ in everything; and that of each sequence.

    A condition with very few sequences tells nothing about a population: then all are one.
    """
    one = ("",), np.zeros(len(study), np.int64)
    found = conditions(study.labels)
    if found is None:
        return one
    names, code = np.unique(found.to_numpy(), return_inverse=True)
    if np.bincount(code).min() < FEWEST_ALIKE:
        return one
    return tuple(str(name) for name in names), code.astype(np.int64)


def fitted(
    study: Study,
    layout: Layout,
    fixed: Floats,
    group: Ints,
    options: Options,
    threads: int | None = None,
) -> Fitted:
    """Tables whose clouds know where the population lies."""
    tables = Tables.of(study, layout, fixed, threads)
    for _ in range(RENEWALS if layout.clouds else 0):
        prior, state = prior_of(tables)
        best = start(tables, prior, state, group, replace(options, apart=False))[0]
        tables = tables.renewed(best.mean[:, group], best.variance[:, group])
    return fitted_to(tables, group, options)


def options_of(per_model: bool = False, independent: bool = False, seed: int = SEED) -> Options:
    """What the options of the criterion mean."""
    offsets = OFFSETS[-1:] if per_model else OFFSETS
    return Options(offsets=offsets, free_width=not independent, seed=seed)


def learn(
    study: Study,
    models: Sequence[Model],
    fixed: Fixed,
    options: Options | None = None,
    everyone: bool = True,
    thorough: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Learned:
    """Shares, probabilities and populations; from at most ``SAMPLE`` learners, then of all.

    ``everyone`` says whether partitions that are not listed are looked at for all learners,
    ``thorough`` whether other bounds and priors are tried.
    """
    options = options or Options()
    groups, code = conditions_of(study)
    prints = prints_of(study)
    which = np.argsort(prints, kind="stable")[:SAMPLE]  # whatever the order of the learners
    sample, group = study.take(which), code[which]
    layout = Layout.of(models, study)
    found = fitted(sample, layout, fixed(sample), group, options, threads)
    other = _Other.of(layout, study, found.starts[0]) if everyone else None
    if other is not None:
        found = _with_other(found, other.evidence(sample, threads, progress))
    answer = answered(found, threads)
    others = _variants(sample, layout, found, answer, threads) if thorough else []
    variants = [(each.doubt, each.answer.probability) for each in others]
    told = _Told(layout, answer, variants).of(np.argsort(which))
    if len(which) < len(study):
        given = study, code, fixed, other, answer, others
        told = _of_all(layout, *given, threads, progress)
    return _learned(prints, groups, code, layout, found, answer, told, len(which))


@dataclass(frozen=True)
class _Other:
    """Partitions that are not listed, as one candidate, at rates as the listed ones have them."""

    models: tuple[Any, ...]
    nodes: Floats
    hyper: Hyper

    @classmethod
    def of(cls, layout: Layout, study: Study, state: State) -> _Other | None:
        """None where there is no such candidate."""
        if not layout.rated:
            return None
        f = int(np.bincount(layout.family).argmax())
        mine = [k for k, g in zip(layout.rated, layout.family, strict=True) if g == f]
        models = tuple(m for k in mine if on_grid(m := layout.models[k]))
        if not can_have_other(models, study):
            return None
        rule = models[0].units[0].rule
        assert isinstance(rule, Rule)
        nodes = log_rates(rule, max(abs(value) for value in study.reward_range))
        centre, width = state.centre[f].mean(), state.width[f].mean()
        hyper = Hyper(float(centre), float(width), spread_of(float(state.spread[f])))
        return cls(models, nodes, hyper)

    def evidence(
        self, study: Study, threads: int | None = None, progress: Progress | None = None
    ) -> Floats:
        return log_evidence_other(study, self.models, self.nodes, self.hyper, threads, progress)


def _with_other(found: Fitted, column: Floats) -> Fitted:
    """With Other competing, so that those who use it do not bend what the others are like."""
    tables = found.tables.with_fixed(column)
    n = tables.scale.shape[1]
    state = replace(found.state, shares=np.full((1, n), 1.0 / n))
    return replace(found, tables=tables, state=state)


class _Variant(NamedTuple):
    """The answer under another assumption."""

    doubt: int  # place among DEPENDS
    layout: Layout
    answer: Posterior


def _variants(
    study: Study, layout: Layout, found: Fitted, answer: Posterior, threads: int | None
) -> list[_Variant]:
    """The answer with rates up to BOUND times the largest, and with other widths of the prior.

    The chains of these are long enough if they agree on the winners of the answer.
    """
    options = replace(found.options, sweeps=FEWER, longest=SWEEPS)
    results, apart = [], on_winners(answer, len(layout.models))
    if layout.rated:
        wide = widened(layout)
        again = fitted_to(found.tables.under(study, wide, threads), found.group, options)
        results.append(_Variant(1, wide, answered(again, threads, apart=apart)))
    options = replace(options, burn=FEWER_BURN)
    for times in WIDTHS:
        again = found.again(options, times * LOCATION, answer.ends)
        results.append(_Variant(2, layout, answered(again, threads, apart=apart)))
    return results


def on_winners(answer: Posterior, n: int) -> Apart:
    """How much chains differ in the probability of clear winners: the root of the mean square.

    More is not asked of a repeat: it says which of them fall below LOST.
    """
    main = _listed(answer.probability, n)
    best = main.argmax(axis=1)
    won = np.flatnonzero(main.max(axis=1) > CLEAR)

    def apart(chains: Sequence[Chain]) -> float:
        first, second = (_listed(chain.probability, n)[won, best[won]] for chain in chains)
        return float(np.sqrt(np.mean((first - second) ** 2))) if len(won) else 0.0

    return apart


def widened(layout: Layout) -> Layout:
    """The same models with larger rates allowed."""
    models = list(layout.models)
    for k in layout.rated:
        largest = max(unit.rule.parameters[0].upper for unit in models[k].units)
        models[k] = models[k].with_max_rate(min(BOUND * largest, MAX_RATE))
    return replace(layout, models=tuple(models))


@dataclass(frozen=True, eq=False)
class _Told:
    """What is known of every learner: columns as in the tables, Other last if it is there."""

    layout: Layout
    answer: Posterior
    variants: list[tuple[int, Floats]]  # doubts, and probabilities under other assumptions

    def of(self, order: Ints) -> _Told:
        """The same of learners in another order."""
        found = (each[order] for each in (self.probability, self.evidence))
        answer = replace(self.answer, **dict(zip(("probability", "evidence"), found, strict=True)))
        return _Told(self.layout, answer, [(doubt, p[order]) for doubt, p in self.variants])

    @property
    def probability(self) -> Floats:
        return self.answer.probability

    @property
    def evidence(self) -> Floats:
        return self.answer.evidence


def _of_all(
    layout: Layout,
    study: Study,
    code: Ints,
    fixed: Fixed,
    other: _Other | None,
    answer: Posterior,
    variants: list[_Variant],
    threads: int | None,
    progress: Progress | None,
) -> _Told:
    """Every learner judged by draws from the sample, block by block."""
    parts: list[list[Floats]] = []
    for first in range(0, len(study), BLOCK):
        mine = slice(first, min(first + BLOCK, len(study)))
        part, group = study.part(mine.start, mine.stop), code[mine]
        judge = _Judge(layout, answer.hyper, answer.kept_shares, other)
        tables = judge.tables(part, group, fixed(part), threads)
        found = [*judged(tables, group, answer.hyper, answer.kept_shares)]
        for _, lay, each in variants:
            use = tables if lay is layout else tables.under(part, lay, threads)
            found.append(judged(use, group, each.hyper, each.kept_shares)[0])
        parts.append(found)
        if progress:
            progress(mine.stop, len(study))
    probability, evidence, *others = (np.concatenate(each) for each in zip(*parts, strict=True))
    again = [(each.doubt, p) for each, p in zip(variants, others, strict=True)]
    return _Told(layout, replace(answer, probability=probability, evidence=evidence), again)


@dataclass(frozen=True, eq=False)
class _Judge:
    """How tables of other learners are made, where the population is known."""

    layout: Layout
    hyper: tuple[np.ndarray, ...]
    shares: Floats
    other: _Other | None

    def tables(self, study: Study, group: Ints, fixed: Floats, threads: int | None) -> Tables:
        tables = Tables.of(study, self.layout, fixed, threads)
        mean, variance = (self.hyper[k].mean(axis=0) for k in (4, 5))
        if self.layout.clouds:
            tables = tables.renewed(mean[:, group], variance[:, group])
        if self.other is not None:
            tables = tables.with_fixed(self.other.evidence(study, threads))
        return tables


def judge_others(
    known: Learned, study: Study, fixed: Fixed
) -> tuple[Floats, Floats, Floats | None, Ints]:
    """Log-evidence, probabilities, p_other and conditions of learners who were not learned from."""
    layout = Layout.of(known.models, study)
    other = None
    if known.log_other is not None:
        state = State(
            known.hyper[2].mean(axis=0), known.centre, known.width, known.offset, known.mean,
            known.variance, known.share,
        )  # fmt: skip
        other = _Other.of(layout, study, state)
    group = np.zeros(len(study), np.int64)
    names, code = conditions_of(study)
    if len(known.groups) > 1:
        place = {name: g for g, name in enumerate(known.groups)}
        group = np.array([place.get(names[c], 0) for c in code], np.int64)
    judge = _Judge(layout, known.hyper, known.drawn, other)
    tables = judge.tables(study, group, fixed(study), None)
    told = judged(tables, group, known.hyper, known.drawn)
    shares = known.drawn.mean(axis=0)[group]
    return *_in_order(layout, *told, shares, known.share[group]), group


def _in_order(
    layout: Layout, probability: Floats, evidence: Floats, shares: Floats, listed_shares: Floats
) -> tuple[Floats, Floats, Floats | None]:
    """Log-evidence and probability of the candidates in their order, and p_other.

    The log-evidence is that which, with ``listed_shares`` [learner, candidate], gives these
    probabilities; ``shares`` are those of the tables' columns.
    """
    n = len(layout.models)
    log_shares = np.log(shares)
    total = log_sum(log_shares + evidence)[:, None]
    plain = log_shares + evidence - total
    with np.errstate(divide="ignore"):
        log_p = np.where(probability > 1e-200, np.log(probability), np.minimum(plain, -460.0))
    p_other = probability[:, n] if probability.shape[1] > n else None
    listed = log_p[:, :n] - log_sum(log_p[:, :n])[:, None]
    back = np.argsort(layout.order)
    among = np.log(listed_shares[:, layout.order])
    inside = log_sum(among + evidence[:, :n])[:, None]
    found = listed - among + inside
    return found[:, back], np.exp(listed)[:, back], p_other


def _learned(
    prints: NDArray[np.uint64],
    groups: tuple[str, ...],
    code: Ints,
    layout: Layout,
    found: Fitted,
    answer: Posterior,
    told: _Told,
    n_sampled: int,
) -> Learned:
    n = len(layout.models)
    back = np.argsort(layout.order)
    draws = answer.shares
    listed = draws[:, :, :n] / draws[:, :, :n].sum(axis=2, keepdims=True)
    share = listed.mean(axis=0)
    evidence, probability, p_other = _in_order(
        layout, told.probability, told.evidence, draws.mean(axis=0)[code], share[:, back][code]
    )
    lower, upper = share_interval(listed[:, :, back], code)
    more: dict[str, Any] = {}
    if p_other is not None:
        order = [*back, n]
        table = np.stack([draws.mean(axis=0), *share_interval(draws, code)])[:, :, order]
        more = {"log_other": told.evidence[:, n], "p_other": p_other, "with_other": table}
    centre, width, spread, offset, mean, variance = (each.mean(axis=0) for each in answer.hyper)
    return Learned(
        layout.models,
        groups,
        code,
        prints,
        share[:, back],
        lower,
        upper,
        evidence,
        probability,
        _depends(told, n),
        centre,
        width,
        np.array([spread_of(float(place)) for place in spread]),
        offset,
        _effective(found, layout, answer),
        answer.difference,
        answer.sweeps,
        n_sampled,
        answer.hyper,
        answer.kept_shares,
        mean,
        variance,
        **more,
    )


def _listed(probability: Floats, n: int) -> Floats:
    """Of the candidates only, without Other."""
    mine = probability[:, :n]
    return mine / np.maximum(mine.sum(axis=1, keepdims=True), 1e-300)


def _depends(told: _Told, n: int) -> NDArray[np.int64]:
    """Whose clear winner is lost under another bound, or another prior."""
    main = _listed(told.probability, n)
    best = main.argmax(axis=1)
    clear = main.max(axis=1) > CLEAR
    found = np.zeros(len(main), np.int64)
    for doubt, variant in told.variants:
        again = np.take_along_axis(_listed(variant, n), best[:, None], axis=1)[:, 0]
        lost = again < LOST
        if clear.any() and (lost & clear).sum() > MOST_LOST * clear.sum():
            lost = np.ones_like(lost)
        found = np.where((found == 0) & lost, doubt, found)
    return found


def _effective(found: Fitted, layout: Layout, answer: Posterior) -> Floats:
    """Points that each model's cloud is worth where the population lies: median and least."""
    out = np.full((len(layout.models), 2), np.nan)
    mean, variance = (answer.hyper[k].mean(axis=0).mean(axis=1) for k in (4, 5))
    for j, k in enumerate(layout.clouds):
        cloud = found.tables.clouds[j]
        n, _, d = cloud.points.shape
        m, v = (np.broadcast_to(each[j, :d], (n, d)) for each in (mean, variance))
        each = clouds.effective(found.tables.log_weight(j), cloud.points, m, v)
        each = each[np.isfinite(each)]
        out[k] = (np.median(each), each.min()) if len(each) else 0.0
    return out
