"""Prequential: refitted from block to block, against refits of studies that end there."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import howlearn as hl
from howlearn.analyses.check import select
from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.rules import Exp3, GradientBandit
from howlearn.core.study import Source, Study
from howlearn.fitting.fit import fit
from howlearn.fitting.replay import log_probabilities
from howlearn.models.adjustments import Lapse
from howlearn.models.coin import Coin
from howlearn.models.partition_model import PartitionModel
from howlearn.models.q_learning import QLearning
from howlearn.selection.criteria import AIC, HoldOut, Prequential, criterion_named
from howlearn.selection.predictions import leave_future_out
from oracle import log_likelihood, mark_of
from studies import model_of, random_trials, study_of, trials_of

CELLS = [["x"], ["y"]]
EACH = model_of(CELLS, GradientBandit(), name="each")
MODELS = [
    EACH,
    model_of([["x", "y"]], GradientBandit(), name="all"),
    model_of(CELLS, GradientBandit(), "shared", name="one rate"),
    PartitionModel("mixed", Partition((("x",), ("y",))), (GradientBandit(), Exp3())),
    model_of(CELLS, Exp3(), name="exp3"),
    Coin(),
    QLearning(),
    EACH + Lapse(),
]
LENGTHS = (47, 90, 5, 2)


@pytest.fixture(scope="module")
def study():
    """Learners of different lengths; trials that do not count, do not teach, or restart."""
    short = [random_trials(9, n, better=0.5) for n in LENGTHS[2:]]
    long = [random_trials(i, n, flags=True, better=0.6) for i, n in enumerate(LENGTHS[:2])]
    return study_of(*long, *short)


@pytest.fixture(scope="module")
def fits(study):
    return fit(study, MODELS, [0.4, *Prequential(4, 0.3).truncations, *Prequential().truncations])


def cut(study: Study, learner: int, n_scored: int) -> Study:
    """A study of one learner that ends with its n-th scored trial."""
    stop = mark_of(trials_of(study, learner), n_scored)
    part = study.part(learner, learner + 1)
    names = ("context", "action", "reward", "scored", "learned", "reset")
    arrays = {name: getattr(part, name)[:stop] for name in names}
    return replace(part, starts=np.array([0, stop]), **arrays)


@pytest.mark.parametrize("criterion", [Prequential(4, 0.3), Prequential()], ids=repr)
def test_it_is_a_refit_before_every_block_and_a_replay(study, fits, criterion):
    scores = criterion.scores(fits)
    for i, n in enumerate(study.n_scored):
        sizes = [int(np.floor(t * n + 1e-9)) for t in criterion.truncations]
        assert scores.n_trials[i] == n - sizes[0]
        scored = np.flatnonzero(study[i].scored)
        expected = np.zeros(len(MODELS))
        for t, (size, following) in zip(criterion.truncations, pairwise([*sizes, n]), strict=True):
            block = scored[size:following]
            if size:
                again = fit(cut(study, i, size), MODELS)
                theta = {m: part.theta[0, 0] for m, part in again.of.items()}
            else:  # nothing to refit on: see the next test
                theta = {m: part.theta[i, fits.at(t)] for m, part in fits.of.items()}
            for k, model in enumerate(MODELS):
                log_p = log_probabilities(study, i, model, theta[model.name])
                expected[k] += log_p[block, study[i].action[block]].sum()
        assert scores.score[i, :-2] == pytest.approx(expected[:-2], abs=1e-6)
        # The last two are searched, and a search ends at the top to its own tolerance.
        assert scores.score[i, -2:] == pytest.approx(expected[-2:], abs=1e-4)
    assert not scores.penalty.any()


def test_nothing_fitted_uses_the_default():
    """A tenth of nine trials is none: the first block is scored at 0.03."""
    trials = random_trials(1, 9, better=0.8)
    fits = fit(study_of(trials), [EACH], Prequential(2, 0.1).truncations)
    assert fits.sizes.tolist() == [[0, 4]]
    first = log_likelihood(trials, CELLS, "gradient", [(0.03,)] * 2, stop=4)
    expected = first + fits.rest(0.55)[0, 0]
    assert Prequential(2, 0.1).scores(fits).score[0, 0] == pytest.approx(expected, abs=1e-12)


def test_blocks_are_a_replay_at_the_parameters_before_them(fits):
    """Whatever was fitted: the blocks' likelihoods are those of the trials, to 1e-9."""
    truncations = (*Prequential(4, 0.3).truncations, 1.0)
    for before, following in pairwise(truncations):
        found = fits.between(before, following)
        assert found.shape == (len(LENGTHS), len(MODELS))
        for i, n in enumerate(fits.study.n_scored):
            scored = np.flatnonzero(fits.study[i].scored)
            block = scored[int(before * n + 1e-9) : int(following * n + 1e-9)]
            for k, name in enumerate(fits.of):
                expected = fits.log_probability(i, name, before)[block].sum()
                assert found[i, k] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("start", [0.3, 0.4, 0.5])
