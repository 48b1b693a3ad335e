"""Task files: what they may say, and that a task is what its file says."""

from __future__ import annotations

import json
from functools import partial
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
from howlearn.models.coin import Coin
from howlearn.models.task import Task

BASE = 'actions = ["A", "B"]\n'
PAIR = BASE + 'contexts = [{name = "x", correct = "A"}, {name = "y", correct = "B"}]\n'


# Names of tasks and models


def test_an_unknown_task_names_those_that_ship():
    with pytest.raises(HowlearnError) as error:
        Task.load("five-five")
    assert str(error.value) == (
        "there is no task 'five-five'; the tasks are five-four, shepard-1, shepard-2, shepard-3, "
        "shepard-4, shepard-5, shepard-6, and your task is named by the path of its .toml file"
    )


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(HowlearnError, match=r"there is no file .*none\.toml"):
        Task.load(tmp_path / "none.toml")


def test_a_folder_or_a_file_that_is_not_text(tmp_path):
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(HowlearnError, match=r"folder\.toml cannot be read: "):
        Task.load(tmp_path / "folder.toml")
    (tmp_path / "latin.toml").write_bytes('name = "größe"'.encode("latin-1"))
    with pytest.raises(HowlearnError, match=r"latin\.toml is not a text file in UTF-8"):
        Task.load(tmp_path / "latin.toml")


def test_a_mark_at_the_beginning_of_the_file_is_no_error(tmp_path):
    (tmp_path / "marked.toml").write_text(PAIR, encoding="utf-8-sig")
    assert Task.load(str(tmp_path / "marked.toml")).name == "marked"


def test_models_by_name():
    task = Task.load("five-four")
    assert task.model("ByShape") is task.models[1]
    assert task.model("ByShape (one rate)") == task.models[1].with_one_rate()
    assert task.model("Coin") == Coin()
    for unknown in ("ByColour", "OneForAll (one rate)"):
        with pytest.raises(HowlearnError) as error:
            task.model(unknown)
        assert str(error.value).startswith(f"task five-four has no model '{unknown}'")
        assert (
            "; its models are OneForAll, ByShape, ByPattern, ByShapeExc, ByPatternExc, OnePerItem "
            "and Coin, and those with several cells also as 'NAME (one rate)'. The field's models "
            "are q-learning, "
        ) in str(error.value)


# What a file may say


def test_a_small_file_is_enough(load):
    task = load(BASE + 'contexts = [1, 2.0, "three", "4.0", 0.50, "05"]')
    assert task.name == "my"
    assert task.contexts == ("1", "2", "three", "4", "0.5", "05")
    assert set(task.features) == set(task.contexts)
    assert [model.name for model in task.models] == ["OneForAll", "OnePerItem"]
    assert (task.order, task.trials, task.reward_range) == ("periodic", 500, (0.0, 1.0))


def test_without_rewards_there_is_no_schedule(load):
    with pytest.raises(HowlearnError) as error:
        load(BASE + "contexts = [1, 2]").schedule()
    assert str(error.value) == (
        "task my does not say what its actions earn; add to every context of its file "
        'correct = "A", or rewards = {A = 1, B = {probability = 0.2}, …}'
    )


def test_without_models_the_features_make_them(load):
    task = load(
        BASE
        + """
        contexts = [
            {name = 1, features = {shape = "square"}},
            {name = 2, features = {shape = "square"}},
            {name = 3, features = {shape = "circle"}},
        ]"""
    )
    assert [model.name for model in task.models] == ["OneForAll", "ByShape", "OnePerItem"]


