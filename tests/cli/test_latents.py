"""``howlearn select --predictions --latents``: regressors beside the rows of the input."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from howlearn.results import select_into
from running import Run

Q = ("--task", "five-four", "--model", "q-learning", "--criterion", "aic")
LATENTS = ("--predictions", "--latents")
COLUMNS = ["value(A)", "value(B)", "prediction_error"]


def rows_of(file: str | Path, separator: str = ",") -> list[dict[str, str]]:
    with Path(file).open(newline="") as lines:
        return list(csv.DictReader(lines, delimiter=separator))


def alpha_of(folder: str, learner: str) -> float:
    """The learning rate that was fitted to all trials."""
    mine = [
        row
        for row in rows_of(f"{folder}/estimates.csv")
        if (row["learner"], row["model"], row["parameter"]) == (learner, "q-learning", "alpha")
    ]
    return float(max(mine, key=lambda row: int(row["trials_fitted"]))["estimate"])


def by_hand(trials: Sequence[dict[str, str]], alpha: float) -> dict[str, tuple[float, ...]]:
    """Of each trial's number: value(A), value(B), prediction error; missed trials have none."""
    q: dict[str, dict[str, float]] = {}
    found = {}
    for trial in sorted(trials, key=lambda row: int(row["trial"])):
        if trial["action"]:
            mine = q.setdefault(trial["context"], {"A": 0.0, "B": 0.0})
            error = float(trial["reward"]) - mine[trial["action"]]
            found[trial["trial"]] = (mine["A"], mine["B"], error)
            mine[trial["action"]] += alpha * error
    return found


def write(file: str, rows: Sequence[dict[str, Any]]) -> None:
    pl.DataFrame(rows).write_csv(file)


def test_values_and_prediction_errors_in_the_rows_of_the_input(run: Run, trials: Path) -> None:
    """Missed trials, rows left out by --where, shuffled rows, and files with different columns."""
    frame = pl.read_csv(trials, infer_schema=False).filter(pl.col("learner").is_in(["1", "2", "3"]))
    rows = frame.sample(fraction=1.0, shuffle=True, seed=4).rows(named=True)
    for row in rows:
        practice = int(row["trial"]) <= 20
        row |= {"practice": str(practice), "model": "a", "action": row["action"]}
        if int(row["trial"]) % 50 == 7:
            row["action"] = None
    here = [row for row in rows if row["learner"] != "3"]
    there = [row | {"rt": "0.50"} for row in rows if row["learner"] == "3"]
    write("here.csv", here)
    write("there.csv", there)
    ran = run(
        *("select", "here.csv", "there.csv", *Q, *LATENTS),
        *("--learner", "learner", "--where", "practice == 'False'"),
    )
    assert ran.status == 0, ran.err
    found = rows_of("results/predictions.csv")
    given = rows_of("here.csv") + rows_of("there.csv")
    assert len(found) == len(given) == 1500
    for out, row in zip(found, given, strict=True):  # the input's own columns, unchanged
        assert out["input_action"] == row["action"]
        assert out["input_model"] == "a"
        assert out["trial"] == row["trial"]
        assert out["rt"] == row.get("rt", "")
    used = [row for row in given if row["practice"] == "False"]
    for learner in "123":
        hand = by_hand([r for r in used if r["learner"] == learner], alpha_of("results", learner))
        for out in (out for out in found if out["input_learner"] == learner):
            expected = hand.get(out["trial"] if out["practice"] == "False" else "")
            if expected is None:
                assert not any(out[column] for column in (*COLUMNS, "model", "log_probability"))
            else:
                got = [float(out[column]) for column in COLUMNS]
                assert got == pytest.approx(list(expected), abs=1e-12)


def test_without_latents_predictions_are_as_they_were(run: Run, trials: Path) -> None:
    run("select", trials, *Q, "--predictions", "--out", "a")
    run("select", trials, *Q, *LATENTS, "--out", "b")
    before, after = pl.read_csv("a/predictions.csv"), pl.read_csv("b/predictions.csv")
    assert before.columns[-1] == "log_probability"
    assert after.select(before.columns).equals(before)
    own = [f"input_{c}" if c in before.columns else c for c in pl.read_csv(trials).columns]
    assert after.columns == [*before.columns, *COLUMNS, *own]
    assert not Path("b/bids").exists()


