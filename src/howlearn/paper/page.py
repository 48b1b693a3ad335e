"""``reproduction.html``: every figure three times side by side, and what differs and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
import polars as pl

from howlearn import __version__
from howlearn.analyses.error_rates import ErrorCurve, standard_error
from howlearn.paper.archive import bars
from howlearn.paper.published import (
    AVERAGE_C,
    BAR,
    CHOSEN_C,
    CHOSEN_N,
    CONSTANTS,
    ERROR,
    HORIZONS,
    HOURS,
    MODELS,
    RELATIVE,
    SELECTED,
    TRIALS,
    WHERE_MAX,
    WHERE_MEAN,
    Key,
    published,
)
from howlearn.paper.reproduce import Reproduction, reasons
from howlearn.paper.versions import Version
from howlearn.report.matrix_charts import confusion
from howlearn.report.rate_charts import boxes
from howlearn.report.share_charts import shares as figures_shares
from howlearn.report.simulation_charts import error_curves
from howlearn.report.style import to_svg
from howlearn.selection.criteria import AIC, HoldOut, Penalized

PAPER_LEARNERS = 100  # per model


@dataclass(frozen=True)
class Panel:
    """One figure in three columns: an SVG each, or a sentence where there is none."""

    number: str
    title: str
    published: str
    archive: str
    corrected: str


def page(result: Reproduction, command: str) -> str:
    """The whole page, which needs no network."""
    from jinja2 import Environment

    template = resources.files("howlearn.paper").joinpath("reproduction.html").read_text("utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    with result.clock("charts"):
        drawn = panels(result)
    return environment.from_string(template).render(
        panels=drawn,
        claims=result.claims,
        reasons=reasons(result),
        result=result,
        seconds=result.clock.seconds,
        total=sum(result.clock.seconds.values()),
        hours=HOURS,
        command=command,
        version=__version__,
        notes=result.archive.notes if result.archive else (),
    )


def panels(result: Reproduction) -> list[Panel]:
    """All figures, in the paper's order."""
    known = published()

    def three(number: str, title: str, drawn: Any, draw: Callable[[Version], Any]) -> Panel:
        archive = "Needs the authors' archive: --archive PATH."
        if result.from_archive is not None:
            archive = to_svg(draw(result.from_archive))
        first = drawn if isinstance(drawn, str) else to_svg(drawn)
        return Panel(number, title, first, archive, to_svg(draw(result.corrected)))

    found = [
        three("2a", "Relative error of the estimates", _medians(known),
              lambda v: boxes(v.boxes())),
        three("2b", "Hold-out: errors by N/n", _holdout_errors(known),
              lambda v: _by_setting(v.holdout)),
        three("2c", "Penalised likelihood: errors by c", _known_constants(known),
              lambda v: _by_setting(v.penalized)),
        three(
            "2c, smoothed", "The same curves after LOESS, as the authors draw them",
            "The paper shows the smoothed curves; their smallest mean is at c = 0.053, their "
            "smallest maximum at c = 0.013.",
            lambda v: _curves(v.smooth, np.array(CONSTANTS), None, "penalized"),
        ),
        three("3a", f"Hold-out, N = {CHOSEN_N}", _matrix(known, "3a", f"N={CHOSEN_N}"),
              lambda v: _confusion(v, HoldOut(CHOSEN_N / TRIALS))),
        three("3b", f"Penalised likelihood, c = {CHOSEN_C}", _matrix(known, "3b", f"c={CHOSEN_C}"),
              lambda v: _confusion(v, Penalized(CHOSEN_C))),
        three("appendix", f"Penalised likelihood, c = {AVERAGE_C}",
              _diagonal(known, f"c={AVERAGE_C}"),
              lambda v: _confusion(v, Penalized(AVERAGE_C))),
        three("appendix", "AIC", _diagonal(known, "aic"), lambda v: _confusion(v, AIC())),
        three("appendix", "Penalised likelihood, the c with the smallest mean error, unsmoothed",
              f"The paper takes the smoothed curves' c = {AVERAGE_C}, above; without smoothing its "
              f"own fits give c = {known[Key('2c', WHERE_MEAN)]:g}.", _at_smallest_mean),
    ]  # fmt: skip
    return found + _people(result, known)


def _people(result: Reproduction, known: dict[Key, float]) -> list[Panel]:
    """Figures 3c and 3d: real participants."""
    missing = (
        "Needs the authors' stored fits of the 176 participants (RData files): --archive PATH and "
        "pip install 'howlearn[r]'."
        if result.archive is None
        else "The archive holds no fits of the 176 participants that could be read (see below)."
    )
    drawn, counted = {}, {}
    if result.archive is not None and result.archive.participants is not None:
        drawn, counted = bars(result.archive.participants)
    found = []
    for number, title in (("3c", "Participants, hold-out"), ("3d", "Participants, penalised")):
        columns = []
        for numbers in (known, drawn, counted):
            rows = [(k.selected_model, v) for k, v in numbers.items() if k[:2] == (number, BAR)]
            frame = pl.DataFrame(rows, schema=["selected_model", "share"], orient="row")
            columns.append(to_svg(figures_shares(frame, MODELS)) if rows else missing)
        found.append(Panel(number, title, *columns))
    return found