def test_models_of_every_kind(load):
    task = load(
        BASE
        + """
        [[contexts]]
        name = 1
        features = {shape = "square", size = 1}
        [[contexts]]
        name = 2
        features = {shape = "square", size = 2}
        [[contexts]]
        name = 3
        features = {shape = "circle", size = 2}

        [[models]]
        name = "pair"
        kind = "partition"
        by = ["shape", "size"]
        rule = "exp3"
        form = "loss"
        max_rate = 5
        [[models]]
        name = "cells"
        cells = [[3, 1], ["2"]]
        rules = ["gradient", "exp3-ix"]
        [[models]]
        name = "rest"
        partition = "all"
        exceptions = [2]
        rates = "shared"
        """
    )
    pair, cells, rest = task.models
    assert pair.partition.cells == (("1",), ("2",), ("3",))
    assert pair.rules == Exp3("loss", 5.0)
    assert cells.partition.cells == (("3", "1"), ("2",))
    assert cells.rules == (GradientBandit(), Exp3IX())
    assert rest.partition.cells == (("1", "3"), ("2",))
    assert (rest.rules, rest.rates) == (GradientBandit(), "shared")
    assert [m.rules for m in task.with_rule(Exp3IX()).models] == [pair.rules, cells.rules, Exp3IX()]


def test_aliases_stop_order_and_range(load):
    task = load(
        PAIR
        + """
        order = "independent"
        trials = 96
        reward_range = [-1, 1]
        stop = {correct_in_a_row = 32}
        action_aliases = {f = "A", j = "B"}
        context_aliases = {1 = "x"}
        """
    )
    assert (task.order, task.trials, task.stop) == ("independent", 96, 32)
    assert task.action_aliases == {"f": "A", "j": "B"}
    assert task.context_aliases == {"1": "x"}
    assert task.reward_range == (-1.0, 1.0)


# What the actions earn


def test_certain_and_probable_rewards(load):
    schedule = load(
        """
        actions = ["A", "B", "C"]
        reward_range = [-1, 1]
        [[contexts]]
        name = "x"
        rewards = {C = 0.25, A = {probability = 0.8}, B = {probability = 0.5, otherwise = -1}}
        [[contexts]]
        name = "y"
        rewards = {A = -1, B = {probability = 0.3, reward = 0.5}, C = 0.15}
        """
    ).schedule()
    assert schedule.from_trial.tolist() == [0]
    assert schedule.from_trial.dtype == np.int64
    assert schedule.probability.tolist() == [[[0.8, 0.5, 1], [1, 0.3, 1]]]
    assert schedule.reward.tolist() == [[[1, 1, 0.25], [-1, 0.5, 0.15]]]
    assert schedule.otherwise.tolist() == [[[0, -1, 0.25], [-1, 0, 0.15]]]
    assert schedule.best.tolist() == [[[True, False, False], [False, True, True]]]
    assert all(a.flags.c_contiguous for a in (schedule.probability, schedule.reward))


def test_reversals_accumulate(load):
    schedule = load(
        """
        actions = ["A", "B", "C"]
        contexts = [{name = 1, correct = "A"}, {name = 2, correct = "B"}]
        [[reversals]]
        trial = 121
        swap = ["B", "C"]
        contexts = [1]
        [[reversals]]
        trial = 81
        swap = ["A", "B"]
        [[reversals]]
        trial = 200
        correct = {2 = "C"}
        [[reversals]]
        trial = 200
        correct = {1 = "A"}
        """
    ).schedule()
    assert schedule.from_trial.tolist() == [0, 80, 120, 199]
    correct = ["".join("ABC"[i] for i in phase.argmax(axis=1)) for phase in schedule.reward]
    assert correct == ["AB", "BA", "CA", "AC"]
    assert schedule.best.tolist() == (schedule.reward == 1).tolist()


def test_a_reversal_exchanges_probabilities_too(load):
    schedule = load(
        BASE
        + """
        contexts = [{name = 1, rewards = {A = {probability = 0.8}, B = 0.3}}]
        reversals = [{trial = 2, swap = ["B", "A"]}]
        """
    ).schedule()
    assert schedule.probability.tolist() == [[[0.8, 1]], [[1, 0.8]]]
    assert schedule.reward.tolist() == [[[1, 0.3]], [[0.3, 1]]]
    assert schedule.otherwise.tolist() == [[[0, 0.3]], [[0.3, 0]]]


# Any valid task comes back as it was written

# Without a point, since "1.0" would come back as "1"; in the spelling that labels are given.
NAMES = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="."), min_size=1, max_size=6
).map(partial(normalize, "NFC"))


