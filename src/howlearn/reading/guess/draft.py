"""What is guessed so far: options with reasons, which the user's own words always overrule."""

from __future__ import annotations

import keyword
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.expression_values import YES_NO
from howlearn.core.expressions import is_expression
from howlearn.core.options import NONE
from howlearn.core.text import shortened
from howlearn.core.world import FoundKind
from howlearn.reading.columns import FILE_STEM, described_as, like, named_like
from howlearn.reading.guess.sample import Mask, Sample, together
from howlearn.reading.options import DATA, ColumnName, ColumnNames, ReadOptions
from howlearn.reading.problems import listed

if TYPE_CHECKING:
    from howlearn.models.task import Task
    from howlearn.reading.formats.sidecars import Description


COLUMN_OPTIONS = [
    n for n, option in DATA.items() if isinstance(option.kind, ColumnName | ColumnNames)
]
FEW_WORDS = 5
LONG, TYPED = 60, 200  # characters of a column's name that a note shows, that somebody types
SAID, BY_NAME, BY_CONTENT = "you said so", "by its name", "by what it holds"


@dataclass(frozen=True)
class Candidate:
    """A column that could play a role: what speaks for it, as log odds, in numbers and words."""

    column: str
    score: float
    reasons: tuple[str, ...] = ()


CLEAR = 0.75  # of all that speaks for the candidates of a role: with less it is asked


def shares(candidates: Sequence[Candidate]) -> tuple[float, ...]:
    """How much of what speaks for a role speaks for each candidate; they add up to 1.

    >>> [round(share, 2) for share in shares([Candidate("a", 3), Candidate("b", 2)])]
    [0.73, 0.27]
    """
    if not candidates:
        return ()
    scores = np.array([candidate.score for candidate in candidates])
    odds = np.exp(scores - scores.max())
    return tuple((odds / odds.sum()).tolist())


@dataclass(frozen=True)
class Guess:
    """The value of an option, and why."""

    option: str  # as ReadOptions calls it
    value: Any
    how: str  # SAID, BY_NAME or BY_CONTENT
    why: str = ""
    others: tuple[str, ...] = ()  # columns that it could also be
    candidates: tuple[Candidate, ...] = ()  # the value's first, then the runners-up

    @property
    def share(self) -> float:
        """How much of what speaks for any candidate speaks for this one: 1 where it is alone."""
        return shares(self.candidates)[0] if self.candidates else 1.0

    @property
    def columns(self) -> tuple[Any, ...]:
        """The value as a row of names, or of numbers."""
        return self.value if isinstance(self.value, tuple) else (str(self.value),)

    @property
    def typed(self) -> str:
        """The value as one would type it."""
        return ",".join(f"{one:.15g}" if isinstance(one, float) else one for one in self.columns)


_THINGS = (
    r"(machine|arm|stimul|image|picture|symbol|option|bandit|deck|pair|card|cue|item|fractal|slot|"
    r"shape|object|problem|contingenc|mapping|door|set)"
)
_NEW_THINGS = tuple(
    re.compile(words)
    for words in (
        rf"\b(each|every)\b.*\b(new|novel|different|fresh|unique)\b[^;.]*\b{_THINGS}",
        rf"\b(new|novel|different|fresh|unique)\b[^;.]*\b{_THINGS}\w*\b.*\b(each|every|per)\b",
    )
)


@dataclass(frozen=True)
class Oddity:
    """Something that the user should look at, and the option that helps."""

    sentence: str
    helps: str = ""

    def __str__(self) -> str:
        return f"{self.sentence} ({self.helps})" if self.helps else self.sentence


@dataclass(frozen=True)
class Answer:
    """One of the answers to a question."""

    option: str
    value: Any
    says: str  # examples, and what would follow
    also: Mapping[str, Any] = field(default_factory=dict)  # further options that go with it

    @property
    def typed(self) -> str:
        """The options as one would type them."""
        words = []
        for name, value in {self.option: self.value, **self.also}.items():
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            sign = "=" if text.startswith("-") else " "  # else it looks like another option
            words.append(f"--{name.replace('_', '-')}{sign}{typed(text)}")
        return " ".join(words)


