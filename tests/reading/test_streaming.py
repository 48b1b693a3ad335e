"""Large Parquet files are kept on disk, and nobody can tell from the study or its tables."""

from __future__ import annotations

import errno
import gc
import os
import pickle
import random
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from howlearn.core import stored_study
from howlearn.core.errors import DataError, HowlearnError
from howlearn.core.stored_study import StoredStudy
from howlearn.core.study import Study, right_and_wrong
from howlearn.models.partition_model import candidates
from howlearn.reading import streaming
from howlearn.reading.formats import parquet
from howlearn.reading.read import read
from howlearn.results.chunk import Wanted
from howlearn.results.select_into import write_selection
from howlearn.selection.criteria import HoldOut, Penalized

BATCH = 13  # rows, so that most learners cross the end of a batch


def trials(
    learners: int = 5, trials: int = 9, seed: int = 1, actions: str = "LR", **more: object
) -> pl.DataFrame:
    """Learners one after another, with what options may ask for."""
    draw = random.Random(seed)
    rows = []
    for learner in range(learners):
        for trial in range(1, trials + 1 + learner % 3):
            rows.append(
                {
                    "learner": f"<b>{10 - learner}</b>",
                    "trial": trial,
                    "context": draw.choice(["c10", "c2", "c1"]),
                    "action": draw.choice(actions),
                    "reward": draw.choice([0, 1]),
                    "condition": "hard" if trial % 2 else "easy",
                    "group": f"g{learner % 2}",
                    "block": (trial - 1) // 4,
                    "rt": round(draw.random(), 3),
                    "other": draw.choice([0, 1]),
                    **more,
                }
            )
    return pl.DataFrame(rows)


def some(frame: pl.DataFrame, column: str, value: object, every: int, at: int = 0) -> pl.DataFrame:
    """The frame with another value in some of its rows."""
    mine = pl.int_range(frame.height) % every == at
    return frame.with_columns(pl.when(mine).then(pl.lit(value)).otherwise(column).alias(column))


