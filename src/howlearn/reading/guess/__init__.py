"""Inspection: what is in files that nobody has described yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from howlearn.core.errors import DataError, HowlearnError, Problem
from howlearn.core.expressions import is_expression, parse
from howlearn.core.options import NONE
from howlearn.core.study import Study
from howlearn.core.text import few, quoted, shortened
from howlearn.reading.columns import FILE_STEM, Roles, find_roles
from howlearn.reading.formats.open import open_tables
from howlearn.reading.formats.sidecars import descriptions
from howlearn.reading.formats.table import Table
from howlearn.reading.guess.action import find_offers_of_contexts, find_on_offer
from howlearn.reading.guess.coding import (
    find_features,
    find_load,
    find_parts,
    find_reward_coding,
    find_rt,
    find_shortest,
    find_words,
)
from howlearn.reading.guess.column_checks import examples, materialise
from howlearn.reading.guess.context import find_context
from howlearn.reading.guess.draft import SAID, Draft, Guess, check_names
from howlearn.reading.guess.events import find_events, leave_repeats_out
from howlearn.reading.guess.inspection import Inspection
from howlearn.reading.guess.kinds import find_kind
from howlearn.reading.guess.learner import find_learner
from howlearn.reading.guess.missed import apply_missing, find_missing_choices, find_third_words
from howlearn.reading.guess.oddities import find_groups, remark
from howlearn.reading.guess.on_offer import find_offers
from howlearn.reading.guess.options_outcomes import find_reward_of_the_chosen
from howlearn.reading.guess.roles import (
    ask_what_is_good,
    find_action_and_reward,
    find_reward_by_content,
)
from howlearn.reading.guess.rows import (
    apply_where,
    ask_about_silent_parts,
    ask_if_forced,
    find_forced,
    find_test,
    leave_incomplete_out,
    leave_other_loops_out,
    leave_other_screens_out,
    leave_practice_out,
    leave_silent_screens_out,
)
from howlearn.reading.guess.sample import columns_of, take_sample
from howlearn.reading.guess.stretches import find_stretches
from howlearn.reading.guess.trial_order import find_order
from howlearn.reading.option_texts import parse_recode
from howlearn.reading.options import DATA, ReadOptions, options_named, refused
from howlearn.reading.plan import LOOKED_AT
from howlearn.reading.problems import listed
from howlearn.reading.read import read, task_of

if TYPE_CHECKING:
    from howlearn.models.task import Task


ROLES_NEEDED = ("action", "reward")
MOST_TWICE = 200  # columns that are looked at twice
ANSWERED = ("learner", "context", "action", "reward")


def inspect(
    source: Any, task: Task | str | PathLike[str] | None = None, **options: Any
) -> Inspection:
    """Look at files, or at a data frame, and guess what ``read`` would have to be told.

    The options are those of ``read``; whatever is given is not guessed.

    >>> import polars as pl
    >>> columns = {"vp": [1] * 4, "stim": [*"abab"], "key": [*"fjjj"], "r": [1, 1, -1, 1]}
    >>> found = inspect(pl.DataFrame(columns), reward="r")
    >>> found.roles
    {'learner': 'vp', 'context': 'stim', 'action': 'key', 'reward': 'r'}
    >>> found.options["recode"]
    ('reward:-1=0,1=1',)
    >>> len(found.study.context)
    4
    """
    given = options_named(options)
    task = task_of(task)
    tables, unreadable, notes = open_tables(source, given)
    if unreadable:
        raise DataError(unreadable)
    if not tables:
        raise HowlearnError("no file was given")
    check_names(given, columns_of(tables))
    draft = _begun(tables, given, task, refused(options))
    shown = {name: examples(draft.sample, name) for name in draft.sample.columns}
    draft = _as_before(draft) or guess(draft)
    if draft.sample.unread and any(role not in draft.guesses for role in ROLES_NEEDED):
        raise DataError(draft.sample.unread)
    lacking = tuple(role for role in ROLES_NEEDED if role not in draft.guesses)
    study, problems = None, (draft.kind.stops if draft.kind else None) or ""
    if not lacking and not problems:
        try:
            study = _with_kind(read(source, task=task, **draft.options()), draft)
        except HowlearnError as error:
            problems = str(error)
    remark(draft, study)
    shown |= {c: examples(draft.sample, c) for c in draft.sample.columns if c not in shown}
    return Inspection(
        {table.name: table.format for table in tables},
        {name: _described(draft.guesses[name], tables[0]) for name in draft.options()},
        shown,
        tuple(dict.fromkeys(draft.oddities)),
        study,
        lacking,
        problems,
        draft.answer,
        tuple(dict.fromkeys([*notes, *(study.notes if study else ())])),
        tuple(draft.questions),
        draft.kind,
    )


def _begun(
    tables: Sequence[Table], given: ReadOptions, task: Task | None, refused: frozenset[str]
) -> Draft:
    """A draft of what the user said, with a sample of the rows."""
    draft = Draft(take_sample(tables), given, task, refused=refused, about=descriptions(tables))
    there, seen = len(columns_of(tables)), len(draft.sample.columns)
    if there > seen:
        draft.odd(
            f"there are {there:,} columns, of which {seen:,} were looked at: the first, and those "
            "with telling names"
        )
    return draft


def _as_before(draft: Draft) -> Draft | None:
    """What is found without the roles that the user named, where it is the same for these.

    An answer to a question then changes nothing else of the table that was shown with it.
    """
    given = draft.given
    said = {role: getattr(given, role) for role in ANSWERED if role in draft.guesses}
    if not said or len(draft.sample.columns) > MOST_TWICE:
        return None
    usual = {role: DATA[role].usual for role in said}
    before = guess(
        Draft(
            draft.sample,
            replace(given, **usual),
            draft.task,
            oddities=[*draft.oddities],
            refused=draft.refused,
            about=draft.about,
        )
    )
    for role, value in said.items():
        found = before.guesses.get(role)
        if found is None or found.value != value:
            return None
        before.guesses[role] = replace(found, how=SAID)
    before.given, before.kind = given, None
    before.questions = [each for each in before.questions if each.about not in said]
    find_kind(before)  # which trusts what was said
    return before


def _with_kind(study: Study, draft: Draft) -> Study:
    """The study with the kind that was found, of which all rows together may tell more."""
    if study.kind is not None and draft.kind is not None and study.kind.name == draft.kind.name:
        draft.kind = study.kind
    return replace(study, kind=draft.kind)


def _described(guess: Guess, table: Table) -> Guess:
    """The guess with what the data themselves say about the column, as BIDS does in a sidecar."""
    about = table.about.get(guess.columns[0], {}) if guess.columns else {}
    told = str(about.get("Description") or about.get("LongName") or "")
    if not told or len(guess.columns) > 1:
        return guess
    described = f'described as "{shortened(told, 80)}"'
    return replace(guess, why="; ".join(filter(None, (guess.why, described))))


def _compute_given(draft: Draft) -> None:
    """Columns for the expressions that the user gave in the place of some, and other values."""
    for option in ("learner", "context", "action", "reward"):
        for text in draft.guesses[option].columns if option in draft.guesses else ():
            if text not in draft.sample.columns and is_expression(text):
                materialise(draft, option, text)
    for name, values in map(parse_recode, draft.given.recode):
        for column in (name,) if name in draft.sample.columns else draft.columns(name):
            draft.sample = draft.sample.recoded(column, values)


def _keep_given(draft: Draft) -> None:
    """Only the rows that the user wants."""
    if draft.given.where is not None:
        apply_where(draft, draft.given.where)
        _refuse_none(draft, draft.given.where)


class Finder(NamedTuple):
    """A step that looks at the sample and at what was found before it, and adds to the draft."""

    find: Callable[[Draft], object]
    finds: str = ""  # options
    after: str = ""  # options that it asks for, which earlier steps find


FINDERS = (
    Finder(_compute_given),
    Finder(_keep_given),
    Finder(apply_missing),
    Finder(leave_practice_out, "where"),
    Finder(leave_silent_screens_out, "where"),
    Finder(find_learner, "learner"),
    Finder(find_events, "action reward context where", "learner"),
    Finder(find_third_words, "", "learner"),
    Finder(find_on_offer, "", "learner"),
    Finder(find_action_and_reward, "action reward", "learner"),
    Finder(find_words, "recode missing", "reward"),
    Finder(find_reward_by_content, "reward", "action"),
    Finder(ask_what_is_good, "", "action reward"),
    Finder(find_offers, "offered offers positions context", "action reward"),
    Finder(find_reward_of_the_chosen, "reward", "action offered positions"),
    Finder(find_words, "recode missing", "reward"),  # of what was chosen
    Finder(leave_other_screens_out, "where", "action reward"),
    Finder(leave_repeats_out, "where", "action reward"),
    Finder(apply_missing, "", "action reward"),  # now that it is known which columns these are
    Finder(find_missing_choices, "missing", "action"),
    Finder(leave_other_loops_out, "where", "action missing"),
    Finder(find_context, "context features", "learner action reward"),
    Finder(find_forced, "forced_when"),
    Finder(find_test, "test_when", "action reward"),
    Finder(ask_about_silent_parts, "reward where", "action reward"),
    Finder(find_offers_of_contexts, "offers", "action context"),
    Finder(leave_incomplete_out, "where", "learner context action"),
    Finder(find_stretches, "by reset_by context", "learner context action reward where"),
    Finder(find_order, "trial", "learner by reset_by context action"),
    Finder(ask_if_forced, "forced_when", "action reward reset_by trial"),
    Finder(find_reward_coding, "recode missing reward_scale", "action reward"),
    Finder(find_load, "load", "context reset_by"),
    Finder(find_features, "features", "context action"),
    Finder(find_parts, "context features", "context action"),
    Finder(find_rt, "rt", "action"),
    Finder(find_shortest, "min_trials", "learner by action"),
    Finder(find_groups, "keep", "learner by"),
    Finder(find_kind, "", "learner context by reset_by trial action reward"),
)


def guess(draft: Draft) -> Draft:
    """One guess after the other; each may rest on those before it."""
    if draft.sample.height:
        for finder in FINDERS:
            finder.find(draft)
    return draft


# What ``read`` takes from a look at the columns, where not all roles were named.

NAMED = 4  # labels that a note shows
OFFERS = ("offered", "offers", "positions")
FEWEST = 20  # rows; with fewer nothing can be told from what columns do
# What inspect finds besides, without which rows that are no trials would be read as some. What
# would turn wrong values into right ones (recode, reward_scale, min_trials) has to be said.
BESIDES = tuple("where missing test_when forced_when by reset_by load features keep".split())
FEWER_CELLS = 1_000_000  # that are looked at where nobody asked for it


def _look_at(
    tables: Sequence[Table], given: ReadOptions, task: Task | None, refused: frozenset[str]
) -> Draft | None:
    """What ``inspect`` finds in these tables; None where they hold no rows."""
    try:
        sample = take_sample(tables, FEWER_CELLS)
        draft = Draft(sample, given, task, refused=refused, about=descriptions(tables))
        return _as_before(draft) or guess(draft)
    except HowlearnError:  # told by whoever reads the rows
        return None


def as_inspected(
    options: ReadOptions,
    tables: Sequence[Table],
    task: Task | None,
    refused: frozenset[str],
    before: tuple[Roles | None, list[Problem]],
) -> tuple[ReadOptions, Roles | None, list[Problem], list[str]]:
    """Options and roles as ``inspect`` finds them, and notes on what was set besides.

    What it would ask about is refused; that there is but one context has to be said, unless it
    is what was on offer that changes.
    """
    draft = _look_at(tables, options, task, refused)
    if draft is None:
        return options, before[0], before[1], []
    found, (roles, problems) = draft.guesses, before
    if "action" in found and "reward" in found and draft.sample.height >= FEWEST:
        _refuse_questions(draft, options)
    said = any(getattr(options, name) for name in OFFERS)  # then what it says is judged
    changes = {} if said else {n: found[n].value for n in OFFERS if n in found}
    on_offer = "offered" in found
    for role in (*LOOKED_AT, "trial"):
        if role not in found or getattr(options, role):
            continue
        known = () if roles is None else roles.columns_of(role)
        nowhere = found[role].columns in ((NONE,), (FILE_STEM,))
        shown = role == "context" and on_offer
        more = role == "trial" and {*known} < {*found[role].columns}  # block and trial
        if known and not ({*known} & draft.weighed(role) or shown or more):
            continue  # nothing spoke against it: what is wrong with its values is told
        if found[role].columns != known and (not nowhere or shown):
            changes[role] = found[role].value
    besides = _besides(draft, options) if draft.sample.height >= FEWEST else {}
    changes |= besides
    stops = draft.kind.stops if draft.kind is not None else None
    if not changes and roles is None and stops and draft.sample.height >= FEWEST:
        raise HowlearnError(stops)
    if not changes:
        return options, roles, problems, _not_done(draft, options, besides)
    one_context = task is not None and len(task.contexts) == 1
    named = replace(options, **changes)
    roles, problems = find_roles(named, tables[0].columns, one_context, tables[0].name)
    if roles is None and stops and draft.sample.height >= FEWEST:
        raise HowlearnError(stops)
    if roles is None:
        return options, None, problems, []
    told = {role: f"{text} (guessed)" for role, text in roles.found.items() if role in changes}
    notes = [_told(found[n], changes[n]) for n in (*OFFERS, *besides) if n in changes]
    notes += _not_done(draft, options, besides)
    roles = replace(roles, found={**roles.found, **told})
    unnamed = {name: value for name, value in changes.items() if name in (*OFFERS, *BESIDES)}
    return replace(options, **unnamed), roles, [], notes


def _besides(draft: Draft, options: ReadOptions) -> dict[str, Any]:
    """What else says which rows are trials; rows without a learner or a context are errors."""
    found = draft.options()
    found = {name: found[name] for name in BESIDES if name in found and not getattr(options, name)}
    if "!= missing" in str(found.get("where")):
        del found["where"]
    if "missing" in found:
        found["missing"] = tuple(text for text in found["missing"] if text.startswith("action:"))
    return {name: value for name, value in found.items() if value}


def _not_done(draft: Draft, options: ReadOptions, besides: Mapping[str, Any]) -> list[str]:
    """Notes on rows that ``inspect`` would leave out, or choices that it would take as missing."""
    found = draft.options() if draft.sample.height >= FEWEST else {}
    return [
        f"howlearn inspect would also set --{name} {', '.join(draft.guesses[name].columns)} "
        f"({draft.guesses[name].why}), which is not done here"
        for name in ("where", "missing")
        if name in found and not getattr(options, name) and found[name] != besides.get(name)
    ]


def _told(guess: Guess, value: Any) -> str:
    """A note on an option that nobody gave."""
    values = few([*map(str, value)] if isinstance(value, tuple) else [value], NAMED, " …")
    option = f"--{guess.option.replace('_', '-')}"
    why = f"{guess.why}; " if guess.why else ""
    return f"as howlearn inspect finds it: {option} {values} ({why}{option} none if not)"


def _refuse_questions(draft: Draft, options: ReadOptions) -> None:
    """What the data do not tell has to be said; what no model covers is not read."""
    if draft.kind is not None and draft.kind.stops:
        raise HowlearnError(draft.kind.stops)
    asked = [question for question in draft.questions if not getattr(options, question.about)]
    if asked:
        texts = "\n".join(map(str, asked))
        raise HowlearnError(f"the data do not tell everything:\n{texts}\nsay it by an option")


def _refuse_none(draft: Draft, where: str) -> None:
    """Refuse a condition that leaves nothing to look at, with the values that there are."""
    sample = draft.sample
    if sample.height:
        return
    columns = sample.columns
    labels = {
        name: columns[name].labels.drop_nulls().unique(maintain_order=True).to_list()
        for name in parse(where, "--where", [*columns]).columns
    }
    values = "; ".join(
        f"{name} has {listed([*map(quoted, found)]) or 'no values'}"
        for name, found in labels.items()
    )
    rows = "no row" if sample.whole else f"none of the first {len(sample.rows):,} rows"
    raise HowlearnError(f"--where {where!r} holds in {rows}; {values}")
