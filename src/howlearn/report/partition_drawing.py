"""The contexts drawn by their features, in the cells of a partition."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import polars as pl

from howlearn.core.partition import Cell
from howlearn.models.model import Model
from howlearn.report import style
from howlearn.report import vega_lite as vl

# How a context looks: shape, colour, size and pattern, from its features or its name.


Described = Mapping[str, Mapping[str, str]]
ROLES = ("shape", "colour", "size", "pattern")
CALLED = {
    "shape": ("shape", "form", "figure"),
    "colour": ("colour", "color", "hue"),
    "size": ("size",),
    "pattern": ("pattern", "fill", "filling", "texture"),
}
# Outlines in a square from −1 to 1.
SHAPES = {
    "square": "M-0.9,-0.9L0.9,-0.9L0.9,0.9L-0.9,0.9Z",
    "circle": "M-1,0A1,1,0,1,1,1,0A1,1,0,1,1,-1,0Z",
    "triangle": "M0,-1L1,0.8L-1,0.8Z",
    "diamond": "M0,-1L1,0L0,1L-1,0Z",
    "cross": "M-0.35,-1L0.35,-1L0.35,-0.35L1,-0.35L1,0.35L0.35,0.35L0.35,1L-0.35,1L-0.35,0.35"
    "L-1,0.35L-1,-0.35L-0.35,-0.35Z",
    "hexagon": "M-0.5,-0.87L0.5,-0.87L1,0L0.5,0.87L-0.5,0.87L-1,0Z",
    "star": "M0,-1L0.24,-0.32L0.95,-0.31L0.38,0.12L0.59,0.81L0,0.4L-0.59,0.81L-0.38,0.12"
    "L-0.95,-0.31L-0.24,-0.32Z",
    "rectangle": "M-1,-0.6L1,-0.6L1,0.6L-1,0.6Z",
}
SAME_SHAPE = {
    "round": "circle", "disc": "circle", "disk": "circle", "plus": "cross", "rhombus": "diamond",
    "box": "square",
}  # fmt: skip
COLOURS = {
    "blue": "#4C78C8", "red": "#E0524D", "green": "#3E9B57", "yellow": "#F2CF3B",
    "orange": "#EE8A2C", "purple": "#8A5DB5", "violet": "#8A5DB5", "pink": "#F29AC0",
    "brown": "#8C6239", "black": "#2B2B2B", "white": "#FFFFFF", "grey": "#9A9A9A",
    "gray": "#9A9A9A", "cyan": "#5BC3D8", "turquoise": "#3FB8AF", "magenta": "#C94BA8",
}  # fmt: skip
SIZES = {
    "tiny": 0.45, "small": 0.6, "little": 0.6, "medium": 0.8, "middle": 0.8, "big": 1.0,
    "large": 1.0, "tall": 1.0, "huge": 1.0,
}  # fmt: skip
PATTERNS = {
    "plain": "plain", "solid": "plain", "filled": "plain", "full": "plain", "striped": "striped",
    "stripes": "striped", "stripe": "striped", "hatched": "striped", "lined": "striped",
    "empty": "open", "open": "open", "hollow": "open", "outline": "open", "dotted": "dotted",
    "dots": "dotted", "spotted": "dotted",
}  # fmt: skip
WORDS: dict[str, Mapping[str, object]] = {
    "shape": {**SHAPES, **SAME_SHAPE},
    "colour": COLOURS,
    "size": SIZES,
    "pattern": PATTERNS,
}
INSTEAD = {  # for values that are not known words, in this order
    "shape": tuple(SHAPES),
    "colour": style.PALETTE,
    "size": (0.55, 1.0, 0.78),
    "pattern": ("plain", "striped", "open", "dotted"),
}
PLAIN_COLOUR = "#8FA3B5"


@dataclass(frozen=True)
class Glyph:
    """One context: an outline, what fills it, and what lies on top."""

    outline: str
    fill: str
    size: float  # of its width, up to 1
    lines: str  # a path of stripes or dots, in the same square; may be empty
    rest: tuple[str, ...] = ()  # features that are not drawn, as texts


def glyphs(contexts: Sequence[str], features: Described) -> tuple[dict[str, Glyph], list[str]]:
    """A glyph for every context, and what stands for which feature; none where nothing is known.

    A feature is drawn as what its name or its values say (shape, colour, size, pattern); others
    take the ways of drawing that are left. Without features the words of the names may tell.

    >>> found, key = glyphs(["a", "b"], {"a": {"size": "big"}, "b": {"size": "small"}})
    >>> found["a"].size, found["b"].size
    (1.0, 0.6)
    """
    table = _told(contexts, features)
    if not table:
        return {}, []
    roles = _roles(table)
    drawn: dict[str, dict[str, object]] = {
        role: _looks(role, table[n]) for role, n in roles.items()
    }
    rest = [name for name in table if name not in roles.values()]
    found = {}
    for k, context in enumerate(contexts):
        look = {role: drawn[role][table[name][k]] for role, name in roles.items()}
        pattern = str(look.get("pattern", "plain"))
        shape = str(look.get("shape", "circle"))
        colour = str(look.get("colour", PLAIN_COLOUR))
        found[context] = Glyph(
            SHAPES[shape],
            "#FFFFFF" if pattern == "open" else colour,
            float(look.get("size", 0.85)),  # type: ignore[arg-type]
            _texture(pattern, shape),
            tuple(f"{name} {table[name][k]}" for name in rest),
        )
    return found, _key(roles, table, drawn)


def _told(contexts: Sequence[str], features: Described) -> dict[str, list[str]]:
    """Features that all contexts have and that differ: from the study, else from the names."""
    described = [features.get(context, {}) for context in contexts]
    names = dict.fromkeys(name for mine in described for name in mine)
    table = {
        name: [str(mine[name]) for mine in described]
        for name in names
        if all(name in mine for mine in described)
    }
    read = _from_names(contexts)
    # Names such as "Big Black Square" tell more than features that are called 0 and 1.
    if len(read) >= max(2, len(table)) and not any(_known(table[name]) for name in table):
        table = read
    return {name: values for name, values in table.items() if len(set(values)) > 1}


def _from_names(contexts: Sequence[str]) -> dict[str, list[str]]:
    words = [re.findall(r"[^\W\d_]+", context.lower()) for context in contexts]
    found = {}
    for role in ROLES:
        mine = [[word for word in each if word in WORDS[role]] for each in words]
        if all(len(each) == 1 for each in mine) and mine:
            found[role] = [each[0] for each in mine]
    return found


def _known(values: Sequence[str]) -> str | None:
    """The way of drawing of which all values are words."""
    lower = {value.lower() for value in values}
    return next((role for role in ROLES if lower <= WORDS[role].keys()), None)


def _roles(table: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Which feature each way of drawing shows: by its name, its values, or the ways that remain."""
    found: dict[str, str] = {}

    def give(role: str | None, name: str) -> None:
        fits = role is not None and (
            len(set(table[name])) <= len(INSTEAD[role]) or _known(table[name]) == role
        )
        if role is not None and fits and role not in found and name not in found.values():
            found[role] = name

    for name in table:
        give(next((r for r in ROLES if name.lower() in CALLED[r]), None), name)
    for name in table:
        give(_known(table[name]), name)
    for name in table:
        for role in ROLES:
            give(role, name)
    return found


