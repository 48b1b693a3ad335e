"""Contexts whose names are made of parts: the parts are features."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.core.errors import HowlearnError
from howlearn.reading.guess import inspect
from howlearn.reading.labels import split_names

CUBE = [
    "-".join(each) for each in product(("white", "gray"), ("square", "star"), ("large", "small"))
]


def shown(names: list[str], column: str = "stimulus", n: int = 160) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "subject": np.repeat([1, 2], n // 2),
            column: rng.permutation([names[i % len(names)] for i in range(n)]),
            "choice": rng.choice(["f", "j"], n),
            "reward": rng.integers(0, 2, n),
        }
    )


@pytest.mark.parametrize(
    ("names", "features"),
    [
        (CUBE, ("colour", "shape", "size")),
        (CUBE[:6], ("colour", "shape", "size")),
        ([f"{a}_{b}" for a, b in product(("A1", "B2"), ("red", "blue"))], ("letter", "colour")),
        ([f"stim{a}{b}.png" for a, b in product("AB", "12")], ("letter", "number")),
        (["".join(each) for each in product("01", repeat=3)], ("part1", "part2", "part3")),
        ([f"{a}{b}" for a, b in product(("Red", "Blue"), ("Circle", "Star"))], ("colour", "shape")),
    ],
)
def test_parts_become_features(names: list[str], features: tuple[str, ...]) -> None:
    found = inspect(shown(names))
    assert found.options["features"] == features
    assert found.study is not None
    assert {*found.study.features} == {*names}
    told = [str(oddity) for oddity in found.oddities if "split into features" in str(oddity)]
    assert len(told) == 1
    assert "--features none" in told[0]
    whole = inspect(shown(names), features="none")
    assert "features" not in whole.options
    again = hl.read(shown(names), **found.options)
    assert again.features == found.study.features


@pytest.mark.parametrize(
    "names",
    [
        ["apple", "pear", "plum", "fig"],
        [f"stim{i}" for i in range(8)],
        [str(i) for i in range(10, 30)],
        ["AB", "AC", "AD", "BC", "BD", "CD"],  # pairs
        ["red-1", "blue-2", "green-3", "white-4"],
        ["ab-1", "c-d-2", "e3", "f_4"],
    ],
)
def test_what_is_made_of_no_parts(names: list[str]) -> None:
    assert "features" not in inspect(shown(names)).options


def test_codes_that_have_names_beside_them() -> None:
    data = shown(CUBE, "stimulus_name")
    code = {name: i for i, name in enumerate(CUBE)}
    data = data.with_columns(stimulus=pl.col("stimulus_name").replace_strict(code))
    found = inspect(data)
    assert found.options["context"] == ("stimulus_name",)
    assert found.options["features"] == ("colour", "shape", "size")
    assert inspect(data, context="stimulus").options["context"] == ("stimulus",)


def test_names_for_parts_that_are_not_there() -> None:
    with pytest.raises(HowlearnError, match="3 parts that could be called so"):
        hl.read(shown(CUBE), features=["hue", "form"])
    with pytest.raises(HowlearnError, match="no parts alike"):
        hl.read(shown(["apple", "pear"]), features=["hue", "form"])
    study = hl.read(shown(CUBE), features=["hue", "form", "extent"])
    assert study.features["gray-star-small"] == {"hue": "gray", "form": "star", "extent": "small"}


def test_letters_case_and_numbers() -> None:
    assert split_names(["RedStar1", "RedStar2", "BlueStar1"]) == [
        ("Red", "1"),
        ("Red", "2"),
        ("Blue", "1"),
    ]
    assert split_names(["a", "b"]) is None
    assert split_names(["", "a"]) is None
    assert split_names([]) is None
