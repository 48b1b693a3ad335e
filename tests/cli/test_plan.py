"""``howlearn plan``: its folder, its sentences, and numbers as users write them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

import howlearn as hl
from howlearn.cli.options import parse_counts, parse_numbers, parse_settings_by_model
from howlearn.core.errors import HowlearnError
from running import Run

MODELS = ("--model", "OneForAll", "--model", "ByFeature1")
DESIGN = ("--task", "shepard-1", "--simulated", 10, "--set", "eta=0.4")
SMALL = (*DESIGN, *MODELS, "--trials", "16,48", "--learners", "20,50")
TABLES = {"plan": "recovered", "pairs": "pairs", "shares": "shares"}
FILES = {"plan.csv", "pairs.csv", "shares.csv", "plan.txt", "manifest.json", "parts"}


@pytest.fixture
def no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As without the extra, and faster."""
    monkeypatch.setattr("howlearn.report.charts.available", lambda *_: False)


def files_of(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def test_a_plan_is_tables_a_chart_and_sentences(run: Run) -> None:
    ran = run("plan", *SMALL, "--seed", 2, "--out", "p")
    assert ran.status == 0
    charts = {f"{name}.{ending}" for name in ("plan", "shares") for ending in ("svg", "png")}
    assert files_of("p") == FILES | charts
    task = hl.Task.load("shepard-1")
    models = [task.model(name) for name in MODELS[1::2]]
    found = hl.plan(
        task,
        models,  # type: ignore[arg-type]
        {"eta": 0.4},
        [16, 48],
        [20, 50],
        simulated=10,
        seed=2,
    )
    for name, table in TABLES.items():
        assert Path("p", f"{name}.csv").read_text() == getattr(found, table).write_csv()
    sentences = Path("p/plan.txt").read_text(encoding="utf-8").splitlines()
    assert sentences == found.sentences
    assert len(sentences) == 9  # three for each of the default criteria
    said = " ".join(ran.out.split())
    for sentence in sentences[:3]:  # of the first criterion; a line for each of the others
        assert sentence in said
    title = "Learners whose model is recovered by penalized(c=0.012)"
    assert title in " ".join(ran.out.split())


@pytest.mark.usefixtures("no_charts")
def test_the_three_answers(run: Run) -> None:
    one = ("--criterion", "aic", "--out")
    words = (*DESIGN, *MODELS, "--trials", "8,200", *one)
    assert "aic: 200 trials are enough" in run("plan", *words, "yes").out
    assert "OneForAll and ByFeature1 (up to 8 trials, error " in run("plan", *words, "yes").out
    words = (*DESIGN, *MODELS, "--trials", "4,8", *one)
    assert "aic: no number of trials up to 8 is enough" in run("plan", *words, "no").out
    words = (*DESIGN, *MODELS, "--trials", "200", *one)
    assert "aic: no two models are confused" in run("plan", *words, "apart").out


@pytest.mark.usefixtures("no_charts")
def test_without_the_extra_one_line_says_how_to_get_charts(run: Run) -> None:
    ran = run("plan", *SMALL, "--out", "p")
    assert ran.status == 0
    assert files_of("p") == FILES
    assert ran.out.count("charts need: pip install 'howlearn[report]'") == 1


@pytest.mark.usefixtures("no_charts")
def test_the_constants_of_a_calibration(run: Run) -> None:
    words = ("--task", "shepard-1", *MODELS, "--learners", 6, "--trials", 24)
    assert run("calibrate", *words, "--constants", "0.07", "--splits", "0.3", "--out", "c")
    assert run("plan", *SMALL, "--calibration", "c", "--out", "p").status == 0
    used = pl.read_csv("p/plan.csv")["criterion"].unique(maintain_order=True).to_list()
    assert used == ["penalized(c=0.07)", "holdout(split=0.3)", "aic"]


@pytest.mark.usefixtures("no_charts")
def test_another_plan_does_not_mix_with_an_earlier_one(run: Run) -> None:
    assert run("plan", *SMALL, "--out", "p").status == 0
    for words, difference in (
        (("--seed", 4), "design.seed: 0 there, 4 now"),
        (("--trials", "16,64"), "trials: 16,48 there, 16,64 now"),
        (("--criterion", "aic"), "criteria: "),
    ):
        ran = run("plan", *SMALL, *words, "--out", "p")
        assert ran.status == 2
        assert difference in ran.err
    assert run("plan", *SMALL, "--seed", 4, "--fresh", "--out", "p").status == 0
    # The planned experiment's learners and the target need no new simulation.
    assert run("plan", *SMALL, "--seed", 4, "--learners", 30, "--out", "p").status == 0
    assert pl.read_csv("p/shares.csv")["learners"].unique().to_list() == [30]


@pytest.mark.usefixtures("no_charts")
def test_workers_never_change_a_byte(run: Run) -> None:
    for workers in (1, 2):
        words = (*SMALL, "--simulated", 60, "--workers", workers, "--out", f"p{workers}")
        assert run("plan", *words).status == 0
    for name in ("plan.csv", "pairs.csv", "shares.csv", "plan.txt", "manifest.json"):
        assert Path("p1", name).read_bytes() == Path("p2", name).read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--trials", "many"),
            "--trials 'many': write numbers as 60,600, a range from its lower",
        ),
        (("--trials", ""), "--trials '': write numbers as"),
        (("--trials", "1"), "a plan needs numbers of trials of at least 2"),
        (("--trials", "inf"), "--trials 'inf': whole numbers of at least 1"),
        (("--trials", "nan"), "--trials 'nan': whole numbers of at least 1"),
        (("--trials", "40.5"), "--trials '40.5': whole numbers of at least 1"),
        (("--trials", "0"), "--trials '0': whole numbers of at least 1"),
        (("--learners", "20:10"), "--learners '20:10': write numbers as"),
        (("--target", "80"), "the target must be a share between 0 and 1, got 80"),
        (("--criterion", "dic"), "there is no criterion 'dic'"),
        (("--set", "theta=1"), "no simulated model has a parameter theta"),
        (("--add-model", "ByFeature1"), "two candidates have the same name"),
        (("--calibration", "nowhere"), "there is no nowhere: make a calibration"),
    ],
)
def test_what_cannot_be_leaves_no_folder(run: Run, words: tuple, message: str) -> None:
    ran = run("plan", *SMALL, *words, "--out", "p")
    assert ran.status == 2
    assert message in " ".join(ran.err.split())
    assert not Path("p").exists()


