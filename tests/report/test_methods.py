"""The methods section says what was done, no more, and cites what it uses."""

from __future__ import annotations

import re

import polars as pl
import pytest

from howlearn.core.rules import RULES
from howlearn.models import FIELD
from howlearn.models.names import ADJUSTMENTS, MIXTURES
from howlearn.report.methods import methods
from howlearn.report.methods.sentences import Citing, works
from howlearn.selection.criteria import CRITERIA, criterion_named
from made_results import manifest, tables, unit


def text(made=None, **changed) -> str:
    return " ".join(methods(made or manifest(), tables(**changed)).paragraphs)


def test_a_run():
    said = text()
    for part in (
        "400 trials of four learners (100 scored trials per learner)",
        "Of 400 rows read, all were used.",
        "The two candidate models were One (one cell) and Each (two cells).",
        "the gradient bandit algorithm (Sutton & Barto, 2018) in gain form, with η between 0 and 1",
        "Every cell had its own parameters.",
        "by exact maximum likelihood within their bounds",
        "minus 0.012·log(n)² per parameter (Aubert et al., 2025)",
        "trials after the first 50%",
        "within 2 nats",
        "howlearn 0.2.0 (The howlearn developers, n.d.), Python 3.11.7, NumPy 2.0",
        "began with 0123456789ab… for trials.csv.",
    ):
        assert part in said
    # Nothing of what was not done, and nothing of the machine.
    for word in (
        "excluded",
        "frozen",
        "Stability",
        "calibration",
        "Akaike",
        "Intervals",
        "someone",
    ):
        assert word not in said


def test_what_is_cited_is_listed_and_nothing_else():
    made = methods(manifest(options={"criteria": ["aic", "bic"]}), tables())
    said, listed = " ".join(made.paragraphs), [work.text for work in made.references]
    assert [entry.split(",")[0].split(".")[0] for entry in listed] == sorted(
        entry.split(",")[0].split(".")[0] for entry in listed
    )
    cited = {name for work in works().values() if (name := work.cited) in said}
    assert {"Akaike, 1974", "Schwarz, 1978"} < cited
    assert len(listed) == len(cited) + 1  # and the software
    assert made.text.endswith(listed[-1])


@pytest.mark.parametrize("name", works())
def test_an_entry_fits_its_citation(name):
    work = works()[name]
    author, year = re.fullmatch(r"(.+?)(?: et al\.| & .+)?, (\d{4})", work.cited).groups()
    assert work.text.startswith(f"{author}, ")
    assert f"({year}). " in work.text
    assert work.entry.count("*") % 2 == 0
    assert "*" not in work.text


def test_every_rule_model_adjustment_and_criterion_is_described():
    for known in (RULES, FIELD, ADJUSTMENTS, MIXTURES, CRITERIA):
        for each in known.values():
            assert each.title
            assert {*each.cites} <= {*works()}
    texts = [repr(criterion_named(name)) for name in CRITERIA]
    said = text(manifest(options={"criteria": texts}))
    for name, repr_ in zip(CRITERIA, texts, strict=True):
        shown = name.upper() if name in ("aic", "bic") else f"The criterion {repr_}"
        assert f"{shown} " in said
    assert "documentation" not in said
    assert "The criterion “of tomorrow” is described" in text(
        manifest(options={"criteria": ["of tomorrow"]})
    )


def test_rows_are_counted_with_what_became_of_them():
    rows = {
        "rows read": 1000,
        "left out by --where": 100,
        "missed trials": 1,
        "recoded reward": 5,
        "forced choices": 12,
        "learners left out (fewer than 20 trials)": 2,
        "something new": 3,
        "blank rows": 0,
    }
    options = {"where": "phase == 'learn'", "recode": ["reward:-1=0"]}
    said = text(manifest(rows=rows, options=options))
    assert (
        "Of 1,000 rows read, 100 did not fulfil the condition “phase == 'learn'”, one trial "
        "without a choice was removed, 12 forced choices taught the models and were not scored, "
        "and three counted as “something new”. Values were recoded as they were read, in rows that "
        "were left out too: five values of “reward” (-1=0). In addition, two learners with fewer "
        "than 20 trials were left out."
    ) in said


