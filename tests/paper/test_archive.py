"""The authors' supplement in its own layout, and archives that are not quite it."""

from __future__ import annotations

import shutil

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.core.errors import HowlearnError
from howlearn.paper.archive import read_archive
from howlearn.paper.published import TRUNCATIONS

MODELS = tuple(model.name for model in hl.Task.load("five-four").models)
LEARNERS = 12  # per model, in the made-up archive


@pytest.mark.parametrize("below", [".", "ContextualBanditscode", "ContextualBanditscode/SYNTH"])
def test_path_may_be_the_folder_or_above_it(original, below):
    found = read_archive(original / below.replace("SYNTH", "syntheticdatabis"))
    assert tuple(found.learners) == MODELS
    assert all(len(study) == LEARNERS for study in found.learners.values())
    assert found.stored is None
    assert found.participants is None


def test_learners_are_in_natural_order_with_their_rewards(archive):
    found = read_archive(archive)
    assert found.files["ByShape"] == tuple(f"databis_1_{i + 1}.csv" for i in range(LEARNERS))
    assert found.learners["ByShape"].learners[9] == "databis_1_10"
    path = archive / "syntheticdatabis" / "byShape_bis" / "databis_1_10.csv"
    raw, trials = pl.read_csv(path), found.learners["ByShape"][9]
    assert np.array_equal(trials.reward, raw["Reward"].to_numpy())
    assert trials.reward[0] == 15.0
    assert np.array_equal(trials.action + 1, raw["Action"].to_numpy())


def test_template_is_not_a_learner(archive):
    found = read_archive(archive)
    assert sum(len(study) for study in found.learners.values()) == 6 * LEARNERS
    assert any("left out" in note and "databis_500.csv" in note for note in found.notes)


def test_any_number_of_files_and_any_case(archive):
    folder = archive / "syntheticdatabis"
    (folder / "OnePerItem_bis").rename(folder / "onePERitem_BIS")
    for i in range(2, LEARNERS + 1):
        (folder / "byPattern_bis" / f"databis_1_{i}.csv").unlink()
    (folder / "byPattern_bis" / "._databis_1_1.csv").write_bytes(b"\x00")  # left by a Mac
    found = read_archive(archive)
    assert len(found.learners["ByPattern"]) == 1
    assert len(found.learners["OnePerItem"]) == LEARNERS


def test_too_deep_is_not_found(archive, tmp_path):
    deep = tmp_path / "a/b/c/d"
    deep.mkdir(parents=True)
    shutil.move(archive / "syntheticdatabis", deep / "syntheticdatabis")
    with pytest.raises(HowlearnError, match=r"no folder syntheticdatabis in it, 4 levels deep"):
        read_archive(tmp_path)
    assert len(read_archive(tmp_path / "a").learners) == 6


def without_folder(folder):
    shutil.rmtree(folder / "byShape_bis")
    return r"syntheticdatabis: no folder byShape_bis; expected is"


def with_empty_folder(folder):
    for file in (folder / "byShape_bis").iterdir():
        file.unlink()
    return r"byShape_bis: no CSV file in it; one per learner is expected"


def with_wrong_columns(folder):
    (folder / "byShape_bis" / "databis_1_3.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    return r"(?s)byShape_bis: expected are CSV files.*databis_1_3\.csv"


def with_unknown_item(folder):
    path = folder / "byShape_bis" / "databis_1_3.csv"
    path.write_text(path.read_text("utf-8").replace(",8\n", ",99\n"), encoding="utf-8")
    return r"(?s)byShape_bis.*databis_1_3\.csv.*99"


def with_template_inside(folder):
    shutil.copy(folder / "databis_500.csv", folder / "byShape_bis" / "databis_500.csv")
    return r"(?s)byShape_bis.*databis_500\.csv"


def cut_short(folder):
    path = folder / "byShape_bis" / "databis_1_3.csv"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:300]), encoding="utf-8")
    return r"databis_1_3\.csv: 299 trials found; 500 are expected"


def twice(folder):
    shutil.copytree(folder, folder.parent / "copy" / "SyntheticDataBis")
    return r"several folders syntheticdatabis"


