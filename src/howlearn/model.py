"""What a model must offer: a name, and how many parameters a fit may choose."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Model(Protocol):
    """Whatever gives a probability to every next choice."""

    @property
    def name(self) -> str: ...

    def n_parameters(self, n_actions: int) -> int:
        """D: how many parameters are fitted."""
        ...
