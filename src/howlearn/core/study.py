"""Trials of one learner, and the Study of many learners in one columnar block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core import world
from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.columns import renamed, reserved
from howlearn.core.errors import HowlearnError


def count_true(flags: Bools, starts: Ints) -> Ints:
    """How many flags are set in each interval ``starts[i]:starts[i + 1]``.

    >>> count_true(np.array([True, False, True]), np.array([0, 2, 2, 3]))
    array([1, 0, 1])
    """
    counts = np.zeros(len(starts) - 1, dtype=np.int64)
    filled = np.diff(starts) > 0  # reduceat has no empty intervals
    if filled.any():
        counts[filled] = np.add.reduceat(flags, starts[:-1][filled], dtype=np.int64)
    return counts


PER_TRIAL = ("context", "action", "reward", "scored", "learned", "reset")
IF_KNOWN = ("forgone", "episode_end", "duration", "offer", "load")  # per trial too, or None
SHORTEST = 2  # scored trials without which nothing can be said about a learner
AT_ONCE = 5_000  # sequences that are looked at together


def right_and_wrong(reward: Floats, learned: Bools) -> tuple[float, float] | None:
    """The rewards for wrong and for right where the trials that teach have exactly two rewards.

    >>> right_and_wrong(np.array([0.0, 5.0, 0.0]), np.array([True, True, True]))
    (0.0, 5.0)
    >>> right_and_wrong(np.array([0.0, 5.0, 2.0]), np.array([True, True, True]))
    """
    told = learned & ~np.isnan(reward)
    wrong = float(np.min(reward, initial=np.inf, where=told))
    right = float(np.max(reward, initial=-np.inf, where=told))
    if wrong >= right or not np.all((reward == wrong) | (reward == right) | ~told):
        return None
    return wrong, right


@dataclass(frozen=True, eq=False, repr=False)
class Trials:
    """One learner's sequence, coded: ``contexts[context[t]]`` is what trial t showed.

    >>> import howlearn as hl
    >>> task = hl.Task.load("shepard-1")
    >>> trials = hl.simulate(task, "ByFeature1", {"eta": 0.1}, learners=2, trials=20, seed=1)["2"]
    >>> trials, trials.actions, trials.reward.shape
    (Trials of learner 2: 20, ('A', 'B'), (20,))
    """

    learner: str
    contexts: tuple[str, ...]
    actions: tuple[str, ...]
    context: NDArray[np.int32]
    action: NDArray[np.int16]
    reward: Floats
    scored: Bools  # enters the likelihood
    learned: Bools  # updates the state
    reset: Bools  # the state restarts before this trial
    offers: Bools | None = None  # [set, action]: which actions each set has; None: always all
    offer: NDArray[np.int32] | None = None  # [trial]: the set that was on offer

    @property
    def offered(self) -> Bools | None:
        """[trial, action]: what was on offer; None: always all."""
        return None if self.offers is None or self.offer is None else self.offers[self.offer]

    def __repr__(self) -> str:
        return f"Trials of learner {self.learner}: {len(self):,}"

    def __len__(self) -> int:
        return len(self.context)


@dataclass(frozen=True)
class Source:
    """Where every trial came from, so that results can be added to the input."""

    files: tuple[str, ...]
    file_rows: tuple[int, ...]  # data rows of each file
    rows: NDArray[np.integer] | None = None  # of each trial; None: every row is a trial, in order
    first_rows: tuple[int, ...] = ()  # of each file's data, as a spreadsheet counts; else 2
    stamps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # see stamps_of

    @property
    def row(self) -> NDArray[np.integer]:
        """Of each trial: its row counted over all files, from 0.

        >>> Source(("a.csv",), (3,)).row
        array([0, 1, 2])
        """
        return np.arange(sum(self.file_rows)) if self.rows is None else self.rows

    def part(self, start: int, stop: int) -> Source:
        """Where trials start to stop came from."""
        rows = np.arange(start, stop) if self.rows is None else self.rows[start:stop]
        return replace(self, rows=rows)


DOUBT = "not sure: "  # how a note begins on what was not clear when the columns were found


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Many learners' trials with shared code books.

    A row of ``about`` and an interval ``starts[i]:starts[i + 1]`` belong to sequence ``i``: one
    learner, or one learner under one condition. Missed trials are not in the arrays.

    >>> import howlearn as hl
    >>> rows = {"learner": ["a", "a"], "context": ["x", "y"], "action": [0, 1], "reward": [1, 0]}
    >>> study = hl.read(pl.DataFrame(rows))
    >>> study.contexts, study.action.tolist(), study.reward.tolist()
    (('x', 'y'), [0, 1], [1.0, 0.0])
    """

    learners: tuple[str, ...]
    starts: Ints
    contexts: tuple[str, ...]
    actions: tuple[str, ...]
    context: NDArray[np.int32]
    action: NDArray[np.int16]
    reward: Floats
    scored: Bools
    learned: Bools
    reset: Bools
    reward_range: tuple[float, float] = (0.0, 1.0)
    features: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    about: pl.DataFrame = field(default_factory=pl.DataFrame)  # conditions, then kept columns
    counts: Mapping[str, int] = field(default_factory=dict)  # rows read, left out, recoded: why
    notes: tuple[str, ...] = ()  # sentences the user should read
    roles: Mapping[str, str] = field(default_factory=dict)  # role → the column found for it
    source: Source | None = None
    forgone: Floats | None = None  # [trial, action]; NaN: chosen, or unknown
    episode_end: Bools | None = None  # None: every trial is an episode
    duration: Floats | None = None  # time spent on the trial; NaN: unknown
    right_wrong: tuple[float, float] | None = None  # rewards for wrong and right, if only two
    answers: NDArray[np.int16] | None = None  # [context]: the action always right there, or −1
    excluded: tuple[str | None, ...] | None = None  # [sequence]: why; None: nobody was asked about
    kind: world.FoundKind | None = None  # of task, if anybody looked
    offers: Bools | None = None  # [set, action]: which actions each set has; None: always all
    offer: NDArray[np.int32] | None = None  # [trial]: the set that was on offer
    load: Floats | None = None  # how many stimuli the trial's block has
    zero: float = 0.0  # the reward that was recorded as 0, neither gain nor loss

    def __post_init__(self) -> None:
        lengths = {len(a) for a in (self.context, self.action, self.reward, self.scored)}
        lengths |= {len(self.learned), len(self.reset), int(self.starts[-1])}
        if len(lengths) != 1 or len(self.starts) != len(self.learners) + 1:
            raise HowlearnError("the arrays of a study must have one entry per trial")
        if len(self.actions) < 2:
            raise HowlearnError("a study needs at least two actions")
        if self.about.width and self.about.height != len(self.learners):
            raise HowlearnError("`about` must have one row per sequence")
        n = len(self.context)
        for name in ("episode_end", "duration", "offer", "load"):
            values = getattr(self, name)
            if values is not None and values.shape != (n,):
                raise HowlearnError(f"`{name}` must have one entry per trial")
        if self.forgone is not None and self.forgone.shape != (n, len(self.actions)):
            raise HowlearnError("`forgone` must have one row per trial and one column per action")
        if self.excluded is not None and len(self.excluded) != len(self.learners):
            raise HowlearnError("`excluded` must have one entry per sequence")
        if self.answers is not None and self.answers.shape != (len(self.contexts),):
            raise HowlearnError("`answers` must have one entry per context")
        if (self.offers is None) != (self.offer is None):
            raise HowlearnError("`offers`, the sets, and `offer`, that of each trial, go together")
        if self.offers is not None and self.offers.shape[1:] != (len(self.actions),):
            raise HowlearnError("`offers` must have one row per set and one column per action")
        if self.offers is not None and not self.offers.any(axis=1).all():
            raise HowlearnError("every set of `offers` must have an action")

    def __repr__(self) -> str:
        return (
            f"Study of {len(set(self.learners)):,} learners: {len(self):,} sequences, "
            f"{len(self.context):,} trials, {len(self.contexts):,} contexts, "
            f"{len(self.actions)} actions"
        )

    def __len__(self) -> int:
        """How many sequences: learners, or learners × conditions."""
        return len(self.learners)

    def __getitem__(self, index: int | str) -> Trials:
        """A sequence by its place, or a learner by name where it has one sequence only."""
        if isinstance(index, str):
            if self.learners.count(index) != 1:
                raise HowlearnError(
                    f"{self.learners.count(index)} sequences belong to a learner {index!r}"
                )
            index = self.learners.index(index)
        part = slice(int(self.starts[index]), int(self.starts[index + 1]))
        arrays = (getattr(self, name)[part] for name in PER_TRIAL)
        offer = None if self.offer is None else self.offer[part]
        trials = Trials(self.learners[index], self.contexts, self.actions, *arrays)
        return trials if offer is None else replace(trials, offers=self.offers, offer=offer)

    def __iter__(self) -> Iterator[Trials]:
        return (self[i] for i in range(len(self)))

    def part(self, start: int, stop: int) -> Study:
        """Sequences start to stop, without copying their trials."""
        trials = slice(int(self.starts[start]), int(self.starts[stop]))
        return self._picked(trials, slice(start, stop))

    def parts(self, size: int = AT_ONCE) -> Iterator[Study]:
        """All sequences, some at a time: whatever looks at all trials needs little memory so."""
        for start in range(0, len(self), size):
            yield self.part(start, min(start + size, len(self)))

    def take(self, sequences: NDArray[np.integer]) -> Study:
        """These sequences, in this order; one may be there more than once."""
        return self._picked(trials_of(self, sequences), sequences)

    @property
    def included(self) -> Bools:
        """The sequences that no condition of --exclude holds of."""
        if self.excluded is None:
            return np.ones(len(self), np.bool_)
        return np.array([reason is None for reason in self.excluded], np.bool_)

    def without_excluded(self) -> Study:
        """The study of the others, as if nobody had been excluded."""
        if self.excluded is None:
            return self
        return replace(self.only(self.included), excluded=None)

    def only(self, wanted: Bools) -> Study:
        """The sequences that are marked, whose trials know their rows in the input."""
        if wanted.all():
            return self
        found, source = self.take(np.flatnonzero(wanted)), self.source
        if source is not None:
            rows = source.row[np.repeat(wanted, np.diff(self.starts))]
            source = replace(source, rows=rows)
        return replace(found, source=source)

    def _picked(self, trials: slice | Ints, sequences: slice | NDArray[np.integer]) -> Study:
        known = {name: getattr(self, name) for name in (*PER_TRIAL, *IF_KNOWN)}
        arrays = {n: values if values is None else values[trials] for n, values in known.items()}
        return replace(self, **arrays, **self.about_sequences(sequences), source=None)

    def about_sequences(self, sequences: slice | NDArray[np.integer]) -> dict[str, Any]:
        """What a study of these sequences has of them, besides their trials."""
        if isinstance(sequences, slice):
            starts = self.starts[sequences.start : sequences.stop + 1]
            starts = starts - starts[0]
        else:
            starts = np.concatenate(([0], np.cumsum(np.diff(self.starts)[sequences])))

        def picked(values: tuple[Any, ...]) -> tuple[Any, ...]:
            if isinstance(sequences, slice):
                return values[sequences]
            return tuple(values[i] for i in sequences)

        return {
            "learners": picked(self.learners),
            "starts": starts.astype(np.int64),
            "about": self.about[sequences] if self.about.width else self.about,
            "excluded": None if self.excluded is None else picked(self.excluded),
        }

    @property
    def n_scored(self) -> Ints:
        """Scored trials of every sequence: the n of every criterion."""
        return count_true(self.scored, self.starts)

    @property
    def offered(self) -> Bools | None:
        """[trial, action]: what was on offer; None: always all."""
        return None if self.offers is None or self.offer is None else self.offers[self.offer]

    @property
    def n_offered(self) -> Ints:
        """How many actions were on offer at every trial: chance is one over it."""
        if self.offers is None or self.offer is None:
            return np.full(len(self.context), len(self.actions), np.int64)
        return self.offers.sum(axis=1)[self.offer]

    @property
    def actions_in_words(self) -> str:
        """How many actions there are, and are on offer.

        >>> import howlearn as hl
        >>> rows = {"learner": "a", "choice": ["x", "y", "z"], "reward": 1, "shown": "x|y|z"}
        >>> study = hl.read(pl.DataFrame(rows), context="none")
        >>> study.with_offered([["x", "y"], ["y", "z"], ["z", "x", "y"]]).actions_in_words
        '3 actions, 2 to 3 of them on offer'
        """
        words = f"{len(self.actions)} actions"
        if self.offers is None:
            return words
        few, most = (int(end(self.offers.sum(axis=1))) for end in (np.min, np.max))
        return f"{words}, {few if few == most else f'{few} to {most}'} of them on offer"

    @property
    def log_chance(self) -> Floats:
        """Of every sequence: the log-likelihood of choosing at random among what was on offer."""
        if self.offers is None:
            return -self.n_scored * np.log(len(self.actions))
        each = np.where(self.scored, -np.log(self.n_offered), 0.0)
        found: Floats = np.diff(np.concatenate(([0.0], np.cumsum(each)))[self.starts])
        return found

    def with_offered(self, offered: Bools | Sequence[Sequence[object]]) -> Study:
        """The same trials with what was on offer: [trial, action], or the labels of each trial.

        A trial with one action on offer is learned from and no longer scored.

        >>> import howlearn as hl
        >>> task = hl.Task.load("shepard-1")
        >>> study = hl.simulate(task, "ByFeature1", {"eta": 0.1}, learners=1, trials=2, seed=1)
        >>> study.with_offered([["A", "B"], [study.actions[study.action[1]]]]).n_scored
        array([1])
        """
        there = world.checked_offers(offered, self.action, self.actions)
        offers, offer = world.distinct_offers(there)
        scored = self.scored & (there.sum(axis=1) > 1)
        return replace(self, offers=offers, offer=offer, scored=scored)

    @property
    def labels(self) -> pl.DataFrame:
        """The columns that open every table: learner, conditions, kept columns, excluded.

        The last is there if --exclude was given: the conditions that hold, else nothing. A kept
        column with the name of a column of the results is called ``input_NAME``.
        """
        about = renamed(self.about, [c for c in self.about.columns if reserved(c)])
        columns = about.get_columns()
        if self.excluded is not None:
            columns = [*columns, pl.Series("excluded", self.excluded, dtype=pl.String)]
        return pl.DataFrame({"learner": pl.Series(self.learners, dtype=pl.String)}).hstack(columns)

    def frame(self) -> pl.DataFrame:
        """The trials as a table that ``howlearn.read`` takes."""
        lengths = np.diff(self.starts)
        sequence = np.repeat(np.arange(len(self)), lengths)
        columns = {
            "trial": np.arange(len(sequence)) - self.starts[sequence] + 1,
            "context": pl.Series(self.contexts, dtype=pl.String).gather(self.context),
            "action": pl.Series(self.actions, dtype=pl.String).gather(self.action),
            "reward": pl.Series(self.reward).fill_nan(None),
        }
        for name, flag in (("scored", self.scored), ("learned", self.learned)):
            if not flag.all():
                columns[name] = flag
        if self.block_column:
            block = np.cumsum(self.reset)
            columns[self.block_column] = block - block[self.starts[sequence]] + 1
        if self.episode_end is not None:
            ended = np.cumsum(self.episode_end) - self.episode_end  # before this trial
            columns["episode"] = ended - ended[self.starts[sequence]] + 1
        if self.duration is not None:
            columns["duration"] = pl.Series(self.duration).fill_nan(None)
        if self.load is not None:
            columns["load"] = self.load
        if self.offers is not None and self.offer is not None:
            sets = [world.offer_label(row, self.actions) for row in self.offers]
            columns["offered"] = pl.Series(sets, dtype=pl.String).gather(self.offer)
        columns.update(self._forgone_columns())
        return self.labels[sequence].hstack(pl.DataFrame(columns).get_columns())

    def _forgone_columns(self) -> dict[str, pl.Series]:
        """What the other of two actions would have earned, or a column for each of several."""
        if self.forgone is None:
            return {}
        if len(self.actions) > 2:
            values = {f"forgone_{name}": self.forgone[:, i] for i, name in enumerate(self.actions)}
        else:
            other = 1 - self.action.astype(np.intp)
            values = {"forgone": np.take_along_axis(self.forgone, other[:, None], axis=1)[:, 0]}
        return {name: pl.Series(column).fill_nan(None) for name, column in values.items()}

    @property
    def block_column(self) -> str | None:
        """The column of ``frame`` that says where learning restarts, if it ever does."""
        if self.reset.sum() <= np.count_nonzero(np.diff(self.starts)):
            return None
        return "reset_block" if "block" in self.labels.columns else "block"


