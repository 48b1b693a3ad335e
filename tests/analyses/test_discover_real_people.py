"""People who were taught one feature: do their matrices show it?"""

from __future__ import annotations

import numpy as np
import polars as pl

import howlearn as hl

FEATURES = ("feature1", "feature2", "feature3")


def test_badham_type_one_separates_the_values_of_the_taught_feature(shared_data):
    path = shared_data / "badham2017" / "badham2017deficits.csv"
    study = hl.read(
        path, context="object", by="condition", recode="reward:-1=0,1=1", features=FEATURES
    )
    first = np.flatnonzero(study.about["condition"].to_numpy() == 1)
    study = study.take(first)
    assert len(study) == 95
    found = hl.discover(study, criteria=["ewens"], count=1).coclassification
    # Which feature decides is known of everybody: two objects are of one category, or not.
    raw = pl.read_csv(path).filter(condition=1)
    categories = raw.group_by("participant", "object").agg(pl.col("category").first())
    kind = {(str(p), o): c for p, o, c in categories.iter_rows()}
    rows = found.select("learner", "context_a", "context_b", "probability").drop_nulls().rows()
    alike = np.array([kind[who, a] == kind[who, b] for who, a, b, _ in rows])
    p = np.array([row[-1] for row in rows])
    assert len(rows) > 95 * 20
    assert p[alike].mean() > p[~alike].mean() + 0.25
    # And not because of any other feature: those of one category that differ in all the rest.
    by_learner = {}
    for (who, *_), same, value in zip(rows, alike, p, strict=True):
        by_learner.setdefault(who, ([], []))[int(same)].append(value)
    separated = [np.mean(inside) > np.mean(outside) for outside, inside in by_learner.values()]
    assert np.mean(separated) > 0.8
