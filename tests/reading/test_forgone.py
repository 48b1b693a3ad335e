"""--forgone: what the actions not chosen would have earned, beside the choices it belongs to."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import DataError
from howlearn.core.study import joined
from howlearn.models.task import Task
from howlearn.reading.read import read

NAN = np.nan


def frame(**columns: list) -> pl.DataFrame:
    """Four trials of one learner with two actions, and what the other one would have earned."""
    basis = {
        "id": [1] * 4,
        "trial": [1, 2, 3, 4],
        "item": [1, 2, 1, 2],
        "choice": [*"ABAB"],
        "reward": [1, 0, 0, 1],
        "other": [0.25, 0.5, 0.75, 1],
    }
    return pl.DataFrame({**basis, **columns}, strict=False)


def three(**columns: list) -> pl.DataFrame:
    """Four trials with three actions, and a column of rewards for each."""
    rewards = {"b10": [0, 0.5, 0.75, 1], "b2": [1, 0, 0, 0.25], "A": [0.5, None, 0, None]}
    return frame(choice=["b2", "b2", "A", "b10"], **rewards, **columns)


def same(found: np.ndarray | None, expected: list) -> None:
    assert found is not None
    np.testing.assert_array_equal(found, np.array(expected, dtype=float))


def test_two_actions_and_one_column() -> None:
    study = read(frame(), forgone="other")
    same(study.forgone, [[NAN, 0.25], [0.5, NAN], [NAN, 0.75], [1, NAN]])
    assert study.roles["forgone"] == "other (of the other action)"
    assert study.notes == ()


def test_it_follows_the_trials() -> None:
    study = read(frame(trial=[3, 1, 4, 2]), forgone="other")
    same(study.forgone, [[0.5, NAN], [1, NAN], [NAN, 0.25], [NAN, 0.75]])


def test_missed_trials_and_rows_that_are_left_out() -> None:
    data = frame(choice=["A", None, "A", "B"], other=[0.25, "?", None, 1])
    same(read(data, forgone="other").forgone, [[NAN, 0.25], [NAN, NAN], [1, NAN]])
    data = frame(phase=["practice", "main", "main", "main"], other=["7", "0.5", "NA", "1"])
    study = read(data, forgone="other", where="phase == 'main'")
    same(study.forgone, [[0.5, NAN], [NAN, NAN], [1, NAN]])


def test_conditions_and_short_learners() -> None:
    study = read(frame(load=[*"yyxx"]), forgone="other", by="load")
    same(study.forgone, [[NAN, 0.75], [1, NAN], [NAN, 0.25], [0.5, NAN]])
    short = frame(id=[2] * 4, choice=["A", None, None, None])
    study = read(pl.concat([short, frame()]), forgone="other", min_trials=2)
    same(study.forgone, [[NAN, 0.25], [0.5, NAN], [NAN, 0.75], [1, NAN]])


def test_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("howlearn.reading.streaming.BATCH_ROWS", 1)
    study = read(three(), forgone=["A", "b2", "b10"])
    same(study.forgone, [[0.5, NAN, 0], [NAN, NAN, 0.5], [NAN, 0, 0.75], [NAN, 0.25, NAN]])


def test_a_column_per_action_in_the_order_of_the_actions() -> None:
    study = read(three(), forgone=["A", "b2", "b10"])
    assert study.actions == ("A", "b2", "b10")
    same(study.forgone, [[0.5, NAN, 0], [NAN, NAN, 0.5], [NAN, 0, 0.75], [NAN, 0.25, NAN]])
    assert study.roles["forgone"] == "A (of A), b2 (of b2), b10 (of b10)"


def test_a_column_per_action_for_two_actions() -> None:
    data = frame(a=[1, 0.5, None, 0], b=[0, None, 0.5, 1])
    same(read(data, forgone=["a", "b"]).forgone, [[NAN, 0], [0.5, NAN], [NAN, 0.5], [0, NAN]])


def test_the_order_is_the_task_s() -> None:
    data = frame(item=[1, 15, 7, 2], choice=[2, 1, 2, 1], a=[0, 0, 0, 1], b=[1, 0, 0, 0])
    task = Task.load("five-four")  # 1 and 2 are other names for A and B
    study = read(data, task=task, forgone=["a", "b"])
    same(study.forgone, [[0, NAN], [NAN, 0], [0, NAN], [NAN, 0]])


def test_the_role_may_be_recoded_and_have_values_that_are_missing() -> None:
    data = frame(other=["win", "loss", "-9", "win"])
    study = read(data, forgone="other", recode="forgone:win=1,loss=0", missing="forgone:-9")
    same(study.forgone, [[NAN, 1], [0, NAN], [NAN, NAN], [1, NAN]])
    assert study.counts["recoded forgone"] == 3
    data = frame(a=["win", "loss", "-9", "win"], b=["-9", "-9", "win", "win"])
    study = read(data, forgone=["a", "b"], recode="forgone:win=1,loss=0", missing="forgone:-9")
    same(study.forgone, [[NAN, NAN], [0, NAN], [NAN, 1], [1, NAN]])
    assert study.counts["recoded forgone"] == 5
    assert study.notes == ()


def test_a_missing_reward_is_not_compared() -> None:
    data = frame(reward=[None, 0, 0, 1], a=[0.5, 0, 0, 0], b=[0, 0, 0, 1])
    same(read(data, forgone=["a", "b"]).forgone, [[NAN, 0], [0, NAN], [NAN, 0], [0, NAN]])


def test_rewards_outside_one() -> None:
    study = read(frame(other=[5, -1, 0, 2]), forgone="other", reward_range=(-1, 5))
    same(study.forgone, [[NAN, 5], [-1, NAN], [NAN, 0], [2, NAN]])


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (
            {"other": ["0.5", "often", "no", "yes"]},
            {"forgone": "other"},
            "row 3, column other: found often; allowed: a number (helps: --recode "
            "forgone:no=0,yes=1,OLD=NEW, or --missing VALUE for a value that means none)",
        ),
        (
            {"other": ["0,5", "1", "1", "1"]},
            {"forgone": "other"},
            "row 2, column other: found 0,5; allowed: a number (helps: decimal commas must be "
            "saved as decimal points)",
        ),
        (
            {"other": [1, 2, 7, 1]},
            {"forgone": "other"},
            "row 4, column other: found 7; allowed: a number from 0 to 1 (helps: --reward-range "
            "0,7 takes them as recorded)",
        ),
        (
            {"other": [1, -1, 1, 1]},
            {"forgone": "other"},
            "row 3, column other: found -1; allowed: a number from 0 to 1 (helps: --reward-range "
            "-1,1 takes them as recorded, --recode reward:-1=0,1=1 --recode forgone:-1=0,1=1 "
            "changes them)",
        ),
        (
            {"choice": [*"ABCB"]},
            {"forgone": "other"},
            "column other: found 1 column for 3 actions; allowed: one column per action, in the "
            "order A, B, C (helps: --forgone COL,COL,COL)",
        ),
        (
            {},
            {"forgone": ["other", "other", "other"]},
            "column other, other, other: found 3 columns for 2 actions; allowed: one column per "
            "action, in the order A, B, or one for the other action (helps: --forgone COL,COL)",
        ),
        (
            {"a": [0.5, 0, 0.5, 0], "b": [0, 0, 0, 0]},
            {"forgone": ["a", "b"]},
            "row 2, column a: found 0.5 where the reward is 1; allowed: the reward itself for the "
            "action that was chosen, or nothing (helps: --forgone COL,COL in the order of the "
            "actions, --reward COL)",
        ),
        (
            {"a": [0.5, 0, 0.5, 0], "b": [0, 0, 0, 0]},
            {"forgone": ["a", "b"]},
            "row 5, column b: found 0 where the reward is 1",
        ),
        (
            {},
            {"forgone": "others"},
            "row 1, column others: found no such column among id, trial, item, choice, reward, "
            "other; allowed: a file with this column (helps: --forgone COL[,COL])",
        ),
    ],
)
def test_what_is_wrong_is_told(columns: dict, options: dict, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read(frame(**columns), **options)
    assert f"data frame, {message}" in str(caught.value)


def test_the_rows_of_contradictions_are_those_of_the_file() -> None:
    data = frame(trial=[4, 3, 2, 1], choice=["A", None, "A", "B"], a=[0, 0, 0, 0], b=[0] * 4)
    with pytest.raises(DataError) as caught:
        read(data, forgone=["a", "b"])
    assert [problem.row for problem in caught.value.problems] == [2, 5]


@pytest.mark.parametrize("name", ["forgone", "Foregone_Reward", "counterfactual", "forgone_A"])
def test_a_column_that_looks_like_it_is_told_and_not_used(name: str) -> None:
    study = read(frame().rename({"other": name}))
    assert study.forgone is None
    assert study.notes == (
        f"the column {name} looks like what the actions not chosen would have earned; it is used "
        f"only with --forgone {name}",
    )


def test_several_columns_that_look_like_it() -> None:
    [note] = read(frame(forgone_A=[0] * 4, forgone_B=[0] * 4)).notes
    assert note.startswith("the columns forgone_A, forgone_B look like what")
    assert note.endswith("they are used only with --forgone forgone_A,forgone_B")


def test_no_note_where_such_a_column_is_used() -> None:
    data = frame(forgone=[0] * 4)
    assert read(data, forgone="other").notes == ()
    assert not any("looks like" in note for note in read(data, where="forgone == 0").notes)


def test_a_forgone_reward_is_not_guessed_as_the_reward() -> None:
    study = read(frame(outcome=[0] * 4).rename({"reward": "won"}), forgone="outcome", reward="won")
    assert study.reward.tolist() == [1, 0, 0, 1]
    with pytest.raises(DataError, match="outcome is already used by --forgone"):
        read(frame().rename({"reward": "outcome"}), forgone="outcome")


def test_no_value_at_all_is_told() -> None:
    study = read(frame(other=[None] * 4), forgone="other")
    assert study.notes == ("--forgone other: no value in any row",)


def test_there_and_back() -> None:
    study = read(frame(other=[0.25, None, 0.75, 1]), forgone="other")
    table = study.frame()
    assert table["forgone"].to_list() == [0.25, None, 0.75, 1]
    same(read(table, forgone="forgone").forgone, np.asarray(study.forgone).tolist())
    study = read(three(), forgone=["A", "b2", "b10"])
    names = ["forgone_A", "forgone_b2", "forgone_b10"]
    assert study.frame().columns[-3:] == names
    same(read(study.frame(), forgone=names).forgone, np.asarray(study.forgone).tolist())


def test_parts_and_studies_put_together() -> None:
    study = read(pl.concat([frame(), frame(id=[2] * 4, other=[0.0] * 4)]), forgone="other")
    second = [[NAN, 0], [0, NAN], [NAN, 0], [0, NAN]]
    same(study.part(1, 2).forgone, second)
    same(study.take(np.array([1, 1])).forgone, second + second)
    both = joined([("a", study.part(1, 2)), ("b", study.part(1, 2))], "group")
    same(both.forgone, second + second)
    plain = read(frame())
    assert joined([("a", study), ("b", plain)], "group").forgone is None
    assert plain.forgone is None