def test_one_block_is_the_hold_out(fits, start):
    one, other = Prequential(1, start).scores(fits), HoldOut(start).scores(fits)
    np.testing.assert_array_equal(one.score, other.score)
    np.testing.assert_array_equal(one.n_trials, other.n_trials)


def test_between_ends_where_the_rest_does(fits):
    np.testing.assert_array_equal(fits.between(0.3, 1.0), fits.rest(0.3))
    np.testing.assert_array_equal(fits.between(0.3, 0.3), 0.0)
    np.testing.assert_allclose(fits.between(0.3, 1000), fits.rest(0.3), atol=1e-9)  # a number


def test_between_refuses_what_comes_before_and_what_was_not_fitted(fits):
    with pytest.raises(HowlearnError, match=r"truncation 0\.3 does not follow 0\.4"):
        fits.between(0.4, 0.3)
    with pytest.raises(HowlearnError, match=r"nothing was fitted at truncation 0\.35"):
        fits.between(0.35, 0.4)


def test_models_with_other_cells_unseen():
    """A cell without a trial before the block has its model's mean, which differs by model."""
    late = [*random_trials(1, 30, contexts=("x", "y"), better=0.8)]
    late += random_trials(2, 20, contexts=("x", "y", "z"), better=0.8)
    study = study_of(late, late[::-1][:40])
    alone = GradientBandit()
    models = [
        model_of([["x"], ["y"], ["z"]], alone, name="each"),
        model_of([["x", "y"], ["z"]], alone, name="z apart"),
    ]
    criterion = Prequential(3, 0.2)
    fits = fit(study, models, criterion.truncations)
    theta = [part.theta[0, 0, -1] for part in fits.of.values()]
    assert theta[0] != theta[1]
    sums = sums_of(leave_future_out(fits, criterion))
    assert sums == pytest.approx(criterion.scores(fits).score, abs=1e-9)


def test_a_model_in_every_cell(study):
    """Neither exact nor whole: searched unit by unit."""
    model = PartitionModel("q each", Partition((("x",), ("y",))), QLearning())
    criterion = Prequential(3)
    fits = fit(study.part(0, 2), [model], criterion.truncations)
    sums = sums_of(leave_future_out(fits, criterion))
    assert sums == pytest.approx(criterion.scores(fits).score, abs=1e-9)


@pytest.mark.parametrize("n_actions", [2, 3])
def test_coins(n_actions):
    study = study_of(*(random_trials(i, 40 + i, n_actions=n_actions, flags=True) for i in (1, 2)),
                     n_actions=n_actions)  # fmt: skip
    selection = select(study, [Coin(), EACH], [Prequential()])
    choice = selection.choices[0]
    fair = -np.log(n_actions) * choice.scores.n_trials
    coin = np.maximum(fair, choice.scores.score[:, 0])
    assert choice.coin == pytest.approx(coin, abs=1e-9)
    assert (choice.coin >= fair - 1e-9).all()