def test_exclusions_and_deviations():
    expression = "accuracy < 0.55"
    learners = pl.DataFrame(
        {"learner": ["1", "2"], "excluded": [None, expression], "n_trials": [9, 10]}
    )
    made = manifest(
        rows={"rows read": 400, f"learners excluded ({expression})": 1},
        options={"exclude": [expression]},
        deviations=[{"what": "criterion", "planned": "aic", "done": "bic"}, "the task was edited"],
    )
    said = text(made, learners=learners)
    assert f"One learner was excluded by the condition “{expression}”; shares are" in said
    assert "learned from all learners that were not excluded together" in said
    assert "with two deviations: criterion (planned: aic; done: bic); the task was edited." in said
    assert "beforehand (SHA-256 abababababab…), without deviations" in text(
        manifest(deviations=[], frozen={"file": "frozen.toml", "sha256": "sha256:" + "ab" * 32})
    )
    nobody = learners.with_columns(excluded=pl.lit(None, pl.String))
    assert "No learner fulfilled" in text(made, learners=nobody)


def test_other_models():
    models = [
        {"name": "Cells", "rates": "shared", "units": [unit("a|b", "exp3", "loss", 2.0)]},
        {"name": "alcove+lapse", "bounds": {"c": [0.0, 20.0]}},
        {"name": "Mine", "bounds": {"k": [-1.0, 1.0]}, "code": "sha256:" + "f" * 64},
        {"name": "exp4(A, B)", "kind": "exp4", "experts": [], "bounds": {}},
        {"name": "Coin", "probabilities": {"a": 0.5}},
    ]
    said = text(manifest(models=models))
    for part in (
        "Cells (two cells)",
        "Cells learned by the Exp3 algorithm (Auer et al., 2002) in loss form, with η between 0 "
        "and 2",
        "All cells of a model shared their parameters.",
        "The model alcove+lapse was ALCOVE (Kruschke, 1992)",
        "One model included lapses (Wichmann & Hill, 2001)",
        "Mine (SHA-256 of its code ffffffffffff…)",
        "Exp4, in which",
        "fixed probabilities of the actions: Coin.",
        "by maximum likelihood within",
    ):
        assert part in said
    assert "exact" not in said


def test_simulations_and_populations():
    rates = pl.DataFrame(
        {
            "criterion": ["population"],
            "rates": ["shared"],
            "median_rate": [0.05],
            "spread_of_learners": [0.1],
            "spread_of_cells": [0.2],
        }
    )
    shares = pl.DataFrame({"corrected_for": ["confusion"], "protected_exceedance": [0.9]})
    made = manifest(options={"stability": 100, "seed": 7, "calibrated": ["holdout(split=0.4)"]})
    said = text(made, shares=shares, **{"population-rates": rates})
    for part in (
        "The estimated median rate was 0.05",
        "Ewens's sampling formula",
        "corrected for the confusion",
        "protected exceedance probabilities (Rigoux et al., 2014)",
        "100 simulated doubles of each learner, who followed the selected model at its estimates "
        "(seed 7)",
        "constants of holdout(split=0.4) were chosen by a calibration",
        "0.10 or less (the smallest that was considered) between learners and 0.20 between",
    ):
        assert part in said


def test_hardly_anything_is_needed():
    made = methods({}, {})
    assert made.paragraphs[0] == "The choices of the learners were analysed."
    assert [work.cited for work in made.references] == [
        "The howlearn developers, n.d.",
        "Wilson & Collins, 2019",
    ]


def test_hostile_names_stay_on_their_line():
    name = "<script>\n\u202e" + "x" * 10_000
    said = methods(manifest(models=[{"name": name}, {"name": "b"}]), tables()).text
    assert "\u202e" not in said
    assert "<script> xxx" in said
    assert len(said) < 10_000


def test_citations_are_in_alphabetical_order():
    cite = Citing("1")
    assert cite("wilson2019", "aubert2025") == "(Aubert et al., 2025; Wilson & Collins, 2019)"
    assert cite("neu2015", before="see ") == "(see Neu, 2015)"
