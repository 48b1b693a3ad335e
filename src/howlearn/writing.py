"""Write a study's trials as a file that ``read`` takes."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.runs.files import write_whole


def write_study(study: Study, path: Path, fresh: bool = False) -> None:
    """Write trials as CSV, TSV or Parquet; a file with other content is kept unless ``fresh``."""
    writers = {
        ".csv": pl.DataFrame.write_csv,
        ".tsv": lambda frame, file: frame.write_csv(file, separator="\t"),
        ".parquet": pl.DataFrame.write_parquet,
    }
    if path.suffix not in writers:
        raise HowlearnError(f"{path}: the file must end in {', '.join(writers)}")
    if path.parent and not path.parent.is_dir():
        raise HowlearnError(f"there is no folder {path.parent}")
    frame = study.frame()

    def write(file: Path) -> None:
        writers[path.suffix](frame, file)
        if path.exists() and not fresh and path.read_bytes() != file.read_bytes():
            raise HowlearnError(
                f"{path} exists and holds something else; choose another --out, or replace it "
                "with --fresh"
            )

    write_whole(path, write)
