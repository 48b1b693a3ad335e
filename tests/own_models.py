"""Models of users' own: one that is right, and many that are wrong in one way each."""

from __future__ import annotations

import numpy as np

import howlearn as hl


class Habit(hl.Model):
    """What was chosen often is chosen again: h ← h + α·(chosen − h), p = softmax(β·h)."""

    parameters = (hl.Parameter("alpha", 0, 1), hl.Parameter("beta", 0, 10))
    latents = ("habit(action)",)

    @staticmethod
    def start(world):
        return np.zeros((world.n_cells, world.n_actions))

    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = theta.beta * state[shown.cell]
        hl.log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        state[trial.cell] *= 1 - theta.alpha
        state[trial.cell, trial.action] += theta.alpha

    @staticmethod
    def observe(state, trial, theta, out):
        out[:] = state[trial.cell]


class LooksAtTheChoice(Habit):
    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = theta.beta * state[shown.cell]
        out[shown.action] += 1
        hl.log_softmax(out)


class LooksAtTheReward(Habit):
    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = theta.beta * shown.reward * state[shown.cell]
        hl.log_softmax(out)


class NotNormalised(Habit):
    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = theta.beta * state[shown.cell]


class SometimesNotNormalised(Habit):
    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = theta.beta * state[shown.cell]
        hl.log_softmax(out)
        if state[shown.cell, 0] > 0.6:
            out[0] -= 0.1


class NotANumber(Habit):
    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = theta.beta * state[shown.cell]
        hl.log_softmax(out)
        if state[shown.cell, 0] > 0.5:
            out[0] = np.nan


class NotANumberAtABound(Habit):
    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = state[shown.cell] * theta.beta / theta.beta
        hl.log_softmax(out)


class FillsTooLittle(Habit):
    @staticmethod
    def log_policy(state, shown, theta, out):
        out[0] = 0.0


class ChangesTheState(Habit):
    @staticmethod
    def log_policy(state, shown, theta, out):
        state[shown.cell] += 0.1
        out[:] = theta.beta * state[shown.cell]
        hl.log_softmax(out)


class OutsideTheArray(Habit):
    @staticmethod
    def update(state, trial, theta):
        state[trial.cell, trial.action + 1] += theta.alpha


class UnknownParameter(Habit):
    @staticmethod
    def update(state, trial, theta):
        state[trial.cell, trial.action] += theta.alhpa


def plain_helper(x):
    return x + 1


class UsesAPlainHelper(Habit):
    @staticmethod
    def update(state, trial, theta):
        state[trial.cell, trial.action] += plain_helper(theta.alpha)


class UsesText(Habit):
    @staticmethod
    def update(state, trial, theta):
        state[trial.cell, trial.action] += float(f"{theta.alpha:.3f}")


class WrongGradient(Habit):
    @staticmethod
    def gradient(state, shown, theta, action, out):
        out[0], out[1] = 0.0, 1.0


class NoUpdate(hl.Model):
    parameters = ()

    @staticmethod
    def start(world):
        return np.zeros(1)

    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = -np.log(len(out))


class NotStatic(Habit):
    def update(self, state, trial):
        pass


class TooFewArguments(Habit):
    @staticmethod
    def update(state, trial):
        pass


class TwoOfOneName(Habit):
    parameters = (hl.Parameter("alpha", 0, 1), hl.Parameter("alpha", 0, 10))


class OddName(Habit):
    parameters = (hl.Parameter("learning rate", 0, 1), hl.Parameter("beta", 0, 10))


class LatentsUnfilled(Habit):
    @staticmethod
    def observe(state, trial, theta, out):
        out[0] = 1.0


class Rebinds(Habit):
    @staticmethod
    def update(state, trial, theta):
        state = state * (1 - theta.alpha)


class ContextsForCells(Habit):
    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = theta.beta * state[shown.context]
        hl.log_softmax(out)


class ObserveChanges(Habit):
    @staticmethod
    def observe(state, trial, theta, out):
        state[:] += 1.0
        out[:] = state[trial.cell]


class Random(Habit):
    @staticmethod
    def log_policy(state, shown, theta, out):
        out[0] = np.random.random()  # noqa: NPY002
        out[1:] = 0.0
        hl.log_softmax(out)


class StateIsAList(Habit):
    @staticmethod
    def start(world):
        return [0.0] * world.n_actions


class UnnormalisedLate(Habit):
    """After 80 trials its probabilities add up to more than 1, for some parameters only."""

    @staticmethod
    def start(world):
        return np.zeros((world.n_cells + 1, world.n_actions))

    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = theta.beta * state[shown.cell]
        hl.log_softmax(out)
        if state[-1, 0] > 80 and theta.beta < 4:
            out[:] += 0.2

    @staticmethod
    def update(state, trial, theta):
        state[trial.cell] *= 1 - theta.alpha
        state[trial.cell, trial.action] += theta.alpha
        state[-1, 0] += 1


class ShortMemory(Habit):
    """Its memory ends before the record does."""

    @staticmethod
    def start(world):
        return np.zeros((102, world.n_actions))

    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = theta.beta * state[0]
        hl.log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        state[0, trial.action] += theta.alpha
        state[int(state[1, 0]) + 2, 0] = trial.reward
        state[1, 0] += 1
