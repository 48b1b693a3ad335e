"""The last section of the page: a paragraph to paste, references, tables as files."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field

from howlearn.report.apa import apa_tables
from howlearn.report.apa.docx import docx
from howlearn.report.apa.tex import tex as tex_of
from howlearn.report.gather import Gathered
from howlearn.report.methods import Reference, methods

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
TEX = "application/x-tex"


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
    references: Sequence[Reference] = ()
    beside: Sequence[Beside] = field(default_factory=tuple)


def methods_of(gathered: Gathered, word: str, tex: str, seed: int | None = None) -> Methods:
    """From the manifest and the tables; the names are those of the files beside the page."""
    doubled = seed if gathered.inputs is not None else None
    said = methods(gathered.manifest, gathered.tables, doubled)
    tables = apa_tables(gathered.manifest, gathered.tables)
    files = (
        Beside(word, "Word (.docx)", docx(tables, said), WORD),
        Beside(tex, "LaTeX (.tex)", tex_of(tables, said).encode("utf-8", "replace"), TEX),
    )
    return Methods(said.paragraphs, said.references, files)
