"""The evidence of one learner alone, without a group to tell where rates lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.evidence.hierarchy import Group, log_sum
from howlearn.evidence.rates import SPREADS


def log_evidence_alone(group: Group, spreads: Sequence[float] = SPREADS) -> Floats:
    """[learner, model]: the learner effect even on the grid, the cells' spread averaged."""
    even = -np.log(len(group.effects))
    found = []
    for s in spreads:
        cells = {rule: group.cells(s, rule) for rule in group.rules}
        found.append(
            np.stack([log_sum(group.sums(model, cells)) for model in group.models], axis=1)
        )
    return log_sum(np.stack(found, axis=-1)) + even - np.log(len(spreads))


def log_evidence_even(group: Group) -> Floats:
    """[learner, model]: every cell's rate on its own, even on the grid."""
    cells = {}
    for rule in group.rules:
        values = group.curves.values[rule][:, group.units[rule]]
        cells[rule] = (log_sum(values) - np.log(values.shape[2]))[:, :, None]
    return np.concatenate([group.sums(model, cells) for model in group.models], axis=1)
