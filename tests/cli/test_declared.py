"""An option is declared once: commands, ``read``, ``howlearn.toml`` and plans all know it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from howlearn.analyses.deviations import deviations
from howlearn.analyses.freeze import freeze_plan
from howlearn.cli.app import app
from howlearn.cli.build import METAVARS
from howlearn.core.options import Number, OneOf, OnOff, Option, Pair, Repeated, WholeNumber
from howlearn.reading.analysis_options import MODELS
from howlearn.reading.options import DATA, ReadOptions
from howlearn.reading.project_file import SECTIONS, read_study_file, write_study_file
from howlearn.reading.read import read

COMMANDS: Any = get_command(app)
READ_TRIALS = ("inspect", "select", "discover", "path", "freeze")


def words(command: str) -> dict[str, Any]:
    """The options of a command by how they are typed."""
    params = COMMANDS.commands[command].params
    return {word: param for param in params for word in param.opts}


@pytest.mark.parametrize("command", READ_TRIALS)
def test_every_option_of_reading_is_one_of_the_command(command: str) -> None:
    known = words(command)
    for option in DATA.values():
        param = known[option.word]
        assert param.name == option.name
        assert param.help == option.help
        assert param.metavar == (option.kind.metavar or METAVARS.get(option.kind.type))
        assert {*option.words} <= known.keys()


@pytest.mark.parametrize("command", ["select", "freeze"])
def test_every_option_of_an_analysis_is_one_of_the_command(command: str) -> None:
    for option in MODELS.values():
        assert words(command)[option.word].name == option.name


def test_every_option_of_reading_is_a_keyword_that_says_what_it_is() -> None:
    assert [*DATA] == [field.name for field in fields(ReadOptions)]
    for name, option in DATA.items():
        assert option.about
        assert f"- ``{name}``: {option.about.split()[0]}" in (read.__doc__ or "")
        assert getattr(ReadOptions(), name) == option.usual


def value_of(option: Option) -> Any:
    """Something that the option may be."""
    kinds: dict[type, Any] = {
        OneOf: "loss", Pair: [0, 5], Repeated: ["a < 1"], WholeNumber: 7, Number: 0.5, OnOff: True,
    }  # fmt: skip
    return next((kinds[kind] for kind in kinds if isinstance(option.kind, kind)), "x")


def test_every_option_may_stand_in_a_file_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("howlearn.toml")
    given = {part: {n: value_of(o) for n, o in known.items()} for part, known in SECTIONS.items()}
    write_study_file(path, ["a.csv"], given["data"], given["models"])
    found = read_study_file(path)
    for part, known in (("data", found.data), ("models", found.models)):
        for name, option in SECTIONS[part].items():
            assert known[name] == option.kind.in_file(given[part][name]), name
    write_study_file(Path("again.toml"), found.files, found.data, found.models)
    assert read_study_file(Path("again.toml")).data == found.data


def test_a_plan_is_not_followed_by_another_value_of_any_option() -> None:
    """Where a column stands may be left open, what is done with it may not."""
    plan = freeze_plan({"task": "shepard-1"})
    same = {name: option.usual for name, option in {**DATA, **MODELS}.items()} | {
        "task": "shepard-1"
    }
    criteria = freeze_plan(same).criteria
    assert criteria == plan.criteria
    told = {
        name
        for name, option in DATA.items()
        for found in [deviations(plan, {**same, name: value_of(option)}, [], [], 20)]
        if name in {each.what for each in found}
    }
    assert told == {name for name, option in DATA.items() if not option.may_be_open}
