"""Is something missing from the list? Parts that are not listed are tried, one at a time.

A part is missing if it is found beside those that are listed, as any of them is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from howlearn.analyses.mechanism_space import Space, why_not
from howlearn.analyses.mechanism_tables import FOUND, Draws, Tops, ends
from howlearn.core.study import Study
from howlearn.models.adjustments import Part
from howlearn.models.mechanism_parts import known_mechanisms


@dataclass(frozen=True)
class Missing:
    """How many people would show a part that is not listed."""

    part: type[Part]
    share: float
    lower: float
    upper: float

    @property
    def alarms(self) -> bool:
        return self.lower > FOUND


def unlisted(study: Study, space: Space, told: dict[str, bool]) -> tuple[type[Part], ...]:
    """The built-in parts that these data could show, and that were not looked for."""
    names = {part.name for part in space.parts}
    return tuple(
        part
        for name, part in known_mechanisms().items()
        if name not in names and space.bases[0] in part.bases
        and part.__module__.startswith("howlearn.")
        and why_not(part, told, space.n_actions) is None
    )  # fmt: skip


def missing(tables: Tops, draws: Draws, parts: Sequence[type[Part]]) -> list[Missing]:
    """The parts that are surest to be missing, first."""
    found = [Missing(part, *ends(tables.shares_with(part, draws))) for part in parts]
    return sorted(found, key=lambda each: (-each.lower, -each.share))
