"""A comparison as a folder of tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from howlearn.comparison.compare import Comparison
from howlearn.core.columns import files, tables
from howlearn.runs.files import write_text
from howlearn.runs.folder import START, Format, RunFolder, Start

SUMMARY = "comparison.txt"
OUTPUTS = {
    SUMMARY,
    *files("compare", "csv", "parquet"),
    *(f"comparison.{ending}" for ending in ("svg", "png")),
}


def write_comparison(
    folder: Path,
    result: Comparison,
    manifest: Mapping[str, Any],
    format: Format = "csv",
    start: Start = START,
) -> None:
    """Each table whole or not at all; a folder of anything else is left alone."""
    with RunFolder(folder, manifest, OUTPUTS, start) as store:
        for name in tables("compare"):
            store.assemble(name, format, getattr(result, name).lazy())
        store.parts.path.rmdir()  # there are none: a comparison takes seconds
        text = "\n".join([*result.sentences, *result.notes]) + "\n"
        write_text(folder / SUMMARY, text)
