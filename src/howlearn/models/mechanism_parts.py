"""Mechanisms by name, and parts that only ``howlearn mechanisms`` knows."""

from __future__ import annotations

from howlearn.core.rule import Parameter, Size
from howlearn.models.adjustments import LearningPart, Part
from howlearn.models.names import ADJUSTMENTS


class Generalisation(LearningPart):
    """Q_a ← Q_a + g·s·α·(r − Q_a) in other contexts, s the share of features in common.

    As the kernel of Shepard (1987) with one step: what is alike is learned about together.
    """

    name = "generalisation"
    title = "what is learned in one context is partly learned in contexts that share its features"
    phrase = "generalisation over contexts with shared features"
    cites = ("Shepard, R. N. (1987). Toward a universal law of generalization. Science, 237.",)
    needs = frozenset({"features", "contexts"})
    parameter = Parameter("generalisation", 0.0, 1.0, default=0.0)
    effect = Size("share", 0.3, 0.7, 0.1, 0.7, smallest=0.15)
    listed = True
    passes_for = ("forgetting", "fictive", "stickiness", "bias")
    in_words = "transfer what they learn to similar contexts"


class Drift(LearningPart):
    """β·exp(ω·s) at the share s of a learner's trials, counted from −½ to ½.

    Yechiam & Busemeyer (2005) let choices become more (or less) consistent so.
    """

    name = "drift"
    title = "choices follow values more closely as time goes by, or less"
    phrase = "a temperature that drifts"
    cites = (
        "Yechiam, E. & Busemeyer, J. R. (2005). Comparison of basic assumptions embedded in "
        "learning models. Psychonomic Bulletin & Review, 12, 387–402.",
    )
    parameter = Parameter("drift", -5.0, 5.0, default=0.0)
    effect = Size("signed", 1.0, 0.5, 0.5, 0.5, smallest=0.4)
    bases = ("delta rule",)
    passes_for = ("lapse", "asymmetry")
    in_words = "follow what they learned more (or less) closely as time goes by"


class RestingValue(LearningPart):
    """Values start at, and fade to, ½ + s of the way from the lowest reward to the highest.

    Many models of the field start at 0, the lowest: Sutton & Barto (2018), section 2.6.
    """

    name = "resting"
    title = "unknown options count as better, or worse, than average"
    phrase = "values that start above or below the middle"
    cites = ("sutton2018",)
    parameter = Parameter("resting", -0.5, 0.5, default=0.0)
    effect = Size("signed", 0.3, 0.4, 0.15, 0.4, smallest=0.15)
    bases = ("delta rule",)
    passes_for = ("forgetting", "fictive", "asymmetry")
    in_words = "expect unknown options to be better (or worse) than average"


class OtherCells(LearningPart):
    """Learns about other contexts together than the base does: it is only tested, never listed.

    What a learner knows then is another thing, so that nothing else can be told of it.
    """

    name = "cells"
    title = "takes other contexts together"
    parameter = Parameter("cells", 0.0, 1.0, default=0.0)
    effect = Size("share", 0.5, 0.5, 0.1, 0.5, smallest=0.1)  # it is all or nothing
    passes_for = (
        "lapse", "bias", "stickiness", "trace", "forgetting", "asymmetry", "fictive", "attention",
        "generalisation", "pavlovian", "drift", "resting",
    )  # fmt: skip


ONLY_HERE: tuple[type[Part], ...] = (Generalisation, Drift, RestingValue)


def known_mechanisms() -> dict[str, type[Part]]:
    """All mechanisms by name: these, parts of models that have an effect, and registered ones."""
    parts = [*(part for part in ADJUSTMENTS.values() if part.effect is not None), *ONLY_HERE]
    return {part.name: part for part in parts}
