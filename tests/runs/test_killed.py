"""SIGKILL at any moment: the same command goes on, and the results are those of a calm run."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

import pytest

from folders import content, leftovers, stamps
from forked import FILES, Server

CALIBRATE = "calibrate --task five-four --trials 20 --learners 3 --set eta=0.05 --workers 1"
CALIBRATE += " --model ByShape --model OneForAll --splits 0.5 --constants 0.01,0.02"
COMMANDS = {
    "select": ("select trials.csv --criterion aic --workers 1 --predictions", 18),
    "discover": ("discover trials.csv --criterion aic --workers 1", 10),
    "calibrate": (CALIBRATE, 10),
    "reproduce": ("reproduce --learners 2 --workers 1", 6),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_random_moments(server: Server, here: Path, trials: Path, command: str) -> None:
    """Between any two things that it does to files; every other time a run of its own."""
    text, times = COMMANDS[command]
    words = [*text.split(), "--out", "results"]
    count = server.events(*words)
    calm = content()
    draw = random.Random(command)
    moments = sorted(draw.sample(range(1, count + 1), times))
    fresh = draw.sample(moments, times // 3)
    for moment in moments:
        if moment not in fresh:
            shutil.rmtree("results")
        more = ["--fresh"] if moment in fresh else []
        assert server.run(*words, *more, fault=["kill", moment, FILES, "results"]).status == -9
        finished = stamps()
        assert {f"parts/{name}" for name in finished} <= {*calm}  # none is half there
        again = server.run(*words)
        assert again.status == 0, again.err
        assert content() == calm, f"after event {moment} of {count}"
        assert leftovers() == []
        now = stamps()
        assert [name for name, stamp in finished.items() if now[name] != stamp] == []


def test_killed_by_the_clock(server: Server, here: Path, trials: Path) -> None:
    """One folder, killed again and again, also while files are being written."""
    words = "select trials.csv --criterion aic --workers 1 --out results".split()
    start = time.monotonic()
    assert server.run(*words).status == 0
    calm, took = content(), time.monotonic() - start
    draw = random.Random(9)
    shutil.rmtree("results")
    before: dict[str, int] = {}
    for _ in range(6):
        process = server.start(*words)
        time.sleep(draw.uniform(0, took))
        process.kill()
        assert process.wait().status in (-9, 0)
        now = stamps()
        assert before.items() <= now.items()
        before = now
    assert server.run(*words).status == 0
    assert content() == calm
    assert leftovers() == []
