"""Mixtures by what a user types: ``exp4(ByPattern, ByPatternExc[eta=0.03], source=joint)``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from howlearn.core.errors import HowlearnError
from howlearn.model import Model
from howlearn.models.exp4 import Exp4
from howlearn.models.expert import Expert
from howlearn.models.mixture import SOURCES, Mixture
from howlearn.models.switch import Switch

KINDS: dict[str, type[Mixture]] = {Exp4.kind: Exp4, Switch.kind: Switch}
_CALL = re.compile(rf"(?P<kind>{'|'.join(KINDS)})\s*(\((?P<inside>.*)\))?", re.I | re.S)
_SETTING = re.compile(r"(?P<key>\w+)\s*=\s*(?P<value>.+)", re.S)


def is_mixture(text: str) -> bool:
    """Whether a text names a mixture.

    >>> is_mixture("exp4(ByShape, ByPattern)"), is_mixture("ByShape")
    (True, False)
    """
    return _CALL.fullmatch(text.strip()) is not None


def refuse_open(text: str) -> None:
    """Refuse the text of a mixture whose parenthesis is not closed."""
    kind, bracket, _ = text.partition("(")
    if bracket and kind.strip().lower() in KINDS and not text.rstrip().endswith(")"):
        raise HowlearnError(f"{text}: the parenthesis after {kind.strip()} is not closed")


def mixture_named(text: str, find: Callable[[str], Model]) -> Mixture:
    """The mixture that a text names; ``find`` gives the model that the text of an expert names.

    Experts are separated by commas. Parameters that are given stand in brackets after an expert,
    ``ByShape[eta=0.03]`` for all of its cells or ``ByShape[eta=0.01/0.03]`` one per cell; those of
    the others come from ``source=training``, ``joint`` or ``population``. ``form=loss`` and
    ``max_rate=2`` are settings of Exp4.

    >>> from howlearn.models.candidates import candidates
    >>> known = {model.name: model for model in candidates(["1", "2"])}
    >>> mixture_named("exp4(OneForAll[eta=0.1], OnePerItem, source=joint)", known.__getitem__).name
    'exp4(OneForAll[eta=0.1], OnePerItem, source=joint)'
    """
    called = _CALL.fullmatch(text.strip())
    assert called is not None
    kind = called["kind"].lower()
    experts: list[Expert] = []
    settings: dict[str, Any] = {}
    for part in _parts(called["inside"] or ""):
        if not part:
            raise HowlearnError(f"{text}: an expert is missing before or after a comma")
        setting = _SETTING.fullmatch(part)
        if setting and "[" not in setting["key"]:
            key = setting["key"]
            if key in settings:
                raise HowlearnError(f"{text}: {key} is set twice")
            settings[key] = _setting(kind, key, setting["value"].strip(), text)
        else:
            try:
                experts.append(_expert(part, find))
            except HowlearnError as error:
                raise HowlearnError(f"{text}: {error}") from None
    return built(kind, experts, settings)


def built(kind: str, experts: list[Expert], settings: dict[str, Any]) -> Mixture:
    """A mixture of that kind."""
    if kind == Exp4.kind:
        return Exp4(tuple(experts), **settings)
    if len(experts) != 2:
        raise HowlearnError(f"{kind} has two experts, the first and the second, not {len(experts)}")
    return Switch(experts[0], experts[1], **settings)


def _setting(kind: str, key: str, value: str, text: str) -> object:
    allowed = ["source", "form", "max_rate"] if kind == Exp4.kind else ["source"]
    if key not in allowed:
        raise HowlearnError(
            f"{text}: {kind} has no setting {key}; it has {', '.join(allowed)}. The parameters of "
            "an expert stand in brackets after it, as in ByShape[eta=0.03]"
        )
    choices = {"source": [*SOURCES], "form": ["gain", "loss"]}
    if key in choices:
        if value not in choices[key]:
            raise HowlearnError(f"{text}: {key} is {' or '.join(choices[key])}, not {value}")
        return value
    return _number(value, f"{text}: max_rate")


def _expert(text: str, find: Callable[[str], Model]) -> Expert:
    name, bracket, inside = text.partition("[")
    if not bracket:
        return Expert(find(text))
    if not inside.endswith("]"):
        raise HowlearnError(
            f"expert {text}: parameters stand in brackets at the end, as in "
            f"{name.strip()}[eta=0.03]"
        )
    given: dict[str, list[float]] = {}
    for part in _parts(inside[:-1]):
        key, equals, values = (word.strip() for word in part.rpartition("="))
        if not equals or not key:
            raise HowlearnError(f"expert {text}: {part} is no parameter such as eta=0.03")
        if key in given:
            raise HowlearnError(f"expert {text}: {key} is given twice")
        given[key] = [_number(value, f"expert {text}: {key}") for value in values.split("/")]
    if not given:
        raise HowlearnError(f"expert {text}: the brackets hold no parameter such as eta=0.03")
    return Expert(find(name.strip()), given)


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise HowlearnError(f"{what} needs a number, not {text!r}") from None


def _parts(text: str) -> Iterator[str]:
    """What stands between commas that are in no brackets.

    >>> [*_parts("a, q-learning(b, per-cell), c[x=1, y=2]")]
    ['a', 'q-learning(b, per-cell)', 'c[x=1, y=2]']
    """
    depth, start = 0, 0
    for i, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            yield text[start:i].strip()
            start = i + 1
    if text[start:].strip() or start:
        yield text[start:].strip()
