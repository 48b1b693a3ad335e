"""Reads a file: what comes of it must be a sound study, or a refusal in clean sentences."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.verdict import Verdict
from howlearn.core.errors import HowlearnError
from howlearn.reading.guess import inspect
from howlearn.reading.read import read

LONGEST = 20_000  # letters of a message
NOISE = ("Traceback (most", "panicked at", " object at 0x", "<class '")


def judged(opened: str, task: str | None, options: Mapping[str, Any], inspected: bool) -> Verdict:
    """Read what is at a place, and say what came of it."""
    try:
        with _warned() as heard:
            try:
                _read(opened, task, options, inspected)
                verdict = Verdict("read")
            except HowlearnError as error:
                verdict = _refusal(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of a library is no Exception
        trace = traceback.extract_tb(error.__traceback__)
        detail = "".join(traceback.format_exception(error, limit=-6))[-4000:]
        return Verdict(type(error).__name__, place_in(trace), detail)
    if heard and verdict.good:
        first = heard[0]
        return Verdict("warning", f"{Path(first.filename).name}:{first.lineno}", str(first.message))
    return verdict


def _read(opened: str, task: str | None, options: Mapping[str, Any], inspected: bool) -> None:
    source = opened or "."
    if inspected:
        study = inspect(source, task=task, **options).study
    else:
        study = read(source, task=task, **options)
    if study is not None:
        _sound(study)


def _sound(study: Any) -> None:
    """What every study promises."""
    assert np.isfinite(study.reward).all()
    assert ((study.context >= 0) & (study.context < len(study.contexts))).all()
    assert ((study.action >= 0) & (study.action < len(study.actions))).all()
    filled = np.diff(study.starts) > 0  # those without trials are told, and not fitted
    assert study.reset[study.starts[:-1][filled]].all()
    assert study.source is not None
    assert len(study.source.row) == len(study.context)
    for name in (*study.learners, *study.contexts, *study.actions, *study.notes):
        name.encode()  # half a letter could not be written into a table


def _refusal(message: str) -> Verdict:
    if len(message) > LONGEST:
        return Verdict("message too long", _words(message), f"{len(message):,} letters")
    noise = next((words for words in NOISE if words in message), None)
    if noise is not None:
        return Verdict("message not clean", _words(message), message)
    return Verdict("refused", detail=_words(message))


def _words(message: str) -> str:
    """What tells messages apart: the last line without names and numbers."""
    last = message.strip().rpartition("\n")[2][-3000:]
    return last.partition("found ")[2][:60] or last[:60]


def place_in(trace: traceback.StackSummary) -> str:
    """The last place in howlearn's own code, or in the code at all."""
    own = [frame for frame in trace if "/howlearn/" in frame.filename]
    if not own:
        return str(trace[-1].lineno) if trace else ""
    last = own[-1]
    return f"{last.filename.rpartition('/howlearn/')[2]}:{last.lineno} {last.name}"


@contextmanager
def _warned() -> Iterator[list[warnings.WarningMessage]]:
    """What would be printed above the user's results."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("default")
        for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)  # as Python does for those who only use it
        yield heard
