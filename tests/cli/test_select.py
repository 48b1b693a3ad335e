"""``howlearn select``: what it writes, and what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howlearn.cli import show
from running import Run

FILES = [
    "estimates.csv", "learners.csv", "manifest.json", "parts", "scores.csv", "selection.csv",
    "shares.csv",
]  # fmt: skip
COLUMNS = {
    "scores": "learner model criterion n_trials n_parameters log_likelihood penalty score rank "
    "selected probability",
    "estimates": "learner model cell parameter estimate trials_fitted lower upper interval status "
    "agreement",
    "selection": "learner criterion model runner_up margin verdict probability p_other",
}
BOTH = ("--criterion", "penalized(c=0.012)", "--criterion", "holdout(split=0.5)")


def files_of(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def test_the_issue_s_command_writes_every_table(run: Run, trials: Path) -> None:
    ran = run("select", trials, "--task", "five-four", *BOTH, "--out", "results")
    assert ran.status == 0
    assert "agrees with penalized for 10 of 10 learners." in " ".join(ran.out.split())
    assert "Columns (guessed): learner, context, action, reward, trial" in ran.err
    assert files_of("results") == FILES
    for table, columns in COLUMNS.items():
        frame = pl.read_csv(f"results/{table}.csv")
        assert frame.columns == columns.split()
    assert pl.read_csv("results/selection.csv")["model"].unique().to_list() == ["ByShape"]
    assert pl.read_csv("results/scores.csv").height == 10 * 2 * 6
    assert pl.read_csv("results/estimates.csv").height == 10 * 2 * 22
    assert pl.read_csv("results/learners.csv")["eta_1+2+7+8"].null_count() == 0


def test_the_first_criterion_answers_on_one_screen(
    run: Run, trials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show.console, "width", 80)
    ran = run("select", trials, "--task", "five-four")
    said = " ".join(ran.out.split())
    assert "The model that explains each of 10 learners best, by population" in said
    assert "penalized and holdout agree with population for" in said
    lines = ran.out.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    names = pl.read_csv("results/selection.csv")["criterion"].unique().sort().to_list()
    assert names == ["holdout(split=0.5)", "penalized(c=0.012)", "population"]
    shares = pl.read_csv("results/population.csv")
    assert shares["model"][0] == "ByShape"
    # Ten of ten learners, six candidates, α = 0.5: (10 + 0.5) / (10 + 3).
    assert 0.75 < shares["share"][0] < 0.85


def test_a_population_of_one_is_refused_and_leaves_no_folder(run: Run, trials: Path) -> None:
    pl.read_csv(trials).filter(pl.col("learner") == 1).write_csv("one.csv")
    ran = run("select", "one.csv", "--task", "five-four", "--criterion", "population")
    assert ran.status == 2
    assert "a population needs at least two learners" in ran.err
    assert not Path("results").exists()


def test_the_manifest_says_what_the_run_was_and_no_times(run: Run, trials: Path) -> None:
    run("select", trials, "--task", "five-four", "--where", "trial > 100", "--out", "a")
    manifest = json.loads(Path("a/manifest.json").read_text())
    assert manifest["rows"]["left out by --where"] == 1000
    assert manifest["input"]["trials.csv"].startswith("sha256:")
    assert manifest["options"]["where"] == "trial > 100"
    assert not any("time" in key or "date" in key for key in manifest)


def test_the_same_command_again_gives_the_same_bytes(run: Run, trials: Path) -> None:
    words = ("select", trials, "--task", "five-four", "--out", "results")
    run(*words)
    before = {p: p.read_bytes() for p in Path("results").rglob("*") if p.is_file()}
    assert run(*words).status == 0
    assert before == {p: p.read_bytes() for p in Path("results").rglob("*") if p.is_file()}


def test_another_run_s_results_are_kept_unless_fresh(run: Run, trials: Path) -> None:
    run("select", trials, "--task", "five-four", "--criterion", "aic", "--out", "results")
    before = Path("results/scores.csv").read_bytes()
    words = ("select", trials, "--task", "five-four", "--criterion", "bic", "--out", "results")
    ran = run(*words)
    assert ran.status == 2
    assert "results holds the results of another run:" in ran.err
    assert "\n  criteria: aic there, bic now" in ran.err
    assert "--fresh" in ran.err
    assert Path("results/scores.csv").read_bytes() == before
    assert run(*words, "--fresh").status == 0
    assert pl.read_csv("results/scores.csv")["criterion"].unique().to_list() == ["bic"]


def test_a_folder_with_other_files_is_left_alone(run: Run, trials: Path) -> None:
    Path("precious").mkdir()
    Path("precious/notes.csv").write_text("mine")
    for fresh in ((), ("--fresh",)):
        ran = run("select", trials, "--task", "five-four", "--out", "precious", *fresh)
        assert ran.status == 2
        assert "precious holds files that are not results of howlearn" in ran.err
    assert files_of("precious") == ["notes.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.csv"], "nowhere.csv"),
        (["trials.csv", "--task", "six-five"], "there is no task 'six-five'"),
        (["trials.csv", "--task", "five-four", "--criterion", "cic"], "no criterion 'cic'"),
        (["trials.csv", "--task", "five-four", "--criterion", "holdout(split=2)"], "split must"),
        (["trials.csv", "--task", "five-four", "--model", "ByTaste"], "no model 'ByTaste'"),
        (["trials.csv", "--task", "five-four", "--max-rate", "21"], "at most 20, got 21"),
        (["trials.csv", "--task", "five-four", "--add-model", "ByShape"], "the same name: ByShape"),
        (["trials.csv", "--task", "five-four", "--reward-range", "1"], "--reward-range"),
        (["trials.csv", "--task", "five-four", *2 * ["--criterion", "bic"]], "bic is named twice"),
        (["trials.csv", "--where", "phase = 1"], "--where"),
        (["trials.csv", "--task", "five-four", "--rule", "sarsa"], "sarsa"),
        (["trials.csv", "--context", "item"], "item"),
    ],
)
def test_mistakes_get_a_sentence_status_2_and_no_folder(
    run: Run, trials: Path, words: list[str], message: str
) -> None:
    ran = run("select", *words, "--out", "results")
    assert ran.status == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert not Path("results").exists()


def test_conditions_and_kept_columns_stand_after_the_learner(run: Run) -> None:
    rows = pl.DataFrame(
        {
            "subject": ["a"] * 40 + ["b"] * 40,
            "condition": ([1] * 20 + [2] * 20) * 2,
            "group": ["x"] * 40 + ["y"] * 40,
            "item": [1, 2] * 40,
            "choice": ["l", "r", "r", "l", "l"] * 16,
            "reward": [1, 0, 0, 1] * 20,
        }
    )
    rows.write_csv("data.csv")
    ran = run("select", "data.csv", "--by", "condition", "--keep", "group", "--out", "results")
    assert ran.status == 0
    for table in ("scores", "estimates", "selection", "learners"):
        assert pl.read_csv(f"results/{table}.csv").columns[:3] == ["learner", "condition", "group"]
    learners = pl.read_csv("results/learners.csv")
    assert learners["learner"].to_list() == ["a", "a", "b", "b"]
    assert learners["condition"].to_list() == [1, 2, 1, 2]


def test_predictions_stand_beside_the_input_rows(run: Run, trials: Path) -> None:
    frame = pl.read_csv("trials.csv").with_columns(
        pl.when((pl.col("learner") == 3) & (pl.col("trial") == 7)).then(None).otherwise("action")
        .alias("gap"), order=pl.int_range(pl.len()).shuffle(seed=5)
    )  # fmt: skip
    frame = frame.with_columns(
        pl.when(pl.col("gap").is_null()).then(None).otherwise(pl.col("action")).alias("action")
    ).sort("order")
    frame.drop("gap", "order").write_csv("shuffled.csv")
    words = ("--task", "five-four", "--predictions", "--min-trials", 2)
    assert run("select", "shuffled.csv", *words, "--out", "p").status == 0
    beside = pl.read_csv("p/predictions.csv")
    assert beside.height == frame.height
    assert beside["row"].to_list() == list(range(2, frame.height + 2))
    assert beside["file"].unique().to_list() == ["shuffled.csv"]
    missed = frame["action"].is_null()
    assert beside["log_probability"].is_null().to_list() == missed.to_list()
    kept = ~missed
    for column in ("learner", "context", "action"):
        assert beside.filter(kept)[column].to_list() == frame.filter(kept)[column].to_list()
    chosen = beside.filter(kept)
    p = np.where(chosen["action"] == "A", chosen["p(A)"], chosen["p(B)"])
    assert np.allclose(np.log(p), chosen["log_probability"])
    assert np.allclose(chosen["p(A)"] + chosen["p(B)"], 1.0)
    total = chosen.group_by("learner").agg(pl.col("log_probability").sum()).sort("learner")
    scores = pl.read_csv("p/scores.csv").filter(
        (pl.col("criterion") == "penalized(c=0.012)") & pl.col("selected")
    )
    assert np.allclose(total["log_probability"], scores.sort("learner")["log_likelihood"])


def test_parquet_tables_hold_the_same(run: Run, trials: Path) -> None:
    run("select", trials, "--task", "five-four", *BOTH, "--out", "c")
    run("select", trials, "--task", "five-four", *BOTH, "--format", "parquet", "--out", "p")
    for table in ("scores", "selection", "estimates"):
        text = pl.read_csv(f"c/{table}.csv", schema_overrides={"learner": pl.String})
        binary = pl.read_parquet(f"p/{table}.parquet")
        assert text.columns == binary.columns
        assert text["model"].to_list() == binary["model"].cast(pl.String).to_list()


def test_one_rate_versions_and_coin_compete_when_asked(run: Run, trials: Path) -> None:
    words = ("--one-rate", "--add-model", "Coin", "--criterion", "aic")
    run("select", trials, "--task", "five-four", *words)
    frame = pl.read_csv("results/scores.csv").filter(pl.col("criterion") == "aic")
    parameters = dict(frame.select("model", "n_parameters").unique().iter_rows())
    assert parameters["ByShape (one rate)"] == 1
    assert parameters["ByShape"] == 2
    assert parameters["Coin"] == 1
    assert len(parameters) == 6 + 5 + 1


def test_model_replaces_the_candidates(run: Run, trials: Path) -> None:
    run("select", trials, "--task", "five-four", "--model", "ByShape", "--model", "Coin")
    assert set(pl.read_csv("results/scores.csv")["model"]) == {"ByShape", "Coin"}


def test_chunks_do_not_change_a_byte(
    run: Run, trials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("select", trials, "--task", "five-four", "--predictions", "--out", "one")
    monkeypatch.setattr("howlearn.results.select_into.CHUNK", 3)
    run("select", trials, "--task", "five-four", "--predictions", "--workers", 1, "--out", "four")
    assert len(list(Path("four/parts").glob("*.scores.*.parquet"))) == 4
    for table in ("scores", "estimates", "selection", "learners", "predictions"):
        name = f"{table}.csv"
        assert Path("one", name).read_bytes() == Path("four", name).read_bytes()


def test_kept_columns_never_clash_with_the_results(run: Run, trials: Path) -> None:
    frame = pl.read_csv("trials.csv")
    columns = ["model", "score", "status", "margin", "verdict_aic", "file", "row", "p(A)"]
    frame.with_columns(pl.lit("x").alias(c) for c in columns).write_csv("clash.csv")
    words = (
        "clash.csv",
        "--task",
        "five-four",
        "--keep",
        ",".join(columns),
        "--predictions",
        *BOTH,
    )
    ran = run("select", *words)
    assert ran.status == 0
    assert "the column model is called input_model in the results" in ran.err
    for table in ("scores", "estimates", "selection", "learners", "predictions"):
        found = pl.read_csv(f"results/{table}.csv", infer_schema=False).columns
        assert len(set(found)) == len(found)
        assert {f"input_{column}" for column in columns} <= set(found)


def test_what_the_system_refuses_is_a_sentence(run: Run, trials: Path) -> None:
    Path("afile").write_text("")
    ran = run("select", trials, "--task", "five-four", "--out", "afile/inside")
    assert ran.status == 2
    assert ran.err.splitlines()[-1].startswith("howlearn: afile")


def test_fresh_replaces_results_and_keeps_everything_else(run: Run, trials: Path) -> None:
    words = ("select", trials, "--task", "five-four", "--out", "results")
    run(*words, *BOTH)
    for mine in ("notes.txt", "mine.csv"):
        Path("results", mine).write_text("precious")
    assert run(*words, *BOTH).status == 0
    assert run(*words, "--criterion", "bic", "--fresh").status == 0
    assert files_of("results") == sorted([*FILES, "notes.txt", "mine.csv"])
    assert pl.read_csv("results/scores.csv")["criterion"].unique().to_list() == ["bic"]


def test_identical_candidates_are_named(run: Run) -> None:
    run("simulate", "--out", "a.csv", "--learners", 1, "--trials", 60)
    Path("my.toml").write_text(
        'actions = ["A", "B"]\ncontexts = [1, 2, 7, 8, 11, 12, 13, 14, 15]\n'
        '[[models]]\nname = "All"\npartition = "all"\n'
        '[[models]]\nname = "Again"\ncells = [[1, 2, 7, 8, 11, 12, 13, 14, 15]]\n'
    )
    ran = run("select", "a.csv", "--task", "my.toml")
    assert "All and Again are the same model" in ran.err


def test_prediction_rows_are_those_of_messages(run: Run, trials: Path) -> None:
    """Blank lines before the header count, as they do in a spreadsheet."""
    Path("blank.csv").write_text("\n\n" + Path("trials.csv").read_text())
    assert run("select", "blank.csv", "--task", "five-four", "--predictions").status == 0
    assert pl.read_csv("results/predictions.csv")["row"][0] == 4
