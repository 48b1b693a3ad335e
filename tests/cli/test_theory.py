"""``howlearn theory``."""

from __future__ import annotations

import json

import numpy as np
import pytest

from running import Run


def test_the_command(run: Run) -> None:
    options = ("--rule", "gradient", "--actions", "2", "--trials", "500", "--R", "1.3193")
    ran = run("theory", *options, "--epsilon", "0.05", "--json")
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    assert found["T_epsilon"] == 19
    assert found["A_epsilon"] == pytest.approx(108.97, abs=0.01)
    assert all(value is None or np.isfinite(value) for value in found.values())
    assert "Proposition 5" in run("theory", *options).out
    ran = run("theory", *options, "--epsilon", "0.6")
    assert ran.status == 2
    assert "1/K" in ran.err
    assert run("theory", *options, "--max-rate", "1").status == 2
