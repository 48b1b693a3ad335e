"""A methods section ready to paste into a paper: only what was done, only works that are cited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from howlearn.report.methods import data
from howlearn.report.methods.sentences import (
    Citing,
    Reference,
    criterion_sentences,
    model_sentences,
)
from howlearn.report.words import clean


@dataclass(frozen=True)
class Methods:
    """Paragraphs on data, models and criteria as plain text, and the works that they cite."""

    paragraphs: tuple[str, ...]
    references: tuple[Reference, ...]

    @property
    def text(self) -> str:
        """Everything, as it is pasted."""
        entries = [work.text for work in self.references]
        return "\n\n".join([*self.paragraphs, "References", *entries])


def methods(
    manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], seed: int | None = None
) -> Methods:
    """The methods of a run, from its manifest and tables; what these do not tell is not said.

    ``seed`` is that of the doubles of a report, where learning curves are compared with theirs.
    ``tables`` are those of a results folder by their names (``selection``, ``shares`` …), and
    ``confusion`` of a calibration, where there is one.
    """
    cite = Citing(clean(manifest.get("howlearn", "unknown")))
    parts = (
        [*data.data_sentences(manifest, tables), *data.exclusion_sentences(manifest, tables)],
        [
            *model_sentences(manifest.get("models") or (), cite),
            *data.estimation_sentences(manifest, tables, cite),
        ],
        [
            *criterion_sentences(manifest, tables, cite),
            *data.simulation_sentences(manifest, tables, cite, seed),
            *data.plan_sentences(manifest),
            *data.software_sentences(manifest, cite),
        ],
    )
    return Methods(tuple(" ".join(part) for part in parts if part), cite.references)
