"""A Dask cluster as processes on loopback: a scheduler, and workers that come and go."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import howlearn

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
        self._schedule(0)
        for _ in range(workers):  # they wait for the file
            self.add()
        until(self._is_told, "the scheduler's file")

    def _schedule(self, port: int) -> None:
        words = ("--host", "127.0.0.1", "--port", port, "--no-dashboard")
        # A part on which two workers die is given up.
        self.scheduler = self._start(
            *("scheduler", *words, "--scheduler-file", self.file),
            DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1",
        )

    def _is_told(self) -> bool:
        return self.file.is_file() and self.file.read_bytes().strip().endswith(b"}")

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

    def kill_one(self) -> None:
        """End a worker that works, at once."""
        self._working()[0].kill()

    def restart(self) -> None:
        """End the scheduler at once, and start another one at its address, without workers."""
        port = int(self.address.rpartition(":")[2])
        self.scheduler.kill()
        self.scheduler.wait()
        for worker in self.workers:
            worker.kill()
        self._schedule(port)

    def ready(self, workers: int) -> None:
        """Have a scheduler and so many workers, whatever happened before."""
        if self.scheduler.poll() is not None:
            self.file.unlink()
            self._schedule(0)
            until(self._is_told, "the scheduler's file")
        for _ in range(workers - len(self._working())):
            self.add()

    def _working(self) -> list[subprocess.Popen[bytes]]:
        return [worker for worker in self.workers if worker.poll() is None]

    def _start(self, what: str, *words: object, **environment: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *map(str, words)]
        # Wherever the package is, also where it is not installed.
        environment["PYTHONPATH"] = str(Path(howlearn.__file__).resolve().parents[1])
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, env={**os.environ, **environment}
            )

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
