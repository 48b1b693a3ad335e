"""Tables of how common each model is, by every criterion and in the population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import cast

import numpy as np
import polars as pl

from howlearn.core.arrays import Floats, Ints
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.selection.clouds import FEWEST as FEWEST_POINTS
from howlearn.selection.criteria import kind_named
from howlearn.selection.criterion import LOG_EVIDENCE, Criterion
from howlearn.selection.evidence import approximation
from howlearn.selection.hierarchy import Hyper, median_rate
from howlearn.selection.learned import Learned
from howlearn.selection.mixture_shares import Shares, mixture_shares
from howlearn.selection.population import Population
from howlearn.selection.population_tables import Layout
from howlearn.selection.random_effects import random_effects
from howlearn.selection.select import Selection
from howlearn.selection.shares import Confusion, corrected_shares
from howlearn.selection.tables import OTHER, among, conditions, included

RANDOM_EFFECTS = (
    "expected exceedance protected_exceedance omnibus_risk omnibus_risk_integrated evidence"
).split()
MANY = 2_000  # learners from whom on the omnibus risk is not integrated: nothing is left of it
RESAMPLES, FEW_RESAMPLES = 200, 50
LARGE = 20_000  # learners from whom on there are few resamples
AT_BOUND = 0.25  # in log rates: the middle learner as close to the largest rate learns at it
UNCERTAINTY = "uncertainty of each learner's model"
SCORED = ("learner", "model", "log_likelihood", "score", "selected")
SURE = 1e9  # simulated learners: a confusion matrix without chance


@dataclass(frozen=True, eq=False)
class Known:
    """A confusion matrix with the names of its models, in the order of its rows and columns."""

    truths: tuple[str, ...]
    models: tuple[str, ...]
    confusion: Confusion


@dataclass(frozen=True, eq=False)
class Scored:
    """One criterion's scores; the axes are sequence, model."""

    criterion: str
    models: tuple[str, ...]
    score: Floats
    log_likelihood: Floats
    selected: Ints
    owner: Ints  # the learner of every sequence

    @property
    def stands_for_evidence(self) -> str | None:
        """What does, as the criterion says; one that is not registered is taken for a usual one."""
        return kind_named(self.criterion).evidence

    @property
    def evidence(self) -> Floats | None:
        kind = self.stands_for_evidence
        if kind is None:
            return None
        return self.log_likelihood if kind == LOG_EVIDENCE else self.score


def scored(scores: pl.LazyFrame, criterion: str, candidates: Sequence[str]) -> Scored:
    """The scores by one criterion; each learner must have every model once, in rows together."""
    frame = scores.filter(pl.col("criterion") == criterion).select(SCORED).collect()
    named = frame["model"].cast(pl.String)
    present = named.unique().to_list()
    models = [name for name in candidates if name in present]
    models += sorted(name for name in present if name not in models)
    n = len(models)
    place = {name: k for k, name in enumerate(models)}
    codes = named.replace_strict(place, return_dtype=pl.Int64).to_numpy()
    learner, *others = (frame["learner"].gather_every(n, k) for k in range(n))
    same = all(len(other) == len(learner) and (other == learner).all() for other in others)
    order = codes.reshape(-1, n) if same else codes[None]
    if not (same and (np.sort(order, axis=1) == np.arange(n)).all()):
        raise HowlearnError(
            "the rows of scores are not as howlearn select writes them: every model once for each "
            "learner, one learner after the other"
        )

    def placed(column: str) -> Floats:
        found = np.empty(order.shape)
        values = frame[column].cast(pl.Float64).to_numpy().reshape(order.shape)
        np.put_along_axis(found, order, values, axis=1)
        return found

    owner = learner.rank("dense").to_numpy().astype(np.int64) - 1
    selected = placed("selected").argmax(axis=1)
    return Scored(
        criterion, tuple(models), placed("score"), placed("log_likelihood"), selected, owner
    )


def _random_effects(given: Scored) -> dict[str, object]:
    """The columns by random effects; none where nothing stands for the log-evidence."""
    if given.evidence is None:
        return {}
    found = random_effects(given.evidence)
    few = len(given.selected) <= MANY
    values = (
        found.expected,
        found.exceedance,
        found.protected,
        found.risk,
        found.integrated_risk().value if few else None,
        given.stands_for_evidence,
    )
    return dict(zip(RANDOM_EFFECTS, values, strict=True))


