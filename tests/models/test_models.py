"""Every model of the field against its formula in plain Python, and what all of them must keep."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.study import Study
from howlearn.core.world import Shown, Trial, World
from howlearn.engine.whole import RecordLikelihood
from howlearn.fitting.replay import latents_of, log_probabilities
from howlearn.fitting.settings import latent_names, records_of, setting_of, whole_of
from howlearn.models import FIELD, field_model
from howlearn.models.aca import ACA
from howlearn.models.gcm import FEW, GCM
from howlearn.models.partition_model import PartitionModel
from howlearn.models.q_learning import QLearning
from models.oracles import ORACLES, Facts, Row, replay
from models.records import FEATURES, RIGHT, WRONG, facts_of, points, record, study_of

MODELS = [field_model(name, len(FEATURES["a"])) for name in FIELD]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)


def array(point: dict[str, float]) -> np.ndarray:
    return np.array(list(point.values()))


def assert_same(found, expected):
    """Equal to 1e-12, and to 1e-12 of their size where log-probabilities are far below −1."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_every_model_has_an_oracle():
    assert set(FIELD) == set(ORACLES)
    assert all(FIELD[name].name == name for name in FIELD)


@each_model
@pytest.mark.parametrize("n_actions", [2, 3])
@pytest.mark.parametrize("rich", [False, True], ids=["plain", "rich"])
def test_oracle(model, n_actions, rich):
    rows = record(seed=n_actions, n=80, n_actions=n_actions, rich=rich)
    study, facts = study_of(rows, n_actions=n_actions, rich=rich), facts_of(n_actions)
    for point in points(model.parameters, seed=5, n=12):
        found = log_probabilities(study, 0, model, array(point))
        expected = replay(rows, lambda: ORACLES[model.name](facts, point))  # noqa: B023
        assert_same(found, expected)


@each_model
def test_likelihood_sums_what_replay_gives(model):
    records = [record(seed, 60) for seed in (1, 2)]
    study = study_of(*records)
    setting = setting_of(study)
    whole = whole_of(model, study.contexts, study.actions, setting)
    likelihood = RecordLikelihood(whole, setting, records_of(study))
    for point in points(model.parameters, seed=6, n=3):
        x = np.stack([array(point)] * 2)
        found = likelihood.at(np.arange(2), x, np.array([[20, 60]] * 2))
        for i in range(2):
            part = study[i]
            log_p = log_probabilities(study, i, model, array(point))
            own = np.where(part.scored, log_p[np.arange(60), part.action], 0.0)
            assert_same(found[i], [own[:20].sum(), own.sum()])


@each_model
@pytest.mark.parametrize("n_actions", [2, 3])
def test_probabilities_over_all_sequences_sum_to_one(model, n_actions):
    contexts = ["a", "b", "a", "a"]
    answers = {"a": 0, "b": 1}
    sequences = list(itertools.product(range(n_actions), repeat=len(contexts)))
    records = [
        [
            Row(
                context,
                action,
                RIGHT if action == answers[context] else WRONG,
                reset=t == 0,
                forgone=[None] * n_actions,
            )
            for t, (context, action) in enumerate(zip(contexts, actions, strict=True))
        ]
        for actions in sequences
    ]
    study = study_of(*records, n_actions=n_actions, rich=False)
    for point in points(model.parameters, seed=7, n=3):
        total = 0.0
        for i, actions in enumerate(sequences):
            log_p = log_probabilities(study, i, model, array(point))
            total += math.exp(log_p[range(len(contexts)), actions].sum())
        assert total == pytest.approx(1.0, abs=1e-12)


@each_model
@pytest.mark.parametrize("n_actions", [2, 3])
def test_no_bound_gives_anything_but_probabilities(model, n_actions):
    # Long enough for weights that run away to overflow, were nothing done about it.
    study = study_of(record(3, 2500, n_actions, rich=False), n_actions=n_actions, rich=False)
    bounds = [(p.lower, p.upper) for p in model.parameters]
    for corner in itertools.product(*bounds):
        log_p = log_probabilities(study, 0, model, np.array(corner))
        assert not np.isnan(log_p).any()
        np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1.0, rtol=0, atol=1e-12)


