"""Models by what a user types: ``q-learning(ByShape)+lapse``, ``my_module:MyModel``."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Form, Rule
from howlearn.core.rules import RULES, rule_named
from howlearn.core.safe_files import allow_code
from howlearn.core.study import Study
from howlearn.core.text import listed
from howlearn.models import FIELD, field_model
from howlearn.models.adjustments import (
    Asymmetry,
    Attention,
    Bias,
    ChoiceTrace,
    Fictive,
    Forgetting,
    GoBias,
    Lapse,
    Part,
    Pavlovian,
    Stickiness,
)
from howlearn.models.coin import Coin
from howlearn.models.exp4 import Exp4
from howlearn.models.hidden import HiddenStrategies, Switch
from howlearn.models.mixture import SOURCES, Expert, Mixture
from howlearn.models.model import Model
from howlearn.models.partition_model import (
    PartitionModel,
    Rates,
    candidates,
    one_rate_versions,
    too_many_contexts,
)
from howlearn.models.user_code import own_model

# Mixtures by what a user types: ``exp4(ByPattern, ByPatternExc[eta=0.03], source=joint)``.


MIXTURES = Mixture.registry
for _mixture in (Exp4, Switch, HiddenStrategies):
    MIXTURES.register(_mixture)
_MIXTURE = re.compile(r"(?P<kind>[\w-]+)\s*(\((?P<inside>.*)\))?", re.S)
_SETTING = re.compile(r"(?P<key>\w+)\s*=\s*(?P<value>.+)", re.S)


def is_mixture(text: str) -> bool:
    """Whether a text names a mixture.

    >>> is_mixture("exp4(ByShape, ByPattern)"), is_mixture("ByShape")
    (True, False)
    """
    return _call(text) is not None


def _call(text: str) -> re.Match[str] | None:
    called = _MIXTURE.fullmatch(text.strip())
    return called if called and called["kind"].lower() in MIXTURES else None


def refuse_open(text: str) -> None:
    """Refuse the text of a mixture whose parenthesis is not closed."""
    kind, bracket, _ = text.partition("(")
    if bracket and kind.strip().lower() in MIXTURES and not text.rstrip().endswith(")"):
        raise HowlearnError(f"{text}: the parenthesis after {kind.strip()} is not closed")


def mixture_named(text: str, find: Callable[[str], Model]) -> Mixture:
    """The mixture that a text names; ``find`` gives the model that the text of an expert names.

    Experts are separated by commas. Parameters that are given stand in brackets after an expert,
    ``ByShape[eta=0.03]`` for all of its cells or ``ByShape[eta=0.01/0.03]`` one per cell; those of
    the others come from ``source=training``, ``joint`` or ``population``. ``form=loss`` and
    ``max_rate=2`` are settings of Exp4, ``transitions=free`` is one of hmm.

    >>> from howlearn.models.partition_model import candidates
    >>> known = {model.name: model for model in candidates(["1", "2"])}
    >>> mixture_named("exp4(OneForAll[eta=0.1], OnePerItem, source=joint)", known.__getitem__).name
    'exp4(OneForAll[eta=0.1], OnePerItem, source=joint)'
    """
    called = _call(text)
    assert called is not None
    kind = MIXTURES[called["kind"].lower()]
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
    return kind.of(experts, settings)


def _setting(kind: type[Mixture], key: str, value: str, text: str) -> object:
    if key not in kind.allowed:
        raise HowlearnError(
            f"{text}: {kind.kind} has no setting {key}; it has {', '.join(kind.allowed)}. The "
            "parameters of an expert stand in brackets after it, as in ByShape[eta=0.03]"
        )
    choices = {
        "source": [*SOURCES], "form": ["gain", "loss"], "transitions": ["shared", "free"],
    }  # fmt: skip
    if key in choices:
        if value not in choices[key]:
            raise HowlearnError(f"{text}: {key} must be {' or '.join(choices[key])}, got {value}")
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
            raise HowlearnError(f"expert {text}: {part} is not a parameter; write it as eta=0.03")
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
        raise HowlearnError(f"{what} needs a number, got {text!r}") from None


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


ADJUSTMENTS = Part.registry
for _part in (
    Lapse, Bias, Stickiness, ChoiceTrace, Forgetting, Asymmetry, Fictive, Attention, GoBias,
    Pavlovian,
):  # fmt: skip
    ADJUSTMENTS.register(_part)
_CALL = re.compile(r"(?P<what>[^()]+)\((?P<cells>.+?)(, *(?P<rates>per-cell))?\)")


@dataclass(frozen=True)
class Spelled:
    """The parts of a text that names a model.

    >>> Spelled.of("q-learning(ByShape, per-cell)+lapse")
    Spelled(what='q-learning', cells='ByShape', rates='per-cell', adjustments=('lapse',))
    """

    what: str
    cells: str  # the partition in whose cells it learns; empty: it has none
    rates: Rates
    adjustments: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Spelled:
        """From the text of one model that is not a mixture."""
        base, plus, last = text.rpartition("+")
        if plus and last.strip() in ADJUSTMENTS:
            inner = cls.of(base.strip())
            return replace(inner, adjustments=(*inner.adjustments, last.strip()))
        called = _CALL.fullmatch(text)
        if called is None:
            return cls(text.strip(), "", "shared", ())
        rates: Rates = "per-cell" if called["rates"] else "shared"
        return cls(called["what"].strip(), called["cells"].strip(), rates, ())


def model_named(
    models: Sequence[PartitionModel], name: str, whose: str = "the data", n_features: int = 0
) -> Model:
    """The model that a text names, among these partition models and those that are always there.

    - ``NAME``, and ``NAME (one rate)`` with one rate for all cells; ``Coin`` does not learn;
    - ``q-learning`` and the field's other models, in which every context is learned on its own;
    - ``q-learning(NAME)`` with the cells of that partition and parameters that they share, or
      ``q-learning(NAME, per-cell)`` with parameters of each cell's own;
    - ``my_module:MyModel``, your own model;
    - each of them with adjustments: ``NAME+lapse``, ``q-learning+stickiness+bias``;
    - ``exp4(NAME, NAME…)``, ``switch(NAME, NAME)`` and ``hmm(NAME, NAME…)``, mixtures of them; see
      ``mixture_named``.

    >>> from howlearn.models.partition_model import candidates
    >>> models = candidates(["1", "2"])
    >>> model_named(models, "OnePerItem (one rate)").n_parameters(2)
    1
    >>> model_named(models, "q-learning(OnePerItem, per-cell)+lapse").n_parameters(2)
    5
    """
    own = {model.name: model for model in models}
    known: dict[str, Model] = {**{m.name: m for m in one_rate_versions(models)}, **own}
    if len(models) == 1 and len(models[0].partition.contexts) == 1:
        known["OneForAll"] = known["OnePerItem"] = models[0]  # where there is one context only
    known["Coin"] = known["coin"] = Coin()
    if name in known:
        return known[name]
    if is_mixture(name):
        return mixture_named(name, lambda each: model_named(models, each, whose, n_features))
    base, plus, last = name.rpartition("+")
    if plus and last.strip() in ADJUSTMENTS:
        inner = model_named(models, base.strip(), whose, n_features)
        return ADJUSTMENTS[last.strip()]().__radd__(inner)
    refuse_open(name)
    spelled = Spelled.of(_policy_named(name))
    if ":" in spelled.what:
        model = own_model(spelled.what)
    elif spelled.what in FIELD:
        model = field_model(spelled.what, n_features)
    else:
        raise _unknown(name, own, whose)
    return _in_cells(model, own, spelled, name) if spelled.cells else model


_POLICY = re.compile(r"(?P<what>[\w-]+)\(policy *= *(?P<policy>[\w-]+)\)")


def _policy_named(text: str) -> str:
    """``kalman-ucb`` for ``kalman(policy=ucb)``.

    >>> _policy_named("kalman(policy=ucb)"), _policy_named("q-learning(ByShape)")
    ('kalman-ucb', 'q-learning(ByShape)')
    """
    called = _POLICY.fullmatch(text)
    if called is None:
        return text
    family = f"{called['what']}-"
    known = [name.removeprefix(family) for name in FIELD if name.startswith(family)]
    if known and called["policy"] not in known:
        raise HowlearnError(f"{text}: policy must be {' or '.join(known)}, got {called['policy']}")
    return family + called["policy"]


def _in_cells(
    model: Model, own: dict[str, PartitionModel], spelled: Spelled, name: str
) -> PartitionModel:
    if spelled.cells not in own:
        raise HowlearnError(
            f"{name}: there is no model {spelled.cells!r} whose cells could be used; there are "
            f"{', '.join(own)}"
        )
    what = f"{model.name}({spelled.cells}{', per-cell' * (spelled.rates == 'per-cell')})"
    return PartitionModel(what, own[spelled.cells].partition, model, spelled.rates)


def _unknown(name: str, own: dict[str, PartitionModel], whose: str) -> HowlearnError:
    known = [*own, "Coin", *FIELD]
    base, plus, last = name.rpartition("+")
    if plus and base.strip() in known:
        close = _meant(last.strip(), [*ADJUSTMENTS])
        there = ", ".join(ADJUSTMENTS)
        return HowlearnError(f"{name}: there is no +{last.strip()}{close}; there are {there}")
    if name.endswith(".py") or (name.isidentifier() and importlib.util.find_spec(name)):
        return HowlearnError(f"{name}: which model of it? Write {name}:MyModel")
    return HowlearnError(
        f"{whose} has no model {name!r}{_meant(name, known)}; its models are "
        f"{listed([*own, 'Coin'])}, and those with several cells also as 'NAME (one rate)'. "
        f"The field's models are {', '.join(FIELD)}, also as 'q-learning(NAME)' in the cells of a "
        "model; +lapse, +bias, +stickiness and +trace may follow any of them (howlearn models "
        "lists more); exp4(NAME, NAME), switch(NAME, NAME) and hmm(NAME, NAME) are mixtures; your "
        "own model is my_module:MyModel"
    )


def _meant(name: str, known: Sequence[str]) -> str:
    lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), list(lower), 1)
    return f" (did you mean {lower[close[0]]}?)" if close else ""


def in_cells() -> tuple[str, ...]:
    """The field's models that may learn in cells, each with its own parameters, as rules do."""
    return tuple(name for name, model in FIELD.items() if model.cells == "any")


