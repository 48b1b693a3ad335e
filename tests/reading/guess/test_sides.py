"""Columns whose names differ by the words for two sides are found quickly among very many."""

from __future__ import annotations

from itertools import combinations
from time import process_time

import numpy as np
import polars as pl
import pytest

from howlearn.reading.formats.table import Frame
from howlearn.reading.guess import inspect
from howlearn.reading.guess.behaviour import _differing, _sides, pair_on_screen, words_of
from howlearn.reading.guess.sample import take_sample

PARTS = ["left", "right", "stim", "1", "2", "a", "b", "l", "r", "up", "down", "x"]


def test_the_pairs_are_those_of_looking_at_each_two() -> None:
    generator = np.random.default_rng(3)
    names = {"_".join(generator.choice(PARTS, size=generator.integers(1, 4))) for _ in range(600)}
    words = {name: words_of(name) for name in sorted(names)}
    slow = [pair for pair in combinations(words, 2) if _sides(words[pair[0]], words[pair[1]])]
    assert len(slow) > 20
    assert _differing(words) == slow


def test_hundreds_of_columns_take_no_time() -> None:
    names = [f"part {i} of {chr(97 + i % 26)}{i}" for i in range(400)]
    sample = take_sample([Frame(pl.DataFrame({name: ["x", "y"] for name in names}))])
    begun = process_time()
    assert pair_on_screen(sample, names) is None
    assert process_time() - begun < 0.5


def test_places_of_three_options_one_of_which_may_be_empty() -> None:
    rng, rows = np.random.default_rng(5), []
    worth = {"1": 80, "2": 50, "3": 20, "4": 80, "6": 20}
    for person in range(10):
        for trial in range(100):
            shown = [*rng.permutation(["1", "2", "3"] if trial % 2 else ["4", "6"])]
            shown = shown if len(shown) == 3 else [shown[0], "-1", shown[1]]
            chosen = max(
                (s for s in shown if s != "-1"), key=lambda s: worth[s] + rng.gumbel(0, 25)
            )
            place = shown.index(chosen) - 1
            rows.append((person, *shown, place, worth[chosen] + int(rng.normal(0, 5)), 0.5))
    names = ["id", "left_option", "middle_option", "right_option", "choice", "outcome", "rt"]
    found = inspect(pl.DataFrame(rows, schema=names, orient="row"))
    assert found.study is not None
    assert found.study.actions == ("1", "2", "3", "4", "6")
    assert {*found.trials()["offered"]} == {"1|2|3", "4|6"}


def test_feedback_that_may_mislead_is_what_was_earned() -> None:
    rng, rows = np.random.default_rng(6), []
    for person in range(10):
        for _ in range(100):
            shown = str(rng.choice(["S1", "S2"]))
            key = str(rng.choice(["left", "right"]))
            right = (key == "left") == (shown == "S1")
            told = right if rng.random() < 0.8 else not right
            rows.append((person, shown, key, int(right), "pos" if told else "neg"))
    names = ["subj", "stim", "key", "accuracy", "feedback"]
    found = inspect(pl.DataFrame(rows, schema=names, orient="row"))
    assert found.roles["reward"] == "feedback"


def test_pairs_in_one_label_are_on_offer() -> None:
    rng = np.random.default_rng(7)
    pairs = [("w", "z"), ("x", "y"), ("w", "x")]
    shown = [pairs[i] for i in rng.integers(3, size=200)]
    chosen = [pair[i] for pair, i in zip(shown, rng.integers(2, size=200), strict=True)]
    rows = [
        ("-".join(pair), c, int(rng.random() < 0.5)) for pair, c in zip(shown, chosen, strict=True)
    ]
    found = inspect(pl.DataFrame(rows, schema=["pair", "chosen", "points"], orient="row"))
    assert {*found.trials()["offered"]} == {"w|z", "x|y", "w|x"}


def test_words_that_nobody_knows_are_asked_about() -> None:
    rng = np.random.default_rng(8)
    columns = {"key": rng.choice(["f", "j"], 100), "feedback": rng.choice(["glorp", "blick"], 100)}
    found = inspect(pl.DataFrame(columns))
    assert [question.about for question in found.questions] == ["reward"]
    assert "feedback == 'glorp'" in str(found.questions[0])
    assert inspect(pl.DataFrame(columns), reward="feedback == 'blick'").questions == ()


def test_sides_in_other_languages_beside_something_that_tells_which_is_right() -> None:
    """Which of two plants is right depends on the animal, and is another for each person."""
    rng = np.random.default_rng(4)
    rows = []
    for person in range(8):
        right = dict(zip(("zorro", "gato", "perro"), rng.permutation(3).tolist(), strict=True))
        for trial in range(60):
            animal = str(rng.choice([*right]))
            good = right[animal]
            bad = int(rng.choice([i for i in range(3) if i != good]))
            left, other = (good, bad) if rng.random() < 0.5 else (bad, good)
            hit = rng.random() < min(0.95, 0.5 + trial / 60)
            side = "izquierda" if (left == good) == hit else "derecha"
            plants = ("rosa", "pino", "cactus")
            words = ("acierto" if hit else "fallo", "sin respuesta")
            row = (f"p{person}", trial, animal, plants[left], plants[other])
            none = rng.random() < 0.03
            rows.append((*row, None if none else side, words[int(none)]))
    names = ["sujeto", "ensayo", "animalito", "planta_izquierda", "planta_derecha"]
    data = pl.DataFrame(rows, schema=[*names, "respuesta", "resultado"], orient="row")
    found = inspect(data)
    assert found.options["offered"] == ("planta_izquierda", "planta_derecha")
    assert found.options["positions"] == ("izquierda", "derecha")
    assert found.roles["context"] == "animalito"
    assert found.study is not None
    assert {*found.study.actions} == {"rosa", "pino", "cactus"}


