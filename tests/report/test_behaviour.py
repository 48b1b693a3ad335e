"""Learning curves against the same computed one choice at a time."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.yardstick import yardstick
from howlearn.core.errors import HowlearnError
from howlearn.core.study import together
from howlearn.report.behaviour import behaviour, sampled
from howlearn.report.learner_details import sequence_named
from howlearn.results.results import Results
from howlearn.simulation.simulate import play, simulate, stage_for
from oracle import Trial
from studies import random_trials, study_of

RIGHT = dict(zip("1 2 7 8 11 12 13 14 15".split(), "BBBAAABAA", strict=True))


def slow_means(study, original_place, width, n_bins):
    """{(context, bin): [mean of each learner]}: choices of the right category."""
    hits = defaultdict(lambda: defaultdict(list))
    for i in range(len(study)):
        trials = study[i]
        for t in range(len(trials)):
            bin = (original_place(i, t) - 1) // width
            context = trials.contexts[trials.context[t]]
            right = trials.actions[trials.action[t]] == RIGHT[context]
            if bin < n_bins:
                for group in ("all", context):
                    hits[group, bin][trials.learner].append(right)
    return {
        key: [sum(choices) / len(choices) for choices in learners.values()]
        for key, learners in hits.items()
    }


def test_curves_of_people_and_of_doubles(found, task) -> None:
    replications, seed = 3, 5
    shown = behaviour(found, replications=replications, seed=seed)
    assert (shown.measure, shown.percent, shown.along) == ("right choices", True, "trial")
    assert shown.chance == 0.5
    rod = yardstick(found.study, task)
    assert rod.width == 6  # 9 of 10 sequences have at most 108 trials
    slow = slow_means(found.study, lambda i, t: t + 1, rod.width, rod.n_bins)
    people = shown.frame.filter(source="people")
    assert people.height == len(slow)
    critical = {9: 2.306004135, 6: 2.570581836, 3: 4.302652730}  # of Student's t, from tables
    for row in people.to_dicts():
        values = slow[row["context"], (row["first"] - 1) // rod.width]
        mean, n = sum(values) / len(values), len(values)
        assert row["mean"] == pytest.approx(mean)
        assert row["n"] == n
        assert row["trial"] == (row["first"] + row["last"]) / 2
        if n in critical:
            spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n)
            assert row["lower"] == pytest.approx(max(mean - critical[n] * spread, 0))
            assert row["upper"] == pytest.approx(min(mean + critical[n] * spread, 1))

    each = defaultdict(list)
    for r in range(replications):
        doubles = []
        for i in range(len(found.study)):
            k = int(found.chosen[i])
            theta = found.theta(k)[i : i + 1]
            doubles.append(
                play(
                    stage_for(task, found.models[k], like=found.study),
                    theta,
                    [i * 1_000 + r],
                    (seed, k, 8),
                    who=np.array([i]),
                )
            )
        again = replace(together(doubles), learners=found.study.learners)
        slow = slow_means(again, lambda i, t: t + 1, rod.width, rod.n_bins)
        for key, values in slow.items():
            each[key].append(sum(values) / len(values))
    model = shown.frame.filter(source="model")
    assert model.height == len(each)
    for row in model.to_dicts():
        means = sorted(each[row["context"], (row["first"] - 1) // rod.width])
        assert row["mean"] == pytest.approx(sum(means) / replications)
        assert row["lower"] == pytest.approx(means[0] + 0.05 * (means[1] - means[0]))
        assert row["upper"] == pytest.approx(means[2] - 0.05 * (means[2] - means[1]))


def test_the_statement_counts_bins_and_names_the_largest_gap(found) -> None:
    shown = behaviour(found, replications=4, seed=1)
    both = shown.frame.pivot("source", index=["context", "first"], values="mean")
    ends = shown.frame.filter(source="model").select("context", "first", "lower", "upper")
    both = both.join(ends, on=["context", "first"])
    inside = both.filter(pl.col("people").is_between("lower", "upper"))
    every = (inside.filter(context="all").height, both.filter(context="all").height)
    rest = (inside.height - every[0], both.height - every[1])
    assert f"in {every[0]} of {every[1]} bins" in shown.statement
    assert f"in {rest[0]} of {rest[1]} bins" in shown.statement
    gap = (pl.col("people") - pl.col("model")).abs()
    worst = both.sort(gap, descending=True).row(0, named=True)
    assert f"{worst['people']:.0%} in the data, {worst['model']:.0%} among" in shown.statement


def test_the_same_seed_gives_the_same_doubles_whoever_else_is_asked(found) -> None:
    one, same = (behaviour(found, 4, 2, seed=3).frame for _ in range(2))
    assert one.equals(same)
    assert not one.equals(behaviour(found, 4, 2, seed=4).frame)
    assert behaviour(found, 4, 2).notes[0] == "4 of 9 learners, picked evenly"
    assert sampled(found.study.learners, 4).tolist() == [0, 2, 4, 6]


def test_one_learner_has_no_interval_of_a_mean(selection, task) -> None:
    alone = hl.select(selection.fits.study.part(0, 1), task.models, ["bic"])
    shown = behaviour(Results.of(alone), replications=2)
    people = shown.frame.filter(source="people")
    assert set(people["n"]) == {1}
    assert people["lower"].null_count() == people.height
    assert "doubles are paid what their learner was paid" in " ".join(shown.notes)


def test_what_cannot_be_simulated_is_left_out_and_said(found, monkeypatch) -> None:
    import howlearn.analyses.doubles as module

    first = found.models[found.chosen[0]].name

    def refuse(task, model, *rest, **options):
        if model.name == first:
            raise HowlearnError("it knows the future")
        return stage_for(task, model, *rest, **options)

    monkeypatch.setattr(module, "stage_for", refuse)
    shown = behaviour(found, replications=2)
    left = int((found.chosen != found.chosen[0]).sum())
    assert 0 < left < 9
    assert shown.frame.filter(context="all")["n"].max() == left
    assert f"{first} cannot be simulated: it knows the future" in " ".join(shown.notes)
    never = found.models[found.chosen[0]]
    monkeypatch.setattr(module, "stage_for", lambda *_, **__: refuse(None, never))
    shown = behaviour(found, replications=2)
    assert set(shown.frame["source"]) == {"people"}
    assert "nothing to compare" in shown.statement


def test_the_learners_of_conditions_are_counted_once() -> None:
    """Two sequences of one learner make one mean."""
    trials = [random_trials(seed, 20, better=0.8) for seed in range(4)]
    about = {"condition": ["a", "b", "a", "b"]}
    study = study_of(*trials, names=["x", "x", "y", "y"], about=about)
    found = Results.of(hl.select(study, criteria=["bic"]))
    assert [sequence_named(found, "y", {"condition": c}) for c in "ab"] == [2, 3]
    with pytest.raises(HowlearnError, match="'y' has no trials under condition c"):
        sequence_named(found, "y", {"condition": "c"})
    people = behaviour(found, replications=2).frame.filter(source="people", context="all")
    assert set(people["n"]) == {2}
    row = people.row(3, named=True)  # the fourth trial, since bins have one each
    right = [study[i].action[3] == study[i].context[3] % 2 for i in range(4)]
    assert row["mean"] == pytest.approx(np.mean([np.mean(right[:2]), np.mean(right[2:])]))


def test_conditions_have_curves_that_say_where_they_thin_out() -> None:
    """Of three learners one is left under b after twelve trials."""
    trials = [random_trials(seed, n, better=0.8) for seed, n in enumerate((20, 12, 20, 12, 20, 20))]
    about = {"condition": ["a", "b"] * 3}
    study = study_of(*trials, names=[*"xxyyzz"], about=about)
    shown = behaviour(hl.select(study, criteria=["bic"], check=False), replications=2)
    people = shown.frame.filter(source="people")
    assert people["context"].unique().sort().to_list() == ["all", "condition a", "condition b"]
    late = people.filter(context="condition b").filter(pl.col("first") > 12)
    assert late["n"].to_list() == [1] * 8
    assert late["mean"].to_list() == [
        study[5].action[t] == study[5].context[t] % 2 for t in range(12, 20)
    ]
    (note,) = [text for text in shown.notes if "records end" in text]
    assert "condition b: from trial 13 on 1 of 3" in note
    assert "condition a" not in note
    assert "by condition" in shown.statement


def test_right_answers_from_records_alone() -> None:
    def trials(*rows):
        return [Trial(c, a, g, reset=k == 0) for k, (c, a, g) in enumerate(rows)]

    # Three actions: only what was paid once is known to be right, in that run.
    study = study_of(trials(("x", 0, 0), ("x", 1, 1), ("y", 2, 0), ("x", 2, 0)), n_actions=3)
    assert yardstick(study).right.tolist() == [1, 1, -1, 1]
    assert yardstick(study).values[[0, 1, 3]].tolist() == [0, 1, 0]
    assert math.isnan(yardstick(study).values[2])
    # Two actions: what is wrong tells what is right.
    study = study_of(trials(("x", 0, 0), ("y", 1, 1)))
    assert yardstick(study).right.tolist() == [1, 1]
    # After a new start other answers may be right.
    rows = [*trials(("x", 0, 0), ("x", 1, 1)), *trials(("x", 0, 1), ("x", 1, 0))]
    study = study_of(rows)
    assert yardstick(study).right.tolist() == [1, 1, 0, 0]
    assert yardstick(study).along == "trial since the new start"
    assert yardstick(study).place.tolist() == [1, 2, 1, 2]
    # Paid by chance: nobody knows what is right, but how often it was paid.
    study = study_of(trials(("x", 0, 0), ("x", 0, 1), ("x", 1, 1)))
    rod = yardstick(study)
    assert (rod.measure, rod.percent, rod.values.tolist()) == ("rewarded choices", True, [0, 1, 1])
    # More than two rewards: their mean.
    study = study_of(trials(("x", 0, 0), ("x", 0, 5), ("x", 1, 2)), reward_range=(0, 5))
    rod = yardstick(study)
    assert (rod.measure, rod.percent, rod.values.tolist()) == ("reward", False, [0, 5, 2])


def test_forced_choices_are_not_judged_and_tests_are() -> None:
    rows = [
        Trial("x", 0, 1, scored=False, reset=True),
        Trial("x", 0, 1),
        Trial("x", 1, math.nan, learned=False),
        Trial("x", 1, 0),
    ]
    values = yardstick(study_of(rows)).values
    assert math.isnan(values[0])
    assert values[1:].tolist() == [1, 0, 0]


def test_contexts_that_come_and_go_are_counted_by_their_showings() -> None:
    rows = [Trial(f"{b}{s}", 0, 1.0) for b in "abcde" for _ in range(3) for s in "12"]
    rod = yardstick(study_of(rows))
    assert rod.along == "times the context was shown"
    assert rod.place.tolist() == [1, 1, 2, 2, 3, 3] * 5
    assert (rod.width, rod.n_bins) == (1, 3)


def test_reversals_and_chances_of_a_task_are_known(load) -> None:
    task = load(
        """
        name = "one"
        actions = ["l", "r"]
        trials = 40
        [[contexts]]
        name = "c"
        rewards = { l = { probability = 0.8 }, r = { probability = 0.2 } }
        [[reversals]]
        trial = 21
        swap = ["l", "r"]
        """
    )
    study = simulate(task, task.models[0], {"eta": 0.1}, learners=2, seed=1)
    rod = yardstick(study, task)
    assert rod.measure == "best choices"
    assert rod.right.reshape(2, 40).tolist() == [[0] * 20 + [1] * 20] * 2


def test_results_of_another_study_are_refused(selection, task) -> None:
    other = replace(selection.fits.study, learners=tuple("abcdefghi"))
    mixed = Results.of(selection, task)
    mixed.__dict__["study"] = other
    with pytest.raises(HowlearnError, match="not those of this study"):
        behaviour(mixed)


def test_people_in_blocks_and_in_conditions(shared_data) -> None:
    roles = {"learner": "subno", "action": "choice", "reward": "rew", "missing": "action:-1"}
    file = shared_data / "rlwm" / "Expe3.csv"
    rod = yardstick(hl.read(file, context=("block", "stimseq"), **roles))
    assert (rod.measure, rod.along) == ("right choices", "times the context was shown")
    first = np.nanmean(rod.values[rod.place == 1])
    assert first == pytest.approx(1 / 3, abs=0.03)  # of three actions, before any feedback
    assert np.nanmean(rod.values[rod.place == 8]) > 0.9
    rod = yardstick(hl.read(file, context="stimseq", reset_by="block", **roles))
    assert (rod.measure, rod.along) == ("right choices", "trial since the new start")
    file = shared_data / "badham2017" / "badham2017deficits.csv"
    raw = pl.read_csv(file)
    rod = yardstick(hl.read(file, by="condition", context="object", recode="reward:-1=0,1=1"))
    assert (rod.measure, rod.along, rod.width) == ("right choices", "trial", 6)
    taught = raw.sort("participant", "condition", "trial")["correct_choice"]
    assert [rod.study.actions[k] for k in rod.right] == taught.to_list()
