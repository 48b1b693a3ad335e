"""What will be read, and how: the options applied to the columns that there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from howlearn.core.errors import HowlearnError, Problem
from howlearn.core.expressions import Derived, Expression, derive, is_expression, parse
from howlearn.core.options import NONE
from howlearn.core.text import LONGEST, canonical, one_line
from howlearn.reading import exclude as exclusion
from howlearn.reading.columns import (
    ROLES,
    Roles,
    find_roles,
    unnamed_forgone,
    unseparated,
    used_by,
)
from howlearn.reading.formats.table import FRAME_NAME, named_twice
from howlearn.reading.labels import MISSING_TOKENS
from howlearn.reading.offers import OfferPlan, parse_offers
from howlearn.reading.option_texts import parse_missing, parse_recode
from howlearn.reading.options import ReadOptions
from howlearn.reading.problems import listed

if TYPE_CHECKING:
    from howlearn.models.task import Task
    from howlearn.reading.bins import Bins
    from howlearn.reading.formats.table import Table


LOOKED_AT = ("learner", "context", "action", "reward")  # whoever names all is taken at their word
MAY_BE_ABSENT = (
    "--where EXPR",
    "--test-when EXPR",
    "--forced-when EXPR",
    "--exclude EXPR",
    "--keep COL[,COL]",
)


@dataclass(frozen=True)
class Sought:
    """A value that an option names and that ought to be somewhere."""

    said: str  # how a note begins that says it is nowhere
    value: str
    columns: tuple[str, ...]  # none: any column

    def concerns(self, column: str) -> bool:
        """Whether the value may be in this column."""
        return not self.columns or column in self.columns


@dataclass(frozen=True)
class ReadingPlan:
    """Everything that turns a row into a trial, settled before the first row is read."""

    options: ReadOptions
    roles: Roles
    task: Task | None
    recode: Mapping[str, Mapping[str, str]]  # column → old label → new label
    recode_names: Mapping[str, str]  # column → the name the user gave for it
    recode_context: Mapping[str, str]  # for contexts built from several columns
    missing: frozenset[str]
    missing_in: Mapping[str, frozenset[str]]  # column → further labels
    where: Expression | None
    test_when: Expression | None
    forced_when: Expression | None
    sought: tuple[Sought, ...] = ()
    notes: tuple[str, ...] = ()
    bins: Mapping[str, Bins] = field(default_factory=dict)  # column → its bins
    exclude: tuple[exclusion.Condition, ...] = ()  # on learners
    anywhere: frozenset[str] = frozenset()  # the columns of all tables
    derived: Mapping[str, Derived] = field(default_factory=dict)  # in the place of columns
    offers: OfferPlan | None = None  # None: every action is always on offer

    @property
    def parts(self) -> tuple[str, ...]:
        """Features that are no columns: names for the parts of the contexts' names."""
        names = self.options.features
        known = (name in self.anywhere or is_expression(name) for name in names)
        return () if any(known) else names

    @property
    def columns(self) -> dict[str, str]:
        """The columns to read, with the option that names each."""
        return {
            column: option
            for name, option in self.named.items()
            for column in (self.derived[name].columns if name in self.derived else (name,))
        }

    @property
    def named(self) -> dict[str, str]:
        """The columns, and what stands in the place of one, with the option that names each."""
        options = self.options
        roles = {c: f"--{role} COL" for role in ROLES for c in self.roles.columns_of(role)}
        roles.update(dict.fromkeys(self.roles.forgone, "--forgone COL[,COL]"))
        roles.update(dict.fromkeys(self.roles.offered, "--offered COL[,COL]"))
        roles.update(dict.fromkeys(self.roles.context, "--context COL[,COL]"))
        named = {
            "--features COL[,COL]": () if self.parts else options.features,
            "--by COL[,COL]": options.by,
            "--keep COL[,COL]": options.keep,
            "--reset-by COL[,COL]": options.reset_by,
        }
        others = {column: option for option, columns in named.items() for column in columns}
        expressions = {
            column: f"--{name} EXPR"
            for name, expression in self.expressions.items()
            for column in expression.columns
        }
        about = {c: "--exclude EXPR" for each in self.exclude for c in each.columns}
        return {**about, **expressions, **others, **roles}

    def gone(self, column: str) -> frozenset[str]:
        """The labels that are missing in a column."""
        return self.missing | self.missing_in.get(column, frozenset())

    @property
    def expressions(self) -> dict[str, Expression]:
        """The conditions that were given, by the names of their options."""
        given = {
            "where": self.where,
            "test-when": self.test_when,
            "forced-when": self.forced_when,
        }
        return {name: expression for name, expression in given.items() if expression is not None}

    @property
    def reward_range(self) -> tuple[float, float]:
        """The rewards that are allowed."""
        if self.options.reward_scale is not None:
            return 0.0, 1.0
        return self.options.reward_range or (self.task.reward_range if self.task else (0.0, 1.0))