def _medians(known: dict[Key, float]) -> Any:
    """Of Figure 2a only the medians are known."""
    rows = [
        (key.true_model, int(key.setting.removeprefix("N=")), None, None, value, None, None)
        for key, value in known.items()
        if key.quantity == RELATIVE
    ]
    columns = "model trials_fitted lower lower_quartile median upper_quartile upper".split()
    schema = dict.fromkeys(columns, pl.Float64) | {"model": pl.String, "trials_fitted": pl.Int64}
    return boxes(pl.DataFrame(rows, schema=schema, orient="row"))


def _holdout_errors(known: dict[Key, float]) -> Any:
    return _published_curve(
        [n / TRIALS for n in HORIZONS],
        lambda n, model: known[Key("2b", ERROR, f"N={round(n * TRIALS)}", model)],
        "holdout",
        [known[Key("2b", where)] / TRIALS for where in (WHERE_MAX, WHERE_MEAN)],
    )


def _known_constants(known: dict[Key, float]) -> Any:
    """Of Figure 2c three constants are known: those of the bar charts."""
    aic = 1 / np.log(TRIALS) ** 2
    settings = {CHOSEN_C: ("3b", f"c={CHOSEN_C}"), aic: ("appendix", "aic"),
                AVERAGE_C: ("appendix", f"c={AVERAGE_C}")}  # fmt: skip

    def error(c: float, model: str) -> float:
        if c not in settings:
            return np.nan
        figure, setting = settings[c]
        return 1 - known[Key(figure, SELECTED, setting, model, model)]

    best = [known[Key("2c", where)] for where in (WHERE_MAX, WHERE_MEAN)]
    # Between them nothing is known: gaps, so that no line is drawn.
    between = [CONSTANTS[0], np.sqrt(CHOSEN_C * aic), np.sqrt(aic * AVERAGE_C), CONSTANTS[-1]]
    return _published_curve(sorted([*settings, *between]), error, "penalized", best)


def _published_curve(
    settings: list[float],
    error: Callable[[float, str], float],
    criterion: str,
    best: list[float],
) -> Any:
    """Curves through the known settings; the best ones may lie between them."""
    matrix = np.array([[error(setting, model) for setting in settings] for model in MODELS])
    return _curves(matrix, np.array(settings), PAPER_LEARNERS, criterion, best)


def _by_setting(found: ErrorCurve) -> Any:
    return _curves(found.error, found.settings, found.counts, found.name)


def _curves(
    error: np.ndarray,
    settings: np.ndarray,
    counts: Any,
    criterion: str,
    best: list[float] | None = None,
) -> Any:
    """Error curves from a matrix [model, setting]; without counts there are no bands."""
    n = len(settings)
    spread = np.zeros_like(error)
    if counts is not None:
        per_model = np.broadcast_to(np.reshape(counts, (-1, 1)), error.shape)
        spread = standard_error(error * per_model, per_model)
    kappa = settings * np.log(TRIALS) ** 2 if criterion == "penalized" else np.full(n, np.nan)
    errors = pl.DataFrame(
        {
            "criterion": [criterion] * error.size,
            "setting": np.tile(settings, len(MODELS)),
            "true_model": [model for model in MODELS for _ in range(n)],
            "error": error.reshape(-1),
            "standard_error": spread.reshape(-1),
            "kappa": np.tile(kappa, len(MODELS)),
        }
    ).with_columns(pl.col("error", "standard_error").fill_nan(None))
    over_models = pl.DataFrame(
        {
            "criterion": [criterion] * n,
            "setting": settings,
            "kappa": kappa,
            "mean_error": error.mean(axis=0),
            "mean_standard_error": np.sqrt((spread**2).sum(axis=0)) / len(MODELS),
            "max_error": error.max(axis=0),
        }
    ).with_columns(pl.col("^m.*_error$").fill_nan(None))
    if best is None:
        over_all = (error.max(axis=0), error.mean(axis=0))
        best = [float(settings[int(np.argmin(of))]) for of in over_all]
    largest, mean = best
    chosen = {"smallest largest error": largest, "smallest mean error": mean}
    marks = {"AIC": 1 / np.log(TRIALS) ** 2} if criterion == "penalized" else {}
    return error_curves(errors, over_models, marks, chosen, criterion, MODELS)


def _matrix(known: dict[Key, float], figure: str, setting: str) -> Any:
    rows = [
        (key.true_model, key.selected_model, value)
        for key, value in known.items()
        if key[:3] == (figure, SELECTED, setting)
    ]
    columns = ["true_model", "selected_model", "share"]
    return confusion(pl.DataFrame(rows, schema=columns, orient="row"), MODELS)


def _diagonal(known: dict[Key, float], setting: str) -> str:
    """Of the appendix's bars only those of the true models are known."""
    shares = (
        f"{model} {known[Key('appendix', SELECTED, setting, model, model)]:z.0%}"
        for model in MODELS
    )
    listed = ", ".join(shares)
    return f"Shares of learners whose own model is selected: {listed}."


def _at_smallest_mean(version: Version) -> Any:
    smallest = int(np.argmin(version.penalized.error.mean(axis=0)))
    return _confusion(version, Penalized(CONSTANTS[smallest]))


def _confusion(version: Version, criterion: Any) -> Any:
    frame = version.matrix(criterion).select("true_model", "selected_model", "share")
    return confusion(frame, MODELS)
