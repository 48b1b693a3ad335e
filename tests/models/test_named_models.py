"""What a user may type for a model."""

from __future__ import annotations

import pytest

import howlearn as hl
from howlearn.core import safe_files
from howlearn.models.names import learning_named, model_named

TASK = hl.Task.load("five-four")


@pytest.mark.parametrize(
    ("text", "n_parameters"),
    [
        ("ByShape", 2),
        ("ByShape (one rate)", 1),
        ("Coin", 1),
        ("q-learning", 2),
        ("q-learning(ByShape)", 2),
        ("q-learning(ByShape, per-cell)", 4),
        ("q-two-rates(OnePerItem)", 3),
        ("ByShape+lapse", 3),
        ("ByShape (one rate)+lapse+stickiness", 3),
        ("q-learning(ByShapeExc)+bias", 3),
        ("q-learning(ByShape, per-cell)+lapse+forgetting", 6),
        ("kalman-ucb(ByShape)+stickiness", 5),
        ("alcove", 4),
        ("gcm", 6),
        ("aca(ByPattern)+stickiness", 3),
        ("own_models:Habit", 2),
        ("own_models:Habit(ByShape, per-cell)+lapse", 5),
    ],
)
def test_texts_that_name_models(text: str, n_parameters: int) -> None:
    model = TASK.model(text)
    assert model.n_parameters(n_actions=2) == n_parameters
    assert model.name == text.removeprefix("own_models:")
    assert len(model.owners(TASK.actions)) == n_parameters


@pytest.mark.parametrize("policy", ["mean", "ucb", "thompson"])
def test_the_policy_of_a_filter(policy: str) -> None:
    assert TASK.model(f"kalman(policy={policy})") == TASK.model(f"kalman-{policy}")
    with pytest.raises(
        hl.HowlearnError, match="policy must be mean or ucb or thompson, got greedy"
    ):
        TASK.model("kalman(policy=greedy)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alcove(ByShape)", "model alcove makes no use of cells"),
        ("aca(ByShape, per-cell)", "cells of aca depend on each other"),
        ("q-learning(Nope)", "there is no model 'Nope' whose cells could be used"),
        ("ByShape+lapse+lapse", "each adjustment can be added only once"),
        ("ByShape+laps", "there is no +laps (did you mean lapse?)"),
        ("q-lerning", "has no model 'q-lerning' (did you mean q-learning?)"),
        ("own_models", "which model of it? Write own_models:MyModel"),
        ("Coin+lapse", "a coin does not learn"),
        ("own_models:Nope", "own_models has no model 'Nope'"),
        ("no_such_module:Habit", "there is no module 'no_such_module'"),
        ("no_such_file.py:Habit", "there is no file no_such_file.py"),
    ],
)
def test_texts_that_name_nothing(text: str, message: str) -> None:
    safe_files.allow_code(text)
    with pytest.raises(hl.HowlearnError) as error:
        model_named(TASK.models, text, "the task", 4)
    assert message in str(error.value)


def test_a_file_that_cannot_be_imported(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_model_file.py").write_text("import howlearn\n1 / 0\n", encoding="utf-8")
    for text in ("broken_model_file:M", "broken_model_file.py:M"):
        with pytest.raises(hl.HowlearnError) as error:
            TASK.model(text)
        assert "ZeroDivisionError" in str(error.value)
        assert "line 2" in str(error.value)


def test_what_learns_in_cells() -> None:
    assert learning_named("q-learning").name == "q-learning"
    with pytest.raises(hl.HowlearnError, match="there is no rule 'alcove'"):
        learning_named("alcove")
    with pytest.raises(hl.HowlearnError, match="q-learning has no form"):
        learning_named("q-learning", "loss")
    with pytest.raises(hl.HowlearnError, match="end at 1"):
        learning_named("q-learning", "gain", 5.0)


def test_a_rule_of_the_field_in_every_cell() -> None:
    task = TASK.with_rule(learning_named("q-learning"))
    model = task.model("ByShape")
    assert [cell for cell, _ in model.owners(task.actions)] == [
        *["1+2+7+8"] * 2,
        *["11+12+13+14+15"] * 2,
    ]
