"""What ``howlearn calibrate`` prints: the constants, their errors, and what to beware of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.markup import escape

from howlearn.analyses.error_rates import spans
from howlearn.cli.show import console, listing_of, save_charts

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from howlearn.analyses.calibrate import Calibration
    from howlearn.analyses.error_rates import Goal
    from howlearn.report.style import Chart

GOAL = {"maximum": "smallest largest error", "average": "smallest mean error"}


def summary(result: Calibration, out: Path, following: str) -> None:
    """Constants and errors as a table, then sentences, then where the files are."""
    console.print(_table(result))
    for sentence in sentences(result):
        console.print(sentence, soft_wrap=True)

    def charts() -> dict[str, Chart]:
        from howlearn.report.charts import of_calibration

        return of_calibration(result)

    save_charts(charts, out)
    console.print(escape(f"Tables: {out}/\nNext: {following}"), soft_wrap=True)


def _table(result: Calibration) -> Table:
    found = result.recommendation
    title = f"Errors for fresh learners, {found['learners_per_model']:,} per model"
    listing = listing_of(title, "criterion", "chosen for", "mean error", "largest error")
    for curve in result.tuned:
        for goal, title in GOAL.items():
            chosen = found[curve.name][goal]
            name = chosen["criterion"]
            if "kappa" in chosen:
                name += f"\n[dim]{chosen['kappa']:.3g} nats per parameter[/]"
            mark = " ←" if goal == result.goal else ""
            listing.add_row(name, title + mark, *_errors(chosen["fresh"]))
    for name, price in (("aic", "1 nat"), ("bic", "½ log(n) nats")):
        c = found[name]["c"]
        as_c = "" if c is None else f"c={c:.3g} at {found['median_trials']:g} trials"
        listing.add_row(f"{name}\n[dim]{price} per parameter[/]", as_c, *_errors(found[name]))
    return listing


def _errors(fresh: dict[str, float | str]) -> tuple[str, str]:
    return (
        f"{fresh['mean_error']:.1%} ± {fresh['mean_standard_error']:.1%}",
        f"{fresh['max_error']:.1%} ± {fresh['max_standard_error']:.1%}\n"
        f"[dim]{escape(str(fresh['worst_model']))}[/]",
    )


def sentences(result: Calibration) -> list[str]:
    """What the table does not say."""
    if len(result.contest.models) == 1:
        return ["There is one candidate only, so there is nothing to choose."]
    found = []
    goal: Goal = result.goal
    for curve in result.tuned:
        chosen = result.recommendation[curve.name][goal]
        as_good = chosen["not_distinguishable"]
        if np.ptp(curve.over_models(goal)) == 0 and len(curve.settings) > 1:
            found.append(f"Every setting of {curve.name} that was tried makes the same errors.")
        else:
            found.append(
                f"{chosen['criterion']} has the {GOAL[goal]}; settings that cannot be told from it "
                f"with so many learners: {spans(as_good, curve.settings.tolist())}."
            )
        if chosen["never_selected"]:
            found.append(
                f"[yellow]Beware:[/] under {chosen['criterion']} no learner at all is given "
                f"{escape(', '.join(chosen['never_selected']))}."
            )
    flagged = result.settings.drop_nulls("never_selected")
    for name, rows in _by_criterion(flagged):
        worst = escape(rows["never_selected"][0])
        found.append(
            f"Flagged in settings.csv: {len(rows)} of the settings of {name} never select some "
            f"candidate (at {rows['setting'][0]:g}: {worst})."
            if rows["setting"][0] is not None
            else f"Flagged in settings.csv: {name} never selects {worst}."
        )
    for row in result.pooled_slope.iter_rows(named=True):
        given = (
            f"κ = {row['kappa']:.3g} nats (c = {row['c']:.3g})" if row["applies"] else "no constant"
        )
        reason = row["reason"] if row["applies"] else f"{row['reason'].split('. ')[0].rstrip('.')}."
        found.append(f"{row['method'].capitalize()}: {given}. {reason}")
    return found


def _by_criterion(frame: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(str(key[0]), rows) for key, rows in frame.group_by("criterion", maintain_order=True)]
