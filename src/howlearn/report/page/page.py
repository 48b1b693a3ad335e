"""The report as one HTML file: gathered results in, text out; nothing is written here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from howlearn._version import __version__
from howlearn.core.text import many, percent
from howlearn.report.gather import Gathered
from howlearn.report.page import assets
from howlearn.report.page.answer import answer
from howlearn.report.page.drawings import ANSWER, BEHAVIOUR, ESTIMATES, SURE, draw, steps
from howlearn.report.page.figure import Figure
from howlearn.report.page.known import everyone, included
from howlearn.report.page.learners import panels_of, table_of
from howlearn.report.page.methods import Methods
from howlearn.report.page.panels import Panels, panels
from howlearn.report.page.sample import sampled
from howlearn.report.page.sure import stability, statuses
from howlearn.report.page.words import sentence

SAMPLE = 500  # learners whose panels a page holds
MATRICES = ("disagreement", "confusion")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Page:
    """The text of the page, and what one may want to be told about it."""

    text: str
    notes: tuple[str, ...] = ()


def page(
    gathered: Gathered,
    title: str | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    methods: Methods | None = None,
    progress: Progress | None = None,
) -> Page:
    """The whole page, which needs no network."""
    assets.check_available()
    from howlearn.report.style import CONFIG, colours

    first = gathered.selection.filter(criterion=gathered.criteria[0])
    chosen = sampled(first["model"], sample, seed)
    drawn = draw(steps(gathered, included(gathered), seed), gathered.unit, progress)
    each = Panels(note=gathered.why_not)
    if gathered.inputs is not None:
        each = panels(everyone(gathered), chosen, progress)
    figures = [figure for section in drawn.figures.values() for figure in section]
    table = table_of(gathered)
    content = {
        "figures": [figure.content() for figure in figures],
        "config": CONFIG,
        "learners": table,
        "colours": [*colours(table["models"]).values()],
        "panels": panels_of(gathered, chosen, each.drawn),
        "specs": each.specs,
        "common": each.common,
        "partitions": each.partitions,
    }
    rows, about_stability = stability(gathered)
    script, runtime = assets.script(), assets.runtime()
    text = assets.environment().get_template("page.html.j2").render(
        title=title or _title(gathered),
        generator=f"{assets.GENERATOR} {__version__}",
        gathered=gathered,
        manifest=gathered.manifest,
        answer=answer(gathered),
        figures={name: drawn.of(name) for name in (ANSWER, SURE, BEHAVIOUR, ESTIMATES)},
        cautions=drawn.warnings,
        notes={name: drawn.said(name) for name in (ANSWER, SURE, BEHAVIOUR, ESTIMATES)},
        statuses=statuses(gathered),
        stability=rows,
        about_stability=about_stability,
        n_sampled=len(chosen),
        n_all=len(first),
        panel_note=each.note,
        methods=methods or Methods(),
        options=_options(gathered.options),
        content=assets.as_json(content),
        style=assets.style(),
        script=script,
        runtime=runtime,
        hashes=[assets.hash_of(code) for code in (script, runtime)],
        many=many,
        percent=percent,
        short=_short,
        groups=_groups,
        sentence=sentence,
    )  # fmt: skip
    notes = (f"learning curves and the learners' charts are left out: {each.note}",)
    return Page(_writable(text), notes if each.note else ())


def _groups(figures: list[Figure]) -> list[list[Figure]]:
    """Matrices of one kind stand side by side."""

    def kind(figure: Figure) -> str:
        stem = figure.name.split("-")[0]
        return stem if stem in MATRICES else figure.name

    kinds = groupby(figures, key=kind)
    return [[*group] for _, group in kinds]


def _title(gathered: Gathered) -> str:
    task = gathered.options.get("task")
    who = many(gathered.manifest["learners"], "learner")
    return f"How {who} learn{'s' * (gathered.manifest['learners'] == 1)}" + (
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
