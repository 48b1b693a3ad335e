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
    "select": ("select trials.csv --criterion aic --workers 1 --predictions", 20),
    "discover": ("discover trials.csv --criterion aic --workers 1", 9),
    "calibrate": (CALIBRATE, 10),
    "reproduce": ("reproduce --learners 2 --workers 1", 6),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_random_moments(server: Server, here: Path, trials: Path, command: str) -> None:
    """Between any two things that it does to files, again and again, until it once ends."""
    text, times = COMMANDS[command]
    words = [*text.split(), "--out", "results"]
    count = server.events(*words)
    calm = content()
    again = server.events(*words)
    shutil.rmtree("results")
    draw, kills, before = random.Random(command), 0, {}
    while kills < times or not Path("results").exists():
        fresh = ["--fresh"] if before and draw.random() < 0.15 else []
        moment = draw.randint(1, again if before and draw.random() < 0.5 else count)
        if kills == times:
            moment = -1
        ran = server.run(*words, *fresh, fault=["kill", moment, FILES, "results"])
        now = stamps() if Path("results").exists() else {}
        assert {f"parts/{name}" for name in now} <= {*calm}  # none is half there
        assert fresh or before.items() <= now.items()  # none is done again
        before, kills = now, kills + (ran.status == -9)
        if ran.status != -9:
            assert ran.status == 0, ran.err
            assert content() == calm
            assert leftovers() == []
            shutil.rmtree("results")
            before = {}
            if kills == times:
                break


def test_killed_by_the_clock(server: Server, here: Path, trials: Path) -> None:
    """One folder, killed again and again, also while files are being written."""
    words = "select trials.csv --criterion aic --workers 1 --out results".split()
    start = time.monotonic()
    assert server.run(*words).status == 0
    calm, took = content(), time.monotonic() - start
    draw = random.Random(9)
    shutil.rmtree("results")
    before: dict[str, int] = {}
    for _ in range(5):
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
