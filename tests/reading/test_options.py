"""Each option of reading does what its help says, and what it did is counted."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest

from howlearn.core.errors import DataError, HowlearnError
from howlearn.models.task import Task
from howlearn.reading.options import ReadOptions
from howlearn.reading.read import read


def frame(**columns: list) -> pl.DataFrame:
    """Four trials of one learner, with other columns beside or instead."""
    basis = {"id": [1] * 4, "item": [1, 2, 1, 2], "choice": [*"ABAB"], "reward": [1, 0, 0, 1]}
    return pl.DataFrame({**basis, **columns}, strict=False)


def test_recode_a_role() -> None:
    study = read(frame(reward=[1, -1, -1, 1]), recode="reward:-1=0,1=1")
    assert study.reward.tolist() == [1, 0, 0, 1]
    assert study.counts["recoded reward"] == 2  # 1 stays 1
    assert "errors then teach a gain-form rule nothing" in study.notes[0]


def test_recode_a_column() -> None:
    study = read(frame(), recode=["choice:A=left", "item:2.0=two"])
    assert study.actions == ("B", "left")
    assert study.contexts == ("1", "two")
    assert (study.counts["recoded choice"], study.counts["recoded item"]) == (2, 2)
    assert study.notes == ()


def test_recode_a_context_of_several_columns() -> None:
    data = frame(block=[1, 1, 2, 2])
    study = read(data, context=["block", "item"], recode="context:2:1=1:1")
    assert study.contexts == ("1:1", "1:2", "2:2")


def test_missing_everywhere_and_in_one_column() -> None:
    data = frame(choice=["-1", "A", "B", "B"], item=["-1", "1", "-1", "2"])
    study = read(data, missing="action:-1")
    assert study.counts["missed trials"] == 1
    assert study.contexts == ("-1", "1", "2")
    with pytest.raises(DataError, match="column item: found -1; allowed: a context in every row"):
        read(data, missing="-1")


def test_numbers_may_be_given_as_numbers() -> None:
    study = read(frame(choice=[-1, 1, 2, 2]), missing=-1)
    assert study.actions == ("1", "2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward_range": 5}, "--reward-range 5: two numbers LO,HI are needed"),
        ({"min_trials": -1}, "--min-trials must be 0 or greater, got -1"),
        ({"keep": "learner"}, "--by and --keep: the learner opens every table already"),
        ({"missing": "points:0"}, "--missing 'points:0': there is no column or role points; "),
    ],
)
def test_options_that_cannot_be(options: dict, message: str) -> None:
    with pytest.raises(HowlearnError) as caught:
        read(frame(), **options)
    assert str(caught.value).startswith(message)


def test_recoding_comes_before_missing() -> None:
    study = read(frame(reward=[1, -1, -1, 1]), recode="reward:-1=0", missing="-1")
    assert study.learned.all()


def test_reward_range_takes_rewards_as_recorded() -> None:
    study = read(frame(reward=[5, -1, 0, 2]), reward_range=(-1, 5))
    assert study.reward.tolist() == [5, -1, 0, 2]
    assert study.reward_range == (-1.0, 5.0)


def test_a_missing_reward_is_within_the_range() -> None:
    study = read(frame(reward=[5, None, 4, 5]), reward_range=(4, 5))
    assert study.reward.tolist() == [5, 4, 4, 5]
    assert study.learned.tolist() == [True, False, True, True]


def test_a_reward_range_may_be_text() -> None:
    assert read(frame(), reward_range="0,5").reward_range == (0.0, 5.0)


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (
            {"test_when": "phase == 'tranfer'"},
            "--test-when \"phase == 'tranfer'\" holds in no row; "
            "phase has the values learn, transfer",
        ),
        (
            {"forced_when": 'item > 2 or phase == "x"'},
            "--forced-when 'item > 2 or phase == \"x\"' holds in no row; "
            "item has the values 1, 2; phase has the values learn, transfer",
        ),
        ({"where": "id == 1"}, '--where "id == 1" leaves out no row; id has the value 1'),
        ({"where": "blank == missing"}, '--where "blank == missing" leaves out no row; '
         "blank has no values"),
        ({"missing": ["-9"]}, "--missing -9 was found in no row"),
        ({"missing": "action:-9"}, "--missing action:-9 was found in no row"),
        ({"recode": "reward:5=1,0=0"}, "--recode reward:5=1,0=0: 5 was found in no row"),
        (
            {"context": ["phase", "item"], "recode": "context:learn:1=a,learn:3=b"},
            "--recode context:learn:1=a,learn:3=b: learn:3 was found in no row",
        ),
        (
            {"recode": "blank:1=2"},
            "--recode blank:1=2: 1 changes nothing, since no option uses the column blank",
        ),
    ],
)  # fmt: skip
def test_an_option_that_matches_nothing_is_told(options: dict, note: str) -> None:
    data = frame(phase=["learn", "learn", "transfer", "transfer"], blank=[None] * 4)
    assert read(data, **options).notes == (note,)


def test_what_matches_in_any_batch_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("howlearn.reading.streaming.BATCH_ROWS", 2)
    data = frame(phase=["learn", "learn", "learn", "test"], choice=["-9", "A", "B", "C"])
    options = {"test_when": "phase == 'test'", "missing": ["-9", "NA"], "recode": "action:C=D"}
    assert read(data, **options, where="choice != 'B'").notes == ()
    assert read(data, forced_when="reward > 1").notes == (
        '--forced-when "reward > 1" holds in no row; reward has the values 0, 1',
    )


def test_long_lists_of_values_are_cut() -> None:
    data = pl.concat([frame(rt=[4 * i + j for j in range(4)], id=[i] * 4) for i in range(3)])
    [note] = read(data, where="rt < 100").notes
    assert note.endswith("rt has the values 0, 1, 2, 3, 4, 5, 6, 7, …")


def test_remedies_know_all_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("howlearn.reading.streaming.BATCH_ROWS", 2)
    with pytest.raises(DataError) as caught:
        read(frame(reward=["no", "5", "yes", "-7"]))
    remedies = {problem.found: problem.remedy for problem in caught.value.problems}
    assert remedies["no"] == remedies["yes"]
    assert remedies["no"].startswith("--recode reward:no=0,yes=1, or")
    assert remedies["5"] == remedies["-7"] == "--reward-range -7,5 takes them as recorded"


def test_where() -> None:
    study = read(frame(phase=["practice", "main", "main", "main"]), where="phase == 'main'")
    assert study.counts == {"rows read": 4, "left out by --where": 1}
    assert study.reward.tolist() == [0, 0, 1]
    assert study.source is not None
    assert study.source.row.tolist() == [1, 2, 3]


def test_what_where_leaves_out_is_unknown_to_the_study() -> None:
    data = frame(item=[9, 2, 1, 2], choice=["?", "A", "B", "A"], reward=["?", "1", "0", "1"])
    study = read(data, where="item != 9")
    assert (study.contexts, study.actions) == (("1", "2"), ("A", "B"))


def test_test_and_forced_trials() -> None:
    data = frame(phase=["forced", "learn", "learn", "test"])
    study = read(data, test_when="phase == 'test'", forced_when="phase == 'forced'")
    assert study.scored.tolist() == [False, True, True, True]
    assert study.learned.tolist() == [True, True, True, False]
    assert (study.counts["test trials"], study.counts["forced choices"]) == (1, 1)


def test_trials_that_are_neither_scored_nor_learned() -> None:
    data = frame(phase=["forced", "both", "learn", "learn"], reward=[None, 1, 0, 1])
    study = read(data, test_when="phase == 'both'", forced_when="phase in ['both', 'forced']")
    assert study.counts == {"rows read": 4, "neither scored nor learned": 2}
    assert study.notes == (
        "2 forced choices that are test trials too or have no reward: neither scored nor learned",
    )


def test_scored_and_learned_columns() -> None:
    data = frame(Scored=["yes", "no", "1", "TRUE"], isLearned=[True, True, False, True])
    study = read(data)
    assert study.scored.tolist() == [True, False, True, True]
    assert study.learned.tolist() == [True, True, False, True]
    assert study.roles["learned"] == "isLearned (guessed)"


def test_features_describe_contexts() -> None:
    study = read(frame(shape=["o", "x", "o", "x"]), features="shape")
    assert study.contexts == ("1", "2")
    assert study.features == {"1": {"shape": "o"}, "2": {"shape": "x"}}


def test_features_are_the_context_where_there_is_none() -> None:
    data = frame(shape=["o", "x", "o", "x"], hue=[1, 1, 2, 2]).drop("item")
    study = read(data, features=["shape", "hue"])
    assert study.contexts == ("o:1", "o:2", "x:1", "x:2")
    assert study.features["x:2"] == {"shape": "x", "hue": "2"}
    assert study.roles["context"] == "shape, hue (the features)"


def test_by_and_keep() -> None:
    data = pl.concat(
        [
            frame(id=[2] * 4, difficulty=[10, 10, 9, 9], age=[30] * 4),
            frame(id=[1] * 4, difficulty=[9, 9, 10, 10], age=[None, 40, 40, 40]),
        ]
    )
    study = read(data, by="difficulty", keep="age")
    assert study.learners == ("2", "2", "1", "1")
    assert study.about.to_dict(as_series=False) == {
        "difficulty": [9, 10, 9, 10],
        "age": [30, 30, 40, 40],
    }
    assert study.starts.tolist() == [0, 2, 4, 6, 8]
    assert study.source is not None
    assert study.source.row.tolist() == [2, 3, 0, 1, 4, 5, 6, 7]
    assert study.labels.columns == ["learner", "difficulty", "age"]


def test_kept_words_stay_words() -> None:
    study = read(frame(group=["01"] * 4), keep="group")
    assert study.about["group"].to_list() == ["01"]


def test_min_trials() -> None:
    data = pl.concat([frame(), frame(id=[2] * 4, choice=["A", None, None, None], item=[7] * 4)])
    study = read(data, min_trials=2)
    assert study.learners == ("1",)
    assert study.contexts == ("1", "2")  # 7 was seen by nobody who stayed
    assert study.counts["learners left out (fewer than 2 trials)"] == 1
    assert study.source is not None
    assert study.source.row.tolist() == [0, 1, 2, 3]


def test_context_none() -> None:
    study = read(frame(), context="none")
    assert study.contexts == ("all",)
    assert not study.context.any()


@pytest.mark.parametrize("path", [str, Path])
def test_a_task_may_be_named(path: type) -> None:
    data = frame(item=[1, 15, 7, 2])
    assert read(data, task=path("five-four")).contexts == Task.load("five-four").contexts
    with pytest.raises(HowlearnError, match="there is no task 'five'; the tasks are"):
        read(data, task="five")


def test_every_option_stands_in_the_help() -> None:
    assert read.__doc__ is not None
    for option in fields(ReadOptions):
        assert f"- ``{option.name}``: " in read.__doc__


def test_with_a_task() -> None:
    task = Task.load("five-four")
    data = frame(item=["1.0", "15", " 7", "2"], choice=[1, 2, 1, 2])
    study = read(data, task=task)
    assert (study.contexts, study.actions) == (task.contexts, task.actions)
    assert [study.contexts[i] for i in study.context] == ["1", "15", "7", "2"]
    assert [study.actions[i] for i in study.action] == ["A", "B", "A", "B"]
    assert study.features == task.features
