"""A process that has imported everything and forks a child for every command: quick attempts.

It is a program of its own, since only one who has no threads can be forked: polars and the
compiler are loaded here, and used in the children only. A request is a line of JSON: a command to
start, which is answered by the number of its process, or one to wait for, by its exit status.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import sys
import warnings
from importlib import import_module
from typing import Any

warnings.filterwarnings("ignore", message=".*fork.*")
LOADED = (
    "howlearn.analyses.calibrate", "howlearn.cli.options",
    "howlearn.cli.progress", "howlearn.cli.progress",
    "howlearn.analyses.discover_words", "howlearn.analyses.deviations", "howlearn.results.inputs",
    "howlearn.paper.reproduce", "howlearn.report.plot", "howlearn.results.bids",
    "pydantic.type_adapter",
    "scipy.cluster.hierarchy", "scipy.interpolate", "typer._adapters",
)  # fmt: skip


def prepare() -> None:
    """Import what commands import, and make parts tiny."""
    from typer.main import get_command

    import howlearn.cli.app
    from howlearn.analyses import contests, discover
    from howlearn.paper import reproduce
    from howlearn.report import charts
    from howlearn.results import select_into
    from howlearn.runs import files

    for module in LOADED:
        import_module(module)
    select_into.CHUNK = discover.CHUNK = 2
    contests.GROUP, reproduce.CLAIM_LEARNERS = 2, 2
    files.PATIENCE = 0.2
    charts.NEEDED = ("nothing",)  # drawing takes longer than all the rest
    howlearn.cli.app.app = get_command(howlearn.cli.app.app)
    compile_kernels()


def compile_kernels() -> None:
    """Load them once for all children; without a thread, and without work for polars."""
    from howlearn.fitting.fit import fit
    from howlearn.fitting.fits import ALL
    from howlearn.models.partition_model import candidates
    from howlearn.models.task import Task
    from studies import random_trials, study_of

    task = Task.load("five-four")
    study = study_of(random_trials(1, 30, task.contexts), contexts=task.contexts)
    fit(study, task.models, [0.5, ALL], 1)
    study = study_of(random_trials(1, 30, "wxyz", n_actions=3), n_actions=3)
    fit(study, candidates(study.contexts), [ALL], 1).log_probability(0, "OneForAll")


class Fault:
    """Something that happens at the n-th event of some kinds under a folder."""

    def __init__(self, kind: str, at: int, events: list[str], under: str) -> None:
        self.kind, self.at, self.events, self.under = kind, at, events, under
        self.seen = 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in self.events or self.seen < 0:
            return
        if event != "import" and self.under not in str(arguments[0]):
            return
        self.seen += 1
        if self.seen != self.at:
            return
        self.seen = -1
        if self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.kind == "interrupt":
            signal.raise_signal(signal.SIGINT)
        elif self.kind == "stop":  # until the test says go
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            number = getattr(errno, self.kind)
            raise OSError(number, os.strerror(number), str(arguments[0]))


def child(request: dict[str, Any]) -> None:
    os.setsid()
    os.chdir(request["cwd"])
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f".{name}-{os.getpid()}", os.O_WRONLY | os.O_CREAT, 0o644), number)
    if "size" in request:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["size"], resource.RLIM_INFINITY))
    fault = None
    if "fault" in request:
        fault = Fault(*request["fault"])
        sys.addaudithook(fault)
    sys.argv = ["howlearn", *request["words"]]
    status = 0
    try:
        if "code" in request:
            exec(request["code"], {})
        else:
            from howlearn.cli import main

            main()
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
        status = 1
    finally:
        if fault is not None:
            print(f"events: {fault.seen}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def serve() -> None:
    prepare()
    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        process = os.fork()
        if process == 0:
            child(request)
        print(process, flush=True)


if __name__ == "__main__":
    serve()
