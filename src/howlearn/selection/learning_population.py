"""A population: who uses which model, and where its learning rates lie, from all learners."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints
from howlearn.core.study import Study
from howlearn.models.model import Model
from howlearn.selection.em import Estimated, estimate
from howlearn.selection.hierarchy import LARGEST, SMALLEST, Hyper, RateGroup, groups_of, median_rate
from howlearn.selection.mixture_shares import Shares, mixture_shares
from howlearn.selection.other_partitions import can_have_other, log_evidence_other
from howlearn.selection.random_effects import random_effects
from howlearn.selection.rate_grid import Curves, curves_of, in_blocks, on_grid, plan_of

SAMPLE = 500  # learners from whom the distribution of rates is estimated, if there are more
BLOCK = 500  # learners whose curves are held at once
CLEANING = 2  # times that learners of other partitions are kept from the rates' distribution
FOLDS = 20  # groups of learners who are left out together
SEED = 0  # of who is in the sample, and of folds
RESAMPLING = (0, 1)  # the same learners as in the table of all criteria's shares
RESAMPLES = 200
WITH_OTHER = 20_000  # learners up to whom p_other is told though Other does not compete

Progress = Callable[[int, int], None]
Fixed = Callable[[Study], Floats]  # the evidence of models in no group, NaN for the others


@dataclass(frozen=True)
class Rates:
    """The distribution of the rates of some models."""

    models: tuple[str, ...]
    hyper: Hyper
    median: float = 0.0  # of all cells of all learners

    @property
    def at_limits(self) -> str:
        """Spreads that lie where the search ends, in words; usually nothing."""
        ends = []
        for name, value in (("learners", self.hyper.tau), ("cells", self.hyper.s)):
            if 0.0 < value <= SMALLEST * 1.001:
                ends.append(f"{name}: {SMALLEST:g} or less")
            if value >= LARGEST * 0.999:
                ends.append(f"{name}: {LARGEST:g} or more")
        return ", ".join(ends)


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from all learners; knows their evidence again by their records."""

    models: tuple[Model, ...]
    rates: tuple[Rates, ...]
    shares: Shares  # of the candidates
    expected: Floats  # the shares that scores take: never 0, however few the learners are
    log_evidence: Floats  # [learner, model]
    n_sampled: int
    prints: NDArray[np.uint64] = field(repr=False)  # of the learners' records
    with_other: Shares | None = None  # of the candidates, and Other
    expected_with_other: Floats | None = None
    log_other: Floats | None = None  # [learner]
    other: Rates | None = None  # of the partitions that are not listed, and what is listed
    gain: float = 0.0  # nats by which rates of its own for every model explain the learners better
    price: float = 0.0  # nats that their additional numbers cost
    rival: Learned | None = None  # where that matters: the other answer
    folds: tuple[Learned, ...] = ()  # each learned from the other learners
    fold_of: Ints | None = None  # [learner]

    def rows_of(self, study: Study) -> Ints:
        """Where these learners stand among those learned from; −1 for others."""
        mine = prints_of(study)
        order = np.argsort(self.prints, kind="stable")
        at = np.searchsorted(self.prints[order], mine)
        at = np.minimum(at, len(order) - 1)
        return np.where(self.prints[order][at] == mine, order[at], -1)


def prints_of(study: Study) -> NDArray[np.uint64]:
    """A hash of every learner's record."""
    return np.concatenate([np.empty(0, np.uint64), *(_prints(part) for part in study.parts())])


def _prints(study: Study) -> NDArray[np.uint64]:
    columns = [study.context, study.action, study.reward, study.scored, study.learned, study.reset]
    columns += [] if study.offered is None else [study.offered]
    same = repr((study.contexts, study.actions, study.reward_range)).encode()
    found = np.empty(len(study), np.uint64)
    for i in range(len(study)):
        mine = slice(int(study.starts[i]), int(study.starts[i + 1]))
        digest = hashlib.blake2b(same, digest_size=8)
        for column in columns:
            digest.update(np.ascontiguousarray(column[mine]).tobytes())
        found[i] = np.frombuffer(digest.digest(), np.uint64)[0]
    return found


