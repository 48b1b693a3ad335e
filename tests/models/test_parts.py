"""Parts: declared once, put on any base that can carry them, and all their combinations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.engine.whole import Told
from howlearn.fitting.fit import fit
from howlearn.fitting.replay import log_probabilities
from howlearn.fitting.settings import setting_of, whole_of
from howlearn.models import FIELD, field_model
from howlearn.models.adjustments import Attention, ChoiceTrace, Forgetting, LearningPart
from howlearn.models.names import ADJUSTMENTS, model_named
from howlearn.models.partition_model import PartitionModel
from howlearn.models.q_learning import (
    PearceHall,
    QLearning,
    QLearningForgetting,
    QLearningTwoRates,
    ValueLearner,
)
from howlearn.simulation.simulate import simulate
from models.oracles import Parts, replay
from models.records import facts_of, points, record, study_of

LEARNING = {name: part for name, part in ADJUSTMENTS.items() if issubclass(part, LearningPart)}
PARTITION = Partition((("a", "c", "e"), ("b", "d")))
CELLS = {"a": "x", "b": "y", "c": "x", "d": "y", "e": "x"}


def with_parts(base, parts):
    for part in parts:
        base = base + part()
    return base


def parameters(model, actions=("A", "B")):
    return [parameter for _, parameter in model.owners(actions)]


@pytest.mark.parametrize("part", ADJUSTMENTS.values(), ids=[*ADJUSTMENTS])
def test_a_part_says_what_it_is(part):
    made = part()
    assert part.title
    assert "\n" not in part.title
    assert part.phrase
    for parameter in made.parameters(["A", "B"]):
        assert parameter.lower <= parameter.default <= parameter.upper


BASES = {**{name: field_model(name, 3) for name in FIELD}, "m": PartitionModel("m", PARTITION)}
CARRIED = [
    (base, part)
    for part in ADJUSTMENTS.values()
    # What adjusts any model is compiled with each: one of every kind is enough.
    for base in (FIELD if issubclass(part, LearningPart) else ["q-learning", "m"])
    if not issubclass(part, LearningPart) or part.parameter.name in BASES[base].carries
]


def test_which_bases_carry_which_parts():
    found = {
        base: {part.name for other, part in CARRIED if other == base and part.name in LEARNING}
        for base in FIELD
    }
    assert found["q-learning"] == set(LEARNING)
    assert found["q-two-rates"] == set(LEARNING) - {"asymmetry"}
    assert found["pearce-hall"] == set(LEARNING) - {"attention"}
    assert not found["aca"]
    assert not BASES["m"].carries


@pytest.mark.parametrize(("base", "part"), CARRIED)
def test_at_its_neutral_value_a_part_leaves_a_base_as_it_is(base, part):
    model = BASES[base]
    more = model + part()
    study = study_of(record(3, 60))
    theta = np.array([p.lower + 0.4 * (p.upper - p.lower) for p in parameters(model)])
    neutral = [parameter.default for parameter in part().parameters(study.actions)]
    found = log_probabilities(study, 0, more, np.array([*theta, *neutral]))
    expected = log_probabilities(study, 0, model, theta)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rich", [False, True], ids=["plain", "rich"])
def test_all_combinations_on_one_base(rich):
    rows = record(5, 60, 3, rich=rich)
    study = study_of(rows, n_actions=3, rich=rich)
    for size in range(1, len(LEARNING) + 1):
        for parts in itertools.combinations(LEARNING.values(), size):
            model = with_parts(QLearning(), parts)
            for point in points(parameters(model), seed=size, n=2):
                found = log_probabilities(study, 0, model, np.array([*point.values()]))
                expected = replay(rows, lambda: Parts(facts_of(3), point))  # noqa: B023
                np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_all_combinations_share_their_compiled_code():
    study = study_of(record(5, 10))
    setting, code = setting_of(study), set()
    named = [QLearningTwoRates(), QLearningForgetting(), PearceHall(), field_model("go-no-go", 0)]
    made = [with_parts(QLearning(), [part]) for part in LEARNING.values()]
    for model in [*named, *made, with_parts(QLearning(), LEARNING.values())]:
        whole = whole_of(model, study.contexts, study.actions, setting)
        assert isinstance(whole.first, ValueLearner)
        code |= {*Told(whole, setting).steps.tolist()}
    assert len(code) == 1


def test_named_models_are_bases_with_parts():
    study = study_of(record(6, 80))
    pairs = [
        (QLearningForgetting(), QLearning() + Forgetting(), [0, 2, 1]),
        (PearceHall(), QLearning() + Attention(), [0, 2, 1]),
    ]
    for named, made, order in pairs:
        for point in points(named.parameters, seed=3, n=4):
            theta = np.array([*point.values()])
            found = log_probabilities(study, 0, made, theta[order])
            np.testing.assert_array_equal(found, log_probabilities(study, 0, named, theta))


@pytest.mark.parametrize("rates", ["shared", "per-cell"])
def test_in_cells_all_share_a_part(rates):
    rows = record(7, 80)
    study = study_of(rows)
    model = PartitionModel("m", PARTITION, QLearning(), rates) + Forgetting()
    names = [parameter.name for parameter in parameters(model)]
    assert names == ["alpha", "beta"] * (2 if rates == "per-cell" else 1) + ["phi"]
    one, other, phi = (0.3, 2.0), (0.6, 4.0), 0.2
    per_cell = rates == "per-cell"
    theta = np.array([*one, *(other if per_cell else ()), phi])
    found = log_probabilities(study, 0, model, theta)
    by_cell = {
        cell: replay(rows, lambda: Parts(facts_of(2, CELLS), point))  # noqa: B023
        for cell, (alpha, beta) in {"x": one, "y": other if per_cell else one}.items()
        for point in [{"alpha": alpha, "beta": beta, "phi": phi}]
    }
    expected = [by_cell[CELLS[row.context]][t] for t, row in enumerate(rows)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_trace_is_kept_in_every_cell_and_on_any_base():
    rows = record(8, 60)
    study = study_of(rows)
    model = PartitionModel("m", PARTITION) + ChoiceTrace()
    found = log_probabilities(study, 0, model, np.array([0.0, 0.0, 1.5, 0.25]))
    trace = {cell: [0.0, 0.0] for cell in CELLS.values()}
    for row, log_p in zip(rows, found, strict=True):
        if row.reset:
            trace = {cell: [0.0, 0.0] for cell in CELLS.values()}
        mine = trace[CELLS[row.context]]
        assert log_p[1] - log_p[0] == pytest.approx(1.5 * (mine[1] - mine[0]), abs=1e-12)
        trace[CELLS[row.context]] = [c + 0.25 * ((a == row.action) - c) for a, c in enumerate(mine)]


def test_more_parts_never_fit_worse():
    study = simulate(
        "shepard-2", "q-learning", {"alpha": 0.3, "beta": 4}, learners=3, trials=150, seed=2
    )
    names = ["q-learning", "q-learning+forgetting", "q-learning+forgetting+lapse"]
    found = fit(study, names).log_likelihood(1.0)
    assert np.all(np.diff(found, axis=1) >= -1e-9)


def test_what_cannot_be_put_on_is_refused_by_name():
    models = (PartitionModel("ByPair", PARTITION),)
    with pytest.raises(HowlearnError, match=r"\+forgetting \(.*\) cannot be put on ByPair"):
        model_named(models, "ByPair+forgetting")
    with pytest.raises(
        HowlearnError,
        match=r"it goes with q-learning, q-forgetting, q-start, q-signed, pearce-hall",
    ):
        model_named(models, "q-two-rates+asymmetry")
    with pytest.raises(HowlearnError, match="only once"):
        model_named(models, "q-learning+fictive+fictive")
    made = model_named(models, "q-learning(ByPair)+asymmetry+lapse")
    assert made.name == "q-learning(ByPair)+asymmetry+lapse"


def test_a_go_bias_needs_an_action_that_is_not_to_respond():
    study = simulate("shepard-1", "ByFeature1", {"eta": 0.1}, learners=1, trials=30, seed=1)
    for name in ("go-no-go", "q-learning+go-bias", "q-learning+pavlovian"):
        with pytest.raises(HowlearnError, match="needs an action that is called nogo"):
            fit(study, [name])
