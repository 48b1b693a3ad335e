"""Seeds of several files: folders, and BIDS data sets with what stands beside the data."""

from __future__ import annotations

import json

from fuzz.rows import rows
from fuzz.seeds import Seed, Writer

EVENTS = "onset\tduration\ttrial\tstimulus\tchoice\treward"


def _learner(learner: int, separator: str = "\t") -> bytes:
    lines = [EVENTS]
    lines += [
        f"{trial}.5\t1\t{trial}\t{stimulus}\t{choice}\t{reward}"
        for who, trial, stimulus, choice, reward, _ in rows()
        if who == learner
    ]
    return ("\n".join(lines) + "\n").replace("\t", separator).encode()


def bids() -> Seed:
    """A data set with sidecars and what is known of the learners."""
    about = {"choice": {"LongName": "Key", "Levels": {"L": "left", "R": "right"}}}
    files = {
        "set/dataset_description.json": b'{"Name": "x", "BIDSVersion": "1.8.0"}',
        "set/participants.tsv": b"participant_id\tage\tsex\nsub-01\t30\tf\nsub-02\t25\tm\n",
        "set/task-learn_events.json": json.dumps(about).encode(),
        "set/sub-01/func/sub-01_task-learn_run-1_events.tsv": _learner(1),
        "set/sub-02/func/sub-02_task-learn_run-1_events.tsv": _learner(2),
    }
    kinds = {name: "json" if name.endswith("json") else "text" for name in files}
    return Seed(kinds, files, "set")


def folder() -> Seed:
    """One file per learner, and JSON beside them."""
    files = {
        "data/p1.csv": _learner(1, ","),
        "data/p2.csv": _learner(2, ","),
        "data/about.json": b'{"experiment": "x", "version": 3}',
    }
    kinds = {name: "json" if name.endswith("json") else "text" for name in files}
    return Seed(kinds, files, "data")


SEEDS: dict[str, Writer] = {"bids": bids, "folder": folder}
