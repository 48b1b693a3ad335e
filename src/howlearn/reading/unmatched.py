"""Options that match nothing: most often a slip of the pen, so that the user is told."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from howlearn.core.text import few
from howlearn.reading.labels import Column, canonical_series, natural_key
from howlearn.reading.plan import Plan, Sought

VALUES_SHOWN = 8  # of a column that an expression names


class Unmatched:
    """Strikes out, batch by batch, what was found; what is left over becomes notes."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.idle = dict(plan.expressions)  # conditions that have made no difference yet
        self.sought = list(plan.sought)
        self.values: dict[str, dict[str, None]] = {
            name: {} for condition in self.idle.values() for name in condition.columns
        }

    def see(self, columns: Mapping[str, Column]) -> None:
        """Look at the values of some columns."""
        for name in self.values.keys() & columns.keys():
            seen = self.values[name]
            if len(seen) <= VALUES_SHOWN:
                labels = columns[name].labels.drop_nulls().unique(maintain_order=True)
                seen.update(dict.fromkeys(labels.head(2 * VALUES_SHOWN)))
        for name, column in columns.items() if self.sought else ():
            new = set(self.plan.recode.get(name, {}).values())
            wanted = {one.value for one in self.sought if one.concerns(name)} - new
            present = canonical_series(column.shown)
            found = new.union(present.filter(present.is_in(list(wanted)))) if wanted else new
            self.sought = [
                one for one in self.sought if not (one.concerns(name) and one.value in found)
            ]

    def see_condition(self, name: str, differs: NDArray[np.bool_]) -> None:
        """Remember that a condition holds somewhere, or that --where leaves a row out."""
        if name in self.idle and differs.any():
            del self.idle[name]

    def notes(self) -> list[str]:
        """What made no difference."""
        notes = []
        for name, condition in self.idle.items():
            mark = "'" if '"' in condition.text else '"'
            done = "leaves out no row" if name == "where" else "holds in no row"
            values = "; ".join(self._values(column) for column in condition.columns)
            notes.append(f"--{name} {mark}{condition.text}{mark} {done}; {values}")
        return notes + [f"{one.said} {self._why(one)}" for one in self.sought]

    def _why(self, one: Sought) -> str:
        read = {*self.plan.columns, ":".join(self.plan.roles.context)}
        if one.columns and read.isdisjoint(one.columns):
            return f"changes nothing, since no option uses the column {one.columns[0]}"
        return "was found in no row"

    def _values(self, column: str) -> str:
        labels = sorted(self.values[column], key=natural_key)
        if not labels:
            return f"{column} has no values"
        return f"{column} has the value{'s' * (len(labels) > 1)} {few(labels, VALUES_SHOWN)}"
