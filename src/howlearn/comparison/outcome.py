"""What a selection says of every sequence of choices: the evidence of each model, its estimates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.runs.folder import read_table
from howlearn.selection.select import Selection
from howlearn.selection.share_tables import GRADED
from howlearn.selection.shares import certain
from howlearn.selection.unfitted import unfitted_in


@dataclass(frozen=True, eq=False)
class Outcome:
    """One criterion's answer; the axes are sequence, model."""

    criterion: str
    models: tuple[str, ...]
    labels: pl.DataFrame  # a row per sequence: learner, conditions, kept columns
    evidence: Floats  # in nats; of the selected model only, where the criterion gives none
    graded: bool  # whether it is log-evidence, and not only what was selected
    estimates: pl.DataFrame
    n_excluded: int = 0  # learners who are left out
    n_unfitted: int = 0  # learners who could not be fitted, and are left out too


def outcome_of(results: Selection | Path | str, criterion: str | None = None) -> Outcome:
    """Read a selection, or the folder that ``howlearn select`` left."""
    if isinstance(results, Selection):
        scores, estimates, lost = results.scores, results.estimates, results.unfitted
    else:
        folder = Path(results)
        if not folder.is_dir():
            raise HowlearnError(f"{folder} is not a folder; name one that howlearn select wrote")
        scores, estimates = read_table(folder, "scores"), read_table(folder, "estimates")
        lost = unfitted_in(folder)
    lacking = {"learner", "model", "criterion", "log_likelihood", "selected"} - {*scores.columns}
    if lacking:
        raise HowlearnError(f"scores of {results} have no column {', '.join(sorted(lacking))}")
    scores, n_excluded = _included(scores)
    estimates, _ = _included(estimates)
    chosen = _criterion(scores["criterion"].unique(maintain_order=True).to_list(), criterion)
    mine = scores.filter(pl.col("criterion") == chosen)
    models = _models(mine, estimates)
    order = _in_blocks(mine, models)
    labels = mine.select(mine.columns[: mine.columns.index("model")])[:: len(models)]
    graded = is_graded(mine, chosen)
    if graded:
        evidence = _placed(mine["log_likelihood"].cast(pl.Float64), order)
        if np.isnan(evidence).any():
            raise HowlearnError(f"{chosen} has no log-evidence for some learners and models")
    else:
        selected = _placed(mine["selected"].cast(pl.Float64), order)
        evidence = certain(selected.argmax(axis=1), len(models))
    n_lost = _included(lost)[0]["learner"].n_unique()
    return Outcome(chosen, models, labels, evidence, graded, estimates, n_excluded, n_lost)


def _included(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The rows of learners who are not excluded, and how many learners have others."""
    if "excluded" not in table.columns:
        return table, 0
    excluded = table.filter(pl.col("excluded").is_not_null())["learner"].n_unique()
    return table.filter(pl.col("excluded").is_null()).drop("excluded"), excluded


def is_graded(scores: pl.DataFrame, criterion: str) -> bool:
    """Whether a criterion's log_likelihood is a log-evidence: it gives probabilities of models."""
    if "probability" in scores.columns and scores["probability"].null_count() < len(scores):
        return True
    return criterion.partition("(")[0] in GRADED


def _criterion(known: list[str], asked: str | None) -> str:
    if asked is None:
        for name in GRADED:
            for text in known:
                if text.partition("(")[0] == name:
                    return text
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


def _in_blocks(scores: pl.DataFrame, models: tuple[str, ...]) -> np.ndarray:
    """The model of every row: [sequence, place]; each sequence must have every model once."""
    place = {name: k for k, name in enumerate(models)}
    codes = scores["model"].cast(pl.String).replace_strict(place, return_dtype=pl.Int64).to_numpy()
    n = len(models)
    learner = scores["learner"].to_numpy()
    if len(codes) % n == 0:
        blocks = codes.reshape(-1, n)
        whole = (np.sort(blocks, axis=1) == np.arange(n)).all()
        if whole and (learner.reshape(-1, n) == learner.reshape(-1, n)[:, :1]).all():
            return blocks
    raise HowlearnError(
        "the rows of scores are not as howlearn select writes them: every model once for each "
        "learner, one learner after the other"
    )


def _placed(values: pl.Series, order: np.ndarray) -> Floats:
    found = np.empty(order.shape)
    np.put_along_axis(found, order, values.fill_null(np.nan).to_numpy().reshape(order.shape), 1)
    return found
