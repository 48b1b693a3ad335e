"""What results depend on besides the code of this package."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    """Of Python and of the libraries that compute."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "polars")},
    }
