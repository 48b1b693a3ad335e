"""A plan is frozen, followed, and what is done otherwise is listed."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from howlearn.analyses.freeze import experts_hash, own_code, read_plan
from howlearn.core import safe_files
from running import Run
from studies import random_trials

TASK = """name = "two"
actions = ["A", "B"]
contexts = [{ name = "x", correct = "A" }, { name = "y", correct = "B" }]
[[models]]
name = "One"
partition = "all"
[[models]]
name = "Each"
partition = "each"
"""
MODEL = """from howlearn import Model, Parameter


class Mine(Model):
    name = "mine"
    parameters = (Parameter("a", 0.0, 0.5),)
"""
PLAN = ["--task", "my.toml", "--criterion", "aic", "--exclude", "same > 0.9"]


@pytest.fixture
def trials(run: Run) -> Path:
    """Four learners, whose columns have names that nobody guesses."""
    rows = [
        {"wer": f"{i}", "was": t.context, "wahl": "AB"[t.action], "lohn": t.reward, "teil": t.reset}
        for i in range(4)
        for t in random_trials(i, 40, better=0.6)
    ]
    pl.DataFrame(rows).write_csv("trials.csv")
    Path("my.toml").write_text(TASK, encoding="utf-8")
    return Path("trials.csv")


ROLES = ["--learner", "wer", "--context", "was", "--action", "wahl", "--reward", "lohn"]


def manifest(folder: str = "results") -> dict[str, object]:
    return json.loads(Path(folder, "manifest.json").read_text(encoding="utf-8"))


def listed(folder: str = "results") -> dict[str, tuple[str, str]]:
    frame = pl.read_csv(f"{folder}/deviations.csv", infer_schema=False)
    assert frame.to_dicts() == manifest(folder)["deviations"]
    return {what: (planned, done) for what, planned, done in frame.iter_rows()}


def test_a_plan_is_followed(run: Run, trials: Path) -> None:
    ran = run("freeze", *PLAN)
    assert ran.status == 0, ran.err
    assert "The candidates for the task my.toml are One (cells x+y); Each (cells x, y)." in ran.out
    assert "Learners will be excluded if same > 0.9" in ran.out
    assert ran.out.endswith("Next: howlearn select FILES --frozen frozen.toml\n")
    ran = run("select", trials, *ROLES)  # the plan of this folder
    assert ran.status == 0, ran.err
    assert "the plan frozen.toml of this folder is followed" in ran.err
    assert "Plan frozen.toml: as planned." in ran.out
    assert listed() == {}
    options = manifest()["options"]
    assert isinstance(options, dict)
    assert (options["criteria"], options["exclude"]) == (["aic"], ["same > 0.9"])
    assert options["task"] == "my.toml"
    again = run("select", trials, *ROLES)
    assert (again.status, again.out) == (0, ran.out)


def test_deviations_are_listed(run: Run, trials: Path) -> None:
    assert run("freeze", *PLAN, "-o", "plans/mine.toml").status == 0
    words = ["--frozen", "plans/mine.toml", *ROLES, "--criterion", "bic", "--max-rate", "2"]
    ran = run("select", trials, *words, "--exclude", "same > 0.95", "--model", "Each")
    assert ran.status == 0, ran.err
    found = listed()
    assert found["exclude"] == ("same > 0.9", "same > 0.95")
    assert found["criteria"] == ("aic", "bic")
    assert found["max_rate"] == ("1.0", "2.0")
    assert found["candidate One"] == ("a candidate", "left out")
    assert "[0.0, 2.0]" in found["candidate Each"][1]
    assert set(found) == {
        "exclude", "criteria", "max_rate", "model", "candidate One", "candidate Each"
    }  # fmt: skip
    for what in found:
        assert what in ran.out
    # A plan that was edited is followed as it is now, and says so; so does a changed task.
    plan = Path("plans/mine.toml")
    plan.write_text(plan.read_text(encoding="utf-8").replace("0.9", "0.8"), encoding="utf-8")
    Path("my.toml").write_text(TASK + "# changed\n", encoding="utf-8")
    words = ["select", trials, "--frozen", plan, *ROLES, "-o", "edited"]
    ran = run(*words)  # the task is no longer the one that the plan knows, and lies elsewhere
    assert ran.status == 2
    assert "--task plans/../my.toml" in ran.err
    ran = run(*words, "--task", "plans/../my.toml")
    assert ran.status == 0, ran.err
    assert set(listed("edited")) == {"plan", "content of the task file"}
    assert "edited after it was frozen" in ran.out
    assert manifest("edited")["options"]["exclude"] == ["same > 0.8"]  # type: ignore[index]


def test_the_plan_wins_over_the_study_file(run: Run, trials: Path) -> None:
    assert run("freeze", *PLAN).status == 0
    Path("howlearn.toml").write_text(
        'files = ["trials.csv"]\n[data]\nlearner = "wer"\ncontext = "was"\naction = "wahl"\n'
        'reward = "lohn"\nexclude = ["same > 0.97"]\nmin_trials = 3\n[models]\ncriterion = "bic"\n',
        encoding="utf-8",
    )
    ran = run("select")
    assert ran.status == 0, ran.err
    assert "howlearn.toml has another exclude than the plan frozen.toml" in ran.err
    assert listed() == {"min_trials": ("nothing", "3")}  # the plan says nothing of it
    ran = run("select", "--frozen", "none", "-o", "free")
    assert ran.status == 0, ran.err
    assert "deviations" not in manifest("free")
    assert manifest("free")["options"]["criteria"] == ["bic"]  # type: ignore[index]
    assert not Path("free/deviations.csv").exists()
    ran = run("freeze", "--study", "howlearn.toml", "-o", "again.toml")
    assert ran.status == 0, ran.err
    text = Path("again.toml").read_text(encoding="utf-8")
    assert 'exclude = ["same > 0.97"]' in text
    assert 'criteria = ["bic"]' in text
    assert "trials.csv" not in text


def test_plans_that_cannot_be(run: Run, trials: Path) -> None:
    assert run("freeze", *PLAN).status == 0
    before = Path("frozen.toml").read_bytes()
    ran = run("freeze", "--task", "my.toml")
    assert (ran.status, Path("frozen.toml").read_bytes()) == (2, before)
    assert "a plan is frozen once" in ran.err
    assert run("freeze", *PLAN, "--fresh").status == 0
    ran = run("freeze", "--exclude", "rt <", "-o", "bad.toml")
    assert ran.status == 2
    assert not Path("bad.toml").exists()
    for named, said in (("nowhere.toml", "--frozen none"), ("my.toml", "not a plan")):
        ran = run("select", trials, *ROLES, "--frozen", named, "-o", "out")
        assert ran.status == 2
        assert said in ran.err
        assert not Path("out").exists()


def test_without_a_task_it_says_where_candidates_come_from(run: Run) -> None:
    ran = run("freeze", "--features", "shape,colour")
    assert ran.status == 0
    assert "no --task was given, so the candidates will come from the contexts" in ran.err
    assert "the plan excludes nobody" in ran.err
    assert "one cell per value of each of shape, colour" in ran.out


def test_code_of_ones_own_and_experts_are_part_of_a_plan(run: Run, trials: Path) -> None:
    code = Path("mine.py")
    code.write_text(MODEL, encoding="utf-8")
    plan = ["--add-model", "mine.py:Mine", "--criterion", "aic"]
    assert run("freeze", *plan).status == 0
    assert 'code = { "mine.py:Mine" = "sha256:' in Path("frozen.toml").read_text(encoding="utf-8")
    found = read_plan(Path("frozen.toml"))
    assert own_code({"add_model": ["mine.py:Mine"]}) == dict(found.code)
    Path("same.py").write_text(MODEL, encoding="utf-8")
    Path("other.py").write_text(MODEL.replace("0.5", "0.25"), encoding="utf-8")
    safe_files.allow_code("same.py:Mine", "other.py:Mine")
    same, other = (own_code({"model": [f"{name}.py:Mine"]}) for name in ("same", "other"))
    assert [*same.values()] == [*found.code.values()] != [*other.values()]
    Path("earlier").mkdir()
    Path("earlier/estimates.csv").write_text("a", encoding="utf-8")
    before = experts_hash("earlier")
    Path("earlier/estimates.csv").write_text("b", encoding="utf-8")
    assert before
    assert experts_hash("earlier") != before
    assert experts_hash("training") == ""
