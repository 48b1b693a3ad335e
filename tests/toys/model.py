"""A model: what was chosen last is chosen again with one probability."""

import numpy as np

import howlearn as hl


@hl.register
class Toy(hl.Model):
    """p(the last choice) = ρ, and the other actions share the rest."""

    name = "toy-model"
    title = "a toy that repeats its last choice"
    cites = ("wilson2019", "Toymaker, 2026")
    parameters = (hl.Parameter("rho", 0.01, 0.99),)
    latents = ("last(action)",)

    @staticmethod
    def start(world):
        return np.zeros((world.n_cells, world.n_actions))

    @staticmethod
    def log_policy(state, shown, theta, out):
        met = state[shown.cell].sum()
        for a in range(len(out)):
            last = state[shown.cell, a]
            out[a] = last * theta.rho + (1 - last) * (1 - theta.rho) / (len(out) - 1)
            out[a] = np.log(out[a] if met > 0 else 1 / len(out))

    @staticmethod
    def update(state, trial, theta):
        state[trial.cell] = 0
        state[trial.cell, trial.action] = 1

    @staticmethod
    def observe(state, trial, theta, out):
        out[:] = state[trial.cell]
