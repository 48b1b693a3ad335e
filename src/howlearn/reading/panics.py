"""Panics of compiled libraries: told as any other failure, and without their own words."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

STDERR = 2
_NAME = "PanicException"  # of every library that is built with pyo3; it is no Exception


class Panic(ValueError):
    """A library gave up on what it was reading."""


@contextmanager
def no_panic() -> Iterator[None]:
    """A panic inside becomes a Panic, and what the library prints about it is left out.

    Whatever else is printed meanwhile is held back until the end.
    """
    with tempfile.TemporaryFile() as held:
        try:
            kept = os.dup(STDERR)
        except OSError:  # there is no standard error
            kept = None
        else:
            os.dup2(held.fileno(), STDERR)
        panicked = False
        try:
            yield
        except BaseException as error:
            if type(error).__name__ != _NAME:
                raise
            panicked = True
            raise Panic(str(error).splitlines()[0] if str(error) else _NAME) from None
        finally:
            if kept is not None:
                os.dup2(kept, STDERR)
                os.close(kept)
                held.seek(0)
                if not panicked:
                    _pass_on(held.read())


def _pass_on(words: bytes) -> None:
    while words:
        words = words[os.write(STDERR, words) :]
