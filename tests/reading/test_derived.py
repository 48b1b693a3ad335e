"""Roles that are computed from columns, rewards as words and points, orders of several columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from howlearn.core.errors import DataError, HowlearnError
from howlearn.reading.read import read


def frame(**columns: Any) -> pl.DataFrame:
    usual = {"learner": [1, 1, 1, 1], "item": ["x", "y", "x", "y"], "choice": ["f", "j", "j", "f"]}
    return pl.DataFrame({**usual, "reward": [1, 0, 0, 1], **columns})


def test_an_action_from_two_columns() -> None:
    data = frame(old=["1", "0", "1", "0"], chose=["1", "1", None, "0"])
    study = read(data, action="old == chose")
    assert study.actions == ("no", "yes")
    assert study.action.tolist() == [1, 0, 1]
    assert study.counts["missed trials"] == 1  # where one of its columns is missing
    assert study.roles["action"] == "old == chose"


def test_rewards_from_text_and_numbers() -> None:
    data = frame(key=["f", "f", "j", "f"], gain=[5.0, 0.0, 1.5, 0.0], loss=[0, -5, 0, 0])
    assert read(data, reward="choice == key").reward.tolist() == [1, 0, 1, 1]
    points = read(data, reward="gain + loss", reward_range=(-5, 5))
    assert points.reward.tolist() == [5, -5, 1.5, 0]
    assert read(data, reward="-loss / 5").reward.tolist() == [0, 1, 0, 0]


def test_contexts_and_conditions_from_columns() -> None:
    data = frame(a=[0, 1, 0, 1], b=[0, 1, 1, 0], t=[1, 2, 3, 4])
    study = read(data, context="a == b", by="t > 2", min_trials=0)
    assert study.contexts == ("no", "yes")
    assert study.about["t > 2"].to_list() == ["no", "yes"]
    other = read(data, context=("item", "a == b"), recode="a:0=1", missing="b:7")
    assert other.context.tolist() == [0, 3, 1, 2]  # a is 1 throughout
    assert other.contexts == ("x:no", "x:yes", "y:no", "y:yes")
    assert read(data, action="(a == 1) == (b == 1)").action.tolist() == [1, 1, 0, 0]


def test_what_is_computed_can_be_recoded_and_missing() -> None:
    data = frame(a=[0, 1, 2, 1])
    study = read(data, action="a + 1", recode="action:1=low,2=high", missing="action:3")
    assert study.actions == ("high", "low")
    assert study.counts["recoded action"] == 3
    assert study.counts["missed trials"] == 1


def test_a_column_wins_over_an_expression() -> None:
    assert read(frame(**{"a == b": ["u", "v", "u", "v"]}), action="a == b").actions == ("u", "v")


def test_conditions_count_in_arithmetic_and_sides_become_outcomes() -> None:
    data = frame(
        side=["L", "R", "R", "L"],
        L_reward=[1, 0, None, 0],
        R_reward=[0, 0, 1, None],
        t=[1, 2, 3, 4],
    )
    outcome = "(side == L) * L_reward + (side == R) * R_reward"
    study = read(data, action="side", reward=outcome)
    assert study.reward.tolist() == [1, 0, 1, 0]
    assert study.learned.all()  # what was not chosen may be missing
    columns = frame(L=["f", "f", "f", "j"], L_reward=[1, 0, 0, 0], R_reward=[0, 1, 0, 1])
    study = read(columns, reward="(choice == L) * L_reward + (choice != L) * R_reward")
    assert study.reward.tolist() == [1, 1, 0, 1]


def test_the_chosen_of_two_columns() -> None:
    data = frame(correct=[1, 0, 1, None], right=["x", "x", "y", "y"], other=["y", "y", None, "x"])
    study = read(data, action="if(correct == 1, right, other)", reward="correct")
    assert study.actions == ("x", "y")
    assert study.action.tolist() == [0, 1, 1]  # what is not taken may be missing, correct may not
    assert study.counts["missed trials"] == 1
    words = read(data.head(3), action="if(correct == 1, hit, 'no hit')", reward="correct")
    assert words.actions == ("hit", "no hit")


def test_every_option_that_takes_a_column_takes_an_expression() -> None:
    data = frame(t=[10, 20, 30, 40], ms=[500, 600, 700, 800], **{"my learner": [7, 7, 8, 8]})
    study = read(
        data,
        learner='column("my learner") + 1',
        trial="-t",
        features="item == x",
        reset_by="t > 30",
        episode="(t - 1) // 20",
        duration="ms / 1000",
        keep="t > 20",
        scored="ms > 100",
        rt="ms / 1000",
        exclude="max(rt) > 0.75",
        context="item",
        forgone="1 - reward",
    )
    assert study.learners == ("8", "9")
    assert study.action.tolist() == [1, 0, 0, 1]  # the trials run backwards
    assert study.about["t > 20"].to_list() == ["no", "yes"]
    assert study.scored.all()
    assert [reason is not None for reason in study.excluded] == [False, True]


def test_lag_looks_at_the_row_of_the_same_learner_across_files_and_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(who, t) for t in range(9) for who in "ab"]
    data = pl.DataFrame(
        {
            "who": [who for who, _ in rows],
            "key": [f"{who}{t % 3}" for who, t in rows],
            "points": [t % 2 for _, t in rows],
        }
    )
    options = {"learner": "who", "action": "lag(key)", "reward": "points", "context": "none"}
    study = read(data, **options)
    assert [study.actions[i] for i in study.action[:4]] == ["a0", "a1", "a2", "a0"]
    assert study.counts["missed trials"] == 2
    kept = read(data, **{**options, "action": "key"}, where="lag(points) == 0")
    assert kept.counts["left out by --where"] == 10
    for i, part in enumerate(data.iter_slices(5)):
        part.write_parquet(tmp_path / f"{i}.parquet")
    monkeypatch.setattr("howlearn.reading.streaming.BATCH_ROWS", 5)
    parts = read(tmp_path, **options)
    assert parts.action.tolist() == study.action.tolist()
    again = read(tmp_path, **{**options, "action": "key"}, where="lag(points) == 0")
    assert again.action.tolist() == kept.action.tolist()


def test_text_where_a_number_must_be_is_told_with_its_row() -> None:
    data = frame(points=["1", "2", "lost", "lost"], key=["f", "f", "g", "g"])
    for reward in ("points / 2", "points > 1"):
        with pytest.raises(DataError) as caught:
            read(data, reward=reward)
        said = str(caught.value)
        assert "row 4" in said
        assert "found lost as points" in said
        assert "1 more" in said
    assert read(data, reward="points / 2", where="key == f").reward.tolist() == [0.5, 1]
    assert read(data, reward="if(key == f, points - 1, 0)").reward.tolist() == [0, 1, 0, 0]
    assert read(data, reward="(key == f) * points / 2").reward.tolist() == [0.5, 1, 0, 0]


def test_words_that_are_nowhere_are_told() -> None:
    study = read(frame(), reward="choice == target")
    assert study.notes[-1] == (
        "--reward 'choice == target': no column is called target; as a value it was found in no row"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"learner": "lag(item)"}, "lag(…) needs to know the learner already"),
        ({"action": "choise == item"}, "--action 'choise == item': there is no column choise"),
        ({"reward": "choice + 'a'"}, "is not a number"),
        ({"reward": "gain"}, "no such column"),
        ({"rt": "late"}, "--rt late: there is no such column"),
        ({"reward_scale": (0, 1), "reward_range": (0, 1)}, "give one of the two"),
        ({"reward_scale": "1,0"}, "--reward-scale 1,0: LO must be smaller than HI"),
        ({"reward_scale": (0.5, 1)}, "found 0; allowed: a number from 0.5 to 1"),
    ],
)
def test_what_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(HowlearnError) as caught:
        read(frame(), **options)
    assert said in str(caught.value)


def test_words_are_rewards_when_all_are_words() -> None:
    study = read(frame(reward=["correct", "Incorrect", "FALSE", "win"]))
    assert study.reward.tolist() == [1, 0, 0, 1]
    assert study.counts["recoded reward words"] == 4
    assert "Incorrect is taken as 0" in " ".join(study.notes)
    gaps = read(frame(reward=["TRUE", "", "FALSE", "NA"]))
    assert gaps.learned.tolist() == [True, False, True, False]
    for odd in ("1", "late"):
        with pytest.raises(DataError):
            read(frame(reward=["TRUE", "FALSE", "FALSE", odd]))


def test_points_are_scaled_and_counted() -> None:
    study = read(frame(reward=[0, 25, 100, None]), reward_scale=(0, 100))
    assert study.reward.tolist()[:3] == [0, 0.25, 1]
    assert study.reward_range == (0, 1)
    assert study.counts["recoded reward by --reward-scale 0,100"] == 3


@pytest.mark.parametrize("trial", ["block,n", ["block", "n"]])
def test_several_columns_are_the_order(trial: Any) -> None:
    data = frame(block=[2, 1, 2, 1], n=[1, 2, 2, 1])
    study = read(data, trial=trial)
    assert study.action.tolist() == [0, 1, 0, 1]
    assert study.roles["trial"] == "block, then n"
    assert study.source is not None
    assert study.source.rows is not None
    assert list(study.source.rows) == [3, 1, 0, 2]
    ordered = read(data.sort("block", "n"), trial=trial)
    assert ordered.action.tolist() == study.action.tolist()
    with pytest.raises(DataError, match="trial 1, 2 of learner 1 a second time"):
        read(frame(block=[1, 1, 2, 2], n=[2, 2, 1, 2]), trial=trial)
