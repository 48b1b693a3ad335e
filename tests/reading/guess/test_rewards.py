"""Rewards that say what went wrong, that are words, or that cannot be read."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from howlearn.reading.guess import inspect
from howlearn.reading.guess.draft import typed
from howlearn.reading.guess.inspection import Inspection
from made import choices


def said(found: Inspection) -> str:
    return "\n".join(map(str, found.oddities))


def trials(name: str, good: Any, bad: Any, n: int = 30) -> pl.DataFrame:
    """Two learners with n trials each, whose rewards stand in a column of this name."""
    return pl.DataFrame(
        [
            {"participant": who, "stim": x, "resp": key, name: good if key == right else bad}
            for who in ("a", "b")
            for x, right, key in choices(ord(who), n)
        ]
    )


@pytest.mark.parametrize(
    ("name", "good", "bad", "reward"),
    [
        ("error", 0, 1, "error == 0"),
        ("Errors", "0", "1", "Errors == 0"),
        ("is incorrect", 0, 1, "`is incorrect` == 0"),
        ("incorrect", "FALSE", "TRUE", "incorrect == 'FALSE'"),
        ("wrong", "no", "yes", "wrong == 'no'"),
        ("loss", 0, 1, "loss == 0"),
        ("loss", 0, 25, "0 - loss"),
        ("loss", 0, -25, "loss"),
        ("Fehler", 0, 1, "Fehler == 0"),
        ("<script>error", 0, 1, "`<script>error` == 0"),
    ],
)
def test_mistakes_are_turned_round(name: str, good: Any, bad: Any, reward: str) -> None:
    data = trials(name, good, bad)
    found = inspect(data)
    assert found.options["reward"] == reward
    assert found.study is not None
    expected = [1.0 if value == good else 0.0 for value in data[name]]
    assert found.study.reward.tolist() == expected
    turned = reward != name
    assert ("taken the other way round" in said(found)) == turned
    if turned and (good, bad) == (0, 1):
        as_it_is = inspect(data, reward=name)  # what is said is never overruled, but remarked on
        assert as_it_is.study is not None
        assert as_it_is.study.reward.tolist() == [1 - value for value in expected]
        assert f"--reward {typed(reward)} reverses it" in said(as_it_is)


def test_a_column_of_successes_wins_over_one_of_mistakes() -> None:
    data = trials("error", 0, 1).with_columns((1 - pl.col("error")).alias("corr"))
    found = inspect(data)
    assert found.options["reward"] == "corr"
    assert found.guesses["reward"].others == ()
    signed = data.drop("corr").with_columns(pl.col("error").alias("prediction_error"))
    assert inspect(signed.drop("error")).options.get("reward") != "prediction_error == 0"


def test_one_and_two_have_a_direction() -> None:
    found = inspect(trials("acc", 1, 2))
    assert "2 is taken as the success (--recode reward:1=1,2=0 reverses it)" in said(found)
    turned = inspect(trials("acc", 1, 2), recode="reward:1=1,2=0")
    assert found.study is not None
    assert turned.study is not None
    assert turned.study.reward.tolist() == [1 - reward for reward in found.study.reward]
    assert "reverses it" not in said(inspect(trials("points", 5, 10)))


def test_an_outcome_wins_over_gain_and_loss() -> None:
    data = trials("outcome", 4, -2).rename({"resp": "gamble"}).drop("stim")
    data = data.with_columns(pl.lit(4).alias("gain"), pl.lit(-2).alias("loss"))
    for options in ({}, {"reward": "outcome"}):
        found = inspect(data, **options)
        assert (found.options["action"], found.options["reward"]) == ("gamble", "outcome")


def test_names_in_other_languages() -> None:
    names = {"resp": "Antwort", "stim": "Reiz", "Gewinn": "Gewinn", "participant": "Vpn"}
    data = (
        trials("Gewinn", 1, 0)
        .rename(names)
        .with_columns(
            pl.Series("Durchgang", [*range(1, 31)] * 2),
            pl.Series("Reaktionszeit", range(300, 360)),
            pl.Series("Übung", (["1"] * 4 + ["0"] * 26) * 2),
        )
    )
    assert inspect(data).options == {
        "learner": "Vpn",
        "context": ("Reiz",),
        "action": "Antwort",
        "reward": "Gewinn",
        "trial": ("Durchgang",),
        "where": "not `Übung`",
        "rt": "Reaktionszeit",
    }
    short = (
        trials("corr", 1, 0)
        .rename({"resp": "prediction"})
        .with_columns(
            pl.Series("trl", [*range(30)] * 2),
            pl.Series("Procedure[Block]", (["PracProc"] * 6 + ["TrialProc"] * 24) * 2),
        )
    )
    found = inspect(short)
    assert found.options["action"] == "prediction"
    assert found.options["trial"] == ("trl",)
    assert found.options["where"] == "`Procedure[Block]` != 'PracProc'"


@pytest.mark.parametrize(
    ("good", "bad", "recode", "scale"),
    [
        ("$0.50", "$0.00", "$0.50=0.5,$0.00=0", None),
        ("5 ct", "-1 ct", "5 ct=5,-1 ct=-1", (-1.0, 5.0)),
        ("96%", "4%", "96%=0.96,4%=0.04", None),
        ("Right!", "wrong", "Right!=1,wrong=0", None),
        ("richtig", "falsch", "richtig=1,falsch=0", None),
        ("correct", "incorrect", None, None),
    ],
)
def test_rewards_for_people(good: str, bad: str, recode: str | None, scale: Any) -> None:
    data = trials("result", good, bad).with_columns(
        pl.when(pl.int_range(pl.len()) == 7)
        .then(pl.lit("Too slow"))
        .otherwise("result")
        .alias("result")
    )
    found = inspect(data)
    assert found.options["reward"] == "result"
    pairs = found.options.get("recode")
    assert (pairs is None) == (recode is None)
    if pairs is not None and recode is not None:
        assert {*pairs[0].removeprefix("reward:").split(",")} == {*recode.split(",")}
    assert found.options.get("reward_scale") == scale
    assert found.options["missing"] == ("reward:Too slow",)
    assert found.study is not None
    assert int((~found.study.learned).sum()) == 1
    highest = found.study.reward[found.study.learned].max()
    right = [value == good for value in data["result"]]
    assert (found.study.reward == highest).tolist() == right


def test_right_and_wrong_are_no_choices() -> None:
    found = inspect(trials("result", "right", "wrong").drop("resp"))
    assert found.options["reward"] == "result"
    assert found.lacking == ("action",)
    assert "models of learning need the choices themselves" in said(found)


def test_what_cannot_be_read_is_told() -> None:
    found = inspect(trials("payoff", "lots", "little <b>"))
    assert [question.about for question in found.questions] == ["reward"]
    assert "payoff looks like the reward, but '" in said(found)
    assert '--reward payoff --recode "payoff:' in said(found)
    commas = trials("payoff", "0,50 €", "0,10 €")
    told = said(inspect(commas))
    assert told.count("is not a number") == 1
    expression = told.split('--reward "')[1].split('"')[0]
    assert inspect(commas, reward=expression).study is not None
    data = trials("payoff", "lots", "little")
    assert inspect(data, reward="payoff", recode="payoff:lots=1,little=0").study is not None


def test_what_scaling_means_for_losses_is_said() -> None:
    data = pl.DataFrame(
        {
            "subject": [1] * 30,
            "stimulus": ["a", "b", "c"] * 10,
            "choice": ["f", "j", "j", "f", "f"] * 6,
            "outcome": [-1, 0, 1, 1, 0, -1] * 5,
        }
    )
    found = inspect(data)
    assert found.options["reward_scale"] == (-1, 1)
    (note,) = (note for note in found.notes if "learn from gains" in note)
    assert "so that 0 became 0.5: models that learn from gains take it for a gain, and -1" in note
    gains = inspect(data.with_columns(outcome=pl.col("outcome") + 1))
    assert not any("learn from gains" in note for note in gains.notes)
