"""MATLAB files, old and new: structures, cells, matrices, and what only MATLAB opens."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from howlearn.core.errors import DataError
from howlearn.reading.formats.open import open_tables
from howlearn.reading.read import read
from sameness import FRAME, NAMES, ROWS, TRIALS, assert_same

NUMBERS = count()
CODES = {name: i for i, name in enumerate(("cat", "dog", "été"), start=1)}
LEARNERS = [part for _, part in FRAME.group_by("subject", maintain_order=True)]


def cells(values: list[Any]) -> np.ndarray:
    """A cell array with one column."""
    found = np.empty((len(values), 1), dtype=object)
    found[:, 0] = ["" if value is None else value for value in values]
    return found


def numbers(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


def columns(frame: Any = FRAME, without: str = "") -> dict[str, Any]:
    """A structure of columns: text in cells, numbers in vectors."""
    return {
        name: cells(frame[name].to_list())
        if name in ("stimulus", "choice")
        else numbers(frame[name].to_list())
        for name in frame.columns
        if name != without
    }


def array(without: str = "") -> np.ndarray:
    """A structure array, an element per learner."""
    names = [name for name in NAMES if name != without]
    found = np.empty((1, len(LEARNERS)), dtype=[(name, object) for name in names])
    for i, part in enumerate(LEARNERS):
        for name, value in columns(part, without).items():
            found[0, i][name] = value
    return found


def table_in_cells() -> np.ndarray:
    found = np.empty((len(FRAME) + 1, len(NAMES)), dtype=object)
    found[0] = NAMES
    for i, row in enumerate(FRAME.rows(), start=1):
        found[i] = ["" if value is None else value for value in row]
    return found


def matrices() -> dict[str, Any]:
    shown = {name: np.empty((3, TRIALS), dtype=object) for name in ("stimulus", "choice", "reward")}
    for name, matrix in shown.items():
        matrix[:] = [["" if v is None else v for v in part[name]] for part in LEARNERS]
    return {**shown, "reward": shown["reward"].astype(float)}


VARIABLES = {
    "a structure": {"data": columns()},
    "rows, not columns": {"data": {k: v.T for k, v in columns().items()}},
    "a structure in one": {"results": {"date": "today", "block": {"data": columns()}}},
    "an array": {"data": array(), "settings": {"screen": [800.0, 600.0]}},
    "an array without names": {"data": array("subject")},
    "a cell of structures": {"data": cells([columns(part) for part in LEARNERS])},
    "loose vectors": columns(),
    "a table in cells": {"raw": table_in_cells()},
    "a variable each": {f"s{i}": columns(part) for i, part in enumerate(LEARNERS, start=1)},
}


@pytest.mark.parametrize("variables", VARIABLES.values(), ids=list(VARIABLES))
def test_the_same_rows(tmp_path: Path, variables: dict) -> None:
    path = tmp_path / "a.mat"
    savemat(path, variables, do_compression=True)
    assert_same(read(path))


def coded(study: Any) -> list[tuple]:
    return list(
        zip(
            [study.contexts[i] for i in study.context],
            [study.actions[i] for i in study.action],
            study.reward.tolist(),
            strict=True,
        )
    )


def test_matrices(tmp_path: Path) -> None:
    """Learners × trials; a header beside a matrix; version 4, which has matrices only."""
    contexts = np.array([CODES[name] for name in ROWS["stimulus"]], dtype=float)
    choices = np.array([np.nan if v is None else len(v) for v in ROWS["choice"]])
    rewards = np.array(ROWS["reward"])
    whole = np.column_stack([ROWS["subject"], ROWS["trial"], contexts, choices, rewards])
    expected = [
        (str(int(c)), str(int(a)), r)
        for c, a, r in zip(contexts, choices, rewards, strict=True)
        if not np.isnan(a)
    ]
    by_learner = {
        "stimulus": contexts.reshape(3, -1),
        "choice": choices.reshape(3, -1),
        "reward": rewards.reshape(3, -1),
    }
    turned = {name: matrix.T for name, matrix in by_learner.items()}
    for variables, version in (
        (by_learner, "5"),
        (by_learner, "4"),
        ({"data": by_learner}, "5"),
        ({**turned, "subject": numbers([1, 2, 3])}, "5"),
        ({"data": whole, "header": cells(NAMES)}, "5"),
        ({"s": {"m": whole, "columnNames": cells(NAMES).T}}, "5"),
    ):
        path = tmp_path / "a.mat"
        savemat(path, variables, format=version)
        study = read(path)
        assert study.learners == ("1", "2", "3")
        assert coded(study) == expected


def test_the_longer_side_is_the_trials_unless_something_tells(tmp_path: Path) -> None:
    choice = np.array([[1 + (i * k) % 3 % 2 for k in range(1, 6)] for i in range(30)], dtype=float)
    both = {"choices": choice, "rewards": choice - 1}
    path = tmp_path / "a.mat"

    def seen(variables: dict, **options: str) -> tuple[int, bool]:
        savemat(path, variables)
        study = read(path, action="choices", reward="rewards", context="none", **options)
        assert len(study.context) == 150
        return len(study.learners), any("transposes them" in note for note in study.notes)

    assert seen(both) == (5, True)
    assert seen(both, learner="trial", trial="learner") == (30, True)
    assert seen({"d": both}) == (5, True)
    assert seen({name: matrix.T for name, matrix in both.items()}) == (5, False)
    assert seen({**both, "N": 30.0, "T": 5.0}) == (30, False)
    assert seen({**both, "Tsubj": np.full((30, 1), 5.0)}) == (30, False)
    assert seen({**both, "block": 1.0, "stimulus": np.arange(30.0)}) == (5, False)
    square = {name: matrix[:5] for name, matrix in both.items()}
    savemat(path, square)
    study = read(path, action="choices", reward="rewards", context="none")
    assert "5 rows and 5 columns were read as learners × trials" in study.notes[0]


def test_which_variable(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    savemat(path, {"one": columns(), "two": {"x": [1.0, 2.0], "y": [3.0, 4.0]}})
    with pytest.raises(DataError) as caught:
        read(path)
    [problem] = caught.value.problems
    assert problem.found == (
        "several tables: one (subject, trial, stimulus, choice, reward); two (x, y)"
    )
    assert problem.remedy == "name one of them, as in a.mat#one"
    study = read(f"{path}#one")
    assert_same(study)
    [table] = open_tables(f"{path}#one")[0]
    assert table.format == "MATLAB, variable one, rows counted as trials"
    savemat(path, {"x": 1.0, "y": "text"})
    with pytest.raises(DataError, match=r"found x \(one value\), y \(one value\); allowed"):
        read(path)


def write_new(path: Path, variables: dict[str, Any]) -> None:
    """A file of version 7.3, as MATLAB lays it out."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            _put(file, file, name, value)
    with path.open("r+b") as block:
        block.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\x02IM")


