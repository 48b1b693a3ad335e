"""Results as tidy tables: one row per fact, best first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core import columns
from howlearn.core.text import listed
from howlearn.engine.layout import Statuses
from howlearn.fitting.fit import lowest as look
from howlearn.fitting.fit import paper_horizon
from howlearn.fitting.fits import STATUS_WORDS, Fits, ModelFits, check_epsilon
from howlearn.fitting.intervals import WORDS as INTERVALS
from howlearn.fitting.intervals import reaches

OTHER = "Other"  # a partition that is not among the candidates
NOT_FITTED = "not fitted"  # how the verdict on a learner begins whom no model could be fitted to
Who = Literal["included", "all"]
INCLUDED, ALL = "included", "all"  # learners: without and with those who are excluded
NONE_OF_THESE = 0.9  # probability of that from which on the verdict says so

if TYPE_CHECKING:
    from howlearn.core.study import Study
    from howlearn.selection.select import Choice, Selection


def scores(selection: Selection) -> pl.DataFrame:
    """One row per learner, criterion and model, best first."""
    fits = selection.fits
    n_learners = len(fits.study)
    names = pl.Enum([*fits.of, *([OTHER] if OTHER not in fits.of else [])])
    frames = []
    for choice in selection.choices:
        own, order = choice.scores, choice.order
        count = fits.n_parameters if own.n_parameters is None else own.n_parameters
        values = [own.log_likelihood, own.penalty, own.score, own.probability]
        if own.outside is not None:
            other = own.outside
            more = [other.log_likelihood, other.penalty, other.score, other.probability]
            pairs = zip(values, more, strict=True)
            values = [np.column_stack([a, b]) for a, b in pairs if a is not None]
            order = np.argsort(-values[2], axis=1, kind="stable")
            count = np.column_stack([count, np.full(n_learners, -1)])
        n_models = order.shape[1]
        order = order.reshape(-1)
        learner = np.repeat(np.arange(n_learners), n_models)
        value, penalty, score, probability = (
            None if part is None else part[learner, order] for part in values
        )
        frames.append(
            columns.of("scores").frame(
                {
                    "_learner": learner,
                    "model": pl.Series(names.categories, dtype=names).gather(order),
                    "criterion": repr(choice.criterion),
                    "n_trials": own.n_trials[learner],
                    "n_parameters": pl.Series(count[learner, order]).replace({-1: None}),
                    "log_likelihood": value,
                    "penalty": penalty,
                    "score": score,
                    "rank": np.tile(np.arange(1, n_models + 1), n_learners),
                    "selected": np.tile(np.arange(n_models) == 0, n_learners),
                    "probability": probability,
                }
            )
        )
    return labelled(fits, pl.concat(frames).sort("_learner", maintain_order=True))


def estimates(fits: Fits) -> pl.DataFrame:
    """One row per parameter of every fit, with intervals for those that saw most trials.

    ``interval`` says which bounds it reaches; it is empty where there is none. ``agreement`` is the
    share of the searches from different starts that ended at the best value.
    """
    n_learners, n_marks = fits.sizes.shape
    words = pl.Series([STATUS_WORDS[code] for code in sorted(STATUS_WORDS)])
    reaching = pl.Series([None, *INTERVALS], dtype=pl.String)
    frames = []
    for name, part in fits.of.items():
        n_parameters = len(part.parameters)
        rows = n_learners * n_marks
        ends, reached = _intervals(fits, part)
        frames.append(
            columns.of("estimates").frame(
                {
                    "_learner": np.repeat(np.arange(n_learners), n_marks * n_parameters),
                    "model": name,
                    "cell": _tiled(part.cells, rows),
                    "parameter": _tiled(part.parameters, rows),
                    "estimate": part.theta.reshape(-1),
                    "trials_fitted": np.repeat(fits.sizes.reshape(-1), n_parameters),
                    "lower": pl.Series(ends[..., 0].reshape(-1)).fill_nan(None),
                    "upper": pl.Series(ends[..., 1].reshape(-1)).fill_nan(None),
                    "interval": reaching.gather(reached.reshape(-1)),
                    "status": words.gather(part.status.reshape(-1)),
                    "agreement": _agreement(part),
                }
            )
        )
    return labelled(fits, pl.concat(frames).sort("_learner", maintain_order=True))


def _intervals(fits: Fits, part: ModelFits) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Ends [learner, truncation, parameter, 2], and which bounds they reach: a word from 1 on."""
    ends = np.full((*part.theta.shape, 2), np.nan)
    reached = np.zeros(part.theta.shape, np.int64)
    if part.ends is not None and fits.reach is not None:
        owners = part.model.owners(fits.study.actions)
        ends[:, fits.reach.mark] = part.ends
        reached[:, fits.reach.mark] = reaches(part.ends, [parameter for _, parameter in owners]) + 1
    return ends, reached


