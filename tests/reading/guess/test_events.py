"""Logs with one row per event: choices and outcomes in different rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.reading.guess import inspect

PEOPLE, TRIALS = 6, 60


def log(cues: str = "") -> list[tuple[int, int, str, str, int]]:
    """Learner, trial, cue, choice and outcome of people who stay after a success."""
    draw, found = np.random.default_rng(7), []
    for who in range(PEOPLE):
        last = dict.fromkeys(cues or "x", 0)
        for t in range(TRIALS):
            cue = (cues or "x")[int(draw.integers(len(cues or "x")))]
            made = last[cue]
            won = int(draw.random() < (0.8 if made == (cues or "x").index(cue) % 2 else 0.2))
            found.append((who, t, cue, "LR"[made], won))
            last[cue] = made if won else 1 - made
    return found


def codes(names: dict[str, str], cues: str = "") -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for who, t, cue, made, won in log(cues):
        events = [names[cue], names[made], names[f"{won}"]]
        rows += [{"animal": who, "time_s": 10 * t + i, "event": e} for i, e in enumerate(events)]
        if t % 9 == 4:  # a trial that was begun and left
            rows.append({"animal": who, "time_s": 10 * t + 5, "event": names[cue]})
    return pl.DataFrame(rows)


WORDS = {"x": "centre_in", "L": "left_poke", "R": "right_poke", "0": "no_pellet", "1": "pellet"}
NUMBERS = {"x": "1", "L": "21", "R": "22", "0": "30", "1": "31"}


@pytest.mark.parametrize("names", [WORDS, NUMBERS])
def test_events_in_one_column_are_asked_about(names: dict[str, str]) -> None:
    found = inspect(codes(names))
    [question] = found.questions
    assert {answer.also["action"] for answer in question.answers} == {"lag(event)"}
    wanted = next(a for a in question.answers if names["1"] in str(a.value).split("==")[1])
    said = {wanted.option: wanted.value, **wanted.also}
    table = inspect(codes(names), **said).trials()
    assert table["action"].to_list() == [names[made] for _, _, _, made, _ in log()]
    assert table["reward"].to_list() == [won for *_, won in log()]


def test_cues_in_the_column_of_events_are_contexts() -> None:
    names = WORDS | {"a": "tone_low", "b": "tone_high"}
    found = inspect(codes(names, "ab"))
    assert [question.about for question in found.questions] == ["reward"]
    assert found.options["context"] == ("lag(event, 2)",)
    assert found.options["reward"] == "event == 'pellet'"
    table = found.trials()
    assert table["context"].to_list() == [names[cue] for _, _, cue, _, _ in log("ab")]


def test_a_row_for_the_stimulus_one_for_the_response_one_for_the_feedback() -> None:
    rows = []
    for who, t, cue, made, won in log("ab"):
        same = {"subject": who, "trial": t}
        rows.append({**same, "event": "stimulus", "stimulus": cue})
        if t % 10 != 3:  # missed
            rows.append({**same, "event": "response", "response": made, "rt": 0.3 + t / 100})
        rows.append({**same, "event": "feedback", "reward": won})
    found = inspect(pl.DataFrame(rows, infer_schema_length=None))
    assert not found.questions
    table = found.trials()
    told = [each for each in log("ab") if each[1] % 10 != 3]
    assert table["context"].to_list() == [cue for _, _, cue, _, _ in told]
    assert table["action"].to_list() == [made for _, _, _, made, _ in told]
    assert table["reward"].to_list() == [won for *_, won in told]
    assert any("another row than the choice" in str(note) for note in found.oddities)


def test_words_that_follow_one_another_at_random_are_no_events() -> None:
    draw = np.random.default_rng(1)
    shown = draw.choice(["cat", "dog", "cow", "pig"], 400)
    data = pl.DataFrame({"subject": [1] * 400, "word": shown, "rating": draw.integers(1, 8, 400)})
    assert "action" not in inspect(data).guesses


def screens() -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    """A choice between two of four pictures, its feedback and a cross, after instructions."""
    draw, rows, trials = np.random.default_rng(2), [], []
    names = "index screen trial left_img right_img chosen_img key points".split()
    for who in range(PEOPLE):
        values = dict.fromkeys("abcd", 0.0)
        rows.append({"id": who, "screen": "instructions"})
        for t in range(80):
            pair = "ab" if draw.random() < 0.5 else "cd"
            left, right = pair if draw.random() < 0.5 else pair[::-1]
            stays = draw.random() < 1 / (1 + np.exp(-5 * (values[left] - values[right])))
            made = left if stays else right
            won = int(draw.random() < (0.8 if made in "ac" else 0.2))
            values[made] += 0.3 * (won - values[made])
            shown = {"left_img": left, "right_img": right, "chosen_img": made}
            rows += [
                {"id": who, "screen": "choice", "trial": t, **shown, "key": "f" if stays else "j"},
                {"id": who, "screen": "feedback", "trial": t, "points": 10 * won},
                {"id": who, "screen": "cross"},
            ]
            trials.append({"action": made, "reward": won, "offered": "|".join(sorted(pair))})
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.with_columns(index=pl.int_range(len(rows))).select("id", *names), trials


@pytest.mark.parametrize("gone", ["key", "chosen_img"])
def test_pictures_in_the_row_before_the_feedback_are_on_offer(gone: str) -> None:
    frame, trials = screens()
    found = inspect(frame.drop(gone))
    assert not found.questions
    assert found.options["offered"] == ("lag(left_img)", "lag(right_img)")
    table = found.trials()
    for column in ("action", "offered", "reward"):
        assert table[column].to_list() == [trial[column] for trial in trials]


def test_an_action_that_is_named_without_its_outcome_is_told_how() -> None:
    frame, _ = screens()
    with pytest.raises(HowlearnError, match=r'type --action "lag\(chosen_img\)"'):
        inspect(frame, action="chosen_img")
    assert inspect(frame, action="lag(chosen_img)").options["reward"] == "points"


def test_outcomes_that_come_sooner_or_later_are_not_read_as_missed_choices() -> None:
    """With a further screen after every fourth choice, no number of rows leads back to all."""
    frame, _ = screens()
    more = frame.filter(pl.col("screen") == "choice", pl.col("trial") % 4 == 0).select(
        "id", pl.col("index") + 0.5, screen=pl.lit("question")
    )
    rows = [frame.with_columns(pl.col("index").cast(pl.Float64)), more]
    found = inspect(pl.concat(rows, how="diagonal").sort("index"))
    assert "action" not in found.options
