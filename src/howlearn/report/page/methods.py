"""The last section of the page: a paragraph to paste, references, tables as files."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field

from howlearn.report.gather import Gathered


@dataclass(frozen=True)
class Beside:
    """A file that belongs to the report, inside the page as well."""

    name: str
    words: str
    content: bytes
    kind: str

    @property
    def address(self) -> str:
        return f"data:{self.kind};base64,{base64.b64encode(self.content).decode()}"


@dataclass(frozen=True)
class Methods:
    """Paragraphs to paste, what they cite, and files of tables."""

    paragraphs: Sequence[str] = ()
    references: Sequence[str] = ()
    beside: Sequence[Beside] = field(default_factory=tuple)


def methods_of(gathered: Gathered, word: str, tex: str) -> Methods:
    """From the manifest and the tables."""
    return Methods()
