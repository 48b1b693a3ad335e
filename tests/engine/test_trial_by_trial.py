"""Needles of likelihoods with losses: found as the record grows, or said to be missed."""

from __future__ import annotations

import numpy as np
import pytest

from howlearn.core.rules import Exp3IX
from howlearn.engine.cell_fits import Passes, fit_units
from howlearn.engine.layout import RATES, Statuses, lay_out
from howlearn.engine.spikes import mark_missed
from howlearn.fitting.cells import block_of
from oracle import Trial
from studies import study_of

RULE = Exp3IX("loss")


def learner(seed, n_contexts, n_actions=3, n=500):
    """An Exp3-IX learner with losses; contexts that want other actions share one cell."""
    random = np.random.default_rng([77, seed, n_actions, n_contexts, 1])
    eta = np.exp(random.uniform(np.log(0.01), np.log(0.5)))
    gamma = min(eta * np.exp(random.uniform(-1.5, 1.5)), 1.0)
    right, h, trials = random.integers(0, n_actions, n_contexts), np.zeros(n_actions), []
    for _ in range(n):
        context = random.integers(0, n_contexts)
        p = np.exp(h - h.max())
        p /= p.sum()
        action = random.choice(n_actions, p=p)
        reward = float(random.random() < (1.0 if action == right[context] else 0.0))
        h[action] += eta * (reward - 1.0) / (p[action] + gamma)
        trials.append(Trial("abcdefghi"[context], int(action), reward))
    return study_of(trials, n_actions=n_actions), (eta, gamma)


def passes_of(study):
    units = lay_out([[[*range(len(study.contexts))]]], len(study.contexts))
    return Passes.prepare(block_of(study, RULE, np.diff(study.starts)[:, None]), units, RULE)


def at(passes, theta):
    points = np.repeat(np.array(theta)[:, None], RATES, axis=1)[None]
    return float(passes.scan(np.array([0]), points)[0, 0])


# With three contexts, seeds whose tops a grid of any size misses: found from the first trials on.
FOUND = [(1, 0), (1, 3), (1, 7), (3, 1), (3, 4), (3, 23), (9, 0), (9, 7)]


@pytest.mark.parametrize(("contexts", "seed"), FOUND)
def test_the_fit_is_never_below_the_truth(contexts, seed):
    study, truth = learner(seed, contexts)
    passes = passes_of(study)
    found = fit_units(passes.block, passes.units, RULE)
    assert found.value[0, 0, 0] >= at(passes, truth) - 1e-6


def test_a_needle_on_a_plain_is_found():
    """The coarse grid is flat where it stands: guessing explains choices better than any node."""
    random = np.random.default_rng(7)
    eta, gamma, h, trials = 0.4257070056274073, 0.019369633701685006, np.zeros(3), []
    for _ in range(500):
        p = np.exp(h - h.max()) / np.exp(h - h.max()).sum()
        action = random.choice(3, p=p)
        reward = float(random.random() < (0.7 if action == 0 else 0.3))
        h[action] += eta * (reward - 1.0) / (p[action] + gamma)
        trials.append(Trial("x", int(action), reward))
    passes = passes_of(study_of(trials, n_actions=3))
    found = fit_units(passes.block, passes.units, RULE)
    assert found.value[0, 0, 0] >= at(passes, (eta, gamma)) - 1e-6


def test_a_fit_no_better_than_guessing_is_not_called_ok():
    """Choices that depend on the last one are not guesses; a coin's are, unless a ridge may hide
    something."""
    random = np.random.default_rng(5)
    repeated = np.repeat(random.integers(0, 3, 100), 4)
    tossed = random.integers(0, 3, 400)
    cases = (
        (repeated, False, Statuses.UNSTABLE),
        (tossed, False, Statuses.OK),
        (tossed, True, Statuses.UNSTABLE),
    )
    for actions, ridged, wanted in cases:
        study = study_of([Trial("x", int(a), 0.0) for a in actions], n_actions=3)
        passes, ridges = passes_of(study), np.array([ridged])
        guessing = np.array([-len(actions) * np.log(3)])
        status = np.full((1, 2), Statuses.OK, np.int8)
        mark_missed(passes, guessing, guessing, ridges, status)
        assert (status == wanted).all()
        status[:] = Statuses.OK
        mark_missed(passes, guessing + 50.0, guessing, ridges, status)
        assert (status == Statuses.OK).all()
