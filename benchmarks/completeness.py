"""False alarms and power of ``howlearn.completeness``, calibration of ``howlearn.check``, speed.

``python -m benchmarks completeness`` prints the figures of docs/completeness.md;
``python -m benchmarks.completeness KIND LEARNERS TRIALS STUDIES SEED`` one line of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import process_time

import numpy as np

import howlearn as hl
from benchmarks.report import Row, duration, note
from howlearn.core.arrays import Floats
from howlearn.core.study import Study

SEED = 250_000
FALSE = (("partition", 20, 100), ("partition", 20, 300), ("partition", 60, 100),
         ("q-learning", 20, 100), ("q-learning", 20, 300), ("q-learning", 60, 100))  # fmt: skip
POWER = (("stickiness", 20, 300, 0.9), ("wsls", 20, 300, 0.9), ("unlisted", 20, 300, 0.9),
         ("switch", 20, 300, 0.9), ("forgetting", 60, 300, 0.8), ("lapse", 60, 300, 0.8),
         ("side bias", 20, 300, None))  # fmt: skip
RIGHT = {"stickiness": "repeats", "unlisted": "generalisation", "wsls": "recency",
         "side bias": "answer preference"}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What was found in one study."""

    alarm: bool
    completeness: float
    reason: str
    seconds: float


def simulated(kind: str, learners: int, trials: int, seed: int) -> Study:
    """A study of learners of the five-four task who follow a kind of truth."""
    task, random = hl.Task.load("five-four"), np.random.default_rng([seed, 1])
    rates = np.minimum(0.15 * np.exp(0.5 * random.standard_normal((learners, 1))), 1.0)
    if kind == "partition":
        return hl.simulate(task, "ByPattern", rates * np.ones((1, 2)), trials=trials, seed=seed)
    if kind == "q-learning":
        values = {"alpha": hl.Range(0.1, 0.5), "beta": hl.Range(2.0, 6.0)}
        return hl.simulate(task, "q-learning", values, learners, trials, seed)
    base = hl.simulate(task, "OneForAll", {"eta": 0.01}, learners, trials, seed)
    return _played(base, kind, rates[:, 0], random)


def _played(base: Study, kind: str, rates: Floats, random: np.random.Generator) -> Study:
    """Gradient bandits by pattern, with what each kind adds; win-stay-lose-shift by item."""
    level = {name: [*map(int, _bits(name))] for name in base.contexts}
    shape, colour, pattern, size = np.array([level[name] for name in base.contexts]).T
    assert base.answers is not None
    action, reward = base.action.copy(), base.reward.copy()
    for i, rate in enumerate(rates):
        start, stop = int(base.starts[i]), int(base.starts[i + 1])
        h, last = np.zeros((len(base.contexts), 2)), -1
        answer, paid = np.full(len(base.contexts), -1), np.zeros(len(base.contexts))
        for t in range(start, stop):
            c = base.context[t]
            cell = pattern[c]
            if kind == "unlisted":
                cell = 2 * colour[c] + size[c]
            if kind == "switch" and 2 * (t - start) < stop - start:
                cell = shape[c]
            elif kind == "switch" and 2 * (t - start) < stop - start + 2:
                h[:] = 0.0
            z = h[cell].copy()
            if kind == "stickiness" and last >= 0:
                z[last] += 0.6
            if kind == "side bias":
                z[0] += 0.7
            p = np.exp(z - z.max())
            p /= p.sum()
            learned = p.copy()
            if kind == "lapse":
                p = 0.9 * p + 0.05
            if kind == "wsls":
                stay = 0.5 if answer[c] < 0 else 0.9 if paid[c] else 0.2
                p = np.where(np.arange(2) == max(answer[c], 0), stay, 1 - stay)
            a = int(random.random() >= p[0])
            r = float(base.answers[c] == a)
            if kind == "forgetting":
                h *= 0.97
            h[cell] += rate * r * ((np.arange(2) == a) - learned)
            action[t], reward[t], last, answer[c], paid[c] = a, r, a, a, r
    return replace(base, action=action, reward=reward)


def _bits(name: str) -> str:
    """Shape, colour, pattern and size of an object of the task, by its number."""
    return f"{int(name) - 1:04b}"


def candidates(kind: str) -> list[hl.Model]:
    """The task's six partitions; with Q-learning where that is the truth."""
    task = hl.Task.load("five-four")
    more = [task.model("q-learning")] if kind == "q-learning" else []
    return [*task.models, *more]


