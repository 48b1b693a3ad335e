"""Models that are fitted whole: no fit is worse than an optimum found another way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numba import njit
from scipy.optimize import minimize

from howlearn.core.rule import Parameter
from howlearn.engine.climb import climb
from howlearn.engine.whole import RecordLikelihood
from howlearn.fitting.fit import fit
from howlearn.fitting.fits import STATUS_WORDS
from howlearn.fitting.settings import records_of
from howlearn.fitting.whole import Wholes
from howlearn.models.adjustments import Bias, Lapse, Stickiness
from howlearn.models.networks import Alcove
from howlearn.models.q_learning import QLearning, QLearningForgetting
from howlearn.models.task import Task
from howlearn.simulation.simulate import simulate
from oracle import Trial
from studies import study_of

REVERSAL = """
name = "reversal"
actions = ["left", "right"]
trials = 300
contexts = [
  { name = "arms", rewards = { left = { probability = 0.8 }, right = { probability = 0.2 } } },
]
""" + "".join(f'[[reversals]]\ntrial = {t}\nswap = ["left", "right"]\n' for t in (76, 151, 226))
TRUNCATIONS = (0.5, 1.0)
ENOUGH = 1e-4  # nats


def run(text):
    """``A+ B-``: first action with reward 1, second with reward 0."""
    return [Trial("x", "AB".index(word[0]), float(word[1] == "+")) for word in text.split()]


def statuses(part, learner=0, mark=0):
    return [STATUS_WORDS[int(code)] for code in part.status[learner, mark]]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """200 Q-learners, of whom many hardly learn, or choose almost at random or almost never so."""
    path = tmp_path_factory.mktemp("task") / "reversal.toml"
    path.write_text(REVERSAL, encoding="utf-8")
    draw = np.random.default_rng(1)
    alpha = np.concatenate([draw.uniform(0.0, 1.0, 120), 10.0 ** draw.uniform(-3.0, 0.0, 80)])
    beta = np.concatenate([draw.uniform(0.0, 20.0, 120), 10.0 ** draw.uniform(-2.0, 1.3, 80)])
    theta = np.column_stack([alpha, np.minimum(beta, 20.0)])
    return simulate(Task.load(path), QLearning(), theta, 200, 300, seed=1)


# The optimum found another way: on all of 400 learning rates, the best beta of each. Given the
# rate, values are given, and the likelihood is that of a logistic regression: concave in beta.


@njit
def leads(action, reward, alpha):
    """By how much the value of the chosen action exceeds the other's, trial by trial."""
    q, out = np.zeros(2), np.empty(len(action))
    for t in range(len(action)):
        a = action[t]
        out[t] = q[a] - q[1 - a]
        q[a] += alpha * (reward[t] - q[a])
    return out


@njit
def height(lead, beta):
    total = 0.0
    for d in lead:
        total -= np.log1p(np.exp(-beta * d))
    return total


@njit
def steepness(lead, beta):
    first = second = 0.0
    for d in lead:
        p = 1.0 / (1.0 + np.exp(beta * d))
        first += d * p
        second -= d * d * p * (1.0 - p)
    return first, second


@njit
def best_beta(lead, lower, upper):
    """Newton's method, within what is left of the range after every step."""
    if steepness(lead, lower)[0] <= 0.0:
        return lower
    if steepness(lead, upper)[0] >= 0.0:
        return upper
    beta = 0.5 * (lower + upper)
    for _ in range(60):
        first, second = steepness(lead, beta)
        if first > 0.0:
            lower = beta
        else:
            upper = beta
        new = beta - first / second if second < 0.0 else lower
        if not lower < new < upper:
            new = 0.5 * (lower + upper)
        if abs(new - beta) < 1e-9:
            break
        beta = new
    return beta


@njit
def profile(action, reward, alphas, lower, upper):
    """The highest log-likelihood at every learning rate."""
    out = np.empty(len(alphas))
    for i, alpha in enumerate(alphas):
        lead = leads(action, reward, alpha)
        out[i] = height(lead, best_beta(lead, lower, upper))
    return out


