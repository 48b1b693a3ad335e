"""Whatever is read, the answer is a sound study or a HowlearnError, never a crash."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.reading.read import read

VALUES = st.one_of(
    st.none(), st.sampled_from(["1", "1.0", "A", "B", "0", "", "NA", "-1", "inf", "x y"]), st.text()
)
SEEDED = settings(
    derandomize=True,
    deadline=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def check(study: Study) -> None:
    """What every study promises."""
    assert (study.n_scored >= 2).all()
    assert np.isfinite(study.reward).all()
    assert ((study.context >= 0) & (study.context < len(study.contexts))).all()
    assert ((study.action >= 0) & (study.action < len(study.actions))).all()
    assert study.reset[study.starts[:-1]].all()
    assert study.source is not None
    assert len(study.source.row) == len(study.context)
    assert len(np.unique(study.source.row)) == len(study.context)


def read_or_refuse(source: object, **options: object) -> None:
    try:
        study = read(source, **options)
    except HowlearnError:
        return
    check(study)


@SEEDED
@given(st.binary(max_size=200))
def test_any_bytes(tmp_path, content: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    read_or_refuse(path, context="none")


@SEEDED
@given(st.text(alphabet='ab1,;\t"\n\r 0', max_size=80))
def test_any_text(tmp_path, rows: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("item,choice,reward\n" + rows, encoding="utf-8", newline="")
    read_or_refuse(path)


@SEEDED
@given(
    st.lists(st.tuples(VALUES, VALUES, VALUES, VALUES, VALUES), max_size=12),
    st.fixed_dictionaries(
        {},
        optional={
            "by": st.just("item"),
            "reset_by": st.just("trial"),
            "keep": st.just("choice"),
            "min_trials": st.integers(0, 4),
            "where": st.sampled_from(["item != 'A'", "reward == missing or trial < 5"]),
            "recode": st.just("reward:x y=1"),
            "missing": st.just("-1"),
            "reward_range": st.just((-1, 1)),
            "trial": st.just("none"),
        },
    ),
)
def test_any_frame(rows: list[tuple], options: dict) -> None:
    names = ["id", "trial", "item", "choice", "reward"]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    read_or_refuse(frame, **options)


@SEEDED
@given(st.data())
def test_sound_frames_are_read_whole(data: st.DataObject) -> None:
    n = data.draw(st.integers(4, 40))

    def column(values: st.SearchStrategy) -> list:
        return data.draw(st.lists(values, min_size=n, max_size=n))

    frame = pl.DataFrame(
        {
            "learner": column(st.sampled_from(["a", "b"])),
            "context": column(st.integers(-3, 12)),
            "action": column(st.sampled_from(["x", "y", "z"])),
            "reward": column(st.sampled_from([0.0, 0.25, 1.0])),
        }
    )
    assume(frame.group_by("learner").len()["len"].min() >= 2)
    assume(frame["action"].n_unique() > 1)
    study = read(frame)
    check(study)
    rows = study.source.row  # type: ignore[union-attr]
    assert [study.actions[i] for i in study.action] == frame["action"].gather(rows).to_list()
    contexts = [str(value) for value in frame["context"].gather(rows)]
    assert [study.contexts[i] for i in study.context] == contexts
    assert study.reward.tolist() == frame["reward"].gather(rows).to_list()
