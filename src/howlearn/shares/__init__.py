"""How common each model is: shares of models from log-evidence, or from what was selected.

Arrays only. ``evidence[learner, model]`` is in nats, and may be ``-inf`` for a model that cannot
have made a learner's choices; rows need not be normalised.
"""

from howlearn.shares.corrected import Confusion, corrected_shares
from howlearn.shares.marginal import log_marginal
from howlearn.shares.mixture import mixture_shares
from howlearn.shares.random_effects import RandomEffects, random_effects

__all__ = [
    "Confusion",
    "RandomEffects",
    "corrected_shares",
    "log_marginal",
    "mixture_shares",
    "random_effects",
]
