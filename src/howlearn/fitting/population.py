"""Parameters of a mixture's strategies as the other learners tell them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.engine.layout import Statuses
from howlearn.fitting.fits import Fits
from howlearn.fitting.truncation import ALL
from howlearn.models.mixture import Mixture
from howlearn.models.model import Model


def asks_others(model: Model) -> bool:
    """Whether the parameters of a mixture's strategies are still to come from other learners."""
    return (
        isinstance(model, Mixture)
        and model.source == "population"
        and model.of_others is None
        and any(expert.fitted for expert in model.experts)
    )


def with_others(
    study: Study, models: Sequence[Model], fit: Callable[[Sequence[Model]], Fits]
) -> list[Model]:
    """The models, where mixtures that ask for it know what the other learners' fits say."""
    if not any(asks_others(model) for model in models):
        return list(models)
    names = list(dict.fromkeys(study.learners))
    if len(names) < 2:
        raise HowlearnError(
            "source=population takes the strategies' parameters from other learners, and there is "
            "one learner only; source=training or source=joint needs no others"
        )
    asking = [m for m in models if asks_others(m) and isinstance(m, Mixture)]
    experts = {e.model.name: e.model for m in asking for e in m.experts if e.fitted}
    fits = fit([*experts.values()])
    found: list[Model] = []
    for model in models:
        if not (asks_others(model) and isinstance(model, Mixture)):
            found.append(model)
            continue
        columns = [_of_model(fits, e.model, names) for e in model.experts if e.fitted]
        values = np.concatenate(columns, axis=1)
        found.append(model.known_from(dict(zip([*names, ""], values, strict=True))))
    return found


def _of_model(fits: Fits, model: Model, names: Sequence[str]) -> Floats:
    """For every learner, and last for anybody else, the median of the others' estimates."""
    part, j = fits.of[model.name], fits.at(ALL)
    known = ~np.isin(part.status[:, j], (Statuses.FLAT, Statuses.UNSEEN, Statuses.BROKEN))
    place = {name: k for k, name in enumerate(names)}
    learner = np.array([place[name] for name in fits.study.learners])
    defaults = [parameter.default for _, parameter in model.owners(fits.study.actions)]
    out = np.empty((len(names) + 1, len(defaults)))
    for p, default in enumerate(defaults):
        own = np.full(len(names) + 1, np.nan)
        for k in np.unique(learner[known[:, p]]):
            own[k] = np.median(part.theta[known[:, p] & (learner == k), j, p])
        out[:, p] = without_own(own, default)
    return out


def without_own(values: Floats, default: float) -> Floats:
    """Of every entry, the median of all others that are known.

    >>> without_own(np.array([1.0, 2.0, 9.0, np.nan]), 0.0).tolist()
    [5.5, 5.0, 1.5, 2.0]
    """
    known = np.flatnonzero(~np.isnan(values))
    out = np.full(len(values), np.median(values[known]) if len(known) else default)
    n = len(known) - 1  # others of a known one
    if n < 1:
        out[known] = default
        return out
    order = known[np.argsort(values[known], kind="stable")]
    ranked = values[order]
    rank = np.arange(len(order))
    low, high = (n - 1) // 2, n // 2
    out[order] = (ranked[low + (rank <= low)] + ranked[high + (rank <= high)]) / 2
    return out
