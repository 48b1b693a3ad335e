"""Mutations of JSON: of the values in it, and of its text."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from fuzz.mutations.chance import depth, size, token

DEEPEST = 500  # that Python's own writer can follow; deeper values are made as text
MARK = "\N{SNOWMAN}here\N{SNOWMAN}"


def _on_tree(change: Callable[[Any, Random], Any]) -> Callable[[bytes, Random], bytes]:
    """A mutation of a value as one of bytes; what is no JSON stays as it is."""

    def mutation(content: bytes, rng: Random) -> bytes:
        try:
            values = [json.loads(content)]
        except (ValueError, RecursionError):
            try:
                values = [json.loads(line) for line in content.splitlines()]
            except (ValueError, RecursionError):
                return content
        i = rng.randrange(len(values)) if values else 0
        values[i : i + 1] = [change(value, rng) for value in values[i : i + 1]]
        try:
            return "\n".join(map(json.dumps, values)).encode()
        except (ValueError, RecursionError):
            return content

    mutation.__name__ = change.__name__
    mutation.__module__ = __name__
    mutation.__doc__ = change.__doc__
    return mutation


def _anywhere(value: Any, change: Callable[[Any], Any], rng: Random, deep: int = 0) -> Any:
    """The value with one of those inside it changed."""
    if not isinstance(value, dict | list) or not value or deep > DEEPEST or rng.random() < 0.25:
        return change(value)
    if isinstance(value, dict):
        key = rng.choice([*value])
        return {**value, key: _anywhere(value[key], change, rng, deep + 1)}
    i = rng.randrange(len(value))
    return [*value[:i], _anywhere(value[i], change, rng, deep + 1), *value[i + 1 :]]


def _odd(rng: Random) -> Any:
    many = min(size(rng), 200_000)
    choices: list[Callable[[], Any]] = [
        lambda: None,
        lambda: True,
        list,
        dict,
        lambda: [[]],
        lambda: [{}],
        lambda: {"": ""},
        lambda: "",
        lambda: -1,
        lambda: 10**400,
        lambda: float("nan"),
        lambda: float("inf"),
        lambda: 1e-320,
        lambda: token(rng),
        lambda: "\ud800",
        lambda: [1] * many,
        lambda: [None] * many,
        lambda: [[1, 2, 3]] * min(many, 5_000),
        lambda: {str(i): i for i in range(min(many, 5_000))},
        lambda: [{"a": i} for i in range(min(many, 5_000))],
        lambda: [{f"k{i}": i} for i in range(min(many, 600))],
    ]
    return rng.choice(choices)()


@_on_tree
def value_changed(value: Any, rng: Random) -> Any:
    """Another value somewhere."""
    for _ in range(rng.choice([1, 1, 3])):
        value = _anywhere(value, lambda _: _odd(rng), rng)
    return value


@_on_tree
def key_changed(value: Any, rng: Random) -> Any:
    """Another key, or one more, or one less."""

    def change(inner: Any) -> Any:
        if not isinstance(inner, dict) or not inner:
            return inner
        key = rng.choice([*inner])
        new = rng.choice([token(rng), f"{key}.{key}", f"{key}_1", rng.choice([*inner])])
        others = {k: v for k, v in inner.items() if k != key or rng.random() < 0.3}
        return {**others, new: inner[key]} if rng.random() < 0.8 else others

    for _ in range(rng.choice([1, 4])):
        value = _anywhere(value, change, rng)
    return value


@_on_tree
def wrapped(value: Any, rng: Random) -> Any:
    """A value inside lists or objects."""

    def change(inner: Any) -> Any:
        for _ in range(rng.choice([1, 2, 9, 12, 100])):
            inner = [inner] if rng.random() < 0.5 else {rng.choice(["a", "trials", "1"]): inner}
        return inner

    return _anywhere(value, change, rng)


@_on_tree
def repeated(value: Any, rng: Random) -> Any:
    """A value several times."""
    times = rng.choice([2, 10, 300])
    return _anywhere(
        value,
        lambda inner: inner * times if isinstance(inner, list) and inner else [inner] * times,
        rng,
    )


@_on_tree
def text_in_text(value: Any, rng: Random) -> Any:
    """A value as its own text."""
    return _anywhere(value, json.dumps, rng)


def put_in(content: bytes, rng: Random) -> bytes:
    """Something that only a text can be: very deep, thousands of digits, keys that come twice."""
    deep = depth(rng)
    pieces = [
        "[" * deep + "]" * deep,
        '{"a":' * deep + "1" + "}" * deep,
        "[" * deep,
        '{"trials":[' * (deep // 2),
        "9" * size(rng),
        "-" + "1" * 5000,
        "1." + "1" * size(rng),
        "1e999",
        "1E+" + "9" * 30,
        "NaN",
        "-Infinity",
        '{"a":1,"a":2,"a":[3]}',
        '"\\ud800\\udfff\\ud800"',
        '"' + "\\u0041" * min(size(rng), 100_000) + '"',
        "'a'",
        "undefined",
        "01",
        "{,}",
        '"\n\t\0"',
    ]
    text = content.decode("utf-8", errors="replace")
    try:
        marked = _anywhere(json.loads(text), lambda _: MARK, rng)
        return json.dumps(marked).replace(json.dumps(MARK), rng.choice(pieces)).encode()
    except (ValueError, RecursionError):
        place = rng.randint(0, len(text))
        return (text[:place] + rng.choice(pieces) + text[place:]).encode("utf-8", "replace")


def one_after_the_other(content: bytes, rng: Random) -> bytes:
    """The whole several times, with something between."""
    between = rng.choice([b"\n", b"", b",", b"\x1e", b"\n\n", b"x", b"]", b"[1,2]", b'"a"', b"\0"])
    return between.join([content] * rng.choice([2, 3, 50]))


def marks_changed(content: bytes, rng: Random) -> bytes:
    """Brackets, commas and quotes are missing or others."""
    found = bytearray(content)
    places = [i for i, byte in enumerate(found) if byte in b'{}[],:"']
    for place in rng.sample(places, min(len(places), rng.choice([1, 2, 5]))):
        found[place] = rng.choice(b'{}[],:" 1')
    return bytes(found)


ALL = (
    value_changed,
    value_changed,
    key_changed,
    wrapped,
    repeated,
    text_in_text,
    put_in,
    put_in,
    one_after_the_other,
    marks_changed,
)