def optimum(action, reward, alpha, beta):
    """Of one learner: 400 rates, even and in proportion, then closer around the five best tops."""
    least = max(alpha.lower, 1e-5)
    grid = np.concatenate(
        [np.linspace(alpha.lower, alpha.upper, 200), np.geomspace(least, alpha.upper, 200)]
    )
    grid = np.unique(np.clip(grid, alpha.lower, alpha.upper))
    values = profile(action, reward, grid, beta.lower, beta.upper)
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    tops = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
    best = values.max()
    for top in tops[np.argsort(-values[tops])][:5]:
        low, high = grid[max(top - 1, 0)], grid[min(top + 1, len(grid) - 1)]
        for _ in range(4):
            closer = np.linspace(low, high, 11)
            found = profile(action, reward, closer, beta.lower, beta.upper)
            best, k = max(best, found.max()), int(np.argmax(found))
            low, high = closer[max(k - 1, 0)], closer[min(k + 1, 10)]
    return best


def lacks(study, model):
    """By how many nats each fit [learner, truncation] is worse than the optimum."""
    alpha, beta = model.parameters
    fits = fit(study, [model], TRUNCATIONS)
    part = fits.of[model.name]
    lack = np.empty((len(study), len(TRUNCATIONS)))
    for i, j in np.ndindex(lack.shape):
        trials, n = study[i], fits.sizes[i, j]
        action, reward = trials.action[:n].astype(np.int64), trials.reward[:n]
        lead = leads(action, reward, part.theta[i, j, 0])
        assert part.log_likelihood[i, j] == pytest.approx(
            height(lead, part.theta[i, j, 1]), abs=1e-8
        )
        lack[i, j] = optimum(action, reward, alpha, beta) - part.log_likelihood[i, j]
    assert lack.min() > -1e-6  # else it is the other way that has missed the optimum
    return lack


def test_no_fit_is_worse_than_the_best_of_a_dense_grid(study):
    assert lacks(study, QLearning()).max() < ENOUGH


class Even(QLearning):
    """Bounds of the user's own, and no scale."""

    parameters = (Parameter("alpha", 0.05, 0.8), Parameter("beta", 1.0, 15.0))


class Scaled(QLearning):
    parameters = (
        Parameter("alpha", 0.05, 0.8, default=0.2, scale=0.01),
        Parameter("beta", 1.0, 15.0, default=2.0, scale=0.2),
    )


class Wide(QLearning):
    """Even steps in a range most of which is of no interest."""

    parameters = (Parameter("alpha", 0.0, 1.0), Parameter("beta", 0.5, 100.0))


class WithoutGradient(QLearning):
    parameters = Even.parameters
    gradient = None


@pytest.mark.parametrize("model", [Even(), Scaled(), Wide(), WithoutGradient()], ids=repr)
def test_other_bounds_do_as_well(study, model):
    """The first learners are of one kind, the last of the other."""
    assert lacks(study.part(0, 25), model).max() < ENOUGH
    assert lacks(study.part(185, 200), model).max() < ENOUGH


def test_the_compiled_likelihood_agrees_with_the_other_way(study):
    model = QLearning()
    plan = Wholes([model], study)
    likelihood = RecordLikelihood(plan.wholes[model.name], plan.setting, records_of(study))
    draw = np.random.default_rng(2)
    learner = draw.integers(0, len(study), 100)
    x = np.column_stack([draw.uniform(0.0, 1.0, 100), draw.uniform(0.0, 50.0, 100)])
    marks = np.tile([150, 300], (100, 1))
    found = likelihood.at(learner, x, marks)
    for i in range(100):
        trials = study[int(learner[i])]
        lead = leads(trials.action.astype(np.int64), trials.reward, x[i, 0])
        for j, n in enumerate((150, 300)):
            assert found[i, j] == pytest.approx(height(lead[:n], x[i, 1]), abs=1e-9)


