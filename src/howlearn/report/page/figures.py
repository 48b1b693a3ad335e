"""The charts of every section, each with the table behind it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from typing import Any, TypeGuard

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.report import matrix_charts, rate_charts, share_charts
from howlearn.report.charts import CHARTS, Drawing, Drawn
from howlearn.report.folder import Calibrated
from howlearn.report.style import titled
from howlearn.results.results import Results
from howlearn.selection.tables import ALL, INCLUDED

# Rows of named values as columns, which take a third of the space; the page's script undoes it.


DIGITS = 5  # of the numbers that are drawn
TEXT = {"type": "json"}  # how style.data says that data are text
FEW_ROWS = 3  # below which columns save nothing
COLUMNS, NAMES, PLACES = "$columns", "$names", "$places"


def compact(spec: dict[str, Any]) -> dict[str, Any]:
    """A chart's spec with its data as columns, without fields that nothing in it mentions."""
    return _lighter(spec, json.dumps(_bare(spec)))


def _bare(value: Any) -> Any:
    """A spec without its data, in which names of fields can be looked for."""
    if isinstance(value, dict):
        return {k: _bare(v) for k, v in value.items() if k not in ("values", "datasets")}
    return [_bare(each) for each in value] if isinstance(value, list | tuple) else value


def _lighter(value: Any, mentioned: str) -> Any:
    if isinstance(value, dict):
        found = {}
        for key, inner in value.items():
            if key == "datasets" and isinstance(inner, dict):
                found[key] = {name: _data(rows, mentioned) for name, rows in inner.items()}
            elif key == "values":
                found[key] = _data(inner, mentioned)
            elif key != "format" or inner != TEXT:  # data are no longer text
                found[key] = _lighter(inner, mentioned)
        return found
    if isinstance(value, list | tuple):
        return [_lighter(each, mentioned) for each in value]
    return short(value)


def _data(values: Any, mentioned: str) -> Any:
    """Of a data set, or any other list of values."""
    if isinstance(values, str) and values[:1] == "[":
        values = json.loads(values)
    return _columns(values, mentioned) if _rows(values) else _lighter(values, mentioned)


def _rows(values: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Whether these are records that all have the same fields."""
    if not isinstance(values, list) or len(values) < FEW_ROWS:
        return False
    return all(isinstance(row, dict) and row.keys() == values[0].keys() for row in values)


def _columns(rows: list[dict[str, Any]], mentioned: str) -> dict[str, Any]:
    used = [name for name in rows[0] if json.dumps(name)[1:-1] in mentioned]
    return {COLUMNS: {name: column([row[name] for row in rows]) for name in used}}


def column(values: list[Any]) -> Any:
    """Texts as places in a list of them, where that is shorter."""
    values = [short(value) for value in values]
    if not all(isinstance(value, str) for value in values):
        return values
    names = [*dict.fromkeys(values)]
    if len(names) > len(values) / 2:
        return values
    place = {name: k for k, name in enumerate(names)}
    return {NAMES: names, PLACES: [place[value] for value in values]}


def short(value: Any) -> Any:
    """A number in as few digits as can be seen; what is not finite is missing."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else float(f"{value:.{DIGITS}g}")


# A chart as the page carries it: what is drawn once, and a table of it for reading and saving.


WORDED = ("title", "text", "subtitle", "description")
MOST_ROWS = 2_000  # of a table beside a chart; the results folder has the rest


@dataclass(frozen=True, eq=False)
class Figure:
    """A question, its chart, the finding in words, and the numbers behind it."""

    name: str  # of its files and its place in the page
    spec: dict[str, Any]
    table: pl.DataFrame
    finding: str = ""
    of_learners: bool = False  # also where these have several sequences

    @property
    def title(self) -> tuple[str, str]:
        """The question, and the note on how to read the chart."""
        found = self.spec.get("title", "")
        if not isinstance(found, dict):
            return _line(found), ""
        return _line(found.get("text", "")), _line(found.get("subtitle", ""))

    def content(self) -> dict[str, Any]:
        """What the page's script takes."""
        frame = self.table.head(MOST_ROWS)
        return {
            "name": self.name,
            "spec": compact(self.spec),
            "columns": frame.columns,
            "table": [column(each.to_list()) for each in frame.get_columns()],
            "more": max(0, len(self.table) - MOST_ROWS),
        }


def about(figure: Figure, unit: str) -> Figure:
    """The same, in words about sequences where a learner has several."""
    if unit == "learner" or figure.of_learners:
        return figure
    finding = _worded(figure.finding, "description")
    return replace(figure, spec=_worded(figure.spec), finding=finding)


def _worded(spec: Any, key: str = "") -> Any:
    """Titles and notes only: fields of the data keep their names."""
    if key == "datasets":
        return spec
    if isinstance(spec, dict):
        return {name: _worded(part, name) for name, part in spec.items()}
    if isinstance(spec, list):
        return [_worded(part, key) for part in spec]
    return spec.replace("learner", "sequence") if key in WORDED and isinstance(spec, str) else spec


def spec_of(chart: Any) -> dict[str, Any]:
    """A chart without its colours for paper, which the page has once."""
    spec = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
    return {key: value for key, value in spec.items() if key not in ("config", "$schema")}


def _line(text: Any) -> str:
    return " ".join(map(str, text)) if isinstance(text, list) else str(text or "")


ASIDE = {INCLUDED: "the excluded left out", ALL: "with everyone"}
POINTS = 3_000  # estimates that are drawn one by one


@dataclass
class Drawings:
    """Charts and sentences by section."""

    figures: dict[str, list[Figure]] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)  # that belong beside the answer

    def of(self, section: str) -> list[Figure]:
        return self.figures.get(section, [])

    def said(self, section: str) -> list[str]:
        return self.notes.get(section, [])


