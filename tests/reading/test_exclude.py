"""Conditions on learners: against plain Python on the same rows, and what is refused."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import howlearn as hl
from howlearn.models.task import Task
from howlearn.reading.exclude import NUMBERS, parse

Row = dict[str, object]


def made(seed: int = 3, learners: int = 12, trials: int = 25) -> list[Row]:
    """Rows of learners who differ: missed trials, missing times, a group, an odd column name."""
    draw = random.Random(seed)
    rows: list[Row] = []
    for i in range(learners):
        for _ in range(trials):
            missed = draw.random() < 0.04 * i
            rows.append(
                {
                    "subject": f"<script>{i}",
                    "stimulus": draw.choice(["a", "b", "c"]),
                    "choice": None if missed else draw.choice(["L", "L", "R", "M"][: 2 + i % 3]),
                    "reward": draw.choice([0, 1, 1]) if i % 2 else draw.choice([0, 0, 1]),
                    "rt": None if missed or i == 7 else round(draw.random() * (1 + i / 4), 3),
                    "my group": ["x", "y"][i % 2],
                    "ok": draw.choice(["TRUE", "false"]),
                    "age": 15 + i,
                }
            )
        rows[-1]["choice"] = "R"
    return rows


def chosen(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["choice"] is not None]


def times(rows: list[Row]) -> list[float]:
    return [float(row["rt"]) for row in rows if row["rt"] is not None]  # type: ignore[arg-type]


def of(rows: list[Row], function: Callable[[list[float]], float]) -> float | None:
    known = times(rows)
    return function(known) if known else None


def less(value: float | None, limit: float) -> bool:
    return value is not None and value < limit


def share(rows: list[Row], holds: Callable[[Row], bool]) -> float:
    return sum(map(holds, rows)) / len(rows)


def under(limit: float) -> Callable[[Row], bool]:
    return lambda row: row["rt"] is not None and float(row["rt"]) < limit  # type: ignore[arg-type]


def accuracy(rows: list[Row]) -> float:
    return statistics.fmean(int(row["reward"]) for row in chosen(rows))  # type: ignore[call-overload]


def same(rows: list[Row]) -> float:
    actions = [row["choice"] for row in chosen(rows)]
    return max(actions.count(action) for action in actions) / len(actions)


CASES: dict[str, Callable[[list[Row]], bool]] = {
    "accuracy < 0.5": lambda r: accuracy(r) < 0.5,
    "missed > 0.2": lambda r: share(r, lambda row: row["choice"] is None) > 0.2,
    "trials <= 20": lambda r: len(chosen(r)) <= 20,
    "same >= 0.6": lambda r: same(r) >= 0.6,
    "mean(rt) < 0.8": lambda r: less(of(r, statistics.fmean), 0.8),
    "median(rt) < 0.8": lambda r: less(of(r, statistics.median), 0.8),
    "min(rt) < 0.02": lambda r: less(of(r, min), 0.02),
    "not (max(rt) >= 1.5)": lambda r: less(of(r, max), 1.5),
    "sd(rt) < 0.4": lambda r: less(of(r, statistics.stdev), 0.4),
    "sd(rt) == missing": lambda r: not times(r),
    "median(rt) != missing and trials > 22": lambda r: bool(times(r)) and len(chosen(r)) > 22,
    "share(rt < 0.1) > 0.05": lambda r: share(r, under(0.1)) > 0.05,
    "share(ok) > 0.5": lambda r: share(r, lambda row: row["ok"] == "TRUE") > 0.5,
    "count(choice == missing) > 4": lambda r: len(r) - len(chosen(r)) > 4,
    "count(rt < 0.3) / count(rt != missing) > 0.25": lambda r: (
        bool(times(r)) and share(r, under(0.3)) * len(r) / len(times(r)) > 0.25
    ),
    "first(`my group`) == 'y' and first(age) < 20": lambda r: (
        r[0]["my group"] == "y" and int(r[0]["age"]) < 20  # type: ignore[call-overload]
    ),
    "first(age) in [16, 18]": lambda r: r[0]["age"] in (16, 18),
    "0.4 < mean(rt * 2 - 1) < 0.9": lambda r: (
        bool(times(r)) and 0.4 < statistics.fmean(t * 2 - 1 for t in times(r)) < 0.9
    ),
    "max(rt) - min(rt) > 2 or missed > 0.3": lambda r: (
        (bool(times(r)) and max(times(r)) - min(times(r)) > 2)
        or share(r, lambda row: row["choice"] is None) > 0.3
    ),
}


@pytest.mark.parametrize("size", [2_000_000, 37])
def test_conditions_mean_what_they_say(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once, in one batch and in many; nobody is left out by a value that is not known."""
    monkeypatch.setattr("howlearn.reading.streaming.BATCH_ROWS", size)
    rows = made()
    by: dict[str, list[Row]] = {}
    for row in rows:
        by.setdefault(str(row["subject"]), []).append(row)
    for text, holds in CASES.items():
        study = hl.read(pl.DataFrame(rows), exclude=[text, text])
        expected = [text if holds(by[learner]) else None for learner in study.learners]
        assert study.excluded == tuple(expected)
        count = len(by) - expected.count(None)
        assert 0 < count < len(by), text
        assert study.counts[f"learners excluded ({text})"] == count
        unknown = [note for note in study.notes if "(rt) is not known for 1 of 12 learners" in note]
        assert bool(unknown) == any(f"{name}(rt)" in text for name in NUMBERS)
        assert not any("accuracy" in note for note in study.notes)


