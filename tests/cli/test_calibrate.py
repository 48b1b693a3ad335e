"""``howlearn calibrate``, and what other commands make of its folder."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import howlearn as hl
from running import Run

MODELS = ("--model", "OneForAll", "--model", "ByFeature1", "--model", "OnePerItem")
DESIGN = ("--task", "shepard-1", "--learners", 8, "--trials", 32, "--set", "eta=0.2")
SMALL = (*DESIGN, *MODELS, "--splits", "0.25,0.5")
TABLES = ("errors.csv", "settings.csv", "confusion.csv", "recovery.csv", "slope.csv")
FILES = {*TABLES, "recommendation.json"}
PATIENCE = 300  # seconds; only a hanging process takes so long


@pytest.fixture
def no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As without the extra, and faster."""
    monkeypatch.setattr("howlearn.report.charts.available", lambda *_: False)


def files_of(folder: str | Path) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def same_bytes(one: str, other: str, names: tuple[str, ...] = (*TABLES, "recommendation.json")):
    for name in names:
        assert Path(one, name).read_bytes() == Path(other, name).read_bytes(), name


def recommendation(folder: str) -> dict:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    text = Path(folder, "recommendation.json").read_text(encoding="utf-8")
    return json.loads(text, parse_constant=refuse)


# --- the folder -----------------------------------------------------------------------------------


def test_a_calibration_is_a_folder_of_tables_and_charts(run: Run) -> None:
    ran = run("calibrate", *SMALL, "--out", "c")
    assert ran.status == 0
    charts = {
        f"{name}.{ending}"
        for name in (
            "errors-penalized",
            "errors-holdout",
            "confusion-penalized",
            "confusion-holdout",
            "recovery",
        )
        for ending in ("svg", "png")
    }
    assert files_of("c") == FILES | charts | {"manifest.json", "parts"}
    for name in charts:
        start = Path("c", name).read_bytes()[:8]
        assert start.startswith(b"<svg") if name.endswith("svg") else start[1:4] == b"PNG"
    errors = pl.read_csv("c/errors.csv")
    first = ["criterion", "setting", "true_model", "error", "standard_error"]
    assert errors.columns == [*first, "kappa"]
    confusion = pl.read_csv("c/confusion.csv")
    assert confusion.columns[:5] == [
        "criterion", "setting", "true_model", "selected_model", "share",
    ]  # fmt: skip
    names = {"penalized", "holdout", "aic", "bic"}
    assert set(errors["criterion"]) == set(confusion["criterion"]) == names
    found = recommendation("c")
    assert found["design"]["task"] == "shepard-1"
    for text in (*found["criteria"], "Errors for fresh learners, 8 per model", "Tables: c/"):
        assert text in ran.out
    assert "Next: howlearn select trials.csv --task shepard-1 --model" in ran.out


@pytest.mark.usefixtures("no_charts")
def test_the_tables_are_those_of_python(run: Run) -> None:
    words = ("--constants", "0.1,0.01", "--goal", "average", "--seed", 3)
    assert run("calibrate", *SMALL, *words, "--out", "c").status == 0
    task = hl.Task.load("shepard-1")
    models = [task.model(name) for name in MODELS[1::2]]
    found = hl.calibrate(
        task,
        models,  # type: ignore[arg-type]
        {"eta": 0.2},
        learners=8,
        trials=32,
        seed=3,
        constants=[0.01, 0.1],
        splits=[0.25, 0.5],
        goal="average",
    )
    for name in TABLES:
        table = getattr(found, Path(name).stem)
        assert Path("c", name).read_text(encoding="utf-8") == table.write_csv()
    mine = recommendation("c")
    del mine["design"], mine["candidates"]
    assert mine == json.loads(json.dumps(found.recommendation))


