"""discover against fits of every partition, one by one, and against plain sums."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.discover_criteria import (
    STEPS,
    Ewens,
    Needs,
    Terms,
    criterion_named,
    fit_cells,
    log_stirling,
    terms_of,
)
from howlearn.analyses.discover_search import Search, judge
from howlearn.analyses.discover_words import bell
from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
from howlearn.core.study import Study
from howlearn.engine.cell_fits import Passes
from howlearn.engine.layout import Statuses, lay_out
from howlearn.engine.set_partitions import all_sets
from howlearn.fitting.cells import block_of
from howlearn.models.values import correct_rewards
from howlearn.selection.rate_grid import SPREADS, log_rates
from studies import model_of, random_trials, study_of

CONTEXTS = ("a", "b", "c", "d")


def every_partition(names: tuple[str, ...]) -> list[list[list[str]]]:
    """All partitions, each name put into a cell or a new one in turn."""
    found: list[list[list[str]]] = [[]]
    for name in names:
        found = [
            [*cells[:i], [*cells[i], name], *cells[i + 1 :]] if i < len(cells) else [*cells, [name]]
            for cells in found
            for i in range(len(cells) + 1)
        ]
    return found


def text_of(cells: list[list[str]]) -> str:
    return "|".join("+".join(cell) for cell in cells)


def small_study(n_actions: int = 2, flags: bool = False) -> Study:
    return study_of(
        random_trials(1, 160, CONTEXTS, n_actions, better=0.8, flags=flags),
        random_trials(2, 90, CONTEXTS, n_actions, better=0.5, flags=flags),
        n_actions=n_actions,
        contexts=CONTEXTS,
    )


@pytest.mark.parametrize(
    ("rule", "n_actions"),
    [
        (GradientBandit(), 2),
        (GradientBandit(), 3),
        (GradientBandit("loss"), 2),
        (Exp3(), 2),
        (GradientBandit(max_rate=5.0), 2),
    ],
    ids=repr,
)
def test_scores_are_those_of_select_with_every_partition_as_a_candidate(rule, n_actions):
    study = small_study(n_actions, flags=True)
    criteria = ["aic", "bic", "penalized(c=0.05)", "holdout(split=0.5)"]
    models = [model_of(cells, rule, name=text_of(cells)) for cells in every_partition(CONTEXTS)]
    selection = hl.select(study, models, criteria)
    expected = selection.scores.select(
        "learner", "criterion", pl.col("model").cast(pl.String).alias("partition"), "score"
    )
    found = hl.discover(study, rule, criteria, count=15).partitions
    assert found["exact"].all()
    both = found.join(expected, ["learner", "criterion", "partition"], suffix="_expected")
    assert both.height == found.height == 2 * 4 * 15
    # In a hold-out a cell that training tells nothing about has the mean of the partition's other
    # cells there, and the default here.
    half = selection.fits.at(0.5)
    guessed = [
        (study.learners[i], name)
        for name, part in selection.fits.of.items()
        for i in np.flatnonzero((part.status[:, half] >= Statuses.FLAT).any(axis=1))
    ]
    same = [
        criterion != "holdout(split=0.5)" or (learner, partition) not in guessed
        for learner, criterion, partition in both.select(
            "learner", "criterion", "partition"
        ).iter_rows()
    ]
    assert np.mean(same) > 0.9
    mine, theirs = both["score"].to_numpy()[same], both["score_expected"].to_numpy()[same]
    assert mine == pytest.approx(theirs, abs=1e-6)
    best = expected.filter(pl.col("criterion") != "holdout(split=0.5)").sort(
        "score", descending=True, maintain_order=True
    )
    first = dict.fromkeys(best.select("learner", "criterion").rows())
    for learner, criterion in first:
        top = best.filter(learner=learner, criterion=criterion)["partition"][0]
        mine = found.filter(learner=learner, criterion=criterion, rank=1)["partition"][0]
        assert mine == top


def test_maxima_are_those_of_fit():
    study = hl.simulate(hl.Task.load("five-four"), "ByShape", {"eta": 0.03}, 1, 300, seed=4)
    rule, sets = GradientBandit(), all_sets(tuple(range(9)))
    maxima = fit_cells(study, rule, sets, Needs(maxima=True)).maxima[0]
    pick = [1, 17, 200, 343, 511]
    for mask in pick:
        cell = [study.contexts[j] for j in sets[mask - 1]]
        others = [[c] for c in study.contexts if c not in cell]
        whole = hl.fit(study, [model_of([cell, *others], rule)]).log_likelihood(1.0)[0, 0]
        rest = sum(maxima[(1 << study.contexts.index(c)) - 1] for (c,) in others)
        assert maxima[mask - 1] + rest == pytest.approx(whole, abs=1e-8)


def plain_ewens(study: Study, rule: hl.GradientBandit, cells: list[list[str]]) -> float:
    """The log-probability of a partition up to its likelihood's total, every rate evaluated."""
    grid = log_rates(rule)
    curves = []
    for cell in cells:
        codes = [study.contexts.index(c) for c in cell]
        curves.append(exact_curve(study, rule, codes))
    terms = []
    for s in SPREADS:
        for a in grid[:: STEPS[s]]:
            kernel = np.exp(-0.5 * ((grid - a) / s) ** 2)
            log_kernel = -0.5 * ((grid - a) / s) ** 2 - np.log(kernel.sum())
            means = [np.logaddexp.reduce(log_kernel + curve) for curve in curves]
            terms.append(sum(means) - np.log(len(grid[:: STEPS[s]]) * len(SPREADS)))
    n = len(study.contexts)
    factorials = [np.log(max(k, 1)) for cell in cells for k in range(len(cell))]
    return float(np.logaddexp.reduce(terms) + sum(factorials) - np.sum(np.log(np.arange(1, n + 1))))


