"""What the selected models predicted at every trial, against what was chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.analyses.yardstick import UNKNOWN, Yardstick, yardstick
from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.fitting.replay import Advisor, advisor_for
from howlearn.fitting.settings import records_of
from howlearn.report.behaviour import SCHEMA, binned, ranges, sampled, student
from howlearn.results.results import Results

# The selected models replayed on the learners' own choices.


class Replays:
    """Models set up once, then replayed for as many learners as are asked for."""

    def __init__(self, found: Results) -> None:
        self.found = found
        self._advisors: dict[int, Advisor] = {}
        self._theta: dict[int, NDArray[np.float64]] = {}

    def probabilities(self, sequence: int) -> NDArray[np.float64]:
        """Of every action at every trial, under the selected model: [trial, action]."""
        found = self.found
        k = int(found.chosen[sequence])
        if k not in self._advisors:
            self._advisors[k] = advisor_for(found.models[k], found.study)
            self._theta[k] = found.theta(k)
        records = records_of(found.study.part(sequence, sequence + 1))
        theta = np.ascontiguousarray(self._theta[k][sequence])
        return np.exp(self._advisors[k].log_probabilities(records, theta))


BINS = 10  # of predicted probabilities
NORMAL = 1.959963984540054  # standard errors of a 95% interval


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions by bins, and in words how good they are.

    ``reliability`` has low, high (of the predicted probability), predicted, observed, lower, upper,
    n (pairs of a trial and an action). ``curve`` has trial, first, last, source ("people" or
    "model"), mean, lower, upper, n: choices of the right answer and their predicted probability;
    empty where nobody knows what is right. ``models`` has model, learners, n, mean_probability
    (geometric, of what was chosen), best (share of choices that the model held most probable).
    """

    reliability: pl.DataFrame
    curve: pl.DataFrame
    models: pl.DataFrame
    along: str
    statement: str
    notes: tuple[str, ...]


def predicted(found: Results, learners: int = 2_000) -> Predicted:
    """Replay each learner's selected model on its own choices, for at most so many learners."""
    if learners < 1:
        raise HowlearnError("predictions need at least one learner")
    study = found.study
    who = sampled(study.learners, learners)
    length = np.diff(study.starts)[who]
    original = ranges(study.starts[who], length)
    replays = Replays(found)
    each = [replays.probabilities(int(i)) for i in who]
    p = np.concatenate([np.empty((0, len(study.actions))), *each])
    free = study.scored[original]
    if not free.any():
        raise HowlearnError("no choice is scored, so that there is nothing to predict")
    rod = yardstick(study, found.task)
    sequence = np.repeat(who, length)
    action = study.action[original].astype(np.int64)
    offered = None if study.offered is None else study.offered[original][free]
    reliability = _reliability(p[free], action[free], offered)
    curve = _curve(rod, p, original, np.repeat(_learner_codes(study.learners, who), length))
    models = _models(found, p[free], action[free], sequence[free])
    notes = []
    if len(who) < len(study):
        all_of = len(set(study.learners))
        notes.append(f"{learners:,} of {all_of:,} learners, picked evenly")
    chance = float(np.exp(-np.mean(np.log(study.n_offered[original][free]))))
    words = _statement(models, reliability, chance)
    return Predicted(reliability, curve, models, rod.along, words, tuple(notes))


def _learner_codes(learners: tuple[str, ...], who: Ints) -> Ints:
    names = [learners[i] for i in who]
    place = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return np.array([place[name] for name in names], np.int64)


def _reliability(p: Floats, action: Ints, offered: Bools | None = None) -> pl.DataFrame:
    """Of two actions one tells everything; of more, every action on offer is a prediction."""
    took = np.arange(p.shape[1]) == action[:, None]
    if p.shape[1] == 2:
        p, took = p[:, :1], took[:, :1]
    elif offered is not None:
        p, took = p[offered], took[offered]
    p, took = p.reshape(-1), took.reshape(-1)
    bin = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    n = np.bincount(bin, minlength=BINS)
    kept = np.flatnonzero(n)
    mean = np.bincount(bin, p, minlength=BINS)[kept] / n[kept]
    hits = np.bincount(bin, took, minlength=BINS)[kept]
    lower, upper = wilson(hits, n[kept])
    return pl.DataFrame(
        {
            "low": kept / BINS,
            "high": (kept + 1) / BINS,
            "predicted": mean,
            "observed": hits / n[kept],
            "lower": lower,
            "upper": upper,
            "n": n[kept],
        }
    )