@pytest.mark.usefixtures("no_charts")
def test_without_the_extra_one_line_says_how_to_get_charts(run: Run) -> None:
    ran = run("calibrate", *SMALL, "--out", "c")
    assert ran.status == 0
    assert files_of("c") == FILES | {"manifest.json", "parts"}
    assert ran.out.splitlines().count("charts need: pip install 'howlearn[report]'") == 1


@pytest.mark.usefixtures("no_charts")
def test_workers_never_change_a_byte(run: Run) -> None:
    words = ("--learners", 60, *SMALL[4:], "--task", "shepard-1")
    for workers in (1, 2):
        run("calibrate", *words, "--workers", workers, "--out", f"c{workers}")
    same_bytes("c1", "c2")
    assert run("calibrate", *words, "--seed", 1, "--out", "c3").status == 0
    assert Path("c1/errors.csv").read_bytes() != Path("c3/errors.csv").read_bytes()


@pytest.mark.usefixtures("no_charts")
@pytest.mark.parametrize(
    ("words", "difference"),
    [
        (("--seed", 4), "design.seed: 0 there, 4 now"),
        (("--learners", 9), "design.learners_per_model: 8 there, 9 now"),
        (("--trials", 33), "design.trials: 32 there, 33 now"),
        (("--order", "periodic"), "design.order: blocks there, periodic now"),
        (("--splits", "0.5"), "splits: 0.25,0.5 there, 0.5 now"),
        (("--set", "ByFeature1:eta=0.3"), "design.parameters.ByFeature1: 0.2,0.2 there"),
        (("--max-rate", 2), "models."),
        (("--task", "shepard-2"), "design.rewards.010.A: 1.0 there, 0.0 now"),
    ],
)
def test_another_run_does_not_mix_with_an_earlier_one(
    run: Run, words: tuple, difference: str
) -> None:
    assert run("calibrate", *SMALL, "--out", "c").status == 0
    before = Path("c/errors.csv").read_bytes()
    ran = run("calibrate", *SMALL, *words, "--out", "c")
    assert ran.status == 2
    assert "c holds the results of another run" in ran.err
    assert difference in ran.err
    assert "--fresh" in ran.err
    assert Path("c/errors.csv").read_bytes() == before


@pytest.mark.usefixtures("no_charts")
def test_fresh_replaces_results_and_nothing_else(run: Run) -> None:
    assert run("calibrate", *SMALL, "--out", "c").status == 0
    Path("c/mine.txt").write_text("precious")
    Path("c/errors-penalized.svg").write_text("of the earlier run")
    ran = run("calibrate", *SMALL, "--seed", 4, "--fresh", "--out", "c")
    assert ran.status == 0
    assert files_of("c") == FILES | {"manifest.json", "parts", "mine.txt"}
    assert run("calibrate", *SMALL, "--seed", 4, "--out", "d").status == 0
    same_bytes("c", "d")


@pytest.mark.usefixtures("no_charts")
def test_other_constants_reuse_the_learners(run: Run) -> None:
    assert run("calibrate", *SMALL, "--out", "c").status == 0
    before = {path: path.stat().st_mtime_ns for path in Path("c/parts").iterdir()}
    assert run("calibrate", *SMALL, "--constants", "0.01:0.05:0.01", "--out", "c").status == 0
    assert {path: path.stat().st_mtime_ns for path in Path("c/parts").iterdir()} == before
    settings = pl.read_csv("c/settings.csv").filter(criterion="penalized")["setting"]
    assert settings.to_list() == [0.01, 0.02, 0.03, 0.04, 0.05]


