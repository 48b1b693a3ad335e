"""What a person at a desk waits for: commands on small studies, beside the bare imports.

Processor time (user and system) of whole processes, each the median of several; the unit I is what
importing the libraries that every command could need takes in the same run. ``python -m
benchmarks.desk --times 1`` is a quick look at all of them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import polars as pl

import howlearn as hl
from benchmarks import data
from benchmarks.report import Row, duration, note, show
from howlearn.engine.compile import INSTALLED

IMPORTS = ["-c", "import numba, polars, scipy, rich, typer, pydantic"]
NAMES = ["-c", "import howlearn as hl; hl.read, hl.select, hl.Task"]
SELECT = ["select", "60x500.csv", "--task", "five-four", "--out", "results"]
FIELD = ["select", "20x200.csv", "--task", "five-four", "--add-model", "field", "--out", "field"]
AIC = ["--criterion", "aic"]


@dataclass(frozen=True)
class Timed:
    """One command, the most that it may take, and the folders that it writes."""

    what: str
    words: list[str]
    bar: float | None  # in I
    clears: tuple[str, ...] = ()
    empty: bool = False  # the folder of compiled code, as on the first day after installation
    bare: bool = False  # and nothing of what was compiled at installation is used

    @property
    def command(self) -> list[str]:
        given = self.words if self.words[0] == "-c" else ["-m", "howlearn", *self.words]
        return [sys.executable, *given]


TIMED = (
    Timed("howlearn --help", ["--help"], 0.25),
    Timed("import howlearn; read, select, Task", NAMES, 1.0),
    Timed("inspect, 10,000 rows of CSV", ["inspect", "10000.csv", "--out", "found.toml"], 2.0,
          ("found.toml",)),
    Timed("select, 60 × 500, defaults, warm", SELECT, 2.5, ("results",)),
    Timed("report on it", ["report", "results", "-o", "report.html"], 3.0,
          ("report.html", "report-tables.docx", "report-tables.tex", "results/completeness")),
    Timed("select, 60 × 500, aic only, warm", [*SELECT[:-1], "aic", *AIC], None, ("aic",)),
    Timed("select --add-model field, 20 × 200, warm", FIELD, 5.0, ("field",)),
    Timed("select, 60 × 500, defaults, empty cache", SELECT, 8.0, ("results",), True),
    Timed("select --add-model field, 20 × 200, empty cache", FIELD, 18.0, ("field",), True),
    Timed("select, 60 × 500, nothing compiled at all", SELECT, None, ("results",), True, True),
    Timed("select --add-model field, nothing compiled at all", FIELD, None, ("field",), True, True),
)  # fmt: skip


def run(quick: bool, times: int = 5) -> list[Row]:
    """Every command in its own processes; the imports before, between and after them."""
    unit = 3 if quick else 2
    if not INSTALLED.exists():
        note("desk: nothing was compiled at installation: an empty cache is nothing at all")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _studies(folder)
        imports: list[float] = [_seconds(_imports(), folder) for _ in range(1 + unit)][1:]
        found = []
        for timed in (each for each in TIMED if not (quick and each.empty)):
            if not timed.empty:
                _seconds(timed, folder)  # compiles, and brings files into memory
            found.append(median(_seconds(timed, folder) for _ in range(1 if quick else times)))
            imports += [_seconds(_imports(), folder) for _ in range(unit)]
            note(f"desk: {timed.what}: {duration(found[-1])}")
    bare = median(imports)
    rows = [Row("I: import numba, polars, scipy, rich, typer, pydantic", duration(bare))]
    for timed, seconds in zip(TIMED, found, strict=False):
        ratio = seconds / bare
        rows.append(
            Row(timed.what, duration(seconds), f"≤ {timed.bar:g} I" if timed.bar else "",
                f"{ratio:.2f} I", None if timed.bar is None else ratio <= timed.bar)
        )  # fmt: skip
    return rows


def _imports() -> Timed:
    return Timed("the imports", IMPORTS, None)


def _studies(folder: Path) -> None:
    """60 learners of 500 trials, 20 of 200 and of 500, of all six models of the task."""
    data.paper_csv(folder / "60x500.csv", 10)
    models = hl.Task.load("five-four").models
    for name, trials in (("20x200.csv", 200), ("10000.csv", 500)):
        frames = [
            data.frame(data.learners(model.name, 4 if k < 2 else 3, trials, k), f"{model.name}-")
            for k, model in enumerate(models)
        ]
        pl.concat(frames).write_csv(folder / name)


def _seconds(timed: Timed, folder: Path) -> float:
    """Processor time of one process and its children."""
    cache = folder / ("empty-cache" if timed.empty else "cache")
    for written in [*timed.clears, *([cache.name] if timed.empty else [])]:
        path = folder / written
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    cache.mkdir(mode=0o700, exist_ok=True)
    output = folder / "output.txt"
    with output.open("wb") as stream:
        child = subprocess.Popen(
            timed.command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=_environment(folder, cache) | ({"HOWLEARN_COMPILED": "0"} if timed.bare else {}),
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(timed.command)} failed:\n{output.read_text()[-2000:]}")
    return used.ru_utime + used.ru_stime


def _environment(folder: Path, cache: Path) -> dict[str, str]:
    """As installed programs have it: their modules are compiled to bytecode once."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "HOWLEARN_CACHE": str(cache)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.desk", description=__doc__)
    parser.add_argument("--times", type=int, default=5, help="how often each command is run")
    show([("desk", run(False, parser.parse_args().times))])
