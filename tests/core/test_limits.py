"""Whatever stands in a task file, a manifest or an expression: an answer soon, in a sentence."""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl
import pytest

import howlearn as hl
from howlearn.core.errors import HowlearnError
from howlearn.core.expressions import parse
from howlearn.core.safe_files import parsed_toml, read_json
from howlearn.core.text import isolated, one_line, visible
from howlearn.reading import exclude
from howlearn.reading.project_file import read_study_file
from howlearn.results.inputs import recorded

N = 100_000
DEEP = {
    "lists": "a = " + "[" * N,
    "tables": "a = " + "{a = " * N,
    "a key": "a." * N + "a = 1",
    "a quoted key": '"a" . ' * N + "a = 1",
    "a heading": "[" + "a." * N + "a]",
    "tables one by one": "\n".join(f"[{'.'.join('a' * k)}]" for k in range(1, 200)),
    "a number": "a = 0x" + "f" * N,
    "digits": "a = " + "9" * N,
    "size": "a = '" + "x" * 3_000_000 + "'",
}
MANY = "".join(f'[[contexts]]\nname = "{k // 2}"\n' for k in range(4_000))
LONG = {
    "or": " or ".join(["a == 1"] * 1_000),
    "in": f"a in [{','.join(map(str, range(1_000)))}]",
    "chain": "a" + " < 1" * 1_000,
    "sum": "+".join(["a"] * N) + " > 1",
    "minus": "-" * N + "a > 1",
    "brackets": "(" * N + "a" + ")" * N,
    "divisions": "a/(" * 100 + "a" + ")" * 100 + " > 1",
    "middles": "(a==1)==(" * 60 + "a==1" + ")==(a==1)" * 60,
    "items": "a in [" + "1," * N + "1]",
    "a power": "a ** 9 ** 9 ** 9 > 1",
    "digits": "a > " + "9" * 5_000,
    "a call": "__import__('os').system('touch ran') == 0",
    "an attribute": "a.__class__ == 1",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_toml_file_is_refused_or_read_soon(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(text)
    start = time.perf_counter()
    for read in (hl.Task.load, read_study_file):
        with pytest.raises(HowlearnError) as error:
            read(file)
        assert len(str(error.value)) < 2_000
    assert time.perf_counter() - start < 20  # seconds; without limits it would be hours


def test_many_mistakes_are_listed_in_part(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text('actions = ["A", "B"]\n' + MANY)
    with pytest.raises(HowlearnError, match=r"2,000 problems\n(.*\n){50}.*and 1,950 more"):
        hl.Task.load(file)


def test_dots_and_nesting_that_people_write_are_taken() -> None:
    text = 'a = "' + "www.example.org " * 1_000 + '"\nb.c.d = [' + "0.5, " * 1_000 + "[[1]]]"
    assert parsed_toml(text)["b"]["c"]["d"][-1] == [[1]]


def test_a_manifest_is_json_and_nothing_else(tmp_path: Path) -> None:
    for text in ("[" * N, '{"a":' * N + "1" + "}" * N, "9" * 5_000, "\x80\x04\x95", "{} {}"):
        (tmp_path / "manifest.json").write_text(text, encoding="latin-1")
        with pytest.raises(ValueError, match=r".+"):
            read_json(tmp_path / "manifest.json")
        with pytest.raises(HowlearnError, match="damaged"):
            recorded(tmp_path)


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_an_expression_is_refused_or_answered_soon(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    labels = pl.DataFrame({"a": ["1", "2"]})
    start = time.perf_counter()
    told = ""
    try:
        assert len(parse(text, "--where", ["a"]).holds(labels)) == 2
    except HowlearnError as error:
        told = str(error)
    assert len(told) < 1_500
    with pytest.raises(HowlearnError):
        exclude.parse(text, ["a"])
    assert time.perf_counter() - start < 20  # seconds; without limits it would be hours
    assert not Path("ran").exists()


def test_conditions_mean_what_they_meant() -> None:
    labels = pl.DataFrame({"a": ["1", "2", None], "b": ["0", "2", "1"]})
    found = {
        text: parse(text, "--where", ["a", "b"]).holds(labels).tolist()
        for text in ("a in [1, 3] or b == 2", "0 < a <= 1 and b < 1", "a / b == 1", "not a / b > 0")
    }
    assert [*found.values()] == [
        [True, True, False],
        [True, False, False],
        [False, True, False],
        [True, False, True],
    ]


def test_what_steers_is_written_out() -> None:
    assert visible("a\x1b[31m\x9b\u202e\u2069\ud800\ufffe") == (
        "a\\x1b[31m\\x9b\\u202e\\u2069\\ud800\\ufffe"
    )
    assert visible("é\t\n😀\u200dשלום") == "é\t\n😀\u200dשלום"
    assert one_line("a\nNext: rm", 6) == "a\\nN…rm"
    assert isolated("A שלום לך, 2 אב") == "A \u2068שלום לך\u2069, 2 \u2068אב\u2069"