def wilson(hits: NDArray, n: NDArray) -> tuple[Floats, Floats]:
    """Ends of Wilson's 95% interval of a share.

    >>> low, high = wilson(np.array([5]), np.array([10]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.237], [0.763])
    """
    z2 = NORMAL**2
    share = hits / n
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL * np.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def _curve(rod: Yardstick, p: Floats, original: Ints, learner: Ints) -> pl.DataFrame:
    """Of the trials whose right answer is known: how often it was chosen, and was predicted."""
    right, bin = rod.right[original], rod.bins[original]
    good = (right != UNKNOWN) & rod.study.scored[original] & (bin >= 0)
    if not good.any():
        return pl.DataFrame(schema=SCHEMA).drop("context")
    right, bin, learner = right[good], bin[good], learner[good]
    chose = (rod.study.action[original][good] == right).astype(float)
    expected = p[good, right]
    shape = (int(learner.max()) + 1, rod.n_bins)
    code = np.ravel_multi_index((learner, bin), shape)
    count = np.bincount(code, minlength=shape[0] * shape[1]).reshape(shape)
    frames = []
    for source, values in (("people", chose), ("model", expected)):
        total = np.bincount(code, values, minlength=count.size).reshape(shape)
        each = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        n = (count > 0).sum(axis=0)
        kept = np.flatnonzero(n)
        each, n = each[:, kept], n[kept]
        mean = np.nanmean(each, axis=0)
        half = np.full(len(kept), np.nan)
        several = n > 1
        spread = np.sqrt(np.nansum((each - mean) ** 2, axis=0) / np.maximum(n - 1, 1) / n)
        half[several] = (student(n) * spread)[several]
        ends = np.clip(mean - half, 0, 1), np.clip(mean + half, 0, 1)
        frames.append(binned(rod, source, "", kept, mean, *ends, n).drop("context"))
    return pl.concat(frames)


def _models(found: Results, p: Floats, action: Ints, sequence: Ints) -> pl.DataFrame:
    taken = p[np.arange(len(p)), action]
    with np.errstate(divide="ignore"):
        log_p = np.log(taken)
    best = p.max(axis=1)
    ties = (p >= best[:, None] - 1e-12).sum(axis=1)
    hit = np.where(taken >= best - 1e-12, 1 / ties, 0.0)  # a tie is won as often as by chance
    frame = pl.DataFrame(
        {
            "model": pl.Series(found.names, dtype=pl.String).gather(found.chosen[sequence]),
            "learner": pl.Series(found.study.learners, dtype=pl.String).gather(sequence),
            "log_p": log_p,
            "hit": hit,
        }
    )
    return (
        frame.group_by("model", maintain_order=True)
        .agg(
            learners=pl.col("learner").n_unique(),
            n=pl.len(),
            mean_probability=pl.col("log_p").mean().exp(),
            best=pl.col("hit").mean(),
        )
        .sort("learners", descending=True, maintain_order=True)
    )


def _statement(models: pl.DataFrame, reliability: pl.DataFrame, chance: float) -> str:
    weight = models["n"] / models["n"].sum()
    best = float((models["best"] * weight).sum())
    with np.errstate(divide="ignore"):
        mean = float(np.exp((np.log(models["mean_probability"].to_numpy()) * weight).sum()))
    inside = reliability.filter(pl.col("predicted").is_between("lower", "upper")).height
    return (
        f"The selected models gave what was chosen a probability of {mean:.2f} (geometric mean; "
        f"chance: {chance:.2f}), and {best:z.0%} of the choices were the most probable ones; "
        f"predicted and observed shares agree in {inside} of "
        f"{reliability.height} bins."
    )
