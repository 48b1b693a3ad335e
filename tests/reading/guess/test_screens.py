"""Logs with many screens per trial: practice, instructions, feedback and surveys are told apart."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

from howlearn.reading.guess import inspect
from made import choices

TRIALS = 40
Row = dict[str, Any]


def jspsych(who: str, draw: random.Random) -> list[Row]:
    rows: list[Row] = [
        {"trial_type": "fullscreen", "success": "true"},
        {"trial_type": "survey-html-form", "response.age": "23", "rt": 2000},
        {"trial_type": "instructions", "rt": 9000},
    ]
    for phase, n in (("practice", 3), ("main", TRIALS)):
        for _ in range(n):
            key = draw.choice("01")
            won = int(draw.random() < (0.8 if key == "1" else 0.2))
            here = {"phase": phase}
            rows += [
                {"trial_type": "html-keyboard-response", **here, "task": "fixation"},
                {"trial_type": "html-button-response", "stimulus": "choose", "response": key,
                 "reward": won, "rt": draw.randint(200, 900), **here, "task": "choice"},
                {"trial_type": "html-keyboard-response", **here, "task": "feedback"},
            ]  # fmt: skip
    rows.append({"trial_type": "survey-likert", "response.Q0": "3"})
    return [{"subject": who, "trial_index": i, **row} for i, row in enumerate(rows)]


def gorilla(who: str, draw: random.Random) -> list[Row]:
    rows: list[Row] = [
        {"Trial Number": "BEGIN TASK"},
        {"Screen Name": "instructions", "display": "instructions", "Response": "Next"},
    ]
    for display, n in (("practice", 3), ("trial", TRIALS)):
        for t in range(n):
            key = draw.choice("AB")
            won = int(draw.random() < (0.8 if key == "A" else 0.2))
            here = {"Trial Number": t + 1, "display": display}
            rows += [
                {**here, "Screen Name": "fix"},
                {**here, "Screen Name": "choice", "Response": key, "reward": won},
                {**here, "Screen Name": "feedback"},
            ]
    rows.append({"Screen Name": "survey", "display": "debrief", "Response": draw.randint(1, 7)})
    return [{"Participant Private ID": who, **row} for row in rows]


def inquisit(who: str, draw: random.Random) -> list[Row]:
    rows: list[Row] = [{"trialcode": "instructions", "response": "57"}]
    for _ in range(TRIALS):
        key = draw.choice("AB")
        told = {"values.reward": int(draw.random() < (0.8 if key == "A" else 0.2))}
        rows += [
            {"trialcode": "choice", "response": key, **told},
            {"trialcode": "feedback", "response": "0", **told},  # it repeats what was earned
        ]
    return [{"subject": who, "trialnum": i, **row} for i, row in enumerate(rows)]


def opensesame(who: str, draw: random.Random) -> list[Row]:
    rows = [{**row} for row in inquisit(who, draw) if row["trialcode"] != "instructions"]
    for before, row in pairwise(rows):
        if row["trialcode"] == "feedback":
            row["response"] = before["response"]  # as everything else that was last known
    return rows


@pytest.mark.parametrize("log", [jspsych, gorilla, inquisit, opensesame])
def test_trials_among_screens(log: Callable[[str, random.Random], list[Row]]) -> None:
    draw = random.Random(5)
    rows = [row for who in ("s1", "s2", "s3") for row in log(who, draw)]
    names = dict.fromkeys(name for row in rows for name in row)
    columns: Mapping[str, Any] = {
        name: [None if row.get(name) is None else str(row[name]) for row in rows] for name in names
    }
    found = inspect(pl.DataFrame(columns))
    assert found.study is not None, found.problems
    assert found.roles["action"] in ("response", "Response")
    assert found.roles["reward"] in ("reward", "values.reward")
    assert len(found.study.learners) == 3
    assert len(found.study.action) == 3 * TRIALS  # neither practice nor other screens


def words_for_outcomes() -> list[Row]:
    return [
        {"subject": who, "trial": t, "stim": stim, "key": key, "seen": ("naja", "hurra")[key == ok]}
        for who in "abcd"
        for t, (stim, ok, key) in enumerate(choices(ord(who), 60))
    ]


def test_a_filter_for_an_expression_names_its_columns() -> None:
    rows = words_for_outcomes()
    for row in rows[5::17]:
        row |= {"key": "escape", "seen": None}
    found = inspect(pl.DataFrame(rows), reward="seen == 'hurra'")
    assert found.study is not None, found.problems
    assert found.options["where"] == "seen != missing"
    assert len(found.study.context) == len(rows) - len(rows[5::17])


@pytest.mark.parametrize("part", ["extinction", "questions"])
def test_answers_about_an_expression_can_be_read(part: str) -> None:
    rows = [{"phase": "learn", **row} for row in words_for_outcomes()]
    for row in [row for row in rows if row["trial"] >= 40]:
        row |= {"phase": part, "seen": None}
    (question,) = inspect(pl.DataFrame(rows), reward="seen == 'hurra'").questions
    for answer in question.answers:
        options = {"reward": "seen == 'hurra'", answer.option: answer.value, **answer.also}
        found = inspect(pl.DataFrame(rows), **options)
        assert found.study is not None, found.problems


WORDS = {  # names of columns; practice, task; two answers; failure, success
    "pt": (
        "participante fase tentativa estímulo resposta correto",
        "prática teste",
        "f j",
        "não sim",
    ),
    "pt2": (
        "participante bloco tentativa figura escolha feedback",
        "treino tarefa",
        "f j",
        "errado certo",
    ),
    "pt3": ("sujeito treino tentativa estimulo resposta acerto", "sim não", "A L", "não sim"),
    "es": ("sujeto bloque ensayo imagen eleccion premio", "entrenamiento principal", "f j", "0 1"),
    "es2": ("sujeto práctica ensayo imagen elección ganó", "sí no", "f j", "no sí"),
    "fr": ("sujet phase essai image choix gain", "entraînement principale", "f j", "non oui"),
    "de": ("Vpn Uebung Durchgang Reiz Taste Gewinn", "ja nein", "s l", "0 1"),
    "de2": ("Vpn Block Durchgang Bild Wahl Punkte", "Probedurchgang Block1", "f j", "0 1"),
    "nl": ("proefpersoon fase beurt plaatje keuze goed", "oefening test", "f j", "nee ja"),
    "it": ("soggetto fase prova stimolo risposta corretto", "pratica test", "f j", "no sì"),
    "pl": ("uczestnik faza próba bodziec odpowiedź nagroda", "trening główna", "f j", "nie tak"),
    "sv": ("deltagare fas försök bild val rätt", "övning huvud", "f j", "nej ja"),
    "tr": ("katılımcı aşama deneme uyaran yanıt ödül", "alıştırma ana", "f j", "hayır evet"),
    "ru": ("участник этап проба стимул ответ правильно", "тренировка основной", "f j", "нет да"),
    "zh": ("被试编号 阶段 试次 刺激 反应 正误", "练习 正式", "左 右", "错误 正确"),
    "ja": ("参加者 ブロック 試行 刺激 反応 正誤", "練習 本番", "左 右", "誤答 正答"),
    "ko": ("참가자 단계 시행 자극 반응 정답", "연습 본", "왼쪽 오른쪽", "아니오 예"),
}


@pytest.mark.parametrize("language", WORDS)
def test_practice_in_other_languages(language: str) -> None:
    names, parts, answers, outcomes = (words.split() for words in WORDS[language])
    draw, rows, truth = np.random.default_rng(3), [], []
    for who in range(1, 8):
        for i in range(8):
            made, won = draw.integers(2, size=2).tolist()
            rows.append((who, parts[0], i + 1, f"i{i % 4}", answers[made], outcomes[won]))
        last = [0, 0, 0, 0]
        for i in range(60):
            cue = int(draw.integers(4))
            made = last[cue] if draw.random() < 0.9 else 1 - last[cue]
            won = int(made == cue % 2)
            last[cue] = made if won else 1 - made
            rows.append((who, parts[1], i + 1, f"i{cue}", answers[made], outcomes[won]))
            truth.append((answers[made], float(won)))
    found = inspect(pl.DataFrame(rows, schema=names, orient="row"))
    assert found.questions == ()
    assert found.trials().select("action", "reward").rows() == truth


@pytest.mark.parametrize("again", [["won"], ["made", "won"], ["shown", "made", "won"]])
def test_a_second_row_that_repeats_the_outcome(again: list[str]) -> None:
    """Feedback screens that no column names: the trial's number and what was said come again."""
    draw, rows, truth = np.random.default_rng(3), [], []
    for who in range(1, 8):
        last = [0, 0, 0, 0]
        for i in range(60):
            cue = int(draw.integers(4))
            made = last[cue] if draw.random() < 0.9 else 1 - last[cue]
            won = int(draw.random() < (0.8 if made == cue % 2 else 0.2))
            last[cue] = made if won else 1 - made
            row = {"id": who, "trial": i, "shown": f"i{cue}", "made": "LR"[made], "won": won}
            rows += [row, {k: v if k in ("id", "trial", *again) else None for k, v in row.items()}]
            truth.append((f"i{cue}", "LR"[made], float(won)))
    found = inspect(pl.DataFrame(rows, infer_schema_length=None), action="made", reward="won")
    assert found.trials().select("context", "action", "reward").rows() == truth
    twice = [{**row, "won": won} for row in rows[::2] for won in (0, 1)]
    both = inspect(pl.DataFrame(twice), action="made", reward="won", context="shown")
    assert len(both.trials()) == len(twice)  # outcomes that differ are two choices in a trial