def exact_curve(study: Study, rule: hl.GradientBandit, codes: list[int]) -> np.ndarray:
    rates = np.exp(log_rates(rule))
    block = block_of(study, rule, np.diff(study.starts)[:, None])
    passes = Passes.prepare(block, lay_out([[codes]], len(study.contexts)), rule)
    return passes.curves(rates)[0]


def test_ewens_against_sums_over_every_partition_and_every_rate():
    study = small_study().part(0, 1)
    rule, partitions = GradientBandit(), every_partition(CONTEXTS)
    expected = {text_of(cells): plain_ewens(study, rule, cells) for cells in partitions}
    found = hl.discover(study, rule, ["ewens"], count=15)
    scores = dict(found.partitions.select("partition", "score").iter_rows())
    assert scores == pytest.approx(expected, abs=1e-5)  # a curve through 24 nodes for 192 rates
    total = np.logaddexp.reduce([*expected.values()])
    for a, b, p in found.coclassification.select(
        "context_a", "context_b", "probability"
    ).iter_rows():
        sharing = [text_of(cells) for cells in partitions if any({a, b} <= {*c} for c in cells)]
        plain = sum(np.exp(expected[text] - total) for text in sharing)
        assert p == pytest.approx(plain, abs=1e-5)


def test_the_best_by_ewens_among_many_are_certified():
    """What is sought cell by cell, against all partitions of seven contexts."""
    study = hl.simulate(hl.Task.load("shepard-4"), "ByFeature1", {"eta": 0.05}, 1, 120, seed=3)
    rule = GradientBandit()
    cells = fit_cells(study, rule, all_sets(tuple(range(7))), Needs(curves=True))
    terms = terms_of(criterion_named("ewens"), rule, 7, 120)
    weight = np.concatenate([np.zeros((1, len(terms.prior))), terms.of_cells(cells)])
    names = tuple("0123456")
    scores = {}
    for partition in every_partition(names):
        masks = [sum(1 << int(c) for c in cell) for cell in partition]
        total = np.logaddexp.reduce(terms.prior + weight[masks].sum(axis=0))
        scores[tuple(sorted(masks, key=lambda m: m & -m))] = total
    expected = sorted(scores.values(), reverse=True)
    for count in (1, 12):
        judged = judge(terms, cells, count)
        assert judged.exact
        assert [one.score for one in judged.ranked] == pytest.approx(expected[:count])
        assert judged.total == pytest.approx(np.logaddexp.reduce(expected))
    assert scores[judged.ranked[0].cells] == pytest.approx(expected[0])