@dataclass(frozen=True)
class Question:
    """What the data do not tell, with what it could be; the likeliest answer stands first."""

    about: str  # the option
    sentence: str
    answers: tuple[Answer, ...]
    by_hand: bool = False  # whether nobody but people can answer it: --yes does not

    def __str__(self) -> str:
        lines = [self.sentence]
        lines += [
            f"  {each.typed}" + (f"   {each.says}" if each.says else "") for each in self.answers
        ]
        return "\n".join(lines)


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
    about: Mapping[str, Description] = field(default_factory=dict)  # what sidecars say
    questions: list[Question] = field(default_factory=list)
    on_offer: tuple[str, ...] = ()  # columns that show what could be chosen
    one_of: tuple[str, ...] = ()  # columns that are always one of these
    thirds: dict[str, str] = field(default_factory=dict)  # words of columns: nothing was chosen
    computed: set[str] = field(default_factory=set)  # expressions that were tried as columns
    derived: set[str] = field(default_factory=set)  # columns that follow from choices and outcomes
    design: set[str] = field(default_factory=set)  # columns that were fixed before the choice
    kind: FoundKind | None = None  # of task, once the roles are known

    def __post_init__(self) -> None:
        for name, value in said(self.given).items():
            self.guesses[name] = Guess(name, value, SAID)

    def put(
        self,
        option: str,
        value: Any,
        how: str,
        why: str,
        others: tuple[str, ...] = (),
        candidates: tuple[Candidate, ...] = (),
    ) -> None:
        """Guess an option, unless it is known already."""
        if self.open(option):
            self.guesses[option] = Guess(option, value, how, why, others, candidates)

    def shown(self) -> list[str]:
        """The columns that may say what was shown: what the user named, else what names suggest."""
        said = self.columns("context")
        return [*said] if said else [*self.named("context")]

    def ask(
        self, about: str, sentence: str, answers: Sequence[Answer], by_hand: bool = False
    ) -> None:
        """Ask what an option should be; the first answer is what is taken without one."""
        if all(question.about != about for question in self.questions):
            self.questions.append(Question(about, sentence, tuple(answers), by_hand))

    def named(self, role: str) -> dict[str, int]:
        """The free columns that speak for a role: 4 where a description does, 3 to 0 for names."""
        free = self.free
        roles = {c: described_as(self.about[c].text) for c in free if c in self.about}
        told = {c: 4 for c, found in roles.items() if found == role}
        open_ones = [c for c in free if roles.get(c) is None]
        named = named_like(role, open_ones)
        labels = {self.about[c].text: c for c in open_ones if c in self.about}
        labels = {text: c for text, c in labels.items() if len(text.split()) <= FEW_WORDS}
        for text, strength in named_like(role, [*labels]).items():  # a short label is a name
            named.setdefault(labels[text], strength)
        return told | named

    def written(self, column: str) -> str | None:
        """A column as expressions name it, or the expression that it was computed from."""
        if column not in self.computed:
            return in_expression(column)
        is_condition = self.sample.counts(column).keys() <= {*YES_NO}
        return f"if({column}, 'yes', 'no')" if is_condition else f"({column})"

    def like(self, column: str, words: str) -> bool:
        """Whether a column's name, or the short label that describes it, has one of these words."""
        told = self.about[column].text if column in self.about else ""
        label = re.split(r"[;:.,(]", told, maxsplit=1)[0]
        return like(column, words) or (0 < len(label.split()) <= 3 and like(label, words))

    def brings_new(self, column: str) -> bool:
        """Whether the description of blocks says that each has new things to learn about."""
        told = self.about[column].text.lower() if column in self.about else ""
        return any(words.search(told) for words in _NEW_THINGS)

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

    def weighed(self, role: str) -> set[str]:
        """The columns that were candidates for a role, or were ruled out by what they do."""
        guess = self.guesses.get(role)
        candidates = () if guess is None else guess.candidates
        rows = self.chosen
        empty = {c for c in self.sample.columns if self.sample.missing(c)[rows].all()}
        return {each.column for each in candidates} | self.design | {*self.on_offer} | empty

    @property
    def free(self) -> list[str]:
        """The columns that play no role yet."""
        one = len(self.columns("forgone")) == 1
        others = ("names",) if one else ("names", "forgone")  # these may play any role
        roles = [guess for name, guess in self.guesses.items() if name not in others]
        taken = {name for guess in roles for name in guess.columns} | self.computed | self.derived
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
        if "context" not in self.guesses:  # reading takes the features for it
            names = self.columns("features")
        return together(*(self.sample.codes(name) for name in names)) if names else None

    def sequences(self) -> NDArray[np.intp]:
        """A code per row for learner × condition."""
        return together(self.learners(), *(self.sample.codes(n) for n in self.columns("by")))

    def options(self) -> dict[str, Any]:
        """The options as ``read`` takes them."""
        return {name: self.guesses[name].value for name in DATA if name in self.guesses}


