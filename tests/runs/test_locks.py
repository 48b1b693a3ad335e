"""One process in a folder, or the shards of one run; others are told who is there."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from folders import content, leftovers, stamps
from forked import FILES, Server
from howlearn.core.errors import HowlearnError
from howlearn.runs import files
from howlearn.runs.files import Lock
from howlearn.runs.folder import RunFolder, Start
from howlearn.runs.shards import Nobody, Shard
from tiny_run import MANIFEST, OUTPUTS, run

WORDS = "select trials.csv --criterion aic --workers 1 --out results".split()
# Shards of a run; the first wait until all of them stand at the same line.
SHARD = """
import time, sys
from howlearn.runs.shards import Shard, ShardEnded
from howlearn.runs.folder import Start
from tiny_run import run, MANIFEST
while time.time() < {at}: pass
try:
    run("{folder}", {{**MANIFEST, "options": {options}}}, Start(shard=Shard({number}, {count})))
except ShardEnded as ended:
    print(ended)
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PATIENCE", 0.05)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see who waits")
def test_the_second_is_told_who_holds_it_and_a_dead_holder_holds_nothing(
    server: Server, here: Path, trials: Path
) -> None:
    first = server.start(*WORDS, fault=["stop", 40, FILES, "results"])
    stopped(first.number)
    before, when = content(), stamps()
    for more in ([], ["--fresh"], ["--shard", "1/2"], ["--criterion", "bic", "--fresh"]):
        ran = server.run(*WORDS, *more)
        assert ran.status == 2
        assert re.search(
            rf"\nhowlearn: results is in use by process {first.number} of \S+ on \S+ \(howlearn "
            r"select, since 2\d{3}-\d\d-\d\d \d\d:\d\d[^)]*\); wait until that ends, or name "
            r"another folder with --out\n",
            ran.err,
        ), ran.err
    assert (content(), stamps()) == (before, when)
    first.kill()
    assert first.wait().status == -9
    assert leftovers() != []
    again = server.run(*WORDS)
    assert again.status == 0, again.err
    assert leftovers() == []


def stopped(process: int) -> None:
    """Wait until it stands still."""
    state, until = "", time.monotonic() + 60
    while state != "T":
        assert state != "Z", "it ended before it was stopped"
        assert time.monotonic() < until
        time.sleep(0.01)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def refused(folder: str, command: str, shard: str | None = None) -> str:
    with pytest.raises(HowlearnError) as error:
        Lock(Path(folder), command, shard)
    return str(error.value)


def test_who_may_be_beside_whom(here: Path) -> None:
    """Shards beside each other, each once; a whole run, and a merge, alone."""
    one, two = (Lock(here, "select", shard) for shard in ("1-of-3", "2-of-3"))
    assert "howlearn select, shard 1-of-3, since" in refused(".", "select", "1-of-3")
    message = refused(".", "select")
    assert "shard 1-of-3" in message
    assert "shard 2-of-3" in message
    one.release()
    assert "shard 1-of-3" not in refused(".", "select")
    two.release()
    assert leftovers(here) == []
    whole = Lock(here, "discover")
    for shard in (None, "3-of-3"):
        assert "(howlearn discover, since" in refused(".", "select", shard)
    whole.release()
    assert leftovers(here) == []


def test_the_dead_are_not_named(here: Path) -> None:
    """Files that a kill left say nothing about who holds a folder now."""
    for name in (".lock", ".lock-7-of-9", ".lock-1-of-2"):
        Path(name).write_text(
            '{"command": "select", "process": 1, "host": "h", "user": "dead", "since": "x"}'
        )
    shard = Lock(here, "select", "1-of-2")
    message = refused(".", "select")
    assert f"process {os.getpid()}" in message
    assert "dead" not in message
    shard.release()
    Lock(here, "select").release()
    assert leftovers(here) == []


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "\0", "[" * 100_000, '{"process": []}', '{"host": "\x1b[2J"}']
)
def test_a_lock_with_odd_content(here: Path, text: str) -> None:
    held = Lock(here, "select")
    Path(".lock").write_text(text)
    assert ". is in use by another process; wait" in refused(".", "select")
    held.release()
    Lock(here, "select").release()


