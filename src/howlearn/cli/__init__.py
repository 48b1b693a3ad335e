"""The command line: parse, call, print."""

from __future__ import annotations

import _thread
import atexit
import gc
import os
import signal
import sys
import threading
from io import TextIOWrapper
from types import FrameType
from typing import Any

# Commands that keep what is finished: started again, they need not do it twice.
GOING_ON = {
    "select", "calibrate", "discover", "reproduce", "path", "recover", "plan", "verify", "merge",
    "demo", "completeness", "mechanisms",
}  # fmt: skip


_MAIN = threading.main_thread().ident or 0


class Interrupted(BaseException):
    """Ctrl-C, under a name that the libraries in between do not swallow."""


class Written:
    """Whether a command has written all of its files, so that it only has to say what it found."""

    complete = False
    is_step = False  # of several, so that another command follows anyway


class _Interrupts:
    """Ctrl-C as an exception, also where it comes in code that drops exceptions."""

    def __init__(self) -> None:
        self.came = self.over = False
        self.status = 130
        signal.signal(signal.SIGINT, self._raise)
        signal.signal(signal.SIGTERM, self._raise)  # as schedulers of clusters send it
        self._before, sys.unraisablehook = sys.unraisablehook, self._dropped
        for number in (signal.SIGINT, signal.SIGTERM):  # the status is known by then, and stays
            atexit.register(signal.signal, number, signal.SIG_IGN)

    def end(self) -> None:
        """From here on there are only last words, which another one would disturb."""
        self.over = True
        sys.unraisablehook = self._before

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if not self.over:
            self.came = True
            self.status = 128 + number
            raise Interrupted

    def _dropped(self, what: Any) -> None:
        if not isinstance(what.exc_value, Interrupted):
            self._before(what)
            return
        again = threading.Timer(0.02, _thread.interrupt_main, [signal.SIGINT])
        if hasattr(signal, "pthread_kill"):  # which also ends waiting
            again = threading.Timer(0.02, signal.pthread_kill, [_MAIN, signal.SIGINT])
        again.daemon = True
        again.start()


def _short_process() -> None:
    """Spare a fifth of the time of a short command.

    Looking through all objects for cycles, seldom while they are made and never at the end; and
    threads of the linear algebra that wait in busy loops for small matrices.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(2_500_000, 20, 100)  # compiling makes a million and more
    atexit.register(gc.freeze)


def main() -> None:
    """Run a command; what the user can mend is printed without a traceback, exit status 2."""
    _short_process()
    interrupts = _Interrupts()
    try:
        try:
            status, message = _run()
        finally:
            interrupts.end()
    except SystemExit as stop:  # as commands end
        if not (interrupts.came and stop.code):
            raise
        status, message = 130, ""
    except BaseException:
        if not interrupts.came:
            raise
        status, message = 130, ""
    if interrupts.came:  # and a library may have made another error of it
        status, message = interrupts.status, f"interrupted; {_kept()}"
        if Written.complete:
            status, message = 0, "interrupted while results were shown; all files are complete"
    if message:
        from howlearn.core.text import visible

        aside = status or interrupts.came
        print(visible(f"howlearn: {message}"), file=sys.stderr if aside else sys.stdout)
    if status:
        sys.exit(status)


def _run() -> tuple[int, str]:
    """The exit status, and what to say at the end."""
    from howlearn.cli.app import app
    from howlearn.core import safe_files
    from howlearn.core.errors import EndedEarly, HowlearnError

    for stream in (sys.stdout, sys.stderr):  # a name that the terminal's encoding lacks
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    safe_files.close()
    try:
        for word in sys.argv:
            if word.encode(errors="replace").decode() != word:
                raise HowlearnError(f"{word}: the name is not valid text; rename it")
        app()
    except EndedEarly as ended:
        Written.complete = True
        return 0, str(ended)
    except HowlearnError as error:
        from howlearn.runs.files import NoRoom

        return 2, f"{error}; {_kept()}" if isinstance(error, NoRoom) else str(error)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1, ""
    except OSError as error:
        from howlearn.runs.files import is_full, no_room

        where = f"{error.filename}: " if error.filename else ""
        if is_full(error):
            return 2, f"{no_room(error, error.filename)}; {_kept()}"
        return 2, f"{where}{error.strerror or error}"
    return 0, ""


def _kept() -> str:
    """What a command that did not end has left, and how to go on."""
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    if command not in GOING_ON:
        return "no file is incomplete"
    again = "the same command started again"
    if "--fresh" in sys.argv:
        again = "the same command without --fresh"
    return f"what is finished is kept, and {again} continues from there"
