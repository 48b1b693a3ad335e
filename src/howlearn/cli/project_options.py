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
        named = [] if not takes_files or _only_study_file(given.files) else given.files
        refuse_outside_of(options, file, [] if named or not takes_files else file.files, typed)
        merge(options, file, typed, given)
        if takes_files:
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
    from howlearn.reading.project_file import read_study_file

    return read_study_file(path)


def refuse_outside_of(
    options: Sequence[Option], file: StudyFile, files: Sequence[str], typed: Container[str]
) -> None:
    """Whoever wrote the file must not have others read: neither data nor what options name."""
    from howlearn.reading.project_file import outside, refuse_outside

    known = {each.name: each for each in options if each.name not in typed}
    named = {
        name: str(file.models[name])
        for name in NAMING_FILES
        if name in known and name in file.models and Path(file.models[name]).exists()
    }
    words = [*files, "--study", str(file.path)] if outside(file.path, files) else []
    for name, value in named.items():
        words += [known[name].word, value] if outside(file.path, [value]) else []
    remedy = f"add to this command: {shlex.join(words)}"
    refuse_outside(file.path, [*files, *named.values()], remedy)


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
        show.note(f"options from {NAME}; typed options win")
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
