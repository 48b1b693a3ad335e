"""People × blocks × trials in any nesting: levels, arrays with axes, padding, what is left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.io import savemat

from howlearn.core.errors import DataError, HowlearnError
from howlearn.reading.formats import matrices, nested
from howlearn.reading.formats.levels import Look
from howlearn.reading.formats.open import open_tables
from howlearn.reading.guess import coding, inspect
from howlearn.reading.guess.column_checks import nothing_in
from howlearn.reading.read import read

PEOPLE, BLOCKS, TRIALS = 3, 2, 12
SHAPE = PEOPLE, BLOCKS, TRIALS
RNG = np.random.default_rng(4)
CHOICE = RNG.integers(1, 3, SHAPE)
REWARD = RNG.integers(0, 2, SHAPE)
STIM = RNG.integers(1, 4, SHAPE)
Q = {"stim": STIM, "choice": CHOICE, "reward": REWARD}
ROLES: dict[str, Any] = {"context": "stim", "action": "choice", "reward": "reward"}


def person(i: int) -> dict[str, np.ndarray]:
    return {name: values[i] for name, values in Q.items()}


def block(i: int, j: int) -> dict[str, np.ndarray]:
    return {name: values[i, j] for name, values in Q.items()}


def struct_array(items: Any) -> np.ndarray:
    """A structure array of MATLAB from dicts in a list, or in lists of them."""
    grid = np.array(items, dtype=object)
    names = list(grid.reshape(-1)[0])
    found = np.empty(
        grid.shape if grid.ndim > 1 else (1, *grid.shape), [(n, object) for n in names]
    )
    for place, item in zip(np.ndindex(found.shape), grid.reshape(-1), strict=True):
        for name in names:
            found[place][name] = item[name]
    return found


def cell(items: Any, depth: int = 1) -> np.ndarray:
    found = np.empty(np.array(items, dtype=object).shape[:depth], dtype=object)
    for place in np.ndindex(found.shape):
        inner = items
        for i in place:
            inner = inner[i]
        found[place] = inner
    return found if depth > 1 else found[None, :]


def lists(value: Any) -> Any:
    """The same for JSON."""
    if isinstance(value, dict):
        return {key: lists(inner) for key, inner in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def check(study: Any, blocks: bool = True) -> None:
    """All trials of everyone, in order."""
    assert study.learners == ("1", "2", "3")
    assert [int(study.actions[i]) for i in study.action] == CHOICE.reshape(-1).tolist()
    assert [int(study.contexts[i]) for i in study.context] == STIM.reshape(-1).tolist()
    assert study.reward.tolist() == REWARD.reshape(-1).tolist()
    if blocks:
        assert study.reset.sum() == PEOPLE * BLOCKS


everyone = [[block(i, j) for j in range(BLOCKS)] for i in range(PEOPLE)]
MATLAB = {
    "struct array of cells of structs": {
        "data": struct_array([{"block_data": cell(row)} for row in everyone])
    },
    "struct array of struct arrays": {
        "subjects": struct_array([{"blocks": struct_array(row), "age": 20.0} for row in everyone])
    },
    "people × blocks struct array": {"data": struct_array(everyone)},
    "people × blocks cell of structs": {"data": cell(everyone, 2)},
    "cell of cells": {"data": cell([cell(row) for row in everyone])},
    "struct of people of structs of blocks": {
        "d": {f"s{i + 1}": {f"b{j + 1}": block(i, j) for j in range(2)} for i in range(PEOPLE)}
    },
    "struct array with blocks × trials": {"data": struct_array([person(i) for i in range(PEOPLE)])},
    "a lot beside": {
        "data": struct_array(
            [
                {"name": "x", "age": 3.0, "sex": "f", "hand": "r", "date": "d", "a": 1.0, "b": 2.0,
                 "session": struct_array(row), "screen": np.array([800.0, 600.0])}
                for row in everyone
            ]
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("variables", MATLAB.values(), ids=list(MATLAB))
def test_matlab(tmp_path: Path, variables: dict) -> None:
    path = tmp_path / "a.mat"
    savemat(path, variables)
    table = open_tables(path)[0][0]
    level = next(name for name in ("block", "session") if name in table.columns)
    study = read(path, **ROLES, reset_by=level)
    if "d" in variables:
        assert study.learners == ("s1", "s2", "s3")
        return
    check(study)
    layout = f"its layout: 3 learner × 2 {level} × 12 trials of"
    assert any(layout in note for note in study.notes)
    if "screen" in str(variables["data" if "data" in variables else "subjects"].dtype):
        assert any("was left out: screen (2 values)" in note for note in study.notes)


JSON = {
    "people of blocks": [[lists(block(i, j)) for j in range(BLOCKS)] for i in range(PEOPLE)],
    "by name": {
        str(i + 1): {f"block{j + 1}": lists(block(i, j)) for j in range(BLOCKS)}
        for i in range(PEOPLE)
    },
    "records": [
        {"blocks": [{"trials": pl.DataFrame(block(i, j)).rows(named=True)} for j in range(BLOCKS)]}
        for i in range(PEOPLE)
    ],
    "people with blocks × trials": {str(i + 1): lists(person(i)) for i in range(PEOPLE)},
}


@pytest.mark.parametrize("value", JSON.values(), ids=list(JSON))
def test_json(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(value))
    check(read(path, **ROLES, reset_by="block"))


def test_a_cell_with_people_and_blocks_for_each_quantity(tmp_path: Path) -> None:
    grids = {name: [[values[i, j] for j in range(BLOCKS)] for i in range(PEOPLE)]
             for name, values in Q.items()}  # fmt: skip
    savemat(tmp_path / "a.mat", {"data": {name: cell(grid, 2) for name, grid in grids.items()}})
    check(read(tmp_path / "a.mat", **ROLES, reset_by="block"))


def test_trials_as_rows_without_names(tmp_path: Path) -> None:
    rows = [
        np.stack([STIM[i].reshape(-1), CHOICE[i].reshape(-1), REWARD[i].reshape(-1)], 1)
        for i in range(PEOPLE)
    ]
    people = [{"id": f"p{i}", "info": {"age": 20}, "trials": lists(rows[i])} for i in range(PEOPLE)]
    (tmp_path / "a.json").write_text(json.dumps({"participants": people}))
    found = np.empty((1, PEOPLE), dtype=object)
    found[0, :] = rows
    savemat(tmp_path / "b.mat", {"alldata": found, "params": np.ones((4, 2))})
    for name in ("a.json", "b.mat"):
        with pytest.raises(DataError, match="no names of columns; the first rows: "):
            read(tmp_path / name)
        names = ["stim", "choice", "reward"]
        study = read(tmp_path / name, names=names, context="stim")
        assert study.learners == (("p0", "p1", "p2") if name == "a.json" else ("1", "2", "3"))
        assert study.reward.tolist() == REWARD.reshape(-1).tolist()
        numbers = read(tmp_path / name, context="1", action="2", reward="3")
        assert numbers.reward.tolist() == study.reward.tolist()
    assert any("left out: params (4 × 2)" in note for note in study.notes)


def test_names_of_columns_beside_a_matrix_for_each_learner(tmp_path: Path) -> None:
    people = np.empty(PEOPLE, dtype=object)
    people[:] = [np.stack([q[i].ravel() for q in Q.values()], axis=1) for i in range(PEOPLE)]
    names = np.array([*Q], dtype=object)
    savemat(tmp_path / "a.mat", {"data": people, "varnames": names, "n": PEOPLE})
    (table,), problems, _ = open_tables(tmp_path / "a.mat")
    assert not problems
    assert not table.bare
    study = read(tmp_path / "a.mat", trial="none", **ROLES)
    assert len(study) == PEOPLE
    assert np.array_equal(study.reward, REWARD.ravel())
    for wrong in (names[:2], [*names[:2], names[0]]):  # too few; one of them twice
        other = np.array(wrong, dtype=object)
        savemat(tmp_path / "b.mat", {"data": people, "varnames": other})
        with pytest.raises(DataError, match="no names of columns"):
            read(tmp_path / "b.mat")


def test_sessions_of_different_length_in_cells(tmp_path: Path) -> None:
    lengths = [7, 9, 12, 8]
    rows = {name: [values.reshape(-1)[:n] for n in lengths] for name, values in Q.items()}
    variables = {
        **{name: cell(values) for name, values in rows.items()},
        "animal": cell(["m1", "m1", "m2", "m2"]),
        "age": np.array([3.0, 4.0, 5.0, 6.0]),
        "note": {"a": {"b": 3.0}},
    }
    path = tmp_path / "a.mat"
    for value in ({"d": variables}, variables):
        savemat(path, value)
        study = read(path, **ROLES, learner="animal", reset_by="session", by="age", min_trials=0)
        assert study.learners == ("m1", "m1", "m2", "m2")
        assert np.diff(study.starts).tolist() == lengths
    assert any("4 session × 7 to 12 trials of" in note for note in study.notes)


def write_mat(path: Path, arrays: dict[str, Any]) -> Path:
    savemat(path.with_suffix(".mat"), arrays)
    return path.with_suffix(".mat")


def write_npz(path: Path, arrays: dict[str, Any]) -> Path:
    np.savez_compressed(path.with_suffix(".npz"), **arrays)
    return path.with_suffix(".npz")


def write_json(path: Path, arrays: dict[str, Any]) -> Path:
    path.with_suffix(".json").write_text(json.dumps(lists(arrays)))
    return path.with_suffix(".json")


def write_rds(path: Path, arrays: dict[str, Any]) -> Path:
    import rdata

    plain = {k: np.asarray(v, dtype="int32") for k, v in arrays.items()}
    rdata.write_rds(path.with_suffix(".rds"), plain)
    return path.with_suffix(".rds")


WRITERS = [write_mat, write_npz, write_json, write_rds]
Writer = Callable[[Path, dict[str, Any]], Path]


@pytest.mark.parametrize("write", WRITERS)
def test_arrays_with_three_axes_are_a_question(tmp_path: Path, write: Writer) -> None:
    path = write(tmp_path / "a", {**Q, "age": np.array([20, 30, 40]), "w": np.arange(5)})
    if write is write_json:  # lists in lists are levels, from the outermost
        check(read(path, **ROLES, reset_by="block"))
    else:
        with pytest.raises(DataError) as caught:
            read(path, **ROLES)
        said = str(caught.value)
        assert "arrays with 3 axes: stim (3 × 2 × 12), choice (3 × 2 × 12), reward (3 × 2" in said
        assert "--axes learner,block,trial in the order of these axes" in said
    study = read(path, **ROLES, axes="learner,block,trial".split(","), reset_by="block", keep="age")
    check(study)
    assert study.about["age"].to_list() == [20, 30, 40]
    assert any("left out: w (" in note for note in study.notes)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("order", [(2, 0, 1), (1, 2, 0)])
def test_axes_in_any_order(tmp_path: Path, write: Writer, order: tuple[int, ...]) -> None:
    names = np.array(["learner", "block", "trial"])
    path = write(tmp_path / "a", {name: np.transpose(a, order) for name, a in Q.items()})
    check(read(path, **ROLES, axes=names[list(order)].tolist(), reset_by="block"))


@pytest.mark.parametrize("write", WRITERS)
def test_quantities_along_an_axis(tmp_path: Path, write: Writer) -> None:
    whole = np.stack([STIM, CHOICE, REWARD], axis=1)
    path = write(tmp_path / "a", {"data": whole})
    options: dict[str, Any] = {"axes": ["learner", "column", "block", "trial"]}
    with pytest.raises(DataError, match="no names of columns; the first rows"):
        read(path, **options)
    names = ["stim", "choice", "reward"]
    check(read(path, **options, names=names, context="stim", reset_by="block"))
    flat = write(tmp_path / "b", {f"s{i}": whole[i].reshape(3, -1).T for i in range(PEOPLE)})
    study = read(flat, names=names, context="stim")
    assert study.learners == ("s0", "s1", "s2")
    assert study.reward.tolist() == REWARD.reshape(-1).tolist()


@pytest.mark.parametrize("write", WRITERS)
def test_padding(tmp_path: Path, write: Writer) -> None:
    flat = {name: a.reshape(PEOPLE, -1).copy() for name, a in Q.items()}
    flat["reward"] = flat["reward"] - 1  # -1 is a reward too
    for name in flat:
        flat[name][1, 20:] = -1
    flat["choice"][0, 3] = -1  # and a missed trial in the middle
    path = write(tmp_path / "a", flat)
    options = {**ROLES, "missing": "action:-1", "reward_range": (-1, 1)}
    study = read(path, **options, padding="-1")
    assert np.diff(study.starts).tolist() == [23, 20, 24]
    assert study.counts["missed trials"] == 1
    assert any(
        "4 trials at the ends of rows hold -1 in stim, choice, reward and were left out as padding"
        in note
        for note in study.notes
    )
    assert read(path, **options, padding="choice:-1").reward.tolist() == study.reward.tolist()
    assert any("no array has this value" in n for n in read(path, **options, padding="99").notes)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"axes": "learner,trial"}, "arrays with 3 axes"),
        ({"axes": "learner,run,block,trial"}, "found 2 levels above the trials (of 3 × 2 parts); "
         "allowed: as many as --axes names: learner, run, block"),
        ({"axes": "learner,block,time"}, "one of them must be trial"),
        ({"axes": "trial,trial,block"}, "a name occurs twice"),
    ],
)  # fmt: skip
def test_axes_that_do_not_fit(tmp_path: Path, options: dict[str, str], said: str) -> None:
    path = write_npz(tmp_path / "a", Q)
    with pytest.raises(HowlearnError) as caught:
        read(path, **ROLES, axes=options["axes"].split(","))
    assert said in str(caught.value)


def test_axes_of_a_plain_table(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1], "b": [2]}).write_csv(tmp_path / "a.csv")
    with pytest.raises(DataError, match="a table without axes"):
        read(tmp_path / "a.csv", axes=["learner", "trial"])


def test_axes_name_the_levels_of_nested_data(tmp_path: Path) -> None:
    value = {"old": [lists(block(0, 0)), lists(block(1, 0))], "young": [lists(block(2, 0))] * 2}
    (tmp_path / "a.json").write_text(json.dumps(value))
    study = read(tmp_path / "a.json", **ROLES, axes=["group", "learner", "trial"], keep="group")
    assert study.learners == ("old/1", "old/2", "young/1", "young/2")
    assert study.about["group"].to_list() == ["old", "old", "young", "young"]


def test_numpy_files(tmp_path: Path) -> None:
    rows = [(f"p{i}", t, STIM[i, 0, t], CHOICE[i, 0, t], REWARD[i, 0, t])
            for i in range(PEOPLE) for t in range(TRIALS)]  # fmt: skip
    kinds = [("who", "S3"), ("trial", "i4"), ("stim", "U2"), ("choice", "i8"), ("reward", ">f4")]
    np.save(tmp_path / "a.npy", np.array(rows, dtype=kinds))
    study = read(tmp_path / "a.npy", learner="who", context="stim")
    assert study.learners == ("p0", "p1", "p2")
    assert study.reward.tolist() == REWARD[:, 0].reshape(-1).tolist()
    numbers = np.array([row[1:] for row in rows], dtype=float)
    old = (tmp_path / "a.npy").read_bytes().replace(b",), } ", b"L,), }", 1)  # as Python 2 wrote it
    (tmp_path / "b.npy").write_bytes(old)
    assert read(tmp_path / "b.npy", learner="who", context="stim").actions == study.actions
    np.save(tmp_path / "a.npy", np.asfortranarray(numbers))
    with pytest.raises(DataError, match="no names of columns; the first rows: 0, "):
        read(tmp_path / "a.npy")
    again = read(
        tmp_path / "a.npy",
        names=["trial", "stim", "choice", "reward"],
        trial="none",
        context="stim",
    )
    assert again.reward.tolist() == study.reward.tolist()
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="arrays of Python objects, which are not read"):
        read(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", choice=CHOICE[:, 0], reward=REWARD[:, 0], who=["x", "y", "z"])
    study = read(tmp_path / "a.npz", learner="who", context="none")
    assert study.learners == ("x", "y", "z")
    content = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError):
        read(tmp_path / "a.npz")


def test_a_claim_of_a_huge_array_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((4, 9)))
    content = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(content.replace(b"(4, 9), ", b"(9999999999, 99999), ")[:-13])
    with pytest.raises(DataError, match="numpy file that cannot be read"):
        read(tmp_path / "a.npy")


def test_axes_are_roles(tmp_path: Path) -> None:
    """Learners by their axis or by the names beside it; trials counted through their blocks."""
    path = write_npz(tmp_path / "a", {"c": CHOICE, "r": REWARD, "who": np.array(["x", "y", "z"])})
    found = inspect(path, axes=["learner", "block", "trial"], action="c", reward="r")
    assert found.study is not None, found.problems
    assert found.study.learners == ("1", "2", "3")
    flat = {"c": CHOICE.reshape(PEOPLE, -1), "r": REWARD.reshape(PEOPLE, -1)}
    path = write_npz(tmp_path / "b", {**flat, "subjects": np.array(["x", "y", "z"])})
    for axes in ([], ["learner", "trial"]):
        study = read(path, axes=axes, action="c", reward="r", context="none")
        assert study.learners == ("x", "y", "z")
        assert study.reward.tolist() == REWARD.reshape(-1).tolist()


def test_trials_that_are_kept_under_their_ids(tmp_path: Path) -> None:
    people = {
        who: {
            "about": {"age": 8},
            "trials": {f"trial{t:03}": {"choice": t % 3, "reward": t % 2} for t in range(12)},
        }
        for who in ("-Na1", "-Nb2")
    }
    (tmp_path / "export.json").write_text(json.dumps({"participants": people}))
    study = read(tmp_path / "export.json", action="choice", reward="reward", context="none")
    assert study.learners == ("-Na1", "-Nb2")
    assert study.action.tolist() == [t % 3 for t in range(12)] * 2


def test_a_list_of_single_values_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    monkeypatch.setattr(nested, "_rows", looked.append)
    assert nested.bare_table(["a"] * 50, Look()) is None  # millions take no time
    assert len(looked) == 1


def test_rows_that_are_filled_up_at_their_ends_are_shorter(tmp_path: Path) -> None:
    trials = RNG.integers(60, 100, 8)
    choice, outcome = np.zeros((2, 8, 100), dtype=int)
    for row, n in enumerate(trials):
        choice[row, :n] = RNG.integers(1, 3, n)
        outcome[row, :n] = np.where(RNG.random(n) < choice[row, :n] / 3, 1, -1)
    data = {"N": 8, "T": 100, "Tsubj": trials.tolist()}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**data, "choice": choice.tolist(), "outcome": outcome.tolist()}))
    found = inspect(path)
    assert found.study is not None
    assert len(found.study.action) == trials.sum()
    assert any("left out as padding" in str(note) for note in found.notes)
    kept = inspect(path, padding="none")
    assert kept.study is not None
    assert kept.study.actions == ("0", "1", "2")
    choice[0, 5] = outcome[0, 5] = 0  # then it may be a choice
    path.write_text(json.dumps({**data, "choice": choice.tolist(), "outcome": outcome.tolist()}))
    assert not any("left out as padding" in str(note) for note in inspect(path).notes)


MIXED = (
    ["a", "", None],
    [1, 2, 3],
    [1, None],
    [1.0, 0.5, float("nan")],
    [True, None, False],
    [True, "x"],
    [True, 1],
    [np.float64(2), np.bool_(1), "y"],
    [[1, 2], {"a": 1}],
    [None],
    [10**30, -1],
)


@pytest.mark.parametrize("values", MIXED)
def test_a_column_at_a_time_is_as_value_by_value(values: list[Any]) -> None:
    column = matrices.column_of("x", values)
    texts = [matrices.text_of(value) for value in values]
    assert column.cast(pl.String).to_list() == texts


def test_thousands_of_small_tables_are_refused_before_they_are_made(tmp_path: Path) -> None:
    one = {"choice": [[1, 2, 1]] * 2, "reward": [[0, 1, 1]] * 2}
    path = tmp_path / "a.json"
    path.write_text(json.dumps([one] * 30_001))
    with pytest.raises(DataError, match="more than 30,000 small tables"):
        read(path)
    path.write_text(json.dumps([{"blocks": [one] * 20, "id": i} for i in range(1600)]))
    with pytest.raises(DataError, match="more than 30,000 small tables"):
        read(path)


def test_numbers_are_not_looked_up_among_words(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, asked = [str(i / 7) for i in range(1000)], []
    monkeypatch.setattr(coding, "nothing_in", lambda v: asked.append(v) or nothing_in(v))
    assert coding.without_nothing([*numbers, "-99", "too slow", "x"]) == [*numbers, "x"]
    assert len(asked) == 3