@pytest.mark.parametrize(
    "breaking",
    [
        without_folder,
        with_empty_folder,
        with_wrong_columns,
        with_unknown_item,
        with_template_inside,
        cut_short,
        twice,
    ],
)
def test_broken_archives_are_refused(archive, breaking):
    message = breaking(archive / "syntheticdatabis")
    with pytest.raises(HowlearnError, match=message):
        read_archive(archive)


def test_no_such_folder(tmp_path):
    with pytest.raises(HowlearnError, match="nowhere: no such folder; expected is"):
        read_archive(tmp_path / "nowhere")


def test_the_authors_files(shared_data):
    found = read_archive(shared_data)
    assert all(len(study) == 50 for study in found.learners.values())
    assert found.files["OneForAll"][:2] == ("databis_1_1.csv", "databis_1_2.csv")
    assert max(study.reward.max() for study in found.learners.values()) == 15.0
    assert found.stored is not None
    assert found.stored.models == MODELS
    assert found.stored.truncations == TRUNCATIONS
    # SPEC §11
    part = found.stored.of["OnePerItem"]
    assert part.files == found.files["OnePerItem"]
    assert part.fitted[0, MODELS.index("OneForAll"), -1] == pytest.approx(335.68492545511879)
    assert part.estimates["OneForAll"][0, -1, 0] == pytest.approx(0.0073788243098130259)
    part, m = found.stored.of["ByShape"], MODELS.index("ByShape")
    assert part.fitted[0, m, 5:] == pytest.approx([161.75352931941921, 287.09398447655497])
    assert part.rest[0, m, 5] == pytest.approx(127.65091527480507)
    assert np.isnan(part.rest[:, :, -1]).all()
    assert not np.isnan(part.rest[:, :, :-1]).any()


def small(shared_data, tmp_path, learners=2):
    """The first learners of every folder, and all the published fits."""
    source = shared_data / "aubert2025"
    for folder in (source / "syntheticdatabis").iterdir():
        if folder.is_dir():
            (tmp_path / "syntheticdatabis" / folder.name).mkdir(parents=True)
            for i in range(1, learners + 1):
                name = f"{folder.name}/databis_1_{i}.csv"
                shutil.copy(
                    source / "syntheticdatabis" / name, tmp_path / "syntheticdatabis" / name
                )
    shutil.copy(source / "published_fits.csv", tmp_path)
    return tmp_path


def change(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_fits_of_other_learners_are_left_out(shared_data, tmp_path):
    found = read_archive(small(shared_data, tmp_path))
    assert found.stored is not None
    assert found.stored.of["ByShape"].files == ("databis_1_1.csv", "databis_1_2.csv")
    assert any("fits without a learner's file: 48, left out" in note for note in found.notes)


def test_fits_that_do_not_match_the_learners_are_not_used(shared_data, tmp_path):
    """Two learners' files have been exchanged: no number of theirs is right any more."""
    folder = small(shared_data, tmp_path) / "syntheticdatabis" / "byShape_bis"
    shutil.move(folder / "databis_1_1.csv", folder / "x.csv")
    shutil.move(folder / "databis_1_2.csv", folder / "databis_1_1.csv")
    shutil.move(folder / "x.csv", folder / "databis_1_2.csv")
    found = read_archive(tmp_path)
    assert found.stored is None
    assert any("not used: byShape: " in note and "databis_1_1.csv" in note for note in found.notes)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fitted_model", "model", "no column fitted_model; expected: generating_model"),
        ("csv,byShape,20", "csv,ByForm,20", r"column fitted_model: found \['ByForm'\]; allowed"),
        ("csv,byShape,20", "csv,byPattern,20", "1 rows are missing; the first: databis_1_1.csv"),
        ("csv,byShape,20", "csv,byShape,25", "byShape, 25 trials: a likelihood and 2 estimates"),
        ("csv,byShape,20", "csv,byShape,x", "cannot be read as a table of fits"),
    ],
)
def test_broken_published_fits(shared_data, tmp_path, old, new, message):
    change(small(shared_data, tmp_path) / "published_fits.csv", old, new)
    with pytest.raises(HowlearnError, match=message):
        read_archive(tmp_path)
