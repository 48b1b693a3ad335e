"""Names that bite: what a table, a terminal, a page, a file system or a template may obey."""

from __future__ import annotations

import json

FORMULAS = (
    '=HYPERLINK("http://x.example","click")',
    "@SUM(1)",
    "+1+1",
    "-1+2",
    "'=x",
    "''@y",
    "＝1",
    "-",
)
MARKUP = (
    "<script>document.title='ran'</script>",
    "</script><img src=x onerror=\"document.title='ran'\">",
    "]]><svg onload=document.title='ran'>",
    "javascript:document.title='ran'",
    "{{7*7}}",
    "${{7*7}}",
    "{% raw %}",
    "%s%n",
    "[bold]",
    "[/]",
    "[/nope]",
    "\\input{/etc/passwd}",
    "a&b_c#d$e^f~g%h",
)
STEERING = (
    "\x1b[31mred\x07",
    "\x9b31m",
    "\u202eright to left",
    "\u2066isolated",
    "\u2069ended",
    "\u200fmark",
    "a\u2028b",
    "two\nlines",
    "שלום",
)
PATHS = ("../../x", "CON", "C:\\x", "/etc/passwd", "~root", "-rf", "--out", "$(id)", "a|b")
ODD = (
    "x" * 10_000,
    "😀👨‍👩‍👧",
    "аpple",
    "apple",
    "007",
    "7",
    "1e5",
    "true",
    '"q"',
    "`b`",
    "a,b;c",
    "Coin",
)
NAMES = (*FORMULAS, *MARKUP, *STEERING, *PATHS, *ODD)

KEEP, BY, FEATURE = "=keep", "by<b>[/]", "feature\u202e"
CONTEXTS = ("../../x", "\u202ertl", "[/nope]", "-1+2")
ACTIONS = (MARKUP[0], FORMULAS[0], "\x1b[31m")
MODELS = (MARKUP[1], "[/]", "=1+1", "\x1b[31m\u202eשלום", "007")


def hostile_task() -> str:
    """A task file whose every name bites."""
    quoted = json.dumps
    lines = [
        f"name = {quoted('=task[/]' + STEERING[2])}",
        f"actions = [{', '.join(map(quoted, ACTIONS))}]",
    ]
    for i, name in enumerate(CONTEXTS):
        features = f"{{ {quoted(FEATURE)} = {quoted(MARKUP[i % 2])} }}"
        lines += ["[[contexts]]", f"name = {quoted(name)}", f"features = {features}"]
        lines.append(f"correct = {quoted(ACTIONS[i % 3])}")
    for i, name in enumerate(MODELS):
        cells = f"by = [{quoted(FEATURE)}]" if i % 2 else 'partition = "each"'
        lines += ["[[models]]", f"name = {quoted(name)}", cells]
    return "\n".join(lines)
