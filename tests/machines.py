"""A Dask cluster as processes on loopback: a scheduler, and workers that come and go."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PATIENCE = 60.0  # seconds until something that never happens is a failure


def until(happens: Any, what: str, seconds: float = PATIENCE) -> Any:
    """Wait for something; what it is, once it is there."""
    end = time.monotonic() + seconds
    while not (found := happens()):
        assert time.monotonic() < end, f"waited {seconds:g} s for {what}"
        time.sleep(0.02)
    return found


class Machines:
    """A scheduler with its file, and its workers; all are ended at the end."""

    def __init__(self, folder: Path, workers: int = 0) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            *("scheduler", "--host", "127.0.0.1", "--port", 0, "--no-dashboard"),
            *("--scheduler-file", self.file),
        )
        for _ in range(workers):  # they wait for the file
            self.add()
        until(self.file.is_file, "the scheduler's file")

    @property
    def address(self) -> str:
        return str(json.loads(self.file.read_text())["address"])

    def add(self, *, death: float = PATIENCE, **environment: str) -> subprocess.Popen[bytes]:
        """One more worker."""
        words = ("--no-nanny", "--nthreads", 1, "--memory-limit", 0, "--death-timeout", death)
        here = ("--scheduler-file", self.file, "--local-directory", self.folder)
        worker = self._start("worker", "--no-dashboard", *words, *here, **environment)
        self.workers.append(worker)
        return worker

    def _start(self, what: str, *words: object, **environment: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *map(str, words)]
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, env={**os.environ, **environment}
            )

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
