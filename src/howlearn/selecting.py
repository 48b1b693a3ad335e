"""``select_into``: from Python, a study of any size into a folder, here or on a Dask cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from howlearn.core.study import Study
from howlearn.manifest import manifest_of
from howlearn.models.candidates import candidates, check_contexts
from howlearn.models.model import Model
from howlearn.results import into
from howlearn.results.chunk import Wanted
from howlearn.runs.cluster import engine_of
from howlearn.runs.folder import Format, Start, read_table
from howlearn.runs.parts import Progress
from howlearn.selection.criteria import usual
from howlearn.selection.criterion import Criterion
from howlearn.selection.select import WITHIN, check_criteria

if TYPE_CHECKING:
    from distributed import Client

HASHED = 10_000  # learners whose trials are looked at together


@dataclass(frozen=True)
class Results:
    """The tables that ``select_into`` left in a folder; they are read when they are asked for."""

    folder: Path

    def table(self, name: str) -> pl.DataFrame:
        """A table by its name, such as ``predictions``."""
        return read_table(self.folder, name)

    @property
    def selection(self) -> pl.DataFrame:
        """One row per learner and criterion: the model, the runner-up, the margin, a verdict."""
        return self.table("selection")

    @property
    def scores(self) -> pl.DataFrame:
        """One row per learner, criterion and model."""
        return self.table("scores")

    @property
    def estimates(self) -> pl.DataFrame:
        """One row per learner, model, cell and parameter."""
        return self.table("estimates")

    @property
    def learners(self) -> pl.DataFrame:
        """One wide row per learner."""
        return self.table("learners")

    @property
    def shares(self) -> pl.DataFrame:
        """How common each model is, by every criterion."""
        return self.table("shares")


def select_into(
    folder: Path | str,
    study: Study,
    models: Sequence[Model] | None = None,
    criteria: Sequence[Criterion | str] | None = None,
    *,
    within: float = WITHIN,
    intervals: float | None = None,
    predictions: bool = False,
    latents: bool = False,
    format: Format = "csv",
    fresh: bool = False,
    client: Client | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """``select`` part by part into a folder, for studies that take long or are large.

    The same call goes on where one that was stopped left off; another one is refused, unless
    ``fresh`` replaces what is there. With a Dask ``client`` its workers do the parts. Models and
    criteria are as in ``select``, and so are the tables, which lie in the folder.

    >>> import howlearn as hl, tempfile
    >>> task = hl.Task.load("five-four")
    >>> study = hl.simulate(task, "ByPattern", {"eta": 0.05}, learners=2, trials=400, seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = hl.select_into(folder, study, task.models, ["aic"])
    ...     found.selection["model"].to_list()
    ['ByPattern', 'ByPattern']
    """
    engine = engine_of(client, threads)
    if models is None:
        check_contexts(study)
        models = candidates(study.contexts, study.features)
    elif isinstance(models, Model):
        models = [models]
    asked = usual(len(set(study.without_excluded().learners))) if criteria is None else criteria
    chosen = check_criteria(asked)
    options = {
        "criteria": [repr(criterion) for criterion in chosen],
        "within": within,
        "intervals": intervals,
        "predictions": predictions,
        "latents": latents,
        "format": format,
    }
    manifest = {
        **manifest_of((), study, models, options, "select_into", hashed=False),
        "study": content_hash(study),
    }
    wanted = Wanted(models, chosen, within, intervals, predictions or latents, latents)
    start = Start(fresh, threads, engine)
    into.select_into(Path(folder), study, wanted, manifest, format, start, progress)
    return Results(Path(folder))


def content_hash(study: Study) -> str:
    """Of everything in a study that results depend on, wherever its trials came from."""
    found = hashlib.sha256()
    shared = (study.contexts, study.actions, study.reward_range, study.right_wrong)
    features = sorted((c, sorted(of.items())) for c, of in study.features.items())
    found.update(repr((shared, features)).encode())
    if study.answers is not None:
        found.update(np.ascontiguousarray(study.answers).tobytes())
    for first in range(0, len(study), HASHED):
        part = study.part(first, min(first + HASHED, len(study)))
        found.update(repr((part.learners, part.excluded, part.about.rows())).encode())
        arrays = (part.starts, part.context, part.action, part.reward, part.scored, part.learned)
        for array in (*arrays, part.reset, part.forgone, part.episode_end, part.duration):
            found.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    return f"sha256:{found.hexdigest()}"