def test_weights_too_large_for_floats_are_judged_all_the_same():
    """Sums are exact; the best partitions are a guess, and not called exact."""
    random = np.random.default_rng(1)
    weight = np.concatenate([np.zeros((1, 3)), random.normal(size=(15, 3))])
    weight[0b0011] += 900.0
    terms = Terms(lambda cells: weight[1:], np.log(np.full(3, 1 / 3)))
    cells = fit_cells(small_study(), GradientBandit(), [(0,)], Needs())
    judged = judge(terms, cells, 2)
    assert not judged.exact
    scores = {}
    for partition in every_partition(tuple("0123")):
        masks = [sum(1 << int(c) for c in cell) for cell in partition]
        scores[tuple(masks)] = np.logaddexp.reduce(terms.prior + weight[masks].sum(axis=0))
    total = np.logaddexp.reduce([*scores.values()])
    assert judged.total == pytest.approx(total)
    alike = [np.exp(s - total) for masks, s in scores.items() if any(m & 0b101 == 5 for m in masks)]
    assert judged.together[0, 2] == pytest.approx(sum(alike), abs=1e-9)
    assert judged.ranked[0].cells == max(scores, key=lambda masks: scores[masks])


def test_few_nodes_are_enough_where_a_likelihood_is_smooth(monkeypatch):
    """Nine contexts, and people who learn at once: the hardest case that was found."""
    study = hl.simulate(hl.Task.load("five-four"), "ByPattern", {"eta": 0.6}, 1, 300, seed=1)
    rule, sets = GradientBandit(), all_sets(tuple(range(9)))
    terms, needs = terms_of(criterion_named("ewens"), rule, 9, 300), Needs(True, True)
    few = fit_cells(study, rule, sets, needs)
    monkeypatch.setattr("howlearn.analyses.discover_criteria.smooth_curves", lambda *_: None)
    every = fit_cells(study, rule, sets, needs)
    assert few.curves.shape[2] * 8 == every.curves.shape[2]
    assert few.maxima == pytest.approx(every.maxima, abs=2e-9)
    mine, theirs = judge(terms, few, 5), judge(terms, every, 5)
    assert mine.total == pytest.approx(theirs.total, abs=1e-4)
    assert mine.together == pytest.approx(theirs.together, abs=1e-4)
    assert [one.cells for one in mine.ranked] == [one.cells for one in theirs.ranked]


def test_independent_cells_and_the_price_of_kappa_and_codelength():
    study = small_study().part(1, 2)
    rule = GradientBandit()
    curve = {cell: exact_curve(study, rule, [*cell]) for cell in all_sets(tuple(range(4)))}
    found = hl.discover(
        study, rule, ["ewens(alpha=2, cells=independent)", "kappa(3)", "codelength(nats=3)"],
        count=15,
    )  # fmt: skip
    scores = {
        row[:2]: row[2] for row in found.partitions[:, ["criterion", "partition", "score"]].rows()
    }
    one = curve[0, 1, 2, 3]
    mean = np.logaddexp.reduce(one) - np.log(len(one))
    prior = np.log(2) + np.log(6) - np.log(2 * 3 * 4 * 5)
    text = "ewens(alpha=2, cells=independent)"
    assert scores[text, "a+b+c+d"] == pytest.approx(mean + prior, abs=1e-4)
    for partition, cells in (("a+b|c+d", 2), ("a|b|c|d", 4)):
        difference = scores["kappa(nats=3)", partition] - scores["codelength(nats=3)", partition]
        assert difference == pytest.approx(log_stirling(4)[cells])


def test_two_parameters_are_averaged_and_paid_for():
    study = study_of(random_trials(5, 60, ("a", "b"), better=0.9), contexts=("a", "b"))
    found = hl.discover(study, Exp3IX(), ["ewens", "kappa(1)"], count=2).partitions
    models = [
        model_of(cells, Exp3IX(), name=text_of(cells)) for cells in every_partition(("a", "b"))
    ]
    expected = hl.select(study, models, ["aic"]).scores  # kappa(1) is Akaike's price
    for name, score in expected.select(pl.col("model").cast(str), "score").iter_rows():
        mine = found.filter(criterion="kappa(nats=1)", partition=name)["score"][0]
        assert mine == pytest.approx(score, abs=1e-6)
    assert found["score"].is_finite().all()


