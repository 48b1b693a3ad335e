"""``select --frozen``: follow a plan, and list whatever is done otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howlearn.cli.options import MODELS
from howlearn.cli.study import Typed, merge

if TYPE_CHECKING:
    from howlearn.analyses.calibrate import Advice
    from howlearn.analyses.deviations import Deviation
    from howlearn.reading.project_file import StudyFile
    from howlearn.results.inputs import Inputs
    from howlearn.runs.folder import Format
    from howlearn.selection.criterion import Criterion

NONE = "none"
FrozenOption = Annotated[
    Path | None,
    typer.Option(
        "--frozen",
        metavar="FILE|none",
        help="Follow a plan that howlearn freeze wrote, and list whatever is done otherwise. "
        "frozen.toml in this folder is followed unless this is 'none'.",
        rich_help_panel=MODELS,
    ),
]


def follow(
    given: dict[str, Any], data: dict[str, Any], study: StudyFile | None, typed: Typed
) -> Path | None:
    """Put the plan's values where nothing was typed; the plan's file, if there is one.

    What howlearn.toml says otherwise than the plan is not done, and told.
    """
    path = _found(given["frozen"])
    if path is None:
        return None
    from howlearn.analyses.frozen_file import options_of, read_plan
    from howlearn.cli import show

    plan = read_plan(path)
    planned = options_of(path, plan)
    if study is not None:
        for name, value in {**study.data, **study.models}.items():
            mine = {**planned.data, **planned.models}.get(name, value)
            if name not in typed and mine != value:
                show.note(
                    f"{study.path} has another {name} than the plan {path}, which is followed; "
                    "type the option to do otherwise"
                )
    merge("select", planned, typed, given)
    data.update((n, v) for n, v in planned.data.items() if n not in typed)
    return path


def _found(named: Path | None) -> Path | None:
    """The plan that was named, or the one of this folder."""
    from howlearn.analyses.freeze import NAME
    from howlearn.cli import show

    if named is not None:
        return None if str(named) == NONE else named
    here = Path(NAME)
    if not here.is_file():
        return None
    show.note(f"the plan {NAME} of this folder is followed; --frozen none does without")
    return here


def compared(
    path: Path | None,
    options: Mapping[str, Any],
    criteria: Sequence[Criterion],
    inputs: Inputs,
    advice: Advice | None,
) -> list[Deviation] | None:
    """What is done otherwise than planned; None without a plan."""
    if path is None:
        return None
    from howlearn.analyses.deviations import deviations
    from howlearn.analyses.frozen_file import read_plan

    n_learners = len(set(inputs.study.without_excluded().learners))
    plan = read_plan(path)
    return deviations(plan, options, criteria, inputs.candidates, n_learners, advice)


def recorded(path: Path, found: Sequence[Deviation]) -> dict[str, Any]:
    """The plan and the deviations as the manifest has them."""
    from dataclasses import asdict

    from howlearn.analyses.frozen_file import read_plan

    plan = read_plan(path)
    known = {"file": str(path), "sha256": plan.sha256, "howlearn": plan.howlearn}
    return {"frozen": known, "deviations": [asdict(each) for each in found]}


def tell(path: Path, found: Sequence[Deviation], out: Path, format: Format) -> None:
    """Write the table of deviations, and print it."""
    from functools import partial

    from rich.markup import escape

    from howlearn.analyses.deviations import table
    from howlearn.cli.show import console, listing_of
    from howlearn.core.safe_files import write_csv
    from howlearn.runs.files import write_whole

    frame = table(found)
    write = partial(write_csv, frame) if format == "csv" else frame.write_parquet
    write_whole(out / f"deviations.{format}", write)
    if not found:
        console.print(escape(f"Plan {path}: as planned."), soft_wrap=True)
        return
    listing = listing_of(f"Deviations from the plan {path}", "what", "planned", "done")
    for each in found:
        listing.add_row(*map(escape, (each.what, each.planned, each.done)))
    console.print(listing)
