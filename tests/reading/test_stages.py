"""Several choices in a row: --stages reads each as a trial of its own."""

from __future__ import annotations

from time import process_time

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.core.errors import HowlearnError
from howlearn.reading.guess import inspect
from howlearn.reading.guess.stages import two_stages

STAGES = "choice1; choice2@final_state"


def two_step(seed: int = 1, people: int = 4, trials: int = 60) -> pl.DataFrame:
    rng, n = np.random.default_rng(seed), people * trials
    first = rng.integers(1, 3, n)
    state = np.where(rng.random(n) < 0.7, first, 3 - first)
    return pl.DataFrame(
        {
            "subject": np.repeat(np.arange(people), trials),
            "trial": np.tile(np.arange(trials), people),
            "choice1": first,
            "final_state": state,
            "choice2": rng.integers(1, 3, n),
            "reward": rng.integers(0, 2, n),
        }
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_two_step_task_stops_until_its_stages_are_named(seed: int) -> None:
    found = inspect(two_step(seed))
    assert found.kind is not None
    assert found.kind.name == "two-step"
    assert found.study is None
    assert f'--stages "{STAGES}"' in found.problems
    named = inspect(two_step(seed), stages=STAGES)
    assert named.kind is not None
    assert named.kind.name == "two-step"
    assert named.study is not None
    assert named.options["trial"] == ("trial", "stage_number")
    assert inspect(two_step(seed), action="choice1").study is not None


@pytest.mark.parametrize(
    ("one", "two", "state"),
    [
        ("level1_choice", "level2_choice", None),
        ("stage_1_choice", "stage_2_choice", "state"),
        ("stepone_choice", "steptwo_choice", None),
        ("firstStageChoice", "secondStageChoice", None),
        ("response1", "response2", "transition"),
    ],
)
def test_names_of_stages(one: str, two: str, state: str | None) -> None:
    data = two_step().rename({"choice1": one, "choice2": two, "final_state": state or "x"})
    kind = inspect(data if state else data.drop("x")).kind
    assert kind is not None
    assert kind.name == "two-step"


def test_what_is_no_two_step_task() -> None:
    """Options on offer, answers in a list, and two answers with nothing between them."""
    data = two_step().rename({"choice1": "option1", "choice2": "option2"}).drop("final_state")
    data = data.with_columns(option2=3 - pl.col("option1"), choice=pl.lit(1))
    listed = two_step().rename({"final_state": "choice3"})
    for each in (data, listed, two_step().drop("final_state")):
        kind = inspect(each).kind
        assert kind is None or kind.name != "two-step"


def test_each_choice_is_a_trial() -> None:
    data = two_step()
    study = hl.read(data, stages=STAGES)
    trials = study["0"]
    assert len(study.context) == 2 * data.height
    mine = data.filter(pl.col("subject") == 0)
    contexts = [study.contexts[c] for c in trials.context]
    assert contexts[::2] == ["stage 1"] * len(mine)
    assert contexts[1::2] == [str(state) for state in mine["final_state"]]
    actions = [int(study.actions[a]) for a in trials.action]
    assert actions[::2] == mine["choice1"].to_list()
    assert actions[1::2] == mine["choice2"].to_list()
    assert trials.reward[::2].tolist() == trials.reward[1::2].tolist() == mine["reward"].to_list()
    shuffled = data.sample(fraction=1.0, shuffle=True, seed=2)
    again = hl.read(shuffled, stages=STAGES)["0"]
    assert [study.actions[a] for a in again.action] == [study.actions[a] for a in trials.action]


def test_a_second_stage_that_is_missing_is_a_missed_trial() -> None:
    data = two_step().with_columns(
        choice2=pl.when(pl.col("trial") == 3).then(None).otherwise(pl.col("choice2"))
    )
    study = hl.read(data, stages=STAGES)
    assert study.counts["missed trials"] == 4
    assert len(study.context) == 2 * data.height - 4


def test_states_may_be_computed() -> None:
    data = two_step().with_columns(choice2=pl.col("choice2") + 2 * (pl.col("final_state") - 1))
    data = data.rename({"choice1": "level1_choice", "choice2": "level2_choice"})
    data = data.drop("final_state")
    found = inspect(data)
    assert found.kind is not None
    stages = "level1_choice; level2_choice@level2_choice > 2"
    assert stages in (found.kind.stops or "")
    study = inspect(data, stages=stages).study
    assert study is not None
    assert study.contexts == ("no", "stage 1", "yes")
    assert study.offers is not None
    assert sorted(study.offers.sum(axis=1).tolist()) == [2, 2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"stages": "choice1"}, "one choice only"),
        ({"stages": "choice1; @state"}, "COL; COL@STATE"),
        ({"stages": "choice1; choice3@final_state"}, "there is no column choice3"),
        ({"stages": STAGES, "action": "choice1"}, "give one of the two"),
    ],
)
def test_what_cannot_be_stages(options: dict[str, str], said: str) -> None:
    for reads in (hl.read, inspect):
        with pytest.raises(HowlearnError, match=said):
            reads(two_step(), **options)


