"""No part of the package unpickles, evaluates or starts anything, but where it is listed here."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import howlearn
from lowest import lowest
from plain_english import complaints, strings

SOURCE = Path(howlearn.__file__).parent
MODULES = "pickle cloudpickle dill joblib shelve marshal yaml xml lxml subprocess ctypes".split()
CALLS = (
    "eval exec compile __import__ import_module exec_module spec_from_file_location system popen "
    "allow_pickle"
).split()
LIKELY = re.compile(rf"\b({'|'.join(CALLS)})\s*[(=]|\b({'|'.join(MODULES)})\b")
# Why each is no way in for what stands in data, task files or results.
ALLOWED = {
    ("__init__.py", "import_module"): "our own modules, by a fixed list of names",
    (
        "engine/compile.py",
        "spec_from_file_location",
    ): "our kernels, in a private cache",
    ("engine/compile.py", "exec_module"): "the same",
    ("models/user_code.py", "spec_from_file_location"): "the door: what the user has typed",
    ("models/user_code.py", "import_module"): "the same",
    ("models/user_code.py", "exec_module"): "the same",
    ("reading/formats/workbook_sizes.py", "xml"): "expat alone, which is given no entities",
    ("runs/workers.py", "cloudpickle"): "work that this process sends to its own Dask workers",
}


def _found(path: Path) -> set[str]:
    """The dangerous modules and calls that a file names."""
    text = path.read_text(encoding="utf-8")
    found: set[str] = set()
    if not LIKELY.search(text):  # parsing takes a while
        return found
    for node in ast.walk(ast.parse(text)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("howlearn"):
            names = [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
            found |= {a.name for a in node.names} & {*CALLS}
        elif isinstance(node, ast.Call):
            method = getattr(node.func, "attr", "")
            name = getattr(node.func, "id", method if method != "compile" else "")  # re.compile
            found |= {name} & {*CALLS}
            found |= {keyword.arg or "" for keyword in node.keywords} & {*CALLS}
        found |= {m for m in MODULES for name in names if name == m or name.startswith(f"{m}.")}
    return found


def test_dangerous_names_stand_only_where_they_are_listed() -> None:
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 200
    found = {(f.relative_to(SOURCE).as_posix(), name) for f in files for name in _found(f)}
    assert found == {*ALLOWED}


def test_every_dependency_has_a_lowest_version() -> None:
    """Which ``make lowest`` then installs."""
    found = dict(each.split("==") for each in lowest())
    assert {"numpy", "polars", "altair", "h5py", "distributed"} <= found.keys()
    assert all(re.fullmatch(r"[0-9]+(\.[0-9]+)*", version) for version in found.values())


def test_messages_are_plain_english() -> None:
    """Errors, notes, help, titles and captions; plain_english.py says what to write instead."""
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {each}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, text in strings(path)
        for each in complaints(text)
    ]
    assert found == []


def test_public_docstrings_are_plain_english() -> None:
    for name in howlearn.__all__:
        thing = getattr(howlearn, name)
        parts = [thing, *vars(thing).values()] if inspect.isclass(thing) else [thing]
        for part in parts:
            if isinstance(part, property | classmethod) or callable(part):
                assert complaints(inspect.getdoc(part) or "") == [], name
