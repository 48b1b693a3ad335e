"""Turn the kernels' sources and a rule into a compiled module, kept on disk for the next run.

A kernel that takes the rule as an argument is never found in numba's disk cache, and one that
imports the rule goes stale when the rule changes. So the sources are joined, for one rule, into a
module whose name holds a hash of its text and of the rule's source.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import inspect
import logging
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

from howlearn.core.rule import Rule
from howlearn.core.safe_files import is_private
from howlearn.core.world import tell_compiler
from howlearn.engine import model_source

log = logging.getLogger("howlearn")

ELSEWHERE = ("CACHE_DIR", "CACHE_LOCATOR_CLASSES")  # numba's settings for where code is kept
INSTALLED = Path(str(resources.files("howlearn"))) / "compiled.zip"  # hatch_build.py makes it

_HEADER = """
from numba import njit
from {module} import {rule} as _Rule

N_PARAMETERS = {n}
MAY_MAKE = {{**FLAGS, "_nrt": True}}  # arrays: what calls these does not
update = njit(**MAY_MAKE)(_Rule.update)
differential = njit(**MAY_MAKE)(_Rule.differential)


@njit(**FLAGS)
def update_at(cell, i, h, p, chosen, p_chosen, feedback):
    return update(h, p, chosen, p_chosen, feedback, {at})


@njit(**FLAGS)
def update_with(theta, h, p, chosen, p_chosen, feedback):
    return update(h, p, chosen, p_chosen, feedback, {with_})


@njit(**FLAGS)
def differential_at(cell, i, d, h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback):
    return differential(
        h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, {at}, {units}
    )


@njit(**FLAGS)
def differential_with(theta, d, h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback):
    return differential(
        h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, {with_}, {units}
    )
"""


def passes(rule: Rule, pair: bool) -> ModuleType:
    """``grid`` and ``probe`` for a rule; ``pair`` has its own kernel, for two actions."""
    return _passes(type(rule), len(rule.parameters), pair)


def single(rule: Rule) -> ModuleType:
    """``replay``, ``slopes`` and ``play`` for a rule."""
    return _with_rule(type(rule), len(rule.parameters), ("single",), "*play")  # replay or play


def expectation(rule: Rule) -> ModuleType:
    """``expected`` for a rule."""
    return _with_rule(type(rule), len(rule.parameters), ("general", "expectation"), "expected")


def continuation(rule: Rule) -> ModuleType:
    """``advance``, ``continued`` and ``versus`` for a rule."""
    return _with_rule(type(rule), len(rule.parameters), ("single", "continuation"), "*")


@cache
def search() -> ModuleType:
    """The compiled part of the search, the same for every rule."""
    return _load("search", _source("numeric") + _source("search"), "locate")


@cache
def loops(name: str) -> ModuleType:
    """What stands in one file of kernels: a model's likelihood for many points at once, or …"""
    return _load(name, _source("numeric") + _source(name), "*")


mixture = partial(loops, "mixture")  # … loops of mixtures, the same whatever the strategies are;
hidden = partial(loops, "hidden")  # strategies that are hidden states;
foretelling = partial(loops, "foretelling")  # mixtures of many models, histories, logits;
set_partitions = partial(loops, "set_partitions")  # sums and maxima over all partitions of a set


@cache
def population(clouds: bool = True) -> ModuleType:
    """``climb``, ``sample`` and ``judge``: what all learners tell of models and parameters."""
    text = "".join(map(_source, ("numeric", "population", "leaps", "chains")))
    return _load("population", text.replace("CLOUDS = True", f"CLOUDS = {clouds}"), "sample")


@cache
def mechanisms(own: tuple[type, ...] = ()) -> ModuleType:
    """``tops``, ``likelihoods``, ``play``, ``sample``, ``jump``: parts that learners show or not.

    ``own`` are parts of the user.
    """
    names = ("mechanisms", *(f"mechanism_{name}" for name in ("lanes", "tops", "chains", "jumps")))
    kernels = map(_source, names)
    text = _source("numeric") + model_source.own_parts(own) + "".join(kernels)
    return _load("mechanisms", text, "tops")


@cache
def whole() -> ModuleType:
    """``likelihoods``, ``replay`` and ``play`` of models fitted whole, the same for all of them."""
    return _load("whole", _source("numeric") + _source("frame") + _source("whole"), "*")


