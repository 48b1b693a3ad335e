"""Evidence with what all learners of a study tell about parameters and models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.fit import fit, guarded_fit
from howlearn.fitting.fits import ALL, Fits
from howlearn.fitting.unfittable import Guard
from howlearn.models.model import Model, own
from howlearn.selection.criterion import (
    LOG_EVIDENCE,
    Criterion,
    Likelihoods,
    Progress,
    Scores,
    Told,
)
from howlearn.selection.evidence import chance_evidence, log_evidence_without_grid, with_trials
from howlearn.selection.learned import DEPENDS, Learned, as_table, from_table, prints_of
from howlearn.selection.learning_population import (
    SAMPLE,
    WITH_OTHER,
    Fixed,
    judge_others,
    learn,
    options_of,
)
from howlearn.selection.population_tables import SPREADS, Layout

FEWEST = 10  # learners who can tell something about a population
FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, repr=False)
class Population(Criterion):
    """log of a model's share times the likelihood averaged over where learners' parameters lie.

    Shares of the models and the distributions of their parameters are learned together from all
    learners, with all doubt about them. Models of one rule share the distribution of their log
    rates, which are normal around a mean of the learner's own, that of a model being offset by as
    much as the learners suggest. Any other model has a distribution for each of its parameters.

    per_model: offsets between models of one rule may be large, however few learners suggest it.
    independent: learners differ by chance only, τ = 0.1.
    leave_one_out: as always: what a learner's own record says about the others is not counted
    twice, since its probabilities rest on what the others say and on its record once.
    other: partitions that are not listed compete as one candidate, Other. The probability of that,
    ``p_other``, is told in any case; it covers partitions of the same rule only.

    >>> Population(), Population(per_model=True)
    (population, population(per_model=true))
    """

    per_model: bool = False
    independent: bool = False
    leave_one_out: bool = False
    other: bool = False
    learned: Learned | None = field(default=None, compare=False)  # pyright: ignore[reportIncompatibleVariableOverride]
    name = "population"
    title = "log of share times likelihood averaged over the parameters of all learners"
    example = "population(per_model=true)"
    cites = ("stephan2009",)
    gives_probabilities = True
    evidence = LOG_EVIDENCE
    places = (("select", 1), ("path", 5))
    fewest = FEWEST
    learns = True

    def __post_init__(self) -> None:
        for option in ("per_model", "independent", "leave_one_out", "other"):
            given = getattr(self, option)
            flag = FLAGS.get(given.lower()) if isinstance(given, str) else given
            if flag not in (True, False):
                raise HowlearnError(f"{option} must be true or false, got {given}")
            object.__setattr__(self, option, bool(flag))

    @property
    def flags(self) -> list[str]:
        """The options that are on."""
        every = ("per_model", "independent", "leave_one_out", "other")
        return [option for option in every if getattr(self, option)]

    def __repr__(self) -> str:
        flags = ", ".join(f"{flag}=true" for flag in self.flags)
        return f"population({flags})" if flags else "population"

    @property
    def key(self) -> str:
        return "_".join(["population", *self.flags])

    def check(self, study: Study) -> None:
        if len(study) < 2:
            raise HowlearnError(
                "a population needs at least two learners; the criterion for one learner alone is "
                "evidence"
            )

    def learn(
        self,
        study: Study,
        models: Sequence[Model],
        fits: Fits | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        thorough: bool = True,
    ) -> Population:
        """A criterion that knows the population of this study, and can judge any learner.

        Unless it is ``thorough``, it selects the same but does not know whether the answer depends
        on the largest rate or on the prior.
        """
        if self.learned is not None:
            return self
        if fits is None:
            study, fixed = _beforehand(study, models, threads)
        else:
            fixed = _of_fits(fits, models, [*Layout.of(models, study).fixed])
        self.check(study)
        found = learn(
            study,
            models,
            fixed,
            options_of(self.per_model, self.independent),
            everyone=self.other or len(study) <= WITH_OTHER,
            thorough=thorough,
            threads=threads,
            progress=progress,
        )
        return replace(self, learned=found)

    def knowledge(self) -> pl.DataFrame | None:
        return None if self.learned is None else as_table(self.learned)

    def knowing(self, knowledge: pl.DataFrame, models: Sequence[Model]) -> Population:
        return replace(self, learned=from_table(knowledge, models))

    def scores(self, fits: Likelihoods) -> Scores:
        fits = with_trials(fits, self)
        if self.learned is None:
            return self.learn(fits.study, fits.models, fits).scores(fits)
        known = self.learned
        if [m.name for m in known.models] != [*fits.of]:
            raise HowlearnError(
                "the population was learned with other candidates: "
                f"{', '.join(m.name for m in known.models)}"
            )
        evidence, probability, p_other, group, depends = judged(known, fits)
        log_shares, outside = np.log(known.share)[group], None
        if p_other is not None and self.other:
            assert known.with_other is not None
            log_shares = np.log(known.with_other[0])[group]
            with np.errstate(divide="ignore"):
                log_p = np.log(np.maximum(p_other, 1e-300)), np.log1p(-np.minimum(p_other, 1.0))
            # Scores whose differences are those of the logs of the probabilities.
            listed = np.log(known.share)[group] + evidence
            top = np.logaddexp.reduce(listed, axis=1)
            evidence = listed + np.maximum(log_p[1], -700.0)[:, None] - log_shares[:, :-1]
            other, price = (log_p[0] + top - log_shares[:, -1])[:, None], -log_shares[:, -1:]
            outside = Scores(fits.n_scored, other, price, None, p_other[:, None])
            log_shares = log_shares[:, :-1]
            probability = probability * (1.0 - p_other[:, None])
        doubts = tuple(DEPENDS[word] for word in depends)
        return Scores(
            fits.n_scored, evidence, -log_shares, None, probability, p_other, outside, doubts
        )

    def of_nobody(self, n_models: int) -> Scores:
        found, known = super().of_nobody(n_models), self.learned
        if known is None or known.p_other is None:
            return found
        column = np.empty((0, 1))
        other = Scores(found.n_trials, column, column, None, column) if self.other else None
        return replace(found, p_other=np.empty(0), outside=other)

    def chance(self, fits: Likelihoods, scores: Scores) -> Floats:
        """As if not learning were as common as the model selected."""
        best = np.argmax(scores.score, axis=1)
        share = -np.take_along_axis(scores.penalty, best[:, None], axis=1)[:, 0]
        return chance_evidence(with_trials(fits, self).study) + share

    def sentences(self, told: Told) -> Iterator[str]:
        yield (
            f"The criterion {self!r} was the log of a model's share times the likelihood averaged "
            "over its parameters; shares and the distributions of parameters were learned from "
            f"{told.everybody} together by Markov chain Monte Carlo (two chains){self.citation}. "
            "Log rates of partition models were normal around a mean of the learner's own, which "
            "was normal in the population with an offset for every model; parameters of other "
            "models were normal on the logit scale between their bounds, with a density that falls "
            "to 0 where a model says the same as a simpler candidate that it contains (on average "
            "over two sizes of this gap). Standard deviations between learners had half-Cauchy "
            "priors, and shares a Dirichlet prior with α = 0.5 (less with more than six models: "
            "3 for all together)."
        )
        if (told.manifest.get("sequences") or 0) > SAMPLE:
            yield (
                f"These distributions were learned from {SAMPLE} of them, drawn at random, and all "
                "were judged by them."
            )
        yield from _told_of_rates(repr(self), told.tables.get("population-rates"))
        yield from _told_of_others(self, told.tables.get("selection"))


def _told_of_rates(name: str, rates: pl.DataFrame | None) -> Iterator[str]:
    """The distribution of rates as it was estimated."""
    needed = {"criterion", "median_rate", "spread_of_learners", "spread_of_cells"}
    if rates is None or not needed <= {*rates.columns}:
        return
    mine = rates.filter(pl.col("criterion") == name)
    if "among" in mine.columns:
        mine = mine.filter(pl.col("among") == "included")
    if mine.height == 1:
        row = mine.row(0, named=True)
        yield (
            f"The estimated median rate was {row['median_rate']:.3g}, with standard deviations of "
            f"log rates of {_spread(row['spread_of_learners'])} between learners and "
            f"{_spread(row['spread_of_cells'])} between the cells of a learner."
        )


def _spread(value: float) -> str:
    at_end = value <= SPREADS[0] * 1.001
    return f"{value:.2f}" + (" or less (the smallest that was considered)" if at_end else "")


def _told_of_others(criterion: Population, selection: pl.DataFrame | None) -> Iterator[str]:
    """On partitions that are not listed, where their probability was computed."""
    if selection is None or not {"criterion", "p_other"} <= {*selection.columns}:
        return
    mine = selection.filter(pl.col("criterion") == repr(criterion))
    if not len(mine["p_other"].drop_nulls()):
        return
    also = " and competed as one more candidate" if criterion.other else ""
    yield (
        "The probability that a learner used a partition that was not listed was computed as well"
        f"{also}; these partitions were weighted by Ewens's sampling formula [@ewens1972]."
    )


def judged(
    known: Learned, fits: Fits
) -> tuple[Floats, Floats, Floats | None, np.ndarray, np.ndarray]:
    """Log-evidence, probabilities, p_other, conditions and doubts of the learners of fits.

    Those of learners who were not learned from are computed.
    """
    rows = known.rows_of(fits.study)
    evidence, probability = known.log_evidence[rows].copy(), known.probability[rows].copy()
    other = None if known.p_other is None else known.p_other[rows].copy()
    group, depends = known.group_of[rows].copy(), known.depends[rows].copy()
    new = np.flatnonzero(rows < 0)
    if len(new):
        part = fits.study.take(new)
        found = judge_others(known, part, _fixed(known.models))
        evidence[new], probability[new], p_new, group[new] = found
        depends[new] = 0
        if other is not None and p_new is not None:
            other[new] = p_new
    return evidence, probability, other, group, depends


def _fixed(models: Sequence[Model], threads: int | None = None) -> Fixed:
    """How the evidence of models without tables is had for some learners."""

    def fixed(study: Study) -> Floats:
        out = np.full((len(study), len(models)), np.nan)
        needed = [*Layout.of(models, study).fixed]
        if not needed:
            return out
        mine = fit(study, [models[k] for k in needed], [ALL], threads)
        for k in needed:
            out[:, k] = log_evidence_without_grid(mine, models[k].name)
        return out

    return fixed


def fixed_evidence(models: Sequence[Model], study: Study, threads: int | None = None) -> Floats:
    """[learner, model]: the evidence of models without tables; NaN for the others."""
    return _fixed(models, threads)(study)


def _beforehand(
    study: Study, models: Sequence[Model], threads: int | None
) -> tuple[Study, Callable[[Study], Floats]]:
    """The study without learners who cannot be fitted; and what ``_fixed`` gives, known already."""
    guard = Guard()
    study = guard.long_enough(study)
    if not len(study):
        return study, _fixed(models, threads)
    layout = Layout.of(models, study)
    needed = [models[k] for k in (*layout.fixed, *(k for k in layout.clouds if own(models[k])))]
    if not needed:
        return study, _fixed(models, threads)
    fits = guarded_fit(guard, study, needed, [ALL], threads)
    return fits.study, _of_fits(fits, models, layout.fixed)


def _of_fits(fits: Fits, models: Sequence[Model], needed: Sequence[int]) -> Fixed:
    """What ``_fixed`` gives, from fits that are there already.

    A learner is known again by name and record, in whatever part of the study it is asked for.
    """
    values = np.full((len(fits.study), len(models)), np.nan)
    for k in needed:
        values[:, k] = log_evidence_without_grid(fits, models[k].name)
    place = {who: i for i, who in enumerate(_who(fits.study))} if needed else {}

    def fixed(some: Study) -> Floats:
        return values[[place[who] for who in _who(some)]] if needed else values[: len(some)]

    return fixed


def _who(study: Study) -> Iterator[tuple[str, int]]:
    return zip(study.learners, prints_of(study).tolist(), strict=True)
