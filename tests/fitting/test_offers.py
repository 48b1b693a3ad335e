"""What was on offer: coins, chance, evidence, learners who choose at random, and simulations."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.core.partition import Partition
from howlearn.core.rules import RULES, GradientBandit, rule_named
from howlearn.core.study import Study
from howlearn.fitting.counts import Choices, log_likelihood, luce
from howlearn.fitting.fit import lowest
from howlearn.fitting.fits import ALL
from howlearn.fitting.replay import log_probabilities
from howlearn.models import FIELD, field_model
from howlearn.models.adjustments import Lapse
from howlearn.models.coin import Coin, FixedPolicy
from howlearn.models.exp4 import Exp4
from howlearn.models.hidden import Switch
from howlearn.models.mixture import Expert
from howlearn.models.partition_model import PartitionModel
from howlearn.selection.evidence import log_evidence_of_offers
from oracle import Trial
from studies import study_of

OFFERS = {"x": [0, 1], "y": [2, 3]}


def random_choosers(learners: int, trials: int, seed: int) -> Study:
    """Two contexts with two actions each, and choices at random: as in many labs' files."""
    draw = random.Random(seed)
    rows = {"learner": [], "context": [], "action": [], "reward": []}
    for learner, _ in itertools.product(range(learners), range(trials)):
        context = draw.choice("xy")
        rows["learner"].append(learner)
        rows["context"].append(context)
        rows["action"].append("ABCD"[draw.choice(OFFERS[context])])
        rows["reward"].append(draw.randrange(2))
    return hl.read(pl.DataFrame(rows), offers={"x": ["A", "B"], "y": ["C", "D"]})


def mixed(seed: int, n: int, n_actions: int = 4, learners: int = 1) -> Study:
    """Random choices among random offers of two to all actions; some trials are forced."""
    draw, rows, offers = random.Random(seed), [], []
    for _ in range(learners):
        mine = []
        for t in range(n):
            offer = draw.sample(range(n_actions), draw.choice([1, 2, 2, 3, n_actions]))
            action = max(offer) if draw.random() < 0.5 else draw.choice(offer)
            mine.append(Trial("xyz"[t % 3], action, float(draw.random() < 0.2 + 0.2 * action)))
            offers.append(["ABCDEF"[a] for a in offer])
        rows.append([replace(mine[0], reset=True), *mine[1:]])
    return study_of(*rows, n_actions=n_actions).with_offered(offers)


# Who chooses at random is no better than a coin, once it is said what was on offer.


CRITERIA = ["aic", "bic", "penalized(c=0.012)", "prequential", "evidence"]


def test_random_choosers_are_no_better_than_a_coin():
    study = random_choosers(12, 150, seed=4)
    found = hl.select(study, criteria=CRITERIA).selection
    for _, mine in found.group_by("criterion"):
        assert mine["verdict"].str.contains("coin").sum() >= 10  # beaten by one, or not told apart
        assert not (mine["verdict"] == "clear").any()
    # What the same people look like where nobody says what was on offer.
    silent = replace(study, offers=None, offer=None)
    verdicts = hl.select(silent, criteria=["aic"]).selection["verdict"]
    assert not verdicts.str.contains("coin").any()


def test_the_made_file_of_random_choosers(shared_data):
    study = hl.read(shared_data / "hard" / "random-offers.csv", offers="A=1|2, B=3|4")
    verdicts = hl.select(study, criteria=["aic", "evidence"]).selection["verdict"]
    assert verdicts.str.contains("coin").all()


def test_pairs_of_the_probabilistic_selection_task(shared_data):
    study = hl.read(shared_data / "tasks" / "pst.txt", context="none", positions=[1, 0],
                    offered="type", offers="12=1|2, 34=3|4, 56=5|6")  # fmt: skip
    assert study.actions == tuple("123456")
    assert (study.n_offered == 2).all()
    np.testing.assert_allclose(study.log_chance, -np.log(2) * study.n_scored)


# Coins.


