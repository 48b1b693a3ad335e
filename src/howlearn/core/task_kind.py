"""The kind of task that trials come from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# What it is called not to respond, in letters and digits only
NO_GO = ("nogo", "withhold", "nopress", "noresponse", "notpress", "nothing", "passive")


def no_go_of(actions: Sequence[str]) -> int | None:
    """The place of the action that is not to respond; None: there is none.

    >>> no_go_of(["Go", "No-Go"]), no_go_of(["A", "B"])
    (1, None)
    """
    words = [re.sub(r"[\W_]+", "", label.lower()) for label in actions]
    return next((i for i, word in enumerate(words) if word in NO_GO), None)


@dataclass(frozen=True)
class FoundKind:
    """The kind of task that trials come from, and why."""

    name: str
    reasons: tuple[str, ...] = ()  # the main one first
    stops: str | None = None  # a sentence that says what is missing, where nothing can be analysed
    cells: tuple[tuple[str, ...], ...] = ()  # contexts that belong together in such a task
    traits: tuple[str, ...] = ()  # what else candidates depend on: see Model.default_for

    def __str__(self) -> str:
        return f"{self.name} ({'; '.join(self.reasons)})" if self.reasons else self.name

    def record(self) -> dict[str, Any]:
        """As a manifest has it."""
        stops = {"stops": self.stops} if self.stops else {}
        return {"name": self.name, "reasons": [*self.reasons], **stops}

    @staticmethod
    def recorded(record: Any) -> FoundKind | None:
        """What a manifest has; None if it has nothing of the kind."""
        if not isinstance(record, Mapping) or not isinstance(record.get("name"), str):
            return None
        reasons = record.get("reasons")
        return FoundKind(
            record["name"], tuple(map(str, reasons if isinstance(reasons, list) else ()))
        )
