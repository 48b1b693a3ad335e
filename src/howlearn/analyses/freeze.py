"""What a plan holds: options as they were given, and what they come to without any data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from howlearn import __version__
from howlearn.analyses.error_rates import Advice, advised
from howlearn.core.errors import HowlearnError
from howlearn.core.options import several
from howlearn.core.safe_files import own_names, parsed_toml
from howlearn.models.model import Model
from howlearn.models.names import learning_named
from howlearn.models.task import Task
from howlearn.models.user_code import own_model
from howlearn.reading import project_file
from howlearn.reading.analysis_options import MODELS, NAMING_FILES
from howlearn.reading.options import DATA, options_named
from howlearn.results.inputs import task_models
from howlearn.results.manifest import hash_of as file_hash
from howlearn.runs.files import write_whole
from howlearn.selection.criteria import AIC, criterion_named, usual
from howlearn.selection.criterion import Criterion
from howlearn.selection.population import FEWEST
from howlearn.selection.select import check_criteria


@dataclass(frozen=True)
class FrozenPlan:
    """Options by the names that they have in howlearn.toml, and what they come to."""

    data: Mapping[str, Any]
    models: Mapping[str, Any]
    criteria: tuple[str, ...]  # as they are for ten learners or more
    criteria_few: tuple[str, ...]  # for fewer; the same, if they were named
    construction: str  # how candidates come from the data, in words; "" if they are listed
    task: str = ""  # hash of the task file
    calibration: str = ""  # hash of a calibration's constants
    code: Mapping[str, str] = field(default_factory=dict)  # of the user's models, by their names
    experts: str = ""  # hash of the estimates that --experts-from takes from a folder
    candidates: tuple[Mapping[str, Any], ...] = ()  # as in a manifest; none: from the data
    howlearn: str = __version__
    edited: bool = field(default=False, compare=False)  # since it was frozen

    @property
    def content(self) -> dict[str, Any]:
        """All of it, as it stands in the file."""
        # What they come to stands between the options and the version, in the order of the file.
        resolved = {each.name: getattr(self, each.name) for each in fields(self)[2:-2]}
        found = {
            "howlearn": self.howlearn,
            "data": self.data,
            "models": self.models,
            "resolved": {name: value for name, value in resolved.items() if value},
        }
        return json.loads(json.dumps(found, default=dict))

    @property
    def sha256(self) -> str:
        """Over everything that the plan says."""
        return hash_of(self.content)


class _AnyColumn(Sequence[str]):
    """Stands for the columns of data that nobody has seen: every name is one."""

    def __contains__(self, name: object) -> bool:
        return True

    def __len__(self) -> int:
        return 0

    def __getitem__(self, index: Any) -> Any:
        raise IndexError

    def __iter__(self) -> Iterator[str]:
        return iter(())


def freeze_plan(options: Mapping[str, Any]) -> FrozenPlan:
    """The plan of these options of ``howlearn select``; what can be wrong without data is refused.

    >>> plan = freeze_plan({"task": "shepard-1", "exclude": ["accuracy < 0.55"]})
    >>> plan.criteria[0], plan.criteria_few[0], len(plan.candidates)
    ('population', 'evidence', 8)
    """
    data = {n: v for n, v in options.items() if n in DATA and is_set(v)}
    data = _checked(data)
    models = {n: options.get(n) for n in MODELS}
    planned = {n: option.default for n, option in MODELS.items() if option.default}
    models = {**planned, **{n: v for n, v in models.items() if is_set(v)}}
    if "stability" not in models:
        models.pop("seed", None)  # nothing depends on it
    folder = models.get("calibration")
    advice = None if folder is None else advised(Path(folder))
    criteria, few = planned_criteria(models.get("criterion", ()), advice)
    candidates, construction = _candidates(models, data)
    return FrozenPlan(
        json.loads(json.dumps(data)),
        json.loads(json.dumps(models, default=str)),
        criteria,
        few,
        construction,
        task_hash(models.get("task")),
        "" if advice is None else constants_hash(advice),
        {} if candidates else own_code(models),
        experts_hash(models.get("experts_from")),
        tuple(json.loads(json.dumps(model.describe())) for model in candidates),
    )


def is_set(value: object) -> bool:
    """Whether an option was given; 0 is a value.

    >>> is_set(0), is_set(()), is_set(False)
    (True, False, False)
    """
    return not (value is None or value is False or value == () or value == [])


def planned_criteria(
    named: Sequence[str], advice: Advice | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The criteria for many learners and for few."""
    chosen = check_criteria([criterion_named(text) for text in named]) if named else ()
    if advice is not None:
        both = dict.fromkeys((*advice.criteria, *(chosen or (AIC(),))))
        return _texts(tuple(both)), _texts(tuple(both))
    if chosen:
        return _texts(chosen), _texts(chosen)
    return _texts(usual(FEWEST)), _texts(usual(FEWEST - 1))


