"""Doubles of learners: simulated, shown what they were shown, at their estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.results.results import Results
from howlearn.simulation.simulate import Stage, play, stage_for

NUMBERS = 1_000  # of doubles per learner that have draws of their own


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


def doubles_again(found: Results, of: Doubles, theta: Floats, times: int, seeds: Ints) -> Doubles:
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
    """The sequences of at most so many learners, picked evenly; all of them if there are no more.

    >>> sampled(("a", "a", "b", "c", "d"), 2).tolist()
    [0, 1, 3]
    """
    names = [*dict.fromkeys(learners)]
    if len(names) <= most:
        return np.arange(len(learners))
    picked = {names[k * len(names) // most] for k in range(most)}
    return np.array([i for i, name in enumerate(learners) if name in picked])
