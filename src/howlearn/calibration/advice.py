"""The constants that a calibration recommends, for ``howlearn select --calibration``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import read_json
from howlearn.models.model import Model
from howlearn.results.manifest import describe
from howlearn.runs.folder import read_table
from howlearn.selection.criteria import criterion_named
from howlearn.selection.criterion import Criterion
from howlearn.selection.share_tables import Known
from howlearn.selection.shares import Confusion

RECOMMENDATION = "recommendation.json"
FAR = 2.0  # a calibration for half or twice as many trials is worth a note


@dataclass(frozen=True)
class Advice:
    """What a calibration recommends, and for what."""

    folder: Path
    criteria: tuple[Criterion, ...]
    models: tuple[str, ...]
    median_trials: float
    described: list[object] | None = None  # the models with their cells, rules and bounds


def advised(folder: Path) -> Advice:
    """Read the recommendation that ``howlearn calibrate`` left in a folder."""
    file = folder / RECOMMENDATION if folder.is_dir() else folder
    try:
        found = read_json(file)
        advice = Advice(
            folder,
            tuple(criterion_named(text) for text in found["criteria"]),
            tuple(map(str, found["models"])),
            float(found["median_trials"]),
            found.get("candidates"),
        )
        if not (advice.criteria and advice.median_trials >= 1):
            raise ValueError
        return advice
    except OSError:
        raise HowlearnError(
            f"there is no {file}: make a calibration with howlearn calibrate, or let one that was "
            "interrupted go on by starting it again"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, HowlearnError):
        raise HowlearnError(f"{file} is not a recommendation of howlearn calibrate") from None


def confusions(advice: Advice) -> Mapping[str, Known]:
    """The confusion matrices of a calibration, by the text of the criterion."""
    try:
        frame = read_table(advice.folder, "confusion")
        found = {}
        for (name, setting), rows in frame.group_by("criterion", "setting", maintain_order=True):
            text = f"{name}" if setting is None else f"{name}({setting!r})"
            found[repr(criterion_named(text))] = _known(rows)
        return found
    except (pl.exceptions.PolarsError, ValueError, HowlearnError):
        return {}  # an older calibration, or only its recommendation


def _known(rows: pl.DataFrame) -> Known:
    truths = rows["true_model"].unique(maintain_order=True).to_list()
    models = rows["selected_model"].unique(maintain_order=True).to_list()
    counts = (rows["share"] * rows["learners"]).to_numpy().reshape(len(truths), len(models))
    return Known(tuple(truths), tuple(models), Confusion(np.rint(counts)))


def doubts(advice: Advice, n: float, candidates: Sequence[Model]) -> list[str]:
    """Ways in which a calibration is not for these candidates and this number of trials."""
    sentences = []
    names = tuple(model.name for model in candidates)
    if set(names) != set(advice.models):
        sentences.append(
            f"the calibration in {advice.folder} is for other candidates "
            f"({', '.join(advice.models)}); its constants may not suit these"
        )
    elif advice.described and sorted(map(str, advice.described)) != sorted(
        str(describe(model)) for model in candidates
    ):
        sentences.append(
            f"the calibration in {advice.folder} is for candidates of the same names with other "
            "cells, rules or bounds; its constants may not suit these"
        )
    if not 1 / FAR < n / advice.median_trials < FAR:
        sentences.append(
            f"the calibration in {advice.folder} is for {advice.median_trials:g} trials, and "
            f"here there are {n:g}; its constants may not suit them"
        )
    return sentences