def make_plan(
    options: ReadOptions,
    tables: Sequence[Table],
    task: Task | None,
    notes: Sequence[str],
    refused: frozenset[str],
) -> tuple[ReadingPlan | None, list[Problem]]:
    """Settle roles from the columns of the first table, recodings and conditions from all.

    Where a role is not named, what is neither given nor ``refused`` is guessed.
    """
    one_context = task is not None and len(task.contexts) == 1
    roles, problems = find_roles(options, tables[0].columns, one_context, tables[0].name)
    more: list[str] = []
    if any(not getattr(options, role) for role in LOOKED_AT):
        from howlearn.reading.guess import as_inspected

        options, roles, problems, more = as_inspected(
            options, tables, task, refused, (roles, problems)
        )
    columns = tuple(dict.fromkeys(name for table in tables for name in table.columns))
    if roles is None:
        return None, problems
    _check_rt(options, columns)
    sought: list[Sought] = []
    recode, names, recode_context = _recodings(options, roles, columns, sought)
    everywhere, missing_in = _missing(options, roles, columns, sought)
    plan = ReadingPlan(
        options,
        roles,
        task,
        recode,
        names,
        recode_context,
        everywhere,
        missing_in,
        _condition(options.where, "--where", columns),
        _condition(options.test_when, "--test-when", columns),
        _condition(options.forced_when, "--forced-when", columns),
        tuple(dict.fromkeys(sought)),
        (*notes, *_one_learner(options, roles, tables), *more),
        exclude=_exclusions(options, columns),
        anywhere=frozenset(columns),
    )
    plan = replace(plan, derived=_derived(plan, columns), offers=_offers(plan))
    plan = replace(plan, sought=(*plan.sought, *_bare_words(plan)))
    unused = [name for name in columns if name not in plan.columns]
    return replace(plan, notes=(*plan.notes, *unnamed_forgone(options, unused))), []


def _exclusions(options: ReadOptions, columns: Sequence[str]) -> tuple[exclusion.Condition, ...]:
    """The conditions on learners; rt stands for the column with reaction times."""
    also = {} if options.rt is None else {"rt": options.rt}
    known = [*columns, *also.values()]  # an expression may stand for the reaction time
    return tuple(exclusion.parse(text, known, also) for text in dict.fromkeys(options.exclude))


def _check_rt(options: ReadOptions, columns: Sequence[str]) -> None:
    if options.rt is not None and options.rt not in columns and not is_expression(options.rt):
        known = listed([column for column in columns if column])
        raise HowlearnError(f"--rt {options.rt}: there is no such column; the columns: {known}")


def _derived(plan: ReadingPlan, columns: Sequence[str]) -> dict[str, Derived]:
    """What is computed in the place of a column; a name that is a column's always wins."""
    found = {
        name: derive(name, option.split()[0], columns)
        for name, option in plan.named.items()
        if name not in columns and is_expression(name)
    }
    learner = found.get(plan.roles.learner or "")
    if learner is not None and learner.lags:
        raise HowlearnError(f"--learner {learner.text!r}: lag(…) needs to know the learner already")
    return found


def _bare_words(plan: ReadingPlan) -> list[Sought]:
    """Words without quotes that were taken as labels: they ought to be somewhere."""
    options = {name: option.split()[0] for name, option in plan.named.items()}
    given = {options[name]: derived for name, derived in plan.derived.items()}
    given |= {f"--{name}": expression for name, expression in plan.expressions.items()}
    return [
        Sought(
            f"{option} {each.text!r}: no column is called {word}; as a value it",
            word,
            (column,),
        )
        for option, each in given.items()
        for column, word in each.words
    ]


def _offers(plan: ReadingPlan) -> OfferPlan | None:
    """How what was on offer is told, if it is."""
    options, roles = plan.options, plan.roles
    if not options.offered and not options.offers:
        return _offers_of_task(plan)
    if not options.offered and not roles.context:
        raise HowlearnError(
            "--offers without --offered says what is on offer in each context, and there is one "
            "context only; name the column that has these labels with --offered COL"
        )
    meaning = parse_offers(options.offers)
    nothing = meaning.pop("", ())
    return OfferPlan(
        roles.offered,
        meaning,
        tuple(canonical(position) for position in options.positions),
        plan.recode.get(roles.action, {}),
        plan.missing,
        plan.task.action_aliases if plan.task else {},
        nothing,
    )


