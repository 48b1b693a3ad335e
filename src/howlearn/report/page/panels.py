"""The charts of one learner's panel: specs once, data for every sampled learner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from howlearn.core.errors import HowlearnError
from howlearn.report import details, learner_charts
from howlearn.report.findings import Findings
from howlearn.report.page.compact import compact
from howlearn.report.page.figure import spec_of
from howlearn.report.partition_drawing import cells_of, partition

# Of the details; the rest stands in the page's own tables.
KEPT = ("model", "curve", "cells")


@dataclass(frozen=True)
class Panels:
    """Specs with empty data sets, what all learners share, and each one's own numbers."""

    specs: dict[str, Any] = field(default_factory=dict)
    common: dict[str, Any] = field(default_factory=dict)
    partitions: dict[str, Any] = field(default_factory=dict)  # by model
    drawn: dict[int, dict[str, Any]] = field(default_factory=dict)  # by sequence
    note: str = ""  # why there is none of it


def panels(
    found: Findings,
    chosen: Sequence[int],
    progress: Callable[[int, int], None] | None = None,
) -> Panels:
    """Of the chosen sequences; a sentence where these data cannot be drawn."""
    try:
        common = details.common(found)
        specs = {
            name: compact(spec_of(spec))
            for name, spec in learner_charts.specs(common).items()
            if name in ("curve", "trajectory")
        }
        drawn = {}
        for number, (place, detail) in enumerate(
            zip(chosen, details.details(found, chosen), strict=True)
        ):
            drawn[place] = {name: detail[name] for name in KEPT if name in detail}
            if progress:
                progress(number + 1, len(chosen))
        shared = {name: common[name] for name in ("models", "percent", "contexts", "cells")}
        return Panels(specs, shared, _partitions(found, chosen), drawn)
    except HowlearnError as error:
        return Panels(note=str(error))


def _partitions(found: Findings, chosen: Sequence[int]) -> dict[str, Any]:
    """A drawing for every model that is selected for one of them."""
    study, used = found.study, {int(found.chosen[place]) for place in chosen}
    drawn = {}
    for place in sorted(used):
        model = found.models[place]
        if cells_of(model) is not None:
            chart = partition(model, study.contexts, study.features)
            drawn[model.name] = compact(spec_of(chart))
    return drawn
