"""One row per learner: read as one row per trial, and only where nothing else can be meant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.reading.formats.open import open_tables
from howlearn.reading.formats.wide import families_in
from howlearn.reading.guess import inspect
from howlearn.reading.read import read
from howlearn.results.select_into import originals
from sameness import FRAME, TRIALS, assert_same

FAMILIES = ("stimulus", "choice", "reward")
SPELLINGS = [
    "{0}_{1}",
    "{0}{1}",
    "{0}.{1}",
    "t{1}_{0}",
    "{0}{1:03}",
    "{0}[{1}]",
    "{1}_{0}",
    "{0}_t{1}",
    "{0} {1}",
    "trial{1}.{0}",
]


def wide(spelling: str = "{0}_{1}", by_trial: bool = False) -> pl.DataFrame:
    rows = []
    for i, part in enumerate(FRAME.partition_by("subject"), start=1):
        pairs = [(name, t) for name in FAMILIES for t in range(1, TRIALS + 1)]
        pairs = sorted(pairs, key=lambda pair: pair[1]) if by_trial else pairs
        cells = {spelling.format(name, t): part[name][t - 1] for name, t in pairs}
        rows.append({"subject": i, "age": 20 + i, **cells})
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_same_rows(tmp_path: Path, spelling: str) -> None:
    path = tmp_path / "a.csv"
    wide(spelling, by_trial=True).write_csv(path)
    study = read(path, keep="age")
    assert_same(study)
    assert study.about["age"].to_list() == [21, 22, 23]
    assert study.notes == (
        f"{path}: it has several trials per row, in numbered columns: stimulus (9), choice (9), "
        "reward (9); it was read as one row per trial",
    )
    assert originals(study)[0].height == FRAME.height


def test_frames_and_learners_without_names() -> None:
    assert_same(read(wide()))
    assert_same(read(wide().to_pandas()))
    assert_same(read(wide().drop("subject")))


def test_a_learner_who_stopped_early() -> None:
    frame = wide().with_columns(
        pl.when(pl.col("subject") != 2).then(pl.col(f"{name}_{t}")).alias(f"{name}_{t}")
        for name in FAMILIES
        for t in range(6, TRIALS + 1)
    )
    study = read(frame)
    assert study.n_scored.tolist() == [8, 5, 9]
    assert study.counts["missed trials"] == 1


def test_long_tables_with_numbered_columns_stay_long() -> None:
    """Features and questions have numbers too."""
    numbered = [f"{name}{i}" for name in ("feature", "Q") for i in range(1, 11)]
    long = FRAME.with_columns(pl.lit("x").alias(name) for name in numbered)
    assert_same(read(long))
    told = {"action": "condchosen", "context": "none"}  # the reward is guessed
    assert len(read(long.rename({"choice": "condchosen"}), **told).context) == 26
    few = pl.DataFrame(
        {
            "subject": [1, 1, 2, 2],
            "item1": [1, 2, 1, 2],
            "item2": [2, 1, 2, 1],
            "item3": [3, 3, 3, 3],
            "resp1": ["a", "b", "a", "b"],
            "resp2": ["b", "b", "a", "b"],
            "resp3": ["b", "b", "a", "b"],
            "win1": [1, 0, 0, 1],
            "win2": [1, 0, 0, 1],
            "win3": [1, 0, 0, 1],
        }
    )
    with pytest.raises(HowlearnError, match="no column for the"):  # two rows of a learner
        read(few)
    assert len(read(few[::2]).context) == 6  # one row each
    named = read(few, context="item1", action="resp2", reward="win3")
    assert named.counts["rows read"] == 4
    assert not named.notes


def test_families() -> None:
    assert families_in(["a1", "a2", "a3"]) is None
    assert families_in(["a1", "a2", "b1", "b2"]) is None
    assert families_in(["a1", "a2", "a3", "b1", "b2", "b4"]) is None
    assert families_in(["1", "2", "3", "4"]) is None
    assert families_in([]) is None
    found = families_in([f"{n}_{i}" for n in ("x_1", "x_2") for i in (1, 2, 3)])
    assert found is not None
    assert list(found.members) == ["x_1", "x_2"]


def test_the_first_of_columns_with_one_name_is_the_first_trial() -> None:
    """As Excel has them below one cell for each trial, and pandas where it numbers them."""
    rows = [["rat1", "L", 1, "R", 0, "L", 1], ["rat2", "R", 0, "R", 1, "L", 0]]
    for second, third in ((" (2)", " (3)"), (".1", ".2")):
        names = [f"{name}{end}" for end in ("", second, third) for name in ("choice", "reward")]
        table = pl.DataFrame(rows, schema=["rat", *names], orient="row")
        study = read(table, learner="rat", context="none")
        assert [study.actions[a] for a in study.action] == [*"LRLRRL"]
        assert study.reward.tolist() == [1, 0, 1, 0, 1, 0]
        named = read(table, learner="rat", context="none", action="choice", reward="reward")
        assert named.reward.tolist() == study.reward.tolist()


OTREE = ("id_in_group", "role", "payoff", "urn", "cue", "rt_ms")


def otree(path: Path, practice: bool = False) -> list[tuple[int, int, int, int]]:
    """oTree's all_apps_wide: app.round.player.field; people × rounds: cue, urn, payoff."""
    draw, rows, lines = np.random.default_rng(4), [], []
    apps = [("intro", 1), *([("practice", 5)] if practice else []), ("draws", 40), ("survey", 1)]
    names = ["participant.id_in_session", "participant.code", "participant.label", "session.code"]
    for app, rounds in apps:
        for n in range(1, rounds + 1):
            names += [f"{app}.{n}.player.{field}" for field in OTREE]
            names += [f"{app}.{n}.group.id_in_subsession", f"{app}.{n}.subsession.round_number"]
    for who in range(9):
        values = [str(who + 1), f"x{who * 77}q", "", "ab12"]
        last = [0, 0]
        for app, rounds in apps:
            for n in range(1, rounds + 1):
                cue, made = int(draw.integers(2)), 0
                made = last[cue]
                won = int(draw.random() < (0.8 if made == cue else 0.2))
                last[cue] = made if won else 1 - made
                values += ["1", "", f"{10.0 * won}", "red blue".split()[made], "AB"[cue], "340"]
                values += ["1", str(n)]
                if app == "draws":
                    rows.append((who, cue, made, won))
        lines.append(",".join(values))
    path.write_text("\n".join([",".join(names), *lines]))
    return rows


