"""Who belongs to which group, and what is found of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.errors import DataError, HowlearnError
from howlearn.core.text import few, many
from howlearn.reading.columns import guess
from howlearn.reading.formats.open import open_tables
from howlearn.reading.labels import MISSING_TOKENS, canonical_series, natural_key
from howlearn.results.results import Results
from howlearn.selection.criteria import CRITERIA, kind_named
from howlearn.selection.criterion import LOG_EVIDENCE
from howlearn.selection.mixture_shares import HELD, certain, drawn_times
from howlearn.selection.share_tables import scored
from howlearn.selection.tables import included

Design = Literal["group", "within"]
MOST = 20  # groups


@dataclass(frozen=True, eq=False)
class Groups:
    """The sequences that are compared."""

    design: Design
    column: str
    names: tuple[str, ...]
    code: NDArray[np.int64]  # the group of every sequence that is kept
    owner: NDArray[np.int64]  # its learner, numbered from 0
    kept: NDArray[np.int64]  # its place among all sequences
    notes: tuple[str, ...]

    @property
    def n_learners(self) -> int:
        return int(self.owner.max()) + 1

    def sizes(self) -> list[tuple[int, int]]:
        """Learners and sequences of every group."""
        return [
            (len(np.unique(self.owner[self.code == g])), int((self.code == g).sum()))
            for g in range(len(self.names))
        ]

    def only(self, pair: Sequence[int]) -> Groups:
        """Two of the groups."""
        mine = np.isin(self.code, pair)
        _, owner = np.unique(self.owner[mine], return_inverse=True)
        code = np.searchsorted(np.asarray(pair), self.code[mine])
        names = tuple(self.names[g] for g in pair)
        return Groups(self.design, self.column, names, code, owner, np.flatnonzero(mine), ())


def groups_of(
    labels: pl.DataFrame, column: str, design: Design, about: Path | str | Any | None = None
) -> Groups:
    """The group of every sequence; what cannot be compared is refused or left out with a note."""
    learners = canonical_series(labels["learner"].cast(pl.String))
    values, file_notes = _values(labels, learners, column, about)
    values = values.set(values.is_in([*MISSING_TOKENS]), None)
    notes = [*file_notes]
    known = values.is_not_null().to_numpy()
    if not known.all():
        several = f"{int((~known).sum()):,} of {len(known):,} sequences"
        notes.append(f"{column} is missing for {several}, which are left out")
    names = sorted(values.drop_nulls().unique().to_list(), key=natural_key)
    kept = np.flatnonzero(known)
    if design == "within":
        kept, more = _complete(learners, values, kept, names, column)
        notes += more
    _check_groups(names, learners, values, kept, column, design)
    place = {name: g for g, name in enumerate(names)}
    code = np.array([place[value] for value in values[kept].to_list()], np.int64)
    who = learners[kept].to_list()
    order = {name: i for i, name in enumerate(dict.fromkeys(who))}
    owner = np.array([order[name] for name in who], np.int64)
    if design == "group" and len(owner) > len(order):
        notes.append(
            "learners have several sequences: for rates they are resampled and permuted as "
            "learners, but shares take their sequences as independent, so their intervals may be "
            "too narrow"
        )
    groups = Groups(design, column, tuple(names), code, owner, kept, ())
    for name, (n, _) in zip(names, groups.sizes(), strict=True):
        if n == 1:
            notes.append(f"{column} {name} has one learner only: little can be said about it")
    return replace(groups, notes=tuple(notes))


def _values(
    labels: pl.DataFrame, learners: pl.Series, column: str, about: Any | None
) -> tuple[pl.Series, list[str]]:
    if about is None:
        there = [name for name in labels.columns if name != "learner"]
        if column not in there:
            known = f"there are {', '.join(there)}" if there else "there is none"
            raise HowlearnError(
                f"the results have no column {column!r} to group learners by: {known}; "
                "make them again with --keep or --by, or give a file with --groups"
            )
        return canonical_series(labels[column].cast(pl.String)), []
    tables, problems, _ = open_tables(about)
    if problems:
        raise DataError(problems)
    if len(tables) != 1:
        raise HowlearnError(f"--groups takes one file with a row per learner, got {len(tables)}")
    (table,) = tables
    found = guess("learner", table.columns)
    if not found:
        raise HowlearnError(
            f"{table.name} has no column for the learner; it has {', '.join(table.columns)}"
        )
    if column not in table.columns or column == found[0]:
        raise HowlearnError(
            f"{table.name} has no column {column!r} to group by; it has {', '.join(table.columns)}"
        )
    rows = pl.concat([*table.frames([found[0], column])])
    keys = canonical_series(rows[found[0]].cast(pl.String)).to_list()
    group = canonical_series(rows[column].cast(pl.String)).to_list()
    of: dict[str, str | None] = {}
    for key, value in zip(keys, group, strict=True):
        if key in of and of[key] != value:
            raise HowlearnError(
                f"{table.name}: learner {key} has two values of {column}, {of[key]} and {value}"
            )
        of[key] = value
    unknown = set(learners.to_list()) - of.keys()
    if len(unknown) == len(set(learners.to_list())):
        raise HowlearnError(f"{table.name} names none of the learners of the results")
    notes = [f"{table.name} does not name {len(unknown):,} learners"] if unknown else []
    return pl.Series([of.get(name) for name in learners.to_list()], dtype=pl.String), notes


def _complete(
    learners: pl.Series,
    values: pl.Series,
    kept: NDArray[np.int64],
    names: list[str],
    column: str,
) -> tuple[NDArray[np.int64], list[str]]:
    """Only learners who occur under every value."""
    seen: dict[str, set[str]] = {}
    for i in kept:
        seen.setdefault(learners[int(i)], set()).add(values[int(i)])
    whole = {name for name, found in seen.items() if len(found) == len(names)}
    if not whole and len(names) > 1:
        raise HowlearnError(
            f"no learner occurs under every value of {column} ({few(names, 5)}); --within compares "
            "conditions of the same learners (howlearn select --by), --group different learners"
        )
    kept = np.array([i for i in kept if learners[int(i)] in whole], np.int64)
    left_out = len(seen) - len(whole)
    if not left_out:
        return kept, []
    return kept, [f"{left_out:,} learners do not occur under every value of {column}: left out"]


def _check_groups(
    names: list[str],
    learners: pl.Series,
    values: pl.Series,
    kept: NDArray[np.int64],
    column: str,
    design: Design,
) -> None:
    if len(names) < 2:
        what = f"only the value {names[0]}" if names else "no value"
        raise HowlearnError(
            f"{column} has {what} among the learners who were fitted and are not excluded: there "
            "is nothing to compare"
        )
    n_learners = learners[kept].n_unique()
    if design == "group":
        per = pl.DataFrame({"learner": learners[kept], "value": values[kept]}).unique()
        twice = per.filter(pl.col("learner").is_duplicated()).sort("learner", "value")
        if len(twice):
            first = twice["learner"][0]
            both = twice.filter(pl.col("learner") == first)["value"].to_list()
            raise HowlearnError(
                f"learner {first} has several values of {column} ({few(both, 5)}): a group is a "
                "property of the learner; conditions of the same learners are compared by --within"
            )
        if len(names) >= n_learners:
            raise HowlearnError(
                f"{column} has as many values as there are learners ({n_learners:,}): name a "
                f"column with several learners in each group"
            )
    if len(names) > MOST:
        raise HowlearnError(
            f"{column} has {len(names):,} values ({few(names, 5)}): name a column with at most "
            f"{MOST} groups; divide numbers such as an age into classes first"
        )


# Resampled learners and permuted labels: the two kinds of chance behind intervals and p.


def resampled(groups: Groups, times: int, random: np.random.Generator) -> Iterator[Floats]:
    """How often each sequence is drawn, when learners are drawn within their groups.

    Where learners occur in every group they are drawn with all their sequences. Yields some
    resamples at a time, [resample, sequence].
    """
    size = max(1, HELD // len(groups.code))
    for start in range(0, times, size):
        many = min(size, times - start)
        if groups.design == "within":
            yield drawn_times(groups.owner, many, random)
            continue
        found = np.empty((many, len(groups.code)))
        for g in range(len(groups.names)):
            mine = groups.code == g
            _, owner = np.unique(groups.owner[mine], return_inverse=True)
            found[:, mine] = drawn_times(owner, many, random)
        yield found


def dealt(groups: Groups, times: int, random: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Permuted groups: between learners, or within each learner. [permutation, sequence]"""
    size = max(1, HELD // len(groups.code))
    for start in range(0, times, size):
        many = min(size, times - start)
        if groups.design == "group":
            yield _between(groups, many, random)
        else:
            yield _within(groups, many, random)


def _between(groups: Groups, many: int, random: np.random.Generator) -> NDArray[np.int64]:
    own = np.zeros(groups.n_learners, np.int64)
    own[groups.owner] = groups.code
    order = np.argsort(random.random((many, len(own))), axis=1)
    return own[order][:, groups.owner]


def _within(groups: Groups, many: int, random: np.random.Generator) -> NDArray[np.int64]:
    base = np.argsort(groups.owner, kind="stable")
    order = np.argsort(groups.owner + random.random((many, len(base))), axis=1)
    found = np.empty_like(order)
    found[:, base] = groups.code[order]
    return found


def p_value(observed: float, others: Floats, slack: float) -> tuple[float, float]:
    """The share of deals at least as extreme, the observed one among them, and its error."""
    n = len(others)
    reached = int((others >= observed - slack).sum())
    p = (1 + reached) / (1 + n)
    return p, float(np.sqrt(p * (1 - p) / (1 + n)))


# What a selection says of every sequence of choices: the evidence of each model, its estimates.


@dataclass(frozen=True, eq=False)
class Outcome:
    """One criterion's answer; the axes are sequence, model."""

    criterion: str
    models: tuple[str, ...]
    labels: pl.DataFrame  # a row per sequence: learner, conditions, kept columns
    evidence: Floats  # in nats; of the selected model only, where the criterion gives none
    graded: bool  # whether it is log-evidence, and not only what was selected
    estimates: pl.DataFrame
    left_out: tuple[str, ...] = ()  # who is, in sentences


def outcome_of(results: Results | Path | str, criterion: str | None = None) -> Outcome:
    """Read a selection, or the folder that ``howlearn select`` left."""
    found = Results.of(results)
    scores, estimates = found.table("scores"), found.table("estimates")
    needed = {"learner", "model", "criterion", "log_likelihood", "score", "selected"}
    lacking = needed - {*scores.columns}
    if lacking:
        raise HowlearnError(f"scores of {results} have no column {', '.join(sorted(lacking))}")
    chosen = _criterion(scores["criterion"].unique(maintain_order=True).to_list(), criterion)
    mine = scores.filter(pl.col("criterion") == chosen)
    models = _models(mine, estimates)
    given = scored(scores.lazy(), chosen, models)
    labels = mine.select(mine.columns[: mine.columns.index("model")])[:: len(models)]
    graded = is_graded(mine, chosen)
    evidence = given.log_likelihood if graded else certain(given.selected, len(models))
    if np.isnan(evidence).any():
        raise HowlearnError(f"{chosen} has no log-evidence for some learners and models")
    left_out = []
    if lost := included(found.unfitted)["learner"].n_unique():
        left_out.append(f"{many(lost, 'learner')} could not be fitted: left out here")
    if "excluded" in found.scores.columns:
        out = found.scores.filter(pl.col("excluded").is_not_null())["learner"].n_unique()
        if out:
            left_out.append(f"{out:,} learners are excluded (--exclude), and left out here")
    return Outcome(chosen, models, labels, evidence, graded, estimates, tuple(left_out))


def is_graded(scores: pl.DataFrame, criterion: str) -> bool:
    """Whether a criterion's log_likelihood is a log-evidence: it gives probabilities of models."""
    if "probability" in scores.columns and scores["probability"].null_count() < len(scores):
        return True
    return kind_named(criterion).evidence == LOG_EVIDENCE


def _criterion(known: list[str], asked: str | None) -> str:
    if asked is None:
        for kind in CRITERIA.values():
            mine = [text for text in known if kind_named(text) is kind]
            if mine and kind.evidence == LOG_EVIDENCE:
                return mine[0]
        return known[0]
    found = [text for text in known if asked in (text, text.partition("(")[0])]
    if asked in known:
        return asked
    if len(found) != 1:
        raise HowlearnError(
            f"the results have {'several criteria' if found else 'no criterion'} {asked!r}; "
            f"--criterion takes one of {', '.join(known)}"
        )
    return found[0]


def _models(scores: pl.DataFrame, estimates: pl.DataFrame) -> tuple[str, ...]:
    """In the order of the candidates, which scores, best first, do not keep."""
    scored = scores["model"].cast(pl.String).unique(maintain_order=True).to_list()
    fitted = estimates["model"].cast(pl.String).unique(maintain_order=True).to_list()
    return (*(m for m in fitted if m in scored), *(m for m in scored if m not in fitted))
