"""Selecting: ranks and ties, verdicts in words, and tables as DESIGN lists them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from howlearn.analyses.check import select
from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3IX, GradientBandit
from howlearn.fitting.fit import fit
from howlearn.models.coin import Coin
from howlearn.models.task import Task
from howlearn.results.results import Results
from howlearn.selection.criteria import AIC, BIC, HoldOut, Penalized
from howlearn.selection.select import choose, ranking, winners
from howlearn.simulation.simulate import simulate
from oracle import Trial
from studies import model_of, random_trials, study_of

COLUMNS = {
    "scores": "model criterion n_trials n_parameters log_likelihood penalty score rank selected "
    "probability",
    "estimates": "model cell parameter estimate trials_fitted lower upper interval status "
    "agreement",
    "selection": "criterion model runner_up margin verdict probability p_other",
}
EACH = model_of([["x"], ["y"]], GradientBandit(), name="each")
ALL = model_of([["x", "y"]], GradientBandit(), name="all")


def ranks(scores, sizes):
    return ranking(np.array([scores]), np.array([sizes])).tolist()[0]


# Ranks and ties


@pytest.mark.parametrize(
    ("scores", "sizes", "order"),
    [
        ([-3.0, -1.0, -2.0], [1, 9, 4], [1, 2, 0]),
        ([-1.0, -1.0, -1.0], [9, 1, 4], [1, 2, 0]),  # equal: fewer parameters first
        ([-1.0, -1.0, -1.0], [2, 2, 1], [2, 0, 1]),  # then in the order listed
        ([-1.0, -1.0 - 9e-10], [2, 1], [1, 0]),  # a tie, to 1e-9 nats
        ([-1.0, -1.0 - 2e-9], [2, 1], [0, 1]),  # no tie
        ([-2.0, -1.0, -2.0 - 1e-10], [3, 9, 1], [1, 2, 0]),  # ties below the best are ties too
    ],
)
def test_ranks(scores, sizes, order):
    assert ranks(scores, sizes) == order


def test_ties_of_learners_who_do_not_learn():
    """Rates of 0 in all cells predict the same: the model with one cell is preferred."""
    never = [Trial("xy"[t % 2], t // 2 % 2, 1.0) for t in range(24)]  # each reward is followed by
    # the other action, in both contexts and over them
    selection = select(study_of(never), [EACH, ALL], [HoldOut()])
    fits = selection.fits
    assert fits.of["each"].theta[0, 0].tolist() == [0.0, 0.0]
    assert selection.selection["model"].to_list() == ["all"]
    assert selection.selection["margin"].to_list() == [0.0]
    assert selection.selection["verdict"].to_list() == ["no better than a coin"]


# Verdicts


@pytest.fixture(scope="module")
def shaped():
    """Learners who go by shape, in the paper's task."""
    return simulate(
        Task.load("five-four"), "ByShape", {"eta": 0.05}, learners=6, trials=300, seed=1
    )


def test_clear(shaped):
    task = Task.load("five-four")
    selection = select(shaped, [task.model("ByShape"), task.model("ByPattern")])
    assert selection.selection["verdict"].unique().to_list() == ["clear"]
    assert selection.selection["runner_up"].unique().to_list() == ["ByPattern"]
    assert selection.selection["margin"].min() > 2.0


def test_undecided_between_models_within_the_distance_asked_for(shaped):
    """Names best first, however many there are; another distance, another verdict."""
    task = Task.load("five-four")
    fits = fit(shaped, task.models)
    wide = choose(fits, [AIC()], within=1e6)
    names = wide.scores.filter(pl.col("learner") == "1")["model"].to_list()
    assert wide.selection["verdict"][0] == (f"undecided between {', '.join(names)} and a coin")
    margin = wide.selection["margin"][0]
    for within, verdict in ((margin * 1.01, "undecided between "), (margin * 0.99, "clear")):
        assert choose(fits, [AIC()], within=within).selection["verdict"][0].startswith(verdict)


def test_no_better_than_a_coin():
    """A biased learner who does not learn: the best coin counts, not only a fair one."""
    trials = [Trial("x", int(t % 10 == 0), 0.0) for t in range(60)]
    selection = select(study_of(trials), [model_of([["x"]], GradientBandit())], [AIC()])
    assert selection.selection["verdict"].to_list() == ["no better than a coin"]
    coin = 60 * (0.9 * np.log(0.9) + 0.1 * np.log(0.1)) - 1
    assert selection.choices[0].coin == pytest.approx([coin])


def test_a_coin_close_behind_makes_a_verdict_undecided():
    """Ahead of not learning, but by less than the distance that tells models apart."""
    random = np.random.default_rng(0)
    choices = random.random(40) < 0.6 + 0.2 * np.arange(40) / 40
    trials = [Trial("x", int(a), float(a)) for a in choices]
    selection = select(study_of(trials), [model_of([["x"]], GradientBandit())], ["aic"])
    ahead = float(selection.choices[0].above_coin[0])
    assert 0.1 < ahead < 2.0
    assert selection.selection["verdict"][0] == "undecided between m and a coin"
    narrow = choose(selection.fits, [AIC()], within=ahead * 0.99)
    assert narrow.selection["verdict"][0] == "the only candidate"


