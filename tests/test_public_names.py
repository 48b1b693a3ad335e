"""The public names: all of them exist, are explained, and are those that the docs teach."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import howlearn as hl

ROOT = Path(__file__).resolve().parents[1]
NAMES = [name for name in hl.__all__ if not name.startswith("_")]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FILES = {"toml", "sbatch"}  # howlearn.toml


def test_a_user_has_few_names_to_know() -> None:
    assert 40 <= len(NAMES) <= 53
    assert dir(hl) == hl.__all__


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_an_example_that_is_run(name: str) -> None:
    one = getattr(hl, name)
    about = [one.__doc__ or ""]
    if inspect.ismodule(one):
        assert one.__all__
        about += [getattr(one, inside).__doc__ or "" for inside in one.__all__]
    assert any(">>> " in text for text in about)


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="howlearn has no 'nonsense'"):
        _ = hl.nonsense


def test_the_page_on_python_lists_them_all() -> None:
    table = re.findall(r"^\| (?!to )[^|]+ \| ([^|]+) \|$", (ROOT / "docs/api.md").read_text(), re.M)
    assert sorted(re.findall(r"`(\w+)`", " ".join(table))) == NAMES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_public_names_only(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    used = re.findall(r"(?:\bhl\.|`howlearn\.)(\w+)", text)
    used += [
        n.strip()
        for ns in re.findall(r"from howlearn import ([\w, ]+)", text)
        for n in ns.split(",")
    ]
    assert not {*used} - {*hl.__all__} - FILES
    assert not re.findall(r"(?:from|import) howlearn\.[\w.]+", text)  # of the inside