def test_words_in_a_lock_cannot_move_the_cursor(here: Path) -> None:
    held = Lock(here, "select")
    Path(".lock").write_text(
        '{"command": "a\\u001b[2J\\n", "process": 1, "host": "b", "since": "c", "user": "d"}'
    )
    message = refused(".", "select")
    assert "process 1 of d on b (howlearn a[2J, since c)" in message
    held.release()


def test_a_link_in_the_place_of_a_lock_overwrites_nothing(here: Path) -> None:
    Path("precious").write_text("mine")
    Path("results").mkdir()
    Path("results/.lock").symlink_to(here / "precious")
    with pytest.raises(HowlearnError, match=r"results/\.lock is a link"):
        run()
    assert Path("precious").read_text() == "mine"


def test_a_folder_that_cannot_be_written(here: Path) -> None:
    """Whoever is root may write anywhere, but for a file system that is read-only."""
    run()
    before = content()
    bind = ["mount", "--bind", "results", "results"]
    mounted = shutil.which("mount") and subprocess.run(bind, capture_output=True).returncode == 0
    if not mounted:
        Path("results").chmod(0o500)
        if os.access("results", os.W_OK):
            pytest.skip("needs a user who may mount, or one who is not root")
    else:
        subprocess.run(["mount", "-o", "remount,ro,bind", "results"], check=True)
    try:
        with pytest.raises(HowlearnError, match=r"results cannot be used \(\.lock: .*--out"):
            run()
        assert content() == before
    finally:
        if mounted:
            subprocess.run(["umount", "results"], check=True)
        else:
            Path("results").chmod(0o700)


def test_a_file_system_without_locks(
    here: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import fcntl

    def no(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no)
    Path("results/parts").mkdir(parents=True)
    with RunFolder(Path("results"), MANIFEST, OUTPUTS):  # somebody is there
        Path("results/parts/.000000.numbers.0.parquet.elsewhere-5.tmp").write_text("being written")
        assert run() == [0, 1, 2, 3]
    assert "without locks: make sure that nothing else uses it" in caplog.text
    assert leftovers() == [".000000.numbers.0.parquet.elsewhere-5.tmp"]  # who knows whose
    for number in (1, 2):
        with pytest.raises(Exception, match="is finished: 2 of the run's 4 parts"):
            run("shards", start=Start(shard=Shard(number, 2)))
    assert run("shards", start=Start(engine=Nobody(Path("shards")))) == []
    assert leftovers("shards") == []


def test_shards_that_start_at_the_same_instant(server: Server, here: Path) -> None:
    run("calm", {**MANIFEST, "options": {"a": 1}})
    calm = content("calm")
    for attempt in range(20):
        folder, at = f"r{attempt}", time.time() + 0.05
        shards = [
            server.start(
                code=SHARD.format(at=at, folder=folder, number=k, count=3, options={"a": 1})
            )
            for k in (1, 2, 3)
        ]
        for ran in [shard.wait() for shard in shards]:
            assert ran.status == 0, ran.err
            assert "is finished" in ran.out
        other = {**MANIFEST, "options": {"a": 1}}
        assert run(folder, other, Start(engine=Nobody(Path(folder)))) == []
        merged = content(folder)
        merged.pop("shards.json")
        assert merged == calm
        assert leftovers(folder) == []


def test_of_two_with_other_options_one_gives_way(server: Server, here: Path) -> None:
    for attempt in range(6):
        folder, at = f"r{attempt}", time.time() + 0.05
        shards = [
            server.start(
                code=SHARD.format(at=at, folder=folder, number=k, count=2, options={"a": k})
            )
            for k in (1, 2)
        ]
        ended = [shard.wait() for shard in shards]
        assert sorted(ran.status for ran in ended) == [0, 1], [ran.err for ran in ended]
        (loser,) = (ran for ran in ended if ran.status)
        assert "holds the results of another run" in loser.err
        assert len(stamps(folder)) == 4  # of two parts, two tables each
