"""Seeds of formats that are not text: Parquet, spreadsheets, MATLAB, NumPy, R, compressed text."""

from __future__ import annotations

import gzip
import io
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

from fuzz.rows import NAMES, columns, rows, separated
from fuzz.seeds import Seed, Writer, one

LONG_AGO = (2000, 1, 1, 0, 0, 0)  # the same bytes in every run
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OASIS = "urn:oasis:names:tc:opendocument:xmlns"


def parquet(frame: Any = None) -> bytes:
    """The trials as a Parquet file."""
    import polars as pl

    buffer = io.BytesIO()
    (pl.DataFrame(columns()) if frame is None else frame).write_parquet(buffer)
    return buffer.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    """An archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def xlsx() -> bytes:
    """The trials as a workbook; texts are shared, as Excel writes them."""
    texts = list(dict.fromkeys(str(cell) for row in [NAMES, *rows()] for cell in row))
    lines = []
    for r, row in enumerate([NAMES, *rows()], start=1):
        cells = [f'<c r="{"ABCDEF"[c]}{r}"{_value(v, texts)}</c>' for c, v in enumerate(row)]
        lines.append(f'<row r="{r}">{"".join(cells)}</row>')
    shared = "".join(f"<si><t>{text}</t></si>" for text in texts)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/></Types>',
        "_rels/.rels": _relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{RELATED}"><sheets>'
        '<sheet name="A" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _relations(
            ("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml")
        ),
        "xl/sharedStrings.xml": f'<sst xmlns="{SHEET}" count="{len(texts)}" '
        f'uniqueCount="{len(texts)}">{shared}</sst>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEET}"><dimension ref="A1:F13"/>'
        f"<sheetData>{''.join(lines)}</sheetData></worksheet>",
    }
    return zipped({name: text.encode() for name, text in parts.items()})


def _value(value: Any, texts: list[str]) -> str:
    if isinstance(value, str):
        return f' t="s"><v>{texts.index(value)}</v>'
    return f"><v>{value}</v>"


def _relations(*pairs: tuple[str, str]) -> str:
    inside = "".join(
        f'<Relationship Id="rId{i}" Type="{RELATED}/{kind}" Target="{target}"/>'
        for i, (kind, target) in enumerate(pairs, start=1)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{inside}</Relationships>'


def ods() -> bytes:
    """The trials as an OpenDocument spreadsheet."""
    lines = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p>'
            "</table:table-cell>"
            for cell in row
        )
        + "</table:table-row>"
        for row in [NAMES, *rows()]
    )
    names = " ".join(f'xmlns:{n}="{OASIS}:{n}:1.0"' for n in ("office", "table", "text"))
    content = (
        f"<office:document-content {names}><office:body><office:spreadsheet>"
        f'<table:table table:name="A">{lines}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    manifest = (
        f'<manifest:manifest xmlns:manifest="{OASIS}:manifest:1.0" manifest:version="1.2">'
        "</manifest:manifest>"
    )
    return zipped(
        {
            "mimetype": b"application/vnd.oasis.opendocument.spreadsheet",
            "META-INF/manifest.xml": manifest.encode(),
            "content.xml": content.encode(),
        }
    )


def matlab(version: str = "5", compressed: bool = False) -> bytes:
    """The trials as a structure of columns, or as plain variables in the oldest version."""
    import numpy as np
    from scipy.io import savemat

    found: dict[str, Any] = {n: np.array(v, dtype=object) for n, v in columns().items()}
    for name in ("participant", "trial", "reward", "rt"):
        found[name] = np.array(columns()[name], dtype=float)
    if version == "4":
        found = {n: v for n, v in found.items() if v.dtype.kind == "f"}
        found["choice"] = 1.0 + (found["trial"] + found["participant"]) % 2
        found["stimulus"] = found["trial"] % 3
    else:
        found = {"d": found}
    buffer = io.BytesIO()
    savemat(buffer, found, format=version, do_compression=compressed)
    content = buffer.getvalue()
    if version == "5":  # without the time of writing
        content = b"MATLAB 5.0 MAT-file, written for a test".ljust(116) + content[116:]
    return content


def matlab73() -> bytes:
    """The same as HDF5: numbers, letters and a cell of references."""
    import h5py
    import numpy as np

    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=512) as file:
        group = file.create_group("d")
        group.attrs["MATLAB_class"] = np.bytes_("struct")
        for name in ("participant", "trial", "reward", "rt"):
            values = np.array(columns()[name], dtype=float)
            packed = {"chunks": (1, 4), "compression": "gzip"} if name == "rt" else {}
            node = group.create_dataset(name, data=values[None, :], track_times=False, **packed)
            node.attrs["MATLAB_class"] = np.bytes_("double")
        for name in ("choice", "stimulus"):
            kept = [_letters(file, f"#refs#/{name}{i}", v) for i, v in enumerate(columns()[name])]
            refs = np.array([node.ref for node in kept], dtype=h5py.ref_dtype)
            node = group.create_dataset(name, data=refs[None, :], track_times=False)
            node.attrs["MATLAB_class"] = np.bytes_("cell")
    content = buffer.getvalue()
    return b"MATLAB 7.3 MAT-file, written for a test".ljust(124) + b"\0\2IM" + content[128:]


def _letters(file: Any, place: str, text: str) -> Any:
    import numpy as np

    letters = np.array([[ord(letter)] for letter in text], dtype=np.uint16)
    node = file.create_dataset(place, data=letters, track_times=False)
    node.attrs["MATLAB_class"] = np.bytes_("char")
    return node


def numpy_file(name: str) -> bytes:
    """The trials as arrays: a table with names in .npy, matrices of learners × trials in .npz."""
    import numpy as np

    buffer = io.BytesIO()
    if name.endswith(".npy"):
        kinds = [(n, "U1" if isinstance(v[0], str) else "f8") for n, v in columns().items()]
        np.save(buffer, np.array(rows(), dtype=kinds))
        return buffer.getvalue()
    shown = columns()
    arrays = {n: np.array(shown[n]).reshape(2, -1) for n in ("stimulus", "choice", "reward")}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            part = io.BytesIO()
            np.save(part, array)
            archive.writestr(zipfile.ZipInfo(f"{key}.npy"), part.getvalue())
    return buffer.getvalue()


def r_file(name: str, compression: Any) -> bytes:
    """The trials as a data frame of R."""
    import pandas as pd
    import rdata

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / name
        frame = pd.DataFrame(columns())
        frame["stimulus"] = pd.Categorical(frame["stimulus"])
        choices = frame["choice"].to_list()
        frame["choice"] = pd.array(choices, dtype=pd.StringDtype("python", pd.NA))
        frame["trial"] = frame["trial"].astype("int32")
        if name.endswith(".rds"):
            rdata.write_rds(path, frame, compression=compression)
        else:
            rdata.write_rda(path, {"d": frame, "k": 1.5}, compression=compression)
        content = path.read_bytes()
    if compression != "gzip":
        return content
    return gzip.compress(gzip.decompress(content), mtime=0)


def divided() -> Seed:
    """A folder of Parquet files, one per learner."""
    import polars as pl

    frame = pl.DataFrame(columns())
    files = {
        f"data/participant={i}/part-0.parquet": parquet(
            frame.filter(pl.col("participant") == i).drop("participant")
        )
        for i in (1, 2)
    }
    return Seed(dict.fromkeys(files, "parquet"), files, "data")


SEEDS: dict[str, Writer] = {
    "parquet": lambda: one("a.parquet", "parquet", parquet()),
    "parquet folder": divided,
    "xlsx": lambda: one("a.xlsx", "zip", xlsx()),
    "ods": lambda: one("a.ods", "zip", ods()),
    "matlab 4": lambda: one("a.mat", "matlab", matlab("4")),
    "matlab 5": lambda: one("a.mat", "matlab", matlab("5")),
    "matlab 7": lambda: one("a.mat", "matlab", matlab("5", compressed=True)),
    "matlab 7.3": lambda: one("a.mat", "hdf5", matlab73()),
    "npy": lambda: one("a.npy", "npy", numpy_file("a.npy")),
    "npz": lambda: one("a.npz", "npz", numpy_file("a.npz")),
    "rds": lambda: one("a.rds", "r", r_file("a.rds", "gzip")),
    "rds unpacked": lambda: one("a.rds", "r", r_file("a.rds", None)),
    "rdata": lambda: one("a.RData", "r", r_file("a.RData", "gzip")),
    "csv.gz": lambda: one("a.csv.gz", "gzip", gzip.compress(separated().encode(), mtime=0)),
}