def test_contexts_that_a_learner_never_met_are_left_out():
    some = random_trials(3, 80, ("a", "c"), better=0.8)
    study = study_of(random_trials(1, 120, CONTEXTS, better=0.8), some, contexts=CONTEXTS)
    models = [model_of([["a", "b"], ["c"], ["d"]], GradientBandit(), name="pair")]
    found = hl.discover(study, criteria=["bic", "ewens"], models=models)
    assert found.n_unmet == 1
    second = found.coclassification.filter(learner="learner 2", criterion="bic")
    known = second.drop_nulls("probability")
    assert known.select("context_a", "context_b").rows() == [("a", "c")]
    assert second.height == 6
    marked = found.marked.filter(learner="learner 2", criterion="bic")
    assert marked["partition"].to_list() == ["a|c"]
    alone = hl.discover(study_of(some, contexts=("a", "c")), criteria=["bic"])
    both = found.partitions.filter(learner="learner 2", criterion="bic")
    assert both["score"].to_list() == alone.partitions["score"].to_list()
    assert found.population.filter(criterion="bic")["learners"].sort().to_list() == [1] * 5 + [2]


def test_a_learner_with_nothing_to_tell_stays_at_the_prior():
    study = study_of(random_trials(1, 60, CONTEXTS, rewards=(0.0,)), contexts=CONTEXTS)
    found = hl.discover(study, criteria=["ewens", "kappa(0)"])
    mine = found.coclassification.filter(criterion="ewens(alpha=1, cells=learner)")
    assert mine["probability"].to_numpy() == pytest.approx(0.5)
    # Without a price all partitions tie, and the one with fewest cells comes first.
    assert found.partitions.filter(criterion="kappa(nats=0)")["n_cells"][0] == 1


def test_names_with_odd_characters():
    names = ("p", "p+q", 'x|"y"')
    trials = random_trials(1, 90, names, better=0.7)
    study = study_of(trials, contexts=names)
    found = hl.discover(study, criteria=["aic"], models=[model_of([names], GradientBandit())])
    texts = found.partitions["partition"].to_list()
    assert 'p+"p+q"+"x|""y"""' in texts
    assert found.marked["partition"].to_list() == ['p+"p+q"+"x|""y"""']
    assert set(found.population["context_a"]) | set(found.population["context_b"]) == set(names)


def test_one_context_and_one_learner():
    study = study_of(random_trials(1, 30, ("a",)), contexts=("a",))
    found = hl.discover(study)
    assert found.partitions["partition"].to_list() == ["a"] * 2
    assert found.partitions["probability"].to_numpy() == pytest.approx(1.0)
    assert found.population.is_empty()
    assert found.consensus.is_empty()


def test_threads_and_company_change_nothing():
    study = hl.simulate(hl.Task.load("shepard-2"), "ByFeature1", {"eta": 0.1}, 24, 60, seed=2)
    one = hl.discover(study, criteria=["ewens", "codelength"], threads=1, count=3)
    two = hl.discover(study, criteria=["ewens", "codelength"], threads=2, count=3)
    alone = hl.discover(study.part(7, 8), criteria=["ewens", "codelength"], count=3)
    assert one.partitions.equals(two.partitions)
    assert one.coclassification.equals(two.coclassification)
    assert one.partitions.filter(learner=study.learners[7]).equals(alone.partitions)


def test_conditions_have_populations_of_their_own():
    study = study_of(
        *(random_trials(k, 60, CONTEXTS, better=0.9) for k in range(4)),
        contexts=CONTEXTS,
        about={"score": [1, 2, 1, 2]},
    )
    found = hl.discover(study, criteria=["bic"], by=["score"])
    assert found.by == ("input_score",)
    assert found.population.height == 2 * 6
    mine = found.coclassification.filter(input_score=2, context_a="a", context_b="b")
    pair = found.population.filter(input_score=2).filter(
        pl.concat_list("context_a", "context_b").list.sort() == ["a", "b"]
    )
    values = mine["probability"].to_numpy()
    assert pair["mean_probability"].to_list() == pytest.approx([values.mean()])
    assert pair["standard_error"].to_list() == pytest.approx([values.std(ddof=1) / np.sqrt(2)])
    for score in (1, 2):  # and bounds of their own, which are those of the condition alone
        some = study.take(np.flatnonzero(np.array([1, 2, 1, 2]) == score))
        alone = hl.discover(some, criteria=["bic"])
        mine = found.bounds.filter(under=f"score {score}")
        assert mine.height >= 3
        assert mine.drop("under").equals(alone.bounds.drop("under"))
        assert {*alone.bounds["under"]} == {""}