def test_a_task_s_models_with_a_lapse():
    task = hl.Task.load("five-four")
    study = hl.simulate(task, "ByShape", {"eta": 0.1}, learners=2, trials=90, seed=3)
    models = [task.model("ByShape"), task.model("ByShape") + Lapse(), task.model("OnePerItem")]
    result = hl.select(study, models, ["prequential(blocks=3)", "holdout"])
    assert result.selection["model"][0].startswith("ByShape")
    fits = result.fits
    assert fits.truncations == (0.5, 0.666666666667, 0.833333333333)
    for choice in result.choices:
        sums = sums_of(leave_future_out(fits, choice.criterion))
        assert sums == pytest.approx(choice.scores.score, abs=1e-9)


# The table of later trials


def sums_of(frame: pl.DataFrame) -> np.ndarray:
    """[learner, model], in the order of the rows."""
    keys = ["learner", "model"]
    sums = frame.group_by(keys, maintain_order=True).agg(pl.col("log_probability").sum())
    return sums["log_probability"].to_numpy().reshape(-1, frame["model"].n_unique())


@pytest.mark.parametrize("criterion", [Prequential(4, 0.3), HoldOut(0.4), Prequential()], ids=repr)
def test_the_table_of_later_trials(fits, criterion):
    frame = leave_future_out(fits, criterion)
    assert frame.columns == ["learner", "trial", "model", "trials_fitted", "log_probability"]
    scores = criterion.scores(fits)
    assert len(frame) == scores.n_trials.sum() * len(MODELS)
    assert sums_of(frame) == pytest.approx(scores.score, abs=1e-9)
    for i, (_, mine) in enumerate(frame.group_by("learner", maintain_order=True)):
        trials = mine["trial"].unique(maintain_order=True).to_numpy()
        scored = np.flatnonzero(fits.study[i].scored)
        first = len(scored) - scores.n_trials[i]
        assert trials.tolist() == (scored[first:] + 1).tolist()
        assert mine["model"][: len(MODELS)].to_list() == [*fits.of]
        before = np.searchsorted(scored + 1, mine["trial"].to_numpy())  # scored trials before it
        assert (mine["trials_fitted"].to_numpy() <= before).all()
        sizes = {int(fits.n_fitted(t)[i]) for t in criterion.truncations}
        assert set(mine["trials_fitted"]) <= sizes


def test_labels_and_rows_of_the_input():
    trials = random_trials(1, 10)
    study = study_of(trials, trials, names=["a", "a"], about={"model": ["1", "2"]})
    rows = np.arange(20)[::-1].copy()
    study = replace(study, source=Source(("one.csv", "two.csv"), (8, 12), rows, (2, 5)))
    fits = fit(study, [EACH, Coin()], [0.8])
    frame = leave_future_out(fits, HoldOut(0.8))
    assert frame.select("learner", "input_model", "file", "row", "trial", "model").rows() == [
        ("a", condition, file, row, trial, model)
        for condition, places in (
            ("1", [("two.csv", 8, 9), ("two.csv", 7, 10)]),
            ("2", [("one.csv", 3, 9), ("one.csv", 2, 10)]),
        )
        for file, row, trial in places
        for model in ("each", "Coin")
    ]


def test_no_later_trial_is_an_empty_table_with_all_columns():
    study = study_of(random_trials(1, 2))
    fits = fit(study, [EACH], [0.9999999999])  # both trials are fitted
    frame = leave_future_out(fits, HoldOut(0.9999999999))
    assert frame.height == 0
    full = leave_future_out(fit(study, [EACH], [0.5]), HoldOut(0.5))
    assert frame.schema == full.schema


def test_a_criterion_that_uses_all_trials_has_no_later_ones(fits):
    with pytest.raises(HowlearnError, match="aic leaves no later trials; holdout"):
        leave_future_out(fits, AIC())


# Texts


