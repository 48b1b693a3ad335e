"""Charts for planning a study: models recovered by trials, intervals by learners."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from howlearn.report import lines
from howlearn.report.lines import Axis
from howlearn.report.scale import Scale, even_ticks
from howlearn.report.style import (
    FEW,
    GREY,
    Chart,
    finished,
    in_order,
    labels,
    mixed,
    nothing,
    number,
)


def plan(frame: pl.DataFrame, target: float | None, models: Sequence[str]) -> Chart:
    """The share of learners whose model is recovered, against their number of trials."""
    question = "How many trials are needed to recover the true model?"
    frame = frame.with_columns(number("recovered")).drop_nulls(["trials", "true_model"])
    if frame["recovered"].count() == 0:
        return nothing(question)
    names = in_order(models, frame["true_model"])
    used = [name for name in names if name in set(frame["true_model"].cast(pl.String))]
    criteria = in_order([], frame["criterion"])
    by_model = len(used) > FEW
    if by_model:  # too many lines for one panel: a panel per model, a line per criterion
        curves = lines.banded(frame, criteria, "trials", "recovered", series="criterion")
        written = labels(names)
        panels, panel = [written[name] for name in used], frame["true_model"].cast(pl.String)
    else:
        curves = lines.banded(frame, names, "trials", "recovered")
        written = labels(criteria)
        panels, panel = [*written.values()], frame["criterion"].cast(pl.String)
    curves = curves.with_columns(panel.replace_strict(written).alias("panel"))
    width, height = (150, 90) if by_model else (260, 240)
    x = lines.counts(frame["trials"].cast(pl.Float64).to_list(), "trials per learner", width)
    y = lines.share_axis("recovered", height)
    parts = [curves]
    if not by_model or len(criteria) > 1:
        parts += [part for name in panels for part in lines.end_labels(curves, x, y, name)]
    note = "Share of the learners of each true model for whom it is selected, ±1 SE."
    if target is not None:
        parts.insert(0, _target(target, x, y, panels))
        note += f" Grey line: the target, {target:.0%}."
    return finished(lines.drawing(parts, x, y, panels), question, note, 600)


def share_intervals(frame: pl.DataFrame, more: str = "") -> Chart:
    """Half the width of the shares' 95% intervals, against the number of learners.

    ``more`` is added to the note under the title.
    """
    question = "How wide would the 95% intervals of the shares be?"
    frame = frame.filter(number("half_width").is_not_null()).drop_nulls(["learners", "trials"])
    if frame.is_empty():
        return nothing(question)
    criteria = labels(in_order([], frame["criterion"]))
    trials = frame["trials"].unique().sort().to_list()
    light = {n: 0.65 * (1 - i / max(1, len(trials) - 1)) for i, n in enumerate(trials)}
    shade = {n: mixed("#08406B", (120, 190, 235), light[n]) for n in trials}
    numbers = [
        {
            "panel": criteria[str(row["criterion"])],
            "series": str(row["trials"]),
            "text": f"{row['trials']:,} trials",
            "colour": shade[row["trials"]],
            "x": row["learners"],
            "y": row["half_width"],
        }
        for row in frame.sort("trials", "learners").to_dicts()
    ]
    curves = lines.rows("curve", numbers)
    x = lines.counts(curves["x"].to_list(), "learners", 260)
    highest = max(curves["y"].to_list()) * 1.05 or 1.0
    heights = Scale("linear", 0, highest, 220)
    ticks = even_ticks(heights, apart=25)
    texts = [f"±{100 * tick:g}%" if tick else "0" for tick in ticks]
    y = Axis(heights, "half width of the interval", ticks, texts)
    panels = [*criteria.values()]
    parts = [curves, *(part for p in panels for part in lines.end_labels(curves, x, y, p))]
    note = (
        f"A share of 50% with a half width of 10% would be reported as 40% to 60%. {more}".strip()
    )
    return finished(lines.drawing(parts, x, y, panels), question, note, 600)


def _target(target: float, x: Axis, y: Axis, panels: Sequence[str]) -> pl.DataFrame:
    """A rule across every panel."""
    ends = {"x": x.scale.low, "x2": x.scale.high, "y": target, "y2": target, "colour": GREY}
    return lines.rows("rule", [{"panel": panel, **ends} for panel in panels])
