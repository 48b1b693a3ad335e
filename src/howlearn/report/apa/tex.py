"""Tables and methods as LaTeX: a document of its own that a paper can also \\input."""

from __future__ import annotations

from collections.abc import Sequence

from howlearn.report.apa.table import ApaTable, Head
from howlearn.report.methods import Methods

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
# \howlearntables tells a document of its own from a file that a paper reads with \input. What is
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
