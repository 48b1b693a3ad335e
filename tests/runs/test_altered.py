"""Parts, manifests and other files of a folder that somebody or something altered."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from folders import content, leftovers
from howlearn.core.errors import HowlearnError
from howlearn.runs.folder import Start
from howlearn.runs.parts import Parts, identity
from howlearn.runs.shards import Nobody, command_of
from tiny_run import MANIFEST, one, run


@pytest.fixture
def calm(here: Path) -> dict[str, bytes]:
    assert run() == [0, 1, 2, 3]
    assert run() == []
    return content()


def flip(file: Path) -> None:
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 1
    file.write_bytes(whole)


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def rename_with_other_hash(file: Path) -> None:
    file.rename(file.with_name(f"000001.numbers.{'0' * 16}.parquet"))


def add_another(file: Path) -> None:
    shutil.copy(one(2), file.with_name(f"000001.numbers.{'f' * 16}.parquet"))
    file.unlink()


ALTERED: dict[str, Callable[[Path], object]] = {
    "cut": lambda file: os.truncate(file, 100),
    "empty": lambda file: os.truncate(file, 0),
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"\0"),
    "flipped": flip,
    "another part's": lambda file: file.write_bytes(one(2).read_bytes()),
    "another part": lambda file: one(2).replace(file.with_name(one(2).name.replace("2", "1", 1))),
    "another table's": lambda file: shutil.copy(one(1, "texts"), file),
    "gone": lambda file: file.unlink(),
    "a pipe": pipe,
    "renamed": rename_with_other_hash,
    "replaced": add_another,
    "unreadable": lambda file: (os.truncate(file, 9), file.chmod(0)),  # who is root may read it
}


@pytest.mark.parametrize("how", ALTERED)
def test_what_was_altered_is_computed_again_and_nothing_else(
    calm: dict[str, bytes], how: str
) -> None:
    ALTERED[how](one())
    done = run()
    assert done == ([1] if how != "another part" else [2])
    assert content() == calm
    assert leftovers() == []
    assert run() == []


def test_files_that_are_no_parts_of_this_run_stay_out_of_its_tables(
    calm: dict[str, bytes],
) -> None:
    """Others' parts, with right hashes there; numbers beyond the last; odd names."""
    run("other", {**MANIFEST, "options": {"a": 2}})
    file = one(0)
    names = ["².numbers.0123456789abcdef.parquet", "x.parquet", "000001.numbers.parquet"]
    for name in (*names, file.name.replace("000000", "000009")):
        shutil.copy(file, Path("results/parts", name))
    for number in (0, 3):
        shutil.copy(one(number, folder="other"), "results/parts")
    assert run() == []
    assert content()["numbers.csv"] == calm["numbers.csv"]
    assert {name: text for name, text in content().items() if name in calm} == calm
    assert run(start=Start(fresh=True)) == [0, 1, 2, 3]
    assert sorted({*content()} - {*calm}) == [
        "parts/x.parquet",
        "parts/².numbers.0123456789abcdef.parquet",
    ]


def test_a_folder_in_the_place_of_a_part_is_named(calm: dict[str, bytes]) -> None:
    file = one()
    file.unlink()
    file.mkdir()
    with pytest.raises(HowlearnError, match=r"000001\.numbers\..* is a folder where a part"):
        run()
    file.rmdir()
    assert run() == [1]
    assert content() == calm


DEEP = "[" * 100_000 + "]" * 100_000
GARBAGE = {
    "no JSON": "{",
    "binary": "\0\1\2",
    "a list": "[1]",
    "a number": "7",
    "empty": "",
    "of another program": '{"name": "my app", "icons": []}',
    "deep": DEEP,
    "deep inside": '{"howlearn": ' + DEEP + "}",
}


@pytest.mark.parametrize("kind", GARBAGE)
@pytest.mark.parametrize("fresh", [False, True])
def test_a_damaged_manifest_gives_words_and_nothing_is_touched(
    calm: dict[str, bytes], kind: str, fresh: bool
) -> None:
    Path("results/manifest.json").write_text(GARBAGE[kind])
    before = content()
    with pytest.raises(HowlearnError, match=r"not results of howlearn .*manifest.json is missing"):
        run(start=Start(fresh=fresh))
    assert content() == before
    assert leftovers() == []