def said(given: ReadOptions) -> Mapping[str, Any]:
    """The options that the user gave."""
    values = {name: getattr(given, name) for name in DATA}
    return {name: value for name, value in values.items() if value != DATA[name].usual}


def check_names(given: ReadOptions, columns: Sequence[str]) -> None:
    """Refuse a column that the user names and that is not there, before anything is guessed."""
    words = {"learner": FILE_STEM, **dict.fromkeys(("context", "trial", "scored", "learned"), NONE)}
    for option in COLUMN_OPTIONS:
        value = getattr(given, option)
        if option == "features" and not {*value} & {*columns}:
            continue  # names for the parts of contexts' names
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


def add_missing(draft: Draft, role: str, column: str, codes: tuple[str, ...], why: str) -> None:
    """Codes of a column that mean nothing, beside those that are known."""
    if NONE in draft.given.missing:
        return
    name = column if role in draft.sample.columns or ":" in column else role  # a column wins
    before = draft.guesses.get("missing")
    texts = tuple(f"{name}:{code}" for code in codes)
    if before is not None:
        texts = tuple(dict.fromkeys((*before.columns, *texts)))
        why = "; ".join(filter(None, (before.why, why)))
    draft.guesses["missing"] = Guess("missing", texts, BY_CONTENT, why)
    draft.sample = draft.sample.without(column, codes)


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
    """A name, or several with commas between them, or an expression, as one types it in a shell.

    >>> print(typed("key_resp.keys"), typed("left,right"), typed("my column"))
    key_resp.keys left,right "my column"
    >>> print(typed("`my column` == 'a'"), typed('column("a`b") == 1'))
    "column('my column') == 'a'" 'column("a`b") == 1'
    """
    if re.sub(r"[_.,]", "", name).isalnum():
        return name
    text = re.sub(r"`([^`'\"\\]+)`", r"column('\1')", name)  # a shell would run what is in ``
    return shlex.quote(text) if re.search(r'["$`\\!]', text.replace("!=", "")) else f'"{text}"'


def is_among(name: str, values: Sequence[str], no: str = "") -> str:
    """The condition that a column has one of these values; ``no``: that it has none of them.

    >>> is_among("phase", ["a"]), is_among("phase", ["a", "b"], "not ")
    ("phase == 'a'", "phase not in ['a', 'b']")
    """
    if len(values) == 1:
        return f"{name} {'!=' if no else '=='} {in_quotes(values[0])}"
    return f"{name} {no}in [{', '.join(map(in_quotes, values))}]"


def in_quotes(value: str) -> str:
    """A value as expressions write it: numbers as they are, text in quotes."""
    try:
        float(value)
    except ValueError:
        return repr(value)
    return value if value.replace("-", "", 1).replace(".", "", 1).isdigit() else repr(value)
