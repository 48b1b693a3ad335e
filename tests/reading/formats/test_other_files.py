"""A data file is read, and no other file that it points to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import howlearn as hl
from howlearn.core.errors import DataError


def _external_link(file: h5py.File, secret: Path) -> None:
    file["reward"] = h5py.ExternalLink(str(secret), "/data")


def _soft_link(file: h5py.File, secret: Path) -> None:
    file["reward"] = h5py.SoftLink("/elsewhere")


def _inner_link(file: h5py.File, secret: Path) -> None:
    file.create_group("study")["reward"] = h5py.ExternalLink(str(secret), "/data")


def _raw_bytes(file: h5py.File, secret: Path) -> None:
    where = [(str(secret), 0, 20)]
    file.create_dataset("reward", shape=(20,), dtype="u1", external=where)


def _virtual(file: h5py.File, secret: Path) -> None:
    layout = h5py.VirtualLayout(shape=(20,), dtype="f8")
    layout[:] = h5py.VirtualSource(str(secret), "data", shape=(20,))
    file.create_virtual_dataset("reward", layout)


@pytest.mark.parametrize("point", [_external_link, _soft_link, _inner_link, _raw_bytes, _virtual])
def test_a_matlab_file_reads_nothing_else(
    tmp_path: Path, point: Callable[[h5py.File, Path], None]
) -> None:
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["data"] = np.arange(20.0)
    path = tmp_path / "trials.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        for name in ("learner", "context", "action"):
            file[name] = np.ones((1, 20))
        point(file, secret)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    with pytest.raises(DataError, match=r"other file"):
        hl.read(path)
