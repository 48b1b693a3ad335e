"""The charts of a run, by the names of their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from howlearn.report.accuracy_charts import recovery
from howlearn.report.curve_charts import (
    average_weights,
    learners_weights,
)
from howlearn.report.matrix_charts import coclassification
from howlearn.report.matrix_charts import confusion as figures_confusion
from howlearn.report.path_charts import path
from howlearn.report.share_charts import (
    group_shares,
)
from howlearn.report.simulation_charts import bounds, error_curves, plan, share_intervals
from howlearn.report.style import CONFIG, Chart

if TYPE_CHECKING:
    from howlearn.analyses.calibrate import Calibration
    from howlearn.analyses.compare import Comparison
    from howlearn.analyses.discover_tables import Discovery
    from howlearn.analyses.path_result import Path as Along
    from howlearn.analyses.plan import Plan
    from howlearn.analyses.recover import Recovery
    from howlearn.paper.verify import Verification
    from howlearn.results.analysis import Analysis
    from howlearn.results.results import Results


# --------------------
# Every chart answers one question, which is its title: tidy frames in, altair charts out.


def beside(charts: Sequence[Chart], titles: Sequence[str]) -> Chart:
    """Charts side by side, each under a title in the place of its own."""
    retitled = [_retitled(chart, title) for chart, title in zip(charts, titles, strict=True)]
    row = alt.hconcat(*retitled, spacing=30)
    # One legend serves all charts only where it says the same in all of them.
    legends = {str(found) for chart in charts for found in _domains(chart.to_dict(validate=False))}
    row = row.resolve_scale(color="shared" if len(legends) <= 1 else "independent")
    return row.properties(config=CONFIG, description="; ".join(titles))


def _retitled(chart: Chart, title: str) -> Any:
    copy = chart.copy(deep=["title"])
    offset = getattr(chart.title, "offset", alt.Undefined)
    copy.title = alt.TitleParams(title, offset=offset)
    copy.config = alt.Undefined
    return copy


def _domains(spec: Any) -> list[Any]:
    """The domains of all colour legends in a chart."""
    if isinstance(spec, list):
        return [found for part in spec for found in _domains(part)]
    if not isinstance(spec, dict):
        return []
    scale = (spec.get("color") or {}).get("scale") if isinstance(spec.get("color"), dict) else None
    own = [scale["domain"]] if isinstance(scale, dict) and "domain" in scale else []
    return own + [found for part in spec.values() for found in _domains(part)]


def of_calibration(result: Calibration) -> dict[str, Chart]:
    """Errors by constant and by split, the confusion matrix, parameter recovery."""
    models = result.contest.models
    charts: dict[str, Chart] = {}
    for curve in result.tuned:
        chosen = {
            "smallest largest error": float(curve.settings[curve.best("maximum")]),
            "smallest mean error": float(curve.settings[curve.best("average")]),
        }
        charts[f"errors-{curve.name}"] = error_curves(
            curve.frame(),
            curve.settings_frame(),
            result.marks if curve.name == "penalized" else {},
            chosen,
            curve.name,
            models,
        )
    for criterion in result.criteria:
        frame = result.charts[f"confusion-{criterion.name}"]
        charts[f"confusion-{criterion.name}"] = figures_confusion(
            frame.select("true_model", "selected_model", "share"), models, repr(criterion)
        )
    charts["recovery"] = recovery(result.recovery)
    return charts


def of_recovery(result: Recovery) -> dict[str, Chart]:
    """The confusion matrix by the first criterion, and the errors of the estimates."""
    criterion = repr(result.criteria[0])
    columns = result.charts["confusion"].select("true_model", "selected_model", "share")
    return {
        "confusion": figures_confusion(columns, result.models, criterion),
        "recovery": recovery(result.recovery),
    }


def of_weights(results: Results) -> dict[str, Chart]:
    """The weights of the mixtures' strategies, over all learners and by learner."""
    mixtures = [m for m in results.models if len(m.strategies) > 1]
    names = [m.name for m in mixtures]
    strategies = [*dict.fromkeys(name for m in mixtures for name in m.strategies)]
    mean, changes = results.tables["weights-mean"], results.tables["leaders"]
    first = results.tables["weights"].filter(pl.col("model") == names[0])
    own = changes.filter(pl.col("model") == names[0])
    abrupt = [m.name for m in mixtures if m.abrupt]
    return {
        "weights": average_weights(mean, changes, names, strategies, abrupt),
        "weights-learners": learners_weights(first, own, names[0], mixtures[0].strategies),
    }


def of_discovery(result: Discovery) -> dict[str, Chart]:
    """The mean co-classification by the first criterion, with the marked partitions."""
    return {
        "coclassification": coclassification(
            result.population,
            result.consensus,
            result.marks,
            result.criteria[0],
            result.by,
            result.exact,
        )
    }


def of_path(result: Along) -> dict[str, Chart]:
    """Shares along the price of a parameter, the largest rate and the prior, in one chart."""
    return {"path": path(result.shares, result.marks, result.models)}


def of_verification(result: Verification) -> dict[str, Chart]:
    """Risks and bounds against the number of trials."""
    return {"risks": bounds(result.charts["risks"])}


def of_comparison(result: Comparison) -> dict[str, Chart]:
    """Shares by group."""
    chart = group_shares(result.shares, result.models, result.groups.column)
    return {"comparison": chart}


def of_plan(result: Plan) -> dict[str, Chart]:
    """Recovery by number of trials, and the intervals of the shares by number of learners."""
    return {
        "plan": plan(result.recovered, result.target, result.models),
        "shares": share_intervals(
            result.charts["shares"],
            "Models are confused with each other; once that is removed from the shares their "
            "intervals are wider, and not shown where wider than ±100%.",
        ),
    }


DRAWERS: dict[str, Callable[[Any], dict[str, Chart]]] = {
    "select": of_weights,
    "discover": of_discovery,
    "path": of_path,
    "compare": of_comparison,
    "calibrate": of_calibration,
    "recover": of_recovery,
    "plan": of_plan,
    "verify": of_verification,
}


def drawn(analysis: Analysis) -> dict[str, Chart]:
    """The charts of an analysis, by the names of their files."""
    return DRAWERS[analysis.command](analysis)
