"""Error rates of a criterion over its settings: curves, the best settings, and how clear they are.

All settings see the same learners, so settings are compared by paired differences: learners are
resampled within each true model, and a difference is judged by its own standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import read_json
from howlearn.models.model import Model
from howlearn.runs.files import refuse_links
from howlearn.runs.folder import read_table
from howlearn.selection.criteria import criterion_named
from howlearn.selection.criterion import Criterion
from howlearn.selection.share_tables import Known
from howlearn.selection.shares import Confusion

if TYPE_CHECKING:  # those who read calibrations need none of what makes them
    from howlearn.analyses.contests import Contest

Goal = Literal["maximum", "average"]
GOALS: tuple[Goal, ...] = ("maximum", "average")
RESAMPLES = 500
CLEARLY = 1.96  # standard errors of a difference: 5% would be called different by chance


def standard_error(wrong: Floats | Ints, n: Ints | int) -> Floats:
    """Of a share wrong/n; where none or all are wrong, as if half a learner were or were not.

    >>> standard_error(np.array([0, 30]), 100).round(4).tolist()
    [0.0071, 0.0458]
    """
    count = np.clip(wrong, 0.5, np.maximum(n - 0.5, 0.5))
    share = count / n
    return np.sqrt(share * (1 - share) / n)


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """How often one kind of criterion is wrong, for every true model and setting."""

    criteria: tuple[Criterion, ...]
    settings: Floats
    kappa: Floats  # price per parameter at the median number of trials; nan for hold-out
    truths: tuple[str, ...]
    counts: Ints  # learners of each true model
    wrong: Bools  # [learner, setting]
    true: Ints
    never_selected: tuple[tuple[str, ...], ...]  # of each setting

    @property
    def name(self) -> str:
        return self.criteria[0].name

    @cached_property
    def error(self) -> Floats:
        """[truth, setting]"""
        return np.stack([self.wrong[self.true == k].mean(axis=0) for k in range(len(self.truths))])

    @cached_property
    def standard_error(self) -> Floats:
        counts = self.counts[:, None]
        return standard_error(self.error * counts, counts)

    def over_models(self, goal: Goal) -> Floats:
        """The mean error over the true models, or the largest one, of every setting."""
        return _over_models(self.error, goal)

    @cached_property
    def _resampled(self) -> Floats:
        """Errors of resampled learners: [resample, truth, setting]."""
        random = np.random.default_rng([len(self.true), RESAMPLES])
        parts = []
        for k, n in enumerate(self.counts):
            drawn = random.integers(n, size=(RESAMPLES, n)) + np.arange(RESAMPLES)[:, None] * n
            times = np.bincount(drawn.reshape(-1), minlength=drawn.size).reshape(drawn.shape)
            parts.append(times / n @ self.wrong[self.true == k].astype(float))
        return np.stack(parts, axis=1)

    def spread(self, goal: Goal) -> Floats:
        """The standard error of ``over_models``."""
        if goal == "average":
            return np.sqrt((self.standard_error**2).sum(axis=0)) / len(self.truths)
        worst = np.argmax(self.error, axis=0)
        return self.standard_error[worst, np.arange(len(self.settings))]

    def best(self, goal: Goal) -> int:
        """The setting with the smallest error; of several equal ones, the middle."""
        value = self.over_models(goal)
        ties = np.flatnonzero(value <= value.min() + 1e-12)
        return int(ties[(len(ties) - 1) // 2])

    def as_good(self, goal: Goal) -> Bools:
        """Settings that cannot be told from the best."""
        best = self.best(goal)
        value = self.over_models(goal)
        resampled = _over_models(self._resampled, goal)
        spread = (resampled - resampled[:, best : best + 1]).std(axis=0)
        return value - value[best] <= CLEARLY * spread + 1e-12

    def frame(self) -> pl.DataFrame:
        """One row per setting and true model."""
        n_truths, n = self.error.shape
        table = of("errors", "calibrate").frame(
            {
                "criterion": self.name,
                "setting": np.repeat(self.settings, n_truths),
                "true_model": list(self.truths) * n,
                "error": self.error.T.reshape(-1),
                "standard_error": self.standard_error.T.reshape(-1),
                "kappa": np.repeat(self.kappa, n_truths),
            }
        )
        return table.with_columns(pl.col("setting", "kappa").fill_nan(None))

    def settings_frame(self) -> pl.DataFrame:
        """One row per setting: errors over the models, and whether it is as good as the best."""
        worst = np.argmax(self.error, axis=0)
        several = len(self.settings) > 1
        table = of("settings", "calibrate").frame(
            {
                "criterion": self.name,
                "setting": self.settings,
                "kappa": self.kappa,
                "mean_error": self.over_models("average"),
                "mean_standard_error": self.spread("average"),
                "max_error": self.over_models("maximum"),
                "max_standard_error": self.spread("maximum"),
                "worst_model": [self.truths[k] for k in worst],
                **{goal: self._words(goal) if several else None for goal in GOALS},
                "never_selected": [", ".join(names) or None for names in self.never_selected],
            }
        )
        return table.with_columns(pl.col("setting", "kappa").fill_nan(None))

    def _words(self, goal: Goal) -> list[str]:
        words = np.where(self.as_good(goal), "not distinguishable from the best", "worse")
        return [
            "best" if k == self.best(goal) else str(word) for k, word in enumerate(words.tolist())
        ]


def _over_models(error: Floats, goal: Goal) -> Floats:
    return error.mean(axis=-2) if goal == "average" else error.max(axis=-2)


def curve(contest: Contest, criteria: Sequence[Criterion]) -> ErrorCurve:
    """Let criteria of one kind, which differ in their setting only, choose among the candidates."""
    selected = np.stack([contest.selected(criterion) for criterion in criteria], axis=1)
    n = np.median(contest.n_scored)
    never = []
    for column in selected.T:
        counts = np.bincount(column, minlength=len(contest.models))
        never.append(tuple(m for m, k in zip(contest.models, counts, strict=True) if k == 0))
    return ErrorCurve(
        tuple(criteria),
        np.array([setting_of(criterion) for criterion in criteria]),
        np.array([kappa_of(criterion, float(n)) for criterion in criteria]),
        contest.truths,
        np.bincount(contest.true, minlength=len(contest.truths)),
        selected != contest.own[:, None],
        contest.true,
        tuple(never),
    )


def setting_of(criterion: Criterion) -> float:
    """The number in a criterion's brackets; nan where it has none."""
    values = list(vars(criterion).values())
    return float(values[0]) if values else np.nan


