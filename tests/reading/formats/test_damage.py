"""Files cut off or changed anywhere are read or refused, never a crash; and what is refused."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
import pytest
import rdata
from scipy.io import savemat

from howlearn.core.errors import DataError, HowlearnError
from howlearn.reading.formats.matlab import Reader
from howlearn.reading.read import read
from sameness import FRAME, NAMES, RECORDS, ROWS, lines
from workbooks import write_ods, write_xlsx

CASES = 12  # cuts and changes of each file


def write_hdf5(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        for name in ("subject", "trial", "reward"):
            file[f"d/{name}"] = np.array(ROWS[name], dtype=float)


WRITERS = {
    "a.csv": lambda path: path.write_text("\n".join(lines())),
    "a.tsv": lambda path: path.write_bytes("\n".join(lines("\t")).encode("utf-16")),
    "a.json": lambda path: path.write_text(json.dumps(RECORDS)),
    "a.xlsx": lambda path: write_xlsx(path, {"A": [NAMES, *FRAME.rows()]}),
    "a.ods": lambda path: write_ods(path, {"A": [NAMES, *FRAME.rows()]}),
    "a.parquet": FRAME.write_parquet,
    "a.mat": lambda path: savemat(path, {"d": {"x": [1.0, 2.0], "y": [2.0, 3.0]}}),
    "b.mat": write_hdf5,
    "a.rds": lambda path: rdata.write_rds(path, pd.DataFrame({"x": [1.0], "y": [2.0]})),
    "a.rda": lambda path: rdata.write_rda(path, {"d": {"x": 1.0}}, compression=None),
}


@pytest.mark.parametrize("name", list(WRITERS))
def test_damaged_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    whole = path.read_bytes()
    rng = np.random.default_rng(len(name))
    for case in range(CASES):
        broken = bytearray(whole)
        if case % 2:
            del broken[int(rng.integers(0, len(whole))) :]
        else:
            for place in rng.integers(0, len(whole), 8):
                broken[place] = rng.integers(0, 256)
        path.write_bytes(broken)
        with suppress(HowlearnError):
            read(path, context="none")


def test_archives_are_refused_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "\n".join(lines()))
    with pytest.raises(DataError, match=r"found a ZIP archive; .*unpack it, and name the files"):
        read(path)


def test_what_is_inside_is_named_only_where_there_is_an_inside(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines()))
    with pytest.raises(DataError, match=r"a file without sheets or variables: a\.csv"):
        read(f"{path}#Data")
    odd = tmp_path / "b#1.csv"
    odd.write_text("\n".join(lines()))
    assert read(odd).learners == ("1", "2", "3")


@pytest.mark.parametrize(
    ("package", "name", "extra"), [("rdata", "a.rds", "r"), ("h5py", "b.mat", "matlab")]
)
def test_a_missing_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, name: str, extra: str
) -> None:
    WRITERS[name](tmp_path / name)
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(HowlearnError, match=rf"pip install 'howlearn\[{extra}\]'"):
        read(tmp_path / name)


def test_files_of_one_kind_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("\n".join(lines()))
    (tmp_path / "1.json").write_text('{"about": "the file beside it"}')
    write_xlsx(tmp_path / "codes.xlsx", {"A": [["a", "b"], [1, 2]]})
    (tmp_path / "~$codes.xlsx").write_bytes(b"open in Excel")
    study = read(tmp_path)
    assert study.notes == (f"{tmp_path} has files of other kinds that were not read: codes.xlsx",)


def test_a_numpy_file_that_claims_an_endless_head(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x02\x00" + (2**32 - 1).to_bytes(4, "little") + b"{}")
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="what it says about its array is damaged"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 10**8
    finally:
        tracemalloc.stop()


def test_cells_that_refer_to_their_own_cell_end_soon(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.mat"
    with h5py.File(path, "w") as file:
        cells = file.create_dataset("trial", (1, 400), dtype=h5py.ref_dtype)
        cells.attrs["MATLAB_class"] = b"cell"
        cells[...] = cells.ref
        file.flush()
    begun = process_time()
    with h5py.File(path) as file, pytest.raises(ValueError, match="refer to each other in circles"):
        Reader(file, path).variables()
    assert process_time() - begun < 2
