"""What the user may say about the columns of a file; whatever is not said is guessed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from howlearn.core.errors import HowlearnError
from howlearn.core.text import canonical

NONE = "none"  # --by none: nothing, also where something would be guessed or stands in a file
# where the word is a value: columns that must be, an order, roles that reading guesses, a code
_HAVE_OWN_NONE = ("learner", "context", "action", "reward", "trial", "scored", "learned", "missing")


@dataclass(frozen=True)
class ReadOptions:
    """The options of reading, with the names they have on the command line.

    >>> ReadOptions(context="item", by=["condition"]).context
    ('item',)
    """

    learner: str | None = None  # "file": the learner is the file's stem
    context: tuple[str, ...] = ()  # ("none",): every trial is the same situation
    action: str | None = None
    reward: str | None = None
    trial: tuple[str, ...] = ()  # ("none",): the order of the rows; ("block", "trial")
    features: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    reset_by: tuple[str, ...] = ()
    scored: str | None = None
    learned: str | None = None
    where: str | None = None
    test_when: str | None = None
    forced_when: str | None = None
    recode: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    reward_range: tuple[float, float] | None = None
    min_trials: int | None = None
    forgone: tuple[str, ...] = ()
    episode: str | None = None
    duration: str | None = None
    bin: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    reward_scale: tuple[float, float] | None = None  # becomes 0 to 1
    rt: str | None = None  # the column with reaction times

    def __post_init__(self) -> None:
        for option in fields(self):
            if _is_none(option.name, getattr(self, option.name)):
                object.__setattr__(self, option.name, option.default)
        if isinstance(self.recode, Mapping):  # {"reward": {-1: 0}}, as one would write in Python
            texts = (
                f"{name}:{','.join(f'{old}={new}' for old, new in values.items())}"
                for name, values in self.recode.items()
            )
            object.__setattr__(self, "recode", tuple(texts))
        if isinstance(self.bin, Mapping):  # {"size": 4} or {"size": [0.2, 0.5]}
            texts = (f"{name}:{_listed(how)}" for name, how in self.bin.items())
            object.__setattr__(self, "bin", tuple(texts))
        for option in fields(self):
            value = getattr(self, option.name)
            if option.default == ():  # one name may be given without a list around it
                object.__setattr__(self, option.name, _several(value))
        for name in ("reward_range", "reward_scale"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _range(getattr(self, name), name))
        if self.reward_range is not None and self.reward_scale is not None:
            raise HowlearnError(
                "--reward-range takes rewards as recorded and --reward-scale changes them to 0…1: "
                "give one of the two"
            )
        if self.min_trials is not None and self.min_trials < 0:
            raise HowlearnError(f"--min-trials {self.min_trials}: a number from 0 on is needed")
        if "learner" in self.by + self.keep:
            raise HowlearnError("--by and --keep: the learner opens every table already")


def options_named(given: Mapping[str, Any]) -> ReadOptions:
    """The options by their names as Python keywords."""
    known = [option.name for option in fields(ReadOptions)]
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, 1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise HowlearnError(
                f"there is no option {name}{hint}; the options: task, {', '.join(known)}"
            )
    return ReadOptions(**given)


def refused(given: Mapping[str, Any]) -> frozenset[str]:
    """The options of which the user says that there shall be nothing.

    >>> sorted(refused({"by": ("none",), "where": "none", "context": "none", "rt": "rt"}))
    ['by', 'where']
    """
    return frozenset(name for name, value in given.items() if _is_none(name, value))


def without_refused(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options with nothing in the place of the word for it."""
    usual = {option.name: option.default for option in fields(ReadOptions)}
    return {n: usual[n] if n in refused(given) else value for n, value in given.items()}


def _is_none(name: str, given: object) -> bool:
    return name not in _HAVE_OWN_NONE and given in (NONE, (NONE,), [NONE])


def _several(given: object) -> tuple[str, ...]:
    if isinstance(given, Iterable) and not isinstance(given, str):
        return tuple(str(one) for one in given)
    return () if given is None else (str(given),)


def _listed(given: object) -> str:
    """Cut points as ``0.2,0.5``; a single one keeps its point, which tells it from a number."""
    return ",".join(_several(given))


def _range(given: object, name: str) -> tuple[float, float]:
    ends = given.split(",") if isinstance(given, str) else _several(given)
    typed = f"--{name.replace('_', '-')} {','.join(ends)}"
    try:
        low, high = (float(end) for end in ends)
    except ValueError:
        raise HowlearnError(f"{typed}: two numbers LO,HI are needed") from None
    if not (math.isfinite(low) and math.isfinite(high)):
        raise HowlearnError(f"{typed}: LO and HI must be finite numbers")
    if low >= high:
        raise HowlearnError(f"{typed}: LO must be smaller than HI")
    return low, high


def parse_recode(text: str) -> tuple[str, Mapping[str, str]]:
    """The column (or role) and the values that a --recode speaks of.

    >>> parse_recode("reward:-1=0,1.0=1")
    ('reward', {'-1': '0', '1': '1'})
    """
    name, colon, pairs = text.partition(":")
    values: dict[str, str] = {}
    for pair in pairs.split(","):
        old, equals, new = pair.rpartition("=")
        if not (name.strip() and colon and equals):
            raise HowlearnError(f"--recode {text!r}: write COL:OLD=NEW,OLD=NEW")
        values[canonical(old)] = canonical(new)
    return name.strip(), values


def parse_missing(text: str) -> tuple[str | None, str]:
    """The column (or role), None for all of them, and the value that a --missing speaks of.

    >>> parse_missing("-1"), parse_missing("action:-1.0")
    ((None, '-1'), ('action', '-1'))
    """
    name, colon, value = text.rpartition(":")
    return (name.strip() or None) if colon else None, canonical(value)
