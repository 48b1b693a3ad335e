"""``howlearn mechanisms``: what people do when they learn, and how many of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.mechanism_jumps import Jumps
from howlearn.analyses.mechanism_space import BASES, PLACES, Space, data_of
from howlearn.analyses.mechanism_tables import Tables
from howlearn.analyses.mechanism_tests import Missing
from howlearn.analyses.mechanisms import Work
from howlearn.core.rule import Parameter, Size
from howlearn.core.study import Study
from howlearn.models.adjustments import Adjustment, Part
from howlearn.models.mechanism_parts import known_mechanisms

EVERY = tuple(known_mechanisms().values())


def people(
    learners: int, trials: int, seed: int, *, sticky: float = 0.0, forget: float = 0.0,
    share: float = 1.0,
) -> Study:  # fmt: skip
    """Delta-rule learners in a bandit that reverses; some are sticky, or forget."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(learners):
        shows = i < share * learners
        alpha, beta = rng.uniform(0.2, 0.4), rng.uniform(4.0, 6.0)
        q, last, good = np.full(2, 0.5), -1, rng.integers(2)
        for t in range(trials):
            good = 1 - good if t % 40 == 39 else good
            scores = beta * q
            if last >= 0 and shows:
                scores[last] += sticky
            p = 1 / (1 + np.exp(scores[0] - scores[1]))
            k = int(rng.random() < p)
            r = float(rng.random() < (0.8 if k == good else 0.2))
            q[k] += alpha * (r - q[k])
            q[1 - k] += (forget if shows else 0.0) * (0.5 - q[1 - k])
            rows.append((f"p{i:02}", "LR"[k], r))
            last = k
    return hl.read(
        pl.DataFrame(rows, ["learner", "action", "reward"], orient="row"), context="none"
    )


def random_study(seed: int) -> Study:
    """Three contexts with features, four actions of which some are on offer, restarts."""
    rng = np.random.default_rng(seed)
    n, lengths = 120, np.array([0, 60, 120])
    offers = np.array([[1, 1, 1, 1], [1, 1, 0, 1], [0, 1, 1, 0]], bool)
    offer = rng.integers(3, size=n).astype(np.int32)
    action = np.array([rng.choice(np.flatnonzero(offers[o])) for o in offer])
    reward = rng.choice([-1.0, 0.0, 2.0], n)
    reward[5] = np.nan
    features = {c: {"shape": s, "size": z} for c, s, z in ("aox", "boy", "cpx")}
    return Study(
        ("one", "two"), lengths, ("a", "b", "c"), ("A", "B", "nogo", "D"),
        rng.integers(3, size=n).astype(np.int32), action.astype(np.int16), reward,
        rng.random(n) > 0.1, rng.random(n) > 0.1, np.isin(np.arange(n), [0, 30, 60]),
        reward_range=(-1.0, 2.0), features=features, offers=offers, offer=offer, zero=0.0,
    )  # fmt: skip


