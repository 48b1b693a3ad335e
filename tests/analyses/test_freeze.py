"""A plan is written, read, and compared with what is done."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import howlearn as hl
from howlearn.analyses.deviations import Deviation, deviations
from howlearn.analyses.freeze import (
    FrozenPlan,
    freeze_plan,
    options_of,
    paragraph,
    read_plan,
    write_plan,
)
from howlearn.models.names import learning_named
from howlearn.results.inputs import chosen_models
from howlearn.selection.criteria import criterion_named, usual

HOSTILE = """name = "odd <b>&"
actions = ["A]", "B\\"", "C'"]
contexts = [
  { name = "x <script>", features = { "my colour" = "red" } },
  { name = "ü=1", features = { "my colour" = "blue" } },
]
[[models]]
name = "by \\"colour\\" [b]"
by = ["my colour"]
"""
MIXTURE = "exp4(OneForAll, ByFeature1[eta=0.1])"
OPTIONS = {
    "task": "shepard-1",
    "model": ["OneForAll", "ByFeature1", "ByFeature1 (one rate)", "q-learning(ByFeature1)+lapse"],
    "add_model": [MIXTURE, "alcove"],
    "criterion": ["aic", "holdout(split=0.3)"],
    "rule": "exp3",
    "max_rate": 2,
    "within": 0.0,
    "exclude": ["accuracy < 0.55", "share(`my rt` < 0.1) > 0.05"],
    "where": "phase == 'learn'",
    "reward_range": ("-1", "1"),
    "recode": {"choice": {"1": "A"}},
    "missing": ["-1", "choice:9"],
    "min_trials": 0,
    "by": (),
    "stability": 20,
    "seed": 3,
}


def done(options: dict[str, object]) -> dict[str, object]:
    """The options as select has them: every one, most of them empty."""
    return {"one_rate": False, "rule": "gradient", "form": "gain", "by": (), "seed": 0, **options}


def models_of(options: dict[str, object]) -> tuple[hl.Model, ...]:
    rule = learning_named(options["rule"], "gain", options["max_rate"])  # type: ignore[arg-type]
    task = hl.Task.load(str(options["task"])).with_rule(rule)
    asked = {"model": [], "add_model": [], "one_rate": False, **options}
    return chosen_models(task.models, asked, "task", task.n_features)


@pytest.fixture
def plan() -> FrozenPlan:
    return freeze_plan(OPTIONS)


def test_what_is_frozen_is_read_again(plan: FrozenPlan, tmp_path: Path) -> None:
    file = tmp_path / "sub" / "frozen.toml"
    written = write_plan(file, plan)
    assert written == plan
    found = read_plan(file)
    assert found == plan
    assert not found.edited
    assert found.sha256 == plan.sha256
    assert plan.sha256 in file.read_text(encoding="utf-8").splitlines()[-1]
    options = options_of(file, found)
    assert options.data["exclude"] == tuple(OPTIONS["exclude"])  # type: ignore[arg-type]
    assert options.data["recode"] == ("choice:1=A",)
    assert options.data["min_trials"] == 0
    assert options.models["within"] == 0.0
    assert options.models["seed"] == 3
    with pytest.raises(hl.HowlearnError, match="frozen once"):
        write_plan(file, plan)
    write_plan(file, plan, fresh=True)


def test_nothing_frozen_may_change_unnoticed(plan: FrozenPlan, tmp_path: Path) -> None:
    """Every line but comments and blank ones: without it, the plan is edited or is none."""
    file = tmp_path / "frozen.toml"
    write_plan(file, plan)
    lines = file.read_text(encoding="utf-8").splitlines()
    tried = 0
    for i, line in enumerate(lines):
        if line.startswith("#") or not line:
            continue
        file.write_text("\n".join(lines[:i] + lines[i + 1 :]), encoding="utf-8")
        tried += 1
        with suppress(hl.HowlearnError):
            assert read_plan(file).edited, line
    assert tried > 30
    text = "\n".join(line for line in lines if not line.startswith("#"))
    file.write_bytes(("\ufeff" + text.replace("\n", "\r\n")).encode())  # as an editor may save it
    assert not read_plan(file).edited
    file.write_text(text.replace("0.55", "0.54"), encoding="utf-8")
    assert read_plan(file).edited


def test_nothing_deviates_from_a_plan_that_is_followed(plan: FrozenPlan) -> None:
    criteria = [criterion_named(text) for text in plan.criteria]
    open_before = {"learner": "who", "context": ("item",), "keep": ("group",), "trial": "t"}
    options = done({**OPTIONS, "recode": ("choice:1=A",), "reward_range": (-1.0, 1.0)})
    for n in (3, 300):
        assert deviations(plan, options, criteria, models_of(OPTIONS), n) == []
        more = {**options, **open_before}
        assert deviations(plan, more, criteria, models_of(OPTIONS), n) == []


def test_every_deviation_is_found(plan: FrozenPlan) -> None:
    criteria = [criterion_named(text) for text in plan.criteria]
    cases: list[tuple[dict[str, object], set[str]]] = [
        ({"exclude": ["accuracy < 0.55"]}, {"exclude"}),
        ({"where": None}, {"where"}),
        ({"where": "phase == 'test'"}, {"where"}),
        ({"by": ("block",)}, {"by"}),
        ({"min_trials": None}, {"min_trials"}),
        ({"within": 2.0}, {"within"}),
        ({"seed": 4}, {"seed"}),
        ({"stability": None}, {"stability"}),
        ({"missing": ["-1"]}, {"missing"}),
        (
            {"add_model": ["alcove"]},
            {"add_model", f"candidate {MIXTURE}"},
        ),
        ({"task": "shepard-2"}, {"task"}),
        ({"reward_range": (0.0, 1.0)}, {"reward_range"}),
        ({"test_when": "phase == 'test'"}, {"test_when"}),
    ]
    for changed, expected in cases:
        options = done({**OPTIONS, "recode": ("choice:1=A",), **changed})
        models = models_of(OPTIONS if "task" in changed else {**OPTIONS, **changed})
        found = deviations(plan, options, criteria, models, 20)
        names = {each.what for each in found}
        assert expected <= names, changed
        assert len(found) == len(expected), found


def test_candidates_of_other_cells_and_bounds_are_told_apart(plan: FrozenPlan) -> None:
    other = {**OPTIONS, "max_rate": 1.5, "model": ["OneForAll", "ByFeature2"]}
    criteria = [criterion_named("aic")]
    options = done({**other, "recode": ("choice:1=A",)})
    found = {each.what: each for each in deviations(plan, options, criteria, models_of(other), 20)}
    assert found["max_rate"] == Deviation("max_rate", "2", "1.5")
    assert found["criteria"] == Deviation("criteria", "aic, holdout(split=0.3)", "aic")
    assert found["candidate ByFeature1"].done == "left out"
    assert found["candidate ByFeature2"].done == "added"
    assert "bounds eta [0.0, 2" in found["candidate OneForAll"].planned
    assert "bounds eta [0.0, 1.5]" in found["candidate OneForAll"].done


def test_usual_criteria_depend_on_the_number_of_learners_as_planned() -> None:
    plan = freeze_plan({"task": "shepard-1"})
    options = done({"task": "shepard-1", "max_rate": 1.0, "within": 2.0})
    models = hl.Task.load("shepard-1").models
    for n in (9, 10):
        assert deviations(plan, options, usual(n), models, n) == []
        (found,) = deviations(plan, options, usual(19 - n), models, n)
        assert found.what == "criteria"


def test_versions_edits_and_content_are_deviations(tmp_path: Path) -> None:
    task = tmp_path / "my task.toml"
    task.write_text(HOSTILE, encoding="utf-8")
    plan = write_plan(tmp_path / "frozen.toml", freeze_plan({"task": str(task)}))
    assert plan.models["task"] == "my task.toml"  # as seen from the plan
    found = read_plan(tmp_path / "frozen.toml")
    assert not found.edited
    assert options_of(tmp_path / "frozen.toml", found).models["task"] == str(task)
    options = done({"task": str(task)})
    models = hl.Task.load(task).models
    assert deviations(plan, options, usual(20), models, 20) == []
    task.write_bytes(HOSTILE.replace("\n", "\r\n").encode())
    assert deviations(plan, options, usual(20), models, 20) == []
    task.write_text(HOSTILE + "# more\n", encoding="utf-8")
    older = replace(plan, howlearn="0.0.1", edited=True)
    names = [each.what for each in deviations(older, options, usual(20), models, 20)]
    assert names == ["plan", "version of howlearn", "content of the task file"]


def test_a_calibration_is_frozen_by_its_constants(tmp_path: Path) -> None:
    text = '{"criteria": ["penalized(c=0.02)"], "models": ["OneForAll"], "median_trials": 100}'
    (tmp_path / "recommendation.json").write_text(text, encoding="utf-8")
    plan = freeze_plan({"task": "shepard-1", "calibration": str(tmp_path)})
    assert plan.criteria == plan.criteria_few == ("penalized(c=0.02)", "aic")
    from howlearn.analyses.error_rates import advised

    options = done({"task": "shepard-1"})
    models = hl.Task.load("shepard-1").models
    criteria = [criterion_named(each) for each in plan.criteria]
    assert deviations(plan, options, criteria, models, 20, advised(tmp_path)) == []
    (found,) = deviations(plan, options, criteria, models, 20)
    assert (found.what, found.done) == ("calibration", "nothing")
    changed = text.replace("100", "200")
    (tmp_path / "recommendation.json").write_text(changed, encoding="utf-8")
    (found,) = deviations(plan, options, criteria, models, 20, advised(tmp_path))
    assert found.what == "constants of the calibration"


def test_without_a_task_the_construction_is_told() -> None:
    plan = freeze_plan({"features": ("shape", "colour"), "add_model": ["q-learning"]})
    assert plan.candidates == ()
    assert "one cell per value of each of shape, colour" in plan.construction
    assert "pair of values" in plan.construction
    assert plan.construction.endswith("besides q-learning")
    assert plan.construction in paragraph(plan)


def test_the_paragraph_says_what_will_be_done(plan: FrozenPlan) -> None:
    text = paragraph(plan)
    for words in (
        "only rows with phase == 'learn' are used",
        "rewards from -1.0 to 1.0 are taken as recorded",
        "OneForAll (cells ",
        "aic, holdout(split=0.3)",
        "excluded if accuracy < 0.55 or if share(`my rt` < 0.1) > 0.05",
        "20 simulated doubles",
        plan.sha256.removeprefix("sha256:"),
    ):
        assert words in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"exclude": ["accuracy <"]}, "is not a condition"),
        ({"exclude": ["rt < 1"]}, "a learner has many values of rt"),
        ({"exclude": ["mode(rt) < 1"]}, "there is no mode"),
        ({"where": "phase ="}, "--where"),
        ({"recode": ["choice"]}, "--recode"),
        ({"bin": ["size:1"]}, "--bin"),
        ({"criterion": ["aicc"]}, "there is no criterion"),
        ({"criterion": ["aic", "aic"]}, "named twice"),
        ({"task": "nine-ten"}, "there is no task"),
        ({"task": "shepard-1", "model": ["ByColour"]}, "ByColour"),
        ({"calibration": "nowhere"}, "howlearn calibrate"),
        ({"min_trials": -1}, "--min-trials"),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(hl.HowlearnError) as caught:
        freeze_plan(options)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "a = ", "howlearn = 3", "[resolved]\ncriteria = 3", "\0", "[data]\nfoo = 1\n"]
)
def test_what_is_no_plan_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(hl.HowlearnError, match=r"plan\.toml"):
        read_plan(file)
