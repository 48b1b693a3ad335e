"""The examples of the pages are run: Python and commands in their order, one folder per page.

A comment in front of a fenced block tells what is special about it:

    <!-- not run: REASON -->        shown only
    <!-- needs: FOLDER/FILE -->     run where these data of other projects lie beside the project
    <!-- with: COMMAND OPTIONS -->  options that make this command quick, put behind it
    <!-- first:                     commands, or Python with >>>, that a reader does not see
    howlearn simulate …
    -->

A block is saved as a file if the line before it ends in its name: "In `my_module.py`:".
"""

from __future__ import annotations

import contextlib
import doctest
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
DATA = DOCS.parents[1] / "shared" / "data"  # of other projects; not part of this one
# Pages about commands that do not exist yet: shown, not run. Empty this list when they do.
PENDING: list[str] = []
SMALLER = {"--learners": "3", "--trials": "60"}  # in place of what commands ask for
SHELL = ("", "sh", "bash", "console")
SHOWN = ("text", "toml", "json", "bibtex", "csv", "r", "matlab")  # languages that are only shown
FENCE = re.compile(r"^```(?P<language>[\w{}-]*)\n(?P<text>.*?)^```[ \t]*$", re.M | re.S)
MARK = re.compile(r"<!--\s*(?P<kind>not run|needs|with|first):(?P<text>.*?)-->", re.S)
SAVED = re.compile(r"`([\w.-]+\.\w+)`:$")


class ExampleError(Exception):
    """An example that does not do what its page says, with the page and the line."""


