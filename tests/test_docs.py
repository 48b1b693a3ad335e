"""The docs are run: modules are saved, Python and commands are tried in order."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest
import typer

from howlearn.cli.app import app
from howlearn.models import FIELD, field_model
from howlearn.models.names import ADJUSTMENTS
from howlearn.models.task import Task
from howlearn.reading.formats import formats
from plain_english import complaints, prose, strings

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def module(name: str):
    """One of the modules that build the site: they are no part of the package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


examples, reference = module("examples"), module("reference")
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
MODELS = examples.blocks(DOCS / "own-model.md") + examples.blocks(DOCS / "own-rule.md")
FIELD_ROWS = [
    line
    for name in ("field-models.md", "model-parts.md")
    for line in (DOCS / name).read_text(encoding="utf-8").splitlines()
]
MODULES = {block.file: block.text for block in MODELS if block.file}


@pytest.fixture
def page(tmp_path):
    """A page as text, and what the executor finds in it."""

    def make(text: str):
        path = tmp_path / "made.md"
        path.write_text(text, encoding="utf-8")
        return path

    return make


@pytest.mark.parametrize("name", [*PAGES, "../README.md"])
def test_nothing_is_skipped_silently_and_commands_are_known(name):
    """Every block is run or says why not; the options of every command exist."""
    known = typer.main.get_command(app).commands
    for block in examples.blocks(DOCS / name):
        examples.check_marks(block)
        if name in examples.PENDING:
            continue
        for words in block.commands if not block.not_run.startswith("takes") else ():
            with known[words[1]].make_context(words[1], words[2:]) as given:
                assert not given.args, block.here


# The other pages are run when the site is built; these have what is asserted here, or Python.
def test_the_pages_on_models(tmp_path):
    assert set(MODULES) == {"my_module.py", "more.py", "wrong.py", "my_rule.py"}
    assert len(MODULES["my_module.py"].splitlines()) <= 20
    assert sum(len(block.text.split(">>> ")) > 1 for block in MODELS if block.is_python) >= 4
    assert examples.run_page(DOCS / "own-model.md", tmp_path) == 5
    assert examples.run_page(DOCS / "own-rule.md", tmp_path) == 2
    estimates = pl.read_csv(tmp_path / "results" / "estimates.csv")
    assert set(estimates["model"]) == {"ByShape", "MyModel"}
    cells = pl.read_csv(tmp_path / "cells" / "scores.csv")
    assert "MyModel(ByShape, per-cell)" in set(cells["model"])
    assert not {"my_module", "more", "wrong"} & {*sys.modules}
    if not examples.DATA.is_dir():
        pytest.skip(f"its last command needs the data of other projects in {examples.DATA}")
    assert examples.run_page(DOCS / "recovery-study.md", tmp_path) == 1
    people = pl.read_csv(tmp_path / "badham" / "scores.csv")
    fitting = {name for name in FIELD if FIELD[name].needs <= {"features", "correct"}}
    assert fitting < set(people["model"])
    assert people["model"].n_unique() == 8 + len(fitting)  # and the partitions


def test_the_page_on_theory(tmp_path):
    assert examples.run_page(DOCS / "theory.md", tmp_path) == 5
    assert (tmp_path / "results" / "lowest.csv").exists()
    assert (tmp_path / "verification" / "risks.svg").exists()


def test_the_page_on_metalearning(tmp_path):
    """Its commands, in order, its Python, and its piece of a task file."""
    path = DOCS / "metalearning.md"
    found = examples.blocks(path)
    commands = [words[1] for block in found for words in block.commands]
    assert commands == ["simulate", "select", "recover"]
    assert examples.run_page(path, tmp_path) == 4
    assert (tmp_path / "results" / "weights.svg").exists()
    (piece,) = [block.text for block in found if block.language == "toml"]
    shipped = files("howlearn").joinpath("tasks", "five-four.toml").read_text(encoding="utf-8")
    (tmp_path / "task.toml").write_text(shipped + "\n" + piece, encoding="utf-8")
    assert Task.load(tmp_path / "task.toml").candidates[-1].n_parameters(2) == 1


