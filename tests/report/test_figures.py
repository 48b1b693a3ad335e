"""Every chart becomes a page-worthy SVG, whatever the names, however few the data."""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from xml.etree import ElementTree

import polars as pl
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.report import charts, style
from howlearn.report.matrix_charts import confusion as figures_confusion
from howlearn.report.path_charts import path as figures_path
from howlearn.report.rate_charts import boxes
from howlearn.report.rate_charts import recovery as figures_recovery
from howlearn.report.share_charts import group_shares, shares
from howlearn.report.simulation_charts import error_curves as figures_error_curves
from howlearn.report.simulation_charts import plan, share_intervals
from howlearn.report.style import (
    FEW,
    LONGEST,
    PALETTE,
    Scale,
    colours,
    data_ticks,
    dodged,
    even_ticks,
    flag_rows,
    labels,
    log_ticks,
)

SIX = ["OnePerItem", "OneForAll", "ByShape", "ByPattern", "ByShapeExc", "ByPatternExc"]
ODD = ['say "x"', "a.b[0]", "<b>&amp;", "it's", "模型", "η̂ → ∞", "tab\tand\nline", "\\d"]
MANY = [f"Model {i}" for i in range(30)]
LONG = ["x" * 100 + "1", "x" * 100 + "2", "a" * LONGEST]
CRITERIA = ["penalized(c=0.012)", "holdout(split=0.5)"]
MARKS = {"AIC": 0.026, "BIC": 0.08}
CHOSEN = {"smallest largest error": 0.012, "smallest mean error": 0.027}


def errors_of(models, settings, criterion="penalized"):
    rows = [
        {
            "criterion": criterion,
            "setting": setting,
            "true_model": model,
            "error": (i + j) / (len(models) + len(settings)),
            "standard_error": 0.05,
            "kappa": setting * 38.6 if criterion == "penalized" else None,
        }
        for i, model in enumerate(models)
        for j, setting in enumerate(settings)
    ]
    schema = {"criterion": pl.String, "setting": pl.Float64, "true_model": pl.String}
    schema |= dict.fromkeys(("error", "standard_error", "kappa"), pl.Float64)
    return pl.DataFrame(rows, schema=schema)


def settings_of(errors):
    return errors.group_by("criterion", "setting", "kappa", maintain_order=True).agg(
        mean_error=pl.col("error").mean(), max_error=pl.col("error").max()
    )


def error_curves(models, settings=(0.005, 0.012, 0.03), criterion="penalized", chosen=CHOSEN):
    errors = errors_of(models, settings, criterion)
    return figures_error_curves(errors, settings_of(errors), MARKS, chosen, criterion, models)


def confusion_of(models):
    share = {True: 0.7, False: 0.3 / max(1, len(models) - 1)}
    rows = [
        {"true_model": true, "selected_model": selected, "share": share[true == selected]}
        for true in models
        for selected in models
    ]
    return pl.DataFrame(
        rows, schema={"true_model": pl.String, "selected_model": pl.String, "share": pl.Float64}
    )


def recovery_of(models):
    names = ("true_model", "cell", "parameter", "split", "trials_fitted", "relative_error")
    rows = [
        (model, cell, "eta", n / 100, n, 10 / n, 5 / n, None if n == 20 else 30 / n)
        for model in models
        for cell in ("1+2", "7")
        for n in (20, 50, 100)
    ]
    return pl.DataFrame(rows, schema=[*names, "lower_quartile", "upper_quartile"], orient="row")


def boxes_of(models):
    names = ["model", "trials_fitted", "lower", "lower_quartile", "median", "upper_quartile"]
    rows = [(model, n, 0.0, 1 / n, 5 / n, 9 / n, 90 / n) for model in models for n in (20, 50)]
    return pl.DataFrame(rows, schema=[*names, "upper"], orient="row")


def plan_of(models):
    names = ["trials", "criterion", "true_model", "recovered", "standard_error"]
    rows = [
        (n, criterion, model, 1 - 10 / n, 0.03)
        for n in (50, 100, 400)
        for criterion in CRITERIA
        for model in models
    ]
    return pl.DataFrame(rows, schema=names, orient="row")


