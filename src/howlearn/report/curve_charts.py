"""Charts along trials: learning curves, reliability of predictions, weights of strategies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import polars as pl

from howlearn.core.columns import of
from howlearn.report import lines
from howlearn.report import vega_lite as vl
from howlearn.report.behaviour import EVERY, Behaviour
from howlearn.report.plot import CHARTS
from howlearn.report.predicted import Predicted
from howlearn.report.style import (
    BLUE,
    GREY,
    Chart,
    colours,
    data,
    finished,
    in_panels,
    labels,
    nothing,
    spanning,
)
from howlearn.selection.predictions import last_changes

CURVES_QUESTION = CHARTS["learning_curves"].question
PEOPLE, MODEL = "people", "doubles who follow the selected models"
WIDE, NARROW = 520, 200
LOWEST = 0.35  # shares from which on an axis need not begin at 0


def learning_curves(behaviour: Behaviour) -> Chart:
    """People and doubles, overall and, below, by context."""
    frame = behaviour.frame
    if frame.is_empty():
        return nothing(CURVES_QUESTION)
    contexts = [c for c in frame["context"].unique(maintain_order=True) if c != EVERY]
    written = {EVERY: EVERY} | labels(contexts, longest=28)
    # A context may have the name that stands for all of them: then it comes second.
    frame = frame.with_columns(panel=pl.col("context").replace_strict(written))
    words = {"people": PEOPLE, "model": MODEL}
    frame = frame.with_columns(who=pl.col("source").replace_strict(words))
    low, high = _domain(frame, behaviour)
    drawing = _Drawing(behaviour, low, high)
    chart = drawing.of(frame.filter(pl.col("context") == EVERY), WIDE, 220)
    if contexts:
        panels = [written[c] for c in contexts]
        apart = frame.filter(pl.col("context") != EVERY)
        small = drawing.of(apart, NARROW, 110, legend=False)
        chart = vl.vconcat(chart, in_panels(small, panels, 3), spacing=26)
    note = (
        f"Mean {behaviour.measure} with 95% intervals of the mean over learners; band: where 95% "
        "of the means of replicated studies lie, every learner's double following its selected "
        "model at its estimates."
    )
    if behaviour.chance is not None:
        note += " Dotted: chance."
    return finished(chart, CURVES_QUESTION, note, WIDE + 60, behaviour.statement)


def _domain(frame: pl.DataFrame, behaviour: Behaviour) -> tuple[float, float]:
    every = frame.select(pl.concat_list("mean", "lower", "upper").explode().drop_nulls())
    low, high = float(every.min().item()), float(every.max().item())
    if behaviour.percent:
        return (0.0 if min(low, behaviour.chance or 1.0) < LOWEST else LOWEST), 1.0
    room = 0.05 * (high - low) or 0.5
    return low - room, high + room


class _Drawing:
    """Bands and lines of doubles, points and intervals of people."""

    def __init__(self, behaviour: Behaviour, low: float, high: float) -> None:
        along, measure = behaviour.along, behaviour.measure
        axis = vl.Axis(grid=False, labelFlush=False, tickCount=6)
        end = float(behaviour.frame["last"].max())  # type: ignore[arg-type]
        scale = vl.Scale(domain=[0, end], nice=False)
        self.along, self.axis, self.places = along, axis, scale
        form = ".0%" if behaviour.percent else vl.Undefined
        up = vl.Axis(format=form, grid=True, domain=False, ticks=False, tickCount=4)
        self.measure, self.up, self.chance = measure, up, behaviour.chance
        self.scale = vl.Scale(domain=[low, high], nice=False)

    def of(self, frame: pl.DataFrame, width: int, height: int, legend: bool = True) -> Any:
        title = self.measure if legend else None
        along = self.along if legend else None
        x = vl.X("trial:Q", title=along, axis=self.axis, scale=self.places)
        y = {
            field: vl.Y(f"{field}:Q", title=title, axis=self.up, scale=self.scale)
            for field in ("mean", "lower")
        }
        tips = [
            vl.Tooltip("who:N", title=" "),
            vl.Tooltip("first:Q", title="from"),
            vl.Tooltip("last:Q", title="to"),
            vl.Tooltip("mean:Q", format=".3f"),
            vl.Tooltip("n:Q", title="learners"),
        ]
        base = vl.Chart().encode(x)
        model = base.transform_filter("datum.source == 'model'")
        people = base.transform_filter("datum.source == 'people'")
        dense = frame["trial"].n_unique() > 12 and not legend
        layers = [
            *self._guessing(title),
            model.mark_area(fill=BLUE, fillOpacity=0.22).encode(y["lower"], y2=vl.Y2("upper:Q")),
            model.mark_line(stroke=BLUE, strokeWidth=2).encode(y["mean"]),
            people.mark_rule(style="ink", strokeWidth=1).encode(y["lower"], y2=vl.Y2("upper:Q")),
            people.mark_point(style="ink", filled=True, size=10 if dense else 26, opacity=1).encode(
                y["mean"], tooltip=tips
            ),
        ]
        if legend:
            layers += _key((PEOPLE, MODEL), (width - 214, 192), 26)
        return vl.layer(*layers, data=data(frame)).properties(width=width, height=height)

    def _guessing(self, title: str | None) -> list[vl.Chart]:
        """What choosing by chance would give."""
        if self.chance is None:
            return []
        rule = vl.Chart().mark_rule(style="grey", strokeDash=[2, 3], strokeWidth=1)
        y = vl.YDatum(self.chance, title=title, axis=self.up, scale=self.scale)
        return [rule.encode(y=y)]


# The chart of predicted probabilities against choices.


RELIABILITY_QUESTION = CHARTS["predicted"].question
SIZE = 220


def reliability(predicted: Predicted) -> Chart:
    """Observed against predicted shares; beside it both along the trials, where that is known."""
    if predicted.reliability.is_empty():
        return nothing(RELIABILITY_QUESTION)
    chart = _calibration(predicted.reliability)
    note = (
        "An action that a model gives 30% should be chosen in 30% of those trials. Points: "
        "choices with 95% binomial intervals, their size the number of predictions."
    )
    if len(predicted.curve):
        note = f"Left: {note[0].lower()}{note[1:]}"
        chart = vl.hconcat(chart, _along(predicted.curve, predicted.along), spacing=40)
        note += " Right: choices of the right answer, and the mean probability that models gave it."
    return finished(chart, RELIABILITY_QUESTION, note, 560, predicted.statement)


def _calibration(frame: pl.DataFrame) -> Any:
    axis: dict[str, Any] = {"format": ".0%", "tickCount": 5}
    scale = vl.Scale(domain=[0, 1], nice=False)
    x = vl.X(
        "predicted:Q",
        title="predicted probability",
        scale=scale,
        axis=vl.Axis(**axis, grid=False, labelFlush=False),
    )
    up = vl.Axis(**axis, domain=False, ticks=False)
    y = vl.Y("observed:Q", title="share chosen", scale=scale, axis=up)
    diagonal = vl.Chart(data(pl.DataFrame({"at": [0.0, 1.0]})))
    base = vl.Chart(data(frame)).encode(x)
    tips = [
        vl.Tooltip("predicted:Q", format=".3f"),
        vl.Tooltip("observed:Q", format=".3f"),
        vl.Tooltip("n:Q", title="predictions"),
    ]
    size = vl.Size("n:Q", scale=vl.Scale(range=[14, 120], zero=True), legend=None)
    points = base.mark_point(filled=True, color=BLUE, opacity=1)
    return vl.layer(
        diagonal.mark_line(style="grey", strokeDash=[3, 3], strokeWidth=1).encode(
            vl.X("at:Q", scale=scale), vl.Y("at:Q", scale=scale)
        ),
        base.mark_rule(color=BLUE).encode(
            vl.Y("lower:Q", scale=scale, axis=up), y2=vl.Y2("upper:Q")
        ),
        points.encode(y, size, tooltip=tips),
    ).properties(width=SIZE, height=SIZE)


def _along(frame: pl.DataFrame, along: str) -> Any:
    end = float(frame["last"].max())  # type: ignore[arg-type]
    axis = vl.Axis(grid=False, labelFlush=False, tickCount=5)
    x = vl.X("trial:Q", title=along, axis=axis, scale=vl.Scale(domain=[0, end], nice=False))
    up = vl.Axis(format=".0%", domain=False, ticks=False, tickCount=5)
    scale = vl.Scale(domain=[0, 1], nice=False)
    base = vl.Chart(data(frame)).encode(x)
    people = base.transform_filter("datum.source == 'people'")
    model = base.transform_filter("datum.source == 'model'")
    key = _key(("choices", "predicted"), (SIZE - 45, SIZE - 30), 22)
    return vl.layer(
        model.mark_line(stroke=BLUE, strokeWidth=2).encode(
            vl.Y("mean:Q", title="right answer", axis=up, scale=scale)
        ),
        people.mark_rule(style="ink").encode(
            vl.Y("lower:Q", axis=up, scale=scale), y2=vl.Y2("upper:Q")
        ),
        people.mark_point(style="ink", filled=True, size=22, opacity=1).encode(
            vl.Y("mean:Q", axis=up, scale=scale)
        ),
        *key,
    ).properties(width=SIZE + 40, height=SIZE)


def _key(words: tuple[str, str], at: tuple[int, int], size: int) -> list[vl.Chart]:
    """What the points and the line are, at the lower right, where learners seldom end."""
    layers = []
    for k, text in enumerate(words):
        one = vl.Chart(data(pl.DataFrame({"text": [text]})))
        x, y = vl.value(at[0]), vl.value(at[1] + 16 * k)
        told = one.mark_text(align="left", baseline="middle", dx=12)
        layers.append(told.encode(x=x, y=y, text=vl.Text("text:N")))
        if k == 0:
            point = one.mark_point(style="ink", filled=True, size=size, opacity=1)
            layers.append(point.encode(x=x, y=y))
        else:
            ends = {"x": vl.value(at[0] - 8), "x2": vl.value(at[0] + 8)}
            layers.append(one.mark_rule(stroke=BLUE, strokeWidth=2).encode(**ends, y=y))
    return layers


# Charts of a mixture's weights: over all learners, and learner by learner.


AVERAGED = ("model", "strategy", "trial", "learners", "weight", "lower_quartile", "upper_quartile",
            "leads")  # fmt: skip
MANY = 24  # learners who have a panel
POINTS = 200  # of a line


def average_weights(
    frame: pl.DataFrame,
    changes: pl.DataFrame,
    models: Sequence[str],
    strategies: Sequence[str],
    abrupt: Collection[str] = (),
) -> Chart:
    """The mean weight of every strategy against the trial, with the learners' quartiles.

    ``changes`` is the table of ``leaders``: where the lead changes, for most learners, is marked.
    ``abrupt`` names the models whose weights are 0 or 1.
    """
    question = CHARTS["weights"].question
    if frame.is_empty():
        return nothing(question)
    written = labels(models, longest=60)
    conditions = [c for c in frame.columns if c not in AVERAGED]
    panel = frame["model"].replace_strict(written)
    for condition in conditions:
        panel = panel + " · " + frame[condition].cast(pl.String)
    # Of weights that are 0 or 1 the quartiles are so too, and show nothing.
    graded = ~frame["model"].is_in([*abrupt])
    curves = _curves(frame, strategies).with_columns(
        panel=panel,
        low=pl.when(graded).then(frame["lower_quartile"]).otherwise(frame["weight"]),
        high=pl.when(graded).then(frame["upper_quartile"]).otherwise(frame["weight"]),
    )
    note = (
        "Weight of each strategy, mean over learners; the band holds the middle half of them. "
        "Dotted: the last change of the leading strategy, median of those who have one."
    )
    rules = []
    if not conditions:
        for name, text in written.items():
            last = last_changes(changes.filter(pl.col("model") == name))
            rules += [(text, last.median())] if len(last) else []
    panels = panel.unique(maintain_order=True).to_list()
    return _drawn(curves, rules, panels, question, note, (300, 200), columns=2)


def learners_weights(
    frame: pl.DataFrame, changes: pl.DataFrame, model: str, strategies: Sequence[str]
) -> Chart:
    """The weights of one mixture, a panel per learner, with the changes of the lead."""
    frame = frame.with_columns(learner=_sequence(frame))
    names = frame["learner"].unique(maintain_order=True).to_list()
    question = f"Which strategy does each learner follow, by {model}?"
    shown = names[:MANY]
    frame = frame.filter(pl.col("learner").is_in(shown))
    curves = _curves(frame, strategies).with_columns(panel=frame["learner"])
    note = "Weight of each strategy, trial by trial. Dotted: the leading strategy changes."
    changes = changes.with_columns(learner=_sequence(changes))
    changes = changes.filter(pl.col("before").is_not_null(), pl.col("learner").is_in(shown))
    rules = [*changes.select("learner", "trial").iter_rows()]
    if len(names) > MANY:
        note += f" The first {MANY} of {len(names):,} learners."
    return _drawn(curves, rules, shown, question, note, (130, 70), columns=4)


def _sequence(frame: pl.DataFrame) -> pl.Series:
    """A name for every sequence of trials: the learner's, with its conditions where they differ."""
    own = [c for c in frame.columns if c not in {"before", *of("weights").names}]
    learner = frame["learner"].cast(pl.String)
    if frame.select(own).n_unique() == learner.n_unique():
        return learner
    return frame.select(pl.concat_str([pl.col(c).cast(pl.String) for c in own], separator=" "))[
        own[0]
    ]


