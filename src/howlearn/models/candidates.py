"""Candidate models that need no task: from the contexts and their features alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.rule import Rule
from howlearn.core.rules import GradientBandit
from howlearn.core.study import Study
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel


def candidates(
    contexts: Sequence[str],
    features: Mapping[str, Mapping[str, str]] | None = None,
    rule: Rule | Model | str = GradientBandit(),  # noqa: B008  (frozen)
) -> tuple[PartitionModel, ...]:
    """One cell, one per context, one per value of each feature and of each pair of features.

    Partitions that are the same are listed once; the models with fewest cells come first.

    >>> features = {"1": {"shape": "square"}, "2": {"shape": "square"}, "3": {"shape": "circle"}}
    >>> [model.name for model in candidates(["1", "2", "3"], features)]
    ['OneForAll', 'ByShape', 'OnePerItem']
    """
    described = {context: (features or {}).get(context, {}) for context in contexts}
    names = list(dict.fromkeys(name for values in described.values() for name in values))
    groups = [*combinations(names, 1), *combinations(names, 2)]
    # OneForAll and OnePerItem come before the features, so that they keep their names.
    one = "OneForAll" if len(contexts) > 1 else _alone(rule)
    partitions = [(one, Partition.all(contexts)), ("OnePerItem", Partition.each(contexts))]
    partitions += [(_name(group), Partition.by(described, group)) for group in groups]
    models: dict[frozenset[frozenset[str]], PartitionModel] = {}
    for name, partition in partitions:
        cells = frozenset(frozenset(cell) for cell in partition.cells)
        if cells not in models:
            taken = {model.name for model in models.values()}
            models[cells] = PartitionModel(_untaken(name, taken), partition, rule)
    return tuple(sorted(models.values(), key=lambda model: len(model.partition.cells)))


def _alone(rule: Rule | Model | str) -> str:
    """What the bandit is called where there is one context only, and nothing to divide.

    >>> _alone("gradient"), _alone("q-learning")
    ('gradient bandit', 'q-learning')
    """
    from howlearn.models.names import learning_of  # which knows this module

    learns = learning_of(rule)
    return learns.title.lower() if isinstance(learns, Rule) and learns.title else learns.name


def candidates_of(study: Study, rule: Rule | Model | str) -> tuple[PartitionModel, ...]:
    """The candidates of a study: from contexts and features, and the categories of its task."""
    models = candidates(study.contexts, study.features, rule)
    cells = () if study.kind is None else study.kind.cells
    if {c for cell in cells for c in cell} != {*study.contexts}:
        return models
    own = frozenset(frozenset(cell) for cell in cells)
    if any(own == {frozenset(cell) for cell in model.partition.cells} for model in models):
        return models  # of type I, a feature tells it
    more = PartitionModel("ByCategory", Partition(cells, "category"), rule)
    return tuple(sorted((*models, more), key=lambda model: len(model.partition.cells)))


def one_rate_versions(models: Iterable[PartitionModel]) -> tuple[PartitionModel, ...]:
    """The models again with one rate for all cells, where there are several cells with one rule.

    >>> [model.name for model in one_rate_versions(candidates(["1", "2"]))]
    ['OnePerItem (one rate)']
    """
    return tuple(
        model.with_one_rate()
        for model in models
        if len(model.units) > 1 and len({unit.rule for unit in model.units}) == 1
    )


MANY_CONTEXTS = 20  # that a learner may meet however few the trials are
TRIALS_PER_CONTEXT = 5  # below which nothing much can be learned about each on its own


def too_many_contexts(study: Study) -> str | None:
    """A sentence where typical learners met too many contexts to learn about each; else None."""
    if len(study.contexts) <= MANY_CONTEXTS or not len(study):
        return None
    met = np.concatenate([_n_met(part) for part in study.parts()])
    scored = study.n_scored
    if np.median(met * TRIALS_PER_CONTEXT - scored) <= 0:
        return None
    return (
        f"there are {len(study.contexts):,} contexts, and a typical learner met "
        f"{np.median(met):,.0f} of them in {np.median(scored):,.0f} trials, but a partition model, "
        "or Q-learning, would have to learn each of them separately; --model gcm (with --features "
        "COL,COL) generalises between contexts by their similarity, and --bin COL:4 groups "
        "numbers into a few contexts"
    )


def _n_met(study: Study) -> NDArray[np.int64]:
    """How many contexts each learner met."""
    sequence = np.repeat(np.arange(len(study)), np.diff(study.starts))
    pairs = np.unique(sequence * len(study.contexts) + study.context)
    return np.bincount(pairs // len(study.contexts), minlength=len(study))


def check_contexts(study: Study, models: Iterable[Model] | None = None) -> None:
    """Refuse partition models with several cells where there are too many contexts for them.

    Without ``models`` the candidates of the study are meant: building them may take minutes.
    """
    if models is None or any(model.one_by_one for model in models):
        why = too_many_contexts(study)
        if why is not None:
            raise HowlearnError(why)


def _name(features: Sequence[str]) -> str:
    return "By" + "And".join(_camel_case(feature) for feature in features)


def _camel_case(column: str) -> str:
    words = [word for word in re.split(r"[\W_]+", column) if word]
    return "".join(word[0].upper() + word[1:] for word in words) or column


def _untaken(name: str, taken: set[str]) -> str:
    """Two columns such as `a b` and `a_b` give one name: the second is numbered."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free
