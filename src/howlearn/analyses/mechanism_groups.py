"""``compare`` of mechanisms: do groups of people differ in what they do?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.analyses.compare_groups import groups_of
from howlearn.analyses.mechanisms import Mechanisms, mechanisms, parse_sizes
from howlearn.core.arrays import Floats
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.core.text import Listing, Sentence, listed
from howlearn.models.user_code import named_part
from howlearn.results.analysis import Analysis
from howlearn.results.inputs import recorded_mechanisms
from howlearn.runs.folder import read_table, there
from howlearn.runs.parts import Progress

LEVEL = 0.95
FEWEST = 5  # learners of a group
STREAM = 33  # of random numbers


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class MechanismComparison(Analysis):
    """Shares and sizes of mechanisms in groups, and their differences."""

    command = "compare-mechanisms"
    ATTRIBUTES = {  # noqa: RUF012
        "mechanism-groups": "groups",
        "mechanism-differences": "differences",
    }
    FILES = ("comparison.txt",)

    groups: pl.DataFrame
    differences: pl.DataFrame
    column: str
    sizes: Mapping[str, int]
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"MechanismComparison: {' '.join(self.sentences)}"

    def summary(self) -> Iterator[Listing | Sentence]:
        sizes = listed([f"{n} learners of {name}" for name, n in self.sizes.items()])
        yield Sentence(
            f"{sizes} are compared. A difference that was not found may be there: see the "
            "intervals. Shares are those of the populations that the groups were drawn from."
        )
        rows = [
            (row["mechanism"], row["group"], row["other"],
             f"{100 * row['difference']:+z.0f} ({100 * row['lower']:+z.0f} to "
             f"{100 * row['upper']:+z.0f})",
             "" if row["ratio"] is None else f"{row['ratio']:.2g} ({row['ratio_lower']:.2g} to "
             f"{row['ratio_upper']:.2g})")
            for row in self.differences.iter_rows(named=True)
        ]  # fmt: skip
        heads = ("mechanism", "group", "other", "difference in points", "ratio of typical sizes")
        legend = "Intervals of differences are simultaneous over all mechanisms and pairs, 95%."
        yield Listing(f"Mechanisms by {self.column}", heads, rows, legend=legend)
        found = self.differences.filter((pl.col("lower") > 0) | (pl.col("upper") < 0))
        for row in found.iter_rows(named=True):
            more = "more" if row["difference"] > 0 else "fewer"
            yield Sentence(
                f"{row['mechanism']}: {abs(100 * row['difference']):.0f} points {more} people of "
                f"{row['group']} than of {row['other']} show it."
            )
        if found.is_empty():
            yield Sentence(f"No difference in what people of {self.column} groups do was found.")

    def texts(self) -> Mapping[str, str]:
        return {"comparison.txt": "\n".join([*self.sentences, *self.notes]) + "\n"}


def compare_mechanisms(
    study: Study,
    column: str,
    groups: Any | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    **how: Any,
) -> MechanismComparison:
    """Mechanisms of every group apart, with rates and sizes free in each; then differences.

    ``how`` are keywords of ``mechanisms``.
    """
    study = study.without_excluded()
    who = groups_of(study.labels, column, "group", groups)
    for name, (n, _) in zip(who.names, who.sizes(), strict=True):
        if n < FEWEST:
            raise HowlearnError(
                f"group {name} of {column} has {n} learners, and each needs {FEWEST} at least"
            )
    found: list[Mechanisms] = []
    for g in range(len(who.names)):
        mine = study.take(who.kept[who.code == g])
        found.append(mechanisms(mine, seed=seed, threads=threads, tests=False, **how))
        if progress:
            progress(g + 1, len(who.names))
    names = [part.name for part in found[0].parts]
    names = [n for n in names if all(n in {p.name for p in each.parts} for each in found)]
    drawn = [_Drawn.of(each, names, seed, g) for g, each in enumerate(found)]
    rows, sizes = [], {}
    for name, each in zip(who.names, found, strict=True):
        kept = each.mechanisms.filter(pl.col("mechanism").is_in(names))
        sizes[name] = each.learners["learner"].n_unique()
        rows += [(name, sizes[name], *row) for row in kept.rows()]
    return MechanismComparison(
        of("mechanism-groups", "compare-mechanisms").of_rows(rows),
        _differences(drawn, names, who.names, found[0]),
        column,
        sizes,
        who.notes,
    )


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Draws of a group's population: shares, and scaled sizes, [draw, mechanism]."""

    shares: Floats
    sizes: Floats
    shown: Floats  # [mechanism]: how often anybody shows it

    @classmethod
    def of(cls, found: Mechanisms, names: list[str], seed: int, group: int) -> _Drawn:
        at = [[part.name for part in found.parts].index(name) for name in names]
        n, shares = found.about["learners"], found.shares[:, at]
        random = np.random.default_rng([seed, STREAM, group])
        order = random.permutation(len(shares))  # so that groups do not hang together
        count = n * shares[order]
        drawn = random.beta(count + 0.5, n - count + 0.5)
        return cls(drawn, found.locations[order][:, at], (shares > 0).mean(axis=0))


def _differences(
    drawn: list[_Drawn], names: list[str], groups: tuple[str, ...], found: Mechanisms
) -> pl.DataFrame:
    pairs = [*combinations(range(len(groups)), 2)]
    apart = np.stack([drawn[a].shares - drawn[b].shares for a, b in pairs], axis=1)
    centre, spread = apart.mean(axis=0), np.maximum(apart.std(axis=0), 1e-9)
    furthest = np.abs((apart - centre) / spread).max(axis=(1, 2))
    reach = float(np.quantile(furthest, LEVEL)) * spread
    effects = {part.name: part.effect for part in found.parts}
    rows = []
    for p, (a, b) in enumerate(pairs):
        for j, name in enumerate(names):
            ratio: tuple[float | None, ...] = (None, None, None)
            effect = effects[name]
            if effect is not None and min(drawn[a].shown[j], drawn[b].shown[j]) > LEVEL:
                one, two = (effect.size(drawn[g].sizes[:, j]) for g in (a, b))
                middle = np.quantile(one / two, (0.5, 0.025, 0.975))
                ratio = tuple(map(float, middle))
            ends = (max(centre[p, j] - reach[p, j], -1.0), min(centre[p, j] + reach[p, j], 1.0))
            rows.append(
                (name, groups[a], groups[b], float(centre[p, j]), *map(float, ends), *ratio)
            )
    return of("mechanism-differences", "compare-mechanisms").of_rows(rows)


def compare_folder(
    folder: Path, column: str, groups: Any | None, seed: int, progress: Progress | None
) -> MechanismComparison:
    """The same, of what ``howlearn mechanisms`` left in a folder."""
    study, cells, options = recorded_mechanisms(folder)
    found = compare_mechanisms(
        study, column, groups, seed, progress=progress, cells=cells,
        parts=[named_part(name) for name in options["mechanism"]],
        also=[named_part(name) for name in options["also"]], without=options["without"],
        smallest=parse_sizes(options["smallest"]), together=options["together"],
        base=options["base"],
    )  # fmt: skip
    missing = read_table(folder, "missing") if there(folder, "missing") else pl.DataFrame()
    lost = missing.filter("alarm")["mechanism"].to_list() if len(missing) else []
    if not lost:
        return found
    said = (
        f"{listed(lost)} {'is' if len(lost) == 1 else 'are'} not among the mechanisms, and would "
        "explain these choices better: groups may differ in that, not in what is told here"
    )
    return replace(found, remarks=(*found.remarks, said))