def shuffled(frame: pl.DataFrame, *within: str) -> pl.DataFrame:
    """The rows of each learner in another order; the learners stay where they are."""
    parts = frame.partition_by(*within, maintain_order=True)
    return pl.concat([part.sample(fraction=1, shuffle=True, seed=3) for part in parts])


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Parquet file counts as large, and is read a few rows at a time."""
    monkeypatch.setattr(streaming, "STREAMED_ROWS", 0)
    monkeypatch.setattr(stored_study, "AT_ONCE", 5)
    for module in (streaming, parquet):
        monkeypatch.setattr(module, "BATCH_ROWS", BATCH)


def files_of(folder: Path, frame: pl.DataFrame, how: str) -> Path | list[Path]:
    """The frame as one file, as several, or as a folder divided by learner."""
    if how == "one":
        frame.write_parquet(folder / "all.parquet", row_group_size=4)
        return folder / "all.parquet"
    if how == "several":
        paths = [folder / f"{i}.parquet" for i in range(4)]
        edges = [0, 5, 20, 21, frame.height]
        for path, start, stop in zip(paths, edges[:-1], edges[1:], strict=True):
            frame[start:stop].write_parquet(path)
        return paths
    for i, part in enumerate(frame.partition_by("learner", maintain_order=True)):
        inner = folder / "divided" / f"learner={i}"
        inner.mkdir(parents=True)
        part.drop("learner").write_parquet(inner / "part-0.parquet")
    return folder / "divided"


def same_studies(stored: Study, held: Study) -> None:
    """Everything that a study says is the same, whole and in parts."""
    assert isinstance(stored, StoredStudy)
    assert type(held) is Study
    assert np.array_equal(stored.n_scored, held.n_scored)
    assert stored.labels.equals(held.labels)
    assert stored.source is not None
    assert held.source is not None
    assert np.array_equal(stored.source.row, held.source.row)
    assert stored.source.file_rows == held.source.file_rows
    assert stored.right_wrong == right_and_wrong(held.reward, held.learned)
    n = len(held)
    picked = np.array([n - 1, 0, 1, 1][: 2 + n // 2])
    pairs = [(stored, held), (stored.part(1, n), held.part(1, n))]
    pairs += [(stored.take(picked), held.take(picked))]
    for one, other in pairs:
        for field in fields(Study):
            mine, theirs = getattr(one, field.name), getattr(other, field.name)
            if field.name == "source":
                continue
            if isinstance(theirs, np.ndarray):
                assert mine.dtype == theirs.dtype, field.name
                assert np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f"), field.name
            elif isinstance(theirs, pl.DataFrame):
                assert mine.equals(theirs), field.name
            else:
                assert mine == theirs, field.name


WHOLE = trials()
OFFERED = trials(actions="LRM").with_columns(
    first=pl.col("action"),
    second=pl.col("rt").map_elements(lambda x: "LRMX"[int(4 * x)], pl.String),
)
CASES = {
    "plain": (WHOLE, {}),
    "one file is many batches of one learner": (trials(learners=1, trials=40), {}),
    "three actions": (trials(actions="LRM"), {}),
    "offers": (OFFERED, {"offered": ["first", "second"]}),
    "offers of all": (WHOLE.with_columns(shown=pl.lit("R|L")), {"offered": "shown"}),
    "missed trials": (some(WHOLE, "action", None, 5), {}),
    "missed at the ends": (some(some(WHOLE, "action", None, 9), "action", None, 9, 8), {}),
    "rows left out": (WHOLE, {"where": "rt > 0.3"}),
    "no trial numbers": (WHOLE, {"trial": "none"}),
    "other order within learners": (shuffled(WHOLE, "learner"), {}),
    "conditions": (WHOLE, {"by": ["condition"], "keep": ["group"]}),
    "conditions in another order": (shuffled(WHOLE, "learner"), {"by": ["condition"]}),
    "short ones left out": (WHOLE, {"min_trials": 10}),
    "short conditions left out": (WHOLE, {"min_trials": 5, "by": ["condition"]}),
    "some who never choose": (
        WHOLE.with_columns(
            pl.when(pl.col("learner") == "<b>9</b>").then(None).otherwise("action").alias("action")
        ),
        {"min_trials": 2},
    ),
    "one who never chooses": (
        WHOLE.with_columns(
            action=pl.when(pl.col("learner") == "<b>9</b>").then(None).otherwise("action")
        ),
        {"exclude": ["trials < 10", "same > 0.9"], "keep": ["group"]},
    ),
    "blocks": (WHOLE, {"reset_by": ["block"]}),
    "blocks that each learner has alone": (
        WHOLE.with_columns(block=pl.concat_str("learner", "block")),
        {"reset_by": ["block"], "episode": "block"},
    ),
    "numbers restart in blocks": (
        shuffled(WHOLE.with_columns(pl.col("trial") - 4 * pl.col("block")), "learner", "block"),
        {"reset_by": ["block"]},
    ),
    "numbers restart, as only the last learner shows": (
        # By their numbers the others' two blocks would be mixed.
        pl.concat(
            part.with_columns(block=pl.col("trial") % 2).sort("block", maintain_order=True)
            for part in WHOLE.partition_by("learner", maintain_order=True)
        ).with_columns(
            trial=pl.when(pl.col("learner") == "<b>6</b>")
            .then(pl.col("trial") // 2)
            .otherwise("trial")
        ),
        {"reset_by": ["block"]},
    ),
    "episodes": (WHOLE, {"episode": "block"}),
    "durations": (WHOLE, {"duration": "rt"}),
    "nothing in a column": (WHOLE.with_columns(rt=pl.lit(None, pl.Float64)), {"duration": "rt"}),
    "the other action": (WHOLE, {"forgone": ["other"]}),
    "both actions": (
        WHOLE.with_columns(
            pl.when(pl.col("action") == name).then("reward").otherwise("other").alias(name)
            for name in "LR"
        ),
        {"forgone": ["L", "R"]},
    ),
    "forced and test trials": (
        WHOLE,
        {"forced_when": "block == 0", "test_when": "block == 2"},
    ),
    "several rewards": (some(WHOLE, "reward", 0.5, 11), {}),
    "no feedback": (some(WHOLE, "reward", None, 4), {}),
    "nobody excluded": (WHOLE, {"exclude": ["trials < 2"]}),
    "some excluded": (
        some(WHOLE, "action", None, 5),
        {"exclude": ["mean(rt) < 0.45 or sd(rt) > 0.33", "missed > 0.22", "accuracy < 0.4"]},
    ),
    "excluded by what is counted": (
        WHOLE,
        {"exclude": ["share(rt < 0.3) > 0.4", "same > 0.7", "first(group) == 'g1'"]},
    ),
    "excluded conditions": (WHOLE, {"exclude": ["median(rt) < 0.5"], "by": ["condition"]}),
    "bins": (WHOLE, {"context": "rt", "bin": ["rt:4"]}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_as_in_memory(
    case: str, tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, options = CASES[case]
    monkeypatch.setattr(streaming, "MANY_KEYS", 1)
    for how in ("one", "several", "divided") if case in ("plain", "conditions") else ("one",):
        files = files_of(tmp_path, frame, how)
        stored = read(files, **options)
        with monkeypatch.context() as patch:
            patch.setattr(streaming, "STREAMED_ROWS", 10**9)
            held = read(files, **options)
        same_studies(stored, held)
        if stored.excluded is not None and not stored.included.all():
            same_studies(stored.without_excluded(), held.without_excluded())
            assert stored.without_excluded().spool is stored.without_excluded().spool  # type: ignore


@pytest.mark.parametrize(
    ("frame", "options"),
    [
        (some(WHOLE, "reward", 7, 9), {}),
        (some(WHOLE, "learner", None, 9), {}),
        (some(WHOLE, "trial", 1, 2), {}),
        (some(some(WHOLE, "trial", 1, 2), "reward", "late", 9), {}),
        (some(WHOLE, "trial", 1, 2), {"reset_by": ["block"], "episode": "condition"}),
        (WHOLE.unique("learner", keep="first", maintain_order=True), {}),  # one trial each
        (WHOLE, {"min_trials": 99}),
        (WHOLE, {"exclude": ["trials > 1"]}),
        (WHOLE, {"test_when": "rt >= 0"}),
        (WHOLE.with_columns(action=pl.lit("L")), {}),
        (WHOLE.with_columns(reward=pl.lit(None)), {}),
        (WHOLE.with_columns(action=pl.lit(None, pl.String)), {}),
        (WHOLE, {"forgone": ["rt", "other"]}),
        (WHOLE[:0], {}),
    ],
)
def test_the_same_is_wrong(
    frame: pl.DataFrame,
    options: dict,
    tmp_path: Path,
    small: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = files_of(tmp_path, frame, "one")
    with pytest.raises(DataError) as stored:
        read(file, **options)
    monkeypatch.setattr(streaming, "STREAMED_ROWS", 10**9)
    with pytest.raises(DataError) as held:
        read(file, **options)
    assert sorted(map(str, stored.value.problems)) == sorted(map(str, held.value.problems))


def test_learners_that_come_back(tmp_path: Path, small: None) -> None:
    mixed = WHOLE.sort("trial", maintain_order=True)
    study = read(files_of(tmp_path, mixed, "one"))
    assert type(study) is Study
    assert study.notes[-1].startswith("the rows of a learner are not together")
    # What is missed late tells --exclude something, though it is no trial.
    late = some(WHOLE[-1:].with_columns(learner=WHOLE["learner"][:1]), "action", None, 1)
    study = read(files_of(tmp_path, pl.concat([WHOLE, late]), "one"), exclude=["max(rt) < 0"])
    assert type(study) is Study
    assert isinstance(read(files_of(tmp_path, WHOLE, "one")), StoredStudy)


def test_what_is_small_or_text_stays_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = files_of(tmp_path, WHOLE, "one")
    assert type(read(file)) is Study
    monkeypatch.setattr(streaming, "STREAMED_ROWS", 0)
    assert type(read(file)) is StoredStudy
    WHOLE.write_csv(tmp_path / "all.csv")
    assert type(read(tmp_path / "all.csv")) is Study


def test_tables_are_the_same(tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = some(shuffled(trials(), "learner"), "action", None, 6)
    file = str(files_of(tmp_path, frame, "one"))
    options = {"exclude": ["mean(rt) < 0.5"], "by": ["condition"], "keep": ["group"]}
    monkeypatch.setattr("howlearn.results.select_into.CHUNK", 3)
    for out, rows in (("stored", 0), ("held", 10**9)):
        monkeypatch.setattr(streaming, "STREAMED_ROWS", rows)
        study = read(file, **options, reset_by=["block"])
        assert isinstance(study, StoredStudy) == (rows == 0)
        models = candidates(study.contexts)
        wanted = Wanted(models, [Penalized(), HoldOut()], with_predictions=True)
        write_selection(tmp_path / out, study, wanted, {})
    names = sorted(path.name for path in (tmp_path / "held").glob("*.csv"))
    assert {"scores.csv", "predictions.csv", "shares.csv"} <= {*names}
    for name in names:
        there, here = ((tmp_path / out / name).read_bytes() for out in ("stored", "held"))
        assert there == here, name


def test_parts_can_be_sent(tmp_path: Path, small: None) -> None:
    study = read(files_of(tmp_path, WHOLE, "one"))
    part = study.part(1, 3)
    again = pickle.loads(pickle.dumps(part))
    assert type(again) is Study
    assert again.learners == study.learners[1:3]
    assert np.array_equal(again.reward, study[1].reward.tolist() + study[2].reward.tolist())
    with pytest.raises(ValueError, match="read-only"):
        study.reward[0] = 3.0


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs a list of open files")
def test_nothing_is_left(tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setenv("TMPDIR", str(room))
    monkeypatch.setattr("tempfile.tempdir", None)

    def opened() -> int:
        links = (os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))
        return sum(os.path.realpath(link).startswith(str(room)) for link in links)

    study = read(files_of(tmp_path, WHOLE, "one"), exclude=["trials < 10"])
    others = study.without_excluded()
    assert opened() > 0
    assert not any(room.iterdir())  # not even a process that is killed leaves a file behind
    del study, others
    gc.collect()
    assert opened() == 0


def test_a_full_disk(tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def seek(self, *_: int) -> None: ...

        def close(self) -> None: ...

        def write(self, _: bytes) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = files_of(tmp_path, WHOLE, "one")
    full = SimpleNamespace(TemporaryFile=Full, gettempdir=lambda: "/tmp")
    monkeypatch.setattr("howlearn.core.stored_study.tempfile", full)
    with pytest.raises(HowlearnError, match=r"No space left on device.* TMPDIR"):
        read(file)
