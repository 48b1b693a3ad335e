"""Slope heuristics: worked by hand, against R, against brute force, and where they refuse."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import howlearn as hl
from howlearn.analyses.dimension_jump import (
    SAFETY,
    Jumps,
    below_threshold,
    curve_of,
    dimension_jump,
    jumps_of,
    mean_complexity,
    pooled_jump,
)
from howlearn.analyses.slope_heuristic import Slopes, bisquare_line, slope_heuristic, slopes_of

D15 = np.arange(1.0, 16)
# D = 4 is the truth: 1 per parameter is missing below it, 0.01 per parameter is won beyond it.
LINEAR_TAIL = 3 - 0.01 * D15 + np.maximum(4 - D15, 0)

# 12 models, the 9th too good. By R 4.2, MASS 7.3, with capushe's loops around it:
#   D <- 1:12; for (p in 1:11) rlm(ell[p:12] ~ D[p:12], psi = psi.bisquare)$coefficients[2]
D12 = np.arange(1.0, 13)
BUMPY = np.array([-60, -40, -20, 0, 0.6, 0.9, 1.7, 2.1, 4.5, 3.3, 3.4, 4.1])
BY_R = [4.055497359996, 0.508083784814, 0.508094343998, 0.508087967380, 0.503121013743,
        0.507022631242, 0.474092587471, 0.477992655053, -0.110072968200, 0.4, 0.7]  # fmt: skip


@st.composite
def curves(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Complexities, several times the same, and contrasts, many of them equal."""
    size = draw(st.integers(2, 20))
    numbers = st.integers(1, 25)
    complexity = draw(st.lists(numbers, min_size=size, max_size=size))
    contrast = draw(st.lists(st.integers(0, 60), min_size=size, max_size=size))
    return np.array(complexity, float), np.array(contrast, float)


def jumps(shape: np.ndarray, contrast: list | np.ndarray) -> tuple[Jumps, list[int]]:
    """The jumps, and the models on the path, as they were given."""
    curve = curve_of(shape, shape, np.array(contrast, float))
    found = jumps_of(curve)
    return found, curve.index[found.steps].tolist()


def slopes(shape: np.ndarray, contrast: list | np.ndarray) -> tuple[Slopes, list[float], int]:
    """The regressions, their slopes, and the number of points of the one that counts."""
    best = curve_of(shape, shape, np.array(contrast, float)).best()
    found = slopes_of(best)
    assert found.middle is not None
    return found, [line.slope for line in found.lines], len(best.shape) - found.middle


# --- the dimension jump ---------------------------------------------------------------------------


def test_the_path_step_by_step() -> None:
    # From D = 5 the ratios (γ_j − 3.25)/(5 − D_j) are .25 (D = 4), .375, .917, 1.69: to D = 4;
    # from there .5 (D = 3), 1.25, 2.17: to D = 3; from there 2 (D = 2), 3: to D = 2; last 4.
    found, path = jumps(D15[:5], [10, 6, 4, 3.5, 3.25])
    assert path == [4, 3, 2, 1, 0]
    assert found.kappas == pytest.approx([0, 0.25, 0.5, 2, 4])
    assert found.sizes.tolist() == [1, 1, 1, 1]


def test_models_on_one_line_leave_together_to_the_smallest() -> None:
    # From D = 5 (2.4): .2/1 = .4/2 = .6/3 = .2 and 7.6/4 = 1.9; so to D = 2 at once, then 7.
    found, path = jumps(D15[:5], [10, 3, 2.8, 2.6, 2.4])
    assert path == [4, 1, 0]
    assert found.kappas == pytest.approx([0, 0.2, 7])
    assert found.sizes.max() == 3


def test_of_one_shape_only_the_best_is_on_the_path() -> None:
    # Two models with D = 2; the one with 3 wins over 5, whatever their order.
    found, path = jumps(np.array([2.0, 1, 2, 3]), [5, 9, 3, 2])
    assert path == [3, 2, 1]
    assert found.kappas == pytest.approx([0, 1, 6])