def test_a_fair_coin_costs_nothing():
    """Where the choices are even, not learning has no parameter to pay for."""
    trials = [Trial("x", t % 2, 0.0) for t in range(60)]
    selection = select(study_of(trials), [model_of([["x"]], GradientBandit())], [AIC()])
    assert selection.choices[0].coin == pytest.approx([60 * np.log(0.5)])


def test_the_only_candidate(shaped):
    frame = select(shaped, [Task.load("five-four").model("ByShape")]).selection
    assert frame["verdict"].unique().to_list() == ["the only candidate"]
    assert frame["runner_up"].null_count() == frame["margin"].null_count() == len(frame)


# Tables


@pytest.fixture(scope="module")
def selection():
    """Two learners under two conditions each, with a column of people."""
    learners = [random_trials(i, 30 + 5 * i, better=0.8) for i in range(4)]
    study = study_of(
        *learners,
        names=["ann", "ann", "bo", "bo"],
        about={"condition": ["1", "2", "1", "2"], "age": [30, 30, 41, 41]},
    )
    models = [ALL, EACH, model_of([["x"], ["y"]], Exp3IX(), name="ix"), Coin()]
    return select(study, models, [Penalized(), HoldOut(), AIC(), BIC()])


@pytest.mark.parametrize("table", COLUMNS)
def test_columns(selection, table):
    frame = getattr(selection, table)
    assert frame.columns == ["learner", "condition", "age", *COLUMNS[table].split()]
    rows = {"scores": 4 * 4 * 4, "selection": 4 * 4, "estimates": 4 * 2 * (1 + 2 + 4 + 1)}
    assert len(frame) == rows[table]
    keys = frame.select("learner", "condition").unique(maintain_order=True)
    assert keys.rows() == [("ann", "1"), ("ann", "2"), ("bo", "1"), ("bo", "2")]


def test_scores_are_best_first(selection):
    for _, frame in selection.scores.group_by("learner", "condition", "criterion"):
        assert frame["rank"].to_list() == [1, 2, 3, 4]
        assert frame["selected"].to_list() == [True, False, False, False]
        score = frame["score"].to_numpy()
        assert np.all(np.diff(score) <= 1e-9)
        assert score == pytest.approx((frame["log_likelihood"] - frame["penalty"]).to_numpy())


def test_scores_say_what_they_are_of(selection):
    ann = selection.scores.filter((pl.col("learner") == "ann") & (pl.col("condition") == "1"))
    trials = dict(ann.select("criterion", "n_trials").unique().rows())
    assert trials == {"penalized(c=0.012)": 30, "holdout(split=0.5)": 15, "aic": 30, "bic": 30}
    sizes = dict(ann.select(pl.col("model").cast(str), "n_parameters").unique().rows())
    assert sizes == {"all": 1, "each": 2, "ix": 4, "Coin": 1}


def test_the_selection_is_the_first_of_the_scores(selection):
    keys = ["learner", "condition", "criterion"]
    first = selection.scores.filter(pl.col("rank") == 1).with_columns(pl.col("model").cast(str))
    second = selection.scores.filter(pl.col("rank") == 2).with_columns(pl.col("model").cast(str))
    joined = selection.selection.join(first, on=keys).join(second, on=keys, suffix="_2")
    assert len(joined) == 16
    assert joined["model"].to_list() == joined["model_right"].to_list()
    assert joined["runner_up"].to_list() == joined["model_2"].to_list()
    margins = (joined["score"] - joined["score_2"]).to_numpy()
    assert joined["margin"].to_numpy() == pytest.approx(margins)


def test_estimates(selection):
    """Of every truncation; intervals are there for those that saw most."""
    frame = selection.estimates
    without = frame.filter(pl.col("interval").is_null())
    assert frame["lower"].null_count() == frame["upper"].null_count() == len(without)
    ann = frame.filter((pl.col("learner") == "ann") & (pl.col("condition") == "2"))
    assert ann["trials_fitted"].unique().sort().to_list() == [17, 35]
    of_ix = ann.filter((pl.col("model") == "ix") & (pl.col("trials_fitted") == 35))
    assert of_ix.select("cell", "parameter").rows() == [
        ("x", "eta"),
        ("x", "gamma"),
        ("y", "eta"),
        ("y", "gamma"),
    ]
    assert of_ix["estimate"].to_list() == selection.fits.of["ix"].theta[1, 1].tolist()