@pytest.mark.usefixtures("no_charts")
def test_folders_of_other_commands_are_left_alone(run: Run) -> None:
    run("simulate", "--task", "shepard-1", "--learners", 2, "--trials", 16, "--out", "t.csv")
    assert run("select", "t.csv", "--task", "shepard-1", "--out", "r").status == 0
    before = files_of("r")
    for words in ((), ("--fresh",)):
        ran = run("calibrate", *SMALL, "--out", "r", *words)
        assert ran.status == 2
        assert "r holds the results of howlearn select; name another folder" in ran.err
    assert files_of("r") == before
    assert run("calibrate", *SMALL, "--out", "c").status == 0
    ran = run("select", "t.csv", "--task", "shepard-1", "--out", "c", "--fresh")
    assert ran.status == 2
    assert "c holds the results of howlearn calibrate" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--splits", "0"), "splits must lie between 0 and 1"),
        (("--splits", "a"), "--splits 'a': write numbers as"),
        (("--constants", "inf"), "c must be 0 or greater, got inf"),
        (("--constants", "-1"), "c must be 0 or greater, got -1"),
        (("--constants", "0.1:0.01"), "--constants '0.1:0.01': write numbers as"),
        (("--set", "theta=1"), "no simulated model has a parameter theta; there is eta"),
        (("--set", "ByFeature1:eta=0.1:0.01"), "a range goes from its lower to its upper end"),
        (("--set", "Coin:eta=0.1"), "parameters are given for model Coin, which is not simulated"),
        (("--add-model", "ByFeature1"), "two candidates have the same name: ByFeature1"),
        (("--model", "Nobody"), "task shepard-1 has no model 'Nobody'"),
        (("--task", "blind.toml"), "task blind does not say what its actions earn"),
        (("--learners", 1), "--learners"),
        (("--goal", "least"), "least"),
    ],
)
def test_what_cannot_be_leaves_no_folder(run: Run, words: tuple, message: str) -> None:
    Path("blind.toml").write_text('actions = ["l", "r"]\ncontexts = [{ name = "a" }]\n')
    design = DESIGN if "blind.toml" in words else SMALL
    ran = run("calibrate", *design, *words, "--out", "c")
    assert ran.status == 2
    assert message in " ".join(ran.err.split())
    assert not Path("c").exists()


def test_odd_names_are_printed_as_they_are(run: Run) -> None:
    Path("odd.toml").write_text(
        'actions = ["l", "r"]\n'
        'contexts = [{ name = "a", correct = "l" }, { name = "b", correct = "r" }]\n'
        '[[models]]\nname = "All, of: [bold]"\npartition = "all"\n'
        '[[models]]\nname = "each=x:y [/]"\npartition = "each"\n',
        encoding="utf-8",
    )
    words = ("--task", "odd.toml", "--learners", 6, "--trials", 16, "--constants", "1e6,1e7")
    ran = run("calibrate", *words, "--set", "each=x:y [/]:eta=0.3", "--out", "c")
    assert ran.status == 0
    assert "never selects each=x:y [/]." in ran.out
    recovery = pl.read_csv("c/recovery.csv").filter(true_model="each=x:y [/]")
    assert recovery["true_value"].to_list() == pytest.approx([0.3] * len(recovery))


# --- howlearn select --calibration ----------------------------------------------------------------


@pytest.fixture
def trials(run: Run) -> str:
    words = ("--task", "shepard-1", "--model", "ByFeature1", "--set", "eta=0.2", "--learners", 3)
    assert run("simulate", *words, "--trials", 40, "--out", "t.csv").status == 0
    return "t.csv"


@pytest.mark.usefixtures("no_charts")
def test_select_takes_the_constants(run: Run, trials: str) -> None:
    assert run("calibrate", *SMALL, "--out", "c").status == 0
    criteria = recommendation("c")["criteria"]
    words = ("select", trials, "--task", "shepard-1", *MODELS, "--calibration")
    ran = run(*words, "c", "--out", "r")
    assert ran.status == 0
    assert "note: the calibration" not in ran.err
    used = pl.read_csv("r/selection.csv")["criterion"].unique(maintain_order=True).to_list()
    assert used == [*criteria, "aic"]
    ran = run(*words, "c/recommendation.json", "--criterion", "bic", "--out", "r2")
    assert ran.status == 0
    used = pl.read_csv("r2/selection.csv")["criterion"].unique(maintain_order=True).to_list()
    assert used == [*criteria, "bic"]


