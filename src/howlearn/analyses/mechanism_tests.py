"""Is something missing from the list? Parts that are not listed are tried, one at a time.

A part is missing if it is found beside those that are listed, as any of them is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, count
from pathlib import Path
from typing import Any

from howlearn.analyses.completeness import LEVEL
from howlearn.analyses.mechanism_jumps import Jumps
from howlearn.analyses.mechanism_space import OPEN, Space, data_of, why_not
from howlearn.analyses.mechanism_tables import FOUND, Draws, Tops, ends
from howlearn.analyses.residual import FAMILIES
from howlearn.core.partition import Partition
from howlearn.core.study import Study
from howlearn.core.text import listed
from howlearn.fitting.settings import feature_names
from howlearn.models.adjustments import Part
from howlearn.models.mechanism_parts import Generalisation, OtherCells, known_mechanisms
from howlearn.results.manifest import COMPLETENESS, fit_of
from howlearn.runs.files import read_record
from howlearn.runs.folder import read_table, there
from howlearn.runs.shards import MANIFEST

CARRIES = Generalisation.name  # from one context to another, as cells do
MOST_FEATURES = 4  # of which pairs are tried


@dataclass(frozen=True)
class Missing:
    """How many people would show a part that is not listed."""

    part: type[Part]
    share: float
    lower: float
    upper: float
    people: int
    suspected: bool = False  # by completeness

    @property
    def alarms(self) -> bool:
        """One person alone is too few. A suspicion stands unless these data rule the part out."""
        found = self.lower > max(FOUND, 1.0 / self.people)
        return found or (self.suspected and self.upper > OPEN)

    @property
    def why(self) -> str:
        """Nothing is told of what it passes for."""
        if issubclass(self.part, OtherCells):
            return f"people seem to take other contexts together: {self.part.name}"
        seen = "seems to be there" if self.lower > FOUND else "may be what completeness misses"
        return f"{self.part.name} is not listed, {seen}, and passes for it"


@dataclass(frozen=True)
class Beside:
    """What ``howlearn completeness`` found for a selection of the same files, if it was run."""

    sentences: tuple[str, ...] = ()
    suspected: frozenset[str] = frozenset()  # parts that are not listed

    @classmethod
    def of(cls, folder: Path, files: Mapping[str, str], names: Collection[str]) -> Beside:
        """``folder`` has the selection, ``files`` are hashes, ``names`` the parts listed."""
        manifest = read_record(folder / MANIFEST) if folder.is_dir() else None
        told = fit_of(manifest or {}).get(COMPLETENESS)
        if (
            manifest is None
            or not told
            or {*manifest.get("input", {}).values()} != {*files.values()}
        ):
            return cls()
        said = [f"Completeness of the models compared in {folder}: {told.get('sentence')}"]
        lost: set[str] = set()
        place = folder / "completeness"
        if told.get("alarm") and there(place, "reasons"):
            for row in read_table(place, "reasons").iter_rows(named=True):
                words, missed = _missed(row, names)
                said += words
                lost |= missed
        return cls((*said,), frozenset(lost))


def _missed(row: Mapping[str, Any], names: Collection[str]) -> tuple[list[str], set[str]]:
    """What a reason of completeness says of mechanisms, and those of it that are not listed."""
    parts = {each.name: each.shown_by for each in FAMILIES}.get(row["family"], ())
    if row["p"] >= LEVEL:
        return [], set()
    known = [name for name in parts if name in names]
    said = "and no mechanism here is that"
    if parts:
        said = f"which may be {listed(known or parts, 'or')}, {'' if known else 'not '}listed here"
    return [f"They miss {row['family']}, {said}."], set() if known else {*parts}


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


def other_cells(study: Study, cells: Partition | None) -> list[tuple[type[Part], Partition]]:
    """Other ways to take contexts together: by features that they share, all, or none."""
    names = feature_names(study.contexts, study.features)[:MOST_FEATURES]
    known = {context: study.features[context] for context in study.contexts if names}
    some = [each for k in (1, 2) for each in combinations(names, k)]
    ways = {f"cells by {listed(each)}": Partition.by(known, each) for each in some}
    ways["one cell for all contexts"] = Partition.all(study.contexts)
    ways["one cell per context"] = Partition.each(study.contexts)
    seen = {_as_sets(Partition.each(study.contexts) if cells is None else cells)}
    found: list[tuple[type[Part], Partition]] = []
    for name, way in ways.items():
        if _as_sets(way) not in seen:
            seen.add(_as_sets(way))
            found.append((type("Cells", (OtherCells,), {"name": name}), way))
    return found


def _as_sets(partition: Partition) -> frozenset[frozenset[str]]:
    return frozenset(map(frozenset, partition.cells))


def missing(
    tables: Tops, draws: Draws, parts: Sequence[type[Part]], study: Study, cells: Partition | None,
    suspected: Collection[str] = (), step: Callable[[float], None] = lambda share: None,
) -> list[Missing]:  # fmt: skip
    """The parts that are surest to be missing, first; cells before all, since they hold parts."""

    def tried(part: type[Part], instead: Sequence[str], way: Partition | None = None) -> Missing:
        data = None if way is None else data_of(study, way)
        step(next(done) / (len(ways) + len(parts)))
        share = ends(tables.shares_with(part, draws, instead, data))
        return Missing(part, *share, len(study), part.name in suspected)

    done = count()
    # Jumps have one way to see the trials
    ways = [] if isinstance(tables, Jumps) else other_cells(study, cells)
    of_cells = [tried(part, (CARRIES,), way) for part, way in ways]
    of_parts = [tried(part, part.passes_for) for part in parts]
    return [
        each
        for some in (of_cells, of_parts)
        for each in sorted(some, key=lambda each: (-each.lower, -each.share))
    ]
