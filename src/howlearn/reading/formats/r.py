"""R's .RData, .rda and .rds files."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.reading.formats import Format
from howlearn.reading.formats.detect import no_damage
from howlearn.reading.formats.matrices import column_of
from howlearn.reading.formats.table import Table, distinct_names
from howlearn.reading.formats.variables import tables_of

CODE = ("CLO", "ENV", "PROM", "BUILTIN", "SPECIAL")  # functions, and what they live in
EXTRA = "R files need the package rdata: pip install 'howlearn[r]', or save it in R with write.csv"


def open_r(path: Path, inside: str | None = None, content: bytes | None = None) -> list[Table]:
    """The tables in a file of R; their rows are counted as trials, from 1."""
    try:
        import rdata
    except ImportError:
        raise HowlearnError(f"{path}: {EXTRA}") from None
    with no_damage(path, "an R file"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes of R that are not needed
        _refuse_claims()
        parsed = rdata.parser.parse_data(path.read_bytes() if content is None else content)
        _leave_out_code(parsed.object)
        several = _is_rdata(parsed)
        variables = _saved(parsed) if several else {path.stem: _converted(parsed)}
        trees = {str(name): _tree(value) for name, value in variables.items()}
    return tables_of(path, trees, inside, "RData" if several else "RDS", frames=True)


def _refuse_claims() -> None:
    """rdata makes room for as many pieces of compiled code as a file claims, before it looks."""
    from rdata.parser import _parser  # there is no other door; without it nothing is refused

    parser = getattr(_parser, "Parser", None)
    plain = getattr(parser, "_parse_bytecode", None)
    if parser is None or plain is None or hasattr(plain, "refuses_claims"):
        return

    def parse_bytecode(self: Any, references: Any, repeated: Any = None) -> Any:
        file = getattr(self, "file", None)
        if repeated is None and isinstance(file, io.BytesIO):
            place = file.tell()
            claimed = int.from_bytes(file.read(4), "big")
            file.seek(place)
            if claimed > len(file.getbuffer()):
                raise ValueError("it claims to hold more values than it has room for")
        return plain(self, references, repeated)

    parse_bytecode.refuses_claims = True  # type: ignore[attr-defined]
    parser._parse_bytecode = parse_bytecode  # type: ignore[attr-defined]


def _leave_out_code(top: Any) -> None:
    """Every function in the objects becomes NULL: no data, and rdata cannot convert them all."""
    if top.info.type.name in CODE:
        raise ValueError("it is a function or an environment, not data")
    left, seen = [top], {id(top)}
    while left:
        node = left.pop()
        if node.info.type.name in CODE:
            node.info.type = type(node.info.type).NILVALUE
            node.value = node.tag = node.attributes = None
        inner = node.value if isinstance(node.value, list | tuple) else [node.value]
        for other in (*inner, node.tag, node.attributes, node.referenced_object):
            if hasattr(other, "info") and id(other) not in seen:
                seen.add(id(other))
                left.append(other)


def _saved(parsed: Any) -> dict[str, Any]:
    """The objects that save() wrote; functions and others that are no data are left out."""
    found, failures, node = {}, [], parsed.object
    while node is not None and node.info.type.name == "LIST":
        try:
            if node.value[0].info.type.name != "NILVALUE":  # as functions are by now
                found[str(_converted(node.tag))] = _converted(node.value[0])
        except Exception as error:  # what rdata cannot convert may raise anything
            failures.append(error)
        node = node.value[1]
    if not found:
        raise failures[0] if failures else ValueError("there are only functions in it, and no data")
    return found


def _converted(parsed: Any) -> Any:
    """The objects; old files do not say in which encoding their letters are."""
    from rdata.conversion import convert

    for encoding in (None, "utf-8"):
        try:
            return convert(parsed, default_encoding=encoding, force_default_encoding=bool(encoding))
        except UnicodeDecodeError:
            continue
    return convert(parsed, default_encoding="latin-1", force_default_encoding=True)


def _is_rdata(parsed: Any) -> bool:
    """Whether a file has named objects, as save() writes them, and not one, as saveRDS() does."""
    return parsed.object.info.type.name == "LIST" and parsed.object.tag is not None


def _tree(value: Any) -> Any:
    """What rdata loads as dicts, lists, arrays, frames and single values."""
    if hasattr(value, "columns") and hasattr(value, "iloc"):
        return _frame(value)
    if hasattr(value, "dims") and hasattr(value, "coords"):
        return _named_matrix(value)
    if hasattr(value, "tolist") and not isinstance(value, np.ndarray):
        value = np.array(value.tolist(), dtype=object)
    if isinstance(value, Mapping):
        return {str(name): _tree(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_tree(inner) for inner in value]
    if isinstance(value, np.ndarray):
        return _array(value)
    return value if isinstance(value, str | int | float | bool) else None


def _array(value: np.ndarray[Any, Any]) -> Any:
    if np.ma.isMaskedArray(value):
        value = np.array(value.tolist(), dtype=object)
    if value.size == 1:
        return value.reshape(-1)[0]
    return value.reshape(-1) if value.ndim == 2 and 1 in value.shape else value


def _frame(value: Any) -> pl.DataFrame:
    names = distinct_names([str(name) for name in value.columns])
    columns = [
        column_of(name, [_one(v) for v in value.iloc[:, i].tolist()])
        for i, name in enumerate(names)
    ]
    return pl.DataFrame(columns)


def _one(value: Any) -> Any:
    """A value of a data frame; what pandas calls missing is None."""
    return None if str(value) in ("nan", "<NA>", "NaT", "None") else value


def _named_matrix(value: Any) -> Any:
    """A matrix with the names of its columns is a table."""
    array = np.asarray(value.values)
    if array.ndim == 2 and str(value.dims[1]) in value.coords:
        names = distinct_names([str(n) for n in value.coords[value.dims[1]].values.tolist()])
        columns = [column_of(name, array[:, i]) for i, name in enumerate(names)]
        rows = value.coords[value.dims[0]].values.tolist() if value.dims[0] in value.coords else []
        if rows and [*map(str, rows)] != [str(i + 1) for i in range(len(rows))] and "" not in names:
            columns.insert(0, column_of("", map(str, rows)))  # as write.csv() writes their names
        return pl.DataFrame({column.name: column for column in columns})
    return _array(array)


FORMATS = (
    Format(
        "R",
        "R: data frames, lists and matrices in RDS and RData files; `file.rda#name` is one of them",
        open_r,
        (".rds", ".rdata", ".rda"),
        starts=(b"RDX2\n", b"RDX3\n", b"RDA2\n", b"RDA3\n", b"X\n\0\0\0", b"A\n2\n", b"A\n3\n"),
        may_be=lambda head, named: False,
        called="R",
        binary=True,
        has_parts=True,
        seeds=("rds", "rds unpacked", "rdata"),
    ),
)
