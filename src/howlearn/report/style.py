"""How every chart looks: colours, names, titles, and the data inside it."""

from __future__ import annotations

import json
import math
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import polars as pl

from howlearn.core.text import everywhere, visible
from howlearn.report import vega_lite as vl
from howlearn.report.charts import check
from howlearn.report.vega_lite import Chart
from howlearn.runs.files import write_whole

# Okabe and Ito's colours, which colour-blind people tell apart; black is kept for means, and
# yellow, hard to see on paper, comes last.
PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#7F7F7F",
    "#F0E442",
)
FEW = len(PALETTE)  # models that share one panel, each with its own colour and label
INK, GREY, FAINT = "#222222", "#666666", "#DDDDDD"
BLUE = PALETTE[0]
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"  # the first ships with vl-convert
LONGEST = 40  # characters of a name that a chart shows

CONFIG: dict[str, Any] = {
    "background": "white",
    "font": FONT,
    "padding": 10,
    "view": {"stroke": None},
    "mark": {"aria": False},
    # What is drawn in ink takes its colour from here, so that a dark page can lighten it.
    "text": {"color": INK},
    "style": {"ink": {"color": INK}, "grey": {"color": GREY}, "faint": {"color": FAINT}},
    "axis": {
        "aria": False,
        "domainColor": GREY,
        "tickColor": GREY,
        "gridColor": "#EEEEEE",
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 11,
        "labelPadding": 4,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelLimit": 0,
        "titleLimit": 0,
    },
    "legend": {
        "aria": False,
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 0,
        "titleLimit": 0,
        "symbolLimit": 0,
    },
    "header": {"labelColor": INK, "labelFontSize": 12, "labelFontWeight": "bold", "labelLimit": 0},
    "title": {
        "aria": False,
        "anchor": "start",
        "color": INK,
        "fontSize": 15,
        "fontWeight": "bold",
        "subtitleColor": GREY,
        "subtitleFontSize": 12,
        "subtitlePadding": 5,
        "offset": 12,
        "limit": 0,
    },
}


