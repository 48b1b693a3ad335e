"""The charts from Python: ``howlearn.plot.shares(results)`` and its kin.

Each takes what ``howlearn.select`` or another analysis gave, or a folder of results, and gives an
altair chart, which shows itself in notebooks; ``chart.save("shares.svg")`` writes it (.png, .html
and .json too). Needs the extra ``report``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.report.charts import ANSWER, BEHAVIOUR, CHARTS, ESTIMATES, SURE, Drawn, chart, check

if TYPE_CHECKING:
    from howlearn.analyses.calibrate import Calibration
    from howlearn.analyses.check import Check
    from howlearn.analyses.compare import Comparison
    from howlearn.analyses.completeness import Completeness
    from howlearn.analyses.discover_tables import Discovery
    from howlearn.analyses.mechanism_result import Mechanisms
    from howlearn.analyses.path_result import Path as Along
    from howlearn.analyses.plan import Plan
    from howlearn.analyses.recover import Recovery
    from howlearn.models.task import Task
    from howlearn.report.style import Chart
    from howlearn.results.analysis import Analysis
    from howlearn.results.results import Results

    Source = Results | Path | str

UNLIKE = 0.5  # of the bins: with fewer inside the range, the answer says so


def __dir__() -> list[str]:
    return [*CHARTS]


def __getattr__(name: str) -> Any:
    """The user's chart, as the others."""
    if name == "__all__":
        return [*CHARTS]
    if name in CHARTS:
        return CHARTS[name].plot
    raise AttributeError(f"howlearn.plot has no chart {name!r}; there are {', '.join(CHARTS)}")


def saved_charts(analysis: Analysis) -> dict[str, Chart]:
    """All charts that a command saves of what it found, by the names of their files."""
    mine = (each for each in CHARTS.values() if analysis.command in each.saved_by)
    return {stem: made for each in mine for stem, made in each.saved(analysis).items()}


def results_of(source: Source, task: Task | str | None = None) -> Results:
    """What a chart is drawn from: results as they are, or those in a folder."""
    check()
    from howlearn.results.results import Results

    return Results.of(source, task)


def _compared(results: Results) -> Results:
    """The results, refused where there is one candidate only."""
    from howlearn.fitting.defaults import ALONE

    if len(results.names) == 1:
        raise HowlearnError(ALONE)
    return results


# Of a selection.


@chart("Which models explain how many learners?", "shares", section=ANSWER, compares=True)
def shares(source: Source) -> Any:
    """How many learners each model explains best, by each criterion, with 95% intervals."""
    found = _compared(results_of(source))
    from howlearn.report import share_charts

    return share_charts.shares_by_criterion(found.table("shares"), found.names)


@chart("Where do the criteria disagree?", "selection", section=ANSWER, compares=True)
def disagreement(source: Source, first: str | None = None, second: str | None = None) -> Drawn:
    """Which models two criteria select for the same learners; by default the first two."""
    found = _compared(results_of(source))
    from howlearn.report import matrix_charts

    frame = matrix_charts.disagreement_table(found, first, second)
    return Drawn(matrix_charts.disagreement(frame, found.names), frame)


@chart("How clearly is each learner's model ahead?", "selection", section=SURE, compares=True)
def margins(source: Source) -> Drawn:
    """How far the selected model is ahead of the next, by each criterion, with the verdicts."""
    found = results_of(source)
    from howlearn.report import share_charts

    frame = share_charts.margin_table(found)
    return Drawn(share_charts.margins(frame, found.within), frame)


@chart(
    "Does the leading model depend on price, bound or prior?",
    *("scores", "path", "path-marks"),
    section=SURE,
    figure="price",
    called="price",
    compares=True,
    saved_by=("path",),
)
def path(source: Source | Along) -> Drawn:
    """Shares of the models along the price of a parameter, exactly, without a new fit.

    Of what ``howlearn.path`` gave also along the largest rate and the prior.
    """
    from howlearn.analyses.path_result import Path as Along
    from howlearn.report import path_charts

    if isinstance(source, Along):
        frame, marks, names = source.shares, source.marks, source.models
    else:
        found = results_of(source)
        (frame, marks), names = path_charts.price_path(found), found.names
    made = path_charts.path(frame, marks, names)
    return Drawn(made, frame, shown=not frame.is_empty())


def _matrices(result: Calibration | Recovery) -> dict[str, Chart]:
    """Of a calibration by every criterion that it recommends, of a recovery by the first."""
    from howlearn.analyses.recover import Recovery
    from howlearn.report.matrix_charts import confusion

    if isinstance(result, Recovery):
        matrices, models = {"confusion": result.criteria[0]}, result.models
    else:
        matrices = {f"confusion-{each.name}": each for each in result.criteria}
        models = result.contest.models
    columns = ("true_model", "selected_model", "share")
    return {
        stem: confusion(result.charts[stem].select(columns), models, repr(criterion))
        for stem, criterion in matrices.items()
    }


