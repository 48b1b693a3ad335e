"""Shares with the confusion taken out."""

from __future__ import annotations

import numpy as np
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.paper.published import MODELS, SELECTED, published
from howlearn.selection.shares import Confusion, corrected_shares

PEOPLE = np.repeat(np.arange(6), [120, 6, 3, 4, 12, 31])  # by penalized(c=0.012), in that order


def figure_3b() -> Confusion:
    shares = [[0.0] * 6 for _ in MODELS]
    for key, value in published().items():
        if key.figure == "3b" and key.quantity == SELECTED:
            shares[MODELS.index(key.true_model)][MODELS.index(key.selected_model)] = value
    return Confusion(np.array(shares) * 100)


def test_the_paper_s_participants() -> None:
    found = corrected_shares(PEOPLE, figure_3b())
    assert found.share.round(3).tolist() == [0.831, 0.039, 0.0, 0.021, 0.0, 0.108]
    assert (found.lower <= found.share).all()
    assert (found.share <= found.upper).all()
    assert found.upper[0] - found.lower[0] > 0.2  # wider than that of a share of 176 learners


def test_a_step_of_the_plain_recursion_changes_nothing() -> None:
    q = figure_3b().shares[0]
    w = corrected_shares(PEOPLE, figure_3b(), resamples=0).share
    n = np.bincount(PEOPLE) / len(PEOPLE)
    assert w * (q @ (n / (w @ q))) == pytest.approx(w, abs=1e-5)


def test_without_confusion_nothing_is_corrected() -> None:
    found = corrected_shares(PEOPLE, Confusion(np.eye(6) * 50))
    assert found.share == pytest.approx(np.bincount(PEOPLE) / len(PEOPLE))


def test_learners_of_different_designs() -> None:
    """Long records are never confused, short ones half of the time; both say the same."""
    sure, unsure = np.eye(2) * 100, np.array([[50.0, 50.0], [0.0, 100.0]])
    selected = np.repeat([0, 1, 0, 1], [60, 40, 30, 70])
    design = np.repeat([0, 1], 100)
    found = corrected_shares(selected, Confusion(np.stack([sure, unsure])), design)
    assert found.share == pytest.approx([0.6, 0.4], abs=1e-4)
    naive = corrected_shares(selected, Confusion(sure))
    assert naive.share == pytest.approx([0.45, 0.55], abs=1e-4)


def test_intervals_cover_both_kinds_of_chance() -> None:
    truth, q = np.array([0.7, 0.3]), np.array([[0.8, 0.2], [0.3, 0.7]])
    both, learners_only = [], []
    for seed in range(150):
        random = np.random.default_rng(seed)
        true = random.choice(2, 60, p=truth)
        selected = (random.random(60) < q[true, 1]).astype(int)
        counts = np.stack([random.multinomial(30, row) for row in q]).astype(float)
        for result, times in ((both, 1), (learners_only, 10**6)):
            found = corrected_shares(selected, Confusion(counts * times), resamples=200, seed=seed)
            result.append(found.lower[0] <= truth[0] <= found.upper[0])
    assert np.mean(both) > 0.90
    assert np.mean(learners_only) < np.mean(both)


def test_a_model_that_no_simulated_learner_was_given() -> None:
    counts = np.array([[10.0, 0.0, 0.0], [5.0, 5.0, 0.0], [10.0, 0.0, 0.0]])
    found = corrected_shares(np.array([2, 0, 1]), Confusion(counts))
    assert np.isfinite(found.share).all()
    assert found.share.sum() == pytest.approx(1)


def test_models_that_are_not_told_apart_are_named() -> None:
    clear = figure_3b()
    assert not clear.vague
    same = Confusion(np.array([[70.0, 30.0, 0.0], [68.0, 32.0, 0.0], [0.0, 0.0, 100.0]]))
    assert same.vague
    assert same.blurred() == [0, 1]
    # Learners of the third look like half of the first and half of the second.
    blend = Confusion(np.array([[90.0, 10.0, 0.0], [10.0, 90.0, 0.0], [50.0, 49.0, 1.0]]))
    assert blend.vague
    assert blend.blurred() == [0, 1, 2]
    assert Confusion(np.full((2, 1), 10.0)).vague


@pytest.mark.parametrize(
    ("counts", "selected"),
    [([[1.0, -1.0]], [0]), ([[0.0, 0.0], [1.0, 0.0]], [0]), ([[1.0, 2.0], [1.0, 0.0]], [2])],
)
def test_what_cannot_be_is_refused(counts: list, selected: list[int]) -> None:
    with pytest.raises(HowlearnError):
        corrected_shares(np.array(selected), Confusion(np.array(counts)))