def kappa_of(criterion: Criterion, n: float) -> float:
    """Nats per parameter for a learner with n trials; nan for criteria without a price."""
    return float(criterion.price(np.array([n]))[0]) if criterion.priced else np.nan


def selected_counts(contest: Contest, criterion: Criterion) -> Ints:
    """Learners of each true model who are given each candidate: [truth, model]."""
    counts = np.zeros((len(contest.truths), len(contest.models)), np.int64)
    np.add.at(counts, (contest.true, contest.selected(criterion)), 1)
    return counts


def confusion_table(contest: Contest, criterion: Criterion) -> pl.DataFrame:
    """How often each model is selected for the learners of each true model."""
    n_models = len(contest.models)
    counts = selected_counts(contest, criterion)
    total = counts.sum(axis=1, keepdims=True)
    table = of("confusion", "calibrate").frame(
        {
            "criterion": criterion.name,
            "setting": setting_of(criterion),
            "true_model": [truth for truth in contest.truths for _ in contest.models],
            "selected_model": list(contest.models) * len(contest.truths),
            "share": (counts / total).reshape(-1),
            "standard_error": standard_error(counts, total).reshape(-1),
            "learners": np.repeat(total.reshape(-1), n_models),
        }
    )
    return table.with_columns(pl.col("setting").fill_nan(None))


