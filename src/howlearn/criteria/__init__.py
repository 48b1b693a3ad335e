"""The criteria, one per file; their text is the same in options, tables and Python."""

from __future__ import annotations

import ast

from howlearn.criteria.aic import AIC
from howlearn.criteria.bic import BIC
from howlearn.criteria.criterion import Criterion, Scores
from howlearn.criteria.holdout import HoldOut
from howlearn.criteria.penalized import Penalized
from howlearn.errors import HowlearnError

__all__ = [
    "AIC",
    "BIC",
    "DEFAULT",
    "Criterion",
    "HoldOut",
    "Penalized",
    "Scores",
    "criterion_named",
]

CRITERIA: dict[str, type[Criterion]] = {
    "penalized": Penalized,
    "holdout": HoldOut,
    "aic": AIC,
    "bic": BIC,
}
DEFAULT: tuple[Criterion, ...] = (Penalized(), HoldOut(), AIC())


def criterion_named(text: str) -> Criterion:
    """The criterion that a text names.

    >>> criterion_named("penalized(c=0.05)")
    penalized(c=0.05)
    >>> criterion_named("aic")
    aic
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
        name, keywords = node, []
        if isinstance(node, ast.Call) and not node.args:
            name, keywords = node.func, node.keywords
        if not isinstance(name, ast.Name) or name.id not in CRITERIA:
            raise ValueError
        values = {str(k.arg): float(ast.literal_eval(k.value)) for k in keywords}
        return CRITERIA[name.id](**values)
    except HowlearnError as error:
        raise HowlearnError(f"criterion {text!r}: {error}") from None
    except (SyntaxError, ValueError, TypeError):
        known = "penalized(c=0.012), holdout(split=0.5), aic, bic"
        raise HowlearnError(f"there is no criterion {text!r}; the criteria are {known}") from None
