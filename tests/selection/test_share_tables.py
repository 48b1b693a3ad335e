"""Tables of shares: as selected, corrected, by random effects."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.report.page.answer import answer
from howlearn.results.analysis import Listing
from howlearn.selection.mixture_shares import mixture_shares
from howlearn.selection.random_effects import random_effects
from howlearn.selection.share_tables import Known, doubts, pooled, shares_table
from howlearn.selection.shares import Confusion, corrected_shares

TASK = hl.Task.load("shepard-1")
NAMES = ["OneForAll", "ByFeature1", "OnePerItem"]
MODELS = [TASK.model(name) for name in NAMES]
COUNTS = np.array([[90.0, 8.0, 2.0], [5.0, 90.0, 5.0], [0.0, 40.0, 60.0]])


@pytest.fixture(scope="module")
def found() -> hl.Results:
    study = hl.simulate(TASK, "ByFeature1", {"eta": 0.15}, learners=15, trials=64, seed=2)
    return hl.select(study, MODELS, ["aic", "holdout(split=0.5)", "likelihood"])


def test_shares_as_selected_and_corrected(found: hl.Results) -> None:
    known = {"aic": Known(("OnePerItem", "OneForAll", "ByFeature1"), tuple(NAMES),
                          Confusion(COUNTS[[2, 0, 1]]))}  # fmt: skip
    criteria = ["aic", "holdout(split=0.5)", "likelihood"]
    table = shares_table(found.scores, criteria, NAMES, known)
    assert table.select("criterion", "model", "learners", "share").equals(
        found.shares.select("criterion", "model", "learners", "share")
    )
    aic = table.filter(criterion="aic").sort("model")
    choice = found.choices[0].selected
    plain = corrected_shares(choice, Confusion(COUNTS), resamples=0).share
    order = np.argsort(NAMES)
    assert aic["corrected"].to_numpy() == pytest.approx(plain[order])
    assert (aic["corrected_lower"] <= aic["corrected"]).all()
    assert aic["corrected_for"].unique().to_list() == ["confusion"]
    assert table.filter(pl.col("criterion") != "aic")["corrected"].null_count() == 6
    assert table.filter(criterion="likelihood")["expected"].null_count() == 3


def test_random_effects_say_what_they_rest_on(found: hl.Results) -> None:
    table = shares_table(found.scores, ["aic"], NAMES)
    table = table.sort(pl.col("model").replace_strict(NAMES, range(len(NAMES))))
    plain = random_effects(found.choices[0].scores.score)
    assert table["expected"].to_numpy() == pytest.approx(plain.expected)
    assert table["protected_exceedance"].to_numpy() == pytest.approx(plain.protected)
    assert table["evidence"].unique().to_list() == ["the score, as an approximation"]
    assert table["omnibus_risk_integrated"][0] <= table["omnibus_risk"][0] + 0.01


def test_log_evidence_and_a_model_beyond_the_candidates(found: hl.Results) -> None:
    """As population(other=true) writes it: log-evidence, scores with the shares of all."""
    rows = found.scores.filter(criterion="aic").with_columns(
        pl.col("model").cast(pl.String), criterion=pl.lit("population(other=true)")
    )
    last = rows.filter(pl.col("rank") == 3).with_columns(
        model=pl.lit("Other"),
        log_likelihood=pl.col("log_likelihood") - 5.0,
        rank=pl.lit(4, pl.Int64),
    )
    both = pl.concat([rows, last]).sort(pl.col("learner").cast(pl.Int64), "rank")
    table = shares_table(both, ["population(other=true)"], NAMES).sort("model")
    assert table["model"].to_list() == sorted([*NAMES, "Other"])
    evidence = (
        both.pivot("model", index="learner", values="log_likelihood")
        .select(sorted([*NAMES, "Other"]))
        .to_numpy()
    )
    assert table["corrected"].to_numpy() == pytest.approx(
        mixture_shares(evidence, 0).share, abs=1e-4
    )
    assert table["evidence"].unique().to_list() == ["log-evidence"]
    assert table["corrected_for"].unique().to_list() == ["uncertainty of each learner's model"]


def test_models_that_are_confused_are_named() -> None:
    same = Confusion(np.array([[50.0, 50.0], [52.0, 48.0]]))
    known = {"aic": Known(("A", "B"), ("A", "B"), same)}
    (sentence,) = doubts(known, ["aic", "bic"])
    assert sentence.startswith("aic selects for learners of A, B nearly the same models")
    clear = {"aic": Known(("A", "B"), ("A", "B"), Confusion(np.eye(2) * 100))}
    assert doubts(clear, ["aic"]) == []


def test_conditions_of_the_same_learners_are_told_apart() -> None:
    """Each has its own shares and panels: learners change their strategy between the two."""
    parts = []
    for condition, model in enumerate(["OneForAll", "ByFeature1"], start=1):
        made = hl.simulate(TASK, model, {"eta": 0.3}, learners=6, trials=96, seed=condition)
        parts.append(made.frame().with_columns(condition=pl.lit(f"part {condition}")))
    study = hl.read(pl.concat(parts), task=TASK, by="condition")
    results = hl.select(study, MODELS, ["population", "aic"])
    shares = results.shares
    assert shares["condition"].unique().sort().to_list() == ["part 1", "part 2"]
    counts = shares.group_by("condition", "criterion").agg(pl.col("learners").sum())
    assert counts["learners"].to_list() == [6] * 4
    for condition, model in (("part 1", "OneForAll"), ("part 2", "ByFeature1")):
        mine = shares.filter(condition=condition, criterion="population")
        assert mine["model"][0] == model
        known = results.tables["population"].filter(condition=condition, model=model)
        assert mine["corrected"][0] == known["share"].item()  # its own population's
    assert pooled(shares).filter(criterion="aic")["learners"].sum() == 12
    table = next(part for part in results.summary() if isinstance(part, Listing))
    assert table.columns[1:] == ("part 1", "part 2")
    told = answer(results)
    assert told.leads[0].startswith(
        "condition part 1: OneForAll (treats all contexts alike) explains "
    )
    assert told.leads[1].startswith("condition part 2: ")
    assert [each.n for each, _ in told.panels] == [6, 6]
    assert told.panels[0][0].models[0].interval
    assert told.panels[0][1]
