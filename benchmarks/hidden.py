"""hmm: against dynamax's forward pass, false second states, and switch times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from benchmarks.report import Row, note
from benchmarks.tasks import reversal
from howlearn import Range, Study, fit, leaders, select, simulate, weights
from howlearn.fitting.replay import log_probabilities
from howlearn.models import FixedPolicy, HiddenStrategies
from howlearn.models.values import drawn, parameter_values

BAR, FALSE_STATES = 1e-8, 0.10
SEED = 24001
CRITERIA = (
    "population",
    "evidence",
    "penalized(c=0.012)",
    "prequential(blocks=5, start=0.5)",
    "bic",
)
MODEL = "hmm(q-learning, coin[p(A)=0.5], source=joint)"


def run(quick: bool) -> list[Row]:
    """With fixed policies against dynamax; with learners of one strategy, and of two."""
    return [*_forward(), *_one_strategy(quick), *_switches(quick)]


def sides(*probabilities: float) -> HiddenStrategies:
    """Strategies that choose A with these probabilities."""
    policies = [FixedPolicy(f"A {p:g}", {"A": p, "B": 1 - p}) for p in probabilities]
    return HiddenStrategies(policies)


def _forward() -> list[Row]:
    try:
        import jax

        jax.config.update("jax_enable_x64", True)
        from dynamax.hidden_markov_model import hmm_filter
    except ImportError:
        return [Row("dynamax's forward pass, fixed policies", "dynamax is not installed")]
    task, worst = reversal(), 0.0
    for probabilities, stay in (((0.9, 0.2), 0.95), ((0.7, 0.5, 0.1), 0.8)):
        model = sides(*probabilities)
        study = simulate(task, model, {"stay": stay}, learners=5, trials=1000, seed=SEED)
        chain = model.chain(np.array([stay]))[0]
        start = np.full(len(probabilities), 1 / len(probabilities))
        for i, one in enumerate(study):
            log_p = log_probabilities(study, i, model, np.array([stay]))
            mine = log_p[np.arange(len(one)), one.action].sum()
            p = np.array(probabilities)
            advice = np.log(np.where(one.action[:, None] == 0, p, 1 - p))
            theirs = float(hmm_filter(start, chain, advice).marginal_loglik)
            worst = max(worst, abs(mine - theirs))
    return [
        Row("dynamax's forward pass, fixed policies, 1,000 trials: largest difference in nats",
            f"{worst:.1e}", f"{BAR:g}", met=worst < BAR)
    ]  # fmt: skip


def _one_strategy(quick: bool) -> list[Row]:
    """Learners who follow Q-learning throughout, judged beside two states."""
    task, rows = reversal(), []
    ranges = {"alpha": Range(0.1, 0.6), "beta": Range(2.0, 8.0)}
    for trials, learners in {300: 20}.items() if quick else {300: 40, 1000: 20}.items():
        single = task.model("q-learning")
        theta = drawn(parameter_values(single, ranges, task.actions), range(learners), (SEED,))
        study = simulate(task, single, theta, trials=trials, seed=SEED)
        found = select(study, [single, task.model(MODEL)], [*CRITERIA], check=False).selection
        for criterion in CRITERIA:
            mine = found.filter(criterion=criterion)
            wrong = float((mine["model"] != "q-learning").mean())  # type: ignore[arg-type]
            clear = ((mine["model"] != "q-learning") & (mine["verdict"] == "clear")).mean()
            error = np.sqrt(wrong * (1 - wrong) / learners)
            rows.append(
                Row(f"q-learners given two states by {criterion}, n = {trials}",
                    f"{wrong:.0%} ± {error:.0%}, clearly {clear:.0%}", f"{FALSE_STATES:.0%}",
                    met=wrong <= FALSE_STATES)
            )  # fmt: skip
        note(f"one strategy, n = {trials}: done")
    return rows


def _switches(quick: bool) -> list[Row]:
    """Learners of one fixed policy who take up another at a random trial."""
    learners, n, rng = (20 if quick else 200), 300, np.random.default_rng(SEED)
    model, task = sides(0.85, 0.3), reversal()
    study = simulate(task, model, {"stay": 0.99}, learners=learners, trials=n, seed=SEED)
    truth = rng.integers(60, n - 60, learners)
    p = np.where(np.arange(n) < truth[:, None], 0.85, 0.3)
    action = (rng.random((learners, n)) >= p).astype(np.int16)
    found = leaders(weights(fit(_choosing(study, action), [model])))
    changes = found.filter(pl.col("before").is_not_null())
    last = changes.group_by("learner", maintain_order=True).agg(pl.col("trial").last())
    numbers = last["learner"].cast(pl.Int64).to_numpy() - 1
    errors = np.abs(last["trial"].to_numpy() - 1 - truth[numbers])
    once = changes.group_by("learner").len().filter(pl.col("len") == 1).height
    return [
        Row("switch found (likeliest sequence), of learners who switch once",
            f"{len(last) / learners:.0%}; exactly once {once / learners:.0%}"),
        Row("switch time: median error in trials; within 10",
            f"{np.median(errors):g}; {np.mean(errors <= 10):.0%}"),
    ]  # fmt: skip


def _choosing(study: Study, action: np.ndarray) -> Study:
    return replace(study, action=action.reshape(-1))