def slowly(
    study: Study, data: object, base: str, theta: dict[str, float], bias: np.ndarray
) -> list:
    """The log-likelihood of every learner, as the formulas have it; values in their own units."""
    out = []
    low, high = -1.0, 2.0
    rest = low + (high - low) * (0.5 + theta["resting"])
    alike = {"aa": 1, "bb": 1, "cc": 1, "ab": 0.5, "ac": 0.5, "bc": 0.0}

    def rate(error: float) -> float:
        logit = np.log(theta["alpha"] / (1 - theta["alpha"]))
        logit += np.sign(error) * theta["asymmetry"] / 2
        return float(1 / (1 + np.exp(-logit)))

    def softmax(scores: np.ndarray, there: np.ndarray) -> np.ndarray:
        e = np.where(there, np.exp(scores), 0.0)
        return e / e.sum()

    for i in range(2):
        total, trials = 0.0, study[i]
        for t in range(len(trials)):
            if trials.reset[t] or t == 0:
                start = 0.0 if base == "gradient bandit" else rest
                q, attention = np.full((3, 4), start), np.ones((3, 4))
                level, trace, last = np.zeros(3), np.zeros((3, 4)), -1
            c, k, there = trials.context[t], trials.action[t], trials.offered[t]
            unit = (
                1.0
                if base == "gradient bandit"
                else (
                    theta["beta"] / (high - low) * np.exp(theta["drift"] * ((t + 0.5) / 60 - 0.5))
                )
            )
            scores = unit * q[c] + bias + theta["trace"] * trace[c]
            scores += theta["stickiness"] * (np.arange(4) == last)
            scores += theta["pavlovian"] * level[c] * (np.arange(4) != 2)
            p = softmax(scores, there)
            p = np.where(there, theta["lapse"] / there.sum() + (1 - theta["lapse"]) * p, 0.0)
            if trials.scored[t]:
                total += np.log(p[k])
            if not trials.learned[t]:
                continue
            r = trials.reward[t]
            if not np.isnan(r):
                for o in range(3):
                    key = "".join(sorted(("abc"[o], "abc"[c])))
                    weight = 1.0 if o == c else theta["generalisation"] * alike[key]
                    if base == "gradient bandit":
                        h = softmax(q[o], there)
                        fade = np.where(
                            (np.arange(4) == k) & (o == c), 1.0, 1 - theta["forgetting"]
                        )
                        if o != c:  # they fade before they are pulled
                            q[o] *= fade
                            h = softmax(q[o], there)
                            fade = np.ones(4)
                        gain = theta["eta"] * (r - low) / (high - low)
                        q[o] = q[o] * fade + weight * gain * ((np.arange(4) == k) - h)
                        continue
                    for a in range(4):
                        if o == c and a == k:
                            error = r - q[o, a]
                            speed = rate(error) * (attention[o, a] if theta["attention"] else 1.0)
                            surprise = min(1.0, abs(error) / (high - low))
                            attention[o, a] += theta["attention"] * (surprise - attention[o, a])
                            q[o, a] += speed * error
                            continue
                        if o == c and there[a]:
                            error = low + high - r - q[o, a]
                            q[o, a] += theta["fictive"] * rate(error) * error
                        q[o, a] += theta["forgetting"] * (rest - q[o, a])
                        if o != c and a == k:
                            error = r - q[o, a]
                            q[o, a] += weight * rate(error) * error
                error = r / (high - low) - level[c]
                if base != "gradient bandit":
                    level[c] += rate(error) * error
            trace[c] += 0.2 * ((np.arange(4) == k) - trace[c])
            last = k
        out.append(total)
    return out


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("without", [(), ("generalisation", "pavlovian")])  # these: in lanes
def test_the_loop_is_what_the_formulas_say(base: str, without: tuple[str, ...]) -> None:
    study = random_study(3)
    parts = tuple(part for part in EVERY if base in part.bases and part.name not in without)
    space = Space(parts, (base,), 4, {})
    on, points = space.on_coordinates, 3
    full = int(on.sum(axis=1).argmax())
    x = np.random.default_rng(1).normal(0.0, 0.6, (1, points, on.shape[1])).repeat(2, axis=0)
    data, out = data_of(study), np.zeros((2, points))
    told = (data.starts, data.arrays, data.world, space.own(study), np.arange(2), out)
    model = np.full(points, full)
    space.kernel().likelihoods(x, model, on, space.models[0], space.coded, *told)
    for q in range(points):
        theta, bias = dict.fromkeys(PLACES, 0.0), np.zeros(4)
        for g, (name, _) in enumerate(space.quantities):
            at = x[0, q, space.first[g] : space.first[g + 1]]
            if name == "bias":
                bias = space.coded[2][:, space.first[g] : space.first[g + 1]] @ at
            else:
                theta[name] = (1 / (1 + np.exp(-at[0])), np.exp(at[0]), at[0])[space.kinds[g]]
        assert np.abs(bias).max() > 0.05
        assert out[:, q] == pytest.approx(slowly(study, data, base, theta, bias), abs=1e-8)


@pytest.fixture(scope="module")
def sticky() -> Study:
    """Half of the people repeat themselves."""
    return people(20, 200, 5, sticky=1.0, share=0.5)


def row(found: hl.mechanisms, name: str) -> dict:
    return found.mechanisms.row(by_predicate=pl.col("mechanism") == name, named=True)


def test_half_of_the_people_repeat_themselves(sticky: Study) -> None:
    found = hl.mechanisms(sticky, seed=1, base="delta")
    at = row(found, "stickiness")
    assert at["lower"] < 0.5 < at["upper"]
    assert at["lower"] > 0.1
    assert at["sign"] > 0.7
    assert 0.5 < at["typical"] < 1.6
    assert all(row(found, name)["lower"] <= 0.1 for name in ("lapse", "bias", "forgetting"))
    who = found.learners.filter(mechanism="stickiness")["probability"].to_numpy()
    assert who[:10].mean() > who[10:].mean() + 0.3
    assert found.learners.filter(mechanism="lapse")["probability"].null_count() == 20
    assert "all or of nobody" in " ".join(found.limits)
    assert not found.alarms
    assert {*found.absent} == {"generalisation", "pavlovian"}
    assert found.combinations["share"].sum() == pytest.approx(1.0, abs=0.1)


