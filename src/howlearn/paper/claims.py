"""What the paper says of its simulations, and what remains of it on correct data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from howlearn.analyses.error_rates import ErrorCurve, Goal, curve, spans
from howlearn.core.arrays import Floats, Ints
from howlearn.models.task import Task
from howlearn.paper.archive import Archive
from howlearn.paper.published import (
    AVERAGE_C,
    CHOSEN_C,
    CHOSEN_N,
    CONSTANTS,
    HORIZONS,
    MODELS,
    TRIALS,
    LearnerFits,
    StoredFits,
)
from howlearn.paper.versions import Version
from howlearn.selection.criteria import AIC, HoldOut, Penalized
from howlearn.selection.criterion import Criterion
from howlearn.selection.select import TIE

# Where exact fits lead to another selection than the authors' stored fits, and why.


BETTER = 1e-6  # nats by which an optimum must be higher to count as another one
TIED = "the two models are tied; the one with fewer parameters, or else the first, is taken"
HIGHER = "the exact optimum is higher than the stored one"
UNDETERMINED = "the trials fitted do not determine some rates, and the stored ones are random"
CLOSE = "the two models are so close that the last digits of their rates decide"
SCHEMA = {
    "true_model": pl.String,
    "file": pl.String,
    "criterion": pl.String,
    "selected_by_stored_fits": pl.String,
    "selected_by_exact_fits": pl.String,
    "higher_by": pl.Float64,
    "reason": pl.String,
}


def differences(
    archive: Archive, version: Version, by: Sequence[Criterion] | None = None
) -> pl.DataFrame:
    """Learners whose selections differ: one row per learner and criterion.

    ``higher_by`` is the larger gain of the exact over the stored optimum, in nats, of the two
    models selected.
    """
    rows = []
    for truth, name in enumerate(MODELS):
        if archive.stored is None:
            break
        stored = archive.stored.of[name]
        place = {file: i for i, file in enumerate(archive.files[name])}
        mine = np.flatnonzero(version.contest.true == truth)[[place[f] for f in stored.files]]
        for criterion in by or criteria():
            rows += _of_criterion(archive.stored, stored, name, criterion, version, mine)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def criteria() -> list[Criterion]:
    """Those of the paper's figures."""
    by_split = [HoldOut(n / TRIALS) for n in HORIZONS]
    return [*by_split, Penalized(CHOSEN_C), Penalized(AVERAGE_C), AIC()]


def stored_scores(stored: StoredFits, of: LearnerFits, criterion: Criterion) -> Floats:
    """The authors' criterion on their fits, larger is better: [learner, model]."""
    if criterion.later:
        return -of.rest[:, :, stored.truncations.index(_n_fitted(criterion))]
    price = float(criterion.price(np.array([float(TRIALS)]))[0])  # pyright: ignore[reportAttributeAccessIssue]
    sizes = np.array([of.estimates[model].shape[2] for model in stored.models])
    return -of.fitted[:, :, stored.truncations.index(TRIALS)] - price * sizes


def _n_fitted(criterion: Criterion) -> int:
    """How many of the paper's trials one of its criteria fits."""
    (share,) = criterion.truncations
    assert isinstance(share, float)
    return round(share * TRIALS)


def by_the_published_rule(score: Floats, models: tuple[str, ...]) -> list[str]:
    """The best model of every learner; of equal ones the first in the authors' list."""
    order = [models.index(name) for name in MODELS]
    return [MODELS[k] for k in np.argmax(score[:, order], axis=1)]


def _of_criterion(
    stored: StoredFits,
    of: LearnerFits,
    truth: str,
    criterion: Criterion,
    version: Version,
    mine: Ints,
) -> list[tuple[object, ...]]:
    contest = version.contest
    theirs = by_the_published_rule(stored_scores(stored, of, criterion), stored.models)
    ours = [contest.models[k] for k in contest.selected(criterion)[mine]]
    score = criterion.scores(contest).score[mine]
    n = _n_fitted(criterion)
    gaps = version.fitted(n)[mine] + of.fitted[:, :, stored.truncations.index(n)]
    undetermined = version.undetermined(n)[mine]
    rows = []
    for i, file in enumerate(of.files):
        if theirs[i] != ours[i]:
            two = [contest.models.index(name) for name in (theirs[i], ours[i])]
            gap = float(gaps[i, two].max())
            tied = bool(np.ptp(score[i, two]) <= TIE)
            reason = _reason(gap, tied, bool(undetermined[i, two].any()))
            rows.append((truth, file, repr(criterion), theirs[i], ours[i], gap, reason))
    return rows


