"""Words that may not come back, and what a reader expects instead: for docs, messages and help.

``complaints(text)`` is empty for plain English. ``prose`` takes code out of a Markdown page;
``strings`` gives the texts of a Python file with their lines, without its docstrings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# A pattern, and the usual English for it. Patterns see text in lower case, spaces made one.
AVOID = {
    r"\banew\b": "again, new",
    r"\bsuch an?\b": "this kind of, a … like this",
    r"\bwhom\b": "who, or another sentence",
    r"\bof (?:its|their|his|her|your|our|my|one's) own\b": "its own …, separate",
    r"(?<!there )\b(?:is|are|was|were|be) no "
    r"(?!longer|better|worse|more|less|fewer|larger|smaller|further)": "is not a …, there is no …",
    r"(?<!there )\b(?:is|are|was|were) none\b(?! of)": "there is no …, it is not one",
    r"\bfrom (?:[a-z]+ )?\d[\d.,]* on\b": "at least …, or greater; starting at …",
    r"\bfrom (?!now |then |here )[a-z]+ on(?=[,.;:)]|$)": "starting at …",
    r"\bwhat is left\b": "the rest, the remaining …",
    r"\b(?:than|within|at least|up to|by) so many\b": "than this many",
    r"\bhang(?:s|ing)? on\b": "depends on",
    r"\bbelongs? into\b": "belongs in",
    r"\bhow sure one (?:may|can|could) be\b": "how certain that is, how sure you can be",
    r"\bnot told apart\b": "tied, not distinguished",
    r"\bfor (?:itself|themselves)\b(?=[,.;:)]|$)": "separately",
    r"\btaken? back\b": "undo, revert",
    r"\blaid beside\b|\blays? \S+ beside\b": "adds … to",
    r"\bbe had\b": "be obtained, get, download",
    r"\bat hand\b": "available",
    r"\bothers?wise than\b": "unlike, different from",
    r"\band the like\b": "and similar …",
    r"\bshall\b": "should, must",
    r"\bno number\b(?! of)": "not a number",
    r"\bworth the (?:additional|extra) parameters\b": "justifies the extra parameters",
    r"\b(?:there|where|here)(?:by|upon|of|in|from|with)\b(?<!whereby)": "two plain words",
}
KNOWN = re.compile("|".join(f"({pattern})" for pattern in AVOID))


def complaints(text: str) -> list[str]:
    """Every phrase of the list in a text, with its neighbours and what to write instead."""
    flat = " ".join(text.replace("’", "'").split())
    instead = [*AVOID.values()]
    return [
        f"…{flat[max(0, hit.start() - 30) : hit.end() + 30]}…: {instead[(hit.lastindex or 1) - 1]}"
        for hit in KNOWN.finditer(flat.lower())
    ]


def prose(page: str) -> str:
    """A Markdown page without its code, comments and addresses of links."""
    page = re.sub(r"^```.*?^```[ \t]*$", "", page, flags=re.M | re.S)
    page = re.sub(r"<!--.*?-->", "", page, flags=re.S)
    page = re.sub(r"`[^`\n]+`", "`…`", page)
    return re.sub(r"\]\([^)\s]*\)", "]", page)


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of more than one word in a Python file: messages, help, names of columns."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    inside = set()
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.JoinedStr):  # a text with values in it is read as a whole
            parts = [getattr(part, "value", "") for part in node.values]
            text = "".join(part if isinstance(part, str) else "0" for part in parts)
            inside |= {id(part) for part in node.values}
        if id(node) in docstrings | inside or not isinstance(text, str):
            continue
        if " " in text.strip():
            yield node.lineno, text