# --- numbers as users write them ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("60:600:60", tuple(range(60, 601, 60))),
        ("60:100:30", (60, 90)),
        ("60:60", (60,)),
        ("100,50,100", (50, 100)),
        ("20, 40:60:10", (20, 40, 50, 60)),
        ("1e2", (100,)),
    ],
)
def test_counts(text: str, numbers: tuple[int, ...]) -> None:
    assert parse_counts(text, "--trials") == numbers


def test_a_range_without_a_step_is_seven_numbers_on_the_log_scale() -> None:
    found = parse_counts("60:600", "--trials")
    assert (found[0], found[-1], len(found)) == (60, 600, 7)
    ratios = [b / a for a, b in pairwise(found)]
    assert ratios == pytest.approx([10 ** (1 / 6)] * 6, rel=0.03)


def test_steps_end_at_the_end_in_spite_of_rounding() -> None:
    assert parse_numbers("0.1:0.9:0.1", "--splits") == tuple(k / 10 for k in range(1, 10))


@pytest.mark.parametrize(
    "text", ["", ",", "a", "60:", ":60", "60:600:0", "60:600:-5", "600:60", "1:2:3:4", "0:10",
             "1:inf", "1:nan", "1:2:nan", "1:1e9:1e-3"]
)  # fmt: skip
def test_garbage_is_refused(text: str) -> None:
    with pytest.raises(HowlearnError, match=r"--trials '.*': write numbers as"):
        parse_numbers(text, "--trials")


@pytest.mark.parametrize(
    "text", ["eta", "=0.1", "eta=", "eta=a", "eta=0.1:", "eta=:0.1", "A:=0.1", "eta=1:2:3", ""]
)
def test_settings_that_are_none(text: str) -> None:
    with pytest.raises(HowlearnError, match=r"write each parameter once, as eta=0\.03"):
        parse_settings_by_model([text])


def test_settings_of_models_with_odd_names() -> None:
    found = parse_settings_by_model(["a=b:c, d:eta=0.1,0.2", " eta = 0.3 ", "Coin:p(A)=0.5"])
    assert found == {
        "a=b:c, d": {"eta": [0.1, 0.2]},
        "": {"eta": [0.3]},
        "Coin": {"p(A)": [0.5]},
    }
    with pytest.raises(HowlearnError, match="write each parameter once"):
        parse_settings_by_model(["eta=0.1", "eta=0.2"])