def _looks(role: str, values: Sequence[str]) -> dict[str, object]:
    """What each value looks like: as its word says, or else in the order of the values."""
    known = WORDS[role]
    distinct = [*dict.fromkeys(values)]
    if all(value.lower() in known for value in distinct):
        looks: dict[str, object] = {value: known[value.lower()] for value in distinct}
        if role == "shape":
            looks = {v: SAME_SHAPE.get(v.lower(), v.lower()) for v in distinct}
        if len({str(look) for look in looks.values()}) == len(distinct):
            return looks
    with contextlib.suppress(ValueError):
        distinct.sort(key=float)  # numbers in their order, such as sizes
    if role == "size":
        steps = max(len(distinct) - 1, 1)
        return {value: 0.5 + 0.5 * k / steps for k, value in enumerate(distinct)}
    order = INSTEAD[role]
    return {value: order[k % len(order)] for k, value in enumerate(distinct)}


def _key(
    roles: Mapping[str, str],
    table: Mapping[str, Sequence[str]],
    drawn: Mapping[str, Mapping[str, object]],
) -> list[str]:
    """What stands for what, where the drawing does not say it by itself."""
    told = []
    for role, name in roles.items():
        values = [*dict.fromkeys(table[name])]
        if all(value.lower() in WORDS[role] for value in values):
            continue
        looks = [f"{_word(role, drawn[role][value])} {value}" for value in values[:6]]
        told.append(f"{name}: {', '.join(looks)}")
    return told


