"""The same seed gives the same bytes, however the work is cut up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from howlearn.analyses.designs import TaskDesign
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.fit import fit
from howlearn.models.task import Task
from howlearn.models.values import Range, Reward
from howlearn.simulation.simulate import play, stage_for
from studies import random_trials, study_of

CHANCE = {c: {"A": Reward(0.7), "B": Reward(0.3)} for c in Task.load("five-four").contexts}
TASK = replace(Task.load("five-four"), order="blocks", rewards=CHANCE, stop=20)
PARAMETERS = {"eta": Range(0.01, 0.9)}
NAMES = ("context", "action", "reward", "scored", "learned", "reset")


def bytes_of(*studies: Study) -> list[bytes]:
    """Of all arrays, one study after the other, and of the lengths."""
    lengths = np.concatenate([np.diff(study.starts) for study in studies])
    whole = [np.concatenate([getattr(study, name) for study in studies]) for name in NAMES]
    return [lengths.tobytes(), *(array.tobytes() for array in whole)]


def made(learners: int, first: int = 0, seed=4, **kwargs) -> Study:
    return play(
        stage_for(TASK, "ByShape", **kwargs), PARAMETERS, range(first, first + learners), seed
    )


@pytest.mark.parametrize("cuts", [[0, 1, 40], [0, 13, 26, 40], [0, 39, 40]])
@pytest.mark.parametrize("as_published", [False, True])
def test_in_any_chunks(cuts, as_published):
    chunks = [
        made(stop - start, start, as_published=as_published) for start, stop in pairwise(cuts)
    ]
    whole = made(40, as_published=as_published)
    assert bytes_of(*chunks) == bytes_of(whole)
    names = [name for chunk in chunks for name in chunk.learners]
    assert tuple(names) == whole.learners == tuple(str(i + 1) for i in range(40))


def test_doubles_in_any_chunks():
    """A chunk is given its own part of the recorded study, in step with ``first``."""
    contexts = TASK.contexts
    recorded = study_of(
        *(random_trials(i, 40 + i, contexts, flags=True) for i in range(12)), contexts=contexts
    )
    whole = made(12, like=recorded)
    chunks = [made(5, like=recorded.part(0, 5)), made(7, 5, like=recorded.part(5, 12))]
    assert bytes_of(*chunks) == bytes_of(whole)


def test_with_any_number_of_threads():
    whole = bytes_of(made(40))
    with ThreadPoolExecutor(4) as pool:
        chunks = list(pool.map(lambda start: made(5, start), range(0, 40, 5)))
        again = list(pool.map(lambda _: bytes_of(made(40)), range(4)))
    assert bytes_of(*chunks) == whole
    assert again == [whole] * 4
    for threads in (1, 2):
        fit(made(4), TASK.models, threads=threads)
        assert bytes_of(made(40)) == whole


def test_learners_and_seeds_differ():
    study = made(40)
    assert len({trials.action[:20].tobytes() for trials in study}) == 40
    others = [made(40, seed=seed) for seed in (5, (4, 1), (4, 0, 1))]
    assert len({tuple(bytes_of(each)) for each in (study, *others)}) == 4


def test_a_seed_may_have_several_parts_and_any_type():
    assert bytes_of(made(3, seed=(4,))) == bytes_of(made(3)) == bytes_of(made(3, seed=np.int64(4)))
    with pytest.raises(HowlearnError, match="a seed must be a whole number, 0 or greater, got -2"):
        made(3, seed=(4, -2))


def test_learners_of_a_calibration_in_any_chunks():
    design = TaskDesign(TASK, TASK.models[:2], {"": PARAMETERS}, learners=9, trials=50)
    whole, theta = design.simulate(1, 0, 0, 9)
    (one, first), (two, second) = design.simulate(1, 0, 0, 4), design.simulate(1, 0, 4, 9)
    assert bytes_of(one, two) == bytes_of(whole)
    np.testing.assert_array_equal(np.concatenate([first, second]), theta)
    streams = [
        bytes_of(design.simulate(truth, stream, 0, 9)[0]) for truth, stream in ((0, 0), (1, 1))
    ]
    assert bytes_of(whole) not in streams
