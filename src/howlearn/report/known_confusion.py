"""The confusion matrix of a calibration or recovery, given itself or as its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from howlearn.report.style import Chart


def confusion_of(source: Any | Path | str, criterion: str | None = None) -> Chart:
    """By one criterion, the first if none is named."""
    raise NotImplementedError
