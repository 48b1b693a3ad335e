"""Heat maps: confusion of models, disagreement of criteria, contexts treated alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.core.text import many
from howlearn.report import vega_lite as vl
from howlearn.report.plot import CHARTS
from howlearn.report.style import (
    BLUE,
    FAINT,
    INK,
    PALETTE,
    Chart,
    data,
    finished,
    in_order,
    ink_on,
    labels,
    mixed,
    nothing,
    number,
    parts,
)
from howlearn.results.results import Results
from howlearn.runs.folder import read_table

CONFUSION_QUESTION = CHARTS["confusion"].question
BARE: dict[str, Any] = {"ticks": False, "domain": False, "labelPadding": 6}
INKED = {"stroke": INK, "strokeWidth": 1.5}  # the frame of a square
NEVER = "#F7F7F7"


def confusion(frame: pl.DataFrame, models: Sequence[str], by: str = "") -> Chart:
    """A heat map: the true model down the side, the selected one across, shares in the cells.

    ``by`` says which criterion selects.
    """
    frame = with_names(frame, "true_model", "selected_model")
    if frame.is_empty():
        return nothing(CONFUSION_QUESTION)
    across, down = selected_and_true(frame, models)
    written = labels(in_order([*across, *down]))
    size, font = next(
        s for most, *s in ((8, 46, 12), (15, 32, 10), (1e9, 25, 9)) if len(across) <= most
    )
    cells = _cells(frame, across, down, written)
    chart = _squares(cells, size, font, across="selected model", down="true model", frame=INKED)
    note = "Percent of the learners of each row. Framed: the true model is selected."
    note = f"By {by}. {note}" if by else note
    return finished(chart, CONFUSION_QUESTION, note, size * len(across) + 120)


def _cells(
    frame: pl.DataFrame, across: Sequence[str], down: Sequence[str], written: dict[str, str]
) -> pl.DataFrame:
    """A row per cell; a pair that the table does not list was never seen."""
    share = {(t, m): s for t, m, s in frame["true_model", "selected_model", "share"].iter_rows()}
    cells = []
    for true in down:
        for selected in across:
            value = share.get((true, selected), 0.0)
            fill = fill_of(value)
            cell = {"down": written[true], "across": written[selected]}
            cell |= {"fill": fill, "ink": ink_on(fill), "text": percent(value)}
            cells.append(cell | {"same": true == selected})
    return pl.DataFrame(cells)


def _squares(
    cells: pl.DataFrame, size: int, font: int, frame: Mapping[str, Any] | None, **titles: str | None
) -> Chart:
    """A square per row of ``cells``, with its text where there is a font; ``frame`` marks the same.

    Names stand in the order of their first rows; ``titles`` are those of the axes.
    """
    names = {side: cells[side].unique(maintain_order=True).to_list() for side in titles}
    top = vl.Axis(orient="top", labelAngle=-45, labelAlign="left", **BARE)
    x = vl.X("across:N", sort=names["across"], title=titles["across"], axis=top)
    beside = None if frame is None else vl.Axis(**BARE)
    y = vl.Y("down:N", sort=names["down"], title=titles["down"], axis=beside)
    base = vl.Chart().encode(x, y)
    layers = [base.mark_rect(stroke="white").encode(vl.Fill("fill:N", scale=None))]
    if frame is not None:
        layers.append(base.mark_rect(filled=False, **frame).transform_filter("datum.same"))
    if font:
        ink = vl.Fill("ink:N", scale=None)
        layers.append(base.mark_text(fontSize=font).encode(ink, text="text:N"))
    chart = vl.layer(*layers, data=data(cells))
    return chart.properties(width=size * len(names["across"]), height=size * len(names["down"]))


def fill_of(share: float | None) -> str:
    """The darker the larger the share is."""
    if share is None:
        return FAINT
    return mixed("#FFFFFF", parts(BLUE), min(1.0, share) ** 0.8) if share > 0 else NEVER


def with_names(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Names as text, rows without one left out, shares that are not numbers as missing."""
    names = pl.col(columns).cast(pl.String)
    return frame.with_columns(names, number("share")).drop_nulls(columns)


def selected_and_true(frame: pl.DataFrame, models: Sequence[str]) -> tuple[list[str], list[str]]:
    """Every candidate may be selected; only those that were simulated are true."""
    true = set(frame["true_model"])
    down = [name for name in in_order(models, frame["true_model"]) if name in true]
    return in_order(models, frame["selected_model"]), down


def percent(share: float | None) -> str:
    """A share in few characters; only what is 100 is called so, and 0 is left out.

    >>> [percent(share) for share in (0.0, 0.001, 0.25, 0.999, 1.0, None)]
    ['', '<1', '25', '>99', '100', '–']
    """
    if share is None:
        return "–"
    if share == 0:
        return ""
    if share < 0.005:
        return "<1"
    return ">99" if 0.995 <= share < 1 else f"{math.floor(100 * share + 0.5 + 1e-9)}"


