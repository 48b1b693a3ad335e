"""Pages that are made of the package itself: the commands' help, and the public names."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import sys

KINDS = {"Functions": "autofunction", "Classes": "autoclass", "Errors": "autoexception"}
# What docstrings of this package hold that reStructuredText would take for a mark of its own.
SPECIAL = re.compile(r"(?<!`)([*|\\]|(?<=\w)_(?=\W|$)|\[(?=\w+\]_))")


def commands() -> str:
    """The help of every command, as it is printed."""
    from howlearn.cli.app import COMMANDS

    parts = []
    for heading, group in COMMANDS.items():
        parts.append(f"\n## {heading}\n")
        for command in group:
            name = command.__name__.replace("_", "-")
            parts.append(f"\n### howlearn {name}\n\n```text\n{help_of(name)}\n```\n")
    return "".join(parts)


def help_of(name: str) -> str:
    """What ``howlearn NAME --help`` prints, at the width of a page and without colours."""
    from examples import command

    before = {key: os.environ.get(key) for key in ("COLUMNS", "NO_COLOR", "TERMINAL_WIDTH")}
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TERMINAL_WIDTH": "100"}
    try:
        said = command(["howlearn", name, "--help"], f"help of {name}")
    finally:
        for key, value in before.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})
    return "\n".join(line.rstrip() for line in said.splitlines()).strip("\n")


def api() -> str:
    """One entry for every public name."""
    import howlearn

    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name in howlearn.__all__:
        if not name.startswith("_") and not inspect.ismodule(one := getattr(howlearn, name)):
            found[_kind(one)].append(name)
    parts = []
    for kind, names in found.items():
        parts.append(f"\n## {kind}\n")
        for name in sorted(names, key=str.casefold):
            members = "   :members:\n" if kind == "Classes" else ""
            entry = f".. {KINDS[kind]}:: howlearn.{name}\n{members}"
            parts.append(f"\n```{{eval-rst}}\n{entry}```\n")
    return "".join(parts)


def _kind(one: object) -> str:
    if not inspect.isclass(one):
        return "Functions"
    return "Errors" if issubclass(one, Exception) else "Classes"


def plain(lines: list[str]) -> list[str]:
    """A docstring whose formulas are not taken for marks; code and doctests stay as they are."""
    out = []
    code = False
    for line in lines:
        code = (code and bool(line.strip())) or line.lstrip().startswith(">>>")
        out.append(line if code else _escaped(line))
    return out


def _escaped(line: str) -> str:
    parts = re.split(r"(``.*?``)", line)
    return "".join(p if p.startswith("``") else SPECIAL.sub(r"\\\1", p) for p in parts)


if __name__ == "__main__":  # to look at what is made
    with contextlib.redirect_stderr(io.StringIO()):
        sys.stdout.write(commands() + api())
