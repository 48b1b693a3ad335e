"""The registry of charts: each is declared once, by the function that draws it.

``howlearn.plot``, the report, the files that commands save and the reference come from ``CHARTS``.
Drawing needs altair, which is imported when a chart is drawn.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.core.registry import Registry

if TYPE_CHECKING:
    from howlearn.report.style import Chart

P = ParamSpec("P")
NEEDED = ("altair", "vl_convert")
INSTALL = "pip install 'howlearn[report]'"
MISSING = f"charts need: {INSTALL}"
ANSWER, SURE, BEHAVIOUR, ESTIMATES = "answer", "sure", "behaviour", "estimates"
SECTIONS = (ANSWER, SURE, BEHAVIOUR, ESTIMATES)  # of the report, in their order


class Drawn(NamedTuple):
    """A chart with what belongs to it in a report."""

    chart: Any
    table: pl.DataFrame  # the numbers behind it
    finding: str = ""  # what it shows, in a sentence; else its description says so
    notes: Sequence[str] = ()
    caution: str = ""  # a sentence that belongs beside the answer
    shown: bool = True  # in a report; else there is nothing to see

    @classmethod
    def of(
        cls, table: pl.DataFrame | None, draw: Callable[[pl.DataFrame], Any], finding: str = ""
    ) -> Drawn:
        """The chart of a table; nothing to see where there is none."""
        if table is None:
            return cls(None, pl.DataFrame(), shown=False)
        return cls(draw(table), table, finding)


@dataclass(frozen=True, repr=False)
class Drawing:
    """A chart that can be asked for."""

    name: str  # in ``howlearn.plot``
    question: str  # that it answers: its title, unless names or numbers stand in it
    tables: tuple[str, ...]  # that it is drawn from, by the names of their files
    make: Callable[..., Any]  # gives a chart, or what is ``Drawn``
    plot: Callable[..., Any]  # the same as ``howlearn.plot`` has it
    section: str = ""  # of the report
    figure: str = ""  # its name there, if another
    called: str = ""  # while one waits for it there
    replays: bool = False  # whether it needs the trials again
    compares: bool = False  # whether it has nothing to show where there is one candidate only
    of_learners: bool = False  # whether it is about these, also where they have several sequences
    saved_by: tuple[str, ...] = ()  # commands
    file: str = ""  # its name there, if another
    save: Callable[..., Any] | None = None  # how it is drawn there, if otherwise

    def __repr__(self) -> str:
        return f"<chart {self.name}, drawn by {self.make.__module__}.{self.make.__qualname__}>"

    def saved(self, result: Any) -> Mapping[str, Any]:
        """By the names of their files, the charts of what a command found: one, or several."""
        made = (self.save or self.make)(result)
        made = made.chart if isinstance(made, Drawn) else made
        return made if isinstance(made, dict) else {self.file or self.name: made}


CHARTS: Registry[Drawing] = Registry("chart")


def chart(
    question: str, *tables: str, section: str = "", **more: Any
) -> Callable[[Callable[P, Any]], Callable[P, Chart]]:
    """Declare a chart by the function that draws it, which takes results or a folder of them.

    In a ``section`` of the report (answer, sure, behaviour, estimates) it stands there too.

    >>> import howlearn as hl
    >>> @hl.plot.chart("How long are the records?", "learners", section="sure")
    ... def lengths(source):
    ...     import altair
    ...     return altair.Chart(hl.plot.results_of(source).table("learners")).mark_bar()
    >>> CHARTS["lengths"].question
    'How long are the records?'
    >>> CHARTS.forget("lengths")
    """

    def declare(make: Callable[P, Any]) -> Callable[P, Chart]:
        @wraps(make)
        def plot(*args: P.args, **kwargs: P.kwargs) -> Chart:
            check()
            from howlearn.report.style import drawable

            made = make(*args, **kwargs)
            made = made.chart if isinstance(made, Drawn) else made
            if isinstance(made, dict):
                return {name: drawable(each) for name, each in made.items()}  # type: ignore[return-value]
            if made is None:
                raise HowlearnError(f"there is nothing to draw yet for: {question}")
            return drawable(made)

        plot.__annotations__ = {**make.__annotations__, "return": "Chart"}
        CHARTS.register(Drawing(make.__name__, question, tables, make, plot, section, **more))
        return plot

    return declare


def available(*more: str) -> bool:
    """Whether charts can be drawn here; asks without importing, which takes half a second."""
    return all(importlib.util.find_spec(name) is not None for name in (*NEEDED, *more))


def check(what: str = "charts need", *more: str) -> None:
    """Say in one sentence what is not installed."""
    if not available(*more):
        raise HowlearnError(f"{what}: {INSTALL}")
