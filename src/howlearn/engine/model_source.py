"""What learns and what adjusts its choices, turned into source that the compiler takes.

A model that is fitted whole has a first part that learns (a model of its own functions, or a rule
in every cell) and further parts that adjust its policy (lapses, biases). For such a list of parts
``source`` writes six functions: begin, policy, learn, note, look and slope.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from howlearn.core.rule import Rule

FUNCTIONS = ("start", "log_policy", "update", "observe", "gradient")  # of a model
PARTS: dict[str, Any] = {}  # by the hash of all they mean: generated modules fetch them here

_HEADER = """
from collections import namedtuple
import math
import numpy as np
from numba import njit
from howlearn.engine.model_source import PARTS
from howlearn.core.world import Shown, Trial, World, keep_offered, log_softmax

# Functions that only pass arrays on do not count references: that would cost more than the
# arithmetic of a small model.
PLUMBING = {**FLAGS, "_nrt": False}
COUNTING = {**FLAGS, "_nrt": True}  # said explicitly, since callees inherit it
"""

_MODEL = """
_Part = PARTS["{key}"]
Theta = namedtuple("Theta", {names!r})
_start = njit(**COUNTING)(_Part.start)
_log_policy = njit(**COUNTING)(_Part.log_policy)
_update = njit(**COUNTING)(_Part.update)


@njit(**PLUMBING)
def theta_of(x, index, cell):
    return Theta({values})


@njit(**FLAGS)
def start_first(world, x, index):
    return _start(world{start_theta})


@njit(**PLUMBING)
def policy_first(state, shown, x, index, out):
    _log_policy(state, shown, theta_of(x, index, shown.cell), out)


@njit(**PLUMBING)
def update_first(extent, state, trial, x, index):
    _update(state, trial, theta_of(x, index, trial.cell))
"""

_OBSERVE = """
_observe = njit(**COUNTING)(_Part.observe)


@njit(**PLUMBING)
def look(state, trial, x, index, out):
    _observe(state, trial, theta_of(x, index, trial.cell), out)
"""

_NO_OBSERVE = """

@njit(**PLUMBING)
def look(state, trial, x, index, out):
    pass
"""

_GRADIENT = """
_gradient = njit(**COUNTING)(_Part.gradient)


@njit(**PLUMBING)
def slope(state, shown, x, index, action, log_p, out, slope):
    theta = theta_of(x, index, shown.cell)
    _gradient(state, shown, theta, action, out)
    for d in range(index.shape[1]):
        slope[index[shown.cell, d]] += out[d]
    if shown.n_offered == len(log_p):
        return
    # d log(p / Σ p) = d log p − Σ p·d log p / Σ p, the sums being over what is on offer.
    for a in range(len(log_p)):
        if log_p[a] > -np.inf:
            _gradient(state, shown, theta, a, out)
            for d in range(index.shape[1]):
                slope[index[shown.cell, d]] -= math.exp(log_p[a]) * out[d]
"""

_NO_GRADIENT = """

@njit(**PLUMBING)
def slope(state, shown, x, index, action, log_p, out, slope):
    pass
"""

_RULE = """
_Part = PARTS["{key}"]
_update = njit(**COUNTING)(_Part.update)


@njit(**FLAGS)
def start_first(world, x, index):
    return np.zeros((world.n_cells, world.n_actions))


@njit(**PLUMBING)
def policy_first(state, shown, x, index, out):
    for a in range(len(out)):
        out[a] = state[shown.cell, a]
    log_softmax(out)


@njit(**PLUMBING)
def update_first(extent, state, trial, x, index):
    feedback = {feedback}
    c, n = trial.cell, state.shape[1]
    largest = -np.inf
    for a in range(n):
        if trial.offered[a]:
            largest = max(largest, state[c, a])
    total = 0.0
    for a in range(n):
        if trial.offered[a]:
            total += math.exp(state[c, a] - largest)
    p_chosen = math.exp(state[c, trial.action] - largest) / total
    for a in range(n):
        chosen = 1.0 if a == trial.action else 0.0
        p = math.exp(state[c, a] - largest) / total if trial.offered[a] else 0.0
        state[c, a] = _update(state[c, a], p, chosen, p_chosen, feedback, {values})


@njit(**PLUMBING)
def look(state, trial, x, index, out):
    for a in range(len(out)):
        out[a] = state[trial.cell, a]
"""

_ADJUSTMENT = """
_Part_{i} = PARTS["{key}"]
_start_{i} = njit(**COUNTING)(_Part_{i}.start)
_adjust_{i} = njit(**COUNTING)(_Part_{i}.adjust)
_update_{i} = njit(**COUNTING)(_Part_{i}.update)
"""

_TOGETHER = """

@njit(**FLAGS)
def begin(world, x, index):
    return ({starts})


@njit(**PLUMBING)
def policy(state, shown, x, index, edges, out):
    policy_first(state[0], shown, x, index, out)
    if shown.n_offered < len(out):
        keep_offered(out, shown.offered)
{adjustments}

@njit(**PLUMBING)
def learn(extent, state, trial, x, index):
    update_first(extent, state[0], trial, x, index)


@njit(**PLUMBING)
def note(state, trial, x, edges):
    {updates}
