"""Options that are not typed may stand in a file, ``howlearn.toml``."""

from __future__ import annotations

import shlex
from collections.abc import Container, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from howlearn.cli.build import Given
from howlearn.core.options import Names, Option
from howlearn.reading.analysis_options import NAMING_FILES

if TYPE_CHECKING:
    from howlearn.reading.project_file import StudyFile


def complete(command: str, options: Sequence[Option], given: Given, typed: Container[str]) -> None:
    """Put what a file says where nothing was typed; nothing in the place of the word for it."""
    takes_files = "files" in given
    file = _study_file(command, given.study, given.files) if takes_files else _named(given.study)
    for option in options:
        if option.section == "data" and option.is_refused(given[option.name]):
            given[option.name] = option.usual
    if file is not None:
        merge(options, file, typed, given)
        if takes_files:
            named = [] if _only_study_file(given.files) else given.files
            given["files"] = named or [Path(each) for each in file.files]
    if "frozen" in given:  # the plan's values, where nothing was typed
        from howlearn.cli.freeze import follow

        given["frozen"] = follow(options, given, file, typed)


def _refuse_code(file: StudyFile, option: Option, models: Sequence[str]) -> None:
    """Whoever wrote the file must not decide which code is run."""
    from howlearn.core import safe_files
    from howlearn.core.errors import HowlearnError

    own = [each for model in models for each in safe_files.own_names(model)]
    refused = [each for each in own if not safe_files.is_allowed(each.rpartition(":")[0])]
    if refused:
        words = shlex.join([word for model in models for word in (option.word, model)])
        raise HowlearnError(
            f"{file.path} names code, {', '.join(refused)}, and only what is typed is run; if you "
            f"trust it, add to this command: {words}"
        )


def _only_study_file(files: Sequence[Path] | None) -> bool:
    return len(files or ()) == 1 and (files or [Path()])[0].suffix.lower() == ".toml"


def _named(path: Path | None) -> StudyFile | None:
    if path is None:
        return None
    from howlearn.cli import show
    from howlearn.reading.project_file import read_study_file

    found = read_study_file(path)
    outside = [name for name in _paths_of(found) if not _is_beside(path, name)]
    if outside:  # whoever wrote the file must not have others read unnoticed
        show.note(f"{path} has these read, from outside its folder: {', '.join(outside)}")
    return found


def _paths_of(file: StudyFile) -> list[str]:
    """The files and folders that the options of a file name."""
    named = [str(file.models.get(name, "")) for name in NAMING_FILES]
    return [*file.files, *(name for name in named if name and Path(name).exists())]


def _is_beside(path: Path, name: str) -> bool:
    return Path(name).resolve().is_relative_to(path.parent.resolve())


def _study_file(command: str, path: Path | None, files: list[Path] | None) -> StudyFile | None:
    """The file that was named, or the one of this folder if no data are named."""
    from howlearn.cli import show
    from howlearn.core.errors import HowlearnError
    from howlearn.reading.project_file import NAME

    if path is None and _only_study_file(files):
        path, files = (files or [])[0], None
    here = Path(NAME)
    if path is None and files:
        if here.exists():
            show.note(f"{NAME} in this folder is not used, since FILES are named")
        return None
    if path is None and not here.exists():
        raise HowlearnError(
            f"no file was given, and there is no {NAME} in this folder; type howlearn {command} "
            "FILES, or first howlearn inspect FILES, which looks at them and writes one"
        )
    found = _named(path or here)
    if found is not None and not (files or found.files):
        raise HowlearnError(f'{found.path} names no files; add a line files = ["trials.csv"]')
    if path is None:
        show.note(f"options from {NAME}; what is typed wins")
    return found


def merge(options: Sequence[Option], file: StudyFile, typed: Container[str], given: Given) -> None:
    """Put the file's options where nothing was typed."""
    known = {each.name: each for each in options if each.section and each.name not in typed}
    for name, value in (*file.models.items(), *file.data.items()):
        option = known.get(name)
        if option is None:
            continue
        if option.names_code:
            _refuse_code(file, option, value)
        one = option.section == "models" and not isinstance(option.kind, Names)
        if one and isinstance(value, tuple):  # simulate follows one model
            continue
        given[name] = option.kind.taken(value, f"{file.path}: {name} = {value!r}")
