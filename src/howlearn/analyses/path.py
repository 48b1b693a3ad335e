"""``path``: what is selected along the price of a parameter, the largest rate, and the prior."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path as FilePath

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.analyses import path_tables
from howlearn.analyses.path_result import Path
from howlearn.analyses.path_tables import AVERAGED, intervals, under_priors
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import MAX_RATE
from howlearn.core.study import Study
from howlearn.fitting.fit import Progress, check_stops, fit, guarded_fit
from howlearn.fitting.fit import check as check_study
from howlearn.fitting.fits import ALL, Fits, Stop, distinct
from howlearn.fitting.unfittable import Guard
from howlearn.fitting.ways import way_of
from howlearn.models.model import Model
from howlearn.models.names import among, models_of
from howlearn.models.partition_model import candidates, check_contexts
from howlearn.runs.folder import START, Format, RunFolder, Start
from howlearn.runs.parts import Memory, Part, Store, Tables, Work
from howlearn.selection.criteria import defaults, prices
from howlearn.selection.criterion import Criterion
from howlearn.selection.rate_grid import on_grid
from howlearn.selection.select import check_criteria, winners
from howlearn.selection.tables import OTHER

# The same candidates with another largest learning rate.


MAX_RATES = (0.5, 1.0, 2.0, 5.0, 20.0)


def check_bounds(bounds: Sequence[float]) -> tuple[float, ...]:
    """Largest rates, ascending, each once."""
    for bound in bounds:
        if not 0 < bound <= MAX_RATE:
            raise HowlearnError(
                f"a largest rate must be above 0 and at most {MAX_RATE:g}, got {bound:g}"
            )
    return tuple(sorted({float(bound) for bound in bounds}))


MAX_KAPPA = 10.0  # nats per parameter
BLOCK = 500  # learners judged at once
LEARNERS = "path-learners"  # the table that every stage has rows of

Stage = Callable[[Progress], pl.DataFrame]  # a part of the work: rows for every learner


def path(
    study: Study,
    models: Sequence[Model | str] | None = None,
    max_rates: Sequence[float] = MAX_RATES,
    criteria: Sequence[Criterion | str] | None = None,
    max_kappa: float = MAX_KAPPA,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """See how far what is selected depends on what one has to choose beforehand.

    κ, the price of a parameter in nats, from 0 to ``max_kappa``: exactly, by the prices at which a
    learner's selection changes. The largest learning rate: every partition model is fitted again
    for each of ``max_rates`` and judged by ``criteria``. The prior of the evidence: how far the
    rates of a learner's cells lie apart, whether they have anything in common, and what the
    population says. Without ``criteria`` they are penalized(c=0.012), aic, bic, evidence and, for
    ten learners or more, population.

    >>> import howlearn as hl
    >>> task = hl.Task.load("shepard-1")
    >>> study = hl.simulate(task, "ByFeature1", {"eta": 0.1}, learners=3, trials=200, seed=1)
    >>> found = hl.path(study, task.models, max_rates=[1.0], criteria=["aic", "bic"])
    >>> found.marks["criterion", "model"].rows()[1:]
    [('aic', 'ByFeature1'), ('bic', 'ByFeature1')]
    """
    work = PathWork(study, models, max_rates, criteria, max_kappa, threads)
    return work.done(Memory(), progress)


class PathWork:
    """What there is to do, in stages that can be done one by one."""

    def __init__(
        self,
        study: Study,
        models: Sequence[Model | str] | None,
        max_rates: Sequence[float],
        criteria: Sequence[Criterion | str] | None,
        max_kappa: float,
        threads: int | None,
    ) -> None:
        self.guard = Guard()
        study = self.guard.long_enough(study.without_excluded())
        if self.guard.why and not len(study):
            self.guard.end()
        self.bounds = check_bounds(max_rates)
        check_price(max_kappa)
        if models is None:
            check_contexts(study)
            models = candidates(study.contexts, study.features)
        self.models = models_of(models, among(study))
        self.study, self.max_kappa, self.threads = study, float(max_kappa), threads
        usual = defaults("path", len(set(study.learners)))
        self.criteria = usual if criteria is None else check_criteria(criteria)
        self.truncations = distinct([ALL, *(t for c in self.criteria for t in c.truncations)])
        self._known: dict[tuple[float | None, str], list[str]] = {}
        self._check()
        if any(way_of(model).searched for model in self.models):
            self._leave_out()

    def _check(self) -> None:
        """Refuse what cannot be done, before any work is done."""
        study = self.study
        if not len(study):
            raise HowlearnError("there is no learner")
        for models in (
            self.models,
            *([m.with_max_rate(b) for m in self.models] for b in self.bounds),
        ):
            check_study(study, models, {})
            check_stops(study, models, self.truncations)
        for criterion in self.criteria:
            criterion.check(study)

    def _leave_out(self) -> None:
        """Go on with the learners that every model can be fitted to, the same in each stage."""
        fits = guarded_fit(self.guard, self.study, self.models, self.truncations, self.threads)
        if not len(fits.study):
            self.guard.end()
        self.study, self._base = fits.study, fits

    @cached_property
    def stages(self) -> list[Stage]:
        """The price, the prior where rates can be integrated, every bound where there is one."""
        found: list[Stage] = [self._prices]
        if any(on_grid(model) for model in self.models):
            found.append(self._priors)
        if any(model.has_max_rate for model in self.models):
            found += [self._bound(bound) for bound in self.bounds]
        return found

    def done(self, store: Store, progress: Progress | None) -> Path:
        """What all stages tell together; those that the store has are not repeated."""
        n = len(self.study)

        def run(_: None, stage: Stage, threads: int | None, so_far: Progress) -> Tables:
            return {LEARNERS: stage(lambda done, total: so_far(done * n // max(total, 1), n))}

        parts = [
            Part(k, (LEARNERS,), n, partial(Work, run, None, stage))
            for k, stage in enumerate(self.stages)
        ]
        store.complete(parts, progress)
        return Path(
            store.read(LEARNERS).collect(),
            models=tuple(model.name for model in self.models),
            criteria=tuple(repr(criterion) for criterion in self.criteria),
            n_learners=len(self.study),
            max_kappa=self.max_kappa,
            prices=path_tables.prices(self._marked, self.study.n_scored),
            conditions=len(set(self.study.learners)) < len(self.study),
            n_unfitted=len(self.guard.why),
        )

    @property
    def _marked(self) -> list[Criterion]:
        """Criteria that are a price per parameter of all trials."""
        own = [c for c in self.criteria if c.priced and c.truncations == (ALL,)]
        return [*dict.fromkeys((*prices(), *own))]

    @cached_property
    def _base(self) -> Fits:
        return fit(self.study, self.models, self.truncations, self.threads)

    def _prices(self, progress: Progress) -> pl.DataFrame:
        fits = self._base
        found = intervals(fits.log_likelihood(ALL), fits.n_parameters_at(ALL), self.max_kappa)
        progress(1, 1)
        return path_tables.priced(self.study, found, [model.name for model in self.models])

    def _priors(self, progress: Progress) -> pl.DataFrame:
        fits = self._base
        found = under_priors(fits, self.threads, lambda done, n: progress(done, 2 * n))
        names = np.array([*fits.of], dtype=object)
        chosen = {
            text: names[winners(evidence, fits.n_parameters)].tolist()
            for text, evidence in found.items()
        }
        self._known[None, AVERAGED] = chosen[AVERAGED]
        for criterion in self.criteria:
            if criterion.learns:
                chosen[repr(criterion)] = self._selected(None, fits, criterion)
        progress(1, 1)
        return path_tables.selected(self.study, "prior", None, chosen)

    def _bound(self, bound: float) -> Stage:
        def stage(progress: Progress) -> pl.DataFrame:
            models = [model.with_max_rate(bound) for model in self.models]
            moved = [m for m, own in zip(models, self.models, strict=True) if m is not own]
            key = bound if moved else None
            fits = self._fits(models, moved, lambda done, n: progress(done, 2 * n))
            chosen = {}
            for k, criterion in enumerate(self.criteria, 1):
                chosen[repr(criterion)] = self._selected(key, fits, criterion)
                progress(len(self.criteria) + k, 2 * len(self.criteria))
            return path_tables.selected(self.study, "max_rate", bound, chosen)

        return stage

    def _fits(self, models: Sequence[Model], moved: Sequence[Model], progress: Progress) -> Fits:
        """Fits of all models, of which only those that were changed are fitted again."""
        if not moved:
            return self._base
        if any(isinstance(t, Stop) for t in self.truncations):  # where all candidates have a say
            return fit(self.study, models, self.truncations, self.threads, progress)
        new = fit(self.study, moved, self.truncations, self.threads, progress)
        if len(moved) == len(models):
            return new
        of = {**self._base.of, **new.of}
        return Fits(self.study, new.truncations, new.sizes, {m.name: of[m.name] for m in models})

    def _selected(self, bound: float | None, fits: Fits, criterion: Criterion) -> list[str]:
        """The selected model of every learner; what was selected once is kept."""
        key = bound, repr(criterion)
        if key not in self._known:
            self._known[key] = selected(criterion, fits, self.threads)
        return self._known[key]


def check_price(max_kappa: float) -> None:
    """Refuse what cannot be a largest price."""
    if not 0 < max_kappa < np.inf:
        raise HowlearnError(
            f"the largest penalty must be a number of nats above 0, got {max_kappa:g}"
        )


def selected(criterion: Criterion, fits: Fits, threads: int | None = None) -> list[str]:
    """What ``select`` selects, in blocks of learners, so that memory does not grow with them."""
    learned = criterion.learn(fits.study, fits.models, fits, threads, thorough=False)
    names = np.array([*fits.of], dtype=object)
    found: list[NDArray[np.object_]] = []
    for start in range(0, len(fits.study), BLOCK):
        part = fits.part(start, min(start + BLOCK, len(fits.study)))
        scores = learned.scores(part)
        count = part.n_parameters if scores.n_parameters is None else scores.n_parameters
        mine = names[winners(scores.score, count, criterion.tie)]
        if scores.outside is not None:
            mine = np.where(scores.outside.score[:, 0] > scores.score.max(axis=1), OTHER, mine)
        found.append(mine)
    return np.concatenate(found).tolist()


def path_into(
    folder: FilePath,
    work: PathWork,
    manifest: Mapping[str, object],
    format: Format = "csv",
    start: Start = START,
    progress: Progress | None = None,
) -> Path:
    """Do the work, stage by stage, and leave tables in a folder; a run that was stopped goes on."""
    with RunFolder(folder, manifest, Path.outputs(), start) as run:
        found = work.done(run, progress)
        found.write_files(run.path, format)
    return found
