"""A disk that is full, a quota, a limit on files: words, nothing half written, nothing lost."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from folders import content, leftovers, stamps, tables
from forked import FILES, Server
from running import Ran

WORDS = "select trials.csv --criterion aic --workers 1 --predictions --out".split()
GOES_ON = "; what is finished is kept, and the same command started again continues from there\n"


@pytest.fixture
def calm(server: Server, trials: Path) -> dict[str, bytes]:
    assert server.run(*WORDS, "calm").status == 0
    return content("calm")


def check_words(ran: Ran, folder: str) -> None:
    assert ran.status == 2, ran.err
    last = ran.err.removesuffix("events: -1\n").splitlines(keepends=True)[-1]
    assert last.startswith(f"howlearn: {folder}"), ran.err
    assert " cannot be written: the disk is full, or a limit on files is reached (" in last
    assert last.endswith(GOES_ON)
    assert "Traceback" not in ran.err
    assert "panicked" not in ran.err


@pytest.fixture
def disk(here: Path) -> Iterator[Path]:
    """A file system of a megabyte."""
    path = here / "disk"
    path.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "howlearn-test", str(path)]
    try:
        mounted = subprocess.run(words, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("needs a user who may mount; a limit on files is tested instead")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def test_a_small_disk(server: Server, disk: Path, calm: dict[str, bytes]) -> None:
    """Filled up but for a few pages, then a few more: every attempt comes further."""
    filler = disk / "filler"
    finished: dict[str, int] = {}
    for pages in (3, 14, 14):
        filler.unlink(missing_ok=True)
        filler.write_bytes(bytes(shutil.disk_usage(disk).free - pages * 4096))
        ran = server.run(*WORDS, "disk/results")
        check_words(ran, "disk/results")
        assert leftovers("disk/results") == []
        now = stamps("disk/results") if Path("disk/results/parts").exists() else {}
        assert finished.items() <= now.items()
        assert {f"parts/{name}" for name in now} <= {*calm}
        finished = now
    assert finished
    filler.unlink()
    assert server.run(*WORDS, "disk/results").status == 0
    assert content("disk/results") == calm


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_limit_on_the_size_of_files(
    server: Server, here: Path, trials: Path, format: str
) -> None:
    """Smaller than a part, than a table, than the last of the tables."""
    words = (*WORDS, "results", "--format", format)
    assert server.run(*words).status == 0
    calm = content()
    shutil.rmtree("results")
    sizes = sorted(len(text) for name, text in calm.items())
    for size in (max(2_500, sizes[2] - 1), sizes[-2] - 1, sizes[-1] - 1):
        check_words(server.run(*words, size=size), "results")
        assert leftovers() == []
        assert tables(content()).items() <= calm.items()
    assert server.run(*words).status == 0
    assert content() == calm


def test_no_room_at_any_moment(server: Server, here: Path, calm: dict[str, bytes]) -> None:
    """The system says so at one of the things that are done to files."""
    kinds = [kind for kind in FILES if kind != "os.remove"]  # for which no room is needed
    for moment, kind in ((2, "ENOSPC"), (3, "EDQUOT"), (7, "ENOSPC"), (28, "EDQUOT")):
        ran = server.run(*WORDS, "results", fault=[kind, moment, kinds, "results"])
        if ran.status != 0:  # it only wanted to make sure that a file is on the disk
            check_words(ran, "results")
        assert leftovers() == []
        assert tables(content()).items() <= calm.items()
    assert server.run(*WORDS, "results").status == 0
    assert content() == calm


def test_commands_that_start_anew_do_not_promise_to_go_on(server: Server, here: Path) -> None:
    words = "simulate --task five-four --learners 20 --trials 90 --out".split()
    for name in ("trials.csv", "trials.parquet"):
        ran = server.run(*words, name, size=2_500)
        assert ran.status == 2
        assert ran.err.endswith("); no file is incomplete\n")
        assert f"howlearn: {name} cannot be written: the disk is full" in ran.err
    assert [path.name for path in here.iterdir() if "trials" in path.name] == []


SPOOL = """
import numpy as np
from howlearn.core.errors import HowlearnError
from howlearn.core.stored_study import Spool
spool = Spool()
try:
    spool.append({"reward": np.zeros(900)})
except HowlearnError as error:
    print(error)
"""


def test_trials_that_are_kept_on_disk(server: Server, here: Path) -> None:
    ran = server.run(code=SPOOL, size=2_500)
    assert (ran.status, ran.err) == (0, "")
    assert "cannot hold the trials (File too large" in ran.out
    assert "TMPDIR" in ran.out
