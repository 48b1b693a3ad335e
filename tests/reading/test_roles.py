"""Column roles are found by common names, whatever their case and punctuation."""

from __future__ import annotations

import polars as pl
import pytest

from howlearn.reading.columns import guess
from howlearn.reading.read import read


@pytest.mark.parametrize(
    ("role", "columns", "found"),
    [
        ("learner", ["Participant ID", "x"], ("Participant ID",)),
        ("learner", ["ID", "subjID", "SUBNO"], ("subjID", "SUBNO", "ID")),
        ("learner", ["Participant Age", "participant_x", "Participant Public ID"],
         ("Participant Public ID", "participant_x")),
        ("learner", ["Versuchspersonennr", "VP"], ("VP", "Versuchspersonennr")),
        ("learner", ["probandencode"], ("probandencode",)),
        ("learner", ["code", "Respondent"], ("code", "Respondent")),
        ("learner", ["session_id", "subjective value", "subject_group"], ()),
        ("context", ["Stim", "OBJECT", "item."], ("item.", "Stim", "OBJECT")),
        ("action", ["RESP", "Choice", "correct_choice"], ("Choice", "RESP")),
        ("reward", ["cor", "rew", "corA"], ("rew", "cor")),
        ("reward", ["Accuracy"], ("Accuracy",)),
        ("trial", ["Trial_Number", "time"], ("Trial_Number",)),
        ("trial", ["block"], ()),
    ],
)  # fmt: skip
def test_guess(role: str, columns: list[str], found: tuple[str, ...]) -> None:
    assert guess(role, columns) == found


DATA = pl.DataFrame(
    {
        "Subject": ["s"] * 3,
        "Feedback": [1, 0, 1],
        "correct": [0, 0, 0],
        "Response": ["l", "r", "l"],
        "Stimulus": [2, 1, 1],
        "TrialNr": [3, 2, 1],
    }
)


def test_what_was_guessed_is_told() -> None:
    study = read(DATA)
    assert study.roles == {
        "learner": "Subject (guessed)",
        "context": "Stimulus (guessed)",
        "action": "Response (guessed)",
        "reward": "Feedback (guessed; also possible: correct)",
        "trial": "TrialNr (guessed)",
    }
    assert study.reward.tolist() == [1, 0, 1]


def test_what_is_given_is_not_guessed() -> None:
    study = read(DATA, reward="correct", context=["Stimulus", "Feedback"], trial="none")
    assert study.reward.tolist() == [0, 0, 0]
    assert study.contexts == ("1:0", "1:1", "2:1")
    assert study.roles["reward"] == "correct"
    assert study.roles["context"] == "Stimulus, Feedback"
    assert study.roles["trial"] == "the order of the rows"


def test_a_column_with_another_use_is_not_guessed() -> None:
    study = read(DATA.with_columns(item=pl.lit("x")), keep="item")
    assert study.roles["context"] == "Stimulus (guessed)"


def test_a_column_called_none_is_a_column() -> None:
    study = read(DATA.rename({"TrialNr": "none"}), trial="none")
    assert study.context.tolist() == [0, 0, 1]


def test_one_learner_is_told(tmp_path) -> None:
    note = (
        "no column for the learner was found{}, so {} is taken as one learner; if it holds "
        "several, name their column with --learner COL"
    )
    data = DATA.drop("Subject")
    assert read(data).notes == (note.format("", "the data frame"),)
    path = tmp_path / "a.csv"
    data.write_csv(path)
    assert read(path).notes == (note.format("", path),)
    assert read(path, learner="file").notes == ()
    data.write_csv(tmp_path / "b.csv")
    assert read(tmp_path).notes == ()
    used = " (Subject is already used by --by)"
    assert read(DATA, by="Subject").notes == (note.format(used, "the data frame"),)
