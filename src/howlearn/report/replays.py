"""The selected models replayed on the learners' own choices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from howlearn.fitting.replay import Advisor
from howlearn.fitting.settings import records_of, setting_of
from howlearn.report.findings import Findings


class Replays:
    """Models set up once, then replayed for as many learners as are asked for."""

    def __init__(self, found: Findings) -> None:
        self.found, self.setting = found, setting_of(found.study)
        self._advisors: dict[int, Advisor] = {}
        self._theta: dict[int, NDArray[np.float64]] = {}

    def probabilities(self, sequence: int) -> NDArray[np.float64]:
        """Of every action at every trial, under the selected model: [trial, action]."""
        found = self.found
        k = int(found.chosen[sequence])
        if k not in self._advisors:
            study = found.study
            self._advisors[k] = Advisor(
                found.models[k], study.contexts, study.actions, self.setting
            )
            self._theta[k] = found.theta(k)
        records = records_of(found.study.part(sequence, sequence + 1))
        theta = np.ascontiguousarray(self._theta[k][sequence])
        return np.exp(self._advisors[k].log_probabilities(records, theta))

    def every(self, sequences: Iterable[int]) -> Iterator[NDArray[np.float64]]:
        """The same for several, one after the other."""
        return (self.probabilities(int(i)) for i in sequences)