class Caution(str):
    """A sentence that belongs beside the answer."""


Made = Figure | str
Step = tuple[str, str, Callable[[], Iterator[Made]]]


def steps(results: Results, known: Calibrated, seed: int) -> list[Step]:
    """What is to be drawn: the section, what it is called while one waits, and how."""
    otherwise = {  # more than once, or only so much of it
        "shares": lambda: _shares(results),
        "disagreement": lambda: _disagreement(results),
        "confusion": lambda: _confusions(known, results.names),
        "estimates": lambda: _estimates(results, seed),
    }
    return [
        (
            each.section,
            each.called or each.name,
            otherwise.get(each.name) or partial(_drawn, each, results, seed),
        )
        for each in CHARTS.values()
        if each.section
        and not (each.replays and results.why_not)
        and not (each.compares and len(results.names) == 1)
    ]


def draw(
    todo: list[Step], unit: str, progress: Callable[[int, int], None] | None = None
) -> Drawings:
    """All of it, in words about a unit; what cannot be drawn is said in a sentence."""
    drawn = Drawings()
    for number, (section, what, make) in enumerate(todo):
        if progress:
            progress(number, len(todo))
        try:
            for made in make():
                if isinstance(made, Figure):
                    drawn.figures.setdefault(section, []).append(about(made, unit))
                elif isinstance(made, Caution):
                    drawn.warnings.append(made)
                else:
                    drawn.notes.setdefault(section, []).append(made)
        except HowlearnError as error:
            drawn.notes.setdefault(section, []).append(f"No chart of {what}: {error}")
    return drawn


def _figure(name: str, chart: Any, table: pl.DataFrame, finding: str = "") -> Figure:
    """The chart's own description is its finding, unless a better one is given."""
    figure = Figure(name, spec_of(chart), table, finding)
    described = figure.spec.get("description", "")
    return figure if finding or described == figure.title[0] else replace(figure, finding=described)