def toml(value):
    """TOML of a plain value; JSON strings are TOML strings."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


@st.composite
def task_files(draw):
    contexts = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    actions = draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
    features = draw(st.lists(NAMES, max_size=2, unique=True))
    share = st.floats(0, 1)
    chance = st.fixed_dictionaries({"probability": share, "reward": share, "otherwise": share})
    tables = [
        {
            "name": context,
            "features": {feature: draw(NAMES) for feature in features},
            "rewards": {action: draw(share | chance) for action in actions},
        }
        for context in contexts
    ]
    models = [
        {"name": "one", "partition": "all", "rule": draw(st.sampled_from(["exp3", "gradient"]))},
        {
            "name": "each",
            "partition": "each",
            "rates": draw(st.sampled_from(["shared", "per-cell"])),
        },
        {"name": "cells", "cells": [contexts], "exceptions": draw(st.permutations(contexts))},
    ]
    reversals = [
        {"trial": trial, "swap": list(draw(st.permutations(actions)))[:2]}
        for trial in draw(st.lists(st.integers(2, 500), max_size=3, unique=True))
    ]
    return {
        "name": draw(NAMES),
        "description": draw(st.text(st.characters(exclude_categories=["C"]))),
        "actions": actions,
        "contexts": tables,
        "order": draw(st.sampled_from(["periodic", "blocks", "independent"])),
        "trials": draw(st.integers(1, 10**9)),
        "models": models,
        "reversals": reversals,
    }


@settings(deadline=None, max_examples=60)
@given(task_files())
def test_a_valid_file_gives_the_task_it_describes(tmp_path_factory, written):
    path = tmp_path_factory.getbasetemp() / "random.toml"
    path.write_text("\n".join(f"{k} = {toml(v)}" for k, v in written.items()), encoding="utf-8")
    task = Task.load(path)
    for key in ("name", "description", "order", "trials"):
        assert getattr(task, key) == written[key]
    assert list(task.actions) == written["actions"]
    assert list(task.contexts) == [table["name"] for table in written["contexts"]]
    assert task.features == {t["name"]: t["features"] for t in written["contexts"]}
    assert [model.name for model in task.models] == [m["name"] for m in written["models"]]
    assert task.fixed_rules == {"one"}
    assert task.models[1].rates == written["models"][1]["rates"]
    assert [list(c) for c in task.models[2].partition.cells] == [
        [context] for context in written["models"][2]["exceptions"]
    ]
    for table in written["contexts"]:
        for action, reward in table["rewards"].items():
            kept = task.rewards[table["name"]][action]
            if isinstance(reward, dict):
                assert vars(kept) == reward
            else:
                assert kept.expected == reward
    schedule = task.schedule()
    trials = sorted(reversal["trial"] for reversal in written["reversals"])
    assert schedule.from_trial.tolist() == [0, *(trial - 1 for trial in trials)]
    assert schedule.best.any(axis=2).all()
    assert np.isfinite([schedule.probability, schedule.reward, schedule.otherwise]).all()
    np.testing.assert_array_equal(np.sort(schedule.reward[0]), np.sort(schedule.reward[-1]))


def parts(value, place=()):
    """The place of every value inside a file."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in members:
        yield (*place, key)
        if isinstance(member, dict | list):
            yield from parts(member, (*place, key))


@settings(deadline=None, max_examples=150)
@given(task_files(), st.data())
def test_a_file_with_anything_put_anywhere_gives_a_task_or_a_sentence(
    tmp_path_factory, written, data
):
    *way, last = data.draw(st.sampled_from(list(parts(written))))
    inner = written
    for key in way:
        inner = inner[key]
    scalars = st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    anything = scalars | NAMES | st.just("all") | st.lists(NAMES) | st.dictionaries(NAMES, scalars)
    inner[last] = data.draw(anything)
    path = tmp_path_factory.getbasetemp() / "anything.toml"
    path.write_text("\n".join(f"{k} = {toml(v)}" for k, v in written.items()), encoding="utf-8")
    message = f"{path}, fine"
    try:
        Task.load(path).schedule()
    except HowlearnError as error:
        message = str(error)
    assert f"{path}, " in message or "a number in it is too large" in message
    assert "pydantic" not in message