def spans(chosen: list[float], grid: list[float]) -> str:
    """Neighbours on the grid as ranges.

    >>> spans([0.1, 0.2, 0.5], [0.1, 0.2, 0.3, 0.5])
    '0.1 to 0.2, 0.5'
    """
    spans: list[list[float]] = []
    last = -2
    for value in chosen:
        place = grid.index(value)
        if place == last + 1 and spans:
            spans[-1].append(value)
        else:
            spans.append([value])
        last = place
    return ", ".join(
        f"{span[0]:g}" if len(span) == 1 else f"{span[0]:g} to {span[-1]:g}" for span in spans
    )


# The constants that a calibration recommends, for ``howlearn select --calibration``.

RECOMMENDATION = "recommendation.json"
FAR = 2.0  # a calibration for half or twice as many trials is worth a note


@dataclass(frozen=True)
class Advice:
    """What a calibration recommends, and for what."""

    folder: Path
    criteria: tuple[Criterion, ...]
    models: tuple[str, ...]
    median_trials: float
    described: list[object] | None = None  # the models with their cells, rules and bounds


def advised(folder: Path) -> Advice:
    """Read the recommendation that ``howlearn calibrate`` left in a folder."""
    refuse_links(folder)
    file = folder / RECOMMENDATION if folder.is_dir() else folder
    try:
        found = read_json(file)
        advice = Advice(
            folder,
            tuple(criterion_named(text) for text in found["criteria"]),
            tuple(map(str, found["models"])),
            float(found["median_trials"]),
            found.get("candidates"),
        )
        if not (advice.criteria and advice.median_trials >= 1):
            raise ValueError
        return advice
    except OSError:
        raise HowlearnError(
            f"there is no {file}: make a calibration with howlearn calibrate, or let one that was "
            "interrupted go on by starting it again"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, HowlearnError):
        raise HowlearnError(f"{file} is not a recommendation of howlearn calibrate") from None


def confusion_tables(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The confusion matrices in a calibration's table, by the text of the criterion."""
    found = {}
    for (name, setting), rows in frame.group_by("criterion", "setting", maintain_order=True):
        text = f"{name}" if setting is None else f"{name}({setting!r})"
        columns = rows.select("true_model", "selected_model", "share", "learners")
        found[repr(criterion_named(text))] = columns
    return found


def confusions(advice: Advice) -> Mapping[str, Known]:
    """The confusion matrices of a calibration, by the text of the criterion."""
    try:
        tables = confusion_tables(read_table(advice.folder, "confusion"))
        return {criterion: _known(rows) for criterion, rows in tables.items()}
    except (pl.exceptions.PolarsError, ValueError, HowlearnError):
        return {}  # an older calibration, or only its recommendation


def _known(rows: pl.DataFrame) -> Known:
    truths = rows["true_model"].unique(maintain_order=True).to_list()
    models = rows["selected_model"].unique(maintain_order=True).to_list()
    counts = (rows["share"] * rows["learners"]).to_numpy().reshape(len(truths), len(models))
    return Known(tuple(truths), tuple(models), Confusion(np.rint(counts)))


def doubts(advice: Advice, n: float, candidates: Sequence[Model]) -> list[str]:
    """Ways in which a calibration is not for these candidates and this number of trials."""
    sentences = []
    names = tuple(model.name for model in candidates)
    if set(names) != set(advice.models):
        sentences.append(
            f"the calibration in {advice.folder} is for other candidates "
            f"({', '.join(advice.models)}); its constants may not suit these"
        )
    elif advice.described and sorted(map(str, advice.described)) != sorted(
        str(model.describe()) for model in candidates
    ):
        sentences.append(
            f"the calibration in {advice.folder} is for candidates of the same names with other "
            "cells, rules or bounds; its constants may not suit these"
        )
    if not 1 / FAR < n / advice.median_trials < FAR:
        sentences.append(
            f"the calibration in {advice.folder} is for {advice.median_trials:g} trials, and "
            f"here there are {n:g}; its constants may not suit them"
        )
    return sentences
