"""The learning rules, one per file."""

from __future__ import annotations

from howlearn.errors import HowlearnError
from howlearn.rule import Form, Rule
from howlearn.rules.exp3 import Exp3
from howlearn.rules.exp3_ix import Exp3IX
from howlearn.rules.gradient_bandit import GradientBandit

RULES: dict[str, type[Rule]] = {rule.name: rule for rule in (GradientBandit, Exp3, Exp3IX)}

__all__ = ["RULES", "Exp3", "Exp3IX", "GradientBandit", "rule_named"]


def rule_named(name: str, form: Form = "gain", max_rate: float = 1.0) -> Rule:
    """The rule of that name.

    >>> rule_named("exp3", form="loss")
    Exp3(form='loss', max_rate=1.0)
    """
    if name not in RULES:
        raise HowlearnError(f"there is no rule {name!r}; the rules are {', '.join(RULES)}")
    return RULES[name](form, max_rate)