def test_several_conditions_may_hold_of_one_learner() -> None:
    study = hl.read(pl.DataFrame(made()), exclude=["missed > 0.2", "first(age) > 24"])
    assert study.excluded is not None
    assert study.excluded[-1] == "missed > 0.2; first(age) > 24"
    assert study.excluded[0] is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rt < 0.2", "a learner has many values of rt: say what counts, such as median(rt)"),
        (
            "acuracy < 0.5",
            "there is no acuracy (put text in quotes); there are accuracy",
        ),
        ("mean(time) < 2", "there is no column time (put text in quotes); the columns: subject"),
        ("mode(rt) < 2", "there is no mode(…); there are accuracy"),
        ("os.system('rm') < 2", "there is no os.system(…)"),
        ("mean(rt, 2) < 2", "mean(…) takes one argument"),
        ("mean(median(rt)) < 2", "'median(rt)' is not allowed in an expression"),
        ("mean('rt') < 2", "\"'rt'\" is not a number"),
        ("mean(lag(rt)) < 2", "lag(…) cannot be used here"),
        ("share(rt + 1) < 2", "'rt + 1' is not a condition"),
        ("first(rt + 1) < 2", "first(…) takes a column, not 'rt + 1'"),
        ("count(1 < 2) > 1", "count(1 < 2) names no column"),
        ("1 < 2", "is not about a learner"),
        ("accuracy", "'accuracy' is not a condition"),
        ("accuracy < 'low'", "compare text with text"),
        ("accuracy <", "is not a condition such as accuracy < 0.55"),
        ("", "is not a condition such as"),
    ],
)
def test_what_is_no_condition_is_refused_with_what_is_allowed(text: str, words: str) -> None:
    with pytest.raises(hl.HowlearnError) as caught:
        parse(text, ["subject", "rt"])
    assert str(caught.value).startswith(f"--exclude {text!r}: ")
    assert words in str(caught.value)


def test_rt_is_the_column_that_the_option_names() -> None:
    frame = pl.DataFrame(made()).rename({"rt": "time (s)"})
    named = hl.read(frame, rt="time (s)", exclude="median(rt) < 0.8 or share(rt < 0.1) > 0.2")
    written = hl.read(frame, exclude="median(`time (s)`) < 0.8 or share(`time (s)` < 0.1) > 0.2")
    assert [each is None for each in named.excluded or ()] == [
        each is None for each in written.excluded or ()
    ]
    assert not named.included.all()
    with pytest.raises(hl.HowlearnError, match="a learner has many values of rt"):
        hl.read(frame, rt="time (s)", exclude="rt < 0.8")


