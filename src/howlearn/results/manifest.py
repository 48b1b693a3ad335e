"""What a run was: options, versions, the input's hash, every row dropped or recoded; no times."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from howlearn import __version__
from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import read_json
from howlearn.core.study import Study
from howlearn.models.model import Model
from howlearn.models.task import Task
from howlearn.reading.formats.open import stamp_of
from howlearn.reading.formats.table import file_of
from howlearn.runs.files import refuse_links
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
        **_excluded(study),
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
    """Of a task file of one's own, which says how contexts and actions are read."""
    return None if task is None or task in Task.shipped() else hash_of(Path(task))


def _excluded(study: Study) -> dict[str, int]:
    """How many sequences are excluded, if anybody asked."""
    return {} if study.excluded is None else {"excluded": int((~study.included).sum())}


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