def _texts(criteria: Sequence[Criterion]) -> tuple[str, ...]:
    return tuple(repr(criterion) for criterion in criteria)


def _checked(data: Mapping[str, Any]) -> dict[str, Any]:
    """The options of reading; what cannot be meant, whatever the data are, is refused."""
    options = options_named(data)
    for name, option in DATA.items():
        if option.check is not None:
            for text in several(getattr(options, name)):
                option.check(text, option.word, _AnyColumn())
    return {name: getattr(options, name) for name in data}


def _candidates(
    models: Mapping[str, Any], data: Mapping[str, Any]
) -> tuple[tuple[Model, ...], str]:
    """The candidates of the task; without one, how they will come from the data."""
    rule = learning_named(models["rule"], models["form"], models["max_rate"])
    asked = {name: models.get(name, []) for name in ("model", "add_model")}
    asked |= {name: models.get(name) for name in ("one_rate", "experts_from")}
    if models.get("task"):
        task = Task.load(models["task"]).with_rule(rule)
        return task_models(task, asked), ""
    features = [str(name) for name in data.get("features", ())]
    parts = ["one cell for all contexts", "one cell per context"]
    if features:
        parts.append(f"one cell per value of each of {', '.join(features)}")
    if len(features) > 1:
        parts.append("one cell per pair of values of two of them")
    text = f"from the contexts of the data: {'; '.join(parts)}"
    if not asked["model"] and not models.get("no_field"):
        text += "; one rate and stickiness; the models of the field that the kind of task demands"
    if asked["model"]:
        text = f"{', '.join(asked['model'])}, with cells {text}"
    if asked["add_model"]:
        text += f"; besides {', '.join(asked['add_model'])}"
    return (), text


def own_code(models: Mapping[str, Any]) -> dict[str, str]:
    """Hashes of the code of the user's models, and of their bounds, by how they are named."""
    names = [*(models.get("model") or ()), *(models.get("add_model") or ())]
    own = dict.fromkeys(found for name in names for found in own_names(str(name)))
    return {name: hash_of(own_model(name).describe()) for name in own}


def experts_hash(source: str | None) -> str:
    """Of the estimates in the folder that strategies take their parameters from."""
    if not source or not Path(source).is_dir():
        return ""
    tables = [path for name in ("estimates.*", "manifest.json") for path in Path(source).glob(name)]
    return hash_of([file_hash(path) for path in sorted(tables)])


def task_hash(task: str | None) -> str:
    """Of the content of a task file, shipped or the user's; line ends do not count."""
    if not task:
        return ""
    if task in Task.shipped():
        content = files("howlearn").joinpath("tasks", f"{task}.toml").read_bytes()
    else:
        content = Path(task).read_bytes()
    return "sha256:" + hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


def constants_hash(advice: Advice) -> str:
    """Of the constants that a calibration recommends, and of what it was made for."""
    criteria = [repr(criterion) for criterion in advice.criteria]
    return hash_of([criteria, [*advice.models], advice.median_trials, advice.described])


