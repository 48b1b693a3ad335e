"""Columns that look like what they are not, in several languages."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from howlearn.reading.guess import inspect
from howlearn.reading.guess.inspection import Inspection

PEOPLE, TRIALS = 8, 60
Rows = list[dict[str, Any]]


def bandit(seed: int = 3, pays: tuple[float, float] = (0.8, 0.2)) -> Rows:
    """People who learn which of two things pays more; its side changes."""
    draw, rows = np.random.default_rng(seed), []
    for who in range(PEOPLE):
        values = np.zeros(2)
        for t in range(TRIALS):
            made = int(draw.random() < 1 / (1 + np.exp(5 * (values[0] - values[1]))))
            won = int(draw.random() < pays[made])
            values[made] += 0.3 * (won - values[made])
            left = int(draw.integers(2))
            rows.append({"who": who, "t": t, "made": made, "won": won, "left": left})
    return rows


def columns(rows: Rows, **names: Any) -> pl.DataFrame:
    """A table with one column for each function of a row."""
    made = [{name: of(row) for name, of in names.items()} for row in rows]
    return pl.DataFrame(made, infer_schema_length=None)


def said(found: Inspection) -> str:
    return "\n".join([*map(str, found.oddities), *map(str, found.questions)])


def plain(rows: Rows, **more: Any) -> pl.DataFrame:
    names = {
        "sujeto": lambda r: f"s{r['who']}",
        "ensayo": lambda r: r["t"],
        "eleccion": lambda r: "ab"[r["made"]],
        "recompensa": lambda r: r["won"],
    }
    return columns(rows, **{**names, **more})


@pytest.mark.parametrize("code", ["none", "0"])
def test_missed_choices_beside_something_else_that_is_measured(code: str) -> None:
    rows = bandit()
    draw = np.random.default_rng(1)
    data = plain(
        rows,
        eleccion=lambda r: code if r["t"] % 20 == 7 else "ab"[r["made"]],
        recompensa=lambda r: None if r["t"] % 20 == 7 else r["won"],
        iti=lambda r: round(float(draw.uniform(0.5, 1.5)), 3),
    )
    found = inspect(data)
    assert found.study is not None
    assert found.study.actions == ("a", "b")
    assert len(found.trials()) == len(rows) - 3 * PEOPLE


def test_practice_under_any_name() -> None:
    data = plain(bandit(), fase=lambda r: "practice" if r["t"] < 6 else "main")
    found = inspect(data)
    assert found.options["where"] == "fase != 'practice'"
    assert found.roles["learner"] == "sujeto"
    item = plain(bandit(), shape=lambda r: "example" if r["t"] % 2 else "other")
    assert "where" not in inspect(item).options  # it changes from trial to trial


@pytest.mark.parametrize(
    "names", [("ganancia", "perdida"), ("winst", "verlies"), ("guadagno", "perdita")]
)
def test_gains_and_losses_in_other_languages(names: tuple[str, str]) -> None:
    draw, rows = np.random.default_rng(4), bandit()
    loss = {
        id(r): int(draw.choice([0, 0, 150]) if r["made"] else draw.choice([0, 25])) for r in rows
    }
    data = (
        plain(rows)
        .drop("recompensa")
        .with_columns(
            pl.Series(names[0], [100 if r["made"] else 50 for r in rows]),
            pl.Series(names[1], [loss[id(r)] for r in rows]),
            pl.Series("net", [(100 if r["made"] else 50) - loss[id(r)] for r in rows]),
        )
    )
    assert inspect(data.drop("net")).roles["reward"] == f"{names[0]} - {names[1]}"
    assert inspect(data).roles["context"] == "none"  # the net is what was earned


@pytest.mark.parametrize("more", ["richtige_Taste", "p_left", "correct", "key"])
def test_what_stands_beside_the_sides_does_not_hide_the_stimulus(more: str) -> None:
    def side(row: dict[str, Any], thing: int) -> str:
        return "left" if row["left"] == thing else "right"

    values = {
        "richtige_Taste": lambda r: side(r, 0),
        "p_left": lambda r: 0.2 if r["left"] else 0.8,
        "correct": lambda r: int(r["made"] == 0),
        "key": lambda r: "f" if side(r, r["made"]) == "left" else "j",
    }
    data = columns(
        bandit(),
        participant=lambda r: f"s{r['who']}",
        trial=lambda r: r["t"],
        left_stim=lambda r: ["tri", "sqr"][r["left"]],
        right_stim=lambda r: ["sqr", "tri"][r["left"]],
        response=lambda r: side(r, r["made"]),
        reward=lambda r: r["won"],
        **{more: values[more]},
    )
    found = inspect(data)
    assert found.options["offered"] == ("left_stim", "right_stim")
    assert found.trials()["action"].to_list() == [["tri", "sqr"][r["made"]] for r in bandit()]


def test_a_chance_is_no_stimulus() -> None:
    rows = bandit()
    data = plain(
        rows,
        eleccion=lambda r: ["left", "right"][r["made"]],
        estimulo=lambda r: f"s{r['left']}",
        p_left=lambda r: 0.2 if r["left"] else 0.8,
    )
    assert inspect(data).roles["action"] == "eleccion"


def test_a_second_stimulus_is_no_first_choice() -> None:
    draw, rows = np.random.default_rng(5), []
    for who in range(20):
        values, pictures = np.zeros((4, 2)), draw.permutation(4)
        for t in range(120):
            cue = int(draw.integers(4))
            go = int(draw.random() < 1 / (1 + np.exp(4 * (values[cue, 0] - values[cue, 1]))))
            won = int(draw.random() < (0.8 if go == cue % 2 else 0.2))
            values[cue, go] += 0.3 * (won - values[cue, go])
            picture = f"fractal{pictures[cue]}"
            rows.append(
                {"id": who, "trial": t, "cue": f"c{cue}", "fractal": picture, "press": go}
                | {"outcome": won}
            )
    found = inspect(pl.DataFrame(rows))
    assert found.study is not None
    assert found.roles["context"] in ("cue", "fractal")
    assert found.roles["action"] == "press"


def two_steps() -> pl.DataFrame:
    draw, rows = np.random.default_rng(6), []
    for who in range(12):
        first, second = np.zeros(2), np.zeros((2, 2))
        for t in range(100):
            one = int(draw.random() < 1 / (1 + np.exp(4 * (first[0] - first[1]))))
            state = one if draw.random() < 0.7 else 1 - one
            two = int(draw.random() < 1 / (1 + np.exp(4 * (second[state][0] - second[state][1]))))
            won = int(draw.random() < (0.75 if (state, two) in ((0, 1), (1, 0)) else 0.25))
            second[state][two] += 0.4 * (won - second[state][two])
            first[one] += 0.4 * (won - first[one])
            names = f"rocket{one}", ["red", "blue"][state], f"alien{2 * state + two}"
            rows.append({"subject": who, "trial": t, "stage1_choice": names[0]})
            rows[-1] |= {"planet": names[1], "stage2_choice": names[2], "reward": won}
    return pl.DataFrame(rows)


def test_the_choices_of_stages_are_not_what_was_on_offer() -> None:
    found = inspect(two_steps(), stages="stage1_choice; stage2_choice@planet")
    assert "offered" not in found.options
    assert set(found.trials()["offered"]) == {"rocket0|rocket1", "alien0|alien1", "alien2|alien3"}


def events() -> pl.DataFrame:
    rows: Rows = []
    draw = np.random.default_rng(7)
    for who in range(6):
        values = np.zeros((3, 2))
        for _t in range(80):
            adviser = int(draw.integers(3))
            value = values[adviser]
            made = int(draw.random() < 1 / (1 + np.exp(4 * (value[0] - value[1]))))
            won = int(draw.random() < (0.8 if made == adviser % 2 else 0.2))
            value[made] += 0.3 * (won - value[made])
            shown = {"participant": f"s{who}", "event": "advice", "cue": f"adv{adviser}"}
            rows.append(shown | {"resp": made + 1, "fb": None})
            rows.append({"participant": f"s{who}", "event": "outcome", "fb": won})
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.mark.parametrize("said", [{}, {"context": ("cue",)}, {"context": ("lag(cue)",)}])
def test_the_context_is_what_stood_in_the_row_of_the_choice(said: dict[str, Any]) -> None:
    found = inspect(events(), **said)
    assert found.roles["context"] == "lag(cue)"
    assert found.roles["action"] == "lag(resp)"
    assert len(found.trials()) == 6 * 80


def category(words: tuple[str, str], late: str) -> pl.DataFrame:
    """Rule-correct, and feedback that misleads in one trial of five."""
    draw, rows = np.random.default_rng(8), []
    for who in range(10):
        values = np.zeros((4, 2))
        for t in range(120):
            item = int(draw.integers(4))
            value = values[item]
            made = int(draw.random() < 1 / (1 + np.exp(5 * (value[0] - value[1]))))
            right = int(made == item % 2)
            shown = right if draw.random() < 0.8 else 1 - right
            value[made] += 0.3 * (shown - value[made])
            missed = t % 30 == 9
            rows.append({"VpNr": who + 1, "Durchgang": t, "Reiz": f"r{item}"})
            rows[-1] |= {"Taste": None if missed else ["links", "rechts"][made]}
            rows[-1] |= {"Richtig": 0 if missed else right}
            rows[-1] |= {"Rückmeldung": late if missed else words[1 - shown]}
    return pl.DataFrame(rows)


def test_what_was_shown_and_what_was_right() -> None:
    found = inspect(category(("richtig", "falsch"), "zu langsam"))
    assert found.roles["reward"] == "Rückmeldung"
    found = inspect(category(("Sonne", "Regen"), "zu langsam"))  # which is good, nobody knows
    assert [question.about for question in found.questions] == ["reward"]
    assert "--reward \"column('Rückmeldung') == 'Sonne'\"" in said(found)


def test_other_things_in_each_block_whose_order_differs_between_learners() -> None:
    draw, rows = np.random.default_rng(9), []
    for who in range(10):
        for block, pair in enumerate(draw.permutation(4)):
            values, good = np.zeros(2), int(draw.integers(2))
            for t in range(40):
                made = int(draw.random() < 1 / (1 + np.exp(5 * (values[0] - values[1]))))
                won = int(draw.random() < (0.75 if made == good else 0.25))
                values[made] += 0.35 * (won - values[made])
                rows.append({"id": who, "block": block + 1, "trial": t, "pairID": 11 + int(pair)})
                rows[-1] |= {"choice": made + 1, "outcome": won}
    found = inspect(pl.DataFrame(rows))
    assert found.options["reset_by"] == ("block",)
    assert "pairID shows other things in each block" in found.guesses["reset_by"].why


def test_people_who_share_their_numbers_in_groups_of_another_language() -> None:
    data = plain(
        bandit(),
        sujeto=lambda r: r["who"] % 4 + 1,
        grupo=lambda r: ["control", "paciente"][r["who"] // 4],
    )
    assert inspect(data).roles["learner"] == "join(grupo, sujeto)"


def test_the_first_value_of_a_total_was_earned_too() -> None:
    rows, sums = bandit(), {}
    for row in rows:
        sums[row["who"]] = row["sum"] = sums.get(row["who"], 0) + row["won"]
    data = (
        plain(rows).drop("recompensa").with_columns(pl.Series("puntos", [r["sum"] for r in rows]))
    )
    found = inspect(data)
    assert found.roles["reward"] == "if(lag(puntos) == missing, puntos, puntos - lag(puntos))"
    assert found.trials()["reward"].to_list() == [r["won"] for r in rows]
    best = data.with_columns(pl.Series("correct_choice", [*"ab"] * (len(rows) // 2)))
    assert "puntos depends on the choice: did people see it?" in said(inspect(best))


# No learning.


def stroop(people: int = 10) -> pl.DataFrame:
    """The same order of trials for everybody, and few mistakes from the first trial on."""
    order, draw = np.random.default_rng(10).integers(4, size=100), np.random.default_rng(11)
    names = ["red_red", "red_green", "green_green", "green_red"]
    rows = []
    for who in range(people):
        for t, item in enumerate(order.tolist()):
            right = item // 2 if draw.random() < 0.94 else 1 - item // 2
            rows.append({"participant": who, "trial": t, "stimulus": names[item]})
            rows[-1] |= {"response": "fj"[right], "correct": int(right == item // 2)}
    return pl.DataFrame(rows)


def test_the_same_first_trials_for_everybody_hide_nothing() -> None:
    assert "not learned from outcomes" in inspect(stroop()).problems


def test_a_score_that_repeats_the_answer_is_no_outcome() -> None:
    draw = np.random.default_rng(12)
    rows = [
        {"subj": who, "trial": t, "question": f"q{t % 20}", "key": int(a)}
        | {"score": int(a) if t % 2 else 8 - int(a)}
        for who in range(12)
        for t, a in enumerate(draw.integers(1, 8, 60))
    ]
    assert "only repeats what was chosen" in inspect(pl.DataFrame(rows)).problems


def test_a_few_amounts_that_are_told_are_no_stimuli() -> None:
    draw, rows = np.random.default_rng(13), []
    for who in range(12):
        for t in range(100):
            chance, amount = (
                float(draw.choice([0.25, 0.5, 0.75])),
                int(draw.choice([10, 20, 40, 80])),
            )
            risky = int(draw.random() < 1 / (1 + np.exp(-(chance * amount**0.8 - 8) / 3)))
            paid = (amount if draw.random() < chance else 0) if risky else 10
            rows.append({"sujet": who, "essai": t, "reponse": risky, "prob": chance})
            rows[-1] |= {"risky_amount": amount, "safe_amount": 10, "outcome": paid}
    assert "it is told before the choice" in inspect(pl.DataFrame(rows)).problems


def test_what_is_right_at_random_cannot_be_learned() -> None:
    draw, rows = np.random.default_rng(14), []
    for who in range(10):
        for t in range(80):
            old = int(draw.integers(2))
            made = old if draw.random() < 0.65 else 1 - old
            rows.append({"id": who, "t": t, "word": f"w{draw.integers(900)}"})
            rows[-1] |= {
                "status": ["new", "old"][old],
                "response": made,
                "points": 10 * (made == old),
            }
    assert "the stimulus is missing" in inspect(pl.DataFrame(rows)).problems


@pytest.mark.parametrize("name", ["informacja zwrotna", "x"])
@pytest.mark.parametrize("words", [("dobrze", "źle"), ("σωστό", "λάθος"), ("bla", "blu")])
def test_a_third_word_where_nothing_was_chosen(name: str, words: tuple[str, str]) -> None:
    draw, rows = np.random.default_rng(5), []
    for who in "abcdef":
        known: dict[str, str] = {}
        for t in range(60):
            fruit = str(draw.choice(["gruszka", "malina", "jabłko"]))
            best = "kup" if fruit == "malina" else "zostaw"
            made = known.get(fruit, str(draw.choice(["kup", "zostaw"])))
            known[fruit] = best
            said, late = words[made != best], draw.random() < 0.06
            rows.append((who, t, fruit, "brak" if late else made, "za wolno" if late else said))
    names = ["subject", "trial", "owoc", "reakcja", name]
    data = pl.DataFrame(rows, schema=names, orient="row")
    found, late = inspect(data), (data["reakcja"] == "brak").sum()
    if words[0] == "bla":  # nobody here knows which is good
        assert found.study is None or found.questions
        return
    assert {**found.roles, "action": "reakcja", "context": "owoc"} == found.roles
    assert found.roles["reward"] == name
    assert found.study is not None
    assert len(found.study.context) == data.height - late
    named = inspect(data, reward=name, action="reakcja", missing=("reward:za wolno",))
    assert named.study is not None
    assert len(named.study.context) == data.height - late  # brak is still found


def test_two_words_that_nobody_knows_are_asked_about() -> None:
    draw, rows = np.random.default_rng(5), []
    for who in "abcdef":
        value = np.zeros(2)
        for t in range(80):
            made = int(draw.random() < 1 / (1 + np.exp(4 * (value[0] - value[1]))))
            won = draw.random() < (0.85, 0.2)[made]
            value[made] += 0.4 * (won - value[made])
            rows.append((who, t, f"arm{made}", "blu" if won else "bla"))
    found = inspect(pl.DataFrame(rows, schema=["subject", "trial", "choice", "x"], orient="row"))
    [question] = found.questions
    assert {answer.value for answer in question.answers} == {"x == 'bla'", "x == 'blu'"}
