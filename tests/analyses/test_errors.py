"""Error curves against selecting one criterion at a time, and on contests worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.calibrate import Calibration, constants_for
from howlearn.analyses.contests import Contest
from howlearn.analyses.designs import APART
from howlearn.analyses.error_rates import ErrorCurve, curve, standard_error
from howlearn.core.errors import HowlearnError
from howlearn.selection.criterion import Criterion

TASK = hl.Task.load("shepard-1")
NAMES = ("OneForAll", "ByFeature1", "OnePerItem")
MODELS = [TASK.model(name) for name in NAMES]
LEARNERS, TRIALS, SEED = 30, 48, 3
CONSTANTS = (0.0, 0.01, 0.1, 0.3, 1e6)
SPLITS = (0.25, 0.5, 0.9)
CRITERIA: list[Criterion] = [
    *map(hl.Penalized, CONSTANTS),
    *map(hl.HoldOut, SPLITS),
    hl.AIC(),
    hl.BIC(),
]
FEW = 100  # trials of the learners made by hand
LOG2 = np.log(FEW) ** 2


@pytest.fixture(scope="module")
def found() -> Calibration:
    return hl.calibrate(
        TASK,
        MODELS,
        {"eta": 0.2},
        learners=LEARNERS,
        trials=TRIALS,
        seed=SEED,
        constants=CONSTANTS,
        splits=SPLITS,
    )


def selected(stream: int, criterion: Criterion) -> Iterator[tuple[str, pl.Series]]:
    """The obvious way: simulate each model's learners, and let one criterion choose."""
    for truth, name in enumerate(NAMES):
        seed = (SEED, truth, stream, APART)
        study = hl.simulate(TASK, name, {"eta": 0.2}, LEARNERS, TRIALS, seed)
        yield name, hl.select(study, MODELS, [criterion]).selection["model"]


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_errors_are_those_of_select(found: Calibration, criterion: Criterion) -> None:
    rows = found.errors.filter(criterion=criterion.name)
    if vars(criterion):
        setting = next(iter(vars(criterion).values()))
        rows = rows.filter(setting=setting)
    assert rows["true_model"].to_list() == list(NAMES)
    for (name, chosen), row in zip(selected(0, criterion), rows.to_dicts(), strict=True):
        wrong = (chosen != name).sum()
        assert row["error"] == pytest.approx(wrong / LEARNERS)
        share = min(max(wrong, 0.5), LEARNERS - 0.5) / LEARNERS
        assert row["standard_error"] == pytest.approx((share * (1 - share) / LEARNERS) ** 0.5)


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_settings_flag_models_that_nobody_is_given(
    found: Calibration, criterion: Criterion
) -> None:
    rows = found.settings.filter(criterion=criterion.name)
    if vars(criterion):
        rows = rows.filter(setting=next(iter(vars(criterion).values())))
    given = {model for _, chosen in selected(0, criterion) for model in chosen}
    never = [name for name in NAMES if name not in given]
    assert rows["never_selected"].to_list() == [", ".join(never) or None]


def test_a_huge_constant_selects_one_cell_only(found: Calibration) -> None:
    row = found.settings.filter(setting=1e6).row(0, named=True)
    assert row["never_selected"] == "ByFeature1, OnePerItem"
    assert (row["max_error"], row["mean_error"]) == pytest.approx((1, 2 / 3))
    assert row["worst_model"] == "ByFeature1"


def test_confusion_counts_fresh_learners(found: Calibration) -> None:
    for criterion in (*found.criteria, hl.AIC()):
        rows = found.confusion.filter(criterion=criterion.name)
        if vars(criterion):
            rows = rows.filter(setting=next(iter(vars(criterion).values())))
        for name, chosen in selected(1, criterion):
            mine = rows.filter(true_model=name)
            shares = [float((chosen == model).mean() or 0) for model in NAMES]
            assert mine["selected_model"].to_list() == list(NAMES)
            assert mine["share"].to_list() == pytest.approx(shares)
        fresh = found._fresh_errors(criterion)["errors"]
        right = rows.filter(pl.col("true_model") == pl.col("selected_model"))["share"]
        assert list(fresh.values()) == pytest.approx([1 - share for share in right])


def test_who_tests_the_constants_did_not_choose_them(found: Calibration) -> None:
    mine, fresh = found.contest.all_trials, found.fresh.all_trials
    assert mine.shape == fresh.shape
    assert not {*map(tuple, mine)} & {*map(tuple, fresh)}


def test_kappa_is_the_price_at_the_median_number_of_trials(found: Calibration) -> None:
    log_n = np.log(TRIALS)
    rows = found.settings.filter(criterion="penalized")
    assert rows["kappa"].to_list() == pytest.approx([c * log_n**2 for c in CONSTANTS])
    assert found.settings.filter(criterion="aic")["kappa"].to_list() == [1]
    assert found.settings.filter(criterion="bic")["kappa"].to_list() == pytest.approx([log_n / 2])
    assert found.settings.filter(criterion="holdout")["kappa"].null_count() == len(SPLITS)
    # On the axis of c, AIC stands where c·log(n)² = 1, BIC where it is ½·log(n).
    assert found.marks == pytest.approx({"AIC": 1 / log_n**2, "BIC": 0.5 / log_n})


