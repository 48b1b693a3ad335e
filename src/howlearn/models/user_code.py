"""Models of a user's own, from a module or a file: the only door through which code comes in."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from howlearn.core import safe_files
from howlearn.core.errors import HowlearnError
from howlearn.models.adjustments import Adjustment, Part
from howlearn.models.model import Model


def own_model(text: str) -> Model:
    """The model that ``my_module:MyModel`` or ``folder/my_file.py:MyModel`` names; runs that code.

    Only what the user has named in this command is loaded (see ``howlearn.core.safe_files``).
    Modules are looked for in the current folder, then among what is installed.
    """
    module, where, name = _opened(text, "--model")
    found = getattr(module, name.strip(), None)
    if isinstance(found, type) and issubclass(found, Model):
        try:
            found = found()
        except Exception as error:  # whatever a user's code does
            raise HowlearnError(f"{text} could not be made: {_told(error)}") from None
    if not isinstance(found, Model):
        own = [k for k, v in vars(module).items() if isinstance(v, type) and issubclass(v, Model)]
        there = ", ".join(k for k in own if k != "Model") or "none"
        raise HowlearnError(
            f"{text}: {where} has no model {name!r}, that is, a class that inherits from "
            f"howlearn.Model; its models are: {there}"
        )
    return found


def named_part(text: str) -> str | type[Part]:
    """The name of a part as it is, or the part that ``my_file.py:MyPart`` names; runs that code."""
    if ":" not in text:
        return text
    module, where, name = _opened(text, "--mechanism")
    found = getattr(module, name.strip(), None)
    if not (isinstance(found, type) and issubclass(found, Adjustment) and found.effect):
        raise HowlearnError(
            f"{text}: {where} has no mechanism {name!r}, that is, a class that inherits from "
            "howlearn.models.Adjustment and has an effect"
        )
    Part.registry.register(found)
    return found


def _opened(text: str, option: str) -> tuple[ModuleType, str, str]:
    """The module that a text names, where, and the name in it; what was not typed is not run."""
    where, _, name = text.rpartition(":")
    if not safe_files.is_allowed(where):
        raise HowlearnError(
            f"{text} is code, and its name comes from a file, so it is not run; if you trust it, "
            f"type {option} {shlex.quote(text)} in this command (in Python: "
            f"howlearn.allow_code({text!r}))"
        )
    return _module(where.strip()), where, name


def _module(where: str) -> ModuleType:
    path = Path(where)
    try:
        if path.suffix == ".py":
            return _from_file(path)
        with _here():
            return importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name and where.split(".")[0] == error.name:
            raise HowlearnError(
                f"there is no module {where!r} in this folder or among what is installed; name "
                "your model as my_module:MyModel or folder/my_file.py:MyModel"
            ) from None
        raise HowlearnError(f"{where} cannot be imported: {_told(error)}") from None
    except HowlearnError:
        raise
    except Exception as error:  # whatever a user's code does
        raise HowlearnError(f"{where} cannot be imported: {_told(error)}") from None


@contextmanager
def _here() -> Iterator[None]:
    """The current folder is searched for this one import: later ones must not find files there."""
    before = [*sys.path]
    sys.path.insert(0, str(Path.cwd()))
    try:
        yield
    finally:
        sys.path[:] = before


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise HowlearnError(f"there is no file {path}")
    path = path.resolve()
    name = f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _told(error: Exception) -> str:
    """The error with the line of the user's file where it happened."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"
