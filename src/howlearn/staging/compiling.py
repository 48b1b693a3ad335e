"""What the compiler says about a user's model, in a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from howlearn.models.model import Model
from howlearn.staging.interpreted import ModelError

Result = TypeVar("Result")


class Uncompiled(ModelError):
    """A model's text is at fault, whoever the learner is."""


def compiled_or_error(model: Model, work: Callable[[], Result]) -> Result:
    """Do work that may have to compile a model first."""
    try:
        return work()
    except Exception as error:
        # The compiler's errors have no common class.
        if not type(error).__module__.startswith("numba."):
            raise
        raise Uncompiled(_sentence(model, str(error))) from None


def _sentence(model: Model, text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Failed in", "During:", "-", "File"))]
    where = re.search(r'File "(?P<file>[^"]+)", line (?P<line>\d+)', text)
    told = [re.sub(r" Raised from .*?([^/ ]+) \((\d+)\)", r" (\1, line \2)", line) for line in told]
    place = f" ({where['file'].rsplit('/', 1)[-1]}, line {where['line']})" if where else ""
    helper = re.search(r"Untyped global name '(\w+)'", text)
    if helper:
        return (
            f"{model.name} uses {helper[1]}, which cannot be compiled as it is; a function of your "
            "own that the model calls must be decorated with @numba.njit, and a class or other "
            "object cannot be used there"
        )
    return (
        f"{model.name} cannot be compiled: {' '.join(told[:2])[:300]}{place}; it may use numbers, "
        "numpy arrays, loops and functions decorated with @numba.njit"
    )
