"""Who is simulated: the task's learners, and doubles of recorded ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import howlearn as hl
from howlearn.analyses import contests, designs
from howlearn.analyses.designs import LikeDesign, TaskDesign, by_model_name
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study, joined

TASK = hl.Task.load("shepard-1")
BLIND = replace(TASK, rewards={})
NAMES = ("OneForAll", "ByFeature1", "ByFeature1 (one rate)", "Coin")
MODELS = tuple(TASK.model(name) for name in NAMES)


def study_with(*trials: int, seed: int = 1, eta: float = 0.2) -> Study:
    """A learner of ByFeature1 for each number of trials."""
    parts = [
        (str(n), hl.simulate(TASK, "ByFeature1", {"eta": eta}, 1, n, (seed, i)))
        for i, n in enumerate(trials)
    ]
    return joined(parts, "trials")


@pytest.fixture(scope="module")
def study() -> Study:
    return study_with(24, 31, 40)


# --- doubles --------------------------------------------------------------------------------------


@pytest.mark.parametrize("truth", range(len(NAMES)), ids=NAMES)
@pytest.mark.parametrize("task", [TASK, BLIND, None], ids=["task", "no rewards", "no task"])
def test_doubles_have_the_contexts_trials_and_estimates(
    study: Study, truth: int, task: hl.Task | None
) -> None:
    like = LikeDesign(study, MODELS, task, learners=7)
    played, theta = like.simulate(truth, 0, 0, 7)
    estimates = hl.fit(study, MODELS).of[NAMES[truth]].theta[:, 0]
    assert len(played) == 7
    for i, double in enumerate(played):
        recorded = study[i % 3]
        assert theta[i].tolist() == estimates[i % 3].tolist()
        shown = [double.contexts[c] for c in double.context]
        assert shown == [recorded.contexts[c] for c in recorded.context]
        chosen = [double.actions[a] for a in double.action]
        right = [TASK.rewards[c][a].expected for c, a in zip(shown, chosen, strict=True)]
        assert double.reward.tolist() == right
    assert [t.action.tolist() for t in played] != [study[i % 3].action.tolist() for i in range(7)]


def test_doubles_of_one_learner_differ(study: Study) -> None:
    played, _ = LikeDesign(study, MODELS, TASK, learners=6).simulate(0, 0, 0, 6)
    for i in range(3):
        assert played[i].action.tolist() != played[i + 3].action.tolist()


def test_the_doubles_who_test_the_constants_are_others(study: Study) -> None:
    like = LikeDesign(study, MODELS, TASK, learners=6)
    chose, test = (like.simulate(1, stream, 0, 6)[0] for stream in (0, 1))
    for one, other in zip(chose, test, strict=True):
        assert one.context.tolist() == other.context.tolist()
        assert one.action.tolist() != other.action.tolist()


def test_doubles_follow_their_estimates() -> None:
    """A coin at .9: of 4,000 choices so many as 4 standard errors allow."""
    study = replace(study_with(400, 400), action=np.zeros(800, np.int16))
    study.action[::10] = 1  # p(A) is .9 for both
    played, theta = LikeDesign(study, MODELS, None, learners=10).simulate(3, 0, 0, 10)
    assert theta[:, 0] == pytest.approx(np.full(10, 0.9))
    share = np.mean(np.concatenate([t.action for t in played]) == 0)
    assert abs(share - 0.9) < 4 * (0.09 / 4000) ** 0.5


def test_doubles_do_not_depend_on_how_they_are_cut(study: Study) -> None:
    like = LikeDesign(study, MODELS, TASK, learners=7)
    whole, theta = like.simulate(1, 1, 0, 7)
    first, second = (like.simulate(1, 1, *ends) for ends in ((0, 4), (4, 7)))
    actions = np.concatenate([first[0].action, second[0].action])
    assert np.array_equal(whole.action, actions)
    assert np.array_equal(theta, np.concatenate([first[1], second[1]]))


def test_few_learners_are_imitated_over_and_over(study: Study) -> None:
    like = LikeDesign(study, MODELS, TASK)
    assert like.learners == 201  # the first multiple of 3 from 200 on
    assert like.place[:5].tolist() == [0, 1, 2, 0, 1]
    assert np.bincount(like.place).tolist() == [67, 67, 67]


def test_of_many_learners_some_are_picked_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    many = study_with(*range(20, 26))
    monkeypatch.setattr(designs, "MANY", 4)
    like = LikeDesign(many, MODELS, TASK)
    assert like.learners == 4
    played, _ = like.simulate(0, 0, 0, 4)
    assert played.n_scored.tolist() == [20, 21, 23, 24]
    asked = LikeDesign(many, MODELS, TASK, learners=2)
    assert asked.simulate(0, 0, 0, 2)[0].n_scored.tolist() == [20, 23]


def test_a_calibration_of_doubles_has_their_numbers_of_trials(study: Study) -> None:
    found = hl.calibrate(TASK, MODELS, like=study, learners=6, splits=[0.5], constants=[0.1])
    assert found.contest.models == NAMES
    assert found.contest.n_scored.reshape(4, 6).tolist() == [[24, 31, 40] * 2] * 4
    assert found.recommendation["median_trials"] == 31
    # The slope methods look at the recorded learners, got their doubles.
    own = found.slope.drop_nulls("learner")["learner"].unique(maintain_order=True)
    assert own.to_list() == list(study.learners)


def test_doubles_without_models_compete_among_the_candidates(study: Study) -> None:
    found = hl.calibrate(like=study, learners=3, splits=[], constants=[0.1])
    names = tuple(model.name for model in hl.candidates(study.contexts, study.features))
    assert found.contest.models == names
    assert len(names) == 8


def test_where_no_rewards_are_stated_a_note_says_where_they_come_from(study: Study) -> None:
    assert LikeDesign(study, MODELS, TASK, 3).about_play == ()
    for task in (None, BLIND):
        (note,) = LikeDesign(study, MODELS, task, 3).about_play
        assert note.startswith("no task file says what the actions earn")
    # All 8 contexts, one action tried in each: for the other, right or wrong follows.
    one = study_with(8)
    (note,) = LikeDesign(one, MODELS, None, 1).about_play
    assert "for 8 actions that a learner never tried there" in note


def test_notes_say_that_doubles_are_easy_and_who_does_not_learn() -> None:
    idle = study_with(40, 40, eta=0.0)
    easy, *others = LikeDesign(idle, MODELS, TASK, 4).notes
    assert "easier to recognise here than among your learners" in easy
    flat = hl.fit(idle, MODELS).of["OneForAll"].theta[:, 0, 0] == 0
    assert flat.any()
    assert f"OneForAll {2 * flat.sum()}" in others[0]
    learned = study_with(200, eta=0.3)
    assert len(LikeDesign(learned, MODELS[1:2], TASK, 2).notes) == 1


def test_the_stopping_rule_ends_doubles() -> None:
    task = replace(TASK, stop=5)
    study = study_with(60, 80, eta=0.5)
    played, _ = LikeDesign(study, MODELS, task, learners=20).simulate(1, 0, 0, 20)
    ended = 0
    for i, double in enumerate(played):
        rewards = "".join(f"{reward:.0f}" for reward in double.reward)
        assert "11111" not in rewards[:-1]
        if not rewards.endswith("11111"):
            assert len(double) == (60, 80)[i % 2]
        else:
            ended += 1
            assert len(double) <= (60, 80)[i % 2]
    assert ended > 10


def test_a_design_says_what_decides_who_is_simulated(study: Study) -> None:
    """Another study of the same size, or a task file with other rewards, is another run."""
    other = study_with(24, 31, 40, seed=2)
    same = LikeDesign(study_with(24, 31, 40), MODELS, TASK, 3).described()
    mine = LikeDesign(study, MODELS, TASK, 3).described()
    assert mine == same
    assert mine != LikeDesign(other, MODELS, TASK, 3).described()
    swapped = dict(zip(TASK.rewards, [*TASK.rewards.values()][::-1], strict=True))
    by_task = TaskDesign(TASK, MODELS, {}, 3).described()
    for changed in (replace(TASK, rewards=swapped), replace(TASK, stop=9)):
        assert LikeDesign(study, MODELS, changed, 3).described() != mine
        assert TaskDesign(changed, MODELS, {}, 3).described() != by_task
    close = [TaskDesign(TASK, MODELS, {"": {"eta": eta}}, 3) for eta in (0.1, 0.1 + 1e-9)]
    assert close[0].described() != close[1].described()


# --- learners of a task ---------------------------------------------------------------------------


def test_parameters_for_all_models_and_for_one() -> None:
    parameters = by_model_name({"eta": 0.1, "ByFeature1": {"eta": [0.2, 0.3]}})
    mine = TaskDesign(TASK, MODELS, parameters, 2)
    assert [mine.values(k) for k in range(4)] == [[0.1], [0.2, 0.3], [0.1], [0.5]]
    defaults = TaskDesign(TASK, MODELS, {}, 2)
    assert defaults.values(0) == [0.03]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"theta": 0.1}, "no simulated model has a parameter theta; there is eta, p"),
        ({"Nobody": {"eta": 0.1}}, "parameters are given for model Nobody, which is not simulated"),
        ({"eta": 2.0}, "must lie between 0 and 1, got 2"),
        ({"OneForAll": {"gamma": 0.1}}, "model OneForAll has no parameter gamma; it has eta"),
        ({"ByFeature1": {"eta": [0.1, 0.2, 0.3]}}, "needs one value, or 2, one per cell"),
    ],
)
def test_parameters_that_nobody_has_are_refused(parameters: dict, message: str) -> None:
    with pytest.raises(HowlearnError, match=message):
        hl.calibrate(TASK, MODELS, parameters, learners=2, trials=8)


def test_parts_do_not_change_who_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"learners": 7, "trials": 24, "constants": [0.1, 0.3], "splits": [0.5]}
    whole = hl.calibrate(TASK, MODELS, {"eta": hl.Range(0.1, 0.4)}, **options)
    monkeypatch.setattr(contests, "GROUP", 3)
    parts = hl.calibrate(TASK, MODELS, {"eta": hl.Range(0.1, 0.4)}, **options)
    for table in ("errors", "confusion", "recovery", "settings"):
        assert getattr(whole, table).equals(getattr(parts, table))
    assert whole.estimates.equals(parts.estimates)


def test_a_task_without_rewards_cannot_be_simulated() -> None:
    with pytest.raises(HowlearnError, match="does not say what its actions earn"):
        TaskDesign(BLIND, MODELS, {})
