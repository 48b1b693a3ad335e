"""Each command ends with the next one worth typing."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from howlearn.cli.retype import MODELS, given, option, select_command


def following(*words: object, why: str = "") -> None:
    """Show the command, and what it is good for."""
    show_following(shlex.join(["howlearn", *map(str, words)]), why)


def show_following(command: str, why: str = "") -> None:
    """The same for a command that is one text."""
    from howlearn.cli.show import console

    text = f"Next: {command}" + (f"   ({why})" if why else "")
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def with_models(options: Mapping[str, Any]) -> list[str]:
    """The task and the models as they are typed.

    >>> with_models({"task": "shepard-2", "model": ["A", "B"], "rule": "gradient"})
    ['--task', 'shepard-2', '--model', 'A', '--model', 'B']
    """
    words: list[str] = []
    for name, value in given(options, MODELS).items():
        several = value if isinstance(value, list | tuple) else [value]
        typed = [option(name)] if value is True else []
        words += typed or [word for one in several for word in (option(name), f"{one}")]
    return words


def selecting(files: Sequence[Path], options: Mapping[str, Any]) -> str:
    """``howlearn select`` on the data that a command has just used."""
    from howlearn.core.errors import HowlearnError
    from howlearn.reading.options import ReadOptions
    from howlearn.reading.project_file import NAME, read_study_file

    names = [str(file) for file in files]
    try:
        if read_study_file(Path(NAME)).files == tuple(names):
            return "howlearn select"
    except HowlearnError:
        pass
    known = {*(field.name for field in fields(ReadOptions)), *MODELS}
    return select_command(names, {n: v for n, v in options.items() if n in known})
