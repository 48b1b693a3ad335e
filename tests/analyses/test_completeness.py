"""Completeness: honest features, exact mixtures, alarms where something is missed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses import residual
from howlearn.analyses.completeness import LEVEL, TOO_FEW, completeness, earlier_answers
from howlearn.analyses.foretold import (
    Foretelling,
    Grid,
    Rows,
    coin_of,
    em_weights,
    folds_of,
    row_scores,
)
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.replay import log_probabilities
from studies import random_trials, study_of

TASK = hl.Task.load("five-four")


def made(n_actions: int = 3, trials: int = 40) -> Study:
    """Learners with flags, three actions and features."""
    learners = [
        random_trials(seed, trials, ("x", "y", "z"), n_actions, flags=True) for seed in range(4)
    ]
    study = study_of(*learners, n_actions=n_actions, contexts=("x", "y", "z"))
    features = {c: {"size": s, "hue": h} for c, s, h in (("x", "1", "a"), ("y", "1", "b"),
                                                        ("z", "2", "b"))}  # fmt: skip
    return replace(study, features=features)


def sticky(learners: int, trials: int, strength: float) -> Study:
    model = TASK.model("ByPattern+stickiness")
    theta = np.tile([0.15, 0.15, strength], (learners, 1))
    return hl.simulate(TASK, model, theta, trials=trials, seed=4)


def everything(study: Study) -> tuple[Rows, residual.Features]:
    rows = Rows.of(study, folds_of(study, 0))
    uniform = -np.log(rows.per_trial)[rows.of_row]
    return rows, residual.features_of(study, rows, uniform)


def test_features_know_nothing_of_later_trials() -> None:
    study = made()
    actions, told = residual.history_of(study)
    for i in range(len(study)):
        start, stop = study.starts[i], study.starts[i + 1]
        middle = (start + stop) // 2
        other = replace(study, action=study.action.copy(), reward=study.reward.copy())
        other.action[middle:stop] = (other.action[middle:stop] + 1) % 3
        other.reward[middle:stop] = 1.0 - np.nan_to_num(other.reward[middle:stop])
        changed, told_changed = residual.history_of(other)
        assert np.array_equal(actions[start : middle + 1], changed[start : middle + 1])
        assert np.array_equal(told[start : middle + 1], told_changed[start : middle + 1])
        assert not np.array_equal(actions[middle + 1 : stop], changed[middle + 1 : stop])


def test_features_do_not_know_how_long_the_record_is() -> None:
    study = made()
    keep = np.concatenate([np.arange(s, s + 25) for s in study.starts[:-1]])
    names = ("context", "action", "reward", "scored", "learned", "reset")
    arrays = {name: getattr(study, name)[keep] for name in names}
    short = replace(study, starts=np.arange(5) * 25, **arrays)
    for whole, cut in zip(residual.history_of(study), residual.history_of(short), strict=True):
        assert np.array_equal(whole[keep], cut)
    (rows, all_of), (few, some) = everything(study), everything(short)
    where = np.isin(rows.trial, keep)
    named = dict(zip(all_of.names, all_of.columns[where].T, strict=True))
    for name, column in zip(some.names, some.columns.T, strict=True):
        assert named[name] == pytest.approx(column), name
    assert np.array_equal(all_of.only_trees[where], some.only_trees)
    assert len(few) == 25 * 4 - (~short.scored).sum()


def test_history_counts_as_one_would_by_hand() -> None:
    rows = {"learner": "a", "context": ["x", "y", "x", "x"], "action": ["l", "r", "r", "l"],
            "reward": [1, 0, 0, 1]}  # fmt: skip
    study = hl.read(pl.DataFrame(rows))
    actions, told = residual.history_of(study)
    names = {name: k for k, (_, name) in enumerate(residual.HISTORY)}
    left, right = study.actions.index("l"), study.actions.index("r")
    assert actions[3, right, names["chosen 1 ago"]] == 1.0
    assert actions[3, left, names["chosen 3 ago"]] == 1.0
    assert actions[2, left, names["last outcome here"]] == 1.0
    assert actions[3, right, names["last outcome here"]] == -1.0
    assert actions[3, left, names["net outcomes"]] == 1.0
    assert actions[3, right, names["net outcomes"]] == -1.0
    assert actions[1, left, names["all others"]] == 1.0
    assert told[3, 3] == 2.0  # presentations of x
    assert told[3, 4] == 2.0  # contexts met


def test_a_grid_is_the_mean_over_rates() -> None:
    """Bayes' rule over rates, plainly: for one component, cell by cell."""
    study = hl.simulate(TASK, "ByShape", {"eta": 0.2}, learners=2, trials=30, seed=3)
    model = TASK.model("ByShape")
    told = Foretelling(study, [model], [np.zeros((2, 2))], np.zeros(2, np.int64))
    _, found = told.components(0)
    grid = Grid.of(model, study)
    at = np.stack([log_probabilities(study, 0, model, theta) for theta in grid.theta])
    unit, action = grid.unit_of[study[0].context], study[0].action
    for component in (0, 17, 40):
        for t in (0, 7, 29):
            before = [s for s in range(t) if unit[s] == unit[t]]
            like = np.exp(at[:, before, action[before]].sum(axis=1)) * grid.kernel[:, component]
            wanted = np.log(like @ np.exp(at[:, t]) / like.sum())
            assert found[1 + component, t] == pytest.approx(wanted, abs=1e-5)


