"""The candidates of a study where none are named: partitions, and what its kind of task demands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from howlearn.core.rule import Rule
from howlearn.core.rules import GradientBandit
from howlearn.core.study import Study
from howlearn.core.text import listed
from howlearn.fitting.settings import setting_of, untold
from howlearn.models import FIELD, field_model
from howlearn.models.adjustments import Part
from howlearn.models.model import EVERY_TASK, NEEDS, Model
from howlearn.models.partition_model import PartitionModel, candidates_of, too_many_contexts
from howlearn.models.partition_model import candidates as partitions


def candidates(
    study: Study | Sequence[str],
    features: Mapping[str, Mapping[str, str]] | None = None,
    rule: Rule | Model | str = GradientBandit(),  # noqa: B008  (frozen)
    field: bool = True,
) -> tuple[Model, ...]:
    """The candidates of a study, as ``select`` takes them; of contexts alone, the partitions.

    Of a study: one cell, one per context, one per value of each feature and of each pair of
    features; the bandit per context with stickiness; and the models of the field that its kind of
    task demands (``howlearn models`` says which), unless ``field`` is false. Partitions that are
    the same are listed once; those with fewest cells come first.

    >>> features = {"1": {"shape": "square"}, "2": {"shape": "square"}, "3": {"shape": "circle"}}
    >>> [model.name for model in candidates(["1", "2", "3"], features)]
    ['OneForAll', 'ByShape', 'OnePerItem']
    >>> import howlearn as hl
    >>> study = hl.simulate("shepard-1", "OneForAll", {"eta": 0.1}, learners=2, trials=20)
    >>> [model.name for model in candidates(study)][-4:]
    ['OnePerItem (one rate)+stickiness', 'q-learning', 'q-forgetting', 'win-stay-lose-shift']
    """
    if not isinstance(study, Study):
        return partitions(study, features, rule)
    base = candidates_of(study, rule)
    return (*base, *beside(study, base)) if field else base


def beside(study: Study, base: Sequence[PartitionModel]) -> Iterator[Model]:
    """The models that compete beside the partitions of a study."""
    finest = max(base, key=lambda model: len(model.partition.cells))
    if len(finest.units) > 1:  # one rate, as the field has it
        finest = finest.with_one_rate()
    for part in Part.registry.values():
        if part.by_default and not finest.not_adjusted:
            yield part().__radd__(finest)
    kind = () if study.kind is None else (study.kind.name, *study.kind.traits)
    n_features = len(next(iter(study.features.values()), {}))
    known, left_out = {model.name for model in base}, unfit(study)
    for name, model in FIELD.items():
        if model.default_for & {EVERY_TASK, *kind} and name not in {*known, *left_out}:
            yield field_model(name, n_features)


def unfit(study: Study, described: bool = False) -> dict[str, str]:
    """The field's models that this study cannot be explained by, and why.

    ``described``: by a task, so that there may be any number of contexts.
    """
    lacking = untold(setting_of(study))
    many = not described and too_many_contexts(study) is not None
    found = {}
    for name, model in FIELD.items():
        for need in sorted(model.needs & lacking):
            found[name] = f"it needs {NEEDS[need]}"
        if many and model.cells != "none":
            found[name] = "it would have to learn about too many contexts one by one"
    return found


def few_words(models: Sequence[Model]) -> str:
    """What to say where hardly anything is compared; nothing where three models or more are.

    >>> few_words(partitions(["1"]))
    'only one candidate: nothing was compared (--add-model field adds the models of the field)'
    """
    if len(models) > 2:
        return ""
    more = "(--add-model field adds the models of the field)"
    if len(models) == 1:
        return f"{ALONE} {more}"
    return f"only two candidates compete, {listed([m.name for m in models])} {more}"


ALONE = "only one candidate: nothing was compared"
