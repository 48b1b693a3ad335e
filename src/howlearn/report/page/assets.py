"""What the page is made of besides its numbers: templates, style, scripts, the chart runtime."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from howlearn.core.errors import HowlearnError
from howlearn.core.text import everywhere, isolated, visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

HERE = "howlearn.report.page"
SCRIPTS = ("charts", "figures", "learners", "panel", "page")  # in the order in which they are run
GENERATOR = "howlearn report"
GLOBAL = "window.vegaEmbed=vegaEmbed;"  # the name by which the page calls the runtime
MISSING = "a report needs: pip install 'howlearn[report]'"


def check_available() -> None:
    """Say in one sentence what is not installed."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("altair", "vl_convert", "jinja2")):
        raise HowlearnError(MISSING)


def environment() -> Environment:
    """Templates whose values are all escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(HERE, "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )
    made.filters["in_order"] = _in_order
    return made


def _in_order(sentence: str) -> Markup:
    """A sentence whose names do not turn the rest of it around."""
    from markupsafe import Markup, escape

    return Markup(escape(isolated(visible(sentence))))


def _shown(value: Any) -> Any:
    """Whatever a template writes out; what is marked as safe is our own code and data."""
    return visible(value) if type(value) is str else value


def style() -> str:
    return _file("page.css")


@cache
def runtime() -> str:
    """The program that draws charts, as altair's release of Vega-Lite needs it."""
    import vl_convert

    from howlearn.report.save import vega_lite_version

    # Inside a function, so that its names are not those of the page.
    bundle = vl_convert.javascript_bundle(GLOBAL, vega_lite_version())
    return f"(()=>{{{harmless(bundle)}\n}})();"


def script() -> str:
    """The page's own program."""
    parts = "\n".join(_file(f"{name}.js") for name in SCRIPTS)
    return f'(()=>{{"use strict";\n{parts}\n}})();'


def hash_of(text: str) -> str:
    """By which a browser knows a script that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def as_json(content: Any) -> str:
    """JSON that may stand inside a script element, whatever the names in it are."""
    shown = everywhere(content)
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def harmless(code: str) -> str:
    """Code that does not end the element it stands in."""
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _file(name: str) -> str:
    return resources.files(HERE).joinpath(name).read_text("utf-8")
