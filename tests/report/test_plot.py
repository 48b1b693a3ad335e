"""``howlearn.plot``: every chart from a selection or a folder, whatever the names."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from itertools import product
from xml.etree import ElementTree

import polars as pl
import pytest

import howlearn as hl
from howlearn.reading.options import ReadOptions
from howlearn.report import behaviour, plot, share_charts, style
from howlearn.report.charts import CHARTS, NEEDED
from howlearn.report.partition_drawing import SHAPES, glyphs, partition
from howlearn.results.chunk import Wanted
from howlearn.results.manifest import manifest_of
from howlearn.results.select_into import write_selection
from studies import model_of, random_trials, study_of

HOSTILE = "<script>alert('x')</script> \"q\" \\d 模型"
LATER = (
    "confusion",
    "completeness",
    "checks",
    "mechanisms",
)  # of what a selection alone does not know
OF_ALL = [each.name for each in CHARTS.values() if each.section and each.name not in LATER]


def drawn(chart) -> str:
    """The SVG, which must be whole."""
    svg = style.to_svg(chart)
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    return svg


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("name", OF_ALL)
def test_every_chart_asks_a_question_and_says_what_it_shows(name, found) -> None:
    chart = getattr(plot, name)(found)
    spec = chart.to_dict()  # checked against the schema of Vega-Lite
    title = spec["title"]["text"]
    assert title.endswith("?")
    assert chart.description.endswith(".")
    assert chart.description != title


def test_models_that_do_not_behave_like_the_people_are_told_with_the_answer(
    found, monkeypatch
) -> None:
    made = behaviour.behaviour(found, 5)
    monkeypatch.setattr(behaviour, "behaviour", lambda *_, **__: replace(made, inside=0.3))
    assert "in 30% of the bins only" in CHARTS["learning_curves"].make(found).caution
    monkeypatch.setattr(behaviour, "behaviour", lambda *_, **__: replace(made, inside=None))
    assert not CHARTS["learning_curves"].make(found).caution


def test_the_bars_of_shares_have_whole_names() -> None:
    names = ["ByShape", "exp4(ByPattern, ByPatternExc[eta=0.03], source=joint)"]
    columns = {"criterion": ["aic"] * 2, "model": names, "learners": [1, 3], "share": [0.25, 0.75]}
    svg = drawn(share_charts.shares_by_criterion(pl.DataFrame(columns), names))
    for line in ("ByShape", "exp4(ByPattern, ByPatternExc[eta=0.03],", "source=joint)"):
        assert f">{line}<" in svg


def test_charts_of_one_learner(found) -> None:
    svg = drawn(plot.learner(found, "5"))
    shown = texts(svg)
    assert "What does learner 5 do?" in shown
    assert "cell 1" in shown
    assert "ByShapeExc" in shown
    assert plot.trajectories(found, "5").to_dict()["title"]["text"].endswith("?")
    with pytest.raises(hl.HowlearnError, match="there is no learner '99'"):
        plot.learner(found, "99")


def hostile_study():
    """One learner, three actions, new starts, forced choices; odd names throughout."""
    trials = random_trials(3, 40, n_actions=3, better=0.8, flags=True)
    study = study_of(trials, n_actions=3, names=[HOSTILE])
    return replace(
        study,
        contexts=(HOSTILE, "all"),
        actions=("right", HOSTILE, "a.b[0]"),
        features={HOSTILE: {"shape": HOSTILE}, "all": {"shape": "it's"}},
    )


def test_charts_of_one_learner_with_hostile_names() -> None:
    study = hostile_study()
    models = [
        model_of([[HOSTILE], ["all"]], hl.GradientBandit(), name=HOSTILE),
        model_of([[HOSTILE, "all"]], hl.GradientBandit(), name="a.b[0]"),
        hl.models.Coin(),
    ]
    found = hl.select(study, models, ["bic", "aic"])
    for name in OF_ALL:
        chart = getattr(plot, name)(found)
        svg = drawn(chart)
        assert "<script" not in svg
        assert chart.to_dict(validate=False)["title"]["text"] in texts(svg)
    drawn(plot.learner(found, HOSTILE))
    drawn(plot.partition(found, HOSTILE))
    with pytest.raises(hl.HowlearnError, match="Coin has no partition"):
        plot.partition(found, "Coin")
    with pytest.raises(hl.HowlearnError, match="there is no model 'x'"):
        plot.partition(found, "x")


def test_a_folder_gives_the_same_charts(selection, task, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    selection.fits.study.frame().write_csv("trials.csv")
    study = hl.read("trials.csv", task=task)
    options = {"task": "five-four", "rule": "gradient", "form": "gain", "max_rate": 1.0}
    options |= {"model": [], "add_model": [], "one_rate": False, "within": 2.0}
    options |= {field.name: getattr(ReadOptions(), field.name) for field in fields(ReadOptions)}
    manifest = manifest_of(["trials.csv"], study, task.models, options)
    criteria = [choice.criterion for choice in selection.choices]
    write_selection(tmp_path / "results", study, Wanted(task.models, criteria), manifest)
    for draw, *more in ((plot.learning_curves, task), (plot.margins,), (plot.path,)):
        assert draw("results").description == draw(selection, *more).description
    with pytest.raises(hl.HowlearnError, match="is not a results folder"):
        plot.shares("nowhere")
    (tmp_path / "results" / "selection.csv").unlink()
    with pytest.raises(hl.HowlearnError, match=r"has no table selection\.csv"):
        plot.margins("results")
    with pytest.raises(hl.HowlearnError, match="a results folder, not of 3"):
        plot.shares(3)


def test_confusion_of_a_recovery_and_of_its_folder(tmp_path) -> None:
    frame = pl.DataFrame(
        {
            "criterion": ["aic"] * 4,
            "true_model": ["a", "a", "b", "b"],
            "selected_model": ["a", "b", "a", "b"],
            "share": [0.9, 0.1, 0.4, 0.6],
        }
    )
    frame.write_csv(tmp_path / "confusion.csv")
    chart = plot.confusion(tmp_path)
    assert "for 75% of simulated learners; least often where it is b (60%)" in chart.description
    with pytest.raises(hl.HowlearnError, match="there is no criterion 'bic'; there are aic"):
        plot.confusion(tmp_path, "bic")
    with pytest.raises(hl.HowlearnError, match=r"comes from howlearn\.calibrate"):
        plot.confusion(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", NEEDED)
def test_without_the_extra_a_sentence_says_what_helps(missing, monkeypatch, found) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    for name in OF_ALL:
        with pytest.raises(hl.HowlearnError, match=r"pip install 'howlearn\[report\]'"):
            getattr(plot, name)(found)


def test_charts_save_themselves(found, tmp_path) -> None:
    for ending in ("svg", "json"):
        plot.shares(found).save(str(tmp_path / f"shares.{ending}"))
        assert (tmp_path / f"shares.{ending}").stat().st_size > 1_000


def test_the_nine_objects_look_as_they_are(task) -> None:
    found, key = glyphs(task.contexts, task.features)
    assert key == []  # all words are known, so that nothing has to be explained
    for context, features in task.features.items():
        glyph = found[context]
        assert glyph.outline == SHAPES[features["shape"]]
        red, blue = int(glyph.fill[1:3], 16), int(glyph.fill[5:7], 16)
        assert (red > blue) == (features["colour"] == "red")
        assert (glyph.lines != "") == (features["pattern"] == "striped")
        assert (glyph.size == 1) == (features["size"] == "big")
    looks = {(g.outline, g.fill, g.lines, g.size) for g in found.values()}
    assert len(looks) == 9


def test_other_features_take_what_is_left_and_are_explained() -> None:
    features = {
        f"{a}{b}": {"feature1": a, "feature2": b, "mood": mood, "size": "3", "k": mood, "m": mood}
        for a in "01"
        for b in "01"
        for mood in ["happy" if a == b else "sad"]
    }
    found, key = glyphs([*features], features)
    assert len({(g.outline, g.fill) for g in found.values()}) == 4
    assert key[:2] == ["feature1: square 0, circle 1", "feature2: blue 0, orange 1"]
    assert found["00"].rest == ("m happy",)  # four ways of drawing, and one feature is constant


def test_names_tell_where_features_do_not() -> None:
    words = (("Big", "Small"), ("Black", "White"), ("Square", "Triangle"))
    names = [" ".join(each) for each in product(*words)]
    features = {name: {"feature1": str(k // 4)} for k, name in enumerate(names)}
    found, _ = glyphs(names, features)
    assert found["Big White Triangle"].outline == SHAPES["triangle"]
    assert found["Small Black Square"].size < found["Big Black Square"].size
    assert glyphs(["x", "y"], {}) == ({}, [])


def test_partitions_are_drawn_with_all_contexts(task) -> None:
    for model in (task.models[3], task.models[-1]):
        shown = texts(drawn(partition(model, task.contexts, task.features)))
        n = len(model.partition.cells)
        assert {f"cell {k + 1}" for k in range(n)} <= {*shown}
        assert {*task.contexts} <= {*shown}
    many = [f"c{k}" for k in range(200)]
    chart = partition(model_of([many], hl.GradientBandit()), many, {})
    assert "The first 80 of 200 contexts." in " ".join(chart.to_dict()["title"]["subtitle"])
    names = [text for text in texts(drawn(chart)) if text in many]
    assert names == many[:80]
