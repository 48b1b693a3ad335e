"""What a methods paragraph may cite, in APA style; only what is cited gets into the list."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

SOFTWARE = "howlearn"
KEYS = re.compile(r"\[@(.+?)\]")


@dataclass(frozen=True)
class Reference:
    """A work: how it is cited in brackets, and its entry, where *…* stands in italics."""

    cited: str
    entry: str

    @property
    def text(self) -> str:
        """The entry without marks."""
        return "".join(part for part, _ in self.pieces)

    @property
    def pieces(self) -> tuple[tuple[str, bool], ...]:
        """The entry in parts, each with whether it is in italics.

        >>> Reference("A, 1974", "A. (1974). *B*.").pieces
        (('A. (1974). ', False), ('B', True), ('.', False))
        """
        parts = enumerate(self.entry.split("*"))
        return tuple((part, i % 2 == 1) for i, part in parts if part)


class Citing:
    """Gives citations and remembers what was cited."""

    def __init__(self, version: str) -> None:
        self.known: Mapping[str, Reference] = {**works(), SOFTWARE: _software(version)}
        self.cited: set[str] = set()

    def __call__(self, *names: str, before: str = "") -> str:
        """The works in brackets, in alphabetical order; what is no key is a citation as it is.

        >>> Citing("1.0")("schwarz1978", "akaike1974")
        '(Akaike, 1974; Schwarz, 1978)'
        """
        known = [self.known[name].cited if name in self.known else name for name in names]
        self.cited.update(name for name in names if name in self.known)
        return f"({before}{'; '.join(sorted(known))})"

    def after(self, names: Sequence[str]) -> str:
        """The works in brackets after a space; nothing if there are none."""
        return f" {self(*names)}" if names else ""

    def resolved(self, sentence: str) -> str:
        """A sentence with citations in place of keys.

        >>> Citing("1.0").resolved("By AIC [@akaike1974; @schwarz1978].")
        'By AIC (Akaike, 1974; Schwarz, 1978).'
        """
        return KEYS.sub(lambda found: self(*found[1].split("; @")), sentence)

    @property
    def references(self) -> tuple[Reference, ...]:
        """What was cited, in alphabetical order."""
        found = (self.known[name] for name in self.cited)
        return tuple(sorted(found, key=lambda work: work.entry.replace("*", "").casefold()))


def _software(version: str) -> Reference:
    return Reference(
        "The howlearn developers, n.d.",
        f"The howlearn developers. (n.d.). *howlearn* (Version {version}) [Computer software].",
    )


@cache
def works() -> Mapping[str, Reference]:
    """All works that sentences may cite, by their keys."""
    text = resources.files("howlearn.report.methods").joinpath("references.toml").read_text("utf-8")
    return {key: Reference(**fields) for key, fields in tomllib.loads(text).items()}
