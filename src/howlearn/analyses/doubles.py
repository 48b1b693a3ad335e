"""Doubles of learners: shown what they were shown, at their estimates; how stable models are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from howlearn.analyses.designs import APART
from howlearn.core.arrays import Floats, Ints
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.fit import Progress, fit, guarded_fit
from howlearn.fitting.fits import ALL, Fits, distinct
from howlearn.fitting.unfittable import Guard
from howlearn.models.task import Task
from howlearn.results.chunk import Extra
from howlearn.results.results import Results
from howlearn.selection.select import Selection, winners
from howlearn.selection.tables import labelled
from howlearn.simulation.simulate import Stage, play, stage_for

NUMBERS = 1_000  # of doubles per learner that have separate draws


@dataclass(frozen=True, eq=False)
class Doubles:
    """Those who follow one model; ``of`` are the places of their learners among ``who``."""

    model: int
    study: Study
    of: Ints
    again: Ints  # which double of its learner
    stage: Stage

    def original(self, starts: Ints) -> Ints:
        """The trial of the study that each of theirs stands for, of sequences that start there."""
        return ranges(starts[self.of], np.diff(self.study.starts))


def doubles_of(
    found: Results, who: Ints, times: int, seeds: Sequence[int]
) -> tuple[list[Doubles], dict[str, tuple[str, int]]]:
    """Doubles of some sequences, each following the model that was selected for it.

    And the models that cannot be simulated: why, and how many sequences they concern.
    """
    like, chosen = found.study.take(who), found.chosen[who]
    made, failed = [], {}
    for k in np.unique(chosen).tolist():
        mine = np.flatnonzero(chosen == k)
        each = np.repeat(mine, times)
        again = np.tile(np.arange(times), len(mine))
        try:
            stage = stage_for(found.task, found.models[k], like=like)
            numbers = (who[each] * NUMBERS + again).tolist()
            first, *rest = seeds
            theta = found.theta(k)[who[each]]
            played = play(stage, theta, numbers, (first, k, *rest), who=each)
        except HowlearnError as error:
            failed[found.names[k]] = (str(error), len(mine))
            continue
        made.append(Doubles(k, played, each, again, stage))
    return made, failed


def doubles_again(of: Doubles, theta: Floats, times: int, seeds: Ints) -> Doubles:
    """Doubles of doubles, at the estimates [double, parameter] from these."""
    each = np.repeat(np.arange(len(of.of)), times)
    again = np.tile(np.arange(times), len(of.of))
    who = of.of[each]
    numbers = (each * NUMBERS + again).tolist()
    played = play(of.stage, theta[each], numbers, seeds.tolist(), who=who)
    return Doubles(of.model, played, who, each, of.stage)


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """start, start + 1, … for each, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)


