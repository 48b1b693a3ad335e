"""The docs are run: modules are saved, Python and commands are tried in order."""

from __future__ import annotations

import doctest
import re
import shlex
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest

from howlearn.cli import main
from howlearn.models import Bias, Lapse, Stickiness
from howlearn.models.field import FIELD, field_model
from howlearn.task import Task

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "models.md").read_text(encoding="utf-8")
SMALLER = {"--learners": "3", "--trials": "60"}  # what commands ask for, in the tests


@dataclass(frozen=True)
class Block:
    """A fenced block, its language, and the file that the line before it says it is saved as."""

    language: str
    text: str
    file: str = ""


def blocks(page: str) -> list[Block]:
    found = re.finditer(
        r"(?P<before>[^\n]*)\n+```(?P<language>\w*)\n(?P<text>.*?)```\n", page, re.S
    )
    return [
        Block(
            each["language"],
            each["text"],
            saved[1] if (saved := re.search(r"`(\w+\.py)`:$", each["before"])) else "",
        )
        for each in found
    ]


BLOCKS = blocks(PAGE)
FIELD_ROWS = PAGE.partition("## The field's models")[2].partition("\n## ")[0].splitlines()
MODULES = {block.file: block.text for block in BLOCKS if block.file}
COMMANDS = [
    shlex.split(line)
    for block in BLOCKS
    if block.language == ""
    for line in block.text.splitlines()
    if line.startswith("howlearn ")
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where a reader has saved the modules of the page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    yield tmp_path
    for name in MODULES:
        sys.modules.pop(name.removesuffix(".py"), None)


def smaller(words: list[str]) -> list[str]:
    """The same command with fewer learners and trials."""
    return [SMALLER.get(before, word) for before, word in zip(["", *words], words, strict=False)]


def run(words: list[str], monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", words)
    status = 0
    try:
        main()
    except SystemExit as stop:
        status = stop.code
    assert not status, words


def test_the_page_has_what_is_tested_here():
    assert set(MODULES) == {"my_module.py", "more.py", "wrong.py"}
    assert {words[1] for words in COMMANDS} == {"simulate", "select", "calibrate"}
    python = [block for block in BLOCKS if block.language == "python" and not block.file]
    assert all(block.text.startswith(">>> ") for block in python)


def test_a_model_has_at_most_twenty_lines():
    assert len(MODULES["my_module.py"].splitlines()) <= 20


def test_python_gives_what_the_page_says(folder):
    text = "".join(b.text for b in BLOCKS if b.language == "python" and not b.file)
    test = doctest.DocTestParser().get_doctest(text, {}, "models.md", "docs/models.md", 0)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
    assert len(test.examples) > 10


def test_commands_run(folder, monkeypatch):
    own = [words for words in COMMANDS if "badham2017deficits.csv" not in words]
    assert len(own) >= 4
    for words in own:
        run(smaller(words), monkeypatch)
    assert set(pl.read_csv("results/estimates.csv")["model"]) == {"ByShape", "MyModel"}
    assert "MyModel(ByShape, per-cell)" in set(pl.read_csv("cells/scores.csv")["model"])


def test_command_for_real_people(folder, monkeypatch, shared_data):
    people = pl.read_csv(shared_data / "badham2017" / "badham2017deficits.csv")
    people.filter(pl.col("participant") == 0).write_csv("badham2017deficits.csv")
    (words,) = [words for words in COMMANDS if "badham2017deficits.csv" in words]
    run(words, monkeypatch)
    scores = pl.read_csv("badham/scores.csv")
    assert scores["model"].n_unique() == 17
    assert set(FIELD) < set(scores["model"])


@pytest.mark.parametrize("name", FIELD)
def test_models_are_described_as_they_are(name):
    (row,) = [line for line in FIELD_ROWS if line.startswith(f"| `{name}` |")]
    for parameter in field_model(name, 2).parameters:
        assert f"{parameter.name} {parameter.lower:g} to {parameter.upper:g}" in row
    for latent in FIELD[name].latents:
        assert f"`{latent}`" in row


@pytest.mark.parametrize("adjustment", [Lapse(), Bias(), Stickiness()], ids=lambda a: a.name)
def test_adjustments_are_described_as_they_are(adjustment):
    (row,) = [line for line in FIELD_ROWS if line.startswith(f"| `+{adjustment.name}` |")]
    for parameter in adjustment.parameters(["A", "B"]):
        assert f"{parameter.name} {parameter.lower:g} to {parameter.upper:g}" in row


def test_links_lead_somewhere():
    for page in ("models.md", "latents.md", "intervals.md"):
        text = (DOCS / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
            assert (DOCS / target).exists(), target


def test_the_page_on_theory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = blocks((DOCS / "theory.md").read_text(encoding="utf-8"))
    for block in found:
        for line in block.text.splitlines() if block.language == "" else ():
            words = shlex.split(line)
            # The page's own size takes a minute.
            small = ["--trials", "40,80", "--learners", "2"] if words[1] == "verify" else []
            run([*words, *small], monkeypatch)
    assert Path("results/lowest.csv").exists()
    assert Path("verification/risks.svg").exists()
    text = "".join(block.text for block in found if block.language == "python")
    test = doctest.DocTestParser().get_doctest(text, {}, "theory.md", "docs/theory.md", 0)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


def test_the_page_on_metalearning(tmp_path, monkeypatch):
    """Its commands, in order, its Python, and its piece of a task file."""
    monkeypatch.chdir(tmp_path)
    found = blocks((DOCS / "metalearning.md").read_text(encoding="utf-8"))
    commands = [
        shlex.split(line)
        for block in found
        if block.language == ""
        for line in block.text.splitlines()
    ]
    assert [words[1] for words in commands] == ["simulate", "select", "recover"]
    for words in commands:
        run(smaller(words), monkeypatch)
    assert Path("results/weights.svg").exists()
    text = "".join(block.text for block in found if block.language == "python")
    test = doctest.DocTestParser().get_doctest(text, {}, "metalearning.md", "metalearning.md", 0)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
    (piece,) = [block.text for block in found if block.language == "toml"]
    shipped = files("howlearn").joinpath("tasks", "five-four.toml").read_text(encoding="utf-8")
    Path("task.toml").write_text(shipped + "\n" + piece, encoding="utf-8")
    assert Task.load("task.toml").candidates[-1].n_parameters(2) == 1


def test_the_page_on_intervals():
    found = doctest.testfile(
        str(DOCS / "intervals.md"), False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert (found.failed, found.attempted) == (0, 5)