def test_the_mixture_is_bayes_rule_along_a_record() -> None:
    study = hl.simulate(TASK, "ByShape", {"eta": 0.2}, learners=6, trials=40, seed=3)
    models = [TASK.model("q-learning"), TASK.model("ByShape")]
    thetas = [np.tile([0.3, 2.0], (6, 1)) + np.arange(6)[:, None] / 10, np.zeros((6, 2))]
    fold = np.arange(6) % 3
    told = Foretelling(study, models, thetas, fold)
    log_p = told.log_probabilities()
    known = np.empty((6, told.size))
    for i in range(6):
        _, each = told.components(i)
        known[i] = each[:, np.arange(40), study[i].action].sum(axis=1)
    weights = told.weights(known, fold != 0, 0)
    _, each = told.components(0)
    assert weights[told.owner == 0].sum() == 0.0  # nobody is explained by estimates of the own fold
    for t in (0, 20, 39):
        like = weights * np.exp(each[:, np.arange(t), study[0].action[:t]].sum(axis=1))
        wanted = np.log(like @ np.exp(each[:, t]) / like.sum())
        assert log_p[t] == pytest.approx(wanted, abs=1e-4)
    assert np.exp(log_p).sum(axis=1) == pytest.approx(1.0)


def test_every_kind_of_study_has_scores() -> None:
    """Three actions, some on offer, trials that are not scored, new starts."""
    study = made()
    there = np.ones((len(study.action), 3), bool)
    there[::4] = False
    there[np.arange(len(there)), study.action] = True
    there[::4, 0] = True
    study = study.with_offered(there)
    fold = folds_of(study, 0)
    models = [*hl.candidates(study.contexts)[:2], hl.models.QLearning()]
    results = hl.select(study, models, ["aic"])
    thetas = [results.theta(k) for k in range(3)]
    log_p = Foretelling(study, models, thetas, fold).log_probabilities()
    assert np.isneginf(log_p[~there]).all()
    rows = Rows.of(study, fold)
    score = row_scores(rows, log_p)
    total = np.add.reduceat(np.exp(score), rows.first[:-1])
    assert total == pytest.approx(1.0)
    assert np.array_equal(rows.action[rows.chosen], study.action[study.scored])
    features = residual.features_of(study, rows, score)
    assert np.isfinite(features.all).all()
    assert np.add.reduceat(features.columns, rows.first[:-1], axis=0) == pytest.approx(0.0)
    assert coin_of(study, rows).shape == (study.scored.sum(),)