@chart(
    "Which model is selected when each model is true?",
    "confusion",
    section=SURE,
    saved_by=("calibrate", "recover"),
    save=_matrices,
)
def confusion(source: Calibration | Recovery | Path | str, criterion: str | None = None) -> Any:
    """Which model is selected when each model is true: of a calibration, or of its folder."""
    check()
    from howlearn.report import matrix_charts

    return matrix_charts.confusion_of(source, criterion)


@chart(
    "Do the selected models behave like the people?",
    *("selection", "estimates"),
    section=BEHAVIOUR,
    figure="curves",
    called="learning curves",
    replays=True,
    of_learners=True,
)
def learning_curves(
    source: Source, task: Task | str | None = None, learners: int = 200, seed: int = 0
) -> Drawn:
    """Learning curves of the data and of doubles who follow the selected models.

    Without a ``task`` (a results folder knows its own) doubles are paid what their learners were
    paid. Of more than this many ``learners`` some are picked evenly.
    """
    found = results_of(source, task)
    from howlearn.report import behaviour, curve_charts

    curve = behaviour.behaviour(found, learners, seed=seed)
    caution = ""
    if curve.inside is not None and curve.inside < UNLIKE:
        caution = (
            "But the selected models do not behave like the people: the range of simulated "
            f"learning curves contains the data in {curve.inside:z.0%} of the bins only (section "
            "3). The best of the candidates need not be a good model; others may be added with "
            "--add-model."
        )
    made = curve_charts.learning_curves(curve)
    return Drawn(made, curve.frame, curve.statement, curve.notes, caution)


@chart(
    "Does the model predict the choices, trial by trial?",
    *("selection", "estimates"),
    section=BEHAVIOUR,
    called="predictions",
    replays=True,
)
def predicted(source: Source, task: Task | str | None = None, learners: int = 2_000) -> Drawn:
    """Predicted probabilities against choices, for the selected models."""
    found = results_of(source, task)
    from howlearn.report import curve_charts
    from howlearn.report.predicted import predicted as replay

    replayed = replay(found, learners)
    made = curve_charts.reliability(replayed)
    return Drawn(made, replayed.reliability, replayed.statement, replayed.notes)


@chart("How fast do they learn, in which cell?", "estimates", section=ESTIMATES)
def estimates(source: Source) -> Any:
    """The estimates of each model's parameters, among the learners whose model it is."""
    found = results_of(source)
    from howlearn.report import rate_charts

    return rate_charts.rates(rate_charts.rate_table(found))


@chart("What does a learner do?", "selection", "scores", "estimates")
def learner(source: Source, name: str, task: Task | str | None = None, **conditions: Any) -> Any:
    """One learner: curve, trajectories of the cells, scores, estimates and partition.

    Of a learner with several sequences ``conditions`` name one, as in ``condition=2``.
    """
    found = results_of(source, task)
    from howlearn.report import learner_charts, learner_details

    place = learner_details.sequence_named(found, name, conditions)
    return learner_charts.learner(
        learner_details.detail(found, place), learner_details.common(found), found
    )


@chart("What does a learner choose in every cell?", "selection", "estimates")
def trajectories(
    source: Source, name: str, task: Task | str | None = None, **conditions: Any
) -> Any:
    """One learner's choices in every cell, with the probabilities of its model."""
    found = results_of(source, task)
    from howlearn.report import learner_charts, learner_details

    place = learner_details.sequence_named(found, name, conditions)
    return learner_charts.trajectories(
        learner_details.detail(found, place), learner_details.common(found)
    )


@chart("Which contexts does a model treat alike?")
def partition(source: Source | Task, model: str) -> Any:
    """The contexts of a task or study, drawn by their features, in the cells of a model.

    >>> import howlearn as hl
    >>> hl.plot.partition(hl.Task.load("five-four"), "ByShapeExc").description
    'ByShapeExc sorts 9 contexts into 4 cells of 4, 3, 1, 1.'
    """
    check()
    from howlearn.models.task import Task
    from howlearn.report import partition_drawing

    if isinstance(source, Task):
        return partition_drawing.partition(source.model(model), source.contexts, source.features)
    found = results_of(source)
    if model not in found.names:
        raise HowlearnError(f"there is no model {model!r}; there are {', '.join(found.names)}")
    chosen = found.models[found.names.index(model)]
    if partition_drawing.cells_of(chosen) is None:
        raise HowlearnError(f"{model} has no partition: it does not sort contexts into cells")
    return partition_drawing.partition(chosen, found.study.contexts, found.study.features)


# Of the other analyses, as their commands save them.


@chart("Which constant makes the fewest errors?", "errors", saved_by=("calibrate",))
def errors(result: Calibration) -> dict[str, Chart]:
    """How often the wrong model is selected, by the constant of each criterion."""
    from howlearn.report.simulation_charts import error_curves

    charts = {}
    for curve in result.tuned:
        chosen = {
            "smallest largest error": float(curve.settings[curve.best("maximum")]),
            "smallest mean error": float(curve.settings[curve.best("average")]),
        }
        marks = result.marks if curve.name == "penalized" else {}
        charts[f"errors-{curve.name}"] = error_curves(
            curve.frame(), curve.settings_frame(), marks, chosen, curve.name, result.contest.models
        )
    return charts


