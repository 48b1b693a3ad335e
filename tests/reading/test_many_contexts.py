"""Contexts that are met too rarely to learn about each on its own are refused, with a way out."""

from __future__ import annotations

import polars as pl
import pytest

from howlearn.analyses.check import select
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.models.names import model_named
from howlearn.models.partition_model import candidates, check_contexts, too_many_contexts
from howlearn.reading.read import read


def study_of(contexts: int, times: int, learners: int = 3, **options: object) -> Study:
    """Learners who meet every context so many times."""
    n = contexts * times
    data = pl.DataFrame(
        {
            "id": [i for i in range(learners) for _ in range(n)],
            "size": [c / 10 for _ in range(learners * times) for c in range(contexts)],
            "choice": ["A", "B", "B"] * (learners * n // 3),
            "reward": [1, 0] * (learners * n // 2),
        }
    )
    return read(data, context="size", action="choice", **options)


def test_the_sentence() -> None:
    assert too_many_contexts(study_of(60, 4)) == (
        "there are 60 contexts, and a typical learner met 60 of them in 240 trials, but a "
        "partition model, or Q-learning, would have to learn each of them separately; --model gcm "
        "(with --features COL,COL) generalises between contexts by their similarity, and --bin "
        "COL:4 groups numbers into a few contexts"
    )


@pytest.mark.parametrize(("contexts", "times"), [(60, 5), (20, 2), (1, 30)])
def test_enough_trials_or_few_contexts(contexts: int, times: int) -> None:
    assert too_many_contexts(study_of(contexts, times)) is None


def test_only_scored_trials_count() -> None:
    assert too_many_contexts(study_of(60, 6)) is None
    forced = study_of(60, 6, forced_when="size < 3 and choice == 'A'")
    assert too_many_contexts(forced) is None  # the median learner still has 300 for 60
    assert too_many_contexts(study_of(60, 6, forced_when="size < 3")) is not None


def test_the_typical_learner_decides() -> None:
    many, few = study_of(60, 4).frame(), study_of(30, 8).frame()
    few = few.with_columns(learner="few" + pl.col("learner"))
    three = few.filter(pl.col("learner") != "few2")
    assert too_many_contexts(read(pl.concat([many, three]), action="action")) is not None
    both = pl.concat([few, many.filter(learner="0")])
    assert too_many_contexts(read(both, action="action")) is None


def test_bins_are_the_way_out() -> None:
    assert too_many_contexts(study_of(60, 4, bin="size:4")) is None


def test_select_refuses_its_own_candidates() -> None:
    with pytest.raises(HowlearnError, match="there are 60 contexts"):
        select(study_of(60, 4))


def test_one_cell_is_no_trouble() -> None:
    study = study_of(60, 4)
    models = candidates(study.contexts)
    check_contexts(study, [models[0], model_named(models, "Coin")])
    for name in ("OnePerItem", "OnePerItem (one rate)"):
        with pytest.raises(HowlearnError, match="there are 60 contexts"):
            check_contexts(study, [models[0], model_named(models, name)])
