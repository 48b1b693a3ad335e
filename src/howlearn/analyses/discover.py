"""``discover``: the best of all partitions for each learner, and who is treated alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl
from polars import DataFrame

from howlearn.analyses import discover_criteria, discover_tables
from howlearn.analyses.discover_search import Judged, Search, judge
from howlearn.analyses.discover_tables import (
    LEARNERS,
    Discovery,
    conditions_of,
    contexts_met,
    marks_of,
)
from howlearn.analyses.discover_words import NOT_JUDGED, at_bounds, with_answers
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Rule
from howlearn.core.rules import RULES, GradientBandit
from howlearn.core.study import SHORTEST, Study
from howlearn.engine.set_partitions import LARGEST, all_sets
from howlearn.fitting.fit import Progress
from howlearn.fitting.unfittable import PASSED_ON, NoNumbers, reason, too_short
from howlearn.models.model import Model
from howlearn.models.names import among, learning_of, models_of
from howlearn.models.partition_model import PartitionModel, check_contexts
from howlearn.runs.cluster import engine_of
from howlearn.runs.parts import Memory, Part, Store, Work, in_threads
from howlearn.selection.criterion import Criterion
from howlearn.selection.select import WITHIN

if TYPE_CHECKING:
    from distributed import Client


COUNT = 5  # partitions listed per learner and criterion
BLOCK_BYTES = 8e6  # of likelihoods on the grid, for the learners of a block


def discover(
    study: Study,
    rule: Rule | str = GradientBandit(),  # noqa: B008  (frozen)
    criteria: Sequence[Criterion | str] = discover_criteria.DEFAULT,
    models: Sequence[PartitionModel | str] = (),
    count: int = COUNT,
    by: Sequence[str] = (),
    threads: int | None = None,
    progress: Progress | None = None,
    *,
    client: Client | None = None,
) -> Discovery:
    """Judge all partitions of the contexts that each learner met.

    Exact for up to 14 contexts, by recursion over fitted cells; beyond that a search, which the
    column ``exact`` says. The partitions of ``models`` are marked, and so is that of the contexts
    with the same right answer, where it is known. ``by`` names conditions, each with a
    separate population; ``count`` is how many of the best partitions are listed. With a
    Dask ``client`` its workers judge.

    >>> import howlearn as hl
    >>> task = hl.Task.load("shepard-1")
    >>> study = hl.simulate(task, "ByFeature1", {"eta": 0.1}, learners=2, trials=400, seed=1)
    >>> found = hl.discover(study, criteria=["ewens"], models=task.models)
    >>> found.models["model"][0]  # the most probable one
    'ByFeature1'
    """
    study = study.without_excluded()
    learning = cast(Rule, learning_of(rule))  # anything else is refused below, in words
    marked = cast(Sequence[PartitionModel], models_of(models, among(study)))
    criteria = check(study, learning, criteria, marked, count, by)
    marked, answers = with_answers(study, marked)
    asked = Asked(learning, criteria, marked, count, by)
    whole = len(study) if client is None else None  # threads share one part
    found = discover_in(Memory(engine_of(client, threads)), study, asked, progress, whole)
    return replace(found, answers=answers, bounds=at_bounds(study, learning, found))


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked for, once it is checked."""

    rule: Rule
    criteria: Sequence[Criterion]
    models: Sequence[PartitionModel]  # whose partitions are marked
    count: int  # of partitions that are listed
    by: Sequence[str]


def attempt(
    asked: Asked, study: Study, threads: int | None = None, progress: Progress | None = None
) -> dict[str, DataFrame]:
    """The tables of some learners, after the checks: perhaps nobody can be judged."""
    work = _Judging(study, asked)
    blocks = work.blocks()
    done = 0

    def step(block: list[int]) -> list[tuple[int, list[Judged]]]:
        nonlocal done
        found = work.tried(block)
        done += len(block)
        if progress:
            progress(done, len(study))
        return found

    # What is compiled on first use is compiled before threads would wait for each other.
    results = step(blocks[0]) if blocks else []
    for part in in_threads(step, blocks[1:], threads):
        results += part
    return discover_tables.tables_of(
        study, asked.criteria, asked.models, work.met, work.named, dict(results), work.reasons
    )


def check(
    study: Study,
    rule: Rule,
    criteria: Sequence[Criterion | str],
    models: Sequence[Model],
    count: int,
    by: Sequence[str],
) -> tuple[Criterion, ...]:
    """Refuse what cannot be judged, before any work is done."""
    if not isinstance(rule, Rule):
        what = getattr(rule, "name", repr(rule))
        raise HowlearnError(
            f"all partitions can be judged where cells learn independently by one of the rules "
            f"{', '.join(RULES)}; {what} is fitted whole, and goes with howlearn select only"
        )
    for model in models:
        if not model.units:
            raise HowlearnError(
                f"only partitions can be marked, and {model.name} is not a partition"
            )
        model.check_covers(study.contexts)
    if not count >= 1:
        raise HowlearnError(f"at least one partition must be listed, got {count}")
    if not len(study):
        raise HowlearnError("there is no learner")
    unknown = [column for column in by if column not in study.about.columns]
    if unknown:
        raise HowlearnError(f"there is no condition {unknown[0]!r} in the study")
    check_contexts(study)
    return discover_criteria.check_criteria(criteria)


