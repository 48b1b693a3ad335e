"""Where exact fits lead to another selection than the authors' stored fits, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from howlearn.core.arrays import Floats, Ints
from howlearn.paper.archive import Archive
from howlearn.paper.published import AVERAGE_C, CHOSEN_C, HORIZONS, MODELS, TRIALS
from howlearn.paper.stored import LearnerFits, StoredFits
from howlearn.paper.versions import Version
from howlearn.selection.criteria import AIC, HoldOut, Penalized
from howlearn.selection.criterion import Criterion
from howlearn.selection.select import TIE

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
    """Learners for whom the selections differ: one row per learner and criterion.

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
    from howlearn.models.task import Task

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
