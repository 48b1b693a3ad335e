"""``howlearn mechanisms``, its comparison between groups, and its plan."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howlearn.models.adjustments import Part

COLUMNS = (
    "mechanism share lower upper beyond beyond_lower beyond_upper typical spread sign withheld"
).split()
OWN = """
import numpy as np
import howlearn as hl
from howlearn import Parameter, models

class SecondBest(models.Adjustment):
    name = "first-action"
    title = "the first action is preferred"
    effect = models.Size("signed", 0.6, 0.5, 0.35, 0.5, smallest=0.3)

    def parameters(self, actions):
        return (Parameter("first", -5.0, 5.0, default=0.0),)

    @staticmethod
    def adjust(state, shown, theta, out):
        out[0] += theta[0]
        hl.log_softmax(out)
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sixteen people, of whom the second half repeats itself."""
    monkeypatch.chdir(tmp_path)
    rng, rows = np.random.default_rng(3), []
    for i in range(16):
        q, last, group = np.full(2, 0.5), -1, "ab"[i // 8]
        for t in range(120):
            lean = 1.5 * (group == "b") * (2 * last - 1) if last >= 0 else 0.0
            k = int(rng.random() < 1 / (1 + np.exp(-5 * (q[1] - q[0]) - lean)))
            r = float(rng.random() < (0.8 if k == (t // 40) % 2 else 0.2))
            q[k] += 0.3 * (r - q[k])
            rows.append((f"{group}{i}", group, "x", "LR"[k], r))
            last = k
    names = ["learner", "group", "context", "action", "reward"]
    pl.DataFrame(rows, names, orient="row").write_csv("trials.csv")
    return Path("trials.csv")


def test_from_the_file_to_the_report(run, file) -> None:
    words = ("mechanisms", file, "--mechanism", "stickiness", "--mechanism", "lapse", "--base",
             "delta", "--keep", "group", "--smallest", "stickiness=0.5")  # fmt: skip
    ran = run(*words)
    assert ran.status == 0, ran.err
    said = " ".join(ran.out.split())
    assert said.index("16 learners with 120 scored trials") < said.index("What do these people do")
    assert "only mechanisms that nearly everybody shows can be found" in said
    table = pl.read_csv("mechanisms/mechanisms.csv")
    assert table.columns == COLUMNS
    assert table["mechanism"].to_list() == ["lapse", "stickiness"]
    learners = pl.read_csv("mechanisms/mechanisms-learners.csv")
    assert len(learners) == 32
    sticky = learners.filter(mechanism="stickiness")
    by = dict(sticky.group_by("group").agg(pl.col("probability").mean()).rows())
    assert by["b"] > by["a"] + 0.2
    assert pl.read_csv("mechanisms/combinations.csv")["share"].max() <= 1
    text = Path("mechanisms/mechanisms.txt").read_text()
    assert "Results" in text
    assert "stickiness 0.5" in text.split("Methods")[1]
    before = Path("mechanisms/mechanisms.csv").read_bytes()
    assert run(*words).status == 0  # goes on with what is there
    assert Path("mechanisms/mechanisms.csv").read_bytes() == before
    assert run(*words, "--seed", 5).status == 2  # another run
    ran = run("compare", "mechanisms", "--group", "group")
    assert ran.status == 0, ran.err
    found = pl.read_csv("mechanisms/compare/mechanism-differences.csv")
    row = found.filter(mechanism="stickiness").row(0, named=True)
    assert row["difference"] < 0
    assert "8 learners of a and 8 learners of b" in ran.out
    assert json.loads(Path("mechanisms/compare/manifest.json").read_text())["input"]
    assert run("compare", "mechanisms").status == 2


def test_a_part_of_ones_own_is_typed(run, file) -> None:
    Path("mine.py").write_text(OWN)
    words = ("mechanisms", file, "--mechanism", "lapse", "--also", "mine.py:SecondBest", "--base",
             "delta")  # fmt: skip
    ran = run(*words)
    Part.registry.forget("first-action")
    assert ran.status == 0, ran.err
    named = pl.read_csv("mechanisms/mechanisms.csv")["mechanism"].to_list()
    assert named == ["lapse", "first-action"]


def test_bad_input_leaves_nothing(run, file) -> None:
    pl.read_csv(file).filter(pl.col("learner").is_in(["a1", "b9"])).write_csv("few.csv")
    wrong = [
        (("few.csv",), "there are 2 learners: at least 5 are needed"),
        ((file, "--mechanism", "memory"), "there is no mechanism 'memory'"),
        ((file, "--smallest", "lapse=2"), "must lie between 0 and 1, got 2"),
        ((file, "--smallest", "lapse"), "write a mechanism and a size"),
        ((file, "--mechanism", "pavlovian"), "these data cannot show pavlovian"),
        ((file, "--cells", "q-learning"), "not a model with a partition"),
        ((file, "--mechanism", "asymmetry", "--base", "gradient"), "cannot be put on a gradient"),
    ]
    for words, said in wrong:
        ran = run("mechanisms", *words)
        assert ran.status == 2, words
        assert said in " ".join(ran.err.split()), ran.err
        assert not Path("mechanisms").exists()


def test_a_plan(run) -> None:
    ran = run("plan", "--mechanisms", "--task", "shepard-1", "--trials", "60", "--learners", "6",
              "--simulated", "6")  # fmt: skip
    assert ran.status == 0, ran.err
    found = pl.read_csv("plan/mechanism-plan.csv")
    assert {*found["prevalence"]} == {0.0, 0.3, 1.0}
    assert found["found"].is_between(0, 1).all()
    assert "stickiness" in found["mechanism"].to_list()
    assert run("plan", "--mechanisms", "--task", "shepard-1", "--learners", "3").status == 2
