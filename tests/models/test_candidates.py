"""Candidates from the data alone, and the versions with one rate."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howlearn.core.partition import Partition
from howlearn.core.rules import Exp3, GradientBandit
from howlearn.models.partition_model import PartitionModel, candidates, one_rate_versions

CUBE = {
    "".join(bits): dict(zip(("shape", "pattern", "size"), bits, strict=True))
    for bits in product("01", repeat=3)
}


def names(*args):
    return [model.name for model in candidates(*args)]


def test_without_features_there_are_two():
    assert names(["1", "2", "3"]) == ["OneForAll", "OnePerItem"]


def test_one_context_leaves_one_model():
    assert names(["1"], {"1": {"shape": "square"}}) == ["gradient bandit"]


def test_features_and_their_pairs_fewest_cells_first():
    models = candidates(list(CUBE), CUBE)
    assert [(model.name, len(model.partition.cells)) for model in models] == [
        ("OneForAll", 1),
        ("ByShape", 2),
        ("ByPattern", 2),
        ("BySize", 2),
        ("ByShapeAndPattern", 4),
        ("ByShapeAndSize", 4),
        ("ByPatternAndSize", 4),
        ("OnePerItem", 8),
    ]


def test_the_same_partition_is_listed_once():
    features = {
        "a": {"same": "x", "form": "1", "shape": "p", "id": "1"},
        "b": {"same": "x", "form": "1", "shape": "p", "id": "2"},
        "c": {"same": "x", "form": "2", "shape": "q", "id": "3"},
    }
    assert names(list(features), features) == ["OneForAll", "ByForm", "OnePerItem"]


def test_features_of_contexts_that_are_not_there_do_not_matter():
    features = {**CUBE, "extra": {"other": "z"}}
    assert names(["000", "001"], features) == ["OneForAll", "OnePerItem"]


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("shape", "ByShape"),
        ("stimulus_colour", "ByStimulusColour"),
        ("Object Size (cm)", "ByObjectSizeCm"),
        ("feature1", "ByFeature1"),
        ("stimColor", "ByStimColor"),
        ("größe", "ByGröße"),
        ("形", "By形"),
        ("--", "By--"),
    ],
)
def test_names_can_be_read(column, name):
    features = {"a": {column: "1"}, "b": {column: "1"}, "c": {column: "2"}}
    assert names(["a", "b", "c"], features)[1] == name


def test_names_that_would_coincide_are_numbered():
    features = {
        "a": {"f g": "1", "f_g": "1"},
        "b": {"f g": "1", "f_g": "2"},
        "c": {"f g": "2", "f_g": "2"},
    }
    assert names(["a", "b", "c"], features) == ["OneForAll", "ByFG", "ByFG2", "OnePerItem"]


def test_the_rule_is_that_of_every_candidate():
    assert {model.rules for model in candidates(["1", "2"])} == {GradientBandit()}
    assert {model.rules for model in candidates(["1", "2"], {}, Exp3("loss"))} == {Exp3("loss")}


def test_one_rate_only_where_there_are_several_cells_with_one_rule():
    pair = Partition.each(["a", "b"])
    models = [
        PartitionModel("One", Partition.all(["a", "b"])),
        PartitionModel("Pair", pair),
        PartitionModel("Mixed", pair, (Exp3(), GradientBandit())),
        PartitionModel("Shared", pair, rates="shared"),
    ]
    (only,) = one_rate_versions(models)
    assert only == PartitionModel("Pair (one rate)", pair, rates="shared")


@given(
    st.lists(
        st.fixed_dictionaries(
            {name: st.sampled_from("xyz") for name in ("f", "g", "F", "f_and_g")}
        ),
        min_size=1,
        max_size=8,
    )
)
def test_names_and_partitions_are_always_distinct(rows):
    features = {str(i): row for i, row in enumerate(rows)}
    models = candidates(list(features), features)
    partitions = {frozenset(map(frozenset, model.partition.cells)) for model in models}
    assert len({model.name for model in models}) == len(models) == len(partitions)
    sizes = [len(model.partition.cells) for model in models]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1
    assert sizes[-1] == len(rows)
