"""The site: Markdown pages whose examples are run before they are built; no network."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # for the two modules beside this file

from howlearn import __version__  # noqa: E402

project = "howlearn"
author = "The howlearn developers"
copyright = author
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"howlearn {release}"
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "default"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"

OUTSIDE = re.compile(r"\]\(\.\./(?P<file>[^)#]+)(?P<place>#[^)]*)?\)")
INSIDE = {
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "SECURITY.md": "security.md",
}


def before_building(app: Any) -> None:
    """Every example, before anything is built; a failure names the page and the line."""
    from examples import ExampleError, run_all
    from sphinx.errors import ExtensionError
    from sphinx.util import logging

    if not app.config.run_examples:  # python -m sphinx -D run_examples=0: to look at a page
        return
    say = logging.getLogger(__name__).info
    try:
        run_all(
            [HERE.parent / "README.md", *sorted(HERE.glob("*.md"))],
            HERE / "_build" / "examples",
            say,
        )
    except ExampleError as error:
        raise ExtensionError(f"examples that fail:\n{error}") from None


def fill_in(app: Any, name: str, source: list[str]) -> None:
    """Write what is made at build time into its pages, and turn links to other files around."""
    import reference

    if name == "commands":
        source[0] += reference.commands()
    if name == "data":
        source[0] += reference.formats()
    if name == "tables":
        source[0] += reference.tables()
    if name == "report":
        source[0] += reference.charts()
    if name == "api":
        source[0] += reference.names() + reference.api()
    if name in ("changes", "contributing", "security"):
        source[0] = (HERE.parent / source[0].split()[-1]).read_text(encoding="utf-8")
        source[0] = source[0].replace("](docs/", "](").replace("](CHANGELOG.md)", "](changes.md)")
    source[0] = OUTSIDE.sub(lambda m: f"]({INSIDE.get(m['file'], 'index.md')})", source[0])


def always(app: Any, env: Any, added: Any, changed: Any, removed: Any) -> list[str]:
    """Pages whose content comes from elsewhere are read each time."""
    return ["commands", "data", "tables", "report", "api", "changes", "contributing", "security"]


def as_written(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with formulas and doctests; the site shows them as they stand."""
    import reference

    lines[:] = reference.plain(lines)


def setup(app: Any) -> dict[str, Any]:
    app.add_config_value("run_examples", True, "", bool)
    app.connect("builder-inited", before_building)
    app.connect("source-read", fill_in)
    app.connect("env-get-outdated", always)
    app.connect("autodoc-process-docstring", as_written)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
