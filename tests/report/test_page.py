"""``howlearn report``: from a results folder to one page, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from howlearn.cli import main, show
from howlearn.cli.app import app
from howlearn.core.errors import HowlearnError
from howlearn.core.text import visible
from howlearn.models.task import Task
from howlearn.report.folder import checked_results
from howlearn.report.page.answer import answer
from howlearn.report.page.figures import compact
from howlearn.report.page.learners import sampled, table_of
from howlearn.report.page.page import Report, as_json, page, write_report
from howlearn.results.results import Results
from howlearn.results.select_summary import SelectedModels
from howlearn.runs.folder import read_table
from howlearn.simulation.simulate import simulate
from report.browser import Visit, started

HOSTILE = (
    "<script>alert(1)</script>",
    "x" * 10_000,
    "\u202eright to left",
    "</script><img src=x onerror=alert(2)>",
    "a & b \u2028 \"quoted\" 'too'",
    "=HYPERLINK(1)",
)
SECTIONS = ["answer", "sure", "behaviour", "estimates", "learners", "methods"]


def _run(*words: object) -> None:
    """A command in this process, so that compiled code is shared."""
    app([*map(str, words)], standalone_mode=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A selection for eleven learners, some with names that bite; the last one is excluded."""
    folder = tmp_path_factory.mktemp("report")
    task = Task.load("five-four")
    study = simulate(task, "ByPattern", {"eta": 0.1}, 11, trials=90, seed=3)
    names = {str(k + 1): name for k, name in enumerate(HOSTILE)}
    group = pl.when(pl.col("learner") == "11").then(pl.lit("out")).otherwise(pl.lit("<b>&"))
    frame = study.frame().with_columns(pl.col("learner").replace(names), group=group)
    frame.write_csv(folder / "trials.csv")
    criteria = ("--criterion", "penalized(c=0.012)", "--criterion", "holdout(split=0.5)")
    options = ("--task", "five-four", "--keep", "group", *criteria)
    options += ("--exclude", "first(group) == 'out'")
    _run("select", folder / "trials.csv", *options, "--out", folder / "results")
    return folder / "results"


@pytest.fixture(scope="module")
def gathered(results: Path) -> Results:
    return checked_results(results)


@pytest.fixture(scope="module")
def written(gathered: Results) -> Report:
    """The page of these results, made once."""
    return write_report(gathered.folder.parent / "report.html", gathered)


@pytest.fixture
def copied(results: Path, tmp_path: Path) -> Path:
    """The results again, to be broken."""
    return Path(shutil.copytree(results, tmp_path / "results"))


