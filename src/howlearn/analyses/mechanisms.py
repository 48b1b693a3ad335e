"""``mechanisms``: what do people do when they learn, and how many of them?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from howlearn.analyses.completeness import Nowhere, Store
from howlearn.analyses.mechanism_jumps import Jumps
from howlearn.analyses.mechanism_result import Mechanisms
from howlearn.analyses.mechanism_space import (
    DELTA,
    GRADIENT,
    MOST_PARTS,
    Space,
    checked_parts,
    data_of,
    told_by,
)
from howlearn.analyses.mechanism_tables import Draws, Tables, ends
from howlearn.analyses.mechanism_tests import Beside, Missing, missing, unlisted
from howlearn.core.arrays import Floats, Ints
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.study import Study
from howlearn.core.text import listed, many
from howlearn.models.adjustments import BASES, Part
from howlearn.runs.parts import Progress

FEWEST = 5  # learners
MOST = 600  # learners; of larger studies some are picked evenly
RARE = 0.005  # a share of a combination below which it is not listed


def mechanisms(
    study: Study,
    parts: Sequence[str | type[Part]] = (),
    also: Sequence[str | type[Part]] = (),
    without: Sequence[str] = (),
    smallest: Mapping[str, float] | None = None,
    together: bool = False,
    base: str = "both",
    cells: Partition | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    *,
    store: Store | None = None,
    tests: bool = True,
) -> Mechanisms:
    """Which mechanisms of learning people show, how many of them, and how strongly.

    ``parts`` are the mechanisms to look for, by default all that are usual and that the data can
    show; ``also`` are more, ``without`` those that are not; ``smallest`` are smallest sizes of
    interest by name. With ``together`` mechanisms may come in the same people. ``base`` is delta,
    gradient or both, ``cells`` a partition of the contexts.

    >>> import howlearn as hl
    >>> task = hl.Task.load("shepard-1")
    >>> study = hl.simulate(task, "OneForAll", {"eta": 0.3}, learners=6, trials=60, seed=1)
    >>> found = hl.mechanisms(study, ["stickiness", "lapse"], base="delta", tests=False)
    >>> found.mechanisms["mechanism"].to_list()
    ['lapse', 'stickiness']
    """
    work = Work.of(study, parts, also, without, smallest or {}, base, cells, together)
    return work.found(seed, threads, progress, store or Nowhere(), tests)


@dataclass(frozen=True, eq=False)
class Work:
    """A study that was checked, with what is looked for in it."""

    study: Study  # in an order that does not depend on that of the file
    order: Ints  # of the learners in the study that was given
    space: Space
    absent: Mapping[str, str]
    cells: Partition | None
    remarks: tuple[str, ...]
    together: bool = False
    beside: Beside = field(default_factory=Beside)  # what completeness found

    @classmethod
    def of(
        cls, study: Study, parts: Sequence[str | type[Part]], also: Sequence[str | type[Part]],
        without: Sequence[str], smallest: Mapping[str, float], base: str, cells: Partition | None,
        together: bool = False,
    ) -> Work:  # fmt: skip
        """Refuses what says nothing about mechanisms, in one sentence."""
        study = study.without_excluded()
        study, remarks = _picked(study)
        check_study(study)
        bases = {"both": BASES, "delta": BASES[:1], "gradient": BASES[1:]}.get(base)
        if bases is None:
            raise HowlearnError(f"base must be delta, gradient or both, got {base!r}")
        chosen, absent = checked_parts(parts, also, without, study, cells)
        named = {part if isinstance(part, str) else part.name for part in (*parts, *also)}
        for part in chosen:
            if not {*part.bases} & {*bases} and part.name in named:
                raise HowlearnError(f"{part.name} cannot be put on a {bases[0]}: name another base")
            for other in chosen:
                if other.name in part.excludes:
                    raise HowlearnError(
                        f"{part.name} and {other.name} exclude each other: name one of them"
                    )
        chosen = tuple(part for part in chosen if {*part.bases} & {*bases})
        space = Space(chosen, bases, len(study.actions), check_sizes(smallest, chosen))
        order = np.array(sorted(range(len(study)), key=lambda i: study.learners[i]), np.int64)
        work = cls(study.take(order), order, space, absent, cells, remarks, together)
        return work._without_idle(named)._with_one_base()

    def _without_idle(self, named: set[str]) -> Work:
        """Without parts that change nothing in these data; one that was named is refused."""
        space, data = self.space, data_of(self.study, self.cells)
        idle = {part.name for part in space.parts if _is_idle(part, space, data, self.study)}
        for name in sorted(idle & named):
            raise HowlearnError(
                f"these data cannot show {name}: with or without it the choices are as probable"
            )
        if not idle:
            return self
        parts = tuple(part for part in space.parts if part.name not in idle)
        absent = {**self.absent, **dict.fromkeys(idle, "it changes nothing in these data")}
        return replace(self, space=replace(space, parts=parts), absent=absent)

    def _with_one_base(self) -> Work:
        """Where there are too many parts to look at all combinations of them."""
        count = len(self.space.parts)
        if count <= MOST_PARTS:
            return self
        if self.together:
            raise HowlearnError(
                f"--together looks at all combinations, of {MOST_PARTS} mechanisms at most, and "
                f"there are {count}: name fewer"
            )
        if len(self.space.bases) == 1:
            return self
        said = f"with {count} mechanisms only the {DELTA} is looked at; --base gradient: the other"
        parts = tuple(part for part in self.space.parts if DELTA in part.bases)
        space = replace(self.space, parts=parts, bases=(DELTA,))
        return replace(self, space=space, remarks=(*self.remarks, said))

    def tables(
        self, seed: int, threads: int | None, store: Store, step: Callable[[float], None]
    ) -> Tables | Jumps:
        def kept(name: str, make: Callable[[], Floats]) -> Floats:
            known = store.known(name)
            if known is None:
                known = pl.DataFrame({"value": make()})
                store.remember(name, known)
            return known["value"].to_numpy()

        data = data_of(self.study, self.cells)
        kind = Tables if len(self.space.parts) <= MOST_PARTS else Jumps
        return kind(self.space, data, self.space.own(self.study), seed, threads, step, kept)

    def found(
        self, seed: int, threads: int | None, progress: Progress | None, store: Store, tests: bool,
        kept: list[Tables | Jumps] | None = None,
    ) -> Mechanisms:  # fmt: skip
        """The answer; ``kept`` is given the points, for those who want to look at them."""

        def step(share: float) -> None:
            if progress:
                progress(int(100 * share), 100)

        tables = self.tables(seed, threads, store, lambda share: step(0.5 * share))
        if kept is not None:
            kept.append(tables)
        draws = tables.sampled(self.together, seed)
        step(0.6)
        lacks: list[Missing] = []
        if tests:
            others = unlisted(self.study, self.space, told_by(self.study, self.cells))
            lacks = missing(
                tables, draws, others, self.study, self.cells, self.beside.suspected,
                lambda share: step(0.6 + 0.4 * share),
            )  # fmt: skip
        step(1.0)
        return self.told(draws, lacks)

    def told(self, draws: Draws, lacks: Sequence[Missing]) -> Mechanisms:
        """The tables of what was drawn."""
        withheld = _withheld(self.space, lacks)
        trials = float(np.median(self.study.n_scored))
        alone = {part.name for part in self.space.parts if trials < part.from_trials}
        names = {part.name for part in self.space.parts}
        rows = [
            (each.part.name, each.share, each.lower, each.upper, each.alarms,
             ", ".join(n for n in each.part.passes_for if n in names) if each.alarms else "")
            for each in lacks
        ]  # fmt: skip
        sizes = {name: size.smallest for name, size in self.space.quantities[self.space.n_own :]}
        return Mechanisms(
            _mechanisms_table(draws, withheld),
            _learners_table(draws, self.study, np.argsort(self.order), {*withheld, *alone}),
            _combinations_table(draws, withheld),
            of("missing", "mechanisms").of_rows(rows),
            self.space.parts,
            {**sizes, **self.space.smallest_sizes},
            self.absent,
            {
                "learners": len(self.study),
                "trials": trials,
                "together": self.together,
                "bases": self.space.bases,
            },
            self.remarks,
            self.beside.sentences,
            draws.shares,
            draws.location,
        )


def check_study(study: Study) -> None:
    """Refuse what no mechanism can be seen in."""
    n = len(set(study.learners))
    if n < FEWEST:
        raise HowlearnError(
            f"mechanisms compares people, and there {'is' if n == 1 else 'are'} "
            f"{many(n, 'learner')}: at least {FEWEST} are needed"
        )
    known = study.reward[study.learned & np.isfinite(study.reward)]
    if not len(known) or known.min() == known.max():
        what = "there are no outcomes" if not len(known) else f"every outcome is {known[0]:g}"
        raise HowlearnError(f"{what}, so nobody can learn from them: name the column by --reward")
    choices = study.action[study.scored & (study.n_offered > 1)]
    if not len(choices) or (choices == choices[0]).all():
        what = "no trial has a choice" if not len(choices) else "everybody always chooses the same"
        raise HowlearnError(f"{what}, so no mechanism can be seen: name the column by --action")


def parse_sizes(texts: Sequence[str]) -> dict[str, float]:
    """Smallest sizes of interest from ``stickiness=0.3``.

    >>> parse_sizes(["stickiness=0.3"])
    {'stickiness': 0.3}
    """
    found: dict[str, float] = {}
    for text in texts:
        name, _, size = text.partition("=")
        try:
            found[name.strip()] = float(size)
        except ValueError:
            raise HowlearnError(
                f"--smallest {text!r}: write a mechanism and a size, as stickiness=0.3"
            ) from None
    return found


def check_sizes(smallest: Mapping[str, float], parts: Sequence[type[Part]]) -> dict[str, float]:
    """The smallest sizes of interest that were given, refused where they lie outside the range."""
    known = {part.name: part.effect for part in parts}
    for name, size in smallest.items():
        effect = known.get(name)
        if effect is None:
            raise HowlearnError(
                f"a smallest size of {name} was given, which is not among the mechanisms "
                f"{', '.join(known)}"
            )
        highest = 1.0 if effect.kind == "share" else 20.0
        if not 0 < size < highest:
            raise HowlearnError(
                f"the smallest size of interest of {name} must lie between 0 and {highest:g}, "
                f"got {size:g}"
            )
    return dict(smallest)


def _picked(study: Study) -> tuple[Study, tuple[str, ...]]:
    n = len(study)
    if n <= MOST:
        return study, ()
    some = np.arange(MOST) * n // MOST
    return study.take(some), (f"{MOST:,} of {many(n, 'sequence')}, picked evenly",)


def _is_idle(part: type[Part], space: Space, data: Any, study: Study) -> bool:
    """Whether a part at its usual size changes no likelihood."""
    one = Space((part,), (part.bases[0],), space.n_actions, {})
    x = np.zeros((len(data), 2, int(one.first[-1])))
    for g, (_, size) in enumerate(one.quantities):
        x[..., one.first[g]] = one.prior[g, 0] if one.kinds[g] < 2 else size.centre
    out = np.zeros(x.shape[:2])
    told = (data.starts, data.arrays, data.world, one.own(study), np.arange(len(data)), out)
    one.kernel().likelihoods(x, np.arange(2), one.on_coordinates, one.models[0], one.coded, *told)
    return bool(np.abs(out[:, 0] - out[:, 1]).max() < 1e-9)


def _withheld(space: Space, lacks: Sequence[Missing]) -> dict[str, str]:
    """Why a mechanism is not told, by name."""
    names = {part.name for part in space.parts}
    found: dict[str, str] = {}
    for each in lacks:
        for name in each.part.passes_for if each.alarms else ():
            found.setdefault(name, each.why)
    for part in space.parts:
        lost = [name for name in part.only_with if name not in names]
        if lost:
            found[part.name] = (
                f"{listed(lost)} {'is' if len(lost) == 1 else 'are'} not listed, and would pass "
                "for it"
            )
    return {name: why for name, why in found.items() if name in names}


def _mechanisms_table(draws: Draws, withheld: Mapping[str, str]) -> pl.DataFrame:
    space, rows = draws.space, []
    for j, part in enumerate(space.parts):
        if part.name in withheld:
            rows.append((part.name, *[None] * 9, withheld[part.name]))
            continue
        effect, kind = part.effect, space.kinds[space.n_own + j]
        assert effect is not None
        sure = draws.shares[:, j] > 0
        size = float(effect.size(draws.location[sure, j].mean())) if sure.any() else None
        spread = float(np.sqrt(draws.variance[sure, j]).mean()) if sure.any() else None
        sign = float(draws.plus[sure, j].mean()) if kind == 2 and sure.any() else None
        shares = (*ends(draws.shares[:, j]), *ends(draws.beyond[:, j]))
        rows.append((part.name, *shares, size, spread, sign, None))
    if len(space.bases) > 1:
        share = ends(draws.shares[:, -1])
        rows.append((GRADIENT, *share, *[None] * 7))
    return of("mechanisms", "mechanisms").of_rows(rows)


def _learners_table(draws: Draws, study: Study, back: Ints, quiet: set[str]) -> pl.DataFrame:
    """One row per learner, as in the study that was given, and mechanism."""
    space, (scaled, sign) = draws.space, draws.sizes
    frames, labels = [], study.labels
    for j in range(draws.shares.shape[1]):
        part = space.parts[j] if j < len(space.parts) else None
        name = GRADIENT if part is None else part.name
        columns: dict[str, Any] = {"mechanism": name}
        if name not in quiet:
            columns["probability"] = draws.probability[:, j]
        if part is not None and part.effect is not None and name not in quiet:
            columns["beyond"] = draws.probability_beyond[:, j]
            turn = np.where(sign[:, j] < 0, -1.0, 1.0) if space.kinds[space.n_own + j] == 2 else 1.0
            shown = draws.probability[:, j] > 0
            size = np.where(shown, turn * part.effect.size(scaled[:, j]), np.nan)
            columns["size"] = pl.Series(size).fill_nan(None)
        columns.setdefault("probability", [None] * len(study))
        made = of("mechanisms-learners", "mechanisms").frame(columns)
        place = pl.Series("place", np.argsort(back))
        frames.append(labels.hstack(made.get_columns()).with_columns(place, rank=pl.lit(j)))
    return pl.concat(frames).sort("place", "rank").drop("place", "rank")


def _combinations_table(draws: Draws, withheld: Mapping[str, str]) -> pl.DataFrame:
    """The most common first; what is withheld is left out of combinations."""
    space, parts = draws.space, draws.space.parts
    told = sum(1 << j for j, part in enumerate(parts) if part.name not in withheld)
    told += (1 << len(parts)) * (len(space.bases) > 1)
    masks = draws.masks & told
    rows = []
    for mask, count in zip(*np.unique(masks, return_counts=True), strict=True):
        if count >= RARE * masks.size:
            names = [part.name for j, part in enumerate(parts) if mask >> j & 1]
            base = space.bases[int(mask >> len(parts))]
            rows.append((" + ".join(names) or "none", base, *ends((masks == mask).mean(axis=1))))
    return of("combinations", "mechanisms").of_rows(sorted(rows, key=lambda row: -row[2]))
