"""The chart of a criterion's errors against its setting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from howlearn.report import lines
from howlearn.report.lines import Axis
from howlearn.report.scale import flag_rows, log_ticks, spanning
from howlearn.report.style import (
    BLUE,
    FEW,
    GREY,
    INK,
    Chart,
    finished,
    in_order,
    labels,
    nothing,
    number,
    text_width,
)

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
) -> Chart:
    """Errors of a criterion against its setting: c for "penalized", the split for "holdout"."""
    penalized = criterion == "penalized"
    question = f"Which {'c' if penalized else 'split'} makes the fewest errors?"
    errors, settings = _of(errors, criterion), _of(settings, criterion)
    errors = errors.drop_nulls("true_model")
    if errors["error"].count() == 0:
        return nothing(question)
    zero = _place_of_zero(errors["setting"]) if penalized else 0.0
    errors, settings = _moved(errors, zero), _moved(settings, zero)
    verticals = _verticals(marks if penalized else {}, chosen, zero)
    names = in_order(models, errors["true_model"])
    if errors["true_model"].n_unique() > FEW:
        return _many(errors, settings, verticals, penalized, zero, names, question)
    width, height = 440, 300
    x = _setting_axis(errors, settings, [*verticals], width, penalized, zero)
    y = lines.share_axis("learners given another model", height)
    curves = lines.banded(errors, names, "setting", "error")
    curves = pl.concat([_mean(settings), curves], how="diagonal_relaxed")
    parts = [*_flags(verticals, x, y), curves, *lines.end_labels(curves, x, y, "")]
    if penalized:
        parts.append(_row_heads(x, y))
    return finished(lines.drawing(parts, x, y), question, NOTE, width + 120)


def _many(
    errors: pl.DataFrame,
    settings: pl.DataFrame,
    verticals: Mapping[float, _Upright],
    penalized: bool,
    zero: float,
    names: Sequence[str],
    question: str,
) -> Chart:
    """A small panel for each model, since so many lines in one could not be told apart."""
    errors, settings = _thinned(errors), _thinned(settings)
    x = _setting_axis(errors, settings, [*verticals], 150, penalized, zero)
    y = lines.share_axis("errors", 90)
    used = set(errors["true_model"].cast(pl.String))
    panels = [label for name, label in labels(names).items() if name in used]
    curves = lines.banded(errors, names, "setting", "error")
    curves = curves.with_columns(panel=pl.col("text"), colour=pl.lit(BLUE))
    rules = [_rule(*mark, y, 0, panel) for panel in panels for mark in verticals.items()]
    mean = _mean(settings)
    means = [mean.with_columns(panel=pl.lit(panel)) for panel in panels]
    chart = lines.drawing([lines.rows("rule", rules), *means, curves], x, y, panels, columns=5)
    note = f"{NOTE} Dashed: the mean over all models. {_from_left(verticals)}"
    return finished(chart, question, note, 800)


def _of(frame: pl.DataFrame, criterion: str) -> pl.DataFrame:
    """The rows of one criterion, with numbers that are numbers or missing."""
    if "criterion" in frame.columns:
        frame = frame.filter(pl.col("criterion").cast(pl.String) == criterion)
    names = ("setting", "error", "standard_error", "mean_error", "kappa")
    numbers = [number(name) for name in names if name in frame.columns]
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
        scale = spanning(values, width, "linear")
        return Axis(scale, title, format="g")
    scale = spanning(values, width, "log")
    ticks = log_ticks(scale, apart=40)
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
    fixed = {"panel": "", "series": MEAN, "text": MEAN, "colour": INK, "dashed": True}
    points = zip(settings["setting"], settings["mean_error"], strict=True)
    return lines.rows("curve", [fixed | {"x": x, "y": y} for x, y in points])


def _rule(
    at: float, upright: _Upright, y: Axis, above: float = 0, panel: str = ""
) -> dict[str, Any]:
    """An upright rule that ends some pixels above the chart."""
    top = y.scale.value(y.scale.size + above)
    place = {"panel": panel, "x": at, "x2": at, "y": y.scale.low, "y2": top}
    return place | {"colour": GREY, "dashed": upright.dotted}


def _flags(verticals: Mapping[float, _Upright], x: Axis, y: Axis) -> list[pl.DataFrame]:
    """Upright rules with their texts above the chart, each to the right of its rule."""
    widths = [text_width(upright.text) for upright in verticals.values()]
    levels = flag_rows([x.scale.pixel(at) for at in verticals], widths)
    rules, texts = [], []
    for (at, upright), level in zip(verticals.items(), levels, strict=True):
        height = 18 + ROW * level
        rules.append(_rule(at, upright, y, height))
        place = {"x": x.scale.value(x.scale.pixel(at) + 4)}
        place["y"] = y.scale.value(y.scale.size + height - 6)
        texts.append({"panel": "", "text": upright.text, "colour": INK} | place)
    return [lines.rows("rule", rules), lines.rows("left", texts)]


def _row_heads(x: Axis, y: Axis) -> pl.DataFrame:
    """What the two rows of numbers under the axis are."""
    heads = ["c", "κ"] if x.texts and len(x.texts[0]) > 1 else []
    left = x.scale.value(-24)
    places = [y.scale.value(-12 - 13 * row) for row in range(len(heads))]
    marks = [
        {"panel": "", "x": left, "y": at, "text": f"{head} =", "colour": GREY}
        for head, at in zip(heads, places, strict=True)
    ]
    return lines.rows("right", marks)
