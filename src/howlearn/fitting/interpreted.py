"""A model's functions run as plain Python: the obvious way, and the one whose errors one can read.

What the compiled loops trust is looked at here: normalisation, numbers, an unchanged state.
"""

from __future__ import annotations

import re
import traceback
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.world import Shown, Trial, World, keep_offered
from howlearn.engine.layout import LEARNED, RESET
from howlearn.engine.model_source import start_takes_theta
from howlearn.engine.whole import RecordLikelihood, Records, Setting
from howlearn.models.model import Model

TOLERANCE = 1e-8  # by which probabilities may miss 1
AFTER = ("action", "reward", "correct", "forgone", "ends_episode", "duration")  # the choice


class ModelError(HowlearnError):
    """Something is wrong with a model, not with the data."""


def interpreted(
    model: Model,
    setting: Setting,
    records: Records,
    x: Floats,
    most: int | None = None,
    cell_of: NDArray[np.int64] | None = None,
) -> Floats:
    """Log-probabilities [trial, action] of the first record; by default every context is a cell.

    Raises a ModelError with a sentence about the first thing that is not as it must be.
    """
    cells = np.arange(len(setting.features)) if cell_of is None else cell_of
    run = _Run(model, setting, x, int(cells.max()) + 1)
    stop = int(records.offsets[1])
    stop = stop if most is None else min(stop, most)
    out = np.zeros((stop, setting.n_actions))
    state = run.started()
    for t in range(stop):
        if records.flags[t] & RESET and t > 0:
            state = run.started()
        context = int(records.context[t])
        if cells[context] < 0:
            continue
        shown = _shown(setting, records, t, int(cells[context]))
        out[t] = run.policy(state, shown, t)
        keep_offered(out[t], shown.offered)
        if records.flags[t] & LEARNED:
            trial = _trial(setting, records, t, shown)
            run.look(state, trial, t)
            run.call("update", state, trial, run.theta)
    return out


def _shown(setting: Setting, records: Records, t: int, cell: int) -> Shown:
    context = int(records.context[t])
    everything = np.ones(setting.n_actions, np.bool_)
    offered = records.offered[t] if len(records.offered) else everything
    size = float(records.load[t]) if len(records.load) else float(len(setting.features))
    return Shown(context, cell, setting.features[context], offered, int(offered.sum()), size)


def _trial(setting: Setting, records: Records, t: int, shown: Shown) -> Trial:
    action, reward = int(records.action[t]), float(records.reward[t])
    wrong, right = setting.right_wrong
    correct = int(setting.answers[shown.context])
    others = [a for a in range(setting.n_actions) if shown.offered[a] and a != action]
    if reward == right:
        correct = action
    elif reward == wrong and len(others) == 1:
        correct = others[0]
    unknown = np.full(setting.n_actions, np.nan)
    return Trial(
        *shown,
        action,
        reward if records.flags[t] & LEARNED else np.nan,
        correct,
        records.forgone[t] if len(records.forgone) else unknown,
        bool(records.ends[t]) if len(records.ends) else True,
        float(records.duration[t]) if len(records.duration) else np.nan,
    )


