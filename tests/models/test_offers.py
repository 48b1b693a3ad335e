"""What was on offer: every model and rule against plain loops, and what all of them must keep."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, replace

import numpy as np
import pytest

import howlearn as hl
import oracle
from howlearn.core.partition import Partition
from howlearn.core.rules import RULES, GradientBandit, rule_named
from howlearn.core.study import Study
from howlearn.engine.whole import RecordLikelihood
from howlearn.fitting.interpreted import interpreted
from howlearn.fitting.replay import log_probabilities
from howlearn.fitting.settings import records_of, setting_of, whole_of
from howlearn.models import FIELD, field_model
from howlearn.models.adjustments import Bias, Lapse, Stickiness
from howlearn.models.coin import Coin, FixedPolicy
from howlearn.models.exp4 import Exp4
from howlearn.models.hidden import Switch
from howlearn.models.mixture import Expert
from howlearn.models.partition_model import PartitionModel
from howlearn.models.q_learning import QLearning
from models.oracles import ORACLES, Row
from models.records import FEATURES, RIGHT, WRONG, facts_of, points, record, study_of
from studies import random_trials, trials_of
from studies import study_of as bandit_study

MODELS = [field_model(name, len(FEATURES["a"])) for name in FIELD]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
each_rule = pytest.mark.parametrize("rule", list(RULES))
each_form = pytest.mark.parametrize("form", ["gain", "loss"])


def offers_for(actions: list[int], n_actions: int, seed: int) -> list[list[int]]:
    """Random offers that hold what was chosen; some are forced, some are of all actions."""
    draw = random.Random(seed)
    offers = []
    for action in actions:
        others = [a for a in range(n_actions) if a != action]
        offers.append(sorted([action, *draw.sample(others, draw.randrange(n_actions))]))
    return offers


def with_offers(study: Study, offers: list[list[int]]) -> Study:
    return study.with_offered([[study.actions[a] for a in offer] for offer in offers])


def kept(log_p: list[float], offer: list[int]) -> list[float]:
    """Renormalised over the offer; all equal where all are impossible."""
    top = max(log_p[a] for a in offer)
    if top == -math.inf:
        return [-math.log(len(offer)) if a in offer else -math.inf for a in range(len(log_p))]
    total = top + math.log(sum(math.exp(log_p[a] - top) for a in offer))
    return [log_p[a] - total if a in offer else -math.inf for a in range(len(log_p))]


# Rules in the cells of a partition.


def replayed(trials, offers, cells, rule, points, form, n_actions):
    """``oracle.replay`` with softmax over what is on offer, and p = 0 elsewhere."""
    cell_of = {context: c for c, cell in enumerate(cells) for context in cell}
    h = [[0.0] * n_actions for _ in cells]
    found = []
    for trial, offer in zip(trials, offers, strict=True):
        if trial.reset:
            h = [[0.0] * n_actions for _ in cells]
        c = cell_of[trial.context]
        log_p = kept(h[c], offer)
        found.append(log_p)
        if trial.learned:
            g, sign = oracle.feedback(trial.reward, form, (0.0, 1.0))
            h[c] = oracle.RULES[rule](h[c], log_p, trial.action, g, sign, *points[c])
    return found


CELLS = [["x", "z"], ["y"]]
RATES = {
    "gradient": [[(0.3,), (0.05,)], [(0.9,), (0.0,)]],
    "exp3": [[(0.2,), (0.05,)], [(0.6,), (0.9,)]],
    "exp3-ix": [[(0.2, 0.1), (0.05, 0.5)], [(0.6, 0.0), (0.9, 0.02)]],
}


def bandits(rule: str, form: str, rates: str = "per-cell") -> PartitionModel:
    cells = Partition(tuple(map(tuple, CELLS)))
    return PartitionModel("m", cells, rule_named(rule, form), rates)


def offered_study(seed: int, n: int, n_actions: int, flags: bool = True):
    trials = random_trials(seed, n, "xyz", n_actions, flags=flags, better=0.6)
    study = bandit_study(trials, n_actions=n_actions)
    offers = offers_for([t.action for t in trials], n_actions, seed)
    return with_offers(study, offers), offers


@each_rule
@each_form
@pytest.mark.parametrize("n_actions", [2, 4, 6])
def test_rules_in_cells(rule, form, n_actions):
    study, offers = offered_study(n_actions, 120, n_actions)
    trials, model = trials_of(study), bandits(rule, form)
    for rates in RATES[rule]:
        theta = np.array([x for point in rates for x in point])
        expected = replayed(trials, offers, CELLS, rule, rates, form, n_actions)
        found = log_probabilities(study, 0, model, theta)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@each_rule
@each_form
@pytest.mark.parametrize("n_actions", [2, 4, 5])
def test_fits_are_the_best_of_plain_loops(rule, form, n_actions):
    study, offers = offered_study(10 + n_actions, 60, n_actions)
    trials, model = trials_of(study), bandits(rule, form, "shared")
    fits = hl.fit(study, [model], [0.5, 1.0])
    marks = [oracle.mark_of(trials, n) for n in fits.sizes[0].tolist()]
    found = fits.of["m"]

    def value(stop, *point):
        log_p = replayed(trials[:stop], offers[:stop], CELLS, rule, [point] * 2, form, n_actions)
        pairs = zip(trials, log_p, strict=False)
        return sum(each[trial.action] for trial, each in pairs if trial.scored)

    for j, stop in enumerate(marks):
        here = value(stop, *found.theta[0, j])
        assert found.log_likelihood[0, j] == pytest.approx(here, abs=1e-9)
        bounds = [(p.lower, p.upper) for p in model.rules.parameters]
        steps = 120 if len(bounds) == 1 else 14
        for point in itertools.product(*(oracle.dense(*ends, steps) for ends in bounds)):
            assert value(stop, *point) <= here + 1e-7


@each_rule
@each_form
def test_slopes_of_bandits_are_differences(rule, form):
    from howlearn.fitting.replay import advisor_for

    study, _ = offered_study(3, 80, 4)
    advisor, records = advisor_for(bandits(rule, form), study), records_of(study)
    theta = np.array([x for point in RATES[rule][0] for x in point])
    _, found = advisor.slopes(records, theta)
    for d in range(len(theta)):
        step = np.zeros_like(theta)
        step[d] = 1e-6
        rise = advisor.chosen(records, theta + step) - advisor.chosen(records, theta - step)
        np.testing.assert_allclose(found[:, d], rise / 2e-6, rtol=1e-4, atol=1e-5)


def test_preferences_of_what_is_not_on_offer_do_not_move():
    """By hand: A of A|B is rewarded with rate 1, then C of B|C; then all are on offer."""
    rows = [oracle.Trial("x", 0, 1.0), oracle.Trial("x", 2, 1.0), oracle.Trial("x", 0, 1.0)]
    study = with_offers(bandit_study(rows, n_actions=3), [[0, 1], [1, 2], [0, 1, 2]])
    model = PartitionModel("m", Partition((("x",),)), GradientBandit())
    p = np.exp(log_probabilities(study, 0, model, np.array([1.0])))
    np.testing.assert_allclose(p[0], [0.5, 0.5, 0.0])
    # h = (½, −½, 0): of B and C, C has 1/(1 + e^−½)
    c = 1 / (1 + math.exp(-0.5))
    np.testing.assert_allclose(p[1], [0.0, 1 - c, c])
    h = np.array([0.5, -0.5 - (1 - c), 1 - c])
    np.testing.assert_allclose(p[2], np.exp(h) / np.exp(h).sum())


def test_importance_weights_of_exp3_are_those_of_the_offer():
    """By hand: h_A = 0.1/½ after A|B, where 1/p among all three would have been 3."""
    rows = [oracle.Trial("x", 0, 1.0), oracle.Trial("x", 0, 1.0)]
    study = with_offers(bandit_study(rows, n_actions=3), [[0, 1], [0, 2]])
    model = PartitionModel("m", Partition((("x",),)), rule_named("exp3"))
    p = np.exp(log_probabilities(study, 0, model, np.array([0.1])))
    np.testing.assert_allclose(p[1], [1 / (1 + math.exp(-0.2)), 0.0, 1 / (1 + math.exp(0.2))])


# The models of the field.


def field_rows(seed: int, n: int, n_actions: int, rich: bool) -> tuple[list[Row], list[list[int]]]:
    """A record with offers, in which a wrong one of two says that the other was right."""
    rows = record(seed, n, n_actions, rich)
    offers = offers_for([row.action for row in rows], n_actions, seed)
    told = []
    for row, offer in zip(rows, offers, strict=True):
        others = [a for a in offer if a != row.action]
        correct = row.action if row.reward == RIGHT else None
        if row.reward == WRONG and len(others) == 1:
            correct = others[0]
        scored = row.scored and len(offer) > 1
        told.append(replace(row, correct=correct, scored=scored))
    return told, offers


def field_replay(rows, offers, begin):
    learner, found = begin(), []
    for row, offer in zip(rows, offers, strict=True):
        if row.reset:
            learner = begin()
        learner.offer, learner.load = offer, row.load
        found.append(kept(learner.log_p(row.context), offer))
        if row.learned:
            learner.learn(row)
    return found


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@each_model
@pytest.mark.parametrize("n_actions", [2, 3, 4])
@pytest.mark.parametrize("rich", [False, True], ids=["plain", "rich"])
def test_models_of_the_field(model, n_actions, rich):
    rows, offers = field_rows(20 + n_actions, 80, n_actions, rich)
    study = with_offers(study_of(rows, n_actions=n_actions, rich=rich), offers)
    facts, setting = facts_of(n_actions), setting_of(study)
    whole = whole_of(model, study.contexts, study.actions, setting)
    likelihood = RecordLikelihood(whole, setting, records_of(study))
    for point in points(model.parameters, seed=5, n=8):
        theta = np.array([*point.values()])
        found = log_probabilities(study, 0, model, theta)
        expected = field_replay(rows, offers, lambda: ORACLES[model.name](facts, point))  # noqa: B023
        assert_same(found, expected)
        assert_same(interpreted(model, setting, records_of(study), theta), expected)
        chosen = [p[row.action] for row, p in zip(rows, expected, strict=True) if row.scored]
        total = likelihood.at(np.zeros(1, np.int64), theta[None], np.array([[80]]))
        assert_same(total[0, 0], sum(chosen))


@each_model
def test_gradients_are_differences(model):
    from howlearn.fitting.interpreted import wrong_gradient

    rows, offers = field_rows(7, 80, 4, rich=False)
    study = with_offers(study_of(rows, n_actions=4, rich=False), offers)
    setting = setting_of(study)
    whole = whole_of(model, study.contexts, study.actions, setting)
    likelihood = RecordLikelihood(whole, setting, records_of(study))
    inside = np.stack([0.7 * whole.ends, 0.4 * whole.ends])
    assert wrong_gradient(likelihood, whole.at(inside), 80) is None


@each_model
def test_all_on_offer_is_bit_for_bit_as_if_nothing_was_said(model):
    study = study_of(record(3, 60, 3), n_actions=3)
    # One set of all actions: what reading never makes, so that the loops with offers are used.
    told = replace(study, offers=np.ones((1, 3), bool), offer=np.zeros(60, np.int32))
    assert told.offered is not None
    for point in points(model.parameters, seed=9, n=3):
        theta = np.array([*point.values()])
        np.testing.assert_array_equal(
            log_probabilities(told, 0, model, theta), log_probabilities(study, 0, model, theta)
        )


@each_rule
@each_form
def test_all_on_offer_changes_no_fit(rule, form):
    trials = random_trials(5, 80, "xyz", 3, flags=True, better=0.6)
    study = bandit_study(trials, n_actions=3)
    told = replace(study, offers=np.ones((1, 3), bool), offer=np.zeros(80, np.int32))
    model = bandits(rule, form)
    one, other = (hl.fit(each, [model], [0.5, 1.0]).of["m"] for each in (study, told))
    np.testing.assert_array_equal(one.theta, other.theta)
    np.testing.assert_array_equal(one.log_likelihood, other.log_likelihood)


# Adjustments.


def test_a_lapse_is_a_choice_at_random_among_what_is_on_offer():
    rows, offers = field_rows(4, 60, 4, rich=False)
    study = with_offers(study_of(rows, n_actions=4, rich=False), offers)
    point, facts = {"alpha": 0.4, "beta": 2.0}, facts_of(4)
    base = field_replay(rows, offers, lambda: ORACLES["q-learning"](facts, point))
    found = log_probabilities(study, 0, QLearning() + Lapse(), np.array([0.4, 2.0, 0.3]))
    for log_p, offer, adjusted in zip(base, offers, found, strict=True):
        expected = [0.7 * math.exp(log_p[a]) + 0.3 / len(offer) if a in offer else 0.0
                    for a in range(4)]  # fmt: skip
        assert_same(np.exp(adjusted), expected)


def test_biases_and_stickiness_shift_what_is_on_offer():
    rows, offers = field_rows(6, 60, 3, rich=False)
    study = with_offers(study_of(rows, n_actions=3, rich=False), offers)
    facts = facts_of(3)
    base = field_replay(
        rows, offers, lambda: ORACLES["q-learning"](facts, {"alpha": 0.4, "beta": 2.0})
    )
    bias = log_probabilities(study, 0, QLearning() + Bias(), np.array([0.4, 2.0, 1.0, -0.5]))
    sticky = log_probabilities(study, 0, QLearning() + Stickiness(), np.array([0.4, 2.0, 1.5]))
    last = None
    for t, (row, offer) in enumerate(zip(rows, offers, strict=True)):
        last = None if row.reset else last
        shifted = [x + b for x, b in zip(base[t], (1.0, -0.5, 0.0), strict=True)]
        assert_same(bias[t], kept(shifted, offer))
        assert_same(sticky[t], kept([x + 1.5 * (a == last) for a, x in enumerate(base[t])], offer))
        last = row.action


@each_rule
@each_form
def test_adjusted_bandits_are_the_bandits_where_nothing_is_adjusted(rule, form):
    study, _ = offered_study(8, 90, 4)
    model = bandits(rule, form)
    theta = np.array([x for point in RATES[rule][0] for x in point])
    plain = log_probabilities(study, 0, model, theta)
    adjusted = log_probabilities(study, 0, model + Lapse(), np.append(theta, 0.0))
    np.testing.assert_allclose(adjusted, plain, rtol=1e-11, atol=1e-11)


# Coins, tables and mixtures.


def test_coins_and_tables_are_renormalised():
    study, offers = offered_study(9, 50, 3)
    p = [0.2, 0.5, 0.3]
    expected = [kept([math.log(x) for x in p], offer) for offer in offers]
    assert_same(log_probabilities(study, 0, Coin(), np.array(p[:2])), expected)
    table = FixedPolicy("table", dict(zip("ABC", p, strict=True)))
    assert_same(log_probabilities(study, 0, table, np.empty(0)), expected)


def test_exp4_mixes_what_its_experts_say_of_the_offer():
    study, offers = offered_study(11, 80, 4)
    trials = trials_of(study)
    coin = FixedPolicy("table", dict(zip("ABCD", (0.1, 0.2, 0.3, 0.4), strict=True)))
    bandit = PartitionModel("one", Partition((("x", "y", "z"),)), GradientBandit())
    model = Exp4((Expert(bandit, {"eta": 0.3}), Expert(coin)))
    one = replayed(trials, offers, [["x", "y", "z"]], "gradient", [(0.3,)], "gain", 4)
    two = [kept([math.log(x) for x in (0.1, 0.2, 0.3, 0.4)], offer) for offer in offers]
    advice = [
        [[math.exp(x) for x in p], [math.exp(x) for x in q]] for p, q in zip(one, two, strict=True)
    ]
    _, expected = oracle.exp4(advice, trials, 0.2)
    found = log_probabilities(study, 0, model, np.array([0.2]))
    assert_same(np.exp(found), expected)
    fits = hl.fit(study, [model]).of[model.name]
    log_p = log_probabilities(study, 0, model, fits.theta[0, 0])
    chosen = log_p[np.arange(80), study.action][study.scored].sum()
    assert fits.log_likelihood[0, 0] == pytest.approx(chosen, abs=1e-9)


def test_a_switch_keeps_to_the_offer():
    study, _ = offered_study(12, 60, 4)
    one, two = bandits("gradient", "gain"), PartitionModel(
        "one", Partition((("x", "y", "z"),)), GradientBandit()
    )  # fmt: skip
    fits = hl.fit(study, [Switch(one, two)])
    assert np.isfinite(fits.log_likelihood(1.0)).all()


@pytest.mark.parametrize("name", ["q-learning", "gradient", "Coin", "exp4", "win-stay-lose-shift"])
def test_probabilities_over_all_sequences_sum_to_one(name):
    """All choices of four trials whose offers differ; the second is forced."""
    offers = [[0, 1], [2], [1, 2, 3], [0, 3]]
    sequences = [*itertools.product(*offers)]
    records = [
        [oracle.Trial("xy"[t % 2], a, float(a % 2), reset=t == 0) for t, a in enumerate(actions)]
        for actions in sequences
    ]
    study = with_offers(bandit_study(*records, n_actions=4), offers * len(sequences))
    bandit = PartitionModel("gradient", Partition((("x", "y"),)), GradientBandit())
    table = FixedPolicy("t", dict(zip("ABCD", (0.1, 0.2, 0.3, 0.4), strict=True)))
    model, theta = {
        "q-learning": (QLearning(), [0.5, 3.0]),
        "gradient": (bandit, [0.5]),
        "Coin": (Coin(), [0.1, 0.2, 0.3]),
        "exp4": (Exp4((Expert(bandit, {"eta": 0.4}), Expert(table))), [0.5]),
        "win-stay-lose-shift": (field_model("win-stay-lose-shift", 0), [0.8, 0.6]),
    }[name]
    total = sum(
        math.exp(log_probabilities(study, i, model, np.array(theta))[range(4), actions].sum())
        for i, actions in enumerate(sequences)
    )
    assert total == pytest.approx(1.0, abs=1e-12)


@dataclass(frozen=True)
class Fading(hl.Rule):
    """h_a ← (1 − η)·h_a + g·(1{a chosen} − p_a): a rule of one's own that moves all actions."""

    name = "fading"

    @staticmethod
    def update(h, p, chosen, p_chosen, feedback, eta):
        return (1.0 - eta) * h + feedback * (chosen - p)

    @staticmethod
    def differential(h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, eta, deta):
        return (1.0 - eta) * dh - deta * h - feedback * dp


def test_a_rule_of_ones_own_sees_no_probability_where_nothing_is_on_offer():
    study, offers = offered_study(13, 70, 4)
    trials, eta = trials_of(study), 0.2
    h, expected = {"x": [0.0] * 4, "y": [0.0] * 4, "z": [0.0] * 4}, []
    for trial, offer in zip(trials, offers, strict=True):
        if trial.reset:
            h = {context: [0.0] * 4 for context in h}
        mine = h[trial.context]
        log_p = kept(mine, offer)
        expected.append(log_p)
        if trial.learned:
            h[trial.context] = [
                (1 - eta) * mine[a] + trial.reward * ((a == trial.action) - math.exp(log_p[a]))
                for a in range(4)
            ]
    model = PartitionModel("m", Partition((("x",), ("y",), ("z",))), Fading())
    np.testing.assert_allclose(
        log_probabilities(study, 0, model, np.full(3, eta)), expected, atol=1e-11
    )
    found = hl.fit(study, [model]).of["m"]
    log_p = log_probabilities(study, 0, model, found.theta[0, 0])
    chosen = log_p[np.arange(70), study.action][study.scored].sum()
    assert found.log_likelihood[0, 0] == pytest.approx(chosen, abs=1e-9)
