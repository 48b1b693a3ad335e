"""Folders as they are: several formats, notes beside the data, names spelled in several ways."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from howlearn.core.errors import DataError, HowlearnError
from howlearn.reading.formats.open import open_tables
from howlearn.reading.guess import inspect
from howlearn.reading.read import read
from howlearn.results.select_into import originals
from sameness import FRAME, assert_same, lines

NAMES = ["subject", "trial", "item", "choice", "reward"]


def rows(who: str, n: int = 6) -> list[list[object]]:
    return [[who, i, "xy"[i % 2], "lr"[i % 3 > 0], i % 2] for i in range(1, n + 1)]


def text(who: str, separator: str = ",", names: list[str] = NAMES) -> str:
    return "\n".join(separator.join(map(str, row)) for row in [names, *rows(who)])


def records(who: str) -> str:
    return json.dumps([dict(zip(NAMES, row, strict=True)) for row in rows(who)])


def test_a_learner_in_another_format(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text("a"))
    (tmp_path / "b.tsv").write_text(text("b", "\t"))
    (tmp_path / "c.json").write_text(records("c"))
    (tmp_path / "a.json").write_text(json.dumps({"choice": {"Description": "a key"}}))
    (tmp_path / "settings.json").write_text(json.dumps({"version": 3, "keys": ["l", "r"]}))
    (tmp_path / "d.sas7bdat").write_bytes(b"x")
    study = read(tmp_path)
    assert study.learners == ("a", "b", "c")
    assert study.notes == (
        f"{tmp_path} has files of other kinds that were not read: d.sas7bdat",
        f"{tmp_path} has JSON files with the columns of the others, which were read too: c.json",
    )
    assert inspect(tmp_path).study.learners == study.learners  # type: ignore[union-attr]


@pytest.mark.parametrize("columns", [NAMES, NAMES[1:]], ids=["learners", "no learners"])
def test_a_copy_in_another_format_is_not_read(tmp_path: Path, columns: list[str]) -> None:
    frame = pl.DataFrame([*rows("a"), *rows("b")], schema=NAMES, orient="row").select(columns)
    frame.write_csv(tmp_path / "all.csv")
    copy = tmp_path / ("all.json" if "subject" not in columns else "export.json")
    copy.write_text(json.dumps(frame.to_dicts()))
    study = read(tmp_path, trial="none")
    assert len(study.context) == 12
    assert any("export.json" in note for note in study.notes) == (copy.name == "export.json")
    tables, problems, _ = open_tables([tmp_path, copy])  # what is named itself is read
    assert (len(tables), problems) == (2, [])


def test_notes_beside_the_data(tmp_path: Path) -> None:
    for who in "ab":
        (tmp_path / f"{who}.csv").write_text(text(who))
    (tmp_path / "notes.txt").write_text("Learner 3 left early. Nothing else\nanother, with comma\n")
    study = read(tmp_path)
    assert study.learners == ("a", "b")
    [note] = study.notes
    assert "with other columns than the trials, which was left out: notes.txt" in note
    assert len(open_tables([tmp_path, tmp_path / "notes.txt"])[0]) == 3
    with pytest.raises(DataError, match=r"notes\.txt"):  # what is named itself is read
        read([tmp_path / "a.csv", tmp_path / "notes.txt"])


def test_options_say_which_files_are_the_study(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text("a"))
    (tmp_path / "z.csv").write_text(text("z", names=["v", "w", "x", "y", "z"]))
    assert read(tmp_path).learners == ("a",)
    assert read(tmp_path, learner="v", context="x", action="y", reward="z").learners == ("z",)


def test_spelling_of_columns_may_differ(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text("a"))
    (tmp_path / "b.csv").write_text(
        text("b", names=["Subject", "TRIAL", "item", "Choice", "reward"])
    )
    (tmp_path / "c.json").write_text(records("c").replace('"reward"', '"Reward"'))
    study = read([tmp_path / name for name in ("a.csv", "b.csv", "c.json")])
    assert study.learners == ("a", "b", "c")
    assert study.notes == (
        "columns that some files spell differently were read: Subject as subject, TRIAL as trial, "
        "Choice as choice, Reward as reward",
    )
    assert originals(study)[1].columns == ["Subject", "TRIAL", "item", "Choice", "reward"]
    both = "id,Item,item,choice,reward\n" + "\n".join(f"2,{i % 2},s{i % 2},l,1" for i in range(4))
    (tmp_path / "b.csv").write_text(both)
    (tmp_path / "a.csv").write_text(both.replace("2,", "1,").replace("l,1", "r,0"))
    assert read([tmp_path / "a.csv", tmp_path / "b.csv"], context="item").contexts == ("s0", "s1")


def test_a_folder_without_data(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"CSV, TSV or other text .* or Stata files directly inside$"
    ):
        read(tmp_path)


def test_here_is_a_folder_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "more").mkdir(parents=True)
    for name in ("data/a.csv", "data/more/b.csv"):
        (tmp_path / name).write_text("id,item,choice,reward\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="name the folders inside it that have some: data"):
        read(".")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("people.csv", "subject,age,sex\n1,20,f\n2,30,m\n3,40,f\n"),
        ("index.csv", "subject,file\n1,a.csv\n2,a.csv\n"),
        ("questionnaire.csv", "subject,q1,q2,q3,reward sensitivity\n1,3,4,5,1\n2,3,3,2,2\n"),
        ("participants.json", '{"age": {"Description": "years"}}'),
        ("consent.json", '[{"subject": 1, "signed": true}, {"subject": 2, "signed": true}]'),
        ("readme.txt", "These are the data."),
    ],
)
def test_files_beside_the_data_do_not_stop_the_reading(
    tmp_path: Path, name: str, text: str
) -> None:
    FRAME.write_csv(tmp_path / "trials.csv")
    (tmp_path / name).write_text(text)
    study = read(tmp_path)
    assert_same(study)
    said = any(name in note for note in study.notes)
    assert said == name.endswith((".csv", "consent.json"))


def test_json_that_explains_beside_data_in_json(tmp_path: Path) -> None:
    for i, part in enumerate(FRAME.partition_by("subject"), start=1):
        (tmp_path / f"p{i}.json").write_text(json.dumps(part.rows(named=True)))
    (tmp_path / "settings.json").write_text('{"screen": 3, "colours": {"red": 1}}')
    study = read(tmp_path)
    assert_same(study)
    assert any("settings.json was left out: it is JSON without trials" in n for n in study.notes)


def test_a_folder_for_each_learner(tmp_path: Path) -> None:
    for i, part in enumerate(FRAME.partition_by("subject", include_key=False), start=1):
        (tmp_path / f"p{i}").mkdir()
        part.write_csv(tmp_path / f"p{i}" / "data.csv")
    study = read(tmp_path)
    assert_same(study, ("p1/data", "p2/data", "p3/data"))
    assert study.notes == (f"{tmp_path}: the files are those of the 3 folders inside it",)


def test_a_folder_of_sessions_for_each_learner(tmp_path: Path) -> None:
    """Beside them lies a table of the animals, which is no data."""
    for name, part in zip("abc", FRAME.partition_by("subject", include_key=False), strict=True):
        (tmp_path / name).mkdir()
        part.head(2).write_csv(tmp_path / name / "session_1.csv")
        part.tail(-2).write_csv(tmp_path / name / "session_2.csv")
    (tmp_path / "animals.csv").write_text("animal,weight\na,300\nb,310\nc,290\n")
    study = read(tmp_path)
    assert_same(study, ("a", "b", "c"))
    assert any("animals.csv was left out: it lists the folders" in note for note in study.notes)


def sessions(top: Path, name: str, people: str = "abcd") -> None:
    """Two files of each person, whose name stands in the folder's or the files' names only."""
    for who in people:
        for part in (1, 2):
            path = top / name.format(f"rat{who}", part)
            path.parent.mkdir(exist_ok=True, parents=True)
            lines = [f"{i},{'xy'[i % 2]},{'lr'[i % 3 > 0]},{i % 2}" for i in range(1, 31)]
            path.write_text("\n".join(["trial,item,choice,reward", *lines]))


FOLDERS, FIRST_PARTS, FILES = "folder", "part(file, 1)", "file"


@pytest.mark.parametrize(
    ("name", "who", "otherwise"),
    [
        ("{0}/{0}_{1}_2021030{1}.csv", FOLDERS, FILES),
        ("{0}/tape_{1}.csv", FOLDERS, "column('file')"),
        ("{0}_{1}_2021030{1}.csv", FIRST_PARTS, FILES),
    ],
)
def test_files_that_may_be_one_learner_are_asked_about(
    tmp_path: Path, name: str, who: str, otherwise: str
) -> None:
    sessions(tmp_path, name)
    (question,) = [q for q in inspect(tmp_path).questions if q.about == "learner"]
    assert question.answers[0].value == who
    assert otherwise in [answer.value for answer in question.answers]
    with pytest.raises(HowlearnError, match=r"is each.* one learner"):
        read(tmp_path)
    found = inspect(tmp_path, learner=who)
    assert found.study is not None
    assert found.study.learners == ("rata", "ratb", "ratc", "ratd")
    assert len(found.study.context) == 8 * 30
    others = {"file": 8, "column('file')": 2}
    assert len(read(tmp_path, learner=otherwise, trial="none").learners) == others[otherwise]


def test_a_list_of_the_folders_says_that_they_are_learners(tmp_path: Path) -> None:
    sessions(tmp_path, "{0}/{0}_{1}_2021030{1}.csv")
    (tmp_path / "rats.csv").write_text("rat,born\nRata,1\nRatb,2\nRatc,3\nRatd,4\n")
    found = inspect(tmp_path)
    assert found.study is not None
    assert found.study.learners == ("rata", "ratb", "ratc", "ratd")
    assert found.options["trial"] == ("session", "trial")
    assert any("8 files of 4 learners were put together: each folder" in n for n in found.notes)


def test_sessions_with_dates_in_the_names(tmp_path: Path) -> None:
    sessions(tmp_path, "{0}_session{1}_2021030{1}.csv", "ab")
    assert read(tmp_path, trial="none").learners == ("rata", "ratb")


def test_two_groups_are_files_of_many_learners(tmp_path: Path) -> None:
    for group, who in [(g, w) for g in ("old", "young") for w in range(5)]:
        sessions(tmp_path, f"{group}/{group}_{who}.csv", "a")
    (question,) = [q for q in inspect(tmp_path).questions if q.about == "learner"]
    assert [answer.value for answer in question.answers] == [FILES, FOLDERS]


def test_folders_of_the_same_name_are_not_one_learner(tmp_path: Path) -> None:
    sessions(tmp_path, "{0}/data/x{1}.csv", "ab")
    study = read([tmp_path / "rata/data", tmp_path / "ratb/data"], learner="folder", trial="none")
    assert study.learners == ("rata/data", "ratb/data")


@pytest.mark.parametrize("told", [{}, {"action": "response", "reward": "correct"}])
def test_a_questionnaire_of_the_same_software(tmp_path: Path, told: dict[str, str]) -> None:
    """It has most of its columns in common with the trials."""
    software = "participant,date,version,screen"
    for who in "abc":
        about = f"{who},2021-03-01,3.1,60"
        trials = [f"{about},{i},{'xy'[i % 2]},{'fj'[i % 3 > 0]},{i % 2},0.5" for i in range(40)]
        (tmp_path / f"task_{who}.csv").write_text(
            "\n".join([f"{software},trial,stimulus,response,correct,rt", *trials])
        )
        asked = [f"{about},STAI_{i},{i % 4},0.9" for i in range(20)]
        (tmp_path / f"survey_{who}.csv").write_text(
            "\n".join([f"{software},question,response,rt", *asked])
        )
    found = inspect(tmp_path, **told)
    assert found.study is not None, found.problems
    assert len(found.study.context) == 120
    assert any("left out: survey_a.csv, survey_b.csv, survey_c.csv" in n for n in found.notes)
    with pytest.raises(DataError, match="name the files that have"):
        read(sorted(tmp_path.iterdir(), reverse=True), **told)


def test_a_column_under_another_name_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text("a"))
    (tmp_path / "b.csv").write_text(text("b", names=[*NAMES[:3], "lever", NAMES[4]]))
    with pytest.raises(DataError, match="no such column"):
        read(tmp_path)


def test_the_only_folder_with_data_is_entered(tmp_path: Path) -> None:
    study = tmp_path / "study"
    (study / "data").mkdir(parents=True)
    (study / "dataset_description.json").write_text('{"name": "x"}')
    rows = "\n".join(f"{p},{t},{t % 2},{(p + t) % 2}" for p in range(3) for t in range(20))
    (study / "data" / "x_data.csv").write_text(f"learner,trial,action,reward\n{rows}\n")
    found = inspect(study, context="none")
    assert found.study is not None
    assert len(found.study.learners) == 3
    assert any("the data are in data" in note for note in found.notes)


def deep(folder: Path, pattern: str, parts: int = 3) -> None:
    """The study in one file per learner and part, as deep as the pattern says."""
    for who in (1, 2, 3):
        rows = [line.split(",", 1)[1] for line in lines()[1:] if line.startswith(f"{who},")]
        for part in range(parts):
            group = "old" if who < 3 else "young"
            path = folder / pattern.format(who=who, part=part + 1, group=group)
            path.parent.mkdir(parents=True, exist_ok=True)
            some = rows[part * len(rows) // parts : (part + 1) * len(rows) // parts]
            path.write_text("\n".join(["trial,stimulus,choice,reward", *some]))


@pytest.mark.parametrize(
    "pattern",
    [
        "sub-{who}/session-{part}/data.csv",
        "P0{who}/day{part}/P0{who}_day{part}.csv",
        "data/rat{who}/2021-03-0{part}/log.csv",
        "{group}/sub-{who}/run{part}.csv",
        "session{part}/sub-{who}/data.csv",
        "sub-{who}/behaviour/task_run{part}.csv",
    ],
)
def test_folders_in_folders(tmp_path: Path, pattern: str) -> None:
    deep(tmp_path, pattern)
    study = read(tmp_path, trial="trial")
    assert len(study) == 3
    assert_same(study, study.learners)
    assert any("3 learners were put together" in note for note in study.notes)


def test_lists_and_other_files_beside_folders_in_folders(tmp_path: Path) -> None:
    deep(tmp_path, "sub-{who}/session-{part}/data.csv")
    (tmp_path / "people.csv").write_text("id,age\nsub-1,20\nsub-2,30\nsub-3,40\n")
    for who in (1, 2, 3):
        (tmp_path / f"sub-{who}/session-1/survey.csv").write_text("item,answer\nq1,3\nq2,4\n")
    study = read(tmp_path, trial="trial")
    assert_same(study, study.learners)


@pytest.mark.parametrize(
    "names",
    [
        ["one/old/a.csv", "two/new/b.csv", "x/y/c.csv"],  # whatever these are
        ["old/sub-1/a.csv", "young/sub-1/a.csv", "old/sub-2/a.csv", "young/sub-3/a.csv"],
    ],
)
def test_folders_that_nobody_can_tell_are_asked_about(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("\n".join(lines()))
    with pytest.raises(DataError, match="--learner folder"):
        read(tmp_path)
