"""Commands as a user would type them again, from their options."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from howlearn.core.errors import HowlearnError

# What options are when nobody gives them; all others are then empty.
PLAIN = {"rule": "gradient", "form": "gain", "max_rate": 1.0, "within": 2.0, "format": "csv"}
REPEATED = ("model", "add_model", "recode", "settings", "bin", "exclude")
MODELS = ("task", "rule", "form", "max_rate", "model", "add_model", "one_rate", "experts_from")
MOST = 3  # files that are named one by one


def given(options: Mapping[str, Any], names: Iterable[str] | None = None) -> dict[str, Any]:
    """The options that are not as they are by themselves.

    >>> given({"rule": "exp3", "form": "gain", "by": ()})
    {'rule': 'exp3'}
    """
    return {
        name: value
        for name, value in options.items()
        if (names is None or name in names) and value != PLAIN.get(name) and value not in EMPTY
    }


EMPTY: tuple[object, ...] = (None, (), [], False)


def option(name: str) -> str:
    """The option as it is typed.

    >>> option("max_rate"), option("settings")
    ('--max-rate', '--set')
    """
    return "--" + {"settings": "set"}.get(name, name.replace("_", "-"))


def select_command(files: Sequence[str], options: Mapping[str, Any], *more: str) -> str:
    """``howlearn select`` with these options.

    >>> select_command(["my trials.csv"], {"by": ["a", "b"], "missing": ["-1"]}, "--out", "results")
    "howlearn select 'my trials.csv' --by a,b --missing=-1 --out results"
    """
    words = ["howlearn", "select", *(files if len(files) <= MOST else ["FILES"])]
    for name, value in given(options).items():
        if name == "missing":  # its values may look like options
            words.append(f"--missing={','.join(value)}")
        elif value is True:
            words.append(option(name))
        elif name in REPEATED:
            words += [word for one in value for word in (option(name), str(one))]
        else:
            several = isinstance(value, list | tuple)
            words += [option(name), ",".join(map(str, value)) if several else f"{value}"]
    return shlex.join([*words, *more])


def refuse_beside_like(options: Mapping[str, Any], names: Iterable[str], like: object) -> None:
    """Doubles are as the results say, so what says otherwise is refused."""
    found = [option(name) for name in given(options, names)]
    if found:
        raise HowlearnError(
            f"{', '.join(found)} beside --like: the task, the order, the trials, the parameters "
            f"and the models are those of {like}; leave one of the two out"
        )
