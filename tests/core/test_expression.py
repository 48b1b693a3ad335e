"""The language of conditions: what it means, what it refuses, and that it runs nothing."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howlearn.core.errors import HowlearnError
from howlearn.core.expressions import parse

LABELS = pl.DataFrame(
    {
        "rt": ["0.5", "2", None, "fast"],
        "phase": ["learn", "test", "learn", None],
        "key resp.keys": ["a", "b", "a", "b"],
        "practice": ["true", "0", "yes", "false"],
        "block": ["1", "2", "3", "4"],
    }
)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("rt > 1", [0, 1, 0, 0]),
        ("rt == 2.0", [0, 1, 0, 0]),
        ("rt != 2", [1, 0, 1, 1]),
        ("rt == missing", [0, 0, 1, 0]),
        ("missing != rt", [1, 1, 0, 1]),
        ("phase == 'learn'", [1, 0, 1, 0]),
        ("phase != 'learn'", [0, 1, 0, 1]),
        ("phase in ['learn', 'test']", [1, 1, 1, 0]),
        ("block not in [1, '2']", [0, 0, 1, 1]),
        ("1 < block <= 3", [0, 1, 1, 0]),
        ("block == '1'", [1, 0, 0, 0]),
        ("`key resp.keys` == 'a'", [1, 0, 1, 0]),
        ("phase == '`rt`'", [0, 0, 0, 0]),
        ("not (block > 1 and block < 4)", [1, 0, 0, 1]),
        ("block > 3 or phase == 'test'", [0, 1, 0, 1]),
        ("block * 2 - 1 == 3", [0, 1, 0, 0]),
        ("-block / 2 < -1", [0, 0, 1, 1]),
        ("block - rt == 0", [0, 1, 0, 0]),
        ("practice", [1, 0, 1, 0]),
        ("not practice", [0, 1, 0, 1]),
        ("practice == FALSE", [0, 1, 0, 1]),
        ("practice != True", [0, 1, 0, 1]),
        ("1 / (block - 1) > 0", [0, 1, 1, 1]),
        ("block / 0 == block / 0", [0, 0, 0, 0]),
        ("rt == block", [0, 1, 0, 0]),
        ("rt < block", [1, 0, 0, 0]),
        ("phase == learn", [1, 0, 1, 0]),
        ("phase in [learn, test]", [1, 1, 1, 0]),
        ("phase != learn", [0, 1, 0, 1]),
        ("practice == 1", [1, 0, 0, 0]),
        ("(block > 1) + (block > 2) == 2", [0, 0, 1, 1]),
        ("(block > 1) == (phase == 'test')", [1, 1, 0, 0]),
        ("if(block > 2, 'late', 'early') == 'late'", [0, 0, 1, 1]),
        ("if(block > 2, late, early) == late", [0, 0, 1, 1]),
        ("'late' == ('late' if (block > 2) else 'early')", [0, 0, 1, 1]),
        ("if(block > 2, block, 10 * block) >= 10", [1, 1, 0, 0]),
        ("if(block > 2, block == 3, practice)", [1, 0, 1, 0]),
        ("if(if(block > 1, 1, 0) == 1, 5, 6) == 5", [0, 1, 1, 1]),
        ("column('key resp.keys') == a", [1, 0, 1, 0]),
        ("lag(phase) == learn", [0, 1, 0, 1]),
        ("lag(block) + 1 == block", [0, 1, 1, 1]),
        ("lag(block, 2) == block - 2", [0, 0, 1, 1]),
        ("lag(lag(block)) == 1", [0, 0, 1, 0]),
        ("lag(block > 1)", [0, 0, 1, 1]),
        ("block % 2 == 0", [0, 1, 0, 1]),
        ("(block - 1) // 2 == 1", [0, 0, 1, 1]),
    ],
)
def test_meaning(text: str, holds: list[int]) -> None:
    expression = parse(text, "--where", LABELS.columns)
    assert expression.holds(LABELS.select(expression.columns)).astype(int).tolist() == holds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("block = 1", "is not an expression such as"),
        ("", "is not an expression such as"),
        (
            "blocks == 1",
            "there is no column blocks (put text in quotes); the columns: rt, phase, key",
        ),
        ("learn == phase", "there is no column learn (put text in quotes); the columns"),
        (
            "phase == phases",
            "there is no column phases (did you mean phase? put text in quotes)",
        ),
        ("phase < learn", "there is no column learn"),
        ("learn", "there is no column learn"),
        ("if(block > 1, 2)", "there are if(CONDITION, A, B), lag(COL)"),
        ("if(block, 'a', 'b')", None),
        ("if(block + 1, 1, 0) == 1", "'block + 1' is not a condition"),
        ("column(block) == 1", 'write column("NAME")'),
        ("column('a b') == 1", "there is no column a b; the columns"),
        ("lag(block, 0) == 1", "needs a whole number N from 1 to"),
        ("lag(block, block) == 1", "needs a whole number N from 1 to"),
        ("lag('a') == 1", "is the same in every row"),
        ("lag(*block) == 1", "is not allowed in an expression"),
        ("`a b` == 1", "there is no column a b; the columns"),
        ("1 == 1", "names no column"),
        ("block", None),
        ("block + 1", "'block + 1' is not a condition"),
        ("'a' + block == 1", "\"'a'\" is not a number"),
        ("'a' < 1", "compare text with text"),
        ("block in 1", "after 'in' a list is needed"),
        ("block is 1", "only == != < <= > >= in and not in compare"),
        ("block < missing", "can be compared with a column by == and != only"),
        ("block == None", "None is neither a number nor text"),
        ("block.real == 1", "'block.real' is not allowed in an expression"),
        ("len(block) == 1", "'len(block)' is not allowed in an expression"),
        ("if(len(block), 1, 0) == 1", "'len(block)' is not allowed in an expression"),
        ("__import__('os').system('true')", "is not allowed in an expression"),
        ("[b for b in block]", "is not allowed in an expression"),
        ("block ** 2 == 4", "is not allowed in an expression"),
        ("block == 1" + "0" * 400, "too large"),
    ],
)
def test_refusals(text: str, reason: str | None) -> None:
    if reason is None:
        parse(text, "--where", LABELS.columns)
        return
    with pytest.raises(HowlearnError) as caught:
        parse(text, "--where", LABELS.columns)
    assert str(caught.value).startswith("--where")
    assert reason in str(caught.value)


@settings(derandomize=True, deadline=None)
@given(st.text(alphabet="rt blockphase<>=!0123()[]'\"`,+-*/%.notadinmsgfluc\n\\", max_size=40))
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        expression = parse(text, "--where", LABELS.columns)
    except HowlearnError:
        return
    assert len(expression.holds(LABELS)) == LABELS.height


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(HowlearnError):
        parse("not " * 5000 + "practice", "--where", LABELS.columns)


def test_an_empty_text_is_a_missing_value():
    frame = pl.DataFrame({"grp": ["a", None]})
    assert parse("grp == ''", "--where", ["grp"]).holds(frame).tolist() == [False, True]
    assert parse("grp != ''", "--where", ["grp"]).holds(frame).tolist() == [True, False]
