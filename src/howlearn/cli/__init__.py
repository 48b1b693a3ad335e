"""The command line: parse, call, print."""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from types import FrameType


class Interrupted(BaseException):
    """Ctrl-C, under a name that the libraries in between do not swallow."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def main() -> None:
    """Run a command; what the user can mend is printed without a traceback, exit status 2."""
    from howlearn import door
    from howlearn.cli.app import app
    from howlearn.errors import HowlearnError
    from howlearn.harmless import visible
    from howlearn.runs.shard import ShardEnded

    for stream in (sys.stdout, sys.stderr):  # a name that the terminal's encoding lacks
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    door.close()
    signal.signal(signal.SIGINT, _interrupt)
    try:
        for word in sys.argv:
            if word.encode(errors="replace").decode() != word:
                raise HowlearnError(f"{word}: a name whose bytes are no text; rename it")
        app()
    except ShardEnded as ended:
        print(f"howlearn: {ended}")
    except HowlearnError as error:
        print(visible(f"howlearn: {error}"), file=sys.stderr)
        sys.exit(2)
    except Interrupted:
        print(
            "howlearn: interrupted; what is finished is kept, and the same command started again "
            "goes on from there",
            file=sys.stderr,
        )
        sys.exit(130)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(visible(f"howlearn: {where}{error.strerror or error}"), file=sys.stderr)
        sys.exit(2)
