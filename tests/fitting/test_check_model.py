"""check_model and fit find what is wrong with a model, and say it in a sentence."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import howlearn as hl
import own_models
from howlearn.models import FIELD, field_model

WRONG = {
    "LooksAtTheChoice": "looks at the future: it reads action",
    "LooksAtTheReward": "looks at the future: it reads reward",
    "NotNormalised": "add up to 2 at trial 1",
    "SometimesNotNormalised": "not to 1",
    "NotANumber": "returns NaN",
    "NotANumberAtABound": "returns NaN",
    "FillsTooLittle": "it must fill out with a log-probability for every action",
    "ChangesTheState": "changes the state at trial 1",
    "OutsideTheArray": "update fails with IndexError",
    "UnknownParameter": "asks for theta.alhpa; the parameters of the model are alpha, beta",
    "UsesAPlainHelper": "uses plain_helper, which cannot be compiled",
    "UsesText": "cannot be compiled",
    "WrongGradient": "its gradient in alpha is 0",
}
MISSHAPEN = {
    "NoUpdate": "it has no function update(state, trial, theta)",
    "NotStatic": "update must be a @staticmethod",
    "TooFewArguments": "update takes 2 arguments; needed: update(state, trial, theta)",
    "TwoOfOneName": "two parameters have the same name",
    "OddName": "'learning rate' has no name that Python can write as theta.NAME",
    "LatentsUnfilled": "observe leaves some of its latents",
    "Rebinds": "update writes state = …, which leaves the state as it was",
    "ContextsForCells": "log_policy fails with IndexError",
    "ObserveChanges": "observe changes the state at trial 1",
    "Random": "nothing in it may be random",
    "StateIsAList": "start gives a list; needed: a numpy array",
}


@pytest.fixture(scope="module")
def study() -> hl.Study:
    task = hl.Task.load("five-four")
    return hl.simulate(task, "ByShape", {"eta": 0.05}, learners=5, trials=120, seed=3)


@pytest.mark.parametrize("name", sorted(FIELD))
def test_every_model_of_the_field_passes(name: str) -> None:
    assert "no look at the future" in hl.check_model(field_model(name, 2)).checks


def test_a_model_of_ones_own_passes_as_a_class_or_an_object(study: hl.Study) -> None:
    assert hl.check_model(own_models.Habit).model == "Habit"
    assert "latents" in hl.check_model(own_models.Habit(), study).checks


@pytest.mark.parametrize("name", [*WRONG, *MISSHAPEN])
def test_what_is_wrong_is_said(name: str) -> None:
    with pytest.raises(hl.HowlearnError) as error:
        hl.check_model(getattr(own_models, name))
    assert {**WRONG, **MISSHAPEN}[name] in str(error.value)


@pytest.mark.parametrize("name", WRONG)
def test_a_fit_catches_it_too(name: str, study: hl.Study) -> None:
    with pytest.raises(hl.HowlearnError) as error:
        hl.fit(study, [getattr(own_models, name)()])
    assert WRONG[name] in str(error.value)


def test_a_number_that_is_none_late_in_another_learners_record(study: hl.Study) -> None:
    class Late(own_models.Habit):
        """Gives NaN from trial 110 on, in the records of learners whose first choice was B."""

        @staticmethod
        def start(world):
            return np.zeros((world.n_cells + 1, world.n_actions))

        @staticmethod
        def log_policy(state, shown, theta, out):
            out[:] = theta.beta * state[shown.cell]
            hl.log_softmax(out)
            if state[-1, 0] >= 110 and state[-1, 1] == 1:
                out[:] = np.nan

        @staticmethod
        def update(state, trial, theta):
            if state[-1, 0] == 0:
                state[-1, 1] = trial.action
            state[-1, 0] += 1

    first = study.action[study.starts[:-1]]
    ordered = study.take(np.argsort(first, kind="stable"))
    assert sorted(set(first.tolist())) == [0, 1]  # the first learner of the study is innocent
    with pytest.raises(hl.HowlearnError, match="returns NaN for learner"):
        hl.fit(ordered, [Late()])
    # It is a row with a status of a selection, which goes on with the innocent.
    found = hl.select(ordered, [Late(), hl.models.Coin()], ["aic"])
    guilty = [n for n, a in zip(study.learners, first.tolist(), strict=True) if a == 1]
    assert sorted(found.unfitted["learner"]) == sorted(guilty)
    assert found.unfitted["why"].str.contains("Late returns NaN").all()
    assert found.selection.filter(pl.col("model").is_null())["learner"].n_unique() == len(guilty)
    assert found.fits.study.action[found.fits.study.starts[:-1]].sum() == 0
    with pytest.raises(hl.HowlearnError, match="returns NaN"):  # nobody is innocent
        hl.select(study.take(np.flatnonzero(first == 1)), [Late(), hl.models.Coin()], ["aic"])


@pytest.mark.parametrize(
    ("name", "message"),
    [("UnnormalisedLate", "add up to 1.2"), ("ShortMemory", "update fails with IndexError")],
)
def test_what_shows_late_in_a_record_is_caught_by_a_fit(
    name: str, message: str, study: hl.Study
) -> None:
    with pytest.raises(hl.HowlearnError) as error:
        hl.fit(study, [getattr(own_models, name)()])
    assert message in str(error.value)


def test_cells_of_a_partition_are_tried(study: hl.Study) -> None:
    model = hl.Task.load("five-four").model("own_models:ContextsForCells(ByShape)")
    with pytest.raises(hl.HowlearnError, match="log_policy fails with IndexError"):
        hl.fit(study, [model])


def test_a_class_is_not_yet_a_model(study: hl.Study) -> None:
    with pytest.raises(hl.HowlearnError, match=r"Habit is a class; give a model, Habit\(\)"):
        hl.fit(study, [own_models.Habit])


def test_something_else_than_a_model() -> None:
    with pytest.raises(hl.HowlearnError, match=r"inherits from howlearn\.Model"):
        hl.check_model(3)  # pyright: ignore


def test_a_model_defined_in_a_function_is_compiled_anew_when_it_changes(study: hl.Study) -> None:
    def made(stay: float) -> hl.Model:
        class Fixed(hl.Model):
            @staticmethod
            def start(world):
                return np.full(1, -1)

            @staticmethod
            def log_policy(state, shown, theta, out):
                out[:] = np.log((1 - stay) / (len(out) - 1))
                if state[0] >= 0:
                    out[state[0]] = np.log(stay)
                else:
                    out[:] = -np.log(len(out))

            @staticmethod
            def update(state, trial, theta):
                state[0] = trial.action

        return Fixed()

    for stay in (0.5, 0.9):
        found = hl.fit(study, [made(stay)]).log_likelihood(1.0)[0, 0]
        action = study[0].action
        same = action[1:] == action[:-1]
        expected = np.log(0.5) + np.where(same, np.log(stay), np.log(1 - stay)).sum()
        assert found == pytest.approx(expected, abs=1e-9)
