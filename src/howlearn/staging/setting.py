"""What the data tell a model that is fitted whole: features, answers, trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from howlearn.core.study import Study
from howlearn.engine.layout import LEARNED, RESET, SCORED
from howlearn.engine.whole import Records, Setting

Described = Mapping[str, Mapping[str, str]]


def setting_of(study: Study) -> Setting:
    """What is the same for all learners of a study."""
    return setting_for(
        study.contexts,
        study.actions,
        study.features,
        study.reward_range,
        study.right_wrong,
        study.answers,
    )


def setting_for(
    contexts: Sequence[str],
    actions: Sequence[str],
    features: Described,
    reward_range: tuple[float, float],
    right_wrong: tuple[float, float] | None,
    answers: NDArray[np.int16] | None,
) -> Setting:
    """The same from its parts, for studies that are still to be simulated."""
    values, levels, n_levels, numeric = coded(contexts, features)
    known = np.full(len(contexts), -1) if answers is None else answers
    return Setting(
        len(actions),
        values,
        levels,
        n_levels,
        numeric,
        reward_range,
        right_wrong or (np.nan, np.nan),
        np.ascontiguousarray(known, np.int64),
    )


def coded(
    contexts: Sequence[str], features: Described
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Features as numbers [context, feature], as numbered levels, how many, which are numeric.

    Numbers are stretched to run from 0 to 1, so that features on different scales weigh alike at
    first; words are numbered in the order of their first appearance.

    >>> features = {"a": {"size": "10", "shape": "round"}, "b": {"size": "30", "shape": "square"}}
    >>> coded(["a", "b"], features)[0].tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    names = feature_names(contexts, features)
    shape = (len(contexts), len(names))
    values, levels = np.zeros(shape), np.zeros(shape, np.int64)
    n_levels, numeric = np.zeros(len(names), np.int64), np.zeros(len(names), bool)
    for k, name in enumerate(names):
        words = [features[c][name] for c in contexts]
        known = {word: i for i, word in enumerate(dict.fromkeys(words))}
        levels[:, k] = [known[word] for word in words]
        n_levels[k] = len(known)
        numbers = _numbers(words)
        numeric[k] = numbers is not None
        values[:, k] = levels[:, k] if numbers is None else numbers
    return values, levels, n_levels, numeric


def feature_names(contexts: Sequence[str], features: Described) -> list[str]:
    """The features that every context has, in the order of their first appearance.

    >>> feature_names(["a", "b"], {"a": {"size": "1", "shape": "round"}, "b": {"size": "2"}})
    ['size']
    """
    described = [features.get(context, {}) for context in contexts]
    names = dict.fromkeys(name for mine in described for name in mine)
    return [name for name in names if all(name in mine for mine in described)]


def _numbers(words: Sequence[str]) -> NDArray[np.float64] | None:
    try:
        found = np.array([float(word) for word in words])
    except ValueError:
        return None
    if not np.isfinite(found).all():
        return None
    width = found.max() - found.min()
    return (found - found.min()) / width if width > 0 else np.zeros(len(found))


def records_of(study: Study) -> Records:
    """The trials as the compiled loops take them."""
    flags = SCORED * study.scored + LEARNED * study.learned + RESET * study.reset
    n_actions = len(study.actions)
    return Records(
        study.starts - study.starts[0],
        study.context,
        study.action,
        np.ascontiguousarray(study.reward),
        flags.astype(np.uint8),
        np.empty((0, n_actions)) if study.forgone is None else np.ascontiguousarray(study.forgone),
        np.empty(0, bool) if study.episode_end is None else study.episode_end,
        np.empty(0) if study.duration is None else study.duration,
    )
