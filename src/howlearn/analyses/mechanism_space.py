"""All combinations of the parts that learners may show, and what a study tells of them.

The space has a base (a delta rule, a gradient bandit, or both) and parts that are on or off. Each
combination is a model; a population has one distribution per parameter, whichever model it is in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import lgamma, log, pi
from typing import Any

import numpy as np

from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.rule import Size
from howlearn.core.study import Study
from howlearn.core.world import World, no_go_of
from howlearn.engine import compile as compiled
from howlearn.engine.layout import LEARNED, RESET, SCORED
from howlearn.fitting.settings import coded
from howlearn.models.adjustments import BASES, Adjustment, Part
from howlearn.models.mechanism_parts import known_mechanisms
from howlearn.models.model import NEEDS

DELTA, GRADIENT = BASES
# What a base has, whatever its parts are
OWN_SIZES: Mapping[str, Size] = {
    "alpha": Size("share", 0.3, 1.0, 1e-4, 1.5, smallest=1e-4),
    "beta": Size("positive", 4.0, 0.7, 1e-4, 1.2, smallest=1e-4),
    "eta": Size("positive", 0.5, 1.0, 1e-4, 1.2, smallest=1e-4),
}
OF_BASE = {DELTA: ("alpha", "beta"), GRADIENT: ("eta",)}
OWN_SCALE = 0.45  # a standard deviation of theirs that is likely
SCALE = 0.75  # of a part's size, as a share of the widest
KINDS = ("share", "positive", "signed", "vector")
# Where the loop has the parameters of built-in parts (``engine/kernels/mechanisms.py``)
PLACES = (
    "alpha", "beta", "eta", "stickiness", "trace", "forgetting", "asymmetry", "lapse",
    "generalisation", "fictive", "attention", "drift", "pavlovian", "resting",
    "bias",
)  # fmt: skip
MOST_ACTIONS = 5  # for which a bias towards some of them can be told from all else
MOST_PARTS = 8  # of which all combinations are looked at
OPEN = 0.5  # an upper end of a share above which a part that is not listed is not ruled out


@dataclass(frozen=True, eq=False)
class Data:
    """The trials as the compiled loop takes them."""

    starts: Ints
    arrays: tuple[Any, ...]  # contexts, actions, rewards, flags, offers, forgone, share of the way
    alike: Floats  # [context, context]: how much they have in common
    no_go: int
    zero: float

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def world(self) -> tuple[Floats, int, float]:
        return self.alike, self.no_go, self.zero


def data_of(study: Study, cells: Partition | None = None) -> Data:
    """Rewards run from −½ to ½; what was learned about the contexts of a cell is one thing."""
    known = study.reward[study.learned & np.isfinite(study.reward)]
    low, high = float(known.min()), float(known.max())

    def scaled(values: Any) -> Floats:
        return np.ascontiguousarray((values - low) / (high - low) - 0.5)

    flags = SCORED * study.scored + LEARNED * study.learned + RESET * study.reset
    lengths = np.diff(study.starts)
    at = np.arange(len(study.context)) - np.repeat(study.starts[:-1], lengths)
    n_actions = len(study.actions)
    cell_of, alike = _cells(study, cells)
    offered, no_go = study.offered, no_go_of(study.actions)
    arrays = (
        np.ascontiguousarray(cell_of[study.context], np.int64),
        study.action.astype(np.int64),
        scaled(study.reward),
        flags.astype(np.uint8),
        np.empty((0, n_actions), np.bool_) if offered is None else np.ascontiguousarray(offered),
        np.empty((0, n_actions)) if study.forgone is None else scaled(study.forgone),
        (at + 0.5) / np.repeat(lengths, lengths) - 0.5,
    )
    zero = float((study.zero - low) / (high - low) - 0.5) if low <= study.zero <= high else -0.5
    return Data(study.starts - study.starts[0], arrays, alike, -1 if no_go is None else no_go, zero)


def _cells(study: Study, cells: Partition | None) -> tuple[Ints, Floats]:
    """The cell of every context, and what share of features two cells have in common."""
    levels = coded(study.contexts, study.features)[1]
    n = len(study.contexts)
    alike = np.ones((n, n))
    if levels.shape[1]:
        alike = (levels[:, None] == levels[None]).mean(axis=2)
    if cells is None:
        return np.arange(n), alike
    place = {context: k for k, cell in enumerate(cells.cells) for context in cell}
    lost = [context for context in study.contexts if context not in place]
    if lost:
        raise HowlearnError(f"the partition has no cell for context {lost[0]!r}")
    cell_of = np.array([place[context] for context in study.contexts])
    member = np.eye(len(cells.cells))[cell_of]
    weight = member / np.maximum(member.sum(axis=0), 1.0)
    return cell_of, weight.T @ alike @ weight


def told_by(study: Study, cells: Partition | None = None) -> dict[str, bool]:
    """What the data tell, of what parts may need."""
    known = study.reward[study.learned & np.isfinite(study.reward)]
    return {
        "features": coded(study.contexts, study.features)[1].shape[1] > 0,
        "contexts": (len(study.contexts) if cells is None else len(cells.cells)) > 1,
        "no-go": no_go_of(study.actions) is not None,
        "losses": bool(len(known)) and float(known.min()) < study.zero < float(known.max()),
    }


def why_not(part: type[Part], told: Mapping[str, bool], n_actions: int) -> str | None:
    """Why a design cannot show a part; None if it can."""
    for need in sorted(part.needs):
        if not told.get(need, True):
            return f"it needs {NEEDS[need].partition(':')[0].partition(';')[0]}"
    if part.effect is not None and part.effect.kind == "vector" and n_actions > MOST_ACTIONS:
        return f"there are {n_actions} actions, and it is looked for among {MOST_ACTIONS} at most"
    return None


@dataclass(frozen=True, eq=False)
class Space:
    """Models by their parts; parameters in the order of ``quantities``."""

    parts: tuple[type[Part], ...]
    bases: tuple[str, ...]
    n_actions: int
    smallest_sizes: Mapping[str, float]
    # Models that are looked at, as (base, parts shown); empty: all combinations
    some: tuple[tuple[int, tuple[int, ...]], ...] = ()

    @cached_property
    def quantities(self) -> list[tuple[str, Size]]:
        own = [(name, OWN_SIZES[name]) for base in self.bases for name in OF_BASE[base]]
        effects = [(part.name, part.effect) for part in self.parts]
        return own + [(name, effect) for name, effect in effects if effect is not None]

    @property
    def n_own(self) -> int:
        """Quantities of the bases, before those of parts."""
        return len(self.quantities) - len(self.parts)

    @cached_property
    def kinds(self) -> Ints:
        """Of quantities: with two actions a vector has a sign, and nothing else."""
        found = [KINDS.index(size.kind) for _, size in self.quantities]
        return np.array([2 if kind == 3 and self.n_actions == 2 else kind for kind in found])

    @cached_property
    def first(self) -> Ints:
        """Where the coordinates of quantities begin."""
        return np.concatenate(([0], np.cumsum(np.where(self.kinds == 3, self.n_actions - 1, 1))))

    @cached_property
    def area(self) -> Floats:
        """Logs of the surface of a sphere, for the directions of vectors."""
        d = np.diff(self.first)
        return np.array(
            [log(2.0) + n / 2 * log(pi) - lgamma(n / 2) if n > 1 else 0.0 for n in d.tolist()]
        )

    @cached_property
    def coded(self) -> tuple[Ints, Ints, Floats]:
        """Of coordinates: kinds, places among parameters, and directions [action, coordinate].

        The length of a bias is the difference that it makes between two actions.
        """
        n, d = self.n_actions, int(self.first[-1])
        kinds, places, directions = np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros((n, d))
        own = 0
        for g, (name, _) in enumerate(self.quantities):
            mine = slice(self.first[g], self.first[g + 1])
            kinds[mine] = self.kinds[g]
            if name in PLACES:
                places[mine] = PLACES.index(name)
            else:
                places[mine] = len(PLACES) - 1 + n + own
                own += 1
            if name == "bias":
                kinds[mine] = 3
                directions[:, mine] = _contrasts(n) / np.sqrt(2.0)
        return kinds, places, directions

    @cached_property
    def can(self) -> list[list[bool]]:
        """[base][part]: whether it can be put on it."""
        return [[base in part.bases for part in self.parts] for base in self.bases]

    @cached_property
    def rows(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The models that are looked at: bases, and the parts that they show."""
        return self.some or tuple(
            (b, shows)
            for b, can in enumerate(self.can)
            for shows in product(*((0, 1) if yes else (0,) for yes in can))
        )

    @cached_property
    def models(self) -> tuple[Ints, Ints, Bools]:
        """Base of every model, which parts it shows (last: a gradient bandit), which it could."""
        both = len(self.bases) > 1
        shown = [[*shows, *[b] * both] for b, shows in self.rows]
        able = [[*self.can[b], *[True] * both] for b, _ in self.rows]
        codes = [BASES.index(self.bases[b]) for b, _ in self.rows]
        return np.array(codes), np.array(shown, np.int64), np.array(able, np.bool_)

    @cached_property
    def on(self) -> Bools:
        """[model, quantity]"""
        bases, shows, _ = self.models
        own = [np.isin(bases, [BASES.index(base)]) for base in self.bases for _ in OF_BASE[base]]
        columns = [*own, *(shows[:, : len(self.parts)] == 1).T]
        return np.ascontiguousarray(np.array(columns).T)

    @cached_property
    def on_coordinates(self) -> Bools:
        return np.ascontiguousarray(np.repeat(self.on, np.diff(self.first), axis=1))

    @cached_property
    def ladder(self) -> tuple[Ints, Ints]:
        """An order in which a model comes after one with a part more, and which that is."""
        bases, shows, can = self.models
        n = len(self.parts)
        place = {(b, tuple(row)): k for k, (b, row) in enumerate(zip(bases, shows, strict=True))}
        parent = np.full(len(bases), -1)
        for k, row in enumerate(shows):
            for j in range(n):
                if can[k, j] and not row[j] and parent[k] < 0:
                    more = (*row[:j], 1, *row[j + 1 :])
                    parent[k] = place.get((bases[k], more), -1)
        return np.argsort(-shows[:, :n].sum(axis=1), kind="stable"), parent

    @cached_property
    def prior(self) -> Floats:
        """[quantity, (centre, spread, floor, likely deviation, widest)], scaled."""
        return np.array(
            [
                (
                    size.scaled(size.centre),
                    size.spread,
                    size.scaled(size.floor),
                    OWN_SCALE if g < self.n_own else SCALE * size.widest,
                    size.widest,
                )
                for g, (_, size) in enumerate(self.quantities)
            ]
        )

    @cached_property
    def smallest(self) -> Floats:
        """The smallest sizes of interest, scaled."""
        return np.array(
            [s.scaled(self.smallest_sizes.get(name, s.smallest)) for name, s in self.quantities]
        )

    @property
    def own_parts(self) -> tuple[type[Adjustment], ...]:
        """Those of the user."""
        mine = [part for part in self.parts if part.name not in PLACES]
        return tuple(part for part in mine if issubclass(part, Adjustment))

    def kernel(self) -> Any:
        return compiled.mechanisms(self.own_parts)

    def own(self, study: Study) -> tuple[Any, ...]:
        """What the loop tells the parts of the user."""
        n = len(study.contexts)
        features, levels, n_levels, numeric = coded(study.contexts, study.features)
        world = World(
            self.n_actions, n, n, features, levels, n_levels, numeric, *study.reward_range
        )
        states = tuple(np.ascontiguousarray(part.start(world)) for part in self.own_parts)
        if not states:
            return (np.empty(0),)
        every, unknown = np.ones(self.n_actions, np.bool_), np.full(self.n_actions, np.nan)
        return tuple(map(np.copy, states)), states, features, every, unknown


