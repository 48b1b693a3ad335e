"""From a text to the criterion that it names."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from howlearn.core.errors import HowlearnError
from howlearn.criteria.criterion import Criterion


def criterion_among(
    criteria: Mapping[str, type[Criterion]], texts: str, text: str, use: str = ""
) -> Criterion:
    """One of these criteria, by its name and what stands in brackets; ``texts`` are examples."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
        name, values, named = node, [], {}
        if isinstance(node, ast.Call):
            name = node.func
            values = [_value(value) for value in node.args]
            named = {str(k.arg): _value(k.value) for k in node.keywords}
        if not isinstance(name, ast.Name) or name.id.lower() not in criteria:
            raise ValueError
        return criteria[name.id.lower()](*values, **named)
    except HowlearnError as error:
        raise HowlearnError(f"criterion {text!r}: {error}") from None
    except (SyntaxError, ValueError, TypeError):
        raise HowlearnError(
            f"there is no criterion {text!r}{use}; the criteria are {texts}"
        ) from None


def _value(node: ast.expr) -> float | str:
    """A number; words such as paper(0.05) stay as they are."""
    if isinstance(node, ast.Name | ast.Call):
        return ast.unparse(node)
    value = ast.literal_eval(node)
    return value if isinstance(value, str) else float(value)
