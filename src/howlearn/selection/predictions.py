"""Trial-by-trial predictions, scores of later trials, and weights of strategies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.columns import RARE, of, renamed, reserved
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Source, Study
from howlearn.fitting.fits import Fits
from howlearn.fitting.replay import latents_named, latents_of, states_of
from howlearn.models.model import Model
from howlearn.selection.criteria import CRITERIA, criterion_named
from howlearn.selection.criterion import Criterion
from howlearn.selection.select import Selection
from howlearn.selection.tables import labels
from howlearn.selection.tables import labels as labels_of


def predictions(
    selection: Selection,
    model: str | None = None,
    latents: bool = False,
) -> pl.DataFrame:
    """Probabilities under each learner's selected model (first criterion, fitted on all trials).

    The study of the selection knows its rows in the input; of learners who could not be fitted
    nothing is predicted. A ``model`` that is named takes the place of the selected ones. With
    ``latents`` there are columns for the latent variables of all candidates.
    """
    fits, part = selection.fits, selection.fits.study
    chosen = selection.choices[0].selected
    if model is not None:
        chosen = np.full(len(part), [*fits.of].index(model))
    names = np.array([*fits.of], object)[chosen]
    log_p = np.concatenate(
        [np.empty((0, len(part.actions)))]
        + [fits.probabilities(i, name, fits.fullest) for i, name in enumerate(names)]
    )
    learner = np.repeat(np.arange(len(part)), np.diff(part.starts))
    rows = source_of(part).row
    columns = {
        "context": pl.Series(part.contexts, dtype=pl.String).gather(part.context),
        "action": pl.Series(part.actions, dtype=pl.String).gather(part.action),
        "scored": part.scored,
        "learned": part.learned,
        "model": pl.Series(names, dtype=pl.String).gather(learner),
        **{f"p({a})": np.exp(log_p[:, k]) for k, a in enumerate(part.actions)},
        "log_probability": log_p[np.arange(len(log_p)), part.action],
    }
    labels = labels_of(fits)[learner]
    if latents:
        looks = _latents(fits, names)
        columns |= looks
        labels = renamed(labels, looks)
    beginning = pl.DataFrame({"_row": rows}).hstack(labels.get_columns())
    return beginning.hstack(pl.DataFrame(columns).get_columns())


def check_named(model: str | None, models: Sequence[Model]) -> None:
    """Refuse a model for the predictions that is not among the candidates."""
    names = [each.name for each in models]
    if model is not None and model not in names:
        raise HowlearnError(
            f"--predict-with {model}: there is no such candidate; there are {', '.join(names)}, "
            "and --add-model adds others"
        )


def latent_columns(models: Iterable[Model], study: Study) -> tuple[str, ...]:
    """The columns for the latent variables of these models, each of them once."""
    return tuple(dict.fromkeys(n for model in models for n in _columns_of(model, study)))


def only_used(frame: pl.DataFrame, models: Sequence[Model], study: Study) -> pl.DataFrame:
    """Without the latent variables that belong to no model in the table."""
    used = set(frame["model"].unique())
    kept = latent_columns([model for model in models if model.name in used], study)
    return frame.drop(c for c in latent_columns(models, study) if c not in kept)


def _latents(fits: Fits, names: Iterable[str]) -> dict[str, pl.Series]:
    """The latent variables of every learner's model; empty where it has no such variable."""
    study, j = fits.study, fits.at(fits.fullest)
    columns = latent_columns(fits.models, study)
    place = {column: k for k, column in enumerate(columns)}
    looks = np.full((len(study.context), len(columns)), np.nan)
    for i, name in enumerate(names):
        part = fits.of[name]
        mine = [place[column] for column in _columns_of(part.model, study)]
        trials = slice(int(study.starts[i]), int(study.starts[i + 1]))
        looks[trials, mine] = latents_of(study, i, part.model, part.theta[i, j])[1]
    return {c: pl.Series(c, looks[:, k]).fill_nan(None) for c, k in place.items()}


def _columns_of(model: Model, study: Study) -> list[str]:
    """A latent variable has its name, unless the predictions have a column of that name."""
    return [f"latent_{n}" if reserved(n) else n for n in latents_named(study, model)]


