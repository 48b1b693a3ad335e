"""A plan as a paragraph for the form of a preregistration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from howlearn.freezing.plan import FrozenPlan
from howlearn.selection.population import FEWEST

RULES = {
    "where": "only rows with {} are used",
    "test_when": "choices where {} count, but teach nothing",
    "forced_when": "choices where {} teach, but do not count",
    "recode": "values are recoded ({})",
    "missing": "{} means that nothing was recorded",
    "reward_range": "rewards from {} are taken as recorded",
    "reward_scale": "rewards are stretched from {} to 0 … 1",
    "min_trials": "learners with fewer than {} trials are left out",
    "by": "every learner is analysed under each value of {} on its own",
    "reset_by": "learning starts anew where {} changes",
    "bin": "numbers are put into bins ({})",
}


def paragraph(plan: FrozenPlan) -> str:
    """What will be done, in sentences."""
    models = plan.models
    sentences = [
        f"Which model of learning explains each learner's choices best will be determined with "
        f"howlearn {plan.howlearn}.",
        *_rules(plan.data),
        _candidates(plan),
    ]
    rule = "each model's own rule, else " if plan.candidates else ""
    sentences.append(
        f"Cells learn by {rule}{models['rule']} in {models['form']} form with learning rates from "
        f"0 to {models['max_rate']:g}; parameters are fitted by maximum likelihood, learner by "
        "learner."
    )
    sentences.append(f"Models are selected by {_criteria(plan)}.")
    sentences.append(
        f"Models less than {models['within']:g} nats behind the best one, and not learning at all, "
        "are reported as not told apart from it."
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
        "whatever is done otherwise will be listed."
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


def _candidates(plan: FrozenPlan) -> str:
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
