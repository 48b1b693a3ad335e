"""A plan as a TOML file that people read and a hash keeps from being changed unnoticed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from howlearn.analyses.freeze import NAME, FrozenPlan, hash_of
from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import parsed_toml
from howlearn.reading.analysis_options import MODELS, NAMING_FILES
from howlearn.reading.options import DATA
from howlearn.reading.project_file import StudyFile, beside, checked, relative, toml, toml_line
from howlearn.runs.files import write_whole

_OPENING = """\
# An analysis plan, written by howlearn freeze before the data were seen.
# howlearn select FILES --frozen {name} follows it, and lists whatever is done otherwise.
# The hash at the end is of everything but these comments: a plan that is edited is no longer
# the one that was frozen.
"""
_TOLD = {
    "data": "Which rows are used, how they are read, and who is excluded.",
    "models": "The candidates and the criteria, as they were asked for.",
    "resolved": "What that comes to: criteria with their constants, candidates with cells and\n"
    "# bounds, hashes of the files that were named.",
}


def write_plan(path: Path, plan: FrozenPlan, fresh: bool = False) -> FrozenPlan:
    """Write the plan, with paths as seen from there; an earlier one only goes if asked for."""
    if path.is_dir():
        raise HowlearnError(f"{path} is a folder; -o takes the name of a file such as {NAME}")
    if path.exists() and not fresh:
        raise HowlearnError(
            f"{path} is there already, and a plan is frozen once; write to another file with -o, "
            "or replace it with --fresh"
        )
    seen = {
        name: relative(plan.models[name], path.parent)
        for name in NAMING_FILES
        if name in plan.models and Path(plan.models[name]).exists()
    }
    plan = replace(plan, models={**plan.models, **seen})
    text = plan_text(plan, path.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda file: file.write_bytes(text.encode()))
    return plan


def plan_text(plan: FrozenPlan, name: str = NAME) -> str:
    """The text of the file."""
    content = plan.content
    lines = [_OPENING.format(name=name), toml_line("howlearn", content["howlearn"])]
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
    """The plan of a file; one that was edited says so, one that is none is refused."""
    try:
        found = parsed_toml(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise HowlearnError(f"{path}: not a TOML file ({error})") from None
    except OSError as error:
        raise HowlearnError(
            f"{path}: {error.strerror or error}; howlearn freeze writes such a file, and "
            "--frozen none does without"
        ) from None
    frozen = found.pop("frozen", {})
    try:
        resolved = found.get("resolved", {})
        plan = FrozenPlan(
            _options(path, found.get("data", {}), DATA),
            _options(path, found.get("models", {}), MODELS),
            tuple(map(str, resolved["criteria"])),
            tuple(map(str, resolved["criteria_few"])),
            tuple(dict(one) for one in resolved.get("candidates", ())),
            str(resolved.get("construction", "")),
            str(resolved.get("task", "")),
            str(resolved.get("calibration", "")),
            {str(name): str(code) for name, code in resolved.get("code", {}).items()},
            str(resolved.get("experts", "")),
            str(found["howlearn"]),
            not isinstance(frozen, dict) or frozen.get("sha256") != hash_of(found),
        )
        if any("name" not in candidate for candidate in plan.candidates):
            raise KeyError
        return plan
    except (KeyError, TypeError, ValueError, AttributeError):
        raise HowlearnError(f"{path} is not a plan that howlearn freeze wrote") from None


def options_of(path: Path, plan: FrozenPlan) -> StudyFile:
    """The options of a plan as those of howlearn.toml; files are seen from here."""
    data = {n: checked(path, DATA[n], value) for n, value in plan.data.items()}
    models = {n: checked(path, MODELS[n], value) for n, value in plan.models.items()}
    for name in NAMING_FILES:
        if name in models and (path.parent / models[name]).exists():
            models[name] = beside(path, models[name])
    return StudyFile(path, (), data, models)


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
            lines += [f"{name} = [", *(f"  {toml(one)}," for one in value), "]"]
        elif value is not None:
            lines.append(toml_line(name, value))
    return lines