def colours(models: Sequence[str]) -> dict[str, str]:
    """A colour for every model, by its place among the candidates: hues first, then shades.

    >>> colours(["OneForAll", "ByShape"])
    {'OneForAll': '#0072B2', 'ByShape': '#E69F00'}
    """
    shades = ((255, 0.0), (255, 0.5), (0, 0.4), (255, 0.75))
    found = {}
    for place, model in enumerate(models):
        towards, share = shades[place // len(PALETTE) % len(shades)]
        found[model] = mixed(PALETTE[place % len(PALETTE)], (towards,) * 3, share)
    return found


def mixed(colour: str, other: tuple[int, ...], share: float) -> str:
    """A colour moved by a share of the way towards another.

    >>> mixed("#0072B2", (255, 255, 255), 0.5)
    '#80B8D8'
    """
    pairs = zip(parts(colour), other, strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in pairs)


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour."""
    return INK if _brightness(colour) > 140 else "#FFFFFF"


def readable(colour: str) -> str:
    """A colour dark enough for text on white."""
    while _brightness(colour) > 130:
        colour = mixed(colour, (0, 0, 0), 0.1)
    return colour


def _brightness(colour: str) -> float:
    red, green, blue = parts(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue


def parts(colour: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def in_order(models: Sequence[str], *columns: pl.Series) -> list[str]:
    """The candidates in their order, then any other names that the data hold."""
    seen = dict.fromkeys(models)
    for column in columns:
        seen.update(dict.fromkeys(column.drop_nulls().cast(pl.String).to_list()))
    return [*seen]


def labels(names: Iterable[str], longest: int = LONGEST) -> dict[str, str]:
    """Names as charts write them: on one line, of bearable length, no two alike.

    >>> labels(["By\\nShape", "1+2+7+8+11+12", "1+2+7+9+11+12"], longest=10)
    {'By\\nShape': 'By Shape', '1+2+7+8+11+12': '1+2+…11+12', '1+2+7+9+11+12': '1+2+…11+12 (2)'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        short = _shortened("".join(c if c.isprintable() else " " for c in name), longest)
        label, number = short, 1
        while label in taken:
            number += 1
            label = f"{short} ({number})"
        taken.add(label)
        found[name] = label
    return found


def on_lines(names: Iterable[str]) -> dict[str, str]:
    """Names as the axis of a few bars writes them: whole, on two lines where they are long.

    >>> on_lines(["exp4(ByPattern, ByPatternExc[eta=0.03], source=joint)"]).popitem()[1]
    'exp4(ByPattern, ByPatternExc[eta=0.03],\\nsource=joint)'
    """
    whole = labels(names, longest=2 * LONGEST)
    return {
        name: label if len(label) <= LONGEST else "\n".join(textwrap.wrap(label, LONGEST + 6))
        for name, label in whole.items()
    }


def _shortened(name: str, longest: int) -> str:
    """Without its middle: long names tend to differ at their ends."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[: half - 1]}…{name[-half:]}"


def number(column: str) -> pl.Expr:
    """A column as numbers, whatever an empty or integer one was; what is not finite is missing."""
    value = pl.col(column).cast(pl.Float64)
    return pl.when(value.is_finite()).then(value).alias(column)


def text_width(text: str, size: float = 11) -> float:
    """About how many pixels a text takes, erring on the wide side."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return size * (0.56 * (len(text) - wide) + wide)


def data(frame: pl.DataFrame) -> vl.Given:
    """A frame inside a chart; as text, which is copied at once."""
    floats = frame.select(pl.selectors.float()).columns
    values = frame.with_columns(number(name) for name in floats).write_json()
    return vl.InlineData(values=values, format=vl.JsonDataFormat(type="json"))


def in_panels(chart: Any, panels: Sequence[str], most: int) -> Chart:
    """A panel for each value of the field `panel`, in rows that are full if that can be."""
    even = (n for n in range(most, most // 2, -1) if len(panels) % n == 0)
    columns = min(most, len(panels)) if len(panels) <= most else next(even, most)
    header = vl.Header(labelAnchor="start", labelPadding=6)
    facet = vl.Facet("panel:N", sort=[*panels], title=None, header=header)
    space = vl.RowColnumber(row=24, column=36)
    faceted = chart.facet(facet=facet, columns=columns, align="each", spacing=space)
    if len(panels) % columns == 0:
        return faceted
    # A shared axis would stand under the gaps of the last row, far from the panels above.
    return faceted.resolve_axis(x="independent")


def finished(
    chart: Any, question: str, note: str = "", width: float = 400, finding: str = ""
) -> Any:
    """The chart under its question and a note on how to read it, in the common style.

    ``finding`` is what it shows, in a sentence, for those who do not see it.
    """
    lines = textwrap.wrap(note, max(72, int(width / 5.6)))
    title = vl.TitleParams(question, subtitle=lines or vl.Undefined)
    return chart.properties(title=title, description=finding or question, config=CONFIG)


def nothing(question: str) -> Chart:
    """What stands in the place of a chart without data."""
    text = vl.Chart(data(pl.DataFrame({"text": ["no data"]}))).mark_text(fontSize=12, color=GREY)
    chart = text.encode(text="text:N").properties(width=200, height=60)
    return finished(chart, question)


# Charts as SVG and PNG.


def to_svg(chart: Chart) -> str:
    """The chart as SVG, the same bytes for the same data; fit to stand in an HTML page."""
    check()
    import vl_convert

    # Figures are made of names and numbers only, so checking them against the schema each time
    # would cost as much as drawing them; a test checks one of each kind.
    spec = _shown(chart.to_dict(validate=False))
    return vl_convert.vegalite_to_svg(spec, vl_version=vega_lite_version())


def save(chart: Chart, path_stem: Path | str) -> list[Path]:
    """Write path_stem.svg and path_stem.png, each whole or not at all."""
    check()
    import vl_convert

    stem = Path(path_stem)
    svg = to_svg(chart)
    png = vl_convert.svg_to_png(svg, scale=2)
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("svg", "png")]
    write_whole(paths[0], lambda file: file.write_text(svg, encoding="utf-8"))
    write_whole(paths[1], lambda file: file.write_bytes(png))
    return paths


def titled(chart: Any, question: str) -> Any:
    """The chart, with the question that it answers as its title if it has none."""
    spec = chart.to_dict(validate=False)
    return chart if spec.get("title") else chart.properties(title={"text": question})


def drawable(chart: Any) -> Any:
    """A chart of altair, with control characters in its names written out: no SVG may hold them.

    The converter does not refuse this chart; it ends the whole process.
    """
    spec = chart.to_dict(validate=False)
    shown = _shown(spec)
    return chart if shown == spec and not isinstance(chart, Chart) else vl.as_altair(shown)


def _shown(spec: Any, key: str = "") -> Any:
    """A spec with harmless texts; its data are text themselves (see style.data)."""
    if key in ("datasets", "values") and isinstance(spec, str) and spec.startswith("["):
        rows = json.loads(spec)
        shown = everywhere(rows)
        return spec if shown == rows else json.dumps(shown)
    if isinstance(spec, dict):
        inner = key if key == "datasets" else ""
        return {visible(name): _shown(each, inner or name) for name, each in spec.items()}
    if isinstance(spec, list):
        return [_shown(each) for each in spec]
    return visible(spec) if isinstance(spec, str) else spec


def vega_lite_version() -> str | None:
    """The release of Vega-Lite that altair writes, where the converter knows it."""
    import altair
    import vl_convert

    wanted = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    return wanted if wanted in vl_convert.get_vegalite_versions() else None


# Where things come to lie on a page: what is needed to place labels that do not overlap.


@dataclass(frozen=True)
class Scale:
    """From values to pixels and back.

    >>> scale = Scale("log", 0.01, 1, 200)
    >>> scale.pixel(0.1), round(scale.value(100), 6)
    (100.0, 0.1)
    """

    kind: Literal["linear", "log", "symlog"]
    low: float
    high: float
    size: float  # pixels
    constant: float = 1.0  # of symlog: about linear below it

    def pixel(self, value: float) -> float:
        low, high = self._bent(self.low), self._bent(self.high)
        return self.size * (self._bent(value) - low) / (high - low)

    def value(self, pixel: float) -> float:
        low, high = self._bent(self.low), self._bent(self.high)
        bent = low + (high - low) * pixel / self.size
        if self.kind == "log":
            return math.exp(bent)
        if self.kind == "symlog":
            return math.copysign(math.expm1(abs(bent)) * self.constant, bent)
        return bent

    def _bent(self, value: float) -> float:
        if self.kind == "log":
            return math.log(value)
        if self.kind == "symlog":
            return math.copysign(math.log1p(abs(value) / self.constant), value)
        return value


def spanning(values: Sequence[float], size: float, kind: Literal["linear", "log"]) -> Scale:
    """A scale from the smallest to the largest value; a single value stands in its middle."""
    low, high = min(values), max(values)
    if low == high and kind == "log":
        low, high = low / 2, high * 2
    elif low == high:
        room = abs(low) / 2 or 0.5
        low, high = low - room, high + room
    return Scale(kind, low, high, size)


def dodged(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places moved as little as possible to lie a gap apart, inside bounds if there is room.

    >>> dodged([10.0, 12.0, 50.0], 10, 0, 100)
    [6.0, 16.0, 50.0]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    # Less i gaps, places need only not fall: that is isotonic regression, by pooling neighbours.
    pools: list[tuple[float, int]] = []
    for rank, i in enumerate(order):
        mean, count = places[i] - rank * gap, 1
        while pools and pools[-1][0] >= mean:
            before, many = pools.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        pools.append((mean, count))
    top = max(low, high - (len(order) - 1) * gap)
    flat = [min(max(mean, low), top) for mean, count in pools for _ in range(count)]
    moved = [0.0] * len(places)
    for rank, i in enumerate(order):
        moved[i] = flat[rank] + rank * gap
    return moved


def flag_rows(places: Sequence[float], widths: Sequence[float], gap: float = 8) -> list[int]:
    """Rows for flags on poles, each flying to the right of its pole, places ascending.

    A flag flies above all poles that it passes, so that no text is crossed.

    >>> flag_rows([0, 10, 100], [30, 30, 30])
    [1, 0, 0]
    """
    found = [0] * len(places)
    for i in reversed(range(len(places))):
        end = places[i] + widths[i] + gap
        passed = [found[j] for j in range(i + 1, len(places)) if places[j] < end]
        found[i] = max(passed, default=-1) + 1
    return found


def log_ticks(scale: Scale, apart: float = 45) -> list[float]:
    """Round numbers on a log scale, as many as stand apart.

    >>> log_ticks(Scale("log", 0.004, 0.3, 400))
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
    """
    decades = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    for mantissas in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{m}e{k}") for k in decades for m in mantissas]
        inside = [t for t in ticks if scale.low * 0.9999 <= t <= scale.high * 1.0001]
        places = [scale.pixel(t) for t in inside]
        if all(b - a >= apart for a, b in pairwise(places)):
            return inside
    return inside[:: math.ceil(len(inside) * apart / scale.size)]


def even_ticks(scale: Scale, apart: float = 40) -> list[float]:
    """Round numbers at even distances from 0.

    >>> even_ticks(Scale("linear", 0, 0.53, 200))
    [0.0, 0.2, 0.4]
    """
    least = (scale.high - scale.low) * apart / scale.size
    decade = 10.0 ** math.floor(math.log10(least))
    step = next(m * decade for m in (1, 2, 5, 10) if m * decade >= least)
    numbers = range(math.ceil(scale.low / step), math.floor(scale.high / step) + 1)
    return [float(f"{number * step:.6g}") for number in numbers]


def data_ticks(scale: Scale, values: Sequence[float]) -> list[float]:
    """Those of some values whose labels stand apart, the last one always among them."""
    kept: list[float] = []
    edge = math.inf
    for value in sorted(set(values), reverse=True):
        half = text_width(f"{value:g}") / 2
        if scale.pixel(value) + half < edge:
            kept.append(value)
            edge = scale.pixel(value) - half - 6
    return kept[::-1]
