"""What was learned from all learners of a study, and its table for runs that go on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints
from howlearn.core.study import Study
from howlearn.models.model import Model
from howlearn.selection.mixture_shares import Shares

DEPENDS = ("", "depends on the bound", "depends on the prior")


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from all learners; knows them again by their records.

    Shares and probabilities are among the candidates; those with Other have it as a last column.
    """

    models: tuple[Model, ...]
    groups: tuple[str, ...]  # conditions that are judged apart; one without a name if none are
    group_of: Ints  # [learner]
    prints: NDArray[np.uint64] = field(repr=False)  # of the learners' records
    share: Floats  # [group, model]
    lower: Floats
    upper: Floats
    log_evidence: Floats  # [learner, model]
    probability: Floats
    depends: NDArray[np.int64]  # [learner]: place among DEPENDS
    centre: Floats  # [family, group]: means over draws
    width: Floats
    cells: Floats  # [family]
    offset: Floats  # [rated model]
    effective: Floats  # [model, 2]: points that clouds are worth, median and least; NaN without
    difference: float  # of a share between the chains
    sweeps: int
    n_sampled: int
    hyper: tuple[np.ndarray, ...] = field(repr=False)  # draws, to judge others
    drawn: Floats = field(repr=False)  # [draw, group, model and Other]: shares
    mean: Floats = field(repr=False)  # [cloud, group, parameter]: where clouds lie
    variance: Floats = field(repr=False)
    log_other: Floats | None = None  # [learner]
    p_other: Floats | None = None
    with_other: Floats | None = None  # [3, group, model + 1]: share, lower, upper

    def shares(self, condition: str | None) -> Shares | None:
        """With their intervals; None if conditions were not judged apart."""
        if (condition or "") not in self.groups:
            return None
        g = self.groups.index(condition or "")
        return Shares(self.share[g], self.lower[g], self.upper[g], np.nan, self.drawn[:, g])

    def rows_of(self, study: Study) -> Ints:
        """Where these learners stand among those learned from; −1 for others."""
        mine = prints_of(study)
        order = np.argsort(self.prints, kind="stable")
        at = np.searchsorted(self.prints[order], mine)
        at = np.minimum(at, len(order) - 1)
        return np.where(self.prints[order][at] == mine, order[at], -1)


# What was learned as a table, so that a run that was stopped knows it again.

KINDS = ("<f8", "<i8", "<u8", "|u1")  # of arrays; nothing else is kept, or taken from a file


def as_table(learned: Learned) -> pl.DataFrame:
    """One row per array."""
    arrays: dict[str, np.ndarray] = {}
    for each in fields(learned):
        value = getattr(learned, each.name)
        if each.name == "hyper":
            arrays |= {f"hyper.{k}": array for k, array in enumerate(value)}
        elif each.name == "groups":
            arrays["groups"] = np.frombuffer("\n".join(value).encode(), np.uint8)
        elif each.name != "models" and value is not None:
            arrays[each.name] = np.asarray(value)
    arrays = {n: array.astype(array.dtype.newbyteorder("<")) for n, array in arrays.items()}
    return pl.DataFrame(
        {
            "name": [*arrays],
            "kind": [array.dtype.str for array in arrays.values()],
            "shape": [[*array.shape] for array in arrays.values()],
            "content": [array.tobytes() for array in arrays.values()],
        },
        schema_overrides={"shape": pl.List(pl.Int64), "content": pl.Binary},
    )


def from_table(table: pl.DataFrame, models: Sequence[Model]) -> Learned:
    """What ``as_table`` kept; the models are those that it was learned with."""
    found: dict[str, Any] = {"models": tuple(models)}
    hyper = {}
    for row in table.iter_rows(named=True):
        if row["kind"] not in KINDS:
            raise ValueError(f"an array of the type {row['kind']}")
        array = np.frombuffer(row["content"], np.dtype(row["kind"])).reshape(row["shape"])
        array = array.astype(array.dtype.newbyteorder("="))
        if row["name"] == "groups":
            found["groups"] = tuple(array.tobytes().decode().split("\n"))
        elif row["name"].startswith("hyper."):
            hyper[int(row["name"].removeprefix("hyper."))] = array
        else:
            found[row["name"]] = array.item() if array.ndim == 0 else array
    return Learned(**found, hyper=tuple(hyper[k] for k in sorted(hyper)))


def prints_of(study: Study) -> NDArray[np.uint64]:
    """A hash of every learner's record."""
    return np.concatenate([np.empty(0, np.uint64), *(_prints(part) for part in study.parts())])


def _prints(study: Study) -> NDArray[np.uint64]:
    columns = [study.context, study.action, study.reward, study.scored, study.learned, study.reset]
    columns += [each for each in (study.offered, study.load) if each is not None]
    same = repr((study.contexts, study.actions, study.reward_range)).encode()
    found = np.empty(len(study), np.uint64)
    for i in range(len(study)):
        mine = slice(int(study.starts[i]), int(study.starts[i + 1]))
        digest = hashlib.blake2b(same, digest_size=8)
        for column in columns:
            digest.update(np.ascontiguousarray(column[mine]).tobytes())
        found[i] = np.frombuffer(digest.digest(), np.uint64)[0]
    return found
