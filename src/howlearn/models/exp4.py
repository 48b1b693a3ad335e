"""Exp4: a learner who learns which of several strategies to trust."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import MAX_RATE, Form, Parameter
from howlearn.engine import compile as compiled
from howlearn.engine.layout import Statuses
from howlearn.models.mixture import Best, Mixture, WeighedTrials

NODES = 64  # of the grid on which tops are looked for
FINE = 4  # times as many in loss form with rates above 1, where tops may be narrow


@dataclass(frozen=True, repr=False)
class Exp4(Mixture):
    """Strategies with weights that grow with what following them would have earned.

    q = softmax(H), H = 0 at the start; the choice has the probability π = Σ q_j ξ_j, where ξ_j is
    the policy of expert j, which sees the learner's own choices and rewards. Then
    H_j ← H_j + θ·g·ξ_j(A)/π(A): Auer et al. (2002); Aubert et al. (2025), appendix on metalearning.
    As everywhere, ``theta`` is the effective rate: the paper's θ divided by √n. In ``loss`` form g
    is minus what was missed of the highest reward.

    >>> from howlearn.models.partition_model import candidates
    >>> model = Exp4(candidates(["1", "2"]))
    >>> model.name, model.n_parameters(n_actions=2)
    ('exp4(OneForAll, OnePerItem)', 4)
    """

    form: Form = "gain"
    max_rate: float = 1.0

    kind = "exp4"
    allowed = ("source", "form", "max_rate")
    title = "learns how much to rely on each strategy (Exp4)"
    phrase = "Exp4, in which the weights of several strategies are learned"
    cites = ("aubert2025", "auer2002")
    profiled = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.form not in ("gain", "loss"):
            raise HowlearnError(f"{self.name}: the form must be gain or loss, got {self.form!r}")
        if not 0 < self.max_rate <= MAX_RATE:
            raise HowlearnError(
                f"{self.name}: the largest rate must be above 0 and at most {MAX_RATE:g}, got "
                f"{self.max_rate:g}"
            )

    @property
    def settings(self) -> tuple[str, ...]:
        form = () if self.form == "gain" else (f"form={self.form}",)
        rate = () if self.max_rate == 1.0 else (f"max_rate={self.max_rate:g}",)
        return (*super().settings, *form, *rate)

    @cached_property
    def own(self) -> tuple[Parameter, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        if len(self.experts) == 1:
            return ()
        return (Parameter("theta", 0.0, self.max_rate, min(0.1, self.max_rate), scale=0.002),)

    def describe(self) -> dict[str, Any]:
        described = super().describe()
        bounds = described.pop("bounds")
        return {**described, "form": self.form, "bounds": bounds}

    @property
    def no_horizon(self) -> str:
        return "depends on a bound of its experts' advice, which howlearn theory --rule exp4 takes"

    @property
    def rough(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.form == "loss"

    def feedback(
        self, reward: Floats, learned: NDArray[np.bool_], extent: tuple[float, float]
    ) -> Floats:
        low, high = extent
        seen = reward if self.form == "gain" else (reward - high) / (high - low)
        return np.where(learned, seen, 0.0)

    def blend(self, own: Floats, advice: Floats, trials: WeighedTrials) -> tuple[Floats, Floats]:
        n, n_experts, n_actions = advice.shape
        log_q, log_pi = np.empty((n, n_experts)), np.empty((n, n_actions))
        rate = float(own[0]) if len(own) else 0.0
        compiled.mixture().blend(
            np.ascontiguousarray(advice), trials.action, trials.feedback, trials.flags, rate,
            log_q, log_pi,
        )  # fmt: skip
        return log_q, log_pi

    def slopes(
        self, own: Floats, advice: Floats, slopes: Floats, owner: Ints, trials: WeighedTrials
    ) -> tuple[Floats, Floats]:
        log_pi, out = np.empty(len(advice)), np.empty((len(advice), 1 + len(owner)))
        rate = float(own[0]) if len(own) else 0.0
        compiled.mixture().slopes(
            advice, slopes, owner, trials.feedback, trials.flags, rate, log_pi, out
        )
        return log_pi, out if len(own) else out[:, 1:]

    def best(self, advice: Floats, trials: WeighedTrials, marks: Ints, seen: Ints) -> Best:
        shape = marks.shape
        u, value, rest = np.zeros(shape), np.empty(shape), np.empty(shape)
        status = np.empty(shape, np.int8)
        parameter = self.own[0] if self.own else Parameter("theta", 0.0, 1.0, 0.0, scale=0.002)
        narrow = self.rough and self.max_rate > 1.0
        nodes = np.linspace(0.0, parameter.end, NODES * (FINE if narrow else 1))
        # Where nothing is known the default holds, also for what follows.
        u[:] = parameter.u(np.array([parameter.default]))[0]
        # One expert has nothing to mix: its likelihood is taken at a rate of 0, and none is sought.
        compiled.mixture().fit(
            trials.offsets, np.ascontiguousarray(advice), trials.feedback, trials.flags,
            np.ascontiguousarray(marks), seen, nodes if self.own else nodes[:2] * 0.0,
            parameter.scale, u, value, rest, status,
        )  # fmt: skip
        uninformed = np.isin(status, (Statuses.FLAT, Statuses.UNSEEN))
        theta = np.where(uninformed, parameter.default, parameter.at(u))[..., None]
        status = status[..., None]
        if not self.own:
            return Best(theta[..., :0], status[..., :0], value, rest)
        status[~np.isfinite(value)] = Statuses.BROKEN
        return Best(theta, status, value, rest)
