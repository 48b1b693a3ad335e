"""What the user may say about the columns of a file; whatever is not said is guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from textwrap import wrap
from typing import Any

from howlearn.core.errors import HowlearnError
from howlearn.core.options import (
    NONE,
    BinsOption,
    FromZero,
    Kind,
    Names,
    Option,
    Pair,
    Panel,
    Recoding,
    Repeated,
    Values,
    several,
)
from howlearn.reading.option_texts import (
    ROLES_NAMED,
    offers_as_text,
    parse_missing,
    parse_recode,
    parse_wide,
)

__all__ = ["DATA", "NONE", "ReadOptions"]


# Where a row holds several choices, each trial has its number, its choice and its state.
STAGE, STAGE_CHOICE, STAGE_STATE = "stage_number", "stage_choice", "stage_state"


class ColumnName(Kind):
    """One column, or an expression in its place."""


class ColumnNames(Names):
    """Several columns, or expressions in their place."""


class _Order(ColumnNames):
    """Columns whose comma may be part of a name: ``block,trial`` is taken apart when it is not."""

    def typed(self, value: Any) -> Any:
        """Not yet taken apart."""
        return () if value is None else (value,)


class _Offers(Repeated):
    """What labels say was on offer: ``12=1|2, 34=3|4``."""

    def in_file(self, value: Any) -> Any:
        """Also a table: ``{12 = [1, 2]}``."""
        return offers_as_text(value) if isinstance(value, Mapping) else super().in_file(value)

    def given(self, value: Any, option: str) -> Any:
        """Also ``{"12": [1, 2]}``, as one would write in Python."""
        return offers_as_text(value) if isinstance(value, Mapping) else several(value)


def _check_condition(text: str, option: str, columns: Sequence[str]) -> None:
    from howlearn.core.expressions import parse

    parse(text, option, columns)


def _check_exclusion(text: str, option: str, columns: Sequence[str]) -> None:
    from howlearn.reading.exclude import parse

    parse(text, columns)


def _check_bin(text: str, option: str, columns: Sequence[str]) -> None:
    from howlearn.reading.bins import parse_bin

    parse_bin(text)


def _check_offers(text: str, option: str, columns: Sequence[str]) -> None:
    from howlearn.reading.offers import parse_offers

    parse_offers([text])


def _option(kind: Kind, help: str, about: str, **more: Any) -> Any:
    """A field of ``ReadOptions`` that is an option of the commands that read trials."""
    option = Option("", kind, help, panel=Panel.data, section="data", about=about, **more)
    return field(default=kind.empty, metadata={"option": option})


_COLUMN, _COLUMNS, _EXPRESSION, _PAIR = (
    ColumnName("COL"),
    ColumnNames("COL[,COL]"),
    Kind("EXPR"),
    Pair("LO,HI"),
)


@dataclass(frozen=True)
class ReadOptions:
    """The options of reading, with the names they have on the command line.

    >>> ReadOptions(context="item", by=["condition"]).context
    ('item',)
    """

    learner: str | None = _option(
        _COLUMN,
        "Who chose (also --participant, --subject); 'file' or 'folder' if each is one learner.",
        'the column with the learner; "file" or "folder": each file or folder is a learner',
        words=("--learner", "--participant", "--subject"),
        has_none=True,
        may_be_open=True,
        is_common=True,
    )
    context: tuple[str, ...] = _option(
        _COLUMNS,
        "What was shown; 'none' if it was always the same.",
        'the column, or the columns, of the context; "none": always the same situation',
        has_none=True,
        may_be_open=True,
        is_common=True,
    )
    action: str | None = _option(
        _COLUMN,
        "What was chosen.",
        "the column with the choice",
        has_none=True,
        may_be_open=True,
        is_common=True,
    )
    reward: str | None = _option(
        _COLUMN,
        "What the choice earned, from 0 to 1.",
        "the column with what the choice earned",
        has_none=True,
        may_be_open=True,
        is_common=True,
    )
    trial: tuple[str, ...] = _option(
        _Order("COL[,COL]"),
        "The trial number; block,trial if numbers restart; 'none' for the order of the rows.",
        'the column with the trial\'s number, or several (["block", "trial"]); "none": the order '
        "of the rows",
        has_none=True,
        may_be_open=True,
    )
    features: tuple[str, ...] = _option(
        _COLUMNS,
        "Columns that describe a context; each makes candidates.",
        "columns that describe the context",
        is_common=True,
    )
    by: tuple[str, ...] = _option(
        _COLUMNS,
        "Conditions; each learner × condition is analysed separately.",
        "columns with conditions; each learner × condition is a separate sequence",
        is_common=True,
    )
    keep: tuple[str, ...] = _option(
        _COLUMNS,
        "Columns to add to every table (group, age).",
        "columns about the learner that go into every table",
        may_be_open=True,
    )
    reset_by: tuple[str, ...] = _option(
        _COLUMNS,
        "Learning restarts where these columns change.",
        "columns; learning restarts where they change",
    )
    scored: str | None = _option(
        _COLUMN,
        "Whether the choice of a trial is predicted (counts for the likelihood).",
        "the column that says whether a choice counts",
        rank=2,
        has_none=True,
    )
    learned: str | None = _option(
        _COLUMN,
        "Whether a trial teaches the learner.",
        "the column that says whether a trial teaches",
        rank=2,
        has_none=True,
    )
    where: str | None = _option(
        _EXPRESSION,
        "Rows to use, for example \"phase == 'learn'\".",
        'a condition such as "block > 1"; the other rows are left out',
        rank=1,
        check=_check_condition,
        is_common=True,
    )
    test_when: str | None = _option(
        _EXPRESSION,
        "Trials without feedback: they are predicted but teach nothing.",
        "a condition; where it holds, choices count and teach nothing",
        rank=1,
        check=_check_condition,
    )
    forced_when: str | None = _option(
        _EXPRESSION,
        "Instructed choices: they teach but are not predicted.",
        "a condition; where it holds, choices teach and do not count",
        rank=1,
        check=_check_condition,
    )
    recode: tuple[str, ...] = _option(
        Recoding("COL:OLD=NEW,…"),
        "New values, for example reward:-1=0,1=1; may be repeated.",
        'new values, such as "reward:-1=0,1=1"',
        rank=2,
        check=lambda text, *_: parse_recode(text),
    )
    missing: tuple[str, ...] = _option(
        Values("VALUE[,VALUE]"),
        "Values that mean missing, for example --missing=-1,n/a.",
        'values that mean nothing is there, such as -1 or "action:-1"',
        rank=2,
        has_none=True,
        check=lambda text, *_: parse_missing(text),
    )
    reward_range: tuple[float, float] | None = _option(
        _PAIR,
        "Accept rewards from LO to HI as recorded.",
        "the smallest and the largest reward that are allowed, such as (0, 5)",
        rank=2,
    )
    min_trials: int | None = _option(
        FromZero(),
        "Leave out learners with fewer trials.",
        "learners with fewer choices are left out",
        rank=3,
    )
    forgone: tuple[str, ...] = _option(
        _COLUMNS,
        "What the other of two actions would have earned; or one column per action.",
        "the column with what the other of two actions would have earned, or one column per "
        "action in the order of the actions",
        rank=3,
    )
    episode: str | None = _option(
        _COLUMN,
        "Consecutive trials with the same value form an episode.",
        "the column with the episode; trials in a row with the same value are one",
        rank=3,
        may_be_open=True,
    )
    duration: str | None = _option(
        _COLUMN,
        "The time spent on the trial.",
        "the column with the time spent on the trial",
        rank=3,
        may_be_open=True,
    )
    load: str | None = _option(
        _COLUMN,
        "The number of stimuli in the block, for models of working memory.",
        "the column with the number of stimuli in the block, for models of working memory",
        rank=3,
        may_be_open=True,
    )
    bin: tuple[str, ...] = _option(
        BinsOption("COL:N|CUT,CUT…"),
        "Group a numeric context or feature into N bins, or at cut points; may be repeated.",
        'bins for the numbers of a context or feature, such as "size:4" or "size:0.2,0.5"',
        rank=3,
        check=_check_bin,
    )
    exclude: tuple[str, ...] = _option(
        Repeated("EXPR"),
        "Learners to exclude, for example 'accuracy < 0.55' or 'median(rt) < 0.2'; may be "
        "repeated. Shares are shown with and without them.",
        'conditions on a learner, such as "accuracy < 0.55" or "median(rt) < 0.2"; they '
        "are fitted, but left out of shares and populations (``docs/exclude.md``)",
        rank=3,
        check=_check_exclusion,
        is_common=True,
    )
    reward_scale: tuple[float, float] | None = _option(
        _PAIR,
        "Rescale rewards from LO,HI to 0,1, for example --reward-scale 0,100.",
        "the ends of the rewards, such as (0, 100); they become 0 to 1",
        rank=2,
    )
    rt: str | None = _option(
        _COLUMN, "The reaction time.", "the column with reaction times", rank=2, may_be_open=True
    )
    offered: tuple[str, ...] = _option(
        _COLUMNS,
        "The actions on offer, if not always all: one column per option, or one column of lists "
        "like a|b.",
        "the columns with the actions that were on offer, one per option; or one column of lists "
        'such as "a|b" or "[1, 2]", or of labels that ``offers`` explains (``docs/data.md``)',
        rank=1,
        may_be_open=True,
    )
    offers: tuple[str, ...] = _option(
        _Offers("LABEL=A|B,…"),
        "What the labels in --offered mean, as '12=1|2, 34=3|4'; without --offered they are "
        "contexts, as 'A=left|right, B=up|down'.",
        "what was on offer by the labels in ``offered``, or else by the context: "
        '``{"12": [1, 2], "34": [3, 4]}`` or "12=1|2, 34=3|4"',
        rank=1,
        check=_check_offers,
    )
    positions: tuple[str, ...] = _option(
        Values("FIRST,SECOND[,…]"),
        "If the action is a position among the options: the values that mean the first, the "
        "second, …, for example 1,0 or left,right.",
        "where the action is a place among what was on offer: its values for the first, the "
        'second, … option, such as [1, 0] or ["left", "right"]',
        rank=1,
    )

    names: tuple[str, ...] = _option(
        Names("NAME[,NAME]"),
        "Column names for a file without a header; 'header' if the first row has them.",
        'the names of the columns, for a table without a row of names; "header": the first row has '
        "them, whatever it looks like",
        rank=3,
        may_be_open=True,
    )

    axes: tuple[str, ...] = _option(
        Names("NAME,…,trial"),
        "The levels of nested data or the axes of arrays, for example learner,block,trial; "
        "'column' for an axis of quantities.",
        'the names of the levels, or of the axes of arrays, such as ["learner", "block", "trial"]; '
        '"column": along it are the columns',
        rank=3,
        may_be_open=True,
    )
    padding: str | None = _option(
        Kind("VALUE"),
        "The value that pads the ends of rows in arrays; NAME:VALUE for one array; 'none'.",
        'the value that fills up the rows of arrays at their ends, such as -1; "none": no value',
        has_none=True,
        rank=3,
        may_be_open=True,
    )
    doubts: tuple[str, ...] = _option(
        Repeated("TEXT"),
        "What was unclear when the options were found; results repeat it.",
        "what was not clear when the options were found; results repeat it",
        rank=2,
    )

    encoding: str | None = _option(
        Kind("NAME"),
        "The encoding of text files, for example shift_jis or windows-1251, if it is not found.",
        'the encoding of text files, such as "shift_jis", where it is not found',
        rank=3,
        may_be_open=True,
    )
    stages: str | None = _option(
        Kind("COL; COL@STATE"),
        "Several choices per row, in order, and the state in which each is made.",
        'the columns of several choices in a row, as "choice1; choice2@state": each row is read as '
        "one trial per choice, whose context is the state (``docs/data.md``)",
        rank=1,
        check=lambda text, *_: ReadOptions(stages=text),
    )

    wide: str | None = _option(
        Kind("NAME=PATTERN;…"),
        "Quantities in separate files or columns of learners × trials, for example "
        "'action=choice_*; reward=win_* + loss_*'.",
        "where each quantity is a file, or columns, of learners × trials, such as "
        '"action=choice_*; reward=win_* + loss_*"',
        rank=3,
        may_be_open=True,
        check=lambda text, *_: parse_wide(text),
    )

    def __post_init__(self) -> None:
        for name, option in DATA.items():
            object.__setattr__(self, name, option.given(getattr(self, name)))
        if self.stages is not None:
            from howlearn.reading.formats.wide import stage_columns

            for name, value in stage_columns(self.stages, self.action, self.context).items():
                object.__setattr__(self, name, value)
        for role, column in (parse_wide(self.wide)[1] if self.wide else {}).items():
            if not getattr(self, role):
                object.__setattr__(self, role, DATA[role].given(column))
        if "learner" in self.axes and self.learner is None:
            object.__setattr__(self, "learner", "learner")
        if "trial" in self.axes and not self.trial:
            object.__setattr__(self, "trial", ("trial",))
        for role in ROLES_NAMED:  # who names a column so says what it is
            if role in self.names and not getattr(self, role):
                object.__setattr__(self, role, DATA[role].given(role))
        if self.reward_range is not None and self.reward_scale is not None:
            raise HowlearnError(
                "--reward-range takes rewards as recorded and --reward-scale changes them to 0…1: "
                "give one of the two"
            )
        if "learner" in self.by + self.keep:
            raise HowlearnError("--by and --keep: the learner opens every table already")
        if self.positions and not (self.offered or self.offers):
            raise HowlearnError(
                f"--positions {','.join(self.positions)}: --offered COL,COL (or --offers "
                "LABEL=A|B) says what stood at each position"
            )


DATA: Mapping[str, Option] = {
    each.name: each.metadata["option"].but(name=each.name) for each in fields(ReadOptions)
}


def options_named(given: Mapping[str, Any]) -> ReadOptions:
    """The options by their names as Python keywords."""
    for name in given:
        if name not in DATA:
            close = get_close_matches(name, DATA, 1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise HowlearnError(
                f"there is no option {name}{hint}; the options: task, {', '.join(DATA)}"
            )
    return ReadOptions(**given)


def described() -> str:
    """What the keywords of ``read`` are, line by line."""
    lines = []
    for name, option in DATA.items():
        text = f"- ``{name}``: {option.about}"
        lines += wrap(text, 96, subsequent_indent="  ", break_on_hyphens=False)
    return "\n    ".join(lines)


def refused(given: Mapping[str, Any]) -> frozenset[str]:
    """The options of which the user says that there shall be nothing.

    >>> sorted(refused({"by": ("none",), "where": "none", "context": "none", "rt": "rt"}))
    ['by', 'where']
    """
    return frozenset(name for name, value in given.items() if DATA[name].is_refused(value))
