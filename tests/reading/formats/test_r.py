"""Files of R: data frames, lists of them, lists of vectors, matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import rdata

from howlearn.core.errors import DataError
from howlearn.reading.formats.open import open_tables
from howlearn.reading.read import read
from sameness import FRAME, ROWS, assert_same


def frame_of(part: Any = FRAME, without: str = "") -> pd.DataFrame:
    """The rows as R would have them: factors, NA."""
    frame = pd.DataFrame({n: part[n].to_list() for n in part.columns if n != without})
    frame["stimulus"] = pd.Categorical(frame["stimulus"])
    frame["choice"] = pd.array(frame["choice"].to_list(), dtype=pd.StringDtype("python", pd.NA))
    if "subject" in frame:
        frame["subject"] = frame["subject"].astype("int32")
    frame["trial"] = frame["trial"].astype("int32")
    return frame


PARTS = [part for _, part in FRAME.group_by("subject", maintain_order=True)]
VECTORS = {n: np.array(["NA" if v is None else v for v in vs]) for n, vs in ROWS.items()}
VALUES = {
    "a data frame": frame_of(),
    "a list of data frames": [frame_of(part) for part in PARTS],
    "by name": {str(i): frame_of(part, "subject") for i, part in enumerate(PARTS, start=1)},
    "vectors": VECTORS,
    "a data frame beside settings": {"data": frame_of(), "date": "today", "n": np.array([3, 9])},
    "nested": {"study": {"data": frame_of()}, "n": 3.0},
}


@pytest.mark.parametrize("value", VALUES.values(), ids=list(VALUES))
def test_the_same_rows(tmp_path: Path, value: Any) -> None:
    rdata.write_rds(tmp_path / "a.rds", value)
    assert_same(read(tmp_path / "a.rds"))
    for compression in ("gzip", "xz"):
        path = tmp_path / f"{compression}.dat"  # known by its content
        rdata.write_rda(path, {"d": value, "k": 1.5}, compression=compression)
        assert_same(read(path))


def test_which_object(tmp_path: Path) -> None:
    path = tmp_path / "a.RData"
    other = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    rdata.write_rda(path, {"d": frame_of(), "other": other})
    with pytest.raises(DataError, match=r"several tables: d \(.*\); other \(x, y\).*a\.RData#d"):
        read(path)
    assert_same(read(f"{path}#d"))
    [table] = open_tables(f"{path}#d")[0]
    assert table.format == "RData, variable d, rows counted as trials"
    rdata.write_rda(path, {f"s{i}": frame_of(part) for i, part in enumerate(PARTS)})
    study = read(path)
    assert_same(study)
    assert study.notes[0] == f"{path}#s0: 3 variables with the same columns were read"


def test_learners_by_trials(tmp_path: Path) -> None:
    """What Stan is given: matrices of choices and outcomes."""
    path = tmp_path / "a.rds"
    choice = np.array([[1, 2, 1, 1], [2, 2, 1, 2]], dtype="int32")
    outcome = np.array([[0.0, 1.0, np.nan, 1.0], [1.0, 0.5, 0.0, 1.0]])
    rdata.write_rds(path, {"N": 2.0, "T": 4.0, "choice": choice, "outcome": outcome})
    study = read(path, context="none")
    assert study.learners == ("1", "2")
    assert study.action.tolist() == [0, 1, 0, 0, 1, 1, 0, 1]
    assert study.reward.tolist() == [0, 1, 0, 1, 1, 0.5, 0, 1]
    assert study.learned.tolist() == [True, True, False, *[True] * 5]
