"""Six models, one learner, seven truncations: ours against the procedure of the paper."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl

import howlearn as hl
from benchmarks import data, evolution
from benchmarks.report import Row, duration, note
from benchmarks.timing import least

SCRIPT = Path(__file__).parent / "r" / "authors.R"
BAR = 50_000
MANY = 100  # learners of a study in which one learner's share of the time is taken
QUICK = (20, 50)
WAYS = {
    "frame": ("R with DEoptim, a data frame indexed at every trial", BAR),
    "vectors": ("R with DEoptim, careful: plain vectors in the loop", 0),
}


def run(quick: bool) -> list[Row]:
    """Seconds of one learner, all truncations together."""
    truncations = QUICK if quick else data.TRUNCATIONS
    models = hl.Task.load("five-four").models
    study = data.learners("ByShapeExc", MANY)
    one = study.part(0, 1)
    many, alone = least(
        [partial(hl.fit, part, models, truncations, threads=1) for part in (study, one)], 20
    )
    share = many / MANY
    rows = [
        Row(f"ours, one thread, a learner's share of {MANY}", duration(share)),
        Row("ours, one thread, a call with one learner only", duration(alone)),
    ]
    start = perf_counter()
    theirs = evolution.fit_models(one[0], models, truncations)
    rows.append(_compared("the paper's procedure in NumPy", perf_counter() - start, share, alone))
    fits = hl.fit(one, models, truncations)
    ours = np.stack([fits.log_likelihood(size)[0] for size in truncations])
    note(
        f"authors: our log-likelihoods are higher by {np.mean(ours - theirs):.3f} nats on average, "
        f"at most {np.max(ours - theirs):.3f}, at least {np.min(ours - theirs):.1g}"
    )
    return rows + _in_r(one, models, truncations, share, alone, quick)


def _compared(what: str, seconds: float, share: float, alone: float, bar: int = 0) -> Row:
    ratio = f"{seconds / share:,.0f} × ({seconds / alone:,.0f} × alone)"
    if not bar:
        return Row(what, duration(seconds), "", ratio)
    return Row(what, duration(seconds), f"{bar:,} × faster", ratio, seconds >= bar * share)


def _in_r(
    one: hl.Study,
    models: tuple[hl.PartitionModel, ...],
    truncations: tuple[int, ...],
    share: float,
    alone: float,
    quick: bool,
) -> list[Row]:
    rscript = shutil.which("Rscript")
    if (
        rscript is None
        or subprocess.run(
            [rscript, "-e", "library(DEoptim)"], capture_output=True, check=False
        ).returncode
    ):
        note("authors: R with DEoptim is not installed (Debian: r-base-core r-cran-deoptim)")
        return []
    with tempfile.TemporaryDirectory() as folder:
        _write(one, models, Path(folder))
        command = [rscript, str(SCRIPT), *(f"{folder}/{name}.csv" for name in ("trials", "cells"))]
        rows = []
        for way, (what, bar) in WAYS.items():
            sizes = [str(size) for size in truncations]
            done = subprocess.run(
                [*command, way, *sizes], capture_output=True, text=True, check=True
            )
            times = dict(line.split() for line in done.stdout.splitlines())
            seconds = float(times["all"])
            note(f"authors: {what}: {float(times[sizes[-1]]):.3g} s at truncation {sizes[-1]}")
            rows.append(_compared(what, seconds, share, alone, 0 if quick else bar))
    return rows


def _write(one: hl.Study, models: tuple[hl.PartitionModel, ...], folder: Path) -> None:
    """What the R script reads: the trials, and which context is in which cell of which model."""
    trials = data.frame(one, "").select(
        context="item", action=pl.Series(one.action.astype(np.int64) + 1), reward="reward"
    )
    trials.write_csv(folder / "trials.csv")
    cells = [
        (model.name, k, int(context))
        for model in models
        for k, cell in enumerate(model.partition.cells)
        for context in cell
    ]
    schema = ["model", "cell", "context"]
    pl.DataFrame(cells, schema, orient="row").write_csv(folder / "cells.csv")