def learning_names() -> tuple[str, ...]:
    """All that may learn in the cells of a partition, as ``--rule`` takes it."""
    return (*RULES, *in_cells())


def learning_of(given: Rule | Model | str) -> Rule | Model:
    """What learns in cells, which may be given by its name."""
    return learning_named(given) if isinstance(given, str) else given


def models_of(
    given: Sequence[Model | str] | Model | str, find: Callable[[str], Model]
) -> tuple[Model, ...]:
    """The models, each of which may be given as a text; ``find`` gives the model that it names."""
    several = [given] if isinstance(given, Model | str) else given
    return tuple(find(each) if isinstance(each, str) else each for each in several)


def among(study: Study) -> Callable[[str], Model]:
    """What finds the model that a text names as ``--model`` does, among the study's candidates.

    Such text counts as typed by the user: code that it names is run.
    """

    def find(text: str) -> Model:
        allow_code(text)
        few = too_many_contexts(study) is None
        own = candidates(study.contexts, study.features) if few else ()
        n_features = len(next(iter(study.features.values()), {}))
        return model_named(own, text, "the study", n_features)

    return find


def learning_named(name: str, form: Form = "gain", max_rate: float = 1.0) -> Rule | Model:
    """What may learn in the cells of a partition: a rule, or one of the field's models.

    >>> learning_named("q-learning")
    <model q-learning>
    """
    if name in RULES or name not in in_cells():
        return rule_named(name, form, max_rate)
    if form != "gain":
        raise HowlearnError(f"{name} has no form: --form goes with {', '.join(RULES)}")
    if max_rate != 1.0:
        raise HowlearnError(
            f"the rates of {name} end at 1: --max-rate goes with {', '.join(RULES)}"
        )
    return field_model(name, 0)
