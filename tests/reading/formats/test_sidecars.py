"""What files beside the data say about their columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from howlearn.reading.formats.open import open_tables
from howlearn.reading.formats.sidecars import Description, descriptions
from howlearn.reading.read import read

DATA = "sub,s_t,a_t,r_t\n" + "".join(f"1,{i % 2},{i % 3 % 2},{i % 2}\n" for i in range(12))
SAID = {
    "a_t": Description("what was chosen", {"0": "left", "1": "right"}),
    "r_t": Description("points that it earned"),
}
LEVELS = {"0": "left", "1": "right"}
PSYCH_DS = {
    "@context": "https://schema.org/",
    "@type": "Dataset",
    "variableMeasured": [
        {"@type": "PropertyValue", "name": "a_t", "description": "what was chosen",
         "levels": [{"value": 0, "label": "left"}, {"value": 1, "label": "right"}]},
        {"@type": "PropertyValue", "name": "r_t", "description": "points that it earned"},
    ],
}  # fmt: skip
SCHEMA = {
    "resources": [
        {"path": "x.csv", "schema": {"fields": [
            {"name": "a_t", "title": "Choice", "description": "what was chosen",
             "categories": [{"value": 0, "label": "left"}, {"value": 1, "label": "right"}]},
            {"name": "r_t", "description": "points that it earned"}]}}
    ]
}  # fmt: skip
LISTED = (
    "Variable;Description;Values\na_t;what was chosen;0 = left, 1 = right\n"
    "r_t;points that it earned;\nage;years;\n"
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.json", {"a_t": {"Description": "what was chosen", "Levels": LEVELS},
                    "r_t": {"LongName": "points that it earned"}}),
        ("dataset_description.json", PSYCH_DS),
        ("../dataset_description.json", PSYCH_DS),
        ("datapackage.json", SCHEMA),
        ("codebook.csv", LISTED),
        ("../data_dictionary.csv", LISTED),
    ],
)  # fmt: skip
def test_a_file_is_described_by_what_lies_beside_it(
    tmp_path: Path, name: str, content: object
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "x.csv").write_text(DATA)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    tables, _, _ = open_tables(folder / "x.csv")
    assert descriptions(tables) == SAID


def test_bids_sidecars_are_handed_out_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "sub-1_task-x_events.tsv").write_text(DATA.replace(",", "\t"))
    (tmp_path / "task-x_events.json").write_text(
        json.dumps({"r_t": {"Description": "points"}, "a_t": {"Levels": LEVELS}, "x": 3})
    )
    tables, _, _ = open_tables(tmp_path)
    assert descriptions(tables) == {
        "r_t": Description("points"),
        "a_t": Description("", LEVELS),
    }


def test_a_list_of_variables_in_a_folder_is_no_learner(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(DATA)
    (tmp_path / "about the columns.csv").write_text(LISTED)
    study = read(tmp_path, learner="sub", action="a_t", reward="r_t", context="s_t")
    assert study.learners == ("1",)
    assert "about the columns.csv describes the columns of the others" in study.notes[0]
    assert descriptions(open_tables(tmp_path)[0]) == SAID


@pytest.mark.parametrize(
    "content",
    ['{"a_t": ', "[" * 5000, '{"a_t": "x", "other": "y", "third": "z"}', '{"variableMeasured": 3}'],
)
def test_what_is_damaged_or_about_something_else_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.csv").write_text(DATA)
    (tmp_path / "dataset_description.json").write_text(content)
    tables, problems, _ = open_tables(tmp_path / "x.csv")
    assert descriptions(tables) == {}
    assert not problems
