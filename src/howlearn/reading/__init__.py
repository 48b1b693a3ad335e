"""Reading: files and data frames become a Study, or one list of everything that is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from howlearn.reading.assembly import assemble
from howlearn.reading.batches import read_tables
from howlearn.reading.building import build_study
from howlearn.reading.options import ReadOptions
from howlearn.reading.plan import make_plan
from howlearn.reading.problems import Ledger, Problems
from howlearn.reading.tables import open_tables
from howlearn.study import Study

if TYPE_CHECKING:
    from howlearn.task import Task

__all__ = ["ReadOptions", "read"]


def read(source: Any, task: Task | None = None, **options: Any) -> Study:
    """Read trials from a file, several files, a folder or a data frame.

    The options are those of `ReadOptions`; columns that are not named are guessed.

    >>> import polars as pl
    >>> columns = {"Subject": [1, 1], "Item": [3, 4], "Choice": ["A", "B"], "Reward": [0, 1]}
    >>> study = read(pl.DataFrame(columns))
    >>> study.learners, study.contexts, study.actions
    (('1',), ('3', '4'), ('A', 'B'))
    >>> study.roles["learner"]
    'Subject (guessed)'
    """
    chosen = ReadOptions(**options)
    problems = Problems(Ledger())
    tables, unreadable = open_tables(source)
    problems.extend(unreadable)
    if not tables:
        raise problems.error()
    plan, unknown = make_plan(chosen, tables, task)
    problems.extend(unknown)
    if plan is None:
        raise problems.error()
    reader = read_tables(tables, plan, problems)
    if not reader.books.sequences:  # nothing further can be checked
        problems.raise_all()
    ordered = assemble(reader.pile, reader.books, problems)
    return build_study(ordered, reader, problems)