def test_a_coin_is_fitted_as_well_as_by_a_fine_grid():
    study = mixed(2, 80, 3)
    fits = hl.fit(study, [Coin()], [0.5, 1.0])
    part = fits.of["Coin"]
    scored = np.flatnonzero(study.scored)
    for j, size in enumerate(fits.sizes[0]):
        best = -math.inf
        for a, b in itertools.product(np.linspace(0.005, 0.985, 197), repeat=2):
            if a + b < 0.996:
                log_p = log_probabilities(study, 0, Coin(), np.array([a, b]))
                mine = scored[:size]
                best = max(best, log_p[mine, study.action[mine]].sum())
        assert part.log_likelihood[0, j] >= best - 1e-9
        log_p = log_probabilities(study, 0, Coin(), part.theta[0, j])
        value = log_p[scored, study.action[scored]]
        assert part.log_likelihood[0, j] == pytest.approx(value[:size].sum(), abs=1e-9)
        assert part.rest[0, j] == pytest.approx(value[size:].sum(), abs=1e-9)


def test_a_coin_counts_what_can_be_compared():
    apart = random_choosers(2, 40, seed=1)
    assert hl.fit(apart, [Coin()]).of["Coin"].n_parameters.tolist() == [2, 2]
    together = mixed(3, 60, 4)
    assert hl.fit(together, [Coin()]).of["Coin"].n_parameters.tolist() == [3]


def test_a_coin_of_separate_pairs_has_the_frequencies():
    counts = Choices(np.array([[6.0, 2.0, 5.0, 0]]), np.array([[8.0, 5.0]]))
    sets = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], bool)
    p = luce(counts, sets, 1e-3)[0]
    np.testing.assert_allclose(p[:2], [0.375, 0.125])
    np.testing.assert_allclose(p[2:], [0.499, 0.001])  # none falls under the floor
    expected = 6 * math.log(0.75) + 2 * math.log(0.25) + 5 * math.log(0.499 / 0.5)
    assert log_likelihood(counts, p[None], sets)[0] == pytest.approx(expected)