def test_a_manifest_nested_so_deep_that_only_reading_works(calm: dict[str, bytes]) -> None:
    odd = {**MANIFEST, "options": json.loads("[" * 900 + "]" * 900)}
    Path("results/manifest.json").write_text(json.dumps(odd))
    with pytest.raises(HowlearnError, match=r"^results holds"):
        run()


@pytest.mark.parametrize("kind", GARBAGE)
def test_damaged_words_of_shards(calm: dict[str, bytes], kind: str) -> None:
    Path("results/shards.json").write_text(GARBAGE[kind])
    with pytest.raises(HowlearnError, match=r"results was not made with --shard"):
        command_of(Path("results"))
    one().unlink()
    with pytest.raises(HowlearnError, match=r"^1 part of results is missing or damaged; run"):
        run(start=Start(engine=Nobody(Path("results"))))


def test_shards_json_names_commands_with_shards_only(calm: dict[str, bytes]) -> None:
    Path("results/shards.json").write_text('{"command": ["simulate", "--out", "/x"], "count": 2}')
    with pytest.raises(HowlearnError, match="names no command that has shards: simulate"):
        command_of(Path("results"))


def test_changes_are_shown_and_nothing_is_touched(calm: dict[str, bytes]) -> None:
    models = [{"name": "Mine", "code": "sha256:1"}, {"name": "Other", "code": "sha256:2"}]
    first = {**MANIFEST, "versions": {"polars": "1"}, "input": {"a.csv": "1"}, "models": models}
    run("mine", first)
    before = content("mine")
    changed = {
        "versions.polars: 1 there, 2 now": {"versions": {"polars": "2"}},
        "input.a.csv: 1 there, 9 now": {"input": {"a.csv": "9"}},
        "a: 1 there, 2 now": {"options": {"a": 2, "b": ["x"]}},
        "c: nothing there, true now": {"options": {**MANIFEST["options"], "c": True}},
        "models.Mine.code: sha256:1 there, sha256:9 now": {
            "models": [{"name": "Mine", "code": "sha256:9"}, models[1]]
        },
    }
    for line, change in changed.items():
        with pytest.raises(HowlearnError) as refused:
            run("mine", {**first, **change})
        assert f"\n  {line}\n" in str(refused.value)
        assert "--fresh" in str(refused.value)
        assert content("mine") == before
        assert leftovers("mine") == []


def test_fresh_keeps_what_is_not_of_the_run(calm: dict[str, bytes]) -> None:
    mine = {"notes.txt": b"mine", "parts/notes.txt": b"mine", "sub/numbers.csv": b"mine"}
    for name, text in mine.items():
        Path("results", name).parent.mkdir(exist_ok=True)
        Path("results", name).write_bytes(text)
    other = {**MANIFEST, "options": {"a": 3}}
    assert run(manifest=other, start=Start(fresh=True)) == [0, 1, 2, 3]
    now = content()
    assert {name: now[name] for name in mine} == mine
    assert not {*now} & {name for name in calm if name.startswith("parts/")}
    assert Parts(Path("results/parts"), identity(other)).path.is_dir()


def test_half_files_of_the_dead_are_removed_and_those_of_the_living_stay(
    calm: dict[str, bytes],
) -> None:
    import socket

    host = socket.gethostname()[:20]
    dead = ["numbers.csv.elsewhere-1", f"numbers.csv.{host}-999999999", f"manifest.json.{host}-x"]
    for name in dead:
        Path("results", f".{name}.tmp").write_text("half")
    Path("results/parts", f".000001.numbers.0.parquet.{host}-1.tmp").write_text("half")
    living = [f".numbers.csv.{host}-{os.getppid()}.tmp", ".mine.tmp"]
    for name in living:
        Path("results", name).write_text("half")
    assert run() == []
    assert leftovers() == sorted(living)
    assert content() == calm