def intervals_of(trials):
    names = ["trials", "learners", "criterion", "half_width"]
    rows = [(n, m, c, 1 / math.sqrt(m)) for n in trials for m in (10, 100) for c in CRITERIA]
    return pl.DataFrame(rows, schema=names, orient="row")


def groups_of(models, groups=("patient", "control")):
    rows = [(g, m, 0.2, 0.1, None if g == "control" else 0.4) for g in groups for m in models]
    schema = {"group": pl.String, "model": pl.String}
    schema |= dict.fromkeys(("share", "lower", "upper"), pl.Float64)
    return pl.DataFrame(rows, schema=schema, orient="row")


def path_of(models):
    rows = [
        (axis, value, criterion, model, 1 / len(models))
        for axis, value, criterion in (
            *(("kappa", k, "kappa") for k in (0.0, 1.0, 10.0)),
            *(("max_rate", b, c) for b in (0.5, 20.0) for c in CRITERIA),
            *(("prior", None, p) for p in ("evidence", "population")),
        )
        for model in models
    ]
    schema = {"axis": pl.String, "value": pl.Float64, "criterion": pl.String}
    schema |= {"model": pl.String, "share": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    marks = pl.DataFrame(
        {"criterion": ["aic", "bic"], "kappa": [1.0, 3.1], "lowest": [1.0, 2], "highest": [1.0, 4]}
    )
    return figures_path(frame, marks, models)


CHARTS = {
    "groups": ("Do the groups", lambda m: group_shares(groups_of(m), m)),
    "path": ("Does the leading model depend", path_of),
    "errors": ("Which c makes", error_curves),
    "split": ("Which split makes", lambda m: error_curves(m, (0.2, 0.5), "holdout")),
    "confusion": ("Which model", lambda m: figures_confusion(confusion_of(m), m)),
    "recovery": ("How well", lambda m: figures_recovery(recovery_of(m))),
    "boxes": ("How fast", lambda m: boxes(boxes_of(m))),
    "plan": ("How many trials", lambda m: plan(plan_of(m), 0.9, m)),
    "shares": (
        "How often",
        lambda m: shares(confusion_of(m).filter(true_model=m[0] if m else ""), m),
    ),
}


def words(svg):
    """The texts of an SVG, which must be whole, self-contained and free of ids."""
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    for node in root.iter():
        for name, value in node.attrib.items():
            # Several charts stand in one page, where ids would collide.
            assert not name.endswith("href"), node.attrib
            assert name != "id", node.attrib
            assert "url(" not in value, node.attrib
            assert "://" not in value, node.attrib
    return [t for node in root.iter("{http://www.w3.org/2000/svg}text") for t in node.itertext()]


@pytest.mark.parametrize("kind", CHARTS)
@pytest.mark.parametrize("models", [ODD, SIX[:1], MANY, LONG], ids=lambda m: f"{m[0][:9]}")
def test_every_chart_asks_its_question_and_names_every_model(kind, models):
    question, draw = CHARTS[kind]
    found = words(style.to_svg(draw(models)))
    assert found
    assert any(text.startswith(question) for text in found)
    for name in labels(models).values():
        assert any(name in text for text in found), name


@pytest.mark.parametrize("kind", CHARTS)
def test_every_chart_is_valid_and_the_same_again(kind):
    draw = CHARTS[kind][1]
    style.drawable(draw(SIX)).to_dict()  # against the schema of Vega-Lite
    assert style.to_svg(draw(SIX)) == style.to_svg(draw(SIX))


@pytest.mark.parametrize("kind", CHARTS)
def test_without_learners_a_chart_says_so(kind):
    question, draw = CHARTS[kind]
    found = words(style.to_svg(draw([])))
    assert any(text.startswith(question) for text in found)
    assert "no data" in found


EMPTY = {
    "criterion setting true_model error standard_error kappa mean_error": lambda frame: (
        figures_error_curves(frame, frame, MARKS, CHOSEN, "penalized", SIX)
    ),
    "true_model selected_model share": lambda frame: figures_confusion(frame, SIX),
    "true_model cell parameter split trials_fitted relative_error": figures_recovery,
    "model trials_fitted lower lower_quartile median upper_quartile upper": boxes,
    "trials criterion true_model recovered standard_error": lambda frame: plan(frame, None, SIX),
    "trials learners criterion half_width": share_intervals,
    "selected_model share": lambda frame: shares(frame, SIX),
    "axis value criterion model share": lambda frame: figures_path(frame, frame, SIX),
}


@pytest.mark.parametrize("columns", EMPTY)
def test_empty_columns_without_a_type(columns):
    frame = pl.DataFrame(schema=columns.split())
    assert "no data" in words(style.to_svg(EMPTY[columns](frame)))


@pytest.mark.parametrize(
    "settings", [(0.01,), (0.0,), (0.0, 0.01), tuple(i / 400 for i in range(200))]
)
@pytest.mark.parametrize("models", [SIX, MANY])
def test_any_number_of_settings_and_c_of_0(settings, models):
    found = words(style.to_svg(error_curves(models, settings, chosen={"smallest mean error": 0.0})))
    assert ("0" in found) == (settings[0] == 0)
    assert any("smallest mean error: 0" in text for text in found) == (settings[0] == 0)


def test_errors_mark_settings_and_prices():
    found = words(style.to_svg(error_curves(SIX)))
    assert "AIC: 0.026" in found
    assert "smallest largest error: 0.012" in found
    assert {"0.01", "0.39", "κ ="} <= set(found)
    found = words(style.to_svg(error_curves(SIX, (0.2, 0.5), "holdout")))
    assert not any("AIC" in text for text in found)


def test_a_path_marks_prices_bounds_and_priors():
    found = words(style.to_svg(path_of(SIX)))
    assert {"0.25", "7", "aic: 1", "bic: 3.1", "0.5", "20", "population", *CRITERIA} <= set(found)


def test_missing_numbers_are_gaps():
    errors = errors_of(SIX, (0.005, 0.012, 0.03))
    hole = pl.when(pl.col("setting") == 0.012).then(None)
    errors = errors.with_columns(
        hole.otherwise("error").alias("error"),
        pl.lit(None).alias("standard_error"),
        pl.lit(math.nan).alias("kappa"),
    )
    settings = settings_of(errors)
    chart = figures_error_curves(errors, settings, {"AIC": None}, {}, "penalized", SIX)
    svg = style.to_svg(chart)
    assert set(SIX) <= set(words(svg))
    whole = figures_error_curves(
        errors.drop_nulls("error"), settings, {"AIC": None}, {}, "penalized", SIX
    )
    assert svg != style.to_svg(whole)  # a line does not bridge what is missing
    confusion = confusion_of(SIX).with_columns(share=pl.lit(None))
    assert words(style.to_svg(figures_confusion(confusion, SIX))).count("–") == 36
    assert "no data" in words(style.to_svg(shares(confusion, SIX)))
    recovery = recovery_of(SIX).with_columns(lower_quartile=pl.lit(math.nan))
    words(style.to_svg(figures_recovery(recovery)))


def test_errors_with_signs_have_a_zero():
    frame = recovery_of(SIX).with_columns(pl.col("relative_error", "lower_quartile") - 0.3)
    assert {"0", "−0.1"} <= set(words(style.to_svg(figures_recovery(frame))))


def test_parameters_have_panels():
    frame = recovery_of(SIX[:1])
    two = pl.concat([frame, frame.with_columns(parameter=pl.lit("gamma"))])
    found = words(style.to_svg(figures_recovery(two)))
    assert {"OnePerItem · eta", "OnePerItem · gamma"} <= set(found)


@pytest.mark.parametrize("trials", [(100,), (100, 200, 400), tuple(range(10, 400, 10))])
def test_share_intervals(trials):
    found = words(style.to_svg(share_intervals(intervals_of(trials))))
    assert any(text.startswith("How wide") for text in found)
    assert set(CRITERIA) <= set(found)
    named = {text for text in found if text.endswith(" trials")}
    assert len(named) == len(trials) if len(trials) <= 3 else 10 < len(named) < 17


def test_share_intervals_without_data():
    assert "no data" in words(style.to_svg(share_intervals(intervals_of(()))))


def test_a_true_model_that_is_no_candidate():
    frame = pl.DataFrame({"true_model": ["Alcove"], "selected_model": ["ByShape"], "share": [1.0]})
    found = words(style.to_svg(figures_confusion(frame, SIX)))
    assert any("Alcove" in text for text in found)


def test_shares_are_written_beside_their_bars():
    frame = pl.DataFrame({"selected_model": SIX[:2], "share": [0.7, 0.3]})
    assert {"70%", "30%"} <= set(words(style.to_svg(shares(frame, SIX))))


def test_save_writes_both_files_whole(tmp_path):
    chart = figures_confusion(confusion_of(SIX), SIX)
    paths = style.save(chart, tmp_path / "new" / "fig.2a")
    assert [path.name for path in paths] == ["fig.2a.svg", "fig.2a.png"]
    assert paths[0].read_text(encoding="utf-8") == style.to_svg(chart)
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    assert sorted((tmp_path / "new").iterdir()) == sorted(paths)


@pytest.mark.parametrize("missing", charts.NEEDED)
def test_without_the_extra_a_sentence_says_what_helps(missing, monkeypatch, tmp_path):
    chart = figures_confusion(confusion_of(SIX), SIX)
    assert charts.available()
    monkeypatch.setitem(sys.modules, missing, None)
    assert not charts.available()
    with pytest.raises(HowlearnError, match=r"charts need: pip install 'howlearn\[report\]'"):
        style.save(chart, tmp_path / "figure")
    assert not [*tmp_path.iterdir()]


def test_colours_are_fixed_by_place_and_all_different():
    assert [*colours(MANY).values()][:FEW] == [*PALETTE]
    assert len(set(colours(MANY).values())) == 30
    assert colours(SIX)["ByShape"] == colours(SIX[:3])["ByShape"]


def test_labels_are_short_printable_and_distinct():
    written = [*labels([*ODD, *LONG]).values()]
    assert len(set(written)) == len(written)
    assert all(len(text) <= LONGEST + 4 and text.isprintable() for text in written)


def test_dodged_labels_lie_apart_and_inside():
    places = dodged([5, 5, 5, 90, 99, 100], 10, 0, 100)
    gaps = [b - a for a, b in pairwise(places)]
    assert min(gaps) >= 10 - 1e-9
    assert min(places) >= 0
    assert max(places) <= 100
    assert dodged([10, 50], 10, 0, 100) == [10, 50]
    assert dodged([], 10, 0, 100) == []


def test_flags_are_not_crossed_by_poles():
    assert flag_rows([0, 5, 50], [100, 20, 20]) == [1, 0, 0]
    assert flag_rows([0, 5, 10], [100, 100, 100]) == [2, 1, 0]


def test_ticks_are_few_and_inside():
    for low, high in ((1e-6, 1e6), (0.02, 0.05), (0.011, 0.0111)):
        ticks = log_ticks(Scale("log", low, high, 150))
        assert len(ticks) <= 5
        assert all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)
    assert data_ticks(Scale("linear", 0, 100, 100), [0, 1, 50, 100]) == [1, 50, 100]
    assert even_ticks(Scale("linear", -1, 1, 100)) == [-1, 0, 1]


@pytest.mark.parametrize("kind", ["linear", "log", "symlog"])
def test_scales_go_there_and_back(kind):
    scale = Scale(kind, 0.5, 30, 200, constant=0.1)
    for value in (0.5, 1.0, 7.0, 30.0):
        assert scale.value(scale.pixel(value)) == pytest.approx(value)
    assert scale.pixel(30) == pytest.approx(200)