def test_newton_finds_where_the_slope_is_the_ridge() -> None:
    study = made(2, 60)
    rows, features = everything(study)
    score = -np.log(rows.per_trial)[rows.of_row]
    x = np.ascontiguousarray(features.of("repeats"))
    beta = residual.newton(rows, np.arange(len(rows)), x, score)
    for d in range(len(beta)):
        ends = []
        for step in (-1e-4, 1e-4):
            moved = beta.copy()
            moved[d] += step
            new = rows.softened(score + x @ moved)[rows.chosen].sum()
            ends.append(new - residual.RIDGE / 2 * float(moved @ moved))
        assert abs(ends[1] - ends[0]) / 2e-4 < 0.5


def test_weights_add_up() -> None:
    found = em_weights(np.log(np.array([[0.5, 0.25, 0.25]] * 9)))
    assert found.sum() == pytest.approx(1.0)
    assert found.argmax() == 0


def test_stickiness_is_found_and_named_and_the_truth_is_left_alone() -> None:
    pytest.importorskip("lightgbm")
    study = sticky(24, 120, 1.5)
    found = completeness(hl.select(study, TASK.models, ["aic"]))
    assert found.alarm
    assert found.row["completeness"] < 0.95
    assert found.row["lower"] <= found.row["completeness"] <= found.row["upper"]
    assert found.reasons["family"][0] == "repeats"
    assert "+stickiness'" in found.reasons["try"][0]
    assert found.reasons["p"][0] < LEVEL
    assert "at most" in found.sentences[0]
    again = completeness(hl.select(study, TASK.models, ["aic"]))
    assert again.completeness.equals(found.completeness)
    model = [*TASK.models, TASK.model("ByPattern+stickiness")]
    earlier = [{"candidates": [*found.candidates], "completeness": found.row["completeness"]}]
    more = completeness(hl.select(study, model, ["aic"]), earlier=earlier)
    assert not more.alarm
    assert more.row["completeness"] > 0.97
    assert more.compared[0].startswith("With ByPattern+stickiness ")
    whole = replace(more, completeness=more.completeness.with_columns(lower=pl.lit(1.0)))
    assert "100%" not in whole.answer[0]  # "100% (100% to 100%)" would promise too much
    assert whole.answer[0].startswith("The search found nothing that predicts")


def test_too_few_and_one() -> None:
    study = hl.simulate(TASK, "ByShape", {"eta": 0.1}, learners=3, trials=50, seed=1)
    found = completeness(hl.select(study, TASK.models, ["aic"]))
    assert found.row["verdict"] == TOO_FEW
    assert found.row["completeness"] is None
    assert not found.alarm
    assert "3 learners with 50 scored trials" in found.sentences[0]
    one = hl.select(study.part(0, 1), TASK.models, ["aic"])
    with pytest.raises(HowlearnError, match="one learner only"):
        completeness(one)


def test_nothing_to_predict() -> None:
    pytest.importorskip("lightgbm")
    study = hl.simulate(TASK, "ByShape", {"eta": 0.0}, learners=20, trials=100, seed=1)
    found = completeness(hl.select(study, TASK.models, ["aic"]))
    assert found.row["verdict"] == "nothing to predict"
    assert found.row["completeness"] is None
    assert "nothing to predict" in found.sentences[0]


def test_without_the_extra_one_sentence(monkeypatch) -> None:
    study = hl.simulate(TASK, "ByShape", {"eta": 0.1}, learners=20, trials=100, seed=1)
    monkeypatch.setattr(residual, "installed", lambda: False)
    with pytest.raises(HowlearnError, match=r"needs LightGBM: pip install 'howlearn\[completeness"):
        completeness(hl.select(study, TASK.models[:2], ["aic"]))


def test_a_folder_that_is_no_answer_is_refused(tmp_path) -> None:
    with pytest.raises(HowlearnError, match="not a folder of howlearn completeness"):
        earlier_answers(tmp_path / "new", tmp_path, ["A"])
