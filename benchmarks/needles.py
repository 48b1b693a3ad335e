"""``python -m benchmarks.needles``: cells of Exp3-IX with losses, against a much longer search.

Simulated learners whose contexts share a cell, of 500 trials. The long search climbs from the true
parameters and around them, from eight more clouds and from all ridges.
"""

from __future__ import annotations

import argparse
from itertools import product
from time import process_time

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.rules import Exp3IX
from howlearn.core.study import Study
from howlearn.engine.cell_fits import Passes, fit_units
from howlearn.engine.layout import Statuses, lay_out
from howlearn.engine.trial_by_trial import followed
from howlearn.engine.two_parameters import Climb, highest
from howlearn.fitting.cells import block_of

RULE, TRIALS, CLOUDS, AROUND = Exp3IX("loss"), 500, 8, 40
PAYS = ((1.0, 0.0), (0.8, 0.2))  # chances of a reward: for the right action, and for others
MISSED = 0.01  # nats


def learner(seed: int, actions: int, contexts: int, pays: int) -> tuple[Study, Floats]:
    """A record, and the parameters η and γ of who made it."""
    random = np.random.default_rng([seed, actions, contexts, pays])
    eta = np.exp(random.uniform(np.log(0.01), np.log(0.5)))
    gamma = min(eta * np.exp(random.uniform(-1.5, 1.5)), 1.0)
    right, h = random.integers(0, actions, contexts), np.zeros(actions)
    context, action = np.zeros(TRIALS, np.int32), np.zeros(TRIALS, np.int16)
    reward = np.zeros(TRIALS)
    for t in range(TRIALS):
        context[t] = random.integers(0, contexts)
        p = np.exp(h - h.max())
        p /= p.sum()
        action[t] = random.choice(actions, p=p)
        chance = PAYS[pays][int(action[t] != right[context[t]])]
        reward[t] = float(random.random() < chance)
        h[action[t]] += eta * (reward[t] - 1.0) / (p[action[t]] + gamma)
    names = tuple(f"{k}" for k in range(max(actions, contexts)))
    every = np.ones(TRIALS, bool)
    study = Study(
        ("1",), np.array([0, TRIALS]), names[:contexts], names[:actions], context, action, reward,
        every, every, np.arange(TRIALS) == 0, (0.0, 1.0),
    )  # fmt: skip
    return study, np.array([eta, gamma])


def long_search(climb: Climb, truth: Floats) -> float:
    """The highest top from the truth, around it, from clouds with other draws and from ridges."""
    one, random = np.zeros(1, np.int64), np.random.default_rng(1)
    near = np.stack([p.u(x) for p, x in zip(RULE.parameters, truth, strict=True)])
    size = 10.0 ** random.uniform(-6.0, -1.0, (AROUND, 1))
    around = np.concatenate([near[None], near + size * random.normal(size=(AROUND, 2))])
    starts = [(np.zeros(len(around), np.int64), np.clip(around, 0.0, climb.ends))]
    starts += [followed(climb, one, 1_000 + seed) for seed in range(CLOUDS)]
    starts.append(highest(climb, one))
    return max(float(climb.climbed(*each)[2].max()) for each in starts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.needles", description=__doc__)
    parser.add_argument("--learners", type=int, default=10)
    parser.add_argument("--seed", type=int, default=12_000)
    given = parser.parse_args()
    for kind in product((2, 3, 4), (1, 3, 9), (0, 1)):
        found, took = [], []
        for seed in range(given.seed, given.seed + given.learners):
            study, truth = learner(seed, *kind)
            cell = lay_out([[[*range(len(study.contexts))]]], len(study.contexts))
            block = block_of(study, RULE, np.diff(study.starts)[:, None])
            passes = Passes.prepare(block, cell, RULE)
            before = process_time()
            fits = fit_units(block, cell, RULE)
            took.append(process_time() - before)
            lack = long_search(Climb(passes, RULE.parameters), truth) - float(fits.value[0, 0, 0])
            found.append((lack, bool(fits.status.reshape(-1)[0] == Statuses.UNSTABLE)))
        missed = [f"{lack:.2f}{' (unstable)' * known}" for lack, known in found if lack > MISSED]
        print(
            f"{kind[0]} actions, {kind[1]} contexts, rewards with {PAYS[kind[2]]}: median "
            f"{1e3 * np.median(took):.0f} ms; below: {', '.join(missed) or 'none'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
