"""APA tables, and with the methods as Word and LaTeX files: equal content, equal bytes."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from howlearn.core.errors import HowlearnError
from howlearn.report.methods import Methods

if TYPE_CHECKING:
    from docx.document import Document
    from docx.table import Table, _Cell

MISSING = "Word files need: pip install 'howlearn[report]'"
FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can tell
MADE = datetime(2000, 1, 1)  # a file without times: equal content, equal bytes
FONT, SIZE = "Times New Roman", 11
WIDE = 8  # columns from which on the page lies on its side
RULE = {"val": "single", "sz": "6", "space": "0", "color": "auto"}  # ¾ pt


def docx(tables: Sequence[ApaTable], methods: Methods | None = None) -> bytes:
    """The content of the Word file."""
    if importlib.util.find_spec("docx") is None:
        raise HowlearnError(MISSING)
    from docx import Document
    from docx.shared import Pt

    document = Document()
    style: Any = document.styles["Normal"]
    style.font.name, style.font.size = FONT, Pt(SIZE)
    _describe(document)
    if methods is not None:
        _heading(document, "Methods")
        for text in methods.paragraphs:
            document.add_paragraph(text)
    for table in tables:
        _turn(document, len(table.heads) >= WIDE)
        _add(document, table)
    if methods is not None:
        _turn(document, False)
        _heading(document, "References")
        for work in methods.references:
            _entry(document, work.pieces)
    made = BytesIO()
    document.save(made)
    return _without_times(made)


def _describe(document: Document) -> None:
    about = document.core_properties
    about.author, about.title, about.comments = "howlearn", "Methods and tables", ""
    about.created = about.modified = MADE
    about.last_modified_by, about.revision = "howlearn", 1


def _heading(document: Document, text: str) -> None:
    """Bold and centred, as APA style has its first level; a heading for screen readers too."""
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Pt, RGBColor

    paragraph = document.add_heading(level=1)
    paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
    run = paragraph.add_run(text)
    run.bold, run.font.name, run.font.size = True, FONT, Pt(SIZE + 1)
    run.font.color.rgb = RGBColor(0, 0, 0)


def _entry(document: Document, pieces: Iterable[tuple[str, bool]]) -> None:
    from docx.shared import Cm

    paragraph = document.add_paragraph()
    paragraph.paragraph_format.left_indent = Cm(1.27)
    paragraph.paragraph_format.first_line_indent = Cm(-1.27)
    for text, italic in pieces:
        paragraph.add_run(text).italic = italic


def _turn(document: Document, wide: bool) -> None:
    """Go on upright or on its side, in a new section where that changes."""
    from docx.enum.section import WD_ORIENT, WD_SECTION

    last = document.sections[-1]
    wanted = WD_ORIENT.LANDSCAPE if wide else WD_ORIENT.PORTRAIT
    if last.orientation == wanted:
        return
    section = document.add_section(WD_SECTION.NEW_PAGE)
    section.orientation = wanted
    section.page_width, section.page_height = last.page_height, last.page_width


def _add(document: Document, table: ApaTable) -> None:
    from docx.enum.table import WD_TABLE_ALIGNMENT
    from docx.shared import Pt

    number = document.add_paragraph()
    number.add_run(f"Table {table.number}").bold = True
    title = document.add_paragraph()
    title.add_run(table.title).italic = True
    for paragraph in (number, title):
        paragraph.paragraph_format.keep_with_next = True
        paragraph.paragraph_format.space_after = Pt(4)
    made = document.add_table(rows=len(table.rows) + 1 + table.spanned, cols=len(table.heads))
    made.alignment = WD_TABLE_ALIGNMENT.LEFT
    # Rows as lists: python-docx looks for a cell at every access, which is slow in long tables.
    grid = [list(row.cells) for row in made.rows]
    if table.spanned:
        _spanners(table, grid)
    for cell, head in zip(grid[table.spanned], table.heads, strict=True):
        _fill(cell, head.text, italic=head.italic, centred=head.over != "")
    for cells, row in zip(grid[1 + table.spanned :], table.rows, strict=True):
        for i, (cell, text) in enumerate(zip(cells, row, strict=True)):
            _fill(cell, text, centred=i >= table.n_words)
    for cell in grid[0]:
        _rule(cell, "top")
    for cells in (grid[table.spanned], grid[-1]):
        for cell in cells:
            _rule(cell, "bottom")
    _repeat(made, 1 + table.spanned)
    if table.notes:
        note = document.add_paragraph()
        note.paragraph_format.space_before = Pt(4)
        note.add_run("Note. ").italic = True
        note.add_run(" ".join(table.notes))


def _spanners(table: ApaTable, grid: list[list[_Cell]]) -> None:
    """Headings over several columns, each with its own rule."""
    for name, first, n in table.groups:
        if name:
            cell = grid[0][first].merge(grid[0][first + n - 1])
            _fill(cell, name, centred=True)
            _rule(cell, "bottom")


def _fill(cell: _Cell, text: str, italic: bool = False, centred: bool = False) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Pt

    paragraph = cell.paragraphs[0]
    paragraph.paragraph_format.space_after = Pt(0)
    paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER if centred else WD_ALIGN_PARAGRAPH.LEFT
    paragraph.add_run(text).italic = italic


def _rule(cell: _Cell, side: str) -> None:
    """A horizontal line; there are no others in APA style."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    properties = cell._tc.get_or_add_tcPr()
    borders = properties.find(qn("w:tcBorders"))
    if borders is None:
        borders = OxmlElement("w:tcBorders")
        properties.append(borders)
    if borders.find(qn(f"w:{side}")) is None:
        line = OxmlElement(f"w:{side}")
        for name, value in RULE.items():
            line.set(qn(f"w:{name}"), value)
        # Word wants the top before the bottom.
        borders.insert(0, line) if side == "top" else borders.append(line)


