"""Mixtures as they are typed, and in task files."""

from __future__ import annotations

from pathlib import Path

import pytest

from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3
from howlearn.models.exp4 import Exp4
from howlearn.models.hidden import Switch
from howlearn.models.task import Task

TASK = Task.load("five-four")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("exp4(ByShape, ByPattern)", "exp4(ByShape, ByPattern)"),
        (" Exp4 (ByShape,ByPattern , source = joint) ", "exp4(ByShape, ByPattern, source=joint)"),
        ("exp4(ByShape[eta=0.1/0.2], Coin[p(A)=.3])", "exp4(ByShape[eta=0.1/0.2], Coin[p(A)=0.3])"),
        ("exp4(ByShape, ByPattern, form=loss, max_rate=2)",
         "exp4(ByShape, ByPattern, form=loss, max_rate=2)"),
        ("exp4(q-learning(ByShape, per-cell)+lapse, alcove)",
         "exp4(q-learning(ByShape, per-cell)+lapse, alcove)"),
        ("exp4(ByShape (one rate), ByShape)", "exp4(ByShape (one rate), ByShape)"),
        ("switch(ByShape, ByPattern)", "switch(ByShape, ByPattern)"),
        # A source matters only where something is left to find.
        ("exp4(ByShape[eta=0.1], source=joint)", "exp4(ByShape[eta=0.1])"),
    ],
)  # fmt: skip
def test_names_are_texts_that_name_the_model_again(text: str, name: str) -> None:
    model = TASK.model(text)
    assert model.name == name
    assert TASK.model(name) == model


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exp4", "no experts"),
        ("exp4()", "no experts"),
        ("exp4(ByShape,)", "an expert is missing"),
        ("exp4(ByShape, ByShape)", "two experts are identical: ByShape twice"),
        ("exp4(ByShape, BySape)", r"exp4\(ByShape, BySape\): .*did you mean ByShape"),
        ("exp4(ByShape, ByPattern, eta=0.1)", r"no setting eta; .*ByShape\[eta=0.03\]"),
        ("exp4(ByShape, ByPattern, source=us)", "source must be training or joint or population"),
        ("exp4(ByShape, ByPattern, source=joint, source=joint)", "set twice"),
        ("exp4(ByShape, ByPattern, form=win)", "form must be gain or loss"),
        ("exp4(ByShape, ByPattern, max_rate=big)", "needs a number, got 'big'"),
        ("exp4(ByShape, ByPattern", "parenthesis after exp4 is not closed"),
        ("exp4(ByShape[eta=0.1, eta=0.2], ByPattern)", "eta is given twice"),
        ("exp4(ByShape[eta=big], ByPattern)", "eta needs a number, got 'big'"),
        ("exp4(ByShape[eta], ByPattern)", "eta is not a parameter; write it as eta=0.03"),
        ("exp4(ByShape[], ByPattern)", "hold no parameter"),
        ("exp4(ByShape[eta=0.1, ByPattern)", "brackets at the end"),
        ("switch(ByShape)", "two experts, the first and the second, got 1"),
        ("switch(ByShape, ByPattern, OneForAll)", "got 3"),
        ("switch(ByShape, ByPattern, form=loss)", "switch has no setting form"),
        ("exp4(ByShape, ByPattern)+lapse", "its experts can be"),
        ("exp4(switch(ByShape, ByPattern), OneForAll)", "is itself a mixture"),
    ],
)
def test_what_cannot_be_understood_is_explained(text: str, words: str) -> None:
    with pytest.raises(HowlearnError, match=words):
        TASK.model(text)


FILE = """
actions = ["A", "B"]
contexts = [
  {name = "1", features = {shape = "square"}, correct = "A"},
  {name = "2", features = {shape = "square"}, correct = "A"},
  {name = "3", features = {shape = "circle"}, correct = "B"},
]
[[models]]
name = "ByShape"
by = ["shape"]
[[models]]
name = "Each"
partition = "each"
[[models]]
name = "Both"
"""


def _task(tmp_path: Path, lines: str) -> Task:
    file = tmp_path / "mine.toml"
    file.write_text(FILE + lines)
    return Task.load(file)


def test_mixtures_in_a_task_file(tmp_path: Path) -> None:
    task = _task(
        tmp_path,
        'kind = "exp4"\nexperts = ["ByShape", "Each"]\nform = "loss"\n'
        "parameters = {ByShape = {eta = 0.1}, Each = {eta = [0.1, 0.2, 0.3]}}\n"
        '[[models]]\nname = "Turn"\nkind = "switch"\nexperts = ["ByShape", "q-learning"]\n'
        'source = "joint"\n',
    )
    assert [model.name for model in task.candidates] == ["ByShape", "Each", "Both", "Turn"]
    both, turn = task.mixtures
    assert isinstance(both, Exp4)
    assert both.form == "loss"
    assert both.n_parameters(2) == 1
    assert both.experts[1].values(task.actions).tolist() == [0.1, 0.2, 0.3]
    assert isinstance(turn, Switch)
    assert turn.source == "joint"
    assert task.model("Both") == both
    # Another rule holds for the experts too.
    other = task.with_rule(Exp3()).mixtures[0].experts[0].model
    assert other.rules == Exp3()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('kind = "exp4"\n', "experts .*missing; needed: a list of models"),
        ('kind = "exp4"\nexperts = []\n', "no experts"),
        ('kind = "exp4"\nexperts = ["ByShape", "ByShape"]\n', "identical"),
        ('kind = "exp4"\nexperts = ["ByShape", "Other"]\n', "no model 'Other'"),
        ('kind = "exp4"\nexperts = ["ByShape", "my_module:Mine"]\n', "does not run code"),
        ('kind = "exp4"\nexperts = ["ByShape", "Each"]\nby = ["shape"]\n', "stands in a mixture"),
        ('kind = "exp4"\nexperts = ["ByShape", "Each"]\nsource = "us"\n', '"training", "joint"'),
        ('kind = "exp4"\nexperts = ["ByShape"]\nparameters = {Each = {eta = 0.1}}\n',
         "not among the experts"),
        ('kind = "exp4"\nexperts = ["ByShape"]\nparameters = {ByShape = {eta = 3}}\n',
         "must lie between 0 and 1"),
        ('kind = "switch"\nexperts = ["ByShape", "Each"]\nform = "loss"\n', "has no form"),
        ('kind = "exp4"\nexperts = ["ByShape", "Both"]\n', "Both is a mixture itself"),
        ('kind = "exp4"\nexperts = ["ByShape"]\nparameters = {ByShape = {eta = "x"}}\n',
         "eta must be a number, or one per cell"),
        ('kind = "exp4"\nexperts = ["ByShape"]\nparameters = {ByShape = {eta = nan}}\n',
         "must lie between 0 and 1"),
        ('kind = "exp4"\nexperts = ["ByShape"]\nsource = "joint"\n'
         "parameters = {ByShape = {eta = 0.1}}\n", "a source for them is not needed"),
        ('kind = "exp5"\nexperts = ["ByShape", "Each"]\n', '"exp4", "switch" or "hmm"'),
        ('by = ["shape"]\nexperts = ["ByShape"]\n', "stands in a partition model"),
    ],
)  # fmt: skip
def test_mistakes_in_a_task_file_are_found(tmp_path: Path, lines: str, words: str) -> None:
    with pytest.raises(HowlearnError, match=words) as caught:
        _task(tmp_path, lines)
    assert "models[3]" in str(caught.value)
