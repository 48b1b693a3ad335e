"""Reading: files and data frames become a Study, or one list of everything that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howlearn.core.errors import Problem
from howlearn.core.study import Study
from howlearn.reading.assembly import assemble
from howlearn.reading.batches import read_tables
from howlearn.reading.bins import with_bins
from howlearn.reading.building import build_study
from howlearn.reading.facts import Facts
from howlearn.reading.options import ReadOptions, options_named
from howlearn.reading.plan import Plan, make_plan
from howlearn.reading.problems import Ledger, Problems
from howlearn.reading.stores import InMemory
from howlearn.reading.streaming import NOT_GROUPED, NotGrouped, StartAnew, Stream, is_large
from howlearn.reading.study_file import read_study_file
from howlearn.reading.table import Table
from howlearn.reading.tables import open_tables

if TYPE_CHECKING:
    from howlearn.models.task import Task

__all__ = ["ReadOptions", "read"]


def read(source: Any, task: Task | str | PathLike[str] | None = None, **options: Any) -> Study:
    """Read trials from a file, several files, a folder or a data frame.

    A ``howlearn.toml``, as ``howlearn inspect`` writes it, stands for the files and options in it.
    ``task`` is a Task, the name of a shipped one, or the path of a task's file. The other options
    (messages call them as the command line does: ``reset_by`` is ``--reset-by``); columns that
    are not named are guessed:

    - ``learner``: the column with the learner; "file": each file is a learner
    - ``context``: the column, or the columns, of the context; "none": always the same situation
    - ``action``: the column with the choice
    - ``reward``: the column with what the choice earned
    - ``trial``: the column with the trial's number, or several (["block", "trial"]); "none": the
      order of the rows
    - ``features``: columns that describe the context
    - ``by``: columns with conditions; each learner × condition is a sequence of its own
    - ``keep``: columns about the learner that go into every table
    - ``reset_by``: columns; learning starts anew where they change
    - ``scored``: the column that says whether a choice counts
    - ``learned``: the column that says whether a trial teaches
    - ``where``: a condition such as "block > 1"; the other rows are left out
    - ``test_when``: a condition; where it holds, choices count and teach nothing
    - ``forced_when``: a condition; where it holds, choices teach and do not count
    - ``recode``: new values, such as "reward:-1=0,1=1"
    - ``missing``: values that mean nothing is there, such as -1 or "action:-1"
    - ``reward_range``: the smallest and the largest reward that are allowed, such as (0, 5)
    - ``min_trials``: learners with fewer choices are left out
    - ``forgone``: the column with what the other of two actions would have earned, or one column
      per action in the order of the actions
    - ``episode``: the column with the episode; trials in a row with the same value are one
    - ``duration``: the column with the time spent on the trial
    - ``exclude``: conditions on a learner, such as "accuracy < 0.55" or "median(rt) < 0.2"; those
      for whom one holds are fitted, but no share and no population is of them (``docs/exclude.md``)
    - ``reward_scale``: the ends of the rewards, such as (0, 100); they become 0 to 1
    - ``rt``: the column with reaction times
    - ``bin``: bins for the numbers of a context or feature, such as "size:4" or "size:0.2,0.5"

    An expression may stand where a column is expected: ``action="house_old == chose_old"`` (with
    the values yes and no; as a reward 1 and 0), ``reward="gain + loss"``. A row in which one of its
    columns is missing has no value.

    >>> import polars as pl
    >>> columns = {"Subject": [1, 1], "Item": [3, 4], "Choice": ["A", "B"], "Reward": [0, 1]}
    >>> study = read(pl.DataFrame(columns))
    >>> study.learners, study.contexts, study.actions
    (('1',), ('3', '4'), ('A', 'B'))
    >>> study.roles["learner"]
    'Subject (guessed)'
    """
    if isinstance(source, str | PathLike) and Path(source).suffix.lower() == ".toml":
        described = read_study_file(Path(source))
        source, options = described.files, {**described.data, **options}
        task = described.models.get("task") if task is None else task
    chosen = options_named(options)
    if isinstance(task, str | PathLike):
        from howlearn.models.task import Task

        task = Task.load(Path(task))
    tables, unreadable, notes = open_tables(source, chosen)
    if not tables:
        raise Problems(Ledger(), unreadable).error()
    plan, unknown = make_plan(chosen, tables, task, notes)
    wrong = (*unreadable, *unknown)
    if plan is None:
        raise Problems(Ledger(), wrong).error()
    plan = with_bins(plan, tables)
    if is_large(tables):
        try:
            return _streamed(tables, plan, wrong)
        except NotGrouped:
            plan = replace(plan, notes=(*plan.notes, NOT_GROUPED))
    problems = Problems(Ledger(), wrong)
    reader = read_tables(tables, plan, problems)
    if not reader.books.sequences:  # nothing further can be checked
        problems.raise_all()
    facts, store = Facts(plan), InMemory()
    ordered = assemble(reader.pile, reader.books, problems)
    facts.count(ordered)
    if not len(problems):
        facts.see(ordered)
    store.add(ordered)
    return build_study(facts, store, reader, problems)


def _streamed(tables: Sequence[Table], plan: Plan, wrong: Sequence[Problem]) -> Study:
    """The study with its trials on disk."""
    level = 0
    while True:
        problems = Problems(Ledger(), wrong)
        stream = Stream(plan, problems, level)
        try:
            reader = read_tables(tables, plan, problems, stream.take)
            stream.finish(reader)
        except StartAnew as again:
            level = again.level
            continue
        if not reader.books.sequences:  # nothing further can be checked
            problems.raise_all()
        return build_study(stream.facts, stream.store, reader, problems)