def _reason(gap: float, tied: bool, undetermined: bool) -> str:
    """A tie explains all; otherwise whatever applies to one of the two models."""
    if tied:
        return TIED
    applies = [HIGHER] * (gap > BETTER) + [UNDETERMINED] * undetermined
    return "; ".join(applies) or CLOSE


def wrong_first_rewards(archive: Archive) -> dict[str, float]:
    """What the generator's fault did to the archive's learners, counted."""
    task = Task.load("five-four")
    schedule = task.schedule()
    first = wrong = outside = others_wrong = 0
    for name, study in archive.learners.items():
        model = task.model(name)
        cells = {c: k for k, cell in enumerate(model.partition.cells) for c in cell}  # pyright: ignore[reportAttributeAccessIssue]
        cell_of = np.array([cells[context] for context in study.contexts])
        code = np.array([task.contexts.index(context) for context in study.contexts])
        right = schedule.reward[0, code[study.context], study.action]
        for i in range(len(study)):
            part = slice(int(study.starts[i]), int(study.starts[i + 1]))
            _, places = np.unique(cell_of[study.context[part]], return_index=True)
            off = study.reward[part] != right[part]
            first += len(places)
            wrong += int(off[places].sum())
            outside += int((study.reward[part][places] > 1).sum())
            others_wrong += int(off.sum() - off[places].sum())
    return {
        "first rewards of a cell": first,
        "of them wrong": wrong,
        "of them above 1": outside,
        "other wrong rewards": others_wrong,
    }


PENALIZED, HOLDOUT = Penalized(CHOSEN_C), HoldOut(CHOSEN_N / TRIALS)
CLEARLY = 2.0  # standard errors
FINER = tuple(round(0.005 + 0.00025 * k, 5) for k in range(61))


@dataclass(frozen=True)
class Measured:
    """A number with its Monte-Carlo standard error, or a setting with those as good as it."""

    value: float
    standard_error: float | None = None
    as_good: str | None = None

    def __str__(self) -> str:
        if self.standard_error is not None:
            return f"{self.value:.3f} ± {self.standard_error:.3f}"
        if self.as_good is not None:
            if self.as_good == f"{self.value:g}":
                return f"{self.value:g} (no other is as good)"
            return f"{self.value:g} (not distinguishable: {self.as_good})"
        return f"{self.value:g}"


@dataclass(frozen=True)
class Claim:
    """One statement: the paper's number, the same with the paper's fault, and on correct data."""

    statement: str
    published: float
    with_fault: Measured
    corrected: Measured
    at_least: float | None = None  # what the paper says the number exceeds
    at_most: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the paper's words hold on correct data."""
        error = self.corrected.standard_error
        limit = self.at_least if self.at_least is not None else self.at_most
        if limit is None or error is None:
            return ""
        ahead = self.corrected.value - limit
        if self.at_most is not None:
            ahead = -ahead
        words = f"{'more' if self.at_least is not None else 'less'} than {limit:z.0%}"
        if ahead > CLEARLY * error:
            return f"holds ({words})"
        if ahead < -CLEARLY * error:
            return f"does not hold ({words})"
        return f"cannot be decided ({words})"


