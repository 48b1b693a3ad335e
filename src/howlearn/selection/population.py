"""Evidence with what all learners of a study tell about learning rates and models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.arrays import Floats, log_sum
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.fitting.fit import fit, guarded_fit
from howlearn.fitting.fits import ALL, Fits
from howlearn.fitting.unfittable import Guard
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel
from howlearn.selection.criterion import (
    LOG_EVIDENCE,
    Criterion,
    Likelihoods,
    Progress,
    Scores,
    Told,
)
from howlearn.selection.evidence import chance_evidence, unintegrated, with_trials
from howlearn.selection.hierarchy import SMALLEST, Hyper
from howlearn.selection.learning_population import (
    RESAMPLES,
    SAMPLE,
    WITH_OTHER,
    Learned,
    Rates,
    evidence_of,
    learn,
    learn_from_others,
    prints_of,
)
from howlearn.selection.mixture_shares import Shares
from howlearn.selection.other_partitions import log_evidence_other
from howlearn.selection.rate_grid import log_rates, on_grid

# What was learned from a population as a table, so that a run that was stopped knows it again.


KINDS = ("<f8", "<i8", "<u8")  # of arrays; nothing else is kept, or taken from a file
SHARES = ("share", "lower", "upper", "log_likelihood", "resampled")
ARRAYS = ("expected", "log_evidence", "n_sampled", "prints", "gain", "price")
IF_ANY = ("expected_with_other", "log_other", "fold_of")

Arrays = dict[str, np.ndarray[Any, Any]]


def as_table(learned: Learned) -> pl.DataFrame:
    """One row per array."""
    found = _flat(learned).items()
    arrays = {name: array.astype(array.dtype.newbyteorder("<")) for name, array in found}
    return pl.DataFrame(
        {
            "name": [*arrays],
            "kind": [array.dtype.str for array in arrays.values()],
            "shape": [[*array.shape] for array in arrays.values()],
            "content": [array.tobytes() for array in arrays.values()],
        },
        schema_overrides={"shape": pl.List(pl.Int64), "content": pl.Binary},
    )


def from_table(table: pl.DataFrame, models: Sequence[Model]) -> Learned:
    """What ``as_table`` kept; the models are those that it was learned with."""
    arrays: Arrays = {}
    for row in table.iter_rows(named=True):
        if row["kind"] not in KINDS:
            raise ValueError(f"an array of the type {row['kind']}")
        array = np.frombuffer(row["content"], np.dtype(row["kind"])).reshape(row["shape"])
        arrays[row["name"]] = array.astype(array.dtype.newbyteorder("="))
    return _learned(arrays, tuple(models))


def _flat(learned: Learned, start: str = "") -> Arrays:
    names = [model.name for model in learned.models]
    found: dict[str, Any] = {start + name: getattr(learned, name) for name in ARRAYS}
    found |= {start + n: a for n in IF_ANY if (a := getattr(learned, n)) is not None}
    for k, rates in enumerate(learned.rates):
        found |= _flat_rates(rates, names, f"{start}rates.{k}.")
    if learned.other is not None:
        found |= _flat_rates(learned.other, names, f"{start}other.")
    for name in ("shares", "with_other"):
        shares = getattr(learned, name)
        if shares is not None:
            found |= {f"{start}{name}.{part}": getattr(shares, part) for part in SHARES}
    arrays = {name: np.asarray(value) for name, value in found.items()}
    if learned.rival is not None:
        arrays |= _flat(learned.rival, f"{start}rival.")
    for k, fold in enumerate(learned.folds):
        arrays |= _flat(fold, f"{start}folds.{k}.")
    return arrays


def _flat_rates(rates: Rates, names: list[str], start: str) -> dict[str, Any]:
    hyper = rates.hyper
    return {
        f"{start}models": np.array([names.index(name) for name in rates.models], np.int64),
        f"{start}values": np.array([hyper.mu, hyper.tau, hyper.s, rates.median]),
    }


def _learned(arrays: Arrays, models: tuple[Model, ...]) -> Learned:
    found: dict[str, Any] = {
        name: arrays[name].item() if arrays[name].ndim == 0 else arrays[name]
        for name in (*ARRAYS, *(name for name in IF_ANY if name in arrays))
    }
    if "other.models" in arrays:
        found["other"] = _rates(_inside(arrays, "other."), models)
    for name in ("shares", "with_other"):
        mine = _inside(arrays, f"{name}.")
        if mine:
            value = float(mine.pop("log_likelihood"))
            found[name] = Shares(**mine, log_likelihood=value)
    if rival := _inside(arrays, "rival."):
        found["rival"] = _learned(rival, models)
    folds = [_learned(fold, models) for fold in _numbered(arrays, "folds.")]
    rates = tuple(_rates(each, models) for each in _numbered(arrays, "rates."))
    return Learned(models=models, rates=rates, folds=tuple(folds), **found)


def _rates(arrays: Arrays, models: Sequence[Model]) -> Rates:
    mu, tau, s, median = arrays["values"].tolist()
    names = tuple(models[k].name for k in arrays["models"].tolist())
    return Rates(names, Hyper(mu, tau, s), median)


def _inside(arrays: Mapping[str, np.ndarray[Any, Any]], start: str) -> Arrays:
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}


def _numbered(arrays: Arrays, start: str) -> list[Arrays]:
    found: list[Arrays] = []
    while mine := _inside(arrays, f"{start}{len(found)}."):
        found.append(mine)
    return found


FEWEST = 10  # learners who can tell something about a population
FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, repr=False)
class Population(Criterion):
    """log of a model's share times the likelihood averaged over the population's learning rates.

    Shares and the distribution of rates are estimated together from all learners (empirical Bayes):
    log rates are normal around a mean of the learner's own, which is normal in the population.

    per_model: every model has rates of its own; by default they share one distribution.
    independent: a learner's cells have nothing in common, τ = 0.
    leave_one_out: each learner is judged by what was learned from the others, as the paper's
    hold-out theorem asks.
    other: partitions that are not listed compete as one candidate, Other. The probability of that,
    ``p_other``, is told in any case.

    >>> Population(), Population(per_model=True)
    (population, population(per_model=true))
    """

    per_model: bool = False
    independent: bool = False
    leave_one_out: bool = False
    other: bool = False
    learned: Learned | None = field(default=None, compare=False)  # pyright: ignore[reportIncompatibleVariableOverride]
    name = "population"
    title = "log of share times likelihood averaged over the rates of all learners"
    example = "population(per_model=true)"
    cites = ("stephan2009",)
    gives_probabilities = True
    evidence = LOG_EVIDENCE
    places = (("select", 1), ("path", 5))
    fewest = FEWEST
    comes_first = (
        "ten learners or more tell where learning rates lie, without which fine and coarse "
        "partitions can hardly be told apart"
    )
    learns = True

    def __post_init__(self) -> None:
        for option in ("per_model", "independent", "leave_one_out", "other"):
            given = getattr(self, option)
            flag = FLAGS.get(given.lower()) if isinstance(given, str) else given
            if flag not in (True, False):
                raise HowlearnError(f"{option} is true or false, not {given}")
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

        Unless it is ``thorough``, it selects the same but knows neither the intervals of the shares
        nor whether every model should have rates of its own, which takes most of the time.
        """
        if self.learned is not None:
            return self
        fixed = _fixed(models, fits, threads)
        if fits is None:
            study, fixed = _beforehand(study, models, threads)
        self.check(study)
        options = {"per_model": self.per_model, "independent": self.independent}
        found = learn(
            study,
            models,
            fixed,
            everyone=self.other or len(study) <= WITH_OTHER,
            compare=thorough,
            resamples=RESAMPLES if thorough else 0,
            threads=threads,
            progress=progress,
            **options,
        )
        if self.leave_one_out:
            found = learn_from_others(
                study, found, progress, fixed=fixed, threads=threads, **options
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
        evidence, other = judged(known, fits)
        shares = np.broadcast_to(np.log(known.expected), evidence.shape)
        if known.fold_of is not None:
            evidence, shares = _by_others(known, fits, evidence)
        p_other = outside = None
        if other is not None and known.expected_with_other is not None:
            all_shares = np.log(known.expected_with_other)
            both = np.column_stack([evidence, other]) + all_shares
            p_other = np.exp(both[:, -1] - log_sum(both))
            if self.other:
                if known.fold_of is None:
                    shares = np.broadcast_to(all_shares[:-1], evidence.shape)
                else:
                    shares = shares + np.log1p(-np.exp(all_shares[-1]))
                price = np.full((len(both), 1), -all_shares[-1])
                outside = Scores(fits.n_scored, other[:, None], price, None, p_other[:, None])
        weighed = evidence + shares
        total = log_sum(weighed)
        probability = np.exp(weighed - total[:, None])
        if outside is not None and p_other is not None:
            probability = probability * (1.0 - p_other[:, None])
        return Scores(fits.n_scored, evidence, -shares, None, probability, p_other, outside)

    def of_nobody(self, n_models: int) -> Scores:
        found, known = super().of_nobody(n_models), self.learned
        if known is None or known.log_other is None or known.expected_with_other is None:
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
        own = ", for each model apart" if self.per_model else ""
        effect = (
            "around a mean of the population"
            if self.independent
            else "around a mean of the learner's own, which was normal in the population"
        )
        yield (
            f"The criterion {self!r} was the log of a model's share times the likelihood averaged "
            "over learning rates; shares and the distribution of rates were estimated from "
            f"{told.everybody} together (empirical Bayes), log rates being normal {effect}{own}, "
            f"and the shares entered as expected under a flat Dirichlet prior{self.citation}."
        )
        if (told.manifest.get("sequences") or 0) > SAMPLE:
            yield f"The distribution of rates was estimated from {SAMPLE} of them, drawn at random."
        if self.leave_one_out:
            yield "Each learner was judged by shares and rates learned from the others."
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
    if "rates" in mine.columns and (mine["rates"] == "shared").any():
        mine = mine.filter(pl.col("rates") == "shared")
    if mine.height == 1:
        row = mine.row(0, named=True)
        yield (
            f"The estimated median rate was {row['median_rate']:.3g}, with standard deviations of "
            f"log rates of {_spread(row['spread_of_learners'])} between learners and "
            f"{_spread(row['spread_of_cells'])} between the cells of a learner."
        )


def _spread(value: float) -> str:
    at_end = value <= SMALLEST * 1.001
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
        f"{also}; such partitions were weighted by Ewens's sampling formula [@ewens1972]."
    )