def hash_of(content: Any) -> str:
    """Of values, however they are written."""
    text = json.dumps(_plain(content), sort_keys=True, ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Numbers that are equal look equal, 1 and 1.0; what is not there is left out."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items() if one is not None}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if value is None or isinstance(value, str | bool | float):
        return value
    raise HowlearnError(f"{value!r} cannot be part of a plan")


# A plan as a TOML file that people read and a hash keeps from being changed unnoticed.


_OPENING = """\
# An analysis plan, written by howlearn freeze before the data were seen.
# howlearn select FILES --frozen {name} follows it, and lists every deviation.
# The hash at the end is of everything but these comments: a plan that is edited is no longer
# the one that was frozen.
"""
_TOLD = {
    "data": "Which rows are used, how they are read, and who is excluded.",
    "models": "The candidates and the criteria, as they were asked for.",
    "resolved": "What this means: criteria with their constants, candidates with cells and\n"
    "# bounds, hashes of the files that were named.",
}


def write_plan(path: Path, plan: FrozenPlan, fresh: bool = False) -> FrozenPlan:
    """Write the plan, with paths as seen from there; an earlier one only goes if asked for."""
    if path.is_dir():
        raise HowlearnError(
            f"{path} is a folder; -o takes the name of a file such as {project_file.PLAN}"
        )
    if path.exists() and not fresh:
        raise HowlearnError(
            f"{path} is there already, and a plan is frozen once; write to another file with -o, "
            "or replace it with --fresh"
        )
    seen = {
        name: project_file.relative(plan.models[name], path.parent)
        for name in NAMING_FILES
        if name in plan.models and Path(plan.models[name]).exists()
    }
    plan = replace(plan, models={**plan.models, **seen})
    text = plan_text(plan, path.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda file: file.write_bytes(text.encode()))
    return plan


def plan_text(plan: FrozenPlan, name: str = project_file.PLAN) -> str:
    """The text of the file."""
    content = plan.content
    lines = [_OPENING.format(name=name), project_file.toml_line("howlearn", content["howlearn"])]
    for part, told in _TOLD.items():
        lines += ["", f"# {told}", f"[{part}]"]
        given = dict(content[part])
        candidates = given.pop("candidates", ())
        lines += _lines(given)
        for candidate in candidates:
            lines += ["", f"[[{part}.candidates]]", *_lines(candidate)]
    lines += ["", "[frozen]", f'sha256 = "{hash_of(content)}"']
    return "\n".join(lines) + "\n"


def read_plan(path: Path) -> FrozenPlan:
    """The plan of a file; one that was edited says so, any other file is refused."""
    try:
        found = parsed_toml(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise HowlearnError(f"{path}: not a TOML file ({error})") from None
    except OSError as error:
        raise HowlearnError(
            f"{path}: {error.strerror or error}; howlearn freeze writes this kind of "
            "file; --frozen none ignores it"
        ) from None
    frozen = found.pop("frozen", {})
    try:
        resolved = found.get("resolved", {})
        plan = FrozenPlan(
            _options(path, found.get("data", {}), DATA),
            _options(path, found.get("models", {}), MODELS),
            tuple(map(str, resolved["criteria"])),
            tuple(map(str, resolved["criteria_few"])),
            str(resolved.get("construction", "")),
            str(resolved.get("task", "")),
            str(resolved.get("calibration", "")),
            {str(name): str(code) for name, code in resolved.get("code", {}).items()},
            str(resolved.get("experts", "")),
            tuple(dict(one) for one in resolved.get("candidates", ())),
            str(found["howlearn"]),
            not isinstance(frozen, dict) or frozen.get("sha256") != hash_of(found),
        )
        if any("name" not in candidate for candidate in plan.candidates):
            raise KeyError
        return plan
    except (KeyError, TypeError, ValueError, AttributeError):
        raise HowlearnError(f"{path} is not a plan that howlearn freeze wrote") from None


def options_of(path: Path, plan: FrozenPlan) -> project_file.StudyFile:
    """The options of a plan as those of howlearn.toml; files are seen from here."""
    data = {n: project_file.checked(path, DATA[n], value) for n, value in plan.data.items()}
    models = {n: project_file.checked(path, MODELS[n], value) for n, value in plan.models.items()}
    for name in NAMING_FILES:
        if name in models and (path.parent / models[name]).exists():
            models[name] = project_file.beside(path, models[name])
    return project_file.StudyFile(path, (), data, models)


def _options(path: Path, given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a part; one that this version does not know cannot be followed."""
    for name in given:
        if name not in known:
            raise HowlearnError(
                f"{path} has an option {name}, which this howlearn does not know; the plan may be "
                "of another version"
            )
    return dict(given)


def _lines(part: Mapping[str, Any]) -> list[str]:
    """A line for each value; lists of tables line by line, so that cells can be read."""
    lines = []
    for name, value in part.items():
        if isinstance(value, list) and any(isinstance(one, dict) for one in value):
            lines += [f"{name} = [", *(f"  {project_file.toml(one)}," for one in value), "]"]
        elif value is not None:
            lines.append(project_file.toml_line(name, value))
    return lines


# A plan as a paragraph for the form of a preregistration.


RULES = {
    "where": "only rows with {} are used",
    "test_when": "choices where {} count, but teach nothing",
    "forced_when": "choices where {} teach, but do not count",
    "recode": "values are recoded ({})",
    "missing": "{} means that nothing was recorded",
    "reward_range": "rewards from {} are taken as recorded",
    "reward_scale": "rewards are stretched from {} to 0 … 1",
    "min_trials": "learners with fewer than {} trials are left out",
    "by": "every learner is analysed separately under each value of {}",
    "reset_by": "learning restarts where {} changes",
    "bin": "numbers are put into bins ({})",
}


def paragraph(plan: FrozenPlan) -> str:
    """What will be done, in sentences."""
    models = plan.models
    sentences = [
        f"Which model of learning explains each learner's choices best will be determined with "
        f"howlearn {plan.howlearn}.",
        *_rules(plan.data),
        _candidates_sentence(plan),
    ]
    rule = "each model's own rule, else " if plan.candidates else ""
    sentences.append(
        f"Cells learn by {rule}{models['rule']} in {models['form']} form with learning rates from "
        f"0 to {models['max_rate']:g}; parameters are fitted by maximum likelihood, learner by "
        "learner."
    )
    sentences.append(f"Models are selected by {_criteria(plan)}.")
    sentences.append(
        f"Models within {models['within']:g} nats of the best count as tied with it, and so does "
        "choosing without learning."
    )
    if models.get("stability"):
        sentences.append(
            f"Stability is assessed with {models['stability']} simulated doubles of every learner "
            f"(seed {models.get('seed', 0)})."
        )
    excluded = plan.data.get("exclude", ())
    if excluded:
        sentences.append(
            f"Learners will be excluded if {' or if '.join(excluded)}; shares of models will be "
            "reported without and with them."
        )
    else:
        sentences.append("No learner will be excluded.")
    sentences.append(
        f"All settings are in the plan, whose SHA-256 is {plan.sha256.partition(':')[2]}; "
        "every deviation will be listed."
    )
    return " ".join(sentences)


def _rules(data: Mapping[str, Any]) -> list[str]:
    told = []
    for name, words in RULES.items():
        if name in data:
            value = data[name]
            joined = " to " if name in ("reward_range", "reward_scale") else ", "
            text = joined.join(map(str, value)) if isinstance(value, list | tuple) else value
            told.append(words.format(text))
    return [f"Of the data: {'; '.join(told)}."] if told else []


def _candidates_sentence(plan: FrozenPlan) -> str:
    if not plan.candidates:
        return f"The candidates come {plan.construction}."
    names = []
    for each in plan.candidates:
        units = each.get("units")
        cells = f" (cells {', '.join(unit['cells'] for unit in units)})" if units else ""
        names.append(f"{each['name']}{cells}")
    task = plan.models.get("task")
    return f"The candidates{f' for the task {task}' if task else ''} are {'; '.join(names)}."


def _criteria(plan: FrozenPlan) -> str:
    text = ", ".join(plan.criteria)
    if plan.criteria == plan.criteria_few:
        return text
    few = ", ".join(plan.criteria_few)
    return f"{text} (with fewer than {FEWEST} learners: {few})"