def test_equal_contrasts_start_from_the_simpler() -> None:
    assert jumps(D15[:3], [5, 1, 1])[1] == [1, 0]


def test_a_clean_jump_gives_twice_its_place() -> None:
    # 0.01 per parameter from 15 down to 4, then 1.01: jumps of 11 and 3. κ̂ = .01, κ = .02.
    found, path = jumps(D15, LINEAR_TAIL)
    assert path == [14, 3, 0]
    assert found.kappas == pytest.approx([0, 0.01, 1.01])
    said = dimension_jump(D15, D15, LINEAR_TAIL, n_trials=500)
    assert said.applies
    assert said.kappa == pytest.approx(0.02)
    assert said.selected == 3
    assert "falls from 15 to 4" in said.reason


def test_of_equal_jumps_the_last_counts_and_near_ones_are_one() -> None:
    # .5 per parameter down to 9, .52 down to 3, then 50: jumps 6 (κ = .5), 6 (κ = .52), 2 (50).
    # At n = 500 both lie in .52·(1 ± .11), one jump of 12 of 14; at n = 10⁹ they are two.
    steps = np.where(D15 > 9, 0.5, np.where(D15 > 3, 0.52, 50))
    contrast = -np.cumsum(steps)
    assert jumps(D15, contrast)[0].sizes.tolist() == [6, 6, 2]
    found = dimension_jump(D15, D15, contrast, n_trials=500)
    assert found.kappa == pytest.approx(SAFETY * 0.52)
    assert found.selected == 2
    assert "several steps" in dimension_jump(D15, D15, contrast, n_trials=10**9).reason


def test_the_threshold_follows_the_trials_where_there_are_few() -> None:
    # 15 to 8 at .1, to 7 at 1, to 6 at 2, to 1 at 50. Half of 15 is below 500/log 500 = 80.5, but
    # not below 20/log 20 = 6.68.
    gains = np.select([D15 > 8, D15 > 7, D15 > 6], [0.1, 1.0, 2.0], 50.0)
    curve = curve_of(D15, D15, -np.cumsum(gains))
    assert below_threshold(curve, jumps_of(curve), 500) == pytest.approx(1)
    assert below_threshold(curve, jumps_of(curve), 20) == pytest.approx(2)


def test_the_path_of_capushe() -> None:
    # Djump's kappa and model_hat by the loops of capushe in R
    curve = curve_of(D12 / 500, D12, -BUMPY / 500)
    found = jumps_of(curve)
    assert found.kappas == pytest.approx([0, 0.9, 20])
    assert (curve.index[found.steps] + 1).tolist() == [9, 4, 1]
    said = dimension_jump(D12 / 500, D12, -BUMPY / 500, n_trials=500)
    assert not said.applies  # capushe would say κ = 1.8


@given(curves(), st.floats(0, 80))
def test_the_path_is_the_argmin_at_every_kappa(
    curve: tuple[np.ndarray, np.ndarray], extra: float
) -> None:
    d, contrast = curve
    found, path = jumps(d, contrast)
    assert (np.diff(found.kappas) > 0).all()
    ends = np.append(found.kappas, found.kappas[-1] + 2)
    for kappa in [*np.linspace(0, 61, 200), *(ends[:-1] + ends[1:]) / 2, extra]:
        here = path[np.searchsorted(found.kappas, kappa, side="right") - 1]
        score = contrast + kappa * d
        assert score[here] <= score.min() + 1e-6
        if np.abs(found.kappas[1:] - kappa).min(initial=1) > 1e-6:
            assert d[here] == d[score <= score.min() + 1e-9].min()


