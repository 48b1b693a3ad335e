"""A kind of file is declared once; a new one is readable by everything that reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from fuzz.seeds import seed_of, writers

import howlearn as hl
from howlearn.reading import formats
from howlearn.reading.formats import Format
from howlearn.reading.formats.detect import format_of
from howlearn.reading.formats.table import Held
from howlearn.reading.guess import inspect
from howlearn.reading.read import read

TRIALS = [("1", c, a, r) for c, a, r in ("ax1", "by0", "ay1", "bx1", "ax0", "by1")] * 3
NAMES = ("learner", "context", "action", "reward")


def _open(path: Path, inside: str | None, content: bytes | None) -> list[Held]:
    lines = (path.read_bytes() if content is None else content).decode().splitlines()[1:]
    rows = [line.split("~") for line in lines]
    return [Held(str(path), path.stem, pl.DataFrame(rows, NAMES, orient="row"), "Tilde", 2)]


@pytest.fixture
def tilde() -> Iterator[Format]:
    new = Format("Tilde", "values with ~ between them", _open, (".tld",), called="Tilde")
    yield hl.register(new)
    Format.registry.forget("Tilde")


def _written(folder: Path) -> Path:
    path = folder / "study.tld"
    path.write_text("\n".join(["header", *("~".join(row) for row in TRIALS)]))
    return path


def test_a_new_kind_is_read(tmp_path: Path, tilde: Format) -> None:
    path = _written(tmp_path)
    study = read(path)
    assert study.actions == ("x", "y")
    assert len(study.context) == len(TRIALS)
    found = inspect(path)
    assert found.files == {str(path): "Tilde"}
    assert found.study is not None
    assert found.study.frame().equals(study.frame())
    assert len(read(tmp_path).context) == len(TRIALS)  # in a folder too
    assert "Tilde" in formats.allowed()


def test_without_it_the_file_is_another(tmp_path: Path) -> None:
    assert format_of(_written(tmp_path))[0].name == "text"


def test_every_kind_has_seeds_for_the_fuzzer_and_a_line_for_the_docs(tmp_path: Path) -> None:
    declared = [seed for format in formats.formats() for seed in format.seeds]
    assert len(declared) == len({*declared})
    assert {*declared} <= {*writers()}
    for format in formats.formats():
        assert format.seeds
        assert format.says
        for seed in map(seed_of, format.seeds):
            if seed.opened in seed.files:
                path = tmp_path / seed.opened
                path.write_bytes(seed.files[seed.opened])
                assert format_of(path)[0] is format


def test_endings_belong_to_one_kind() -> None:
    endings = [ending for format in formats.formats() for ending in format.endings]
    assert len(endings) == len({*endings})