"""


def source(first: Any, adjustments: tuple[Any, ...] = ()) -> str:
    """The functions of the parts as text; whatever the parts mean is hashed into it."""
    text = _HEADER + (_rule(first) if isinstance(first, Rule) else _model(first))
    for i, part in enumerate(adjustments, start=1):
        text += _ADJUSTMENT.format(i=i, key=register(part, ("start", "adjust", "update")))
    n = len(adjustments)
    numbers = range(1, n + 1)
    starts = ["start_first(world, x, index)", *(f"_start_{i}(world)" for i in numbers)]
    adjust = [
        f"    _adjust_{i}(state[{i}], shown, {_slice(i)}, out)\n"
        "    if shown.n_offered < len(out):\n        keep_offered(out, shown.offered)\n"
        for i in numbers
    ]
    update = [f"_update_{i}(state[{i}], trial, {_slice(i)})" for i in numbers]
    return text + _TOGETHER.format(
        starts=", ".join(starts) + ",",
        adjustments="".join(adjust),
        updates="; ".join(update) or "pass",
    )


def _slice(i: int) -> str:
    """Where the parameters of an adjustment stand; how many there are depends on the actions."""
    return f"x[edges[{i - 1}] : edges[{i}]]"


def register(part: Any, names: tuple[str, ...]) -> str:
    """Put a part where generated modules find it, under the hash of its meaning."""
    # What was compiled looks for the modules of its functions by name when it is loaded.
    digest = code_of(part, names, with_modules=True)
    PARTS[digest] = part if inspect.isclass(part) else type(part)
    return digest


def code_of(part: Any, names: tuple[str, ...] = FUNCTIONS, with_modules: bool = False) -> str:
    """A hash of all that a part's functions mean, wherever they are kept."""
    functions = [getattr(part, name) for name in names if getattr(part, name, None) is not None]
    text = "\n".join(meaning(function, with_modules) for function in functions)
    return hashlib.sha256(text.encode()).hexdigest()


def _rule(rule: Rule) -> str:
    feedback = "trial.reward"
    if rule.form == "loss":
        feedback = "(trial.reward - extent[1]) / (extent[1] - extent[0])"
    values = [f"x[index[trial.cell, {d}]]" for d in range(len(rule.parameters))]
    key = register(rule, ("update",))
    return _RULE.format(key=key, feedback=feedback, values=", ".join(values)) + _NO_GRADIENT


def _model(model: Any) -> str:
    key = register(model, FUNCTIONS)
    names = [*model.reads(())] or [parameter.name for parameter in model.parameters]
    text = _MODEL.format(
        key=key,
        names=names,
        values="".join(f"x[index[cell, {d}]], " for d in range(len(names))),
        start_theta=", theta_of(x, index, 0)" if start_takes_theta(model) else "",
    )
    text += _OBSERVE if model.observe is not None else _NO_OBSERVE
    return text + (_GRADIENT if model.gradient is not None else _NO_GRADIENT)


def start_takes_theta(model: Any) -> bool:
    """Whether the start state depends on parameters."""
    return len(inspect.signature(model.start).parameters) > 1


def meaning(function: Callable[..., Any], with_modules: bool = False) -> str:
    """All that the compiled code of a function depends on, as text."""
    found: dict[int, str] = {}
    _collect(getattr(function, "py_func", function), found, with_modules)
    return "\n".join(found.values())


def _collect(function: Any, found: dict[int, str], with_modules: bool) -> None:
    if id(function) in found:
        return
    code = function.__code__
    found[id(function)] = ""  # functions may call each other
    closed = inspect.getclosurevars(function)
    parts = [_code(code), function.__module__ if with_modules else ""]
    known = {**closed.globals, **closed.nonlocals}
    for name, module in [each for each in known.items() if isinstance(each[1], types.ModuleType)]:
        known |= _used(name, module, code)
    for name, value in sorted(known.items()):
        value = getattr(value, "py_func", value)
        if isinstance(value, types.FunctionType):
            parts.append(name)
            _collect(value, found, with_modules)
        elif isinstance(value, types.ModuleType):
            parts.append(f"{name}={value.__name__}")
        elif isinstance(value, np.ndarray):
            parts.append(f"{name}={value.dtype}{value.shape}{value.tobytes().hex()}")
        elif isinstance(value, type):
            fields = getattr(value, "_fields", ())
            module = value.__module__ if with_modules else ""
            parts.append(f"{name}={module}.{value.__qualname__}{fields}")
        else:
            parts.append(f"{name}={value!r}")
    found[id(function)] = "\n".join(parts)


def _used(name: str, module: types.ModuleType, code: types.CodeType) -> dict[str, Any]:
    """What code may take from a module of the user's own, which can change: ``helper.K``."""
    if not _is_own(module):
        return {}
    found: dict[str, Any] = {}
    for attribute in code.co_names:
        value = getattr(module, attribute, None)
        if value is None or value is module:
            continue
        found[f"{name}.{attribute}"] = value
        if isinstance(value, types.ModuleType) and f"{module.__name__}." in value.__name__:
            found |= _used(f"{name}.{attribute}", value, code)
    return found


def _is_own(module: types.ModuleType) -> bool:
    """Whether a module is neither of Python, nor installed, nor of this package."""
    top = module.__name__.partition(".")[0]
    file = getattr(module, "__file__", None)
    if file is None or top in sys.stdlib_module_names or top == "howlearn":
        return False
    return not {"site-packages", "dist-packages"} & {*Path(file).parts}


def _code(code: types.CodeType) -> str:
    constants = [_code(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    names = (code.co_names, code.co_varnames, code.co_freevars)
    return f"{code.co_code.hex()} {constants} {names}"
