"""The contexts drawn by their features, in the cells of a partition."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from howlearn.core.partition import Cell
from howlearn.models.adjustments import Adjusted
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel
from howlearn.report.glyphs import Glyph, glyphs
from howlearn.report.style import INK, Chart, colours, data, finished, labels, mixed, nothing
from howlearn.report.style import text_width as width_of

QUESTION = "Which contexts does {} treat alike?"
WIDTH = 560  # of all cells, before they go on in the next row
TILE, NAME, PAD, HEAD, GAP = 52, 16, 6, 18, 10
MOST = 80  # contexts that are drawn
WHITE = (255, 255, 255)


def cells_of(model: Model) -> tuple[Cell, ...] | None:
    """The cells of a model's partition; None where it has none."""
    base = model.base if isinstance(model, Adjusted) else model
    return base.partition.cells if isinstance(base, PartitionModel) else None


def partition(
    model: Model, contexts: Sequence[str], features: Mapping[str, Mapping[str, str]]
) -> Chart:
    """Each context as a glyph on the colour of its cell; as a name where there are no features."""
    question = QUESTION.format(model.name)
    cells = cells_of(model)
    if cells is None:
        return nothing(question)
    known = set(contexts)
    shown = [[c for c in cell if c in known] for cell in cells]
    shown = [cell for cell in shown if cell]
    if not shown:
        return nothing(question)
    n = sum(map(len, shown))
    drawn, key = glyphs([c for cell in shown for c in cell], features)
    cut = _first(shown, MOST)
    layout = _Layout(cut, drawn)
    note = "Contexts in one box share what is learned."
    if key:
        note += f" {'; '.join(key)}."
    if n > MOST:
        note += f" The first {MOST} of {n:,} contexts."
    sizes = sorted((len(cell) for cell in shown), reverse=True)
    cells_word = "cell" if len(shown) == 1 else "cells"
    finding = (
        f"{model.name} sorts {n:,} contexts into {len(shown):,} {cells_word} of "
        f"{', '.join(map(str, sizes[:12]))}{'…' if len(sizes) > 12 else ''}."
    )
    return finished(layout.chart(), question, note, WIDTH, finding)


def _first(cells: Sequence[Sequence[str]], most: int) -> list[Sequence[str]]:
    found: list[Sequence[str]] = []
    for cell in cells:
        left = most - sum(map(len, found))
        if left > 0:
            found.append(cell[:left])
    return found


@dataclass(frozen=True)
class _Box:
    """A cell on the page."""

    left: float
    top: float
    columns: int
    rows: int


