"""The chart of a verification: risks against the number of trials, with what bounds them."""

from __future__ import annotations

import polars as pl

from howlearn.report import lines
from howlearn.report.scale import log_ticks, spanning
from howlearn.report.style import BLUE, GREY, INK, Chart, finished, nothing

QUESTION = "Do the theorems' bounds hold, and how loose are they?"
GROWING = {"theta": "theta fixed", "eta": "rate fixed"}
RED = "#B3412E"
# Of each theorem: the column, its words, a colour, and whether it is a bound.
DRAWN = {
    "Theorem 1": (
        ("bound_published", "bound, published constants", GREY, True),
        ("bound_repaired", "bound, repaired constants", INK, True),
        ("best_kl", "E[K] of the best candidate", BLUE, False),
        ("hellinger", "E[H²] of the selected model", RED, False),
    ),
    "Theorem 3": (
        ("penalised_oracle", "penalised oracle", INK, True),
        ("kl", "E[K] of the selected model", RED, False),
    ),
}


def bounds(frame: pl.DataFrame) -> Chart:
    """Panels for both theorems, both ways of growing, and learners inside and outside the family.

    ``frame`` has the rows of ``Verification.risks`` that are to be drawn.
    """
    rows = []
    for row in frame.to_dicts():
        for theorem, columns in DRAWN.items():
            panel = f"{theorem} · {GROWING[row['scaling']]} · {row['true_model']}"
            for column, words, colour, dashed in columns:
                value, error = row[column], row.get(f"{column}_error") or 0.0
                if value is None or not value > 0:
                    continue
                rows.append({
                    "panel": panel, "series": column, "text": words, "colour": colour,
                    "dashed": dashed, "x": float(row["trials"]), "y": value,
                    "low": max(value - error, value / 10), "high": value + error,
                })  # fmt: skip
    if not rows:
        return nothing(QUESTION)
    curves = lines.rows("curve", rows)
    panels = sorted(curves["panel"].unique().to_list())
    x = lines.counts(curves["x"].to_list(), "trials", 200)
    scale = spanning([*curves["y"].to_list(), 1.0], 210, "log")
    y = lines.Axis(scale, "risk", log_ticks(scale, 30), [f"{t:g}" for t in log_ticks(scale, 30)])
    low, high = x.scale.low, x.scale.high
    marks = [
        {"panel": panel, "x": low, "x2": high, "y": 1.0, "y2": 1.0, "colour": GREY, "dashed": True}
        for panel in panels
    ]
    parts = [lines.rows("rule", marks), curves]
    parts += [part for panel in panels for part in lines.end_labels(curves, x, y, panel)]
    note = (
        "Means over simulated learners, ±1 SE. Dotted: H² is at most 1, so that a bound above says "
        "nothing. Theorem 3 is about the shape: its bound is the penalised oracle times constants "
        "that the paper leaves open."
    )
    return finished(lines.drawing(parts, x, y, panels, columns=2), QUESTION, note, 700)