def _word(role: str, look: object) -> str:
    if role == "size":
        return "small" if float(look) < 0.7 else "medium" if float(look) < 0.95 else "big"  # type: ignore[arg-type]
    if role == "colour":
        names = ("blue", "orange", "green", "red", "pink", "light blue", "grey", "yellow")
        return names[style.PALETTE.index(str(look))] if look in style.PALETTE else str(look)
    return str(look)


@cache
def _texture(pattern: str, shape: str) -> str:
    if pattern == "striped":
        return "".join(_stripe(offset, shape) for offset in (-1.2, -0.6, 0.0, 0.6, 1.2))
    if pattern == "dotted":
        spots = ((-0.35, -0.2), (0.35, -0.2), (0.0, 0.35))
        return "".join(f"M{x - 0.12},{y}A0.12,0.12,0,1,1,{x + 0.12},{y}"
                       f"A0.12,0.12,0,1,1,{x - 0.12},{y}Z" for x, y in spots)  # fmt: skip
    return ""


def _stripe(offset: float, shape: str) -> str:
    """The piece of the line y = offset − x that lies inside a shape, as a path."""
    inside = [k / 100 for k in range(-100, 101) if _holds(shape, k / 100, offset - k / 100)]
    if len(inside) < 2:
        return ""
    low, high = inside[0], inside[-1]
    return f"M{low:.2f},{offset - low:.2f}L{high:.2f},{offset - high:.2f}"


def _holds(shape: str, x: float, y: float) -> bool:
    if shape == "circle":
        return math.hypot(x, y) <= 1
    points = [tuple(map(float, pair.split(","))) for pair in SHAPES[shape][1:-1].split("L")]
    odd = False
    for (ax, ay), (bx, by) in zip(points, [*points[1:], points[0]], strict=True):
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            odd = not odd
    return odd


QUESTION = "Which contexts does {} treat alike?"
WIDTH = 560  # of all cells, before they go on in the next row
TILE, NAME, PAD, HEAD, GAP = 52, 16, 6, 18, 10
MOST = 80  # contexts that are drawn
WHITE = (255, 255, 255)


def cells_of(model: Model) -> tuple[Cell, ...] | None:
    """The cells of a model's partition; None where it has none."""
    units = model.unadjusted.units
    return tuple(cell for unit in units for cell in unit.cells) if units else None


def partition(
    model: Model, contexts: Sequence[str], features: Mapping[str, Mapping[str, str]]
) -> style.Chart:
    """Each context as a glyph on the colour of its cell; as a name where there are no features."""
    question = QUESTION.format(model.name)
    cells = cells_of(model)
    if cells is None:
        return style.nothing(question)
    known = set(contexts)
    shown = [[c for c in cell if c in known] for cell in cells]
    shown = [cell for cell in shown if cell]
    if not shown:
        return style.nothing(question)
    n = sum(map(len, shown))
    drawn, key = glyphs([c for cell in shown for c in cell], features)
    cut = _first(shown, MOST)
    layout = _Arrangement(cut, drawn)
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
    return style.finished(layout.chart(), question, note, WIDTH, finding)


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


