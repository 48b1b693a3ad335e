"""The criteria; their text is the same in options, tables and Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.text import in_words
from howlearn.fitting.fits import ALL, Stop, Truncation
from howlearn.selection.criterion import LATER, Criterion, Likelihoods, Scores, Told
from howlearn.selection.evidence import Evidence
from howlearn.selection.population import FEWEST, Population

# Akaike's criterion, halved: in nats.


@dataclass(frozen=True, repr=False)
class AIC(Criterion):
    """ℓ − D: Akaike (1974), divided by −2.

    >>> AIC()
    aic
    """

    name = "aic"
    title = "log-likelihood minus 1 nat per parameter"
    cites = ("akaike1974",)
    places = (("simulation", 3), ("path", 2))

    def price(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.ones_like(n)

    def sentences(self, told: Told) -> Iterator[str]:
        yield (
            f"AIC{self.citation} was divided by −2: the log-likelihood minus one nat per parameter."
        )


# The Bayesian information criterion, halved: in nats.


@dataclass(frozen=True, repr=False)
class BIC(Criterion):
    """ℓ − ½·log(n)·D: Schwarz (1978), divided by −2.

    >>> BIC()
    bic
    """

    name = "bic"
    title = "log-likelihood minus ½·log(n) nats per parameter"
    cites = ("schwarz1978",)
    places = (("path", 3),)

    def price(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        return 0.5 * np.log(n)

    def sentences(self, told: Told) -> Iterator[str]:
        yield (
            f"BIC{self.citation} was divided by −2: the log-likelihood minus ½·log(n) per "
            "parameter."
        )


# The paper's hold-out criterion.


@dataclass(frozen=True, repr=False)
class HoldOut(Criterion):
    """Fit on the first trials, score the others: Aubert et al. (2025), Theorem 1.

    The first ⌊split·n⌋ scored trials train; then the state is carried on with frozen parameters.

    >>> HoldOut(split=0.5)
    holdout(split=0.5)
    """

    split: float = 0.5
    name = "holdout"
    title = "log-likelihood of the later trials, parameters fitted on the earlier ones"
    cites = ("aubert2025",)
    evidence = LATER
    later = True
    over_partitions = True
    places = (("select", 3), ("simulation", 2))

    def __post_init__(self) -> None:
        if not 0 < self.split < 1:
            raise HowlearnError(f"the split must lie between 0 and 1, got {self.split:g}")

    @property
    def truncations(self) -> tuple[Truncation, ...]:
        return (float(self.split),)

    def scores(self, fits: Likelihoods) -> Scores:
        split = float(self.split)
        rest = fits.rest(split)
        left = fits.n_scored - fits.n_fitted(split)
        return Scores(left, rest, np.zeros_like(rest))

    def sentences(self, told: Told) -> Iterator[str]:
        yield (
            f"The criterion {self!r} was the log-likelihood of the trials after the first "
            f"{self.split * 100:.4g}%, at the parameters estimated from that first part"
            f"{self.citation}."
        )


# The likelihood alone: for candidates with equally many parameters, such as sets of experts.


@dataclass(frozen=True, repr=False)
class Likelihood(Criterion):
    """ℓ of the first ``trials``, or of all of them, without a penalty.

    Aubert et al. (2025), appendix on metalearning: sets of experts have one parameter each, so that
    no penalty is needed; the guarantee holds for the first T_ε trials
    (``howlearn.paper.theory``).
    Between models with different numbers of parameters it favours the one that has more.

    >>> Likelihood(), Likelihood(trials=20)
    (likelihood, likelihood(trials=20))
    """

    trials: int | None = None
    name = "likelihood"
    title = "log-likelihood without a penalty: fair only where models have equally many parameters"
    example = "likelihood(trials=20)"
    evidence = None
    penalises = False

    def __post_init__(self) -> None:
        if self.trials is None:
            return
        if not (self.trials >= 1 and float(self.trials).is_integer()):
            raise HowlearnError(f"trials must be a whole number of at least 1, got {self.trials:g}")
        object.__setattr__(self, "trials", int(self.trials))  # a text gives 20.0

    @property
    def truncations(self) -> tuple[Truncation, ...]:
        return (ALL if self.trials is None else self.trials,)

    def scores(self, fits: Likelihoods) -> Scores:
        value = fits.log_likelihood(self.truncations[0])
        return Scores(fits.n_fitted(self.truncations[0]), value, np.zeros_like(value))

    def sentences(self, told: Told) -> Iterator[str]:
        upto = "" if self.trials is None else f" of the first {self.trials} trials"
        yield f"The criterion {self!r} was the log-likelihood{upto} without a penalty."


# From a text to the criterion that it names.


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


# The paper's AIC-type criterion.


EPSILON = 0.05  # of stop_at="paper"
PAPER = re.compile(r"paper(?:\((?:epsilon=)?([^()]+)\))?")
STOPS = "a trial (150), an epsilon under 1 (0.05), or the paper's formula ('paper(0.05)')"


@dataclass(frozen=True, repr=False)
class Penalized(Criterion):
    """ℓ − c·log(n)²·D with the learner's own n: Aubert et al. (2025), Theorem 3.

    The theorem is about the first T_ε trials, during which every probability is at least ε.
    ``stop_at`` puts T_ε in place of n everywhere: a number of trials; ε, for the trials before any
    candidate, fitted to all trials, gives an action less than ε; or ``"paper(ε)"`` for the paper's
    formula, from the bounds of the rates. D then counts the cells met up to there.

    >>> Penalized(c=0.012), Penalized(stop_at=150), Penalized(stop_at="paper")
    (penalized(c=0.012), penalized(c=0.012, stop_at=150), penalized(c=0.012, stop_at=paper(0.05)))
    """

    c: float = 0.012
    stop_at: int | float | str | None = None
    name = "penalized"
    title = "log-likelihood minus c·log(n)² nats per parameter, n the trials (T with stop_at)"
    example = "penalized(c=0.012, stop_at=150)"
    cites = ("aubert2025",)
    places = (("select", 2), ("simulation", 1), ("path", 1))

    def __post_init__(self) -> None:
        if not 0 <= self.c < np.inf:
            raise HowlearnError(f"c must be 0 or greater, got {self.c:g}")
        object.__setattr__(self, "stop_at", _stop(self.stop_at))

    @property
    def truncations(self) -> tuple[Truncation, ...]:
        if isinstance(self.stop_at, str):
            return (Stop(float(self.stop_at[len("paper(") : -1]), "paper"),)
        if isinstance(self.stop_at, float):
            return (Stop(self.stop_at),)
        return (ALL if self.stop_at is None else self.stop_at,)

    def price(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.c * np.log(n) ** 2

    def sentences(self, told: Told) -> Iterator[str]:
        stop, used = self.stop_at, "all of them"
        if isinstance(stop, int):
            used = f"the first {stop}"
        elif isinstance(stop, float):
            used = (
                f"those before the first at which a fitted model gave an action less than {stop:g}"
            )
        elif stop is not None:
            used = f"those up to the bound T of that paper, {stop}"
        yield (
            f"The criterion {self!r} was the log-likelihood minus {self.c:g}·log(n)² per parameter"
            f"{self.citation}, where n was the number of the learner's trials that were used: "
            f"{used}."
        )


def _stop(given: object) -> int | float | str | None:
    """In one spelling: a whole number, a float below 1, or ``paper(ε)``."""
    if given is None:
        return None
    if isinstance(given, str):
        found = PAPER.fullmatch(given.replace(" ", ""))
        try:
            epsilon = float(found[1] or EPSILON) if found else 0.0
        except ValueError:
            epsilon = 0.0
        if 0 < epsilon < 1:
            return f"paper({epsilon!r})"
    elif isinstance(given, int | float | np.number) and not isinstance(given, bool):
        number = float(given)
        if number >= 1 and number.is_integer():
            return int(number)
        if 0 < number < 1:
            return number
    raise HowlearnError(f"stop_at must be {STOPS}, got {given!r}")


# The hold-out criterion, refitted from block to block.


DIGITS = 12  # of a share, so that 0.5 + 0.5·1/5 is the 0.6 of a hold-out, not 0.6000000000000001


@dataclass(frozen=True, repr=False)
class Prequential(Criterion):
    """Refit before each block of later trials, and score the block: Dawid (1984).

    The trials after the first ⌊start·n⌋ are cut into ``blocks`` of about equal length. Each is
    scored at the parameters fitted on all trials before it, with the state carried on. Every
    probability depends on the past only, so that Theorem 1 of Aubert et al. (2025) holds as for a
    hold-out at ``start``; with one block it is that hold-out. Models within half a nat of the best
    count as equal, and the one with fewer parameters is selected: a model that contains another
    foretells as well as it, up to chance.

    >>> Prequential(blocks=5, start=0.5)
    prequential(blocks=5, start=0.5)
    >>> Prequential(blocks=4).truncations
    (0.5, 0.625, 0.75, 0.875)
    """

    blocks: int = 5
    start: float = 0.5
    name = "prequential"
    title = "log-likelihood of the later trials, block by block, parameters refitted before each"
    cites = ("dawid1984",)
    evidence = LATER
    later = True
    tie = 0.5

    def __post_init__(self) -> None:
        if not (self.blocks >= 1 and float(self.blocks).is_integer()):
            raise HowlearnError(f"blocks must be a whole number of at least 1, got {self.blocks:g}")
        if not 0 < self.start < 1:
            raise HowlearnError(f"the start must lie between 0 and 1, got {self.start:g}")
        object.__setattr__(self, "blocks", int(self.blocks))  # a text gives 5.0

    @property
    def truncations(self) -> tuple[Truncation, ...]:
        start, step = float(self.start), (1.0 - self.start) / self.blocks
        return (start, *(round(start + step * i, DIGITS) for i in range(1, self.blocks)))

    def scores(self, fits: Likelihoods) -> Scores:
        ends = (*self.truncations, ALL)
        score = np.sum([fits.between(*block) for block in pairwise(ends)], axis=0)
        left = fits.n_scored - fits.n_fitted(ends[0])
        return Scores(left, score, np.zeros_like(score))

    def sentences(self, told: Told) -> Iterator[str]:
        blocks = f"{in_words(self.blocks)} block{'s' * (self.blocks != 1)}"
        yield (
            f"The criterion {self!r} was the log-likelihood of the trials after the first "
            f"{self.start * 100:.4g}%, in {blocks}, each at the parameters estimated from "
            f"everything before it{self.citation}; of models within {self.tie:g} nats of the best, "
            "the one with the fewest parameters was selected."
        )


CRITERIA = Criterion.registry
for _criterion in (
    Population,
    Evidence,
    Penalized,
    HoldOut,
    Prequential,
    AIC,
    BIC,
    Likelihood,
):  # in the order of messages
    CRITERIA.register(_criterion)


def defaults(analysis: str, n_learners: int = FEWEST) -> tuple[Criterion, ...]:
    """The criteria of an analysis (select, simulation, path) unless others are named.

    >>> defaults("simulation")
    (penalized(c=0.012), holdout(split=0.5), aic)
    """
    found: dict[int, Criterion] = {}
    for criterion in CRITERIA.values():
        place = dict(criterion.places).get(analysis)
        if place is not None and n_learners >= criterion.fewest:
            found.setdefault(place, criterion())
    return tuple(found[place] for place in sorted(found))


DEFAULT = defaults("simulation")  # from likelihoods alone


def prices() -> tuple[Criterion, ...]:
    """The criteria that are a price per parameter, as they are without options.

    >>> prices()
    (penalized(c=0.012), aic, bic)
    """
    return tuple(each() for each in CRITERIA.values() if each.priced)


def usual(n_learners: int) -> tuple[Criterion, ...]:
    """The criteria of ``select`` unless others are named: the first one, then the paper's two.

    >>> usual(9), usual(10)[0]
    ((evidence, penalized(c=0.012), holdout(split=0.5)), population)
    """
    return defaults("select", n_learners)


def kind_named(text: str) -> type[Criterion]:
    """What kind of criterion a text names, whatever its options; ``Criterion`` if none is known.

    >>> kind_named("penalized(c=0.05)").__name__, kind_named("of tomorrow").__name__
    ('Penalized', 'Criterion')
    """
    return CRITERIA.get(text.partition("(")[0], Criterion)


def criterion_named(text: str) -> Criterion:
    """The criterion that a text names.

    >>> criterion_named("penalized(c=0.05)")
    penalized(c=0.05)
    >>> criterion_named("AIC"), criterion_named("holdout(0.3)")
    (aic, holdout(split=0.3))
    >>> criterion_named("penalized(c=0.05, stop_at=paper(epsilon=0.01))")
    penalized(c=0.05, stop_at=paper(0.01))
    """
    texts = ", ".join(criterion.example or repr(criterion()) for criterion in CRITERIA.values())
    return criterion_among(CRITERIA, texts, text)