def test_a_mark_errs_as_the_constant_it_stands_at(found: Calibration) -> None:
    for criterion in (hl.AIC(), hl.BIC()):
        mark = hl.Penalized(found.marks[criterion.name.upper()])
        assert np.array_equal(found.contest.selected(mark), found.contest.selected(criterion))


def test_the_recommendation_is_json_without_gaps(found: Calibration) -> None:
    text = json.dumps(found.recommendation, allow_nan=False)
    assert json.loads(text) == found.recommendation
    assert found.recommendation["criteria"] == [repr(c) for c in found.criteria]
    assert found.recommendation["learners_per_model"] == LEARNERS
    assert found.recommendation["median_trials"] == TRIALS


# --- contests worked out by hand ------------------------------------------------------------------


def contest_with(simple: Sequence[float], double: Sequence[float]) -> Contest:
    """Learners of Simple (D = 1) and of Double (D = 2), by the nats that Double wins by.

    At a price of κ nats a learner is given Double if it wins by more than κ.
    """
    won = np.array([*simple, *double], float)
    n = len(won)
    return Contest(
        truths=("Simple", "Double"),
        models=("Simple", "Double"),
        splits=(),
        true=np.repeat([0, 1], [len(simple), len(double)]),
        n_scored=np.full(n, FEW),
        n_parameters=np.tile([1, 2], (n, 1)),
        all_trials=np.column_stack([np.full(n, -60.0), won - 60.0]),
        later_trials=np.empty((n, 0, 2)),
        trained=np.empty((n, 0), np.int64),
    )


def curve_at(contest: Contest, *kappas: float) -> ErrorCurve:
    return curve(contest, [hl.Penalized(kappa / LOG2) for kappa in kappas])


def many(**counts: int) -> list[float]:
    """``many(w1_5=2)``: two learners for whom Double wins by 1.5 nats."""
    return [float(name[1:].replace("_", ".")) for name, n in counts.items() for _ in range(n)]


NEVER = [-1.0] * 100


def test_one_learner_of_a_hundred_does_not_tell_settings_apart() -> None:
    # Of Double's learners 1 is lost from κ = 2 on, 10 more from κ = 3 on: errors 0, .01, .11. The
    # paired differences from the best have standard errors of .010 and .031.
    found = curve_at(contest_with(NEVER, many(w1_5=1, w2_5=10, w9=89)), 1, 2, 3)
    assert found.error.tolist() == [[0, 0, 0], pytest.approx([0, 0.01, 0.11])]
    assert found.best("maximum") == found.best("average") == 0
    assert found.as_good("maximum").tolist() == [True, True, False]
    assert found.as_good("average").tolist() == [True, True, False]
    words = ["best", "not distinguishable from the best", "worse"]
    assert found.settings_frame()["maximum"].to_list() == words


def test_settings_are_compared_by_paired_differences() -> None:
    # Half of the learners are lost either way, 10 of 100 by the second setting only. Unpaired, the
    # difference of .1 has a standard error of .07 and would prove nothing; paired, one of .03.
    found = curve_at(contest_with(NEVER, many(w0_5=50, w1_5=10, w9=40)), 1, 2)
    assert found.error[1] == pytest.approx([0.5, 0.6])
    assert found.as_good("maximum").tolist() == [True, False]


def test_differences_that_go_both_ways_prove_nothing() -> None:
    # From κ = 1 to κ = 2, 10 learners of Simple are won and 13 of Double are lost.
    simple, double = many(w0=90, w1_5=10), many(w1_5=13, w9=87)
    found = curve_at(contest_with(simple, double), 1, 2)
    assert found.over_models("average") == pytest.approx([0.05, 0.065])
    assert found.as_good("average").tolist() == [True, True]


def test_the_smallest_largest_and_the_smallest_mean_error_may_disagree() -> None:
    # κ = 1: Simple errs for 30 of 100, Double never. κ = 2: both for 20. κ = 3: Double for 50.
    simple, double = many(w0=70, w1_5=10, w2_5=20), many(w1_5=20, w2_5=30, w9=50)
    found = curve_at(contest_with(simple, double), 1, 2, 3)
    assert found.error.tolist() == [
        pytest.approx([0.3, 0.2, 0]),
        pytest.approx([0, 0.2, 0.5]),
    ]
    assert found.over_models("maximum") == pytest.approx([0.3, 0.2, 0.5])
    assert found.over_models("average") == pytest.approx([0.15, 0.2, 0.25])
    assert (found.best("maximum"), found.best("average")) == (1, 0)
    # Standard errors: of the worst model's error; and ½·√(.3·.7/100 + .005·.995/100).
    assert found.spread("maximum")[0] == pytest.approx((0.3 * 0.7 / 100) ** 0.5)
    expected = 0.5 * (0.3 * 0.7 / 100 + 0.005 * 0.995 / 100) ** 0.5
    assert found.spread("average")[0] == pytest.approx(expected)
    assert found.settings_frame()["worst_model"].to_list() == ["Simple", "Simple", "Double"]


