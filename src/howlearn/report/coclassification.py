"""The heat map of which contexts are treated alike, with the marked partitions beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from howlearn.report.confusions import BARE, fill_of, percent
from howlearn.report.style import (
    PALETTE,
    Chart,
    data,
    finished,
    ink_on,
    labels,
    mixed,
    nothing,
)

QUESTION = "Which contexts are treated alike?"
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
        return nothing(QUESTION)
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
    chart = alt.vconcat(*panels[:MOST], spacing=40) if len(panels) > 1 else panels[0]
    return finished(chart, QUESTION, note, 34 * consensus["context"].n_unique() + 160)


def _panel(
    population: pl.DataFrame,
    order: pl.DataFrame,
    marks: Mapping[str, Mapping[str, int]],
    title: str,
) -> Any:
    contexts = order["context"].to_list()
    written = labels(contexts)
    names = [written[context] for context in contexts]
    size, font = next(
        s for most, *s in ((10, 34, 11), (FEW, 26, 9), (10**9, 14, 0)) if len(contexts) <= most
    )
    y = alt.Y("down:N", sort=names, title=None, axis=alt.Axis(**BARE))
    x = alt.X(
        "across:N",
        sort=names,
        title=None,
        axis=alt.Axis(orient="top", labelAngle=-45, labelAlign="left", **BARE),
    )
    fill, ink = alt.Fill("fill:N", scale=None), alt.Fill("ink:N", scale=None)
    base = alt.Chart().encode(x, y)
    framed = base.mark_rect(filled=False, stroke="#222222", strokeWidth=1.2)
    layers = [
        base.mark_rect(stroke="white").encode(fill),
        framed.transform_filter("datum.same"),
    ]
    if font:
        layers.append(base.mark_text(fontSize=font).encode(ink, text="text:N"))
    cells = data(_pairs(population, order, written))
    matrix = alt.layer(*layers, data=cells).properties(
        width=size * len(names), height=size * len(names)
    )
    if title:
        matrix = matrix.properties(title=alt.TitleParams(title, fontSize=12))
    if not marks:
        return matrix
    return alt.hconcat(matrix, _strip(contexts, written, marks, size, font), spacing=12)


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
                {"down": written[context], "model": shown[model], "fill": fill,
                 "ink": ink_on(fill), "text": str(place + 1)}
            )  # fmt: skip
    y = alt.Y("down:N", sort=[written[c] for c in contexts], title=None, axis=None)
    x = alt.X(
        "model:N",
        sort=[*shown.values()],
        title=None,
        axis=alt.Axis(orient="top", labelAngle=-45, labelAlign="left", **BARE),
    )
    base = alt.Chart().encode(x, y)
    layers = [base.mark_rect(stroke="white").encode(alt.Fill("fill:N", scale=None))]
    if font:
        ink = alt.Fill("ink:N", scale=None)
        layers.append(base.mark_text(fontSize=font).encode(ink, text="text:N"))
    chart = alt.layer(*layers, data=data(pl.DataFrame(rows)))
    return chart.properties(width=max(size, 18) * len(marks), height=size * len(contexts))