def shares_table(
    scores: pl.DataFrame | pl.LazyFrame,
    criteria: Sequence[str],
    models: Sequence[str],
    known: Mapping[str, Known] | None = None,
    seed: int = 0,
    learned: Sequence[Criterion] = (),
) -> pl.DataFrame:
    """One row per condition, criterion and model, the most common first.

    ``share`` is that of the learners for whom the model is selected. ``corrected`` takes out what
    is known about errors: the confusion matrix of a calibration (``known``, by criterion), or the
    learners' own uncertainty where the criterion gives log-evidence. Both with 95% intervals.
    ``models`` are the candidates; a criterion may have others besides. Criteria that have
    ``learned`` shares from all learners tell these.
    """
    frames = []
    told = {repr(criterion): criterion.learned for criterion in learned}
    for criterion, (condition, rows) in product(criteria, _apart(scores).items()):
        given = scored(rows, criterion, models)
        n = len(given.models)
        counts = np.bincount(given.selected, minlength=n)
        resamples = RESAMPLES if len(given.selected) <= LARGE else FEW_RESAMPLES
        sure = Confusion(np.eye(n) * SURE)
        naive = corrected_shares(given.selected, sure, None, resamples, (seed, 0), given.owner)
        population = None if criterion in (known or {}) else told.get(criterion)
        corrected, by = population and population.shares(condition), UNCERTAINTY
        if corrected is None or not n == len(models) > 1:
            corrected, by = _corrected(given, (known or {}).get(criterion), resamples, seed)
        frame = of("shares").frame(
            {
                "criterion": criterion,
                "condition": condition,
                "model": [*given.models],
                "learners": counts,
                "share": counts / counts.sum(),
                "lower": naive.lower,
                "upper": naive.upper,
                "corrected": corrected and corrected.share,
                "corrected_lower": corrected and corrected.lower,
                "corrected_upper": corrected and corrected.upper,
                "corrected_for": by,
                **_random_effects(given),
            }
        )
        if n == 1:  # nothing was compared, so that nothing has a share
            frame = frame.with_columns(pl.lit(None, frame[name].dtype).alias(name) for name in
                                       frame.columns[4:])  # fmt: skip
        frames.append(frame.sort("learners", descending=True, maintain_order=True))
    return pl.concat(frames)


def _apart(scores: pl.DataFrame | pl.LazyFrame) -> dict[str | None, pl.LazyFrame]:
    """The scores under every condition; all of them where there are none."""
    names = scores.lazy().collect_schema().names()
    end = names.index("model")
    found = conditions(scores.lazy().select(names[:end]).collect()) if end > 1 else None
    if found is None:
        return {None: scores.lazy()}
    whole = scores.lazy().select("criterion", *SCORED).collect()
    return {name: whole.filter(found == name).lazy() for name in sorted(found.unique())}


def pooled(shares: pl.DataFrame) -> pl.DataFrame:
    """Counts and shares of the models over all conditions, by criterion; ``among`` stays apart."""
    keys = [name for name in ("among", "criterion") if name in shares.columns]
    n = pl.col("learners")
    found = shares.group_by(*keys, "model", maintain_order=True).agg(n.sum())
    whole = n.sum().over(keys)
    return found.with_columns(share=n / whole)


def shares_of(selection: Selection) -> pl.DataFrame:
    """The table of a selection; with excluded learners, without them and with them."""
    study, models = selection.fits.study, [*selection.fits.of]
    criteria = [repr(choice.criterion) for choice in selection.choices]
    learned = [choice.criterion for choice in selection.choices]
    found = shares_table(included(selection.scores), criteria, models, learned=learned)
    if study.excluded is None:
        return found
    everybody = found
    if not study.included.all():
        learned = [choice.criterion for choice in selection.everybody.choices]
        everybody = shares_table(selection.everybody.scores, criteria, models, learned=learned)
    return among(found, everybody)


def _corrected(
    given: Scored, known: Known | None, resamples: int, seed: int
) -> tuple[Shares | None, str | None]:
    if known is not None and {*known.truths} == {*known.models} == {*given.models}:
        rows = [known.truths.index(name) for name in given.models]
        columns = [known.models.index(name) for name in given.models]
        counts = known.confusion.counts[:, rows][:, :, columns]
        found = corrected_shares(
            given.selected, Confusion(counts), None, resamples, (seed, 1), given.owner
        )
        return found, "confusion"
    if given.stands_for_evidence == LOG_EVIDENCE:
        found = mixture_shares(given.log_likelihood, resamples, (seed, 1), given.owner)
        return found, UNCERTAINTY
    return None, None


