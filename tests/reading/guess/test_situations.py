"""What is shown: features together, or two things at once."""

from __future__ import annotations

import random
from collections.abc import Sequence

import polars as pl
import pytest

from howlearn.reading.guess import inspect
from howlearn.reading.guess.inspection import Inspection


def said(found: Inspection) -> str:
    return "\n".join(map(str, found.oddities))


def described(names: Sequence[str], **more: Sequence[object]) -> pl.DataFrame:
    """Two learners who see objects of binary features, of which the first is what counts."""
    draw, rows = random.Random(8), []
    for who in ("a", "b"):
        for trial in range(48):
            bits = [draw.randrange(2) for _ in names]
            key = "fj"[bits[0] if draw.random() < 0.7 else 1 - bits[0]]
            features = dict(zip(names, bits, strict=True))
            right = int(key == "fj"[bits[0]])
            rows.append({"id": who, "trial": trial, **features, "resp": key, "corr": right})
    return pl.DataFrame(rows).with_columns(pl.Series(n, v) for n, v in more.items())


@pytest.mark.parametrize(
    "names",
    [
        ("color", "shape", "size"),
        ("colour", "form"),
        ("f1", "f2", "f3"),
        ("card1", "card2", "card3", "card4"),
        ("Farbe", "shape"),
    ],
)
def test_features_together_are_the_context(names: tuple[str, ...]) -> None:
    found = inspect(described(names))
    assert found.options["context"] == names
    assert found.options["features"] == names
    assert found.study is not None
    assert len(found.study.contexts) == 2 ** len(names)


def test_features_beside_a_context() -> None:
    data = described(["shape"])
    assert inspect(data).options["context"] == ("shape",)  # one feature is the context itself
    assert "features" not in inspect(data).options
    items = data.rename({"shape": "item"}).with_columns(pl.Series("hue", [*"rgbb"] * 24))
    found = inspect(items)
    assert found.options["context"] == ("item",)
    assert "hue: changes from trial to trial, and is not used (--context item,hue" in said(found)
    many = described([f"f{i}" for i in range(1, 9)])
    assert inspect(many).options["context"] == ("none",)
    assert "f1, f2, f3, f4, f5 and 3 more: changes from trial to trial" in said(inspect(many))


def sides(names: tuple[str, str], things: str, *, side: bool, chosen: bool) -> pl.DataFrame:
    draw, rows = random.Random(3), []
    for who in (1, 2, 3):
        for trial in range(60):
            two = draw.sample(things, 2)
            at = two.index(min(two)) if draw.random() < 0.7 else draw.randrange(2)
            row = {"subject": who, "trial": trial, names[0]: two[0], names[1]: two[1]}
            row |= {"key": ("left", "right")[at]} if side else {}
            row |= {"chosen_image": two[at]} if chosen else {}
            rows.append(row | {"reward": int(two[at] == min(two))})
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    "names", [("stim_left", "stim_right"), ("leftImage", "rightImage"), ("left", "right")]
)
def test_a_pair_is_what_was_on_offer(names: tuple[str, str]) -> None:
    keys = inspect(sides(names, "ABC", side=True, chosen=False))
    assert keys.options["context"] == ("none",)
    assert keys.options["action"] == "key"
    assert keys.options["offered"] == names
    assert keys.options["positions"] == ("left", "right")
    assert keys.study is not None
    assert keys.study.actions == ("A", "B", "C")
    items = inspect(sides(names, "ABC", side=False, chosen=True))
    assert (items.options["offered"], items.options["action"]) == (names, "chosen_image")
    assert items.study is not None
    assert items.study.action.tolist() == keys.study.action.tolist()
    both = inspect(sides(names, "ABC", side=True, chosen=True))
    assert both.options["action"] == "chosen_image"
    same = inspect(sides(names, "AB", side=True, chosen=True), action="chosen_image")
    assert same.options["context"] == ("none",)
    assert f"--context {','.join(names)} to distinguish their places" in said(same)
    assert same.study is not None
    by_side = inspect(sides(names, "AB", side=True, chosen=True), action="key")
    assert by_side.options["offered"] == names
    assert by_side.study is not None
    assert by_side.study.actions == ("A", "B")


def test_what_is_no_pair() -> None:
    two = described(["f1", "f2"])
    assert "pair" not in said(inspect(two))
    for names in (("reward_left", "reward_right"), ("p_left", "p_right")):
        assert "pair" not in said(inspect(sides(names, "123", side=True, chosen=False)))
    three = sides(("stim1", "stim2"), "ABC", side=True, chosen=False)
    third = pl.Series("stim3", [*"ABC"] * 60)
    assert "pair" not in said(inspect(three.with_columns(third)))
    numbers = inspect(sides(("stim_1", "stim_2"), "123", side=True, chosen=False))
    assert numbers.options["offered"] == ("stim_1", "stim_2")
