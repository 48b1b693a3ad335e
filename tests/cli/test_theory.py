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
    assert "Proposition 5" in run("theory", *options, "--all").out
    ran = run("theory", *options, "--epsilon", "0.6")
    assert ran.status == 2
    assert "1/K" in ran.err
    assert run("theory", *options, "--max-rate", "1").status == 2


def test_models_of_the_same_size_all_count(run: Run) -> None:
    ran = run("theory", "--R", "1", "--sizes", "1,2,2,4,4,9", "--json")
    found = json.loads(ran.out)
    assert found["holdout_residual_published"] == pytest.approx(51.8, abs=0.05)  # SPEC 5.4
    total = sum(np.exp(-d) for d in (1, 2, 2, 4, 4, 9))
    assert total == pytest.approx(0.6753, abs=1e-4)
    assert found["Sigma_epsilon"] == pytest.approx(found["log_A_epsilon"] * total)
    for wrong in ("1.5", "", "many"):
        assert run("theory", "--sizes", wrong).status == 2


def test_what_is_exact_is_not_claimed_where_it_is_not_computed(run: Run) -> None:
    found = json.loads(run("theory", "--R", "1", "--trials", "20000000", "--json").out)
    assert "epsilon_at_n" not in found
    assert found["T_epsilon"] > 1000


def test_small_epsilons_have_logs(run: Run) -> None:
    found = json.loads(run("theory", "--R", "1", "--epsilon", "1e-300", "--json").out)
    assert found["L_epsilon"] is None
    assert found["log_L_epsilon"] == pytest.approx(1042.007, abs=1e-3)


def test_leading_constants_that_no_proof_covers(run: Run) -> None:
    ran = run("theory", "--leading", "0.3")
    assert ran.status == 2
    assert "above 0.5" in ran.err


@pytest.mark.parametrize(
    "options", [("--rho", "2", "--experts", "2"), ("--actions", "1"), ("--R", "inf")]
)
def test_exp4_has_a_domain_too(run: Run, options: tuple[str, ...]) -> None:
    assert run("theory", "--rule", "exp4", "--epsilon", "0.1", *options).status == 2