def lowest(fits: Fits, epsilon: float) -> pl.DataFrame:
    """One row per learner, model and number of trials fitted: how small probabilities become.

    ``first_under`` is the first trial at which some action has less than ε, empty where none has;
    ``T_epsilon`` the paper's, for the bounds of the model, empty where the paper has no formula.
    """
    check_epsilon(epsilon, len(fits.study.actions))
    n_learners, n_marks = fits.sizes.shape
    frames = []
    for name, part in fits.of.items():
        found = look(fits.study, part, epsilon)
        horizon = paper_horizon(part.model, fits.study, epsilon)
        upto = None if horizon is None else np.minimum(horizon, fits.n_scored)
        frames.append(
            columns.of("lowest").frame(
                {
                    "_learner": np.repeat(np.arange(n_learners), n_marks),
                    "model": name,
                    "trials_fitted": fits.sizes.reshape(-1),
                    "smallest_probability": found.probability.reshape(-1),
                    "smallest_at": found.trial.reshape(-1),
                    "epsilon": epsilon,
                    "first_under": pl.Series(found.first_under.reshape(-1)).replace({0: None}),
                    "T_epsilon": None if upto is None else np.repeat(upto, n_marks),
                }
            )
        )
    return labelled(fits, pl.concat(frames).sort("_learner", maintain_order=True))


def _agreement(part: ModelFits) -> pl.Series | None:
    """The share of the searches that ended at the best value; None where the fit is exact."""
    if part.agreement is None:
        return None
    return pl.Series(np.repeat(part.agreement.reshape(-1), len(part.parameters))).fill_nan(None)


def selection(selection: Selection) -> pl.DataFrame:
    """One row per learner and criterion."""
    fits = selection.fits
    frames = []
    for choice in selection.choices:
        frames.append(
            columns.of("selection").frame(
                {
                    "_learner": np.arange(len(fits.study)),
                    "criterion": repr(choice.criterion),
                    "model": _selected(fits, choice),
                    "runner_up": _runner_up(fits, choice),
                    "margin": margins(choice),
                    "verdict": verdicts(selection, choice),
                    "probability": _probability(choice),
                    "p_other": choice.scores.p_other,
                }
            )
        )
    return _with_unfitted(selection, pl.concat(frames))


def unfitted(selection: Selection) -> pl.DataFrame:
    """One row per learner who could not be fitted."""
    places = np.array([*selection.why], np.int64)
    given = selection.fits.study if selection.given is None else selection.given
    return labels(selection.fits, given)[places].hstack(
        [
            pl.Series("n_trials", given.n_scored[places]),
            pl.Series("why", [*selection.why.values()], dtype=pl.String),
        ]
    )


