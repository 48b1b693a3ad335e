"""What somebody would find who knows how the parameters are distributed: the limit of inference.

``python -m benchmarks.known classes [--studies N] [--seed S]``: Q-learners beside gradient
learners, as ``python -m benchmarks.fair classes`` has them. ``python -m benchmarks.known
forgetting``: whether q-forgetting in Shepard's type II can be told from q-learning.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

import howlearn as hl
from benchmarks.fair import (
    BLUNT,
    FIELD,
    Q_RANGES,
    SHARP,
    TRIALS,
    Rates,
    others,
    partition,
    shepard,
    study_of,
)
from howlearn.core.arrays import log_sum
from howlearn.engine.search import filling
from howlearn.models.model import Model
from howlearn.models.names import among, models_of
from howlearn.models.partition_model import PartitionModel
from howlearn.models.q_learning import QLearning
from howlearn.selection.clouds import Likelihood
from howlearn.selection.hierarchy import groups_of, normal
from howlearn.selection.rate_grid import curves_of, plan_of

POINTS = 2_048
EVEN = -float(np.log(POINTS))
MANY, ROUNDS = 1_000, 300  # learners who show which Q-learners are most alike; steps of EM
Floats = NDArray[np.float64]


def of_rates(study: hl.Study, model: PartitionModel, rates: Rates) -> Floats:
    """[learner]: the log-evidence, with the rates' true distribution."""
    (group,) = groups_of([model], [0], curves_of(study, plan_of([model], study)))
    prior = normal(group.effects, float(np.log(rates.rate)), rates.tau)
    cells = {rule: group.cells(rates.s, rule) for rule in group.rules}
    return log_sum(group.sums(model, cells) + prior)


def of_points(
    study: hl.Study,
    model: Model,
    points: Callable[[Likelihood], Floats],
    log_share: Floats | float = EVEN,
) -> Floats:
    """[learner]: the log-evidence, averaged over points of a distribution of the parameters."""
    likelihood = Likelihood(model, study)
    u = points(likelihood)
    every = np.broadcast_to(u, (len(study), *u.shape))
    return log_sum(likelihood.at(every) + log_share)


def between(ranges: Sequence[tuple[float, float]]) -> Callable[[Likelihood], Floats]:
    """Even within these ranges, as simulated."""
    low, high = np.array(ranges).T

    def points(likelihood: Likelihood) -> Floats:
        theta = low + (high - low) * filling(POINTS, len(low))
        place = (theta - likelihood.lower) / likelihood.width
        return np.log(place) - np.log1p(-place)

    return points


WIDEST = ((0.02, 0.98), (0.5, 20.0))  # learning rates and inverse temperatures of Q-learners


def likest(study: hl.Study, model: Model) -> Floats:
    """log of how common each point is in the distribution that explains these learners best.

    Any distribution, whatever its shape: EM over the points' weights.
    """
    likelihood = Likelihood(model, study)
    u = between(WIDEST)(likelihood)
    found = likelihood.at(np.broadcast_to(u, (len(study), *u.shape)))
    found = np.exp(found - found.max(axis=1, keepdims=True))
    share = np.full(len(u), 1.0 / len(u))
    for _ in range(ROUNDS):
        joint = found * share
        share = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    return np.log(np.maximum(share, 1e-300))


def told(what: str, hits: Floats) -> str:
    """With the error between studies [study, learner]."""
    error = hits.mean(axis=1).std() / np.sqrt(len(hits))
    return f"| {what} (n = {hits.size:,}) | {hits.mean():.3f} ± {error:.3f} |"


def classes(studies: int, seed: int) -> Iterator[str]:
    """Half Q-learners, which is known as well."""
    task, models = shepard()
    q = QLearning()
    for what, name, rates in (
        ("OnePerItem .15", BLUNT, Rates()),
        ("OnePerItem .3", BLUNT, Rates(0.3)),
        ("ByFeature1AndFeature2", SHARP, Rates()),
    ):
        parts = [others(q, Q_RANGES, 25), partition(models[name], 25, rates)]
        better = []
        for i in range(studies):
            study = study_of(task, parts, TRIALS, seed + 17 * i)
            apart = of_points(study, q, between(Q_RANGES)) - of_rates(study, models[name], rates)
            better.append(apart > 0)
        right = np.array(better, float)
        yield told(f"Q and {what}: Q-learners found", right[:, :25])
        yield told(f"Q and {what}: gradient learners given the right class", 1 - right[:, 25:])


def forgetting(studies: int, seed: int) -> Iterator[str]:
    """Half of them forget; the others are such Q-learners as are most like these."""
    task, models = shepard()
    first = study_of(task, [partition(models[BLUNT], 1)], 9, seed)
    plain, forgets = models_of(["q-learning", "q-forgetting"], among(first))
    ranges = [FIELD["q-forgetting"][p.name] for _, p in forgets.owners(task.actions)]
    many = study_of(task, [others(forgets, ranges, MANY)], TRIALS, seed + 1_000_003)
    log_share = likest(many, plain)
    apart = []
    for i in range(studies):
        study = study_of(task, [others(forgets, ranges, 40)], TRIALS, seed + i)
        without = of_points(study, plain, between(WIDEST), log_share)
        apart.append(of_points(study, forgets, between(ranges)) - without)
    nats = np.array(apart)
    yield told("learners who forget: q-forgetting more probable", (nats > 0).astype(float))
    yield told("the same: with a probability above .95", (nats > np.log(19)).astype(float))
    error = nats.mean(axis=1).std() / np.sqrt(studies)
    yield f"| nats that speak for it, per learner | {nats.mean():.4f} ± {error:.4f} |"
    yield f"| the largest of one learner | {nats.max():.2f} |"
    together = nats.sum(axis=1)
    p = 1.0 / (1.0 + np.exp(-together))
    yield f"| probability of it, all 40 learners of a study together | {np.round(p, 2).tolist()} |"


PARTS = {"classes": (classes, 30), "forgetting": (forgetting, 15)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.known")
    parser.add_argument("part", choices=[*PARTS])
    parser.add_argument("--studies", type=int, default=0)
    parser.add_argument("--seed", type=int, default=96_001)
    chosen = parser.parse_args()
    part, studies = PARTS[chosen.part]
    for line in part(chosen.studies or studies, chosen.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