def claims(with_fault: Version, corrected: Version) -> list[Claim]:
    """All of them, from as many learners as the versions have."""

    def claim(
        statement: str,
        published: float,
        measure: Callable[[Version], Measured],
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> Claim:
        both = measure(with_fault), measure(corrected)
        return Claim(statement, published, *both, at_least, at_most)

    one, exceptions = "OnePerItem", ["ByShapeExc", "ByPatternExc"]
    penalized, holdout = "penalised likelihood (c=0.012)", "hold-out (N=250)"
    others = "largest error for the other five models"
    mean = "mean error over the six models"
    return [
        claim(f"{penalized} recovers {one}", 0.68,
              lambda v: _share(v, PENALIZED, [one], one), at_least=0.6),
        claim(f"{holdout} recovers {one}", 0.18, lambda v: _share(v, HOLDOUT, [one], one)),
        claim(f"{others}, {penalized}", 0.34,
              lambda v: _largest_but(v, PENALIZED, one), at_most=0.35),
        claim(f"{others}, {holdout}", 0.31,
              lambda v: _largest_but(v, HOLDOUT, one), at_most=0.35),
        claim(f"{one} is selected for learners of the two models with exceptions, {penalized}",
              0.305, lambda v: _share(v, PENALIZED, exceptions, one)),
        claim(f"ByShapeExc is selected for learners of {one}, {holdout}", 0.43,
              lambda v: _share(v, HOLDOUT, [one], "ByShapeExc")),
        claim(f"{mean}, {penalized}", 0.193, lambda v: _mean(v, PENALIZED)),
        claim(f"{mean}, {holdout}", 0.258, lambda v: _mean(v, HOLDOUT)),
        claim("largest error at the c that makes it smallest, for the same learners", 0.35,
              lambda v: _smallest(v.penalized)),
        claim("largest error at the c that makes it smallest, in finer steps", 0.35,
              lambda v: _smallest(_finer(v))),
        claim("c with the smallest largest error", 0.013, lambda v: _best(v.penalized, "maximum")),
        claim("c with the smallest largest error, in finer steps", 0.013,
              lambda v: _best(_finer(v), "maximum")),
        claim("c with the smallest mean error", 0.023, lambda v: _best(v.penalized, "average")),
        claim("c with the smallest mean error after smoothing (LOESS)", 0.053,
              lambda v: Measured(CONSTANTS[int(np.argmin(v.smooth.mean(axis=0)))])),
        claim("N/n with the smallest largest error", 0.5, lambda v: _best(v.holdout, "maximum")),
        claim("N/n with the smallest mean error", 0.4, lambda v: _best(v.holdout, "average")),
    ]  # fmt: skip


def frame(found: list[Claim], learners: int, seed: int) -> pl.DataFrame:
    """One row per claim."""

    def columns(name: str, measured: list[Measured]) -> dict[str, list[float | str | None]]:
        return {
            name: [m.value for m in measured],
            f"{name}_standard_error": [m.standard_error for m in measured],
            f"{name}_as_good": [m.as_good for m in measured],
        }

    return pl.DataFrame(
        {
            "claim": [claim.statement for claim in found],
            "published": [claim.published for claim in found],
            **columns("with_fault", [claim.with_fault for claim in found]),
            **columns("corrected", [claim.corrected for claim in found]),
            "verdict": [claim.verdict or None for claim in found],
            "learners_per_model": learners,
            "seed": seed,
        }
    )


def _share(
    version: Version, criterion: Penalized | HoldOut, truths: list[str], selected: str
) -> Measured:
    """How often a model is selected for learners of some true models, each counting the same."""
    rows = version.matrix(criterion).filter(
        pl.col("true_model").is_in(truths), pl.col("selected_model") == selected
    )
    error = float(np.sqrt(np.sum(rows["standard_error"].to_numpy() ** 2)) / len(truths))
    return Measured(float(rows["share"].to_numpy().mean()), error)


def _largest_but(version: Version, criterion: Penalized | HoldOut, but: str) -> Measured:
    found = curve(version.contest, [criterion])
    others = [k for k, name in enumerate(found.truths) if name != but]
    worst = max(others, key=lambda k: found.error[k, 0])
    return Measured(float(found.error[worst, 0]), float(found.standard_error[worst, 0]))


def _mean(version: Version, criterion: Penalized | HoldOut) -> Measured:
    found = curve(version.contest, [criterion])
    return Measured(float(found.over_models("average")[0]), float(found.spread("average")[0]))


def _smallest(found: ErrorCurve) -> Measured:
    best = found.best("maximum")
    return Measured(float(found.over_models("maximum")[best]), float(found.spread("maximum")[best]))


def _best(found: ErrorCurve, goal: Goal) -> Measured:
    settings = found.settings.tolist()
    as_good = found.settings[found.as_good(goal)].tolist()
    return Measured(settings[found.best(goal)], as_good=spans(as_good, settings))


def _finer(version: Version) -> ErrorCurve:
    """Errors by c on a finer grid than the paper's: where curves cross, its steps are too wide."""
    return curve(version.contest, [Penalized(c) for c in FINER])
