"""A report into files: the page, and the tables beside it; all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from howlearn.core.errors import HowlearnError
from howlearn.report.gather import Gathered
from howlearn.report.page.assets import GENERATOR, check_available
from howlearn.runs.files import write_whole

Progress = Callable[[int, int], None]
HEAD = 2_000  # characters in which a page says who made it


@dataclass(frozen=True)
class Report:
    """What was written."""

    files: tuple[Path, ...]  # the page first
    size: int  # of the page, in bytes
    notes: tuple[str, ...]


def check_target(out: Path, fresh: bool) -> None:
    """Before any work: whether the report may be written there."""
    check_available()
    if out.is_dir():
        raise HowlearnError(f"{out} is a folder; --out names a file, such as report.html")
    if out.suffix.lower() not in (".html", ".htm"):
        raise HowlearnError(f"{out} does not end in .html; --out names an HTML file")
    if not out.absolute().parent.is_dir():
        raise HowlearnError(f"--out {out}: there is no folder {out.parent}")
    there = [path for path in (out, *beside(out)) if path.exists()]
    if there and not fresh and not _ours(out):
        raise HowlearnError(
            f"{there[0]} exists and was not written by howlearn report; name another file with "
            "--out, or replace it with --fresh"
        )


def beside(out: Path) -> tuple[Path, Path]:
    """The tables for a paper, beside the page."""
    word, tex = (out.with_name(f"{out.stem}-tables.{ending}") for ending in ("docx", "tex"))
    return word, tex


def _ours(out: Path) -> bool:
    try:
        with out.open(encoding="utf-8") as file:
            return f'name="generator" content="{GENERATOR}' in file.read(HEAD)
    except (OSError, ValueError):
        return False


def write_report(
    out: Path,
    gathered: Gathered,
    title: str | None = None,
    sample: int = 500,
    seed: int = 0,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Make everything, then write it: the page last, so that where it is, the tables are."""
    check_target(out, fresh)
    from howlearn.report.page.methods import methods_of
    from howlearn.report.page.page import page

    word, tex = beside(out)
    said = methods_of(gathered, word.name, tex.name, seed)
    made = page(gathered, title, sample, seed, said, progress)
    out.parent.mkdir(parents=True, exist_ok=True)
    files = [out]
    for file in said.beside:
        path = out.with_name(file.name)
        write_whole(path, lambda to, content=file.content: to.write_bytes(content))
        files.append(path)
    write_whole(out, lambda to: to.write_text(made.text, encoding="utf-8"))
    return Report(tuple(files), out.stat().st_size, made.notes)