def test_feedback_rows_with_the_code_of_missed_trials_are_no_trials() -> None:
    rows: list[Row] = []
    for who in range(8):
        draw = random.Random(who)
        for _ in range(60):
            item = draw.choice("PQR")
            key = 0 if draw.random() < 0.05 else draw.choice((36, 37, 38))
            right = int(key == {"P": 36, "Q": 37, "R": 38}[item])
            shown = {"subject": who, "blockcode": "learn"}
            words = "Correct!" if right else "Wrong!"
            rows += [
                {**shown, "trialcode": "stim", "stimulusitem1": f"{item}.png", "response": key,
                 "correct": right, "latency": draw.randint(300, 900) if key else 1500},
                {**shown, "trialcode": "fb", "stimulusitem1": words, "response": 0, "correct": 1,
                 "latency": 1000},
            ]  # fmt: skip
    found = inspect(pl.DataFrame(rows))
    assert found.study is not None
    assert found.study.actions == ("36", "37", "38")
    assert found.study.contexts == ("P.png", "Q.png", "R.png")
    went = pl.DataFrame(rows).filter(pl.col("trialcode") == "stim")
    assert len(found.study.action) == (went["response"] != 0).sum()


def test_a_kind_with_one_answer_may_be_a_choice() -> None:
    rows: list[Row] = []
    for who in range(8):
        draw = random.Random(who)
        for _ in range(80):
            kind = draw.choice(("go", "nogo"))
            press = int(kind == "go" and draw.random() > 0.04)
            won = int(draw.random() < (0.8 if press == (kind == "go") else 0.2))
            rows.append({"subject": who, "trialtype": kind, "press": press, "reward": won})
    found = inspect(pl.DataFrame(rows), context="trialtype", action="press", reward="reward")
    assert "where" not in found.options
    assert found.study is not None
    assert len(found.study.action) == len(rows)


def test_a_short_training_part_under_any_name_is_practice() -> None:
    rows: list[Row] = []
    for who in range(6):
        draw = random.Random(who)
        for trial in range(70):
            key = draw.choice("ab")
            won = int(draw.random() < (0.8 if key == "a" else 0.2))
            kind = "treino" if trial < 6 else "tarefa"
            rows.append({"participante": who, "tipo": kind, "choice": key, "reward": won})
    found = inspect(pl.DataFrame(rows))
    assert found.options["where"] == "tipo != 'treino'"
    long = pl.DataFrame(rows).with_columns(tipo=pl.Series(["treino", "tarefa"] * 210))
    assert "where" not in inspect(long).options
