"""Latent variables trial by trial, and the input's columns beside them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.replay import latents_of, log_probabilities
from howlearn.models.adjustments import Lapse
from howlearn.models.coin import Coin
from howlearn.models.model import Model
from howlearn.models.networks import Alcove
from howlearn.models.q_learning import QLearning, QLearningTwoRates
from howlearn.results.bids import plain, write_events
from howlearn.results.select_into import beside, originals
from howlearn.selection.predictions import latent_columns, only_used, predictions

TASK = hl.Task.load("five-four")
BY = {model.name: model for model in TASK.models}


@pytest.fixture(scope="module")
def study() -> Study:
    return hl.simulate(TASK, "ByShape", {"eta": 0.05}, learners=2, trials=60, seed=3)


def values_by_hand(study: Study, learner: int, alpha: float) -> list[list[float]]:
    """[value(A), value(B), prediction_error] of Q-learning in every context, trial by trial."""
    q: dict[int, list[float]] = {}
    rows = []
    trials = study[learner]
    for t in range(len(trials)):
        mine = q.setdefault(int(trials.context[t]), [0.0, 0.0])
        error = trials.reward[t] - mine[trials.action[t]]
        rows.append([*mine, error if trials.learned[t] else math.nan])
        if trials.learned[t]:
            mine[trials.action[t]] += alpha * error
    return rows


def test_q_learning_s_latents_are_those_of_a_plain_loop(study: Study) -> None:
    for learner in range(2):
        names, latents = latents_of(study, learner, QLearning(), np.array([0.3, 4.0]))
        assert names == ("value(A)", "value(B)", "prediction_error")
        assert np.allclose(latents, values_by_hand(study, learner, 0.3))


def test_adjustments_leave_the_latents_as_they_are(study: Study) -> None:
    plainly = latents_of(study, 0, QLearning(), np.array([0.3, 4.0]))
    lapsing = latents_of(study, 0, QLearning() + Lapse(), np.array([0.3, 4.0, 0.2]))
    assert lapsing[0] == plainly[0]
    assert np.allclose(lapsing[1], plainly[1])


def test_a_test_trial_has_values_and_no_prediction_error() -> None:
    columns = {
        "learner": ["1"] * 4,
        "context": ["a"] * 4,
        "action": ["A", "B", "A", "A"],
        "reward": [1, 0, 1, 1],
        "learned": [True, True, False, True],
    }
    found = latents_of(hl.read(pl.DataFrame(columns)), 0, QLearning(), np.array([0.5, 1.0]))[1]
    expected = [[0, 0, 1], [0.5, 0, 0], [0.5, 0, math.nan], [0.5, 0, 0.5]]
    assert np.allclose(found, expected, equal_nan=True)


@pytest.mark.parametrize("name", ["ByShape", "OnePerItem (one rate)", "ByShape+lapse"])
def test_preferences_give_the_probabilities(study: Study, name: str) -> None:
    model = {
        "ByShape": BY["ByShape"],
        "OnePerItem (one rate)": BY["OnePerItem"].with_one_rate(),
        "ByShape+lapse": BY["ByShape"] + Lapse(),
    }[name]
    n = model.n_parameters(2)
    theta = np.full(n, 0.1)
    names, latents = latents_of(study, 1, model, theta)
    assert names == ("preference(A)", "preference(B)")
    p = np.exp(latents) / np.exp(latents).sum(axis=1, keepdims=True)
    if name.endswith("lapse"):
        p = 0.9 * p + 0.1 / 2
    assert np.allclose(p, np.exp(log_probabilities(study, 1, model, theta)))


def test_cells_with_different_models_leave_what_others_have_empty(study: Study) -> None:
    cells = BY["ByShape"].partition
    model = hl.PartitionModel("mixed", cells, (QLearning(), hl.GradientBandit()))
    names, latents = latents_of(study, 0, model, np.array([0.3, 4.0, 0.1]))
    assert names == ("value(A)", "value(B)", "prediction_error", "preference(A)", "preference(B)")
    contexts = np.array(study.contexts)[study[0].context]
    first = np.isin(contexts, cells.cells[0])
    assert np.array_equal(
        ~np.isnan(latents), np.where(first[:, None], [1, 1, 1, 0, 0], [0, 0, 0, 1, 1])
    )


def test_a_coin_has_none(study: Study) -> None:
    names, latents = latents_of(study, 0, Coin(), np.array([0.5]))
    assert names == ()
    assert latents.shape == (60, 0)


def test_attention_starts_evenly_and_moves_where_it_is_learned(study: Study) -> None:
    features = list(study.features[study.contexts[0]])
    attention = [f"attention({feature})" for feature in features]
    names, latents = latents_of(study, 0, Alcove(), np.array([6.0, 2.0, 0.1, 0.1]))
    assert names == (*attention, "output(A)", "output(B)")
    assert len(features) == 4
    assert np.allclose(latents[0, :4], 1 / 4)
    assert latents[0, :4].sum() == pytest.approx(1.0)
    assert (latents[:, :4] >= 0).all()
    assert not np.allclose(latents[-1, :4], 1 / 4)
    fixed = latents_of(study, 0, Alcove(), np.array([6.0, 2.0, 0.1, 0.0]))[1]
    assert np.allclose(fixed[:, :4], 1 / 4)


def test_the_columns_are_the_union_in_the_order_of_the_candidates(study: Study) -> None:
    models = [BY["ByShape"], QLearning(), QLearningTwoRates(), Coin()]
    columns = ["preference(A)", "preference(B)", "value(A)", "value(B)", "prediction_error"]
    assert list(latent_columns(models, study)) == columns
    selection = hl.select(study, models, ["aic"])
    frame = predictions(selection, "q-learning", latents=True)
    assert frame.columns[-5:] == columns
    assert frame["preference(A)"].null_count() == frame.height
    assert frame["value(A)"].null_count() == 0
    assert only_used(frame, models, study).columns[-3:] == columns[2:]
    coin = predictions(selection, "Coin", latents=True)
    assert only_used(coin, models, study).columns[-1] == "log_probability"


class Strange(Model):
    """A model whose latent variable has the name of a result."""

    latents = ("score", "mood")

    @staticmethod
    def start(world):
        return np.zeros(1)

    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = -np.log(len(out))

    @staticmethod
    def update(state, trial, theta):
        state[0] += 1.0

    @staticmethod
    def observe(state, trial, theta, out):
        out[:] = state[0]


def test_latents_never_clash_with_results_or_kept_columns(study: Study) -> None:
    kept = hl.read(study.frame().with_columns(mood=pl.lit("good")), task=TASK, keep=("mood",))
    selection = hl.select(kept, [Strange()], ["aic"])
    frame = predictions(selection, latents=True)
    assert frame.columns[:3] == ["_row", "learner", "input_mood"]
    assert frame.columns[-2:] == ["latent_score", "mood"]
    assert frame["mood"].to_list() == [*range(60)] * 2


def test_original_columns_come_from_files_only(study: Study, tmp_path: Path) -> None:
    assert originals(study) == []
    assert originals(hl.read(study.frame(), task=TASK)) == []
    file = tmp_path / "trials.csv"
    study.frame().write_csv(file)
    known = hl.read(file, task=TASK)
    assert originals(known)[0].columns == study.frame().columns
    study.frame().head(100).write_csv(file)
    with pytest.raises(HowlearnError, match="it had 120 rows and has 100 now"):
        originals(known)


def test_original_columns_of_all_kinds(study: Study, tmp_path: Path) -> None:
    frame = study.frame()
    text = frame.head(60).with_columns(rt=pl.lit("007"))
    lines = text.write_csv().splitlines()
    unnamed = ["," + lines[0], *(f"{i},{line}" for i, line in enumerate(lines[1:], start=1))]
    (tmp_path / "a.csv").write_text("\n".join(unnamed))
    typed = frame.tail(60).with_columns(rt=7.5, spots=[1, 2])
    typed.write_parquet(tmp_path / "b.parquet")
    known = hl.read([tmp_path / "a.csv", tmp_path / "b.parquet"], task=TASK, learner="learner")
    results = pl.DataFrame({"row": range(120), "context": ["x"] * 120})
    whole = beside(results, originals(known))
    assert whole.columns[:3] == ["row", "context", "column_1"]
    assert whole["context"].unique().to_list() == ["x"]
    assert whole["input_context"].to_list() == frame["context"].to_list()
    assert whole["rt"].to_list() == ["007"] * 60 + ["7.5"] * 60
    assert whole["spots"].to_list() == [None] * 60 + ["[1, 2]"] * 60
    assert whole["column_1"].head(60).to_list() == [str(i) for i in range(1, 61)]


def test_bids_names_are_plain_and_never_twice() -> None:
    columns = ["model", "value(a b)", "value(a_b)", "value(−2)", "value(2)", "p(左)"]
    names = ["howlearn_model", "value_a_b", "value_a_b_2", "value_minus2", "value_2", "p_左"]
    assert plain(columns, {"model"}) == names


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        (["ds/sub-1/func", "ds/sub-1/ses-2/func"], ["sub-1/func", "sub-1/ses-2/func"]),
        (["siteA", "siteB"], ["siteA", "siteB"]),
    ],
)
def test_bids_files_keep_their_folders_and_never_overwrite_each_other(
    folders: list[str], expected: list[str], tmp_path: Path
) -> None:
    name = "sub-1_task-go_desc-x_events.tsv"
    files = [str(tmp_path / folder / name) for folder in folders]
    inputs = [pl.DataFrame({"cue": ["u"], "onset": [o], "duration": [None]}) for o in (" 1", "2")]
    frame = pl.DataFrame({"row": [2, 2], "model": ["Coin", None], "p(A)": [0.25, None]})
    write_events(tmp_path / "out", frame, files, inputs, [Coin()], "the model Coin")
    written = sorted(tmp_path.rglob("*.tsv"))
    stem = "sub-1_task-go_desc-xhowlearn_events.tsv"
    assert written == sorted(tmp_path / "out" / folder / stem for folder in expected)
    texts = {path.read_text() for path in written}
    header = "onset\tduration\tcue\tmodel\tp_A\n"
    assert texts == {f"{header} 1\t\tu\tCoin\t0.25\n", f"{header}2\t\tu\tn/a\tn/a\n"}
    sidecar = json.loads((tmp_path / "out" / "task-go_desc-xhowlearn_events.json").read_text())
    assert sidecar["model"]["Levels"] == {"Coin": "a learner who does not learn"}
    assert "the model Coin" in sidecar["Description"]