class _Outline(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def test_the_page_is_whole_and_no_name_becomes_markup(written: Report) -> None:
    text = written.files[0].read_text(encoding="utf-8")
    outline = _Outline(text)
    sections = [a["id"] for tag, a in outline.elements if tag == "section"]
    assert sections == SECTIONS
    assert [tag for tag, _ in outline.elements].count("script") == 3
    assert not [a for tag, a in outline.elements if tag == "img" or "onerror" in a]
    assert not [a for _, a in outline.elements if str(a.get("src", "")).startswith("http")]
    assert not re.search(r"<link|@import|url\(", text.split("<script", 1)[0])
    levels = [int(tag[1]) for tag, _ in outline.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert [p.name for p in written.files] == [
        "report.html",
        "report-tables.docx",
        "report-tables.tex",
    ]
    assert all(path.stat().st_size > 1000 for path in written.files)
    assert written.size < 2_000_000


def test_what_is_inside_is_what_the_tables_say(written: Report, gathered: Results) -> None:
    text = written.files[0].read_text(encoding="utf-8")
    content = _content(text)
    people = content["learners"]
    rows = people["rows"]
    assert [row[0] for row in rows] == [
        visible(name[:1000]) for name in gathered.learners["learner"]
    ]
    assert [row[1] for row in rows] == ["<b>&"] * 10 + ["out"]
    assert [row[3] for row in rows] == [0] * 10 + [1]
    assert {"shares-included", "shares-all"} <= {each["name"] for each in content["figures"]}
    assert [*content["panels"]] == [str(k) for k in range(11)]
    first = gathered.tables["selection"].filter(criterion=gathered.criteria[0])
    assert [people["models"][row[4]] for row in rows] == first["model"].to_list()
    assert [row[6] for row in rows] == pytest.approx(first["margin"].to_list(), rel=1e-2)
    # How far each model is behind the best is what the scores say.
    scores = gathered.tables["scores"].filter(
        learner=HOSTILE[0], criterion=gathered.criteria[1], model="OneForAll"
    )["score"]
    own = gathered.tables["scores"].filter(learner=HOSTILE[0], criterion=gathered.criteria[1])
    behind = content["panels"]["0"]["scores"][1][people["models"].index("OneForAll")]
    assert behind == pytest.approx(own["score"].max() - scores[0], rel=1e-2)
    per_learner = len(json.dumps(content["panels"])) / len(rows)
    assert per_learner < 5_000


def test_the_first_sentence_counts_each_learner_once(gathered: Results, tmp_path: Path) -> None:
    made = _selection_of(
        tmp_path / "made",
        gathered,
        [("A", "clear"), ("A", "clear")],
        [("A", "clear"), ("A", "clear")],
        [("B", "clear"), ("B", "undecided between B and A")],
        [("A", "clear"), ("B", "clear")],
        [("A", "no better than a coin"), ("A", "clear")],
    )
    assert answer(made).sentences[0] == (
        "A explains 3 of 5 learners best; B explains 1; no model is better than a coin for 1."
    )
    counts = [(each.model, each.count) for each in answer(made).found.models if each.count]
    assert counts == [("A", 3), ("B", 1), ("no better than a coin", 1)]  # as in the sentence
    apart = _selection_of(tmp_path / "apart", gathered, [("A", "clear"), ("B", "clear")])
    assert answer(apart).sentences[0] == "A explains this learner best."
    assert "agrees with penalized for 0 of 1 learner." in " ".join(answer(apart).sentences)
    out = _selection_of(
        tmp_path / "out",
        gathered,
        [("A", "clear"), ("A", "clear")],
        [("B", "clear"), ("B", "clear")],
        excluded=[None, "accuracy < 0.5"],
    )
    found = answer(out)
    assert found.sentences[0] == "A explains this learner best."
    assert "selects, for 2 learners: A 1 and B 1." in " ".join(found.sentences)
    assert [row.counts for row in found.rows] == [[1, 1], [0, 0]]
    assert [row.counts for row in found.rows_of_all] == [[1, 1], [1, 1]]


def test_what_the_data_do_not_decide_is_said_first(gathered: Results, tmp_path: Path) -> None:
    open_, coin = ("A", "undecided between A and B"), ("B", "no better than a coin")
    clear, other = ("A", "clear"), ("B", "undecided between B and A")
    few = _selection_of(tmp_path / "few", gathered, *[[said] * 2 for said in (open_, other, coin)])
    first, second, *_ = answer(few).sentences
    assert first.startswith("The data decide little: for 2 of 3 learners another model or a coin")
    assert second.startswith("A explains 1 of 3 learners best (not clearly); B explains 1 (not cl")
    assert next(iter(SelectedModels(few).withheld())) == first  # printed before the table, too
    half = _selection_of(tmp_path / "half", gathered, *[[said] * 2 for said in (open_, clear)])
    assert answer(half).sentences[0] == "A explains 2 of 2 learners best (1 clearly)."
    none = _selection_of(tmp_path / "none", gathered, [open_] * 2, [open_] * 2)
    assert answer(none).sentences[1] == "A explains 2 of 2 learners best (none clearly)."
    alone = _selection_of(tmp_path / "alone", gathered, [open_] * 2)
    assert answer(alone).sentences[0] == "A explains this learner best (not clearly)."
    only = few.folder
    assert only is not None
    of_one = {**gathered.manifest, "models": [{"name": "A"}]}
    (only / "manifest.json").write_text(json.dumps(of_one), "utf-8")
    found = SelectedModels(Results.of(only))  # where there is no other model, none is near
    assert "(a coin is within" in next(found.sure())
    assert "2 of 3 learners a coin explains" in next(iter(found.withheld()))


def test_clear_answers_that_are_right_or_wrong_together(gathered: Results, tmp_path: Path) -> None:
    """Each of ten learners has A by far, but perhaps all of them have B."""
    made = _selection_of(tmp_path / "made", gathered, *[[("A", "clear"), ("A", "clear")]] * 10)
    known = {"A": (0.6, 0.98), "B": (0.01, 0.3)}
    for ends, warned in (((0.6, 0.98), False), ((0.02, 0.98), True)):
        found = SelectedModels(made)
        found.__dict__["_intervals"] = {**known, "A": ends}
        said = [text for text in found.withheld() if "right or wrong together" in text]
        assert len(said) == warned
        assert all("10 clear answers for A" in text and "2% to 98%" in text for text in said)


def _selection_of(
    folder: Path,
    gathered: Results,
    *learners: list[tuple[str, str]],
    excluded: list[str | None] | None = None,
) -> Results:
    """Results made by hand: for each learner, by each criterion, the model and the verdict."""
    rows = [
        {"learner": str(i), "criterion": c, "model": m, "runner_up": None, "margin": 1.0}
        | {"verdict": v}
        for i, said in enumerate(learners)
        for c, (m, v) in zip(gathered.criteria, said, strict=True)
    ]
    table = pl.DataFrame({"learner": [str(i) for i in range(len(learners))], "n_trials": 1})
    if excluded:
        table = table.with_columns(excluded=pl.Series(excluded, dtype=pl.String))
    manifest = {**gathered.manifest, "models": [{"name": "A"}, {"name": "B"}]}
    counts = pl.DataFrame(rows).group_by("criterion", "model").len("learners")
    shares = counts.with_columns(among=pl.lit("all"), share=pl.lit(0.0))
    tables = {"selection": pl.DataFrame(rows), "learners": table, "shares": shares}
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    for name, frame in tables.items():
        frame.write_csv(folder / f"{name}.csv")
    return Results.of(folder)


def test_data_as_columns_hold_what_is_drawn_and_nothing_else() -> None:
    rows = [{"x": k / 3, "label": "ab"[k % 2], "unused": k} for k in range(6)]
    spec = {"datasets": {"d": json.dumps(rows)}, "mark": "bar",
            "data": {"name": "d", "format": {"type": "json"}},
            "encoding": {"x": {"field": "x"}, "fill": {"field": "label"}}}  # fmt: skip
    assert compact(spec) == {
        "datasets": {
            "d": {
                "$columns": {
                    "x": [0, 0.33333, 0.66667, 1, 1.3333, 1.6667],
                    "label": {"$names": ["a", "b"], "$places": [0, 1, 0, 1, 0, 1]},
                }
            }
        },
        "mark": "bar",
        "data": {"name": "d"},
        "encoding": {"x": {"field": "x"}, "fill": {"field": "label"}},
    }
    assert as_json({"a": "</script>\u2028&"}) == '{"a":"\\u003c/script\\u003e\\\\u2028\\u0026"}'


def test_a_sample_has_every_model_and_depends_on_the_seed_only() -> None:
    models = pl.Series(["rare"] + ["some"] * 20 + ["most"] * 400)
    for size in (3, 10, 100, 420):
        chosen = sampled(models, size, seed=1)
        assert len(chosen) == len(set(chosen)) == size
        assert {models[place] for place in chosen} == {"rare", "some", "most"}
        assert chosen == sampled(models, size, seed=1)
    assert sampled(models, 10, seed=1) != sampled(models, 10, seed=2)
    assert sampled(models, 1000, seed=1) == [*range(421)]
    assert len(sampled(models, 2, seed=1)) == 2


def _change(**values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "manifest.json"
        file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **values}), "utf-8")

    return change


