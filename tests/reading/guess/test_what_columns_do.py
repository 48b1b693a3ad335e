"""Roles are played by columns that can play them, whatever their names; near ties are questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.reading.guess import inspect
from howlearn.reading.read import read

SEEDS = range(4)


def trials(seed: int, make: Callable[..., dict[str, Any]], people: int = 8, n: int = 120) -> Any:
    """A table with a row per trial; what is random comes from the seed."""
    rng = np.random.default_rng(seed)
    rows = [{"who": f"p{p}", "t": t, **make(rng, p, t)} for p in range(people) for t in range(n)]
    return pl.DataFrame(rows, infer_schema_length=None)


def some(rng: np.random.Generator, share: float) -> int:
    return int(rng.random() < share)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_required_is_not_what_was_chosen(seed: int) -> None:
    """The column called action is fixed by the stimulus, for everybody or for each person."""

    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        stimulus = int(rng.integers(4))
        required = ("go", "stop")[(stimulus + (p if seed % 2 else 0)) % 2]
        choice = some(rng, 0.5)
        return {
            "stimulus": stimulus,
            "action": required,
            "choice": choice,
            "outcome": some(rng, 0.5),
        }

    data = trials(seed, row)
    found = inspect(data)
    assert found.options["action"] == "choice"
    assert "what was required or planned" in str(found.oddities)
    assert read(data, trial="t").actions == ("0", "1")  # without inspect, too
    assert inspect(data, action="action").options["action"] == "action"  # what is said counts


@pytest.mark.parametrize("seed", SEEDS)
def test_options_on_offer_and_their_outcomes(seed: int) -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        left, right = rng.choice([*"ABCD"], 2, replace=False)
        chosen = (left, right)[some(rng, 0.5)]
        pays = {"L_reward": some(rng, 0.6), "R_reward": some(rng, 0.4)}
        return {"L_choice": left, "R_choice": right, **pays, "Sub_Choose": chosen}

    found = inspect(trials(seed, row))
    assert found.options["action"] == "Sub_Choose"
    assert found.options["offered"] == ("L_choice", "R_choice")
    assert found.options["context"] == ("none",)
    table = found.trials()
    assert table["offered"].str.contains(r"^[A-D]\|[A-D]$").all()
    data = trials(seed, row)
    earned = pl.when(pl.col("Sub_Choose") == pl.col("L_choice"))
    earned = earned.then(pl.col("L_reward")).otherwise(pl.col("R_reward"))
    assert table["reward"].to_list() == data.select(earned.alias("x"))["x"].to_list()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("codes", [("left", "right"), ("f", "j"), ("0", "1"), ("1", "0")])
def test_a_side_becomes_the_stimulus(seed: int, codes: tuple[str, str]) -> None:
    """Which code is left is told by words, or by what the stimuli earned; else it is asked."""

    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        left, right = rng.permutation([*"ABC"])[:2]
        at = some(rng, 0.5)
        pays = {"A": 0.9, "B": 0.5, "C": 0.1}[(left, right)[at]]
        return {"img_left": left, "img_right": right, "resp": codes[at], "reward": some(rng, pays)}

    found = inspect(trials(seed, row))
    assert found.options["positions"] == codes
    assert found.study is not None
    assert found.study.actions == ("A", "B", "C")
    assert not found.questions


def test_which_side_is_which_is_asked_where_nothing_tells() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        left, right = rng.permutation([*"ABC"])[:2]
        side, reward = some(rng, 0.5), some(rng, 0.5)
        return {"img_left": left, "img_right": right, "resp": side, "reward": reward}

    found = inspect(trials(3, row))
    assert [question.about for question in found.questions] == ["positions"]
    assert "--positions 0,1" in str(found.questions[0])
    answered = inspect(trials(3, row), positions=("1", "0"), offered=("img_left", "img_right"))
    assert not answered.questions


@pytest.mark.parametrize("seed", SEEDS)
def test_contexts_with_actions_of_their_own(seed: int) -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        stimulus = "AB"[some(rng, 0.5)]
        choice = int(rng.integers(1, 3)) + 2 * (stimulus == "B")
        return {"stimulus": stimulus, "choice": choice, "reward": some(rng, 0.5)}

    found = inspect(trials(seed, row))
    assert sorted(found.options["offers"]) == ["A=1|2", "B=3|4"]
    assert "--offers none" in str(found.oddities)
    assert "offers" not in inspect(trials(seed, row), offers="none").options
    rare = trials(seed, row, people=1, n=12)  # too few to tell
    assert "offers" not in inspect(rare).options


@pytest.mark.parametrize(
    "words", [("s", "f"), ("win", "lose"), ("smile", "frown"), ("hit", "miss")]
)
def test_words_for_success(words: tuple[str, str]) -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        ch = some(rng, 0.5)
        won = some(rng, 0.8 if ch else 0.2)
        return {"form": "ab"[t % 2], "ch": "AB"[ch], "smiley": words[1 - won]}

    found = inspect(trials(1, row))
    assert (found.options["action"], found.options["reward"]) == ("ch", "smiley")
    assert found.study is not None
    assert set(found.study.reward) == {0.0, 1.0}
    assert np.mean(found.study.reward[found.study.action == 1]) > 0.5
    for role in ("learner", "context", "action", "reward", "trial"):  # naming one loses none
        assert inspect(trials(1, row), **{role: found.options[role]}).roles == found.roles


def test_a_code_with_an_outcome_and_a_time_is_a_choice() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        if t % 40 == 7:
            return {"choice": 99, "outcome": None, "rt": None}
        return {"choice": int(rng.integers(-1, 2)), "outcome": some(rng, 0.5), "rt": 0.4}

    found = inspect(trials(2, row))
    assert found.options["missing"] == ("action:99",)
    assert found.study is not None
    assert found.study.actions == ("-1", "0", "1")


@pytest.mark.parametrize("late", [0, None])
def test_no_time_and_nothing_earned_is_a_missed_trial(late: int | None) -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        if t % 10 == 7:
            return {"choice": 0, "reward": late, "rt": 0}
        return {"choice": int(rng.integers(1, 3)), "reward": some(rng, 0.5), "rt": 0.4}

    found = inspect(trials(2, row))
    left_out = found.options.get("missing") or found.options.get("where")
    assert left_out in (("action:0",), "reward != missing")
    assert found.study is not None
    assert found.study.actions == ("1", "2")


def test_what_was_not_chosen_was_on_offer() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        chosen, other = rng.permutation([*"ABC"])[:2]
        return {"chosen": chosen, "unchosen": other, "reward": some(rng, 0.5)}

    found = inspect(trials(1, row))
    assert found.options["offered"] == ("chosen", "unchosen")
    assert found.options["action"] == "chosen"


def test_a_column_that_choices_follow_may_have_been_shown() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        advice = some(rng, 0.5)
        choice = advice if rng.random() < 0.75 else 1 - advice
        return {"advice": advice, "choice": choice, "reward": some(rng, 0.5)}

    (question,) = inspect(trials(1, row)).questions
    assert question.about == "context"
    assert [answer.typed for answer in question.answers] == ["--context advice", "--context none"]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_choice_that_sides_hide(seed: int) -> None:
    """Keys are sides, the shape is what is learned: from what was right and whether they were."""

    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        shape = ("circle", "square")[t % 80 >= 40]
        right = some(rng, 0.75)
        return {
            "correct_shape": shape,
            "correct_position": some(rng, 0.5),
            "response": ("left", "right")[some(rng, 0.5)],
            "correct": right,
            "rewarded": some(rng, 0.8 if right else 0.2),
        }

    found = inspect(trials(seed, row))
    assert found.options["context"] == ("none",)
    assert found.options["action"] == "(correct_shape == 'circle') == (correct == 1)"
    assert found.options["reward"] == "rewarded"


def test_numbers_that_are_shared_by_people_of_several_groups() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        choice = some(rng, 0.5)
        return {"subject": p % 5, "group": "ab"[p // 5], "choice": choice, "reward": some(rng, 0.5)}

    found = inspect(trials(1, row, people=10, n=40).drop("who"))
    assert found.options["learner"] == "join(group, subject)"
    assert found.study is not None
    assert len(set(found.study.learners)) == 10
    same = trials(1, row, people=10, n=40).drop("who").with_columns(pl.lit("c").alias("group"))
    assert inspect(same).options["learner"] == "subject"


def test_amounts_that_are_shown_are_no_outcome() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        gain, loss = int(rng.integers(10, 40)), int(rng.integers(5, 20))
        return {"gain": gain, "loss": loss, "gamble": some(rng, 0.8 if gain > 2 * loss else 0.2)}

    found = inspect(trials(1, row))
    assert "reward" not in found.options
    assert found.problems.startswith("no outcome: these models need feedback")


def two_decisions(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
    return {"choice": some(rng, 0.5), "response": some(rng, 0.5), "reward": some(rng, 0.5)}


def test_a_near_tie_is_a_question() -> None:
    data = trials(1, two_decisions)
    found = inspect(data)
    (question,) = found.questions
    assert question.about == "action"
    assert [answer.value for answer in question.answers] == ["choice", "response"]
    assert found.doubts == (f"{question.sentence} --action choice was taken",)
    told = found.as_json()
    shares = [
        told["roles"]["action"]["score"],
        *(each["score"] for each in told["roles"]["action"]["runners_up"]),
    ]
    assert sum(shares) == pytest.approx(1)
    with pytest.raises(HowlearnError, match="which column is the action: choice, response"):
        read(data, context="none", reward="reward", learner="who")
    assert not inspect(data, action="response").questions
    study = read(data, learner="who", context="none", action="response", reward="reward")
    assert len(study) == 8


def test_outcomes_after_which_choices_are_given_up() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        shocked = some(rng, 0.5)
        state["last"] = (
            state["last"] if not state["hurt"] or rng.random() < 0.2 else 1 - state["last"]
        )
        state["hurt"] = shocked
        return {"choice": state["last"], "outcome": shocked}

    state = {"last": 0, "hurt": 0}
    (question,) = inspect(trials(1, row)).questions
    assert "is more of outcome better?" in question.sentence
    assert [answer.value for answer in question.answers] == ["outcome", "0 - outcome"]


def test_a_description_outranks_a_name() -> None:
    from howlearn.reading.formats.open import open_tables
    from howlearn.reading.formats.sidecars import Description
    from howlearn.reading.guess import guess
    from howlearn.reading.guess.draft import Draft
    from howlearn.reading.guess.sample import take_sample
    from howlearn.reading.options import ReadOptions

    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        return {"a_t": some(rng, 0.5), "choice": some(rng, 0.5), "r_t": some(rng, 0.5)}

    tables, _, _ = open_tables(trials(1, row), ReadOptions())
    about = {
        "a_t": Description("the option that was chosen", {}),
        "choice": Description("the correct response", {}),
        "r_t": Description("Trial-by-trial reward", {}),
    }
    draft = guess(Draft(take_sample(tables), ReadOptions(), about=about))
    assert (draft.guesses["action"].value, draft.guesses["reward"].value) == ("a_t", "r_t")
    assert "rt" not in draft.guesses


def test_a_prediction_that_comes_true() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        words = ("rain", "sun")
        return {
            "cue": "ab"[t % 2],
            "guess": words[some(rng, 0.5)],
            "outcome": words[some(rng, 0.6)],
        }

    found = inspect(trials(1, row))
    assert found.options["reward"] == "guess == outcome"


def test_not_to_press_is_a_choice() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        go = some(rng, 0.6)
        return {
            "cue": "abcd"[t % 4],
            "response": "space" if go else None,
            "outcome": some(rng, 0.5),
        }

    found = inspect(trials(1, row))
    assert found.options["action"] == "if(response == missing, 'no-go', 'go')"
    assert found.study is not None
    assert len(found.study.context) == 8 * 120


@pytest.mark.parametrize(
    ("key", "won"), [("sniff", "water"), ("paw", "result"), ("taste", "points")]
)
def test_not_to_act_is_a_choice_under_any_name(key: str, won: str) -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        go = some(rng, 0.6)
        time = round(0.3 + rng.random(), 3) if go else 0
        paid = some(rng, 0.8 if go == (t % 4 < 2) else 0.2)
        return {"cue": "abcd"[t % 4], key: "on" if go else None, "rt": time, won: paid}

    found = inspect(trials(1, row))
    assert found.options["action"] == f"if({key} == missing, 'no-go', 'go')"
    assert found.options["reward"] == won
    assert found.study is not None
    assert len(found.study.context) == 8 * 120
    assert not any("took less than" in str(odd) for odd in found.oddities)
    if key != "taste":  # a word for keys
        assert [question.about for question in found.questions] == ["action"]


def test_a_mark_that_has_nothing_to_do_with_trials_is_no_choice() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        return {"cue": "abcd"[t % 4], "paused": "on" if some(rng, 0.3) else None, "reward": t % 2}

    assert "action" not in inspect(trials(1, row)).options


def test_outcomes_of_four_arms() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        pays = {f"payoff{i}": int(rng.integers(0, 10 * i)) for i in range(1, 5)}
        return {**pays, "choice": int(rng.integers(1, 5))}

    data = trials(1, row)
    found = inspect(data, reward_range=(0, 40))
    assert found.study is not None
    wanted = [row[f"payoff{row['choice']}"] for row in data.iter_rows(named=True)]
    assert found.study.reward.tolist() == wanted


def test_columns_derived_from_choices_are_none() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        choice = some(rng, 0.5)
        reward = some(rng, 0.8 if choice else 0.2)
        return {
            "choiceSwitch": some(rng, 0.3),
            "choice.ACC": choice,
            "choice": "LR"[choice],
            "optimal_choice": "R",
            "reward": reward,
            "success": reward,
        }

    found = inspect(trials(1, row))
    assert (found.options["action"], found.options["reward"]) == ("choice", "reward")
    assert not found.questions


def test_people_who_know_the_answers_still_choose() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        item = int(rng.integers(4))
        right = rng.random() < 0.995
        return {"item": item, "response": "fj"[(item % 2) ^ (not right)], "correct": int(right)}

    assert inspect(trials(1, row, n=300)).options["action"] == "response"


def test_people_of_several_files_who_share_their_names(tmp_path: Path) -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        choice = some(rng, 0.5)
        return {"choice": choice, "reward": some(rng, 0.8 if choice else 0.2)}

    for name in ("study1", "study2"):
        trials(len(name), row, people=5, n=40).rename({"who": "subject"}).write_csv(
            tmp_path / f"{name}.csv"
        )
    found = inspect(tmp_path)
    assert [question.about for question in found.questions] == ["learner"]
    assert found.study is not None
    assert len(set(found.study.learners)) == 10
    apart = inspect(tmp_path, learner="join(file, subject)")
    assert apart.options["trial"] == ("t",)
    assert apart.study is not None
    assert set(apart.study.learners) == set(found.study.learners)
    same = inspect(tmp_path, learner="subject")
    assert same.study is not None
    assert len(set(same.study.learners)) == 5


def test_forced_choices_teach_and_do_not_count() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        return {"forced": int(t % 4 == 0), "choice": some(rng, 0.5), "reward": some(rng, 0.5)}

    found = inspect(trials(1, row))
    assert found.options["forced_when"] == "forced == 1"
    assert found.study is not None
    assert int((~found.study.scored).sum()) == 8 * 30
    assert found.study.learned.all()


def test_a_total_that_goes_up_and_down_is_no_reward() -> None:
    total = {"sum": 0}

    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        choice = some(rng, 0.5)
        right = some(rng, 0.7 if choice else 0.3)
        total["sum"] = (0 if t == 0 else total["sum"]) + 2 * right - 1
        return {"choice": choice, "correct": right, "score": total["sum"]}

    assert inspect(trials(1, row)).options["reward"] == "correct"


def test_prizes_that_are_shown_are_no_outcomes_that_teach() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        high, low, sure = rng.integers(1, 99, 3).tolist()
        risky = some(rng, 0.5)
        paid = (high if some(rng, 0.5) else low) if risky else sure
        return {"Ha": high, "La": low, "Hb": sure, "Button": "AB"[risky], "Payoff": paid}

    assert "no outcome" in inspect(trials(1, row)).problems


@pytest.mark.parametrize("seed", SEEDS)
def test_one_column_that_says_what_is_on_one_side(seed: int) -> None:
    """A or B pays, wherever it is; only what is on the left is written down, or where A is."""

    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        left, chose_a = "AB"[some(rng, 0.5)], bool(some(rng, 0.6))
        side = "left" if (left == "A") == chose_a else "right"
        where = "left" if left == "A" else "right"
        paid = some(rng, 0.75 if chose_a else 0.25)
        return {"on_left": left, "blue_side": where, "resp": side, "reward": paid, "a": chose_a}

    data = trials(seed, row)
    for column, name in (("on_left", "A"), ("blue_side", "blue")):
        found = inspect(data.select("who", "t", column, "resp", "reward"))
        assert found.roles["context"] == "none"
        assert found.study is not None
        assert name in found.study.actions
        chose = np.array(found.study.actions)[found.study.action] == name
        assert chose.tolist() == data["a"].to_list()
        said = inspect(data.select("who", "t", column, "resp", "reward"), action="resp")
        assert said.roles["action"] == "resp"


def test_advice_that_is_followed_now_and_then_is_asked_about() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        advice, choice = some(rng, 0.5), some(rng, 0.5)
        choice = advice if rng.random() < 0.2 else choice
        return {
            "advice": "bg"[advice],
            "choice": "bg"[choice],
            "reward": some(rng, 0.4 + choice / 5),
        }

    asked = inspect(trials(1, row, people=15)).questions
    assert [question.about for question in asked] == ["context"]
    assert "choices follow advice" in asked[0].sentence


def test_what_is_shown_tells_where_what_is_right_changes() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        advice, choice, helps = some(rng, 0.5), some(rng, 0.5), t < 60
        right = (advice == choice) == helps
        return {"advice": advice, "choice": choice, "reward": some(rng, 0.85 if right else 0.15)}

    assert inspect(trials(1, row, people=15)).roles["context"] == "advice"


def test_a_side_at_random_beside_what_was_chosen_is_asked_about() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        better = some(rng, min(0.9, 0.5 + t / 100)) if t else 0
        return {
            "choice_side": some(rng, 0.5),
            "choice_accuracy": better,
            "reward": some(rng, 0.2 + 0.6 * better),
        }

    found = inspect(trials(1, row, people=15))
    assert "action" in [question.about for question in found.questions] or (
        found.roles["action"] == "choice_accuracy"
    )


def test_hit_and_miss_are_outcomes() -> None:
    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        forecast, weather = some(rng, 0.5), some(rng, 0.6)
        return {
            "cards": "ab"[t % 2],
            "forecast": forecast,
            "hit": "hit" if forecast == weather else "miss",
        }

    found = inspect(trials(1, row))
    assert "missing" not in found.options


@pytest.mark.parametrize("words", [("no", "yes"), "AB"])  # of which letters could be keys
def test_what_follows_from_what_was_shown_was_required(words: tuple[str, str]) -> None:
    """Correct says that two columns are the same, under names that tell nothing."""

    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        signs = [some(rng, 0.5) for _ in range(3)]
        disease = "MB"[int(sum(signs) > 1)]
        said = disease if some(rng, min(0.9, 0.5 + t / 100)) else "MB"[disease == "M"]
        symptoms = {f"symptom{i}": words[each] for i, each in enumerate(signs, 1)}
        return {**symptoms, "diagnosis": said, "disease": disease, "correct": said == disease}

    data = trials(1, row)
    found = inspect(data)
    assert found.roles["action"] == "diagnosis"
    assert any("disease, which follows from what was shown" in str(o) for o in found.oddities)
    alone = inspect(data.drop("symptom1", "symptom2", "symptom3"))
    [asked] = [q for q in alone.questions if q.about == "action"]
    assert {answer.value for answer in asked.answers} == {"diagnosis", "disease"}


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_choice_earned_is_not_the_choice(seed: int) -> None:
    """A partner gives back 20 or nothing, but only where he was trusted."""
    last: dict[tuple[int, str], bool] = {}

    def row(rng: np.random.Generator, p: int, t: int) -> dict[str, Any]:
        partner = ("Anna", "Bruno", "Carla")[rng.integers(3)]
        trusts = some(rng, 0.85 if last.get((p, partner), True) else 0.35)
        back = 20 * trusts * some(rng, {"A": 0.85, "B": 0.2, "C": 0.6}[partner[0]])
        if trusts:
            last[p, partner] = back > 0
        earned = back if trusts else 10
        return {"partner": partner, "fiducia": ("no", "si")[trusts], "back": back, "gain": earned}

    found = inspect(trials(seed, row), reward="gain")
    assert found.roles["action"] == "fiducia"
    for asked in [q for q in found.questions if q.about == "action"]:
        assert {"fiducia", "back"} <= {answer.value for answer in asked.answers}


@pytest.mark.parametrize("words", ["no response", "did not respond in time", "Missing"])
def test_a_code_book_says_which_code_is_no_response(tmp_path: Path, words: str) -> None:
    rows = ["v1,v2,v3,v4"]
    rng = np.random.default_rng(3)
    for who in range(8):
        for _ in range(100):
            cue, key = "PQ"[rng.integers(2)], 9 if some(rng, 0.05) else 1 + some(rng, 0.5)
            won = int(key != 9) * some(rng, 0.8 if (key == 1) == (cue == "P") else 0.2)
            rows.append(f"{who},{cue},{key},{won}")
    (tmp_path / "data.csv").write_text("\n".join(rows))
    about = [
        "Variable,Description,Values",
        "v1,Participant number,",
        "v2,Symbol shown on screen (cue),",
        f"v3,Response of the participant,1 = left; 2 = right; 9 = {words}",
        "v4,Feedback shown to the participant,1 = coin; 0 = nothing",
    ]
    book = tmp_path / "codebook.csv"
    book.write_text("\n".join(about))
    found = inspect(tmp_path)
    assert found.options["missing"] == ("action:9",)
    assert found.study is not None
    assert found.study.actions == ("1", "2")
    book.write_text("\n".join(about).replace(words, "both keys"))
    assert "missing" not in inspect(tmp_path).options