def _with_unfitted(selection: Selection, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of learners in their order, and among them those who could not be fitted.

    These have a verdict that says so, by every criterion, and no model.
    """
    if selection.given is None:
        return labelled(selection.fits, frame.sort("_learner", maintain_order=True))
    frame = frame.with_columns(pl.Series("_learner", selection.places[frame["_learner"]]))
    more = pl.DataFrame({"_learner": pl.Series([*selection.why], dtype=pl.Int64)})
    verdict = pl.Series([f"{NOT_FITTED}: {why}" for why in selection.why.values()])
    if "criterion" in frame.columns:
        more = pl.concat(
            [
                more.with_columns(verdict.alias("verdict"), criterion=pl.lit(repr(c.criterion)))
                for c in selection.choices
            ]
        )
    else:
        n_trials = selection.given.n_scored[[*selection.why]]
        verdicts = [verdict.alias(c) for c in frame.columns if c.startswith("verdict")]
        more = more.with_columns(pl.Series("n_trials", n_trials), *verdicts)
    frame = pl.concat([frame, more], how="diagonal").sort("_learner", maintain_order=True)
    return labelled(selection.fits, frame, selection.given)


def margins(choice: Choice) -> pl.Series:
    """Nats between the selected model and the next; empty where no other is possible."""
    if choice.scores.p_other is not None and choice.outside.any():
        both = np.where(choice.outside, _ahead_of_all(choice), _inside(choice))
        return pl.Series(both).fill_nan(None)
    if choice.order.shape[1] == 1:
        return empty(pl.Float64, len(choice.order))
    return pl.Series(_inside(choice)).fill_nan(None)


def _inside(choice: Choice) -> NDArray[np.float64]:
    if choice.order.shape[1] == 1:
        return np.full(len(choice.order), np.nan)
    first, second = choice.ranked[:, 0], choice.ranked[:, 1]
    # Not a number where the second gives a choice probability 0. And a tie that parameter counting
    # decided may stand the other way round by rounding.
    return np.maximum(first - np.where(np.isneginf(second), np.nan, second), 0.0)


def _ahead_of_all(choice: Choice) -> NDArray[np.float64]:
    """Nats between Other and the best candidate."""
    assert choice.scores.p_other is not None
    assert choice.scores.probability is not None
    tiny = np.finfo(float).tiny
    best = np.maximum(choice.scores.probability.max(axis=1), tiny)
    return np.maximum(np.log(np.maximum(choice.scores.p_other, tiny)) - np.log(best), 0.0)


def verdicts(selection: Selection, choice: Choice) -> pl.Series:
    """Each selection in words: clear, undecided between …, no better than a coin.

    Models within ``within`` nats of the best count as tied, and so does not learning at all.
    Where all others give some choice probability 0, none is behind by any number of nats.
    """
    names = [*selection.fits.of]
    ranked, ahead = choice.ranked, choice.above_coin
    close = np.maximum((ranked > ranked[:, :1] - selection.within).sum(axis=1), 1)
    nobody = choice.scores.p_other
    words = []
    for i in range(len(ranked)):
        if nobody is not None and nobody[i] > NONE_OF_THESE:
            words.append("probably none of these")
            continue
        between = [names[k] for k in choice.order[i, : close[i]]]
        if ahead[i] < selection.within and "Coin" not in between:
            between.append("a coin")
        if ahead[i] == 0.0:
            words.append("no better than a coin")
        elif len(between) > 1:
            words.append(f"undecided between {listed(between)}")
        else:
            alone = len(names) > 1 and np.isneginf(ranked[i, 1])
            clear = "the only one possible" if alone else "clear"
            doubt = choice.scores.doubts[i] if choice.scores.doubts else ""
            words.append("the only candidate" if len(names) == 1 else doubt or clear)
    return pl.Series(words, dtype=pl.String)


def _agree(models: Sequence[NDArray], compared: bool) -> pl.Series:
    """Whether all criteria select the same model; empty where there is only one."""
    if not compared:
        return pl.Series([None] * len(models[0]), dtype=pl.Boolean)
    return pl.Series(np.all([each == models[0] for each in models], axis=0))


def learners(selection: Selection) -> pl.DataFrame:
    """One wide row per learner: the answer, then what every criterion says, and estimates.

    ``model`` and ``verdict`` are those of the first criterion. The estimates are those of that
    model, fitted on all trials (or on as many as were fitted).
    """
    fits = selection.fits
    models = [_selected(fits, choice).to_numpy() for choice in selection.choices]
    smallest = np.fmin.reduce([margins(choice).to_numpy() for choice in selection.choices])
    row: dict[str, pl.Series | NDArray] = {
        "_learner": np.arange(len(fits.study)),
        "n_trials": fits.study.n_scored,
        "model": _selected(fits, selection.choices[0]),
        "verdict": verdicts(selection, selection.choices[0]),
        "criteria_agree": _agree(models, compared=len(fits.of) > 1),
        "smallest_margin": pl.Series(smallest).fill_nan(None),
    }
    for choice in selection.choices:
        key = choice.criterion.key
        row[f"model_{key}"] = _selected(fits, choice)
        row[f"margin_{key}"] = margins(choice)
        row[f"verdict_{key}"] = verdicts(selection, choice)
        probability = _probability(choice)
        if probability is not None:
            row[f"probability_{key}"] = probability
        if choice.scores.p_other is not None:
            row[f"p_other_{key}"] = choice.scores.p_other
    j = fits.at(fits.fullest)
    wide: dict[str, NDArray[np.float64]] = {}
    for k, part in enumerate(fits.of.values()):
        mine = selection.choices[0].selected == k
        for p, name in enumerate(_wide(part)):
            column = wide.setdefault(name, np.full(len(mine), np.nan))
            known = mine & (part.status[:, j, p] != Statuses.UNSEEN)
            column[known] = part.theta[known, j, p]
    for name, column in wide.items():
        row[name] = pl.Series(column).fill_nan(None)
    return _with_unfitted(selection, pl.DataFrame(row))


Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


def fitted(table: Frame) -> Frame:
    """``selection`` or ``learners`` without the learners who could not be fitted."""
    names = table.lazy().collect_schema()
    column = next((c for c in names if c == "verdict" or c.startswith("verdict_")), None)
    if column is None or names[column] != pl.String:
        return table
    told = pl.col(column).str.starts_with(f"{NOT_FITTED}: ")
    return table.filter(told.not_() | told.is_null())


def included(table: Frame) -> Frame:
    """The rows of the learners who are not excluded; the column that says so is left out."""
    return of_whom(table, INCLUDED)


def of_whom(table: Frame, who: Who) -> Frame:
    """The rows of some learners, without the columns that tell who is excluded."""
    names = table.lazy().collect_schema()
    if "among" in names:
        table = table.filter(pl.col("among") == who).drop("among")
    if "excluded" in names:
        kept = pl.col("excluded").is_null() if who == INCLUDED else pl.lit(True)
        table = table.filter(kept).drop("excluded")
    return table


def among(included: pl.DataFrame, everybody: pl.DataFrame) -> pl.DataFrame:
    """A table without and with the learners that are excluded."""
    parts = {INCLUDED: included, ALL: everybody}
    return pl.concat(
        [frame.select(pl.lit(who).alias("among"), pl.all()) for who, frame in parts.items()],
        how="vertical_relaxed",
    )


def conditions(table: pl.DataFrame) -> pl.Series | None:
    """The condition of every row, in words; None where no label differs within a learner.

    >>> conditions(pl.DataFrame({"learner": ["a", "a"], "type": [1, 2], "age": [30, 30]})).to_list()
    ['1', '2']
    """
    names = condition_columns(table)
    words = pl.concat_str(pl.col(names).cast(pl.String).fill_null(""), separator=", ")
    return table.select(words.alias("condition")).to_series() if names else None


def condition_columns(table: pl.DataFrame) -> list[str]:
    """The labels that differ within a learner, of those before what the results have."""
    others = takewhile(lambda name: name not in ("criterion", "model"), table.columns)
    names = [name for name in others if name not in columns.FIRST]
    if not names or table.is_empty():
        return []
    differs = table.group_by("learner").agg(pl.col(names).n_unique()).select(names).max()
    return [name for name in names if differs[name].item() > 1]


def labels(fits: Fits, study: Study | None = None) -> pl.DataFrame:
    """The columns that open every table of these fits: the learner, conditions, kept columns.

    A kept column that is called like an estimate of ``learners`` is called ``input_NAME``.
    """
    estimates = {name for part in fits.of.values() for name in _wide(part)}
    return columns.renamed((study or fits.study).labels, estimates)


def _wide(part: ModelFits) -> list[str]:
    """What ``learners`` calls the estimates of a model."""
    return [f"{p}_{cell}" for cell, p in zip(part.cells, part.parameters, strict=True)]


def labelled(fits: Fits, frame: pl.DataFrame, study: Study | None = None) -> pl.DataFrame:
    """Put the learner, its conditions and kept columns in front."""
    front = labels(fits, study)[frame["_learner"]]
    return front.hstack(frame.drop("_learner").get_columns())


def _named(fits: Fits, models: NDArray[np.int64]) -> pl.Series:
    return pl.Series([*fits.of], dtype=pl.String).gather(models)


def _selected(fits: Fits, choice: Choice) -> pl.Series:
    """The names of the models selected; Other where that is none of them."""
    found = _named(fits, choice.selected)
    if not choice.outside.any():
        return found
    return pl.Series(np.where(choice.outside, OTHER, found.to_numpy()), dtype=pl.String)


def _probability(choice: Choice) -> NDArray[np.float64] | None:
    """Of what is selected; None where the criterion gives none."""
    found = choice.scores.probability
    if found is None or (found.shape[1] == 1 and choice.scores.p_other is None):
        return None  # with one candidate nothing was compared
    mine = np.take_along_axis(found, choice.selected[:, None], axis=1)[:, 0]
    if choice.scores.p_other is not None:
        mine = np.where(choice.outside, choice.scores.p_other, mine)
    return mine


def _runner_up(fits: Fits, choice: Choice) -> pl.Series | None:
    if choice.outside.any():
        second = choice.order[:, min(1, choice.order.shape[1] - 1)]
        return _named(fits, np.where(choice.outside, choice.selected, second))
    if choice.order.shape[1] == 1:
        return None
    return _named(fits, choice.order[:, 1])


def empty(dtype: type[pl.DataType], length: int) -> pl.Series:
    """A column without values."""
    return pl.Series([None], dtype=dtype).new_from_index(0, length)


def _tiled(values: tuple[str, ...], times: int) -> pl.Series:
    codes = np.tile(np.arange(len(values)), times)
    return pl.Series(values, dtype=pl.String).gather(codes)