@given(curves(), st.integers(-1000, 1000), st.floats(0.01, 100))
def test_a_constant_changes_nothing_and_the_scale_of_the_shape_is_inverse(
    curve: tuple[np.ndarray, np.ndarray], constant: int, scale: float
) -> None:
    d, contrast = curve
    found, path = jumps(d, contrast)
    lines = [line.slope for line in slopes_of(curve_of(d, d, contrast).best()).lines]
    said = dimension_jump(d, d, contrast, n_trials=100)
    for shape, moved, factor in [(d, contrast + constant, 1), (scale * d, contrast, scale)]:
        other = curve_of(shape, d, moved)
        steps = jumps_of(other)
        assert other.index[steps.steps].tolist() == path
        assert steps.kappas * factor == pytest.approx(found.kappas)
        assert dimension_jump(shape, d, moved, n_trials=100).applies == said.applies
        mine = [line.slope * factor for line in slopes_of(other.best()).lines]
        assert mine == pytest.approx(lines, rel=1e-6, abs=1e-9)


# --- data-driven slope estimation -----------------------------------------------------------------


def test_the_slopes_of_four_models() -> None:
    # −γ = −10, −4, −3, −2: over two and over three points the slope is 1. Twice that selects
    # argmin(10 + 2, 4 + 4, 3 + 6, 2 + 8) = the second model, and so does any κ̂ from ½ to 3.
    found, lines, points = slopes(D15[:4], [10, 4, 3, 2])
    assert lines[1:] == pytest.approx([1, 1])
    assert found.models.tolist() == [1, 1, 1]
    assert found.plateau == (0, 3)
    assert points == 3  # the middle of three regressions
    assert found.lines[1].r_squared == pytest.approx(1)
    said = slope_heuristic(D15[:4], D15[:4], np.array([10.0, 4, 3, 2]))
    assert said.kappa is said.selected is None


def test_a_linear_tail_gives_twice_its_slope() -> None:
    found, lines, points = slopes(D15, LINEAR_TAIL)
    assert lines[3:] == pytest.approx(np.full(11, 0.01))
    assert found.plateau == (0, 14)
    assert points == 8  # capushe's middle of 14 is the 8th: 15 − 7 points
    said = slope_heuristic(D15, D15, LINEAR_TAIL)
    assert said.kappa == pytest.approx(0.02)
    assert said.selected == 3
    assert "R² = 1.000" in said.reason


def test_the_slopes_of_rlm_and_the_plateau_of_capushe() -> None:
    best = curve_of(D12 / 500, D12, -BUMPY / 500).best()
    found = slopes_of(best)
    assert [line.slope for line in found.lines] == pytest.approx(BY_R, abs=1e-9)
    assert (found.models + 1).tolist() == [4, 4, 4, 4, 4, 4, 4, 4, 12, 9, 4]
    assert found.plateau == (0, 8)
    assert found.middle == 4  # capushe's p = 5 of 1…11


def test_only_the_best_model_of_a_shape_enters() -> None:
    doubled = np.concatenate([D15, D15])
    contrast = np.concatenate([LINEAR_TAIL + 5, LINEAR_TAIL])
    found = slope_heuristic(doubled, doubled, contrast)
    assert found.kappa == pytest.approx(0.02)
    assert found.selected == 15 + 3


def test_a_plateau_is_searched_from_the_fewest_points_back() -> None:
    # 4 per parameter up to 12 and 1 from there to 20: the last plateau counts, not the longest.
    d = np.arange(1.0, 21)
    contrast = -np.cumsum(np.where(d <= 4, 50.0, np.where(d <= 12, 4, 1)))
    found = slope_heuristic(d, d, contrast)
    assert found.kappa == pytest.approx(SAFETY)
    assert found.selected == 11


def test_one_bad_fit_does_not_bend_the_line() -> None:
    x = np.arange(12.0)
    y = 3 + 0.5 * x
    y[[5, 11]] -= 4
    assert bisquare_line(x, y).slope == pytest.approx(0.5)
    assert bisquare_line(x, y).r_squared == pytest.approx(1)


def test_a_line_of_equal_heights_explains_nothing() -> None:
    assert bisquare_line(np.arange(4.0), np.ones(4)) == (0.0, 0.0)


# --- refusals -------------------------------------------------------------------------------------