@pytest.mark.parametrize(
    ("text", "criterion"),
    [
        ("prequential", Prequential()),
        ("prequential(blocks=5, start=0.5)", Prequential(5, 0.5)),
        ("Prequential(3)", Prequential(3)),
        ("prequential(blocks=3.0, start=.25)", Prequential(3, 0.25)),
    ],
)
def test_a_text(text, criterion):
    found = criterion_named(text)
    assert found == criterion
    assert isinstance(found, Prequential)
    assert isinstance(found.blocks, int)
    assert criterion_named(repr(found)) == criterion
    assert repr(found) == repr(criterion)


def test_the_text_and_the_key():
    assert repr(Prequential()) == "prequential(blocks=5, start=0.5)"
    assert repr(Prequential(1_234_567, 1 / 3)) == (
        f"prequential(blocks=1234567, start={1 / 3!r})"
    )  # fmt: skip
    assert Prequential().key == "prequential_5_0.5"
    assert hl.Prequential is Prequential


@given(st.integers(1, 50), st.floats(0.01, 0.99))
def test_blocks_begin_at_the_start_and_grow(blocks, start):
    """A share is the one that people write: 0.6, not 0.6000000000000001."""
    truncations = Prequential(blocks, start).truncations
    assert truncations[0] == start
    assert len(truncations) == blocks
    assert all(a < b < 1 for a, b in pairwise(truncations))
    assert list(truncations[1:]) == [round(t, 12) for t in truncations[1:]]
    assert Prequential(5, 0.5).truncations == (0.5, 0.6, 0.7, 0.8, 0.9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prequential(blocks=0)", "blocks must be a whole number of at least 1, got 0"),
        ("prequential(blocks=2.5)", "blocks must be a whole number of at least 1, got 2.5"),
        ("prequential(blocks=1e999)", "blocks must be a whole number of at least 1, got inf"),
        ("prequential(start=0)", "the start must lie between 0 and 1, got 0"),
        ("prequential(5, 1)", "the start must lie between 0 and 1, got 1"),
    ],
)
def test_what_it_cannot_be(text, message):
    with pytest.raises(HowlearnError) as error:
        criterion_named(text)
    assert str(error.value) == f"criterion {text!r}: {message}"


# Where only likelihoods of whole records are kept


def test_a_plan_refuses_blocks_before_any_work():
    with pytest.raises(HowlearnError, match="simulated learners are not fitted block by block"):
        hl.plan("shepard-1", criteria=["aic", "prequential"], trials=[40], simulated=10**9)
    found = hl.plan("shepard-1", criteria=["prequential(1)"], trials=[24], simulated=3)
    assert found.recovered["criterion"].unique().to_list() == ["prequential(blocks=1, start=0.5)"]
    with pytest.raises(HowlearnError, match="simulated learners are not fitted block by block"):
        Prequential(2).scores(hl.plan("shepard-1", trials=[24], simulated=3).contests[0])


def test_of_models_that_foretell_as_well_the_smaller_one_is_selected() -> None:
    """One that contains another is ahead of it by chance half of the time."""
    task = hl.Task.load("shepard-1")
    study = hl.simulate(task, "OneForAll", {"eta": 0.1}, learners=12, trials=80, seed=3)
    models = [task.model("OneForAll+lapse"), task.model("OneForAll")]
    found = hl.select(study, models, ["prequential", "holdout"], check=False)
    scores = found.scores.filter(criterion="prequential(blocks=5, start=0.5)")
    by = {name: scores.filter(model=name)["score"].to_numpy() for name in found.names}
    ahead = by["OneForAll+lapse"] - by["OneForAll"]
    assert ((ahead > 0) & (ahead <= 0.5)).any()  # else nothing is shown here
    chosen = found.selection.filter(criterion="prequential(blocks=5, start=0.5)")
    assert (chosen["model"].to_numpy() == "OneForAll").tolist() == (ahead <= 0.5).tolist()
    assert (chosen["margin"] >= 0).all()
