"""Paths of small studies: each of their axes against ``select`` and against plain sums."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.path import PathWork
from howlearn.analyses.path_tables import AVERAGED, EVEN, spread_text, under_priors
from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3, GradientBandit
from howlearn.models.adjustments import Adjusted
from howlearn.selection.evidence import Evidence
from howlearn.selection.rate_grid import log_rates
from oracle import log_likelihood
from studies import model_of, random_trials, study_of

ODD = ("a+b|c", "[x]", "3")  # names of contexts


def some_study():
    """Learners with different n, one of whom met two contexts only."""
    return study_of(
        random_trials(1, 60, ODD, better=0.8),
        random_trials(2, 90, ODD, better=0.5),
        random_trials(3, 40, ODD[:2], better=0.9),
        random_trials(4, 25, ODD),
        contexts=ODD,
    )


def candidates(bound: float = 1.0):
    rule = GradientBandit(max_rate=bound)
    return [
        model_of([ODD], rule, name="One and all"),
        model_of([ODD[:1], ODD[1:]], rule, name="Two"),
        model_of([[c] for c in ODD], rule, name="Each"),
        hl.models.Coin(),
    ]


@pytest.fixture(scope="module")
def found():
    return hl.path(some_study(), candidates(), criteria=["penalized", "aic", "bic", "evidence"])


def chosen(found, axis: str, criterion: str, value: float | None = None) -> list[str]:
    mine = found.learners.filter(pl.col("axis") == axis, pl.col("criterion") == criterion)
    return mine.filter(pl.col("value").eq_missing(pl.lit(value)))["model"].to_list()


@pytest.mark.parametrize("bound", [0.5, 1.0, 20.0])
def test_refits_are_what_select_finds_with_that_bound(found, bound: float) -> None:
    selection = hl.select(some_study(), candidates(bound), found.criteria).selection
    for criterion in found.criteria:
        expected = selection.filter(pl.col("criterion") == criterion)["model"].to_list()
        assert chosen(found, "max_rate", criterion, bound) == expected


def test_the_price_of_one_is_aic(found) -> None:
    mine = found.learners.filter(pl.col("axis") == "kappa")
    here = mine.filter(pl.col("from_kappa") <= 1.0, pl.col("to_kappa") > 1.0)
    assert here["model"].to_list() == chosen(found, "max_rate", "aic", 1.0)
    shares = found.shares.filter(pl.col("axis") == "kappa", pl.col("value") == 1.0)
    counts = dict(shares.select("model", "learners").iter_rows())
    assert counts == {m: here["model"].to_list().count(m) for m in found.models}


def test_a_price_at_which_two_are_level(found) -> None:
    here = found.shares.filter(pl.col("axis") == "kappa", pl.col("value") == 1.0)
    most = here.filter(pl.col("learners") == pl.col("learners").max())["model"].to_list()
    assert found.marks.filter(pl.col("criterion") == "aic")["model"].to_list() == [
        " and ".join(most)
    ]


def test_prices_at_each_learners_own_n(found) -> None:
    n = np.array([60, 90, 40, 25])
    marks = {row["criterion"]: row for row in found.marks.to_dicts()}
    assert marks["bic"]["kappa"] == pytest.approx(0.5 * math.log(np.median(n)))
    assert marks["bic"]["lowest"] == pytest.approx(0.5 * math.log(25))
    assert marks["penalized(c=0.012)"]["highest"] == pytest.approx(0.012 * math.log(90) ** 2)
    mine = found.learners.filter(pl.col("axis") == "kappa")
    for criterion, price in (
        ("bic", 0.5 * np.log(n)),
        ("penalized(c=0.012)", 0.012 * np.log(n) ** 2),
    ):
        for i, model in enumerate(chosen(found, "max_rate", criterion, 1.0)):
            own = mine.filter(pl.col("learner") == f"learner {i + 1}")
            here = own.filter(pl.col("from_kappa") <= price[i], pl.col("to_kappa") > price[i])
            assert here["model"].to_list() == [model]


def test_tables_are_complete(found) -> None:
    sums = found.shares.group_by("axis", "value", "criterion").agg(
        pl.col("learners").sum(), pl.col("share").sum()
    )
    assert set(sums["learners"]) == {4}
    assert np.allclose(sums["share"], 1.0)
    bounds = found.shares.filter(pl.col("axis") == "max_rate")
    assert sorted(bounds["value"].unique()) == [0.5, 1.0, 2.0, 5.0, 20.0]
    values = found.shares.filter(pl.col("axis") == "kappa")["value"].unique().sort()
    assert (values[0], values[-1]) == (0.0, 10.0)
    assert values.diff().max() <= 0.05 + 1e-9
    prices = found.leaders.filter(pl.col("axis") == "kappa")
    assert prices["from_value"].to_list()[1:] == prices["to_value"].to_list()[:-1]


def test_priors_are_sums_over_plain_likelihoods() -> None:
    study, models = some_study(), candidates()[:3]
    fits = hl.fit(study, models)
    found = under_priors(fits)
    averaged = Evidence().scores(fits).score
    assert found[AVERAGED] == pytest.approx(averaged, abs=1e-9)
    i, trials = 3, random_trials(4, 25, ODD)
    x = log_rates(GradientBandit())
    cell = {}
    for context in ODD:
        own = [t for t in trials if t.context == context]
        values = [log_likelihood(own, [[context]], "gradient", [(math.exp(v),)]) for v in x]
        cell[context] = np.array(values)
    even = sum(np.logaddexp.reduce(v) - math.log(len(x)) for v in cell.values())
    assert found[EVEN][i, 2] == pytest.approx(even, abs=1e-6)
    effects = np.linspace(x[0], x[-1], len(x) // 2)
    for s in (0.1, 1.2):
        total = []
        for a in effects:
            weight = -0.5 * ((x - a) / s) ** 2
            weight -= np.logaddexp.reduce(weight)
            total.append(sum(np.logaddexp.reduce(v + weight) for v in cell.values()))
        expected = np.logaddexp.reduce(total) - math.log(len(effects))
        assert found[spread_text(s)][i, 2] == pytest.approx(expected, abs=1e-6)


def test_population_is_the_one_of_select() -> None:
    a, b, c = ODD  # of every three contexts the first and the last have the same right answer
    orders = [(a, c, b), (b, a, c)]
    learners = [random_trials(k, 30, orders[k % 2], better=0.8) for k in range(11)]
    study = study_of(*learners, contexts=ODD)
    models = [model_of([[a, b], [c]], GradientBandit(), name="Other two"), candidates()[1]]
    assert repr(PathWork(study, models, [2.0], None, 10.0, None).criteria[-1]) == "population"
    stage = PathWork(study, models, [2.0], ["population"], 10.0, None).stages[-1]
    found = stage(lambda done, total: None)["model"].to_list()
    moved = [model.with_max_rate(2.0) for model in models]
    expected = hl.select(study, moved, ["population"]).selection["model"].to_list()
    assert found == expected
    assert len(set(expected)) == 2  # not the same for everybody


def test_bounds_of_models() -> None:
    two = hl.PartitionModel("mixed", hl.Partition([["a"], ["b"]]), (GradientBandit(), Exp3()))
    assert [u.rule.max_rate for u in two.with_max_rate(3.0).units] == [3.0, 3.0]
    assert two.with_max_rate(1.0) is two
    moved = (hl.PartitionModel("m", two.partition) + hl.models.Lapse()).with_max_rate(5.0)
    assert isinstance(moved, Adjusted)
    assert moved.base.rules.max_rate == 5.0  # type: ignore[union-attr]
    assert moved.name == "m+lapse"
    mixture = hl.models.Exp4([hl.PartitionModel("m", two.partition), hl.models.Coin()])
    moved = mixture.with_max_rate(5.0)
    assert moved.experts[0].model.rules.max_rate == 5.0
    assert moved.experts[1] == mixture.experts[1]
    assert (moved.name, moved.max_rate) == (mixture.name, mixture.max_rate)
    assert mixture.with_max_rate(1.0) is mixture
    assert mixture.has_max_rate
    turned = hl.models.Switch(hl.PartitionModel("m", two.partition), hl.models.Coin())
    assert turned.with_max_rate(5.0).experts[0].model.rules.max_rate == 5.0
    q = hl.PartitionModel("q", two.partition, hl.models.QLearning(), rates="shared")
    for model in (hl.models.Coin(), hl.models.QLearning(), q):
        assert model.with_max_rate(5.0) is model
        assert not model.has_max_rate


def test_models_without_a_bound_keep_their_fits(found) -> None:
    """Coin takes part everywhere, and only in ways that its own fit explains."""
    assert "Coin" in found.shares["model"].unique().to_list()
    alone = hl.path(some_study(), [hl.models.Coin()], criteria=["aic"])
    assert set(alone.learners["axis"]) == {"kappa"}
    assert any("no candidate has a learning rate" in s for s in alone.sentences)
    assert any("can be integrated out" in s for s in alone.sentences)


def test_one_learner_and_one_model() -> None:
    study = some_study().part(0, 1)
    found = hl.path(study, candidates()[0], max_rates=[1.0])
    assert found.criteria == ("penalized(c=0.012)", "aic", "bic", "evidence")
    assert found.leaders["model"].unique().to_list() == ["One and all"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_rates": [0.0]}, "above 0 and at most 20, got 0"),
        ({"max_rates": [21.0]}, "at most 20, got 21"),
        ({"max_kappa": 0.0}, "number of nats above 0, got 0"),
        ({"max_kappa": math.nan}, "number of nats above 0"),
        ({"criteria": ["best"]}, "there is no criterion 'best'"),
        ({"criteria": []}, "there is no criterion"),
        ({"models": []}, "model"),
    ],
)
def test_what_is_wrong_is_said(options, message) -> None:
    with pytest.raises(HowlearnError, match=message):
        hl.path(some_study(), **{"models": candidates(), **options})


def test_a_population_of_one_is_refused() -> None:
    with pytest.raises(HowlearnError, match="at least two learners"):
        hl.path(some_study().part(0, 1), candidates(), criteria=["population"])
