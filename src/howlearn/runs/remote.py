"""What a worker of a cluster does. Nothing is imported here that a scheduler need not have."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

from howlearn._version import __version__

Installed = tuple[str, dict[str, str]]
_known: dict[str, Any] = {}  # what the parts of a run have in common, unpacked


@cache  # looking takes longer than handing over a part
def installed() -> Installed:
    """What results depend on, here."""
    from howlearn.runs.versions import versions

    return __version__, versions()


def handed_on(content: bytes) -> bytes:
    """What the parts have in common; workers get it from each other."""
    return content


def done(
    key: str, common: bytes, own: bytes, made_with: Installed
) -> tuple[float, dict[str, bytes] | str]:
    """The seconds that a part took, and the content of its files, or why there are none."""
    from howlearn.core.errors import HowlearnError
    from howlearn.runs.packing import unpacked
    from howlearn.runs.parts import encoded

    here = installed()
    if here != made_with:
        return 0.0, (
            f"a worker has howlearn {_told(here)}, where the run was started there is "
            f"{_told(made_with)}: results could differ, so install the same on all of them"
        )
    start = time.perf_counter()
    try:
        if key not in _known:
            _known.clear()  # of an earlier run
            _known[key] = unpacked(common)
        run, shared = _known[key]
        tables = encoded(run(shared, unpacked(own), 1, lambda done, total: None))
    except HowlearnError as error:  # not every one can be pickled
        return 0.0, str(error)
    return time.perf_counter() - start, tables


def _told(found: Installed) -> str:
    return f"{found[0]} ({', '.join(f'{name} {number}' for name, number in found[1].items())})"
