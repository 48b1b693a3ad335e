"""Tasks for recovery: each suited to some of the field's models."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from howlearn import Task, read, simulate
from howlearn.core.study import Study
from howlearn.models.values import Reversal, Reward, Rewards, correct_rewards

LONGEST = 3_000  # trials
WALK_SEED = 1


def grid(side: int = 5) -> Task:
    """Contexts with two numbers as features; those above the diagonal belong to B."""
    places = {f"{x}-{y}": (x, y) for x in range(side) for y in range(side) if x + y != side - 1}
    rewards = {
        name: correct_rewards(("A", "B"), "B" if x + y >= side else "A")
        for name, (x, y) in places.items()
    }
    features = {name: {"x": str(x), "y": str(y)} for name, (x, y) in places.items()}
    return Task("grid", tuple(places), ("A", "B"), (), features=features, rewards=rewards,
                order="blocks")  # fmt: skip


def reversal(trials: int = LONGEST, every: int = 50) -> Task:
    """Two arms that pay with probabilities of 0.8 and 0.2, and change places every 50 trials."""
    rewards = {"arms": {"A": Reward(0.8), "B": Reward(0.2)}}
    changes = tuple(Reversal(t + 1, ("A", "B"), ("arms",)) for t in range(every, trials, every))
    return Task("reversal", ("arms",), ("A", "B"), (), rewards=rewards, reversals=changes)


@dataclass(frozen=True)
class NewRewards(Reversal):
    """From a trial on, all actions pay something else."""

    rewards: Rewards = field(default_factory=dict)

    def applied(self, rewards: Rewards) -> Rewards:
        return self.rewards


STEP, SPREAD = 0.05, 0.15  # of a mean per trial, and of payments around it
LOW, HIGH = 0.2, 0.8  # between which means walk


def restless(trials: int = LONGEST, arms: str = "ABCD") -> Task:
    """Arms whose mean payments walk at random; each payment lies a step above or below its mean."""
    rng = np.random.default_rng(WALK_SEED)
    mean, phases = rng.uniform(LOW, HIGH, len(arms)), []
    for _ in range(trials):
        phases.append({"arms": {a: Reward(0.5, m + SPREAD, m - SPREAD)
                                for a, m in zip(arms, mean.tolist(), strict=True)}})  # fmt: skip
        mean = mean + STEP * rng.standard_normal(len(arms))
        mean = np.where(mean > HIGH, 2 * HIGH - mean, np.where(mean < LOW, 2 * LOW - mean, mean))
    changes = tuple(NewRewards(t + 1, rewards=each) for t, each in enumerate(phases) if t)
    return Task("restless", ("arms",), tuple(arms), (), rewards=phases[0], reversals=changes)


def lists(contexts: int = 10) -> Task:
    """Ten contexts with three actions; the right one pays in 80%, the others in 20%."""
    rewards = {
        str(c): {a: Reward(0.8 if k == c % 3 else 0.2) for k, a in enumerate("ABC")}
        for c in range(contexts)
    }
    return Task("lists", tuple(rewards), ("A", "B", "C"), (), rewards=rewards, order="blocks")


def go_no_go() -> Task:
    """Four cues: to respond or not, to win or not to lose, with the right answer in 80%."""
    rewards = {}
    for right in ("go", "nogo"):
        for cue, low in (("win", 0.0), ("avoid", -1.0)):
            rewards[f"{right} to {cue}"] = {
                action: Reward(0.8 if action == right else 0.2, low + 1.0, low)
                for action in ("go", "nogo")
            }
    return Task("go-no-go", tuple(rewards), ("go", "nogo"), (), rewards=rewards,
                reward_range=(-1.0, 1.0), order="blocks")  # fmt: skip


ZERO = 0.75  # what 0 points become where −3 to 1 are stretched to lie between 0 and 1


def gambling() -> Task:
    """Four decks with gains and losses from −3 to 1, recorded from 0 to 1."""
    points = {"A": (0.5, 1.0, -1.5), "B": (0.9, 1.0, -3.0), "C": (0.5, 0.5, 0.0),
              "D": (0.9, 0.5, -2.0)}  # fmt: skip
    rewards = {
        deck: Reward(p, ZERO + gain / 4, ZERO + loss / 4)
        for deck, (p, gain, loss) in points.items()
    }
    return Task("gambling", ("decks",), (*rewards,), (), rewards={"decks": rewards})


SIZES = (2, 4, 6, 3, 5)  # stimuli in a block, over and over
TIMES = 10  # that a stimulus is shown


def blocks() -> Task:
    """Blocks of new stimuli, of which each has one of three right answers."""
    names = [f"{b}:{s}" for b in range(25) for s in range(SIZES[b % len(SIZES)])]
    rng = np.random.default_rng(1)
    rewards = {name: correct_rewards(("A", "B", "C"), "ABC"[rng.integers(3)]) for name in names}
    return Task("blocks", tuple(names), ("A", "B", "C"), (), rewards=rewards)


def blocks_of(learners: int, trials: int, seed: int) -> Study:
    """What learners are shown in blocks: in random order, with its load."""
    rng, rows = np.random.default_rng(seed), []
    for learner in range(learners):
        mine: list[dict[str, object]] = []
        block = 0
        while len(mine) < trials:
            size = SIZES[block % len(SIZES)]
            order = [s for _ in range(TIMES) for s in rng.permutation(size).tolist()]
            mine += [{"context": f"{block}:{s}", "block": block, "load": size} for s in order]
            block += 1
        rows += [{"learner": learner, **row, "action": "ABC"[t % 3], "reward": t % 2}
                 for t, row in enumerate(mine[:trials])]  # fmt: skip
    names = {"learner": "learner", "context": "context", "action": "action", "reward": "reward"}
    return read(pl.DataFrame(rows), **names, reset_by="block", load="load")


def shown(task: Task, learners: int, trials: int, seed: int) -> Study | None:
    """What learners are shown where the task alone does not say it: blocks, or what counts as 0."""
    if task.name == "blocks":
        return blocks_of(learners, trials, seed)
    if task.name == "gambling":
        anybody = simulate(task, "q-learning", {"alpha": 0.3, "beta": 5.0}, learners, trials, seed)
        return replace(anybody, zero=ZERO)
    return None
