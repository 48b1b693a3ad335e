"""The charts of one learner, from its details; as specs they take their data by name.

A page stores ``specs(common)`` once. For a learner its script makes the rows as ``rows(detail,
common)`` does and puts them into ``spec.datasets[name]``: curve ← {x, y}; trajectory ← {cell,
place, x, p, y}; scores ← {criterion, model, behind, text, selected}; estimates ← {owner, parameter,
estimate, lower, upper, status}. Shares are from 0 to 1 there; in the compact form they are
thousandths.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from howlearn.report import vega_lite as vl
from howlearn.report.learner_details import RIGHT
from howlearn.report.partition_drawing import QUESTION as PARTITION
from howlearn.report.partition_drawing import cells_of, partition
from howlearn.report.style import BLUE, Chart, data, finished, labels
from howlearn.results.results import Results

CHARTS = ("curve", "trajectory", "scores", "estimates")
QUESTIONS = {
    "curve": "How does this learner improve?",
    "trajectory": "What does the model expect, and what is chosen?",
    "scores": "How far is each model behind the best?",
    "estimates": "How fast does this learner learn?",
}
NOTES = {
    "curve": "Mean over the trials of each bin.",
    "trajectory": "Line: the probability that the selected model gives the right answer, or the "
    "action that is named; points: what was chosen, a mean where there are many trials.",
    "scores": "In nats, by each criterion; the selected model has a dark point.",
    "estimates": "Of the selected model, with intervals if they were computed.",
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "curve": {"x": pl.Float64, "y": pl.Float64},
    "trajectory": {
        "cell": pl.String,
        "place": pl.Int64,
        "x": pl.Float64,
        "p": pl.Float64,
        "y": pl.Float64,
    },
    "scores": {
        "criterion": pl.String,
        "model": pl.String,
        "behind": pl.Float64,
        "text": pl.String,
        "selected": pl.Boolean,
    },
    "estimates": {
        "owner": pl.String,
        "parameter": pl.String,
        "estimate": pl.Float64,
        "lower": pl.Float64,
        "upper": pl.Float64,
        "status": pl.String,
    },
}


def specs(common: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Vega-Lite specs by name of chart; each has one data set, of the same name, left empty."""
    return {
        name: finished(
            _drawn(name, vl.said(name=name), common), QUESTIONS[name], NOTES[name], 480
        ).to_dict(validate=False)
        for name in CHARTS
    }


