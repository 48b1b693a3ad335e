"""What a calibration found: tables, and the constants to use."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.calibration.contest import Contest
from howlearn.calibration.contests import left_out
from howlearn.calibration.errors import GOALS, Curve, Goal, confusion, curve, kappa_of
from howlearn.calibration.recovery import recovery
from howlearn.selection.criteria import AIC, BIC, HoldOut, Penalized
from howlearn.selection.criterion import Criterion

SMALLEST, LARGEST, STEPS = 0.02, 12.0, 60  # nats per parameter: from hardly a penalty to twice BIC


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """Errors by constant, the constants with the smallest errors, and what they do to others.

    ``contest`` is of the learners who chose the constants, ``fresh`` of those who test them.
    """

    contest: Contest
    fresh: Contest
    estimates: pl.DataFrame
    constants: tuple[float, ...]
    goal: Goal = "maximum"
    slope: pl.DataFrame = field(default_factory=pl.DataFrame)

    def __repr__(self) -> str:
        chosen = " and ".join(repr(criterion) for criterion in self.criteria)
        return (
            f"Calibration on {len(self.contest):,} simulated learners: {chosen}; see .errors, "
            ".settings, .confusion, .recovery, .recommendation"
        )

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """By penalty and by split, then AIC and BIC, which have no setting."""
        return (
            curve(self.contest, [Penalized(c) for c in self.constants]),
            *(
                [curve(self.contest, [HoldOut(split) for split in self.contest.splits])]
                if self.contest.splits
                else []
            ),
            curve(self.contest, [AIC()]),
            curve(self.contest, [BIC()]),
        )

    @property
    def tuned(self) -> tuple[Curve, ...]:
        """The curves with a constant to choose, if only among one."""
        return tuple(curve for curve in self.curves if not np.isnan(curve.settings).any())

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria with their chosen constants."""
        return tuple(curve.criteria[curve.best(self.goal)] for curve in self.tuned)

    @cached_property
    def errors(self) -> pl.DataFrame:
        """One row per criterion, setting and true model."""
        return pl.concat([curve.frame() for curve in self.curves])

    @cached_property
    def settings(self) -> pl.DataFrame:
        """One row per criterion and setting."""
        return pl.concat([curve.settings_frame() for curve in self.curves])

    @cached_property
    def confusion(self) -> pl.DataFrame:
        """Which model is selected for fresh learners of each model, at the chosen constants."""
        chosen = [curve.criteria[curve.best(goal)] for curve in self.tuned for goal in GOALS]
        unique = list(dict.fromkeys([*chosen, AIC(), BIC()]))
        return pl.concat([confusion(self.fresh, criterion) for criterion in unique])

    @cached_property
    def recovery(self) -> pl.DataFrame:
        """One row per true model, cell, parameter and share of the trials that was fitted."""
        return recovery(self.estimates)

    @property
    def pooled_slope(self) -> pl.DataFrame:
        """What dimension jump and slope heuristic say of all learners together."""
        return self.slope.filter(pl.col("learner").is_null()).drop("learner")

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know besides."""
        both = (self.contest, self.fresh)
        return left_out(sum(each.n_lost for each in both), sum(map(len, both)))

    @cached_property
    def marks(self) -> dict[str, float]:
        """AIC and BIC as constants c, at the median number of trials; none with one trial."""
        n = float(np.median(self.contest.n_scored))
        if n <= 1:
            return {}
        return {
            criterion.name.upper(): float(kappa_of(criterion, n) / np.log(n) ** 2)
            for criterion in (AIC(), BIC())
        }

    @cached_property
    def recommendation(self) -> dict[str, Any]:
        """The constants, how sure they are, and their errors for fresh learners."""
        found: dict[str, Any] = {
            "goal": self.goal,
            "criteria": [repr(criterion) for criterion in self.criteria],
            "models": list(self.contest.models),
            "learners_per_model": int(np.bincount(self.contest.true).min()),
            "median_trials": float(np.median(self.contest.n_scored)),
            **({"not_fitted": self.contest.n_lost} if self.contest.n_lost else {}),
        }
        for tuned in self.tuned:
            found[tuned.name] = {goal: self._chosen(tuned, goal) for goal in GOALS}
        for fixed in (AIC(), BIC()):
            found[fixed.name] = {
                "c": self.marks.get(fixed.name.upper()),
                **self._fresh_errors(fixed),
            }
        if len(self.slope):
            found["slope"] = self.pooled_slope.to_dicts()
        return found

    def _chosen(self, tuned: Curve, goal: Goal) -> dict[str, Any]:
        best = tuned.best(goal)
        as_good = tuned.settings[tuned.as_good(goal)]
        kappa = tuned.kappa[best]
        return {
            "criterion": repr(tuned.criteria[best]),
            "setting": float(tuned.settings[best]),
            **({} if np.isnan(kappa) else {"kappa": float(kappa)}),
            "error": float(tuned.over_models(goal)[best]),
            "standard_error": float(tuned.spread(goal)[best]),
            "worst_model": tuned.truths[int(np.argmax(tuned.error[:, best]))],
            "not_distinguishable": [float(setting) for setting in as_good],
            "never_selected": list(tuned.never_selected[best]),
            "fresh": self._fresh_errors(tuned.criteria[best]),
        }

    def _fresh_errors(self, criterion: Criterion) -> dict[str, Any]:
        fresh = curve(self.fresh, [criterion])
        return {
            "mean_error": float(fresh.over_models("average")[0]),
            "mean_standard_error": float(fresh.spread("average")[0]),
            "max_error": float(fresh.over_models("maximum")[0]),
            "max_standard_error": float(fresh.spread("maximum")[0]),
            "worst_model": fresh.truths[int(np.argmax(fresh.error[:, 0]))],
            "errors": dict(zip(fresh.truths, fresh.error[:, 0].tolist(), strict=True)),
        }


def constants_for(n_scored: NDArray[np.int64]) -> tuple[float, ...]:
    """Constants c from a weak to a strong penalty at the median number of trials.

    >>> constants_for(np.array([500]))[::20]
    (0.000518, 0.00453, 0.0396)
    """
    log_n = max(float(np.log(np.median(n_scored))), np.log(2.0))
    kappas = np.geomspace(SMALLEST, LARGEST, STEPS)
    return tuple(dict.fromkeys(float(f"{kappa / log_n**2:.3g}") for kappa in kappas))