# The confusion matrix of a calibration or recovery, given itself or as its folder.


COLUMNS = ("criterion", "true_model", "selected_model", "share")


def confusion_of(source: Any, criterion: str | None = None) -> Chart:
    """By one criterion, the first if none is named."""
    frame = confusion_table(source)
    known = frame["criterion"].unique(maintain_order=True).to_list()
    criterion = str(known[0] if criterion is None and known else criterion or "")
    if criterion not in known:
        raise HowlearnError(f"there is no criterion {criterion!r}; there are {', '.join(known)}")
    mine = frame.filter(pl.col("criterion") == criterion)
    models = in_order([], mine["true_model"], mine["selected_model"])
    chart = confusion(mine.select(COLUMNS[1:]), models, criterion)
    right = mine.filter(pl.col("true_model") == pl.col("selected_model"))["share"]
    if not len(right):
        return chart
    worst = mine.filter(pl.col("true_model") == pl.col("selected_model")).sort("share").row(0)
    name = worst[mine.columns.index("true_model")]
    share = worst[mine.columns.index("share")]
    words = (
        f"By {criterion} the true model is selected for {right.mean():z.0%} of simulated learners; "
        f"least often where it is {name} ({share:z.0%})."
    )
    return chart.properties(description=words)


def confusion_table(source: Any) -> pl.DataFrame:
    """criterion, true_model, selected_model, share."""
    if isinstance(source, str | Path):
        frame = read_table(Path(source), "confusion")
    else:
        frame = getattr(source, "confusion", None)
    if not isinstance(frame, pl.DataFrame) or not {*COLUMNS} <= {*frame.columns}:
        raise HowlearnError(
            "a confusion matrix comes from howlearn.calibrate or howlearn.recover, or from the "
            "folder of either"
        )
    return frame.select(*COLUMNS)


# Which models two criteria select for the same learners.


DISAGREEMENT_QUESTION = CHARTS["disagreement"].question


def disagreement_table(
    found: Results, first: str | None = None, second: str | None = None
) -> pl.DataFrame:
    """first, second (criteria), first_model, second_model, learners, share (of all learners).

    Without names they are the first two criteria; empty where there is one only.
    """
    first = first or found.criteria[0]
    others = [c for c in found.criteria if c != first]
    second = second or (others[0] if others else None)
    for name in (first, second):
        if name is not None and name not in found.criteria:
            raise HowlearnError(
                f"there is no criterion {name!r}; there are {', '.join(found.criteria)}"
            )
    if second is None:
        text = ("first", "second", "first_model", "second_model")
        return pl.DataFrame(
            schema=dict.fromkeys(text, pl.String) | {"learners": pl.Int64, "share": pl.Float64}
        )
    one, other = (
        found.table("selection").filter(pl.col("criterion") == name)["model"].cast(pl.String)
        for name in (first, second)
    )
    frame = pl.DataFrame({"first_model": one, "second_model": other})
    keys = ["first_model", "second_model"]
    counts = frame.group_by(keys).len("learners").with_columns(pl.col("learners").cast(pl.Int64))
    return counts.sort(["learners", *keys], descending=[True, False, False]).select(
        pl.lit(first).alias("first"),
        pl.lit(second).alias("second"),
        *keys,
        "learners",
        share=pl.col("learners") / max(len(one), 1),
    )


def disagreement(frame: pl.DataFrame, models: Sequence[str]) -> Chart:
    """A heat map: the first criterion's model down the side, the second one's across."""
    if frame.is_empty():
        return nothing(DISAGREEMENT_QUESTION)
    seen = {*frame["first_model"], *frame["second_model"]}
    names = [m for m in in_order(models, frame["first_model"], frame["second_model"]) if m in seen]
    written = labels(names)
    count = {(a, b): (n, s) for a, b, n, s in frame.select(frame.columns[2:]).rows()}
    rows = []
    for one in names:
        for other in names:
            n, share = count.get((one, other), (0, 0.0))
            fill = fill_of(share)
            rows.append(
                {"down": written[one], "across": written[other], "fill": fill, "ink": ink_on(fill),
                 "text": f"{n:,}" if n else "", "percent": percent(share), "same": one == other}
            )  # fmt: skip
    size, font = (46, 12) if len(names) <= 8 else (30, 10)
    first, second = frame["first"][0], frame["second"][0]
    sides = {"across": f"by {second}", "down": f"by {first}"}
    chart = _squares(pl.DataFrame(rows), size, font, {"style": "ink", "strokeWidth": 1.5}, **sides)
    note = "Numbers of learners. Framed: both criteria select the same model."
    question = f"Where do {first} and {second} disagree?"
    return finished(chart, question, note, size * len(names) + 120, _finding(frame))


