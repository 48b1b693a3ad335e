"""Models by what a user types: ``q-learning(ByShape)+lapse``, ``my_module:MyModel``."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from difflib import get_close_matches

from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Form, Rule
from howlearn.core.rules import RULES, rule_named
from howlearn.model import Model
from howlearn.models.adjustment import Adjustment
from howlearn.models.bias import Bias
from howlearn.models.candidates import one_rate_versions
from howlearn.models.coin import Coin
from howlearn.models.field import FIELD, field_model
from howlearn.models.lapse import Lapse
from howlearn.models.mixture_named import is_mixture, mixture_named, refuse_open
from howlearn.models.own import own_model
from howlearn.models.partition_model import PartitionModel, Rates
from howlearn.models.stickiness import Stickiness

ADJUSTMENTS: dict[str, type[Adjustment]] = {a.name: a for a in (Lapse, Bias, Stickiness)}
IN_CELLS = tuple(name for name, model in FIELD.items() if model.cells == "any")  # as rules


def model_named(
    models: Sequence[PartitionModel], name: str, whose: str = "the data", n_features: int = 0
) -> Model:
    """The model that a text names, among these partition models and those that are always there.

    - ``NAME``, and ``NAME (one rate)`` with one rate for all cells; ``Coin`` does not learn;
    - ``q-learning`` and the field's other models, in which every context is learned on its own;
    - ``q-learning(NAME)`` with the cells of that partition and parameters that they share, or
      ``q-learning(NAME, per-cell)`` with parameters of each cell's own;
    - ``my_module:MyModel``, a model of your own;
    - each of them with adjustments: ``NAME+lapse``, ``q-learning+stickiness+bias``;
    - ``exp4(NAME, NAME…)`` and ``switch(NAME, NAME)``, mixtures of them; see ``mixture_named``.

    >>> from howlearn.models.candidates import candidates
    >>> models = candidates(["1", "2"])
    >>> model_named(models, "OnePerItem (one rate)").n_parameters(2)
    1
    >>> model_named(models, "q-learning(OnePerItem, per-cell)+lapse").n_parameters(2)
    5
    """
    own = {model.name: model for model in models}
    known: dict[str, Model] = {**{m.name: m for m in one_rate_versions(models)}, **own}
    known["Coin"] = Coin()
    if name in known:
        return known[name]
    if is_mixture(name):
        return mixture_named(name, lambda each: model_named(models, each, whose, n_features))
    base, plus, last = name.rpartition("+")
    if not (plus and last.strip() in ADJUSTMENTS):
        refuse_open(name)
    if plus and last.strip() in ADJUSTMENTS:
        return ADJUSTMENTS[last.strip()]().__radd__(
            model_named(models, base.strip(), whose, n_features)
        )
    called = re.fullmatch(r"(?P<what>[^()]+)\((?P<partition>.+?)(, *(?P<rates>per-cell))?\)", name)
    what = (called["what"] if called else name).strip()
    if ":" in what:
        model = own_model(what)
    elif what in FIELD:
        model = field_model(what, n_features)
    else:
        raise _unknown(name, own, whose)
    if called is None:
        return model
    rates: Rates = "per-cell" if called["rates"] else "shared"
    return _in_cells(model, own, called["partition"].strip(), rates, name)


def _in_cells(
    model: Model, own: dict[str, PartitionModel], partition: str, rates: Rates, name: str
) -> PartitionModel:
    if partition not in own:
        raise HowlearnError(
            f"{name}: there is no model {partition!r} whose cells could be used; there are "
            f"{', '.join(own)}"
        )
    what = f"{model.name}({partition}{', per-cell' if rates == 'per-cell' else ''})"
    return PartitionModel(what, own[partition].partition, model, rates)


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
        f"{whose} has no model {name!r}{_meant(name, known)}; its models are {', '.join(own)} and "
        f"Coin, and those with several cells also as 'NAME (one rate)'. The field's models are "
        f"{', '.join(FIELD)}, also as 'q-learning(NAME)' in the cells of a model; +lapse, +bias "
        "and +stickiness may follow any of them; exp4(NAME, NAME) and switch(NAME, NAME) are "
        "mixtures; a model of your own is my_module:MyModel"
    )


def _meant(name: str, known: Sequence[str]) -> str:
    lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), list(lower), 1)
    return f" (did you mean {lower[close[0]]}?)" if close else ""


def learning_named(name: str, form: Form = "gain", max_rate: float = 1.0) -> Rule | Model:
    """What may learn in the cells of a partition: a rule, or one of the field's models.

    >>> learning_named("q-learning")
    <model q-learning>
    """
    if name in RULES or name not in IN_CELLS:
        return rule_named(name, form, max_rate)
    if form != "gain":
        raise HowlearnError(f"{name} has no form: --form goes with {', '.join(RULES)}")
    if max_rate != 1.0:
        raise HowlearnError(
            f"the rates of {name} end at 1: --max-rate goes with {', '.join(RULES)}"
        )
    return field_model(name, 0)
