"""An option is declared once; the command line, ``read``, ``howlearn.toml`` and plans follow.

An ``Option`` has a name, a kind and words about itself. Its kind knows what the value may be: as
it is typed, as a line of a file, and as a Python value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from howlearn.core.errors import HowlearnError

NONE = "none"  # --by none: nothing, also where something would be guessed or stands in a file
_TOGETHER = re.compile(r"""(?<![\w)])(?:'[^']*'|"[^"]*")|`[^`]*`|[()\[\],]""")


class Panel(StrEnum):
    """The headings of a command's help."""

    data = "The data"
    design = "The design"
    models = "The models"
    output = "The results"
    running = "Running"
    compared = "What is compared"
    chance = "Chance"
    shown = "What is shown"

    def option(self, name: str, kind: Kind, help: str, default: Any = None, **more: Any) -> Option:
        """An option under this heading."""
        return Option(name, kind, help, default, self, **more)


@dataclass(frozen=True)
class Kind:
    """What the value of an option may be. This one is a text."""

    metavar: str | None = None  # what stands for the value in the help
    type: ClassVar[Any] = str  # what the command line makes of a word
    empty: ClassVar[Any] = None  # the value where nothing is given
    needed: ClassVar[str] = "a text in quotes"  # in a file

    def typed(self, value: Any) -> Any:
        """The value of what the command line has parsed."""
        return value

    def in_file(self, value: Any) -> Any:
        """The value of a line in a file; None if it cannot be one."""
        return str(value) if is_plain(value) else None

    def taken(self, value: Any, option: str) -> Any:
        """The value of what a command takes from a file."""
        return value

    def given(self, value: Any, option: str) -> Any:
        """The value of what a Python keyword was given."""
        return value


class OnOff(Kind):
    """Yes or no."""

    type = bool
    needed = "true or false"

    def in_file(self, value: Any) -> Any:
        """Nothing else is a switch."""
        return value if isinstance(value, bool) else None


@dataclass(frozen=True)
class Number(Kind):
    """A number."""

    least: float | None = None  # the command line refuses less
    type: ClassVar[Any] = float
    needed: ClassVar[str] = "a number"

    def in_file(self, value: Any) -> Any:
        """Numbers stand without quotes."""
        return value if is_plain(value) and not isinstance(value, str) else None


@dataclass(frozen=True)
class WholeNumber(Number):
    """A whole number."""

    type: ClassVar[Any] = int
    needed: ClassVar[str] = "a whole number"

    def in_file(self, value: Any) -> Any:
        """Without a point."""
        return value if isinstance(value, int) and not isinstance(value, bool) else None


class FilePath(Kind):
    """A file or a folder."""

    type = Path

    def taken(self, value: Any, option: str) -> Any:
        """Files hold texts."""
        return Path(value)


class Files(FilePath):
    """Files or folders."""

    type = list[Path]


@dataclass(frozen=True)
class OneOf(Kind):
    """One of a few words."""

    words: Sequence[str] = ()

    @cached_property
    def type(self) -> Any:  # type: ignore[override]
        """The words as the command line takes them."""
        return StrEnum("Choice", {word: word for word in self.words})

    def typed(self, value: Any) -> Any:
        """The word."""
        return None if value is None else str(value.value)

    def taken(self, value: Any, option: str) -> Any:
        """Files may hold any word."""
        allowed = self.allowed()
        if value not in allowed:
            raise HowlearnError(f"{option}: one of {', '.join(allowed)} is needed")
        return value

    def allowed(self) -> Sequence[str]:
        """The words that are taken."""
        return self.words


@dataclass(frozen=True)
class Registered(OneOf):
    """A word of a registry, which is asked when a word is given.

    The help shows the ``words`` that are always there: to load what they name takes long.
    """

    known: Callable[[], Iterable[str]] = tuple
    type: ClassVar[Any] = str

    def parsed(self, value: str) -> str:
        """What was typed, if it is one of them."""
        if value not in self.allowed():
            there = ", ".join(map(repr, self.allowed()))
            raise ValueError(f"{value!r} is not one of {there}.")
        return value

    def typed(self, value: Any) -> Any:
        """The word."""
        return value

    def allowed(self) -> Sequence[str]:
        """The words that are registered now."""
        return tuple(self.known())


class Names(Kind):
    """Several texts with commas between them; one may stand without a list around it."""

    empty = ()
    needed = 'a text, or a list of texts such as ["a", "b"]'

    def typed(self, value: Any) -> Any:
        """``a,b``."""
        return commas(value)

    def in_file(self, value: Any) -> Any:
        """A list, or one text with commas."""
        if isinstance(value, str):
            return commas(value)
        if isinstance(value, list):
            return tuple(str(one) for one in value) if all(map(is_plain, value)) else None
        return (str(value),) if is_plain(value) else None

    def given(self, value: Any, option: str) -> Any:
        """Numbers may be given as numbers."""
        return several(value)


class Repeated(Names):
    """An option that may be repeated, since its values may hold commas."""

    type = list[str]

    def typed(self, value: Any) -> Any:
        """Each as it is."""
        return tuple(value or ())

    def in_file(self, value: Any) -> Any:
        """A list, or one text."""
        return (value,) if isinstance(value, str) else super().in_file(value)


