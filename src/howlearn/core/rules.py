"""The learning rules, each with its facts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from howlearn.core.rule import Form, Parameter, Rule, whole_part

# Gradient Bandit: preferences climb the gradient of the expected reward.


@dataclass(frozen=True)
class GradientBandit(Rule):
    """h_a ← h_a + η·g·(1{a chosen} − p_a), with p = softmax(h).

    Aubert et al. (2025), Algorithm 4, with η = θ/√n; Sutton & Barto (2018), section 2.8.

    >>> GradientBandit().parameters[0].name
    'eta'
    """

    name = "gradient"
    title = "gradient bandit"
    phrase = "the gradient bandit algorithm"
    cites = ("sutton2018",)
    smooth_with_gains = True
    pair_kernel = "pair"
    sticky_kernel = "values"

    @staticmethod
    def update(h, p, chosen, p_chosen, feedback, eta):
        return h + eta * feedback * (chosen - p)

    @staticmethod
    def differential(h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, eta, deta):
        return dh + feedback * (deta * (chosen - p) - eta * dp)

    def horizon(self, epsilon: float, actions: int, rewards: tuple[float, float]) -> int:
        return gradient_horizon(epsilon, actions, self.largest_step(rewards))


def gradient_horizon(epsilon: float, actions: int, rate: float) -> int:
    """T_ε of the Gradient Bandit, both forms: Proposition 5 of Aubert et al. (2025).

    >>> gradient_horizon(0.05, 2, 0.059)
    19
    """
    return whole_part(math.log(1 / (actions * epsilon)) / 2 / rate)


# Exp3: importance-weighted exponential weights.


# Below this probability the importance weight would overflow. The update is then replaced by a
# fixed huge one: p is 0 or 1 to double precision either way. Fits report where it happened.
SMALLEST = 1e-304
HUGE = 1e6


@dataclass(frozen=True)
class Exp3(Rule):
    """h_A ← h_A + η·g/p_A for the chosen action A; the others keep their preference.

    Auer, Cesa-Bianchi, Freund & Schapire (2002); Aubert et al. (2025), with γ = 0.

    >>> Exp3.update(0.0, 0.5, 1.0, 0.5, 1.0, 0.1)
    0.2
    """

    name = "exp3"
    title = "Exp3"
    phrase = "the Exp3 algorithm"
    cites = ("auer2002",)
    smallest = SMALLEST

    @staticmethod
    def update(h, p, chosen, p_chosen, feedback, eta):
        gain = eta * feedback
        step = gain / p_chosen if p_chosen > SMALLEST else (HUGE if gain > 0.0 else -HUGE)
        return h + chosen * (step if gain != 0.0 else 0.0)

    @staticmethod
    def differential(h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, eta, deta):
        safe = p_chosen > SMALLEST
        den = p_chosen if safe else 1.0
        slope = feedback * (deta - eta * (dp_chosen / den)) / den
        return dh + chosen * (slope if safe else 0.0)

    def horizon(self, epsilon: float, actions: int, rewards: tuple[float, float]) -> int:
        """That of Exp3-IX: without exploration updates are the largest."""
        return smallest_horizon(self, epsilon, actions, rewards)


def smallest_horizon(rule: Rule, epsilon: float, actions: int, rewards: tuple[float, float]) -> int:
    """T_ε of Exp3 or Exp3-IX, of its form and of losses if rewards can be negative."""
    forms: list[Form] = [rule.form, "loss"] if rewards[0] < 0 else [rule.form]
    rate = rule.largest_step(rewards)
    return min(exp3_ix_horizon(epsilon, actions, rate, form) for form in forms)


def exp3_ix_horizon(epsilon: float, actions: int, rate: float, form: Form = "loss") -> int:
    """T_ε of Exp3-IX, and Exp3: Proposition 4 of Aubert et al. (2025) for losses.

    For gains it is this project's own bound. Of the two parameters only the rate matters here:
    exploration makes updates smaller.

    >>> exp3_ix_horizon(0.1, 2, 1 / 500**0.5)
    8
    """
    if form == "loss":
        return whole_part((1 / actions - epsilon) / rate)
    return whole_part(math.log(1 / (actions * epsilon)) / (rate * (1 + rate / (8 * epsilon**2))))


# Exp3-IX: Exp3 with implicit exploration.


@dataclass(frozen=True)
class Exp3IX(Rule):
    """h_A ← h_A + η·g/(p_A + γ) for the chosen action A; the others keep their preference.

    Kocák, Neu, Valko & Munos (2014); Neu (2015); Aubert et al. (2025), with η = θ₁/√n, γ = θ₂/√n.

    >>> [p.name for p in Exp3IX().parameters]
    ['eta', 'gamma']
    """

    name = "exp3-ix"
    title = "Exp3-IX"
    phrase = "the Exp3-IX algorithm"
    cites = ("neu2015",)
    smallest = SMALLEST

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*super().parameters, Parameter("gamma", 0.0, 1.0, default=0.03, scale=0.02))

    @staticmethod
    def update(h, p, chosen, p_chosen, feedback, eta, gamma):
        gain = eta * feedback
        den = p_chosen + gamma
        step = gain / den if den > SMALLEST else (HUGE if gain > 0.0 else -HUGE)
        return h + chosen * (step if gain != 0.0 else 0.0)

    @staticmethod
    def differential(h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, eta, gamma, deta, dgamma):
        safe = p_chosen + gamma > SMALLEST
        den = p_chosen + gamma if safe else 1.0
        slope = feedback * (deta - eta * ((dp_chosen + dgamma) / den)) / den
        return dh + chosen * (slope if safe else 0.0)

    def horizon(self, epsilon: float, actions: int, rewards: tuple[float, float]) -> int:
        return smallest_horizon(self, epsilon, actions, rewards)


RULES = Rule.registry
for _rule in (GradientBandit, Exp3, Exp3IX):  # in the order of messages
    RULES.register(_rule)


def rule_named(name: str, form: Form = "gain", max_rate: float = 1.0) -> Rule:
    """The rule of that name.

    >>> rule_named("exp3", form="loss")
    Exp3(form='loss', max_rate=1.0)
    """
    return RULES.named(name)(form, max_rate)
