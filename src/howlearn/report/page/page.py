"""The report as one HTML file: results in, text out; nothing is written here."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howlearn import __version__
from howlearn.core.errors import HowlearnError
from howlearn.core.text import everywhere, isolated, many, percent, visible
from howlearn.engine.compile import cache_folder, kept_text
from howlearn.report.apa_files import docx
from howlearn.report.apa_files import tex as tex_of
from howlearn.report.apa_tables import apa_tables
from howlearn.report.charts import SECTIONS, check
from howlearn.report.folder import NOT_CALIBRATED, SHOWN, Calibrated
from howlearn.report.methods import methods
from howlearn.report.methods.sentences import Reference
from howlearn.report.page.answer import answer, stability, statuses
from howlearn.report.page.figures import Drawings, Figure, draw, steps
from howlearn.report.page.learners import Panels, panels, panels_of, sampled, table_of
from howlearn.report.words import sentence
from howlearn.results.results import Results
from howlearn.runs.files import write_whole
from howlearn.selection.tables import ALL, fitted

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


# The last section of the page: a paragraph to paste, references, tables as files.


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
class MethodsPart:
    """Paragraphs to paste, what they cite, and files of tables."""

    paragraphs: Sequence[str] = ()
    references: Sequence[Reference] = ()
    beside: Sequence[Beside] = field(default_factory=tuple)


def methods_of(
    results: Results, known: Calibrated, word: str, tex: str, seed: int | None = None
) -> MethodsPart:
    """From the manifest and the tables; the names are those of the files beside the page."""
    doubled = None if results.why_not else seed
    found = {name: fitted(results.tables[name]) for name in SHOWN if name in results.tables}
    more = {"unfitted": results.unfitted, "confusion": known.frame}
    found |= {name: frame for name, frame in more.items() if frame is not None and len(frame)}
    said = methods(results.manifest, found, doubled)
    tables = apa_tables(results.manifest, found)
    files = (
        Beside(word, "Word (.docx)", docx(tables, said), WORD),
        Beside(tex, "LaTeX (.tex)", tex_of(tables, said).encode("utf-8", "replace"), TEX),
    )
    return MethodsPart(said.paragraphs, said.references, files)


# What the page is made of besides its numbers: templates, style, scripts, the chart runtime.


HERE = "howlearn.report.page"
SCRIPTS = ("charts", "figures", "learners", "panel", "page")  # in the order in which they are run
GENERATOR = "howlearn report"
GLOBAL = "window.vegaEmbed=vegaEmbed;"  # the name by which the page calls the runtime


def environment() -> Environment:
    """Templates whose values are all escaped."""
    from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(HERE, "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_shown,
        bytecode_cache=FileSystemBytecodeCache(str(cache_folder()), "howlearn_%s.page"),
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
def chart_runtime() -> str:
    """The program that draws charts, as altair's release of Vega-Lite needs it."""
    releases = [f"{name} {version(name)}" for name in ("altair", "vl-convert-python")]
    bundle = kept_text("chart_runtime", "\n".join([*releases, GLOBAL]), _bundle)
    # Inside a function, so that its names are not those of the page.
    return f"(()=>{{{harmless(bundle)}\n}})();"


def _bundle() -> str:
    import vl_convert

    from howlearn.report.style import vega_lite_version

    return vl_convert.javascript_bundle(GLOBAL, vega_lite_version())


def page_script() -> str:
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


SAMPLE = 500  # learners whose panels a page holds
MATRICES = ("disagreement", "confusion")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Page:
    """The text of the page, and what one may want to be told about it."""

    text: str
    notes: tuple[str, ...] = ()


def page(
    results: Results,
    title: str | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    methods: MethodsPart | None = None,
    progress: Progress | None = None,
    known: Calibrated = NOT_CALIBRATED,
) -> Page:
    """The whole page, which needs no network."""
    check("a report needs", "jinja2")
    first = results.numbered.filter(criterion=results.criteria[0])
    chosen = sampled(first["model"], sample, seed)
    drawn = draw(steps(results, known, seed), results.unit, progress)
    each = Panels(note=results.why_not)
    if not results.why_not:
        each = panels(results.among(ALL), chosen, progress)
    rows, about_stability = stability(results)
    script, runtime = page_script(), chart_runtime()
    text = environment().get_template("page.html.j2").render(
        title=title or _title(results),
        generator=f"{GENERATOR} {__version__}",
        results=results,
        known=known,
        manifest=results.manifest,
        answer=answer(results),
        figures={name: drawn.of(name) for name in SECTIONS},
        cautions=drawn.warnings,
        notes={name: drawn.said(name) for name in SECTIONS},
        statuses=statuses(results),
        stability=rows,
        about_stability=about_stability,
        n_sampled=len(chosen),
        n_all=len(first),
        panel_note=each.note,
        methods=methods or MethodsPart(),
        options=_options(results.options),
        content=as_json(_content(results, drawn, chosen, each)),
        style=style(),
        script=script,
        runtime=runtime,
        hashes=[hash_of(code) for code in (script, runtime)],
        many=many,
        percent=percent,
        short=_short,
        groups=_groups,
        sentence=sentence,
    )  # fmt: skip
    notes = (f"learning curves and the learners' charts are left out: {each.note}",)
    return Page(_writable(text), notes if each.note else ())


