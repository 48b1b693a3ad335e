"""Work as bytes for another machine, with the code that only this one has; what is done there."""

from __future__ import annotations

import importlib.util
import sys
import time
import types
import zlib
from contextlib import suppress
from functools import cache
from io import BytesIO
from typing import Any

from howlearn import __version__

SMALLER = 4  # of zlib's levels: flags, codes and rewards have few values, and shrink well


def packed(thing: Any) -> bytes:
    """Anything, as bytes; functions and classes that are not installed go with it."""
    import cloudpickle

    class Packer(cloudpickle.Pickler):
        def __init__(self, file: BytesIO) -> None:
            super().__init__(file, protocol=5)
            self.own: dict[str, types.ModuleType] = {}

        def reducer_override(self, obj: Any) -> Any:
            module = _own_module(obj)
            if module is not None and module.__name__ not in self.own:
                self.own[module.__name__] = module
                cloudpickle.register_pickle_by_value(module)
            return super().reducer_override(obj)

    file = BytesIO()
    packer = Packer(file)
    try:
        packer.dump(thing)
    finally:
        for module in packer.own.values():
            with suppress(ValueError):
                cloudpickle.unregister_pickle_by_value(module)
    names = "\n".join(packer.own).encode()
    return len(names).to_bytes(4, "little") + names + zlib.compress(file.getvalue(), SMALLER)


def unpacked(content: bytes) -> Any:
    """What was packed."""
    import cloudpickle

    end = 4 + int.from_bytes(content[:4], "little")
    for name in bytes(content[4:end]).decode().split():
        # Compiled code that is kept on disk asks for the module of its functions, by name only.
        if name not in sys.modules and not _can_be_found(name):
            sys.modules[name] = types.ModuleType(name)
    return cloudpickle.loads(zlib.decompress(memoryview(content)[end:]))


def _can_be_found(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _own_module(thing: Any) -> types.ModuleType | None:
    """The module of a function or class, or the module itself, if nobody else has it."""
    if isinstance(thing, types.ModuleType):
        module = thing
    elif isinstance(thing, types.FunctionType | type):
        module = sys.modules.get(thing.__module__ or "")
    else:
        return None
    if module is None or module.__name__ == "__main__":  # which is never looked for elsewhere
        return None
    root = module.__name__.partition(".")[0]
    file = getattr(module, "__file__", None)
    if root == "howlearn" or root in sys.stdlib_module_names or not file:
        return None
    installed = any(folder in file for folder in ("site-packages", "dist-packages"))
    # Kernels that were compiled here are compiled there.
    return None if installed or root.startswith("howlearn_") else module


# What a worker of a cluster does. Nothing is imported here that a scheduler need not have.

Installed = tuple[str, dict[str, str]]
_known: dict[str, Any] = {}  # what the parts of a run have in common, unpacked


@cache  # looking takes longer than handing over a part
def installed() -> Installed:
    """What results depend on, here."""
    from howlearn.runs.folder import versions

    return __version__, versions()


def handed_on(content: bytes) -> bytes:
    """What the parts have in common; workers get it from each other."""
    return content


def done(
    key: str, common: bytes, own: bytes, made_with: Installed
) -> tuple[float, dict[str, bytes] | str]:
    """The seconds that a part took, and the content of its files, or why there are none."""
    from howlearn.core.errors import HowlearnError
    from howlearn.runs.parts import encoded

    here = installed()
    if here != made_with:
        return 0.0, (
            f"a worker has howlearn {_told(here)}, where the run was started there is "
            f"{_told(made_with)}: results could differ, so install the same on all of them"
        )
    start = time.perf_counter()
    try:
        if key not in _known:
            _known.clear()  # of an earlier run
            _known[key] = unpacked(common)
        run, shared = _known[key]
        tables = encoded(run(shared, unpacked(own), 1, lambda done, total: None))
    except HowlearnError as error:  # not every one can be pickled
        return 0.0, str(error)
    return time.perf_counter() - start, tables


def _told(found: Installed) -> str:
    return f"{found[0]} ({', '.join(f'{name} {number}' for name, number in found[1].items())})"
