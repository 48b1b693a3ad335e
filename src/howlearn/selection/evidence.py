"""Bayesian evidence of one learner alone: on a grid of rates, or approximated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import lgamma

import numpy as np

from howlearn.core.arrays import Bools, Floats, log_sum
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.core.text import listed
from howlearn.fitting.counts import Choices, comparable, counts_upto, log_likelihood, luce
from howlearn.fitting.fits import ALL, Fits
from howlearn.fitting.replay import advisor_for
from howlearn.fitting.ways import way_of
from howlearn.models.model import Model
from howlearn.selection.clouds import Cloud, Likelihood, log_evidence_of_cloud
from howlearn.selection.criterion import LOG_EVIDENCE, Criterion, Likelihoods, Scores, Told
from howlearn.selection.hierarchy import RateGroup, groups_of
from howlearn.selection.population_tables import SEED, Layout
from howlearn.selection.rate_grid import LOWEST, SPREADS, curves_of, on_grid, plan_of

# The evidence of one learner alone, without a group to tell where rates lie.


def log_evidence_alone(group: RateGroup, spreads: Sequence[float] = SPREADS) -> Floats:
    """[learner, model]: the learner effect even on the grid, the cells' spread averaged."""
    even = -np.log(len(group.effects))
    found = []
    for s in spreads:
        cells = {rule: group.cells(s, rule) for rule in group.rules}
        found.append(
            np.stack([log_sum(group.sums(model, cells)) for model in group.models], axis=1)
        )
    return log_sum(np.stack(found, axis=-1)) + even - np.log(len(spreads))


def log_evidence_even(group: RateGroup) -> Floats:
    """[learner, model]: every cell's rate on its own, even on the grid."""
    cells = {}
    for rule in group.rules:
        values = group.curves.values[rule][:, group.units[rule]]
        cells[rule] = (log_sum(values) - np.log(values.shape[2]))[:, :, None]
    return np.concatenate([group.sums(model, cells) for model in group.models], axis=1)


# The evidence of models whose parameters are not integrated on a grid: approximations.
#
# Laplace's, in the scale u in which parameters are searched and a priori even: the likelihood is
# taken for a normal around its top. A parameter that is best at a bound counts with its slope
# there, and nothing is wider than the range of the parameters.

STEP = 1e-3  # of a parameter's range in u
EDGE = 1e-6  # of the range: closer to a bound is at it


def approximation(model: Model) -> str:
    """How the evidence of a model in no group is computed, in a word for the tables."""
    return way_of(model).evidence


def log_evidence_without_grid(fits: Fits, name: str) -> Floats:
    """Of every learner, from a fit to all trials, as ``approximation`` says."""
    return APPROXIMATIONS[approximation(fits.of[name].model)](fits, name)


def _exact(fits: Fits, name: str) -> Floats:
    return log_evidence_of_coin(fits.study)


def _schwarz(fits: Fits, name: str) -> Floats:
    """What is fitted beforehand has no density here."""
    d = fits.n_parameters_at(ALL)[:, [*fits.of].index(name)]
    return fits.of[name].log_likelihood[:, fits.at(ALL)] - 0.5 * d * np.log(fits.n_scored)


def _laplace(fits: Fits, name: str) -> Floats:
    part, study = fits.of[name], fits.study
    j = fits.at(ALL)
    advisor = advisor_for(part.model, study)
    ends = np.array([parameter.end for parameter in advisor.parameters])
    out = part.log_likelihood[:, j].copy()
    for i in np.flatnonzero(np.isfinite(out)).tolist():
        one = study.part(i, i + 1)

        def values(u: Floats) -> Floats:
            theta = np.stack([p.at(u[:, d]) for d, p in enumerate(advisor.parameters)], axis=1)
            found = advisor.log_likelihoods(one, np.zeros(len(u), np.int64), theta)  # noqa: B023
            return np.where(np.isfinite(found), found, -1e300)

        best = [
            float(p.u(np.array([v]))[0])
            for p, v in zip(advisor.parameters, part.theta[i, j], strict=True)
        ]
        out[i] += log_volume(values, np.array(best), ends)
    return out


APPROXIMATIONS = {"exact": _exact, "schwarz": _schwarz, "laplace": _laplace}


