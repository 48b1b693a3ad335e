"""Files as other labs keep them: lists, labels, logs, pairs, outcomes per option, ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import DataError
from howlearn.reading.guess import inspect

PEOPLE, TRIALS = 8, 60


def bandit(seed: int = 3) -> list[dict[str, Any]]:
    """People who stay after a success: who, trial, what was chosen of two, what it earned."""
    draw, rows = np.random.default_rng(seed), []
    for who in range(PEOPLE):
        last = int(draw.integers(2))
        for t in range(TRIALS):
            pays = [int(draw.random() < 0.8), int(draw.random() < 0.3)]
            rows.append({"who": f"p{who}", "t": t, "made": last, "pays": pays, "won": pays[last]})
            last = last if pays[last] else int(draw.integers(2))
    return rows


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)


def check(found: Any, actions: list[str], rewards: list[float]) -> None:
    trials = found.trials()
    assert trials["action"].to_list() == actions
    assert trials["reward"].to_list() == rewards


def test_lists_in_parquet_are_trials(tmp_path: Path) -> None:
    rows = bandit()
    mine = [[r for r in rows if r["who"] == f"p{who}"] for who in range(PEOPLE)]
    people = [
        {"mouse": each[0]["who"], "weight": 20 + i, "choice": [r["made"] for r in each]}
        | {"reward": [r["won"] for r in each]}
        for i, each in enumerate(mine)
    ]
    frame(people).write_parquet(tmp_path / "a.parquet")
    found = inspect(tmp_path / "a.parquet")
    assert found.roles["learner"] == "mouse"
    check(found, [str(r["made"]) for r in rows], [r["won"] for r in rows])


def test_lists_beside_choice_and_reward_are_traces(tmp_path: Path) -> None:
    rows = [
        {"subject": r["who"], "choice": "LR"[r["made"]], "reward": r["won"]}
        | {"mouse_x": [1, 2, 3, r["t"]], "mouse_y": [2, 2, 2, 2]}
        for r in bandit()
    ]
    frame(rows).write_parquet(tmp_path / "a.parquet")
    assert len(inspect(tmp_path / "a.parquet").trials()) == len(rows)


def test_a_row_of_labels_below_the_names(tmp_path: Path) -> None:
    rows = bandit()
    names = [f"{q}_{t + 1:02}" for q in ("A101", "A102") for t in range(TRIALS)]
    labels = [f"{q}: draw {t + 1}" for q in ("Urn", "Points") for t in range(TRIALS)]
    lines = [["CASE", *names], ["Number of the interview", *labels]]
    for who in range(PEOPLE):
        mine = [r for r in rows if r["who"] == f"p{who}"]
        lines.append([f"{who + 60}", *(f"{r['made'] + 1}" for r in mine)])
        lines[-1] += [f"{r['won']}" for r in mine]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(";".join(line) for line in lines))
    found = inspect(path)
    assert found.study is not None
    assert len(found.study) == PEOPLE
    check(found, [str(r["made"] + 1) for r in rows], [r["won"] for r in rows])


def test_files_of_quantities_whose_columns_are_called_alike(tmp_path: Path) -> None:
    rows = bandit()
    for stem, key in (("choices", "made"), ("outcomes", "won")):
        lines = [",".join(["id", *(f"t{t + 1}" for t in range(TRIALS))])]
        for who in range(PEOPLE):
            mine = [r for r in rows if r["who"] == f"p{who}"]
            lines.append(",".join([f"p{who}", *(str(r[key]) for r in mine)]))
        (tmp_path / f"{stem}.csv").write_text("\n".join(lines))
    check(inspect(tmp_path), [str(r["made"]) for r in rows], [r["won"] for r in rows])


def test_logs_of_presentation_begin_with_what_was_shown(tmp_path: Path) -> None:
    rows = bandit()
    for who in range(PEOPLE):
        lines = ["Scenario - x", "", "Subject\tEvent Type\tCode\tTime", ""]
        for r in [r for r in rows if r["who"] == f"p{who}"]:
            shown = f"cue_{r['t'] % 2}"
            fb = ("fb_loss", "fb_win")[r["won"]]
            events = (("Picture", shown), ("Response", r["made"] + 1), ("Picture", fb))
            lines += [f"p{who}\t{k}\t{c}\t{9 * r['t'] + i}" for i, (k, c) in enumerate(events)]
        (tmp_path / f"p{who}-x.log").write_text("\n".join(lines))
    found = inspect(tmp_path)
    assert found.questions == ()
    check(found, [str(r["made"] + 1) for r in rows], [r["won"] for r in rows])
    assert found.trials()["context"].to_list() == [f"cue_{r['t'] % 2}" for r in rows]


PRESENTATION = (
    "Subject\tTrial\tEvent Type\tCode\tTime\tTTime\tUncertainty\tDuration\tUncertainty\tStim Type"
)
SECOND = "Event Type\tCode\tType\tResponse\tRT\tRT Uncertainty\tTime\tDuration\tReqTime\tReqDur"


@pytest.mark.parametrize("more", ["", "+", "Pulse", "too late"])
def test_whole_logs_of_presentation(tmp_path: Path, more: str) -> None:
    """Lines above and a second table below; rows of responses end early; scanner and crosses."""
    rows, draw = bandit(), np.random.default_rng(1)
    for who in range(PEOPLE):
        lines = ["Scenario - task", "Logfile written - 03/04/2021 10:11", "", PRESENTATION, ""]
        lines += [
            f"p{who}\t1\tPicture\tinstr\t9\t0\t1\t20\t2\tother",
            f"p{who}\t1\tResponse\t3\t12",
        ]
        for r in [r for r in rows if r["who"] == f"p{who}"]:
            shown, fb = f"cue_{r['t'] % 2}", ("wrong", "correct")[r["won"]]
            events = [("Picture", shown), ("Response", r["made"] + 1), ("Picture", fb)]
            if more == "+":
                events.insert(2, ("Picture", "+"))
            elif more == "Pulse" and draw.random() < 0.5:
                events.insert(int(draw.integers(3)), ("Pulse", "99"))
            elif more and draw.random() < 0.05:
                events = [("Picture", shown), ("Picture", "too late"), *events]
            for kind, code in events:
                end = "\t0\t1\t20\t2\tother" if kind == "Picture" else "\t0\t1"
                lines.append(f"p{who}\t{r['t'] + 2}\t{kind}\t{code}\t{9 * r['t']}{end}")
        below = ["", SECOND, "", *["Picture\tcue_1\thit\t1\t432\t1\t99\t20\t3\t4"] * 30]
        (tmp_path / f"p{who}-x.log").write_text("\r\n".join([*lines, *below]))
    found = inspect(tmp_path)
    assert found.questions == ()
    check(found, [str(r["made"] + 1) for r in rows], [r["won"] for r in rows])
    assert found.trials()["context"].to_list() == [f"cue_{r['t'] % 2}" for r in rows]


@pytest.mark.parametrize("beside", ["acc", "stay", "total"])
def test_outcomes_that_are_called_by_the_options_are_what_was_earned(beside: str) -> None:
    """Whether a choice was good or the same as before, and sums, are no outcomes beside them."""
    rows, last, total = [], {}, 0
    for r in bandit():
        total += r["won"]
        more = {"acc": 1 - r["made"], "stay": int(last.get(r["who"]) == r["made"]), "total": total}
        last[r["who"]] = r["made"]
        pays = {f"out_{key}": "-+"[pay] for key, pay in zip("fj", r["pays"], strict=True)}
        row = {"subject": r["who"], "trial": r["t"], "response": "fj"[r["made"]]}
        rows.append(row | {beside: more[beside]} | pays)
    found = inspect(frame(rows))
    assert found.questions == ()
    check(found, ["fj"[r["made"]] for r in bandit()], [r["won"] for r in bandit()])


def pairs(seed: int = 5) -> list[dict[str, Any]]:
    """Two pairs of stimuli that change sides; a side is chosen, and sometimes none."""
    draw, rows = np.random.default_rng(seed), []
    for who in range(PEOPLE):
        values = np.zeros(5)
        for t in range(100):
            pair = int(draw.integers(2))
            left, right = draw.permutation([2 * pair + 1, 2 * pair + 2]).tolist()
            odds = 1 / (1 + np.exp(-5 * (values[left] - values[right])))
            chosen, side = (left, -1) if draw.random() < odds else (right, 1)
            won = int(draw.random() < (0.8 if chosen % 2 else 0.2)) - (pair == 1)
            values[chosen] += 0.3 * (won - values[chosen])
            row = {"sub": who, "trial": t, "symL": left, "symR": right, "cho": side, "out": won}
            row |= {"PE": won + 0.5 * (1 if pair else -1), "rt": round(draw.uniform(0.3, 2), 3)}
            missed = {"cho": 0, "out": None, "PE": None, "rt": None}
            rows.append(row | (missed if t % 20 == 7 else {}) | {"truth": chosen})
    return rows


def test_numbered_stimuli_on_sides_that_are_minus_one_and_one() -> None:
    rows = pairs()
    found = inspect(frame([{k: v for k, v in r.items() if k != "truth"} for r in rows]))
    assert found.questions == ()
    assert found.options["positions"] == ("-1", "1")
    made = [str(r["truth"]) for r in rows if r["cho"]]
    assert found.trials()["action"].to_list() == made


def test_ratings_between_choices_are_left_out_before_roles_are_found() -> None:
    rows, draw = [], np.random.default_rng(1)
    for r in pairs():
        if r["cho"]:
            things = {"item1": f"s{2 * ((r['symL'] - 1) // 2) + 1}"}
            things["item2"] = f"s{int(things['item1'][1:]) + 1}"
            row = {"user": r["sub"], "event": "choice", **things, "answer": f"s{r['truth']}"}
            rows.append(row | {"win": int(r["out"] > -1)})
        if r["trial"] % 10 == 9:
            rating = {"answer": str(draw.integers(101)), "item1": "s1", "item2": None}
            rows.append({"user": r["sub"], "event": "rating", "win": None, **rating})
    found = inspect(frame(rows))
    assert found.options["offered"] == ("item1", "item2")
    assert found.trials()["action"].to_list() == [f"s{r['truth']}" for r in pairs() if r["cho"]]


def test_nothing_is_called_choice_or_outcome() -> None:
    rows = [
        {"Bee": r["who"], "Visit": r["t"], "Flower": ("blue", "pink")[r["made"]]}
        | {"Content": ("zil", "mok")[r["won"]]}
        for r in bandit()
    ]
    (asked,) = inspect(frame(rows)).questions
    assert asked.answers[0].value == "Content == 'mok'"
    assert asked.answers[0].also == {"action": "Flower"}
    answered = inspect(frame(rows), action="Flower", reward="Content == 'mok'")
    assert answered.questions == ()
    check(answered, [r["Flower"] for r in rows], [r["won"] for r in bandit()])


def test_whether_a_side_was_right_is_no_choice() -> None:
    """Dots on two sides: what is chosen is a side, and the answer cannot be learned."""
    draw, rows = np.random.default_rng(4), []
    for who in range(PEOPLE):
        for t in range(100):
            more = "LR"[int(draw.integers(2))]
            right = draw.random() < 0.8
            made = more if right else "LR".replace(more, "")
            row = {"ID": who, "Trial": t, "n_large": int(draw.integers(21, 40)), "MoreSide": more}
            rows.append(row | {"Resp": made, "Acc": int(right)})
    found = inspect(frame(rows))
    assert found.study is None
    assert found.kind is not None
    assert found.kind.stops is not None


def test_a_required_key_that_the_stimulus_fixes_is_no_candidate() -> None:
    draw, rows = np.random.default_rng(8), []
    for who in range(PEOPLE):
        known: dict[int, int] = {}
        for t in range(90):
            shape = int(draw.integers(1, 6))
            right = shape % 3 + 1
            made = known.get(shape, int(draw.integers(1, 4)))
            known |= {shape: made} if made == right else {}
            row = {"subject": who, "trial": t, "shape": shape, "correctkey": right}
            rows.append(row | {"keypressed": made, "feedback": int(made == right)})
    found = inspect(frame(rows))
    assert found.questions == ()
    assert found.roles["action"] == "keypressed"


@pytest.mark.parametrize("name", ["a.sas7bdat", "a.por"])
def test_files_of_sas_and_spss_portable_say_how_to_export(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x\0y")
    for source in (tmp_path, tmp_path / name):
        with pytest.raises(DataError, match="haven::read"):
            inspect(source)


def test_two_marks_that_disagree_are_a_question() -> None:
    """Whether the better option was chosen, and whether it hit: people saw one of them."""
    rows = [
        {"subject": r["who"], "trial": r["t"], "chosen": ("left", "right")[r["made"]]}
        | {"hit": r["won"], "acc": 1 - r["made"]}
        for r in bandit()
    ]
    (asked,) = inspect(frame(rows)).questions
    assert {each.value for each in asked.answers} == {"hit", "acc"}


def test_an_outcome_that_is_not_understood_is_named() -> None:
    rows = [
        {"subject": r["who"], "trial": r["t"], "choice": "LR"[r["made"]]}
        | {"feedback": ("zil", "mok", "tur")[r["won"] + (r["t"] % 5 == 0)]}
        for r in bandit()
    ]
    found = inspect(frame(rows))
    assert found.study is None
    assert "feedback" in found.problems or "feedback" in str(found.questions)


def test_go_is_a_choice_beside_numbered_pictures() -> None:
    draw, rows = np.random.default_rng(9), []
    for who in range(12):
        values = np.zeros((4, 2))
        for t in range(120):
            shown = int(draw.integers(4))
            odds = np.exp(5 * values[shown])
            made = int(draw.choice(2, p=odds / odds.sum()))
            won = int(draw.random() < (0.8 if made == shown % 2 else 0.2)) - (shown > 1)
            values[shown, made] += 0.3 * (won - values[shown, made])
            row = {"subj": who, "trialno": t, "fractal": shown + 1, "go": made, "outcome": won}
            rows.append(row)
    found = inspect(frame(rows))
    assert found.roles["action"] == "go"
    assert found.roles["context"] == "fractal"


def test_gains_and_losses_with_a_unit_add_up() -> None:
    draw, rows = np.random.default_rng(2), []
    for who in range(PEOPLE):
        for t in range(80):
            deck = int(draw.integers(4))
            lost = int(draw.random() < 0.5) * (250, 50)[deck // 2]
            row = {"PID": who, "Round": t, "Deck": "ABCD"[deck], "Won": f"${(100, 50)[deck // 2]}"}
            rows.append(row | {"Lost": f"-${lost}", "net": (100, 50)[deck // 2] - lost})
    found = inspect(frame(rows).drop("net"))
    assert found.study is not None
    low, high = found.options["reward_scale"]
    wanted = [(r["net"] - low) / (high - low) for r in rows]
    assert found.trials()["reward"].to_list() == pytest.approx(wanted)
