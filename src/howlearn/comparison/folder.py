"""A comparison as a folder of tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from howlearn.comparison.compare import Comparison
from howlearn.folder import Format, RunFolder, write_text

TABLES = ("shares", "differences", "tests", "rates")
SUMMARY = "comparison.txt"
OUTPUTS = {
    SUMMARY,
    *(f"{table}.{ending}" for table in TABLES for ending in ("csv", "parquet")),
    *(f"comparison.{ending}" for ending in ("svg", "png")),
}


def write_comparison(
    folder: Path,
    result: Comparison,
    manifest: Mapping[str, Any],
    format: Format = "csv",
    fresh: bool = False,
) -> None:
    """Each table whole or not at all; a folder of anything else is left alone."""
    store = RunFolder(folder, manifest, fresh, OUTPUTS)
    for name in TABLES:
        store.assemble(name, format, getattr(result, name).lazy())
    store.parts.rmdir()  # there are none: a comparison takes seconds
    text = "\n".join([*result.sentences, *result.notes]) + "\n"
    write_text(folder / SUMMARY, text)
