"""``howlearn models``: the candidates of a task, with their cells."""

from __future__ import annotations

from howlearn.cli.options import Form, FormName, MaxRate, Rule, RuleName, TaskOption


def models(
    task: TaskOption = None,
    rule: Rule = RuleName.gradient,
    form: Form = FormName.gain,
    max_rate: MaxRate = 1.0,
) -> None:
    """List the models of a task, and the order of their cells (the order of --set)."""
    from howlearn.cli.show import console, listing_of
    from howlearn.rules import RULES, rule_named
    from howlearn.task import Task

    if task is None:
        listing = listing_of("Tasks that are shipped", "task", "contexts", "actions", "models")
        for name in Task.shipped():
            known = Task.load(name)
            names = ", ".join(model.name for model in known.models)
            listing.add_row(name, str(len(known.contexts)), "/".join(known.actions), names)
        console.print(listing)
        console.print(f"Rules: {', '.join(f'{r.name} ({r.title})' for r in RULES.values())}")
        console.print("Next: howlearn models --task five-four")
        return
    chosen = Task.load(task).with_rule(rule_named(rule.value, form.value, max_rate))
    listing = listing_of(f"Models of {chosen.name}", "model", "parameters", "rule", "cells")
    for model in chosen.models:
        units = model.units
        rules = ", ".join(dict.fromkeys(f"{u.rule.title} ({u.rule.form})" for u in units))
        cells = "  ".join(unit.name for unit in units)
        listing.add_row(model.name, str(len(model.owned)), rules, cells)
    console.print(listing)
    console.print(
        "Also available: 'NAME (one rate)' for models with several cells, and Coin, which does not "
        f"learn (its parameters: {', '.join(f'p({a})' for a in chosen.actions[:-1])}).",
        soft_wrap=True,
    )