def _content(results: Results, drawn: Drawings, chosen: list[int], each: Panels) -> dict[str, Any]:
    """What the page's script takes."""
    from howlearn.report.style import CONFIG, colours

    table = table_of(results)
    figures = [figure for section in drawn.figures.values() for figure in section]
    return {
        "figures": [figure.content() for figure in figures],
        "config": CONFIG,
        "learners": table,
        "colours": [*colours(table["models"]).values()],
        "panels": panels_of(results, chosen, each.drawn),
        "specs": each.specs,
        "common": each.common,
        "partitions": each.partitions,
    }


def _groups(figures: list[Figure]) -> list[list[Figure]]:
    """Matrices of one kind stand side by side."""

    def kind(figure: Figure) -> str:
        stem = figure.name.split("-")[0]
        return stem if stem in MATRICES else figure.name

    kinds = groupby(figures, key=kind)
    return [[*group] for _, group in kinds]


def _title(results: Results) -> str:
    task = results.options.get("task")
    who = many(results.manifest["learners"], "learner")
    return f"How {who} learn{'s' * (results.manifest['learners'] == 1)}" + (
        f": {_short(str(task), 60)}" if task else ""
    )


def _options(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Options that say something."""
    empty = (None, [], "", False, {})
    return [(str(k), _text(v)) for k, v in options.items() if v not in empty]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{k}={_text(v)}" for k, v in value.items())
    return "yes" if value is True else str(value)


def _short(text: str, longest: int = 80) -> str:
    """A name that fits; the whole stands in its title."""
    return text if len(text) <= longest else f"{text[: longest // 2]}…{text[-longest // 2 + 1 :]}"


def _writable(text: str) -> str:
    """Without halves of characters and without bytes that no HTML file may hold."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


# A report into files: the page, and the tables beside it; all or nothing.


HEAD = 2_000  # characters in which a page says who made it


@dataclass(frozen=True)
class Report:
    """What was written."""

    files: tuple[Path, ...]  # the page first
    size: int  # of the page, in bytes
    notes: tuple[str, ...]


def check_target(out: Path, fresh: bool) -> None:
    """Before any work: whether the report may be written there."""
    check("a report needs", "jinja2")
    if out.is_dir():
        raise HowlearnError(f"{out} is a folder; --out names a file, such as report.html")
    if out.suffix.lower() not in (".html", ".htm"):
        raise HowlearnError(f"{out} does not end in .html; --out names an HTML file")
    if not out.absolute().parent.is_dir():
        raise HowlearnError(f"--out {out}: there is no folder {out.parent}")
    there = [path for path in (out, *beside(out)) if path.exists()]
    if there and not fresh and not _ours(out):
        raise HowlearnError(
            f"{there[0]} exists and was not written by howlearn report; name another file with "
            "--out, or replace it with --fresh"
        )


def beside(out: Path) -> tuple[Path, Path]:
    """The tables for a paper, beside the page."""
    word, tex = (out.with_name(f"{out.stem}-tables.{ending}") for ending in ("docx", "tex"))
    return word, tex


def _ours(out: Path) -> bool:
    try:
        with out.open(encoding="utf-8") as file:
            return f'name="generator" content="{GENERATOR}' in file.read(HEAD)
    except (OSError, ValueError):
        return False


def write_report(
    out: Path,
    results: Results,
    title: str | None = None,
    sample: int = 500,
    seed: int = 0,
    fresh: bool = False,
    progress: Progress | None = None,
    known: Calibrated = NOT_CALIBRATED,
) -> Report:
    """Make everything, then write it: the page last, so that where it is, the tables are."""
    check_target(out, fresh)

    word, tex = beside(out)
    said = methods_of(results, known, word.name, tex.name, seed)
    made = page(results, title, sample, seed, said, progress, known)
    out.parent.mkdir(parents=True, exist_ok=True)
    files = [out]
    for file in said.beside:
        path = out.with_name(file.name)
        write_whole(path, lambda to, content=file.content: to.write_bytes(content))
        files.append(path)
    write_whole(out, lambda to: to.write_text(made.text, encoding="utf-8"))
    return Report(tuple(files), out.stat().st_size, made.notes)