class _Judging:
    """Learners in blocks that met the same contexts."""

    def __init__(self, study: Study, asked: Asked) -> None:
        self.study, self.rule = study, asked.rule
        self.criteria, self.count = asked.criteria, asked.count
        self.needs = discover_criteria.needs_of(asked.criteria)
        self.met = discover_tables.contexts_met(study)
        self.why = too_short(study)  # learners who cannot be judged
        code = {context: i for i, context in enumerate(study.contexts)}
        cells = [
            [[code[c] for c in cell if c in code] for cell in model.partition.cells]
            for model in asked.models
        ]
        self.named = {codes: [_masks(parts, codes) for parts in cells] for codes in set(self.met)}

    def blocks(self) -> list[list[int]]:
        same: dict[tuple[int, ...], list[int]] = {}
        for i, codes in enumerate(self.met):
            if i in self.why:
                continue
            same.setdefault(codes, []).append(i)
        found = []
        for codes, learners in same.items():
            fit = int(BLOCK_BYTES // (2 ** min(len(codes), LARGEST) * 64 * 8))
            size = min(max(1, fit), 10) if len(codes) <= LARGEST else 1
            found += [learners[k : k + size] for k in range(0, len(learners), size)]
        return found

    @property
    def reasons(self) -> dict[int, str]:
        return {i: reason(self.why[i]) for i in sorted(self.why)}

    def tried(self, block: list[int]) -> list[tuple[int, list[Judged]]]:
        """All who can be judged; the others are found by halving, and noted."""
        try:
            found = self.judge(block)
            for learner, judged in found:
                if np.isnan([one.total for one in judged]).any():
                    self.why[learner] = NoNumbers("its score is not a number (NaN)")
            return [one for one in found if one[0] not in self.why]
        except PASSED_ON:
            raise
        except Exception as error:  # whatever one learner's numbers may do
            if len(block) == 1:
                self.why[block[0]] = error
                return []
            middle = len(block) // 2
            return [*self.tried(block[:middle]), *self.tried(block[middle:])]

    def judge(self, block: list[int]) -> list[tuple[int, list[Judged]]]:
        codes = self.met[block[0]]
        study, named = self.study.take(np.array(block)), self.named[codes]
        if len(codes) > LARGEST:
            search = Search(study, self.rule, codes, self.criteria, self.needs)
            numbers = range(len(self.criteria))
            return [(block[0], [search.judge(k, self.count, named) for k in numbers])]
        cells = discover_criteria.fit_cells(study, self.rule, all_sets(codes), self.needs)
        found = []
        for i, learner in enumerate(block):
            mine, n = cells.of(i), int(study.n_scored[i])
            terms = [discover_criteria.terms_of(c, self.rule, len(codes), n) for c in self.criteria]
            found.append((learner, [judge(t, mine, self.count, named) for t in terms]))
        return found


def _masks(cells: Sequence[Sequence[int]], codes: Sequence[int]) -> tuple[int, ...]:
    """A partition of all contexts as cells of those that were met."""
    place = {code: 1 << j for j, code in enumerate(codes)}
    masks = (sum(place.get(code, 0) for code in cell) for cell in cells)
    return tuple(mask for mask in masks if mask)


# ``discover`` for studies of any size: chunk by chunk of learners, here or on a cluster.


CHUNK = 200  # learners in a part: a few seconds with nine contexts


def discover_in(
    store: Store,
    study: Study,
    asked: Asked,
    progress: Progress | None = None,
    size: int | None = None,
) -> Discovery:
    """Discover chunk by chunk, after the checks; chunks that the store has are not repeated."""
    store.complete(_parts(study, asked, size), progress)
    partitions, coclassification, marked = (store.read(name).collect() for name in LEARNERS)
    pairs = zip(contexts_met(study), study.n_scored >= SHORTEST, strict=True)
    unmet = sum(len(met) < len(study.contexts) for met, judged in pairs if judged)
    whole = Discovery(
        partitions,
        coclassification,
        marked,
        contexts=tuple(study.contexts),
        criteria=tuple(repr(criterion) for criterion in asked.criteria),
        by=conditions_of(study, asked.by),
        n_unmet=unmet,
        n_chance=_no_better_than_chance(partitions, repr(asked.criteria[0]), study),
        marks=marks_of(asked.models),
    )
    if len(whole.unjudged) == len(study):
        why = whole.unjudged["status"].value_counts(sort=True)["status"][0]
        raise HowlearnError(f"no learner can be judged: {why.removeprefix(f'{NOT_JUDGED}: ')}")
    return whole


def _no_better_than_chance(partitions: DataFrame, criterion: str, study: Study) -> int:
    """How many learners' best partition is less than WITHIN nats ahead of a coin."""
    first = pl.col("rank").is_null() | (pl.col("rank") == 1)  # one row per learner, in their order
    best = partitions.filter(first, criterion=criterion)["score"].to_numpy()
    return int(np.sum(best < study.log_chance + WITHIN))


def _parts(study: Study, asked: Asked, given: int | None) -> list[Part]:
    """The work, always divided in the same way."""
    # A part should not take long, so that little is lost when a run is stopped.
    size = CHUNK if len(study.contexts) <= 10 else 20 if len(study.contexts) <= LARGEST else 2
    size = given or size

    def part(number: int) -> Part:
        first, end = number * size, min((number + 1) * size, len(study))
        return Part(
            number,
            LEARNERS,
            end - first,
            lambda: Work(attempt, asked, study.part(first, end)),
        )

    return [part(number) for number in range(-(-len(study) // size))]