def rows(detail: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each data set, as a page's script makes them from the compact form."""
    share = 1000 if common["percent"] else 1
    curve = detail["curve"]
    models, owners = labels(common["models"]), common["owners"][detail["model"]]
    trajectory = [
        {"cell": _called(cell), "place": k, "x": x, "p": p / 1000, "y": y / 1000}
        for k, cell in enumerate(detail["cells"])
        for x, p, y in zip(cell["x"], cell["p"], cell["y"], strict=True)
    ]
    scores = []
    by = zip(common["criteria"], detail["scores"], detail["selected"], strict=True)
    for criterion, mine, (chosen, *_) in by:
        best = max((score for score in mine if score is not None), default=0.0)
        for k, (model, score) in enumerate(zip(models.values(), mine, strict=True)):
            if score is not None:
                behind = round(best - score, 2)
                scores.append(
                    {"criterion": criterion, "model": model, "behind": behind,
                     "text": f"{behind:.1f}", "selected": k == chosen}
                )  # fmt: skip
    estimates = [
        {"owner": owner, "parameter": parameter, "estimate": estimate, "lower": low, "upper": high,
         "status": status}
        for (owner, parameter, _, _), (estimate, low, high, status) in zip(
            owners, detail["estimates"], strict=True
        )
    ]  # fmt: skip
    return {
        "curve": [{"x": x, "y": y / share} for x, y in zip(curve["x"], curve["y"], strict=True)],
        "trajectory": trajectory,
        "scores": scores,
        "estimates": estimates,
    }


def _called(cell: Mapping[str, Any]) -> str:
    """The name of a cell, with the action whose probability is drawn."""
    return cell["name"] if cell["of"] == RIGHT else f"{cell['name']} → {cell['of']}"


def trajectories(detail: Mapping[str, Any], common: Mapping[str, Any]) -> Chart:
    """Choices in each cell, and the model's probabilities."""
    name = "trajectory"
    chart = _drawn(name, _data(name, detail, common), common)
    finding = _about(detail, common)
    return finished(chart, QUESTIONS[name], NOTES[name], 480, finding)


def learner(detail: Mapping[str, Any], common: Mapping[str, Any], found: Results) -> Chart:
    """All charts of one learner in one."""
    parts = []
    for name in CHARTS:
        chart = _drawn(name, _data(name, detail, common), common)
        parts.append(chart.properties(title=vl.TitleParams(QUESTIONS[name], fontSize=12)))
    model = found.models[detail["model"]]
    if cells_of(model) is not None:
        drawing = partition(model, found.study.contexts, found.study.features)
        title = vl.TitleParams(PARTITION.format(model.name), fontSize=12)
        parts.append(drawing.properties(title=title, config=vl.Undefined))
    chart = vl.vconcat(*parts, spacing=28)
    chart = chart.resolve_scale(fill="independent", shape="independent", size="independent")
    about = "".join(f", {k} {v}" for k, v in detail["about"].items())
    question = f"What does learner {detail['learner']}{about} do?"
    return finished(chart, question, _about(detail, common), 480, _about(detail, common))


def _about(detail: Mapping[str, Any], common: Mapping[str, Any]) -> str:
    parts = []
    for criterion, (model, _, _, verdict) in zip(
        common["criteria"], detail["selected"], strict=True
    ):
        name = common["models"][model] if isinstance(model, int) else model
        parts.append(f"{name} by {criterion} ({verdict})")
    return f"{detail['trials']:,} choices; selected: {'; '.join(parts)}."


def _data(name: str, detail: Mapping[str, Any], common: Mapping[str, Any]) -> vl.Given:
    return data(pl.DataFrame(rows(detail, common)[name], schema=SCHEMAS[name], orient="row"))


def _drawn(name: str, source: Any, common: Mapping[str, Any]) -> Any:
    draw = {"curve": _curve, "trajectory": _trajectory, "scores": _scores, "estimates": _estimates}
    return draw[name](source, common)


def _curve(source: Any, common: Mapping[str, Any]) -> Any:
    form = ".0%" if common["percent"] else vl.Undefined
    scale = vl.Scale(domain=[0, 1]) if common["percent"] else vl.Scale(zero=False)
    up = vl.Axis(format=form, domain=False, ticks=False, tickCount=4)
    flat = vl.Axis(grid=False, tickCount=6)
    base = vl.Chart(source).encode(
        vl.X("x:Q", title=common["along"], axis=flat),
        vl.Y("y:Q", title=common["measure"], axis=up, scale=scale),
    )
    line = base.mark_line(style="ink", strokeWidth=1.5)
    points = base.mark_point(style="ink", filled=True, size=26, opacity=1)
    return vl.layer(line, points).properties(width=420, height=130)


def _trajectory(source: Any, common: Mapping[str, Any]) -> Any:
    up = vl.Axis(format=".0%", domain=False, ticks=False, values=[0, 0.5, 1])
    scale = vl.Scale(domain=[0, 1])
    x = vl.X("x:Q", title=common["along"], axis=vl.Axis(grid=False, tickCount=4))
    base = vl.Chart().encode(x)
    model = base.mark_line(stroke=BLUE, strokeWidth=2)
    people = base.mark_point(style="ink", filled=True, size=14, opacity=0.55)
    y = {field: vl.Y(f"{field}:Q", title=None, axis=up, scale=scale) for field in ("p", "y")}
    chart = vl.layer(people.encode(y["y"]), model.encode(y["p"]), data=source)
    header = vl.Header(labelAnchor="start", labelPadding=4, labelFontSize=11)
    order = vl.said(field="place", op="min")
    facet = vl.Facet("cell:N", title=None, header=header, sort=order)
    chart = chart.properties(width=190, height=62)
    return chart.facet(facet=facet, columns=2, spacing={"row": 14, "column": 30})


def _scores(source: Any, common: Mapping[str, Any]) -> Any:
    names = [*labels(common["models"]).values()]
    y = vl.Y("model:N", sort=names, title=None, axis=vl.Axis(ticks=False, domain=False))
    axis = vl.Axis(domain=False, ticks=False, labels=False, grid=False)  # numbers are written
    scale = vl.Scale(type="symlog", constant=2)
    x = vl.X("behind:Q", title="nats behind", axis=axis, scale=scale)
    base = vl.Chart().encode(y=y)
    point = base.mark_point(filled=True, size=50, opacity=1)
    shade = {"condition": {"test": "datum.selected", "value": BLUE}, "value": "#9CC9E3"}
    rule = base.mark_rule(color="#9CC9E3", strokeWidth=2)
    text = base.mark_text(align="left", dx=7, fontSize=10)
    chart = vl.layer(
        rule.encode(x, x2=vl.said(datum=0)),
        point.encode(x, color=shade),
        text.encode(x, text=vl.Text("text:N")),
        data=source,
    )
    chart = chart.properties(width=130, height=18 * len(names))
    header = vl.Header(labelAnchor="start", labelPadding=4, labelFontSize=11)
    facet = vl.Facet("criterion:N", sort=[*common["criteria"]], title=None, header=header)
    return chart.facet(facet=facet, columns=3, spacing={"row": 16, "column": 30})


def _estimates(source: Any, common: Mapping[str, Any]) -> Any:
    y = vl.Y("owner:N", sort=None, title=None, axis=vl.Axis(ticks=False, domain=False))
    scale = vl.Scale(type="symlog", constant=0.01)
    axis = vl.Axis(values=[0, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100], format="~g")
    base = vl.Chart().encode(y=y)
    x = {
        field: vl.X(f"{field}:Q", title=None, axis=axis, scale=scale)
        for field in ("estimate", "lower")
    }
    tips = [vl.Tooltip("estimate:Q", format=".4g"), vl.Tooltip("status:N")]
    point = base.mark_point(filled=True, size=50, opacity=1, color=BLUE)
    word = base.transform_filter("datum.status != 'ok'").mark_text(
        align="left", dx=8, dy=-8, fontSize=10
    )
    chart = vl.layer(
        base.mark_rule(color=BLUE).encode(x["lower"], x2=vl.X2("upper:Q")),
        point.encode(x["estimate"], tooltip=tips),
        word.encode(x["estimate"], text=vl.Text("status:N")),
        data=source,
    ).properties(width=300, height=vl.said(step=22))
    header = vl.Header(labelAnchor="start", labelPadding=4, labelFontSize=11)
    facet = vl.Facet("parameter:N", sort=None, title=None, header=header)
    chart = chart.facet(facet=facet, columns=1, spacing=16)
    return chart.resolve_scale(x="independent", y="independent")