def judged(known: Learned, fits: Fits) -> tuple[Floats, Floats | None]:
    """The evidence of every model and of Other; that of learners not known yet is computed."""
    study = fits.study
    rows = known.rows_of(study)
    evidence = known.log_evidence[rows].copy()
    other = None if known.log_other is None else known.log_other[rows].copy()
    new = np.flatnonzero(rows < 0)
    if len(new):
        part = study.take(new)
        evidence[new] = evidence_of(part, known.models, known.rates, _fixed(known.models, None))
        if other is not None:
            models, rates = _of_other(known)
            rule = models[0].units[0].rule
            assert isinstance(rule, Rule)
            nodes = log_rates(rule, max(abs(value) for value in study.reward_range))
            other[new] = log_evidence_other(part, models, nodes, rates.hyper)
    return evidence, other


def _of_other(known: Learned) -> tuple[list[PartitionModel], Rates]:
    assert known.other is not None
    names = known.other.models
    models = [m for m in known.models if on_grid(m) and m.name in names]
    return models, known.other


def _by_others(known: Learned, fits: Fits, evidence: Floats) -> tuple[Floats, Floats]:
    """Evidence and log-shares of every learner, learned from the others."""
    evidence, shares = evidence.copy(), np.empty_like(evidence)
    assert known.fold_of is not None
    rows = known.rows_of(fits.study)
    fold = np.where(rows >= 0, known.fold_of[rows], -1)
    fixed = _fixed(known.models, fits)
    for k in np.unique(fold):
        mine = np.flatnonzero(fold == k)
        part = known if k < 0 else known.folds[k]
        shares[mine] = np.log(part.expected)
        if k >= 0:
            taken = fits.study.take(mine)
            evidence[mine] = evidence_of(taken, known.models, part.rates, fixed)
    return evidence, shares


