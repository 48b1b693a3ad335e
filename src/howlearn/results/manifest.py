"""What a run was (options, versions, hashes, rows dropped or recoded; no times), and its fit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from howlearn import __version__
from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import read_json
from howlearn.core.study import Study
from howlearn.models.model import Model
from howlearn.models.task import Task
from howlearn.reading.formats.open import stamp_of
from howlearn.reading.formats.table import file_of
from howlearn.runs.files import read_record, refuse_links, write_json, write_whole
from howlearn.runs.folder import versions
from howlearn.runs.shards import MANIFEST


def manifest_of(
    files: Sequence[Path],
    study: Study,
    models: Sequence[Model],
    options: Mapping[str, Any],
    command: str = "select",
    hashed: bool = True,
) -> dict[str, Any]:
    """Everything that decides the results of a run; without hashes if there are no files."""
    task = task_file_hash(options.get("task"))
    names = study.source.files if study.source else tuple(str(file) for file in files)
    check_unchanged(study)
    hashes = {name: hash_of(file_of(name)) for name in names} if hashed else {}
    check_unchanged(study)  # so that what was read is what the hashes are of
    return {
        **made_by(command),
        "input": hashes,
        "options": dict(options),
        **({"task_file": task} if task else {}),
        "columns": dict(study.roles),
        "rows": dict(study.counts),
        "notes": list(study.notes),
        **({} if study.kind is None else {"kind": study.kind.record()}),
        "learners": len(set(study.learners)),
        "sequences": len(study),
        "trials": len(study.context),
        **({} if study.excluded is None else {"excluded": int((~study.included).sum())}),
        "models": [model.describe() for model in models],
    }


def check_unchanged(study: Study) -> None:
    """Refuse files that were written to or replaced since they were read."""
    source = study.source
    if source is None:
        return
    for path in dict.fromkeys(map(file_of, source.files)):
        if (stamp := source.stamps.get(str(path))) is not None and stamp_of(path) != stamp:
            raise HowlearnError(
                f"{path} has changed since it was read; start the command again when nothing "
                f"writes to it, with --fresh if there are results already"
            )


def task_file_hash(task: str | None) -> str | None:
    """Of the user's task file, which says how contexts and actions are read."""
    return None if task is None or task in Task.shipped() else hash_of(Path(task))


def made_by(command: str) -> dict[str, Any]:
    """Which command made the results, and with what."""
    return {
        "command": command,
        "howlearn": __version__,
        "versions": versions(),
    }


def read_manifest(folder: Path, *commands: str) -> dict[str, Any]:
    """The manifest of a folder that one of these commands wrote; anything else is refused."""
    by = " or ".join(f"howlearn {command}" for command in commands)
    if not folder.exists():
        raise HowlearnError(f"{folder} does not exist; {by} writes this kind of folder")
    if not folder.is_dir():
        raise HowlearnError(f"{folder} is a file; a folder that {by} wrote is needed")
    refuse_links(folder)
    file = folder / MANIFEST
    try:
        found = read_json(file)
    except OSError:
        raise HowlearnError(f"{folder} has no {MANIFEST}, so {by} did not write it") from None
    except ValueError:
        raise damaged(folder, by) from None
    if not isinstance(found, dict) or not isinstance(found.get("command"), str):
        raise damaged(folder, by)
    if found["command"] not in commands:
        raise HowlearnError(
            f"{folder} holds the results of howlearn {found['command']}; those of {by} are needed"
        )
    return found


def damaged(folder: Path, by: str = "howlearn select") -> HowlearnError:
    """What is said of a manifest that cannot be used."""
    return HowlearnError(f"{folder / MANIFEST} is damaged; run {by} again")


def hash_of(path: Path) -> str:
    """Of a file's content."""
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def check_version(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse results of another release."""
    version = manifest.get("howlearn")
    if isinstance(version, str) and _release(version) != _release(__version__):
        raise HowlearnError(
            f"{folder} was made by howlearn {version}, and this is howlearn {__version__}, which "
            "may read its tables wrongly; run howlearn select again, or the report with "
            f"howlearn {version}"
        )


def _release(version: str) -> tuple[str, ...]:
    """The part of a version that says what results look like."""
    return tuple(version.split(".")[:2])


# What checks and completeness say of the candidates, in the manifest and verdicts of a folder.


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


def fit_sentences(fit: Mapping[str, Any]) -> list[str]:
    """Whether the candidates are any good, as far as it was checked, in words."""
    told = [fit.get(name, {}).get("sentence") for name in (ABSOLUTE, CHECK, COMPLETENESS)]
    return [str(each) for each in told if each]


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
    """What must be known before any answer is read: that the candidates do not fit.

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
