"""Sentences on the candidate models: what they are, how their cells learn, within what bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from howlearn.core.rule import Rule
from howlearn.core.rules import RULES
from howlearn.core.text import in_words
from howlearn.models import FIELD
from howlearn.models.mixture import Mixture
from howlearn.models.names import ADJUSTMENTS, MIXTURES, Spelled
from howlearn.report.methods.references import Citing
from howlearn.report.words import clean, count, listed_names, quoted

Described = Mapping[str, Any]  # a model as the manifest describes it

MANY = 40  # candidates that are all named
GREEK = {"eta": "η", "gamma": "γ", "theta": "θ"}


def model_sentences(models: Sequence[Described], cite: Citing) -> Iterator[str]:
    """Which models competed, and what each kind of them is."""
    if not models:
        return
    names = listed_names((_name(model) for model in models), most=MANY)
    if len(models) == 1:
        yield f"One model was fitted: {names}."
    else:
        yield f"The {in_words(len(models))} candidate models were {names}."
    yield from _partitions([m for m in models if "units" in m], cite)
    yield from _whole([m for m in models if _known(m)], cite)
    yield from _mixtures([m for m in models if "kind" in m], cite)
    yield from _adjusted(models, cite)
    own = [m for m in models if _own(m)]
    if own:
        codes = listed_names(f"{_name(m)} (SHA-256 of its code {short(_own(m))})" for m in own)
        yield f"Written for this study: {codes}."
    if any(m.get("name") == "Coin" for m in models):
        yield "Coin was a learner without learning, who chose each action with a fixed probability."
    fixed = [_name(m) for m in models if "probabilities" in m]
    if fixed:
        yield f"Without learning, with fixed probabilities of the actions: {listed_names(fixed)}."


def _name(model: Described) -> str:
    """With the number of its cells, where it has some."""
    cells = _cells(model)
    return clean(model.get("name", "")) + (f" ({count(cells, 'cell')})" if cells else "")


def _cells(model: Described) -> int:
    """How many cells; with shared parameters one unit holds all of them."""
    units = model.get("units") or ()
    if model.get("rates") == "shared":
        return sum(str(unit.get("cells", "")).count("|") + 1 for unit in units)
    return len(units)


def _partitions(models: Sequence[Described], cite: Citing) -> Iterator[str]:
    if not models:
        return
    yield (
        "A partition model states which contexts a learner treated alike: contexts in one cell "
        f"shared what was learned, and every cell learned on its own {cite('aubert2025')}."
    )
    units = [unit for model in models for unit in model["units"]]
    for rule, form in dict.fromkeys((u.get("rule"), u.get("form")) for u in units):
        mine = [u for u in units if (u.get("rule"), u.get("form")) == (rule, form)]
        learns = RULES.get(rule) or FIELD.get(rule) or Rule
        title = learns.phrase or learns.title or f"the rule {quoted(rule)}"
        how = f" in {form} form" if form else ""
        who = "Cells"
        if len(mine) < len(units):
            who += f" of {listed_names(clean(m['name']) for m in models if _has(m, rule, form))}"
        yield f"{who} learned by {title}{cite.after(learns.cites)}{how}, with {_bounds(mine)}."
    rates = {model.get("rates", "per-cell") for model in models if _cells(model) > 1}
    shared = [clean(m["name"]) for m in models if m.get("rates") == "shared"]
    if rates == {"per-cell"}:
        yield "Every cell had parameters of its own."
    elif rates == {"shared"}:
        yield "All cells of a model shared their parameters."
    elif rates:
        yield (
            "Every cell had parameters of its own, except in "
            f"{listed_names(shared)}, where one set "
            "served all cells."
        )


def _has(model: Described, rule: Any, form: Any) -> bool:
    return any((unit.get("rule"), unit.get("form")) == (rule, form) for unit in model["units"])


def _bounds(described: Sequence[Described]) -> str:
    found = dict.fromkeys(
        (name, *ends) for each in described for name, ends in (each.get("bounds") or {}).items()
    )
    if not found:
        return "no free parameter"
    return listed_names(
        f"{GREEK.get(n, clean(n))} between {low:g} and {high:g}".replace(" -", " −")
        for n, low, high in found
    )


def _known(model: Described) -> bool:
    return "units" not in model and "kind" not in model and _base(model) in FIELD


def _base(model: Described) -> str:
    """The name without what adjusts the model or says how its cells are."""
    return Spelled.of(str(model.get("name", ""))).what


def is_adjusted(model: Described) -> bool:
    """Whether something was added to a model, such as lapses."""
    return bool(Spelled.of(str(model.get("name", ""))).adjustments)


def _whole(models: Sequence[Described], cite: Citing) -> Iterator[str]:
    for name in dict.fromkeys(_base(model) for model in models):
        mine = [model for model in models if _base(model) == name]
        known = FIELD[name]
        title = known.phrase or known.title or quoted(name)
        names = listed_names(dict.fromkeys(clean(model["name"]) for model in mine))
        what = f"The model {names} was" if len(mine) == 1 else f"The models {names} were"
        yield f"{what} {title}{cite.after(known.cites)}, with {_bounds(mine)}."


def _mixtures(models: Sequence[Described], cite: Citing) -> Iterator[str]:
    for kind in dict.fromkeys(model["kind"] for model in models):
        known = MIXTURES.get(kind, Mixture)
        title = known.phrase or known.title or quoted(kind)
        names = listed_names(clean(model["name"]) for model in models if model["kind"] == kind)
        yield f"Strategies were mixed by {title}{cite.after(known.cites)}: {names}."


def _adjusted(models: Sequence[Described], cite: Citing) -> Iterator[str]:
    for word, known in ADJUSTMENTS.items():
        mine = [m for m in models if word in Spelled.of(str(m.get("name", ""))).adjustments]
        if mine:
            n = "One model" if len(mine) == 1 else f"{in_words(len(mine)).capitalize()} models"
            title = known.phrase or known.title
            yield f"{n} included {title}{cite.after(known.cites)} (+{word} in the name)."


def _own(model: Described) -> str:
    found = model.get("code") or next(
        (unit["code"] for unit in model.get("units") or () if "code" in unit), ""
    )
    return str(found)


def short(code: str) -> str:
    """The beginning of a hash, enough to tell files apart.

    >>> short("sha256:0123456789abcdef")
    '0123456789ab…'
    """
    return clean(code).removeprefix("sha256:")[:12] + "…"