class _Run:
    """One run of a model at given parameters."""

    def __init__(self, model: Model, setting: Setting, x: Floats, n_cells: int) -> None:
        self.model = model
        mine = {p.name: float(value) for p, value in zip(model.parameters, x, strict=True)}
        reads = model.reads(setting.actions, setting.zero).items()
        read = {name: mine[v] if isinstance(v, str) else float(v) for name, v in reads}
        self.theta = namedtuple("Theta", read or mine)(**(read or mine))
        self.start_theta = (self.theta,) if start_takes_theta(model) else ()
        n_contexts = len(setting.features)
        self.world = World(
            setting.n_actions,
            n_cells,
            n_contexts,
            setting.features,
            setting.levels,
            setting.n_levels,
            setting.numeric,
            *setting.rewards,
        )

    def call(self, name: str, *arguments: Any) -> Any:
        """One of the model's functions; what goes wrong in it becomes a sentence."""
        function: Callable[..., Any] = getattr(self.model, name)
        try:
            with np.errstate(all="ignore"):
                return function(*arguments)
        except HowlearnError:
            raise
        except Exception as error:  # whatever a user's code does
            raise ModelError(self._sentence(name, error)) from None

    def _sentence(self, name: str, error: Exception) -> str:
        where = f"{self.model.name}.{name}"
        looked = [field for field in AFTER if isinstance(error, AttributeError) and
                  error.name == field]  # fmt: skip
        if name in ("log_policy", "gradient") and looked:
            return (
                f"{where} looks at the future: it reads {looked[0]}, which is known only after the "
                "choice. A probability may depend on what is shown and on the state; what follows "
                "from a choice and its outcome belongs in update"
            )
        if isinstance(error, AttributeError) and "Theta" in str(error):
            known = ", ".join(parameter.name for parameter in self.model.parameters) or "none"
            return f"{where} asks for theta.{error.name}; the parameters of the model are {known}"
        last = traceback.extract_tb(error.__traceback__)[-1]
        file = f"{Path(last.filename).name}, line {last.lineno}"
        return f"{where} fails with {type(error).__name__}: {error} ({file}; {self.values})"

    def started(self) -> Any:
        """A start state, of a kind that compiled loops can change in place."""
        state = self.call("start", self.world, *self.start_theta)
        parts = state if isinstance(state, tuple) else (state,)
        if not all(isinstance(part, np.ndarray | tuple) for part in parts):
            raise ModelError(
                f"{self.model.name}.start gives a {type(state).__name__}; needed: a numpy array, "
                "or a (named) tuple of arrays, that update can change in place"
            )
        return state

    def look(self, state: Any, trial: Trial, t: int) -> None:
        """The latents at a trial; looking must leave the state as it is."""
        if self.model.observe is None:
            return
        before = copied(state)
        out = np.full(self._n_latents(), np.nan)
        self.call("observe", state, trial, self.theta, out)
        if not same(before, state):
            raise ModelError(
                f"{self.model.name}.observe changes the state at trial {t + 1}; only update may do "
                "that"
            )

    def _n_latents(self) -> int:
        sizes = {"(action)": self.world.n_actions, "(feature)": self.world.features.shape[1]}
        return sum(
            next((n for end, n in sizes.items() if name.endswith(end)), 1)
            for name in self.model.latents
        )

    def policy(self, state: Any, shown: Shown, t: int) -> Floats:
        """The log-probabilities at a trial, checked."""
        before = copied(state)
        out = np.full(self.world.n_actions, np.nan)
        given = self.call("log_policy", state, shown, self.theta, out)
        where = f"at trial {t + 1}, with {self.values}"
        if np.isnan(out).any():
            instead = " (it returns something instead)" if given is not None else ""
            raise ModelError(
                f"{self.model.name}.log_policy returns NaN {where}; it must fill out"
                f"{instead} with a log-probability for every action, whatever the parameters "
                "within their bounds"
            )
        total = float(np.sum(np.exp(np.minimum(out, 1.0))))
        if abs(total - 1.0) > TOLERANCE or np.any(out > TOLERANCE):
            raise ModelError(
                f"the probabilities of {self.model.name} add up to {total:.6g} {where}, not to 1; "
                "out must hold log-probabilities (howlearn.log_softmax(out) normalises them)"
            )
        if not same(before, state):
            raise ModelError(
                f"{self.model.name}.log_policy changes the state {where}; only update may do that"
            )
        again = np.full(self.world.n_actions, np.nan)
        self.call("log_policy", state, shown, self.theta, again)
        if not np.array_equal(out, again):
            raise ModelError(
                f"{self.model.name}.log_policy gives different probabilities when it is called "
                f"twice "
                f"{where}: nothing in it may be random"
            )
        return out

    @property
    def values(self) -> str:
        """The parameters in words."""
        found = [f"{name}={value:.4g}" for name, value in self.theta._asdict().items()]
        return ", ".join(found) or "no parameters"


def copied(state: Any) -> Any:
    """A state's numbers as they are now."""
    if isinstance(state, tuple):
        return tuple(copied(part) for part in state)
    return np.array(state, copy=True)


def same(before: Any, state: Any) -> bool:
    """Whether a state's numbers are those of its copy; its ``room`` may differ."""
    if isinstance(state, tuple):
        names = getattr(state, "_fields", [""] * len(state))
        pairs = zip(names, before, state, strict=True)
        return all(name == "room" or same(b, s) for name, b, s in pairs)
    return bool(np.array_equal(before, np.asarray(state), equal_nan=True))


# What the compiler says about a user's model, in a sentence.


Result = TypeVar("Result")


class Uncompiled(ModelError):
    """A model's text is at fault, whoever the learner is."""


def compiled_or_error(model: Model, work: Callable[[], Result]) -> Result:
    """Do work that may have to compile a model first."""
    try:
        return work()
    except Exception as error:
        # The compiler's errors have no common class.
        if not type(error).__module__.startswith("numba."):
            raise
        raise Uncompiled(_sentence(model, str(error))) from None


def _sentence(model: Model, text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("Failed in", "During:", "-", "File"))]
    where = re.search(r'File "(?P<file>[^"]+)", line (?P<line>\d+)', text)
    told = [re.sub(r" Raised from .*?([^/ ]+) \((\d+)\)", r" (\1, line \2)", line) for line in told]
    place = f" ({where['file'].rsplit('/', 1)[-1]}, line {where['line']})" if where else ""
    helper = re.search(r"Untyped global name '(\w+)'", text)
    if helper:
        return (
            f"{model.name} uses {helper[1]}, which cannot be compiled as it is; each function "
            "that the model calls must be decorated with @numba.njit, and classes and other "
            "objects cannot be used there"
        )
    return (
        f"{model.name} cannot be compiled: {' '.join(told[:2])[:300]}{place}; it may use numbers, "
        "numpy arrays, loops and functions decorated with @numba.njit"
    )


# Whether the gradient that a model gives is that of its likelihood.


STEEP = 1e-4  # relative error that is forgiven: differences are not exact


def wrong_gradient(
    likelihood: RecordLikelihood, points: NDArray[np.float64], mark: int
) -> str | None:
    """A sentence about the first derivative that differs from differences, for the first learner.

    ``points`` are parameters within the bounds, ``mark`` the number of trials.
    """
    if not likelihood.analytic:
        return None
    whole = likelihood.whole
    u = whole.u(points)
    first, marks = np.zeros(len(points), np.int64), np.full(len(points), mark)
    given = likelihood.slope(first, u, marks)
    likelihood.analytic = False
    found = likelihood.slope(first, u, marks)
    likelihood.analytic = True
    wrong = ~(np.abs(given - found) <= STEEP * (1.0 + np.abs(found)))
    for row, k in np.argwhere(wrong):
        return (
            f"its gradient in {whole.parameters[k].name} is {given[row, k]:.6g} where differences "
            f"of the log-likelihood say {found[row, k]:.6g} (both per step of the search)"
        )
    return None