_steps: dict[str, ModuleType] = {}


def step(part: model_source.Part, name: str = "step") -> int:
    """The address of a part's ``step`` or ``look``, with which the loops of ``whole`` call it."""
    from numba import types

    text = part.source
    if text not in _steps:
        # Models that share their functions share what was compiled.
        owner = next(each for each in type(part.part).__mro__ if "update" in vars(each))
        joined = _source("numeric") + _source("frame") + text
        _steps[text] = _stepping(re.sub(r"\W", "_", owner.__name__), joined)
    function, given = getattr(_steps[text], name), (types.int64, types.int64)
    function.compile(given)  # where that was not done yet
    found = function.overloads[given]
    return found.library.get_pointer_to_function(found.fndesc.llvm_func_name)


def _stepping(name: str, text: str) -> ModuleType:
    """A part's module; whether its functions make arrays is found by compiling as if they did not.

    Counting references to arrays takes longer than what a small model computes.
    """
    from numba import __version__, types
    from numba.core.errors import NumbaError

    def module(makes_arrays: str) -> ModuleType:
        return _load(name, f"MAKES_ARRAYS = {makes_arrays}\n{text}", "step")

    def found() -> str:
        try:
            module("False").step.compile((types.int64, types.int64))
        except NumbaError:
            return "True"
        return "False"

    return module(kept_text(f"{name}_makes_arrays", f"numba {__version__}\n{text}", found))


@cache
def _passes(rule: type[Rule], n_parameters: int, pair: bool) -> ModuleType:
    # A kernel for pairs knows its update: rules that share it share what was compiled.
    visits = _source(rule.pair_kernel) if pair else _header(rule, n_parameters) + _source("general")
    owner = next(each for each in rule.__mro__ if "update" in vars(each))
    name = f"{owner.__name__}_{rule.pair_kernel}" if pair else f"{rule.__name__}_general"
    return _load(name, _source("numeric") + visits + _source("passes"), "grid")


@cache
def _with_rule(
    rule: type[Rule], n_parameters: int, kernels: tuple[str, ...], first_use: str
) -> ModuleType:
    """Kernels that go through trials with a rule; the last of them names the module."""
    text = _source("numeric") + _header(rule, n_parameters) + "".join(map(_source, kernels))
    return _load(f"{rule.__name__}_{kernels[-1]}", text, first_use)


def _header(rule: type[Rule], n: int) -> str:
    text = _HEADER.format(
        module=rule.__module__,
        rule=rule.__qualname__,
        n=n,
        at=", ".join(f"cell[{d}, i]" for d in range(n)),
        with_=", ".join(f"theta[{d}]" for d in range(n)),
        units=", ".join(f"1.0 if d == {d} else 0.0" for d in range(n)),
    )
    return f"{text}# {hashlib.sha256(_meaning(rule).encode()).hexdigest()}\n"


def _meaning(rule: type[Rule]) -> str:
    """All that compiled code of a rule depends on: its module, and what it takes from others."""
    parts = [inspect.getsource(inspect.getmodule(rule) or rule)]
    for function in (rule.update, rule.differential):
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            parts.append(inspect.getsource(value) if inspect.isfunction(value) else repr(value))
    return "\n".join(parts)


def _source(name: str) -> str:
    """A kernel source without the imports that the joining makes superfluous."""
    text = (resources.files("howlearn.engine.kernels") / f"{name}.py").read_text("utf-8")
    text = re.sub(r"^from howlearn\.engine\.kernels[^(\n]*(\([^)]*\))?\n", "", text, flags=re.M)
    return text.replace("from __future__ import annotations\n", "")


def _load(name: str, text: str, first_use: str) -> ModuleType:
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    module_name = f"howlearn_{name}_{digest}"
    path = _in_cache(f"{module_name}.py")
    if not path.exists() or path.read_bytes() != text.encode():
        _write(path, text)
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    kept = path.parent / "__pycache__"
    if not any(kept.glob(f"{module_name}.{first_use}-*.{python}*.nbi")):
        log.info("Compiling %s (first run only)", name.replace("_", " "))
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    with _kept_beside():
        spec.loader.exec_module(module)
    parts = sys.modules.get("howlearn.engine.parts")  # of numba in which it was tried
    parts.load_quickly(module) if parts else tell_compiler()
    return module


