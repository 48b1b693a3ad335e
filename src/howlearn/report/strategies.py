"""Charts of a mixture's weights: over all learners, and learner by learner."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from howlearn.core.columns import of
from howlearn.report import lines
from howlearn.report.scale import spanning
from howlearn.report.style import GREY, Chart, colours, finished, labels, nothing
from howlearn.selection.predictions import last_changes

AVERAGED = ("model", "strategy", "trial", "learners", "weight", "lower_quartile", "upper_quartile",
            "leads")  # fmt: skip
MANY = 24  # learners with a panel of their own
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
    question = "Which strategies are followed, and when?"
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
