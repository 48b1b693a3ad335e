"""The command line: parse, call, print."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run a command; what the user can mend is printed without a traceback, exit status 2."""
    from howlearn.cli.app import app
    from howlearn.errors import HowlearnError

    try:
        app()
    except HowlearnError as error:
        print(f"howlearn: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(
            "howlearn: interrupted; the same command started again goes on from here",
            file=sys.stderr,
        )
        sys.exit(130)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
