"""What a results folder of ``howlearn select`` holds, checked once and in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howlearn._version import __version__
from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import read_json
from howlearn.report.findings import OfFolder
from howlearn.runs.folder import read_table
from howlearn.runs.shards import MANIFEST
from howlearn.selection.tables import OTHER, fitted
from howlearn.selection.unfitted import unfitted_of

if TYPE_CHECKING:
    from howlearn.results.inputs import Inputs


NEEDED = {
    "selection": {"learner", "criterion", "model", "runner_up", "margin", "verdict"},
    "scores": {"learner", "model", "criterion", "n_parameters", "log_likelihood", "score", "rank"},
    "estimates": {"learner", "model", "cell", "parameter", "estimate", "trials_fitted", "status"},
    "learners": {"learner", "n_trials"},
    "shares": {"criterion", "model", "share"},
}
NUMBERS = (
    "margin n_parameters log_likelihood penalty score rank estimate trials_fitted n_trials share "
    "probability p_other lower upper stability"
).split()
OFTEN = ("population", "population-rates", "stability")  # shown where they are there
UNFITTED = "unfitted"  # who could not be fitted, and why: in no other table, nor in the study
INCLUDED, ALL = "included", "all"  # shares with and without the excluded


@dataclass(frozen=True, eq=False)
class Gathered:
    """The tables of a selection, its manifest, and the study if its files are still there."""

    folder: Path
    manifest: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    inputs: Inputs | None  # the study and the candidates
    why_not: str = ""  # a sentence: why there is no study
    confusions: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # by criterion
    doubts: tuple[str, ...] = ()  # what speaks against the calibration that they come from

    @property
    def options(self) -> Mapping[str, Any]:
        return self.manifest["options"]

    @property
    def models(self) -> list[str]:
        """The candidates in their order."""
        return [model["name"] for model in self.manifest["models"]]

    @property
    def criteria(self) -> list[str]:
        """As they are written, the first one first."""
        return [*self.options["criteria"]]

    @cached_property
    def unit(self) -> str:
        """What the rows of the tables are about."""
        whole = self.manifest["learners"] == self.manifest["sequences"]
        return "learner" if whole else "sequence"

    @cached_property
    def labels(self) -> list[str]:
        """The columns that name a sequence and say what else is known of it."""
        own = self.tables["learners"].columns
        return [name for name in own[: own.index("n_trials")] if name != "excluded"]

    @cached_property
    def excluded(self) -> pl.Series:
        """Of every sequence: whether it is left out of the shares."""
        frame = self.tables["learners"]
        if "excluded" not in frame.columns:
            return pl.Series("excluded", [False] * len(frame), pl.Boolean)
        column = frame["excluded"]
        if column.dtype == pl.Boolean:
            return column.fill_null(False)
        return (column.cast(pl.String).fill_null("") != "").alias("excluded")

    @cached_property
    def selection(self) -> pl.DataFrame:
        """The selection with the number of the sequence and whether it is excluded."""
        frame = self.tables["selection"].drop("excluded", strict=False)
        number = pl.int_range(len(frame), dtype=pl.Int64) // len(self.criteria)
        frame = frame.with_columns(sequence=number)
        return frame.with_columns(excluded=self.excluded.gather(frame["sequence"]))


def gather(results: Path, calibration: Path | None = None) -> Gathered:
    """Read a folder of results; what cannot be shown is refused with a sentence."""
    manifest = _manifest(results)
    tables = {name: _table(results, name, columns) for name, columns in NEEDED.items()}
    for name in OFTEN:
        if any((results / f"{name}.{ending}").is_file() for ending in ("csv", "parquet")):
            tables[name] = _table(results, name, {"criterion"})
    unfitted = unfitted_of(tables["selection"])
    for name in ("selection", "learners"):
        tables[name] = fitted(tables[name])
    _check_complete(results, manifest["sequences"] - len(unfitted), manifest, tables)
    if len(unfitted):
        tables[UNFITTED] = unfitted
    inputs, why_not = _study(results)
    named = manifest["options"].get("calibration")
    frame, confusions, doubts = _calibrated(calibration, Path(named) if named else None, manifest)
    if frame is not None:
        tables["confusion"] = frame
    return Gathered(results, manifest, tables, inputs, why_not, confusions, doubts)


def _manifest(results: Path) -> dict[str, Any]:
    """The manifest of a selection by this version."""
    if not results.exists():
        raise HowlearnError(f"{results} does not exist; howlearn select writes such a folder")
    if not results.is_dir():
        raise HowlearnError(
            f"{results} is a file; howlearn report takes a folder that howlearn select wrote"
        )
    file = results / MANIFEST
    try:
        found = read_json(file)
    except OSError:
        raise HowlearnError(
            f"{results} has no {MANIFEST}, so it is no folder that howlearn select wrote"
        ) from None
    except ValueError:
        raise HowlearnError(f"{file} is damaged; run howlearn select anew") from None
    by = found.get("command") if isinstance(found, dict) else None
    if isinstance(by, str) and by != "select":
        raise HowlearnError(
            f"{results} holds the results of howlearn {by}; howlearn report takes those of "
            "howlearn select (a calibration beside them: --calibration FOLDER)"
        )
    version = found.get("howlearn") if isinstance(found, dict) else None
    if isinstance(version, str) and _release(version) != _release(__version__):
        raise HowlearnError(
            f"{results} was made by howlearn {version}, and this is howlearn {__version__}, which "
            "may read its tables wrongly; run howlearn select anew, or the report with "
            f"howlearn {version}"
        )
    if not _complete(found):
        raise HowlearnError(f"{file} is damaged; run howlearn select anew")
    return found


def _release(version: str) -> tuple[str, ...]:
    """The part of a version that says what results look like."""
    return tuple(version.split(".")[:2])


def _complete(found: Any) -> bool:
    """Whether a manifest holds what a report needs, and of the right kinds."""
    kinds = {"command": str, "howlearn": str, "input": dict, "options": dict, "models": list}
    kinds |= {"rows": dict, "columns": dict, "notes": list, "learners": int, "sequences": int}
    if not isinstance(found, dict):
        return False
    if not all(isinstance(found.get(key), kind) for key, kind in kinds.items()):
        return False
    criteria = found["options"].get("criteria")
    texts = isinstance(criteria, list) and criteria and all(isinstance(c, str) for c in criteria)
    named = all(isinstance(m, dict) and isinstance(m.get("name"), str) for m in found["models"])
    return bool(texts and named)


def _table(results: Path, name: str, columns: set[str]) -> pl.DataFrame:
    try:
        frame = read_table(results, name)
    except pl.exceptions.PolarsError:
        raise _broken(results, name) from None
    if not columns <= {*frame.columns}:
        raise _broken(results, name)
    numbers = [frame[column] for column in NUMBERS if column in frame.columns]
    if any(not c.dtype.is_numeric() and c.null_count() < len(c) for c in numbers):
        raise _broken(results, name)
    return frame


def _broken(results: Path, name: str) -> HowlearnError:
    return HowlearnError(
        f"the table {name} in {results} is damaged or cut short; the same howlearn select command "
        "writes it again from the parts that are finished"
    )


def _check_complete(
    results: Path, n: int, manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]
) -> None:
    """Every sequence must be in every table, by every criterion, and in the same order."""
    criteria = manifest["options"]["criteria"]
    n_models = len(manifest["models"])
    rows = {"learners": n, "selection": n * len(criteria), "scores": n * len(criteria) * n_models}
    for name, wanted in rows.items():
        found = len(tables[name])
        if found < wanted or (name != "scores" and found != wanted):
            raise _broken(results, name)
    own = tables["learners"]["learner"]
    places = pl.int_range(n * len(criteria), eager=True) // len(criteria)
    if not (tables["selection"]["learner"] == own.gather(places)).all():
        raise _broken(results, "selection")
    if tables["selection"]["criterion"].to_list() != [*criteria] * n:
        raise _broken(results, "selection")
    known = {*(model["name"] for model in manifest["models"]), OTHER}
    if not set(tables["selection"]["model"].cast(pl.String)) <= known:
        raise _broken(results, "selection")
    for name in ("scores", "estimates"):
        if not own.is_in(tables[name]["learner"].unique().implode()).all():
            raise _broken(results, name)


def _study(results: Path) -> tuple[Inputs | None, str]:
    """The study again, or a sentence that says why it cannot be had."""
    from howlearn.results.inputs import recorded

    try:
        return recorded(results, with_excluded=True), ""
    except (HowlearnError, OSError) as error:
        return None, str(error)


def _calibrated(
    asked: Path | None, named: Path | None, manifest: Mapping[str, Any]
) -> tuple[pl.DataFrame | None, dict[str, pl.DataFrame], tuple[str, ...]]:
    """The calibration's table, and of it by criterion: true_model, selected_model, share."""
    from howlearn.analyses.calibrate import advised
    from howlearn.selection.criteria import criterion_named

    folder = asked or named
    if folder is None:
        return None, {}, ()
    try:
        advice = advised(folder)
        frame = read_table(folder, "confusion")
        found = {}
        for (name, setting), rows in frame.group_by("criterion", "setting", maintain_order=True):
            text = f"{name}" if setting is None else f"{name}({setting!r})"
            columns = rows.select("true_model", "selected_model", "share", "learners")
            found[repr(criterion_named(text))] = columns
    except (HowlearnError, OSError, ValueError, pl.exceptions.PolarsError) as error:
        if asked is None:  # it was there when howlearn select was run
            return None, {}, (f"The calibration in {folder} cannot be shown: {error}.",)
        if isinstance(error, HowlearnError):
            raise
        raise HowlearnError(
            f"{folder} holds no confusion matrix of howlearn calibrate; run it anew"
        ) from None
    doubts = []
    if {*advice.models} != {model["name"] for model in manifest["models"]}:
        doubts.append(f"The calibration is for other candidates ({', '.join(advice.models)}).")
    used = [c for c in manifest["options"]["criteria"] if c in found]
    if not used:
        used = [c for c in map(repr, advice.criteria) if c in found]
        doubts.append(
            "None of the criteria of these results was calibrated, so the matrices are those of "
            "the criteria that the calibration recommends."
        )
    return frame, {c: found[c] for c in used}, tuple(doubts)


