"""Sentences on the candidate models and the criteria, and the works that they cite."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Rule
from howlearn.core.rules import RULES
from howlearn.core.text import in_words
from howlearn.models import FIELD
from howlearn.models.mixture import Mixture
from howlearn.models.names import ADJUSTMENTS, MIXTURES, Spelled
from howlearn.report.words import clean, count, listed_names, quoted, unit_of
from howlearn.results.manifest import WITHHELD
from howlearn.selection.clouds import MOST
from howlearn.selection.criteria import criterion_named
from howlearn.selection.criterion import LOG_EVIDENCE, Told

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
            having = [m for m in models if any(unit in mine for unit in m["units"])]
            who += f" of {listed_names(clean(m['name']) for m in having)}"
        yield f"{who} learned by {title}{cite.after(learns.cites)}{how}, with {_bounds(mine)}."
    rates = {model.get("rates", "per-cell") for model in models if _cells(model) > 1}
    shared = [clean(m["name"]) for m in models if m.get("rates") == "shared"]
    if rates == {"per-cell"}:
        yield "Every cell had its own parameters."
    elif rates == {"shared"}:
        yield "All cells of a model shared their parameters."
    elif rates:
        yield (
            "Every cell had its own parameters, except in "
            f"{listed_names(shared)}, where one set "
            "served all cells."
        )


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


# Sentences on the criteria: what each one is, with its constants, and how verdicts are given.


PROTECTED = "protected_exceedance"


def criterion_sentences(
    manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], cite: Citing
) -> Iterator[str]:
    """Every criterion, then margins and verdicts."""
    texts = criteria_of(manifest, tables)
    if not texts:
        return
    excluding = bool((manifest.get("options") or {}).get("exclude"))
    every = f"all {unit_of(manifest)}s"
    told = Told(manifest, tables, f"{every} that were not excluded" if excluding else every)
    what = "the criterion" if len(texts) == 1 else f"the {in_words(len(texts))} criteria"
    names = listed_names(clean(text) for text in texts)
    alone = len(manifest.get("models") or ()) == 1
    compared = "model was judged" if alone else "models were compared"
    yield f"For every {unit_of(manifest)} the {compared} by {what} {names}, in nats."
    for text in texts:
        try:
            criterion = criterion_named(text)
        except HowlearnError:  # of another version
            yield f"The criterion {quoted(text)} is described in the documentation of howlearn."
            continue
        yield from map(cite.resolved, criterion.sentences(told))
        if criterion.evidence == LOG_EVIDENCE:
            yield from _approximated(manifest)
    yield from _verdicts(manifest, tables)
    yield from _shares(tables, cite)


def criteria_of(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """The criteria in their order, by their texts."""
    named = (manifest.get("options") or {}).get("criteria")
    if named:
        return [str(text) for text in named]
    selection = tables.get("selection")
    if selection is None or "criterion" not in selection.columns:
        return []
    return [str(text) for text in selection["criterion"].unique(maintain_order=True)]


def _approximated(manifest: Mapping[str, Any]) -> Iterator[str]:
    """On models whose parameters are not integrated on a grid."""
    models = [m for m in manifest.get("models") or () if "probabilities" not in m]
    if any("kind" in m or _off_grid(m) for m in models):
        yield (
            "For models whose parameters were not integrated on a grid, the likelihood was "
            f"averaged by importance sampling; with more than {MOST} parameters the average was "
            "approximated by Laplace's method (mixtures of strategies: by Schwarz's criterion)."
        )


def _off_grid(model: Mapping[str, Any]) -> bool:
    units = model.get("units")
    return not units or is_adjusted(model) or any("form" not in u for u in units)


def _verdicts(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> Iterator[str]:
    within = (manifest.get("options") or {}).get("within")
    if within is None:
        return
    many = len(manifest.get("models") or ()) != 1
    selection = tables.get("selection")
    seen = set() if selection is None else set(selection["verdict"].cast(pl.String))
    more = ""
    if WITHHELD in seen:
        more += f" ({WITHHELD} where a check of behaviour or of completeness failed)"
    if "no better than a coin" in seen:
        more += ", no better than a coin if not learning at all explained the choices as well"
    if "probably none of these" in seen:
        more += (
            ", probably none of these if a partition that was not listed had a probability over .9"
        )
    yield (
        f"A selection was called clear if no other model, and no model without learning, came "
        f"within {within:g} nats of the selected one{more}, and undecided otherwise; the margin "
        "was the distance to the next model."
        if many
        else f"Not learning at all counted as an alternative within {within:g} nats."
    )
    yield (
        "Ties went to the model with fewer parameters."
        if many
        else ("There was no other model to compare it with.")
    )


def _shares(tables: Mapping[str, pl.DataFrame], cite: Citing) -> Iterator[str]:
    shares = tables.get("shares")
    if shares is None:
        return
    if "corrected_for" in shares.columns:
        by: Sequence[str] = shares["corrected_for"].drop_nulls().unique().to_list()
        if "confusion" in by:
            yield (
                "Shares of the models were corrected for the confusion among simulated learners of "
                "the candidates, as the calibration found it."
            )
    if PROTECTED in shares.columns and shares[PROTECTED].null_count() < shares.height:
        yield (
            "Shares were also estimated by random-effects model selection "
            f"{cite('stephan2009')}, with protected exceedance probabilities {cite('rigoux2014')}."
        )


# What a methods paragraph may cite, in APA style; only what is cited gets into the list.


SOFTWARE = "howlearn"
KEYS = re.compile(r"\[@(.+?)\]")


@dataclass(frozen=True)
class Reference:
    """A work: how it is cited in brackets, and its entry, where *…* stands in italics."""

    cited: str
    entry: str

    @property
    def text(self) -> str:
        """The entry without marks."""
        return "".join(part for part, _ in self.pieces)

    @property
    def pieces(self) -> tuple[tuple[str, bool], ...]:
        """The entry in parts, each with whether it is in italics.

        >>> Reference("A, 1974", "A. (1974). *B*.").pieces
        (('A. (1974). ', False), ('B', True), ('.', False))
        """
        parts = enumerate(self.entry.split("*"))
        return tuple((part, i % 2 == 1) for i, part in parts if part)


class Citing:
    """Gives citations and remembers what was cited."""

    def __init__(self, version: str) -> None:
        self.known: Mapping[str, Reference] = {**works(), SOFTWARE: _software(version)}
        self.cited: set[str] = set()

    def __call__(self, *names: str, before: str = "") -> str:
        """The works in brackets, in alphabetical order; anything else is a citation as it is.

        >>> Citing("1.0")("schwarz1978", "akaike1974")
        '(Akaike, 1974; Schwarz, 1978)'
        """
        known = [self.known[name].cited if name in self.known else name for name in names]
        self.cited.update(name for name in names if name in self.known)
        return f"({before}{'; '.join(sorted(known))})"

    def after(self, names: Sequence[str]) -> str:
        """The works in brackets after a space; nothing if there are none."""
        return f" {self(*names)}" if names else ""

    def resolved(self, sentence: str) -> str:
        """A sentence with citations in place of keys.

        >>> Citing("1.0").resolved("By AIC [@akaike1974; @schwarz1978].")
        'By AIC (Akaike, 1974; Schwarz, 1978).'
        """
        return KEYS.sub(lambda found: self(*found[1].split("; @")), sentence)

    @property
    def references(self) -> tuple[Reference, ...]:
        """What was cited, in alphabetical order."""
        found = (self.known[name] for name in self.cited)
        return tuple(sorted(found, key=lambda work: work.entry.replace("*", "").casefold()))


def _software(version: str) -> Reference:
    return Reference(
        "The howlearn developers, n.d.",
        f"The howlearn developers. (n.d.). *howlearn* (Version {version}) [Computer software].",
    )


@cache
def works() -> Mapping[str, Reference]:
    """All works that sentences may cite, by their keys."""
    text = resources.files("howlearn.report.methods").joinpath("references.toml").read_text("utf-8")
    return {key: Reference(**fields) for key, fields in tomllib.loads(text).items()}
