"""``howlearn models``: the candidates of a task, with their cells."""

from __future__ import annotations

from typing import Any

from howlearn.cli.following import following, with_models
from howlearn.cli.options import Form, FormName, MaxRate, Rule, RuleName, TaskOption
from howlearn.cli.study import takes_study


@takes_study
def models(
    task: TaskOption = None,
    rule: Rule = RuleName.gradient,
    form: Form = FormName.gain,
    max_rate: MaxRate = 1.0,
) -> None:
    """List the models of a task, and the order of their cells (the order of --set)."""
    from rich.markup import escape

    from howlearn.cli.show import console, listing_of
    from howlearn.core.rules import RULES
    from howlearn.models import FIELD
    from howlearn.models.names import ADJUSTMENTS, IN_CELLS, learning_named
    from howlearn.models.task import Task

    if task is None:
        listing = listing_of("Tasks that are shipped", "task", "contexts", "actions", "models")
        for name in Task.shipped():
            known = Task.load(name)
            names = ", ".join(model.name for model in known.models)
            listing.add_row(name, str(len(known.contexts)), "/".join(known.actions), names)
        console.print(listing)
        console.print(f"Rules: {', '.join(f'{r.name} ({r.title})' for r in RULES.values())}")
        listing = listing_of(
            "The field's models, for any task (--model, --add-model; 'field' for all of them)",
            "model", "what it is", "parameters", "needs",
        )  # fmt: skip
        for name, model in FIELD.items():
            made = model()
            parameters = ", ".join(p.name for p in made.parameters)
            listing.add_row(name, made.title, parameters, ", ".join(sorted(made.needs)))
        console.print(listing)
        console.print(
            f"In the cells of a partition: 'q-learning(ByShape)'; as --rule: {', '.join(IN_CELLS)}."
            "\nAdded to any model, as 'ByShape+lapse': "
            + "; ".join(f"{a.name} ({a.title})" for a in ADJUSTMENTS.values())
            + ".\nMixtures of strategies: 'exp4(ByPattern, ByPatternExc)', "
            "'switch(ByPattern, ByPatternExc)' (docs/metalearning.md)."
            "\nA model of your own: my_module:MyModel (docs/models.md).",
            soft_wrap=True,
        )
        following("models", "--task", "five-four")
        return
    chosen = Task.load(task).with_rule(learning_named(rule.value, form.value, max_rate))
    listing = listing_of(f"Models of {chosen.name}", "model", "parameters", "rule", "cells")
    for model in chosen.models:
        units = model.units
        rules = ", ".join(dict.fromkeys(_learning(unit.rule) for unit in units))
        cells = "  ".join(unit.name for unit in units)
        listing.add_row(*map(escape, (model.name, str(len(model.owned)), rules, cells)))
    for mixture in chosen.mixtures:
        count = str(mixture.n_parameters(len(chosen.actions)))
        experts = "  ".join(expert.name for expert in mixture.experts)
        listing.add_row(*map(escape, (mixture.name, count, mixture.title, experts)))
    console.print(listing)
    shares = escape(", ".join(f"p({a})" for a in chosen.actions[:-1]))
    console.print(
        "Also available: 'NAME (one rate)' for models with several cells, and Coin, which does not "
        f"learn (its parameters: {shares}); the field's models and your own: howlearn models.",
        soft_wrap=True,
    )
    words = with_models({"task": task, "rule": rule.value, "form": form.value})
    following("simulate", *words, "--model", chosen.models[-1].name, "--out", "trials.csv")


def _learning(rule: Any) -> str:
    return f"{rule.title} ({rule.form})" if hasattr(rule, "form") else rule.title
