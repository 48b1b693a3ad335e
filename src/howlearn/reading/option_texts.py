"""What the texts of options say that hold more than a name: --recode, --missing, --wide."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from howlearn.core.errors import HowlearnError
from howlearn.core.text import canonical

ROLES_NAMED = ("learner", "context", "action", "reward", "trial")  # --names action: --action action


def parse_recode(text: str) -> tuple[str, Mapping[str, str]]:
    """The column (or role) and the values that a --recode speaks of.

    >>> parse_recode("reward:-1=0,1.0=1")
    ('reward', {'-1': '0', '1': '1'})
    """
    name, colon, pairs = text.partition(":")
    values: dict[str, str] = {}
    for pair in pairs.split(","):
        old, equals, new = pair.rpartition("=")
        if not (name.strip() and colon and equals):
            raise HowlearnError(f"--recode {text!r}: write COL:OLD=NEW,OLD=NEW")
        values[canonical(old)] = canonical(new)
    return name.strip(), values


def parse_missing(text: str) -> tuple[str | None, str]:
    """The column (or role), None for all of them, and the value that a --missing speaks of.

    >>> parse_missing("-1"), parse_missing("action:-1.0")
    ((None, '-1'), ('action', '-1'))
    """
    name, colon, value = text.rpartition(":")
    return (name.strip() or None) if colon else None, canonical(value)


_PATTERN = re.compile(r"[^\s+/()=;]*[^\W\d_][^\s+/()=;]*")  # has a letter; * alone multiplies


def parse_wide(text: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The quantities that a --wide names with their patterns, and the roles that they play.

    >>> parse_wide("action=choice_*.csv; reward=win_* + loss_*")
    ({'choice': 'choice_*.csv', 'win': 'win_*', 'loss': 'loss_*'}, \
{'action': 'choice', 'reward': 'win + loss'})
    """
    patterns: dict[str, str] = {}
    roles: dict[str, str] = {}
    for item in filter(str.strip, text.split(";")):
        name, equals, said = (part.strip() for part in item.partition("="))
        found = _PATTERN.findall(said)
        if not (name and equals and found) or (name not in ROLES_NAMED and len(found) > 1):
            raise HowlearnError(
                f"--wide {text!r}: write NAME=PATTERN for each quantity, with ; between them, as "
                "in action=choice_*; reward=win_* + loss_*"
            )
        expression = said
        for pattern in found:
            bare = re.sub(r"^([^.]*)\.[A-Za-z]+$", r"\1", pattern)
            column = re.sub(r"([_.\- ])[*?]+\1|[*?]+", r"\1", bare).strip("_.- ") or name
            column = name if name not in ROLES_NAMED else column
            if patterns.setdefault(column, pattern) != pattern:
                raise HowlearnError(f"--wide {text!r}: {column} occurs twice")
            typed = column if column.isidentifier() else f"`{column}`"
            expression = expression.replace(pattern, typed, 1)
        if name in ROLES_NAMED:
            alone = len(patterns) and said == found[0]
            roles[name] = [*patterns][-1] if alone else expression
    return patterns, roles


def offers_as_text(offers: Mapping[Any, Any]) -> tuple[str, ...]:
    """A table of what was on offer as texts that ``parse_offers`` takes, whatever labels hold.

    >>> offers_as_text({12: [1, 2], "B": "a|b"})
    ('{"12": ["1", "2"]}', 'B=a|b')
    """
    return tuple(
        f"{label}={mine}"
        if isinstance(mine, str)
        else json.dumps({str(label): [str(one) for one in mine]}, ensure_ascii=False)
        for label, mine in offers.items()
    )