def test_one_wide_row_per_sequence(selection):
    frame = selection.learners
    keys = ["penalized_0.012", "holdout_0.5", "aic", "bic"]
    expected = [f"{word}_{key}" for key in keys for word in ("model", "margin", "verdict")]
    before = ["learner", "condition", "age", "n_trials", "model", "verdict", "criteria_agree"]
    assert frame.columns[: 8 + 12] == [*before, "smallest_margin", *expected]
    assert frame["model"].to_list() == frame["model_penalized_0.012"].to_list()
    estimates = frame.columns[20:]
    assert estimates == ["eta_x+y", "eta_x", "eta_y", "gamma_x", "gamma_y", "p(A)_all"]
    assert frame["n_trials"].to_list() == [30, 35, 40, 45]
    for i, model in enumerate(frame["model_penalized_0.012"]):
        part = selection.fits.of[model]
        mine = {
            f"{p}_{c}": k for k, (c, p) in enumerate(zip(part.cells, part.parameters, strict=True))
        }
        for column in estimates:
            value = frame[column][i]
            assert value == (part.theta[i, 1, mine[column]] if column in mine else None)


def test_shares(selection):
    frame = selection.shares
    for (criterion, condition), part in frame.group_by("criterion", "condition"):
        assert part["learners"].sum() == 2
        assert part["share"].to_list() == (part["learners"] / 2).to_list()
        assert part["learners"].is_sorted(descending=True)
        chosen = selection.selection.filter(criterion=criterion, condition=condition)["model"]
        counts = dict(part.select("model", "learners").rows())
        assert counts == {name: (chosen == name).sum() for name in selection.fits.of}


def test_memory_and_folder_have_the_same_tables(shaped, tmp_path):
    """Shares in memory had four columns, and sixteen in the file."""
    models = Task.load("five-four").models
    marked = replace(shaped, excluded=("slow", *[None] * (len(shaped) - 1)))
    for study, name in ((shaped, "all"), (marked, "some")):
        here = select(study, models, ["aic", "evidence"])
        there = select(study, models, ["aic", "evidence"], folder=tmp_path / name, format="parquet")
        here.write(tmp_path / f"{name} again")
        assert [*here.tables] == ["scores", "estimates", "selection", "learners", "shares"]
        assert set(here.tables) == set(there.tables)
        for table, frame in here.tables.items():
            assert_frame_equal(frame, there.tables[table], check_dtypes=False)
            again = Results.of(tmp_path / f"{name} again").tables[table]
            assert again.columns == frame.columns
            assert again.height == frame.height


def test_without_labels_tables_begin_with_the_learner(shaped):
    selection = select(shaped, Task.load("five-four").models)
    for table, columns in COLUMNS.items():
        assert getattr(selection, table).columns == ["learner", *columns.split()]
    assert selection.selection["criterion"].unique(maintain_order=True).to_list() == [
        "evidence",
        "penalized(c=0.012)",
        "holdout(split=0.5)",
    ]


def test_criteria_must_be_there_once():
    study = study_of(random_trials(1, 10))
    with pytest.raises(HowlearnError, match="there is no criterion"):
        select(study, [ALL], [])
    with pytest.raises(HowlearnError, match=r"criterion holdout\(split=0\.5\) is named twice"):
        select(study, [ALL], [HoldOut(), AIC(), HoldOut(0.5)])


def test_two_splits_of_one_kind_are_two_criteria():
    study = study_of(random_trials(1, 20, better=0.5))
    selection = select(study, [ALL, EACH], [HoldOut(0.25), HoldOut(0.75)])
    assert selection.fits.truncations == (0.25, 0.75)
    n_trials = selection.scores.group_by("criterion", maintain_order=True).first()["n_trials"]
    assert n_trials.to_list() == [15, 5]
    # Without a fit of all trials the wide table takes the longest one.
    assert (
        selection.learners["eta_x+y"].null_count() + selection.learners["eta_x"].null_count() == 1
    )


@pytest.mark.parametrize("within", [-1.0, float("nan")])
def test_a_distance_that_is_none(shaped, within):
    with pytest.raises(HowlearnError, match="within must be 0 nats or more"):
        select(shaped, Task.load("five-four").models, within=within)


@pytest.mark.parametrize("spread", [1.0, 1e-7, 1e-9, 0.0])
def test_winners_are_the_first_of_the_ranking(spread):
    """Also where scores are tied, nearly tied, or a chain of ties."""
    random = np.random.default_rng(5)
    score = spread * random.integers(0, 4, (500, 6)).astype(float) - 100.0
    sizes = random.integers(1, 5, (500, 6))
    np.testing.assert_array_equal(winners(score, sizes), ranking(score, sizes)[:, 0])


def test_what_select_cannot_take_is_said(tmp_path):
    """Before anything is fitted or written."""
    task = Task.load("shepard-1")
    study = simulate(task, "OneForAll", {"eta": 0.1}, learners=1, trials=8, seed=1)
    with pytest.raises(HowlearnError, match="format must be one of csv, parquet, got 'xlsx'"):
        select(study, criteria=["aic"], folder=tmp_path / "r", format="xlsx")
    assert not (tmp_path / "r").exists()
    with pytest.raises(HowlearnError, match="select needs a study"):
        select(pl.DataFrame({"a": [1]}))
    with pytest.raises(HowlearnError, match="format must be one of csv, parquet"):
        select(study, criteria=["aic"]).write(tmp_path / "w", format="xlsx")