def sampled(learners: tuple[str, ...], most: int) -> Ints:
    """The sequences of at most this many learners, picked evenly; all of them if there are no more.

    >>> sampled(("a", "a", "b", "c", "d"), 2).tolist()
    [0, 1, 3]
    """
    names = [*dict.fromkeys(learners)]
    if len(names) <= most:
        return np.arange(len(learners))
    picked = {names[k * len(names) // most] for k in range(most)}
    return np.array([i for i, name in enumerate(learners) if name in picked])


# ``stability``: how often doubles of a learner are given the model that the learner was given.
#
# A parametric bootstrap. It is not the probability that the model is right: the doubles follow it,
# whatever the learner does.


STREAM = 2  # of random numbers: neither who chooses constants nor who tests them (contests.py)
MOST = 1_000_000  # doubles of a learner
TOGETHER, TRIALS = 2_000, 2_000_000  # doubles that are fitted at a time, and their trials
FILES = 10  # a part takes so many times as long as others, or there would be many small files


def stability(
    selection: Selection,
    doubles: int = 100,
    task: Task | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """How often doubles of every learner are given the same model, by every criterion.

    A double is shown what the learner was shown and follows the model that was selected, at the
    learner's estimates from all trials; all candidates are fitted to it, and the criterion chooses.
    The task says what actions earn; without one, rewards are drawn from what the learner was paid.
    ``instead`` is the other model that doubles are given most often.

    >>> import howlearn as hl
    >>> task = hl.Task.load("five-four")
    >>> study = hl.simulate(task, "ByPattern", {"eta": 0.05}, learners=1, trials=400, seed=1)
    >>> selection = hl.select(study, task.models, ["aic"])
    >>> print(hl.stability(selection, doubles=20, task=task)["stability"].to_list())
    [1.0]
    """
    check_doubles(doubles)
    return Asked(task, doubles, seed).table(selection, selection.places, threads, progress)


def stability_of(task: Task | None, doubles: int, seed: int = 0) -> Extra:
    """The table for ``select_into``, chunk by chunk of learners."""
    check_doubles(doubles)
    return Extra("stability", Asked(task, doubles, seed).table, max(1, doubles // FILES))


def check_doubles(doubles: int) -> None:
    """Refuse numbers that cannot be."""
    if not 1 <= doubles <= MOST:
        raise HowlearnError(f"stability needs 1 to {MOST:,} doubles per learner, got {doubles:,}")


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked for; random numbers depend on a learner's place in the study alone."""

    task: Task | None
    doubles: int
    seed: int

    def table(
        self,
        selection: Selection,
        places: Ints,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> pl.DataFrame:
        """One row per learner and criterion; ``places`` are those of the selection's learners.

        Learners who are excluded or could not be fitted have no doubles and no row.
        """
        fits = selection.fits
        n, names = len(fits.study), [*fits.of]
        estimates = _estimates(fits, threads)
        again = np.zeros((len(selection.choices), n, len(names)), np.int64)
        chosen = np.stack([choice.selected for choice in selection.choices])
        wanted = np.flatnonzero(fits.study.included)
        pairs = sorted({(int(by[i]), int(i)) for by in chosen for i in wanted})
        for done, (model, who) in self._batches(fits.study, pairs):
            theta = estimates[names[model]][who]
            found, doubled = self._given(selection, theta, model, who, places, threads)
            for c, by in enumerate(found):
                counts = np.zeros((len(who), len(names)), np.int64)
                np.add.at(counts, (doubled, by), 1)
                mine = chosen[c, who] == model
                again[c, who[mine]] = counts[mine]
            if progress:
                progress(int(n * done / len(pairs)), n)
        rows = [self._rows(selection, c, chosen[c], again[c]) for c in range(len(chosen))]
        frame = pl.concat(rows).filter(pl.col("_learner").is_in(wanted.tolist()))
        frame = frame.sort("_learner", maintain_order=True)
        return labelled(fits, frame)

    def _batches(
        self, study: Study, pairs: list[tuple[int, int]]
    ) -> Iterator[tuple[int, tuple[int, Ints]]]:
        """Learners who are given the same model, some at a time; and how many are done then."""
        usual = max(1, len(study.context) // max(1, len(study)))
        size = max(1, min(TOGETHER, TRIALS // usual) // self.doubles)
        done = 0
        for model in sorted({model for model, _ in pairs}):
            mine = np.array([i for m, i in pairs if m == model])
            for start in range(0, len(mine), size):
                some = mine[start : start + size]
                done += len(some)
                yield done, (model, some)

    def _given(
        self,
        selection: Selection,
        theta: Floats,
        model: int,
        who: Ints,
        places: Ints,
        threads: int | None,
    ) -> tuple[list[Ints], Ints]:
        """The models that each criterion selects for the doubles of some learners; and whose
        doubles they are. A double that cannot be fitted is given no model."""
        models, study = selection.fits.models, selection.fits.study
        doubled = np.repeat(np.arange(len(who)), self.doubles)
        each = who[doubled]
        numbers = places[each] * MOST + np.tile(np.arange(self.doubles), len(who))
        stage = stage_for(self.task, models[model], like=study)
        seeds = (self.seed, model, STREAM, APART)
        played = play(stage, theta[doubled], numbers.tolist(), seeds, who=each)
        # Strategies whose parameters come from other learners know theirs by the name.
        played = replace(played, learners=tuple(study.learners[i] for i in each))
        criteria = [choice.criterion for choice in selection.choices]
        truncations = distinct(t for criterion in criteria for t in criterion.truncations)
        guard = Guard(shortest=1)
        fits = guarded_fit(guard, played, models, truncations, threads)
        doubled = doubled if guard.kept is None else doubled[guard.kept]
        found = []
        for criterion in criteria:
            scores = criterion.scores(fits)
            count = fits.n_parameters if scores.n_parameters is None else scores.n_parameters
            found.append(winners(scores.score, count, criterion.tie))
        return found, doubled

    def _rows(self, selection: Selection, c: int, chosen: Ints, again: Ints) -> pl.DataFrame:
        """One criterion's rows, from how often the doubles [learner] were given each model."""
        every = np.arange(len(again))
        names = pl.Series([*selection.fits.of], dtype=pl.String)
        same = again[every, chosen] / self.doubles
        others = again.copy()
        others[every, chosen] = 0
        instead = others.argmax(axis=1)
        share = others[every, instead] / self.doubles
        # Where all agree the share is not known exactly either.
        spread = np.maximum(same * (1.0 - same), 0.25 / self.doubles)
        other = names.gather(instead)
        return of("stability").frame(
            {
                "_learner": every,
                "criterion": repr(selection.choices[c].criterion),
                "model": names.gather(chosen),
                "doubles": self.doubles,
                "stability": same,
                "standard_error": np.sqrt(spread / self.doubles),
                "instead": other.set(pl.Series(share == 0), None),
                "instead_share": share,
            }
        )


def _estimates(fits: Fits, threads: int | None) -> dict[str, Floats]:
    """From all trials, [learner, parameter], by model."""
    if not any(isinstance(t, float) and t == ALL for t in fits.truncations):
        fits = fit(fits.study, fits.models, [ALL], threads)
    return {name: part.theta[:, fits.at(ALL)] for name, part in fits.of.items()}
