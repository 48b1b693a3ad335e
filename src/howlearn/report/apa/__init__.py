"""The results as tables in APA style, for Word and LaTeX."""

from __future__ import annotations

from howlearn.report.apa.docx import write_docx
from howlearn.report.apa.table import ApaTable
from howlearn.report.apa.tables import apa_tables
from howlearn.report.apa.tex import write_tex

__all__ = ["ApaTable", "apa_tables", "write_docx", "write_tex"]
