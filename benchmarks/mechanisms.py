"""Shares of mechanisms among simulated people: errors, coverage, false alarms, what is missing.

``python -m benchmarks mechanisms`` prints the figures of docs/mechanisms.md;
``python -m benchmarks.mechanisms DESIGN STUDIES SEED`` those of one design.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import process_time

import numpy as np
import polars as pl

import howlearn as hl
from benchmarks.report import Row, note
from howlearn.analyses.completeness import Nowhere
from howlearn.analyses.mechanism_groups import compare_mechanisms
from howlearn.analyses.mechanism_jumps import Jumps
from howlearn.analyses.mechanism_tables import Tables
from howlearn.analyses.mechanisms import Work
from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.study import Study

SEED = 97_001
PEOPLE = 40
FLAGS = ("scored", "learned", "reset")
FIVE = ("lapse", "bias", "stickiness", "forgetting", "asymmetry")  # that people may show
USUAL = (*FIVE, "fictive")  # looked for by default
BROAD = (*USUAL, "trace", "attention", "drift", "resting")
HARD = ("lapse", "asymmetry")
# Sizes of those who show a mechanism, evenly; of those with a sign, how many are positive
SIZES = {
    "stickiness": (0.5, 1.0), "forgetting": (0.05, 0.2), "asymmetry": (np.log(2), np.log(3)),
    "lapse": (0.05, 0.15), "bias": (0.3, 0.8), "trace": (1.0, 2.0), "fictive": (0.3, 0.7),
    "attention": (0.2, 0.5), "drift": (1.0, 2.0), "resting": (0.3, 0.5),
    "generalisation": (0.2, 0.6),
}  # fmt: skip
PLUS = {"stickiness": 0.9, "asymmetry": 0.8, "bias": 0.5, "trace": 1.0, "drift": 0.5, "resting": 0}
SMALLEST = {"stickiness": 0.3, "forgetting": 0.05, "asymmetry": 0.4, "lapse": 0.04, "bias": 0.25}


@dataclass(frozen=True)
class Design:
    """What people are shown."""

    trials: int = 400
    contexts: int = 1
    actions: int = 2
    offered: int = 0  # actions on offer at every trial; 0: all
    # 0, 30% or 100%; beta: Beta(½, ½); graded: everybody, any size; together: half have all
    prevalence: str = "three"
    listed: tuple[str, ...] = USUAL
    shown: tuple[str, ...] = FIVE  # by some people, or by all
    unlisted: str = ""  # everybody has it, and it is not looked for
    joined: bool = False  # --together


DESIGNS: Mapping[str, tuple[Design, int]] = {
    "400": (Design(), 36),
    "200": (Design(200), 21),
    "beta": (Design(prevalence="beta"), 21),
    "graded": (Design(prevalence="graded"), 12),
    "contexts": (Design(contexts=4), 13),
    "actions": (Design(actions=4), 13),
    "offers": (Design(actions=4, offered=2), 13),
    "five": (Design(listed=FIVE), 6),
    "broad": (Design(listed=BROAD), 6),
    "fictive": (Design(shown=USUAL), 6),
    "generalisation": (
        Design(contexts=4, listed=(*USUAL, "generalisation"), shown=(*FIVE, "generalisation")), 6,
    ),
    "together": (Design(prevalence="together", joined=True), 6),
    "apart": (Design(prevalence="together"), 6),
    **{
        f"without-{name}": (Design(unlisted=name), 6)
        for name in SIZES if name not in ("asymmetry", "generalisation")
    },
}  # fmt: skip
GROUPS = 8  # studies of two groups


@dataclass
class Outcomes:
    """What was found in the studies of one design: one entry per study and mechanism."""

    mechanism: list[str] = field(default_factory=list)
    planned: list[float] = field(default_factory=list)  # prevalence
    truth: list[float] = field(default_factory=list)  # share of these people
    share: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    bic: list[float] = field(default_factory=list)
    beyond: list[bool] = field(default_factory=list)  # whether the interval covers it
    alarm: list[bool] = field(default_factory=list)  # per study
    stated: list[float] = field(default_factory=list)  # per learner
    shows: list[bool] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def people(design: Design, rng: np.random.Generator) -> tuple[dict[str, Floats], dict[str, float]]:
    """Sizes of everybody (0: not shown), and how common each mechanism is."""
    sizes, planned = {}, {}
    half = rng.random(PEOPLE) < 0.5
    for name, (low, high) in SIZES.items():
        three = rng.choice([0.0, 0.3, 1.0])
        share = {"three": three, "beta": rng.beta(0.5, 0.5), "graded": 1.0, "together": 0.5}[
            design.prevalence
        ]
        share = (share if name in design.shown else 0.0) if name != design.unlisted else 1.0
        size = rng.uniform(0.0 if design.prevalence == "graded" else low, high, PEOPLE)
        sign = np.where(rng.random(PEOPLE) < PLUS.get(name, 1.0), 1.0, -1.0)
        shows = rng.random(PEOPLE) < share
        if design.prevalence == "together" and name in design.shown:
            shows = half
        sizes[name] = size * sign * shows
        planned[name] = float(share)
    return sizes, planned


def schedule(design: Design, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Contexts and the best action [learner, trial]; it changes every 30 to 50 trials."""
    n, c = design.trials, design.contexts
    context, best = np.zeros((PEOPLE, n), np.int64), np.zeros((PEOPLE, n), np.int64)
    for i in range(PEOPLE):
        rounds = [rng.permutation(c) for _ in range(-(-n // c))]
        context[i] = np.concatenate(rounds)[:n]
        for k in range(c):
            mine = np.flatnonzero(context[i] == k)
            good, left = rng.integers(design.actions), rng.integers(30, 51)
            for t in mine:
                if left == 0:
                    good = (good + rng.integers(1, design.actions)) % design.actions
                    left = rng.integers(30, 51)
                left -= 1
                best[i, t] = good
    return context, best


def played(design: Design, sizes: Mapping[str, Floats], rng: np.random.Generator) -> Study:
    """A study of these people; written apart from the package, which must find what is in it."""
    n, a, who = design.trials, design.actions, np.arange(PEOPLE)
    context, best = schedule(design, rng)
    alpha = 1 / (1 + np.exp(-(np.log(0.3 / 0.7) + 0.6 * rng.standard_normal(PEOPLE))))
    beta = np.exp(np.log(5) + 0.4 * rng.standard_normal(PEOPLE))
    rest = 0.5 + sizes["resting"]
    q = np.repeat(rest[:, None, None], design.contexts, 1).repeat(a, 2)
    attention = np.ones((PEOPLE, design.contexts, a))
    trace, last = np.zeros((PEOPLE, design.contexts, a)), np.full(PEOPLE, -1)
    bias = sizes["bias"][:, None] * (np.arange(a) == rng.integers(1, a, PEOPLE)[:, None])
    odds = alpha / (1 - alpha)
    up = odds * np.exp(sizes["asymmetry"] / 2) / (1 + odds * np.exp(sizes["asymmetry"] / 2))
    down = odds * np.exp(-sizes["asymmetry"] / 2) / (1 + odds * np.exp(-sizes["asymmetry"] / 2))
    action, reward = np.zeros((PEOPLE, n), np.int64), np.zeros((PEOPLE, n))
    offered = np.ones((PEOPLE, n, a), bool)
    for t in range(n):
        c = context[:, t]
        if design.offered:
            order = rng.random((PEOPLE, a)).argsort(axis=1)
            offered[:, t] = order.argsort(axis=1) < design.offered
        warm = beta * np.exp(sizes["drift"] * ((t + 0.5) / n - 0.5))
        z = warm[:, None] * q[who, c] + bias + sizes["trace"][:, None] * trace[who, c]
        z += sizes["stickiness"][:, None] * (np.arange(a) == last[:, None])
        p = np.where(offered[:, t], np.exp(z - z.max(axis=1, keepdims=True)), 0.0)
        p /= p.sum(axis=1, keepdims=True)
        lapse = sizes["lapse"][:, None]
        p = (1 - lapse) * p + lapse * offered[:, t] / offered[:, t].sum(axis=1, keepdims=True)
        k = (p.cumsum(axis=1) < rng.random((PEOPLE, 1))).sum(axis=1).clip(0, a - 1)
        r = (rng.random(PEOPLE) < np.where(k == best[:, t], 0.8, 0.2)).astype(float)
        error = r - q[who, c, k]
        speed = np.where(error > 0, up, down)
        speed = np.where(sizes["attention"] > 0, speed * attention[who, c, k], speed)
        attention[who, c, k] += sizes["attention"] * (np.abs(error) - attention[who, c, k])
        new = q[who, c, k] + speed * error
        other = (1 - r)[:, None] - q[who, c]
        step = sizes["fictive"][:, None] * np.where(other > 0, up[:, None], down[:, None])
        q[who, c] += np.where(offered[:, t], step * other, 0.0)
        q += sizes["forgetting"][:, None, None] * (rest[:, None, None] - q)
        q[who, c, k] = new
        for o in range(design.contexts):  # all are alike
            error = r - q[who, o, k]
            step = sizes["generalisation"] * np.where(error > 0, up, down) * (o != c)
            q[who, o, k] += step * error
        trace[who, c] += 0.2 * ((np.arange(a) == k[:, None]) - trace[who, c])
        last = k
        action[:, t], reward[:, t] = k, r
    frame = pl.DataFrame(
        {
            "learner": np.repeat([f"p{i:02}" for i in who], n),
            "context": [f"c{c}" for c in context.ravel()],
            "action": ["ABCDEFG"[k] for k in action.ravel()],
            "reward": reward.ravel(),
            "offered": ["|".join(np.array([*"ABCDEFG"[:a]])[o]) for o in offered.reshape(-1, a)],
        }
    )
    if not design.offered:
        return hl.read(frame.drop("offered"))
    return hl.read(frame, offered="offered")


def by_bic(tables: Tables) -> Floats:
    """The share of people whose best model by BIC has each mechanism: today's practice."""
    space, data = tables.space, tables.data
    mean, _ = tables.start.normal(space)
    top, root = tables.top.copy(), tables.root.copy()
    order, parent = space.ladder
    flat = np.full(len(mean), 16.0)
    about = (space.on_coordinates, space.models[0], order, parent[:0], space.coded, mean, flat)
    who = np.arange(len(data))
    told = (data.starts, data.arrays, data.world, tables.own)
    tables.kernel.tops(tables.top, *about, *told, 6, top, root, who)
    value = np.empty((len(data), len(order)))
    each = np.arange(len(order))
    tables.kernel.likelihoods(
        top, each, space.on_coordinates, space.models[0], space.coded, *told, who, value
    )
    for k in each:
        value[:, k] = np.maximum(value[:, k], tables.value[:, tables.model == k].max(axis=1))
    trials = np.diff(data.starts)[:, None]
    score = value - 0.5 * space.on_coordinates.sum(axis=1) * np.log(trials)
    return space.models[1][score.argmax(axis=1)].mean(axis=0)


def study_of(design: Design, seed: int, out: Outcomes) -> None:
    """One study, analysed and compared with its truth."""
    rng = np.random.default_rng(seed)
    sizes, planned = people(design, rng)
    study = played(design, sizes, rng)
    names = [name for name in design.listed if name != design.unlisted]
    start = process_time()
    work = Work.of(study, names, (), (), {}, "delta", None, design.joined)
    kept: list[Tables | Jumps] = []
    found = work.found(seed, 1, None, Nowhere(), True, kept)
    out.seconds.append(process_time() - start)
    out.alarm.append(bool(found.missing["alarm"].any()))
    if design.unlisted:
        return
    bic = by_bic(kept[0]) if isinstance(kept[0], Tables) else np.full(len(names), np.nan)
    for j, part in enumerate(found.parts):
        name, row = part.name, found.mechanisms.row(j, named=True)
        size, truth = np.abs(sizes[name]), float((sizes[name] != 0).mean())
        if row["withheld"]:  # a false alarm of the test: what would have been told
            row = {"share": found.shares[:, j].mean()} | dict(
                zip(
                    ("lower", "upper"), np.quantile(found.shares[:, j], (0.025, 0.975)), strict=True
                )
            )
        out.mechanism.append(name)
        out.planned.append(planned[name])
        out.truth.append(truth)
        out.bic.append(float(bic[j]))
        for key in ("share", "lower", "upper"):
            getattr(out, key).append(row[key])
        if row.get("beyond") is not None and name in SMALLEST:
            beyond = float((size > SMALLEST[name]).mean())
            out.beyond.append(row["beyond_lower"] - 1e-9 <= beyond <= row["beyond_upper"] + 1e-9)
        told = found.learners.filter(mechanism=name)["probability"]
        if told.null_count() == 0:
            out.stated += told.to_list()
            out.shows += (sizes[name] != 0).tolist()


def outcomes(name: str, studies: int, seed: int) -> Outcomes:
    design, out = DESIGNS[name][0], Outcomes()
    for k in range(studies):
        study_of(design, seed + k, out)
    return out


def _rate(found: Sequence[bool] | Bools) -> tuple[float, float]:
    n = max(len(found), 1)
    rate = float(np.sum(found)) / n
    return rate, float(np.sqrt(max(rate * (1 - rate), 0.25 / n) / n))


def figures(name: str, out: Outcomes) -> list[Row]:
    """The figures of one design beside their bars."""
    rows: list[Row] = []

    def add(what: str, rate: float, error: float, bar: str, met: bool | None) -> None:
        rows.append(Row(f"{name}: {what}", f"{rate:.3f} ± {error:.3f}", bar, "", met))

    n = len(out.alarm)
    alarm, error = _rate(out.alarm)
    if name.startswith("without"):
        add(f"alarmed, {n} studies", alarm, error, "≥ .9", alarm >= 0.9)
        return rows
    truth, share, planned = (np.array(v) for v in (out.truth, out.share, out.planned))
    lower, upper, bic = (np.array(v) for v in (out.lower, out.upper, out.bic))
    easy = ~np.isin(out.mechanism, HARD)
    add(f"false alarms of the test of the list, {n} studies", alarm, error, "≤ .05", alarm <= 0.05)
    if name == "graded":
        rate, error = _rate(out.beyond)
        add("coverage beyond the size of interest", rate, error, "≥ .88", rate >= 0.88)
        return rows
    wrong, spread = np.abs(share - truth), np.abs(share - truth).reshape(n, -1).mean(axis=1)
    bar = 0.11 if name == "200" else 0.08
    add("mean error of a share", wrong.mean(), spread.std() / np.sqrt(n), f"≤ {bar}",
        wrong.mean() <= bar)  # fmt: skip
    add("mean error by BIC", np.abs(bic - truth).mean(), 0.0, "", None)
    covered = (lower - 1e-9 <= truth) & (truth <= upper + 1e-9)
    rate, error = _rate(covered)
    add("coverage of the share", rate, error, "≥ .92", rate >= 0.92)
    for what, some, good in (
        ("false alarms", (lower > 0.1)[truth == 0], lambda r: r <= 0.02),
        ("found, everybody", (lower > 0.1)[planned == 1], lambda r: r >= 0.95),
        ("found, 30%, without asymmetry and lapse", (lower > 0.1)[easy & (planned == 0.3)],
         lambda r: r >= 0.75),
    ):  # fmt: skip
        if len(some):
            rate, error = _rate(some)
            bars = {"false": "≤ .02", "found,": "≥ .95 / .75"}[what.split()[0]]
            barred = name != "200" or what == "false alarms"  # finding has bars at 400 trials only
            bars, met = (bars, good(rate)) if barred else ("", None)
            add(f"{what} ({len(some)} chances)", rate, error, bars, met)
    stated, shows = np.array(out.stated), np.array(out.shows)
    edges = np.array([0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0001])
    for low, high in pairwise(edges.tolist() if name == "beta" else []):
        mine = (stated >= low) & (stated < high)
        if mine.sum() >= 20:
            rate, error = _rate(shows[mine])
            gap = abs(rate - stated[mine].mean())
            add(f"people told {stated[mine].mean():.2f} ({mine.sum()})", rate, error, "within .12",
                gap <= 0.12)  # fmt: skip
    seconds, timed = float(np.median(out.seconds)), name == "five"  # 32 combinations
    bar, met = ("≤ 6", seconds <= 6) if timed else ("", None)
    add("seconds of processor time (median)", seconds, 0.0, bar, met)
    return rows


def groups(studies: int, seed: int) -> list[Row]:
    """Two groups of 20 that differ in one mechanism, which only the second shows."""
    false, hits, covered = [], [], []
    for k in range(studies):
        rng = np.random.default_rng(seed + k)
        sizes, _ = people(Design(), rng)
        name = ("stickiness", "forgetting")[k % 2]
        size = rng.uniform(SIZES[name][0], SIZES[name][1], PEOPLE)
        second = np.arange(PEOPLE) >= PEOPLE // 2
        sizes[name] = size * second
        study = played(Design(), sizes, rng)
        named = pl.DataFrame(
            {"learner": study.learners, "group": np.where(second, "b", "a").tolist()}
        )
        found = compare_mechanisms(
            study, "group", named, seed + k, 1, parts=USUAL, base="delta"
        ).differences
        for row in found.iter_rows(named=True):
            shows = sizes[row["mechanism"]] != 0
            truth = float(shows[~second].mean() - shows[second].mean())
            differs = not row["lower"] <= 0 <= row["upper"]
            if row["mechanism"] == name:
                hits.append(differs)
            else:
                false.append(differs)
            covered.append(row["lower"] - 1e-9 <= truth <= row["upper"] + 1e-9)
    rows = []
    for what, some in (
        ("difference of 100 points found", hits), ("wrongly a difference", false),
        ("coverage of the sample's difference", covered),
    ):  # fmt: skip
        rate, error = _rate(some)
        rows.append(Row(f"groups: {what} ({len(some)})", f"{rate:.3f} ± {error:.3f}", "", "", None))
    return rows


def cells(studies: int, seed: int) -> list[Row]:
    """All of 30 people take contexts one by one, or half of them those with the same pattern."""
    task, arrays = hl.Task.load("five-four"), ("context", "action", "reward", *FLAGS)
    alarms: dict[str, list[bool]] = {"nobody": [], "half": []}
    covered = []
    for k in range(seed, seed + studies):
        one, two, three = (
            hl.simulate(task, model, {"eta": 0.3}, learners=15, trials=200, seed=3 * k + j)
            for j, model in enumerate(("OnePerItem", "ByPattern", "OnePerItem"))
        )
        for who, other in (("half", two), ("nobody", three)):
            study = replace(
                one,
                learners=(*one.learners, *(f"{name} too" for name in other.learners)),
                starts=np.concatenate([one.starts, other.starts[1:] + one.starts[-1]]),
                **{key: np.concatenate([getattr(one, key), getattr(other, key)]) for key in arrays},
            )
            found = hl.mechanisms(study, base="gradient", seed=k, threads=1).missing
            alarms[who].append(bool(found["alarm"].any()))
            at = found.row(0, named=True)
            if who == "half":
                covered.append("pattern" in at["mechanism"] and at["lower"] <= 0.5 <= at["upper"])
    rows = []
    for what, some in (*alarms.items(), ("half: the interval covers it", covered)):
        rate, error = _rate(some)
        rows.append(Row(f"cells: {what} ({len(some)})", f"{rate:.3f} ± {error:.3f}", "", "", None))
    return rows


def run(quick: bool) -> list[Row]:
    """All designs."""
    rows: list[Row] = []
    for number, (name, (_, studies)) in enumerate(DESIGNS.items()):
        if quick and number > 1:
            break
        found = outcomes(name, 2 if quick else studies, SEED + 1_000 * number)
        note(f"{name}: {len(found.alarm)} studies")
        rows += figures(name, found)
    return rows if quick else rows + groups(GROUPS, SEED + 900_000) + cells(GROUPS, SEED + 950_000)


def main() -> None:
    name, studies, seed = sys.argv[1], *map(int, sys.argv[2:4])
    apart = {"groups": groups, "cells": cells}
    rows = (
        apart[name](studies, seed)
        if name in apart
        else figures(name, outcomes(name, studies, seed))
    )
    for row in rows:
        print(row.what, row.figure, row.bar, row.met, sep="\t", flush=True)


if __name__ == "__main__":
    main()
