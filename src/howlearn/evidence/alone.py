"""The evidence of one learner alone, without a group to tell where rates lie."""

from __future__ import annotations

import numpy as np

from howlearn.evidence.hierarchy import Group, log_sum
from howlearn.evidence.rates import SPREADS, Floats


def log_evidence_alone(group: Group) -> Floats:
    """[learner, model]: the learner effect even on the grid, the cells' spread averaged."""
    even = -np.log(len(group.effects))
    found = []
    for s in SPREADS:
        cells = {rule: group.cells(s, rule) for rule in group.rules}
        found.append(
            np.stack([log_sum(group.sums(model, cells)) for model in group.models], axis=1)
        )
    return log_sum(np.stack(found, axis=-1)) + even - np.log(len(SPREADS))