def kept_text(name: str, depends_on: str, make: Callable[[], str]) -> str:
    """A program that takes long to make and depends on nothing else, kept beside the others."""
    digest = hashlib.sha256(depends_on.encode()).hexdigest()[:16]
    path = _in_cache(f"howlearn_{name}_{digest}.txt")
    if not path.exists():
        _write(path, make())
    return path.read_bytes().decode()


def _in_cache(name: str) -> Path:
    """A file of the cache folder; with all of its module if that was compiled at installation.

    Only what was made for this machine and these versions is taken, and once it is in the cache,
    it is like what was compiled there. The names of modules say what is in them.
    """
    path = cache_folder() / name
    if path.exists() or os.environ.get("HOWLEARN_COMPILED") == "0" or not INSTALLED.exists():
        return path
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(INSTALLED) as archive:
            if archive.comment.decode() == made_for():
                for each in archive.namelist():  # machine code first: who sees the source has all
                    if Path(each).name.startswith(f"{path.stem}."):
                        (cache_folder() / each).parent.mkdir(mode=0o700, exist_ok=True)
                        _write(cache_folder() / each, archive.read(each))
    except (OSError, BadZipFile) as error:
        log.debug("%s: %s", INSTALLED, error)
    return path


@cache
def made_for() -> str:
    """What machine code depends on besides its source: versions, the processor and its features."""
    from llvmlite import __version__ as llvmlite
    from numba import __version__ as numba
    from numba.core.registry import cpu_target
    from numpy import __version__ as numpy

    target: Any = cpu_target
    processor = target.target_context.codegen().magic_tuple()
    parts = (sys.implementation.cache_tag, numba, llvmlite, numpy.partition(".")[0], *processor)
    return " ".join(parts)


_loading = threading.RLock()


@contextmanager
def _kept_beside() -> Iterator[None]:
    """Have numba keep what it compiles beside its source, whose folder was checked.

    NUMBA_CACHE_DIR may name any folder, of which nobody has looked who can write there.
    """
    from numba import config

    settings: Any = config
    with _loading:
        before = {name: getattr(settings, name, "") for name in ELSEWHERE}
        try:
            for name in ELSEWHERE:
                setattr(settings, name, "")
            yield
        finally:
            for name, value in before.items():
                setattr(settings, name, value)


def _write(path: Path, content: str | bytes) -> None:
    """Whole or not at all: another process may be reading."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.utime(temporary, (0, 0))  # which numba's index may hold; the name says what is in it
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # a full disk names no file
            error.filename = str(path)
        raise


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept; a passing folder where none can be written safely."""
    try:
        base = _wanted_folder()
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=base):
            pass
        if is_private(base):
            return base.resolve()  # what was checked, whatever a link says later
    except (OSError, RuntimeError):  # no home, no room, a loop of links
        pass
    return _passing_folder()


def _wanted_folder() -> Path:
    """As the environment says; a relative path would mean a folder that may be a stranger's."""
    if chosen := os.environ.get("HOWLEARN_CACHE"):
        if Path(chosen).is_absolute():
            return Path(chosen)
        log.warning("HOWLEARN_CACHE is not used: %s is not an absolute path", chosen)
    if sys.platform == "win32":
        return _absolute("LOCALAPPDATA", Path.home()) / "howlearn"
    if sys.platform == "darwin":
        return _absolute("", Path.home()) / "Library" / "Caches" / "howlearn"
    return _absolute("XDG_CACHE_HOME", Path.home() / ".cache") / "howlearn"


def _absolute(variable: str, usual: Path) -> Path:
    """What a variable of the environment says if that is an absolute path, else what is usual."""
    for path in (Path(os.environ.get(variable, "")), usual):
        if path.is_absolute():
            return path
    raise OSError(f"{usual} is not an absolute path")


def _passing_folder() -> Path:
    """A folder for this user only, which goes when the process ends."""
    folder, process = Path(tempfile.mkdtemp(prefix="howlearn-")), os.getpid()

    def remove() -> None:
        if os.getpid() == process:  # and not one that was forked from it
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder
