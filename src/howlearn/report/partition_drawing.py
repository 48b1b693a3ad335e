"""The contexts drawn by their features, in the cells of a partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from howlearn.model import Model
from howlearn.report.style import Chart


def partition(
    model: Model, contexts: Sequence[str], features: Mapping[str, Mapping[str, str]]
) -> Chart:
    """Each context as a glyph on the colour of its cell; as a name where there are no features."""
    raise NotImplementedError