def test_the_page_on_tasks(tmp_path):
    assert examples.run_page(DOCS / "tasks.md", tmp_path) == 1


def test_python_of_the_page_on_intervals(tmp_path):
    assert examples.run_page(DOCS / "intervals.md", tmp_path, commands=False) == 1


@pytest.mark.parametrize("name", FIELD)
def test_models_are_described_as_they_are(name):
    (row,) = [line for line in FIELD_ROWS if line.startswith(f"| `{name}` |")]
    for parameter in field_model(name, 2).parameters:
        assert f"{parameter.name} {parameter.lower:g} to {parameter.upper:g}" in row
    for latent in FIELD[name].latents:
        assert f"`{latent}`" in row


@pytest.mark.parametrize("kind", ADJUSTMENTS.values(), ids=[*ADJUSTMENTS])
def test_adjustments_are_described_as_they_are(kind):
    adjustment = kind()
    (row,) = [line for line in FIELD_ROWS if line.startswith(f"| `+{adjustment.name}` |")]
    for parameter in adjustment.parameters(["A", "B"]):
        assert f"{parameter.name} {parameter.lower:g} to {parameter.upper:g}" in row


def test_links_lead_somewhere_and_every_page_is_in_a_menu():
    listed = ""
    for name in PAGES:
        text = (DOCS / name).read_text(encoding="utf-8")
        listed += "".join(re.findall(r"```\{toctree\}(.*?)```", text, re.S))
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", text):
            assert (DOCS / target).exists(), (name, target)
    assert {Path(name).stem for name in PAGES} == {"index", *re.findall(r"^[\w-]+$", listed, re.M)}


def test_words_that_may_not_come_back_are_found():
    assert not complaints("There is no column 'x'; from then on it is no better than a coin.")
    for text in ("is no number", "starts anew", "rates from 0 on", "of its\nown", "hangs on it"):
        assert complaints(text), text
    assert not complaints(prose("`is no number`\n\n```\nanew\n```\n[it](anew.md)\n"))


@pytest.mark.parametrize(
    "name", [*PAGES, "../CONTRIBUTING.md", "../SECURITY.md", "../CHANGELOG.md"]
)
def test_pages_are_short_and_in_plain_english(name):
    text = (DOCS / name).read_text(encoding="utf-8")
    assert not complaints(prose(text))
    assert name.endswith(("-study.md", "CHANGELOG.md")) or len(text.split()) <= 1500


def test_the_readme_is_short_and_in_plain_english():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not complaints(prose(text))
    assert len(text.split()) <= 900
    links = re.findall(r"(?<!!)\[[^]]*\]\(([^)]+)\)", text)
    assert len(links) <= 8
    for target in links:
        assert target.startswith("http") or (ROOT / target.partition("#")[0]).exists(), target


def test_spelling(tmp_path):
    """Docs and messages, by the common misspellings that codespell knows (see pyproject.toml)."""
    pytest.importorskip("codespell_lib")
    said = [text for path in (ROOT / "src").rglob("*.py") for _, text in strings(path)]
    (tmp_path / "messages.txt").write_text("\n".join(said), encoding="utf-8")
    texts = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs"]
    command = [sys.executable, "-m", "codespell_lib", *texts, tmp_path / "messages.txt"]
    assert not subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout


def test_files_that_the_map_names_exist():
    """Architecture, numerics, decisions and how to contribute: paths as they are now."""
    inside = ROOT / "src" / "howlearn"
    for name in (
        "architecture.md",
        "numerics.md",
        "engine.md",
        "decisions.md",
        "../CONTRIBUTING.md",
    ):
        text = (DOCS / name).read_text(encoding="utf-8")
        for path in re.findall(r"`((?:\w+/)*\w+/|(?:\w+/)+\w+\.py)`", text):
            there = [place / path for place in (inside, inside / "engine", inside.parent, ROOT)]
            assert any(place.exists() for place in there), (name, path)
    rooms = {place.name for place in inside.iterdir() if (place / "__init__.py").exists()}
    table = (DOCS / "architecture.md").read_text(encoding="utf-8")
    assert {*re.findall(r"^\| `(\w+)/` \|", table, re.M)} == rooms