@pytest.mark.usefixtures("no_charts")
def test_select_notes_that_a_calibration_is_for_something_else(run: Run, trials: str) -> None:
    assert run("calibrate", *SMALL, "--trials", 400, "--out", "c").status == 0
    ran = run("select", trials, "--task", "shepard-1", "--calibration", "c", "--out", "r")
    assert ran.status == 0
    assert "is for other candidates (OneForAll, ByFeature1, OnePerItem)" in ran.err
    assert "is for 400 trials, and here there are 40" in ran.err


def test_select_says_what_is_wrong_with_a_calibration(run: Run, trials: str) -> None:
    words = ("select", trials, "--task", "shepard-1", "--out", "r", "--calibration")
    ran = run(*words, "c")
    assert ran.status == 2
    assert "there is no c: make a calibration with howlearn calibrate" in ran.err
    Path("c").mkdir()
    ran = run(*words, "c")
    assert ran.status == 2
    assert "there is no c/recommendation.json" in ran.err
    good = {"criteria": ["aic"], "models": ["A"], "median_trials": 40}
    assert _with(good, words, run).status == 0
    for broken in (
        [],
        {},
        {**good, "criteria": ["nobody(c=1)"]},
        {**good, "criteria": ["penalized(c=-1)"]},
        {**good, "criteria": []},
        {**good, "criteria": 3},
        {**good, "median_trials": 0},
        {**good, "median_trials": "many"},
    ):
        ran = _with(broken, words, run)
        assert ran.status == 2
        assert "c/recommendation.json is not a recommendation of howlearn calibrate" in ran.err
    Path("c/recommendation.json").write_bytes(b"\xff{")
    assert run(*words, "c").status == 2


def _with(content: object, words: tuple, run: Run):
    Path("c/recommendation.json").write_text(json.dumps(content))
    return run(*words, "c")


# --- howlearn calibrate --like --------------------------------------------------------------------


@pytest.fixture
def results(run: Run, trials: str) -> str:
    assert run("select", trials, "--task", "shepard-1", *MODELS, "--out", "r").status == 0
    return "r"


@pytest.mark.usefixtures("no_charts")
def test_doubles_of_the_learners_of_a_results_folder(run: Run, results: str) -> None:
    ran = run("calibrate", "--like", results, "--learners", 6, "--splits", "0.5", "--out", "c")
    assert ran.status == 0
    assert "--model OnePerItem --calibration c --out results2" in ran.out
    found = recommendation("c")
    assert found["models"] == list(MODELS[1::2])
    assert found["design"]["like"]["sequences"] == 3
    task = hl.Task.load("shepard-1")
    study = hl.read("t.csv", task=task)
    models = [task.model(name) for name in MODELS[1::2]]
    by_hand = hl.calibrate(task, models, like=study, learners=6, splits=[0.5])  # type: ignore[arg-type]
    assert Path("c/errors.csv").read_text() == by_hand.errors.write_csv()
    assert run("select", "t.csv", "--task", "shepard-1", *MODELS, "--calibration", "c").status == 0


@pytest.mark.usefixtures("no_charts")
def test_doubles_of_results_with_every_option(run: Run, trials: str) -> None:
    frame = pl.read_csv(trials, schema_overrides={"context": pl.String})
    frame.with_columns(
        colour=pl.col("context").str.slice(0, 1),
        session=pl.when(pl.col("trial") <= 20).then(pl.lit("a")).otherwise(pl.lit("b")),
        group=pl.lit("g"),
        reward=2 * pl.col("reward") - 1,
    ).write_csv("u.csv")
    words = (
        *("--features", "colour", "--by", "session", "--keep", "group", "--where", "trial > 2"),
        *("--recode", "reward:-1=0,1=1", "--missing=n/a", "--min-trials", 5),
        *("--add-model", "Coin", "--one-rate", "--max-rate", 2, "--rule", "exp3"),
    )
    assert run("select", "u.csv", *words, "--out", "r").status == 0
    ran = run("calibrate", "--like", "r", "--learners", 6, "--splits", "0.5", "--out", "c")
    assert ran.status == 0
    assert "no task file says what the actions earn" in ran.err
    found = recommendation("c")
    assert found["design"]["like"]["sequences"] == 6
    assert found["models"][-1] == "Coin"
    assert "ByColour (one rate)" in found["models"]
    assert found["median_trials"] == 19  # 18 in session a, 20 in session b


