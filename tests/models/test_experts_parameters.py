"""Where the parameters of a mixture's strategies come from, and what is counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from howlearn.analyses.check import select
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.fit import fit
from howlearn.fitting.fits import STATUS_WORDS
from howlearn.fitting.joint import without_own
from howlearn.models.exp4 import Exp4
from howlearn.models.mixture import Expert
from howlearn.models.q_learning import QLearning
from howlearn.models.task import Task
from howlearn.selection.criteria import AIC, HoldOut, Likelihood, Prequential
from howlearn.simulation.simulate import simulate

TASK = Task.load("five-four")
PATTERN, PATTERN_EXC = TASK.model("ByPattern"), TASK.model("ByPatternExc")
EXPERTS = [PATTERN, PATTERN_EXC]
TRAINING, JOINT, POPULATION = (Exp4(EXPERTS, source=s) for s in ("training", "joint", "population"))
GIVEN = Exp4([Expert(model, {"eta": 0.05}) for model in EXPERTS])


@pytest.fixture(scope="module")
def study() -> Study:
    return simulate(TASK, GIVEN, {"theta": 0.2}, learners=5, trials=160, seed=8)


def _words(part, learner: int = 0, mark: int = 0) -> list[str]:
    return [STATUS_WORDS[code] for code in part.status[learner, mark]]


def test_what_is_fitted_is_counted(study: Study) -> None:
    fits = fit(study, [GIVEN, TRAINING, POPULATION])
    counts = {name: part.n_parameters[0] for name, part in fits.of.items()}
    assert counts == {GIVEN.name: 1, TRAINING.name: 7, POPULATION.name: 1}
    assert [m.n_parameters(2) for m in (GIVEN, TRAINING, POPULATION)] == [1, 7, 1]
    # What is to be said of an expert's own fit is still said.
    assert set(_words(fits.of[TRAINING.name])[1:]) == {"own fit", "at lower bound"}
    assert set(_words(fits.of[POPULATION.name])[1:]) == {"from others"}
    mixed = Exp4([Expert(PATTERN, {"eta": 0.05}), PATTERN_EXC])
    assert fit(study, [mixed]).of[mixed.name].n_parameters[0] == 5


def test_a_cell_that_a_learner_never_met_is_not_counted(study: Study) -> None:
    seven = study.contexts.index("7")  # a cell of its own in ByPatternExc
    first = study.part(0, 1)
    kept = first.context != seven
    columns = ("context", "action", "reward", "scored", "learned", "reset")
    few = replace(
        first, starts=np.array([0, kept.sum()]), **{c: getattr(first, c)[kept] for c in columns}
    )
    fits = fit(few, [TRAINING, PATTERN_EXC])
    assert fits.of["ByPatternExc"].n_parameters[0] == 3
    assert fits.of[TRAINING.name].n_parameters[0] == 6


def test_training_uses_the_trials_fitted_only(study: Study) -> None:
    fits = fit(study, [TRAINING, PATTERN, PATTERN_EXC], [0.5, 1.0])
    own = np.concatenate([fits.of[m.name].theta for m in EXPERTS], axis=2)
    assert np.array_equal(fits.of[TRAINING.name].theta[:, :, 1:], own)
    later = replace(study, action=study.action.copy(), reward=study.reward.copy())
    for i in range(len(study)):
        end = slice(study.starts[i] + 80, study.starts[i + 1])
        later.action[end] = 1 - later.action[end]
        later.reward[end] = 1 - later.reward[end]
    for model in (TRAINING, JOINT):
        before = fit(study, [model], [0.5]).of[model.name]
        after = fit(later, [model], [0.5]).of[model.name]
        assert np.array_equal(before.theta, after.theta)
        assert np.array_equal(before.log_likelihood, after.log_likelihood)


def test_the_population_are_the_others(study: Study) -> None:
    alone = fit(study, EXPERTS)
    part = fit(study, [POPULATION], [0.5, 1.0]).of[POPULATION.name]
    own = np.concatenate([alone.of[m.name].theta[:, 0] for m in EXPERTS], axis=1)
    for i in range(len(study)):
        others = np.delete(own, i, axis=0)
        assert part.theta[i, 0, 1:] == pytest.approx(np.median(others, axis=0))
        assert np.array_equal(part.theta[i, 0, 1:], part.theta[i, 1, 1:])
    with pytest.raises(HowlearnError, match="one learner only"):
        fit(study.part(0, 1), [POPULATION])


def test_the_median_of_the_others() -> None:
    random = np.random.default_rng(1)
    for n in range(2, 9):
        values = random.random(n)
        values[random.random(n) < 0.2] = np.nan
        found = without_own(values, 0.5)
        for i in range(n):
            others = np.delete(values, i)
            others = others[~np.isnan(others)]
            assert found[i] == (np.median(others) if len(others) else 0.5)


def test_joint_fits_are_never_worse_than_plug_in_fits(study: Study) -> None:
    """Whatever the plug-in: own fits, given ones, other rules, other models as experts."""
    three = [TASK.model("OneForAll"), *EXPERTS]
    other = [QLearning(), PATTERN]
    for experts in (EXPERTS, three, other):
        plug_in, joint = Exp4(experts), Exp4(experts, source="joint")
        fits = fit(study.part(0, 2), [plug_in, joint], [0.5, 1.0])
        better = fits.of[joint.name].log_likelihood - fits.of[plug_in.name].log_likelihood
        assert better.min() > -1e-9
        assert better.max() > 0.01
        part = fits.of[joint.name]
        assert np.array_equal(part.n_parameters, fits.of[plug_in.name].n_parameters)
        assert part.agreement is not None
        assert np.all((part.agreement > 0) & (part.agreement <= 1))
    given = fit(study.part(0, 2), [GIVEN, JOINT])
    assert np.all(given.of[JOINT.name].log_likelihood >= given.of[GIVEN.name].log_likelihood - 1e-9)


def test_the_values_of_a_joint_fit_are_those_of_its_parameters(study: Study) -> None:
    fits = fit(study.part(0, 2), [JOINT], [0.5, 1.0])
    part = fits.of[JOINT.name]
    for i in range(2):
        for j, share in enumerate((0.5, 1.0)):
            log_p = fits.log_probability(i, JOINT.name, share)
            mark = int(160 * share)
            assert part.log_likelihood[i, j] == pytest.approx(log_p[:mark].sum(), abs=1e-9)
            assert part.rest[i, j] == pytest.approx(log_p[mark:].sum(), abs=1e-9)


def test_any_criterion_judges_any_mixture(study: Study) -> None:
    models = [GIVEN, TRAINING, POPULATION, PATTERN, PATTERN_EXC]
    criteria = [AIC(), HoldOut(), Prequential(blocks=2), Likelihood(trials=30), Likelihood()]
    selection = select(study, models, criteria)
    scores = selection.scores
    assert scores["score"].is_finite().all()
    assert scores.height == 5 * 5 * len(models)
    short = scores.filter(criterion="likelihood(trials=30)")
    assert set(short["n_trials"]) == {30}
    assert set(short["penalty"]) == {0.0}
    # A hold-out of later trials is what prediction with frozen parameters gives.
    fits = selection.fits
    block = fits.between(0.5, 0.75)
    for k, name in enumerate(fits.of):
        expected = [fits.log_probability(i, name, 0.5)[80:120].sum() for i in range(len(study))]
        assert block[:, k] == pytest.approx(expected, abs=1e-9)


def test_experts_and_candidates_of_one_name_are_one_model(study: Study) -> None:
    other = replace(PATTERN, name="ByPatternExc")
    with pytest.raises(HowlearnError, match="not the same model as the candidate"):
        fit(study, [TRAINING, other])
