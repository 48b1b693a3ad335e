"""Whether the gradient that a model gives is that of its likelihood."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howlearn.engine.whole import Likelihood

STEEP = 1e-4  # relative error that is forgiven: differences are not exact


def wrong_gradient(likelihood: Likelihood, points: NDArray[np.float64], mark: int) -> str | None:
    """A sentence about the first derivative that differs from differences, for the first learner.

    ``points`` are parameters within the bounds, ``mark`` the number of trials.
    """
    if not likelihood.analytic:
        return None
    whole = likelihood.whole
    u = whole.u(points)
    first, marks = np.zeros(len(points), np.int64), np.full(len(points), mark)
    given = likelihood.slope(first, u, marks)
    likelihood.analytic = False
    found = likelihood.slope(first, u, marks)
    likelihood.analytic = True
    wrong = ~(np.abs(given - found) <= STEEP * (1.0 + np.abs(found)))
    for row, k in np.argwhere(wrong):
        return (
            f"its gradient in {whole.parameters[k].name} is {given[row, k]:.6g} where differences "
            f"of the log-likelihood say {found[row, k]:.6g} (both per step of the search)"
        )
    return None
