"""``reproduce``: the paper's numerical study, as published, from the archive, and corrected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from howlearn.analyses.contests import Clock
from howlearn.paper.archive import Archive, bars, read_archive
from howlearn.paper.claims import Claim, claims, differences, frame, wrong_first_rewards
from howlearn.paper.published import HORIZONS, MODELS, TRIALS, Key, published
from howlearn.paper.versions import Version, contests, design, from_archive, simulated, values
from howlearn.runs.parts import Memory, Progress, Store, Threads
from howlearn.selection.criteria import HoldOut
from howlearn.selection.select import TIE

LEARNERS = 100  # per model, as in the paper
CLAIM_LEARNERS = 1_000  # per model, at least, for statements with a standard error


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The study three times, what the correction does to its claims, and where time went."""

    learners: int
    claim_learners: int
    seed: int
    archive: Archive | None
    from_archive: Version | None
    corrected: Version
    claims: list[Claim]
    clock: Clock

    @property
    def table(self) -> pl.DataFrame:
        """Every number of every figure: published, from the archive, corrected."""
        found = [published(), {}, values(self.corrected)]
        if self.from_archive is not None:
            found[1] |= values(self.from_archive)
        if self.archive is not None and self.archive.participants is not None:
            as_drawn, counted = bars(self.archive.participants)
            found[1] |= as_drawn
            found[2] |= counted
        keys = sorted({key: None for numbers in found for key in numbers}, key=_place)
        columns = {name: [getattr(key, name) or None for key in keys] for name in Key._fields}
        for name, numbers in zip(("published", "archive", "corrected"), found, strict=True):
            columns[name] = [numbers.get(key) for key in keys]
        text = dict.fromkeys(Key._fields, pl.String)
        number = dict.fromkeys(("published", "archive", "corrected"), pl.Float64)
        return pl.DataFrame(columns, schema={**text, **number})

    @property
    def claims_table(self) -> pl.DataFrame:
        return frame(self.claims, self.claim_learners, self.seed)

    @cached_property
    def differences(self) -> pl.DataFrame | None:
        """Archive learners whose selection is another one than by the authors' stored fits."""
        if self.archive is None or self.from_archive is None or self.archive.stored is None:
            return None
        return differences(self.archive, self.from_archive)

    @property
    def wrong_rewards(self) -> dict[str, float] | None:
        return wrong_first_rewards(self.archive) if self.archive else None

    def ties(self) -> list[tuple[int, float, float, float]]:
        """Of OneForAll's learners, by N: how many have tied models, and the error by tie rule.

        The rules: the first model of the authors' list, or the one with fewest parameters.
        """
        contest = self.corrected.contest
        mine = contest.true == contest.truths.index("OneForAll")
        own = contest.models.index("OneForAll")
        theirs = [contest.models.index(name) for name in MODELS]
        found = []
        for n in HORIZONS:
            criterion = HoldOut(n / TRIALS)
            score = criterion.scores(contest).score[mine]
            best = score >= score.max(axis=1, keepdims=True) - TIE
            first = np.array(theirs)[np.argmax(best[:, theirs], axis=1)]
            fewest = contest.selected(criterion)[mine]
            tied = float(np.mean(best.sum(axis=1) > 1))
            found.append((n, tied, float(np.mean(first != own)), float(np.mean(fewest != own))))
        return found


def _place(key: Key) -> tuple[object, ...]:
    """Figures in their order; within one as they were made: models in the authors' order."""

    def number(text: str) -> float:
        tail = text.rpartition("=")[2].rstrip(")")
        return float(tail) if tail.replace(".", "", 1).isdigit() else -1.0

    def model(name: str) -> int:
        return MODELS.index(name) if name in MODELS else len(MODELS)

    return (
        key.figure,
        key.quantity,
        number(key.setting),
        key.setting,
        model(key.true_model),
        model(key.selected_model),
    )


def reproduce(
    learners: int = LEARNERS,
    archive: Archive | str | Path | None = None,
    seed: int = 0,
    store: Store | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    clock: Clock | None = None,
) -> Reproduction:
    """Run the whole numerical section on correct data, and on the archive where one is given.

    Claims rest on at least 1,000 learners per model, with and without the generator's fault.
    """
    clock = clock or Clock()
    store = store if store is not None else Memory(Threads(threads))
    if archive is None or isinstance(archive, Archive):
        found = archive
    else:
        with clock("reading the archive"):
            found = read_archive(archive)
    many = max(learners, CLAIM_LEARNERS)
    figures = contests(design(learners, seed), "figures", clock)
    more = contests(design(many, seed), "claims", clock) if many > learners else figures
    fault = contests(design(many, seed, True), "claims with the fault", clock)
    parts = [part for each in dict.fromkeys((figures, more, fault)) for part in each.parts]
    store.complete(parts, progress)
    corrected = simulated(figures, store)
    for_claims = corrected if more is figures else simulated(more, store)
    with_fault = simulated(fault, store)
    recomputed = from_archive(found, clock, threads) if found else None
    with clock("selections and errors"):
        stated = claims(with_fault, for_claims)
    return Reproduction(learners, many, seed, found, recomputed, corrected, stated, clock)
