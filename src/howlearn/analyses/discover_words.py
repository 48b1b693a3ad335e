"""What was found, in plain words, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from howlearn.core.partition import cell_name
from howlearn.core.text import many
from howlearn.results.analysis import MOST_ROWS, Listing, Sentence

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
    columns = ("model", "mean probability", "the best for", "median nats behind")
    for condition, criterion in groups(found):
        where = f" ({condition})" if condition else ""
        first = criterion == found.criteria[0]
        if first and (rows := marked(found, condition, criterion)):
            yield Listing(f"Known partitions by {criterion}{where}", columns, rows[:MOST_ROWS])
        for sentence in sentences(found, condition, criterion)[0 if first else -1 :]:
            yield Sentence(f"{criterion}{where}: {sentence}.")
    yield from at_bounds(found)
    if found.answers:
        yield Sentence(same_answer(found))
    yield from advice(found)


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
            f"Some of {whose} met too many contexts for all partitions to be judged: theirs were "
            "searched, so that better ones may exist (the column exact says false)."
        )
    else:
        text = (
            f"The partitions of {n} contexts are too many to be judged one and all: they were "
            f"searched for {whose}, from several starts, so that better ones may exist, and "
            "co-classification is an average over the partitions that were met (the column exact "
            "says false)."
        )
    if found.n_unmet:
        text += (
            f" {found.n_unmet:,} of them did not meet every context: for these the partitions of "
            "the contexts that they met were judged, and pairs with another one are empty."
        )
    if lost:
        why = found.unjudged["status"].value_counts(sort=True)["status"][0]
        why = why.removeprefix(f"{NOT_JUDGED}: ")
        text += f" {lost:,} more could not be judged (status in partitions): {why}."
    return text


def groups(found: Discovery) -> list[tuple[str, str]]:
    """Every condition, as text, with every criterion."""
    judged = found.partitions.filter(pl.col("rank").is_not_null())
    frame = judged.select(_condition(found), "criterion")
    return [(row[0], row[1]) for row in frame.unique(maintain_order=True).rows()]


def marked(found: Discovery, condition: str, criterion: str) -> list[tuple[str, ...]]:
    """The marked partitions, the most probable one first."""
    frame = _of(found, found.models, condition, criterion)
    return [
        (
            row["model"],
            percent(row["mean_probability"], row["standard_error"]),
            f"{round(row['share_best'] * row['learners']):,} of {row['learners']:,}",
            f"{row['median_difference']:.1f}",
        )
        for row in frame.iter_rows(named=True)
    ]


def percent(share: float, error: float | None) -> str:
    """A share with its standard error.

    >>> percent(0.2206, 0.0556), percent(0.00001, None), percent(0.0, 0.0)
    ('22.1% ± 5.6', '<0.1%', '<0.1%')
    """
    if share < 0.0005:
        return "<0.1%"
    return f"{share:z.1%}" + (f" ± {100 * error:.1f}" if error is not None else "")


def sentences(found: Discovery, condition: str, criterion: str) -> list[str]:
    """The cells that the population agrees on, and the partition that is best most often."""
    said = []
    cells = _of(found, found.consensus, condition, criterion)
    if cells.height:
        inside = cells.group_by("cell", maintain_order=True).agg("context")["context"].to_list()
        place = found.contexts.index
        texts = "|".join(cell_name(sorted(cell, key=place)) for cell in inside)
        said.append(f"treated alike on average: {texts}")
    best = _of(found, found.partitions.filter(rank=1), condition, criterion)
    counts = best.group_by("partition", maintain_order=True).len()
    first = counts.sort("len", descending=True, maintain_order=True).row(0)
    said.append(
        f"the best partition is most often {first[0]}, for {first[1]:,} of {best.height:,}; the "
        f"best one has {best['probability'].median():z.0%} of the probability (median)"
    )
    return said


def same_answer(found: Discovery) -> str:
    """What no partition can tell apart."""
    text = (
        "Contexts with the same right answer look alike even if each is learned separately, so "
        "these data cannot show which of the two is true."
    )
    if found.answers:
        text += f" {found.answers} is the partition of the contexts with the same answer."
    return text


def at_bounds(found: Discovery) -> Iterator[Sentence]:
    """Whether the answer depends on the largest rate."""
    rows = found.bounds.to_dicts()
    if len({row["partition"] for row in rows}) > 1:
        told = "; ".join(f"{row['max_rate']:g}: {row['partition']}" for row in rows)
        yield Sentence(f"The best partition depends on the largest learning rate ({told}).")


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