def _put(file: h5py.File, group: h5py.Group, name: str, value: Any) -> None:
    if isinstance(value, dict):
        inner = group.create_group(name)
        inner.attrs["MATLAB_class"] = np.bytes_("struct")
        for key, member in value.items():
            _put(file, inner, key, member)
    elif isinstance(value, str):
        letters = np.array([[ord(letter)] for letter in value] or [[0]], dtype="u2")
        group[name] = letters
        group[name].attrs["MATLAB_class"] = np.bytes_("char")
        if not value:
            group[name].attrs["MATLAB_empty"] = 1
    elif value.dtype.names:
        inner = group.create_group(name)
        inner.attrs["MATLAB_class"] = np.bytes_("struct")
        for key in value.dtype.names:
            inner[key] = _references(file, value[key])
    elif value.dtype == object:
        group[name] = _references(file, value)
        group[name].attrs["MATLAB_class"] = np.bytes_("cell")
    else:
        group[name] = value.T
        group[name].attrs["MATLAB_class"] = np.bytes_("double")


def _references(file: h5py.File, values: np.ndarray) -> np.ndarray:
    refs = file.require_group("#refs#")
    found = np.empty(values.T.shape, dtype=h5py.ref_dtype)
    for place in np.ndindex(values.T.shape):
        name = f"r{next(NUMBERS)}"
        value = values.T[place]
        _put(file, refs, name, np.array([[value]]) if isinstance(value, float | int) else value)
        found[place] = refs[name].ref
    return found


NEW = {name: v for name, v in VARIABLES.items() if name != "a structure in one"}


@pytest.mark.parametrize("variables", NEW.values(), ids=list(NEW))
def test_version_7_3(tmp_path: Path, variables: dict) -> None:
    path = tmp_path / "a.mat"
    plain = {
        name: {k: np.array(v) if isinstance(v, list) else v for k, v in value.items()}
        if isinstance(value, dict)
        else value
        for name, value in variables.items()
    }
    write_new(path, plain)
    assert_same(read(path))
    assert open_tables(path)[0][0].format.startswith("MATLAB 7.3, ")


def test_what_only_matlab_opens(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    write_new(path, {"T": numbers([1, 2, 3])})
    with h5py.File(path, "r+") as file:
        file["T"].attrs["MATLAB_object_decode"] = 3
    with pytest.raises(
        DataError, match=r"a MATLAB table, string array or other object.*table2struct"
    ):
        read(path)
