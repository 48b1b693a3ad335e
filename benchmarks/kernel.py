"""The two-action Gradient Bandit on the grid, against the same pass in C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import howlearn as hl
from benchmarks import data
from benchmarks.report import Row, note
from benchmarks.timing import least
from howlearn.engine.cell_fits import Passes
from howlearn.engine.layout import RATES, Units
from howlearn.fitting.cells import UnitPlan, block_of
from howlearn.fitting.fits import marks_of, sizes_of

SOURCE = Path(__file__).parent / "c" / "pair.c"
BAR = 1.5
Grid = Callable[[], np.ndarray]


def run(quick: bool) -> list[Row]:
    """Nanoseconds per trial of a cell and rate."""
    study = data.learners("ByShape", 10 if quick else 50)
    plan = UnitPlan.of(hl.Task.load("five-four").models, study.contexts)
    (rule,) = plan.units
    units = plan.layouts[rule]
    marks = marks_of(study, sizes_of(study.n_scored, data.TRUNCATIONS))
    passes = Passes.prepare(block_of(study, rule, marks), units, rule)
    parameter = rule.parameters[0]
    rates = parameter.at(np.linspace(0.0, parameter.end, RATES))[None, :]
    evaluations = np.bincount(units[1])[study.context].sum() * RATES
    with tempfile.TemporaryDirectory() as folder:
        in_c = _in_c(passes, units, rates, Path(folder))
        if in_c is None:
            (ours,) = least([lambda: passes.grid(rates)], 20)
            return [Row("kernel, per trial and rate", f"{ours / evaluations * 1e9:.2f} ns")]
        difference = float(np.max(np.abs(in_c() - passes.grid(rates))))
        note(f"kernel: largest difference between C and ours {difference:.1g} nats")
        ours, limit = least([lambda: passes.grid(rates), in_c], 20 if quick else 60)
    return [
        Row("the loop in C, -O3 -march=native, per trial and rate", _each(limit, evaluations)),
        Row(
            "ours, per trial and rate",
            _each(ours, evaluations),
            f"at most {BAR} × C",
            f"{ours / limit:.2f} × C",
            ours <= BAR * limit,
        ),
    ]


def _each(seconds: float, evaluations: int) -> str:
    return f"{seconds / evaluations * 1e9:.2f} ns"


def _in_c(passes: Passes, units: Units, rates: np.ndarray, folder: Path) -> Grid | None:
    """The pass in C as a function; None where it cannot be built."""
    compiler = shutil.which("cc")
    if compiler is None:
        note("kernel: no C compiler (cc), so no limit to compare with")
        return None
    library = folder / "pair.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC"]
    command = [compiler, *flags, "-o", str(library), str(SOURCE), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        note(f"kernel: the C source could not be built: {built.stderr.strip()[:200]}")
        return None
    return _bound(ctypes.CDLL(str(library)).grid, passes, units, rates)


def _bound(grid: Callable[..., int], passes: Passes, units: Units, rates: np.ndarray) -> Grid:
    """The C function with its arrays, which are the very ones that our pass takes."""
    block = passes.block
    starts, contexts, _, rows, n_contexts = units
    assert np.all(rows == 1)  # every unit is one cell: a row of C's buffer is a unit
    unit = np.repeat(np.arange(len(rows)), np.diff(starts))
    by_context = np.argsort(contexts, kind="stable")
    first = np.searchsorted(contexts[by_context], np.arange(n_contexts + 1)).astype(np.int64)
    cells = np.ascontiguousarray(unit[by_context], np.int64)
    row, marks = np.ascontiguousarray(rates[0]), np.ascontiguousarray(block.marks)

    def at(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    def call() -> np.ndarray:
        out = np.empty((*marks.shape, len(rows), RATES))
        trials = map(at, (block.context, block.action, block.feedback, block.flags))
        failed = grid(
            *(ctypes.c_int64(len(block)), at(block.offsets), *trials),
            *(ctypes.c_int64(marks.shape[1]), at(marks), at(first), at(cells)),
            *(ctypes.c_int64(len(rows)), at(row), ctypes.c_int64(passes.every), at(out)),
        )
        assert not failed
        return out

    return call