class Pair(Kind):
    """Two numbers, the smaller one first."""

    needed = "two numbers such as [0, 5]"

    def typed(self, value: Any) -> Any:
        """``LO,HI``."""
        return commas(value) or None

    def in_file(self, value: Any) -> Any:
        """A list of two, or a text with a comma."""
        if isinstance(value, str) and value.count(",") == 1:
            return tuple(end.strip() for end in value.split(","))
        if isinstance(value, list) and len(value) == 2 and all(map(is_plain, value)):
            return tuple(str(end) for end in value)
        return None

    def given(self, value: Any, option: str) -> Any:
        """Finite numbers in their order."""
        if value is None:
            return None
        ends = value.split(",") if isinstance(value, str) else several(value)
        typed = f"{option} {','.join(ends)}"
        try:
            low, high = (float(end) for end in ends)
        except ValueError:
            raise HowlearnError(f"{typed}: two numbers LO,HI are needed") from None
        if not (math.isfinite(low) and math.isfinite(high)):
            raise HowlearnError(f"{typed}: LO and HI must be finite numbers")
        if low >= high:
            raise HowlearnError(f"{typed}: LO must be smaller than HI")
        return low, high


class Values(Names):
    """Values of columns, which may begin or end with a space."""

    def typed(self, value: Any) -> Any:
        """What stands between commas, as it is."""
        return () if value is None else tuple(value.split(","))


class Recoding(Repeated):
    """New values for old ones."""

    def given(self, value: Any, option: str) -> Any:
        """Also ``{"reward": {-1: 0}}``, as one would write in Python."""
        if isinstance(value, Mapping):
            value = [
                f"{name}:{','.join(f'{old}={new}' for old, new in pairs.items())}"
                for name, pairs in value.items()
            ]
        return several(value)


class BinsOption(Repeated):
    """Bins, by their number or between cut points."""

    def given(self, value: Any, option: str) -> Any:
        """Also ``{"size": 4}`` or ``{"size": [0.2, 0.5]}``.

        A single cut point keeps its point, which tells it from a number of bins.
        """
        if isinstance(value, Mapping):
            value = [f"{name}:{','.join(several(how))}" for name, how in value.items()]
        return several(value)


class FromZero(WholeNumber):
    """A whole number, 0 or greater."""

    def given(self, value: Any, option: str) -> Any:
        """None is nothing."""
        if value is not None and value < 0:
            raise HowlearnError(f"{option} must be 0 or greater, got {value}")
        return value


Check: TypeAlias = Callable[[str, str, Sequence[str]], object]  # of text, option and columns


@dataclass(frozen=True)
class Option:
    """One option: what it is called, what it may be, and what it says about itself.

    >>> Option("max_rate", Number(), default=1.0).word
    '--max-rate'
    """

    name: str  # as Python has it
    kind: Kind = field(default_factory=Kind)
    help: str = ""
    default: Any = None
    panel: Panel | None = None
    words: tuple[str, ...] = ()  # as it is typed, if not by its name
    is_argument: bool = False
    is_required: bool = False
    section: str = ""  # of howlearn.toml and of a plan, where it may stand; none: it is only typed
    about: str = ""  # what it says about itself as a keyword in Python
    rank: int = 0  # options of a lower one come first in the help
    is_common: bool = False  # --help shows it also where a command has many
    has_none: bool = False  # the word "none" is a value, and does not stand for nothing
    may_be_open: bool = False  # in a plan: where something stands, not what is done with it
    check: Check | None = None  # refuses a text that cannot be meant, whatever the data are
    names_code: bool = False  # it may name the user's model, whose code is run

    def but(self, **changes: Any) -> Option:
        """The option as another command has it."""
        return replace(self, **changes)

    @property
    def word(self) -> str:
        """The option as it is typed."""
        return self.words[0] if self.words else f"--{self.name.replace('_', '-')}"

    @property
    def usual(self) -> Any:
        """Its value where nothing is given."""
        return self.kind.empty if self.default is None else self.default

    def is_refused(self, value: object) -> bool:
        """Whether the user says that there is nothing."""
        return not self.has_none and value in (NONE, (NONE,), [NONE])

    def given(self, value: Any) -> Any:
        """The value of what a Python keyword was given."""
        return self.usual if self.is_refused(value) else self.kind.given(value, self.word)


def commas(text: str | None) -> tuple[str, ...]:
    """The names in ``a,b``; a comma in quotes, brackets or a list belongs to an expression.

    >>> commas("shape, colour"), commas("block, stimulus in ['a', 'b']")
    (('shape', 'colour'), ('block', "stimulus in ['a', 'b']"))
    >>> commas("if(a == 1, b, c), d"), commas("odd (name, next")
    (('if(a == 1, b, c)', 'd'), ('odd (name', 'next'))
    """
    text, depth, places = text or "", 0, []
    for found in _TOGETHER.finditer(text):
        depth += (found[0] in "([") - (found[0] in ")]")
        if found[0] == "," and depth <= 0:
            places.append(found.start())
    if depth:  # a bracket that is part of a name
        places = [i for i, letter in enumerate(text) if letter == ","]
    ends = zip([-1, *places], [*places, len(text)], strict=True)
    parts = [text[before + 1 : after].strip() for before, after in ends]
    return tuple(part for part in parts if part)


def several(given: object) -> tuple[str, ...]:
    """One value or many, as texts.

    >>> several("a"), several([1, 2]), several(None)
    (('a',), ('1', '2'), ())
    """
    if isinstance(given, Iterable) and not isinstance(given, str):
        return tuple(str(one) for one in given)
    return () if given is None else (str(given),)


def is_plain(value: object) -> bool:
    """Whether a value of a file is a text or a number."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)
