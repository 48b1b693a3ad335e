"""Blocks and sessions: which bring new arms, and how they number the trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howlearn.reading.guess import inspect

SEEDS = range(5)


def games(
    seed: int, new: bool, people: int = 6, blocks: int = 10, exchange: bool = False
) -> pl.DataFrame:
    """People who learn in blocks: about new arms in each, or about the same ones all along."""
    rng, rows = np.random.default_rng(seed), []
    for person in range(people):
        chance, values = rng.random(2), np.full(2, 0.5)
        for block in range(1, blocks + 1):
            if new:
                chance, values = rng.random(2), np.full(2, 0.5)
            elif exchange:
                chance = np.array([0.8, 0.2] if block % 2 else [0.2, 0.8])
            for trial in range(1, 21):
                odds = np.exp(4 * values)
                a = int(rng.choice(2, p=odds / odds.sum()))
                earned = int(rng.random() < chance[a])
                values[a] += 0.4 * (earned - values[a])
                rows.append((person, block, trial, *chance, a, earned))
    names = ["subject", "block", "trial", "p1", "p2", "choice", "reward"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize("seed", SEEDS)
def test_new_arms_reset_and_the_same_ones_do_not(seed: int) -> None:
    found = inspect(games(seed, new=True).drop("p1", "p2"))
    assert found.options["reset_by"] == ("block",)
    assert any("learning restarts in it" in str(oddity) for oddity in found.oddities)
    assert found.kind is not None
    assert "learning restarts in each of about 10 blocks of a learner" in found.kind.reasons
    assert found.study is not None
    assert int(found.study.reset.sum()) == 60
    kept = inspect(games(seed, new=True).drop("p1", "p2"), reset_by="none")
    assert "reset_by" not in kept.options
    for data in (games(seed, new=False), games(seed, new=False, exchange=True)):
        assert "reset_by" not in inspect(data).options


def test_columns_that_say_what_arms_pay_tell_new_arms_of_few_people() -> None:
    data = games(1, new=True, people=2, blocks=4)
    assert inspect(data).options["reset_by"] == ("block",)
    assert "reset_by" not in inspect(data.drop("p1", "p2")).options


@pytest.mark.parametrize("seed", SEEDS)
def test_sessions_blocks_and_trials_number_the_rows(seed: int) -> None:
    inside = {"session": (pl.col("block") - 1) // 5 + 1, "block": (pl.col("block") - 1) % 5 + 1}
    same = games(seed, new=False).with_columns(**inside).drop("p1", "p2")
    shuffled = same.sample(fraction=1.0, shuffle=True, seed=seed)
    for data in (same, shuffled):
        found = inspect(data, learner="subject")
        assert found.options["trial"] == ("session", "block", "trial")
    ordered, mixed = inspect(same).study, inspect(shuffled, learner="subject").study
    assert ordered is not None
    assert mixed is not None
    for name in ordered.learners:
        assert mixed[name].action.tolist() == ordered[name].action.tolist()
    new = games(seed, new=True).with_columns(**inside).drop("p1", "p2")
    assert inspect(new).options["reset_by"] == ("session", "block")


@pytest.mark.parametrize("seed", SEEDS)
def test_slow_drift_over_blocks_is_not_reset(seed: int) -> None:
    rng, rows = np.random.default_rng(seed), []
    for person in range(8):
        chance, values = rng.random(2), np.full(2, 0.5)
        for t in range(140):
            chance = np.clip(chance + rng.normal(0, 0.03, 2), 0, 1)
            odds = np.exp(4 * values)
            a = int(rng.choice(2, p=odds / odds.sum()))
            earned = int(rng.random() < chance[a])
            values[a] += 0.3 * (earned - values[a])
            rows.append((person, t // 35 + 1, t, t % 35, a, earned))
    names = ["subject", "block", "t", "trial", "choice", "reward"]
    data = pl.DataFrame(rows, schema=names, orient="row")
    for each in (data.drop("t"), data.drop("trial").rename({"t": "trial"})):
        assert "reset_by" not in inspect(each).options


def test_columns_that_say_that_blocks_are_problems_of_their_own() -> None:
    data = games(1, new=False, people=3, blocks=3).drop("p1", "p2")
    assert "reset_by" not in inspect(data).options
    both = pl.concat_str("subject", "block", separator="_")
    assert inspect(data.with_columns(Subject_Block=both)).options["reset_by"] == ("block",)
    image = pl.format("img{}_{}.png", "block", "choice")
    shown = data.with_columns(image_chosen=image)
    found = inspect(shown, action="choice", context="none")
    assert found.options["reset_by"] == ("block",)


def sessions(seed: int, again: bool, people: int = 12) -> pl.DataFrame:
    """The second action is always better; people know that after a session, or start again."""
    rng, rows = np.random.default_rng(seed), []
    for person in range(people):
        values = np.zeros((4, 2))
        for session in range(1, 4):
            values = np.zeros((4, 2)) if again else values
            for trial in range(1, 61):
                pair = int(rng.integers(4))
                odds = np.exp(6 * values[pair])
                a = int(rng.choice(2, p=odds / odds.sum()))
                earned = int(rng.random() < (0.25, 0.75)[a])
                values[pair, a] += 0.3 * (earned - values[pair, a])
                rows.append((person, session, trial, f"pair{pair}", a + 1, earned))
    names = ["subject", "session", "trial", "stimulus", "choice", "reward"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize("seed", SEEDS)
def test_sessions_that_begin_as_if_nothing_were_known_reset(seed: int) -> None:
    assert inspect(sessions(seed, again=True)).options["reset_by"] == ("session",)
    found = inspect(sessions(seed, again=False))
    assert "reset_by" not in found.options
    assert found.questions == ()


def test_payoffs_may_have_any_name_that_counts() -> None:
    data = games(1, new=True, people=2, blocks=4).rename({"p1": "m1", "p2": "m2"})
    assert inspect(data).options["reset_by"] == ("block",)


@pytest.mark.parametrize("seed", SEEDS)
def test_trials_that_are_counted_through_make_new_problems_a_question(seed: int) -> None:
    """The same actions pay otherwise in each block: reversed, or a new problem?"""
    number = pl.int_range(pl.len()).over("subject")
    data = games(seed, new=True).drop("p1", "p2").with_columns(trial=number)
    for found in (inspect(data), inspect(data, trial="trial")):
        (asked,) = found.questions
        assert [each.typed for each in asked.answers] == ["--reset-by block", "--reset-by none"]
    assert inspect(data, reset_by="none").questions == ()
    assert "reset_by" not in inspect(games(seed, new=False).with_columns(trial=number)).options


def test_blocks_with_names_that_count_order_the_rows() -> None:
    data = games(1, new=False, blocks=12).drop("p1", "p2")
    named = data.with_columns(block=pl.format("block{}", "block"))
    shuffled = inspect(named.sample(fraction=1, shuffle=True, seed=1))
    assert shuffled.options["trial"] == ("block", "trial")
    assert shuffled.questions == ()
    right, mixed = inspect(data).study, shuffled.study
    assert right is not None
    assert mixed is not None
    for learner in right.learners:
        assert right[learner].action.tolist() == mixed[learner].action.tolist()


def test_rows_in_another_order_than_their_blocks_are_a_question() -> None:
    data = games(1, new=False).drop("p1", "p2")
    found = inspect(data.with_columns(block=11 - pl.col("block")))
    assert [question.about for question in found.questions] == ["trial"]
    assert [a.typed for a in found.questions[0].answers] == ["--trial block,trial", "--trial none"]
    assert inspect(data.with_columns(block=11 - pl.col("block")), trial="none").questions == ()


def test_times_that_restart_do_not_mix_sessions() -> None:
    """A clock that starts anew in each session says nothing about the order of sessions."""
    rng = np.random.default_rng(5)
    rows = []
    for animal in ("m1", "m2", "m3"):
        for day in ("2023-04-10", "2023-04-11", "2023-04-12"):
            clock = np.cumsum(rng.uniform(2, 9, 40)).round(3)
            rows += [(animal, day, t, int(rng.integers(2)), int(rng.integers(2))) for t in clock]
    names = ["animal", "day", "trial_start", "choice", "reward"]
    data = pl.DataFrame(rows, schema=names, orient="row")
    found = inspect(data)
    assert found.study is not None
    assert found.study.action.tolist() == data["choice"].to_list()
    once = data.with_columns(trial_start=pl.int_range(1, pl.len() + 1)).sample(
        fraction=1, shuffle=True, seed=1
    )
    sorted_again = inspect(once).study
    assert sorted_again is not None
    assert sorted_again.part(0, 1).action.tolist() == (
        once.filter(animal=sorted_again.learners[0]).sort("trial_start")["choice"].to_list()
    )


def test_a_description_of_blocks_says_that_each_has_new_arms(tmp_path: Path) -> None:
    data = games(3, new=False).drop("p1", "p2")
    names = [f"v{i}" for i in range(1, 6)]
    data.rename(dict(zip(data.columns, names, strict=True))).write_csv(tmp_path / "data.csv")
    said = ["participant number", "game (1-10); each game has two new machines", "trial in game"]
    said += ["machine chosen by the participant", "reward received"]

    def options(second: str) -> dict[str, object]:
        texts = [said[0], second, *said[2:]]
        lines = [f'{n},"{t}"' for n, t in zip(names, texts, strict=True)]
        (tmp_path / "codebook.csv").write_text("\n".join(["variable,description", *lines]))
        found = inspect(tmp_path)
        assert not found.questions
        return dict(found.options)

    assert options(said[1])["reset_by"] == ("v2",)
    assert options("block; different machines were used in every block")["reset_by"] == ("v2",)
    for same in (
        "game (1-10)",
        "block; each block was in a different room",
        "block; same machines",
    ):
        assert "reset_by" not in options(same)


def test_a_counter_that_goes_on_through_blocks_is_no_set_of_new_things() -> None:
    data = games(2, new=False, blocks=2).drop("p1", "p2")
    cycle = (pl.col("block") - 1) * 5 + (pl.col("trial") - 1) // 4 + 1
    shown = (pl.col("trial") % 4).cast(pl.String).replace({"0": "w", "1": "x", "2": "y", "3": "z"})
    counted = inspect(data.with_columns(cycle.alias("CueList"), stimulus=shown))
    assert counted.roles["context"] == "stimulus"
    assert "reset_by" not in counted.options
    alone = inspect(data.with_columns(cycle.alias("CueList.Cycle")))
    assert alone.roles["context"] == "none"
    things = (pl.col("block") * 5 + pl.col("trial") % 3).alias("cue_shown")
    assert inspect(data.with_columns(things)).options["reset_by"] == ("block",)