class _Arrangement:
    """Where boxes and glyphs come to lie, in pixels."""

    def __init__(self, cells: Sequence[Sequence[str]], drawn: Mapping[str, Glyph]) -> None:
        self.cells, self.drawn = cells, drawn
        contexts = [c for cell in cells for c in cell]
        self.written = style.labels(contexts, longest=17 if drawn else 24)
        widest = max(style.text_width(text, 10) for text in self.written.values())
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
        x_scale = vl.Scale(domain=[0, wide], nice=False)
        y_scale = vl.Scale(domain=[high, 0], nice=False)

        def x(field: str) -> vl.Channel:
            return vl.X(field, axis=None, scale=x_scale)

        def y(field: str) -> vl.Channel:
            return vl.Y(field, axis=None, scale=y_scale)

        colour: dict[str, Any] = {"fill": vl.Fill("fill:N", scale=None)}
        boxes = vl.Chart(style.data(pl.DataFrame(self._box_rows())))
        tiles = vl.Chart(style.data(pl.DataFrame(self._tile_rows(), infer_schema_length=None)))
        box = boxes.mark_rect(cornerRadius=6, strokeWidth=2)
        edge = vl.Stroke("stroke:N", scale=None)
        # Boxes are light in dark pages too, so what stands in them is dark in both.
        text: dict[str, Any] = {"color": style.INK, "align": "center", "baseline": "middle"}
        layers = [
            box.encode(
                x("left:Q"),
                y("top:Q"),
                x2=vl.X2("right:Q"),
                y2=vl.Y2("bottom:Q"),
                **colour,
                stroke=edge,
            ),
            boxes.mark_text(**{**text, "align": "left"}, fontSize=10, fontWeight="bold").encode(
                x("text_x:Q"), y("text_y:Q"), text=vl.Text("label:N")
            ),
        ]
        if self.drawn:
            shape: dict[str, Any] = {
                "shape": vl.Shape("shape:N", scale=None),
                "size": vl.Size("size:Q", scale=None),
            }
            lines: dict[str, Any] = {**shape, "shape": vl.Shape("lines:N", scale=None)}
            at = (x("x:Q"), y("y:Q"))
            tip = [vl.Tooltip("context:N"), vl.Tooltip("cell:N"), vl.Tooltip("about:N")]
            mark = tiles.mark_point(filled=True, opacity=1, stroke="#444444", strokeWidth=1)
            over = tiles.transform_filter("datum.lines != ''").mark_point(
                filled=False, opacity=1, stroke="#222222", strokeWidth=1.4
            )
            layers += [mark.encode(*at, **shape, **colour, tooltip=tip), over.encode(*at, **lines)]
        name = tiles.mark_text(**text, fontSize=10)
        layers.append(name.encode(x("x:Q"), y("name_y:Q"), text=vl.Text("name:N")))
        if any(glyph.rest for glyph in self.drawn.values()):
            more = tiles.mark_text(**text, fontSize=9, lineBreak="\n", lineHeight=11)
            layers.append(more.encode(x("x:Q"), y("rest_y:Q"), text=vl.Text("rest:N")))
        return vl.layer(*layers).properties(width=wide, height=high)

    def _box_rows(self) -> list[dict[str, Any]]:
        shades = [*style.colours([str(k) for k in range(len(self.cells))]).values()]
        rows = []
        for k, box in enumerate(self.boxes):
            right = box.left + box.columns * self.tile + 2 * PAD
            rows.append(
                {"left": box.left, "right": right, "top": box.top,
                 "bottom": box.top + HEAD + box.rows * self.height + PAD,
                 "fill": style.mixed(shades[k], WHITE, 0.82), "stroke": shades[k],
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