@dataclass(frozen=True)
class Block:
    """A fenced block; its line is that of its first row."""

    page: str
    line: int
    language: str
    text: str
    file: str = ""  # it is saved under this name
    not_run: str = ""  # why it is only shown
    needs: tuple[str, ...] = ()
    hidden: bool = False  # of a ``first`` comment: as small as it should be
    more: tuple[tuple[str, ...], ...] = ()  # a command's name, and options to put behind it

    @property
    def is_python(self) -> bool:
        return self.language == "python"

    @property
    def here(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def missing(self) -> list[str]:
        """The data that are not at hand."""
        return [name for name in self.needs if not (DATA / name).is_file()]

    @property
    def commands(self) -> list[list[str]]:
        """The commands of a block of the shell, each in words."""
        if self.language not in SHELL or self.file:
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        found = [shlex.split(line.removeprefix("$ "), comments=True) for line in lines]
        return [words for words in found if words]

    def quick(self, words: list[str]) -> list[str]:
        """The command with less to do."""
        if self.hidden:
            return words
        more = [each for name, *options in self.more if name == words[1] for each in options]
        return [*smaller(words), *more]


def blocks(path: Path) -> list[Block]:
    """The blocks of a page, those of ``first`` comments among them."""
    page = path.read_text(encoding="utf-8")
    found: list[tuple[int, Block]] = []
    fences = [*FENCE.finditer(page)]
    for fence in fences:
        before = page[: fence.start()].rstrip("\n")
        marks: dict[str, str] = {}
        more: list[tuple[str, ...]] = []
        while before.endswith("-->") and (mark := _last_mark(before)):
            if mark["kind"] == "first":
                break
            marks[mark["kind"]] = " ".join(mark["text"].split())
            if mark["kind"] == "with":
                more.append(tuple(shlex.split(mark["text"])))
            before = before[: mark.start()].rstrip()
        saved = SAVED.search(before.splitlines()[-1]) if before else None
        found.append(
            (
                fence.start(),
                Block(
                    path.name,
                    page.count("\n", 0, fence.start()) + 2,
                    fence["language"].strip("{}"),
                    fence["text"],
                    saved[1] if saved else "",
                    marks.get("not run", ""),
                    tuple(marks.get("needs", "").replace(",", " ").split()),
                    more=tuple(more),
                ),
            )
        )
    for mark in MARK.finditer(page):
        inside = any(fence.start() < mark.start() < fence.end() for fence in fences)
        if mark["kind"] == "first" and not inside:
            line = page.count("\n", 0, mark.start()) + 2
            text = mark["text"].lstrip("\n")
            language = "python" if text.startswith(">>>") else ""
            found.append((mark.start(), Block(path.name, line, language, text, hidden=True)))
    return [block for _, block in sorted(found, key=lambda each: each[0])]


def _last_mark(text: str) -> re.Match[str] | None:
    return MARK.fullmatch(text, text.rindex("<!--"))


def check_marks(block: Block) -> None:
    """Refuse a block that would silently not be run."""
    if block.not_run or block.file or block.language in SHOWN:
        return
    if block.is_python:
        if not block.text.startswith(">>> "):
            raise ExampleError(f"{block.here}: Python without >>>, and not saved as a file")
    elif block.language not in SHELL:
        if not block.language.startswith(("eval-rst", "toctree", "include", "grid")):
            raise ExampleError(f"{block.here}: nobody knows how to run {block.language!r}")
    elif strange := [words for words in block.commands if words[0] != "howlearn"]:
        raise ExampleError(
            f"{block.here}: {shlex.join(strange[0])!r} is not a command of howlearn; say why it is "
            "not run, or give the block a language such as text"
        )


def run_page(path: Path, folder: Path, commands: bool = True) -> int:
    """Run a page's examples in a folder, with or without its commands; how many were run."""
    ran = 0
    names: dict[str, Any] = {"__name__": "__main__"}
    page = blocks(path)
    for block in page:
        check_marks(block)
    if path.name in PENDING:
        return 0
    with _inside(folder):
        for block in page:
            if block.file and not block.not_run:
                (folder / block.file).write_text(block.text, encoding="utf-8")
            elif not block.not_run and not block.missing:
                for name in block.needs:
                    shutil.copyfile(DATA / name, folder / Path(name).name)
                if block.is_python:
                    _doctest(block, names)
                typed = block.commands if commands else []
                for words in typed:
                    command(block.quick(words), block.here)
                ran += block.is_python or bool(typed)
    return ran


def smaller(words: list[str]) -> list[str]:
    """The same command with fewer learners and trials, where it names how many."""
    before = ["", *words]
    return [
        SMALLER[option] if option in SMALLER and word.isdigit() else word
        for option, word in zip(before, words, strict=False)
    ]


def command(words: list[str], here: str) -> str:
    """Run a command as if it had been typed; what it printed."""
    from howlearn.cli import main

    said = io.StringIO()
    typed, sys.argv = sys.argv, words
    status: Any = 0
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            main()
    except SystemExit as stop:
        status = stop.code
    finally:
        sys.argv = typed
    if status:
        raise ExampleError(f"{here}: {shlex.join(words)}\nended with {status}:\n{said.getvalue()}")
    return said.getvalue()


def _doctest(block: Block, names: dict[str, Any]) -> None:
    """Try a block of Python, with the names that those before it have left."""
    test = doctest.DocTestParser().get_doctest(
        block.text, names, block.page, block.page, block.line - 1
    )
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    if runner.failures:
        raise ExampleError(f"{block.here}:\n{''.join(said)}")


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, whose modules can be imported and are forgotten afterwards."""
    back, known = Path.cwd(), {*sys.modules}
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        os.chdir(back)
        sys.path.remove(str(folder))
        for name in {*sys.modules} - known:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


def code() -> str:
    """A hash of all that the examples run on: the package, and this file."""
    import howlearn

    found = hashlib.sha256()
    root = Path(howlearn.__file__).parent
    for file in [Path(__file__), *sorted(root.rglob("*.py")), *sorted(root.rglob("*.toml"))]:
        found.update(file.read_bytes())
    return found.hexdigest()


def run_all(pages: list[Path], kept: Path, say: Any = print) -> None:
    """Run the examples of all pages; those that ran through before are not run again."""
    made_with = code()
    failed = []
    kept.mkdir(parents=True, exist_ok=True)
    for path in pages:
        here = [name for block in blocks(path) for name in block.needs if name not in block.missing]
        key = hashlib.sha256(json.dumps([made_with, path.read_text("utf-8"), here]).encode())
        stamp = kept / f"{path.stem}.{key.hexdigest()[:32]}"
        if stamp.exists():
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                ran = run_page(path, Path(folder).resolve())
        except ExampleError as error:
            failed.append(str(error))
            continue
        say(f"{path.name}: {ran} examples run" + (" (pending)" if path.name in PENDING else ""))
        for old in kept.glob(f"{path.stem}.*"):
            old.unlink(missing_ok=True)
        stamp.touch()
    if failed:
        raise ExampleError("\n\n".join(failed))