def one_choice(seed: int, people: int = 6, trials: int = 200) -> pl.DataFrame:
    """One choice per row, which usually leads to the state of its side; reversals of what pays."""
    rng, rows = np.random.default_rng(seed), []
    for person in range(people):
        values, chance = np.zeros(2), np.array([0.8, 0.2])
        for t in range(trials):
            chance = chance[::-1] if rng.random() < 0.03 else chance
            odds = np.exp(4 * values)
            a = int(rng.choice(2, p=odds / odds.sum()))
            state = a if rng.random() < 0.8 else 1 - a
            earned = int(rng.random() < chance[state])
            values[state] += 0.4 * (earned - values[state])
            kind = "common" if state == a else "rare"
            rows.append((person, t, "LR"[a], "UD"[state], kind, earned, "UD"[int(chance[1] > 0.5)]))
    names = ["subject", "trial", "choice", "second_step", "transition", "reward", "state"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize(
    "names",
    [
        ("response", "state", "resp_second"),
        ("choice", "final_state", "final_choice"),
        ("action", "end_state", "key2"),
        ("spaceship", "planet", "alien"),
        ("first_choice", "second_stage", "second_choice"),
    ],
)
@pytest.mark.parametrize("transition", ["transition", "common"])
def test_stages_are_filled_in_by_what_columns_do(
    names: tuple[str, str, str], transition: str
) -> None:
    first, state, second = names
    rng, data = np.random.default_rng(5), two_step(5, 8, 150)
    chance = 0.25 + 0.2 * data["final_state"] * (data["choice2"] - 1)
    data = data.with_columns(
        reward=pl.Series(rng.random(data.height) < chance.to_numpy()).cast(pl.Int8),
        common=(pl.col("choice1") == pl.col("final_state")).cast(pl.Int8),
    )
    renamed = {"choice1": first, "final_state": state, "choice2": second, "common": transition}
    data = data.rename({old: new for old, new in renamed.items() if old != new})
    for part in (data, data.drop(transition)):
        assert f'--stages "{first}; {second}@{state}"' in inspect(part).problems


@pytest.mark.parametrize("seed", range(3))
def test_one_choice_per_row_may_be_a_two_step_task(seed: int) -> None:
    data = one_choice(seed)
    for some in (["second_step"], ["transition"]):
        found = inspect(data.select("subject", "trial", "choice", *some, "reward"))
        assert found.kind is not None
        assert found.kind.name == "two-step"
        assert some[0] in found.problems
        assert "--action choice continues" in found.problems
        assert "--stages" not in found.problems  # there is one stage
    kept = data.drop("transition", "state")
    assert inspect(kept, action="choice").study is not None
    # A hidden state, and a stimulus that is called so, lead nowhere.
    hidden = inspect(data.select("subject", "trial", "choice", "state", "reward"))
    assert [q.about for q in hidden.questions] == ["context"]
    assert "was it shown?" in hidden.questions[0].sentence
    rng = np.random.default_rng(seed)
    shown = pl.col("trial").hash(seed) % 2
    right = pl.Series(rng.random(data.height) < 0.8)
    paid = pl.Series(rng.random(data.height) < 0.8)
    stimuli = data.select(
        "subject", "trial", state=shown, choice=(shown == right), reward=right == paid
    )
    assert _name(stimuli.cast({"choice": pl.Int8, "reward": pl.Int8})) != "two-step"


def test_rows_that_are_stages_in_turn() -> None:
    data = two_step(trials=80)
    first = data.with_columns(stage=1, choice="choice1", state=0, reward=None)
    second = data.with_columns(stage=2, choice="choice2", state="final_state")
    columns = ["subject", "trial", "stage", "state", "choice", "reward"]
    both = pl.concat([first.select(columns), second.select(columns)], how="vertical_relaxed")
    both = both.sort("subject", "trial", "stage")
    found = inspect(both)
    assert found.kind is not None
    assert found.kind.name == "two-step"
    assert '--where "stage == 2"' in found.problems
    assert inspect(both, where="stage == 2").study is not None


def _name(data: pl.DataFrame) -> str:
    kind = inspect(data).kind
    return "" if kind is None else kind.name


@pytest.mark.parametrize("name", ["choice_{}", "choice_1_{}", "choice_1_{}_2"])
def test_stages_among_thousands_of_columns_are_looked_up(name: str) -> None:
    every = [name.format(i) for i in range(7, 4007)]
    begun = process_time()
    assert two_stages([*every, "choice_one"]) is None
    found = two_stages([*every, "key_first", "key_second"])
    assert found is not None
    assert found.typed == "key_first; key_second"
    assert process_time() - begun < 3


def two_steps(seed: int, four: bool) -> list[tuple[int, int, int, int, int]]:
    """Who, the first choice, where it led (as usual in 7 of 10 trials), the second, the reward."""
    rng, rows = np.random.default_rng(seed), []
    for person in range(16):
        paid, first, second = rng.uniform(0.25, 0.75, (2, 2)), np.zeros(2), np.zeros((2, 2))
        for _ in range(150):
            a = int(rng.random() < 1 / (1 + np.exp(4 * (first[0] - first[1]))))
            s = a if rng.random() < 0.7 else 1 - a
            b = int(rng.random() < 1 / (1 + np.exp(4 * (second[s, 0] - second[s, 1]))))
            won = int(rng.random() < paid[s, b])
            second[s, b] += 0.4 * (won - second[s, b])
            first[a] += 0.4 * (won - first[a])
            rows.append((person, a + 1, s + 1, b + 1 + 2 * s * four, won))
    return rows


@pytest.mark.parametrize(
    ("names", "four"),
    [
        (("subj", "a", "s", "b", "r"), False),
        (("id", "first", "where", "second", "payoff"), True),
        (("participant", "choice", "color", "key_resp", "reward"), False),
    ],
)
def test_two_steps_under_any_names(names: tuple[str, ...], four: bool) -> None:
    found = inspect(pl.DataFrame(two_steps(3, four), schema=[*names], orient="row"))
    assert found.kind is not None
    assert found.kind.name == "two-step"
    assert f'--stages "{names[1]}; {names[3]}@{names[2]}"' in str(found.kind.stops)


def test_a_side_or_an_answer_between_choice_and_outcome_is_no_stage() -> None:
    rng, rows = np.random.default_rng(2), []
    for person, a, s, b, won in two_steps(4, False):
        right = s if rng.random() < 0.8 else 3 - s  # a forecast of what mostly follows s
        rows.append((person, s, right, b, int(b == right), "ab"[a - 1], won))
    names = ["id", "cue", "weather", "key", "reward", "note", "other"]
    found = inspect(pl.DataFrame(rows, schema=names, orient="row").drop("note", "other"))
    assert found.kind is None or found.kind.name != "two-step"
