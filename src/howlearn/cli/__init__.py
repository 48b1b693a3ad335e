"""The command line: parse, call, print."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


class Interrupted(BaseException):
    """Ctrl-C, under a name that the libraries in between do not swallow."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def main() -> None:
    """Run a command; what the user can mend is printed without a traceback, exit status 2."""
    from howlearn.cli.app import app
    from howlearn.errors import HowlearnError
    from howlearn.runs.shard import ShardEnded

    signal.signal(signal.SIGINT, _interrupt)
    try:
        app()
    except ShardEnded as ended:
        print(f"howlearn: {ended}")
    except HowlearnError as error:
        print(f"howlearn: {error}", file=sys.stderr)
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
        print(f"howlearn: {where}{error.strerror or error}", file=sys.stderr)
        sys.exit(2)
