"""What ``path`` found, as tables and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import ClassVar

import polars as pl

from howlearn.analyses import path_tables
from howlearn.analyses.path_tables import AVERAGED, KAPPA, leading
from howlearn.core.text import Listing, Sentence, listed
from howlearn.results.analysis import Analysis
from howlearn.selection.criteria import Penalized

# Whether the leading model changes along each axis, where, and what that means, in plain words.


MOST = 5  # stretches that a sentence names


def path_sentences(found: Path) -> list[str]:
    """One paragraph per axis."""
    parts = [price(found), prices_meaning(found), max_rate(found), prior(found), lost(found)]
    return [part for part in parts if part]


def lost(found: Path) -> str:
    """How many could not be fitted."""
    n, unit = found.n_unfitted, "sequence" if found.conditions else "learner"
    who = f"{n:,} {unit}" + ("s are" if n > 1 else " is")
    return f"{who} left out: not every model could be fitted." if n else ""


def price(found: Path) -> str:
    """Who leads at which price of a parameter."""
    rows = _of(found, KAPPA)
    if len(rows) == 1:
        row = rows[0]
        shares = _range(*(f"{row[end]:z.0%}" for end in ("lowest_share", "highest_share")))
        return (
            f"Price: {row['model']} leads at every price from 0 to {found.max_kappa:g} nats per "
            f"parameter, with {shares} of the {_unit(found)}."
        )
    if len(rows) > MOST:
        first, second, last = rows[0], rows[1], rows[-1]
        return (
            f"Price: the leading model changes {len(rows) - 1} times between 0 and "
            f"{found.max_kappa:g} nats per parameter, first at "
            f"{second['from_value']:.3g} from {first['model']} to {second['model']}, last at "
            f"{last['from_value']:.3g} to {last['model']} (path-leaders has all)."
        )
    texts = []
    for k, row in enumerate(rows):
        until = "beyond" if k == len(rows) - 1 else f"to {row['to_value']:.3g}"
        start = "" if k == len(rows) - 1 else f" from {row['from_value']:.3g}"
        texts.append(f"{row['model']}{start} {until}" + " nats per parameter" * (k == 0))
    return f"Price: the leading model is {listed(texts)} (up to {found.max_kappa:g})."


def prices_meaning(found: Path) -> str:
    """Where the usual criteria stand, and whether it matters which of them is taken."""
    rows = found.marks.sort("kappa", maintain_order=True).to_dicts()
    texts = []
    for row in rows:
        name = row["criterion"]
        name = f"the paper's {name}" if name == repr(Penalized()) else name
        stands = " stands" if not texts else ""
        span = (
            f" ({row['lowest']:.3g} to {row['highest']:.3g} over {_unit(found)})"
            if row["highest"] - row["lowest"] > 1e-9
            else ""
        )
        texts.append(f"{name}{stands} at {row['kappa']:.3g}{' nats' * (not texts)}{span}")
    inside = [row for row in rows if row["model"] is not None]
    said = listed(texts)
    said = said[0].upper() + said[1:]
    lead = leading(found.shares, KAPPA)
    at_each = [lead[row["kappa"], KAPPA] for row in inside]
    everywhere = [name for name in found.models if all(name in names for names in at_each)]
    if len(inside) < 2:
        return f"{said}."
    low, high = inside[0]["kappa"], inside[-1]["kappa"]
    moving = _moving(found, low, high)
    if everywhere:
        said += f": {_leads(everywhere)} at all of these prices"
    else:
        who = listed([f"{row['model']} at {row['kappa']:.3g}" for row in inside])
        said += (
            f". The leading model depends on which of them is taken ({who}): report it, and the "
            "path"
        )
    return (
        f"{said}. Between {low:.3g} and {high:.3g} nats the selection changes for {moving:,} of "
        f"{found.n_learners:,} {_unit(found)}."
    )


def max_rate(found: Path) -> str:
    """Who leads with which largest rate."""
    rows = _of(found, "max_rate")
    if not rows:
        return "Largest rate: no candidate has a learning rate whose bound could be moved."
    stretches: dict[str, list[str]] = {}  # criteria by what they say
    changing = 0
    for criterion in found.criteria:
        mine = [row for row in rows if row["criterion"] == criterion]
        changing += len(mine) > 1
        pieces = [
            f"{row['model']} with {_range(*(f'{row[e]:g}' for e in ('from_value', 'to_value')))}"
            for row in mine
        ]
        what = mine[0]["model"] if len(mine) == 1 else listed(pieces)
        stretches.setdefault(what, []).append(criterion)
    texts = [f"{what} by {listed(who)}" for what, who in stretches.items()]
    values = sorted({row[end] for row in rows for end in ("from_value", "to_value")})
    if values[0] == values[-1]:
        return f"Largest rate: with {values[0]:g}, the only one tried, {'; '.join(texts)}."
    what = f"changes by {changing} of {len(found.criteria)} criteria" if changing else "stays"
    head = f"Largest rate: between {values[0]:g} and {values[-1]:g} the leading model {what}"
    meaning = (
        " The bound is a convention, and a wide one favours finer partitions: report which one was "
        "used, and that it matters."
        if changing
        else ""
    )
    return f"{head}: {'; '.join(texts)}.{meaning}"


def prior(found: Path) -> str:
    """Who leads with which prior."""
    rows = _of(found, "prior")
    if not rows:
        return "Prior: no candidate has learning rates that can be integrated out."
    by = {row["criterion"]: row["model"] for row in rows}
    lead = leading(found.shares, "prior")
    usual = by[AVERAGED]
    level = set(lead[None, AVERAGED])
    other = {prior: model for prior, model in by.items() if not level & set(lead[None, prior])}
    if not other:
        rest = [name for name in by if name in found.criteria and name != AVERAGED]
        with_it = f", {listed(rest)} included" if rest else ""
        who = _leads(lead[None, AVERAGED])
        return f"Prior: {who} whatever is assumed about learning rates{with_it}."
    grouped: dict[str, list[str]] = {}
    for prior_text, model in other.items():
        grouped.setdefault(model, []).append(f"“{prior_text}”")
    texts = [f"{model} with {listed(priors)}" for model, priors in grouped.items()]
    return (
        f"Prior: {usual} leads by {AVERAGED}, which averages over spreads, but {listed(texts)}. "
        "What is assumed about learning rates decides here: report it, and prefer population "
        "where there are learners enough."
    )


def _leads(names: list[str]) -> str:
    """Who leads.

    >>> _leads(["ByShape"]), _leads(["ByShape", "OneForAll"])
    ('ByShape leads', 'ByShape and OneForAll lead')
    """
    return f"{listed(names)} {'leads' if len(names) == 1 else 'lead'}"


def _of(found: Path, axis: str) -> list[dict]:
    return found.leaders.filter(pl.col("axis") == axis).to_dicts()


def _moving(found: Path, low: float, high: float) -> int:
    """How many selections change between two prices."""
    mine = found.learners.filter(pl.col("axis") == KAPPA)
    # A learner's intervals stand together, and the first one starts at 0.
    number = (mine["from_kappa"] == 0.0).cum_sum().alias("number")
    inside = (pl.col("from_kappa") > low) & (pl.col("from_kappa") <= high)
    return mine.with_columns(number).filter(inside)["number"].n_unique()


def _unit(found: Path) -> str:
    return "sequences" if found.conditions else "learners"


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class Path(Analysis):
    """What is selected along the price of a parameter, the largest rate and the prior."""

    command = "path"
    ATTRIBUTES: ClassVar[Mapping[str, str]] = {
        "path": "shares",
        "path-learners": "learners",
        "path-leaders": "leaders",
        "path-marks": "marks",
    }
    CHARTS = ("path",)

    learners: pl.DataFrame  # one row per learner and interval of prices, bound, or prior
    models: tuple[str, ...]
    criteria: tuple[str, ...]
    n_learners: int  # or sequences, where a learner has several
    max_kappa: float
    prices: pl.DataFrame  # what criteria charge for a parameter
    conditions: bool = False  # whether learners have several sequences
    n_unfitted: int = 0  # who could not be fitted, and are left out

    def __repr__(self) -> str:
        return (
            f"Path of the selection among {', '.join(self.models)} for {self.n_learners:,} "
            "sequences: see .shares, .leaders, .marks, .learners, .sentences"
        )

    @cached_property
    def shares(self) -> pl.DataFrame:
        """How many learners each model is selected for; along the price at every 0.05 nats."""
        marks = self.prices["kappa"].to_list()
        return path_tables.shares(
            self.learners, self.models, marks, self.max_kappa, self.n_learners
        )

    @cached_property
    def leaders(self) -> pl.DataFrame:
        """The stretches of every axis that one model leads; along the price they are exact."""
        return path_tables.leaders(
            self.learners, self.shares, self.models, self.max_kappa, self.n_learners
        )

    @cached_property
    def marks(self) -> pl.DataFrame:
        """What criteria charge for a parameter, and who leads at that price."""
        lead = path_tables.leading(self.shares, path_tables.KAPPA)
        names = [
            " and ".join(lead[price, path_tables.KAPPA]) if price <= self.max_kappa else None
            for price in self.prices["kappa"]
        ]
        return self.prices.with_columns(pl.Series("model", names, dtype=pl.String))

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        """Shares along the price of a parameter, the largest rate and the prior, in one chart."""
        return {"path": self.shares}

    def summary(self) -> Iterator[Listing | Sentence]:
        """Who leads where; then whether that changes along each axis, and what it means."""
        title = f"The leading model for {self.n_learners:,} {_unit(self)}, by penalty"
        rows = [_row(row) for row in self.leaders.to_dicts() if row["axis"] == KAPPA]
        yield Listing(title, ("nats per parameter", "model", "share"), rows)
        yield from map(Sentence, path_sentences(self))

    def where(self, folder: FilePath) -> list[str]:
        names = "path.csv, path-learners.csv, path-leaders.csv, path.svg"
        return [f"Tables and chart: {folder}/{names}"]


def _row(row: dict) -> tuple[str, ...]:
    """A stretch that one model leads, as it is printed."""
    ends = row["from_value"], row["to_value"]
    place = row["criterion"] if None in ends else _range(*(f"{end:.3g}" for end in ends))
    share = _range(*(f"{row[end]:z.0%}" for end in ("lowest_share", "highest_share")))
    return place, row["model"], share


def _range(low: str, high: str) -> str:
    """Two ends, or one where they are the same.

    >>> _range("40%", "80%"), _range("1", "1")
    ('40% to 80%', '1')
    """
    return low if low == high else f"{low} to {high}"