def refused(contrast: np.ndarray, words_of_jump: str, words_of_slope: str) -> None:
    d = np.arange(1.0, len(contrast) + 1)
    jump, slope = dimension_jump(d, d, contrast, 500), slope_heuristic(d, d, contrast)
    assert words_of_jump in jump.reason
    assert words_of_slope in slope.reason
    for found in (jump, slope):
        assert not found.applies
        assert found.kappa is found.selected is None
        assert found.reason[0].isupper()
        assert found.reason.endswith(".")


# SPEC §9 (ii): the best −ℓ of all partitions into D = 1…9 cells, mean over simulated learners
@pytest.mark.parametrize(
    "best",
    [
        [0, -2.2, -2.4, -2.2, -1.7, -0.9, 0.1, 1.7, 4.7],
        [0, -57, -58.7, -59.1, -59.1, -58.1, -56.8, -53.7, -46.1],
        [0, -63.6, -69.5, -71.1, -71.8, -72.0, -71.9, -71.8, -71.5],
    ],
    ids=["OneForAll", "ByShape", "ByShapeExc"],
)
def test_all_partitions_have_no_line_and_no_jump(best: list[float]) -> None:
    refused(np.array(best), "does not keep improving", "does not keep improving")
    # Three times as many points on the same curve are no better.
    finer = np.interp(np.linspace(0, 8, 25), np.arange(9), best)
    refused(finer, "does not keep improving", "does not keep improving")


def test_what_can_be_wrong_with_a_curve() -> None:
    few = LINEAR_TAIL[:10]
    refused(few, "10 candidate models of 10 different", "10 candidate models of 10 different")
    refused(np.zeros(15), "without any penalty", "does not keep improving")
    refused((D15 - 8.0) ** 2, "without any penalty", "gets worse")
    refused(-np.log(D15), "several steps", "")
    refused(-np.sqrt(D15), "several steps", "on a bend")
    refused(-np.log(np.arange(1, 61)), "several steps", "does not settle")


def test_a_gap_is_no_slope() -> None:
    # Only the three largest models win much: the path leaps from 15 to 1 over all that is worse.
    gains = np.where(D15 <= 12, 0.03, 1.03)
    assert jumps(D15, -np.cumsum(gains))[1] == [14, 0]
    found = dimension_jump(D15, D15, -np.cumsum(gains), n_trials=500)
    assert "marks a gap" in found.reason
    assert not found.applies


def test_one_late_gain_is_neither_line_nor_jump() -> None:
    # Gains of 0.1 but for 5 at D = 11: from 15 to 11 at .1, to 4 at (6·.1 + 5)/7 = .8, to 1 at 50.
    gains = np.where(D15 <= 4, 50.0, 0.1)
    gains[10] = 5
    assert jumps(D15, -np.cumsum(gains))[0].kappas == pytest.approx([0, 0.1, 0.8, 50])
    found = dimension_jump(D15, D15, -np.cumsum(gains), n_trials=500)
    assert "(the largest by 7, the next by 4, of 14 in all)" in found.reason


def test_jump_and_threshold_must_agree() -> None:
    # 15 to 8 at .1 (7 of 14), but below 7.5 only at 1: 8 to 5; then 5 to 3 at 5, 3 to 1 at 50.
    gains = np.select([D15 > 8, D15 > 5, D15 > 3], [0.1, 1.0, 5.0], 50.0)
    assert jumps(D15, -np.cumsum(gains))[0].sizes.tolist() == [7, 3, 2, 2]
    found = dimension_jump(D15, D15, -np.cumsum(gains), n_trials=500)
    assert "very different constants" in found.reason


def test_a_line_through_scatter_is_refused() -> None:
    # Gains that come in lumps, 3 at every ninth parameter and next to nothing in between.
    d = np.arange(1.0, 31)
    gains = np.where(d <= 4, 500.0, np.where(d % 9 == 0, 3.0, 0.01))
    found = slope_heuristic(d, d, -np.cumsum(gains))
    assert "do not lie on a line" in found.reason
    assert found.kappa is None


