"""Files in the manner of common experiment software, written by hand here."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import polars as pl

Rows = list[dict[str, object]]


def choices(
    seed: int, n: int, contexts: str = "AB", keys: tuple[str, str] = ("f", "j")
) -> Iterator[tuple[str, str, str]]:
    """Contexts, their right keys, and the keys of someone who repeats what was right."""
    draw = random.Random(seed)
    for t in range(n):
        context = contexts[t % len(contexts)]
        right = keys[contexts.index(context) % 2]
        wrong = keys[1 - keys.index(right)]
        yield context, right, right if draw.random() < 0.5 + 0.4 * t / n else wrong


def jspsych() -> pl.DataFrame:
    """Every cell a string; instructions, fixations and a survey between the trials."""
    rows: Rows = []
    for who in ("a1", "b2", "c3"):
        index = 0

        def add(who: str = who, **cells: object) -> None:
            nonlocal index
            usual = {"rt": "", "stimulus": "", "response": "", "correct_response": ""}
            rows.append(
                {"subject_id": who, "trial_index": str(index), **usual, "correct": "", **cells}
            )
            index += 1

        add(trial_type="instructions", task="", response="", rt="4821")
        for context, right, key in choices(ord(who[0]), 24):
            add(trial_type="html-keyboard-response", task="fixation", stimulus="<p>+</p>")
            add(
                trial_type="html-keyboard-response",
                task="response",
                stimulus=f'<img src="{context}.png">',
                rt="512",
                response=key,
                correct_response=right,
                correct=str(key == right).lower(),
            )
        add(trial_type="survey-text", task="", response='{"Q0":"no, nothing"}', rt="9000")
    return pl.DataFrame(rows)


def psychopy() -> pl.DataFrame:
    """A practice loop, empty rows, key_resp.keys with None where nothing was pressed."""
    rows: Rows = []
    for who in ("01", "02"):
        usual = {"participant": who, "session": "001", "expName": "learn", "frameRate": "60.01"}
        for loop, n in (("practice_trials.thisN", 4), ("trials.thisN", 30)):
            for t, (context, right, key) in enumerate(choices(int(who), n)):
                late = loop == "trials.thisN" and t == 7
                rows.append(
                    {
                        "stimFile": f"{context}.png",
                        "corrAns": right,
                        "practice_trials.thisN": None,
                        "trials.thisN": None,
                        loop: str(t),
                        "key_resp.keys": "None" if late else key,
                        "key_resp.corr": str(int(not late and key == right)),
                        "key_resp.rt": None if late else "0.45",
                        **usual,
                    }
                )
    return pl.DataFrame(rows)


def hbayesdm_bandit() -> pl.DataFrame:
    """A probabilistic reversal task: no context, outcomes 1 and -1."""
    rows: Rows = []
    for who in range(1, 4):
        for t, (_, right, key) in enumerate(choices(who, 40, "A", ("1", "2")), start=1):
            outcome = 1 if key == right else -1
            rows.append({"subjID": who, "trial": t, "choice": int(key), "outcome": outcome})
    return pl.DataFrame(rows)


def hbayesdm_gamble() -> pl.DataFrame:
    """Four decks, gains and losses in two columns."""
    draw = random.Random(5)
    rows = [
        {
            "trial": t,
            "choice": draw.randint(1, 4),
            "gain": draw.choice([50, 100]),
            "loss": draw.choice([0, 0, -250]),
            "subjID": who,
        }
        for who in (1, 2)
        for t in range(1, 41)
    ]
    return pl.DataFrame(rows)


def gorilla() -> pl.DataFrame:
    """Spaces in names, fixation rows, practice by a column, numbers that restart."""
    rows: Rows = []
    for who in (9001, 9002, 9003):
        for display, n in (("practice", 4), ("main", 20), ("main", 20)):
            for t, (context, right, key) in enumerate(choices(who, n), start=1):
                usual = {
                    "Participant Private ID": who,
                    "Trial Number": t,
                    "display": display,
                    "Spreadsheet: Image": f"{context}.jpg",
                    "ANSWER": right,
                }
                blank = {"Zone Type": "fixation", "Response": None, "Correct": None}
                zone = {"Zone Type": "response_keyboard", "Response": key}
                correct = int(key == right)
                rows.append({**usual, **blank, "Reaction Time": 250.1})
                rows.append({**usual, **zone, "Correct": correct, "Reaction Time": 700.5})
    return pl.DataFrame(rows)


def restarting() -> pl.DataFrame:
    """Trials are numbered anew in each block; choices are letters, rewards are points."""
    rows: Rows = []
    for who in ("ann", "Bob"):
        for block in (1, 2, 3):
            for t, (context, right, key) in enumerate(choices(block, 20), start=1):
                rows.append(
                    {
                        "person": who,
                        "block": block,
                        "trial": t,
                        "cue": context,
                        "choice": key,
                        "points": 10 if key == right else 2,
                        "group": "patient" if who == "ann" else "control",
                    }
                )
    return pl.DataFrame(rows)


def nameless() -> pl.DataFrame:
    """Names that say nothing: a learner by stretches, keys, and what choices follow."""
    rows: Rows = []
    for who in (11, 12, 13):
        for t, (context, right, key) in enumerate(choices(who, 60, "A", ("left", "right"))):
            rows.append({"q1": who, "q2": t, "q3": key, "q4": int(key == right), "q5": context})
    return pl.DataFrame(rows)


def phases() -> pl.DataFrame:
    """Training and test: what was trained is not practice, and the test has no feedback."""
    rows: Rows = []
    for who in ("s1", "s2"):
        for phase, n in (("practice", 4), ("training", 30), ("test", 10)):
            for context, right, key in choices(len(phase), n):
                rows.append(
                    {
                        "Subject": who,
                        "phase": phase,
                        "stimulus": context,
                        "response": key,
                        "accuracy": None if phase == "test" else str(key == right).upper(),
                    }
                )
    return pl.DataFrame(rows)


MADE: dict[str, Callable[[], pl.DataFrame]] = {
    made.__name__: made
    for made in (
        jspsych,
        psychopy,
        hbayesdm_bandit,
        hbayesdm_gamble,
        gorilla,
        restarting,
        nameless,
        phases,
    )
}
