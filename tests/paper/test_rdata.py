"""Stored fits in RData files, nested in several ways."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
import rdata

import howlearn as hl
from howlearn.core.study import joined
from howlearn.paper import archive as participants
from howlearn.paper import authors_fits
from howlearn.paper.archive import read_archive
from howlearn.paper.published import AUTHORS, TRUNCATIONS

TASK = hl.Task.load("five-four")
MODELS = tuple(model.name for model in TASK.models)
THEIRS = tuple(AUTHORS.values())  # our names, in the authors' order
LAST = "Datalikelihood100agents6modeletabis500horizon"


def save(path, value):
    rdata.write_rda(path, {"x": value})


def one(*numbers):
    return [np.atleast_1d(np.asarray(number, dtype=float)) for number in numbers]


def nested(leaf, *axes):
    """Lists in lists: leaf(i, j, …) for all entries of the axes."""
    if not axes:
        return leaf()
    return [nested(lambda *at, i=i: leaf(i, *at), *axes[1:]) for i in axes[0]]


# --- the synthetic learners -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def fits(original):
    """Exact fits of the made-up learners at two truncations, by generating model."""
    learners = read_archive(original).learners
    return {name: hl.fit(study, TASK.models, (50, 500)) for name, study in learners.items()}


def leaf_of(fits, trials):
    """A fit as the authors store it; learners are counted alphabetically."""

    def leaf(generating, learner, fitted):
        of = fits[generating]
        names = list(of.study.learners)
        i = names.index(sorted(f"{name}.csv" for name in names)[learner].removesuffix(".csv"))
        part, j = of.of[fitted], of.at(trials)
        return one(part.theta[i, j], -part.log_likelihood[i, j], trials)

    return leaf


def by_generating_model(leaf, n):
    return nested(leaf, THEIRS, range(n), THEIRS)


def by_learner(leaf, n):
    return nested(lambda i, g, m: leaf(g, i, m), range(n), THEIRS, THEIRS)


def by_fitted_model(leaf, n):
    return nested(lambda m, g, i: leaf(g, i, m), THEIRS, THEIRS, range(n))


def with_names(leaf, n):
    names = list(AUTHORS)[::-1]
    ours = [AUTHORS[name] for name in names]
    lists = nested(leaf, ours, range(n), ours)
    return {
        f"{name}_bis": [dict(zip(names, learner, strict=True)) for learner in part]
        for name, part in zip(names, lists, strict=True)
    }


NESTINGS = [by_generating_model, by_learner, by_fitted_model, with_names]


@pytest.mark.parametrize("nesting", NESTINGS)
def test_fits_of_synthetic_learners(archive, fits, nesting):
    save(archive / f"{LAST}.RData", nesting(leaf_of(fits, 500), 12))
    save(archive / "holdoutbis100agents6models_horizon_50.Rdata", nesting(leaf_of(fits, 50), 12))
    found = read_archive(archive)
    assert found.stored is not None, found.notes
    for name, of in fits.items():
        part = found.stored.of[name]
        assert part.files == found.files[name]
        for trials in (50, 500):
            j, k = TRUNCATIONS.index(trials), of.at(trials)
            np.testing.assert_array_equal(part.fitted[:, :, j], -of.log_likelihood(trials))
            for model in MODELS:
                np.testing.assert_array_equal(part.estimates[model][:, j], of.of[model].theta[:, k])
        np.testing.assert_allclose(part.rest[:, :, 1], -of.rest(50), rtol=0, atol=1e-9)
        assert np.isnan(part.fitted[:, :, [0, 2, 3, 4, 5]]).all()
        assert np.isnan(part.rest[:, :, [0, 2, 3, 4, 5, 6]]).all()
    assert any("horizon_20" in note and "missing" in note for note in found.notes)


def shifted(leaf):
    """The learners in another order."""
    return lambda g, i, m: leaf(g, (i + 1) % 12, m)


def exchanged(leaf):
    """Two models with the same number of estimates."""
    other = {"ByShape": "ByPattern", "ByPattern": "ByShape"}
    return lambda g, i, m: leaf(g, i, other.get(m, m))


@pytest.mark.parametrize("fault", [shifted, exchanged])
def test_fits_in_another_order_are_not_used(archive, fits, fault):
    save(archive / f"{LAST}.RData", by_generating_model(fault(leaf_of(fits, 500)), 12))
    found = read_archive(archive)
    assert found.stored is None
    assert any("not those at the stored estimates" in note for note in found.notes)


def test_another_number_of_learners(archive, fits):
    save(archive / f"{LAST}.RData", by_generating_model(leaf_of(fits, 500), 11))
    found = read_archive(archive)
    assert found.stored is None
    assert any("12 learners each are expected" in n and "6 × 11 × 6" in n for n in found.notes)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([one(1, 2, 3)] * 4, "found a list of 4, of which the first is a list of 3"),
        (np.zeros((3, 4)), "found a matrix of 3 × 4"),
        ([["text"]], "are expected, found"),
    ],
)
def test_other_contents(archive, value, message):
    save(archive / f"{LAST}.RData", value)
    found = read_archive(archive)
    assert found.stored is None
    assert any(LAST in note and message in note for note in found.notes), found.notes


def test_not_an_rdata_file(archive):
    (archive / f"{LAST}.RData").write_bytes(b"nothing of the kind")
    found = read_archive(archive)
    assert found.stored is None
    assert any("cannot be read as RData" in note for note in found.notes)


def test_without_the_extra(archive, fits, monkeypatch):
    save(archive / f"{LAST}.RData", by_generating_model(leaf_of(fits, 500), 12))
    save(archive / "realdatamle.RData", [one(1, 2)])
    for module in (authors_fits, participants):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    plain = builtins.__import__

    def without(name, *rest, **named):
        assert name != "rdata"
        return plain(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    found = read_archive(archive)
    assert found.stored is None
    assert found.participants is None
    assert sum("pip install 'howlearn[r]'" in note for note in found.notes) == 2


# --- the participants -----------------------------------------------------------------------------


def found_in(folder):
    files = {file.name.casefold(): file for file in folder.iterdir()}
    return participants.read_participants(files, TASK)


@pytest.fixture(scope="module")
def people():
    """Fits of nine learners with 92 to 260 trials each: whole, first half."""
    parts = [
        (
            "x",
            hl.simulate(TASK, MODELS[k % 6], {"eta": 0.2}, learners=1, trials=92 + 21 * k, seed=k),
        )
        for k in range(9)
    ]
    return hl.fit(joined(parts, "part"), TASK.models, (0.5, 1.0))


def fit_of(people, truncation):
    def leaf(i, model):
        part, j = people.of[model], people.at(truncation)
        n = people.n_scored[i]
        return one(part.theta[i, j], -part.log_likelihood[i, j], n)

    return leaf


def rest_of(people, i, model):
    return -people.of[model].rest[i, people.at(0.5)]


def orient(leaf, n, models_first):
    if models_first:
        return nested(lambda m, i: leaf(i, m), THEIRS, range(n))
    return nested(leaf, range(n), THEIRS)


def split(lists, which):
    """(estimates, likelihoods, horizons), each of all participants and models."""
    return [[[fit[k] for fit in row] for row in lists] for k in which]


TESTS = {
    "number": lambda r, e, n: np.array([r]),
    "list of one": lambda r, e, n: one(r),
    "with horizon": lambda r, e, n: one(r, n),
    "with error": lambda r, e, n: one(0.3, r),
    "with errors and horizon": lambda r, e, n: one(np.abs(e - 0.03) / 0.03, r, n),
}


def save_people(tmp_path, people, test, models_first, n=9):
    def testing(i, model):
        theta = people.of[model].theta[i, people.at(0.5)]
        return TESTS[test](rest_of(people, i, model), theta, people.n_scored[i])

    save(tmp_path / "realdatamle.RData", orient(fit_of(people, 1.0), n, models_first))
    training = orient(fit_of(people, 0.5), n, models_first)
    save(tmp_path / "realdata_holdout_trainingset.RData", training)
    save(tmp_path / "realdata_holdout_testingset.Rdata", orient(testing, n, models_first))


def check(found, notes, people, n=9):
    assert found is not None, notes
    assert found.models == MODELS
    assert found.names == tuple(str(i + 1) for i in range(n))
    assert np.array_equal(found.n_trials, people.n_scored[:n])
    np.testing.assert_array_equal(found.whole, -people.log_likelihood(1.0)[:n])
    for model in MODELS:
        np.testing.assert_array_equal(
            found.estimates[model], people.of[model].theta[:n, people.at(1.0)]
        )
    assert found.rest is not None, notes
    np.testing.assert_array_equal(found.train, -people.log_likelihood(0.5)[:n])
    np.testing.assert_array_equal(found.rest, -people.rest(0.5)[:n])


@pytest.mark.parametrize("models_first", [False, True])
@pytest.mark.parametrize("test", TESTS)
def test_participants(tmp_path, people, test, models_first):
    save_people(tmp_path, people, test, models_first)
    found, notes = found_in(tmp_path)
    check(found, notes, people)
    assert any("the paper has 176" in note for note in notes)


@pytest.mark.parametrize("models_first", [False, True])
def test_six_participants(tmp_path, people, models_first):
    """As many as models: the testing set is read as the training set is."""
    save_people(tmp_path, people, "number", models_first, n=6)
    check(*found_in(tmp_path), people, n=6)


def test_participants_in_tables(tmp_path, people):
    """Likelihoods apart from estimates, and the testing set as a matrix."""
    whole, half = (orient(fit_of(people, at), 9, False) for at in (1.0, 0.5))
    save(tmp_path / "realdatamle.RData", split(whole, (0, 1, 2)))
    save(tmp_path / "realdata_holdout_trainingset.RData", split(half, (0, 1)))
    table = np.array([[rest_of(people, i, m) for m in THEIRS] for i in range(9)])
    save(tmp_path / "realdata_holdout_testingset.RData", [table / 1000, table])
    check(*found_in(tmp_path), people)


def test_a_participant_as_one_list(tmp_path, people):
    """For each participant: six vectors of estimates, a vector of six likelihoods, one horizon."""
    whole, half = (orient(fit_of(people, at), 9, False) for at in (1.0, 0.5))
    for name, lists in (("realdatamle", whole), ("realdata_holdout_trainingset", half)):
        rows = [
            [[fit[0] for fit in row], np.concatenate([fit[1] for fit in row]), row[0][2]]
            for row in lists
        ]
        save(tmp_path / f"{name}.RData", rows)
    save_rest = [np.array([rest_of(people, i, m) for m in THEIRS]) for i in range(9)]
    save(tmp_path / "realdata_holdout_testingset.RData", save_rest)
    check(*found_in(tmp_path), people)


def means(people):
    return orient(lambda i, m: one(rest_of(people, i, m) / people.n_scored[i]), 9, False)


def horizons(people):
    return orient(lambda i, m: one(people.n_scored[i]), 9, False)


def other_order(people):
    return orient(lambda i, m: one(rest_of(people, 8 - i, m)), 9, False)


def too_few(people):
    return orient(lambda i, m: one(rest_of(people, i, m)), 8, False)


@pytest.mark.parametrize("testing", [means, horizons, other_order, too_few])
def test_implausible_testing_sets_are_left_out(tmp_path, people, testing):
    save_people(tmp_path, people, "number", False)
    (tmp_path / "realdata_holdout_testingset.Rdata").unlink()
    save(tmp_path / "realdata_holdout_testingset.RData", testing(people))
    found, notes = found_in(tmp_path)
    assert found is not None
    assert found.rest is None
    assert any("realdata_holdout_testingset" in n and "left out" in n for n in notes)


def test_participants_of_an_archive(archive, people):
    save_people(archive, people, "number", False)
    found = read_archive(archive)
    check(found.participants, found.notes, people)


def test_missing_sets(tmp_path, people):
    save_people(tmp_path, people, "number", False)
    (tmp_path / "realdata_holdout_trainingset.RData").unlink()
    found, notes = found_in(tmp_path)
    assert found is not None
    assert found.rest is None
    assert any("no file realdata_holdout_trainingset.RData was found" in n for n in notes)
    (tmp_path / "realdatamle.RData").unlink()
    assert found_in(tmp_path)[0] is None


@pytest.mark.parametrize(
    ("factor", "message"),
    [(9, "better than a coin's"), (1 / 300, "not means"), (-1, "or their opposite")],
)
def test_likelihoods_that_no_fit_can_have(tmp_path, people, factor, message):
    leaf = fit_of(people, 1.0)
    lists = orient(lambda i, m: [leaf(i, m)[0], leaf(i, m)[1] * factor, leaf(i, m)[2]], 9, False)
    save(tmp_path / "realdatamle.RData", lists)
    found, notes = found_in(tmp_path)
    assert found is None
    assert any(message in note for note in notes), notes
