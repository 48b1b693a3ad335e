"""``howlearn mechanisms``, its comparison between groups, and its plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from howlearn.analyses.mechanism_space import Space
from howlearn.analyses.mechanism_tables import Tables
from howlearn.models.adjustments import Part, Stickiness

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
    assert found["lower"].min() >= -1
    assert found["upper"].max() <= 1
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
    frame = pl.read_csv(file)
    frame.filter(pl.col("learner").is_in(["a1", "b9"])).write_csv("few.csv")
    frame.drop("reward").write_csv("unpaid.csv")
    frame.with_columns(reward=pl.lit(1.0)).write_csv("same.csv")
    frame.with_columns(action=pl.lit("L")).write_csv("one.csv")
    idle = OWN.replace("out[0] += theta[0]", "").replace("first-action", "idle")
    Path("idle.py").write_text(idle)
    excluding = 'title = "alone"\n    excludes = ("stickiness",)\n    #'
    Path("alone.py").write_text(OWN.replace("title =", excluding).replace("first-action", "alone"))
    more = [word for name in ("trace", "attention", "drift") for word in ("--also", name)]
    wrong = [
        (("few.csv",), "there are 2 learners: at least 5 are needed"),
        (("unpaid.csv",), "no outcome"),
        (("same.csv",), "every outcome is 1, so nobody can learn from them"),
        (("one.csv",), "found one action only (L)"),
        ((file, "--mechanism", "memory"), "there is no mechanism 'memory'"),
        ((file, "--smallest", "lapse=2"), "must lie between 0 and 1, got 2"),
        ((file, "--smallest", "stickiness=0"), "must lie between 0 and 20, got 0"),
        ((file, "--smallest", "lapse"), "write a mechanism and a size"),
        ((file, "--smallest", "trace=1"), "trace was given, which is not among the mechanisms"),
        ((file, "--mechanism", "pavlovian"), "these data cannot show pavlovian"),
        ((file, "--mechanism", "generalisation"), "it needs more than one context"),
        ((file, "--mechanism", "idle.py:SecondBest"), "these data cannot show idle"),
        ((file, "--also", "alone.py:SecondBest"), "alone and stickiness exclude each other"),
        ((file, "--mechanism", "lapse", "--without", "lapse"), "lapse is named twice"),
        ((file, "--cells", "q-learning"), "not a model with a partition"),
        ((file, "--mechanism", "asymmetry", "--base", "gradient"), "cannot be put on a gradient"),
        ((file, "--together", *more), "of 8 mechanisms at most, and there are 9: name fewer"),
    ]
    for words, said in wrong:
        ran = run("mechanisms", *words)
        for name in ("idle", "alone"):
            if name in Part.registry:
                Part.registry.forget(name)
        assert ran.status == 2, words
        assert said in " ".join(ran.err.split()), ran.err
        assert not Path("mechanisms").exists()


def test_a_run_that_was_stopped_goes_on(run, file, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("mechanisms", file, "--mechanism", "stickiness", "--base", "delta")
    assert run(*words, "--out", "whole").status == 0
    drawn, searched = Tables.sampled, []

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Tables, "sampled", stopped)
    assert run(*words).status == 130
    assert not Path("mechanisms/mechanisms.csv").exists()
    monkeypatch.setattr(Tables, "sampled", drawn)
    kernel = Space((Stickiness,), ("delta rule",), 2, {}).kernel()
    search = kernel.tops

    def watched(*given: Any) -> None:
        searched.append(given[1].shape[1])  # coordinates
        search(*given)

    monkeypatch.setattr(kernel, "tops", watched)
    assert run(*words).status == 0
    assert 3 not in searched  # tops of what is listed are known
    assert 4 in searched  # not of what is tried besides
    one, two = (Path(folder, "mechanisms.csv").read_bytes() for folder in ("whole", "mechanisms"))
    assert one == two


def test_the_panel_of_the_report(run, file) -> None:
    assert run("select", file, "--out", "results", "--model", "OnePerItem").status == 0
    words = ("mechanisms", file, "--mechanism", "stickiness", "--base", "delta")
    assert run("report", "results", "-o", "before.html").status == 0
    assert "What do these people do when they learn?" not in Path("before.html").read_text()
    assert run(*words, "--out", "results/mechanisms").status == 0
    assert run("report", "results", "-o", "after.html").status == 0
    page = Path("after.html").read_text()
    assert "What do these people do when they learn?" in page
    share = pl.read_csv("results/mechanisms/mechanisms.csv")["share"][0]
    assert str(share)[:6] in page  # the data of the chart


def test_groups_are_told_what_is_missing(run, file) -> None:
    words = ("mechanisms", file, "--mechanism", "lapse", "--base", "delta", "--keep", "group")
    assert run(*words).status == 0
    missing = pl.read_csv("mechanisms/missing.csv")
    assert "stickiness" in missing.filter("alarm")["mechanism"].to_list()
    ran = run("compare", "mechanisms", "--group", "group")
    assert ran.status == 0, ran.err
    said = " ".join(Path("mechanisms/compare/comparison.txt").read_text().split())
    assert "groups may differ in that, not in what is told here" in said


def test_a_plan(run) -> None:
    words = ("plan", "--mechanisms", "--task", "shepard-1", "--trials", "60", "--learners", "6",
             "--simulated", "6")  # fmt: skip
    ran = run(*words)
    assert ran.status == 0, ran.err
    found = pl.read_csv("plan/mechanism-plan.csv")
    assert {*found["prevalence"]} == {0.0, 0.3, 1.0}
    assert found["found"].is_between(0, 1).all()
    assert "stickiness" in found["mechanism"].to_list()
    assert run("plan", "--mechanisms", "--task", "shepard-1", "--learners", "3").status == 2
    part = next(Path("plan/parts").rglob("*study*"))
    part.unlink()
    before = Path("plan/mechanism-plan.csv").read_bytes()
    Path("plan/mechanism-plan.csv").unlink()
    assert run(*words).status == 0  # that study only is made again
    assert Path("plan/mechanism-plan.csv").read_bytes() == before


def test_what_completeness_found_for_the_same_files_is_used(run, file) -> None:
    words = ("mechanisms", file, "--mechanism", "lapse", "--base", "delta")
    assert run("select", file, "--out", "results", "--model", "OnePerItem").status == 0
    manifest = json.loads(Path("results/manifest.json").read_text())
    told = {"alarm": True, "sentence": "The models capture at most 60%. They miss something."}
    manifest["fit"] = {"completeness": told}
    Path("results/manifest.json").write_text(json.dumps(manifest))
    Path("results/completeness").mkdir()
    families = [("sureness", 0.01), ("over time", 0.02), ("item memory", 0.03), ("recency", 0.4)]
    pl.DataFrame(families, ["family", "p"], orient="row").write_csv(
        "results/completeness/reasons.csv"
    )
    ran = run(*words, "--out", "results/mechanisms")
    assert ran.status == 0, ran.err
    said = " ".join(Path("results/mechanisms/mechanisms.txt").read_text().split())
    assert "the models compared in results: The models capture at most 60%" in said
    assert "They miss sureness, which may be lapse, listed here." in said
    assert "They miss over time, which may be drift, not listed here." in said
    assert "They miss item memory, and no mechanism here is that." in said
    assert "recency" not in said
    assert run(*words, "--out", "alone").status == 0
    assert "Completeness" not in Path("alone/mechanisms.txt").read_text()
    pl.read_csv(file).head(900).write_csv("others.csv")
    assert run(*words[:1], "others.csv", *words[2:], "--out", "results/others").status == 0
    assert "Completeness" not in Path("results/others/mechanisms.txt").read_text()
