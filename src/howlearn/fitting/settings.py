"""What the data tell a model that is fitted whole: features, answers, trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Cell
from howlearn.core.rule import Parameter, Rule
from howlearn.core.study import Study
from howlearn.core.world import no_go_of
from howlearn.engine.layout import LEARNED, RESET, SCORED
from howlearn.engine.model_source import start_takes_theta
from howlearn.engine.whole import Records, Setting, Whole, places
from howlearn.models.model import NEEDS, Model
from howlearn.models.partition_model import Unit

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
        study.load is not None,
        study.zero,
    )


def setting_for(
    contexts: Sequence[str],
    actions: Sequence[str],
    features: Described,
    reward_range: tuple[float, float],
    right_wrong: tuple[float, float] | None,
    answers: NDArray[np.int16] | None,
    loaded: bool = True,
    zero: float = 0.0,
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
        tuple(actions),
        loaded,
        zero,
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
        on_offer(study),
        np.empty(0) if study.load is None else study.load,
    )


def on_offer(study: Study) -> NDArray[np.bool_]:
    """What was on offer as the compiled loops take it: [0, action] where always everything was."""
    offered = study.offered
    return np.empty((0, len(study.actions)), np.bool_) if offered is None else offered


@dataclass(frozen=True, eq=False)
class Marked:
    """Some learners' records, with the trials before which a likelihood begins and ends."""

    study: Study
    setting: Setting
    records: Records
    learners: NDArray[np.int64]
    marks: NDArray[np.int64]  # [learner of these, 2]
    theta: Mapping[str, NDArray[np.float64]]  # by model: [learner of these, parameter]
    fitted: Mapping[str, NDArray[np.float64]]  # the likelihood up to where it begins, by model


# How models are handed to the engine that fits them whole: their cells and parameters.


def places_by_unit(model: Model) -> list[tuple[Unit, NDArray[np.int64]]]:
    """The units of a partition, each with the places of its parameters among all."""
    edges = places([len(unit.rule.parameters) for unit in model.units])
    return [(unit, np.arange(*edges[i : i + 2])) for i, unit in enumerate(model.units)]


def cells_by_rule(
    model: Model, contexts: Sequence[str]
) -> list[tuple[Rule, NDArray[np.int64], NDArray[np.int64]]]:
    """By rule: the cell of every context (−1: another rule's), and each cell's parameters."""
    code = {name: i for i, name in enumerate(contexts)}
    found: dict[Rule, tuple[NDArray[np.int64], list[NDArray[np.int64]]]] = {}
    for unit, mine in places_by_unit(model):
        assert isinstance(unit.rule, Rule)
        cell_of, numbers = found.setdefault(unit.rule, (np.full(len(code), -1), []))
        for cell in unit.cells:
            cell_of[[code[c] for c in cell if c in code]] = len(numbers)
            numbers.append(mine)
    return [(rule, cell_of, np.array(numbers)) for rule, (cell_of, numbers) in found.items()]


def whole_of_unit(unit: Unit, contexts: Sequence[str], setting: Setting) -> Whole:
    """Cells that share their parameters; other contexts are none of their business."""
    own = range(len(unit.rule.parameters))
    return _whole(unit.rule, (), unit.rule.parameters, unit.cells, [own] * len(unit.cells),
                  contexts, setting)  # fmt: skip


def whole_of(
    model: Model, contexts: Sequence[str], actions: Sequence[str], setting: Setting
) -> Whole:
    """A model with all of its parameters, whatever its kind."""
    base, n_base = model.unadjusted, len(model.unadjusted.owners(actions))
    learned = [p for part in model.adjustments if part.learns for p in part.parameters(actions)]
    adjustments = tuple(part for part in model.adjustments if not part.learns)
    more = range(n_base, n_base + len(learned))  # in all cells
    edges = places([len(each.parameters(actions)) for each in adjustments]) + more.stop
    parameters = tuple(parameter for _, parameter in model.owners(actions))
    if base.units:
        first, cells, own = _of_partition(base)
    else:
        first, cells = base, [(context,) for context in contexts]
        own = [range(len(base.parameters))] * len(cells)
    if learned and isinstance(first, Model):
        first, own = first.carrying(learned), [[*mine, *more] for mine in own]
    return _whole(first, adjustments, parameters, cells, own, contexts, setting, edges)


