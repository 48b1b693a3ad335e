"""What ``discover`` found in plain words; what it cannot tell apart, and what it depends on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from howlearn.core.columns import of
from howlearn.core.partition import Partition, cell_name
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.core.text import Listing, Sentence, many
from howlearn.models.partition_model import PartitionModel
from howlearn.results.analysis import MOST_ROWS

if TYPE_CHECKING:
    from howlearn.analyses.discover_tables import Discovery

NOT_JUDGED = "not judged"  # how the status of a learner begins who was not
SURE = 0.8  # of the best partition's probability: below it one should not rest on it alone


def bell(n: int) -> int:
    """How many partitions n contexts have.

    >>> bell(9)
    21147
    """
    row = [1]
    for _ in range(n - 1):
        following = [row[-1]]
        for value in row:
            following.append(following[-1] + value)
        row = following
    return row[-1]


def summary_of(found: Discovery) -> Iterator[Listing | Sentence]:
    """What ``howlearn discover`` prints."""
    yield Sentence(how(found))
    if found.n_chance:
        judged = found.partitions.filter(criterion=found.criteria[0], rank=1).height
        yield Sentence(
            f"For {found.n_chance:,} of {judged:,}, no partition explains the choices better than "
            "guessing; for them nothing below holds."
        )
    yield from by_condition(found) if found.by else overall(found)
    yield from _depends_on_bounds(found)
    yield Sentence(same_answer(found))
    yield from advice(found)


def overall(found: Discovery) -> Iterator[Listing | Sentence]:
    """The first criterion answers; the others get one sentence each."""
    first, *others = found.criteria
    if rows := marked(found, first):
        columns = ("model", "mean probability", "the best for", "median nats behind")
        yield Listing(f"Known partitions by {_short(found, first)}", columns, rows[:MOST_ROWS])
    if cells := alike(found, "", first):
        yield Sentence(f"Treated alike on average: {cells}.")
    best, count, n, median = most_often(found, "", first)
    yield Sentence(
        f"The best partition is most often {best} ({count:,} of {n:,}). The best one has "
        f"{median:z.0%} of the probability (median)."
    )
    for criterion in others:
        other, count, n, median = most_often(found, "", criterion)
        which = "the same" if other == best else other
        yield Sentence(
            f"By {_short(found, criterion)} it is most often {which} ({count:,} of {n:,}; "
            f"{median:z.0%})."
        )


def by_condition(found: Discovery) -> Iterator[Listing | Sentence]:
    """A row per condition, by the first criterion."""
    first, rows = found.criteria[0], []
    for condition in conditions(found):
        best, count, n, median = most_often(found, condition, first)
        rows.append((condition, best, f"{count:,} of {n:,}", f"{median:z.0%}"))
    title = f"The partition that is best most often, by {_short(found, first)}"
    left = len(rows) - MOST_ROWS
    legend = f"{many(left, 'more condition')}: partitions.csv." if left > 0 else ""
    heads = ("condition", "partition", "for", "its probability (median)")
    yield Listing(title, heads, rows[:MOST_ROWS], legend=legend)


def how(found: Discovery) -> str:
    """What was gone through, and whether all of it."""
    n, lost = len(found.contexts), len(found.unjudged)
    mine = found.partitions.filter(pl.col("criterion") == found.criteria[0])
    judged = mine.filter(rank=1).height
    whose = many(judged, "learner")
    if mine["learner"].n_unique() < judged + lost:
        whose = f"{judged:,} learner × condition sequences"
    if found.exact:
        text = f"All {bell(n):,} partitions of {n} contexts were judged for {whose}, exactly."
    elif found.partitions["exact"].any():
        text = (
            f"Some of {whose} met too many contexts to judge all partitions. Theirs were searched, "
            "so better ones may exist (exact is false in the tables)."
        )
    else:
        text = (
            f"{n} contexts have too many partitions to judge them all. They were searched for "
            f"{whose}, from several starts: better ones may exist, and co-classification is an "
            "average over the partitions that were tried (exact is false in the tables)."
        )
    if found.n_unmet:
        text += (
            f" {found.n_unmet:,} of them did not meet every context: for these, only the contexts "
            "that they met were divided, and pairs with other contexts are empty."
        )
    if lost:
        why = found.unjudged["status"].value_counts(sort=True)["status"][0]
        why = why.removeprefix(f"{NOT_JUDGED}: ")
        text += f" {lost:,} more could not be judged (status in partitions): {why}."
    return text


def conditions(found: Discovery) -> list[str]:
    """Every condition, as text."""
    judged = found.partitions.filter(pl.col("rank").is_not_null())
    return judged.select(_condition(found)).to_series().unique(maintain_order=True).to_list()


def marked(found: Discovery, criterion: str) -> list[tuple[str, ...]]:
    """The marked partitions, the most probable one first."""
    return [
        (
            row["model"],
            percent(row["mean_probability"], row["standard_error"]),
            f"{round(row['share_best'] * row['learners']):,} of {row['learners']:,}",
            f"{row['median_difference']:.1f}",
        )
        for row in _of(found, found.models, "", criterion).iter_rows(named=True)
    ]


def percent(share: float, error: float | None) -> str:
    """A share with its standard error.

    >>> percent(0.2206, 0.0556), percent(0.00001, None), percent(0.0, 0.0)
    ('22.1% ± 5.6', '<0.1%', '<0.1%')
    """
    if share < 0.0005:
        return "<0.1%"
    return f"{share:z.1%}" + (f" ± {100 * error:.1f}" if error is not None else "")


def alike(found: Discovery, condition: str, criterion: str) -> str:
    """The cells that the population agrees on."""
    cells = _of(found, found.consensus, condition, criterion)
    inside = cells.group_by("cell", maintain_order=True).agg("context")["context"].to_list()
    return "|".join(cell_name(sorted(cell, key=found.contexts.index)) for cell in inside)


def most_often(found: Discovery, condition: str, criterion: str) -> tuple[str, int, int, float]:
    """The partition that is best most often, with its name if it has one, for how many of how
    many, and how probable the best one is (median)."""
    best = _of(found, found.partitions.filter(rank=1), condition, criterion)
    counts = best.group_by("partition", "model", maintain_order=True).len()
    which, name, count = counts.sort("len", descending=True, maintain_order=True).row(0)
    median = best["probability"].median()
    told = f"{which} = {name}" if name else which
    return told, count, best.height, median if isinstance(median, float) else float("nan")


def _short(found: Discovery, criterion: str) -> str:
    """A criterion without its settings, where that is enough."""
    names = [text.partition("(")[0] for text in found.criteria]
    name = criterion.partition("(")[0]
    return name if names.count(name) == 1 else criterion


def same_answer(found: Discovery) -> str:
    """What no partition can tell apart."""
    text = (
        "Contexts with the same right answer look alike even if each is learned separately, so "
        "these data cannot show which of the two is true."
    )
    if found.answers:
        text += f" {found.answers} is the partition of the contexts with the same answer."
    return text


def _depends_on_bounds(found: Discovery) -> Iterator[Sentence]:
    """Whether the answer depends on the largest rate."""
    for (condition,), mine in found.bounds.group_by(["under"], maintain_order=True):
        if mine["partition"].n_unique() > 1:
            where = f" ({condition})" if condition else ""
            told = "; ".join(
                f"{row['max_rate']:g}: {row['partition']}" for row in mine.iter_rows(named=True)
            )
            yield Sentence(
                f"The best partition depends on the largest learning rate{where} ({told})."
            )


def advice(found: Discovery) -> Iterator[Sentence]:
    """What to do next."""
    best = found.partitions.filter(rank=1)["probability"].median()
    if isinstance(best, float) and best < SURE:
        yield Sentence(
            "No single partition is certain. Read coclassification.svg: pairs near 1 are treated "
            "alike, pairs near 0 separately; 0.5 means that nothing is known."
        )


def _condition(found: Discovery) -> pl.Expr:
    parts = [pl.format(f"{name} {{}}", pl.col(name)) for name in found.by]
    text = pl.concat_str(parts, separator=", ", ignore_nulls=True) if parts else pl.lit("")
    return text.alias("_condition")


def _of(found: Discovery, frame: pl.DataFrame, condition: str, criterion: str) -> pl.DataFrame:
    mine = frame.with_columns(_condition(found)).filter(_condition=condition, criterion=criterion)
    return mine.drop("_condition")


# What ``discover`` cannot tell apart, and how far its answer depends on the largest rate.


NAME = "SameAnswer"
CLEAR = 0.95  # of the rewarded choices in a context: the right answer is then the same for all
BOUNDS = (0.5, 1.0, 5.0)  # largest rates that are tried
SAMPLE, MOST_CONTEXTS = 20, 10  # learners and contexts with which that takes seconds


def with_answers(
    study: Study, models: Sequence[PartitionModel]
) -> tuple[tuple[PartitionModel, ...], str]:
    """The marked partitions with that by right answers among them, and its name; "" if unknown."""
    cells = _same_answer(study)
    if cells is None:
        return tuple(models), ""
    own = {frozenset(cell) for cell in cells}
    for model in models:
        if {frozenset(cell) for cell in model.partition.cells} == own:
            return tuple(models), model.name
    return (*models, PartitionModel(NAME, Partition(cells))), NAME


def _same_answer(study: Study) -> tuple[tuple[str, ...], ...] | None:
    """The contexts by their right answers; None where these are not known, or all the same."""
    answers = study.answers
    if answers is None or (answers < 0).any():
        if study.right_wrong is None:
            return None
        right = study.learned & (study.reward == study.right_wrong[1])
        times = np.zeros((len(study.contexts), len(study.actions)))
        np.add.at(times, (study.context[right], study.action[right]), 1)
        if (times.max(axis=1) < np.maximum(CLEAR * times.sum(axis=1), 1)).any():
            return None
        answers = times.argmax(axis=1)
    groups: dict[int, list[str]] = {}
    for context, answer in zip(study.contexts, answers.tolist(), strict=True):
        groups.setdefault(answer, []).append(context)
    return tuple(map(tuple, groups.values())) if len(groups) > 1 else None


def at_bounds(study: Study, rule: Rule, found: Discovery) -> pl.DataFrame:
    """The best partitions of some learners by the first criterion, at several largest rates."""
    table = of("bounds", "discover")
    slow = not (rule.smooth_with_gains and rule.form == "gain")
    if slow or len(study.contexts) > MOST_CONTEXTS:
        return table.of_rows([])
    labels = [""] * len(study)
    if found.by:
        names = [name.removeprefix("input_") for name in found.by]
        values = study.labels.select(found.by).iter_rows()
        labels = [", ".join(map(" ".join, zip(names, map(str, v), strict=True))) for v in values]
    rows: list[tuple[object, ...]] = []
    for label in dict.fromkeys(labels):
        mine = np.flatnonzero(np.array(labels) == label)[:SAMPLE]
        rows += _with_bounds(study.take(mine), rule, found.criteria[0], label)
    return table.of_rows(rows)


def _with_bounds(
    some: Study, rule: Rule, criterion: str, condition: str
) -> list[tuple[object, ...]]:
    """A row for each largest rate, the smallest first."""
    from howlearn.analyses.discover import Asked, attempt
    from howlearn.analyses.discover_criteria import check_criteria

    rows: list[tuple[object, ...]] = []
    for bound in sorted({*BOUNDS, rule.max_rate}):
        asked = Asked(rule.with_max_rate(bound), check_criteria([criterion]), (), 1, ())
        best = attempt(asked, some)["partitions"].filter(rank=1)
        counts = best["partition"].value_counts(sort=True)
        if len(counts):
            rows.append((criterion, condition, bound, len(best), counts["partition"][0],
                         counts["count"][0] / len(best), best["n_cells"].median()))  # fmt: skip
    return rows
