"""What names do not tell is found by what columns do, and asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from howlearn.reading.guess import inspect

PEOPLE, TRIALS = 8, 80


def learners(contexts: str = "a", chance: float = 0.85, turns: int = 0) -> list[dict[str, Any]]:
    """People who stay after a success and mostly leave after a failure; what is right may turn."""
    draw = np.random.default_rng(len(contexts) + turns)
    rows = []
    for who in range(PEOPLE):
        last = {c: int(draw.integers(2)) for c in contexts}
        for t in range(TRIALS):
            c = contexts[draw.integers(len(contexts))]
            right = (contexts.index(c) + (t // turns if turns else 0)) % 2
            won = bool(draw.random() < (chance if last[c] == right else 1 - chance))
            rows.append({"who": f"p{who}", "t": t, "shown": c, "made": last[c], "won": won})
            if draw.random() < (0.1 if won else 0.7):
                last[c] = 1 - last[c]
    return rows


def asked(data: Any, **options: Any) -> dict[str, list[Any]]:
    """The answers to what is asked, by the option that it is about."""
    found = inspect(data, **options)
    return {q.about: [answer.value for answer in q.answers] for q in found.questions}


def test_a_choice_and_an_outcome_without_telling_names() -> None:
    rows = [
        {"subject": r["who"], "trial": r["t"], "flower": ("blue", "pink")[r["made"]]}
        | {"reward": ("quinine", "sucrose")[r["won"]]}
        for r in learners(turns=20)
    ]
    found = inspect(pl.DataFrame(rows))
    assert found.questions == ()
    assert found.roles["action"] == "flower"
    assert any("flower is taken as what was chosen" in str(each) for each in found.oddities)
    idle = [row | {"flower": ("blue", "pink")[i % 7 < 3]} for i, row in enumerate(rows)]
    assert "action" not in inspect(pl.DataFrame(idle)).roles
    pecks = [
        {"bird": r["who"], "trial": r["t"], "sample": r["shown"], "peck": "LR"[r["made"]]}
        | {"grain": ("no", "yes")[r["won"]]}
        for r in learners("ab")
    ]
    found = inspect(pl.DataFrame(pecks))
    assert found.roles["reward"] == "grain"
    assert "is grain what a choice earned?" in str(found.questions[0])
    assert asked(pl.DataFrame(pecks), reward="grain", context="sample") == {}


def test_wins_and_points_may_both_be_meant() -> None:
    draw = np.random.default_rng(2)
    rows = [
        {"subject": r["who"], "trial": r["t"], "choice": r["made"], "win": int(r["won"])}
        | {"points": int(r["won"]) * int(draw.integers(1, 100))}
        for r in learners(turns=20)
    ]
    assert sorted(asked(pl.DataFrame(rows))["reward"]) == ["points", "win"]
    assert asked(pl.DataFrame(rows), reward="points") == {}


def test_a_column_with_long_stretches_may_be_the_learner() -> None:
    rows = [
        {"tank": r["who"], "choice": r["made"], "reward": int(r["won"])} for r in learners(turns=20)
    ]
    assert asked(pl.DataFrame(rows)) == {"learner": ["tank", "file"]}
    counted = pl.DataFrame(rows).with_row_index("trial")
    assert asked(counted) == {"learner": ["file", "tank"]}


def test_what_changes_from_row_to_row_is_not_the_learner() -> None:
    rows = [
        {"child": r["who"], "trial": r["t"], "animal": {"a": "frog", "b": "owl"}[r["shown"]]}
        | {"choice": r["made"], "reward": int(r["won"])}
        for r in learners("ab")
    ]
    assert inspect(pl.DataFrame(rows)).roles["learner"] == "child"


def test_numbers_that_choices_follow_may_have_been_shown() -> None:
    draw = np.random.default_rng(3)
    rows = []
    for who in range(PEOPLE):
        for t in range(TRIALS):
            x, y = draw.uniform(0, 90, 2).round(2)
            skill = min(0.5 + t / TRIALS, 0.95)
            made = int(x > y) if draw.random() < skill else int(x <= y)
            rows.append([who, t, x, y, made, int(made == (x > y))])
    names = ["subject", "trial", "pitch", "tilt", "response", "correct"]
    data = pl.DataFrame(rows, schema=names, orient="row")
    found = inspect(data)
    assert found.questions[0].answers[0].typed == "--features pitch,tilt"
    assert inspect(data, features=["pitch", "tilt"]).questions == ()


def test_three_stimuli_that_change_places() -> None:
    draw = np.random.default_rng(4)
    rows = []
    for r in learners(turns=20):
        places = draw.permutation(["sun", "moon", "star"])
        key = int(np.flatnonzero(places == ("sun", "moon")[r["made"]])[0])
        shown = dict(zip(("stim_pos1", "stim_pos2", "stim_pos3"), places, strict=True))
        rows.append(
            {"subject": r["who"], "trial": r["t"], **shown, "key": key + 1, "won": r["won"]}
        )
    found = inspect(pl.DataFrame(rows), reward="won")
    assert found.options["offered"] == ("stim_pos1", "stim_pos2", "stim_pos3")
    assert found.options["positions"] == ("1", "2", "3")
    assert found.study is not None
    assert {*found.trials()["action"]} == {"sun", "moon"}


@pytest.mark.parametrize("name", ["VP{}_session{}.csv", "day{1}/VP{0}.csv", "VP{}/run-{}.csv"])
def test_files_of_one_learner_are_put_together(tmp_path: Path, name: str) -> None:
    data = pl.DataFrame(learners("ab"))
    for i in range(3):
        for part in (1, 2):
            path = tmp_path / name.format(f"0{i}", part)
            path.parent.mkdir(exist_ok=True)
            rows = data.filter(pl.col("who") == f"p{i}").slice(40 * (part - 1), 40)
            rows.select(stimulus="shown", choice="made", reward=pl.col("won").cast(int)).write_csv(
                path
            )
    found = inspect(sorted(tmp_path.iterdir()))
    assert found.study is not None
    assert [*found.study.learners] == ["VP00", "VP01", "VP02"]
    assert found.trials().height == 3 * TRIALS
    assert any("6 files of 3 learners were put together" in note for note in found.notes)


def test_a_stop_signal_task_is_not_covered() -> None:
    draw = np.random.default_rng(5)
    rows = []
    for who in range(12):
        for t in range(160):
            arrow = ("left", "right")[draw.integers(2)]
            stop, late = draw.random() < 0.25, draw.random() < 0.5
            slip = "left" if arrow == "right" else "right"
            made = "none" if stop and not late else slip if draw.random() < 0.04 else arrow
            right = not stop or not late if made != slip else False
            rows.append([who, t, arrow, made, int(right), None if stop else 400])
    names = ["subject", "trial", "stimulus", "response", "accuracy", "RT"]
    found = inspect(pl.DataFrame(rows, schema=names, orient="row"))
    assert found.kind is not None
    assert "not learned from outcomes" in str(found.kind.stops)


def test_shocks_and_words_of_other_languages() -> None:
    rows = [
        {"subject": r["who"], "trial": r["t"], "cue": r["shown"], "button": "LR"[r["made"]]}
        | {"shock": int(not r["won"]), "fb_text": ("Falsch", "Richtig")[r["won"]]}
        for r in learners("ab")
    ]
    data = pl.DataFrame(rows)
    assert inspect(data.drop("fb_text")).roles["reward"] == "shock == 0"
    assert inspect(data.drop("shock")).roles["reward"] == "fb_text"
    late = data.with_columns(
        fb_text=pl.when(pl.col("trial") == 7).then(pl.lit("No response given")).otherwise("fb_text")
    )
    assert inspect(late.drop("shock")).options["missing"] == ("reward:No response given",)


def counted(key: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Two animals that are shown, two boxes; who chose has a name that says nothing."""
    return pl.DataFrame(
        [
            {key: r["who"], "trial": r["t"], "animal": {"a": "frog", "b": "owl"}[r["shown"]]}
            | {"choice": r["made"], "reward": int(r["won"])}
            for r in rows
        ]
    )