def _word(name: str, column: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        frame = pl.read_csv(folder / name, infer_schema=False)
        first = pl.int_range(pl.len()) == 0
        frame = frame.with_columns(
            pl.when(first).then(pl.lit("abc")).otherwise(column).alias(column)
        )
        frame.write_csv(folder / name)

    return change


def _cut(name: str) -> Callable[[Path], None]:
    def cut(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return cut


def _spoil(name: str, content: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(content, "utf-8") and None


BROKEN = {
    "no manifest": (lambda f: (f / "manifest.json").unlink(), "has no manifest.json"),
    "cut manifest": (_cut("manifest.json"), "manifest.json is damaged"),
    "a list": (_spoil("manifest.json", "[1, 2]"), "manifest.json is damaged"),
    "other kinds": (_change(options=[]), "manifest.json is damaged"),
    "another command": (_change(command="calibrate"), "holds the results of howlearn calibrate"),
    "another version": (_change(howlearn="9.1.0"), "was made by howlearn 9.1.0"),
    "unfinished": (lambda f: (f / "shares.csv").unlink(), "its run is not finished"),
    "a word for a number": (_word("scores.csv", "score"), "the table scores"),
    "a word for an estimate": (_word("estimates.csv", "estimate"), "the table estimates"),
    "another model": (_word("selection.csv", "model"), "the table selection"),
    "a short table": (_cut("selection.csv"), "the table selection"),
    "short scores": (_cut("scores.csv"), "the table scores"),
    "short learners": (_cut("learners.csv"), "the table learners"),
    "an empty table": (_spoil("estimates.csv", ""), "the table estimates"),
    "other columns": (_spoil("shares.csv", "a,b\n1,2\n"), "the table shares"),
    "garbage": (lambda f: (f / "scores.csv").write_bytes(b"\x00\xff" * 99), "the table scores"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_folder_is_refused_in_one_sentence(what: str, copied: Path) -> None:
    change, message = BROKEN[what]
    change(copied)
    with pytest.raises(HowlearnError, match=re.escape(message)) as error:
        checked_results(copied)
    assert "\n" not in str(error.value)
    assert str(copied) in str(error.value)


def test_commands_that_cannot_be_done_leave_nothing_behind(
    copied: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def status(*words: object) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["howlearn", "report", *map(str, words)])
        for console in (show.console, show.aside):
            monkeypatch.setattr(console, "_width", 300)
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), capsys.readouterr().err

    mine = tmp_path / "mine.html"
    mine.write_text("<p>my own page</p>", "utf-8")
    before = sorted(path.name for path in tmp_path.iterdir())
    for words, message in (
        ([tmp_path / "nothing"], "does not exist"),
        ([mine], "is a file"),
        ([copied, "-o", tmp_path], "is a folder"),
        ([copied, "-o", tmp_path / "page.pdf"], "does not end in .html"),
        ([copied, "-o", mine], "was not written by howlearn report"),
        ([copied, "-o", mine / "below.html"], "there is no folder"),
        ([copied, "-o", tmp_path / "r.html", "--calibration", tmp_path], "recommendation.json"),
    ):
        code, said = status(*words)
        assert (code, message in " ".join(said.split())) == (2, True), said
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert mine.read_text("utf-8") == "<p>my own page</p>"


def test_without_the_data_the_rest_is_shown(copied: Path) -> None:
    _change(input={"gone.csv": "sha256:0"})(copied)
    found = checked_results(copied)
    assert "gone.csv, which is not there" in found.why_not
    assert len(table_of(found)["rows"]) == 11


def test_charts_leave_the_excluded_out_and_panels_do_not(gathered: Results) -> None:
    names = gathered.learners["learner"].to_list()
    for kept in (gathered, Results.of(gathered.folder)):
        assert [*kept.study.learners] == names[:10]
        assert kept.first["learner"].to_list() == names[:10]
        assert (
            set(kept.table("scores")["learner"])
            == set(kept.table("estimates")["learner"])
            == {*names[:10]}
        )
    everyone = gathered.among("all")
    assert [*everyone.study.learners] == everyone.first["learner"].to_list() == names


def test_twenty_thousand_learners_are_a_sample_and_few_megabytes(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables of eleven learners again and again; data are not there."""
    times = 1819
    for name in ("scores", "estimates", "selection", "learners"):
        own = read_table(copied, name).with_columns(pl.col("learner").str.slice(0, 20))
        again = [own.with_columns(pl.col("learner") + f" {k}") for k in range(times)]
        pl.concat(again).write_parquet(copied / f"{name}.parquet")  # quicker than text
        (copied / f"{name}.csv").unlink()
    _change(input={"gone.csv": "sha256:0"}, learners=11 * times, sequences=11 * times)(copied)
    monkeypatch.setattr("howlearn.report.page.page.chart_runtime", lambda: "x" * 900_000)
    made = page(checked_results(copied), sample=500)
    assert 2_000_000 < len(made.text.encode()) < 10_000_000
    content = _content(made.text)
    assert len(content["learners"]["rows"]) == 11 * times
    assert len(content["panels"]) == 500
    places = {content["learners"]["rows"][int(place)][4] for place in content["panels"]}
    assert places == {row[4] for row in content["learners"]["rows"]}
    assert "The table lists all 20,009 learners; 500 of them" in made.text
    assert "gone.csv, which is not there" in made.text
    assert made.notes[0].startswith("learning curves and the learners' charts are left out")


def _content(text: str) -> dict[str, Any]:
    return json.loads(text.split('id="content">', 1)[1].split("</script>", 1)[0])


def test_people_without_contexts(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = sorted((shared_data / "bids_reversal").glob("*.tsv"))
    roles = ("--context", "none", "--action", "condchosen", "--reward", "outcome")
    options = (*roles, "--criterion", "bic", "--add-model", "Coin")
    _run("select", *files, *options, "--out", tmp_path / "results")
    monkeypatch.setattr("howlearn.report.page.page.chart_runtime", lambda: "")
    made = write_report(tmp_path / "report.html", checked_results(tmp_path / "results"))
    text = made.files[0].read_text(encoding="utf-8")
    content = _content(text)
    names = read_table(tmp_path / "results", "learners")["learner"].to_list()
    assert [row[0] for row in content["learners"]["rows"]] == names
    assert len(names) == len(files)
    drawn = {figure["name"] for figure in content["figures"]}
    assert {"shares", "margins", "price", "curves", "predicted", "estimates"} <= drawn
    assert "one for all trials" in text


def test_in_a_browser(written: Report, tmp_path: Path) -> None:
    """One start of the browser for everything that only a browser can show."""
    file = written.files[0]
    with started() as browser:
        for visit in (_on_a_desk(browser, file, tmp_path), _on_a_phone_in_the_dark(browser, file)):
            assert visit.complaints == []
            assert visit.abroad == []
            visit.close()


def test_a_page_that_is_printed_at_once_has_all_charts(written: Report) -> None:
    """They are drawn one after the other; here the second never has its turn."""
    stuck = "const later = setTimeout; window.setTimeout = (f, t) => t === undefined || later(f, t)"
    with started() as browser:
        page = browser.new_page()
        page.add_init_script(stuck)
        page.goto(written.files[0].as_uri())
        page.wait_for_selector("figure .chart svg")
        boxes, drawn = page.locator("figure .chart"), page.locator("figure .chart svg")
        assert drawn.count() == 1 < boxes.count()
        page.pdf()
        assert drawn.count() == boxes.count()


def _on_a_desk(browser: Any, file: Path, folder: Path) -> Visit:
    visit = Visit(browser, file, viewport={"width": 1280, "height": 900})
    page = visit.page
    headings = page.locator("main > section > h2").all_inner_texts()
    assert len(headings) == 6
    charts = page.locator("figure .chart")
    assert charts.count() >= 6
    assert charts.count() == page.locator("figure .chart svg").count()
    assert all(len(each.get_attribute("aria-label") or "") > 20 for each in charts.all())

    # Search, with a count that is announced; filters; order.
    rows, matches = page.locator("#table tbody tr"), page.locator("#matches")
    assert rows.count() == 11
    page.fill("#search", "ALERT(1)")
    assert rows.count() == 1
    assert matches.inner_text() == "1 of 11 learners match"
    assert rows.locator("th").inner_text() == HOSTILE[0]
    page.fill("#search", "")
    heads = page.locator("#table thead th")
    margin = next(k for k, text in enumerate(heads.all_inner_texts()) if "margin" in text)
    for order in ("ascending", "descending"):
        heads.nth(margin).locator("button").press("Enter")
        assert heads.nth(margin).get_attribute("aria-sort") == order
        cells = page.locator(f"#table tbody tr > :nth-child({margin + 1})").all_inner_texts()
        numbers = [float(text.replace("−", "-")) for text in cells]
        assert numbers == sorted(numbers, reverse=order == "descending")

    # A learner by the keyboard, the next one, and back to where one was.
    link = rows.first.locator("a")
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel[open][data-filled]")
    assert page.url.endswith("#" + (link.get_attribute("href") or "").lstrip("#"))
    title = page.locator("#panel-title").inner_text()
    page.click("#next")
    page.wait_for_function(f"document.getElementById('panel-title').innerText !== {title!r}")
    page.keyboard.press("Escape")
    page.wait_for_selector("#panel", state="hidden")
    # By a click on the row.
    rows.nth(2).locator("td").last.click()
    page.wait_for_selector("#panel[open][data-filled]")
    assert page.locator("#panel .chart svg").count() >= 2
    page.click("#close")

    # Saved as files, and shown as a table.
    for ending, start in (("svg", b"<svg"), ("png", b"\x89PNG"), ("csv", b"criterion,")):
        figure = page.locator("[data-figure=margins]")
        figure.locator(".save summary").press("Enter")
        with page.expect_download() as saved:
            figure.locator(f"[data-save={ending}]").press("Enter")
        assert saved.value.suggested_filename == f"margins.{ending}"
        saved.value.save_as(folder / f"margins.{ending}")
        assert (folder / f"margins.{ending}").read_bytes().startswith(start)
    page.locator("[data-figure=margins] .as-table summary").click()
    page.wait_for_selector("[data-figure=margins] .as-table tbody tr")
    assert page.locator("[data-figure=margins] .as-table tbody tr").count() > 1
    with page.expect_download() as saved:
        page.locator("#methods a[download$=docx]").click()
    assert saved.value.suggested_filename == "report-tables.docx"

    # Printed: all sections, no controls.
    pages = page.pdf()
    assert pages.startswith(b"%PDF")
    page.emulate_media(media="print")
    assert not page.locator("#search, #theme, .save, #panel").locator("visible=true").count()
    assert visit.overflow <= 0
    return visit


def _on_a_phone_in_the_dark(browser: Any, file: Path) -> Visit:
    """A link to the learner whose name is the longest; then light, whatever the system says."""
    settings = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2}
    settings |= {"is_mobile": True, "color_scheme": "dark"}
    visit = Visit(browser, file, "#learner-row/2", **settings)
    visit.page.wait_for_selector("#panel[open][data-filled]")
    assert visit.page.locator("#panel-title bdi").get_attribute("title") == "x" * 1000
    assert visit.overflow <= 0
    visit.page.click("#close")
    assert visit.overflow <= 0
    wide = "[...document.querySelectorAll('figure .chart')]"
    wide += ".filter(box => box.scrollWidth > box.clientWidth + 1).length"
    assert visit.page.evaluate(wide) == 0  # no chart scrolls sideways
    ground = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.querySelector('figure .chart svg text')).fill"
    dark, light_text = visit.page.evaluate(ground), visit.page.evaluate(ink)
    visit.page.click("#theme")
    light, dark_text = visit.page.evaluate(ground), visit.page.evaluate(ink)
    brightness = [_brightness(colour) for colour in (dark, light_text, light, dark_text)]
    assert [value > 128 for value in brightness] == [False, True, True, False]
    return visit


def _brightness(colour: str) -> float:
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3
