"""People, and fits that others published: the leading model changes along the path."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.path_tables import intervals, runs
from howlearn.selection.select import ranking

FEATURES = ("feature1", "feature2", "feature3")
CRITERIA = ("penalized", "aic", "bic", "evidence")
# How many of 95 people are given the feature that they were taught, by the largest rate.
TAUGHT = {
    "penalized(c=0.012)": (79, 65, 53, 35, 32),
    "aic": (82, 80, 70, 62, 60),
    "bic": (86, 86, 85, 85, 85),
}
D = {"OnePerItem": 9, "OneForAll": 1, "byShape": 2, "byPattern": 2}  # else 4


@pytest.fixture(scope="module")
def people(shared_data):
    raw = pl.read_csv(shared_data / "badham2017" / "badham2017deficits.csv")
    return raw.filter(condition=1)


def test_badham_by_the_largest_rate(people) -> None:
    """Every learner's taught feature under one name, so that one model is right for everybody."""
    rows = []
    for _, frame in people.group_by("participant", maintain_order=True):
        alone = pl.col("category").n_unique()
        taught = next(f for f in FEATURES if frame.group_by(f).agg(alone)["category"].max() == 1)
        names = dict(zip([taught, *(f for f in FEATURES if f != taught)], "tab", strict=True))
        rows.append(frame.rename(names).select("participant", "choice", "reward", *"tab"))
    frame = pl.concat(rows).with_columns(pl.col("reward").clip(0, 1))
    study = hl.read(frame, context=(*"tab",), features=(*"tab",), trial="none")
    found = hl.path(study, criteria=CRITERIA)
    for criterion, expected in TAUGHT.items():
        mine = found.shares.filter(
            pl.col("axis") == "max_rate", pl.col("criterion") == criterion, pl.col("model") == "ByT"
        )
        counts = mine.sort("value")["learners"].to_numpy()
        assert np.all(np.abs(counts - np.array(expected)) <= 1)
    shares = found.shares.filter(pl.col("axis") == "kappa", pl.col("model") == "ByT")["share"]
    assert shares[0] < 0.65
    assert shares.max() > 0.9


def test_badham_leader_changes_with_the_largest_rate(people) -> None:
    study = hl.read(
        people.with_columns(pl.col("reward").clip(0, 1)),
        context="object",
        features=FEATURES,
    )
    found = hl.path(study, max_rates=[1.0, 20.0], criteria=["penalized", "bic"])
    lead = found.leaders.filter(pl.col("axis") == "max_rate")
    fine = lead.filter(pl.col("criterion") == "penalized(c=0.012)")["model"].to_list()
    assert fine[0] == "ByFeature2"
    assert len(fine) == 2
    assert "And" in fine[1]  # a finer partition
    assert lead.filter(pl.col("criterion") == "bic").height == 1
    assert any("changes by 1 of 2 criteria" in sentence for sentence in found.sentences)


def test_published_fits_along_the_price(shared_data) -> None:
    frame = pl.read_csv(shared_data / "aubert2025" / "published_fits.csv")
    frame = frame.filter(pl.col("trials_fitted") == 500)
    models = frame["fitted_model"].unique(maintain_order=True).to_list()
    wide = frame.pivot(
        on="fitted_model", index=["generating_model", "file"], values="negative_log_likelihood"
    )
    height = -wide.select(models).to_numpy()
    count = np.broadcast_to([D.get(model, 4) for model in models], height.shape)
    found = intervals(height, count, 10.0)
    for kappa in (0.0, 0.012 * np.log(500) ** 2, 1.0, 0.5 * np.log(500)):
        at = (found.start <= kappa) & (kappa < found.stop)
        assert np.array_equal(found.model[at], ranking(height - kappa * count, count)[:, 0])
    # Those who learn one cell per item: the published answer holds only where parameters are cheap.
    mine = np.flatnonzero((wide["generating_model"] == "OnePerItem").to_numpy())
    grid = np.linspace(0, 10, 201)
    best = [ranking(height[mine] - k * count[mine], count[mine])[:, 0] for k in grid]
    counts = np.array([np.bincount(b, minlength=len(models)) for b in best])
    lead = [(grid[first], [models[k] for k in who]) for first, _, who in runs(counts)]
    assert lead[0] == (0.0, ["OnePerItem"])
    assert 0.012 * np.log(500) ** 2 < lead[1][0] < 0.5 * np.log(500)
    assert "OnePerItem" not in [name for _, names in lead[1:] for name in names]
