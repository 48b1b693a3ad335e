"""A process that reads one case after the other: ``python -m fuzz.worker`` (the campaign's)."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import IO, Any

from fuzz.case import make_case
from fuzz.verdict import Verdict

MOST = 1024.0  # MiB that reading a file may take
ADDRESSES = 6 * 2**30  # bytes, so that a bad case cannot take the whole machine
NOISE_SHOWN = 2000
Judge = Callable[[str, str | None, Mapping[str, Any], bool], Verdict]
MADE = "{}"  # what is said before a case is read


def main() -> None:
    """Answer every line on the standard input with a line."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    home = Path(tempfile.mkdtemp(prefix="fuzz-"))
    noise = (home / "noise").open("w+b", buffering=0)
    os.dup2(noise.fileno(), 1)  # whatever libraries print is a finding
    os.dup2(noise.fileno(), 2)
    module, _, function = sys.argv[2].partition(":")
    judged = getattr(import_module(module), function)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    try:
        with Path(sys.argv[1]).open("w") as trace:
            faulthandler.enable(trace)
            faulthandler.register(signal.SIGUSR1, trace)
            for line in sys.stdin:
                asked = json.loads(line)
                if "files" in asked:
                    answers.write(f"{MADE}\n")
                    found = _replayed(asked, home, noise, judged)
                else:
                    found = _made(asked, home, noise, judged, answers)
                answers.write(json.dumps(found) + "\n")
            faulthandler.disable()
    finally:
        os.chdir("/")
        shutil.rmtree(home, ignore_errors=True)


def _made(
    asked: dict[str, Any], home: Path, noise: IO[bytes], judged: Judge, answers: IO[str]
) -> dict[str, Any]:
    case = make_case(asked["seed"], asked["number"], asked["only"])
    folder = home / "case"
    folder.mkdir()
    case.write(folder)
    answers.write(f"{MADE}\n")  # the time that the case took to make is not the readers'
    verdict = _measured(
        folder, lambda: judged(case.opened, case.task, case.options, case.inspected), noise
    )
    os.chdir(home)
    shutil.rmtree(folder, ignore_errors=True)
    about = {"format": case.format, "mutations": case.mutations, "size": case.size}
    return {**verdict.as_dict(), **about, "inspected": case.inspected}


def _replayed(asked: dict[str, Any], home: Path, noise: IO[bytes], judged: Judge) -> dict[str, Any]:
    given = (asked["opened"], asked["task"], asked["options"], asked["inspected"])
    found = _measured(Path(asked["files"]), lambda: judged(*given), noise)
    os.chdir(home)
    return found.as_dict()


def _measured(folder: Path, read: Callable[[], Verdict], noise: IO[bytes]) -> Verdict:
    os.chdir(folder)
    noise.seek(0)
    noise.truncate()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    start = process_time()
    verdict = read()
    seconds = process_time() - start
    peak, resident = _memory("VmHWM"), _memory("VmRSS")
    if verdict.good and peak > MOST:
        verdict = Verdict("memory", verdict.detail, f"{peak:,.0f} MiB")
    elif verdict.good and noise.tell():
        noise.seek(0)
        said = noise.read(NOISE_SHOWN).decode(errors="replace")
        verdict = Verdict("noise", said.strip().partition("\n")[0][:120], said)
    return replace(verdict, seconds=seconds, mebibytes=peak, resident=resident)


def _memory(name: str) -> float:
    """MiB of this process, as the system counts."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