def test_neither_threads_nor_the_order_of_learners_matter(sticky: Study) -> None:
    how = {"parts": ["stickiness", "lapse"], "base": "delta", "tests": False}
    found = hl.mechanisms(sticky, threads=1, **how)
    turned = sticky.take(np.arange(len(sticky))[::-1])
    other = hl.mechanisms(turned, threads=2, **how)
    assert other.mechanisms.equals(found.mechanisms)
    assert other.learners["learner"][0] == "p19"
    assert other.learners.sort("learner", "mechanism").equals(
        found.learners.sort("learner", "mechanism")
    )
    assert not hl.mechanisms(sticky, seed=7, **how).mechanisms.equals(found.mechanisms)


def test_what_is_missing_is_named_and_what_it_passes_for_is_withheld() -> None:
    study = people(24, 250, 8, sticky=1.2)
    found = hl.mechanisms(study, without=["stickiness"], base="delta")
    assert found.missing.row(0, named=True)["mechanism"] == "stickiness"
    assert found.missing["alarm"][0]
    for name in ("asymmetry", "forgetting"):
        assert row(found, name)["share"] is None
        assert "stickiness" in row(found, name)["withheld"]
    assert row(found, "lapse")["share"] is not None
    assert "--also stickiness" in found.alarms[0]


def test_asymmetry_is_told_only_beside_what_passes_for_it(sticky: Study) -> None:
    found = hl.mechanisms(sticky, ["asymmetry", "stickiness"], base="delta", tests=False)
    assert "forgetting, bias and lapse are not listed" in row(found, "asymmetry")["withheld"]


def test_more_parts_than_tables_hold(sticky: Study) -> None:
    found = hl.mechanisms(sticky, also=["trace", "attention", "drift"], seed=1, tests=False)
    assert len(found.parts) == 9
    at = row(found, "stickiness")
    assert at["lower"] > 0.1
    assert all(row(found, name)["lower"] <= 0.1 for name in ("lapse", "forgetting", "fictive"))
    assert found.combinations["share"].sum() <= 1.0 + 1e-9
    who = found.learners.filter(mechanism="stickiness")["probability"].to_numpy()
    assert who[:10].mean() > who[10:].mean() + 0.2
    assert "only the delta rule" in found.notes[0]
    assert "reversible-jump" in " ".join(found.method_sentences)


def test_jumps_find_what_tables_find(sticky: Study) -> None:
    work = Work.of(sticky, ["stickiness", "lapse", "bias"], (), (), {}, "delta", None)
    given = (work.space, data_of(work.study), work.space.own(work.study), 1)
    tables, jumps = (kind(*given).sampled(False, 3) for kind in (Tables, Jumps))
    near = np.abs(tables.shares.mean(axis=0) - jumps.shares.mean(axis=0))
    assert near.max() < 0.12
    assert np.abs(tables.probability - jumps.probability).mean() < 0.06
    assert np.corrcoef(tables.probability.ravel(), jumps.probability.ravel())[0, 1] > 0.97


def test_jumps_give_back_the_prior_where_nothing_is_told(sticky: Study) -> None:
    work = Work.of(sticky, ["stickiness", "lapse", "asymmetry"], (), (), {}, "delta", None)
    none = replace(work.study, scored=np.zeros(len(work.study.scored), bool))
    jumps = Jumps(work.space, data_of(none), work.space.own(none), 1).sampled(False, 3)
    assert jumps.shares.mean(axis=0) == pytest.approx([0.5, 0.5, 0.5], abs=0.1)
    assert jumps.shares.std(axis=0) == pytest.approx(0.433, abs=0.06)  # half of it Beta(½, ½)
    for share in (0.0, 1.0):  # nobody, everybody: ¼ each, and what Beta(½, ½) gives them
        assert (jumps.shares == share).mean() == pytest.approx(0.31, abs=0.08)
    typical = np.exp(jumps.location.mean(axis=0)[1:])  # above their floors
    assert typical == pytest.approx([0.67, 0.96], abs=0.12)


def test_which_base_people_follow() -> None:
    task = hl.Task.load("shepard-1")
    study = hl.simulate(task, "ByFeature1", {"eta": 0.4}, learners=12, trials=150, seed=2)
    cells = hl.Partition.by(study.features, [*study.features[study.contexts[0]]][:1])
    found = hl.mechanisms(study, ["lapse"], cells=cells, tests=False)
    assert row(found, "gradient bandit")["lower"] > 0.5
    assert "generalisation" not in found.absent
    delta = hl.mechanisms(people(10, 150, 4), ["lapse"], tests=False)
    assert row(delta, "gradient bandit")["upper"] < 0.5


