"""--offered, --offers and --positions: what was on offer, and what was chosen of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.core.errors import DataError, HowlearnError
from howlearn.core.study import Study, joined

PAIRS = {"12": ["1", "2"], "34": ["3", "4"]}


def frame(**columns: list) -> pl.DataFrame:
    """Five trials of one learner who meets pairs of four stimuli."""
    basis = {
        "id": [1] * 5,
        "item": ["x", "y", "x", "y", "x"],
        "pair": ["12", "34", "12", "34", "12"],
        "left": [1, 3, 2, 4, 1],
        "right": [2, 4, 1, 3, 2],
        "choice": [1, 4, 2, 4, 1],
        "side": ["left", "right", "left", "left", "left"],
        "reward": [1, 0, 1, 0, 1],
    }
    return pl.DataFrame({**basis, **columns}, strict=False)


def offered(study: Study) -> list[str]:
    """What was on offer at every trial, as it is written."""
    return study.frame()["offered"].to_list()


EXPECTED = ["1|2", "3|4", "1|2", "3|4", "1|2"]


@pytest.mark.parametrize(
    "options",
    [
        {"offered": ["left", "right"]},
        {"offered": "pair", "offers": "12=1|2, 34=3|4"},
        {"offered": "pair", "offers": ["12=1|2", "34=4|3"]},
        {"offered": "pair", "offers": PAIRS},
        {"offers": "x=1|2, y=3|4"},
        {"offered": "item", "offers": {"x": [1, 2], "y": [3.0, 4]}},
    ],
)
def test_the_ways_to_say_what_was_on_offer(options: dict) -> None:
    study = hl.read(frame(), action="choice", context="item", reward="reward", **options)
    assert study.actions == ("1", "2", "3", "4")
    assert offered(study) == EXPECTED
    assert study.n_offered.tolist() == [2] * 5
    assert [study.actions[a] for a in study.action] == ["1", "4", "2", "4", "1"]


@pytest.mark.parametrize(
    "lists",
    [
        ["1|2", "3|4", "2|1", "3|4", "1|2"],
        ["1,2", "3, 4", "1;2", "[3, 4]", "(1, 2)"],
        ['["1", "2"]', "['3' '4']", "[1 2]", "{3,4.0}", "1 | 2"],
        [[1, 2], [3, 4], [2, 1], [3, 4, 4], [1, 2]],
        [["1", "2"], ["3", "4"], ["1", "2"], ["3", None, "4"], ["1", "2"]],
    ],
)
def test_lists_in_one_column(lists: list) -> None:
    data = frame().with_columns(shown=pl.Series(lists))
    study = hl.read(data, action="choice", context="item", offered="shown")
    assert offered(study) == EXPECTED


def test_what_an_empty_cell_means_can_be_said() -> None:
    data = frame(shown=["1|2", None, "[2, 1]", "", "1|2"])
    options = {"action": "choice", "context": "item", "offered": "shown"}
    study = hl.read(data, offers="=3|4", **options)
    assert offered(study) == EXPECTED
    with pytest.raises(DataError, match=r"--offers '=A\|B' if an empty cell means A and B"):
        hl.read(data, **options)


@pytest.mark.parametrize("codes", [["left", "right"], "left,right", ("left", "right")])
def test_a_choice_that_is_a_position(codes: object) -> None:
    codes = codes.split(",") if isinstance(codes, str) else codes
    study = hl.read(
        frame(), action="side", context="none", offered=["left", "right"], positions=codes
    )
    assert [study.actions[a] for a in study.action] == ["1", "4", "2", "4", "1"]
    assert offered(study) == EXPECTED


def test_first_of_a_pair_is_1_and_second_is_0() -> None:
    data = frame(choice=[1, 0, 0, 1, 1])
    study = hl.read(data, action="choice", context="none", offered="pair", offers=PAIRS,
                    positions=[1, 0])  # fmt: skip
    assert [study.actions[a] for a in study.action] == ["1", "4", "2", "3", "1"]
    assert study.contexts == ("all",)


def test_positions_count_columns_that_are_empty_too() -> None:
    data = frame(left=[1, None, 2, 4, 1])
    options = {"action": "side", "context": "none", "offered": ["left", "right"]}
    study = hl.read(data, positions=["left", "right"], **options)
    assert offered(study) == ["1|2", "4", "1|2", "3|4", "1|2"]
    assert study.scored.tolist() == [True, False, True, True, True]
    assert study.learned.all()
    assert study.counts["trials with one action on offer"] == 1


def test_an_action_that_nobody_chose_is_still_an_action() -> None:
    study = hl.read(frame(right=[2, 4, 1, 5, 2]), action="choice", context="item",
                    offered=["left", "right"])  # fmt: skip
    assert study.actions == ("1", "2", "3", "4", "5")
    assert offered(study)[3] == "4|5"


def test_everything_on_offer_is_as_if_nothing_was_said() -> None:
    data = frame(choice=[*"ABABA"], shown=["A|B"] * 5)
    study = hl.read(data, action="choice", context="item", offered="shown")
    assert study.offers is None
    assert study.offered is None
    assert "offered" not in study.frame().columns


def test_missed_trials_need_no_offer() -> None:
    data = frame(choice=[1, None, 2, 4, 1], left=[1, None, 2, 4, 1], right=[2, None, 1, 3, 2])
    study = hl.read(data, action="choice", context="item", offered=["left", "right"])
    assert offered(study) == ["1|2", "1|2", "3|4", "1|2"]


def test_recoded_actions_are_recoded_on_offer_too() -> None:
    study = hl.read(frame(), action="choice", context="item", offered=["left", "right"],
                    recode="action:1=one,2=two")  # fmt: skip
    assert offered(study)[:2] == ["one|two", "3|4"]


def test_a_study_is_read_again_as_it_was() -> None:
    study = hl.read(frame(), action="choice", context="item", offered=["left", "right"])
    again = hl.read(study.frame(), offered="offered")
    np.testing.assert_array_equal(again.offered, study.offered)
    np.testing.assert_array_equal(again.action, study.action)


def test_parts_and_joined_studies_keep_what_was_on_offer() -> None:
    data = pl.concat([frame(), frame(id=[2] * 5, right=[4, 2, 4, 2, 4], left=[1, 4, 2, 4, 1])])
    study = hl.read(data, action="choice", context="item", offered=["left", "right"])
    everything = study.offered
    assert everything is not None
    np.testing.assert_array_equal(study.part(1, 2).offered, everything[5:])
    np.testing.assert_array_equal(study.take(np.array([1, 0])).offered,
                                  np.concatenate([everything[5:], everything[:5]]))  # fmt: skip
    np.testing.assert_array_equal(study["2"].offered, everything[5:])
    plain = hl.read(frame(), action="choice", context="item")
    both = joined([("a", study.part(1, 2)), ("b", plain)], "study")
    np.testing.assert_array_equal(both.offered[:5], everything[5:])
    assert both.offered[5:].all()


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"choice": [1, 1, 2, 4, 1]}, {"offered": ["left", "right"]},
         ["row 3", "column choice", "found 1 where 3|4 was on offer", "an action that was on"]),
        ({"left": [1, 3, None, 4, 1], "right": [2, 4, None, 3, 2]}, {"offered": ["left", "right"]},
         ["row 4", "column left, right", "nothing on offer"]),
        ({"shown": ["[]", "3|4", "1|2", "3|4", "1|2"]}, {"offered": "shown"},
         ["row 2", "column shown", "nothing on offer"]),
        ({}, {"offered": "choice"}, ["one action on offer in every row", "at least two actions"]),
        ({}, {"offered": "pair", "offers": "12=1|2"},
         ["row 3", "column pair", "found 34", "a label that --offers explains: 12"]),
        ({"choice": [1, 0, 7, 1, 1]}, {"offered": ["left", "right"], "positions": [1, 0]},
         ["row 4", "column choice", "found 7", "a position among the options on offer: 1, 0"]),
        ({"choice": [1, 2, 3, 1, 1]}, {"offered": ["left", "right"], "positions": [1, 2, 3]},
         ["row 4", "found 3 where 2|1 was on offer"]),
        ({}, {"offered": ["left", "rigth"]}, ["rigth", "no such column", "--offered COL[,COL]"]),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(columns: dict, options: dict, words: list[str]) -> None:
    with pytest.raises(DataError) as error:
        hl.read(frame(**columns), action="choice", context="item", **options)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"offered": "pair", "offers": "12:1|2"}, "write LABEL=A|B"),
        ({"offered": "pair", "offers": "12="}, "write LABEL=A|B"),
        ({"offered": "pair", "offers": '{"12": 1}'}, 'write {"LABEL": ["A", "B"]}'),
        ({"offered": "pair", "offers": "12=1|2, 12=1|3"}, "12 has 1|2 and 1|3"),
        ({"positions": [1, 0]}, "--offered COL,COL"),
        ({"offers": "x=1|2", "context": "none"}, "one context only"),
    ],
)
def test_options_that_cannot_be_meant(options: dict, words: str) -> None:
    with pytest.raises(HowlearnError, match=words.replace("|", r"\|").replace("[", r"\[")):
        hl.read(frame(), action="choice", **{"context": "item", **options})


def test_a_task_knows_its_actions() -> None:
    task = hl.Task.load("shepard-1")
    data = hl.simulate(task, "ByFeature1", {"eta": 0.1}, learners=1, trials=4, seed=1).frame()
    with pytest.raises(DataError, match="found C; allowed: actions of the task on offer: A, B"):
        hl.read(data.with_columns(shown=pl.lit("A|B|C")), task=task, offered="shown")


def test_offers_from_an_array() -> None:
    study = hl.read(frame(), action="choice", context="item")
    mask = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1], [1, 0, 1]], bool)
    told = study.with_offered(mask)
    np.testing.assert_array_equal(told.offered, mask)
    assert told.scored.tolist() == [True, True, False, True, True]
    assert study.with_offered(np.ones((5, 3), bool)).offers is None
    labels = [["1", "2"], ["1", "4"], ["2"], ["1", "2", "4"], ["1", 4]]
    np.testing.assert_array_equal(study.with_offered(labels).offered, mask)
    with pytest.raises(HowlearnError, match=r"trial 2: 4 was chosen, and 1\|2 was on offer"):
        study.with_offered([["1", "2"]] * 5)
    with pytest.raises(HowlearnError, match="one action is on offer in every trial"):
        study.with_offered([["1"], ["4"], ["2"], ["4"], ["1"]])
    with pytest.raises(HowlearnError, match="trial 1: 9 was on offer"):
        study.with_offered([["1", "9"]] * 5)
    with pytest.raises(HowlearnError, match="one row for each of 5 trials"):
        study.with_offered(mask[:3])


def test_in_howlearn_toml(tmp_path: Path) -> None:
    frame().write_csv(tmp_path / "trials.csv")
    for offers in ('"12=1|2, 34=3|4"', '["12=1|2", "34=3|4"]', '{12 = [1, 2], 34 = "3|4"}'):
        (tmp_path / "howlearn.toml").write_text(
            'files = ["trials.csv"]\n[data]\naction = "choice"\ncontext = "item"\n'
            f'offered = "pair"\noffers = {offers}\n'
        )
        assert offered(hl.read(tmp_path / "howlearn.toml")) == EXPECTED


def test_one_forgone_column_is_of_the_other_on_offer() -> None:
    data = frame(other=[0.25, 0.5, None, 0.75, 1.0])
    options = {"action": "choice", "context": "item", "offered": ["left", "right"]}
    study = hl.read(data, forgone="other", **options)
    nan = np.nan
    expected = [[nan, 0.25, nan, nan], [nan, nan, 0.5, nan], [nan] * 4, [nan, nan, 0.75, nan],
                [nan, 1.0, nan, nan]]  # fmt: skip
    np.testing.assert_array_equal(study.forgone, expected)
    with pytest.raises(DataError, match="1 column for 4 actions"):
        hl.read(frame(other=[0] * 5, choice=[1, 4, 2, 3, 1]), action="choice", context="item",
                forgone="other")  # fmt: skip


def test_a_column_that_holds_no_offers_is_refused_before_it_fills_the_memory() -> None:
    n = 8_000
    numbers = [f"{i}.5" for i in range(n)]
    data = pl.DataFrame({"id": [1] * n, "choice": numbers, "other": [f"{i}.25" for i in range(n)],
                         "reward": [1] * n})  # fmt: skip
    with pytest.raises(DataError, match="8,000 different offers of 16,000 actions"):
        hl.read(data, action="choice", context="none", offered=["choice", "other"])
