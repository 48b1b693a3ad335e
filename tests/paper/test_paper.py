"""The authors' own learners and fits (Aubert et al. 2025): never worse, and exact.

The files are taken as they are, with the wrong first reward of every cell (up to 15): these are
the numbers that the authors fitted.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dense import dense_maximum
from howlearn.core.rules import GradientBandit
from howlearn.engine.cell_fits import evaluate
from howlearn.engine.layout import lay_out
from howlearn.fitting.cells import block_of
from howlearn.fitting.fit import fit
from howlearn.models.task import Task
from oracle import Trial
from studies import study_of

TRUNCATIONS = (20, 50, 100, 150, 200, 250, 500)
OURS = {
    "OnePerItem": "OnePerItem",
    "OneForAll": "OneForAll",
    "byShape": "ByShape",
    "byPattern": "ByPattern",
    "byShape_Exceptions_Sep": "ByShapeExc",
    "byPattern_Exceptions_Sep": "ByPatternExc",
}
TASK = Task.load("five-four")
RULE = GradientBandit()
# The cells of all models in which they are distinct, as codes of contexts.
CELLS = list(dict.fromkeys(cell for model in TASK.models for cell in model.partition.cells))
CODED = [[[TASK.contexts.index(context) for context in cell]] for cell in CELLS]


@pytest.fixture(scope="module")
def published(shared_data):
    """One row per generating model, file, fitted model and number of trials fitted."""
    return pl.read_csv(shared_data / "aubert2025" / "published_fits.csv")


@pytest.fixture(scope="module")
def files(published):
    """The learners: (generating model, file), in the order of the table."""
    return published.select("generating_model", "file").unique(maintain_order=True).rows()


@pytest.fixture(scope="module")
def study(shared_data, files):
    learners = []
    for model, file in files:
        folder = shared_data / "aubert2025" / "syntheticdatabis" / f"{model}_bis"
        frame = pl.read_csv(folder / file)
        assert frame.columns == ["Action", "Reward", "Item"]
        learners.append([Trial(str(item), a - 1, g) for a, g, item in frame.iter_rows()])
    return study_of(*learners, contexts=TASK.contexts, reward_range=(0.0, 15.0))


@pytest.fixture(scope="module")
def fits(study):
    return fit(study, TASK.models, TRUNCATIONS)


def table(published, files, column):
    """A column of the published table as [learner, truncation] of every model."""
    shape = (len(files), len(OURS), len(TRUNCATIONS))
    sorting = published.with_row_index().with_columns(
        pl.col("fitted_model").cast(pl.Enum([*OURS])),
        learner=pl.struct("generating_model", "file").rank("dense"),
    )
    first = sorting.group_by("learner").agg(pl.col("index").min().alias("first"))
    ordered = sorting.join(first, on="learner").sort("first", "fitted_model", "trials_fitted")
    values = np.array(ordered[column].to_list(), dtype=object).reshape(shape)
    return {ours: values[:, k] for k, ours in enumerate(OURS.values())}


def test_all_files_are_there(files, published):
    assert len(files) == 300
    assert len(published) == 300 * 6 * 7
    assert published["trials_fitted"].unique().sort().to_list() == list(TRUNCATIONS)


def test_never_worse_than_the_published_fits(fits, published, files):
    for model, theirs in table(published, files, "negative_log_likelihood").items():
        worse = fits.of[model].log_likelihood + theirs.astype(float)
        assert worse.min() >= -1e-6, model


def test_many_published_fits_are_not_the_maximum(fits, published, files):
    """What is known about them: 21% of those of 500 trials are beaten by more than 1e-3 nats, and
    one by 17.8. A comparison of the wrong rows would not find that."""
    theirs = table(published, files, "negative_log_likelihood")
    gains = np.stack([fits.of[name].log_likelihood + theirs[name].astype(float) for name in theirs])
    assert np.mean(gains[:, :, -1] > 1e-3) == pytest.approx(0.21, abs=0.01)
    assert gains.max() == pytest.approx(17.8, abs=0.1)


def test_equal_to_a_dense_grid(study, fits):
    """All 300 learners at all truncations, each of the 18 cells at 2,048 rates."""
    marks = np.tile(TRUNCATIONS, (len(study), 1))
    top = np.concatenate(
        [
            dense_maximum(study.part(i, i + 50), RULE, CODED, marks[:50], n=2048)
            for i in range(0, len(study), 50)
        ]
    )
    for model in TASK.models:
        columns = [CELLS.index(cell) for cell in model.partition.cells]
        expected = top[:, :, columns].sum(axis=2)
        found = fits.of[model.name].log_likelihood
        assert np.all(found >= expected - 1e-6), model.name
        # 2,048 rates lie so close that the grid misses a top by this much per cell at most.
        assert np.all(found <= expected + 1e-3 * len(columns)), model.name


def test_published_likelihoods_at_the_published_estimates(study, published, files):
    """Both on the trials fitted and on the others, where the state is carried on."""
    block = block_of(study, RULE, np.zeros((len(study), 0), np.int64))
    units = lay_out(CODED, len(TASK.contexts))
    train = table(published, files, "negative_log_likelihood")
    test = table(published, files, "test_negative_log_likelihood")
    estimates = table(published, files, "estimates")
    learner = np.repeat(np.arange(len(files)), len(TRUNCATIONS))
    stop = np.tile(TRUNCATIONS, len(files))
    for model in TASK.models:
        theta = np.array([text.split() for text in estimates[model.name].reshape(-1)], float)
        values, totals = np.zeros(len(learner)), np.zeros(len(learner))
        for c, cell in enumerate(model.partition.cells):
            unit = np.full(len(learner), CELLS.index(cell))
            value, total = evaluate(block, units, RULE, learner, unit, theta[:, [c]], stop)
            values, totals = values + value, totals + total
        for found, theirs in ((values, train), (totals - values, test)):
            expected = -theirs[model.name].reshape(-1).astype(float)
            expected[np.isnan(expected)] = 0.0  # nothing is left after 500 trials
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_hold_out_is_the_likelihood_of_the_other_trials(study, fits):
    """At our own estimates, by the plain replay of a few learners."""
    for i in (0, 99, 288):
        for model in ("ByShapeExc", "OnePerItem"):
            for truncation in (50, 250):
                per_trial = fits.log_probability(i, model, truncation)
                part, j = fits.of[model], fits.at(truncation)
                assert per_trial[truncation:].sum() == pytest.approx(part.rest[i, j], abs=1e-9)
