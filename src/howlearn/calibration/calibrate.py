"""``calibrate``: the paper's procedure for any design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from howlearn.calibration.contests import CALIBRATION, FRESH, SPLITS, Contests, check_splits
from howlearn.calibration.design import ENOUGH, Design, TaskDesign, by_model_name
from howlearn.calibration.doubles import LikeDesign
from howlearn.calibration.errors import GOALS, Goal
from howlearn.calibration.result import Calibration, constants_for
from howlearn.calibration.slopes.table import slope_of
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.models.candidates import candidates
from howlearn.models.model import Model
from howlearn.models.task import Task
from howlearn.models.values import Parameters
from howlearn.runs.cluster import engine_of
from howlearn.runs.parts import Memory, Progress, Store, Threads
from howlearn.selection.criteria import Penalized

if TYPE_CHECKING:
    from distributed import Client


def calibrate(
    task: Task | str | None = None,
    models: Sequence[Model] | None = None,
    parameters: Parameters | Mapping[str, Parameters] | None = None,
    learners: int | None = None,
    trials: int | None = None,
    seed: int = 0,
    *,
    like: Study | None = None,
    constants: Sequence[float] | None = None,
    splits: Sequence[float] = SPLITS,
    goal: Goal = "maximum",
    threads: int | None = None,
    progress: Progress | None = None,
    client: Client | None = None,
) -> Calibration:
    """Simulate learners of every model, fit every candidate to each, and find good constants.

    ``parameters`` are common ones, ``{"eta": 0.03}``, or by model, ``{"ByShape": {"eta": 0.1}}``; a
    ``Range`` lets every learner and cell draw its own. With ``like`` the learners are doubles of
    recorded ones: the same contexts and number of trials, every model at the estimates for that
    learner. ``goal`` says what a good constant makes small: the largest error over the models, as
    the paper chose, or the average one. With a Dask ``client`` its workers simulate and fit.

    >>> import howlearn as hl
    >>> result = hl.calibrate("shepard-1", parameters={"eta": 0.1}, learners=20, trials=60)
    >>> result.errors.columns[:5]
    ['criterion', 'setting', 'true_model', 'error', 'standard_error']
    """
    task = Task.load(task) if isinstance(task, str) else task
    if like is not None:
        if parameters or trials is not None:
            raise HowlearnError("doubles of recorded learners have their parameters and trials")
        own = models or (task.candidates if task else candidates(like.contexts, like.features))
        design: Design = LikeDesign(like, own, task, learners, seed, threads)
    elif task is not None:
        own = models or task.candidates
        by_model = by_model_name(parameters or {})
        many = ENOUGH if learners is None else learners
        design = TaskDesign(task, tuple(own), by_model, many, trials, seed)
    else:
        raise HowlearnError("a calibration needs a task, or a recorded study to imitate")
    return calibrate_design(
        design, own, constants, splits, goal, Memory(engine_of(client, threads)), threads, progress
    )


def calibrate_design(
    design: Design,
    models: Sequence[Model],
    constants: Sequence[float] | None = None,
    splits: Sequence[float] = SPLITS,
    goal: Goal = "maximum",
    store: Store | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Calibrate on a design; parts that the store has already are not computed again."""
    check_calibration(design, constants, splits, goal)
    store = store if store is not None else Memory(Threads(threads))
    contests = Contests(design, models, splits, (CALIBRATION, FRESH))
    store.complete(contests.parts, progress)
    found, estimates = contests.found(store)
    contest = found[CALIBRATION]
    given = constants is not None
    chosen = tuple(sorted({*map(float, constants)})) if given else constants_for(contest.n_scored)
    slope = slope_of(design.fits) if design.fits else slope_of(contest)
    return Calibration(contest, found[FRESH], estimates, chosen, goal, slope)


def check_calibration(
    design: Design, constants: Sequence[float] | None, splits: Sequence[float], goal: str
) -> None:
    """Refuse what cannot be, before any work is done or any folder made."""
    if goal not in GOALS:
        raise HowlearnError(f"the goal is {' or '.join(GOALS)}, not {goal}")
    if constants is not None and not len(constants):
        raise HowlearnError("there is no constant to try")
    for c in constants if constants is not None else ():
        Penalized(c)  # refuses what cannot be
    check_splits(splits)
    if design.learners < 2:
        raise HowlearnError("an error rate needs at least two learners of every model")
