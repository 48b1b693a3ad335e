"""Sentences on the criteria: what each one is, with its constants, and how verdicts are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.core.text import in_words
from howlearn.report.methods.references import Citing
from howlearn.report.words import clean, count, listed_names, quoted, unit_of
from howlearn.selection.criteria import (
    AIC,
    BIC,
    HoldOut,
    Likelihood,
    Penalized,
    Prequential,
    criterion_named,
)
from howlearn.selection.criterion import Criterion
from howlearn.selection.evidence import Evidence
from howlearn.selection.hierarchy import SMALLEST
from howlearn.selection.learning_population import SAMPLE
from howlearn.selection.population import Population
from howlearn.selection.rate_grid import LOWEST, SPREADS

PROTECTED = "protected_exceedance"


def criterion_sentences(
    manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], cite: Citing
) -> Iterator[str]:
    """Every criterion, then margins and verdicts."""
    texts = criteria_of(manifest, tables)
    if not texts:
        return
    excluding = bool((manifest.get("options") or {}).get("exclude"))
    every = f"all {unit_of(manifest)}s"
    everybody = f"{every} that were not excluded" if excluding else every
    what = "the criterion" if len(texts) == 1 else f"the {in_words(len(texts))} criteria"
    names = listed_names(clean(text) for text in texts)
    yield f"For every {unit_of(manifest)} the models were compared by {what} {names}, in nats."
    for text in texts:
        try:
            yield from _criterion(criterion_named(text), manifest, tables, cite, everybody)
        except HowlearnError:  # of another version
            yield f"The criterion {quoted(text)} is described in the documentation of howlearn."
    yield from _verdicts(manifest, tables)
    yield from _shares(tables, cite)


def criteria_of(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """The criteria in their order, by their texts."""
    named = (manifest.get("options") or {}).get("criteria")
    if named:
        return [str(text) for text in named]
    selection = tables.get("selection")
    if selection is None or "criterion" not in selection.columns:
        return []
    return [str(text) for text in selection["criterion"].unique(maintain_order=True)]


def _criterion(
    criterion: Criterion,
    manifest: Mapping[str, Any],
    tables: Mapping[str, pl.DataFrame],
    cite: Citing,
    everybody: str,
) -> Iterator[str]:
    name = f"The criterion {criterion!r}"
    match criterion:
        case Penalized():
            yield (
                f"{name} was the log-likelihood minus {criterion.c:g}·log(n)² per parameter "
                f"{cite('aubert2025')}, where n was the number of the learner's trials that were "
                f"used: {_used(criterion.stop_at)}."
            )
        case HoldOut():
            yield (
                f"{name} was the log-likelihood of the trials after the first "
                f"{criterion.split * 100:.4g}%, at the parameters estimated from that first part "
                f"{cite('aubert2025')}."
            )
        case Prequential():
            yield (
                f"{name} was the log-likelihood of the trials after the first "
                f"{criterion.start * 100:.4g}%, in {count(criterion.blocks, 'block')}, each at the "
                "parameters estimated from everything before it "
                f"{cite('dawid1984')}."
            )
        case AIC():
            yield (
                f"AIC {cite('akaike1974')} was divided by −2: the log-likelihood minus one nat "
                "per parameter."
            )
        case BIC():
            yield (
                f"BIC {cite('schwarz1978')} was divided by −2: the log-likelihood minus "
                "½·log(n) per parameter."
            )
        case Likelihood():
            upto = "" if criterion.trials is None else f" of the first {criterion.trials} trials"
            yield f"{name} was the log-likelihood{upto} without a penalty."
        case Evidence():
            yield (
                "The criterion evidence was the log of the likelihood averaged over parameters, "
                "for each learner alone, all models being equally probable; a learner's own rate "
                f"was a priori even on a log scale from {LOWEST:g} to the largest rate, log rates "
                "of its cells were normal around it, and their standard deviation was "
                f"{listed_names((f'{s:g}' for s in SPREADS), 'or')}, equally probable."
            )
            yield from _approximated(manifest)
        case Population():
            yield from _population(criterion, manifest, tables, cite, everybody)
            yield from _approximated(manifest)
        case _:
            yield f"{name} was the {criterion.title}."


def _used(stop: int | float | str | None) -> str:
    if stop is None:
        return "all of them"
    if isinstance(stop, int):
        return f"the first {stop}"
    if isinstance(stop, float):
        return f"those before the first at which a fitted model gave an action less than {stop:g}"
    return f"those up to the bound T of that paper, {stop}"


def _approximated(manifest: Mapping[str, Any]) -> Iterator[str]:
    """On models whose parameters are not integrated on a grid."""
    models = [m for m in manifest.get("models") or () if "probabilities" not in m]
    mixed = any("kind" in m for m in models)
    others = any("kind" not in m and _off_grid(m) for m in models)
    if others:
        yield (
            "For models whose parameters were not integrated on a grid, the averaged likelihood "
            "was approximated by Laplace's method."
        )
    if mixed:
        yield "For mixtures of strategies it was approximated by Schwarz's criterion."


def _off_grid(model: Mapping[str, Any]) -> bool:
    units = model.get("units")
    return not units or "+" in str(model.get("name")) or any("form" not in u for u in units)


def _population(
    criterion: Population,
    manifest: Mapping[str, Any],
    tables: Mapping[str, pl.DataFrame],
    cite: Citing,
    everybody: str,
) -> Iterator[str]:
    own = ", for each model apart" if criterion.per_model else ""
    effect = (
        "around a mean of the population"
        if criterion.independent
        else "around a mean of the learner's own, which was normal in the population"
    )
    yield (
        f"The criterion {criterion!r} was the log of a model's share times the likelihood averaged "
        "over learning rates; shares and the distribution of rates were estimated from "
        f"{everybody} together (empirical Bayes), log rates being normal {effect}{own}, and the "
        f"shares entered as expected under a flat Dirichlet prior {cite('stephan2009')}."
    )
    if (manifest.get("sequences") or 0) > SAMPLE:
        yield f"The distribution of rates was estimated from {SAMPLE} of them, drawn at random."
    if criterion.leave_one_out:
        yield "Each learner was judged by shares and rates learned from the others."
    yield from _rates(repr(criterion), tables.get("population-rates"))
    yield from _outside(repr(criterion), criterion.other, tables.get("selection"), cite)


def _rates(name: str, rates: pl.DataFrame | None) -> Iterator[str]:
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


def _outside(
    name: str, competes: bool, selection: pl.DataFrame | None, cite: Citing
) -> Iterator[str]:
    """On partitions that are not listed, where their probability was computed."""
    if selection is None or not {"criterion", "p_other"} <= {*selection.columns}:
        return
    if not len(selection.filter(pl.col("criterion") == name)["p_other"].drop_nulls()):
        return
    also = " and competed as one more candidate" if competes else ""
    yield (
        "The probability that a learner used a partition that was not listed was computed as well"
        f"{also}; such partitions were weighted by Ewens's sampling formula {cite('ewens1972')}."
    )


def _verdicts(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> Iterator[str]:
    within = (manifest.get("options") or {}).get("within")
    if within is None:
        return
    many = len(manifest.get("models") or ()) != 1
    selection = tables.get("selection")
    seen = set() if selection is None else set(selection["verdict"].cast(pl.String))
    more = ""
    if "no better than a coin" in seen:
        more += ", no better than a coin if not learning at all explained the choices as well"
    if "probably none of these" in seen:
        more += (
            ", probably none of these if a partition that was not listed had a probability over .9"
        )
    yield (
        f"A selection was called clear if no other model, and no model without learning, came "
        f"within {within:g} nats of the selected one{more}, and undecided otherwise; the margin "
        "was the distance to the next model."
        if many
        else f"Not learning at all counted as an alternative within {within:g} nats."
    )
    yield (
        "Ties went to the model with fewer parameters."
        if many
        else ("There was no other model to compare it with.")
    )


def _shares(tables: Mapping[str, pl.DataFrame], cite: Citing) -> Iterator[str]:
    shares = tables.get("shares")
    if shares is None:
        return
    if "corrected_for" in shares.columns:
        by: Sequence[str] = shares["corrected_for"].drop_nulls().unique().to_list()
        if "confusion" in by:
            yield (
                "Shares of the models were corrected for the confusion among simulated learners of "
                "the candidates, as the calibration found it."
            )
    if PROTECTED in shares.columns and shares[PROTECTED].null_count() < shares.height:
        yield (
            "Shares were also estimated by random-effects model selection "
            f"{cite('stephan2009')}, with protected exceedance probabilities {cite('rigoux2014')}."
        )
