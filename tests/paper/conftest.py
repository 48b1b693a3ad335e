"""A made-up archive in the authors' layout."""

from __future__ import annotations

import shutil

import polars as pl
import pytest

import howlearn as hl
from howlearn.paper.published import AUTHORS

TASK = hl.Task.load("five-four")
LEARNERS = 12  # so that natural and alphabetical order differ


@pytest.fixture(scope="session")
def original(tmp_path_factory):
    """A made-up archive: 12 learners per model, and the empty template."""
    top = tmp_path_factory.mktemp("archive")
    folder = top / "ContextualBanditscode" / "syntheticdatabis"
    for seed, (theirs, ours) in enumerate(AUTHORS.items()):
        study = hl.simulate(TASK, ours, {"eta": 0.05}, learners=LEARNERS, trials=500, seed=seed)
        (folder / f"{theirs}_bis").mkdir(parents=True)
        for i, trials in enumerate(study):
            write(trials, folder / f"{theirs}_bis" / f"databis_1_{i + 1}.csv")
    items = [TASK.contexts[t % 9] for t in range(500)]
    template = pl.DataFrame({"Action": [0] * 500, "Reward": [0] * 500, "Item": items})
    template.write_csv(folder / "databis_500.csv", quote_style="non_numeric")
    return top


@pytest.fixture
def archive(original, tmp_path):
    """A copy of it that may be broken; the folder that holds syntheticdatabis."""
    return shutil.copytree(original / "ContextualBanditscode", tmp_path / "code")


def write(trials, path):
    reward = trials.reward.copy()
    reward[0] = 15.0  # such rewards are in the authors' files
    items = [int(TASK.contexts[c]) for c in trials.context]
    frame = pl.DataFrame({"Action": trials.action + 1, "Reward": reward, "Item": items})
    frame.write_csv(path)
