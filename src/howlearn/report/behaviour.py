"""Learning curves of the data, and of doubles who follow each learner's selected model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from howlearn.analyses.doubles import doubles_of, ranges, sampled
from howlearn.analyses.yardstick import UNKNOWN, Yardstick, yardstick
from howlearn.core.arrays import Floats, Ints, student_quantile
from howlearn.core.errors import HowlearnError
from howlearn.reading.labels import natural_key
from howlearn.results.results import Results
from howlearn.selection.tables import condition_columns, conditions

EVERY = "all"
CONTEXTS = 12  # that have a curve each; where there are more, none has
FEWEST, MOST = 20, 200  # replications of the study
TRIALS, DOUBLES = 1_000_000, 6_000  # simulated in all, if FEWEST replications need no more
STREAM = 8  # of random numbers that nobody else uses
LEVEL = 0.95
LEFT = 0.5  # of the learners: with fewer a curve has thinned out
SCHEMA = {
    "context": pl.String,
    "trial": pl.Float64,
    "first": pl.Int64,
    "last": pl.Int64,
    "source": pl.String,
    "mean": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "n": pl.Int64,
}


@dataclass(frozen=True, eq=False)
class Behaviour:
    """Curves with bands, and in words what they are of and how well they agree.

    ``frame`` has context ("all", a context, or a condition of the same learners), trial (the middle
    of the bin), first, last, source ("people" or "model"), mean, lower, upper, n (learners).
    ``measure`` is what the mean is of, such as "right choices"; ``percent`` whether it is a share;
    ``along`` what is counted, such as "trial".
    """

    frame: pl.DataFrame
    measure: str
    percent: bool
    along: str
    statement: str  # how well the curves agree
    notes: tuple[str, ...]  # what was sampled, left out, or could not be simulated
    chance: float | None = None  # what guessing would give, where that is known
    inside: float | None = None  # the share of bins in which people are within the range


def behaviour(
    found: Results, learners: int = 200, replications: int | None = None, seed: int = 0
) -> Behaviour:
    """Curves of at most so many learners and of their doubles, every learner at its estimates.

    People: the mean over learners with its 95% interval. Model: the mean over replications of the
    study, and the range that holds 95% of them.
    """
    if learners < 1 or (replications is not None and replications < 1):
        raise HowlearnError("learning curves need at least one learner and one replication")
    rod = yardstick(found.study, found.task)
    who = sampled(found.study.learners, learners)
    notes = []
    if len(who) < len(found.study):
        all_of = len(set(found.study.learners))
        notes.append(f"{learners:,} of {all_of:,} learners, picked evenly")
    notes += found.stand_ins(who)
    trials = int(np.diff(found.study.starts)[who].sum())
    if replications is None:
        affordable = min(TRIALS // max(trials, 1), DOUBLES // max(len(who), 1))
        replications = int(np.clip(affordable, FEWEST, MOST))
    curves = _LearningCurves(found, rod, who)
    played, failed = curves.doubles(replications, seed)
    for model, (why, left_out) in failed.items():
        notes.append(
            f"{left_out:,} sequences are left out, since {model} cannot be simulated: {why}"
        )
    if failed:
        kept = [p for p in range(len(who)) if curves.models[found.chosen[who[p]]] not in failed]
        who = who[kept] if kept else who
        curves = _LearningCurves(found, rod, who)
    people = curves.people()
    frame = pl.concat([people, *([curves.model(*played)] if played is not None else [])])
    if played is not None:
        notes.append(f"the doubles' range is that of {replications:,} replications of the study")
        if found.task is None or not found.task.rewards:
            notes.append(
                "no task says what actions earn, so doubles are paid what their learner was paid "
                "for the same action in the same context"
            )
    notes += _thinned(people, rod)
    if len(found.study.contexts) > CONTEXTS and len(curves.groups) == 1:
        notes.append(f"{len(found.study.contexts):,} contexts are too many for a curve each")
    words = _statement(frame, rod, curves.apart)
    judged = (rod.right != UNKNOWN) & found.study.scored
    chance = float(np.mean(1 / found.study.n_offered[judged])) if judged.any() else None
    return Behaviour(
        frame, rod.measure, rod.percent, rod.along, words, tuple(notes), chance, _inside(frame)
    )


class _LearningCurves:
    """Means by learner, context and bin for some sequences of a study, and for their doubles."""

    def __init__(self, found: Results, rod: Yardstick, who: Ints) -> None:
        self.found, self.rod, self.who = found, rod, who
        self.models = found.names
        study = found.study
        names = [study.learners[i] for i in who]
        place = {name: k for k, name in enumerate(dict.fromkeys(names))}
        self.n_learners = len(place)
        self.learner = np.array([place[name] for name in names], np.int64)  # of each in who
        self.length = np.diff(study.starts)[who]
        self.start = study.starts[who]
        self.groups, self.part = [EVERY], study.context.astype(np.int64)  # [trial]: of which panel
        under, self.apart = conditions(study.labels), "in context "
        if under is not None:  # the same context may mean something else under each
            names = sorted(under.unique(), key=natural_key)
            code = np.array([names.index(name) for name in under], np.int64)
            self.part, self.apart = np.repeat(code, np.diff(study.starts)), "under "
            which = ", ".join(condition_columns(study.labels))
            self.groups += [f"{which} {name}" for name in names] * (len(names) <= CONTEXTS)
        elif 1 < len(study.contexts) <= CONTEXTS:
            self.groups += study.contexts

    def means(self, value: Floats, original: Ints, learner: Ints) -> Floats:
        """[learner, group, bin]; NaN where a learner has no choice."""
        rod = self.rod
        bin = rod.bins[original]
        good = np.isfinite(value) & (bin >= 0)
        shape = (self.n_learners, len(self.groups), rod.n_bins)
        total, count = np.zeros(shape), np.zeros(shape)
        value, bin, learner = value[good], bin[good], learner[good]
        groups = [np.zeros(len(value), np.int64)]
        groups += [self.part[original[good]] + 1] if len(self.groups) > 1 else []
        for group in groups:
            code = np.ravel_multi_index((learner, group, bin), shape)
            count += np.bincount(code, minlength=count.size).reshape(shape)
            total += np.bincount(code, value, minlength=count.size).reshape(shape)
        with np.errstate(invalid="ignore"):
            return np.where(count > 0, total / count, np.nan)

    def people(self) -> pl.DataFrame:
        """The mean over learners with its interval."""
        original = ranges(self.start, self.length)
        values = self.rod.values[original]
        means = self.means(values, original, np.repeat(self.learner, self.length))
        n = np.isfinite(means).sum(axis=0)
        mean = _mean(means)
        half = np.full(mean.shape, np.nan)
        several = n > 1
        spread = np.sqrt(_mean((means - mean) ** 2) * n / np.maximum(n - 1, 1) / np.maximum(n, 1))
        half[several] = (student(n) * spread)[several]
        low, high = mean - half, mean + half
        if self.rod.percent:
            low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
        return self._frame("people", mean, low, high, n)

    def doubles(
        self, replications: int, seed: int
    ) -> tuple[tuple[Floats, Ints] | None, dict[str, tuple[str, int]]]:
        """Means of every replication, [replication, group, bin], with the number of learners.

        And the models that cannot be simulated: why, and how many sequences they concern.
        """
        made, failed = doubles_of(self.found, self.who, replications, (seed, STREAM))
        parts: list[tuple[Floats, Ints, Ints, Ints]] = []  # values, originals, learner, replication
        for some in made:
            original, length = some.original(self.start), np.diff(some.study.starts)
            learner, again = self.learner[some.of], some.again
            value = self.rod.of(some.study, original)
            parts.append((value, original, np.repeat(learner, length), np.repeat(again, length)))
        if not parts:
            return None, failed
        joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
        value, original, learner, again = joined
        order = np.argsort(again, kind="stable")
        edges = np.searchsorted(again[order], np.arange(replications + 1))
        means, n = [], np.zeros(0, np.int64)
        for r in range(replications):
            some = order[edges[r] : edges[r + 1]]
            each_learner = self.means(value[some], original[some], learner[some])
            means.append(_mean(each_learner))
            present = np.isfinite(each_learner).sum(axis=0)
            n = present if not n.size else np.maximum(n, present)
        return (np.stack(means), n), failed

    def model(self, means: Floats, n: Ints) -> pl.DataFrame:
        """The mean over replications, and the range that holds most of them."""
        tail = (1 - LEVEL) / 2
        known = np.isfinite(means).any(axis=0)
        ends = np.full((2, *known.shape), np.nan)
        ends[:, known] = np.nanquantile(means[:, known], [tail, 1 - tail], axis=0)
        return self._frame("model", _mean(means), ends[0], ends[1], n)

    def _frame(self, source: str, mean: Floats, low: Floats, high: Floats, n: Ints) -> pl.DataFrame:
        group, bin = np.nonzero(np.isfinite(mean))
        names = pl.Series(self.groups, dtype=pl.String).gather(group)
        at = (group, bin)
        return binned(self.rod, source, names, bin, mean[at], low[at], high[at], n[at])


def binned(
    rod: Yardstick, source: str, context: pl.Series | str, bin: Ints, mean: Floats, low: Floats,
    high: Floats, n: Ints,
) -> pl.DataFrame:  # fmt: skip
    """Points of curves as rows."""
    first = bin * rod.width + 1
    last = first + rod.width - 1
    ends = {"lower": pl.Series(low).fill_nan(None), "upper": pl.Series(high).fill_nan(None)}
    known = {"first": first, "last": last, "trial": (first + last) / 2, "mean": mean, "n": n}
    frame = pl.DataFrame({**known, **ends}).with_columns(
        context=pl.lit(context), source=pl.lit(source)
    )
    return frame.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())


def _mean(values: Floats) -> Floats:
    """Over the first axis, of what is there; NaN where nothing is."""
    there = np.isfinite(values)
    n = there.sum(axis=0)
    total = np.where(there, values, 0.0).sum(axis=0)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def student(n: Ints) -> Floats:
    """How many standard errors of a mean of n a 95% interval reaches to each side."""
    freedom, place = np.unique(np.maximum(n - 1, 1), return_inverse=True)
    return np.array([student_quantile(int(each), LEVEL) for each in freedom])[place].reshape(
        n.shape
    )


def _inside(frame: pl.DataFrame) -> float | None:
    """The share of bins, over all contexts together, in which people are within the range."""
    every = frame.filter(pl.col("context") == EVERY)
    people, model = (every.filter(pl.col("source") == who) for who in ("people", "model"))
    both = people.join(model, on=["trial", "first", "last"], suffix="_model")
    if both.is_empty():
        return None
    return float(both["mean"].is_between(both["lower_model"], both["upper_model"]).sum()) / len(
        both
    )


def _thinned(people: pl.DataFrame, rod: Yardstick) -> list[str]:
    """Where records of unequal length thin out: those who are left may learn otherwise."""
    told = []
    for (group,), mine in people.group_by(["context"], maintain_order=True):
        most = int(mine["n"].max())  # type: ignore[arg-type]
        few = mine.filter(pl.col("n") < LEFT * most)
        if len(few):
            where = "" if group == EVERY else f"{group}: "
            told.append(
                f"{where}from {rod.along} {few['first'].min()} on {few['n'].max()} of {most}"
            )
    if not told:
        return []
    return [
        f"records end at different {rod.along}s, so fewer than half of the learners remain in "
        f"the later points ({'; '.join(told)}); these may differ from those who ended before"
    ]


def _statement(frame: pl.DataFrame, rod: Yardstick, apart_words: str) -> str:
    keys = ["context", "trial", "first", "last"]
    people = frame.filter(pl.col("source") == "people")
    model = frame.filter(pl.col("source") == "model")
    if people.is_empty():
        return "No choice can be judged: nothing says what is right or what was earned."
    if model.is_empty():
        return "No selected model can be simulated, so there is nothing to compare with."
    both = people.join(model, on=keys, suffix="_model").with_columns(
        inside=pl.col("mean").is_between("lower_model", "upper_model"),
        gap=pl.col("mean") - pl.col("mean_model"),
    )
    if both.is_empty():
        return "People and doubles have no trials in common."
    every = both.filter(pl.col("context") == EVERY)
    apart = both.filter(pl.col("context") != EVERY)
    text = f"The data lie within the doubles' 95% range in {_of(every)} overall"
    if len(apart):
        text += f" and in {_of(apart)} by {'context' if 'context' in apart_words else 'condition'}"
    worst = both.row(int(both["gap"].abs().arg_max() or 0), named=True)
    form = "{:z.0%}" if rod.percent else "{:.3g}"
    where = "overall" if worst["context"] == EVERY else f"{apart_words}{worst['context']}"
    at = f"{worst['first']}–{worst['last']}" if rod.width > 1 else str(worst["first"])
    numbers = [form.format(worst[column]) for column in ("mean", "mean_model")]
    return (
        f"{text}; the largest gap is {where} ({rod.along} {at}): {rod.measure} "
        f"{numbers[0]} in the data, {numbers[1]} among doubles."
    )


def _of(frame: pl.DataFrame) -> str:
    inside = int(frame["inside"].sum())
    return f"{inside} of {frame.height} bins ({inside / frame.height:z.0%})"