@pytest.mark.parametrize("practice", [False, True])
def test_rounds_between_app_and_field(tmp_path: Path, practice: bool) -> None:
    rows = otree(tmp_path / "all_apps_wide.csv", practice)
    found = inspect(tmp_path / "all_apps_wide.csv")
    trials = found.trials()
    assert found.roles["learner"] == "participant.code"
    assert trials["learner"].n_unique() == 9
    assert trials["action"].to_list() == ["red blue".split()[r[2]] for r in rows]
    assert trials["reward"].to_list() == [r[3] for r in rows]
    assert trials["context"].to_list() == ["AB"[r[1]] for r in rows]
    wide = "context=draws.*.player.cue; action=draws.*.player.urn; reward=draws.*.player.payoff"
    told = inspect(tmp_path / "all_apps_wide.csv", wide=wide).trials()
    assert told.select("action", "reward", "context").equals(
        trials.select("action", "reward", "context")
    )


@pytest.mark.parametrize(
    "pattern",
    [
        *("trial_{n}_{f}", "round{n}_{f}", "Q{n}_{f}", "{f}_{n}_1", "trials[{n}].{f}", "{n}:{f}"),
        *("b1_{n}_{f}", "block1_trial{n}_{f}", "exp2 {n} {f}"),
    ],
)
def test_numbers_between_words(tmp_path: Path, pattern: str) -> None:
    draw = np.random.default_rng(2)
    fields = ("stim", "choice", "reward")
    names = [pattern.format(n=n, f=f) for n in range(1, 31) for f in fields]
    values = [[f"s{who}", *map(str, draw.integers(2, size=90))] for who in range(6)]
    text = "\n".join(",".join(row) for row in [["id", *names], *values])
    (tmp_path / "a.csv").write_text(text)
    [table], _, _ = open_tables(tmp_path / "a.csv")
    frame = pl.concat(table.frames(table.columns))
    assert frame.shape == (180, 5)
    assert frame.to_series(4).to_list() == [v for row in values for v in row[3::3]]


def test_blocks_and_trials_in_names_are_in_order(tmp_path: Path) -> None:
    names = [f"b{b}_t{t}_{f}" for b in (1, 2) for t in range(1, 11) for f in ("choice", "reward")]
    values = [f"{who}," + ",".join(map(str, range(40))) for who in range(3)]
    (tmp_path / "a.csv").write_text("\n".join(["id," + ",".join(names), *values]))
    [table], _, _ = open_tables(tmp_path / "a.csv")
    frame = pl.concat(table.frames(table.columns))
    assert frame.to_series(2).to_list()[:20] == [str(2 * i) for i in range(20)]
