"""A model's own functions are compiled apart from the loops, which all models share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from numba.core import event

import howlearn as hl
from howlearn.engine.whole import RecordLikelihood
from howlearn.fitting.settings import records_of, setting_of, whole_of

ALPHA = hl.Parameter("alpha", 0.0, 1.0, default=0.3)


class Pair(NamedTuple):
    values: np.ndarray
    counts: tuple[np.ndarray, np.ndarray]  # as numbers of two kinds


@dataclass(frozen=True, repr=False)
class Counts(hl.Model):
    """A state of several arrays, one tuple in another."""

    name = "counts"
    parameters = (ALPHA,)

    @staticmethod
    def start(world):
        n = world.n_actions
        return Pair(np.zeros((world.n_cells, n)), (np.zeros(n, np.int64), np.ones(n, np.bool_)))

    @staticmethod
    def log_policy(state, shown, theta, out):
        for a in range(len(out)):
            out[a] = state.values[shown.cell, a] + 0.1 * state.counts[0][a] + state.counts[1][a]
        hl.log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        state.values[trial.cell, trial.action] += theta.alpha * trial.reward
        state.counts[0][trial.action] += 1
        state.counts[1][trial.action] = trial.reward < 1.0


@dataclass(frozen=True, repr=False)
class Grows(Counts):
    """What no model may do: its state has another size at other parameters."""

    name = "grows"

    @staticmethod
    def start(world, theta):
        return np.zeros(2 if theta.alpha > 0.5 else 3)

    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = 0.0
        hl.log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        state[0] += theta.alpha


@pytest.fixture(scope="module")
def study() -> hl.Study:
    task = hl.Task.load("five-four")
    return hl.simulate(task, "ByPattern", {"eta": 0.05}, learners=2, trials=60, seed=3)


def _likelihood(model: hl.Model, study: hl.Study) -> RecordLikelihood:
    setting = setting_of(study)
    return RecordLikelihood(
        whole_of(model, study.contexts, study.actions, setting), setting, records_of(study)
    )


@contextmanager
def _compiled() -> Iterator[list[str]]:
    """The names of what is compiled meanwhile."""
    found: list[str] = []

    class Names(event.Listener):
        def on_start(self, event: event.Event) -> None:
            found.append(event.data["dispatcher"].py_func.__module__)

        def on_end(self, event: event.Event) -> None:
            pass

    listener = Names()
    event.register("numba:compile", listener)
    try:
        yield found
    finally:
        event.unregister("numba:compile", listener)


def test_a_further_model_compiles_its_own_functions_only(study: hl.Study) -> None:
    first, one = np.zeros(1, np.int64), np.full((1, 1), 60)
    _likelihood(hl.models.QLearning(), study).at(first, np.array([[0.3, 5.0]]), one)
    with _compiled() as found:
        value = _likelihood(Counts(), study).at(first, np.array([[0.3]]), one)
    assert np.isfinite(value).all()
    assert not [name for name in found if "whole" in name]


def test_a_state_of_several_arrays_is_as_in_plain_python(study: hl.Study) -> None:
    hl.check_model(Counts(), study)


def test_a_start_state_of_another_size_is_an_error(study: hl.Study) -> None:
    likelihood, one = _likelihood(Grows(), study), np.full((1, 1), 60)
    first = np.zeros(1, np.int64)
    assert likelihood.at(first, np.array([[0.2]]), one) == pytest.approx(-60 * np.log(2))
    with pytest.raises(ValueError, match="size of a start state"):
        likelihood.at(first, np.array([[0.7]]), one)