def test_the_page_on_data_has_every_kind_of_file():
    text = (DOCS / "data.md").read_text(encoding="utf-8")
    for one in formats():
        assert f"| {', '.join(f'`{e}`' for e in one.endings)} | {one.says} |\n" in text


def test_reference_has_every_command_and_name():
    import howlearn

    commands = reference.commands()
    for name in typer.main.get_command(app).commands:
        assert f"### howlearn {name}\n" in commands
    assert "- `--task NAME|FILE`: A shipped task" in commands
    assert "- `--rule gradient|exp3|exp3-ix|" in commands
    api = reference.api()
    for name in howlearn.__all__:
        if not name.startswith("_"):
            assert f":: howlearn.{name}\n" in api or f"## howlearn.{name}\n" in api


def test_docstrings_keep_their_code_and_lose_their_marks():
    lines = ["H_j ← a|b and ``c|d`` for x_", ">>> 2 * 3", "6", "", "a*b"]
    assert reference.plain(lines) == ["H_j ← a\\|b and ``c|d`` for x\\_", *lines[1:4], "a\\*b"]


def test_a_failing_example_names_its_page_and_line(page, tmp_path):
    wrong = page("# A\n\n```python\n>>> 1 + 1\n3\n\n```\n")
    with pytest.raises(examples.ExampleError, match=r"made\.md:4:(.|\n)*Expected"):
        examples.run_page(wrong, tmp_path)
    wrong = page("text\n\n\n```\nhowlearn models --task none-such   # a comment\n```\n")
    with pytest.raises(examples.ExampleError, match=r"made\.md:5: howlearn m(.|\n)*none-such"):
        examples.run_page(wrong, tmp_path)


@pytest.mark.parametrize(
    "text",
    ["```\nls -l\n```\n", "```python\nx = 1\n```\n", "```ruby\nputs 1\n```\n"],
    ids=["another command", "no prompt", "another language"],
)
def test_what_would_not_be_run_is_refused(text, page):
    (block,) = examples.blocks(page(text))
    with pytest.raises(examples.ExampleError, match=r"made\.md:2"):
        examples.check_marks(block)
    (block,) = examples.blocks(page("<!-- not run: a reason -->\n" + text))
    examples.check_marks(block)
    assert block.not_run == "a reason"


def test_marks_and_order(page, tmp_path):
    path = page(
        "<!-- first:\n>>> x = 1\n-->\n\nIn `extra.py`:\n\n```python\ny = 2\n```\n\n"
        "```python\n>>> import extra\n>>> x + extra.y\n3\n\n```\n\n"
        "<!-- needs: no/such.csv -->\n<!-- with: select --fresh --out 'a b' -->\n"
        "```\nhowlearn select such.csv \\\n  --learners 20 --trials 5:9  # words\n```\n"
    )
    found = examples.blocks(path)
    assert [block.language for block in found] == ["python", "python", "python", ""]
    assert examples.run_page(path, tmp_path) == 2
    (words,) = found[-1].commands
    assert shlex.join(found[-1].quick(words)) == (
        "howlearn select such.csv --learners 3 --trials 5:9 --fresh --out 'a b'"
    )


def test_what_ran_is_not_run_again(page, tmp_path):
    path = page("```python\n>>> 1\n1\n\n```\n")
    said: list[str] = []
    kept = tmp_path / "kept"
    examples.run_all([path], kept, said.append)
    examples.run_all([path], kept, said.append)
    assert said == ["made.md: 1 examples run"]
    page("```python\n>>> 2\n1\n\n```\n")
    with pytest.raises(examples.ExampleError, match=r"made\.md:2"):
        examples.run_all([path], kept, said.append)
