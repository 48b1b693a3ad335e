"""Sentences on the criteria: what each one is, with its constants, and how verdicts are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.core.text import in_words
from howlearn.report.methods.candidates import is_adjusted
from howlearn.report.methods.references import Citing
from howlearn.report.words import clean, listed_names, quoted, unit_of
from howlearn.selection.criteria import criterion_named
from howlearn.selection.criterion import LOG_EVIDENCE, Told

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
    told = Told(manifest, tables, f"{every} that were not excluded" if excluding else every)
    what = "the criterion" if len(texts) == 1 else f"the {in_words(len(texts))} criteria"
    names = listed_names(clean(text) for text in texts)
    yield f"For every {unit_of(manifest)} the models were compared by {what} {names}, in nats."
    for text in texts:
        try:
            criterion = criterion_named(text)
        except HowlearnError:  # of another version
            yield f"The criterion {quoted(text)} is described in the documentation of howlearn."
            continue
        yield from map(cite.resolved, criterion.sentences(told))
        if criterion.evidence == LOG_EVIDENCE:
            yield from _approximated(manifest)
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
    return not units or is_adjusted(model) or any("form" not in u for u in units)


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
