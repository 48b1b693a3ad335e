"""Doubles of recorded learners: the same contexts and number of trials, at their estimates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from howlearn.analyses.designs import APART, ENOUGH, described
from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import own_names
from howlearn.core.study import Study
from howlearn.fitting.fit import guarded_fit
from howlearn.fitting.unfittable import Guard
from howlearn.models.model import Model
from howlearn.models.task import Task
from howlearn.models.user_code import own_model
from howlearn.models.values import Parameters
from howlearn.results.inputs import Inputs
from howlearn.simulation.shown import RecordedRewards
from howlearn.simulation.simulate import play, stage_for

MANY = 2_000  # recorded learners who get a double each; of more, so many are picked evenly


class LikeDesign:
    """Doubles: each recorded learner's contexts and n, every model at that learner's estimates."""

    def __init__(
        self,
        study: Study,
        truths: Sequence[Model],
        task: Task | None = None,
        learners: int | None = None,
        seed: int = 0,
        threads: int | None = None,
    ) -> None:
        self.truths = tuple(truths)
        self.task, self.seed = task, seed
        study = study.without_excluded()
        self.recorded, guard = len(study), Guard()
        study = guard.long_enough(study)
        if not len(study):
            guard.end()
        while True:
            self._imitate(study, learners)
            guard = Guard()
            self.fits = guarded_fit(guard, self.study, self.truths, threads=threads)
            if guard.kept is None:
                break
            if not len(guard.kept):
                guard.end()
            lost = np.unique(self.imitated[[*guard.why]])
            study = study.take(np.delete(np.arange(len(study)), lost))  # others take their places

    def _imitate(self, study: Study, learners: int | None) -> None:
        """Who is imitated: cycle through few, pick evenly among many."""
        if learners is None:
            whole = -(-ENOUGH // len(study)) * len(study)
            learners = whole if len(study) <= MANY else MANY
        if learners < 1:
            raise HowlearnError(f"at least one double is needed, not {learners}")
        self.learners, self.usable = learners, len(study)
        who = np.arange(learners) % len(study)
        if learners < len(study):
            who = np.arange(learners) * len(study) // learners
        self.imitated, self.place = np.unique(who, return_inverse=True)
        self.study = study.take(self.imitated)

    def simulate(self, truth: int, stream: int, start: int, stop: int) -> tuple[Study, Floats]:
        model = self.truths[truth]
        place = self.place[start:stop]
        theta = self.fits.of[model.name].theta[place, 0]
        stage = stage_for(self.task, model, like=self.study)
        seeds = (self.seed, truth, stream, APART)
        return play(stage, theta, range(start, stop), seeds, who=place), theta

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know before reading error rates."""
        return (
            *self.about_play,
            "doubles learn at their learners' estimates, which scatter more than true rates do; so "
            "models with many cells are easier to recognise here than among your learners",
            *self._about_rates(),
        )

    @property
    def about_play(self) -> tuple[str, ...]:
        """What a user should know about the doubles themselves."""
        lost = self.recorded - self.usable
        found = ()
        if lost:
            found = (
                f"{lost:,} of {self.recorded:,} recorded learners could not be fitted, and have no "
                "doubles",
            )
        if self.task is None or not self.task.rewards:
            return (*found, self._about_rewards())
        if self.task.stop is None:
            return found
        return (
            *found,
            "the stopping rule is applied again: a double may stop before the learner it imitates "
            "did, and never goes on for longer",
        )

    def _about_rewards(self) -> str:
        rewards = RecordedRewards(self.study)
        for trials in self.study:
            rewards.complete(trials)
        note = (
            "no task file says what the actions earn, so rewards are drawn from what each learner "
            "was paid for the same action in the same context, as if that never changed between "
            "two new starts (--reset-by)"
        )
        if rewards.implied:
            note += (
                f"; for {rewards.implied:,} actions that a learner never tried there, right or "
                "wrong follows from the others"
            )
        if rewards.borrowed:
            note += f"; for {rewards.borrowed:,} it is what other learners or contexts were paid"
        return note

    def _about_rates(self) -> list[str]:
        """Doubles of learners who do not learn under a model follow no model in particular."""
        counts = []
        for name, part in self.fits.of.items():
            if part.model.units:
                idle = np.all(part.theta[:, 0] == 0, axis=1)[self.place].sum()
                counts += [f"{name} {idle:,}"] if idle else []
        if not counts:
            return []
        return [
            f"of {self.learners:,} doubles per model some have no positive rate in any cell and "
            f"choose by chance, so that nothing can tell their model: {', '.join(counts)}; they "
            "are counted among the errors"
        ]

    def described(self) -> dict[str, Any]:
        return {
            "like": {
                "sequences": self.recorded,
                "trials": int(self.study.starts[-1]),
                "imitated": _hash_of(self.study),
            },
            **(described(self.task) if self.task else {"task": None}),
            "learners_per_model": self.learners,
            "seed": self.seed,
        }


def _hash_of(study: Study) -> str:
    """Of all trials: two studies of one size are still two studies."""
    digest = hashlib.sha256(repr((study.contexts, study.actions, study.reward_range)).encode())
    for column in (study.starts, study.context, study.action, study.reward):
        digest.update(np.ascontiguousarray(column).tobytes())
    digest.update(np.packbits([study.scored, study.learned, study.reset]).tobytes())
    for told in (study.forgone, study.episode_end, study.duration):
        digest.update(b"" if told is None else np.ascontiguousarray(told).tobytes())
    return f"sha256:{digest.hexdigest()}"


def doubles(
    inputs: Inputs,
    model: str,
    parameters: Parameters,
    learners: int | None = None,
    trials: int | None = None,
    seed: int = 0,
    as_published: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Study, tuple[str, ...]]:
    """Doubles who follow one model, at given parameters or else at each learner's estimates."""
    known = {candidate.name: candidate for candidate in inputs.candidates}
    for each in own_names(model):  # as it is typed to allow its code
        model = model.replace(each, own_model(each).name)
    if model not in known:
        raise HowlearnError(
            f"the results have no model {model!r}; their models are {', '.join(known)}"
        )
    n = learners or len(inputs.study)
    design = LikeDesign(inputs.study, [known[model]], inputs.task, n, seed)
    place = design.place
    theta = design.fits.of[model].theta[place, 0]
    stage = stage_for(inputs.task, known[model], trials, design.study, as_published)
    study = play(stage, parameters or theta, range(n), seed, progress, place)
    return study, design.about_play
