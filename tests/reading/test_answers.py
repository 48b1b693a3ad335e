"""What is right and wrong: the two rewards of a study, and the answers of its task."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study, joined
from howlearn.reading.read import read


def frame(**columns: list) -> pl.DataFrame:
    """Four trials of one learner, with other columns beside or instead."""
    basis = {"id": [1] * 4, "item": [1, 2, 1, 2], "choice": [*"ABAB"], "reward": [1, 0, 0, 1]}
    return pl.DataFrame({**basis, **columns}, strict=False)


def test_two_rewards() -> None:
    assert read(frame()).right_wrong == (0.0, 1.0)
    assert read(frame(reward=[1, 0.5, 1, None])).right_wrong == (0.5, 1.0)  # nothing is no reward
    assert read(frame(reward=[1, 0.5, 0, 1])).right_wrong is None
    assert read(frame(reward=[1, 1, 1, 1])).right_wrong is None
    study = read(pl.concat([frame(reward=[1] * 4), frame(id=[2] * 4)]))
    assert study.part(0, 1).right_wrong == (0.0, 1.0)  # the whole study's
    assert joined([("a", study), ("b", study)], "group").right_wrong == (0.0, 1.0)


PROBABILISTIC = """
actions = ["A", "B"]
[[contexts]]
name = "1"
rewards = {A = {probability = 0.8}, B = {probability = 0.2}}
[[contexts]]
name = "2"
correct = "B"
"""


def test_answers_of_a_task(load) -> None:
    data = frame(item=[1, 15, 7, 2])
    study = read(data, task="five-four")
    assert study.answers is not None
    named = {c: study.actions[a] for c, a in zip(study.contexts, study.answers, strict=True)}
    assert (named["1"], named["15"]) == ("B", "A")
    assert study.take(np.array([0, 0])).answers is study.answers
    together = joined([("a", study), ("b", study)], "group").answers
    assert together is not None
    assert together.tolist() == study.answers.tolist()
    assert read(frame()).answers is None
    assert read(frame(), task=load(PROBABILISTIC)).answers is None
    sure = PROBABILISTIC.replace("0.8", "1").replace("0.2", "0")
    assert read(frame(), task=load(sure)).answers.tolist() == [0, 1]
    assert read(frame(), task=load(sure.replace("= 0}", "= 1}"))).answers.tolist() == [-1, 1]
    turned = sure + '[[reversals]]\ntrial = 3\nswap = ["A", "B"]\n'
    assert read(frame(), task=load(turned)).answers is None


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("forgone", np.zeros(4), "`forgone` must have one row per trial and one column per action"),
        ("duration", np.zeros(3), "`duration` must have one entry per trial"),
        ("episode_end", np.zeros(3, bool), "`episode_end` must have one entry per trial"),
        ("answers", np.zeros(3, np.int16), "`answers` must have one entry per context"),
    ],
)
def test_arrays_of_another_size(name: str, values: np.ndarray, message: str) -> None:
    study = read(frame())
    fields = {field: getattr(study, field) for field in study.__dataclass_fields__}
    with pytest.raises(HowlearnError, match=message):
        Study(**{**fields, name: values})