@pytest.mark.parametrize("who", ["partner", "opponent_name"])
def test_another_player_is_a_context_and_the_other_players_choice_is_none(who: str) -> None:
    rng = np.random.default_rng(9)
    rows = []
    for person in range(12):
        value = np.full(4, 0.5)
        for _ in range(70):
            met = int(rng.integers(4))
            gives = rng.random() < 1 / (1 + np.exp(-6 * (value[met] - 0.5)))
            returned = bool(rng.random() < (0.9, 0.7, 0.3, 0.1)[met])
            if gives:
                value[met] += 0.3 * (returned - value[met])
            paid = 20 * returned if gives else 10
            names = ("Ann", "Bo", "Cy", "Di")[met], "give" if gives else "hold"
            rows.append((person, *names, "give" if returned else "hold", paid))
    schema = ["subject", who, "decision", "other_decision", "payoff"]
    data = pl.DataFrame(rows, schema=schema, orient="row")
    assert inspect(data.drop("other_decision")).roles["context"] == who
    moves = data.drop(who).rename({"other_decision": who})
    assert inspect(moves).options["context"] == ("none",)


def test_a_missed_look_does_not_pass_for_a_side() -> None:
    """A code of no look with an outcome of its own, beside images that change sides."""
    rng = np.random.default_rng(10)
    rows = []
    for monkey in range(3):
        for block in range(6):
            images, value = (2 * block + 1, 2 * block + 2), np.full(2, 0.5)
            for trial in range(60):
                good = int(trial >= 30)
                first = int(rng.integers(2))
                pick = int(rng.random() < 1 / (1 + np.exp(4 * (value[0] - value[1]))))
                won = int(rng.random() < (0.85 if pick == good else 0.15))
                missed = rng.random() < 0.05
                if not missed:
                    value[pick] += 0.4 * (won - value[pick])
                shown = (images[first], images[1 - first])
                looked = (0, -1, None) if missed else (1 + int(pick != first), won, 200 + trial)
                rows.append((monkey, block, trial, *shown, *looked))
    names = ["monkey", "block", "trial", "imgLeft", "imgRight", "saccade", "outcome", "sacRT"]
    found = inspect(pl.DataFrame(rows, schema=names, orient="row"))
    assert found.options["offered"] == ("imgLeft", "imgRight")
    assert found.options["positions"] == ("1", "2")
    assert found.study is not None
    assert len(found.study.actions) == 12


@pytest.mark.parametrize("named", [True, False])
def test_places_by_their_names_or_by_an_answer_that_can_be_typed(named: bool) -> None:
    rng, rows = np.random.default_rng(8), []
    for person in range(6):
        for _ in range(60):
            pair = [*rng.permutation(["甲", "乙"] if rng.random() < 0.5 else ["丙", "丁"])]
            side = int(rng.integers(2))
            rows.append((person, *pair, ("左", "右")[side] if named else "gh"[side], 1, 500))
    names = ["id", *(("左图", "右图") if named else ("stim1", "stim2")), "key", "reward", "rt"]
    data = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        reward=pl.Series(rng.integers(2, size=len(rows)))
    )
    found = inspect(data, action="key", reward="reward")
    if named:
        assert found.options["positions"] == ("左", "右")
        assert "positions" not in [question.about for question in found.questions]
        return
    [asked] = [question for question in found.questions if question.about == "positions"]
    assert asked.answers[0].typed == "--positions g,h --offered stim1,stim2"
    options = {asked.answers[0].option: asked.answers[0].value, **asked.answers[0].also}
    again = inspect(data, action="key", reward="reward", **options)
    assert again.study is not None
    assert again.study.actions == ("丁", "丙", "乙", "甲")


@pytest.mark.parametrize("places", [(0, 1), (1, 2), ("left", "right"), ("f", "j")])
def test_a_place_in_a_list_is_the_option_there(places: tuple[object, ...]) -> None:
    rng, rows = np.random.default_rng(4), []
    for person in range(6):
        for _ in range(60):
            pair = [*rng.permutation(["uva", "figo", "kiwi"])[:2].tolist()]
            place = int(rng.integers(2))
            won = int(rng.random() < (0.8 if pair[place] == "uva" else 0.3))
            rows.append((person, str(pair), places[place], won))
    names = ["id", "opcoes", "escolha", "reward"]
    found = inspect(pl.DataFrame(rows, schema=names, orient="row"))
    assert found.options["offered"] == ("opcoes",)
    assert found.options["positions"] == tuple(map(str, places))
    assert found.options["context"] == ("none",)
    assert found.study is not None
    assert found.study.actions == ("figo", "kiwi", "uva")


def test_two_cues_in_a_list_are_a_situation_where_outcomes_hang_on_the_key() -> None:
    """Two symptoms in any order, and one of two diseases by number."""
    rng, rows = np.random.default_rng(5), []
    for person in range(6):
        for _ in range(80):
            pair = [*rng.permutation(["cough", "fever", "rash", "pain"])[:2].tolist()]
            key = int(rng.integers(2))
            won = int(rng.random() < (0.85 if key == ("rash" in pair) else 0.15))
            rows.append((person, ", ".join(pair), key, won))
    found = inspect(pl.DataFrame(rows, schema=["id", "signs", "choice", "reward"], orient="row"))
    assert "offered" not in found.options
    assert found.options["context"] == ("signs",)
