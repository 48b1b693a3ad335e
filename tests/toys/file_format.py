"""A kind of file: values with ~ between them, under a line of names."""

import polars as pl

import howlearn as hl
from howlearn.reading.formats import Format
from howlearn.reading.formats.table import Held


def _open(path, inside, content):
    names, *rows = (
        line.split("~") for line in (content or path.read_bytes()).decode().splitlines()
    )
    return [Held(str(path), path.stem, pl.DataFrame(rows, names, orient="row"), "Toy", 2)]


Toy = hl.register(Format("Toy", "values with ~ between them", _open, (".toy",), called="Toy"))
