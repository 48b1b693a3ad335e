"""Numbers that were worked out elsewhere (SPEC §11): the recursions are those of the paper."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
from howlearn.engine.cell_fits import evaluate
from howlearn.engine.layout import lay_out
from howlearn.fitting.cells import block_of
from howlearn.fitting.replay import log_probabilities
from howlearn.models.task import Task
from oracle import Trial, log_likelihood
from studies import model_of, study_of

ACTIONS, FEEDBACK = (0, 1, 0, 0, 1), (1.0, 0.0, 1.0, 1.0, 1.0)

# rule, parameters, P(first action) before each trial, log-likelihood. In loss form the published
# numbers take the feedback as the loss; the package makes the loss 1 − reward.
VECTORS = [
    (
        GradientBandit("gain"),
        (0.5,),
        (0.5, 0.6224593312, 0.6224593312, 0.7063123281, 0.7633669723),
        -3.930243641295,
    ),
    (
        GradientBandit("loss"),
        (0.5,),
        (0.5, 0.3775406688, 0.3775406688, 0.2455553879, 0.1327448979),
        -3.687956003703,
    ),
    (
        Exp3("gain"),
        (0.1,),
        (0.5, 0.5498339973, 0.5498339973, 0.5943247864, 0.6341660400),
        -3.615329959749,
    ),
    (
        Exp3("loss"),
        (0.1,),
        (0.5, 0.4501660027, 0.4501660027, 0.3960047145, 0.3374536116),
        -3.427418785053,
    ),
    (
        Exp3IX("gain"),
        (0.1, 0.2),
        (0.5, 0.5356536708, 0.5356536708, 0.5692497163, 0.6007971014),
        -3.566260795939,
    ),
    (
        Exp3IX("loss"),
        (0.1, 0.2),
        (0.5, 0.4643463292, 0.4643463292, 0.4271763342, 0.3886891091),
        -3.427247266516,
    ),
]

each_vector = pytest.mark.parametrize(
    ("rule", "theta", "first", "total"), VECTORS, ids=[f"{v[0].name}-{v[0].form}" for v in VECTORS]
)


def record(form, actions=ACTIONS, feedback=FEEDBACK):
    rewards = feedback if form == "gain" else [1.0 - g for g in feedback]
    return [Trial("x", a, g) for a, g in zip(actions, rewards, strict=True)]


def value_of(study, rule, theta, stop=None):
    """The engine's log-likelihood before ``stop`` and of all trials, with one cell for all."""
    n = len(study.context)
    block = block_of(study, rule, np.array([[n]]))
    units = lay_out([[list(range(len(study.contexts)))]], len(study.contexts))
    zero = np.zeros(1, np.int64)
    values, totals = evaluate(
        block, units, rule, zero, zero, np.array([theta]), np.array([n if stop is None else stop])
    )
    return values[0], totals[0]


@each_vector
def test_two_actions(rule, theta, first, total):
    study = study_of(record(rule.form))
    replayed = log_probabilities(study, 0, model_of([["x"]], rule), np.array(theta))
    assert np.exp(replayed[:, 0]) == pytest.approx(first, abs=6e-11)
    assert np.exp(replayed).sum(axis=1) == pytest.approx(1.0, abs=1e-14)
    assert replayed[range(5), ACTIONS].sum() == pytest.approx(total, abs=6e-13)
    assert value_of(study, rule, theta) == pytest.approx((total, total), abs=6e-13)


@each_vector
def test_the_oracle_gives_them_too(rule, theta, first, total):
    """Without this the other tests would compare the package with nothing."""
    value = log_likelihood(record(rule.form), [["x"]], rule.name, [theta], rule.form)
    assert value == pytest.approx(total, abs=6e-13)


def test_three_actions():
    trials = record("gain", (0, 2, 1, 0), (1.0, 0.5, 0.0, 1.0))
    study, rule = study_of(trials, n_actions=3), GradientBandit()
    replayed = log_probabilities(study, 0, model_of([["x"]], rule), np.array([0.4]))
    assert replayed[range(4), (0, 2, 1, 0)].sum() == pytest.approx(-4.578564840252, abs=6e-13)
    assert value_of(study, rule, (0.4,))[0] == pytest.approx(-4.578564840252, abs=6e-13)


# The authors' own files, with the rewards as they were recorded


def shipped(shared_data, folder):
    frame = pl.read_csv(
        shared_data / "aubert2025" / "syntheticdatabis" / f"{folder}_bis" / "databis_1_1.csv"
    )
    trials = [Trial(str(item), a - 1, g) for a, g, item in frame.iter_rows()]
    contexts = Task.load("five-four").contexts
    return study_of(trials, contexts=contexts, reward_range=(0.0, 15.0))


def test_one_for_all_on_a_shipped_file(shared_data):
    study = shipped(shared_data, "OnePerItem")
    value, _ = value_of(study, GradientBandit(), (0.0073788243098130259,))
    assert -value == pytest.approx(335.68492545511879, abs=1e-10)


def test_by_shape_on_a_shipped_file(shared_data):
    """At the published estimates of 500 trials, and of 250 with the other 250 to predict."""
    study = shipped(shared_data, "byShape")
    model = Task.load("five-four").model("ByShape")
    fits = pl.read_csv(shared_data / "aubert2025" / "published_fits.csv").filter(
        (pl.col("generating_model") == "byShape")
        & (pl.col("fitted_model") == "byShape")
        & (pl.col("file") == "databis_1_1.csv")
    )
    stored = {row["trials_fitted"]: row["estimates"] for row in fits.iter_rows(named=True)}
    actions = study.action.astype(int)

    def log_likelihoods(trials_fitted):
        theta = np.array([float(x) for x in stored[trials_fitted].split()])
        return theta, log_probabilities(study, 0, model, theta)[range(500), actions]

    theta, all_trials = log_likelihoods(500)
    assert theta == pytest.approx((0.02296011, 0.02671134), abs=5e-9)
    assert -all_trials.sum() == pytest.approx(287.09398447655497, abs=1e-10)
    _, half = log_likelihoods(250)
    assert -half[:250].sum() == pytest.approx(161.75352931941921, abs=1e-10)
    assert -half[250:].sum() == pytest.approx(127.65091527480507, abs=1e-10)
