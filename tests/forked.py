"""Commands in processes that can be killed, stopped or starved."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import howlearn
from running import Ran

FILES = ["open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link"]


@dataclass(frozen=True)
class Process:
    """A command that runs."""

    server: Server
    number: int
    folder: Path

    def kill(self) -> None:
        os.kill(self.number, signal.SIGKILL)

    def wait(self) -> Ran:
        status = self.server.ask({"wait": self.number})
        return Ran(status, self._said("out"), self._said("err"))

    def _said(self, what: str) -> str:
        file = self.folder / f".{what}-{self.number}"
        return file.read_text("utf-8") if file.exists() else ""  # killed before it began


class Server:
    """A process that forks one for every command; see fork_server.py."""

    def __init__(self) -> None:
        program = Path(__file__).with_name("fork_server.py")
        source = Path(howlearn.__file__).parents[1]  # the same that is tested here
        self.process = subprocess.Popen(
            [sys.executable, str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": str(source),
                "POLARS_MAX_THREADS": "1",
                "COLUMNS": "200",
            },
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, request: dict[str, Any]) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def start(self, *words: object, **fault: Any) -> Process:
        """A command in the current folder; ``fault`` is what happens to it."""
        here = Path.cwd()
        number = self.ask({"words": [*map(str, words)], "cwd": str(here), **fault})
        return Process(self, number, here)

    def run(self, *words: object, **fault: Any) -> Ran:
        """The same, to its end."""
        return self.start(*words, **fault).wait()

    def events(self, *words: object, kinds: list[str] = FILES, under: str = "results") -> int:
        """How many such events a command has."""
        ran = self.run(*words, fault=["count", -1, kinds, under])
        return int(ran.err.rpartition("events: ")[2])
