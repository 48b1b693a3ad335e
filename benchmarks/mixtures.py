"""Exp4: fitting θ once the experts are replayed, replaying them, and fitting all jointly."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from benchmarks.report import Row, duration
from benchmarks.timing import least
from howlearn import Task, fit, simulate
from howlearn.fitting.replay import advisor_for
from howlearn.fitting.settings import records_of
from howlearn.models import Exp4, Expert
from howlearn.models.mixture import WeighedTrials

EXPERTS = ("OneForAll", "ByPattern", "ByPatternExc")
TRIALS, BAR = 500, 1e-3


def run(quick: bool) -> list[Row]:
    """Three experts, 500 trials, per learner; one thread."""
    learners = 20 if quick else 200
    task = Task.load("five-four")
    rows = []
    for form in ("gain", "loss"):
        model = Exp4([Expert(task.model(n), {"eta": 0.05}) for n in EXPERTS], form=form)
        study = simulate(task, model, {"theta": 0.1}, learners, TRIALS, seed=1)
        advisor = advisor_for(model, study)
        records = [records_of(study.part(i, i + 1)) for i in range(learners)]

        def replay(records=records, advisor=advisor, model=model, study=study) -> list[np.ndarray]:
            values = [expert.values(study.actions) for expert in model.experts]
            pairs = [*zip(advisor.experts, values, strict=True)]
            return [np.stack([a.chosen(r, v) for a, v in pairs], axis=1) for r in records]

        advice = replay()
        trials = advisor.trials(records_of(study))
        together, marks = np.concatenate(advice), np.full((learners, 1), TRIALS)
        ours = partial(model.best, together, trials, marks, marks)
        few = advice[: max(2, learners // 20)]
        each = [
            trials._replace(feedback=trials.feedback[i * TRIALS :][:TRIALS])
            for i in range(len(few))
        ]

        def plain(few=few, each=each) -> None:
            for one, mine in zip(few, each, strict=True):
                minimize_scalar(
                    lambda rate, one=one, mine=mine: -_likelihood(one, mine, rate),
                    bounds=(0.0, 1.0), method="bounded",
                )  # fmt: skip

        seconds, theirs, replayed = least([ours, plain, replay], 5)
        seconds, theirs = seconds / learners, theirs / len(few)
        rows.append(
            Row(
                f"θ of one learner, three experts replayed, {form} form",
                duration(seconds),
                f"≤ {duration(BAR)}",
                f"plain numpy with scipy: {theirs / seconds:,.0f}×",
                seconds <= BAR,
            )
        )
        rows.append(Row("replaying the three experts", duration(replayed / learners)))
    joint = Exp4([task.model(name) for name in EXPERTS], source="joint")
    few = study.part(0, 2 if quick else 10)
    (seconds,) = least([lambda: fit(few, [joint], threads=1)], 1)
    rows.append(Row("joint fit of θ and seven rates, one learner", duration(seconds / len(few))))
    return rows


def _likelihood(advice: np.ndarray, trials: WeighedTrials, rate: float) -> float:
    """What one would write: trial by trial, in numpy."""
    h, total, xi = np.zeros(advice.shape[1]), 0.0, np.exp(advice)
    for t in range(len(xi)):
        q = np.exp(h - h.max())
        q /= q.sum()
        pi = q @ xi[t]
        total += np.log(pi)
        h += rate * trials.feedback[t] * xi[t] / pi
    return total
