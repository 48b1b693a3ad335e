"""Tables behind the charts of a selection, against slow computations."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.yardstick import yardstick
from howlearn.report import learner_charts, learner_details
from howlearn.report.matrix_charts import disagreement_table
from howlearn.report.path_charts import price_path
from howlearn.report.predicted import predicted, wilson
from howlearn.report.rate_charts import rate_table
from howlearn.report.share_charts import EDGES, margin_table
from howlearn.results.results import Results
from studies import random_trials, study_of


def test_shares_along_the_price_are_those_of_every_price_tried(found, selection) -> None:
    shares, marks = price_path(found)
    ell, count = selection.fits.log_likelihood(1.0), selection.fits.n_parameters
    for value in (0.0, 0.4, 1.0, 2.35, 10.0):
        slow = Counter()
        for scores, d in zip(ell - value * count, count, strict=True):
            best = min(range(6), key=lambda k: (-round(scores[k], 9), d[k], k))
            slow[found.names[best]] += 1
        fast = shares.filter(pl.col("value") == value)
        assert dict(fast.select("model", "learners").rows()) == {n: slow[n] for n in found.names}
    n = found.study.n_scored
    price = dict(marks.select("criterion", "kappa").rows())
    assert price["aic"] == 1
    assert price["bic"] == pytest.approx(math.log(np.median(n)) / 2)
    assert price["penalized(c=0.012)"] == pytest.approx(0.012 * math.log(np.median(n)) ** 2)
    unpriced = hl.select(found.study, found.models, ["holdout(split=0.5)"])
    nobody, none = price_path(Results.of(unpriced))
    assert nobody.is_empty()
    assert none.is_empty()


def test_margins_are_counted_in_their_bins(found) -> None:
    slow = Counter()
    for row in found.selection.to_dicts():
        low = max(edge for edge in EDGES if edge <= row["margin"])
        slow[row["criterion"], low, row["verdict"].partition(" between ")[0]] += 1
    table = margin_table(found)
    keys = table.select("criterion", "low", "verdict").rows()
    assert dict(zip(keys, table["learners"], strict=True)) == slow
    assert (
        table.group_by("criterion").agg(pl.col("share").sum())["share"].to_list()
        == [pytest.approx(1)] * 3
    )
    assert keys == sorted(keys, key=lambda key: (found.criteria.index(key[0]), key[1]))


def test_disagreement_counts_pairs(found) -> None:
    by = {c: found.selection.filter(criterion=c)["model"].to_list() for c in found.criteria}
    first, second = found.criteria[1:]
    table = disagreement_table(found, first, second)
    pairs = Counter(zip(by[first], by[second], strict=True))
    assert {(r["first_model"], r["second_model"]): r["learners"] for r in table.to_dicts()} == pairs
    assert table["share"].sum() == pytest.approx(1)
    with pytest.raises(hl.HowlearnError, match="there is no criterion 'aic'"):
        disagreement_table(found, "aic")
    alone = Results.of(hl.select(found.study, found.models, ["bic"]))
    assert disagreement_table(alone).is_empty()


def test_estimates_are_those_of_the_selected_models_from_all_trials(found) -> None:
    slow = []
    first = found.selection.filter(criterion=found.criteria[0])
    for learner, model in first.select("learner", "model").rows():
        mine = found.estimates.filter(learner=learner, model=model)
        mine = mine.filter(pl.col("trials_fitted") == pl.col("trials_fitted").max())
        for cell, estimate, status in mine.select("cell", "estimate", "status").rows():
            bound = status if "bound" in status else "inside"
            bound = "not informed" if status in ("flat", "unseen") else bound
            slow.append((learner, model, cell, "eta", estimate, 0.0, 1.0, bound))
    assert sorted(rate_table(found).rows()) == sorted(slow)


def test_predictions_against_choices(found, selection, task) -> None:
    shown = predicted(found)
    rod = yardstick(found.study, task)
    hits, sums = defaultdict(list), defaultdict(list)
    right, logs = defaultdict(lambda: defaultdict(list)), defaultdict(list)
    for i in range(len(found.study)):
        name, trials = found.names[found.chosen[i]], found.study[i]
        p = np.exp(selection.fits.probabilities(i, name))
        for t, action in enumerate(trials.action.tolist()):
            bin = min(int(p[t, 0] * 10), 9)
            hits[bin].append(action == 0)
            sums[bin].append(p[t, 0])
            answer = int(rod.right[found.study.starts[i] + t])
            if t // rod.width < rod.n_bins:
                right["people", t // rod.width][i].append(action == answer)
                right["model", t // rod.width][i].append(p[t, answer])
            logs[name].append(math.log(p[t, action]))
    assert shown.reliability.height == len(hits)
    for row in shown.reliability.to_dicts():
        bin = round(row["low"] * 10)
        assert row["n"] == len(hits[bin])
        assert row["observed"] == pytest.approx(np.mean(hits[bin]))
        assert row["predicted"] == pytest.approx(np.mean(sums[bin]))
        assert row["lower"] <= row["observed"] <= row["upper"]
    assert shown.curve.height == len(right)
    for row in shown.curve.to_dicts():
        each = right[row["source"], (row["first"] - 1) // rod.width]
        assert row["mean"] == pytest.approx(np.mean([np.mean(v) for v in each.values()]))
        assert row["n"] == len(each)
    for row in shown.models.to_dicts():
        assert row["mean_probability"] == pytest.approx(math.exp(np.mean(logs[row["model"]])))
        assert row["n"] == len(logs[row["model"]])


def test_three_actions_are_three_predictions() -> None:
    trials = [random_trials(seed, 30, n_actions=3, better=0.7) for seed in range(2)]
    found = Results.of(hl.select(study_of(*trials, n_actions=3), criteria=["bic"]))
    shown = predicted(found)
    assert shown.reliability["n"].sum() == 3 * 60
    assert "chance: 0.33" in shown.statement


def test_wilson_where_it_has_a_simple_form() -> None:
    """Of none in n the upper end is z²/(n + z²), and of all the lower one is n/(n + z²)."""
    low, high = wilson(np.array([0, 10]), np.array([10, 10]))
    z2 = 1.959963984540054**2
    assert low.tolist() == [0.0, pytest.approx(10 / (10 + z2))]
    assert high.tolist() == [pytest.approx(z2 / (10 + z2)), pytest.approx(1)]


def test_details_of_a_learner(found, selection, task) -> None:
    shared = learner_details.common(found)
    rod = yardstick(found.study, task)
    for i in range(len(found.study)):
        one = learner_details.detail(found, i)
        text = json.dumps(one, separators=(",", ":"), allow_nan=False)
        assert len(text) < 4_096
        assert json.loads(text) == one
        name, trials = found.names[one["model"]], found.study[i]
        assert one["trials"] == len(trials)
        p = np.exp(selection.fits.probabilities(i, name))
        assert shared["cells"][one["model"]] is not None
        seen = 0
        for cell in one["cells"]:
            contexts = cell["name"].split("+")
            if cell["name"] == learner_details.EVERY:
                contexts = list(found.study.contexts)
            at = [t for t in range(len(trials)) if trials.contexts[trials.context[t]] in contexts]
            each = -(-len(at) // len(cell["x"]))
            groups = [at[k : k + each] for k in range(0, len(at), each)]
            assert cell["of"] == "right"
            for k, group in enumerate(groups):
                answers = rod.right[int(found.study.starts[i]) + np.array(group)]
                assert cell["p"][k] == pytest.approx(1000 * np.mean(p[group, answers]), abs=0.51)
                assert cell["y"][k] == pytest.approx(
                    1000 * np.mean(trials.action[group] == answers), abs=0.51
                )
                assert cell["x"][k] == pytest.approx(np.mean(group) + 1, abs=0.51)
            seen += len(at)
        assert seen == len(trials)
        for c, criterion in enumerate(found.criteria):
            mine = found.scores.filter(learner=trials.learner, criterion=criterion)
            slow = dict(mine.select("model", "score").rows())
            assert one["scores"][c] == [round(slow[name], 2) for name in found.names]
            row = found.selection.filter(learner=trials.learner, criterion=criterion)
            model, second, margin, verdict = one["selected"][c]
            assert found.names[model] == row["model"][0]
            assert found.names[second] == row["runner_up"][0]
            assert margin == pytest.approx(row["margin"][0], rel=1e-3)
            assert verdict == row["verdict"][0]
    with pytest.raises(hl.HowlearnError, match="there is no learner 'nobody'"):
        learner_details.sequence_named(found, "nobody")


def test_details_become_rows_that_the_specs_name(found) -> None:
    shared = learner_details.common(found)
    one = learner_details.detail(found, 4)
    rows = learner_charts.rows(one, shared)
    specs = learner_charts.specs(shared)
    assert rows.keys() == specs.keys()
    for name, spec in specs.items():
        assert spec["data"] == {"name": name} or f'{{"name": "{name}"}}' in json.dumps(spec)
        assert set(rows[name][0]) == set(learner_charts.SCHEMAS[name])
    chosen = [row for row in rows["scores"] if row["selected"]]
    assert [row["criterion"] for row in chosen] == found.criteria
    assert all(0 <= row["p"] <= 1 and 0 <= row["y"] <= 1 for row in rows["trajectory"])


def test_models_without_cells_have_a_trajectory_per_context() -> None:
    study = study_of(random_trials(1, 40, better=0.8), random_trials(2, 50, better=0.8))
    found = Results.of(hl.select(study, [hl.models.Coin()], ["bic"]))
    one = learner_details.detail(found, 0)
    assert learner_details.common(found)["cells"] == [None]
    assert [cell["name"] for cell in one["cells"]] == ["x", "y"]
    assert {p for cell in one["cells"] for p in cell["p"]} <= set(range(1001))


def test_excluded_learners_are_in_no_chart(found, task) -> None:
    reasons = tuple("accuracy < 0.5" if i in (0, 5) else None for i in range(9))
    judged = hl.select(replace(found.study, excluded=reasons), found.models, ["bic"])
    rest = Results.of(judged, task)
    kept = [name for name, why in zip(found.study.learners, reasons, strict=True) if why is None]
    assert list(rest.study.learners) == kept
    assert rest.first["learner"].to_list() == kept
    assert rest.table("shares")["learners"].sum() == 7
    assert rate_table(rest)["learner"].unique(maintain_order=True).sort().to_list() == kept
    assert learner_details.detail(rest, 0)["learner"] == kept[0]
    assert predicted(rest).models["learners"].sum() == 7
    assert rest.table("selection", "all").height == 9