def with_every_row(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """One row per row of the input, in its order; empty where the trial was left out."""
    source = source_of(study)
    first = source.first_rows or (2,) * len(source.files)
    rows = np.concatenate(
        [np.arange(n) + row for n, row in zip(source.file_rows, first, strict=True)]
    )
    file = np.repeat(np.arange(len(source.files)), source.file_rows)
    every = pl.DataFrame(
        {
            "_row": np.arange(len(rows)),
            "file": pl.Series(source.files, dtype=pl.String).gather(file),
            "row": rows,  # as a spreadsheet counts: the header is row 1
        }
    )
    return (
        every.join(frame.with_columns(pl.col("_row").cast(pl.Int64)), on="_row", how="left")
        .sort("_row")
        .drop("_row")
    )


def source_of(study: Study) -> Source:
    """Where the trials came from; a simulated study is its own source."""
    return study.source or Source(("simulation",), (len(study.context),))


# Leave-future-out: what each later choice was worth to each model, from the trials before it.


Block = tuple[NDArray[np.int64], int, NDArray[np.float64]]


def leave_future_out(fits: Fits, criterion: Criterion | str) -> pl.DataFrame:
    """One row per learner, scored trial after the start, and model.

    ``log_probability`` is that of the choice at the parameters fitted on the first
    ``trials_fitted`` scored trials; its sum over a learner's trials is the criterion's score.
    ``trial`` counts the learner's trials from 1. Where the study knows its source, ``file`` and
    ``row`` say where the trial stands in the input.

    >>> import howlearn as hl
    >>> task = hl.Task.load("five-four")
    >>> study = hl.simulate(task, "ByShape", {"eta": 0.03}, learners=1, trials=20, seed=1)
    >>> criterion = hl.HoldOut(split=0.9)
    >>> fits = hl.fit(study, [task.model("ByShape")], criterion.truncations)
    >>> leave_future_out(fits, criterion).drop("log_probability").rows()
    [('1', 19, 'ByShape', 18), ('1', 20, 'ByShape', 18)]
    """
    if not isinstance(criterion, Criterion):
        criterion = criterion_named(str(criterion))
    if not criterion.later:
        others = " and ".join(repr(each()) for each in CRITERIA.values() if each.later)
        raise HowlearnError(f"{criterion!r} leaves no later trials; {others} do")
    blocks = [block for i in range(len(fits.study)) for block in _blocks(fits, criterion, i)]
    trial = np.concatenate([np.empty(0, np.int64), *(trials for trials, _, _ in blocks)])
    lengths = np.array([len(trials) for trials, _, _ in blocks], np.int64)
    fitted = np.repeat(np.array([size for _, size, _ in blocks], np.int64), lengths)
    log_p = np.concatenate([np.empty((0, len(fits.of))), *(values for _, _, values in blocks)])
    return _frame(fits, trial, fitted, log_p)


def _blocks(fits: Fits, criterion: Criterion, learner: int) -> Iterator[Block]:
    """A learner's blocks: trials of the study, trials fitted before them, [trial, model]."""
    study = fits.study
    scored = np.flatnonzero(study[learner].scored)  # places within the learner's record
    sizes = [int(fits.n_fitted(truncation)[learner]) for truncation in criterion.truncations]
    for truncation, (size, following) in zip(
        criterion.truncations, pairwise([*sizes, len(scored)]), strict=True
    ):
        mine = scored[size:following]
        if len(mine):
            each = [fits.log_probability(learner, name, truncation)[mine] for name in fits.of]
            yield study.starts[learner] + mine, size, np.stack(each, axis=1)


def _frame(
    fits: Fits, trial: NDArray[np.int64], fitted: NDArray[np.int64], log_p: NDArray[np.float64]
) -> pl.DataFrame:
    study, n_models = fits.study, len(fits.of)
    learner = np.searchsorted(study.starts, trial, side="right") - 1
    columns = {
        **(places(study.source, trial) if study.source else {}),
        "trial": pl.Series(trial - study.starts[learner] + 1),
        "trials_fitted": pl.Series(fitted),
    }
    by_trial = labels(fits)[learner].hstack(pl.DataFrame(columns).get_columns())
    names = pl.Series("model", [*fits.of], dtype=pl.String)
    every = by_trial[np.repeat(np.arange(len(trial)), n_models)]
    return every.drop("trials_fitted").with_columns(
        names.gather(np.tile(np.arange(n_models), len(trial))),
        every["trials_fitted"],
        pl.Series("log_probability", log_p.reshape(-1)),
    )


def places(source: Source, trial: NDArray[np.int64]) -> dict[str, pl.Series]:
    """Where trials stand in the input: the file, and the row as a spreadsheet counts."""
    row = np.asarray(source.row)[trial]
    edges = np.cumsum([0, *source.file_rows])
    file = np.searchsorted(edges, row, side="right") - 1
    first = np.array(source.first_rows or (2,) * len(source.files))
    return {
        "file": pl.Series(source.files, dtype=pl.String).gather(file),
        "row": pl.Series(row - edges[file] + first[file]),
    }


# The weights of a mixture's strategies, trial by trial, and when the leading one changes.


AHEAD = 1e-9  # a strategy leads if its weight is larger than all others by more than this


def is_weighted(model: Model) -> bool:
    """Whether a model has several strategies to weigh."""
    return len(model.strategies) > 1


def weights(fits: Fits | Any) -> pl.DataFrame:
    """The weight of every strategy before every trial, of all mixtures, fitted on all trials.

    One row per learner, model, trial and strategy.

    >>> import howlearn as hl
    >>> task = hl.Task.load("five-four")
    >>> model = task.model("exp4(ByPattern[eta=0.05], ByPatternExc[eta=0.05])")
    >>> study = hl.simulate(task, model, {"theta": 0.1}, learners=2, trials=50)
    >>> weights(hl.fit(study, [model])).columns
    ['learner', 'model', 'trial', 'strategy', 'weight', 'leads', 'filtered', 'smoothed']
    """
    fits = getattr(fits, "fits", fits)  # of a selection, or of results in memory
    if not isinstance(fits, Fits):
        raise HowlearnError(
            f"weights are of fits or a selection, not of {type(fits).__name__}: see howlearn.fit"
        )
    mixtures = [part for part in fits.of.values() if is_weighted(part.model)]
    if not mixtures:
        raise HowlearnError(
            "there is no mixture of strategies among the candidates; add one, such as "
            "exp4(ByShape, ByShapeExc)"
        )
    j = fits.at(fits.fullest)
    labels = renamed(labels_of(fits), {name for table in RARE for name in of(table).names})
    frames = [labels[:0].hstack(of("weights").of_rows([]).get_columns())]
    for i in range(len(fits.study)):
        for part in mixtures:
            _, q = latents_of(fits.study, i, part.model, part.theta[i, j])
            hidden = states_of(fits.study, i, part.model, part.theta[i, j])
            n, k = q.shape
            # Where learning restarts, nobody leads.
            starts = np.flatnonzero(fits.study[i].reset[1:]) + 1
            first = np.concatenate([leader(block) for block in np.split(q, starts)])
            first = first if hidden is None else hidden.path
            frame = of("weights").frame(
                {
                    "model": part.model.name,
                    "trial": np.repeat(np.arange(1, n + 1), k),
                    "strategy": part.model.strategies * n,
                    "weight": q.reshape(-1),
                    "leads": (first[:, None] == np.arange(k)).reshape(-1),
                    "filtered": None if hidden is None else hidden.filtered.reshape(-1),
                    "smoothed": None if hidden is None else hidden.smoothed.reshape(-1),
                }
            )
            frames.append(labels[np.full(n * k, i)].hstack(frame.get_columns()))
    return pl.concat(frames)


def leader(q: np.ndarray) -> np.ndarray:
    """The strategy with the largest weight [trial]; while two are level, the one that led before.

    >>> leader(np.array([[0.5, 0.5], [0.6, 0.4], [0.5, 0.5], [0.3, 0.7]])).tolist()
    [-1, 0, 0, 1]
    """
    order = np.sort(q, axis=1)
    ahead = order[:, -1] - order[:, -2] > AHEAD
    last = np.maximum.accumulate(np.where(ahead, np.arange(len(q)), -1))
    return np.where(last >= 0, np.argmax(q, axis=1)[last], -1)


def leaders(frame: pl.DataFrame) -> pl.DataFrame:
    """When the lead was taken: one row per learner, model and change, the first lead included.

    ``trial`` is the first at which the strategy leads, ``before`` the one that led until then.

    >>> lead = {"trial": [1, 2, 3], "strategy": ["a", "b", "b"], "weight": [0.6, 0.7, 0.8]}
    >>> frame = pl.DataFrame({"learner": ["1"] * 3, "model": ["exp4"] * 3, **lead})
    >>> leaders(frame.with_columns(leads=True)).select("trial", "strategy", "before").rows()
    [(1, 'a', None), (2, 'b', 'a')]
    """
    own = of("weights").names
    if not {"learner", "model", "trial", "strategy", "leads"} <= set(frame.columns):
        raise HowlearnError("leaders are found in the table that howlearn.weights gives")
    labels = [c for c in frame.columns if c == "model" or c not in own]
    led = frame.filter("leads").sort("trial", maintain_order=True)
    before = pl.col("strategy").shift(1).over(labels).alias("before")
    first = pl.col("before").is_null() | (pl.col("before") != pl.col("strategy"))
    changes = led.with_columns(before).filter(first)
    order = frame.select(labels).unique(maintain_order=True)
    found = changes.select(*labels, "trial", "strategy", "before")
    return order.join(found, on=labels, how="inner", nulls_equal=True, maintain_order="left_right")


def last_changes(changes: pl.DataFrame) -> pl.Series:
    """Of every learner whose leading strategy changed: the last trial at which it did."""
    by = [c for c in changes.columns if c not in ("trial", "strategy", "before")]
    changed = changes.filter(pl.col("before").is_not_null())
    return changed.group_by(by, maintain_order=True).agg(pl.col("trial").last())["trial"]


def averages(frame: pl.LazyFrame) -> pl.DataFrame:
    """The weights over all learners: mean, quartiles, and the share of learners whom it leads.

    Conditions, that is, labels that differ within a learner, are kept apart.
    """
    weight = pl.col("weight")
    own = ("learner", *of("weights").names)
    labels = [c for c in frame.collect_schema().names() if c not in own]
    differ = frame.group_by("learner").agg(pl.col(labels).n_unique()).collect() if labels else {}
    conditions = [c for c in labels if (differ[c] > 1).any()]
    return (
        frame.group_by(*conditions, "model", "strategy", "trial")
        .agg(
            learners=pl.len(),
            weight=weight.mean(),
            lower_quartile=weight.quantile(0.25, "linear"),
            upper_quartile=weight.quantile(0.75, "linear"),
            leads=pl.col("leads").mean(),
        )
        .sort(*conditions, "model", "strategy", "trial")
        .collect()
    )