@pytest.mark.usefixtures("no_charts")
def test_results_whose_files_moved_or_changed(
    run: Run, results: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("calibrate", "--learners", 3, "--splits", "0.5", "--out", "c", "--like")
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    # From another folder the file is found beside the results, whatever else has its name.
    Path("t.csv").write_text("another file")
    assert run(*words, f"../{results}").status == 0
    Path("t.csv").unlink()
    Path("../t.csv").rename("t2.csv")
    ran = run(*words[:-3], "--out", "d", "--like", f"../{results}")
    assert ran.status == 2
    assert "../r was made from t.csv, which is not there; start the command in the" in ran.err
    text = Path("t2.csv").read_text()
    Path("../t.csv").write_text(text.replace("A", "B", 1))
    ran = run(*words[:-3], "--out", "d", "--like", f"../{results}")
    assert ran.status == 2
    assert "../t.csv has changed since ../r was made; run howlearn select again" in ran.err
    assert not Path("d").exists()


@pytest.mark.usefixtures("no_charts")
def test_results_whose_task_file_changed(run: Run, trials: str) -> None:
    shipped = Path(hl.__file__).parent / "tasks" / "shepard-1.toml"
    text = shipped.read_text(encoding="utf-8")
    Path("my.toml").write_text(text, encoding="utf-8")
    assert run("select", trials, "--task", "my.toml", "--out", "r").status == 0
    Path("my.toml").write_text(text.replace('by = ["feature1"]', 'by = ["feature2"]', 1))
    ran = run("calibrate", "--like", "r", "--out", "c")
    assert ran.status == 2
    assert "the models of r cannot be built again: the task file, or the code" in ran.err


def test_folders_that_are_not_results(run: Run, results: str) -> None:
    Path("empty").mkdir()
    Path("file").write_text("")
    good = json.loads(Path("r/manifest.json").read_text(encoding="utf-8"))
    for number, manifest in enumerate(
        (
            {**good, "command": "calibrate"},
            {k: v for k, v in good.items() if k != "input"},
            {**good, "options": {k: v for k, v in good["options"].items() if k != "max_rate"}},
            {**good, "options": []},
            [],
        )
    ):
        Path(f"m{number}").mkdir()
        Path(f"m{number}/manifest.json").write_text(json.dumps(manifest))
    for folder in ("empty", "nowhere", "file", *(f"m{number}" for number in range(5))):
        ran = run("calibrate", "--like", folder, "--out", "c")
        assert ran.status == 2
        said = {
            "m0": "holds the results of howlearn calibrate",
            "m2": "another version of howlearn",
        }
        said |= {"empty": "has no manifest.json", "nowhere": "does not exist", "file": "is a file"}
        assert folder in ran.err
        assert said.get(folder, "manifest.json is damaged") in ran.err
    assert not Path("c").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--trials", 50),
        ("--order", "blocks"),
        ("--set", "eta=0.1"),
        ("--model", "OneForAll"),
        ("--add-model", "Coin"),
        ("--one-rate",),
        ("--rule", "exp3"),
        ("--form", "loss"),
        ("--max-rate", 2),
    ],
)
def test_doubles_have_what_their_learners_have(run: Run, results: str, words: tuple) -> None:
    ran = run("calibrate", "--like", results, *words, "--out", "c")
    assert ran.status == 2
    assert f"{words[0]} beside --like: the task, the order, the trials" in ran.err