# How fits end


def test_beta_at_0_leaves_alpha_open():
    """Every reward is followed by the other action: best not to learn."""
    part = fit(study_of(run("A+ B+ " * 10)), [QLearning()]).of["q-learning"]
    assert part.log_likelihood[0, 0] == pytest.approx(20 * np.log(0.5), abs=1e-6)
    assert "flat" in statuses(part)
    assert set(statuses(part)) <= {"flat", "at lower bound"}
    flat = statuses(part).index("flat")
    assert part.theta[0, 0, flat] == QLearning().parameters[flat].default


@pytest.mark.parametrize("seed", range(20))
def test_not_learning_is_never_worse_than_a_coin(seed):
    """At alpha = beta = 0 either may be anything, and both together may not."""
    draw = np.random.default_rng(seed)
    words = [f"{'AB'[draw.integers(2)]}{'+-'[draw.integers(2)]}" for _ in range(12)]
    study = study_of(run(" ".join(words)))
    for model in (QLearning(), QLearningForgetting()):
        part = fit(study, [model], [6, 1.0]).of[model.name]
        assert np.all(part.log_likelihood[0] >= np.array([6, 12]) * np.log(0.5) - 1e-6)


def test_at_the_upper_bounds():
    """The action that was rewarded last is chosen, the other one after no reward."""
    text = "A+ A- B+ B+ B- A+ A- B- A+ A+ A- B+ B- A+"
    part = fit(study_of(run(text)), [QLearning(max_beta=3.0)]).of["q-learning"]
    assert statuses(part) == ["at upper bound", "at upper bound"]
    assert part.theta[0, 0].tolist() == [1.0, 3.0]


def test_at_lower_bounds_that_are_not_0():
    part = fit(study_of(run("A+ B+ " * 10)), [Even()]).of["Even"]
    assert statuses(part) == ["at lower bound", "at lower bound"]
    assert part.theta[0, 0].tolist() == [0.05, 1.0]


def test_too_few_trials():
    """One trial says nothing of learning, and none nothing at all: the defaults predict."""
    fits = fit(study_of(run("A+")), [QLearning()], [0.5, 1])
    part = fits.of["q-learning"]
    assert fits.sizes.tolist() == [[0, 1]]
    assert [statuses(part, mark=j) for j in (0, 1)] == [["unseen"] * 2, ["flat"] * 2]
    assert part.theta[0].tolist() == [[p.default for p in QLearning().parameters]] * 2
    assert part.log_likelihood[0] == pytest.approx([0.0, np.log(0.5)])
    assert np.isnan(part.agreement[0, 0])


def test_how_many_searches_agree_is_reported(study):
    few = study.part(0, 20)
    agreement = fit(few, [QLearning()], TRUNCATIONS).of["q-learning"].agreement
    assert agreement.shape == (20, 2)
    assert np.all((agreement > 0.0) & (agreement <= 1.0))
    assert np.median(agreement) > 0.2


def test_a_top_that_few_of_many_searches_reach_is_doubted():
    """Two of eight, or one of them: of fits of short records like these a quarter were too low."""
    theta = {"c": 6.5, "phi": 1.0, "lambda_w": 0.3, "lambda_alpha": 0.3}
    short = simulate(Task.load("shepard-6"), Alcove(), theta, learners=12, trials=48, seed=3)
    part = fit(short, [Alcove()], threads=1).of["alcove"]
    shares = part.agreement[:, 0]
    doubted = np.array([statuses(part, i)[0] == "starts disagree" for i in range(12)])
    assert 0.25 in shares
    assert shares.max() > 0.5
    assert np.array_equal(doubted, shares <= 0.25)