def _finding(frame: pl.DataFrame) -> str:
    apart = frame.filter(pl.col("first_model") != pl.col("second_model"))
    same = float(frame.filter(pl.col("first_model") == pl.col("second_model"))["share"].sum())
    first, second = frame["first"][0], frame["second"][0]
    text = f"{first} and {second} select the same model for {same:z.0%} of the learners"
    if apart.is_empty():
        return text + "."
    most = apart.row(0, named=True)
    learners = many(most["learners"], "learner")
    return (
        f"{text}; most often they differ as {most['first_model']} by {first} and "
        f"{most['second_model']} by {second} ({learners})."
    )


# The heat map of which contexts are treated alike, with the marked partitions beside it.


ALIKE_QUESTION = CHARTS["coclassification"].question
MOST = 6  # conditions that are drawn
FEW = 20  # contexts whose numbers are written


def coclassification(
    population: pl.DataFrame,
    consensus: pl.DataFrame,
    marks: Mapping[str, Mapping[str, int]],
    criterion: str,
    by: Sequence[str] = (),
    exact: bool = True,
) -> Chart:
    """Heat maps of the mean co-classification by one criterion, in the order of a clustering.

    ``marks`` are the cells of each marked partition: context → number.
    """
    consensus = consensus.filter(criterion=criterion)
    population = population.filter(criterion=criterion)
    if population.is_empty():
        return nothing(ALIKE_QUESTION)
    panels = []
    for key, order in consensus.group_by([*by, "criterion"], maintain_order=True):
        values = dict(zip(by, key[:-1], strict=True))
        same = [pl.col(name).eq_missing(pl.lit(value)) for name, value in values.items()]
        mine = population.filter(*same) if same else population
        title = ", ".join(f"{name} {value}" for name, value in values.items())
        panels.append(_panel(mine, order, marks, title))
    note = (
        f"By {criterion}: how probable it is, in percent, that a learner treats both contexts as "
        "one; mean over learners. Framed: contexts that go together more often than not."
    )
    if marks:
        note += " To the right: the cells of the marked partitions."
    if not exact:
        note += " Found by a search: not all partitions were judged."
    if len(panels) > MOST:
        note += f" The first {MOST} of {len(panels)} conditions."
    chart = vl.vconcat(*panels[:MOST], spacing=40) if len(panels) > 1 else panels[0]
    return finished(chart, ALIKE_QUESTION, note, 34 * consensus["context"].n_unique() + 160)


def _panel(
    population: pl.DataFrame,
    order: pl.DataFrame,
    marks: Mapping[str, Mapping[str, int]],
    title: str,
) -> Any:
    contexts = order["context"].to_list()
    written = labels(contexts)
    size, font = next(
        s for most, *s in ((10, 34, 11), (FEW, 26, 9), (10**9, 14, 0)) if len(contexts) <= most
    )
    framed = {"stroke": INK, "strokeWidth": 1.2}
    pairs = _pairs(population, order, written)
    matrix = _squares(pairs, size, font, framed, across=None, down=None)
    if title:
        matrix = matrix.properties(title=vl.TitleParams(title, fontSize=12))
    if not marks:
        return matrix
    return vl.hconcat(matrix, _strip(contexts, written, marks, size, font), spacing=12)


def _pairs(
    population: pl.DataFrame, order: pl.DataFrame, written: Mapping[str, str]
) -> pl.DataFrame:
    """A row per square; the diagonal is left empty."""
    mean = {}
    for a, b, p in population.select("context_a", "context_b", "mean_probability").iter_rows():
        mean[a, b] = mean[b, a] = p
    cell = dict(order.select("context", "cell").iter_rows())
    rows = []
    for a in cell:
        for b in cell:
            value = 1.0 if a == b else mean.get((a, b))
            fill = "#FFFFFF" if a == b else fill_of(value)
            text = "" if a == b else percent(value)
            row = {"down": written[a], "across": written[b], "fill": fill, "ink": ink_on(fill)}
            rows.append(row | {"text": text, "same": a != b and cell[a] == cell[b]})
    return pl.DataFrame(rows)


def _strip(
    contexts: Sequence[str],
    written: Mapping[str, str],
    marks: Mapping[str, Mapping[str, int]],
    size: int,
    font: int,
) -> Any:
    """The cells of each marked partition, numbered from the top."""
    shown = labels(marks)
    rows = []
    for model, cell_of in marks.items():
        number: dict[int, int] = {}
        for context in contexts:
            place = number.setdefault(cell_of[context], len(number))
            fill = mixed(PALETTE[place % len(PALETTE)], (255, 255, 255), 0.45)
            rows.append(
                {"down": written[context], "across": shown[model], "fill": fill,
                 "ink": ink_on(fill), "text": str(place + 1)}
            )  # fmt: skip
    strip = _squares(pl.DataFrame(rows), size, font, None, across=None, down=None)
    return strip.properties(width=max(size, 18) * len(marks))
