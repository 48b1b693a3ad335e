"""What was learned from a population as a table, so that a run that was stopped knows it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from howlearn.evidence.hierarchy import Hyper
from howlearn.evidence.population import Learned, Rates
from howlearn.models.model import Model
from howlearn.shares.mixture import Shares

KINDS = ("<f8", "<i8", "<u8")  # of arrays; nothing else is kept, or taken from a file
SHARES = ("share", "lower", "upper", "log_likelihood", "resampled")
ARRAYS = ("expected", "log_evidence", "n_sampled", "prints", "gain", "price")
IF_ANY = ("expected_with_other", "log_other", "fold_of")

Arrays = dict[str, np.ndarray[Any, Any]]


def as_table(learned: Learned) -> pl.DataFrame:
    """One row per array."""
    found = _flat(learned).items()
    arrays = {name: array.astype(array.dtype.newbyteorder("<")) for name, array in found}
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
    arrays: Arrays = {}
    for row in table.iter_rows(named=True):
        if row["kind"] not in KINDS:
            raise ValueError(f"an array of the type {row['kind']}")
        array = np.frombuffer(row["content"], np.dtype(row["kind"])).reshape(row["shape"])
        arrays[row["name"]] = array.astype(array.dtype.newbyteorder("="))
    return _learned(arrays, tuple(models))


def _flat(learned: Learned, start: str = "") -> Arrays:
    names = [model.name for model in learned.models]
    found: dict[str, Any] = {start + name: getattr(learned, name) for name in ARRAYS}
    found |= {start + n: a for n in IF_ANY if (a := getattr(learned, n)) is not None}
    for k, rates in enumerate(learned.rates):
        found |= _flat_rates(rates, names, f"{start}rates.{k}.")
    if learned.other is not None:
        found |= _flat_rates(learned.other, names, f"{start}other.")
    for name in ("shares", "with_other"):
        shares = getattr(learned, name)
        if shares is not None:
            found |= {f"{start}{name}.{part}": getattr(shares, part) for part in SHARES}
    arrays = {name: np.asarray(value) for name, value in found.items()}
    if learned.rival is not None:
        arrays |= _flat(learned.rival, f"{start}rival.")
    for k, fold in enumerate(learned.folds):
        arrays |= _flat(fold, f"{start}folds.{k}.")
    return arrays


def _flat_rates(rates: Rates, names: list[str], start: str) -> dict[str, Any]:
    hyper = rates.hyper
    return {
        f"{start}models": np.array([names.index(name) for name in rates.models], np.int64),
        f"{start}values": np.array([hyper.mu, hyper.tau, hyper.s, rates.median]),
    }


def _learned(arrays: Arrays, models: tuple[Model, ...]) -> Learned:
    found: dict[str, Any] = {
        name: arrays[name].item() if arrays[name].ndim == 0 else arrays[name]
        for name in (*ARRAYS, *(name for name in IF_ANY if name in arrays))
    }
    if "other.models" in arrays:
        found["other"] = _rates(_inside(arrays, "other."), models)
    for name in ("shares", "with_other"):
        mine = _inside(arrays, f"{name}.")
        if mine:
            value = float(mine.pop("log_likelihood"))
            found[name] = Shares(**mine, log_likelihood=value)
    if rival := _inside(arrays, "rival."):
        found["rival"] = _learned(rival, models)
    folds = [_learned(fold, models) for fold in _numbered(arrays, "folds.")]
    rates = tuple(_rates(each, models) for each in _numbered(arrays, "rates."))
    return Learned(models=models, rates=rates, folds=tuple(folds), **found)


def _rates(arrays: Arrays, models: Sequence[Model]) -> Rates:
    mu, tau, s, median = arrays["values"].tolist()
    names = tuple(models[k].name for k in arrays["models"].tolist())
    return Rates(names, Hyper(mu, tau, s), median)


def _inside(arrays: Mapping[str, np.ndarray[Any, Any]], start: str) -> Arrays:
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}


def _numbered(arrays: Arrays, start: str) -> list[Arrays]:
    found: list[Arrays] = []
    while mine := _inside(arrays, f"{start}{len(found)}."):
        found.append(mine)
    return found