def doubts(known: Mapping[str, Known], criteria: Sequence[str]) -> list[str]:
    """Confusion matrices from which the shares hardly follow, and the models that cause it."""
    sentences = []
    for criterion in criteria:
        if criterion in known and known[criterion].confusion.vague:
            mine = known[criterion]
            names = [mine.truths[m] for m in mine.confusion.blurred()]
            sentences.append(
                f"{criterion} selects for learners of {', '.join(names)} nearly the same models: "
                f"their shares, corrected for confusion, are uncertain"
            )
    return sentences


# What all learners together tell, as tidy tables.


def group_tables(criteria: Sequence[Criterion]) -> dict[str, pl.DataFrame]:
    """The tables of the first criterion that knows a population; none without one."""
    for criterion in criteria:
        if criterion.learned is not None:
            known = cast(Population, criterion)
            return {"population": population(known), "population-rates": population_rates(known)}
    return {}


def population(criterion: Population) -> pl.DataFrame:
    """One row per model and condition: its share with an interval; a last one for Other."""
    known = criterion.learned
    assert known is not None
    return pl.concat([_shares(criterion, known, g) for g in range(len(known.groups))])


def population_rates(criterion: Population) -> pl.DataFrame:
    """One row per family of partition models and condition."""
    known = criterion.learned
    assert known is not None
    layout = Layout.of_models(known.models)
    rows = []
    for f, upper in enumerate(layout.upper()):
        mine = [known.models[k] for k, g in zip(layout.rated, layout.family, strict=True) if g == f]
        x = np.linspace(upper - 9.2, upper, 193)
        for g, name in enumerate(known.groups):
            hyper = Hyper(known.centre[f, g], known.width[f, g], known.cells[f])
            rows.append(
                {
                    "criterion": repr(criterion),
                    "condition": name or None,
                    "models": ", ".join(model.name for model in mine),
                    "median_rate": median_rate(x, hyper),
                    "spread_of_learners": hyper.tau,
                    "spread_of_cells": hyper.s,
                    "at_bound": bool(hyper.mu > upper - AT_BOUND),
                    "learners": known.n_sampled,
                }
            )
    return of("population-rates").of_rows([tuple(row.values()) for row in rows])


def _shares(criterion: Population, known: Learned, g: int) -> pl.DataFrame:
    models = [model.name for model in known.models]
    n = len(models)
    common = {
        "criterion": repr(criterion),
        "condition": known.groups[g] or None,
        "difference_of_chains": known.difference,
        "sweeps": known.sweeps,
    }
    several = n > 1
    frame = of("population").frame(
        {
            **common,
            "model": models,
            "share": known.share[g] if several else None,
            "lower": known.lower[g] if several else None,
            "upper": known.upper[g] if several else None,
            "evidence": evidence_words(known),
            "effective_points": known.effective[:, 0],
            "fewest_effective_points": known.effective[:, 1],
            **_with_other(known, g, slice(n)),
        }
    )
    frame = frame.with_columns(pl.col("effective_points", "fewest_effective_points").fill_nan(None))
    frame = frame[np.argsort(-known.share[g], kind="stable")]
    if known.with_other is None:
        return frame
    other = {"model": [OTHER], "evidence": "quadrature", **_with_other(known, g, slice(n, n + 1))}
    return pl.concat([frame, of("population").frame({**common, **other})])


def evidence_words(known: Learned) -> list[str]:
    """How each model's likelihood was averaged over its parameters."""
    layout = Layout.of_models(known.models)
    words = []
    for k, model in enumerate(known.models):
        if k in layout.rated:
            words.append("quadrature")
        elif np.isfinite(known.effective[k, 0]):
            few = known.effective[k, 0] < FEWEST_POINTS
            words.append("approximate: too few points" if few else "cloud of points")
        else:
            word = approximation(model)
            words.append(word if word == "exact" else f"approximate: {word}")
    return words


def _with_other(known: Learned, g: int, which: slice) -> dict[str, Floats]:
    """Shares where Other is a candidate too, with the ends of their intervals."""
    if known.with_other is None:
        return {}
    names = ("share_with_other", "lower_with_other", "upper_with_other")
    return {name: table[g, which] for name, table in zip(names, known.with_other, strict=True)}