def _shares(results: Results) -> Iterator[Made]:
    frame, names = results.tables["shares"], results.names
    which = "among" if "among" in frame.columns else None
    parts = {"": frame}
    if which:
        parts = {each: frame.filter(pl.col(which) == each) for each in (INCLUDED, ALL)}
    columns = (
        "condition criterion model learners share lower upper corrected corrected_lower "
        "corrected_upper"
    )
    for each, part in parts.items():
        if not part.is_empty():
            kept = [c for c in (*columns.split(), which) if c and c in part.columns]
            kept = kept if part["condition"].count() else kept[1:]
            name = f"shares-{each}" if each else "shares"
            chart = share_charts.shares_by_criterion(part.drop(which) if which else part, names)
            said = {INCLUDED: "Without the excluded learners.", ALL: "With everyone."}.get(each, "")
            if said:
                question = f"{chart.title['text'].removesuffix('?')}, {ASIDE[each]}?"
                chart = chart.properties(title={**chart.title, "text": question})
                said = f"{said} {chart.description}"
            yield _figure(name, chart, part.select(kept), said)


def _disagreement(results: Results) -> Iterator[Made]:
    for other in results.criteria[1:]:
        frame = matrix_charts.disagreement_table(results, results.criteria[0], other)
        if (frame["first_model"] == frame["second_model"]).all():
            both = f"{results.criteria[0]} and {other}"
            yield f"{both} select the same model for every {results.unit}."
            continue
        number = results.criteria.index(other)
        name = "disagreement" if number == 1 else f"disagreement-{number}"
        yield _figure(name, matrix_charts.disagreement(frame, results.names), frame)


def _drawn(drawing: Drawing, results: Results, seed: int) -> Iterator[Made]:
    """As it is declared; without its own table, with the one that it is drawn from."""
    seeded = {"seed": seed} if "seed" in signature(drawing.make).parameters else {}
    made = drawing.make(results, **seeded)
    if not isinstance(made, Drawn):
        made = Drawn(titled(made, drawing.question), results.table(drawing.tables[0]))
    if made.shown:
        figure = _figure(drawing.figure or drawing.name, made.chart, made.table, made.finding)
        yield replace(figure, of_learners=drawing.of_learners)
    if made.caution:
        yield Caution(made.caution)
    yield from made.notes


def _confusions(known: Calibrated, names: list[str]) -> Iterator[Made]:
    for number, (criterion, frame) in enumerate(known.confusions.items()):
        chart = matrix_charts.confusion(frame, names, criterion)
        own = frame.filter(pl.col("true_model") == pl.col("selected_model"))
        finding = ""
        if len(own):
            worst = own.sort("share").row(0, named=True)
            finding = (
                f"In this design {criterion} finds the true model of "
                f"{own['share'].mean():z.0%} of simulated learners; least often where "
                f"{worst['true_model']} is true ({worst['share']:z.0%})."
            )
        yield _figure(f"confusion-{number + 1}", chart, frame, finding)
    yield from known.doubts


def _estimates(results: Results, seed: int) -> Iterator[Made]:
    frame = rate_charts.rate_table(results)
    if frame.is_empty():
        yield "None of the selected models has a parameter."
        return
    drawn = frame
    if len(frame) > POINTS:
        drawn = frame.with_row_index("#").sample(POINTS, seed=seed).sort("#").drop("#")
        yield f"The chart shows {POINTS:,} of {len(frame):,} estimates, drawn at random."
    chart = rate_charts.rates(drawn, frame)
    yield _figure("estimates", chart, quartile_table(frame), rate_charts.finding(frame))


def quartile_table(frame: pl.DataFrame) -> pl.DataFrame:
    """A row per parameter of every model: what a table can say of a distribution."""
    value, at = pl.col("estimate"), pl.col("status")
    return frame.group_by("model", "cell", "parameter", maintain_order=True).agg(
        pl.len().alias("learners"),
        value.median().alias("median"),
        value.quantile(0.25, "linear").alias("lower_quartile"),
        value.quantile(0.75, "linear").alias("upper_quartile"),
        (at == "at lower bound").sum().alias("at_lower_bound"),
        (at == "at upper bound").sum().alias("at_upper_bound"),
        (at == "not informed").sum().alias("not_informed"),
    )
