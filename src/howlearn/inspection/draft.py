"""What is guessed so far: options with reasons, which the user's own words always overrule."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.expressions import is_expression
from howlearn.core.text import shortened
from howlearn.inspection.sample import Mask, Sample, together
from howlearn.reading.options import NONE, ReadOptions
from howlearn.reading.problems import listed
from howlearn.reading.roles import FILE_STEM

if TYPE_CHECKING:
    from howlearn.models.task import Task

COLUMN_OPTIONS = (
    "learner context action reward trial features by keep reset_by scored learned forgone episode "
    "duration rt"
).split()
LONG, TYPED = 60, 200  # characters of a column's name that a note shows, that somebody types
SAID, BY_NAME, BY_CONTENT = "you said so", "by its name", "by what it holds"


@dataclass(frozen=True)
class Guess:
    """The value of an option, and why."""

    option: str  # as ReadOptions calls it
    value: Any
    how: str  # SAID, BY_NAME or BY_CONTENT
    why: str = ""
    others: tuple[str, ...] = ()  # columns that it could also be

    @property
    def columns(self) -> tuple[Any, ...]:
        """The value as a row of names, or of numbers."""
        return self.value if isinstance(self.value, tuple) else (str(self.value),)

    @property
    def typed(self) -> str:
        """The value as one would type it."""
        return ",".join(f"{one:.15g}" if isinstance(one, float) else one for one in self.columns)


@dataclass(frozen=True)
class Oddity:
    """Something that the user should look at, and the option that helps."""

    sentence: str
    helps: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} ({self.helps})" if self.helps else self.sentence


@dataclass
class Draft:
    """The sample, what the user said, and what has been guessed from both."""

    sample: Sample
    given: ReadOptions
    task: Task | None = None
    guesses: dict[str, Guess] = field(default_factory=dict)
    oddities: list[Oddity] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)  # roles that nobody could play
    answer: str | None = None  # the column with the right answer
    refused: frozenset[str] = frozenset()  # options that shall stay empty

    def __post_init__(self) -> None:
        for name, value in said(self.given).items():
            self.guesses[name] = Guess(name, value, SAID)

    def put(
        self, option: str, value: Any, how: str, why: str, others: tuple[str, ...] = ()
    ) -> None:
        """Guess an option, unless it is known already."""
        if self.open(option):
            self.guesses[option] = Guess(option, value, how, why, others)

    def open(self, option: str) -> bool:
        """Whether an option may still be guessed."""
        return option not in self.guesses and option not in self.refused

    def odd(self, sentence: str, helps: str = "") -> None:
        """Remember an oddity."""
        for name in self.sample.columns:
            if len(name) > LONG:
                sentence = sentence.replace(name, shortened(name, LONG))
                helps = "" if len(name) > TYPED and name in helps else helps
        self.oddities.append(Oddity(sentence, helps))

    def column(self, option: str) -> str | None:
        """The one column of an option; None if it has none, several, or an expression."""
        guess = self.guesses.get(option)
        if guess is None or len(guess.columns) != 1:
            return None
        return guess.columns[0] if guess.columns[0] in self.sample.columns else None

    def columns(self, option: str) -> tuple[str, ...]:
        """The columns of an option that there are."""
        guess = self.guesses.get(option)
        found = () if guess is None else guess.columns
        return tuple(name for name in found if name in self.sample.columns)

    @property
    def free(self) -> list[str]:
        """The columns that play no role yet."""
        taken = {name for guess in self.guesses.values() for name in guess.columns}
        return [name for name in self.sample.columns if name not in taken]

    @property
    def chosen(self) -> Mask:
        """Which of the rows have a choice."""
        action = self.column("action")
        rows = np.ones(self.sample.height, dtype=np.bool_)
        return rows if action is None else ~self.sample.missing(action)

    def learners(self) -> NDArray[np.intp]:
        """A code per row for the learner."""
        name = self.column("learner")
        file = self.sample.file[self.sample.rows]
        return together(file if name is None else self.sample.codes(name))

    def contexts(self) -> NDArray[np.intp] | None:
        """A code per row for the context; None when it is always the same."""
        names = self.columns("context")
        return together(*(self.sample.codes(name) for name in names)) if names else None

    def sequences(self) -> NDArray[np.intp]:
        """A code per row for learner × condition."""
        return together(self.learners(), *(self.sample.codes(n) for n in self.columns("by")))

    def options(self) -> dict[str, Any]:
        """The options as ``read`` takes them."""
        known = [option.name for option in fields(ReadOptions)]
        return {name: self.guesses[name].value for name in known if name in self.guesses}


def said(given: ReadOptions) -> Mapping[str, Any]:
    """The options that the user gave."""
    usual = ReadOptions()
    values = {option.name: getattr(given, option.name) for option in fields(given)}
    return {name: value for name, value in values.items() if value != getattr(usual, name)}


def check_names(given: ReadOptions, columns: Sequence[str]) -> None:
    """Refuse a column that the user names and that is not there, before anything is guessed."""
    words = {"learner": FILE_STEM, **dict.fromkeys(("context", "trial", "scored", "learned"), NONE)}
    for option in COLUMN_OPTIONS:
        value = getattr(given, option)
        for text in value if isinstance(value, tuple) else (value,):
            if text is None or text in columns or text == words.get(option) or is_expression(text):
                continue
            parts = text.split(",") if option == "trial" else [text]
            unknown = [part.strip() for part in parts if part.strip() not in columns]
            if unknown:
                close = get_close_matches(unknown[0], columns, 1)
                hint = f" (did you mean {close[0]}?)" if close else ""
                known = listed([name for name in columns if name])
                name = option.replace("_", "-")
                raise HowlearnError(
                    f"--{name} {text}: there is no column {unknown[0]}{hint}; the columns: {known}"
                )


def in_expression(name: str) -> str | None:
    """A column as expressions name it; None where they cannot.

    >>> in_expression("phase"), in_expression("key_resp.keys"), in_expression("a`b")
    ('phase', '`key_resp.keys`', None)
    """
    words = ("missing", "true", "false", "TRUE", "FALSE")
    if name.isidentifier() and name.isascii() and not keyword.iskeyword(name) and name not in words:
        return name
    return None if "`" in name or not name.strip() else f"`{name}`"


def typed(name: str) -> str:
    """A name, or several with commas between them, as one would type it.

    >>> typed("key_resp.keys"), typed("left,right"), typed("my column")
    ('key_resp.keys', 'left,right', '"my column"')
    """
    return name if re.sub(r"[_.,]", "", name).isalnum() else f'"{name}"'


def in_quotes(value: str) -> str:
    """A value as expressions write it: numbers as they are, text in quotes."""
    try:
        float(value)
    except ValueError:
        return repr(value)
    return value if value.replace("-", "", 1).replace(".", "", 1).isdigit() else repr(value)


__all__ = ["BY_CONTENT", "BY_NAME", "FILE_STEM", "NONE", "SAID", "Draft", "Guess", "Oddity"]
