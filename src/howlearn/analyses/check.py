"""``check``: do the selected models behave like these people? Checks that can say no.

Doubles of every learner follow its selected model at its estimates. How far a signature of the
learners lies from that of their doubles is judged by how far doubles lie from doubles of their
own, who follow the model refitted to them: fitting brings learners and doubles equally close to
their model, so that p-values are calibrated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howlearn.analyses.doubles import Doubles, doubles_again, doubles_of, sampled
from howlearn.analyses.foretold import absolute_fit
from howlearn.analyses.signatures import Record, Signatures
from howlearn.core.arrays import Floats, Ints, special
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.core.text import Listing, Sentence, listed, many, p_value
from howlearn.fitting.fit import guarded_fit
from howlearn.fitting.fits import ALL
from howlearn.fitting.unfittable import Guard
from howlearn.models.model import Model
from howlearn.results.analysis import MOST_ROWS, Analysis
from howlearn.results.chunk import Wanted
from howlearn.results.manifest import ABSOLUTE, CHECK, completeness_of
from howlearn.results.results import Results
from howlearn.results.select_into import manifest_in_memory, write_selection
from howlearn.runs.cluster import engine_of
from howlearn.runs.folder import Format, Start, check_format
from howlearn.runs.parts import Progress
from howlearn.selection.criterion import Criterion
from howlearn.selection.select import WITHIN, asked, select_in_memory
from howlearn.selection.tables import condition_columns

if TYPE_CHECKING:
    from distributed import Client

STREAM, AGAIN = 26, 27  # of random numbers that nobody else uses
DOUBLES, LEARNERS = 40, 200  # of every learner; learners who have some
MOST = 500  # doubles of a learner
FOLLOWED = 2  # doubles of every double
LEVEL = 0.05
DIGITS = 5  # of what a manifest keeps of the table
NAMED = 3  # signatures in a sentence
QUICK = {"doubles": 8, "learners": 60}  # within ``howlearn select``, where fits are quick
ALTOGETHER = 160  # doubles of all learners, at least: with fewer, the tails of p-values are rough
SLOW = {"doubles": 4, "learners": 20}  # where they are not
LARGEST = 20_000  # sequences of a selection that is checked at once
FLOOR = 0.25  # of the variance of doubles, below which that of learners is not taken to be


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class Check(Analysis):
    """Signatures of the learners beside those of their doubles.

    ``checks`` has one row per signature for the study, ``learners`` one per learner and signature.
    """

    command = "check"
    ATTRIBUTES = {"checks-learners": "learners"}  # noqa: RUF012
    CHARTS = ("checks",)

    checks: pl.DataFrame
    learners: pl.DataFrame
    doubles: int
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Check: {' '.join(self.sentences)}"

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        return {"checks": self.checks} if len(self.checks) else {}

    @property
    def failing(self) -> pl.DataFrame:
        """The signatures that the models do not reproduce, the clearest first."""
        return self.checks.filter("fails").sort("corrected_p", maintain_order=True)

    @property
    def fails(self) -> bool:
        """Whether the models do not behave like these people."""
        return len(self.failing) > 0

    @property
    def answer(self) -> str:
        """In words, shortly."""
        if self.checks.is_empty():
            return "Whether the models behave like these people cannot be checked."
        if not self.fails and self.doubles < DOUBLES:
            return (
                "A quick look finds no difference between simulated learners and these people in "
                f"{many(len(self.checks), 'check')}; howlearn check looks closely."
            )
        if not self.fails:
            return f"Simulated learners behave like these people in all {len(self.checks)} checks."
        worst = self.failing.head(NAMED)
        named = [
            f"{name} ({observed:.2f}, simulated {expected:.2f}, {p_value(p)})"
            for name, observed, expected, p in worst.select(
                "signature", "observed", "expected", "corrected_p"
            ).iter_rows()
        ]
        left = len(self.failing) - len(worst)
        named += [f"{left} more"] if left else []
        return (
            f"Simulated learners differ from these people in {len(self.failing)} of "
            f"{len(self.checks)} checks: {listed(named)}."
        )

    def described(self) -> dict[str, Any]:
        """What the manifest of the selection tells of it."""
        return {
            "fails": self.fails,
            "signatures": self.failing["signature"].to_list(),
            "checked": len(self.checks),
            "doubles": self.doubles,
            "sentence": self.answer,
            "table": [
                {k: round(v, DIGITS) if isinstance(v, float) else v for k, v in row.items()}
                for row in self.checks.to_dicts()
            ],
        }

    def summary(self) -> Iterator[Listing | Sentence]:
        rows = [
            (
                row["signature"], f"{row['observed']:.3f}", f"{row['expected']:.3f}",
                p_value(row["p"]), p_value(row["corrected_p"]), "fails" if row["fails"] else "",
            )
            for row in self.checks.sort("p", maintain_order=True).iter_rows(named=True)
        ]  # fmt: skip
        heads = ("signature", "learners", "doubles", "p", "p, corrected", "")
        left = len(rows) - MOST_ROWS
        legend = f"The {MOST_ROWS} smallest p; {left} more: checks.csv." if left > 0 else ""
        yield Listing(
            "Do the models behave like these people?", heads, rows[:MOST_ROWS], legend=legend
        )
        yield Sentence(self.answer)
        n = self.learners.filter("fails")["learner"].n_unique()
        if len(self.learners):
            every = many(self.learners["learner"].n_unique(), "learner")
            text = f"Learners whose own model fails a check: {n:,} of {every}."
            yield Sentence(text)


def check(
    source: Results | Path | str,
    doubles: int = DOUBLES,
    signatures: Sequence[str] = (),
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    *,
    learners: int = LEARNERS,
) -> Check:
    """Whether doubles of the learners behave as the learners do, in named signatures.

    ``signatures`` are further ones: expressions of the columns trial, context, action, reward,
    last_action_here, last_reward_here, right, load and the features, such as
    ``"action == 'A' given trial > 100"``.

    >>> import howlearn as hl
    >>> task = hl.Task.load("shepard-1")
    >>> study = hl.simulate(task, "OneForAll", {"eta": 0.1}, learners=2, trials=40, seed=1)
    >>> results = hl.select(study, task.models, ["aic"])
    >>> hl.check(results, doubles=5).checks.columns[:4]
    ['signature', 'observed', 'expected', 'p']
    """
    if not 2 <= doubles <= MOST:
        raise HowlearnError(f"a check needs 2 to {MOST} doubles of every learner, got {doubles}")
    results = Results.of(source)
    who = sampled(results.study.learners, learners)
    remarks = []
    if len(who) < len(results.study):
        remarks.append(f"{many(len(who), 'sequence')} of {len(results.study):,}, picked evenly")
    remarks += results.stand_ins(who)
    by = results.options.get("by") or condition_columns(results.study.labels)
    found = Signatures(results.study.take(who), results.task, by, signatures)
    made, failed = doubles_of(results, who, doubles, (seed, STREAM))
    for model, (why, n) in failed.items():
        remarks.append(f"{n:,} sequences are left out because {model} cannot be simulated: {why}")
    values = _Values(found, len(who), doubles)
    for number, some in enumerate(made):
        _doubled(results, found, some, values, (seed, threads))
        if progress:
            progress(number + 1, len(made))
    return values.judged(results, who, tuple(remarks))


def _doubled(
    results: Results, found: Signatures, some: Doubles, values: _Values, how: tuple[int, int | None]
) -> None:
    """Signatures of doubles who follow one model, and of their own doubles."""
    starts = found.study.starts[:-1]
    model = results.models[some.model]
    values.first[:, some.of, some.again] = found.of(Record(some.study, some.original(starts)))
    guard = Guard(shortest=1)
    fits = guarded_fit(guard, some.study, [model], [ALL], how[1])
    kept = np.arange(len(some.of)) if guard.kept is None else guard.kept
    if not len(kept):
        return
    few = Doubles(some.model, some.study, some.of[kept], some.again[kept], some.stage)
    theta = fits.of[model.name].theta[:, 0]
    seeds = np.array([how[0], some.model, AGAIN])
    try:
        theirs = doubles_again(few, theta, FOLLOWED, seeds)
    except HowlearnError:  # where a double's estimates cannot be played
        return
    mean = found.of(Record(theirs.study, theirs.original(starts)))
    mean = mean.reshape(len(mean), len(kept), FOLLOWED).mean(axis=2)
    values.second[:, few.of, few.again] = mean


class _Values:
    """Signatures of doubles, [signature, sequence, double], and of doubles of doubles."""

    def __init__(self, found: Signatures, n: int, doubles: int) -> None:
        self.found, self.doubles = found, doubles
        shape = (len(found.names), n, doubles)
        self.first, self.second = np.full(shape, np.nan), np.full(shape, np.nan)

    def judged(self, results: Results, who: Ints, remarks: tuple[str, ...]) -> Check:
        """The tables."""
        observed = self.found.observed
        gap = self.first - self.second
        n = np.isfinite(gap).sum(axis=2)
        usable = np.isfinite(observed) & (n >= 2)
        expected, spread = _moments(self.first)
        bias, own = _moments(gap)
        # Learners are compared with the mean of all doubles, a double with that of a few, which
        # scatters more. Only half of that is taken off: that the model was selected, and not only
        # fitted, scatters learners more than doubles.
        n = np.maximum(n, 2)
        less = np.where(usable, (1 / FOLLOWED - 1 / n) / 2 * spread, 0.0).sum(axis=1)
        own = np.where(usable, own, 0.0)
        total = own.sum(axis=1)
        ratio = np.maximum(1 - less / np.where(total > 0, total, 1.0), FLOOR)
        variance = ratio[:, None] * own + own / n
        apart = np.where(usable, observed - expected - bias, 0.0)
        count = usable.sum(axis=1)
        freedom = np.where(usable, n - 1, 0).sum(axis=1)
        p = _two_sided(apart.sum(axis=1), variance.sum(axis=1), freedom)
        there = np.flatnonzero(count > 0)
        each = np.maximum(count, 1)
        corrected = holm(p[there])
        checks = of("checks", "check").frame(
            {
                "signature": [self.found.names[k] for k in there],
                "observed": (np.where(usable, observed, 0.0).sum(axis=1) / each)[there],
                "expected": (np.where(usable, expected + bias, 0.0).sum(axis=1) / each)[there],
                "p": p[there],
                "corrected_p": corrected,
                "fails": corrected < LEVEL,
                "learners": count[there],
            }
        )
        alone = _two_sided(apart, variance, np.where(usable, n - 1, 0))
        learners = self._learners(results, who, usable, (observed, expected + bias, alone))
        return Check(checks, learners, self.doubles, remarks)

    def _learners(
        self, results: Results, who: Ints, usable: Any, found: tuple[Floats, Floats, Floats]
    ) -> pl.DataFrame:
        place, k = np.nonzero(usable.T)
        observed, expected, p = (each[k, place] for each in found)
        often = np.bincount(place, minlength=len(who))[place]
        corrected = np.minimum(p * often, 1.0)
        frame = of("checks-learners", "check").frame(
            {
                "signature": pl.Series(self.found.names, dtype=pl.String).gather(k),
                "observed": observed,
                "expected": expected,
                "p": p,
                "corrected_p": corrected,
                "fails": corrected < LEVEL,
            }
        )
        return results.study.labels[who[place]].hstack(frame.get_columns())


def _moments(values: Floats) -> tuple[Floats, Floats]:
    """Mean and variance over the last axis, of what is there."""
    there = np.isfinite(values)
    n = there.sum(axis=-1)
    mean = np.where(there, values, 0.0).sum(axis=-1) / np.maximum(n, 1)
    off = np.where(there, values - mean[..., None], 0.0)
    return mean, (off**2).sum(axis=-1) / np.maximum(n - 1, 1)


def _two_sided(apart: Floats, variance: Floats, freedom: Ints) -> Floats:
    """P-values of Student's t; 1 where nothing varies and nothing differs, 0 where it does."""
    safe = np.where(variance > 0, variance, 1.0)
    p = 2 * special().stdtr(np.maximum(freedom, 1), -np.abs(apart) / np.sqrt(safe))
    return np.where(variance > 0, p, np.where(np.abs(apart) > 1e-9, 0.0, 1.0))


