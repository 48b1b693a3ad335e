"""Parts: tables of some learners in files whose names say what they hold.

The name of a file ends in a hash of its content, so that one that was cut off or altered is not
taken for what it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import polars as pl

from howlearn.runs.files import TEMPORARY, write_whole

DIGITS = 16  # of the hash in a name: chance alone will not make two

Tables = Mapping[str, pl.DataFrame]
Encoded = Mapping[str, bytes]  # the content of the files of a part


def encoded(tables: Tables) -> dict[str, bytes]:
    """The tables of a part as the content of files."""
    return {name: _content(frame) for name, frame in tables.items()}


def _content(frame: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]


class Parts:
    """The finished parts in a folder, by number and table."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: dict[tuple[str, int], Path] = {}
        self._checked: set[Path] = set()

    def look(self) -> None:
        """See which there are."""
        self._files = {}
        for file in sorted(self.path.glob("*.parquet")):
            number, _, rest = file.name.partition(".")
            table, _, _ = rest.removesuffix(".parquet").rpartition(".")
            if number.isdigit() and table:
                # Of two files for one part at most one is what its name says.
                key = (table, int(number))
                if key in self._files and not self._is_right(file):
                    continue
                self._files[key] = file

    def clean(self) -> None:
        """Remove what processes left that were killed."""
        for left_behind in self.path.glob(TEMPORARY):
            left_behind.unlink(missing_ok=True)

    def has(self, tables: tuple[str, ...], number: int) -> bool:
        """Whether all tables of a part are there, and are what they were."""
        files = [self._files.get((table, number)) for table in tables]
        return all(file is not None and self._is_right(file) for file in files)

    def write(self, number: int, content: Encoded) -> None:
        """Keep the tables of a part, each whole or not at all."""
        for table, text in content.items():
            file = self.path / f"{number:06d}.{table}.{_hash(text)}.parquet"
            known = self._files.get((table, number))
            write_whole(file, lambda path, text=text: path.write_bytes(text))
            self._files[table, number] = file
            self._checked.add(file)
            if known is not None and known != file:
                known.unlink(missing_ok=True)

    def of(self, table: str) -> list[Path]:
        """The files of a table in the order of the parts."""
        mine = {number: file for (name, number), file in self._files.items() if name == table}
        return [mine[number] for number in sorted(mine)]

    def _is_right(self, file: Path) -> bool:
        if file in self._checked:
            return True
        try:
            content = file.read_bytes()
        except OSError:
            return False
        right = file.name.split(".")[-2] == _hash(content)
        if right:
            self._checked.add(file)
        return right
