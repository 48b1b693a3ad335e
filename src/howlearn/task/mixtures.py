"""The mixtures of a task file: Exp4 and Switch over its models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from howlearn.core.errors import HowlearnError
from howlearn.model import Model
from howlearn.models.exp4 import Exp4
from howlearn.models.expert import Expert
from howlearn.models.mixture import Mixture
from howlearn.models.mixture_named import built
from howlearn.models.named import model_named
from howlearn.models.partition_model import PartitionModel
from howlearn.task.file import ModelTable, Problem, TaskFile

NOT_MIXED = ("partition", "by", "cells", "exceptions", "rule", "rules")  # keys of partition models


def build_mixture(table: ModelTable, models: Sequence[PartitionModel], n_features: int) -> Mixture:
    """A mixture of these models, as the file describes it."""
    experts = []
    names = table.experts or []
    if table.source is not None and names and all(table.parameters.get(name) for name in names):
        raise HowlearnError("all parameters are given, so that a source for them is not needed")
    for name in table.parameters:
        if name not in names:
            raise HowlearnError(
                f"parameters are given for {name}, which is not among the experts "
                f"({', '.join(names) or 'none'})"
            )
    for name in names:
        given = table.parameters.get(name, {})
        experts.append(Expert(_model(name, models, n_features), given))
    settings: dict[str, Any] = {"label": table.name}
    if table.source is not None:
        settings["source"] = table.source
    for key in ("form", "max_rate"):
        value = getattr(table, key)
        if value is not None:
            if table.kind != Exp4.kind:
                raise HowlearnError(f"a {table.kind} has no {key}")
            settings[key] = value
    return built(table.kind, experts, settings)


def _model(name: str, models: Sequence[PartitionModel], n_features: int) -> Model:
    if ":" in name and name not in {model.name for model in models}:
        raise HowlearnError(
            f"expert {name}: a task file does not run code; a mixture with a model of your own is "
            f'given on the command line, --add-model "exp4({name}, …)"'
        )
    return model_named(models, name, "the task", n_features)


def check_mixtures(task: TaskFile, models: Sequence[PartitionModel]) -> list[Problem]:
    """What is wrong with mixtures that cannot be built."""
    return [
        (("models", i, *loc), text)
        for i, table in enumerate(task.models or [])
        if table.kind != "partition"
        for loc, text in _problems(task, table, models)
    ]


def _problems(
    task: TaskFile, table: ModelTable, models: Sequence[PartitionModel]
) -> Iterator[tuple[tuple[str, ...], str]]:
    for key in NOT_MIXED:
        if getattr(table, key):
            yield (key,), 'stands in a mixture; allowed: only where kind = "partition"'
            return
    mixtures = [each.name for each in task.models or [] if each.kind != "partition"]
    for name in table.experts or []:
        if name in mixtures:
            yield ("experts",), f"{name} is a mixture itself; allowed: models that are none"
            return
    if table.experts is None:
        yield ("experts",), "missing; needed: a list of models"
        return
    try:
        mixture = build_mixture(table, models, len(task.contexts[0].features))
        for expert in mixture.experts:
            expert.values(task.actions)
    except HowlearnError as error:
        yield ("experts",), str(error)
