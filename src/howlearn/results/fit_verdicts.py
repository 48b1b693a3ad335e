"""What checks and completeness say of the candidates, in the manifest and verdicts of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.results.manifest import read_manifest
from howlearn.runs.files import read_record, write_json, write_whole
from howlearn.runs.shards import MANIFEST

CLEAR, WITHHELD = "clear", "clear among candidates that do not fit"
FIT, CHECK, COMPLETENESS, ABSOLUTE = "fit", "check", "completeness", "absolute"
TABLES = ("selection", "learners")
ENOUGH = 5  # decimals of what a manifest tells


def fit_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of the fit of the candidates, by who found it."""
    found = manifest.get(FIT)
    return (
        {k: v for k, v in found.items() if isinstance(v, dict)} if isinstance(found, dict) else {}
    )


def completeness_of(folder: Path) -> dict[str, Any]:
    """What a completeness that was run for the same selection found, where there was one."""
    fit = fit_of(read_record(folder / MANIFEST) or {})
    return {name: told for name, told in fit.items() if name == COMPLETENESS}


def fails(fit: Mapping[str, Any]) -> bool:
    """Whether the candidates do not fit: a check fails, or something is missed.

    >>> fails({"check": {"fails": False}, "completeness": {"alarm": True}})
    True
    """
    check, complete = fit.get(CHECK) or {}, fit.get(COMPLETENESS) or {}
    return bool(check.get("fails") or complete.get("alarm"))


def before_answers(fit: Mapping[str, Any]) -> list[str]:
    """What must be known before any answer is read: that the candidates are no good.

    >>> before_answers({"absolute": {"ahead": 0.1}, "check": {"fails": False}})
    []
    """
    told = []
    if fails(fit):
        told.append("The candidates do not fit these learners, so no answer is called clear.")
    ahead = (fit.get(ABSOLUTE) or {}).get("ahead")
    if isinstance(ahead, float | int) and ahead <= 0:
        told.append(
            "The candidates predict these choices no better than a coin: the answer says little "
            "about how the choices were made."
        )
    return told


def record(folder: Path, **found: Mapping[str, Any]) -> None:
    """Add what was found to the manifest, and have the verdicts in the tables follow.

    ``clear`` is withheld where the candidates do not fit, and given back where they do.
    """
    manifest = read_manifest(folder, "select")
    fit = {**fit_of(manifest), **rounded(found)}
    old, new = (CLEAR, WITHHELD) if fails(fit) else (WITHHELD, CLEAR)
    for table in TABLES:
        for path in (folder / f"{table}.csv", folder / f"{table}.parquet"):
            if path.is_file() and not path.is_symlink():
                _replace(path, old, new)
    write_json(folder / MANIFEST, {**manifest, FIT: fit})


def rounded(found: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """As a manifest keeps it."""
    return {
        name: {k: round(v, ENOUGH) if isinstance(v, float) else v for k, v in told.items()}
        for name, told in found.items()
    }


def with_verdicts(frame: pl.DataFrame, old: str, new: str) -> pl.DataFrame:
    """A table in which one verdict has become another; the same table where there is none."""
    names = [name for name in frame.columns if name == "verdict" or name.startswith("verdict_")]
    said = [frame[name].cast(pl.String) for name in names]
    if not any((column == old).any() for column in said):
        return frame
    return frame.with_columns(
        pl.when(column == old).then(pl.lit(new)).otherwise(column).alias(column.name)
        for column in said
    )


def _replace(path: Path, old: str, new: str) -> None:
    """The verdicts of a table; everything else stays as it is, letter by letter."""
    as_csv = path.suffix == ".csv"
    if as_csv:
        frame = pl.read_csv(path, infer_schema=False, glob=False)
        frame.columns = [name.replace('""', '"') for name in frame.columns]  # polars leaves them so
    else:
        frame = pl.read_parquet(path, glob=False)
    changed = with_verdicts(frame, old, new)
    if changed is not frame:
        write_whole(path, changed.write_csv if as_csv else changed.write_parquet)