def _sums(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How often each action was chosen and each set was on offer, from [set, action]."""
    return counts.sum(axis=0), counts.sum(axis=1)


def test_evidence_of_a_coin_is_an_average_over_all_coins():
    random_ = np.random.default_rng(1)
    sets = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 1, 1]], bool)
    w = random_.dirichlet(np.ones(4), 200_000)
    for _ in range(3):
        counts = random_.poisson(4, sets.shape) * sets.astype(float)
        values = np.log(w) @ counts.sum(axis=0) - np.log(w @ sets.T) @ counts.sum(axis=1)
        top = values.max()
        expected = top + math.log(np.exp(values - top).mean())
        assert log_evidence_of_offers(*_sums(counts), sets) == pytest.approx(expected, abs=0.15)
    disjoint = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], bool)
    counts = random_.poisson(5, disjoint.shape) * disjoint.astype(float)
    values = np.log(w) @ counts.sum(axis=0) - np.log(w @ disjoint.T) @ counts.sum(axis=1)
    expected = math.log(np.exp(values).mean())
    assert log_evidence_of_offers(*_sums(counts), disjoint) == pytest.approx(expected, abs=0.02)


def test_chance_is_one_over_what_is_on_offer():
    study = mixed(5, 30, 4, learners=2)
    each = -np.log(study.n_offered)
    expected = [
        each[i * 30 : i * 30 + 30][study.scored[i * 30 : i * 30 + 30]].sum() for i in (0, 1)
    ]
    np.testing.assert_allclose(study.log_chance, expected)
    # A learner without any learning is worth exactly that to every criterion.
    idle = FixedPolicy("idle", dict.fromkeys("ABCD", 0.25))
    found = hl.fit(study, [idle], [0.5, 1.0])
    np.testing.assert_allclose(found.of["idle"].log_likelihood[:, 1], expected)


def test_what_is_not_on_offer_is_not_the_lowest_probability():
    study = mixed(6, 40, 4)
    fits = hl.fit(study, [PartitionModel("m", Partition((("x", "y", "z"),)), GradientBandit())])
    found = lowest(study, fits.of["m"], 0.01)
    log_p = log_probabilities(study, 0, fits.models[0], fits.of["m"].theta[0, 0])
    assert found.probability[0, 0] == pytest.approx(np.exp(log_p[study.offered].min()))


# Simulated learners meet the offers of the recorded ones.


BANDITS = [
    PartitionModel(f"{rule} {form}", Partition((("x",), ("y", "z"))), rule_named(rule, form))
    for rule in RULES
    for form in ("gain", "loss")
]
TABLE = FixedPolicy("table", dict(zip("ABCD", (0.1, 0.2, 0.3, 0.4), strict=True)))
OTHERS = [
    *(field_model(name, 0) for name in FIELD if not FIELD[name].needs),
    Coin(),
    Exp4((Expert(BANDITS[0], {"eta": 0.3}), Expert(TABLE))),
    Switch(Expert(BANDITS[0], {"eta": 0.3}), Expert(TABLE)),
    BANDITS[0] + Lapse(),
]


@pytest.mark.parametrize("model", [*BANDITS, *OTHERS], ids=lambda model: model.name)
def test_choices_are_drawn_from_what_is_on_offer(model):
    recorded = mixed(7, 60, learners=3)
    found = hl.simulate(None, model, np.tile(_defaults(model), (3, 1)), like=recorded, seed=2)
    np.testing.assert_array_equal(found.offered, recorded.offered)
    assert found.offered[np.arange(180), found.action].all()
    forced = found.n_offered == 1
    assert forced.any()
    assert not found.scored[forced].any()
    # The probabilities that are replayed afterwards are those that were drawn from.
    for i in range(3):
        p = np.exp(log_probabilities(found, i, model, _defaults(model)))
        draws = np.random.default_rng([2, i]).random((60, 2))[:, 0]
        part = found[i]
        drawn = (draws[:, None] >= np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
        np.testing.assert_array_equal(part.action[part.scored], drawn[part.scored])


def _defaults(model) -> np.ndarray:
    return np.array([parameter.default for _, parameter in model.owners("ABCD")])


def test_doubles_are_not_paid_for_what_is_never_on_offer():
    from howlearn.simulation.shown import RecordedRewards

    study = random_choosers(3, 60, seed=8)
    rewards = RecordedRewards(study)
    for trials in study:
        rewards.complete(trials)
    assert rewards.implied == rewards.borrowed == 0


def test_doubles_are_calibrated_on_the_offers_of_the_study():
    study = mixed(9, 40, learners=4)
    models = [
        PartitionModel("one", Partition((("x", "y", "z"),))),
        PartitionModel("each", Partition((("x",), ("y",), ("z",)))),
    ]
    found = hl.calibrate(like=study, models=models, learners=8, constants=[0.01], threads=1)
    assert found is not None


def test_a_model_of_ones_own_can_ask_what_is_on_offer():
    class Avoider(hl.Model):
        """Takes the last action on offer with probability p, else any other."""

        parameters = (hl.Parameter("p", 0.0, 1.0, default=0.6),)

        @staticmethod
        def start(world):
            return np.zeros(1)

        @staticmethod
        def log_policy(state, shown, theta, out):
            n, last = 0, 0
            for a in range(len(out)):
                if shown.offered[a]:
                    n, last = n + 1, a
            for a in range(len(out)):
                out[a] = np.log((1.0 - theta.p) / (n - 1)) if n > 1 else -np.inf
                if not shown.offered[a]:
                    out[a] = -np.inf
            out[last] = np.log(theta.p) if n > 1 else 0.0

        @staticmethod
        def update(state, trial, theta):
            state[0] += trial.offered[trial.action]

    study = mixed(10, 60)
    fits = hl.fit(study, [Avoider()])
    last = [np.flatnonzero(row)[-1] for row in study.offered]
    share = (study.action == last)[study.scored].mean()
    assert fits.of["Avoider"].theta[0, 0, 0] == pytest.approx(share, abs=1e-6)
    assert fits.log_likelihood(ALL)[0, 0] < 0


def test_a_model_of_ones_own_that_does_not_ask_is_renormalised():
    class Weights(hl.Model):
        """Fixed preferences: p ∝ w^action."""

        parameters = (hl.Parameter("w", 0.1, 10.0, default=1.0),)

        @staticmethod
        def start(world):
            return np.zeros(1)

        @staticmethod
        def log_policy(state, shown, theta, out):
            for a in range(len(out)):
                out[a] = a * np.log(theta.w)
            hl.log_softmax(out)

        @staticmethod
        def update(state, trial, theta):
            state[0] += 1.0

    study = mixed(11, 50)
    log_p = log_probabilities(study, 0, Weights(), np.array([2.0]))
    weights = np.where(study.offered, 2.0 ** np.arange(4), 0.0)
    expected = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(log_p), expected, atol=1e-12)


# Tasks that say what is on offer.


PAIRS = """
name = "pairs"
actions = ["A", "B", "C", "D"]
contexts = [{ name = "x", rewards = { A = 0.9, B = 0.1, C = { probability = 0.7 }, D = 0.3 } }]
offers = [["A", "B"], ["C", "D"], ["A"]]
trials = 60
"""
SIDES = """
name = "sides"
actions = ["left", "right", "up", "down"]
action_aliases = { 1 = "left", 2 = "right", 3 = "up", 4 = "down" }
contexts = [
  { name = "flat", offers = [["left", "right"]], correct = "left" },
  { name = "steep", offers = [["up", "down"]], correct = "down" },
]
stop = { correct_in_a_row = 6 }
"""


def test_a_task_offers_its_sets_by_turns(load):
    task = load(PAIRS)
    study = hl.simulate(task, "OneForAll", {"eta": 0.5}, learners=4, seed=3)
    assert study.offered[np.arange(240), study.action].all()
    sets = [tuple(np.flatnonzero(row)) for row in study.offered]
    assert [sets.count(one) for one in ((0, 1), (2, 3), (0,))] == [80, 80, 80]
    assert study.n_scored.tolist() == [40] * 4
    forced = study.n_offered == 1
    assert study.learned[forced].all()
    assert (study.reward[forced] == 0.9).all()
    again = hl.read(study.frame(), task=task, offered="offered")
    np.testing.assert_array_equal(again.offered, study.offered)
    with pytest.raises(hl.HowlearnError, match=r"3 sets of actions .* --offered COL"):
        hl.read(study.frame(), task=task)


def test_a_task_says_what_is_on_offer_in_each_context(load):
    task = load(SIDES)
    assert task.answers.tolist() == [0, 3]
    study = hl.simulate(task, "OnePerItem", {"eta": 1.0}, learners=3, trials=400, seed=3)
    assert study.offered[np.arange(len(study.action)), study.action].all()
    assert (np.diff(study.starts) < 400).all()  # they stop once they choose what is right
    frame = study.frame().drop("offered")
    np.testing.assert_array_equal(hl.read(frame, task=task).offered, study.offered)
    codes = {name: str(code) for code, name in enumerate(task.actions, start=1)}
    coded = frame.with_columns(pl.col("action").replace(codes))
    np.testing.assert_array_equal(hl.read(coded, task=task).offered, study.offered)
    wrong = frame.with_columns(context=pl.lit("flat"))
    with pytest.raises(hl.HowlearnError, match=r"where left\|right was on offer"):
        hl.read(wrong, task=task)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["A"]]', '["E"]]', 'offers: found "E"; allowed: A, B, C, D'),
        ('["A"]]', '["A", "A"]]', "each of them once"),
        ('[["A", "B"], ["C", "D"], ["A"]]', '[["A"], ["B"]]', "one action is on offer everywhere"),
        ("C = { probability = 0.7 }, ", "", "lacks C"),
    ],
)
def test_offers_of_a_task_that_cannot_be(load, old, new, words):
    with pytest.raises(hl.HowlearnError, match=words):
        load(PAIRS.replace(old, new))


def test_plans_and_recovery_with_the_offers_of_a_task(load):
    task = load(SIDES.replace("stop = { correct_in_a_row = 6 }", "trials = 40"))
    found = hl.recover(task, parameters={"eta": 0.3}, learners=4, criteria=["aic"], threads=1)
    assert found.confusion["learners"].sum() == 8
    planned = hl.plan(task, parameters={"eta": 0.3}, trials=[20], simulated=4, criteria=["aic"])
    assert len(planned.recovered)