def outcome(kind: str, learners: int, trials: int, seed: int) -> Outcome:
    """One study, selected and asked."""
    study = simulated(kind, learners, trials, seed)
    results = hl.select(study, candidates(kind), ["aic"], threads=1, check=False)
    start = process_time()
    found = hl.completeness(results, seed)
    seconds = process_time() - start
    share = found.row["completeness"]
    reasons = found.reasons["family"].to_list()
    share = float("nan") if share is None else share
    return Outcome(found.alarm, share, reasons[0] if reasons else "", seconds)


def outcomes(kind: str, learners: int, trials: int, n: int, seed: int) -> Iterator[Outcome]:
    """Several studies."""
    for k in range(n):
        yield outcome(kind, learners, trials, seed + k)


def calibration(
    kind: str, learners: int, trials: int, seed: int, **how: int
) -> tuple[Floats, bool]:
    """The p-values of one study whose truth is among the candidates, and whether a check fails."""
    study = simulated(kind, learners, trials, seed)
    results = hl.select(study, candidates(kind), ["aic"], threads=1, check=False)
    found = hl.check(results, seed=seed, threads=1, **how)
    return found.checks["p"].to_numpy(), found.fails


def run(quick: bool) -> list[Row]:
    """False alarms, power, first reasons, and the time of 100 learners × 300 trials."""
    rows, few = [], 2 if quick else 34
    alarms, shares = [], []
    for number, (kind, learners, trials) in enumerate(FALSE):
        found = [*outcomes(kind, learners, trials, few, SEED + 1_000 * number)]
        note(f"{kind} {learners} × {trials}: {sum(o.alarm for o in found)} of {len(found)} alarms")
        alarms += [o.alarm for o in found]
        shares += [o.completeness for o in found]
    rate, error = _share(alarms)
    rows.append(Row(f"false alarms, {len(alarms)} studies", f"{rate:.1%} ± {error:.1%}", "≤ 5%",
                    "", rate <= 0.05))  # fmt: skip
    mean = float(np.nanmean(shares))
    rows.append(Row("mean completeness under the truth", f"{mean:.3f}", "≥ .99", "", mean >= 0.99))
    for number, (kind, learners, trials, bar) in enumerate(POWER):
        found = [
            *outcomes(kind, learners, trials, 1 if quick else 20, SEED + 50_000 + 1_000 * number)
        ]
        rate, error = _share([o.alarm for o in found])
        what = f"found: {kind}, {learners} × {trials}"
        met = None if bar is None else rate >= bar
        rows.append(Row(what, f"{rate:.0%} ± {error:.0%}", f"≥ {bar:.0%}" if bar else "", "", met))
        if kind in RIGHT:
            right = [o.reason == RIGHT[kind] for o in found if o.alarm]
            rate, error = _share(right)
            rows.append(Row(f"first reason right: {kind}", f"{rate:.0%} ± {error:.0%}", "≥ 80%",
                            "", rate >= 0.8))  # fmt: skip
    rows += _checks(2 if quick else 60)
    took = outcome("wsls", 100, 300, SEED + 99).seconds
    rows.append(Row("100 learners × 300 trials, processor time", duration(took), "≤ 20 s", "",
                    took <= 20))  # fmt: skip
    return rows


def _checks(studies: int) -> list[Row]:
    """How often checks are wrong under the truth; p-values of one study hang together."""
    shares, fails = [], []
    for kind, learners, trials in FALSE[:1] + FALSE[1:2] + FALSE[4:5]:
        for k in range(studies // 3 + 1):
            p, failed = calibration(kind, learners, trials, SEED + 90_000 + k)
            shares.append(float((p < 0.05).mean()))
            fails.append(failed)
    mean, error = float(np.mean(shares)), float(np.std(shares) / np.sqrt(len(shares)))
    rate, spread = _share(fails)
    return [
        Row("p of a check under .05, truth a candidate", f"{mean:.1%} ± {error:.1%}", "3 to 7%",
            "", 0.03 <= mean <= 0.07),
        Row("studies that fail a check, corrected", f"{rate:.1%} ± {spread:.1%}", "≤ 5%", "",
            rate <= 0.05),
    ]  # fmt: skip


def _share(found: list[bool]) -> tuple[float, float]:
    n = max(len(found), 1)
    rate = sum(found) / n
    return rate, float(np.sqrt(max(rate * (1 - rate), 0.25 / n) / n))


def main() -> None:
    kind, learners, trials, n, seed = sys.argv[1], *map(int, sys.argv[2:6])
    for each in outcomes(kind, learners, trials, n, seed):
        print(kind, learners, trials, each.alarm, f"{each.completeness:.4f}", each.reason or "-",
              f"{each.seconds:.1f}", sep="\t", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
