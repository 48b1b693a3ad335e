"""Shares of a run, in one folder or in many, and what merges them."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from folders import content, leftovers
from forked import Server
from howlearn.core.errors import HowlearnError
from howlearn.runs.folder import Start
from howlearn.runs.shards import Nobody, Shard, ShardEnded, collect
from tiny_run import MANIFEST, one, run

COMMAND = ("select", "trials.csv")
WORDS = "select trials.csv --criterion aic --workers 1 --predictions --out".split()


@pytest.fixture
def calm(here: Path) -> dict[str, bytes]:
    run("calm")
    return content("calm")


def do(shard: Shard, folder: str = "results", manifest: dict = MANIFEST) -> None:
    with pytest.raises(ShardEnded):
        run(folder, manifest, Start(shard=shard, command=COMMAND))


def merge(folder: str = "results") -> dict[str, bytes]:
    assert run(folder, start=Start(engine=Nobody(Path(folder)))) == []
    found = content(folder)
    assert found.pop("shards.json")
    assert leftovers(folder) == []
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
def test_every_split_gives_the_same(calm: dict[str, bytes], count: int) -> None:
    """In any order, in one folder and in one for each; more shards than parts too."""
    order = random.Random(count).sample(range(1, count + 1), count)
    for number in order:
        do(Shard(number, count))
        do(Shard(number, count), f"apart{number}")
    assert merge() == calm
    collect([Path(f"apart{number}") for number in order], Path("together"))
    assert merge("together") == calm


def test_what_is_missing_is_named(calm: dict[str, bytes]) -> None:
    do(Shard(2, 3))
    with pytest.raises(HowlearnError) as error:
        merge()
    assert str(error.value) == (
        "3 parts of results are missing or damaged: shards 1/3, 3/3 have not ended; run the "
        "missing shards again, or the command without --shard, which does everything"
    )
    do(Shard(1, 3))
    with pytest.raises(HowlearnError, match=r"^1 part of results is .*: shard 3/3 has not ended;"):
        merge()
    assert run() == [2]  # the whole run takes over what shards have done
    assert merge() == calm


def test_a_damaged_copy_does_not_replace_a_right_one(calm: dict[str, bytes]) -> None:
    for folder in ("a", "b"):
        do(Shard(1, 1), folder)
    one(1, folder="b").write_bytes(b"damaged")
    one(2, folder="a").write_bytes(b"damaged")
    before = content("a"), content("b")
    collect([Path("a"), Path("b")], Path("together"))
    assert merge("together") == calm
    assert (content("a"), content("b")) == before


def test_folders_of_other_runs_are_not_merged(calm: dict[str, bytes]) -> None:
    do(Shard(1, 2), "a")
    do(Shard(2, 2), "b", {**MANIFEST, "options": {"a": "now"}})
    with pytest.raises(HowlearnError) as error:
        collect([Path("a"), Path("b")], Path("together"))
    assert "\n  a: 1 in a, now in b\n" in str(error.value)
    assert not Path("together").exists()
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    Path("file").write_text("mine")
    for out, words in {"mine": "holds no results of howlearn", "b": "something else"}.items():
        with pytest.raises(HowlearnError, match=words):
            collect([Path("a")], Path(out))
    with pytest.raises(HowlearnError, match="file is a file"):
        collect([Path("a")], Path("file"))
    assert [path.name for path in Path("mine").iterdir()] == ["notes.txt"]


def test_a_merge_that_was_killed_goes_on(calm: dict[str, bytes]) -> None:
    for number in (1, 2):
        do(Shard(number, 2), f"s{number}")
    Path("together/parts").mkdir(parents=True)  # that far, and no manifest yet
    Path("together/.lock").touch()
    collect([Path("s1"), Path("s2")], Path("together"))
    (left_out, *_) = Path("together/parts").iterdir()
    left_out.unlink()
    collect([Path("s1"), Path("s2")], Path("together"))
    assert merge("together") == calm


def test_as_commands(server: Server, here: Path, trials: Path) -> None:
    assert server.run(*WORDS, "calm").status == 0
    calm = content("calm")
    ended = server.run(*WORDS, "results", "--shard", "1/2")
    assert ended.status == 0
    assert "shard 1 of 2 is finished: 2 of the run's 4 parts." in ended.out
    missing = server.run("merge", "results")
    assert missing.status == 2
    assert "howlearn: 2 parts of results are missing or damaged: shard 2/2 has" in missing.err
    assert server.run(*WORDS, "apart", "--shard", "2/2").status == 0
    merged = server.run("merge", "results", "apart", "--out", "together")
    assert merged.status == 0, merged.err
    found = content("together")
    found.pop("shards.json")
    assert found == calm
    assert leftovers("together") == []
    refused = server.run(*WORDS, "results", "--shard", "2/2", "--fresh")
    assert refused.status == 2
    assert "--fresh would remove the work of other shards" in refused.err
    shutil.rmtree("apart")