def _offers_of_task(plan: ReadingPlan) -> OfferPlan | None:
    """What the task says is on offer in each context, if that is always the same."""
    task = plan.task
    if task is None or not task.offers:
        return None
    for context, sets in task.offers.items():
        if len(sets) > 1:
            raise HowlearnError(
                f"task {task.name} has {len(sets)} sets of actions of which one is on offer in "
                f"context {context}; --offered COL[,COL] says which it was in every row"
            )
    meaning = {context: sets[0] for context, sets in task.offers.items()}
    meaning |= {alias: meaning[name] for alias, name in task.context_aliases.items()}
    if not plan.roles.context:
        return None
    return OfferPlan((), meaning, (), {}, plan.missing, task.action_aliases)


def _one_learner(options: ReadOptions, roles: Roles, tables: Sequence[Table]) -> list[str]:
    """A note where a single table is taken as one learner without being told so."""
    if len(tables) > 1 or roles.learner is not None or options.learner is not None:
        return []
    used = used_by("learner", tables[0].columns, options)
    why = f" ({used})" if used else ""
    table = tables[0].name if tables[0].name != FRAME_NAME else f"the {FRAME_NAME}"
    return [
        f"no column for the learner was found{why}, so {table} is taken as one learner; if it "
        "holds several, name their column with --learner COL"
    ]


def missing_columns(plan: ReadingPlan, table: Table) -> list[Problem]:
    """The columns that a table ought to have and has not.

    One that a condition or --keep names may be absent where another table has it: some software
    writes a column only for learners who came to that part.
    """
    absent = {
        c: option
        for c, option in plan.columns.items()
        if c not in table.columns and not (option in MAY_BE_ABSENT and c in plan.anywhere)
    }
    if absent and len(table.columns) == 1:
        return [unseparated(table.name)]
    if not absent and table.twice:
        return _unclear(plan, table)
    found = f"no such column among {listed([name for name in table.columns if name])}"
    allowed = "a file with this column"
    other = "if this file has no trials, name the files that have; " if len(absent) > 1 else ""
    return [Problem(table.name, 1, c, found, allowed, f"{other}{o}") for c, o in absent.items()]


def _unclear(plan: ReadingPlan, table: Table) -> list[Problem]:
    """Columns that were guessed though another has the same name: the user says which is meant."""
    return [
        named_twice(
            table.name,
            table.first_row - 1,
            column,
            f'--{role} "{column}" is the first of them, --{role} "{column} (2)" the second',
        )
        for role in ROLES
        for column in plan.roles.columns_of(role)
        if column in table.twice
        and not getattr(plan.options, role)
        and column not in plan.options.features
    ]


def _condition(text: str | None, option: str, columns: Sequence[str]) -> Expression | None:
    return None if text is None else parse(text, option, columns)


def _targets(name: str, option: str, roles: Roles, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that a name stands for: a column of that name, or those of the role."""
    if name in columns:
        return (name,)
    targets = roles.columns_of(name)
    if not targets:
        known = listed([column for column in columns if column])
        option, name = one_line(option, LONGEST), one_line(name, LONGEST)
        raise HowlearnError(f"{option}: there is no column or role {name}; the columns: {known}")
    return targets


def _recodings(
    options: ReadOptions, roles: Roles, columns: Sequence[str], sought: list[Sought]
) -> tuple[dict[str, dict[str, str]], dict[str, str], dict[str, str]]:
    recode: dict[str, dict[str, str]] = {}
    names: dict[str, str] = {}
    joint: dict[str, str] = {}
    for text in options.recode:
        name, values = parse_recode(text)
        targets = _targets(name, f"--recode {text!r}", roles, columns)
        whole = name == "context" and len(targets) > 1  # 3:5 is its label
        where = (":".join(targets),) if whole else targets
        sought += [Sought(f"--recode {text}: {old or 'nothing'}", old, where) for old in values]
        if whole:
            joint.update(values)
            continue
        for column in targets:
            recode.setdefault(column, {}).update(values)
            names[column] = name
    return recode, names, joint


def _missing(
    options: ReadOptions, roles: Roles, columns: Sequence[str], sought: list[Sought]
) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
    everywhere = set(MISSING_TOKENS)
    special: dict[str, frozenset[str]] = {}
    for text in options.missing:
        name, value = parse_missing(text)
        if name is None:
            everywhere.add(value)
            if value not in (*MISSING_TOKENS, NONE):  # these need not be anywhere
                sought.append(Sought(f"--missing {text}", value, ()))
            continue
        targets = _targets(name, f"--missing {text!r}", roles, columns)
        sought.append(Sought(f"--missing {text}", value, targets))
        for column in targets:
            special[column] = special.get(column, frozenset()) | {value}
    return frozenset(everywhere), special