@pytest.mark.parametrize("text", ["bic", "codelength", "ewens"])
def test_the_search_finds_what_the_recursion_finds(text):
    study = hl.simulate(hl.Task.load("shepard-1"), "ByFeature1", {"eta": 0.1}, 1, 150, seed=5)
    rule, criterion = GradientBandit(), criterion_named(text)
    needs = Needs(maxima=True, curves=True)
    exact = judge(
        terms_of(criterion, rule, 8, 150),
        fit_cells(study, rule, all_sets(tuple(range(8))), needs),
        1,
    )
    search = Search(study, rule, range(8), [criterion], needs)
    found = search.judge(0, 1)
    assert not found.exact
    assert found.ranked[0].cells == exact.ranked[0].cells
    assert found.ranked[0].score == pytest.approx(exact.ranked[0].score, abs=1e-9)
    assert found.total < exact.total
    # What a search meets are the good partitions, whose average is near that of all.
    assert found.together == pytest.approx(exact.together, abs=0.15)


def test_beyond_fourteen_contexts_every_table_says_that_it_was_a_search():
    names = tuple(f"c{i:02}" for i in range(16))
    halves = (names[:8], names[8:])
    task_model = model_of(halves, GradientBandit(), name="halves")
    study = many_contexts(names, task_model)
    found = hl.discover(study, criteria=["bic"], models=[task_model], count=3)
    assert not found.exact
    for name in ("partitions", "coclassification", "marked", "population", "consensus", "models"):
        assert not getattr(found, name)["exact"].any(), name
    assert found.marked["difference"][0] >= 0.0
    cells = dict(found.consensus.select("context", "cell").iter_rows())
    assert {cells[c] for c in halves[0]}.isdisjoint({cells[c] for c in halves[1]})
    assert len(set(cells.values())) < 8


def many_contexts(names: tuple[str, ...], model: hl.PartitionModel) -> Study:
    answers = {c: correct_rewards(["A", "B"], "A" if c in names[:8] else "B") for c in names}
    task = hl.Task("many", names, ("A", "B"), (model,), rewards=answers)
    return hl.simulate(task, model, {"eta": 0.05}, 1, 480, seed=1)


def test_numbers_of_partitions():
    assert [bell(n) for n in (1, 2, 3, 9, 14)] == [1, 2, 5, 21147, 190_899_322]
    for n in (1, 4, 30):
        assert np.exp(np.logaddexp.reduce(log_stirling(n))) == pytest.approx(bell(n))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"criteria": ["kapa(1)"]}, "there is no criterion 'kapa\\(1\\)' for partitions"),
        ({"criteria": ["prequential"]}, "there is no criterion 'prequential'"),
        ({"criteria": [hl.Likelihood()]}, "cannot judge all partitions at once"),
        ({"criteria": ["penalized(stop_at=20)"]}, "stop_at goes with howlearn select only"),
        ({"criteria": ["ewens(alpha=0)"]}, "alpha must be a number above 0"),
        ({"criteria": ["ewens(cells=none)"]}, "cells must be 'learner' or 'independent'"),
        ({"criteria": ["kappa(-1)"]}, "a price in nats must be 0 or greater"),
        ({"criteria": ["bic", "bic"]}, "named twice"),
        ({"criteria": []}, "there is no criterion"),
        ({"count": 0}, "at least one partition"),
        ({"rule": hl.models.QLearning()}, "q-learning is fitted whole"),
        ({"by": ["group"]}, "there is no condition 'group'"),
        ({"models": [hl.models.Coin()]}, "only partitions can be marked, and Coin is not"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_refused(given, message):
    with pytest.raises(HowlearnError, match=message):
        hl.discover(small_study(), **given)


def test_criteria_for_all_partitions_do_not_select_among_a_few():
    with pytest.raises(HowlearnError, match="goes with howlearn discover only"):
        hl.select(small_study(), criteria=[Ewens()])


def test_guessing_is_said_before_the_partitions():
    task = hl.Task.load("shepard-1")
    guessing = hl.simulate(task, "OneForAll", {"eta": 0.0}, learners=4, trials=80, seed=1)
    found = hl.discover(guessing)
    assert found.n_chance >= 3
    assert any("better than guessing" in str(each) for each in found.summary())
    learning = hl.simulate(task, "ByFeature1", {"eta": 0.3}, learners=4, trials=80, seed=1)
    assert hl.discover(learning).n_chance == 0
