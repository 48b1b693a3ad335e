"""The charts of a report, from Python: ``howlearn.plot.shares(selection)`` and its kin.

Each takes what ``howlearn.select`` gave, or the folder of results of ``howlearn select``, and gives
an altair chart, which shows itself in notebooks; ``chart.save("shares.svg")`` writes it (.png,
.html and .json too). Needs the extra ``report``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from howlearn.core.errors import HowlearnError

if TYPE_CHECKING:
    from howlearn.analyses.calibrate import Calibration
    from howlearn.analyses.recover import Recovery
    from howlearn.models.task import Task
    from howlearn.report.style import Chart
    from howlearn.results.results import Results

    Source = Results | Path | str

P = ParamSpec("P")
__all__ = [
    "confusion",
    "disagreement",
    "estimates",
    "learner",
    "learning_curves",
    "margins",
    "partition",
    "path",
    "predicted",
    "shares",
    "trajectories",
]


def __dir__() -> list[str]:
    return __all__


def _drawable(draw: Callable[P, Chart]) -> Callable[P, Chart]:
    """Charts whose names can be written to any file, whatever the data hold."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Chart:
        from howlearn.report.style import drawable

        return drawable(draw(*args, **kwargs))

    return drawn


@_drawable
def shares(source: Source) -> Chart:
    """How many learners each model explains best, by each criterion, with 95% intervals."""
    found = _found(source)
    from howlearn.report import share_charts

    return share_charts.shares_by_criterion(found.table("shares"), found.names)


@_drawable
def margins(source: Source) -> Chart:
    """How far the selected model is ahead of the next, by each criterion, with the verdicts."""
    found = _found(source)
    from howlearn.report import share_charts as drawn

    return drawn.margins(drawn.margin_table(found), found.within)


@_drawable
def path(source: Source) -> Chart:
    """Shares of the models along the price of a parameter, exactly, without a new fit."""
    found = _found(source)
    from howlearn.report import path_charts

    return path_charts.path(*path_charts.price_path(found), found.names)


@_drawable
def disagreement(source: Source, first: str | None = None, second: str | None = None) -> Chart:
    """Which models two criteria select for the same learners; by default the first two."""
    found = _found(source)
    from howlearn.report import matrix_charts as drawn

    return drawn.disagreement(drawn.disagreement_table(found, first, second), found.names)


@_drawable
def confusion(source: Calibration | Recovery | Path | str, criterion: str | None = None) -> Chart:
    """Which model is selected when each model is true: of a calibration, or of its folder."""
    _check()
    from howlearn.report import matrix_charts

    return matrix_charts.confusion_of(source, criterion)


@_drawable
def learning_curves(
    source: Source, task: Task | str | None = None, learners: int = 200, seed: int = 0
) -> Chart:
    """Learning curves of the data and of doubles who follow the selected models.

    Without a ``task`` (a results folder knows its own) doubles are paid what their learners were
    paid. Of more than so many ``learners`` some are picked evenly.
    """
    found = _found(source, task)
    from howlearn.report import behaviour, curve_charts

    return curve_charts.learning_curves(behaviour.behaviour(found, learners, seed=seed))


@_drawable
def predicted(source: Source, task: Task | str | None = None, learners: int = 2_000) -> Chart:
    """Predicted probabilities against choices, for the selected models."""
    found = _found(source, task)
    from howlearn.report import curve_charts
    from howlearn.report import predicted as computed

    return curve_charts.reliability(computed.predicted(found, learners))


@_drawable
def estimates(source: Source) -> Chart:
    """The estimates of each model's parameters, among the learners whose model it is."""
    found = _found(source)
    from howlearn.report import rate_charts

    return rate_charts.rates(rate_charts.rate_table(found))


@_drawable
def learner(source: Source, name: str, task: Task | str | None = None, **conditions: Any) -> Chart:
    """One learner: curve, trajectories of the cells, scores, estimates and partition.

    Of a learner with several sequences ``conditions`` name one, as in ``condition=2``.
    """
    found = _found(source, task)
    from howlearn.report import learner_charts, learner_details

    place = learner_details.sequence_named(found, name, conditions)
    return learner_charts.learner(
        learner_details.detail(found, place), learner_details.common(found), found
    )


@_drawable
def trajectories(
    source: Source, name: str, task: Task | str | None = None, **conditions: Any
) -> Chart:
    """One learner's choices in every cell, with the probabilities of its model."""
    found = _found(source, task)
    from howlearn.report import learner_charts, learner_details

    place = learner_details.sequence_named(found, name, conditions)
    return learner_charts.trajectories(
        learner_details.detail(found, place), learner_details.common(found)
    )


@_drawable
def partition(source: Source | Task, model: str) -> Chart:
    """The contexts of a task or study, drawn by their features, in the cells of a model.

    >>> import howlearn as hl
    >>> hl.plot.partition(hl.Task.load("five-four"), "ByShapeExc").description
    'ByShapeExc sorts 9 contexts into 4 cells of 4, 3, 1, 1.'
    """
    _check()
    from howlearn.models.task import Task
    from howlearn.report import partition_drawing

    if isinstance(source, Task):
        return partition_drawing.partition(source.model(model), source.contexts, source.features)
    found = _found(source)
    if model not in found.names:
        raise HowlearnError(f"there is no model {model!r}; there are {', '.join(found.names)}")
    chosen = found.models[found.names.index(model)]
    if partition_drawing.cells_of(chosen) is None:
        raise HowlearnError(f"{model} has no partition: it does not sort contexts into cells")
    return partition_drawing.partition(chosen, found.study.contexts, found.study.features)


def _found(source: Source, task: Task | str | None = None) -> Results:
    _check()
    from howlearn.results.results import Results

    return Results.of(source, task)


def _check() -> None:
    from howlearn.report.style import MISSING, available

    if not available():
        raise HowlearnError(MISSING)
