"""The columns of the tables are those that are declared, and none is there twice."""

from __future__ import annotations

import polars as pl
import pytest

import howlearn as hl
from howlearn.core.columns import commands, of, reserved, tables


@pytest.fixture(scope="module")
def trials() -> pl.DataFrame:
    task = hl.Task.load("five-four")
    return hl.simulate(task, "ByShape", {"eta": 0.1}, learners=3, trials=40, seed=1).frame()


@pytest.fixture(scope="module")
def models() -> list[hl.Model]:
    return [hl.models.QLearning(), hl.models.WinStayLoseShift()]


def test_a_kept_column_may_have_the_name_of_an_estimate(
    trials: pl.DataFrame, models: list[hl.Model]
) -> None:
    kept = trials.with_columns(alpha_all=pl.lit("x"), input_alpha_all=pl.lit("y"))
    study = hl.read(kept, keep=("alpha_all", "input_alpha_all"))
    found = hl.select(study, models, ["aic", "holdout"])
    tables = [found.learners, found.selection, found.scores, found.estimates]
    for table in [*tables, hl.stability(found, doubles=1)]:
        assert table.columns[:3] == ["learner", "input_input_alpha_all", "input_alpha_all"]
        assert set(table["input_input_alpha_all"]) == {"x"}
    assert found.learners["alpha_all"].dtype == pl.Float64


def test_kept_columns_may_be_called_as_renamed_ones(trials: pl.DataFrame) -> None:
    kept = trials.with_columns(model=pl.lit("x"), input_model=pl.lit("y"))
    study = hl.read(kept, keep=("model", "input_model"))
    assert study.labels.columns == ["learner", "input_input_model", "input_model"]


def test_a_kept_column_may_be_called_as_one_of_the_weights(trials: pl.DataFrame) -> None:
    task = hl.Task.load("five-four")
    kept = trials.with_columns(strategy=pl.lit("x"), before=pl.lit("y"))
    study = hl.read(kept, keep=("strategy", "before"), task=task)
    model = task.model("exp4(ByPattern[eta=0.05], ByPatternExc[eta=0.05])")
    weights = hl.weights(hl.fit(study, [model]))
    assert weights.columns == ["learner", "input_strategy", "input_before", *of("weights").names]
    assert hl.leaders(weights).columns[-len(of("leaders").names) :] == [*of("leaders").names]


def test_tables_have_the_columns_that_are_declared(
    trials: pl.DataFrame, models: list[hl.Model]
) -> None:
    found = hl.select(hl.read(trials), models, ["aic", "holdout"])
    given = {
        "scores": found.scores,
        "estimates": found.estimates,
        "selection": found.selection,
        "lowest": found.lowest(0.01),
        "stability": hl.stability(found, doubles=1),
    }
    for name, table in given.items():
        assert table.columns == ["learner", *of(name).names]
        assert {n: t for n, t in of(name).types.items() if n != "model"}.items() <= {
            *dict(table.schema).items()
        }


def test_what_opens_a_table_is_not_declared_again() -> None:
    for command in commands():
        for table in tables(command).values():
            assert not (table.labelled and "learner" in table.names)
            assert len({column.name for column in table.columns}) == len(table.columns)
            assert table.row


def test_names_of_results_are_reserved() -> None:
    assert all(reserved(name) for name in of("selection").names + of("learners").names)
    assert all(map(reserved, ("excluded", "among", "p(A)")))
    assert not reserved("strategy")
