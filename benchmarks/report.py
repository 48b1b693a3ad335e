"""What a benchmark hands back, and the one table at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

console = Console(width=None if Console().is_terminal else 120, highlight=False)


@dataclass(frozen=True)
class Row:
    """One figure beside the bar it is held against; without a bar it is there for orientation."""

    what: str
    figure: str
    bar: str = ""
    ratio: str = ""
    met: bool | None = None


def note(text: str) -> None:
    """A line while the benchmarks run."""
    console.print(text, style="dim")


def show(results: Iterable[tuple[str, list[Row]]]) -> None:
    """All rows of all benchmarks. Nothing is asserted: a machine may be busy or small."""
    table = Table(title="howlearn benchmarks")
    for heading in ("what", "figure", "bar", "ratio"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    table.add_column("met")
    for name, rows in results:
        table.add_section()
        table.add_row(f"[bold]{name}[/bold]")
        for row in rows:
            met = {None: "", True: "[green]yes[/green]", False: "[red]no[/red]"}[row.met]
            table.add_row(row.what, row.figure, row.bar, row.ratio, met)
    console.print(table)


def duration(seconds: float) -> str:
    """With the unit that suits it.

    >>> duration(0.00022), duration(38.2)
    ('220 µs', '38.2 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table for a page of the docs."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
