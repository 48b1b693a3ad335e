"""The hash of a model's code covers what it takes from modules of its author."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from howlearn.engine.model_source import code_of

HELPER = """
import numba

K = {k}

def g(x):
    return x {sign} 1

@numba.njit
def compiled(x):
    return K * g(x)
"""
MODEL = """
import author_helper

class M:
    @staticmethod
    def update(state):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ("state[0] += author_helper.K", {"k"}),
        ("state[0] = author_helper.g(state[0])", {"sign"}),
        ("state[0] = author_helper.g(author_helper.K)", {"k", "sign"}),
        ("state[0] = author_helper.compiled(state[0])", {"k", "sign"}),
    ],
)
def test_what_a_helper_says_counts(
    body: str, known: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)

    def hashed(k: float, sign: str) -> str:
        for name, text in (("author_helper", HELPER.format(k=k, sign=sign)),
                           ("author_model", MODEL.format(body=body))):  # fmt: skip
            (tmp_path / f"{name}.py").write_text(text)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return code_of(importlib.import_module("author_model").M)

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    first = hashed(0.1, "+")
    assert hashed(0.1, "+") == first
    assert (hashed(0.7, "+") != first) == ("k" in known)
    assert (hashed(0.1, "-") != first) == ("sign" in known)


class _WithLibraries:
    @staticmethod
    def update(state: np.ndarray) -> None:
        state[0] = math.exp(np.log(state[0]))


def test_libraries_are_known_by_their_names() -> None:
    assert code_of(_WithLibraries) == code_of(_WithLibraries)
