"""Partitions: cells in a stated order, every context in exactly one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition, cell_name

FEATURES = {
    "1": {"shape": "square", "colour": "red"},
    "2": {"shape": "circle", "colour": "red"},
    "3": {"shape": "square", "colour": "blue"},
    "4": {"shape": "circle", "colour": "red"},
}


def test_one_cell_and_one_cell_per_context():
    assert Partition.all(["a", "b"]).cells == (("a", "b"),)
    assert Partition.each(["a", "b"]).cells == (("a",), ("b",))


def test_cells_by_features_come_in_order_of_first_appearance():
    assert Partition.by(FEATURES, ["shape"]).cells == (("1", "3"), ("2", "4"))
    assert Partition.by(FEATURES, ["colour"]).cells == (("1", "2", "4"), ("3",))
    assert Partition.by(FEATURES, ["shape", "colour"]).cells == (("1",), ("2", "4"), ("3",))


def test_exceptions_stand_last_in_the_order_given():
    partition = Partition.by(FEATURES, ["shape"])
    assert partition.without(["4", "1"]).cells == (("3",), ("2",), ("4",), ("1",))
    assert partition.without([]) == partition


def test_a_cell_of_exceptions_only_is_not_left_behind_empty():
    assert Partition((("a",), ("b", "c"))).without(["a"]).cells == (("b", "c"), ("a",))


def test_a_cell_is_written_with_plus_signs():
    assert cell_name(("11", "12")) == "11+12"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Partition(()), "a partition needs at least one cell, and no cell may be empty"),
        (
            lambda: Partition((("a",), ())),
            "a partition needs at least one cell, and no cell may be empty",
        ),
        (
            lambda: Partition((("a", "b"), ("b", "a"))),
            "a context belongs to one cell only, but these are in two: a, b",
        ),
        (
            lambda: Partition.by(FEATURES, ["size"]),
            "context 1 has no feature size; its features: shape, colour",
        ),
        (
            lambda: Partition.all(["a"]).without(["b"]),
            "exception b is not a context of the partition",
        ),
    ],
)
def test_what_is_no_partition_is_refused(make, message):
    with pytest.raises(HowlearnError) as error:
        make()
    assert str(error.value) == message


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=9), st.data())
def test_every_way_keeps_each_context_exactly_once(values, data):
    features = {str(i): {"f": str(f), "g": str(g)} for i, (f, g) in enumerate(values)}
    names = data.draw(st.sampled_from([["f"], ["g"], ["f", "g"]]))
    exceptions = data.draw(st.lists(st.sampled_from(sorted(features)), unique=True))
    partition = Partition.by(features, names).without(exceptions)
    assert sorted(partition.contexts) == sorted(features)
    for cell in partition.cells:
        assert len({tuple(features[c][n] for n in names) for c in cell}) == 1
    assert all((c,) in partition.cells for c in exceptions)


def test_numbers_are_names_as_in_data():
    assert Partition([[1, 2.0], ["3.0"]]).cells == (("1", "2"), ("3",))
