"""Many cases through workers that are watched: none may crash, hang or take much memory."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

JUDGE = "fuzz.judge:judged"
LONGEST = 5.0  # seconds of processor time that reading a file may take
WAITED = 60.0  # seconds by the clock: a process that sleeps for so long without a break hangs too
RESIDENT = 450.0  # MiB after which a worker is replaced: libraries keep what they had
MAKING = 60.0  # seconds that making a case may take
LOOK = 0.25  # seconds
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Worker:
    """A process, and the case that it reads."""

    trace: Path  # where it says where it was when it was stopped
    judge: str  # what reads the cases, MODULE:FUNCTION
    process: subprocess.Popen[str] = field(init=False)
    case: int | None = None
    since: float = 0.0
    spent: float = 0.0  # processor time when the case began
    awake: tuple[float, float] = (0.0, 0.0)  # processor time when it was seen to work, and when
    rest: bytes = b""  # of what it says, half a line

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """A fresh process."""
        self.rest = b""
        environment = {**os.environ, "POLARS_MAX_THREADS": "1", "PYTHONFAULTHANDLER": ""}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker", str(self.trace), self.judge],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, question: dict[str, Any], case: int) -> None:
        """Let it read a case."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        self.case = case
        self.begin(MAKING)

    def begin(self, allowed: float = 0.0) -> None:
        """Its time is counted from here, or from so many seconds later."""
        self.since, self.spent = monotonic() + allowed, self.used() + allowed
        self.awake = (0.0, self.since)

    def answers(self) -> list[dict[str, Any]] | None:
        """What it has said since; None where the process has ended."""
        assert self.process.stdout is not None
        said = os.read(self.process.stdout.fileno(), 2**20)
        if not said:
            return None
        *lines, self.rest = (self.rest + said).split(b"\n")
        return [json.loads(line) for line in lines]

    def used(self) -> float:
        """Seconds of processor time that the process has had."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / TICKS

    def hangs(self) -> bool:
        """Whether the case takes too long."""
        if self.case is None:
            return False
        now = monotonic()
        if now - self.since <= LONGEST:
            return False
        used = self.used()
        if used > self.awake[0] or self.runs():
            self.awake = (used, now)
        return used - self.spent > LONGEST or now - self.awake[1] > WAITED

    def runs(self) -> bool:
        """Whether the process works, or would if others left it the processor."""
        try:
            state = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        return state == "R"

    def stop(self) -> str:
        """End the process, and where it was."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1)
            sleep(LOOK)
            self.process.kill()
        self.process.wait()
        text = self.trace.read_text(errors="replace") if self.trace.exists() else ""
        return text[-6000:]

    def leave(self) -> None:
        """Let it end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(OSError):  # it may be gone, with what it was told last unread
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


Told = Callable[[int, dict[str, Any]], None]


def run(
    numbers: range, seed: int, only: str | None, workers: int, told: Told, judge: str = JUDGE
) -> None:
    """Read the cases with these numbers; ``told`` hears what came of each."""

    def questions() -> Iterator[tuple[int, dict[str, Any]]]:
        for number in numbers:
            yield number, {"seed": seed, "number": number, "only": only}

    _answered(questions(), min(workers, len(numbers)), told, judge)


def replay(question: dict[str, Any], judge: str = JUDGE) -> dict[str, Any]:
    """Read the files of a finding once more."""
    found: list[dict[str, Any]] = []
    _answered(iter([(0, question)]), 1, lambda _, answer: found.append(answer), judge)
    return found[0]


def _answered(
    questions: Iterator[tuple[int, dict[str, Any]]], workers: int, told: Told, judge: str
) -> None:
    with tempfile.TemporaryDirectory() as folder, selectors.DefaultSelector() as ready:
        staff = [Worker(Path(folder) / f"trace{i}", judge) for i in range(workers)]
        for worker in staff:
            ready.register(worker.process.stdout, selectors.EVENT_READ, worker)
            _next(worker, questions)
        try:
            while any(worker.case is not None for worker in staff):
                for key, _ in ready.select(LOOK):
                    _heard(key.data, ready, questions, told)
                for worker in staff:
                    if worker.hangs():
                        _lost(worker, "hang", ready, questions, told)
        finally:
            for worker in staff:
                if worker.case is not None:
                    worker.process.kill()
                worker.leave()


def _next(worker: Worker, questions: Iterator[tuple[int, dict[str, Any]]]) -> None:
    number, question = next(questions, (None, {}))
    if number is None:
        worker.case = None
    else:
        worker.ask(question, number)


def _heard(
    worker: Worker,
    ready: selectors.BaseSelector,
    questions: Iterator[tuple[int, dict[str, Any]]],
    told: Told,
) -> None:
    answers = worker.answers()
    if answers is None:
        if worker.case is not None:
            _lost(worker, "crash", ready, questions, told)
        return
    for answer in answers:
        if not answer:  # the case is made; now it is read
            worker.begin()
            continue
        assert worker.case is not None
        told(worker.case, answer)
        if answer["resident"] > RESIDENT:
            _replaced(worker, ready)
        _next(worker, questions)


def _lost(
    worker: Worker,
    outcome: str,
    ready: selectors.BaseSelector,
    questions: Iterator[tuple[int, dict[str, Any]]],
    told: Told,
) -> None:
    """A worker that has crashed or is stopped: what is known, and another one in its place."""
    assert worker.case is not None
    seconds = worker.used() - worker.spent
    detail = worker.stop()
    status = worker.process.returncode
    if outcome == "crash":
        outcome = f"crash ({signal.Signals(-status).name if status < 0 else status})"
    answer = {"outcome": outcome, "place": _place(detail), "detail": detail, "seconds": seconds}
    told(worker.case, {**answer, "mebibytes": 0.0, "resident": 0.0})
    _replaced(worker, ready)
    _next(worker, questions)


def _replaced(worker: Worker, ready: selectors.BaseSelector) -> None:
    ready.unregister(worker.process.stdout)  # type: ignore[arg-type]
    worker.leave()
    worker.start()
    ready.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]


def _place(trace: str) -> str:
    """The innermost place in howlearn's own code that a trace tells."""
    for line in trace.splitlines():
        if "/howlearn/" in line:
            file, _, rest = line.strip().removeprefix('File "').partition('", line ')
            return f"{file.rpartition('/howlearn/')[2]}:{rest.replace(' in ', ' ')}"
    return trace.strip().partition("\n")[0][:80]