def test_learners_with_different_models_share_the_columns(
    run: Run, trials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where they are in different parts."""
    words = "simulate --task five-four --model OnePerItem --set eta=0.9 --learners 2 --trials 300"
    assert run(*words.split(), "--seed", 2, "--out", "other.csv").status == 0
    pl.concat(
        [
            pl.read_csv(trials).filter(pl.col("learner") <= 2),
            pl.read_csv("other.csv").with_columns(pl.col("learner") + 10),
        ]
    ).write_csv("both.csv")
    words = (
        "--task",
        "five-four",
        "--model",
        "q-learning",
        "--model",
        "ByShape",
        "--model",
        "component-cue",
    )
    texts = []
    for size in (5000, 1):
        monkeypatch.setattr(select_into, "CHUNK", size)
        assert run("select", "both.csv", *words, *LATENTS, "--out", f"{size}").status == 0
        texts.append(Path(f"{size}/predictions.csv").read_text())
    assert texts[0] == texts[1]
    frame = pl.read_csv("1/predictions.csv")
    assert set(frame["model"]) == {"ByShape", "q-learning"}
    first = frame.columns.index("log_probability") + 1
    preferences = ["preference(A)", "preference(B)"]
    assert frame.columns[first : first + 5] == [*COLUMNS, *preferences]
    for (model,), rows in frame.group_by("model"):
        full = COLUMNS if model == "q-learning" else preferences
        for column in (*COLUMNS, *preferences):
            assert rows[column].null_count() == (0 if column in full else rows.height)


def test_a_named_model_predicts_for_all_learners(run: Run, trials: Path) -> None:
    short = (pl.col("learner") <= 2) & (pl.col("trial") <= 200)
    pl.read_csv(trials).filter(short).write_csv("short.csv")
    words = ("select", "short.csv", "--task", "five-four", "--add-model", "alcove", *LATENTS)
    assert run(*words, "--predict-with", "alcove", "--format", "parquet").status == 0
    frame = pl.read_parquet("results/predictions.parquet")
    assert set(frame["model"]) == {"alcove"}
    assert "ByShape" in set(pl.read_parquet("results/selection.parquet")["model"])
    attention = [column for column in frame.columns if column.startswith("attention(")]
    assert len(attention) == 4
    assert frame.filter(trial="1").select(attention).unique().rows() == [(0.25,) * 4]
    assert not any(column.startswith("preference") for column in frame.columns)
    total = frame.group_by("learner").agg(pl.col("log_probability").sum()).sort("learner")
    scores = pl.read_parquet("results/scores.parquet").filter(
        model="alcove", criterion="penalized(c=0.012)"
    )
    expected = scores.sort("learner")["log_likelihood"].to_list()
    assert total["log_probability"].to_list() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--latents"], "--latents needs predictions: give --predictions too"),
        (["--predict-with", "ByShape"], "--predict-with needs predictions"),
        (
            ["--predictions", "--predict-with", "gcm"],
            "--predict-with gcm: there is no such candidate; there are OneForAll, ByShape",
        ),
    ],
)
def test_mistakes_get_a_sentence_and_no_folder(
    run: Run, trials: Path, words: list[str], sentence: str
) -> None:
    models = ("--model", "OneForAll", "--model", "ByShape")
    ran = run("select", trials, "--task", "five-four", *models, *words)
    assert ran.status == 2
    assert sentence in ran.err
    assert not Path("results").exists()


REVERSAL = ("--context", "none", "--action", "condchosen", "--reward", "outcome")


def test_bids_events_of_real_people(run: Run, shared_data: Path) -> None:
    files = sorted((shared_data / "bids_reversal").glob("*.tsv"))
    words = ("--model", "q-learning", "--model", "Coin", "--predict-with", "q-learning")
    assert run("select", *files, *REVERSAL, *words, *LATENTS).status == 0
    names = [file.name.replace("_events", "_desc-howlearn_events") for file in files]
    others = ["dataset_description.json", "task-reversal_desc-howlearn_events.json"]
    assert sorted(path.name for path in Path("results/bids").iterdir()) == sorted(names + others)
    new = ["model", "p_1", "p_2", "log_probability", "value_1", "value_2", "prediction_error"]
    sidecar = json.loads(Path("results/bids", others[1]).read_text())
    assert list(sidecar) == ["Description", *new]
    assert all(sidecar[column]["Description"].endswith(".") for column in new)
    assert list(sidecar["model"]["Levels"]) == ["q-learning"]
    for file, name in zip(files, names, strict=True):
        given, found = rows_of(file, "\t"), rows_of(Path("results/bids", name), "\t")
        assert list(found[0]) == [*given[0], *new]
        assert [{c: row[c] for c in given[0]} for row in found] == given
        learner = file.stem.split("_")[0].removeprefix("sub-")
        alpha, q = alpha_of("results", learner), {"1": 0.0, "2": 0.0}
        for row in found:
            assert float(row["value_1"]) == pytest.approx(q["1"], abs=1e-12)
            error = float(row["outcome"]) - q[row["condchosen"]]
            assert float(row["prediction_error"]) == pytest.approx(error, abs=1e-12)
            q[row["condchosen"]] += alpha * error
            p = float(row[f"p_{row['condchosen']}"])
            assert math.log(p) == pytest.approx(float(row["log_probability"]))


def events(subject: str, n: int = 40) -> None:
    """An events file in which every fifth row is no choice."""
    rows = [
        {
            "onset": f"{2.5 * i:.3f}",
            "duration": "n/a" if i % 5 == 0 else "1",
            "trial_type": "rest" if i % 5 == 0 else "choice",
            "choice": "n/a" if i % 5 == 0 else "LR"[i % 2],
            "reward": "n/a" if i % 5 == 0 else str(i % 3 % 2),
        }
        for i in range(n)
    ]
    path = Path(f"ds/sub-{subject}/func/sub-{subject}_task-bandit_run-1_events.tsv")
    path.parent.mkdir(parents=True)
    pl.DataFrame(rows).write_csv(path, separator="\t")


def test_bids_rows_without_a_choice_are_not_available(run: Run) -> None:
    for subject in ("01", "02"):
        events(subject)
    words = ("--context", "none", "--action", "choice", "--where", "trial_type == 'choice'")
    command = ("select", "ds/sub-01/func", "ds/sub-02/func", *words, "--model", "q-learning+bias")
    assert run(*command, *LATENTS, "--add-model", "Coin").status == 0
    place = Path("results/bids/sub-02/func/sub-02_task-bandit_run-1_desc-howlearn_events.tsv")
    given = rows_of("ds/sub-02/func/sub-02_task-bandit_run-1_events.tsv", "\t")
    found = rows_of(place, "\t")
    assert len(found) == 40
    for row, out in zip(given, found, strict=True):
        assert {column: out[column] for column in row} == row
        assert (out["p_L"] == "n/a") == (row["trial_type"] == "rest")
    about = json.loads(Path("results/bids/dataset_description.json").read_text())
    assert {"Name", "BIDSVersion", "DatasetType", "GeneratedBy"} <= about.keys()
    assert about["DatasetType"] == "derivative"
    assert about["GeneratedBy"][0]["Name"] == "howlearn"


def test_fresh_removes_bids_events_and_nothing_else(run: Run) -> None:
    for subject in ("01", "02"):
        events(subject)
    words = ("--context", "none", "--action", "choice", "--model", "q-learning")
    assert run("select", "ds/sub-01/func", "ds/sub-02/func", *words, *LATENTS).status == 0
    before = {p: p.read_bytes() for p in Path("results").rglob("*") if p.is_file()}
    assert run("select", "ds/sub-01/func", "ds/sub-02/func", *words, *LATENTS).status == 0
    assert before == {p: p.read_bytes() for p in Path("results").rglob("*") if p.is_file()}
    note = Path("results/bids/sub-01/notes.txt")
    note.write_text("mine")
    assert run("select", "ds/sub-02/func", *words, "--fresh").status == 0
    assert [path for path in Path("results/bids").rglob("*") if path.is_file()] == [note]
    note.unlink()
    assert run("select", "ds/sub-01/func", *words, "--fresh").status == 0
    assert not Path("results/bids").exists()
