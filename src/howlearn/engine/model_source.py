"""What learns and what adjusts its choices, turned into source that the compiler takes.

A model that is fitted whole has a first part that learns (a model of its own functions, or a rule
in every cell) and further parts that adjust its policy (lapses, biases). Each is compiled by itself
into a ``step`` that the loops of ``kernels.whole`` call by its address (``kernels.frame``).
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import types
from collections import namedtuple
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.rule import Rule
from howlearn.core.world import World

FUNCTIONS = ("start", "log_policy", "update", "observe", "gradient")  # of a model
PARTS: dict[str, Any] = {}  # by the hash of all they mean: generated modules fetch them here

_HEADER = """
from collections import namedtuple
import math
import numpy as np
from numba import njit
from howlearn.engine.model_source import PARTS
from howlearn.core.world import Shown, Trial, World, log_softmax

# What only passes arrays on does not count references: that would cost more than the arithmetic of
# a small model. Callees inherit that, so those that make arrays say so.
STEP = {**ENTRY, "_nrt": False}
OWN = {**FLAGS, "_nrt": MAKES_ARRAYS}
MAY_MAKE = {**FLAGS, "_nrt": True}
_Part = PARTS["%(key)s"]
"""

_ARRAY = "array(word(frame, {}), ({},), np.{})"
_SHOWN = ", ".join(
    [
        "word(frame, CONTEXT), word(frame, CELL)",
        _ARRAY.format("FEATURES", "word(frame, N_FEATURES)", "float64"),
        _ARRAY.format("OFFERED", "word(frame, N_ACTIONS)", "bool_"),
        "word(frame, N_OFFERED), number(frame, LOAD)",
    ]
)
_TRIAL = ", ".join(
    [
        _SHOWN,
        "word(frame, ACTION), number(frame, REWARD), word(frame, CORRECT)",
        _ARRAY.format("FORGONE", "word(frame, N_ACTIONS)", "float64"),
        "word(frame, ENDS) != 0, number(frame, DURATION)",
    ]
)
_TABLE = "word(frame, N_CONTEXTS), word(frame, N_FEATURES)"
_WORLD = ", ".join(
    [
        "word(frame, N_ACTIONS), word(frame, N_CELLS), word(frame, N_CONTEXTS)",
        _ARRAY.format("ALL_FEATURES", _TABLE, "float64"),
        _ARRAY.format("LEVELS", _TABLE, "int64"),
        _ARRAY.format("N_LEVELS", "word(frame, N_FEATURES)", "int64"),
        _ARRAY.format("NUMERIC", "word(frame, N_FEATURES)", "bool_"),
        "number(frame, LOWEST), number(frame, HIGHEST)",
    ]
)
_ROW = "array(word(frame, {0}) + 8 * i * word(frame, {1}), (word(frame, {1}),), np.float64)"
_LOG_P, _EACH = _ROW.format("LOG_P", "N_ACTIONS"), _ROW.format("EACH", "N_EACH")
_POINT = """own = owns + i * word(frame, OWN_SIZE)
        at = word(frame, STATE) + i * word(frame, STATE_SIZE)"""

_MODEL = f"""
Theta = namedtuple("Theta", %(names)r)
_log_policy = njit(**OWN)(_Part.log_policy)
_update = njit(**OWN)(_Part.update)
%(functions)s

@njit(**STEP)
def step(frame, owns):
    for i in range(word(frame, N_POINTS)):
        {_POINT}
        state, theta, task = %(state)s, Theta(%(theta)s), word(frame, TASK)
        if task == POLICY:
            _log_policy(state, Shown({_SHOWN}), theta, {_LOG_P})
        elif task == LEARN:
            _update(state, Trial({_TRIAL}), theta)
%(cases)s

@njit(**STEP)
def look(frame, own):
    i, at = 0, word(frame, STATE)
    _observe(%(state)s, Trial({_TRIAL}), Theta(%(theta)s), {_EACH})
"""

_GRADIENT = f"""        elif task == SLOPE:
            _gradient(state, Shown({_SHOWN}), theta, word(frame, ACTION), {_EACH})
"""

_START = f"""        elif task == START:
            started(state, _start(World({_WORLD}), theta))
"""

_STARTED = """