def learn(
    study: Study,
    models: Sequence[Model],
    fixed: Fixed,
    per_model: bool = False,
    independent: bool = False,
    everyone: bool = True,
    compare: bool = True,
    resamples: int = RESAMPLES,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Learned:
    """Shares and rates from all learners; the rates' distribution from at most ``SAMPLE``.

    ``everyone`` says whether partitions that are not listed are looked at for all learners,
    ``compare`` whether shared rates are compared with rates of its own for every model.
    """
    sample = _sample(study)
    curves = curves_of(sample, plan_of(models, study), threads)
    shared, separate = (_groups(models, curves, each) for each in (False, True))
    known = np.nan_to_num(fixed(sample), nan=0.0)
    found = estimate(shared, known, independent=independent)
    beyond = max(shared, key=lambda group: len(group.models)) if shared else None
    if beyond is not None and not can_have_other(beyond.models, study):
        beyond = None
    if beyond is not None:
        found, known = _cleaned(sample, beyond, shared, known, found, independent, threads)
    answers = {False: (shared, found)}
    gain = price = 0.0
    if len(separate) > len(shared) and (compare or per_model):
        apart = _apart(separate, shared, known, found, independent)
        gain = apart.objective - found.objective
        each = 2 if independent else 3
        price = 0.5 * each * (len(separate) - len(shared)) * np.log(len(sample))
        answers[True] = (separate, apart)
    per_model = per_model and True in answers
    log_other = beside = None
    if beyond is not None and everyone:
        hyper = found.hypers[shared.index(beyond)]
        nodes = curves.nodes[beyond.rules[0]]
        log_other = log_evidence_other(study, beyond.models, nodes, hyper, threads, progress)
        beside = Rates(tuple(m.name for m in beyond.models), hyper)
    about = _Answers(study, tuple(models), len(sample), curves, fixed, resamples, threads)
    same = {"log_other": log_other, "other": beside, "gain": gain, "price": price}
    chosen = about.learned(*answers[per_model], **same)
    if gain > price:
        chosen = replace(chosen, rival=about.learned(*answers[not per_model], **same))
    return chosen


def _sample(study: Study) -> Study:
    """The learners from whom the distribution of rates is estimated."""
    if len(study) <= SAMPLE:
        return study
    return study.take(np.sort(np.random.default_rng(SEED).permutation(len(study))[:SAMPLE]))


def _apart(
    separate: Sequence[RateGroup],
    shared: Sequence[RateGroup],
    known: Floats,
    found: Estimated,
    independent: bool,
) -> Estimated:
    """The estimate with rates of its own for every model."""
    apart = estimate(separate, known, independent=independent)
    if apart.objective < found.objective + 1.0:  # a top lower than the shared one: from there
        start = _spread_over(separate, shared, found), found.shares
        again = estimate(separate, known, start, independent)
        apart = max(apart, again, key=lambda each: each.objective)
    return apart


@dataclass(frozen=True, eq=False)
class _Answers:
    """What is learned with shared rates, or with rates of its own for every model."""

    study: Study
    models: tuple[Model, ...]
    n_sampled: int
    curves: Curves
    fixed: Fixed
    resamples: int
    threads: int | None

    def learned(
        self, groups: Sequence[RateGroup], found: Estimated, log_other: Floats | None, **more: Any
    ) -> Learned:
        """Shares and rates, given the estimate of the groups."""
        rates = tuple(
            Rates(
                tuple(m.name for m in group.models),
                hyper,
                median_rate(self.curves.nodes[group.rules[0]], hyper),
            )
            for group, hyper in zip(groups, found.hypers, strict=True)
        )
        log_evidence = found.log_evidence[:, : len(self.models)]
        if len(self.study) > self.n_sampled:
            log_evidence = evidence_of(self.study, self.models, rates, self.fixed, self.threads)
        both = expected_both = None
        if log_other is not None:
            columns = np.column_stack([log_evidence, log_other])
            both = self._shares(columns)
            expected_both = random_effects(columns).expected
        return Learned(
            self.models,
            rates,
            self._shares(log_evidence),
            random_effects(log_evidence).expected,
            log_evidence,
            self.n_sampled,
            prints_of(self.study),
            both,
            expected_both,
            log_other,
            **more,
        )

    def _shares(self, log_evidence: Floats) -> Shares:
        owner = np.unique(np.array(self.study.learners), return_inverse=True)[1]
        return mixture_shares(log_evidence, self.resamples, RESAMPLING, owner)


def learn_from_others(
    study: Study, whole: Learned, progress: Progress | None = None, **options: Any
) -> Learned:
    """``whole`` with every learner judged by what was learned from the other learners.

    Learners are left out together in at most ``FOLDS`` groups.
    """
    n = len(study)
    folds = min(FOLDS, n)
    fold_of = np.random.default_rng(SEED).permutation(n) % folds
    parts = []
    for k in range(folds):
        rest = study.take(np.flatnonzero(fold_of != k))
        parts.append(
            learn(rest, whole.models, everyone=False, compare=False, resamples=0, **options)
        )
        if progress:
            progress((k + 1) * n // folds, n)
    return replace(whole, folds=tuple(parts), fold_of=fold_of)


def evidence_of(
    study: Study,
    models: Sequence[Model],
    rates: Sequence[Rates],
    fixed: Fixed,
    threads: int | None = None,
) -> Floats:
    """[learner, model], given the distribution of the rates."""
    out = np.empty((len(study), len(models)))
    names = [model.name for model in models]
    for mine, curves in in_blocks(study, plan_of(models, study), BLOCK, threads):
        out[mine] = fixed(study.part(mine.start, mine.stop))
        for part in rates:
            columns = tuple(names.index(name) for name in part.models)
            chosen = tuple(m for k in columns if on_grid(m := models[k]))
            out[mine, columns] = RateGroup(chosen, columns, curves).log_evidence(part.hyper)
    return out


def _groups(models: Sequence[Model], curves: Curves, per_model: bool) -> list[RateGroup]:
    chosen = [(k, m) for k, m in enumerate(models) if on_grid(m)]
    return groups_of([m for _, m in chosen], [k for k, _ in chosen], curves, per_model)


def _cleaned(
    sample: Study,
    beyond: RateGroup,
    groups: Sequence[RateGroup],
    known: Floats,
    found: Estimated,
    independent: bool,
    threads: int | None,
) -> tuple[Estimated, Floats]:
    """Rates of those who use one of the candidates, however many use other partitions.

    Other takes part in the estimation with the evidence it has at the rates found so far; that
    evidence stands in a last column.
    """
    nodes, n = beyond.curves.nodes[beyond.rules[0]], known.shape[1]
    for _ in range(CLEANING):
        hyper = found.hypers[[*groups].index(beyond)]
        column = log_evidence_other(sample, beyond.models, nodes, hyper, threads)
        known = np.column_stack([known[:, :n], column])
        shares = np.append(0.9 * found.shares[:n] / max(found.shares[:n].sum(), 1e-300), 0.1)
        start = found.hypers, 0.99 * shares + 0.01 / (n + 1)
        found = estimate(groups, known, start, independent)
    return found, known


def _spread_over(
    separate: Sequence[RateGroup], shared: Sequence[RateGroup], found: Estimated
) -> tuple[Hyper, ...]:
    """For every model the distribution of the group that it is in."""
    of = {m.name: h for g, h in zip(shared, found.hypers, strict=True) for m in g.models}
    return tuple(of[group.models[0].name] for group in separate)
