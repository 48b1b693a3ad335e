"""The results of ``howlearn select``: a folder of tables."""

from howlearn.results.chunk import Extra, Wanted
from howlearn.results.into import select_into
from howlearn.results.summary import Summary

__all__ = ["Extra", "Summary", "Wanted", "select_into"]