@njit(**MAY_MAKE)
def started(state, fresh):
%(copies)s
"""

_RULE = f"""
_update = njit(**OWN)(_Part.update)


@njit(**BARE)
def one(frame, own, state, log_p):
    c, n = word(frame, CELL), state.shape[1]
    if word(frame, TASK) == POLICY:
        for a in range(n):
            log_p[a] = state[c, a]
        log_softmax(log_p)
        return
    feedback = number(frame, REWARD)
    if {{is_loss}}:
        highest = number(frame, HIGHEST)
        feedback = (feedback - highest) / (highest - number(frame, LOWEST))
    offered = {_ARRAY.format("OFFERED", "word(frame, N_ACTIONS)", "bool_")}
    action = word(frame, ACTION)
    largest = -np.inf
    for a in range(n):
        if offered[a]:
            largest = max(largest, state[c, a])
    total, room = 0.0, state.shape[0] - 1
    for a in range(n):
        state[room, a] = math.exp(state[c, a] - largest) if offered[a] else 0.0
        total += state[room, a]
    p_chosen = state[room, action] / total
    for a in range(n):
        chosen, p = 1.0 if a == action else 0.0, state[room, a] / total
        state[c, a] = _update(state[c, a], p, chosen, p_chosen, feedback, %(theta)s)


@njit(**STEP)
def step(frame, owns):
    for i in range(word(frame, N_POINTS)):
        {_POINT}
        one(frame, own, %(state)s, {_LOG_P})


@njit(**STEP)
def look(frame, own):
    i, at = 0, word(frame, STATE)
    state, out = %(state)s, {_EACH}
    for a in range(len(out)):
        out[a] = state[word(frame, CELL), a]
"""

_ADJUSTMENT = f"""
_adjust = njit(**OWN)(_Part.adjust)
_update = njit(**OWN)(_Part.update)


@njit(**STEP)
def step(frame, owns):
    for i in range(word(frame, N_POINTS)):
        {_POINT}
        state, theta = %(state)s, array(word(own, 0), (word(own, 1),), np.float64)
        if word(frame, TASK) == POLICY:
            _adjust(state, Shown({_SHOWN}), theta, {_LOG_P})
        else:
            _update(state, Trial({_TRIAL}), theta)
"""


_OWN_PARTS = """
import numpy as np
from numba import njit
from howlearn.engine.model_source import PARTS
from howlearn.core.world import Shown, Trial

OWN = %(any)s
MAY_MAKE = {**FLAGS, "_nrt": True}  # arrays: what calls these does not
%(functions)s

@njit(**MAY_MAKE)
def own_start(own):
    pass
%(starts)s

@njit(**MAY_MAKE)
def own_adjust(own, theta, n_actions, c, t, offered, p):
    row = offered[t] if len(offered) else own[3]
    shown = Shown(c, c, own[2][c], row, row.sum(), float(len(own[2])))
    for a in range(n_actions):
        p[a] = np.log(p[a]) if p[a] > 0.0 else -np.inf
    first = BIAS + n_actions
%(adjusts)s
    total = 0.0
    for a in range(n_actions):
        p[a] = np.exp(p[a]) if row[a] else 0.0
        total += p[a]
    for a in range(n_actions):
        p[a] /= total


@njit(**MAY_MAKE)
def own_update(own, theta, n_actions, c, t, k, reward, offered):
    row = offered[t] if len(offered) else own[3]
    trial = Trial(
        c, c, own[2][c], row, row.sum(), float(len(own[2])), k, reward, -1, own[4], False, np.nan
    )
    first = BIAS + n_actions