@each_model
def test_first_choice_is_made_at_random(model):
    study = study_of(record(4, 5))
    for point in points(model.parameters, seed=8, n=3):
        point |= {"go_bias": 0.0} if "go_bias" in point else {}
        assert_same(log_probabilities(study, 0, model, array(point))[0], math.log(0.5))


@each_model
def test_latents_are_numbers_of_the_right_count(model):
    study = study_of(record(5, 40, rich=False), rich=False)
    theta = np.array([p.default for p in model.parameters])
    names = latent_names(model, study.actions, list(FEATURES["a"]))
    latents = latents_of(study, 0, model, theta)[1]
    assert latents.shape == (40, len(names))
    assert not np.isnan(latents).any()


@each_model
def test_policy_leaves_the_state_and_works_uncompiled(model):
    rows = record(6, 40)
    study = study_of(rows)
    setting = setting_of(study)
    n = len(FEATURES)
    levels = (setting.features, setting.levels, setting.n_levels, setting.numeric)
    world = World(2, n, n, *levels, WRONG, RIGHT)
    point = {p.name: p.default for p in model.parameters}
    reads = model.reads(study.actions)
    read = {name: point[v] if isinstance(v, str) else v for name, v in reads.items()}
    theta = _Theta(read or point)
    begin = model.start
    state = begin(world, theta) if begin.__code__.co_argcount > 1 else begin(world)
    out = np.empty(2)
    plain = [Row(r.context, r.action, r.reward, correct=r.correct) for r in rows]
    expected = replay(plain, lambda: ORACLES[model.name](facts_of(2), point))
    for row, log_p in zip(plain, expected, strict=True):
        context = list(FEATURES).index(row.context)
        everything = np.ones(setting.n_actions, np.bool_)
        shown = Shown(context, context, setting.features[context], everything, 2, row.load)
        before = copy.deepcopy(state)
        model.log_policy(state, shown, theta, out)
        names = getattr(state, "_fields", [""] * len(state))
        for name, one, other in zip(names, state, before, strict=True):
            if name != "room":  # in which any function may compute
                np.testing.assert_array_equal(one, other)
        assert_same(out, log_p)
        unknown = np.full(2, np.nan)
        model.update(
            state, Trial(*shown, row.action, row.reward, row.correct, unknown, True, np.nan), theta
        )


class _Theta(SimpleNamespace):
    """Parameters by name and by place, as in compiled code."""

    def __init__(self, point):
        super().__init__(**point)

    def __len__(self):
        return len(vars(self))

    def __getitem__(self, place):
        return list(vars(self).values())[place]


CELLS = {"a": "x", "b": "y", "c": "x", "d": "y", "e": "x"}
PARTITION = Partition((("a", "c", "e"), ("b", "d")))
BY_CELLS = [model for model in MODELS if model.cells != "none"]
each_by_cells = pytest.mark.parametrize("model", BY_CELLS, ids=lambda model: model.name)


@each_by_cells
def test_cells_that_share_parameters(model):
    rows = record(7, 80)
    study = study_of(rows)
    shared = PartitionModel("m", PARTITION, model, "shared")
    for point in points(model.parameters, seed=9, n=4):
        found = log_probabilities(study, 0, shared, array(point))
        facts = facts_of(2, CELLS)
        assert_same(found, replay(rows, lambda: ORACLES[model.name](facts, point)))  # noqa: B023