@pytest.mark.parametrize("model", [QLearning(), QLearning() + Lapse(), WithoutGradient()], ids=repr)
def test_neither_threads_nor_other_learners_matter(study, model):
    together = study.part(114, 126)
    one, two, five = (fit(together, [model], TRUNCATIONS, threads=n) for n in (1, 2, 5))
    alone = [fit(together.part(i, i + 1), [model], TRUNCATIONS, threads=1) for i in range(12)]
    parts = [each.of[model.name] for each in (one, two, five)]
    for name in ("theta", "status", "log_likelihood", "rest", "agreement"):
        first = getattr(parts[0], name)
        for part in parts[1:]:
            assert np.array_equal(getattr(part, name), first)
        assert np.array_equal(
            np.concatenate([getattr(each.of[model.name], name) for each in alone]), first
        )


# What contains a model is never worse than it


@pytest.mark.parametrize("adjustment", [Lapse(), Stickiness(), Bias()], ids=lambda a: a.name)
def test_an_adjusted_model_is_never_worse_than_its_base(study, adjustment):
    task = Task.load("five-four")
    shapes = [model for model in task.models if model.name in ("ByShape", "OneForAll")]
    learners = simulate(task, "ByShape", {"eta": 0.05}, 5, 200, seed=3)
    for some, bases in ((learners, shapes), (study.part(0, 5), [QLearning()])):
        models = [*bases, *(base + adjustment for base in bases)]
        fits = fit(some, models, [3, 0.25, 0.5, 1.0])
        for base in bases:
            gain = (
                fits.of[(base + adjustment).name].log_likelihood - fits.of[base.name].log_likelihood
            )
            assert gain.min() > -1e-6


def test_two_adjustments_are_never_worse_than_either(study):
    base = QLearning()
    both = base + Lapse() + Stickiness()
    models = [base, base + Lapse(), base + Stickiness(), both]
    found = fit(study.part(0, 6), models, TRUNCATIONS).of
    for part in list(found.values())[:-1]:
        assert (found[both.name].log_likelihood - part.log_likelihood).min() > -ENOUGH


# Climbing


class Hill:
    """A function to climb, with its gradient."""

    joint = False

    def __init__(self, value, slope):
        self.value_at, self.slope_at = value, slope

    def value(self, problem, u):
        return np.array([self.value_at(point) for point in u])

    def slope(self, problem, u, value):
        return np.array([self.slope_at(point) for point in u])


def bowl(centre, curvature):
    """Highest, at 0, at its centre, which may lie outside the box."""
    return Hill(
        lambda u: -0.5 * (u - centre) @ curvature @ (u - centre),
        lambda u: -curvature @ (u - centre),
    )


def highest(hill, starts, ends):
    """By another optimiser."""
    found = [
        minimize(
            lambda u: -hill.value_at(u),
            start,
            jac=lambda u: -hill.slope_at(u),
            method="L-BFGS-B",
            bounds=[(0.0, end) for end in ends],
            options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10_000},
        )
        for start in starts
    ]
    return max(-each.fun for each in found)


@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize("seed", range(5))
def test_bowls(d, seed):
    """Skewed ones; about half of their centres lie outside of the box, in some directions."""
    draw = np.random.default_rng([d, seed])
    ends = draw.uniform(0.5, 8.0, d)
    turn = np.linalg.qr(draw.normal(size=(d, d)))[0]
    curvature = turn @ np.diag(10.0 ** draw.uniform(-1.0, 2.0, d)) @ turn.T
    hill = bowl(ends * draw.uniform(-0.3, 1.3, d), curvature)
    starts = draw.uniform(0.0, 1.0, (4, d)) * ends
    top, value = climb(hill, starts, ends)
    assert np.all((top >= 0.0) & (top <= ends))
    assert value == pytest.approx([highest(hill, starts, ends)] * 4, abs=1e-7)
    assert value == pytest.approx(hill.value(np.arange(4), top), abs=0.0)


def rosenbrock(shift):
    """The banana-shaped ridge, with its top at 1 + shift."""

    def value(u):
        x, y = u - shift
        return -100.0 * (y - x * x) ** 2 - (1.0 - x) ** 2

    def slope(u):
        x, y = u - shift
        return np.array([400.0 * x * (y - x * x) + 2.0 * (1.0 - x), -200.0 * (y - x * x)])

    return Hill(value, slope)


