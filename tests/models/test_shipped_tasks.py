"""The tasks that ship: the paper's nine objects and the six Shepard types."""

from __future__ import annotations

from itertools import combinations

import pytest

from howlearn.models.partition_model import candidates
from howlearn.models.task import Task


def test_the_shipped_tasks():
    assert Task.shipped() == ("five-four", *(f"shepard-{i}" for i in range(1, 7)))


@pytest.mark.parametrize("name", Task.shipped())
def test_every_shipped_task_can_be_simulated_and_its_models_cover_it(name):
    task = Task.load(name)
    assert task.name == name
    assert task.description
    schedule = task.schedule()
    assert schedule.best.sum(axis=2).tolist() == [[1] * len(task.contexts)]
    for model in task.models:
        assert sorted(model.partition.contexts) == sorted(task.contexts)
    partitions = {frozenset(map(frozenset, model.partition.cells)) for model in task.models}
    assert len(partitions) == len(task.models)


def test_five_four_is_the_paper_s():
    task = Task.load("five-four")
    assert task.contexts == ("1", "2", "7", "8", "11", "12", "13", "14", "15")
    assert task.actions == ("A", "B")
    assert task.action_aliases == {"1": "A", "2": "B"}
    assert (task.order, task.trials, task.stop) == ("periodic", 500, None)
    correct = "".join("AB"[i] for i in task.schedule().reward[0].argmax(axis=1))
    assert correct == "BBBAAABAA"
    for context, features in task.features.items():
        number = 1 + 8 * (features["shape"] == "circle") + 4 * (features["colour"] == "red")
        number += 2 * (features["pattern"] == "striped") + (features["size"] == "big")
        assert str(number) == context


def test_five_four_has_the_paper_s_partitions():
    cells = {
        model.name: "|".join(",".join(cell) for cell in model.partition.cells)
        for model in Task.load("five-four").models
    }
    assert list(cells.items()) == [
        ("OneForAll", "1,2,7,8,11,12,13,14,15"),
        ("ByShape", "1,2,7,8|11,12,13,14,15"),
        ("ByPattern", "1,2,13,14|7,8,11,12,15"),
        ("ByShapeExc", "1,2,7|11,12,14,15|8|13"),
        ("ByPatternExc", "1,2,13|8,11,12,15|7|14"),
        ("OnePerItem", "1|2|7|8|11|12|13|14|15"),
    ]


def category_a(task):
    return [c for c, best in zip(task.contexts, task.schedule().best[0], strict=True) if best[0]]


# How many members of a category each member differs from in one feature: this tells the six types
# apart, and stays when features, their values or the categories change places.
NEIGHBOURS = {
    1: [2, 2, 2, 2],
    2: [1, 1, 1, 1],
    3: [1, 1, 2, 2],
    4: [1, 1, 1, 3],
    5: [0, 1, 1, 2],
    6: [0, 0, 0, 0],
}
# How many of the eight objects the best rule on each feature alone gets right.
RIGHT_BY_ONE_FEATURE = {
    1: [8, 4, 4],
    2: [4, 4, 4],
    3: [6, 6, 4],
    4: [6, 6, 6],
    5: [6, 4, 4],
    6: [4, 4, 4],
}


@pytest.mark.parametrize("kind", range(1, 7))
def test_shepard_types_have_their_defining_properties(kind):
    task = Task.load(f"shepard-{kind}")
    assert task.contexts == tuple(f"{i:03b}" for i in range(8))
    assert (task.order, task.stop) == ("blocks", None)
    first = category_a(task)
    second = [c for c in task.contexts if c not in first]
    for members in (first, second):
        near = [
            sum(sum(a != b for a, b in zip(one, other, strict=True)) == 1 for other in members)
            for one in members
        ]
        assert sorted(near) == NEIGHBOURS[kind]
    ones = [sum(c[i] == "1" for c in first) for i in range(3)]
    assert [max(4 + (4 - 2 * n), 4 - (4 - 2 * n)) for n in ones] == RIGHT_BY_ONE_FEATURE[kind]


@pytest.mark.parametrize("kind", range(1, 7))
def test_shepard_candidates_are_those_of_the_features_and_the_category(kind):
    task = Task.load(f"shepard-{kind}")
    for context, features in task.features.items():
        assert "".join(features.values()) == context
    general = candidates(task.contexts, task.features)
    assert [m for m in task.models if m.name != "ByCategory"] == list(general)
    if kind == 1:
        assert "ByCategory" not in [m.name for m in task.models]
        assert set(category_a(task)) == set(task.model("ByFeature1").partition.cells[0])
    else:
        assert task.model("ByCategory").partition.cells[0] == tuple(category_a(task))


def test_only_the_first_two_types_need_fewer_than_three_features():
    def enough(kind, positions):
        task = Task.load(f"shepard-{kind}")
        seen = {}
        for context in task.contexts:
            key = tuple(context[i] for i in positions)
            seen.setdefault(key, set()).add(context in category_a(task))
        return all(len(categories) == 1 for categories in seen.values())

    pairs = list(combinations(range(3), 2))
    assert [any(enough(kind, p) for p in pairs) for kind in range(1, 7)] == [
        True,
        True,
        *4 * [False],
    ]
    assert [enough(2, p) for p in pairs] == [True, False, False]
