"""A report in which every name bites, in a browser: nothing runs, nothing is fetched."""

from __future__ import annotations

import csv
import re
import zipfile
from pathlib import Path

import altair as alt
import polars as pl
import pytest

from hostile_names import ACTIONS, CONTEXTS, FORMULAS, MARKUP, MODELS, NAMES, STEERING, hostile_task
from howlearn.cli.app import app
from howlearn.core.text import visible
from howlearn.report import style
from howlearn.report.folder import checked_results
from howlearn.report.page.page import Report, write_report
from howlearn.report.style import drawable, to_svg
from report.browser import Visit, started

LEARNERS = (*FORMULAS[:3], *MARKUP[:4], *STEERING, "x" * 10_000)
TURNING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066\u2067]")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "t.toml").write_text(hostile_task(), encoding="utf-8")
    rows = [
        (name, t + 1, CONTEXTS[t % 4], ACTIONS[a], int(a == t % 4 % 3), NAMES[i % 5])
        for i, name in enumerate(LEARNERS)
        for t in range(16)
        for a in [(i + t * t) % 3 if t < 6 + i % 3 else t % 4 % 3]  # what earns is learned
    ]
    columns = ["learner", "trial", "context", "action", "reward", "=group"]
    pl.DataFrame(rows, columns, orient="row").write_csv(folder / "trials.csv")
    words = ["--task", folder / "t.toml", "--keep", "=group", "--criterion", "aic"]
    words = ["select", folder / "trials.csv", *words, "--out", folder / "results"]
    app([*map(str, words)], standalone_mode=False)
    title = STEERING[2] + MARKUP[1]
    return write_report(folder / "report.html", checked_results(folder / "results"), title)


def test_nothing_in_the_page_runs_or_turns_around(written: Report, tmp_path: Path) -> None:
    page_file, docx, tex = written.files
    text = page_file.read_text(encoding="utf-8")
    assert not TURNING.search(text)
    assert not TURNING.search(tex.read_text(encoding="utf-8"))
    assert "\\input{" not in tex.read_text(encoding="utf-8").partition("\\begin{table}")[2]
    with zipfile.ZipFile(docx) as archive:
        assert not TURNING.search(archive.read("word/document.xml").decode())
    with started() as browser:
        visit = Visit(browser, page_file)
        page = visit.page
        names = page.locator("#table tbody th bdi").all_text_contents()
        assert [name for name in names if len(name) < 40] == [
            visible(name) for name in LEARNERS if len(visible(name)) < 40
        ]
        for place in (1, 4, len(LEARNERS)):  # a formula, markup, the longest
            page.evaluate(f"location.hash = '#learner-row/{place}'")
            page.wait_for_selector(f"#panel[open][data-filled='{place - 1}']")
        page.click("#close")
        figure = page.locator("[data-figure=shares]")
        figure.locator(".save summary").press("Enter")
        with page.expect_download() as saved:
            figure.locator("[data-save=csv]").press("Enter")
        saved.value.save_as(tmp_path / "shares.csv")
        assert page.title() != "ran"
        assert page.locator("main img, iframe, object, embed, [onerror], [onload]").count() == 0
        assert visit.overflow <= 0
        assert visit.complaints == []
        assert visit.abroad == []
        visit.close()
    with (tmp_path / "shares.csv").open(encoding="utf-8", newline="") as file:
        cells = {cell for row in csv.reader(file) for cell in row}
    assert "'=1+1" in cells
    assert {visible(name) for name in MODELS} - {"=1+1"} <= cells


def test_control_characters_in_charts() -> None:
    """The converter would end the process."""
    frame = pl.DataFrame({"model": [*STEERING, "\0"], "share": 1.0})
    chart = alt.Chart(style.data(frame)).mark_bar().encode(x="share:Q", y="model:N")
    svg = to_svg(style.finished(chart, "why \x1b?"))
    assert "\\x1b[31mred\\x07" in svg
    assert not TURNING.search(svg)
    plain = style.finished(alt.Chart(style.data(frame.head(0))).mark_bar(), "why?")
    assert drawable(plain) is plain
