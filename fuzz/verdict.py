"""What may come of reading a file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

GOOD = ("read", "refused")


@dataclass(frozen=True)
class Verdict:
    """What came of a case; everything that is neither read nor refused is a finding."""

    outcome: str
    place: str = ""  # where in the code
    detail: str = ""
    seconds: float = 0.0  # of processor time
    mebibytes: float = 0.0  # at most, of the whole process
    resident: float = 0.0  # afterwards

    @property
    def good(self) -> bool:
        """Whether it is as it should be."""
        return self.outcome in GOOD

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