def log_evidence_of_coin(study: Study) -> Floats:
    """Every distribution of the actions equally probable."""
    k = len(study.actions)
    out = np.empty(len(study))
    if study.offers is not None:
        for first, part in zip(range(0, len(study), BLOCK), study.parts(BLOCK), strict=True):
            counts = counts_upto(part, np.diff(part.starts)[:, None])
            pairs = zip(counts.times[:, 0], counts.of_set[:, 0], strict=True)
            each = [log_evidence_of_offers(*mine, study.offers) for mine in pairs]
            out[first : first + len(part)] = each
        return out
    for i in range(len(study)):
        mine = slice(study.starts[i], study.starts[i + 1])
        counts = np.bincount(study.action[mine][study.scored[mine]], minlength=k)
        out[i] = lgamma(k) + sum(lgamma(c + 1) for c in counts) - lgamma(int(counts.sum()) + k)
    return out


BLOCK = 50  # learners whose choices are counted together


def log_evidence_of_offers(times: Floats, of_set: Floats, offers: Bools) -> float:
    """The same where actions were chosen ``times``, and sets were on offer so often.

    Groups of actions that are never on offer together, not even by way of others, are on their
    own. A group with one set has the integral of a coin; of others it is Laplace's approximation,
    with the logs of the odds as parameters.

    >>> offers = np.array([[True, True, False, False], [False, False, True, True]])
    >>> found = log_evidence_of_offers(np.array([3, 1, 0, 0]), np.array([4, 0]), offers)
    >>> round(float(np.exp(found)), 6)  # 3!·1!/5!
    0.05
    """
    (group,) = comparable(of_set[None] > 0, offers)
    total = 0.0
    for first in np.unique(group).tolist():
        mine = group == first
        here = (of_set > 0) & offers[:, mine].any(axis=1)
        k, sets = int(mine.sum()), offers[here][:, mine]
        if sets.all():
            n = int(times[mine].sum())
            total += lgamma(k) + sum(lgamma(c + 1) for c in times[mine]) - lgamma(n + k)
        else:
            total += _laplace_of_odds(times[mine], of_set[here], sets)
    return total


def _laplace_of_odds(times: Floats, of_set: Floats, offers: Bools) -> float:
    """Of one group: a priori it is as if every action had been chosen once, of all."""
    k = len(times)
    offers, of_set = np.concatenate([offers, np.ones((1, k), np.bool_)]), np.append(of_set, k)
    counts = Choices(times + 1.0, of_set)
    p = luce(counts, offers, 0.0)
    each = p * offers / (offers @ p)[:, None]
    hessian = np.diag(of_set @ each) - np.einsum("s,sa,sb->ab", of_set, each, each)
    value = float(log_likelihood(counts, p, offers))
    _, log_det = np.linalg.slogdet(hessian[1:, 1:])
    return float(lgamma(k) + value + 0.5 * (k - 1) * np.log(2 * np.pi) - 0.5 * log_det)


def log_volume(values: Callable[[Floats], Floats], best: Floats, ends: Floats) -> float:
    """log of ∫ exp(ℓ(u) − ℓ(best)) du / Π ends, by Laplace's approximation around ``best``.

    ``values`` are those of ℓ at u[point].

    >>> f = lambda u: -0.5 * ((u[:, 0] - 3.0) / 0.1) ** 2
    >>> round(log_volume(f, np.array([3.0]), np.array([6.0])), 4)
    -3.1754
    >>> round(float(np.log(0.1 * np.sqrt(2 * np.pi) / 6.0)), 4)
    -3.1754
    """
    d = len(best)
    if d == 0:
        return 0.0
    steps = STEP * ends
    at_lower, at_upper = best < EDGE * ends, best > (1 - EDGE) * ends
    bound, free = np.flatnonzero(at_lower | at_upper), np.flatnonzero(~(at_lower | at_upper))
    inward = best + np.diag(np.where(at_lower, steps, -steps))[bound]
    # Steps stay inside the bounds: the centre is moved, and a normal has the same curvature there.
    centre, axes = np.clip(best, steps, ends - steps), np.diag(steps)[free]
    pairs = [(a, b) for a in range(len(free)) for b in range(a)]
    moves = [sign * axis for axis in axes for sign in (1, -1)]
    moves += [s * axes[a] + t * axes[b] for a, b in pairs for s in (1, -1) for t in (1, -1)]
    points = [best[None], inward, centre[None], centre + np.reshape(moves, (-1, d))]
    found = values(np.concatenate(points))
    top, within, (middle, *around) = found[0], found[1 : 1 + len(bound)], found[1 + len(bound) :]
    # ∫ exp(−slope·x) dx from 0 to the other end, over that end
    x = np.maximum((top - within) / steps[bound], 0.0) * ends[bound]
    x = x[x > 1e-9]
    total = float(np.log(-np.expm1(-x) / x).sum())
    return total + _inner(len(free), pairs, middle, np.array(around))


