"""The heat map of which model is selected for learners whose model is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from howlearn.report.style import (
    BLUE,
    FAINT,
    INK,
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

QUESTION = "Which model is selected when each model is true?"
BARE: dict[str, Any] = {"ticks": False, "domain": False, "labelPadding": 6}
NEVER = "#F7F7F7"


def confusion(frame: pl.DataFrame, models: Sequence[str], by: str = "") -> Chart:
    """A heat map: the true model down the side, the selected one across, shares in the cells.

    ``by`` says which criterion selects.
    """
    frame = with_names(frame, "true_model", "selected_model")
    if frame.is_empty():
        return nothing(QUESTION)
    across, down = selected_and_true(frame, models)
    written = labels(in_order([*across, *down]))
    size, font = next(
        s for most, *s in ((8, 46, 12), (15, 32, 10), (1e9, 25, 9)) if len(across) <= most
    )
    x = alt.X(
        "selected:N",
        sort=[written[name] for name in across],
        title="selected model",
        axis=alt.Axis(orient="top", labelAngle=-45, labelAlign="left", **BARE),
    )
    y = alt.Y(
        "true:N",
        sort=[written[name] for name in down],
        title="true model",
        axis=alt.Axis(**BARE),
    )
    base = alt.Chart().encode(x, y)
    fill, ink = alt.Fill("fill:N", scale=None), alt.Fill("ink:N", scale=None)
    frame_of_same = base.mark_rect(filled=False, stroke=INK, strokeWidth=1.5)
    chart = alt.layer(
        base.mark_rect(stroke="white").encode(fill),
        frame_of_same.transform_filter("datum.same"),
        base.mark_text(fontSize=font).encode(ink, text="text:N"),
        data=data(_cells(frame, across, down, written)),
    )
    chart = chart.properties(width=size * len(across), height=size * len(down))
    note = "Percent of the learners of each row. Framed: the true model is selected."
    note = f"By {by}. {note}" if by else note
    return finished(chart, QUESTION, note, size * len(across) + 120)


def _cells(
    frame: pl.DataFrame, across: Sequence[str], down: Sequence[str], written: dict[str, str]
) -> pl.DataFrame:
    """A row per cell; a pair that the table does not list was never seen."""
    share = shares_of(frame)
    cells = []
    for true in down:
        for selected in across:
            value = share.get((true, selected), 0.0)
            fill = fill_of(value)
            cell = {"true": written[true], "selected": written[selected]}
            cell |= {"fill": fill, "ink": ink_on(fill), "text": percent(value)}
            cells.append(cell | {"same": true == selected})
    return pl.DataFrame(cells)


def fill_of(share: float | None) -> str:
    """The darker the larger the share is."""
    if share is None:
        return FAINT
    return mixed("#FFFFFF", parts(BLUE), min(1.0, share) ** 0.8) if share > 0 else NEVER


def with_names(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Names as text, rows without one left out, shares that are no numbers as missing."""
    names = pl.col(columns).cast(pl.String)
    return frame.with_columns(names, number("share")).drop_nulls(columns)


def selected_and_true(frame: pl.DataFrame, models: Sequence[str]) -> tuple[list[str], list[str]]:
    """Every candidate may be selected; only those that were simulated are true."""
    true = set(frame["true_model"])
    down = [name for name in in_order(models, frame["true_model"]) if name in true]
    return in_order(models, frame["selected_model"]), down


def shares_of(frame: pl.DataFrame) -> dict[tuple[str, str], float | None]:
    rows = frame.select("true_model", "selected_model", "share").rows()
    return {(true, selected): share for true, selected, share in rows}


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
