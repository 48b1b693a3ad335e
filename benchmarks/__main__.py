"""``python -m benchmarks [NAME ...] [--quick]``."""

from __future__ import annotations

import argparse
from importlib import import_module
from time import perf_counter

from benchmarks.report import duration, note, show

NAMES = (
    "kernel",
    "authors",
    "study",
    "desk",
    "models",
    "cells",
    "mixtures",
    "hidden",
    "partitions",
    "groups",
    "fair",
    "pages",
    "reproduce",
    "scale",
    "streamed",
    "cluster",
    "completeness",
    "mechanisms",
)


def main() -> None:
    """Run what was asked for, then print one table; nothing is asserted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; or all")
    parser.add_argument("--quick", action="store_true", help="a reduced run, under a minute")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}: there are {', '.join(NAMES)}")
    results = []
    for name in chosen.names or NAMES:
        start = perf_counter()
        rows = import_module(f"benchmarks.{name}").run(chosen.quick)
        note(f"{name}: done in {duration(perf_counter() - start)}")
        results.append((name, rows))
    show(results)


if __name__ == "__main__":
    main()
