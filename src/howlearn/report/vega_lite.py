"""Charts as Vega-Lite has them, plain dictionaries, written with the words of altair.

altair checks and copies every part of a chart many times, which takes longer than the analysis that
is shown. What stands here is the part of its language that our charts use; ``as_altair`` makes
altair's own chart of one, for those who ask for charts in Python.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial, partialmethod
from typing import Any

Undefined: Any = object()  # what is not said
Given = dict[str, Any]
KINDS = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}
ENDS = ("x2", "y2")  # of what other channels begin, whose kind they share
SIZES = {"continuousWidth": 300, "continuousHeight": 300}  # of charts that do not say


class Channel(dict[str, Any]):
    """A field, or a value, and the property of a mark that shows it."""

    name: str

    def axis(self, **given: Any) -> Channel:
        made = Channel(self, axis=said(**given))
        made.name = self.name
        return made


class InlineData(dict[str, Any]):
    """Rows that a chart holds, as text."""


def said(**given: Any) -> Given:
    """What is said of something: an axis, a scale, a legend, a header."""
    return {key: value for key, value in given.items() if value is not Undefined}


Axis = Scale = Legend = Header = RowColnumber = JsonDataFormat = said


def TitleParams(text: str, **given: Any) -> Given:
    return said(text=text, **given)


def value(value: Any) -> Given:
    return {"value": value}


def _field(name: str, field: str, /, **given: Any) -> Channel:
    """A field with the letter of its kind, as ``X("share:Q")``."""
    column, kind = field.rsplit(":", 1)
    made = Channel(field=column) if name in ENDS else Channel(field=column, type=KINDS[kind])
    made.update(said(**given))
    made.name = name
    return made


def _plain(name: str, key: str, what: Any, /, **given: Any) -> Channel:
    """The same value for all, in pixels and colours (value) or in units of the data (datum)."""
    made = Channel({key: what, **said(**given)})
    made.name = name
    return made


Field = Callable[..., Channel]
X, Y, X2, Y2 = (partial(_field, name) for name in ("x", "y", "x2", "y2"))
YOffset, Tooltip, Text = (partial(_field, name) for name in ("yOffset", "tooltip", "text"))
Fill, Color, Stroke = (partial(_field, name) for name in ("fill", "color", "stroke"))
Shape, Size, Detail = (partial(_field, name) for name in ("shape", "size", "detail"))
Facet = partial(_field, "facet")
XDatum, YDatum = partial(_plain, "x", "datum"), partial(_plain, "y", "datum")
StrokeDashValue = partial(_plain, "strokeDash", "value")


class Chart:
    """A chart that is never changed: each method gives another one."""

    def __init__(self, data: Given | None = None, **spec: Any) -> None:
        self.spec: Given = spec if data is None else {"data": data, **spec}

    def properties(self, **given: Any) -> Chart:
        """With these at its top; ``Undefined`` takes something away."""
        return Chart(**said(**{**self.spec, **given}))

    @property
    def description(self) -> str:
        return self.spec.get("description", "")

    @property
    def title(self) -> Given:
        return self.spec.get("title", {})

    def _mark(self, kind: str, **given: Any) -> Chart:
        return self.properties(mark={"type": kind, **said(**given)})

    mark_area = partialmethod(_mark, "area")
    mark_bar = partialmethod(_mark, "bar")
    mark_line = partialmethod(_mark, "line")
    mark_point = partialmethod(_mark, "point")
    mark_rect = partialmethod(_mark, "rect")
    mark_rule = partialmethod(_mark, "rule")
    mark_text = partialmethod(_mark, "text")
    mark_tick = partialmethod(_mark, "tick")

    def encode(self, *channels: Channel, **named: Any) -> Chart:
        """Channels by their own names or by others; a text is a field."""
        found = {each.name: each for each in channels} | {
            name: _field(name, given) if isinstance(given, str) else given
            for name, given in named.items()
        }
        return self.properties(encoding={**self.spec.get("encoding", {}), **found})

    def transform_filter(self, test: str) -> Chart:
        return self.properties(transform=[*self.spec.get("transform", []), {"filter": test}])

    def facet(self, facet: Channel, **given: Any) -> Chart:
        """A panel for each value of a field."""
        inner = {key: part for key, part in self.spec.items() if key != "data"}
        return Chart(self.spec["data"], facet=facet, spec=inner, **said(**given))

    def _resolve(self, what: str, **given: str) -> Chart:
        before = self.spec.get("resolve", {})
        return self.properties(resolve={**before, what: {**before.get(what, {}), **given}})

    resolve_scale = partialmethod(_resolve, "scale")
    resolve_axis = partialmethod(_resolve, "axis")

    def to_dict(self, validate: bool = False) -> Given:
        """As Vega-Lite takes it, with every data set once; nothing is checked."""
        sets: dict[str, Any] = {}
        spec = _with_names(self.spec, sets)
        config = spec.get("config", {})
        spec["config"] = {**config, "view": {**SIZES, **config.get("view", {})}}
        return {**spec, "datasets": sets} if sets else spec


def layer(*charts: Chart, **given: Any) -> Chart:
    """Charts over each other, of one size."""
    made = _joined("layer", *charts, **given)
    parts = made.spec["layer"]
    for size in ("width", "height"):
        found = [part[size] for part in parts if size in part]
        if found:
            made = made.properties(**{size: found[0]})
    sizes = ("width", "height")
    made.spec["layer"] = [{k: v for k, v in part.items() if k not in sizes} for part in parts]
    return made


def _joined(key: str, *charts: Chart, data: Given | None = None, **given: Any) -> Chart:
    """Data that all share stand at the top."""
    parts = [chart.spec for chart in charts]
    own = [part.get("data") for part in parts]
    if data is None and all(each is own[0] for each in own):
        data = own[0]
    if data is not None and all(each is None or each is data for each in own):
        parts = [{k: v for k, v in part.items() if k != "data"} for part in parts]
    return Chart(data, **{key: parts}, **said(**given))


vconcat, hconcat, concat = (partial(_joined, key) for key in ("vconcat", "hconcat", "concat"))


def _with_names(spec: Any, sets: dict[str, Any]) -> Any:
    """A copy in which inline data are names of data sets."""
    if isinstance(spec, dict):
        if isinstance(spec, InlineData):
            values = spec["values"]
            name = f"data-{hashlib.sha256(values.encode('utf-8', 'replace')).hexdigest()[:32]}"
            sets[name] = values
            return {"name": name, "format": spec["format"]}
        return {key: _with_names(part, sets) for key, part in spec.items()}
    return [_with_names(part, sets) for part in spec] if isinstance(spec, list) else spec


def as_altair(spec: Given) -> Any:
    """The chart of altair that has this spec."""
    import altair

    kinds = {"layer": altair.LayerChart, "facet": altair.FacetChart, "concat": altair.ConcatChart,
             "vconcat": altair.VConcatChart, "hconcat": altair.HConcatChart}  # fmt: skip
    made = next((kind for key, kind in kinds.items() if key in spec), altair.Chart)
    return made.from_dict(spec, validate=False)
