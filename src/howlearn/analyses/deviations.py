"""Where a run differs from its plan."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from howlearn import __version__
from howlearn.analyses.error_rates import Advice
from howlearn.analyses.freeze import (
    FrozenPlan,
    constants_hash,
    experts_hash,
    is_set,
    own_code,
    task_hash,
)
from howlearn.core.text import shortened
from howlearn.models.model import Model
from howlearn.reading.analysis_options import MODELS
from howlearn.reading.options import DATA
from howlearn.selection.criterion import Criterion
from howlearn.selection.population import FEWEST

# Compared as what they come to: the content of the file, the criteria with their constants.
RESOLVED = ("task", "calibration", "criterion")
NOTHING = "nothing"
LONGEST = 300  # characters of a value that is shown


@dataclass(frozen=True)
class Deviation:
    """One thing that was planned otherwise."""

    what: str
    planned: str
    done: str


def deviations(
    plan: FrozenPlan,
    options: Mapping[str, Any],
    criteria: Sequence[Criterion],
    candidates: Sequence[Model],
    n_learners: int,
    advice: Advice | None = None,
) -> list[Deviation]:
    """Everything in which a selection differs from the plan; ``n_learners`` are those included."""
    found = []
    if plan.edited:
        found.append(Deviation("plan", "as it was frozen", "edited after it was frozen"))
    if plan.howlearn != __version__:
        found.append(Deviation("version of howlearn", plan.howlearn, __version__))
    found += _files(plan, options, advice)
    found += _options(plan, options)
    planned = plan.criteria if n_learners >= FEWEST else plan.criteria_few
    done = tuple(repr(criterion) for criterion in criteria)
    if planned != done:
        found.append(Deviation("criteria", ", ".join(planned), ", ".join(done)))
    if plan.candidates:
        found += _candidates(plan, candidates)
    else:
        found += _code(plan, options)
    return found


def _code(plan: FrozenPlan, options: Mapping[str, Any]) -> list[Deviation]:
    """The user's models whose code has changed, where candidates come from the data."""
    done = own_code(options)
    return [
        Deviation(f"code of {name}", planned, done[name])
        for name, planned in plan.code.items()
        if done.get(name, planned) != planned  # one that is left out is told with the options
    ]


def _files(plan: FrozenPlan, options: Mapping[str, Any], advice: Advice | None) -> list[Deviation]:
    experts = experts_hash(options.get("experts_from"))
    same_folder = options.get("experts_from") == plan.models.get("experts_from")
    changed = same_folder and experts != plan.experts
    told = Deviation("estimates in the folder of --experts-from", plan.experts, experts)
    now = {
        "task": (plan.task, task_hash(options.get("task"))),
        "calibration": (plan.calibration, "" if advice is None else constants_hash(advice)),
    }
    found = [told] if changed else []
    for name, (planned, done) in now.items():
        if planned == done:
            continue
        before = str(plan.models.get(name) or NOTHING)
        after = str((advice.folder if advice else None) if name == "calibration" else "")
        after = str(options.get(name) or NOTHING) if name == "task" else after
        same = before == after or Path(before).name == Path(after).name
        if planned and done and same:  # the name says nothing
            what = "content of the task file" if name == "task" else "constants of the calibration"
            found.append(Deviation(what, f"{before} ({planned})", f"{after} ({done})"))
        else:
            found.append(Deviation(name, before, after if done else NOTHING))
    return found


def _options(plan: FrozenPlan, options: Mapping[str, Any]) -> list[Deviation]:
    found = []
    planned = {**plan.data, **plan.models}
    for name, option in {**DATA, **MODELS}.items():
        if name in RESOLVED or (option.may_be_open and name not in planned):
            continue
        if name == "seed" and not (planned.get("stability") or options.get("stability")):
            continue
        before = _plain(planned.get(name, option.default), name)
        after = _plain(options.get(name, option.default), name)
        if before != after:
            found.append(Deviation(name, _shown(before), _shown(after)))
    return found


def _plain(value: Any, name: str) -> Any:
    """A value as it is compared: lists whatever they were written as, nothing for none."""
    if not is_set(value):
        return None
    if name in ("reward_range", "reward_scale") and isinstance(value, list | tuple):
        return [float(end) for end in value]
    if isinstance(value, list | tuple):
        return [str(one) for one in value]
    return str(value) if isinstance(value, Path) else value


def _shown(value: Any) -> str:
    if value is None:
        return NOTHING
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return _short(text)


def _short(text: str) -> str:
    return shortened(text, LONGEST, kept=LONGEST)


def _candidates(plan: FrozenPlan, candidates: Sequence[Model]) -> list[Deviation]:
    before = {str(each["name"]): dict(each) for each in plan.candidates}
    after = {model.name: json.loads(json.dumps(model.describe())) for model in candidates}
    found = [
        Deviation(f"candidate {name}", "a candidate", "left out")
        for name in before
        if name not in after
    ]
    found += [
        Deviation(f"candidate {name}", "not a candidate", "added")
        for name in after
        if name not in before
    ]
    for name in before:
        if name in after:
            pairs = _differing(before[name], _without_none(after[name]))
            if pairs:
                planned, done = ("; ".join(side) for side in zip(*pairs, strict=True))
                found.append(Deviation(f"candidate {name}", _short(planned), _short(done)))
    return found


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(one) for key, one in value.items() if one is not None}
    return [_without_none(one) for one in value] if isinstance(value, list) else value


def _differing(planned: Any, done: Any, place: str = "") -> list[tuple[str, str]]:
    """The innermost parts that differ, each with its place."""
    if planned == done:
        return []
    if isinstance(planned, dict) and isinstance(done, dict):
        return [
            pair
            for key in dict.fromkeys((*planned, *done))
            for pair in _differing(planned.get(key), done.get(key), _place(place, key))
        ]
    lists = isinstance(planned, list) and isinstance(done, list)
    if lists and len(planned) == len(done) and any(isinstance(e, dict) for e in planned):
        return [
            pair
            for i, (one, other) in enumerate(zip(planned, done, strict=True))
            for pair in _differing(one, other, _place(place, _called(one, i)))
        ]
    start = f"{place} " if place else ""
    return [(f"{start}{_text(planned)}", f"{start}{_text(done)}")]


def _place(place: str, key: object) -> str:
    hidden = key in ("units", "experts")  # their members are called by name
    return place if hidden else f"{place} {key}".strip()


def _called(part: Any, i: int) -> str:
    known = part if isinstance(part, dict) else {}
    return str(known.get("cells") or known.get("name") or i + 1)


def _text(value: Any) -> str:
    if value is None:
        return NOTHING
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