def trials_of(study: Study, sequences: NDArray[np.integer]) -> Ints:
    """The places of these sequences' trials in the study, one sequence after another."""
    lengths = np.diff(study.starts)[sequences]
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return np.arange(starts[-1]) + np.repeat(study.starts[sequences] - starts[:-1], lengths)


def joined(studies: Sequence[tuple[str, Study]], name: str) -> Study:
    """Studies of one task ``together``; the column ``name`` says which a learner comes from."""
    parts = [study for _, study in studies]
    labels = [label for label, study in studies for _ in range(len(study))]
    return replace(
        together(parts),
        about=pl.DataFrame({name: labels}),
        counts={},
        notes=(),
        roles={},
        right_wrong=_shared([study.right_wrong for study in parts]),
        answers=_shared([study.answers for study in parts]),
    )


def _shared(values: Sequence[Any]) -> Any:
    """What is the same in all studies, else None."""
    return values[0] if all(np.array_equal(value, values[0]) for value in values) else None


def together(studies: Sequence[Study]) -> Study:
    """Studies of the same contexts and actions as one; its learners have new numbers."""
    lengths = np.concatenate([np.diff(study.starts) for study in studies])
    arrays: dict[str, NDArray | None] = {}
    for name in (*PER_TRIAL, *IF_KNOWN):
        each = [getattr(study, name) for study in studies]
        arrays[name] = None if any(part is None for part in each) else np.concatenate(each)
    sets, arrays["offer"] = world.joined_offers(
        [(study.offers, study.offer, len(study.context)) for study in studies],
        len(studies[0].actions),
    )
    return replace(
        studies[0],
        learners=tuple(str(i + 1) for i in range(len(lengths))),
        starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        about=pl.DataFrame(),
        source=None,
        excluded=None,
        offers=sets,
        **arrays,
    )
