"""Outcomes of every option, missed trials, screens between, and situations that never come back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from howlearn.reading.guess import inspect
from workbooks import write_xlsx

PEOPLE, TRIALS = 8, 80
CHANCES = (0.8, 0.3, 0.5, 0.4)
Names = Callable[[int], str]


def told_everything(labels: tuple[str, ...], name: Names) -> pl.DataFrame:
    """People who stay after a success, and are told what every option would have paid."""
    draw, rows = np.random.default_rng(len(labels)), []
    for who in range(PEOPLE):
        last = int(draw.integers(len(labels)))
        for t in range(TRIALS):
            pays = [int(draw.random() < chance) for chance in CHANCES[: len(labels)]]
            paid = {name(i): pay for i, pay in enumerate(pays)}
            rows.append({"subject": who, "trial": t, "choice": labels[last], **paid})
            rows[-1]["truth"] = str(pays[last])
            if not pays[last]:
                last = int(draw.integers(len(labels)))
    return pl.DataFrame(rows)


def earned(found: Any) -> list[str]:
    assert found.study is not None
    return [f"{reward:g}" for reward in found.trials()["reward"].to_list()]


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (("left_urn", "right_urn"), lambda i: f"outcome_{('left', 'right')[i]}_urn"),
        (("slotA.png", "slotB.png", "slotC.png"), lambda i: f"payoff_{'ABC'[i]}"),
        (("machine 1", "machine 2"), lambda i: f"reward{i + 1}"),
        (("b", "a"), lambda i: f"points_{'ba'[i]}"),
    ],
)
def test_outcomes_by_words_of_the_options(labels: tuple[str, ...], name: Names) -> None:
    data = told_everything(labels, name)
    found = inspect(data.drop("truth"))
    assert not found.questions
    assert earned(found) == data["truth"].to_list()


@pytest.mark.parametrize("labels", [("0", "1"), ("1", "0"), ("f", "j"), ("1", "2", "3")])
def test_outcomes_of_options_that_no_name_tells(labels: tuple[str, ...]) -> None:
    """One of them alone is never the reward; which belongs to which choice is asked."""
    data = told_everything(labels, lambda i: f"payoff_{('top', 'middle', 'bottom')[i]}")
    if len(labels) == 2:
        data = data.rename({"payoff_middle": "payoff_bottom"})
    found = inspect(data.drop("truth"))
    [question] = found.questions
    assert question.about == "reward"
    assert all(str(answer.value).startswith("if(choice ==") for answer in question.answers)
    if len(labels) == 2:  # what is repeated after a success comes first
        assert earned(found) == data["truth"].to_list()
        assert len(question.answers) == 2


def test_forgone_outcomes_of_all_options_hold_the_reward() -> None:
    data = told_everything(("x", "y", "z"), lambda i: f"payoff_{'ABC'[i]}")
    columns = ("payoff_A", "payoff_B", "payoff_C")
    found = inspect(data.drop("truth"), forgone=columns)
    assert found.options["action"] == "choice"
    assert earned(found) == data["truth"].to_list()
    assert found.study is not None
    assert found.study.forgone is not None


def test_screens_without_a_choice_are_left_out() -> None:
    """What the options pay stands on every screen."""
    data = told_everything(("slotA.png", "slotB.png"), lambda i: f"payoff_{'AB'[i]}")
    kinds = [data.with_columns(pl.lit(s).alias("screen")) for s in ("fix", "choose", "show")]
    silent = pl.lit(None, dtype=pl.String).alias("choice")
    kinds = [k if i == 1 else k.with_columns(silent) for i, k in enumerate(kinds)]
    whole = pl.concat(kinds).sort("subject", "trial", maintain_order=True)
    found = inspect(whole.drop("truth"))
    assert found.options["where"] == "screen == 'choose'"
    assert earned(found) == data["truth"].to_list()


# Missed trials.


def missed(code: str, time: str | None, outcome: str) -> pl.DataFrame:
    """A file of which every 20th trial was missed."""
    draw, rows = np.random.default_rng(5), []
    for who in range(PEOPLE):
        for t in range(TRIALS):
            a = int(draw.integers(2))
            r = int(draw.random() < (0.7, 0.4)[a])
            row = {"subject": who, "trial": t, "choice": str(a + 1), "won": str(r)}
            row |= {} if time is None else {"x": f"{300 + 400 * draw.random():.1f}"}
            if t % 20 == 7:
                row |= {"choice": code, "won": outcome} | ({"x": time} if "x" in row else {})
            rows.append(row)
    return pl.DataFrame(rows)


@pytest.mark.parametrize("time", ["0", "-1", "", "2000"])
@pytest.mark.parametrize("outcome", ["0", ""])
def test_missed_trials_took_no_time(time: str, outcome: str) -> None:
    """Times are known by what they do: nothing here is called a time."""
    found = inspect(missed("0", time, outcome))
    assert found.study is not None
    assert found.study.actions == ("1", "2")
    assert len(found.study.action) == PEOPLE * TRIALS * 19 // 20


def test_tables_of_very_few_rows_are_looked_at_without_a_warning() -> None:
    for rows in range(1, 5):
        for column in ("x", "won", "choice"):
            data = missed("0", "0", "0").head(rows)
            inspect(data)
            inspect(data.with_columns(pl.lit(None, dtype=pl.String).alias(column)))
            inspect(data.drop(column), action="trial", context="none")


def test_a_number_that_never_earned_anything_is_asked_about() -> None:
    words = missed("0", None, "0").with_columns(pl.col("won").replace({"0": "no", "1": "yes"}))
    assert [q.about for q in inspect(words).questions] == ["missing"]
    found = inspect(missed("0", None, "0"))
    assert [q.about for q in found.questions] == ["missing"]
    assert [answer.value for answer in found.questions[0].answers] == [("action:0",), ("none",)]
    kept = inspect(missed("0", None, "0"), missing=("none",))
    assert kept.study is not None
    assert kept.study.actions == ("0", "1", "2")
    assert not kept.questions


@pytest.mark.parametrize("code", ["NR", "0"])
def test_an_odd_word_that_never_earned_anything_is_asked_about(code: str) -> None:
    data = missed("x", None, "0")
    sides = pl.col("choice").replace({"1": "left", "2": "right", "x": code})
    found = inspect(data.with_columns(sides))
    assert [q.about for q in found.questions] == ["missing"]
    assert found.study is not None
    assert found.study.actions == ("left", "right")
    bad = data.with_columns(
        pl.col("choice").replace({"x": "3"})
    )  # a third key that is always wrong
    assert not inspect(bad).questions


def test_feedback_that_misleads_beside_right_answers_is_asked_about() -> None:
    """What people were told is not always whether the choice was the right answer."""
    draw, rows = np.random.default_rng(8), []
    for who in range(PEOPLE):
        for t in range(TRIALS):
            shown, key = int(draw.integers(4)), "12"[int(draw.integers(2))]
            right = "12"[shown % 2]
            told = (key == right) == (draw.random() < 0.85)
            said = {"cresp": right, "resp": key, "fbtext": ("Sorry", "Congratulations!")[told]}
            rows.append({"PID": who, "n": t, "img": f"f{shown}.bmp", **said})
    [question] = inspect(pl.DataFrame(rows)).questions
    assert question.about == "reward"
    assert {answer.value for answer in question.answers} == {
        *("resp == cresp", "fbtext == 'Sorry'", "fbtext == 'Congratulations!'"),
    }
    exact = pl.DataFrame(rows).with_columns(
        fbtext=pl.when(pl.col("resp") == pl.col("cresp")).then(pl.lit("ok")).otherwise(pl.lit("x"))
    )
    assert not inspect(exact).questions


def test_plus_and_minus_and_copies_of_the_last_choice() -> None:
    rows, last = [], {}
    for row in told_everything(("0", "1"), lambda i: f"x{i}").iter_rows(named=True):
        who, made, sign = row["subject"], row["choice"], "-+"[int(row["truth"])]
        acc = str(int(made == "0"))
        same = {"ppt": who, "n": row["trial"], "prev_key_press": last.get(who), "acc": acc}
        stay = None if who not in last else str(int(last[who] == made))
        rows.append({**same, "stay": stay, "key_press": made, "feedback": sign})
        last[who] = made
    found = inspect(pl.DataFrame(rows))
    assert found.roles["action"] == "key_press"
    assert found.roles["reward"] == "feedback"
    assert earned(found) == [str(int(row["feedback"] == "+")) for row in rows]


# What was shown.


def test_items_that_never_come_back_teach_nothing() -> None:
    draw = np.random.default_rng(1)
    rows = [
        {"subject": p, "item": f"BDI_{i}", "response": int(a), "score": (int(a) + i) % 4}
        for p in range(30)
        for i, a in enumerate(draw.integers(0, 4, 21))
    ]
    found = inspect(pl.DataFrame(rows))
    assert found.study is None
    assert "nothing comes back: item is hardly ever the same twice" in found.problems
    again = pl.DataFrame(rows * 3)
    assert "nothing comes back" not in inspect(again).problems


def test_items_that_never_come_back_teach_nothing_to_whoever_names_them() -> None:
    draw, rows = np.random.default_rng(3), []
    for who in range(20):
        for t, item in enumerate(draw.permutation(80).tolist()):
            old = item % 2
            said = old if draw.random() < 0.8 else 1 - old
            rows.append({"subject": who, "trial": t, "word": f"w{item}", "length": item % 5})
            rows[-1] |= {"response": ("new", "old")[said], "correct": int(said == old)}
    frame = pl.DataFrame(rows)
    found = inspect(frame, context="word")
    assert found.study is None
    assert "nothing comes back: word is hardly ever the same twice" in found.problems
    assert inspect(frame, context="word", features="length").study is not None
    assert inspect(frame, context="none").study is not None


def cards() -> pl.DataFrame:
    """Four cards, of which two tell the weather; people know them from the start or learn it."""
    draw, rows = np.random.default_rng(2), []
    for who in range(PEOPLE):
        weight = np.zeros(4)
        for t in range(2 * TRIALS):
            shown = draw.integers(0, 2, 4)
            rain = bool(draw.random() < 1 / (1 + np.exp(-3 * (shown[0] - shown[1]))))
            said = bool(draw.random() < 1 / (1 + np.exp(-5 * (weight @ shown))))
            weight += 0.1 * (rain - 0.5) * shown
            row = {f"Karte{i + 1}": int(s) for i, s in enumerate(shown)}
            answer = {"Antwort": ("sun", "rain")[said], "Richtig": int(rain == said)}
            rows.append({"VP": who, "Durchgang": t, **row, **answer})
    return pl.DataFrame(rows)


def test_columns_that_are_shown_together_are_one_situation() -> None:
    """Two of them tell what is right; all four are shown."""
    every = tuple(f"Karte{i}" for i in range(1, 5))
    assert inspect(cards()).options["context"] == every
    random = cards().with_columns(Richtig=pl.Series([0, 1, 1, 0] * (PEOPLE * TRIALS // 2)))
    [question] = inspect(random).questions  # only choices follow them
    assert question.about == "context"
    assert [answer.value for answer in question.answers] == [every, ("Karte1",), ("none",)]


def test_a_sheet_for_each_person_beside_a_list_of_people(tmp_path: Path) -> None:
    data = told_everything(("A", "B"), lambda i: f"payoff_{'AB'[i]}").drop("truth")
    names = [name for name in data.columns if name != "subject"]
    people = {f"VP{p}": data.filter(subject=p).select(names).rows() for p in range(3)}
    listed = [["VP", "age", "sex"], *([f"VP{p}", 20 + p, "fm"[p % 2]] for p in range(3))]
    sheets = {"people": listed, **{n: [names, *map(list, rows)] for n, rows in people.items()}}
    write_xlsx(tmp_path / "a.xlsx", sheets)
    found = inspect(tmp_path / "a.xlsx")
    assert found.study is not None
    assert found.study.learners == ("VP0", "VP1", "VP2")
    assert any("people has other columns" in note for note in found.notes)


# Names that are given by hand, and labels of columns.


def test_names_by_hand_are_names(tmp_path: Path) -> None:
    data = told_everything(("1", "2"), lambda i: f"payoff_{i + 1}")
    (tmp_path / "a.dat").write_text(data.drop("truth").write_csv(include_header=False))
    names = ("subject", "trial", "response", "payoff_1", "payoff_2")
    found = inspect(tmp_path / "a.dat", names=names)
    assert found.roles["learner"] == "subject"
    assert found.roles["action"] == "response"
    assert earned(found) == data["truth"].to_list()


# What hurts.


def shocks(name: str, avoided: bool = True) -> pl.DataFrame:
    draw, rows = np.random.default_rng(3), []
    for who in range(PEOPLE):
        last = 0
        for t in range(TRIALS):
            hurt = int(draw.random() < (0.7, 0.3)[last])
            rows.append({"subject": who, "trial": t, "choice": "ab"[last], name: hurt})
            last = 1 - last if hurt == avoided and draw.random() < 0.8 else last
    return pl.DataFrame(rows)


def test_painful_outcomes_are_asked_about() -> None:
    """By what people do, or by words; what is turned round already is clear."""
    found = inspect(shocks("outcome"))
    [question] = found.questions
    assert question.sentence.startswith("is more of outcome better? choices are repeated less")
    assert [answer.value for answer in question.answers] == ["outcome", "0 - outcome"]
    assert not inspect(shocks("outcome", avoided=False)).questions
    assert not inspect(shocks("outcome"), reward="0 - outcome").questions
    told = shocks("outcome", avoided=False).with_columns(pain_rating=pl.lit(3))
    [question] = inspect(told).questions
    assert "pain_rating sounds like punishments" in question.sentence
    turned = inspect(shocks("shock").with_columns(pain_rating=pl.lit(3)))
    assert turned.options["reward"] == "shock == 0"
    assert not turned.questions


def test_forced_choices_show_what_was_on_offer() -> None:
    data = shocks("outcome").with_columns(forced=pl.Series([1, 0] * (PEOPLE * TRIALS // 2)))
    found = inspect(data, reward="0 - outcome", reward_range=(-1, 0))
    table = found.trials()
    forced = table.filter(~pl.col("scored"))
    assert forced.height == PEOPLE * TRIALS // 2
    assert (forced["offered"] == forced["action"]).all()
    assert table.filter("scored")["offered"].null_count() == PEOPLE * TRIALS // 2


def games(forced: int) -> pl.DataFrame:
    """New slots in every game; the first choices are laid down, in as many of each as load says."""
    draw, rows = np.random.default_rng(4), []
    for who in range(PEOPLE):
        for game in range(40):
            means, load = draw.integers(40, 61, 2), int(draw.integers(1, 4))
            plan = draw.permutation([0] * (forced - load) + [1] * load) if forced else []
            value = np.array([50.0, 50.0])
            for t in range(8):
                free = int(draw.random() < 1 / (1 + np.exp((value[0] - value[1]) / 2)))
                made = int(plan[t]) if t < forced else free
                paid = int(draw.normal(means[made], 8))
                value[made] += 0.6 * (paid - value[made])
                row = {"subject": who, "game": game, "trial": t + 1, "uc": load}
                rows.append({**row, "c": made + 1, "points": paid})
    return pl.DataFrame(rows)


def test_choices_that_follow_nothing_at_first_may_be_forced() -> None:
    found = inspect(games(4))
    [question] = found.questions  # uc is the same in all trials of a game, so it is no choice
    assert question.about == "forced_when"
    assert [answer.value for answer in question.answers] == ["none", "trial < 5"]
    assert found.trials()["scored"].all()  # what is doubtful loses no data
    table = inspect(games(4), forced_when="trial < 5").trials()
    assert table["scored"].to_list() == [t >= 4 for t in range(8)] * (PEOPLE * 40)
    assert not inspect(games(0)).questions


@pytest.mark.parametrize("paid", [0, None])
def test_a_phase_without_rewards(paid: int | None) -> None:
    """Nothing is earned in an extinction; where outcomes are missing in it, that is asked."""
    draw, rows = np.random.default_rng(6), []
    for who in range(PEOPLE):
        for t in range(TRIALS):
            phase = "extinction" if t >= 50 else "acquisition"
            lever = ("left", "right", "none")[int(draw.choice(3, p=[0.5, 0.3, 0.2]))]
            won = int(draw.random() < (0.8 if lever == "left" else 0.2))
            pellet = paid if t >= 50 else 0 if lever == "none" else won
            row = {"rat": who, "trial": t, "phase": phase, "lever": lever, "pellet": pellet}
            rows.append(row)
    found = inspect(pl.DataFrame(rows, infer_schema_length=None))
    assert found.study is not None
    assert found.study.actions == ("left", "right")
    assert found.study.learned.all()
    asked = [question.sentence for question in found.questions]
    told = ["pellet is missing in all rows with phase = extinction: what are they?"]
    assert asked == ([] if paid == 0 else told)


@pytest.mark.parametrize("name", ["flanker", "test"])
def test_another_task_in_the_same_file(name: str) -> None:
    """Choices without any outcome: a test of what was learned by its name, else it is asked."""
    data = told_everything(("L", "R"), lambda i: f"out_{i}").select("subject", "trial", "choice")
    draw = np.random.default_rng(9)
    paid = data.with_columns(task=pl.lit("bandit"), won=pl.Series(draw.integers(0, 2, len(data))))
    rest = data.with_columns(task=pl.lit(name), won=pl.lit(None, dtype=pl.Int64))
    found = inspect(pl.concat([paid, rest]))
    assert found.study is not None
    if name == "test":
        assert not found.questions
        assert len(found.study.action) == 2 * len(data)
        return
    [question] = found.questions
    assert [answer.option for answer in question.answers] == ["where", "test_when", "reward"]
    assert len(found.study.action) == len(data)
    kept = inspect(pl.concat([paid, rest]), test_when="task == 'flanker'")
    assert kept.study is not None
    assert len(kept.study.action) == 2 * len(data)


def test_a_running_total_is_taken_apart() -> None:
    data = told_everything(("L", "R"), lambda i: f"x{i}").select(
        "subject", "trial", "choice", "truth"
    )
    total = pl.col("truth").cast(pl.Int64).cum_sum().over("subject")
    found = inspect(data.with_columns(total_so_far=total).drop("truth"))
    assert [question.sentence for question in found.questions] == [
        "is total_so_far a running total?"
    ]
    table = found.trials()
    truth = data["truth"].cast(pl.Float64).to_list()  # also of the first trial
    assert table.filter("learned")["reward"].to_list() == truth


def learned(seed: int = 4, people: int = 8, trials: int = 80) -> list[tuple[int, str, bool, bool]]:
    """People who learn which of two keys is right for four things: who, thing, left, right."""
    rng, rows = np.random.default_rng(seed), []
    for person in range(people):
        known: dict[str, bool] = {}
        for _ in range(trials):
            thing = str(rng.choice(["house", "mill", "bike", "tree"]))
            left = known.get(thing, bool(rng.random() < 0.5)) ^ bool(rng.random() < 0.1)
            good = left == (thing in ("house", "bike"))
            known[thing] = left == good
            rows.append((person, thing, left, good))
    return rows


WORDS = {
    "nl": ("links", "rechts", "goed", "fout", "antwoord", "feedback"),
    "it": ("sinistra", "destra", "vincita 1 euro", "perdita 1 euro", "tasto", "esito"),
    "zh": ("左", "右", "正确", "错误", "按键", "反馈"),
    "ja": ("左", "右", "○", "×", "反応", "フィードバック"),
    "ru": ("слева", "справа", "верно", "неверно", "ответ", "результат"),
    "pt": ("esquerda", "direita", "acerto", "errado", "resposta", "resultado"),
    "en": ("left", "right", "won 5 p", "lost 5 p", "key", "result"),
}


@pytest.mark.parametrize("language", WORDS)
def test_choices_and_outcomes_in_other_languages(language: str) -> None:
    left, right, good, bad, action, reward = WORDS[language]
    rows = [(i, t, left if a else right, good if g else bad) for i, t, a, g in learned()]
    data = pl.DataFrame(rows, schema=["id", "stimulus", action, reward], orient="row")
    found = inspect(data)
    assert not found.questions
    assert (found.roles["action"], found.roles["reward"]) == (action, reward)
    assert found.study is not None
    assert found.study.reward[0] == float(rows[0][3] == good)


def test_correct_and_incorrect_are_no_outcomes_of_two_options() -> None:
    rows = [(i, t, "Blip" if a else "Zorg", int(g), int(not g)) for i, t, a, g in learned()]
    names = ["id", "Image", "Response", "Correct", "Incorrect"]
    found = inspect(pl.DataFrame(rows, schema=names, orient="row"))
    assert found.roles["reward"] == "Correct"
    assert not found.questions
    assert not found.problems


def test_a_choice_in_one_of_three_rows_of_a_trial() -> None:
    rows = []
    for i, thing, left, good in learned():
        key = "f" if left == good else "j"
        rows.append((i, "Fixation", thing, key, None, None))
        rows.append((i, "Stimulus", thing, key, "f" if left else "j", str(good).lower()))
        rows.append((i, "Feedback", thing, key, None, None))
    names = ["id", "sender", "stimulus", "correctResponse", "response", "correct"]
    found = inspect(pl.DataFrame(rows, schema=names, orient="row"))
    assert (found.roles["action"], found.roles["reward"]) == ("response", "correct")
    assert found.study is not None
    assert len(found.study.action) == len(rows) // 3