def test_a_slope_that_settles_on_too_few_models_is_refused() -> None:
    # With 3 at every thirteenth only the last four models, without a lump, lie on a line.
    d = np.arange(1.0, 31)
    gains = np.where(d <= 4, 500.0, np.where(d % 13 == 0, 3.0, 0.01))
    found = slope_heuristic(d, d, -np.cumsum(gains))
    assert "settles only on the 4 most complex" in found.reason
    assert found.kappa is None


@pytest.mark.parametrize("size", [1, 2])
def test_one_or_two_models_are_a_refusal_not_an_error(size: int) -> None:
    jump = dimension_jump(D15[:size], D15[:size], -D15[:size], n_trials=1)
    slope = slope_heuristic(D15[:size], D15[:size], -D15[:size])
    assert not jump.applies
    assert not slope.applies


# --- many learners --------------------------------------------------------------------------------


def learners(gains: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """15 nested models; beyond D = 4 learner i wins gains[i] nats per parameter. 500 trials."""
    d = np.tile(np.arange(1, 16), (len(gains), 1))
    ell = -20.0 * np.maximum(4 - d, 0) + gains[:, None] * d
    return ell, d, np.full(len(gains), 500)


def test_learners_who_agree_have_a_jump() -> None:
    # Every learner falls from 15 to 4 at ½ nat, of 14 in all: 11/14.
    ell, d, n = learners(np.full(7, 0.5))
    found = pooled_jump(ell, d, n)
    assert found.kappa == pytest.approx(1, rel=0.03)  # the grid's step
    assert "loses 11 parameters, 79% of all" in found.reason
    kappas = np.linspace(0, 30, 14)
    for kappa, mean in zip(kappas, mean_complexity(ell, d.astype(float), kappas), strict=True):
        assert mean == D15[np.argmax(ell[0] - kappa * D15)]


def test_learners_who_differ_slide() -> None:
    found = pooled_jump(*learners(np.random.default_rng(1).lognormal(np.log(0.5), 0.8, 400)))
    assert not found.applies
    assert found.kappa is found.selected is None
    assert "slides down without a jump" in found.reason
    share = float(re.search(r"at most (\d+)%", found.reason)[1])  # type: ignore[index]
    assert 5 < share < 30


def test_a_fall_among_simple_models_is_no_jump() -> None:
    # Everybody's best is D = 2 without any penalty, and 50 nats are lost with D = 1.
    _, d, n = learners(np.zeros(5))
    found = pooled_jump(-50.0 * (d == 1) - 0.1 * d, d, n)
    assert "from complex models to simple ones" in found.reason


def test_pooled_ties_go_to_fewer_parameters() -> None:
    _, d, n = learners(np.zeros(2))
    assert (
        mean_complexity(np.zeros((2, 15)), d.astype(float), np.array([0.0, 1])).tolist() == [1] * 2
    )
    found = pooled_jump(np.zeros((2, 15)), d, n)
    assert not found.applies
    assert "at most 0%" in found.reason


def test_the_papers_six_models_are_refused() -> None:
    # SPEC §9: the negative result, on simulated learners of every model, one by one and pooled.
    task = hl.Task.load("five-four")
    likelihoods, parameters = [], []
    for seed, model in enumerate(task.models):
        study = hl.simulate(task, model, {"eta": 0.03}, learners=12, trials=500, seed=seed)
        fits = hl.fit(study, task.models, truncations=[1.0])
        likelihoods.append(fits.log_likelihood(1.0))
        parameters.append(fits.n_parameters)
    ell, d = np.concatenate(likelihoods), np.concatenate(parameters)
    six = "6 candidate models of 4 different complexities"
    for mine, size in zip(ell, d.astype(float), strict=True):
        jump = dimension_jump(size / 500, size, -mine / 500, n_trials=500)
        slope = slope_heuristic(size / 500, size, -mine / 500)
        assert jump.kappa is slope.kappa is None
        assert six in jump.reason
        assert six in slope.reason
    pooled = pooled_jump(ell, d, np.full(len(d), 500))
    assert pooled.kappa is None
    assert "slides down without a jump" in pooled.reason