@pytest.mark.parametrize(
    ("kappas", "middle"), [([1, 2, 3], 1), ([1, 2, 3, 4], 1), ([0.1, 1, 2, 3, 4, 20], 2)]
)
def test_of_equal_settings_the_middle_one_is_best(kappas: list[float], middle: int) -> None:
    # 0.1 nats is too cheap for Simple, 20 is too dear for Double; the others are perfect.
    found = curve_at(contest_with(many(w0_5=10), many(w9=10)), *kappas)
    assert found.best("maximum") == found.best("average") == middle
    perfect = [1 <= kappa <= 4 for kappa in kappas]
    assert found.as_good("maximum").tolist() == perfect


def test_ties_go_to_fewer_parameters() -> None:
    # Double wins by exactly the price: Simple is selected, which is wrong for Double's learner.
    found = curve_at(contest_with([0.0], [1.0]), 1, 0.999)
    assert found.wrong.tolist() == [[False, False], [True, False]]


def test_standard_errors_never_claim_certainty() -> None:
    found = standard_error(np.array([0, 10, 5]), 10)
    assert found == pytest.approx([(0.05 * 0.95 / 10) ** 0.5] * 2 + [0.025**0.5])
    assert standard_error(np.array([0, 1]), 1) == pytest.approx([0.5, 0.5])


def test_a_true_model_that_is_no_candidate_is_always_wrong() -> None:
    contest = contest_with([0.0], [5.0])
    other = Contest(**{**vars(contest), "truths": ("Simple", "Nobody")})
    assert curve_at(other, 1).error.tolist() == [[0], [1]]


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(HowlearnError, match=r"nothing was fitted at split 0\.5"):
        contest_with([0.0], [5.0]).selected(hl.HoldOut(0.5))


def test_constants_reach_from_hardly_a_price_to_beyond_bic() -> None:
    for n in (2, 50, 500, 5000):
        kappas = np.array(constants_for(np.array([n]))) * np.log(n) ** 2
        assert kappas[0] == pytest.approx(0.02, rel=0.01)
        assert kappas[-1] == pytest.approx(12, rel=0.01)
        assert (np.diff(kappas) > 0).all()
        assert kappas[-1] > np.log(n) / 2


def test_errors_of_fresh_learners_are_unbiased() -> None:
    """The chosen setting's error is too small for those who chose it, and right for others.

    Double wins by a normal number of nats, mean −1 or 1, so the true errors at price κ are
    Φ(−1 − κ) and Φ(κ − 1), and 0.1587 on average at κ = 0. Over 400 calibrations with 10 learners
    per model; the bounds are 4 standard errors, which one run in 15,000 exceeds by chance.
    """
    from scipy.stats import norm

    random = np.random.default_rng(8)
    kappas = np.linspace(0, 1.5, 12)
    truth = dict(zip(kappas, (norm.sf(kappas + 1) + norm.cdf(kappas - 1)) / 2, strict=True))
    optimism, unfair = [], []
    for _ in range(400):
        draws = random.normal([[-1], [1], [-1], [1]], 1, (4, 10)).tolist()
        mine, fresh = contest_with(*draws[:2]), contest_with(*draws[2:])
        constants = tuple(kappas / LOG2)
        found = Calibration(mine, fresh, pl.DataFrame(), constants, "average")
        chosen = found.recommendation["penalized"]["average"]
        true = truth[kappas[constants.index(chosen["setting"])]]
        optimism.append(chosen["error"] - true)
        unfair.append(chosen["fresh"]["mean_error"] - true)

    def z(differences: list[float]) -> float:
        return float(np.mean(differences) / (np.std(differences) / len(differences) ** 0.5))

    assert z(optimism) < -4
    assert abs(z(unfair)) < 4


def test_another_simulation_agrees_with_the_errors_of_fresh_learners(found: Calibration) -> None:
    """Within 4 standard errors of the difference; 300 other learners per model."""
    criterion = found.criteria[0]
    fresh = found._fresh_errors(criterion)["errors"]
    for name in NAMES:
        study = hl.simulate(TASK, name, {"eta": 0.2}, 300, TRIALS, seed=99)
        wrong = hl.select(study, MODELS, [criterion]).selection["model"] != name
        share = float(wrong.mean() or 0)
        spread = (max(share * (1 - share), 0.01) * (1 / LEARNERS + 1 / 300)) ** 0.5
        assert abs(fresh[name] - share) < 4 * spread