def _of_partition(model: Model) -> tuple[Rule | Model, list[Cell], list[NDArray[np.int64]]]:
    """What learns in all cells, the cells, and where each has its parameters."""
    cells: list[Cell] = []
    own: list[NDArray[np.int64]] = []
    for unit, mine in places_by_unit(model):
        cells += unit.cells
        own += [mine] * len(unit.cells)
    first = model.units[0]
    if len(model.units) > 1 and not first.by_rule and start_takes_theta(first.rule):
        raise HowlearnError(
            f"the start of {first.rule.name} depends on its parameters, so that all cells of "
            f'{model.name} must share them: rates="shared"'
        )
    return first.rule, cells, own


def _whole(
    first: Rule | Model,
    adjustments: tuple,
    parameters: tuple[Parameter, ...],
    cells: Sequence[Cell],
    own: Sequence[Iterable[int]],
    contexts: Sequence[str],
    setting: Setting,
    edges: NDArray[np.int64] | None = None,
) -> Whole:
    code = {context: i for i, context in enumerate(contexts)}
    cell_of = np.full(len(contexts), -1)
    for number, cell in enumerate(cells):
        cell_of[[code[context] for context in cell if context in code]] = number
    reads = first.reads(setting.actions, setting.zero) if isinstance(first, Model) else {}
    rows = [_places_read(first, reads, [*mine], len(parameters)) for mine in own]
    index = np.array(rows, np.int64).reshape(len(cells), -1)
    latents = latent_names(
        first, [str(a) for a in range(setting.n_actions)], range(len(setting.n_levels))
    )
    return Whole(
        first,
        adjustments,
        parameters,
        cell_of,
        index,
        np.zeros(1, np.int64) if edges is None else edges,
        len(latents),
        tuple(value for value in reads.values() if not isinstance(value, str)),
    )


def _places_read(
    first: Rule | Model, reads: Mapping[str, str | float], mine: Sequence[int], n: int
) -> Sequence[int]:
    """Where the functions of a cell find what they read; what is held follows n parameters."""
    names = {parameter.name: place for parameter, place in zip(first.parameters, mine, strict=True)}
    held = count(n)
    found = [names[v] if isinstance(v, str) else next(held) for v in reads.values()]
    return found or mine


def latent_names(
    learns: Rule | Model, actions: Sequence[str], features: Sequence[object]
) -> tuple[str, ...]:
    """The latent variables with one name per number: ``value(A)``, ``value(B)``.

    >>> from howlearn.core.rules import GradientBandit
    >>> latent_names(GradientBandit(), ["A", "B"], [])
    ('preference(A)', 'preference(B)')
    """
    found: list[str] = []
    for name in learns.latents:
        stem, bracket, over = name.partition("(")
        several = {"action)": actions, "feature)": features}.get(over) if bracket else None
        found += [name] if several is None else [f"{stem}({each})" for each in several]
    return tuple(found)


def untold(setting: Setting) -> frozenset[str]:
    """What the data do not tell, of what models may need."""
    told = {
        "features": setting.features.shape[1] > 0,
        "correct": bool(np.isfinite(setting.right_wrong[1]) or np.all(setting.answers >= 0)),
        "load": setting.loaded,
        "no-go": no_go_of(setting.actions) is not None,
    }
    return frozenset(need for need, known in told.items() if not known)


def check_needs(learns: Rule | Model, setting: Setting) -> None:
    """Refuse data that do not tell what a model must know."""
    for need in sorted(learns.needs & untold(setting)):
        raise HowlearnError(f"model {learns.name} needs {NEEDS[need]}")