@pytest.mark.parametrize(
    ("ends", "top"),
    [
        ((4.0, 4.0), (3.0, 3.0)),  # inside
        ((3.0, 4.0), (3.0, 3.0)),  # on an edge, where the top is
        ((3.0, 3.0), (3.0, 3.0)),  # in a corner
        ((2.5, 4.0), (2.5, 2.25)),  # on an edge, short of the top
    ],
)
def test_rosenbrock(ends, top):
    """A bent ridge from four corners and the middle of the box."""
    ends = np.array(ends)
    starts = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0.5, 0.5]]) * ends
    found, value = climb(rosenbrock(2.0), starts, ends)
    best = np.argmax(value)
    assert found[best] == pytest.approx(top, abs=1e-5)
    assert value[best] == pytest.approx(rosenbrock(2.0).value_at(np.array(top)), abs=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_corners_edges_and_insides_are_reached_exactly(d):
    """Of a box whose centre is the start: a variable per bound, and one in between."""
    ends = np.linspace(1.0, 3.0, d)
    aim = np.array([-0.5, 1.5, 0.25, 2.0, -1.0, 0.5, 1.0, 0.0])[:d] * ends
    top, value = climb(bowl(aim, np.eye(d)), ends[None] / 2, ends)
    want = np.clip(aim, 0.0, ends)
    assert top[0] == pytest.approx(want, abs=1e-6)
    held = (aim < 0.0) | (aim > ends)
    assert np.array_equal(top[0][held], want[held])
    assert value[0] == pytest.approx(-0.5 * ((want - aim) ** 2).sum(), abs=1e-10)


def test_climbs_do_not_disturb_each_other():
    """One starts at the top, one where there is no value."""

    def value(u):
        return -np.inf if u[0] > 0.9 else -((u - 0.2) ** 2).sum()

    hill = Hill(value, lambda u: -2.0 * (u - 0.2))
    starts = np.array([[0.5, 0.5], [0.2, 0.2], [0.95, 0.5], [0.0, 1.0]])
    top, height = climb(hill, starts, np.ones(2))
    assert top[[0, 1, 3]] == pytest.approx(np.full((3, 2), 0.2), abs=1e-6)
    assert top[2].tolist() == [0.95, 0.5]
    assert height[2] == -np.inf
    for k in range(4):
        alone = climb(hill, starts[k : k + 1], np.ones(2))
        assert np.array_equal(alone[0][0], top[k])


def test_only_the_highest_go_on_after_a_cut():
    hill, ends = rosenbrock(2.0), np.array([4.0, 4.0])
    starts = np.random.default_rng(1).uniform(0.0, 4.0, (12, 2))
    whole = climb(hill, starts, ends)[1]
    cut = climb(hill, starts, ends, together=6, cuts=((3, 2),))[1]
    assert np.all(cut <= whole + 1e-12)
    for first in (0, 6):
        assert (cut[first : first + 6] > -1e-9).sum() <= 2


def test_a_flat_hill_is_not_climbed():
    hill = Hill(lambda u: -3.0, lambda u: np.zeros(2))
    top, value = climb(hill, np.array([[0.3, 0.4]]), np.ones(2))
    assert top.tolist() == [[0.3, 0.4]]
    assert value.tolist() == [-3.0]


def test_a_study_in_another_order_has_the_same_fits(study):
    part = study.part(40, 52)
    order = np.arange(12)[::-1]
    mixed = replace(
        part,
        learners=tuple(part.learners[i] for i in order),
        context=np.concatenate([part[i].context for i in order]),
        action=np.concatenate([part[i].action for i in order]),
        reward=np.concatenate([part[i].reward for i in order]),
    )
    one, two = (fit(each, [QLearning()]).of["q-learning"] for each in (part, mixed))
    assert np.array_equal(one.theta, two.theta[order])
