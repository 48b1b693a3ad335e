"""The chart of learning curves."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from howlearn.report.behaviour import EVERY, Behaviour
from howlearn.report.style import BLUE, Chart, data, finished, in_panels, labels, nothing

QUESTION = "Do the selected models behave like the people?"
PEOPLE, MODEL = "people", "doubles who follow the selected models"
WIDE, NARROW = 520, 200


def learning_curves(behaviour: Behaviour) -> Chart:
    """People and doubles, overall and, below, by context."""
    frame = behaviour.frame
    if frame.is_empty():
        return nothing(QUESTION)
    contexts = [c for c in frame["context"].unique(maintain_order=True) if c != EVERY]
    written = {EVERY: EVERY} | labels(contexts, longest=28)
    # A context may have the name that stands for all of them: then it comes second.
    frame = frame.with_columns(panel=pl.col("context").replace_strict(written))
    words = {"people": PEOPLE, "model": MODEL}
    frame = frame.with_columns(who=pl.col("source").replace_strict(words))
    low, high = _domain(frame, behaviour.percent)
    drawing = _Drawing(behaviour, low, high)
    chart = drawing.of(frame.filter(pl.col("context") == EVERY), WIDE, 220)
    if contexts:
        panels = [written[c] for c in contexts]
        apart = frame.filter(pl.col("context") != EVERY)
        small = drawing.of(apart, NARROW, 110, legend=False)
        chart = alt.vconcat(chart, in_panels(small, panels, 3), spacing=26)
    note = (
        f"Mean {behaviour.measure} with 95% intervals of the mean over learners; band: where 95% "
        "of the means of replicated studies lie, every learner's double following its selected "
        "model at its estimates."
    )
    return finished(chart, QUESTION, note, WIDE + 60, behaviour.statement)


def _domain(frame: pl.DataFrame, percent: bool) -> tuple[float, float]:
    every = frame.select(pl.concat_list("mean", "lower", "upper").explode().drop_nulls())
    low, high = float(every.min().item()), float(every.max().item())
    if percent:
        return (0.0 if low < 0.35 else min(0.35, low)), 1.0
    room = 0.05 * (high - low) or 0.5
    return low - room, high + room


class _Drawing:
    """Bands and lines of doubles, points and intervals of people."""

    def __init__(self, behaviour: Behaviour, low: float, high: float) -> None:
        along, measure = behaviour.along, behaviour.measure
        axis = alt.Axis(grid=False, labelFlush=False, tickCount=6)
        end = float(behaviour.frame["last"].max())  # type: ignore[arg-type]
        scale = alt.Scale(domain=[0, end], nice=False)
        self.along, self.axis, self.places = along, axis, scale
        form = ".0%" if behaviour.percent else alt.Undefined
        up = alt.Axis(format=form, domain=False, ticks=False, tickCount=4)
        self.measure, self.up = measure, up
        self.scale = alt.Scale(domain=[low, high], nice=False)

    def of(self, frame: pl.DataFrame, width: int, height: int, legend: bool = True) -> Any:
        title = self.measure if legend else None
        along = self.along if legend else None
        x = alt.X("trial:Q", title=along, axis=self.axis, scale=self.places)
        y = {
            field: alt.Y(f"{field}:Q", title=title, axis=self.up, scale=self.scale)
            for field in ("mean", "lower")
        }
        tips = [
            alt.Tooltip("who:N", title=" "),
            alt.Tooltip("first:Q", title="from"),
            alt.Tooltip("last:Q", title="to"),
            alt.Tooltip("mean:Q", format=".3f"),
            alt.Tooltip("n:Q", title="learners"),
        ]
        base = alt.Chart().encode(x)
        model = base.transform_filter("datum.source == 'model'")
        people = base.transform_filter("datum.source == 'people'")
        dense = frame["trial"].n_unique() > 12 and not legend
        layers = [
            model.mark_area(fill=BLUE, fillOpacity=0.22).encode(y["lower"], y2=alt.Y2("upper:Q")),
            model.mark_line(stroke=BLUE, strokeWidth=2).encode(y["mean"]),
            people.mark_rule(style="ink", strokeWidth=1).encode(y["lower"], y2=alt.Y2("upper:Q")),
            people.mark_point(style="ink", filled=True, size=10 if dense else 26, opacity=1).encode(
                y["mean"], tooltip=tips
            ),
        ]
        if legend:
            layers += self._key(width)
        return alt.layer(*layers, data=data(frame)).properties(width=width, height=height)

    def _key(self, width: int) -> list[alt.Chart]:
        """What is what, at the lower right, where learners seldom end."""
        rows = [alt.Chart(data(pl.DataFrame({"text": [text]}))) for text in (PEOPLE, MODEL)]
        layers = []
        for row, (one, height) in enumerate(zip(rows, (192, 208), strict=True)):
            at: dict[str, Any] = {"x": alt.value(width - 214), "y": alt.value(height)}
            text = one.mark_text(align="left", baseline="middle", dx=12)
            layers.append(text.encode(**at, text=alt.Text("text:N")))
            if row == 0:
                layers.append(one.mark_point(style="ink", filled=True, size=26).encode(**at))
            else:
                mark = one.mark_rule(stroke=BLUE, strokeWidth=2)
                ends: dict[str, Any] = {"x": alt.value(width - 222), "x2": alt.value(width - 206)}
                layers.append(mark.encode(**ends, y=alt.value(height)))
        return layers
