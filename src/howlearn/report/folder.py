"""What a results folder of ``howlearn select`` holds, checked once before a report is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.analyses.error_rates import advised, confusion_tables
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.results.manifest import check_version, damaged, read_manifest
from howlearn.results.results import Results
from howlearn.runs.folder import read_table
from howlearn.selection.tables import ALL, OTHER

NEEDED = ("selection", "scores", "estimates", "learners", "shares")
OFTEN = ("population", "population-rates", "stability")  # shown where they are there


@dataclass(frozen=True, eq=False)
class Calibrated:
    """How often models of simulated learners are confused, and what speaks against using it."""

    frame: pl.DataFrame | None = None
    confusions: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # by criterion
    doubts: tuple[str, ...] = ()


NOT_CALIBRATED = Calibrated()
SHOWN = (*NEEDED, *OFTEN)


def checked_results(folder: Path) -> Results:
    """The results in a folder; what cannot be shown is refused with a sentence."""
    manifest = read_manifest(folder, "select")
    check_version(folder, manifest)
    if not _complete(manifest):
        raise damaged(folder)
    results = Results.of(folder)
    for name in SHOWN:
        if name in NEEDED or name in results.tables:
            _check_table(results, folder, name)
    _check_rows(results, folder, manifest["sequences"] - len(results.unfitted))
    return results


def _complete(found: Any) -> bool:
    """Whether a manifest holds what a report needs, and of the right kinds."""
    kinds = {"command": str, "howlearn": str, "input": dict, "options": dict, "models": list}
    kinds |= {"rows": dict, "columns": dict, "notes": list, "learners": int, "sequences": int}
    if not all(isinstance(found.get(key), kind) for key, kind in kinds.items()):
        return False
    criteria = found["options"].get("criteria")
    texts = isinstance(criteria, list) and criteria and all(isinstance(c, str) for c in criteria)
    named = all(isinstance(m, dict) and isinstance(m.get("name"), str) for m in found["models"])
    return bool(texts and named)


def _check_table(results: Results, folder: Path, name: str) -> None:
    try:
        frame = results.tables[name] if name in results.tables else read_table(folder, name)
    except pl.exceptions.PolarsError:
        raise _broken(folder, name) from None
    if not of(name).fits(frame):
        raise _broken(folder, name)


def _broken(folder: Path, name: str) -> HowlearnError:
    return HowlearnError(
        f"the table {name} in {folder} is damaged or cut short; the same howlearn select command "
        "writes it again from the parts that are finished"
    )


def _check_rows(results: Results, folder: Path, n: int) -> None:
    """Every sequence must be in every table, by every criterion, and in the same order."""
    criteria, names = results.options["criteria"], results.names
    rows = {"learners": n, "selection": n * len(criteria), "scores": n * len(criteria) * len(names)}
    selection, learners = (results.table(name, ALL) for name in ("selection", "learners"))
    for name, wanted in rows.items():
        found = len(results.table(name, ALL))
        if found < wanted or (name != "scores" and found != wanted):
            raise _broken(folder, name)
    own = learners["learner"]
    places = pl.int_range(n * len(criteria), eager=True) // len(criteria)
    if (
        not (selection["learner"] == own.gather(places)).all()
        or selection["criterion"].to_list() != [*criteria] * n
        or not set(selection["model"].cast(pl.String)) <= {*names, OTHER}
    ):
        raise _broken(folder, "selection")
    for name in ("scores", "estimates"):
        if not {*own} <= {*results.tables[name]["learner"].unique()}:
            raise _broken(folder, name)


def calibrated(results: Results, asked: Path | None = None) -> Calibrated:
    """The calibration that is asked for, or else the one that the selection used."""
    named = results.options.get("calibration")
    folder = asked or (Path(named) if named else None)
    if folder is None:
        return Calibrated()
    try:
        advice, frame = advised(folder), read_table(folder, "confusion")
        found = confusion_tables(frame)
    except (HowlearnError, OSError, ValueError, pl.exceptions.PolarsError) as error:
        if asked is None:  # it was there when howlearn select was run
            return Calibrated(doubts=(f"The calibration in {folder} cannot be shown: {error}.",))
        if isinstance(error, HowlearnError):
            raise
        raise HowlearnError(
            f"{folder} holds no confusion matrix of howlearn calibrate; run it again"
        ) from None
    doubts = []
    if {*advice.models} != {*results.names}:
        doubts.append(f"The calibration is for other candidates ({', '.join(advice.models)}).")
    used = [c for c in results.criteria if c in found]
    if not used:
        used = [c for c in map(repr, advice.criteria) if c in found]
        doubts.append(
            "None of the criteria of these results was calibrated, so the matrices are those of "
            "the criteria that the calibration recommends."
        )
    return Calibrated(frame, {c: found[c] for c in used}, tuple(doubts))
