"""Pages that are made of the package itself: the commands' help, and the public names."""

from __future__ import annotations

import inspect
import pydoc
import re
from enum import Enum
from typing import Any

KINDS = {"Functions": "autofunction", "Classes": "autoclass", "Errors": "autoexception"}
# What docstrings of this package hold that reStructuredText would take for a mark of its own.
SPECIAL = re.compile(r"(?<!`)([*|\\]|(?<=\w)_(?=\W|$)|\[(?=\w+\]_))")


def commands() -> str:
    """Every command with its help and options, under the headings of its own help."""
    import typer

    from howlearn.cli.app import COMMANDS, app

    known: Any = typer.main.get_command(app)
    parts = []
    for heading, group in COMMANDS.items():
        parts.append(f"\n## {heading}\n")
        for function in group:
            name = function.__name__.replace("_", "-")
            parts.append(command(name, known.commands[name]))
    return "".join(parts)


def command(name: str, one: Any) -> str:
    """One command in Markdown."""
    taken = [p for p in one.params if p.param_type_name == "argument" and not p.hidden]
    words = ["howlearn", name, *(_metavar(p) for p in taken), "[OPTIONS]"]
    parts = [f"\n### howlearn {name}\n\n```text\n{' '.join(words)}\n```\n\n{literal(one.help)}\n"]
    panels: dict[str, list[str]] = {}
    for param in one.params:
        if not getattr(param, "hidden", False):
            panel = getattr(param, "rich_help_panel", None) or ""
            panels.setdefault(panel, []).append(option(param))
    for panel, entries in panels.items():
        parts.append(f"\n**{literal(panel)}**\n\n" if panel else "\n")
        parts += [f"- {entry}\n" for entry in entries]
    return "".join(parts)


def option(param: Any) -> str:
    """How it is typed, what it does, and what holds without it."""
    if param.param_type_name == "argument":
        shown = _metavar(param)
    else:
        names = [*param.opts, *param.secondary_opts]
        value = "" if getattr(param, "is_flag", False) else f" {_metavar(param)}"
        shown = ", ".join(names) + value
    default = param.default
    usual = isinstance(default, str | int | float) and not isinstance(default, bool)
    without = f" Default: `{getattr(default, 'value', default)}`." if usual else ""
    return f"`{shown}`: {literal(getattr(param, 'help', '') or '')}{without}"


def _metavar(param: Any) -> str:
    """What stands for the value; releases of typer keep its type under different names."""
    if param.metavar:
        return param.metavar.removeprefix("<").removesuffix(">")
    if param.param_type_name == "argument":
        return param.name.upper()
    kind = getattr(param, "bare_type", None) or getattr(param, "type", None)
    kind = kind() if inspect.ismethod(kind) else kind
    if isinstance(param.default, Enum):
        kind = type(param.default)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(one.value) for one in kind)
    choices = getattr(kind, "choices", None)
    if choices:
        return "|".join(str(getattr(one, "value", one)) for one in choices)
    name = getattr(kind, "__name__", None) or getattr(kind, "name", None) or "value"
    return str(name).split()[0].upper()


def literal(text: str) -> str:
    """Text of the help as Markdown that prints it."""
    escaped = re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", text)
    return "\n\n".join(" ".join(part.split()) for part in escaped.split("\n\n"))


def tables() -> str:
    """Every table of every command, with its columns."""
    from howlearn.core import columns

    parts = []
    for command in columns.commands():
        parts.append(f"\n## howlearn {command}\n")
        for table in columns.tables(command).values():
            parts.append(f"\n### {table.name}: {table.row}\n\n| column | is | |\n|---|---|---|\n")
            parts += [
                f"| `{column.name}` | {column.kind} | {literal(column.says)} |\n"
                for column in table.columns
            ]
    return "".join(parts)


def formats() -> str:
    """The kinds of files that can be read."""
    from howlearn.reading.formats import formats as known

    rows = [f"| {', '.join(f'`{e}`' for e in one.endings)} | {one.says} |\n" for one in known()]
    return f"\n## All file endings\n\n| ending | is |\n|---|---|\n{''.join(rows)}"


def charts() -> str:
    """Every chart: the question that it answers, the tables behind it, and where it is."""
    from howlearn.report.plot import CHARTS

    heads = "| `howlearn.plot` | answers | drawn from | is in |\n|---|---|---|---|\n"
    parts = [f"\n## The charts\n\n{heads}"]
    for each in CHARTS.values():
        tables = ", ".join(f"`{table}`" for table in each.tables)
        places = [f"the report: {each.section}"] if each.section else []
        places += [f"`howlearn {command}`" for command in each.saved_by]
        parts.append(f"| `{each.name}` | {each.question} | {tables} | {', '.join(places)} |\n")
    return "".join(parts)


def api() -> str:
    """One entry for every public name, and for what the functions return."""
    import howlearn

    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    modules, returned = [], {}
    for name in howlearn.__all__:
        one = getattr(howlearn, name)
        if inspect.ismodule(one):
            modules.append(name)
        elif not name.startswith("_"):
            found[_kind(one)].append(f"howlearn.{name}")
            returned |= _returned(one)
    parts = [_section(kind, names) for kind, names in found.items()]
    parts.append(_section("What the functions return", sorted(returned)))
    for name in modules:
        one = getattr(howlearn, name)
        about = "\n".join(plain(inspect.cleandoc(one.__doc__).splitlines()))
        parts.append(f"\n## howlearn.{name}\n\n```{{eval-rst}}\n{about}\n```\n")
        inside = [each for each in one.__all__ if each not in howlearn.__all__]
        parts += [_entry(f"howlearn.{name}.{each}") for each in inside]
    return "".join(parts)


def _section(title: str, names: list[str]) -> str:
    return f"\n## {title}\n" + "".join(map(_entry, sorted(names, key=str.casefold)))


def _entry(name: str) -> str:
    """The directive for an object, by its full name."""
    one = pydoc.locate(name)
    kind = _kind(one)
    members = "   :members:\n" if kind == "Classes" else ""
    return f"\n```{{eval-rst}}\n.. {KINDS[kind]}:: {name}\n{members}```\n"


def _returned(one: object) -> dict[str, None]:
    """The class of this package that a function returns, unless it is public itself."""
    import howlearn

    given = inspect.isfunction(one) and one.__globals__.get(one.__annotations__.get("return"))
    if not inspect.isclass(given) or not given.__module__.startswith("howlearn."):
        return {}
    name = f"{given.__module__}.{given.__name__}"
    return {} if given.__name__ in howlearn.__all__ else {name: None}


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


def names() -> str:
    """All that a text can name, from the registries: how it is typed, and what it is."""
    from howlearn.core.rules import RULES
    from howlearn.models import FIELD
    from howlearn.models.names import ADJUSTMENTS, MIXTURES
    from howlearn.selection.criteria import CRITERIA

    kinds = {
        "Rules": {name: name for name in RULES},
        "Models": {name: name for name in FIELD},
        "Adjustments": {name: f"+{name}" for name in ADJUSTMENTS},
        "Mixtures": {name: f"{name}(MODEL, MODEL)" for name in MIXTURES},
        "Criteria": {name: each.example or repr(each()) for name, each in CRITERIA.items()},
    }
    known = {**RULES, **FIELD, **ADJUSTMENTS, **MIXTURES, **CRITERIA}
    parts = ["\n## What a text can name\n"]
    for kind, texts in kinds.items():
        parts.append(f"\n| {kind.lower()} | what it is |\n|---|---|\n")
        parts += [f"| `{text}` | {literal(known[name].title)} |\n" for name, text in texts.items()]
    return "".join(parts)
