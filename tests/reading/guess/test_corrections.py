"""A wrong guess is undone by one option, and guesses that rest on it move along."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.reading.guess import inspect
from howlearn.reading.guess.inspection import Inspection
from howlearn.reading.read import read
from made import choices


def said(found: Inspection) -> str:
    return "\n".join(map(str, found.oddities))


def phases(test_rewards: bool = False) -> pl.DataFrame:
    """Learning with three cues, then a test with two of them and a new one."""
    rows = []
    for who in ("a", "b", "c"):
        shown = [("train", *one) for one in choices(ord(who), 36, "ABC")]
        shown += [("test", *one) for one in choices(ord(who), 16, "ABD")]
        for trial, (phase, cue, right, key) in enumerate(shown):
            told = phase == "train" or test_rewards
            reward = int(key == right) if told else None
            rows.append([who, trial, phase, f"cue{cue}.png", key, reward])
    names = ["participant", "trial", "phase", "stim", "resp", "reward"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize("test_rewards", [False, True])
def test_a_test_phase_is_no_new_start(test_rewards: bool) -> None:
    found = inspect(phases(test_rewards))
    assert "reset_by" not in found.options
    assert found.options["context"] == ("stim",)
    assert ("--reset-by phase" in said(found)) == test_rewards
    assert found.study is not None
    assert int((~found.study.learned).sum()) == 48
    asked = [question.about for question in found.questions]
    assert asked == (["test_when"] if test_rewards else [])
    told = inspect(phases(test_rewards), test_when="none")
    assert told.study is not None
    assert told.questions == ()
    assert int((~told.study.learned).sum()) == (0 if test_rewards else 48)


def awkward() -> pl.DataFrame:
    """Everything that is guessed besides roles."""
    rows: list[dict[str, Any]] = []
    for who in (1, 2, 3):
        for block in (1, 2, 3):
            for x, right, key in choices(who, 24, "ABC"[:block]):
                late = len(rows) % 12 == 5
                rows.append(
                    {
                        "id": who,
                        "block": block,
                        "phase": "practice" if len(rows) % 72 < 4 else "main",
                        "item": x,
                        "colour": x in "AB",
                        "resp": "timeout" if late else key,
                        "points": 1 if key == right else -1,
                        "rt": 400 + len(rows),
                    }
                )
    return pl.DataFrame(rows)


def test_none_undoes_a_guess() -> None:
    data = awkward()
    usual = inspect(data).options
    assert {"reset_by", "where", "recode", "rt", "missing"} <= usual.keys()
    for option in ("reset_by", "where", "rt"):
        for word in ("none", ("none",)):
            options: dict[str, Any] = {option: word}
            found = inspect(data, **options)
            assert option not in found.options
            assert found.study is not None, option
    assert inspect(data, reset_by="none").options["context"] == ("item",)
    signs = inspect(data, recode="none")
    assert signs.options["reward_scale"] == (-1.0, 1.0)
    kept = inspect(data, missing="none")
    assert kept.study is not None
    assert "timeout" in kept.study.actions
    assert kept.notes == tuple(note for note in kept.notes if "--missing" not in note)


def test_none_is_nothing_for_reading() -> None:
    data = phases().with_columns(pl.Series("scored", [t % 2 for t in range(156)]))
    names = "features by keep reset_by where test_when forced_when recode forgone episode duration"
    nothing = dict.fromkeys([*names.split(), "bin", "exclude", "rt", "missing"], "none")
    ranges: dict[str, Any] = {"reward_range": ("none",), "reward_scale": ("none",)}
    study = read(data, **nothing, **ranges, scored="none")
    assert study.scored.all()
    assert not read(data).scored.all()
    assert study.context.tolist() == read(data).context.tolist()


def test_time_outs_are_missed_trials() -> None:
    late = [row % 11 == 3 for row in range(156)]
    data = phases(test_rewards=True).with_columns(
        pl.when(pl.Series(late)).then(pl.lit("timeout")).otherwise("resp").alias("resp"),
        pl.when(pl.Series(late)).then(None).otherwise("reward").alias("reward"),
    )
    found = inspect(data)
    assert found.options["missing"] == ("action:timeout",)
    assert "where" not in found.options
    assert found.study is not None
    assert found.study.counts["missed trials"] == sum(late)


def loops() -> pl.DataFrame:
    """PsychoPy with columns of their own for practice, and screens around both loops."""
    rows: list[dict[str, Any]] = []
    for who in ("01", "02", "03"):
        rows.append({"participant": who, "welcome.keys": "space"})
        for loop, key_resp, n in (("practice", "key_resp_prac", 4), ("trials", "key_resp", 36)):
            for t, (x, right, key) in enumerate(choices(int(who), n, "ABCD")):
                missed = loop == "trials" and t == 9
                rows.append(
                    {
                        "participant": who,
                        "stimFile": f"{x}.png",
                        f"{loop}.thisRepN": 0,
                        f"{loop}.thisN": t,
                        f"{key_resp}.keys": None if missed else key,
                        f"{key_resp}.corr": int(key == right and not missed),
                        f"{key_resp}.rt": None if missed else 0.4 + t / 100,
                    }
                )
    return pl.DataFrame(rows, infer_schema_length=None)


def test_the_experiment_is_not_its_practice() -> None:
    data = loops()
    found = inspect(data)
    assert found.options["action"] == "key_resp.keys"
    assert found.options["reward"] == "key_resp.corr"
    assert found.options["rt"] == "key_resp.rt"
    assert found.options["where"] == "`trials.thisN` != missing"
    assert found.study is not None
    assert found.study.counts["missed trials"] == 3  # and no screen is one
    assert inspect(data, action="key_resp.keys").options == found.options
    practice = inspect(data, action="key_resp_prac.keys").options
    assert practice["reward"] == "key_resp_prac.corr"
    assert practice["rt"] == "key_resp_prac.rt"
    assert practice["where"] == "`practice.thisN` != missing"


@pytest.mark.parametrize("column", ["practice.thisN", "my column", "rate-of-pay"])
def test_backticks_are_mentioned_where_they_help(column: str) -> None:
    data = phases().with_columns(pl.lit(1).alias(column))
    with pytest.raises(HowlearnError, match=f"in backticks: `{column}`"):
        read(data, where=f"{column} == 1")
    assert len(read(data, where=f"`{column}` == 1")) == 3
    with pytest.raises(HowlearnError) as refused:
        read(data, where=f"`{column}` == 1 and nowhere == 1")
    assert "in backticks" not in str(refused.value)


def test_a_run_of_one_person() -> None:
    rows = [
        {"run_id": who, "trial_index": t, "phase": "practice" if t % 40 in (2, 5) else "choice"}
        | {"stimulus": x, "key_press": key, "correct": key == right}
        for who in (11, 12, 13)
        for t, (x, right, key) in enumerate(choices(who, 40))
    ]
    found = inspect(pl.DataFrame(rows))
    assert found.options["learner"] == "run_id"
    assert "--learner file if it is one person" in said(found)
    assert found.options["trial"] == ("trial_index",)
    blocks = inspect(pl.DataFrame(rows).rename({"run_id": "run"}))
    assert blocks.options["learner"] == "file"
    going_on = pl.DataFrame(rows).with_columns(pl.int_range(pl.len()).alias("trial_index"))
    assert inspect(going_on).options["learner"] == "file"


def test_rows_that_stand_twice_are_said_to_count_twice() -> None:
    data = pl.concat([phases(), phases().head(20)])
    assert "20 rows occur twice in the data" in said(inspect(data))
    assert "both count" in said(inspect(data))
    assert "twice" not in said(inspect(phases()))


def test_long_names_are_cut_in_notes() -> None:
    long = {"x" * 1_000: [1] * 156, "y" * 100: [0, 1] * 78, f"feature {'z' * 900}": [0, 1, 1] * 52}
    found = inspect(phases().with_columns(pl.Series(n, v) for n, v in long.items()))
    assert "xxx…" in said(found)
    assert max(len(str(oddity)) for oddity in found.oddities) < 400


def test_what_turned_out_to_be_right() -> None:
    data = phases(test_rewards=True).with_columns(pl.Series("weather", [*"fjj"] * 52))
    found = inspect(data.drop("reward"))
    assert '--reward "resp == weather" if so' in said(found)
    assert found.lacking == ("reward",)
