"""Whatever the data are, every table is whole: no crash, no NaN, every estimate within bounds."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howlearn.analyses.check import select
from howlearn.core.rule import Rule
from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
from howlearn.core.study import Study
from howlearn.fitting.fits import STATUSES
from howlearn.models.coin import Coin
from howlearn.models.partition_model import candidates, one_rate_versions
from howlearn.selection.criteria import AIC, BIC, HoldOut, Penalized

RULES = [
    GradientBandit(),
    GradientBandit("gain", max_rate=20.0),
    GradientBandit("loss", max_rate=20.0),
    Exp3(),
    Exp3("loss"),
    Exp3IX(),
    Exp3IX("loss"),
]
CRITERIA = (Penalized(), HoldOut(0.5), HoldOut(0.01), AIC(), BIC())


@st.composite
def studies(draw: st.DrawFn) -> Study:
    """One to three learners, two to four actions, any flags, any rewards in any range."""
    low, high = draw(st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (0.0, 15.0), (-3.0, -1.0)]))
    n_actions, n_contexts = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(2, 40), min_size=1, max_size=3))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = sum(lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    scored, learned = random.random((2, n)) < draw(st.sampled_from([1.0, 0.7]))
    reset = random.random(n) < 0.05
    for start in starts[:-1]:
        scored[start : start + 2] = True  # two scored trials are asked for at the door
        reset[start] = True
    extreme = draw(st.booleans())  # only the ends of the range: deterministic feedback
    share = random.integers(0, 2, n) if extreme else random.random(n)
    return Study(
        learners=tuple(map(str, range(len(lengths)))),
        starts=starts,
        contexts=tuple("abcd"[:n_contexts]),
        actions=tuple("KLMN"[:n_actions]),
        context=random.integers(0, n_contexts, n).astype(np.int32),
        action=random.integers(0, draw(st.integers(1, n_actions)), n).astype(np.int16),
        reward=low + (high - low) * share,
        scored=scored,
        learned=learned,
        reset=reset,
        reward_range=(low, high),
        features={c: {"f": str(i % 2)} for i, c in enumerate("abcd"[:n_contexts])},
    )


@pytest.mark.parametrize("rule", RULES, ids=repr)
@settings(max_examples=25)
@given(study=studies())
def test_every_table_is_whole(rule: Rule, study: Study) -> None:
    models = candidates(study.contexts, study.features, rule)
    models = [*models, *one_rate_versions(models), Coin()]
    selection = select(study, models, CRITERIA, threads=1)
    numbers = selection.scores.select("log_likelihood", "penalty", "score")
    assert all(numbers[column].is_finite().all() for column in numbers.columns)
    assert (selection.scores["log_likelihood"] <= 1e-9).all()
    # A fit is never worse than not learning (η = 0 and equal odds are always at hand).
    fitted = selection.scores.filter(criterion="aic")
    chance = -np.log(len(study.actions)) * fitted["n_trials"]
    assert (fitted["log_likelihood"] >= chance - 1e-9).all()
    estimates = selection.estimates
    assert estimates["estimate"].is_finite().all()
    bound = pl.Series([max(rule.max_rate, 1.0)]).new_from_index(0, len(estimates))
    assert ((estimates["estimate"] >= 0) & (estimates["estimate"] <= bound)).all()
    assert set(estimates["status"]) <= set(STATUSES)
    assert (selection.selection["margin"].drop_nulls() >= 0).all()
    assert selection.selection["verdict"].null_count() == 0
