"""The next command worth typing, written so that it can be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from howlearn.cli.options import CANDIDATES, FORMAT, LEARNING, SETTINGS
from howlearn.core.errors import HowlearnError
from howlearn.core.options import Repeated
from howlearn.reading.analysis_options import MODELS as ANALYSIS
from howlearn.reading.analysis_options import TASK
from howlearn.reading.options import DATA

# Commands as a user would type them again, from their options.


KNOWN = {**DATA, **ANALYSIS, FORMAT.name: FORMAT, SETTINGS.name: SETTINGS}
MODELS = tuple(each.name for each in (TASK, *LEARNING, *CANDIDATES))
MOST = 3  # files that are named one by one


def not_usual(options: Mapping[str, Any], names: Iterable[str] | None = None) -> dict[str, Any]:
    """The options that are not as they are by themselves.

    >>> not_usual({"rule": "exp3", "form": "gain", "by": ()})
    {'rule': 'exp3'}
    """
    return {
        name: value
        for name, value in options.items()
        if (names is None or name in names)
        and value not in EMPTY
        and not (name in KNOWN and value == KNOWN[name].default)
    }


EMPTY: tuple[object, ...] = (None, (), [], False)


def option(name: str) -> str:
    """The option as it is typed.

    >>> option("max_rate"), option("settings")
    ('--max-rate', '--set')
    """
    return KNOWN[name].word if name in KNOWN else f"--{name.replace('_', '-')}"


def select_command(files: Sequence[str], options: Mapping[str, Any], *more: str) -> str:
    """``howlearn select`` with these options.

    >>> select_command(["my trials.csv"], {"by": ["a", "b"], "missing": ["-1"]}, "--out", "results")
    "howlearn select 'my trials.csv' --by a,b --missing=-1 --out results"
    """
    words = ["howlearn", "select", *(files if len(files) <= MOST else ["FILES"])]
    for name, value in not_usual(options).items():
        if name == "missing":  # its values may look like options
            words.append(f"--missing={','.join(value)}")
        elif value is True:
            words.append(option(name))
        elif name in KNOWN and isinstance(KNOWN[name].kind, Repeated):
            words += [word for one in value for word in (option(name), str(one))]
        else:
            several = isinstance(value, list | tuple)
            words += [option(name), ",".join(map(str, value)) if several else f"{value}"]
    return shlex.join([*words, *more])


def refuse_beside_like(options: Mapping[str, Any], names: Iterable[str], like: object) -> None:
    """Doubles are as the results say, so what says otherwise is refused."""
    found = [option(name) for name in not_usual(options, names)]
    if found:
        raise HowlearnError(
            f"{', '.join(found)} beside --like: the task, the order, the trials, the parameters "
            f"and the models are those of {like}; leave one of the two out"
        )


def following(*words: object, why: str = "") -> None:
    """Show the command, and what it is good for."""
    show_following(shlex.join(["howlearn", *map(str, words)]), why)


def show_following(command: str, why: str = "") -> None:
    """The same for a command that is one text."""
    from howlearn.cli import Written
    from howlearn.cli.show import console

    if Written.is_step:
        return
    text = f"Next: {command}" + (f"   ({why})" if why else "")
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def with_models(options: Mapping[str, Any]) -> list[str]:
    """The task and the models as they are typed.

    >>> with_models({"task": "shepard-2", "model": ["A", "B"], "rule": "gradient"})
    ['--task', 'shepard-2', '--model', 'A', '--model', 'B']
    """
    words: list[str] = []
    for name, value in not_usual(options, MODELS).items():
        several = value if isinstance(value, list | tuple) else [value]
        typed = [option(name)] if value is True else []
        words += typed or [word for one in several for word in (option(name), f"{one}")]
    return words


def selecting(files: Sequence[Path], options: Mapping[str, Any]) -> str:
    """``howlearn select`` on the data that a command has just used."""
    from howlearn.core.errors import HowlearnError
    from howlearn.reading.options import DATA
    from howlearn.reading.project_file import NAME, outside, read_study_file

    names = [str(file) for file in files]
    try:
        if read_study_file(Path(NAME)).files == tuple(names):
            typed = [*names, "--study", NAME] if outside(Path(NAME), names) else []
            return shlex.join(["howlearn", "select", *typed])
    except HowlearnError:
        pass
    return select_command(names, {n: v for n, v in options.items() if n in (*DATA, *MODELS)})
