"""Files that name code: each is refused in a sentence until the user types the name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import howlearn as hl
from running import Run

TRAP = """import pathlib
from howlearn.models.q_learning import QLearning
pathlib.Path("ran").touch()
class Mine(QLearning):
    pass
"""
ROWS = [f"{i},{t},{'xy'[t % 2]},{'AB'[t % 3 == 0]},{t % 2}" for i in (1, 2) for t in range(12)]


@pytest.fixture
def data(run: Run) -> Run:
    Path("trap.py").write_text(TRAP)
    Path("t.csv").write_text("\n".join(["learner,trial,context,action,reward", *ROWS]))
    ran = run("select", "t.csv", "--criterion", "aic", "--out", "r")
    assert ran.status == 0, ran.err
    return run


def _named(folder: str, **options: object) -> None:
    """The results, as if they had been made with other options."""
    file = Path(folder, "manifest.json")
    manifest = json.loads(file.read_text())
    manifest["options"] |= options
    file.write_text(json.dumps(manifest))


def test_no_file_runs_code(data: Run) -> None:
    own = ["OneForAll", "trap.py:Mine"]
    for part in ("model", "add_model"):
        option = f"--{part.replace('_', '-')}"
        Path("howlearn.toml").write_text(f'files = ["t.csv"]\n[models]\n{part} = {own}\n')
        for command in ("select", "path"):
            ran = data(command, "--out", "new")
            assert ran.status == 2, command
            assert f"{option} OneForAll {option} trap.py:Mine" in ran.err
        ran = data("freeze", "--study", "howlearn.toml", "-o", "f.toml")
        assert ran.status == 2
        assert "trap.py:Mine" in ran.err
    Path("howlearn.toml").unlink()
    _named("r", add_model=["exp4(trap.py:Mine, OneForAll)"])
    for words in (
        ("calibrate", "--like", "r", "--out", "c"),
        ("simulate", "--like", "r", "--model", "OneForAll", "-o", "s.csv"),
    ):
        ran = data(*words)
        assert ran.status == 2
        assert "trap.py:Mine is code" in ran.err
    Path("shards").mkdir()
    words = ["select", "t.csv", "--model", "trap.py:Mine", "--out", "x"]
    Path("shards/shards.json").write_text(json.dumps({"command": words, "count": 2}))
    ran = data("merge", "shards")
    assert ran.status == 2
    assert "trap.py:Mine is code" in ran.err
    plan = 'howlearn = "0"\n[data]\n[models]\nadd_model = ["trap.py:Mine"]\n[resolved]\n'
    Path("frozen.toml").write_text(plan + "criteria = ['aic']\ncriteria_few = ['aic']\n")
    ran = data("select", "t.csv", "--out", "new")
    assert ran.status == 2
    assert "frozen.toml names code, trap.py:Mine" in ran.err
    assert not Path("ran").exists()
    assert not Path("new").exists()


def test_what_is_typed_is_run(data: Run) -> None:
    Path("howlearn.toml").write_text('files = ["t.csv"]\n[models]\nadd_model = ["trap.py:Mine"]\n')
    ran = data("select", "--model", "trap.py:Nope", "--out", "r2")
    assert ran.status == 2
    assert "has no model 'Nope'" in ran.err  # which one knows after its file was run only
    assert Path("ran").exists()
    ran = data("simulate", "--model", "OneForAll", "--add-model", "trap.py:Mine", "-o", "s.csv")
    assert ran.status == 2
    assert "--add-model goes with --like" in ran.err


def test_help_says_that_this_is_the_only_door(run: Run) -> None:
    for command in ("select", "report", "simulate", "merge", "calibrate", "freeze"):
        told = " ".join(run(command, "--help").out.replace("│", " ").split())
        assert "ame only files that you trust" in told, command


AIC = ("--criterion", "aic")


def _study(text: str, folder: str = "inner") -> str:
    Path(folder).mkdir(exist_ok=True)
    Path(folder, "howlearn.toml").write_text(text)
    return f"{folder}/howlearn.toml"


def test_files_from_elsewhere_are_read_only_if_typed(data: Run) -> None:
    absolute = str(Path("t.csv").resolve())
    Path("inner/data").mkdir(parents=True)
    Path("inner/link.csv").symlink_to(absolute)
    Path("inner/data/link.csv").symlink_to(absolute)
    Path("inner/book.csv").symlink_to(absolute)
    for name in ("../t.csv", absolute, "link.csv", "data", "data/../../t.csv", "book.csv#x"):
        study = _study(f"files = ['{name}']\n")
        for words in (("--study", study), (study,)):
            ran = data("select", *words, *AIC, "--out", "new")
            assert ran.status == 2, name
            assert "outside of its folder" in ran.err, name
            assert f"--study {study}" in ran.err
        with pytest.raises(hl.HowlearnError, match="outside of its folder"):
            hl.read(study)
    assert not Path("new").exists()
    study = _study("files = ['../t.csv']\n")
    typed = data("select", "t.csv", "--study", study, *AIC, "--out", "new")
    assert typed.status == 0, typed.err


def test_options_that_name_files_from_elsewhere_must_be_typed(data: Run) -> None:
    ran = data("calibrate", "--like", "r", "--learners", 1, "--out", "c", *AIC)
    shutil.copy("t.csv", _study("").replace("howlearn.toml", "t.csv"))
    task = Path(hl.__file__).parent / "tasks" / "shepard-1.toml"
    shutil.copy(task, "mine.toml")
    for name, value in (("task", "../mine.toml"), ("calibration", "../r"), ("experts_from", "r")):
        study = _study(f"files = ['t.csv']\n[models]\n{name} = '{value}'\n")
        ran = data("select", "--study", study, "--out", "new")
        assert ran.status == 2, name
        assert "outside of its folder" in ran.err, ran.err
        assert f"--{name.replace('_', '-')} " in ran.err
    plan = "howlearn = '0'\n[data]\n[models]\ntask = '../mine.toml'\n[resolved]\n"
    Path("inner/f.toml").write_text(plan + "criteria = ['aic']\ncriteria_few = ['aic']\n")
    ran = data("select", "t.csv", "--frozen", "inner/f.toml", "--out", "new")
    assert ran.status == 2
    assert "outside of its folder" in ran.err
    with pytest.raises(hl.HowlearnError, match="outside of its folder"):
        hl.read(_study("files = ['t.csv']\n[models]\ntask = '../mine.toml'\n"))


def test_inspect_says_which_files_must_be_typed(data: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("project").mkdir()
    monkeypatch.chdir("project")
    ran = data("inspect", "../t.csv")
    assert ran.status == 0, ran.err
    assert "Next: howlearn select ../t.csv --study howlearn.toml" in ran.out
    ran = data("select", "../t.csv", "--study", "howlearn.toml", *AIC)
    assert ran.status == 0, ran.err


def test_merge_reads_beside_the_results_or_what_is_typed(
    data: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    select = ("select", str(Path("t.csv").resolve()), *AIC)
    for shard in ("1/2", "2/2"):
        assert data(*select, "--out", "results", "--shard", shard).status == 0
    shutil.copytree("results", "elsewhere/results")
    Path("elsewhere/link.csv").symlink_to("../t.csv")
    assert data("merge", "results").status == 0
    monkeypatch.chdir("elsewhere")
    ran = data("merge", "results")
    assert ran.status == 2
    assert f"--data {Path('../t.csv').resolve()}" in ran.err
    assert not Path("results/scores.csv").exists()
    for words in (["link.csv"], ["x.csv", "--task", "/etc/passwd"], ["--study", "../r"]):
        about = {"command": ["select", *words], "count": 2}
        Path("results/shards.json").write_text(json.dumps(about))
        ran = data("merge", "results")
        assert ran.status == 2
        assert "only what is typed is read from elsewhere" in ran.err, words
    Path("results/shards.json").write_text(json.dumps({"command": select, "count": 2}))
    for place in ("../t.csv", ".."):
        ran = data("merge", "results", "--data", place)
        assert ran.status == 0, ran.err


def test_a_manifest_has_no_task_read_whose_content_it_does_not_know(data: Run) -> None:
    Path("secret.toml").write_text("password = 'SECRET'\n")
    _named("r", task="secret.toml")
    ran = data("simulate", "--like", "r", "--model", "OneForAll", "-o", "s.csv")
    assert ran.status == 2
    assert "the task file" in ran.err
    assert "password" not in ran.err


SECRETS = {
    "shadow": "root:$6$SECRET$SECRET:19700:0:99999:7:::\ndaemon:SECRET:19700:0:99999:7:::\n",
    "key": "-----BEGIN PRIVATE KEY-----\nSECRETQIBADANBgkqhkiG9w0BAQEFAASC\nSECRETx\n",
    "variables": "TOKEN='SECRET'\nOTHER='SECRET'\n",
    "one word": "SECRET\n",
    "words": "SECRET line\nmore words and more, SECRET\nend\n",
    "token": '{"token": "SECRET"}',
}


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("name", ["secret", "secret.csv"])
def test_what_is_no_table_is_not_shown(data: Run, kind: str, name: str) -> None:
    Path(name).write_text(SECRETS[kind])
    for words in (
        ("inspect", name),
        ("select", name, "--out", "new"),
        ("select", name, "--action", "a", "--reward", "b", "--context", "none", "--out", "new"),
        *(
            ("select", "t.csv", option, name, "--out", "new")
            for option in ("--task", "--study", "--frozen", "--calibration", "--experts-from")
        ),
    ):
        ran = data(*words)
        assert ran.status == 2, words
        assert "SECRET" not in ran.out + ran.err, (words, ran.out, ran.err)


@pytest.mark.parametrize(
    "text",
    [
        "a = {SECRET = 1, SECRET = 2}",
        "[SECRET.SECRET]\n[SECRET.SECRET]",
        "SECRET = {a = 1}\n[SECRET.b]",
        "SECRET.a = 1\n[SECRET]",
        "a = SECRET",
        "a = 'SECRET",
        "SECRET",
    ],
)
def test_what_is_no_toml_is_not_shown(data: Run, text: str) -> None:
    Path("secret.toml").write_text(text)
    for option in ("--task", "--study", "--frozen"):
        ran = data("select", "t.csv", option, "secret.toml", "--out", "new")
        assert ran.status == 2
        assert "line" in ran.err or "end of document" in ran.err
        assert "SECRET" not in ran.err


def test_names_that_no_file_can_have_are_refused(run: Run) -> None:
    Path("howlearn.toml").write_text('files = ["a\\u0000b.csv"]\n[data]\naction = "x"\n')
    ran = run("select")
    assert ran.status == 2
    assert "outside of its folder" in ran.err
    assert "\0" not in ran.err