# --------------------
# Gathered results as the charts take them: all learners, or those that are not excluded.


@dataclass(frozen=True, eq=False)
class Known(OfFolder):
    """A folder whose tables have been read already."""

    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def whole(self, name: str) -> pl.DataFrame:
        return self.tables[name] if name in self.tables else super().whole(name)


def everyone(gathered: Gathered) -> Known:
    """Of all learners, as if nobody had been excluded."""
    unmarked = {
        name: frame.drop("excluded", strict=False) for name, frame in gathered.tables.items()
    }
    inputs = gathered.inputs
    if inputs is not None:
        inputs = replace(inputs, study=replace(inputs.study, excluded=None))
    return Known(gathered.folder, inputs, unmarked)


def included(gathered: Gathered) -> Known:
    """Of those who are not excluded; of all where that leaves nobody."""
    found, kept = everyone(gathered), ~gathered.excluded
    if kept.all() or not kept.any():
        return found
    whose = gathered.tables["learners"].select(gathered.labels).filter(kept)
    tables = dict(found.tables)
    for name in ("selection", "scores", "estimates"):
        keys = [key for key in whose.columns if key in tables[name].columns]
        tables[name] = tables[name].join(
            whose.select(keys), on=keys, how="semi", nulls_equal=True, maintain_order="left"
        )
    inputs = found.known
    if inputs is not None:
        places = np.flatnonzero(kept.to_numpy())
        inputs = replace(inputs, study=inputs.study.take(places))
    return Known(gathered.folder, inputs, tables)