@chart("How well are the parameters recovered?", "recovery", saved_by=("calibrate", "recover"))
def recovery(result: Calibration | Recovery) -> Any:
    """Errors of the estimates against the number of trials fitted."""
    from howlearn.report import rate_charts as accuracy_charts

    return accuracy_charts.recovery(result.recovery)


@chart("How many trials are needed to recover the true model?", "plan", saved_by=("plan",))
def plan(result: Plan) -> Any:
    """Recovery by number of trials."""
    from howlearn.report import simulation_charts

    return simulation_charts.plan(result.recovered, result.target, result.models)


@chart("How wide would intervals of the shares be?", "shares", saved_by=("plan",), file="shares")
def share_intervals(result: Plan) -> Any:
    """The intervals of the shares by number of learners."""
    from howlearn.report import simulation_charts

    return simulation_charts.share_intervals(
        result.charts["shares"],
        "Models are confused with each other; once that is removed from the shares their "
        "intervals are wider, and not shown where wider than ±100%.",
    )


@chart("Which contexts are treated alike?", "coclassification", saved_by=("discover",))
def coclassification(result: Discovery) -> Any:
    """How often two contexts are treated alike, by the first criterion, and marked partitions."""
    from howlearn.report import matrix_charts

    by = result.criteria[0]
    return matrix_charts.coclassification(
        result.population, result.consensus, result.marks, by, result.by, result.exact
    )


@chart("Do the groups use the same strategies?", "shares", saved_by=("compare",))
def comparison(result: Comparison) -> Any:
    """Shares by group."""
    from howlearn.report import share_charts

    return share_charts.group_shares(result.shares, result.models, result.groups.column)


@chart(
    "Which strategies are followed, and when?",
    *("weights-mean", "leaders"),
    saved_by=("select",),
)
def weights(results: Results) -> Any:
    """The weights of the mixtures' strategies, over all learners."""
    from howlearn.report import curve_charts

    mixtures = [*_mixtures(results)]
    strategies = [*dict.fromkeys(name for m in mixtures for name in m.strategies)]
    mean, changes = results.tables["weights-mean"], results.tables["leaders"]
    abrupt = [m.name for m in mixtures if m.abrupt]
    names = [m.name for m in mixtures]
    return curve_charts.average_weights(mean, changes, names, strategies, abrupt)


@chart(
    "Which strategy does each learner follow?",
    *("weights", "leaders"),
    saved_by=("select",),
    file="weights-learners",
)
def weights_by_learner(results: Results) -> Any:
    """The weights of the first mixture's strategies, learner by learner."""
    from howlearn.report import curve_charts

    first = next(_mixtures(results))
    own, changes = (
        results.tables[name].filter(pl.col("model") == first.name)
        for name in ("weights", "leaders")
    )
    return curve_charts.learners_weights(own, changes, first.name, first.strategies)


def _mixtures(results: Results) -> Iterator[Any]:
    return (model for model in results.models if len(model.strategies) > 1)


@chart(
    "How much of what can be predicted do the candidates capture?",
    *("completeness", "reasons"),
    section=SURE,
    saved_by=("completeness",),
)
def completeness(source: Source | Completeness) -> Drawn:
    """Log-probabilities of the choices: a coin, the candidates, what each family of reasons adds,
    the ceiling."""
    from howlearn.report import path_charts

    return Drawn.of(path_charts.steps_of(source), path_charts.completeness)


@chart(
    "Which signatures of behaviour do the models reproduce?",
    "checks",
    section=BEHAVIOUR,
    saved_by=("check",),
)
def checks(source: Source | Check) -> Drawn:
    """Signatures of the learners beside those of their doubles; those that fail are marked."""
    from howlearn.report import path_charts

    frame, answer = path_charts.checks_of(source)
    return Drawn.of(frame, path_charts.checks, answer)


@chart(
    "What do these people do when they learn?",
    *("mechanisms",),
    section=BEHAVIOUR,
    saved_by=("mechanisms",),
)
def mechanisms(source: Source | Mechanisms) -> Drawn:
    """The share of people who show each mechanism, with 95% intervals, and how large it is."""
    from howlearn.report import path_charts

    return Drawn.of(path_charts.mechanisms_of(source, "mechanisms"), path_charts.mechanisms)


@chart("Who shows a mechanism, and how strongly?", "mechanisms-learners", saved_by=("mechanisms",))
def mechanism(source: Source | Mechanisms) -> Any:
    """A chart per mechanism: of every learner the probability, and the size."""
    from howlearn.report import path_charts

    frame = path_charts.mechanisms_of(source, "mechanisms-learners")
    return None if frame is None else path_charts.each_mechanism(frame)


@chart("Do the theorems' bounds hold, and how loose are they?", "risks", saved_by=("verify",))
def risks(result: Any) -> Any:
    """Risks and bounds against the number of trials, of a verification."""
    from howlearn.report import simulation_charts

    return simulation_charts.bounds(result.charts["risks"])