def _inner(n: int, pairs: Sequence[tuple[int, int]], middle: float, around: Floats) -> float:
    """Of n parameters inside their bounds: a normal no wider than their ranges.

    ``around`` are values a step up and down along each, then up and down along both of each pair.
    """
    hessian = np.diag(around[0 : 2 * n : 2] + around[1 : 2 * n : 2] - 2.0 * middle)
    for (a, b), (up, across, back, down) in zip(pairs, around[2 * n :].reshape(-1, 4), strict=True):
        hessian[a, b] = hessian[b, a] = (up + down - across - back) / 4.0
    # In units of the ranges: no direction is wider than the box, and a flat one is as wide.
    curvature, _ = np.linalg.eigh(-hessian / STEP**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        widths = np.sqrt(2.0 * np.pi / curvature)
    return float(np.log(np.where(curvature > 0, np.minimum(widths, 1.0), 1.0)).sum())


@dataclass(frozen=True, repr=False)
class Evidence(Criterion):
    """log of the likelihood averaged over learning rates, with nothing but the learner's trials.

    The rates of a learner's cells lie around a rate of the learner's own, which may be anything on
    a log scale; how far around is averaged over four spreads. A model that needs its parameters to
    be just so is averaged down, so that no penalty is needed.

    >>> Evidence()
    evidence
    """

    name = "evidence"
    title = "log of the likelihood averaged over learning rates, one learner alone"
    gives_probabilities = True
    evidence = LOG_EVIDENCE
    places = (("select", 1), ("path", 4))

    def scores(self, fits: Likelihoods) -> Scores:
        fits = with_trials(fits, self)
        evidence = alone(fits)
        probability = np.exp(evidence - log_sum(evidence)[:, None])
        zero = np.zeros_like(evidence)
        return Scores(fits.n_scored, evidence, zero, probability=probability)

    def chance(self, fits: Likelihoods, scores: Scores) -> Floats:
        return chance_evidence(with_trials(fits, self).study)

    def sentences(self, told: Told) -> Iterator[str]:
        yield (
            "The criterion evidence was the log of the likelihood averaged over parameters, "
            "for each learner alone, all models being equally probable; a learner's own rate "
            f"was a priori even on a log scale from {LOWEST:g} to the largest rate, log rates "
            "of its cells were normal around it, and their standard deviation was "
            f"{listed([f'{s:g}' for s in SPREADS], 'or', oxford=True)}, equally probable."
        )


def with_trials(fits: Likelihoods, criterion: Criterion) -> Fits:
    """Refuse likelihoods without the trials they are of."""
    if isinstance(fits, Fits):
        return fits
    raise HowlearnError(
        f"{criterion!r} needs the trials themselves, and a calibration keeps likelihoods only: use "
        "it with howlearn select or recover"
    )


def alone(fits: Fits) -> Floats:
    """[learner, model]: by quadrature, by clouds of points, or by an approximation."""
    out = without_grid(fits, fits.models)
    curves = curves_of(fits.study, plan_of(fits.models, fits.study))
    exact = [(k, m) for k, m in enumerate(fits.models) if on_grid(m)]
    for group in groups_of([m for _, m in exact], [k for k, _ in exact], curves):
        out[:, group.columns] = log_evidence_alone(group)
    return out


def without_grid(fits: Fits, models: Sequence[Model]) -> Floats:
    """[learner, model]: the evidence of models without a grid; NaN for the others."""
    out = np.full((len(fits.study), len(models)), np.nan)
    layout = Layout.of(models, fits.study)
    for k in layout.fixed:
        out[:, k] = log_evidence_without_grid(fits, models[k].name)
    for j, k in enumerate(layout.clouds):
        cloud = Cloud.around(Likelihood(models[k], fits.study), SEED + 10 * j)
        out[:, k] = log_evidence_of_cloud(cloud.denser())
    return out


def chance_evidence(study: Study) -> Floats:
    """Of a learner who does not learn: a fair coin, or one that is not."""
    fair = study.log_chance
    return np.maximum(fair, log_evidence_of_coin(study))