def _curves(frame: pl.DataFrame, strategies: Sequence[str]) -> pl.DataFrame:
    colour, name = colours(strategies), frame["strategy"]
    return pl.DataFrame(
        {
            "kind": ["curve"] * len(frame),
            "series": name,
            "text": name,
            "colour": name.replace_strict(colour, return_dtype=pl.String),
            "dashed": [False] * len(frame),
            "x": frame["trial"].cast(pl.Float64),
            "y": frame["weight"],
        }
    )


def _drawn(
    curves: pl.DataFrame,
    rules: Sequence[tuple[str, float]],
    panels: Sequence[str],
    question: str,
    note: str,
    size: tuple[int, int],
    columns: int,
) -> Chart:
    step = max(1, int(curves["x"].max() or 1) // POINTS)  # pyright: ignore
    curves = curves.filter((pl.col("x") - 1) % step == 0)
    width, height = size
    x = lines.Axis(spanning(curves["x"].to_list(), width, "linear"), "trial")
    y = lines.share_axis("weight", height)
    labelled = panels if columns == 2 else panels[min(columns, len(panels)) - 1 :][:1]
    parts = [curves, *(p for name in labelled for p in lines.end_labels(curves, x, y, name))]
    marks = [
        {"panel": name, "x": at, "x2": at, "y": 0.0, "y2": 1.0, "colour": GREY, "dashed": True}
        for name, at in rules
    ]
    parts += [lines.rows("rule", marks)] if marks else []
    return finished(lines.drawing(parts, x, y, panels, columns), question, note, 600)
