"""What experiment software writes into cells, as plain values."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

_COMMA = r"^\s*[-+]?[0-9]+,[0-9]+\s*$"
_NUMBER = r"^\s*[-+]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?\s*$"
_LIST = r"^\s*[1-9][0-9]?,[0-9]{1,2}\s*$"  # two short numbers: more likely 1 and 2 than 1.2
_MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
QUALTRICS = frozenset("StartDate EndDate Progress Finished RecordedDate ResponseId".split())
QUALTRICS_ROWS = 2  # below the names: the questions, and where they are in the survey
QUALTRICS_NOTE = (
    "it is an export of Qualtrics; the two rows below the names of its columns were left out"
)
_IMPORT = '{"ImportId"'
_PSYCHOPY = ("psychopyversion", "expname", "framerate")


def with_points(values: pl.Series) -> pl.Series:
    """Decimal commas as points, if that makes numbers of all values.

    >>> with_points(pl.Series(["0,5", "1", None])).to_list()
    ['0.5', '1', None]
    >>> with_points(pl.Series(["1,2", "2,1"])).to_list()
    ['1,2', '2,1']
    """
    if not has_commas(values):
        return values
    return values.str.replace(",", ".", literal=True)


def has_commas(values: pl.Series) -> bool:
    """Whether a column's numbers have decimal commas."""
    if values.dtype != pl.String:
        return False
    commas = values.str.contains(_COMMA)
    if not commas.any():
        return False
    there = values.filter(values.is_not_null() & ~values.str.strip_chars().is_in(_MISSING))
    return bool(there.str.contains(_NUMBER).all()) and not there.str.contains(_LIST).all()


def is_psychopy(columns: Sequence[str]) -> bool:
    """Whether a file's columns are PsychoPy's."""
    names = [name.lower() for name in columns]
    return any(name in _PSYCHOPY for name in names) or any(
        name.endswith((".thisrepn", ".thistrialn")) for name in names
    )


def is_import_row(values: Sequence[str | None]) -> bool:
    """Whether a row is the one in which Qualtrics says where each column comes from.

    >>> is_import_row(['{"ImportId":"QID1"}', '{"ImportId":"QID2"}', ""])
    True
    """
    there = [value.strip() for value in values if value is not None and value.strip()]
    return bool(there) and all(value.startswith(_IMPORT) for value in there)


def is_jspsych(columns: Sequence[str]) -> bool:
    """Whether the columns are those of jsPsych."""
    return "trial_type" in columns and bool({"trial_index", "time_elapsed"} & set(columns))


def without_quotes(values: pl.Series) -> pl.Series:
    """PsychoPy's keys without quotes and brackets; None is no key.

    >>> without_quotes(pl.Series("key_resp.keys", ["'left'", "['right']", "None", "a"])).to_list()
    ['left', 'right', None, 'a']
    """
    if values.dtype != pl.String:
        return values
    values = values.str.replace(r"^\s*\[?\s*(?:'([^',]*)'|\"([^\",]*)\")\s*\]?\s*$", "$1$2")
    if "." not in values.name:  # a column of the design: None may be a name there
        return values
    gone = values.str.strip_chars().is_in(["None", "[]"]).fill_null(False)
    return values.zip_with(~gone, pl.Series([None], dtype=pl.String))