class _Layout:
    """Where boxes and glyphs come to lie, in pixels."""

    def __init__(self, cells: Sequence[Sequence[str]], drawn: Mapping[str, Glyph]) -> None:
        self.cells, self.drawn = cells, drawn
        contexts = [c for cell in cells for c in cell]
        self.written = labels(contexts, longest=17 if drawn else 24)
        widest = max(width_of(text, 10) for text in self.written.values())
        self.tile = max(TILE if drawn else 30.0, min(widest + 8, 190))
        rest = max((len(glyph.rest) for glyph in drawn.values()), default=0)
        self.height = (TILE if drawn else 4) + NAME + 11 * rest
        self.boxes, self.size = self._boxes()

    def _boxes(self) -> tuple[list[_Box], tuple[float, float]]:
        found: list[_Box] = []
        left = top = tallest = right = 0.0
        most = max(1, int((WIDTH - 2 * PAD) // self.tile))
        for cell in self.cells:
            columns = min(most, max(1, math.ceil(math.sqrt(2 * len(cell)))), len(cell))
            rows = -(-len(cell) // columns)
            columns = -(-len(cell) // rows)  # rows that are about equally long
            wide = columns * self.tile + 2 * PAD
            if left > 0 and left + wide > WIDTH:
                left, top, tallest = 0.0, top + tallest + GAP, 0.0
            found.append(_Box(left, top, columns, rows))
            right = max(right, left + wide)
            tallest = max(tallest, HEAD + rows * self.height + PAD)
            left += wide + GAP
        return found, (right, top + tallest)

    def chart(self) -> Any:
        """Boxes, glyphs, and names."""
        wide, high = self.size
        x_scale = alt.Scale(domain=[0, wide], nice=False)
        y_scale = alt.Scale(domain=[high, 0], nice=False)

        def x(field: str) -> alt.X:
            return alt.X(field, axis=None, scale=x_scale)

        def y(field: str) -> alt.Y:
            return alt.Y(field, axis=None, scale=y_scale)

        colour: dict[str, Any] = {"fill": alt.Fill("fill:N", scale=None)}
        boxes = alt.Chart(data(pl.DataFrame(self._box_rows())))
        tiles = alt.Chart(data(pl.DataFrame(self._tile_rows(), infer_schema_length=None)))
        box = boxes.mark_rect(cornerRadius=6, strokeWidth=2)
        edge = alt.Stroke("stroke:N", scale=None)
        # Boxes are light in dark pages too, so what stands in them is dark in both.
        text: dict[str, Any] = {"color": INK, "align": "center", "baseline": "middle"}
        layers = [
            box.encode(
                x("left:Q"),
                y("top:Q"),
                x2=alt.X2("right:Q"),
                y2=alt.Y2("bottom:Q"),
                **colour,
                stroke=edge,
            ),
            boxes.mark_text(**{**text, "align": "left"}, fontSize=10, fontWeight="bold").encode(
                x("text_x:Q"), y("text_y:Q"), text=alt.Text("label:N")
            ),
        ]
        if self.drawn:
            shape: dict[str, Any] = {
                "shape": alt.Shape("shape:N", scale=None),
                "size": alt.Size("size:Q", scale=None),
            }
            lines: dict[str, Any] = {**shape, "shape": alt.Shape("lines:N", scale=None)}
            at = (x("x:Q"), y("y:Q"))
            tip = [alt.Tooltip("context:N"), alt.Tooltip("cell:N"), alt.Tooltip("about:N")]
            mark = tiles.mark_point(filled=True, opacity=1, stroke="#444444", strokeWidth=1)
            over = tiles.transform_filter("datum.lines != ''").mark_point(
                filled=False, opacity=1, stroke="#222222", strokeWidth=1.4
            )
            layers += [mark.encode(*at, **shape, **colour, tooltip=tip), over.encode(*at, **lines)]
        name = tiles.mark_text(**text, fontSize=10)
        layers.append(name.encode(x("x:Q"), y("name_y:Q"), text=alt.Text("name:N")))
        if any(glyph.rest for glyph in self.drawn.values()):
            more = tiles.mark_text(**text, fontSize=9, lineBreak="\n", lineHeight=11)
            layers.append(more.encode(x("x:Q"), y("rest_y:Q"), text=alt.Text("rest:N")))
        return alt.layer(*layers).properties(width=wide, height=high)

    def _box_rows(self) -> list[dict[str, Any]]:
        shades = [*colours([str(k) for k in range(len(self.cells))]).values()]
        rows = []
        for k, box in enumerate(self.boxes):
            right = box.left + box.columns * self.tile + 2 * PAD
            rows.append(
                {"left": box.left, "right": right, "top": box.top,
                 "bottom": box.top + HEAD + box.rows * self.height + PAD,
                 "fill": mixed(shades[k], WHITE, 0.82), "stroke": shades[k],
                 "text_x": box.left + PAD, "text_y": box.top + HEAD / 2 + 1,
                 "label": f"cell {k + 1}"}
            )  # fmt: skip
        return rows

    def _tile_rows(self) -> list[dict[str, Any]]:
        rows = []
        for k, (cell, box) in enumerate(zip(self.cells, self.boxes, strict=True)):
            for j, context in enumerate(cell):
                x = box.left + PAD + (j % box.columns + 0.5) * self.tile
                top = box.top + HEAD + (j // box.columns) * self.height
                row: dict[str, Any] = {"context": context, "cell": f"cell {k + 1}", "x": x}
                row["name"] = self.written[context]
                row["name_y"] = top + (TILE if self.drawn else 2) + NAME / 2 - 2
                glyph = self.drawn.get(context)
                if glyph is not None:
                    side = 38 * glyph.size
                    row |= {
                        "y": top + TILE / 2,
                        "shape": glyph.outline,
                        "lines": glyph.lines,
                        "size": side * side,
                        "fill": glyph.fill,
                        "rest_y": row["name_y"] + 12,
                        "about": ", ".join(glyph.rest),
                        "rest": "\n".join(glyph.rest),
                    }
                rows.append(row)
        return rows
