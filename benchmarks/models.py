"""Models that are fitted whole: Q-learning against cpm-toolbox, and what ALCOVE costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import howlearn as hl
from benchmarks import data
from benchmarks.report import Row, duration, note
from benchmarks.timing import least
from howlearn.engine.whole import RecordLikelihood
from howlearn.fitting.settings import records_of
from howlearn.fitting.whole import Wholes

TIMES_BAR = 20  # times faster than cpm
WORSE_BAR = 1e-6  # nats
LIKELIHOOD_BAR, FIT_BAR = 0.5e-3, 0.5  # seconds, of ALCOVE
MAX_BETA = 20.0  # its least probability, 2e-9, is not yet clipped by cpm (at 1e-10)
STARTS = 5  # of cpm; ours are 5 too, the best of 73 points
TRIALS = 300
OURS, COMPILED, PER_TRIAL = 200, 10, 2  # learners
POINTS = 200  # at which ALCOVE's likelihood is timed
REVERSAL = """
name = "reversal"
actions = ["left", "right"]
contexts = [
  { name = "arms", rewards = { left = { probability = 0.8 }, right = { probability = 0.2 } } },
]
""" + "".join(
    f'[[reversals]]\ntrial = {trial}\nswap = ["left", "right"]\n' for trial in (76, 151, 226)
)
# Two learning models of cpm: the one it ships, compiled by numba, and one of the user's own, which
# its documentation has as a function of one trial.
WAYS = {
    "compiled": "cpm, its own RLRW, compiled",
    "per trial": "cpm, a model of one's own, called per trial",
}


def run(quick: bool) -> list[Row]:
    """Seconds per learner and fit, one thread throughout."""
    return _against_cpm(quick) + _alcove(quick)


def _against_cpm(quick: bool) -> list[Row]:
    try:
        found = version("cpm-toolbox")
    except PackageNotFoundError:
        note("models: cpm-toolbox is not installed (.venv/bin/pip install -e '.\\[bench]')")
        return []
    # A process of its own, since BLAS reads how many threads it may take when it is loaded: with
    # more than one, SciPy's L-BFGS-B wastes most of cpm's time on waiting, and we would look good.
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "benchmarks.models", *(["--quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | one)
    if done.returncode:
        note(f"models: the comparison with cpm failed: {done.stderr.strip()[-300:]}")
        return [Row("Q-learning against cpm", "failed", "", "", False)]
    times = json.loads(done.stdout.splitlines()[-1])
    counts = times["counts"]
    note(
        f"models: Q-learning, {TRIALS} trials: {counts['ours']} learners of ours and, since it is "
        f"slow, {counts['compiled']} of cpm {found} ({counts['per trial']} when called per trial)"
    )
    note(
        "models: equal parameters give cpm log-likelihoods that differ from ours by "
        f"{times['usual']:.1g} nats at its estimates and {times['extreme']:.1g} at alpha 1, beta "
        f"{MAX_BETA:g}, where it takes the log of 1 − p with p rounded to 1"
    )
    rows = [
        Row(f"Q-learning, ours, a learner's share of {counts['ours']}", duration(times["ours"]))
    ]
    for way, what in WAYS.items():
        ratio = times[way] / times["ours"]
        bar, met = f"at least {TIMES_BAR} × ours", ratio >= TIMES_BAR
        rows.append(
            Row(f"  {what}, {STARTS} starts", duration(times[way]), bar, f"{ratio:.1f} ×", met)
        )
    worst, mean = times["worst"], times["mean"]
    rows.append(
        Row(
            "  ours − cpm's log-likelihood, worst learner",
            f"{worst:.1g} nats",
            f"at least −{WORSE_BAR:g}",
            f"mean {mean:.1g}",
            worst >= -WORSE_BAR,
        )
    )
    return rows


def _alcove(quick: bool) -> list[Row]:
    study = data.learners("ByShape", 10 if quick else 50)
    model, one = hl.models.Alcove(), study.part(0, 1)
    likelihood = likelihood_of(one, model)
    u = np.random.default_rng(1).random((POINTS, len(model.parameters))) * likelihood.whole.ends
    x, learner = likelihood.whole.at(u), np.zeros(POINTS, np.int64)
    marks = np.full((POINTS, 1), data.TRIALS)
    each, alone, many = least(
        [
            partial(likelihood.at, learner, x, marks),
            partial(hl.fit, one, [model], threads=1),
            partial(hl.fit, study, [model], threads=1),
        ],
        1 if quick else 3,
    )
    what = f"ALCOVE, 9 exemplars, {data.TRIALS} trials"
    return [
        _within(f"{what}, one likelihood", each / POINTS, LIKELIHOOD_BAR),
        _within(f"{what}, one fit, a call with one learner only", alone, FIT_BAR),
        _within(f"{what}, one fit, a learner's share of {len(study)}", many / len(study), FIT_BAR),
    ]


def _within(what: str, seconds: float, bar: float) -> Row:
    ratio = f"{seconds / bar:.2f} × bar"
    return Row(what, duration(seconds), f"at most {duration(bar)}", ratio, seconds <= bar)


def likelihood_of(study: hl.Study, model: hl.Model) -> RecordLikelihood:
    """The compiled likelihood of a model that is fitted whole."""
    plan = Wholes([model], study)
    return RecordLikelihood(plan.wholes[model.name], plan.setting, records_of(study))


def reversal_learners(count: int) -> hl.Study:
    """Q-learners of all kinds in a two-armed bandit whose arms swap every 75 trials."""
    draw = np.random.default_rng(1)
    theta = np.column_stack([draw.uniform(0.05, 0.9, count), draw.uniform(0.5, 12.0, count)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reversal.toml"
        path.write_text(REVERSAL, encoding="utf-8")
        task = hl.Task.load(path)
    return hl.simulate(task, hl.models.QLearning(max_beta=MAX_BETA), theta, count, TRIALS, seed=1)


def compare(quick: bool) -> dict[str, Any]:
    """Seconds per learner of every way, and how the log-likelihoods differ."""
    study, model = reversal_learners(OURS), hl.models.QLearning(max_beta=MAX_BETA)
    learners, many = (2, 20) if quick else (COMPILED, OURS)
    compiled = partial(_cpm, study, learners, "compiled")
    ours, theirs = least(
        [partial(hl.fit, study.part(0, many), [model], threads=1), compiled], 1 if quick else 5
    )
    few = 1 if quick else PER_TRIAL
    start = perf_counter()
    _cpm(study, few, "per trial")
    slow = (perf_counter() - start) / few
    x, found = compiled()
    best = hl.fit(study.part(0, learners), [model]).log_likelihood(1.0)[:, 0]
    likelihood = likelihood_of(study, model)
    ends = np.tile([1.0, MAX_BETA], (learners, 1))
    return {
        "counts": {"ours": many, "compiled": learners, "per trial": few},
        "ours": ours / many,
        "compiled": theirs / learners,
        "per trial": slow,
        "worst": float(np.min(best - found)),
        "mean": float(np.mean(best - found)),
        "usual": float(np.max(np.abs(_at(likelihood, x) - found))),
        "extreme": float(np.max(np.abs(_at(likelihood, ends) - _cpm_at(study, ends)))),
    }


def _at(likelihood: RecordLikelihood, x: np.ndarray) -> np.ndarray:
    """Our log-likelihoods of the first learners, one per row of x."""
    return likelihood.at(np.arange(len(x)), x, np.full((len(x), 1), TRIALS))[:, 0]


# cpm: everything below is written as its documentation has it


def _cpm(study: hl.Study, count: int, way: str) -> tuple[np.ndarray, np.ndarray]:
    """Estimates and log-likelihoods of the first learners, by its bounded optimiser.

    The cheaper one of its two Hessians is chosen, since we offer none.
    """
    from cpm.optimisation import FminBound, minimise

    guesses = np.random.default_rng(1).uniform(0.0, [1.0, MAX_BETA], (STARTS, 2))
    frame = _frame(study, count)
    first = frame[frame["ppt"] == 0]
    search = FminBound(
        model=_built_in(first) if way == "compiled" else _own(first),
        data=frame,
        minimisation=minimise.LogLikelihood.bernoulli,
        number_of_starts=STARTS,
        initial_guess=guesses,
        ppt_identifier="ppt",
        approx_grad=True,
        hessian="finite_differences",
    )
    search.optimise()
    x = np.array([[fit["alpha"], fit["temperature"]] for fit in search.parameters], float)
    return x, -np.array([fit["fun"] for fit in search.fit])


def _cpm_at(study: hl.Study, x: np.ndarray) -> np.ndarray:
    """Its log-likelihoods of the first learners, one per row of x."""
    from cpm.optimisation import minimise

    loss, every = minimise.LogLikelihood.bernoulli, _frame(study, len(x)).groupby("ppt")
    return np.array([-_built_in(one).connector(loss)(x[i]) for i, one in every])


def _frame(study: hl.Study, count: int) -> Any:
    """Its values start at 1/2 and ours at 0: rewards 1/2 higher make the choices the same."""
    import pandas as pd

    part = study.part(0, count)
    reward = part.reward + 0.5
    columns = {
        "ppt": np.repeat(np.arange(count), np.diff(part.starts)),
        "arm_left": 1,
        "arm_right": 2,
        "reward_left": reward,  # only that of the chosen arm is looked at
        "reward_right": reward,
        "response": part.action.astype(np.int64),
        "observed": part.action.astype(np.int64),
    }
    return pd.DataFrame(columns)


def _built_in(first: Any) -> Any:
    from cpm.applications.reinforcement_learning import RLRW

    settings = [[0.3, 0.0, 1.0], [5.0, 0.0, MAX_BETA]]
    return RLRW(data=first, dimensions=2, parameters_settings=settings)


def _own(first: Any) -> Any:
    from cpm.generators import Parameters, Value, Wrapper
    from cpm.models.decision import Softmax
    from cpm.models.learning import SeparableRule

    def trial_by_trial(parameters: Any, trial: Any) -> dict[str, Any]:
        values = np.asarray(parameters.values)
        policy = Softmax(activations=values, temperature=parameters.temperature).compute()
        chosen = np.zeros(2)
        chosen[int(trial.response)] = 1.0
        rule = SeparableRule(
            weights=values, feedback=[trial.reward_left], input=chosen, alpha=parameters.alpha
        )
        return {"values": values + rule.compute().flatten(), "dependent": policy[1:]}

    parameters = Parameters(
        alpha=Value(value=0.3, lower=0.0, upper=1.0, prior="uniform"),
        temperature=Value(value=5.0, lower=0.0, upper=MAX_BETA, prior="uniform"),
        values=np.full(2, 0.5),
    )
    return Wrapper(model=trial_by_trial, data=first, parameters=parameters)


if __name__ == "__main__":
    print(json.dumps(compare("--quick" in sys.argv)))
