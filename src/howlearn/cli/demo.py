"""``howlearn demo``: the whole job on simulated learners."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from howlearn.cli.options import Fresh, OutFolder


def demo(
    out: OutFolder = Path("demo"),
    learners: Annotated[int, typer.Option(min=1, help="Simulated learners per model.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same learners.")] = 1,
    fresh: Fresh = False,
) -> None:
    """Simulate learners of known models, select as if they were not known, and compare."""
    from howlearn.cli.show import console, show_recovery
    from howlearn.core.study import joined
    from howlearn.models.task import Task
    from howlearn.report import style
    from howlearn.results.bids import write_study
    from howlearn.simulation.simulate import simulate

    task = Task.load("five-four")
    console.print(
        f"[bold]1.[/] Simulating {learners} learners for each of the {len(task.models)} models of "
        "five-four: 500 trials, learning rate 0.03"
    )
    study = joined(
        [
            (m.name, simulate(task, m, {"eta": 0.03}, learners, seed=seed + k))
            for k, m in enumerate(task.models)
        ],
        "true_model",
    )
    trials = out / "trials.csv"
    out.mkdir(parents=True, exist_ok=True)
    write_study(study, trials, fresh)
    words = ["select", str(trials), "--task", "five-four", "--keep", "true_model"]
    _run(2, [*words, "--out", str(out / "results")], ["--fresh"] if fresh else [])
    console.print("\n[bold]3.[/] Were the models found again?")
    show_recovery(out / "results" / "selection.csv")
    if not style.available():
        console.print(style.MISSING, markup=False)
        return
    _run(4, ["report", str(out / "results"), "-o", str(out / "report.html")], [])


def _run(step: int, words: list[str], quiet: list[str]) -> None:
    """Show a command as one would type it, and run it; ``quiet`` is not shown."""
    from rich.markup import escape

    from howlearn.cli.app import app
    from howlearn.cli.show import console

    command = escape(shlex.join(["howlearn", *words]))
    console.print(f"[bold]{step}.[/] {command}", highlight=False, soft_wrap=True)
    app([*words, *quiet], standalone_mode=False)