def _contrasts(n: int) -> Floats:
    """n − 1 orthonormal vectors whose entries add up to 0; the last action is up in the first."""
    made = np.zeros((n, n - 1))
    for k in range(n - 1):
        at = n - 1 - k
        made[at, k] = at
        made[:at, k] = -1.0
        made[:, k] /= np.sqrt(at * (at + 1.0))
    return made


def checked_parts(
    wanted: Sequence[str | type[Part]], also: Sequence[str | type[Part]], left_out: Sequence[str],
    study: Study, cells: Partition | None,
) -> tuple[tuple[type[Part], ...], dict[str, str]]:  # fmt: skip
    """The parts that are looked for, and why others are not: by name.

    Those ``wanted``, or the usual ones, and those named besides.
    """
    own = {part.name: part for part in (*wanted, *also) if not isinstance(part, str)}
    known = {**known_mechanisms(), **own}
    named, more = ([p if isinstance(p, str) else p.name for p in each] for each in (wanted, also))
    for name in (*named, *more, *left_out):
        if name not in known:
            raise HowlearnError(
                f"there is no mechanism {name!r}; the mechanisms are {', '.join(known)}"
            )
    asked = [*named, *more, *left_out]
    for k, name in enumerate(asked):
        if name in asked[:k]:
            raise HowlearnError(f"mechanism {name} is named twice: list it once, or leave it out")
    told, n_actions = told_by(study, cells), len(study.actions)
    if "generalisation" in (*named, *more) and told["contexts"]:
        told["features"] = True  # all contexts count as alike
    absent = {name: "it was left out" for name in left_out if known[name].listed}
    for name, part in known.items():
        why = why_not(part, told, n_actions)
        if why is not None and name in (*named, *more):
            raise HowlearnError(f"these data cannot show {name}: {why}")
        if why is not None and part.listed:
            absent[name] = why
    usual = [name for name, part in known.items() if part.listed and name not in absent]
    chosen = {*(named or usual), *more}
    if not chosen:
        raise HowlearnError("there is no mechanism to look for: all were left out")
    return tuple(part for name, part in known.items() if name in chosen), absent