def _repeat(table: Table, n: int) -> None:
    """The first rows are headings: repeated on every page, and known to screen readers."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    for row in table.rows[:n]:
        mark = OxmlElement("w:tblHeader")
        mark.set(qn("w:val"), "true")
        row._tr.get_or_add_trPr().append(mark)


def _without_times(made: BytesIO) -> bytes:
    """The same zip file, each of its parts as old as a zip file can be."""
    out = BytesIO()
    with ZipFile(made) as there, ZipFile(out, "w", ZIP_DEFLATED) as here:
        for name in sorted(there.namelist()):
            entry = ZipInfo(name, FIRST_TIME)
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o600 << 16
            here.writestr(entry, there.read(name))
    return out.getvalue()


# Tables and methods as LaTeX: a document that a paper can also \input.


SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    # A bracket may follow \\ or begin an option.
    "[": "{[}",
    "]": "{]}",
    # Letters and signs that text fonts lack.
    "−": r"\ensuremath{-}",
    "·": r"\ensuremath{\cdot}",
    "²": r"\ensuremath{^2}",
    "½": r"\ensuremath{\frac12}",
    "≤": r"\ensuremath{\le}",
    "≥": r"\ensuremath{\ge}",
    "→": r"\ensuremath{\to}",
    "—": "---",
    "–": "--",
    "…": r"\ldots{}",
    "“": "``",
    "”": "''",
    "α": r"\ensuremath{\alpha}",
    "β": r"\ensuremath{\beta}",
    "γ": r"\ensuremath{\gamma}",
    "ε": r"\ensuremath{\varepsilon}",
    "η": r"\ensuremath{\eta}",
    "θ": r"\ensuremath{\theta}",
    "κ": r"\ensuremath{\kappa}",
    "λ": r"\ensuremath{\lambda}",
    "τ": r"\ensuremath{\tau}",
    "φ": r"\ensuremath{\varphi}",
}
# \howlearntables tells a whole document from a file that a paper reads with \input. What is
# skipped then may hold TeX's own conditions only: others are not counted.
OPENING = r"""% Tables and methods, written by howlearn.
% As a document: lualatex or xelatex (pdflatex too, where names are in Latin letters).
% In a paper: \usepackage{booktabs,graphicx,textcomp}, then \def\howlearntables{} \input{THIS FILE}
\ifdefined\howlearntables\else
\documentclass[11pt]{article}
\ifx\Umathcode\undefined\usepackage[T1]{fontenc}\usepackage{textcomp}\else\usepackage{fontspec}\fi
\usepackage[margin=2.5cm]{geometry}
\usepackage{booktabs}
\usepackage{graphicx}
\setlength{\parindent}{0pt}
\begin{document}
\fi
"""
CLOSING = r"""\ifdefined\howlearntables\else
\end{document}
\fi
"""


def tex(tables: Sequence[ApaTable], methods: Methods | None = None) -> str:
    """The whole file as text."""
    parts = [OPENING]
    if methods is not None:
        parts.append("\n\n".join(["\\section*{Methods}", *map(escaped, methods.paragraphs)]))
    parts += [_table(table) for table in tables]
    if methods is not None:
        entries = [
            "\\hangindent=1.27cm "
            + "".join(
                f"\\textit{{{escaped(t)}}}" if italic else escaped(t) for t, italic in work.pieces
            )
            for work in methods.references
        ]
        parts.append("\n\n".join(["\\section*{References}", *entries]))
    return "\n\n".join([*parts, CLOSING])


def escaped(text: str) -> str:
    r"""Any text as LaTeX that prints it.

    >>> escaped("a_b%c$")
    'a\\_b\\%c\\$'
    """
    return "".join(SPECIAL.get(letter, letter) for letter in text)


def _table(table: ApaTable) -> str:
    n = len(table.heads)
    columns = "l" * table.n_words + "r" * (n - table.n_words)
    lines = [
        f"% Table {table.number}",
        "\\begin{table}[!htbp]",
        f"\\textbf{{Table {table.number}}}\\par\\smallskip",
        f"\\textit{{{escaped(table.title)}}}\\par\\smallskip",
        # Wide tables are made smaller; others keep the size of the text.
        "\\sbox0{%",
        f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        "\\toprule",
    ]
    if table.spanned:
        groups = table.groups
        lines.append(" & ".join(_over(*group) for group in groups) + " \\\\")
        lines.append(
            " ".join(f"\\cmidrule(lr){{{i + 1}-{i + k}}}" for name, i, k in groups if name)
        )
    lines.append(" & ".join(_head(head) for head in table.heads) + " \\\\")
    lines.append("\\midrule")
    lines += [" & ".join(map(escaped, row)) + " \\\\" for row in table.rows]
    lines += [
        "\\bottomrule",
        "\\end{tabular}}%",
        "\\ifdim\\wd0>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi",
    ]
    if table.notes:
        lines.append(f"\\par\\smallskip\\textit{{Note.}} {escaped(' '.join(table.notes))}")
    lines.append("\\end{table}")
    return "\n".join(lines)


def _over(name: str, first: int, n: int) -> str:
    return f"\\multicolumn{{{n}}}{{c}}{{{escaped(name)}}}" if name else " & ".join([""] * n)


def _head(head: Head) -> str:
    return f"\\textit{{{escaped(head.text)}}}" if head.italic else escaped(head.text)


# A table in APA style, before it becomes Word or LaTeX.


STATISTICS = frozenset({"n", "Mdn", "N"})  # symbols that stand in italics


@dataclass(frozen=True)
class Head:
    """The heading of a column."""

    text: str
    over: str = ""  # of neighbouring columns with the same one: a heading over all of them

    @property
    def italic(self) -> bool:
        return self.text in STATISTICS


@dataclass(frozen=True)
class ApaTable:
    """Text only: numbers are formatted already. The first columns are words, the others numbers."""

    number: int
    title: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = field(default=())
    n_words: int = 1  # columns of words, to be set flush left

    @property
    def groups(self) -> tuple[tuple[str, int, int], ...]:
        """The headings over several columns, each with the first column and their number."""
        found: list[tuple[str, int, int]] = []
        for i, head in enumerate(self.heads):
            if found and found[-1][0] == head.over:
                name, first, n = found[-1]
                found[-1] = (name, first, n + 1)
            else:
                found.append((head.over, i, 1))
        return tuple(found)

    @property
    def spanned(self) -> bool:
        return any(head.over for head in self.heads)


# Numbers in APA style.


DASH = "—"


def proportion(value: float | None, digits: int = 2) -> str:
    """Of what cannot exceed 1: no zero before the point.

    >>> proportion(0.5), proportion(1.0), proportion(-0.25), proportion(None)
    ('.50', '1.00', '−.25', '—')
    >>> proportion(0.0001, 3), proportion(0.0, 3)
    ('< .001', '.000')
    """
    shown = decimal(value, digits)
    return shown.replace("0.", ".", 1) if shown.startswith(("0.", "−0.", "< 0.")) else shown


def decimal(value: float | None, digits: int = 2) -> str:
    """
    >>> decimal(1234.567), decimal(-0.5), decimal(float("nan")), decimal(0.001)
    ('1,234.57', '−0.50', '—', '< 0.01')
    """
    if value is None or not math.isfinite(value):
        return DASH
    if 0 < value < 0.5 * 10**-digits:
        return f"< {10**-digits:.{digits}f}"
    shown = f"{value:,.{digits}f}"
    return shown.replace("-", "−") if float(shown.replace(",", "")) else shown.lstrip("-")


def percent(part: int, total: int) -> str:
    """
    >>> percent(1, 8), percent(0, 0)
    ('12.5', '—')
    """
    return f"{100 * part / total:.1f}" if total else DASH


def span(low: float | None, high: float | None, bounded: bool, digits: int) -> str:
    """
    >>> span(0.1, 0.25, True, 2)
    '[.10, .25]'
    """
    shown = proportion if bounded else decimal
    if low is None or high is None:
        return DASH
    return f"[{shown(low, digits)}, {shown(high, digits)}]"