%(updates)s
"""


def own_parts(parts: Sequence[type[Any]]) -> str:
    """The parts of the user in the loop of ``kernels.mechanisms``: what stands in their place.

    ``own`` is (states, states at the start, features, all actions, no forgone rewards).
    """
    keys = [register(part, ("start", "adjust", "update")) for part in parts]
    made = [
        f'_{name}_{i} = njit(**MAY_MAKE)(PARTS["{key}"].{name})'
        for i, key in enumerate(keys)
        for name in ("adjust", "update")
    ]
    each = range(len(keys))
    call = "    _{}_{i}(own[0][{i}], {}, theta[first + {i} : first + {i} + 1]{})"
    return _OWN_PARTS % {
        "any": bool(keys),
        "functions": "\n".join(made),
        "starts": "\n".join(f"    own[0][{i}][:] = own[1][{i}]" for i in each),
        "adjusts": "\n".join(call.format("adjust", "shown", ", p", i=i) for i in each),
        "updates": "\n".join(call.format("update", "trial", "", i=i) for i in each),
    }


class Part:
    """A part of a model and its start state: what is compiled for it, and what its step is told.

    ``own`` are the words before a step's own: places for parameters, then of every array of the
    state its place in ``block`` and its shape.
    """

    def __init__(self, part: Any, world: World, theta: Sequence[float]) -> None:
        self.rule, self.adjusts = isinstance(part, Rule), hasattr(part, "adjust")
        self.part, self.later = part, not self.rule and start_takes_theta(part)
        self.names = [] if self.rule or self.adjusts else _names(part)
        self.n_own = 2 if self.adjusts else len(theta)
        self.classes: list[type] = []
        self.arrays: dict[str, NDArray[Any]] = {}  # by where they are in the state
        self.words = self.n_own
        self.state = self._laid_out(self._started(world, theta))

    def _started(self, world: World, theta: Sequence[float]) -> Any:
        if self.rule:
            return np.zeros((world.n_cells + 1, world.n_actions))  # the last row is room
        if not self.later:
            return self.part.start(world)
        return self.part.start(world, namedtuple("Theta", self.names)(*theta))

    def _laid_out(self, state: Any, place: str = "") -> str:
        """The state as an expression of the words that say where its arrays are."""
        if isinstance(state, tuple):
            name = ""
            if hasattr(state, "_fields"):
                name = f"_State_{len(self.classes)}"
                self.classes.append(type(state))
            inner = [self._laid_out(each, f"{place}[{i}]") for i, each in enumerate(state)]
            return f"{name}({' '.join(f'{each},' for each in inner)})"
        first, array = self.words, np.ascontiguousarray(state)
        self.arrays[place] = array
        self.words += 1 + array.ndim
        sizes = "".join(f"word(own, {w}), " for w in range(first + 1, self.words))
        kind = "bool_" if array.dtype == bool else array.dtype.name
        return f"array(at + word(own, {first}), ({sizes}), np.{kind})"

    def placed(self, block: list[bytes]) -> list[int]:
        """Its own words; its arrays are added to a block of memory."""
        own = [0] * self.n_own
        for array in self.arrays.values():
            own += [sum(map(len, block)), *array.shape]
            block.append(array.tobytes() + bytes(-array.nbytes % 8))
        return own

    @property
    def source(self) -> str:
        """Its step, and a look at what it knows; whatever it means is hashed into the text."""
        names = ("update",) if self.rule else FUNCTIONS
        key = register(self.part, ("start", "adjust", "update") if self.adjusts else names)
        text = _HEADER % {"key": key}
        for i, made in enumerate(self.classes):
            name = f"{key}.{made.__module__}.{made.__qualname__}{getattr(made, '_fields', '')}"
            PARTS[name] = made
            text += f"_State_{i} = PARTS[{name!r}]\n"
        theta = "".join(f"number(own, {d}), " for d in range(self.n_own))
        words: dict[str, Any] = {"state": self.state, "theta": theta}
        if self.adjusts:
            return text + _ADJUSTMENT % words
        if self.rule:
            return text + (_RULE % words).format(is_loss=self.part.form == "loss")
        optional = {"gradient": _GRADIENT, "start": _START}
        wanted = [name for name in ("observe", "gradient") if getattr(self.part, name) is not None]
        wanted += ["start"] if self.later else []
        flags = {"gradient": "OWN"}  # the others are called once per record, or per look
        lines = "\n".join(
            f"_{name} = njit(**{flags.get(name, 'MAY_MAKE')})(_Part.{name})" for name in wanted
        )
        copies = "\n".join(f"    copy(state{each}, fresh{each})" for each in self.arrays)
        lines += _STARTED % {"copies": copies} if self.later else ""
        words["names"] = self.names
        words["cases"] = "".join(optional.get(name, "") for name in wanted)
        return text + _MODEL % (words | {"functions": lines})


def _names(model: Any) -> list[str]:
    """Of the values that a model's functions read: parameters, and what is held."""
    return [*model.reads(())] or [parameter.name for parameter in model.parameters]


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
