"""Charts as SVG and PNG; without the extra `report` a sentence says what is missing."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howlearn.core.errors import HowlearnError
from howlearn.core.text import everywhere, visible
from howlearn.runs.files import write_whole

if TYPE_CHECKING:
    from howlearn.report.style import Chart

NEEDED = ("altair", "vl_convert")
MISSING = "charts need: pip install 'howlearn[report]'"


def available() -> bool:
    """Whether charts can be drawn here; asks without importing, which takes half a second."""
    return all(importlib.util.find_spec(name) is not None for name in NEEDED)


def to_svg(chart: Chart) -> str:
    """The chart as SVG, the same bytes for the same data; fit to stand in an HTML page."""
    _check()
    import vl_convert

    # Figures are made of names and numbers only, so checking them against the schema each time
    # would cost as much as drawing them; a test checks one of each kind.
    spec = drawable(chart).to_dict(validate=False)
    return vl_convert.vegalite_to_svg(spec, vl_version=vega_lite_version())


def save(chart: Chart, path_stem: Path | str) -> list[Path]:
    """Write path_stem.svg and path_stem.png, each whole or not at all."""
    _check()
    import vl_convert

    stem = Path(path_stem)
    svg = to_svg(chart)
    png = vl_convert.svg_to_png(svg, scale=2)
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("svg", "png")]
    write_whole(paths[0], lambda file: file.write_text(svg, encoding="utf-8"))
    write_whole(paths[1], lambda file: file.write_bytes(png))
    return paths


def drawable(chart: Any) -> Any:
    """The chart, with control characters in its names written out: no SVG may hold them.

    The converter does not refuse such a chart; it ends the whole process.
    """
    spec = chart.to_dict(validate=False)
    shown = _shown(spec)
    return chart if shown == spec else type(chart).from_dict(shown, validate=False)


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


def _check() -> None:
    if not available():
        raise HowlearnError(MISSING)


def vega_lite_version() -> str | None:
    """The release of Vega-Lite that altair writes, where the converter knows it."""
    import altair
    import vl_convert

    wanted = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    return wanted if wanted in vl_convert.get_vegalite_versions() else None