def _fixed(models: Sequence[Model], fits: Fits | None, threads: int | None = None):
    """How the evidence of models without a grid is had for some learners."""
    others = [model for model in models if not on_grid(model)]
    known = fits

    def fixed(study: Study) -> Floats:
        if not others:
            return np.full((len(study), len(models)), np.nan)
        mine = known
        if mine is None or mine.study is not study:
            mine = fit(study, others, [ALL], threads)
        return unintegrated(mine, models)

    return fixed


def _beforehand(
    study: Study, models: Sequence[Model], threads: int | None
) -> tuple[Study, Callable[[Study], Floats]]:
    """The study without learners who cannot be fitted; and what ``_fixed`` gives, known already.

    A learner is known again by name and record, in whatever part of the study it is asked for.
    """
    guard = Guard()
    study = guard.long_enough(study)
    others = [model for model in models if not on_grid(model)]
    if not others or not len(study):
        return study, _fixed(models, None, threads)
    fits = guarded_fit(guard, study, others, [ALL], threads)
    study, values = fits.study, unintegrated(fits, models)
    place = {who: i for i, who in enumerate(_who(study))}

    def fixed(some: Study) -> Floats:
        return values[[place[who] for who in _who(some)]]

    return study, fixed


def _who(study: Study) -> Iterator[tuple[str, int]]:
    return zip(study.learners, prints_of(study).tolist(), strict=True)
