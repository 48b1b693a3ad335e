"""Charts of simulations: errors against settings, plans, bounds of the theorems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from howlearn.report import lines, style
from howlearn.report.lines import Axis
from howlearn.report.plot import CHARTS

NOTE = "Lines: share of the learners of each true model who are given another one, ±1 SE."
MEAN = "mean over models"
ROW = 14  # pixels between two rows of labels above a chart


class _Upright(NamedTuple):
    """What is marked at a setting; what was not chosen here, like AIC, is dotted."""

    text: str
    dotted: bool


def error_curves(
    errors: pl.DataFrame,
    settings: pl.DataFrame,
    marks: Mapping[str, float | None],
    chosen: Mapping[str, float | None],
    criterion: str,
    models: Sequence[str],
) -> style.Chart:
    """Errors of a criterion against its setting: c for "penalized", the split for "holdout"."""
    penalized = criterion == "penalized"
    question = f"Which {'c' if penalized else 'split'} makes the fewest errors?"
    errors, settings = _of(errors, criterion), _of(settings, criterion)
    errors = errors.drop_nulls("true_model")
    if errors["error"].count() == 0:
        return style.nothing(question)
    zero = _place_of_zero(errors["setting"]) if penalized else 0.0
    errors, settings = _moved(errors, zero), _moved(settings, zero)
    verticals = _verticals(marks if penalized else {}, chosen, zero)
    names = style.in_order(models, errors["true_model"])
    if errors["true_model"].n_unique() > style.FEW:
        return _many(errors, settings, verticals, penalized, zero, names, question)
    width, height = 440, 300
    x = _setting_axis(errors, settings, [*verticals], width, penalized, zero)
    y = lines.share_axis("learners given another model", height)
    curves = lines.banded(errors, names, "setting", "error")
    curves = pl.concat([_mean(settings), curves], how="diagonal_relaxed")
    parts = [*_flags(verticals, x, y), curves, *lines.end_labels(curves, x, y, "")]
    if penalized:
        parts.append(_row_heads(x, y))
    return style.finished(lines.drawing(parts, x, y), question, NOTE, width + 120)


def _many(
    errors: pl.DataFrame,
    settings: pl.DataFrame,
    verticals: Mapping[float, _Upright],
    penalized: bool,
    zero: float,
    names: Sequence[str],
    question: str,
) -> style.Chart:
    """A small panel for each model, since so many lines in one could not be told apart."""
    errors, settings = _thinned(errors), _thinned(settings)
    x = _setting_axis(errors, settings, [*verticals], 150, penalized, zero)
    y = lines.share_axis("errors", 90)
    used = set(errors["true_model"].cast(pl.String))
    panels = [label for name, label in style.labels(names).items() if name in used]
    curves = lines.banded(errors, names, "setting", "error")
    curves = curves.with_columns(panel=pl.col("text"), colour=pl.lit(style.BLUE))
    rules = [_rule(*mark, y, 0, panel) for panel in panels for mark in verticals.items()]
    mean = _mean(settings)
    means = [mean.with_columns(panel=pl.lit(panel)) for panel in panels]
    chart = lines.drawing([lines.rows("rule", rules), *means, curves], x, y, panels, columns=5)
    note = f"{NOTE} Dashed: the mean over all models. {_from_left(verticals)}"
    return style.finished(chart, question, note, 800)


def _of(frame: pl.DataFrame, criterion: str) -> pl.DataFrame:
    """The rows of one criterion, with numbers that are numbers or missing."""
    if "criterion" in frame.columns:
        frame = frame.filter(pl.col("criterion").cast(pl.String) == criterion)
    names = ("setting", "error", "standard_error", "mean_error", "kappa")
    numbers = [style.number(name) for name in names if name in frame.columns]
    return frame.with_columns(numbers).drop_nulls("setting")


def _place_of_zero(values: pl.Series) -> float:
    """Where c = 0 stands on a log axis: as far left of the next c as that is of the one after."""
    above = values.filter(values > 0).unique().sort().to_list()
    if len(above) == len(values.unique()) or not above:
        return 0.0 if above else 1e-3
    return above[0] * above[0] / above[1] if len(above) > 1 else above[0] / 2


def _moved(frame: pl.DataFrame, zero: float) -> pl.DataFrame:
    value = pl.col("setting")
    return frame.with_columns(setting=pl.when(value <= 0).then(zero).otherwise(value))


def _thinned(frame: pl.DataFrame, most: int = 50) -> pl.DataFrame:
    """Settings enough for a small panel."""
    every = frame["setting"].unique().sort()
    kept = every.gather_every(math.ceil(len(every) / most)) if len(every) else every
    return frame.filter(pl.col("setting").is_in([*kept, *every.tail(1)]))


def _verticals(
    marks: Mapping[str, float | None], chosen: Mapping[str, float | None], zero: float
) -> dict[float, _Upright]:
    """The settings to mark, from left to right, with what each of them is."""
    found: dict[float, list[str]] = {}
    for text, setting in [*marks.items(), *chosen.items()]:
        if setting is not None and math.isfinite(setting) and (setting > 0 or zero > 0):
            found.setdefault(setting, []).append(text)
    return {
        at or zero: _Upright(f"{', '.join(names)}: {at:.3g}", at not in chosen.values())
        for at, names in sorted(found.items())
    }


def _from_left(verticals: Mapping[float, _Upright]) -> str:
    texts = "; ".join(upright.text for upright in verticals.values())
    return f"Grey lines, from the left: {texts}." if texts else ""


def _setting_axis(
    errors: pl.DataFrame,
    settings: pl.DataFrame,
    marked: Sequence[float],
    width: float,
    penalized: bool,
    zero: float,
) -> Axis:
    """The axis of c, with the price in nats under each c, or of the split."""
    values = [*errors["setting"].drop_nulls().to_list(), *marked]
    if not penalized:
        title = "split: share of the trials used for fitting"
        scale = style.spanning(values, width, "linear")
        return Axis(scale, title, format="g")
    scale = style.spanning(values, width, "log")
    ticks = style.log_ticks(scale, apart=40)
    texts = [[f"{tick:g}"] for tick in ticks]
    if zero > 0:
        apart = [i for i, tick in enumerate(ticks) if scale.pixel(tick) - scale.pixel(zero) >= 20]
        ticks, texts = [zero, *(ticks[i] for i in apart)], [["0"], *(texts[i] for i in apart)]
    per_c = _nats_per_c(settings)
    if per_c is None:
        return Axis(scale, "c", ticks, texts)
    nats = [0.0 if tick == zero else tick * per_c for tick in ticks]
    both = [[*text, f"{price:.2g}"] for text, price in zip(texts, nats, strict=True)]
    long, short = "c, and the price of a parameter: κ = c·log²(n) nats", "c, under it κ in nats"
    return Axis(scale, long if width > 300 else short, ticks, both)


def _nats_per_c(settings: pl.DataFrame) -> float | None:
    """log²(n), as the table has it."""
    if "kappa" not in settings.columns:
        return None
    ratio = settings.filter(pl.col("kappa") > 0).select(pl.col("kappa") / pl.col("setting"))
    return None if ratio.is_empty() else ratio.to_series().median()  # type: ignore[return-value]


def _mean(settings: pl.DataFrame) -> pl.DataFrame:
    """The dashed line."""
    if "mean_error" not in settings.columns:
        return lines.rows("curve", [])
    fixed = {"panel": "", "series": MEAN, "text": MEAN, "colour": style.INK, "dashed": True}
    points = zip(settings["setting"], settings["mean_error"], strict=True)
    return lines.rows("curve", [fixed | {"x": x, "y": y} for x, y in points])


def _rule(
    at: float, upright: _Upright, y: Axis, above: float = 0, panel: str = ""
) -> dict[str, Any]:
    """An upright rule that ends some pixels above the chart."""
    top = y.scale.value(y.scale.size + above)
    place = {"panel": panel, "x": at, "x2": at, "y": y.scale.low, "y2": top}
    return place | {"colour": style.GREY, "dashed": upright.dotted}


def _flags(verticals: Mapping[float, _Upright], x: Axis, y: Axis) -> list[pl.DataFrame]:
    """Upright rules with their texts above the chart, each to the right of its rule."""
    widths = [style.text_width(upright.text) for upright in verticals.values()]
    levels = style.flag_rows([x.scale.pixel(at) for at in verticals], widths)
    rules, texts = [], []
    for (at, upright), level in zip(verticals.items(), levels, strict=True):
        height = 18 + ROW * level
        rules.append(_rule(at, upright, y, height))
        place = {"x": x.scale.value(x.scale.pixel(at) + 4)}
        place["y"] = y.scale.value(y.scale.size + height - 6)
        texts.append({"panel": "", "text": upright.text, "colour": style.INK} | place)
    return [lines.rows("rule", rules), lines.rows("left", texts)]


def _row_heads(x: Axis, y: Axis) -> pl.DataFrame:
    """What the two rows of numbers under the axis are."""
    heads = ["c", "κ"] if x.texts and len(x.texts[0]) > 1 else []
    left = x.scale.value(-24)
    places = [y.scale.value(-12 - 13 * row) for row in range(len(heads))]
    marks = [
        {"panel": "", "x": left, "y": at, "text": f"{head} =", "colour": style.GREY}
        for head, at in zip(heads, places, strict=True)
    ]
    return lines.rows("right", marks)


# Charts for planning a study: models recovered by trials, intervals by learners.


def plan(frame: pl.DataFrame, target: float | None, models: Sequence[str]) -> style.Chart:
    """The share of learners whose model is recovered, against their number of trials."""
    question = CHARTS["plan"].question
    frame = frame.with_columns(style.number("recovered")).drop_nulls(["trials", "true_model"])
    if frame["recovered"].count() == 0:
        return style.nothing(question)
    names = style.in_order(models, frame["true_model"])
    used = [name for name in names if name in set(frame["true_model"].cast(pl.String))]
    criteria = style.in_order([], frame["criterion"])
    by_model = len(used) > style.FEW
    if by_model:  # too many lines for one panel: a panel per model, a line per criterion
        curves = lines.banded(frame, criteria, "trials", "recovered", series="criterion")
        written = style.labels(names)
        panels, panel = [written[name] for name in used], frame["true_model"].cast(pl.String)
    else:
        curves = lines.banded(frame, names, "trials", "recovered")
        written = style.labels(criteria)
        panels, panel = [*written.values()], frame["criterion"].cast(pl.String)
    curves = curves.with_columns(panel.replace_strict(written).alias("panel"))
    width, height = (150, 90) if by_model else (260, 240)
    x = lines.counts(frame["trials"].cast(pl.Float64).to_list(), "trials per learner", width)
    y = lines.share_axis("recovered", height)
    parts = [curves]
    if not by_model or len(criteria) > 1:
        parts += [part for name in panels for part in lines.end_labels(curves, x, y, name)]
    note = "Share of the learners of each true model that are recovered, ±1 SE."
    if target is not None:
        parts.insert(0, _target(target, x, panels))
        note += f" Grey line: the target, {target:z.0%}."
    return style.finished(lines.drawing(parts, x, y, panels), question, note, 600)


def share_intervals(frame: pl.DataFrame, more: str = "") -> style.Chart:
    """Half the width of the shares' 95% intervals, against the number of learners.

    ``more`` is added to the note under the title.
    """
    question = CHARTS["share_intervals"].question
    frame = frame.filter(style.number("half_width").is_not_null()).drop_nulls(
        ["learners", "trials"]
    )
    if frame.is_empty():
        return style.nothing(question)
    criteria = style.labels(style.in_order([], frame["criterion"]))
    trials = frame["trials"].unique().sort().to_list()
    light = {n: 0.65 * (1 - i / max(1, len(trials) - 1)) for i, n in enumerate(trials)}
    shade = {n: style.mixed("#08406B", (120, 190, 235), light[n]) for n in trials}
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
    heights = style.Scale("linear", 0, highest, 220)
    ticks = style.even_ticks(heights, apart=25)
    texts = [f"±{100 * tick:g}%" if tick else "0" for tick in ticks]
    y = Axis(heights, "half width of the interval", ticks, texts)
    panels = [*criteria.values()]
    parts = [curves, *(part for p in panels for part in lines.end_labels(curves, x, y, p))]
    note = (
        f"A share of 50% with a half width of 10% would be reported as 40% to 60%. {more}".strip()
    )
    return style.finished(lines.drawing(parts, x, y, panels), question, note, 600)


def _target(target: float, x: Axis, panels: Sequence[str]) -> pl.DataFrame:
    """A rule across every panel."""
    ends = {"x": x.scale.low, "x2": x.scale.high, "y": target, "y2": target, "colour": style.GREY}
    return lines.rows("rule", [{"panel": panel, **ends} for panel in panels])


# The chart of a verification: risks against the number of trials, with what bounds them.


QUESTION = CHARTS["risks"].question
GROWING = {"theta": "theta fixed", "eta": "rate fixed"}
RED = "#B3412E"
# Of each theorem: the column, its words, a colour, and whether it is a bound.
DRAWN = {
    "Theorem 1": (
        ("bound_published", "bound, published constants", style.GREY, True),
        ("bound_repaired", "bound, repaired constants", style.INK, True),
        ("best_kl", "E[K] of the best candidate", style.BLUE, False),
        ("hellinger", "E[H²] of the selected model", RED, False),
    ),
    "Theorem 3": (
        ("penalised_oracle", "penalised oracle", style.INK, True),
        ("kl", "E[K] of the selected model", RED, False),
    ),
}


def bounds(frame: pl.DataFrame) -> style.Chart:
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
        return style.nothing(QUESTION)
    curves = lines.rows("curve", rows)
    panels = sorted(curves["panel"].unique().to_list())
    x = lines.counts(curves["x"].to_list(), "trials", 200)
    scale = style.spanning([*curves["y"].to_list(), 1.0], 210, "log")
    y = lines.Axis(
        scale, "risk", style.log_ticks(scale, 30), [f"{t:g}" for t in style.log_ticks(scale, 30)]
    )
    low, high = x.scale.low, x.scale.high
    marks = [
        {
            "panel": panel,
            "x": low,
            "x2": high,
            "y": 1.0,
            "y2": 1.0,
            "colour": style.GREY,
            "dashed": True,
        }
        for panel in panels
    ]
    parts = [lines.rows("rule", marks), curves]
    parts += [part for panel in panels for part in lines.end_labels(curves, x, y, panel)]
    note = (
        "Means over simulated learners, ±1 SE. Dotted: H² is at most 1, so a bound above 1 says "
        "nothing. Theorem 3 is about the shape: its bound is the penalised oracle times constants "
        "that the paper leaves open."
    )
    return style.finished(lines.drawing(parts, x, y, panels, columns=2), QUESTION, note, 700)
