"""How often doubles raise a false alarm in tasks whose rewards change.

``python -m benchmarks.fair_doubles [--studies N] [--seed S]``: the true model is among the
candidates, so at most one study in twenty should fail the check that ``howlearn select`` runs.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

import howlearn as hl
from howlearn.models.values import Reversal, Reward

LEARNERS, TRIALS = 20, 160
VALUES = {"alpha": hl.Range(0.2, 0.6), "beta": hl.Range(3.0, 8.0)}


def reversing() -> hl.Task:
    """Two arms that pay in 80 and 20%, and change places every 40 trials."""
    rewards = {"arms": {"A": Reward(0.8), "B": Reward(0.2)}}
    changes = tuple(Reversal(t + 1, ("A", "B"), ("arms",)) for t in range(40, TRIALS, 40))
    return hl.Task("reversing", ("arms",), ("A", "B"), (), rewards=rewards, reversals=changes)


def drifting(seed: int) -> hl.Study:
    """Q-learners with two arms whose chances walk at random, for every learner in another way."""
    base = hl.simulate(reversing(), "q-learning", VALUES, LEARNERS, TRIALS, seed)
    random = np.random.default_rng((seed, 9))
    action, reward = base.action.copy(), base.reward.copy()
    for i in range(LEARNERS):
        alpha, beta = random.uniform(0.2, 0.6), random.uniform(3.0, 8.0)
        q, chance = np.zeros(2), random.uniform(0.25, 0.75, 2)
        for t in range(int(base.starts[i]), int(base.starts[i + 1])):
            p = 1.0 / (1.0 + np.exp(beta * (q[0] - q[1])))  # of the second arm
            a = int(random.random() < p)
            r = float(random.random() < chance[a])
            q[a] += alpha * (r - q[a])
            action[t], reward[t] = a, r
            chance = np.clip(chance + 0.05 * random.standard_normal(2), 0.1, 0.9)
    return replace(base, action=action, reward=reward)


def fails(kind: str, seed: int) -> bool:
    """Whether the check of a study with the true model listed fails."""
    study = drifting(seed)
    if kind == "reversal":
        study = hl.simulate(reversing(), "q-learning", VALUES, LEARNERS, TRIALS, seed)
    models = ["q-learning", "q-forgetting", "win-stay-lose-shift"]
    found = hl.select(study, models, ["population"], threads=1).manifest["fit"]["check"]
    if "fails" not in found:
        raise RuntimeError(found["sentence"])
    return bool(found["fails"])


def main() -> None:
    """One row per kind of task."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fair_doubles")
    parser.add_argument("--studies", type=int, default=16)
    parser.add_argument("--seed", type=int, default=64_001)
    chosen = parser.parse_args()
    for kind in ("reversal", "drifting chances"):
        hits = [fails(kind, chosen.seed + i) for i in range(chosen.studies)]
        p, n = float(np.mean(hits)), len(hits)
        q = (sum(hits) + 1) / (n + 2)
        print(f"| {kind}: false alarms (n = {n}) | {p:.3f} ± {np.sqrt(q * (1 - q) / n):.3f} "
              "| ≤ 0.05 |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