def holm(p: Floats) -> Floats:
    """P-values corrected for their number, by Holm's method.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty(len(p))
    found[order] = np.minimum(stepped, 1.0)
    return found


def bounded(results: Results) -> Mapping[str, int]:
    """How many doubles of how many learners take no longer than the selection did, about."""
    quick = all(results.models[k].way in ("cells", "counts", "table") for k in set(results.chosen))
    n = len(set(results.study.learners))
    if quick:
        return {**QUICK, "doubles": max(QUICK["doubles"], -(-ALTOGETHER // n))}
    return {**SLOW, "learners": max(2, min(SLOW["learners"], n // 2))}


def not_checked(why: str) -> dict[str, dict[str, Any]]:
    """What is said of the fit where nobody looked."""
    return {CHECK: {"sentence": f"Whether the models fit was not checked ({why})."}}


def fit_of_selection(
    results: Results, seed: int = 0, threads: int | None = None
) -> dict[str, dict[str, Any]]:
    """What ``howlearn select`` says of the fit: how well choices are foretold, and a check."""
    if results.manifest["sequences"] > LARGEST:
        left_out = "The study is large, so the fit was not checked here: use howlearn check."
        return {CHECK: {"sentence": left_out}}
    try:
        told = absolute_fit(results, seed=seed)
        limits: Mapping[str, Any] = bounded(results)
        found = check(results, seed=seed, threads=threads, **limits)
    except HowlearnError as error:
        return {CHECK: {"sentence": f"Whether the models fit was not checked: {error}."}}
    absolute = {} if told is None else {ABSOLUTE: told.described()}
    return {**absolute, CHECK: found.described()}


def _check_asked(study: object, format: str, folder: object, needs_folder: bool) -> None:
    """Refuse what cannot be meant, before any work is done."""
    check_format(format)
    if not isinstance(study, Study):
        raise HowlearnError(f"select needs a study (from howlearn.read), got {study!r:.60}")
    if folder is None and needs_folder:
        raise HowlearnError(
            "a Dask client, predictions and latents need a folder for the tables: give folder="
        )


def select(
    study: Study,
    models: Sequence[Model | str] | None = None,
    criteria: Sequence[Criterion | str] | None = None,
    within: float = WITHIN,
    threads: int | None = None,
    progress: Progress | None = None,
    intervals: float | None = None,
    *,
    folder: Path | str | None = None,
    predictions: bool = False,
    latents: bool = False,
    format: Format = "csv",
    fresh: bool = False,
    client: Client | None = None,
    check: bool = True,
) -> Results:
    """Fit every model to every learner, and let every criterion choose.

    Without ``models`` the candidates are built from the contexts and their features. Models and
    criteria may be given as the texts that the command line takes, such as ``"q-learning+lapse"``
    and ``"holdout(split=0.3)"``; without any, the criteria are population (evidence with fewer than
    ten learners) and the paper's two. ``intervals`` is the level of those in ``estimates``; by
    default it is 0.95 for models that are fitted cell by cell, where they cost next to nothing.

    Then a few doubles of the learners, who follow the selected models, are compared with them, as
    ``howlearn.check`` does with more. Where they behave otherwise, the verdict "clear" becomes
    "clear among candidates that do not fit"; ``sentences`` say what was found. ``check=False``
    leaves this out; it takes about as long as the selection.

    A learner who cannot be fitted has a row that says so in ``selection`` and ``learners``, and in
    ``unfitted``; if nobody can be fitted, that is an error.

    With a ``folder`` the work is done part by part into it, for studies that take long or are
    large. The same call goes on where one that was stopped left off; another one is refused,
    unless ``fresh`` replaces what is there. With a Dask ``client`` its workers do the parts. The
    tables, of which ``predictions`` and ``latents`` ask for more, then lie in the folder.

    >>> import howlearn as hl, tempfile
    >>> task = hl.Task.load("five-four")
    >>> study = hl.simulate(task, "ByPattern", {"eta": 0.05}, learners=2, trials=400, seed=1)
    >>> hl.select(study, task.models).selection["model"].unique().to_list()
    ['ByPattern']
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hl.select(study, task.models, ["aic"], folder=folder).selection["model"].to_list()
    ['ByPattern', 'ByPattern']
    """
    _check_asked(study, format, folder, client is not None or predictions or latents)
    models, chosen = asked(study, models, criteria)
    how = (within, threads, progress, intervals)
    if folder is not None:
        wanted = Wanted(models, chosen, within, intervals, predictions or latents, latents)
        manifest = manifest_in_memory(study, wanted, predictions, format)
        start = Start(fresh, threads, engine_of(client, threads))
        before = {} if fresh else completeness_of(Path(folder))
        found = write_selection(Path(folder), study, wanted, manifest, format, start, progress)
    else:
        found, before = Results.of(select_in_memory(study, models, chosen, *how)), {}
    told = fit_of_selection(found, threads=threads) if check else not_checked("check=False")
    return replace(found.with_fit({**before, **told}), usual=criteria is None)