def test_mechanisms_that_come_together(sticky: Study) -> None:
    how = {"parts": ["stickiness", "lapse"], "base": "delta", "tests": False}
    apart, together = (hl.mechanisms(sticky, together=t, **how) for t in (False, True))
    assert not together.mechanisms.equals(apart.mechanisms)
    assert "per combination" in together.method_sentences[0]


class Idle(Adjustment):
    """A part that changes nothing."""

    name = "idle"
    title = "nothing is done"
    effect = Size("signed", 0.6, 0.5, 0.35, 0.5, smallest=0.3)

    def parameters(self, actions):
        return (Parameter("idle", -5.0, 5.0, default=0.0),)

    @staticmethod
    def adjust(state, shown, theta, out):
        return


def test_a_part_that_no_data_could_show_is_refused(sticky: Study) -> None:
    with pytest.raises(hl.HowlearnError, match="cannot show idle: with or without it"):
        hl.mechanisms(sticky, [Idle], base="delta")


def test_bad_input(sticky: Study) -> None:
    class Never(Idle):
        name = "never"
        excludes = ("stickiness",)

    none = replace(sticky, reward=np.full(len(sticky.reward), np.nan))
    same = replace(sticky, action=np.zeros(len(sticky.action), np.int16))
    wrong = [
        (lambda: hl.mechanisms(sticky.take(np.arange(4))), "at least 5 are needed"),
        (lambda: hl.mechanisms(none), "there are no outcomes"),
        (lambda: hl.mechanisms(same), "always chooses the same"),
        (lambda: hl.mechanisms(sticky, ["memory"]), "there is no mechanism 'memory'"),
        (lambda: hl.mechanisms(sticky, ["generalisation"]), "it needs more than one context"),
        (lambda: hl.mechanisms(sticky, ["pavlovian"]), "cannot show pavlovian"),
        (lambda: hl.mechanisms(sticky, ["lapse"], also=["lapse"]), "named twice"),
        (lambda: hl.mechanisms(sticky, smallest={"lapse": 1.5}), "between 0 and 1, got 1.5"),
        (lambda: hl.mechanisms(sticky, smallest={"trace": 1.5}), "not among the mechanisms"),
        (lambda: hl.mechanisms(sticky, ["asymmetry"], base="gradient"), "cannot be put on a gra"),
        (lambda: hl.mechanisms(sticky, base="q"), "base must be delta, gradient or both"),
        (lambda: hl.mechanisms(sticky, also=[Never]), "exclude each other"),
    ]
    for ask, words in wrong:
        with pytest.raises(hl.HowlearnError, match=words):
            ask()


def test_every_part_says_what_it_is() -> None:
    for part in EVERY:
        assert part.in_words
        assert part.effect is not None
        assert part.effect.floor < part.effect.centre
        assert {*part.passes_for, *part.only_with} <= {each.name for each in EVERY}
        assert issubclass(part, Part)
        assert part.cites or part.name == "bias"


def test_people_who_take_other_contexts_together_are_seen() -> None:
    task = hl.Task.load("shepard-1")
    each, by_one = (
        hl.simulate(task, name, {"eta": 0.4}, learners=8, trials=150, seed=s)
        for s, name in enumerate(("OnePerItem", "ByFeature1"))
    )
    one = {"parts": ["lapse", "generalisation"], "base": "gradient"}
    found = hl.mechanisms(each, **one)
    assert not found.alarms
    assert row(found, "generalisation")["lower"] <= 0.1
    arrays = ("context", "action", "reward", "scored", "learned", "reset")
    mixed = replace(
        each,
        learners=(*each.learners, *(f"other {name}" for name in by_one.learners)),
        starts=np.concatenate([each.starts, by_one.starts[1:] + each.starts[-1]]),
        **{k: np.concatenate([getattr(each, k), getattr(by_one, k)]) for k in arrays},
    )
    found = hl.mechanisms(mixed, **one)
    first = found.missing.row(0, named=True)
    assert first["mechanism"] == "cells by feature1"
    assert first["lower"] <= 0.5 <= first["upper"]
    assert found.mechanisms["share"].null_count() == 2
    assert "howlearn select" in found.alarms[0]
    assert "other contexts together" in row(found, "generalisation")["withheld"]


def test_what_completeness_points_to_is_missing_unless_it_is_ruled_out() -> None:
    drift = known_mechanisms()["drift"]
    unsure, no = Missing(drift, 0.3, 0.0, 0.8, 20), Missing(drift, 0.1, 0.0, 0.3, 20)
    assert not unsure.alarms
    assert replace(unsure, suspected=True).alarms
    assert "what completeness misses" in replace(unsure, suspected=True).why
    assert not replace(no, suspected=True).alarms