@pytest.mark.parametrize(
    "model", [m for m in BY_CELLS if m.cells == "any"], ids=lambda model: model.name
)
def test_cells_with_parameters_of_their_own(model):
    rows = record(8, 80)
    study = study_of(rows)
    own = PartitionModel("m", PARTITION, model, "per-cell")
    some = points(model.parameters, seed=10, n=4)
    for x, y in itertools.pairwise(some):
        found = log_probabilities(study, 0, own, np.concatenate([array(x), array(y)]))
        facts = facts_of(2, CELLS)
        by_cell = {
            cell: replay(rows, lambda: ORACLES[model.name](facts, point))  # noqa: B023
            for cell, point in {"x": x, "y": y}.items()
        }
        assert_same(found, [by_cell[CELLS[row.context]][t] for t, row in enumerate(rows)])


@pytest.mark.parametrize("block", [1, 4])
def test_aca_in_blocks(block):
    rows = record(9, 80)
    model = ACA(block=block)
    for point in points(model.parameters, seed=11, n=4):
        found = log_probabilities(study_of(rows), 0, model, array(point))
        expected = replay(rows, lambda: ORACLES["aca"](facts_of(2), point, block))  # noqa: B023
        assert_same(found, expected)


def test_aca_with_a_block_is_a_value():
    model = ACA(block=4)
    assert model == ACA(block=4) == pickle.loads(pickle.dumps(model))
    assert model not in (ACA(), ACA(block=5))
    assert hash(model) == hash(ACA(block=4))
    with pytest.raises(HowlearnError, match="number of trials, got -1"):
        ACA(block=-1)


def test_aca_with_one_trial_per_episode():
    study = study_of([Row("a", 1, RIGHT, reset=True), Row("a", 0, WRONG)], rich=False)
    p = np.exp(log_probabilities(study, 0, ACA(), np.array([0.5, 0.8]))[1])
    assert math.log(p[1] / p[0]) == pytest.approx(0.8 * 0.5 * RIGHT, abs=1e-12)


def test_gcm_equal_attention_is_the_default_of_its_shares():
    study = study_of(record(10, 60))
    theta = np.array([4.0, 1.5, 0.1])
    with_shares = np.array([*theta, *(p.default for p in GCM(dimensions=3).parameters[3:])])
    found = log_probabilities(study, 0, GCM(dimensions=3), with_shares)
    assert_same(found, log_probabilities(study, 0, GCM(), theta))
    with pytest.raises(HowlearnError, match="at least 2, got 1"):
        GCM(dimensions=1)


def test_gcm_with_more_contexts_than_its_table_holds():
    n = FEW + 10
    features = {str(i): {"x": str(i % 12), "y": str((i * 7) % 11)} for i in range(n)}
    rows = [
        Row(str((t * 31) % n), t % 2, float(t % 3 == 0), correct=t % 2 if t % 3 == 0 else 1 - t % 2)
        for t in range(150)
    ]
    study = Study(
        learners=("1",),
        starts=np.array([0, len(rows)]),
        contexts=tuple(features),
        actions=("A", "B"),
        context=np.array([int(row.context) for row in rows], np.int32),
        action=np.array([row.action for row in rows], np.int16),
        reward=np.array([row.reward for row in rows]),
        scored=np.ones(len(rows), bool),
        learned=np.ones(len(rows), bool),
        reset=np.arange(len(rows)) == 0,
        features=features,
        right_wrong=(0.0, 1.0),
    )
    point = {"c": 9.0, "gamma": 1.3, "b": 0.05, "share_1": 0.3}
    found = log_probabilities(study, 0, GCM(dimensions=2), array(point))
    facts = Facts(2, {c: c for c in features}, features)
    assert_same(found, replay(rows, lambda: ORACLES["gcm"](facts, point)))


def test_field_model():
    assert isinstance(field_model("q-learning", 0), QLearning)
    assert [len(field_model("gcm", n).parameters) for n in (0, 1, 2, 6, 7)] == [3, 3, 4, 8, 3]
    with pytest.raises(HowlearnError, match="there is no model 'x'; the models are q-learning, "):
        field_model("x", 2)