def test_trials_are_counted_for_the_learner_not_for_what_was_shown() -> None:
    data = counted("legajo", learners("ab"))
    found = inspect(data)
    assert found.questions == ()
    assert found.roles["learner"] == "legajo"
    assert found.roles["context"] == "animal"
    assert "--learner animal if not" in str(found.oddities)
    by_round = data.sort("trial", maintain_order=True)  # everybody's first trials come first
    assert asked(by_round) == {"learner": ["legajo", "animal"]}
    assert asked(by_round.rename({"animal": "beast"})) == {"learner": ["legajo", "file"]}
    through = data.drop("trial").with_row_index("trial")  # then nobody is counted anew
    assert inspect(through.rename({"legajo": "mouse"})).roles["learner"] == "mouse"


def test_the_learner_among_many_columns_about_participants() -> None:
    """As oTree writes it: sorted by rounds, and most columns begin with participant."""
    sums = {f"p{who}": 100 + who % 3 for who in range(PEOPLE)}
    rows = [
        {"participant.app": "payment", "participant.code": r["who"], "subsession.round": r["t"]}
        | {"participant.payoff": sums[r["who"]], "session.code": int(r["who"][1:]) // 4}
        | {"participant.id_in_session": int(r["who"][1:]) % 4}
        | {"player.choice": r["made"], "player.payoff": 2 * r["won"]}
        for r in sorted(learners(), key=lambda r: (r["t"], r["who"]))
    ]
    found = inspect(pl.DataFrame(rows))
    assert found.questions == ()
    assert found.roles["learner"] == "participant.code"
    assert (found.roles["context"], found.roles["reward"]) == ("none", "player.payoff")


def test_a_codebook_tells_the_learner_and_what_was_computed(tmp_path: Path) -> None:
    rows = [
        {"v1": r["who"], "v2": r["t"], "v3": r["made"], "v4": int(r["won"]), "v5": 1 - r["made"]}
        for r in learners()
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "data.csv")
    about = "v1,participant number\nv2,trial within the game\nv3,machine chosen\n"
    about += "v4,reward received\nv5,1 if the best machine was chosen\n"
    (tmp_path / "codebook.csv").write_text(f"variable,description\n{about}")
    found = inspect(tmp_path)
    assert found.questions == ()
    assert found.roles["learner"] == "v1"
    assert (found.roles["action"], found.roles["trial"]) == ("v3", "v2")


@pytest.mark.parametrize(("shown", "turns"), [("ab", 0), ("a", 20), ("ab", 20)])
def test_what_was_laid_down_is_not_asked_about_as_the_choice(shown: str, turns: int) -> None:
    """The right side follows from what is shown, or stays for a while and changes."""
    rows = [
        {"rat": r["who"], "trial": r["t"], "image": r["shown"], "zet": "fj"[r["made"]]}
        | {"hi_zet": "fj"[(shown.index(r["shown"]) + (r["t"] // turns if turns else 0)) % 2]}
        | {"reward": int(r["won"])}
        for r in learners(shown, 0.95, turns)
    ]
    found = inspect(pl.DataFrame(rows))
    assert found.questions == ()
    assert found.roles["action"] == "zet"


def test_accuracy_is_not_asked_about_as_the_choice() -> None:
    """Beside a feedback that has one word more, for no answer in time."""
    rows = []
    for i, r in enumerate(learners("ab")):
        late = i % 30 == 7
        key, fb = ("None", "Too slow!") if late else ("fj"[r["made"]], ("Wrong", "Right")[r["won"]])
        rows.append({"participant": r["who"], "trial": r["t"], "cards": r["shown"]})
        rows[-1] |= {"key_resp.keys": key, "key_resp.corr": int(r["won"] and not late), "fb": fb}
    found = inspect(pl.DataFrame(rows))
    assert found.questions == ()
    assert (found.roles["action"], found.roles["context"]) == ("key_resp.keys", "cards")


def test_a_choice_that_is_told_by_what_it_earns_where_something_is_shown() -> None:
    rows = [
        {"kid": r["who"], "trial": r["t"], "beast": r["shown"], "caja": ("aquí", "allá")[r["made"]]}
        | {"reward": int(r["won"])}
        for r in learners("abcd")
    ]
    found = inspect(pl.DataFrame(rows))
    assert found.questions == ()
    assert (found.roles["action"], found.roles["context"]) == ("caja", "beast")


def on_sides(seed: int = 1) -> list[dict[str, Any]]:
    """Two colours that change sides; which of them is right changes, too."""
    draw, rows = np.random.default_rng(seed), []
    for r in learners(turns=20):
        left = int(draw.integers(2))
        colours = ("green", "purple")
        side = "fj"[int(r["made"] != left)]
        rows.append({"subject": r["who"], "trial": r["t"], "response": side})
        rows[-1] |= {"left": colours[left], "right": colours[1 - left]}
        rows[-1] |= {"picked": colours[r["made"]], "correct": colours[(r["t"] // 20) % 2]}
        rows[-1] |= {"points": 10 * r["won"]}
    return rows


def test_what_was_chosen_is_not_what_was_shown() -> None:
    """Pictures on screen, a key, and a column with a name of its own for the picture chosen."""
    rows = [
        {"subject": r["subject"], "trialnum": r["trial"], "values.selectedstim": r["picked"]}
        | {
            "response": {"f": 18, "j": 23}[r["response"]],
            "feedback": ("sad", "happy")[r["points"] > 0],
        }
        | {"stimulusitem1": f"img/{r['left']}.png", "stimulusitem2": f"img/{r['right']}.png"}
        for r in on_sides()
    ]
    found = inspect(pl.DataFrame(rows))
    assert found.questions == ()
    assert (found.roles["action"], found.roles["context"]) == ("values.selectedstim", "none")
    by_side = [
        r | {"feedback": ("sad", "happy")[(r["response"] == 18) ^ (i % 7 == 0)]}
        for i, r in enumerate(rows)
    ]
    assert "action" in asked(pl.DataFrame(by_side))  # outcomes that hang on the key


def test_a_colour_that_is_right_beside_those_on_both_sides() -> None:
    rows = [
        {"subject": r["subject"], "trial": r["trial"], "response": r["response"]}
        | {"stimulus": f"<img src='{r['left']}.svg'><img src='{r['right']}.svg'>"}
        | {"chosen_colour": r["picked"], "points": r["points"], "left_colour": r["left"]}
        | {"right_colour": r["right"], "correct_colour": r["correct"]}
        for r in on_sides()
    ]
    found = inspect(pl.DataFrame(rows))
    assert found.questions == ()
    assert (found.roles["action"], found.roles["context"]) == ("chosen_colour", "none")
    bare = pl.DataFrame(rows).drop("left_colour", "right_colour")  # the screen alone is no context
    assert inspect(bare, action="chosen_colour").roles["context"] == "none"


def test_the_answer_beside_what_was_shown_is_no_context() -> None:
    rows = [
        {"who": r["who"], "trial": r["t"], "due": "AB"["abcd".index(r["shown"]) % 2]}
        | {"figure": {"a": "star", "b": "disc", "c": "bar", "d": "ring"}[r["shown"]]}
        | {"mine": "AB"[r["made"]], "points": int(r["won"])}
        for r in learners("abcd")
    ]
    assert inspect(pl.DataFrame(rows), action="mine", reward="points").roles["context"] == "figure"


def test_an_answer_that_was_taken_already_changes_nothing() -> None:
    rows = [
        {"bird": r["who"], "trial": r["t"], "sample": r["shown"], "peck": "LR"[r["made"]]}
        | {"grain": ("no", "yes")[r["won"]]}
        for r in learners("ab")
    ]
    data = pl.DataFrame(rows)
    before = inspect(data)
    assert [question.about for question in before.questions] == ["reward"]
    for role in ("learner", "context", "action", "reward"):
        after = inspect(data, **{role: before.options[role]})
        assert after.options == before.options
        assert after.guesses[role].how == "you said so"
    assert inspect(data, reward="grain").questions == ()
    rows = [
        {"subject": r["subject"], "trial": r["trial"], "key": r["response"], "points": r["points"]}
        | {"left_colour": r["left"], "stimulus": f"screen {r['left'][0]}"}
        for r in on_sides()
    ]
    before = inspect(pl.DataFrame(rows))
    assert before.roles["context"] == "none"
    assert inspect(pl.DataFrame(rows), action=before.options["action"]).roles == before.roles


def test_values_are_recoded_before_roles_are_sought() -> None:
    rows = [
        {"subject": r["who"], "trial": r["t"], "sample": r["shown"], "choice": r["made"]}
        | {"result": ("zut", "zap")[r["won"]]}
        for r in learners("ab")
    ]
    found = inspect(pl.DataFrame(rows), reward="result", recode="reward:zap=1,zut=0")
    assert (found.roles["context"], found.questions) == ("sample", ())


def test_three_numbered_things_and_the_place_of_the_one_that_was_chosen() -> None:
    draw, rows = np.random.default_rng(4), []
    for who in range(4):
        worth, things = {1: 0.8, 2: 0.5, 3: 0.2}, [1, 2, 3]
        for t in range(150):
            if t % 30 == 29:  # something new in the place of something old
                things[int(draw.integers(3))] = new = 4 + t // 30
                worth[new] = float(draw.random())
            shown = draw.permutation(things).tolist()
            best = max(shown, key=lambda each: worth[each])
            made = best if draw.random() < 0.7 else int(draw.choice(shown))
            rows.append(
                {"monkey": who, "trial": t, **{f"im{i + 1}": s for i, s in enumerate(shown)}}
            )
            rows[-1] |= {"err": 3 * (t % 20 == 3), "loc": 1 + shown.index(made)}
            rows[-1] |= {"rew": int(draw.random() < worth[made]), "truth": made}
            if t % 20 == 3:
                rows[-1] |= {"loc": None, "rew": None, "truth": None}
    data = pl.DataFrame(rows, infer_schema_length=None)
    found = inspect(data.drop("truth"))
    assert found.questions == ()
    made = [str(each) for each in data["truth"].drop_nulls()]
    assert found.trials()["action"].to_list() == made
    pays = [
        {"who": r["who"], "trial": r["t"], "choice": 1 + r["made"], "reward": int(r["won"])}
        | {f"p{i}": int(draw.integers(1, 40)) for i in (1, 2, 3)}
        for r in learners(turns=20)
    ]
    assert "offered" not in inspect(pl.DataFrame(pays)).options  # amounts are the same at times


def test_success_or_failure_is_no_choice() -> None:
    """People who press in time or not, and are paid for it: nothing was chosen."""
    draw = np.random.default_rng(1)
    rows = []
    for who in range(12):
        for t in range(60):
            cue, hit = ("win", "lose")[draw.integers(2)], int(draw.random() < 0.65)
            gain = 5 * hit if cue == "win" else -5 * (1 - hit)
            rows.append({"subject": who, "trial": t, "cue": cue, "hit": hit, "gain": gain})
    found = inspect(pl.DataFrame(rows))
    assert "action" not in found.options