def test_a_column_may_be_absent_from_some_files(tmp_path: Path) -> None:
    frame = pl.DataFrame(made(learners=3))
    for name, part in (("a", frame), ("b", frame.drop("rt"))):
        part.with_columns(pl.col("subject") + name).write_csv(tmp_path / f"{name}.csv")
    study = hl.read(sorted(tmp_path.iterdir()), learner="subject", exclude="max(rt) > 1.2")
    assert study.excluded is not None
    assert "max(rt) > 1.2" in study.excluded[:3]
    assert study.excluded[3:] == (None, None, None)
    assert any("max(rt) is not known for 3 of 6 learners" in note for note in study.notes)


def test_nobody_left_is_refused() -> None:
    with pytest.raises(hl.DataError) as caught:
        hl.read(pl.DataFrame(made()), exclude=["trials > 0", "missed > 0.9"])
    assert (
        "nobody remains of 12 learners: trials > 0 is true for 12, missed > 0.9 is true for 0"
        in str(caught.value)
    )


def test_accuracy_is_the_share_of_right_answers_where_the_task_says_what_is_right() -> None:
    """Rewards are missing in half of the trials; without a task only the others count."""
    task = Task.load("shepard-1")
    rows = []
    for learner, right in (("good", 9), ("bad", 3)):
        for t in range(12):
            answer = task.actions[0 if t % 8 < 4 else 1]
            other = next(a for a in task.actions if a != answer)
            action = answer if t < right else other
            reward = None if t >= 6 else float(action == answer)
            context = task.contexts[t % 8]
            rows.append(
                {"learner": learner, "context": context, "action": action, "reward": reward}
            )
    frame = pl.DataFrame(rows)
    for text, found in (("== 0.75", ("good", None)), ("== 0.25", (None, "bad"))):
        study = hl.read(frame, task=task, exclude=f"accuracy {text}")
        assert study.excluded == tuple(name and f"accuracy {text}" for name in found)
    paid = hl.read(frame, exclude=["accuracy == 0.5", "trials < 12"])
    assert paid.excluded == (None, "accuracy == 0.5")


def test_accuracy_stretches_other_rewards_to_run_from_0_to_1() -> None:
    frame = pl.DataFrame(
        {
            "learner": ["a"] * 4 + ["b"] * 4,
            "action": ["x", "y"] * 4,
            "reward": [-5, 5, 5, 5, -5, -5, 0, 0],
        }
    )
    study = hl.read(frame, context="none", reward_range=(-5, 5), exclude="accuracy < 0.3")
    assert study.excluded == (None, "accuracy < 0.3")  # 0.75 and 0.25


def test_a_condition_of_a_learner_is_excluded_with_by() -> None:
    rows = [{**row, "block": 1 + (t % 25 >= 12)} for t, row in enumerate(made())]
    study = hl.read(pl.DataFrame(rows), by="block", exclude="mean(rt) < 0.8", keep="age")
    assert len(study) == 24
    assert study.excluded is not None
    count = sum(reason is not None for reason in study.excluded)
    assert study.counts == {**study.counts, "sequences excluded (mean(rt) < 0.8)": count}
    assert 0 < count < 24
    assert study.labels.columns == ["learner", "block", "age", "excluded"]
    kept = study.without_excluded()
    assert len(kept) == 24 - count
    assert kept.excluded is None
    assert kept.source is not None
    assert len(kept.source.row) == len(kept.context)
    for i, trials in zip(study.included.nonzero()[0], kept, strict=True):
        assert trials.context.tolist() == study[int(i)].context.tolist()
