"""A rule: what was rewarded is liked more, by the rate times the reward."""

from dataclasses import dataclass

import howlearn as hl


@hl.register
@dataclass(frozen=True)
class Toy(hl.Rule):
    """h_A ← h_A + η·g for the chosen action A."""

    name = "toy-rule"
    title = "Toy rule"
    phrase = "the toy rule"
    cites = ("sutton2018",)

    @staticmethod
    def update(h, p, chosen, p_chosen, feedback, eta):
        return h + eta * feedback * chosen

    @staticmethod
    def differential(h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, eta, deta):
        return dh + deta * feedback * chosen
