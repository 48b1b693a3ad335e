"""One file per quantity, each a table of learners × trials; and --wide, which names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import DataError, HowlearnError
from howlearn.reading.read import read

PEOPLE, TRIALS = 4, 15
RNG = np.random.default_rng(5)
CHOICE = RNG.integers(1, 5, (PEOPLE, TRIALS))
WIN = RNG.integers(1, 3, (PEOPLE, TRIALS)) * 50
LOSS = -RNG.integers(0, 2, (PEOPLE, TRIALS)) * 100
FILES = {"choice": ("Choice", CHOICE), "wi": ("Wins", WIN), "lo": ("Losses", LOSS)}
POINTS: dict[str, Any] = {"context": "none", "reward_range": (-100, 100)}


def write(folder: Path, end: str = "_15.csv", header: bool = True, turn: bool = False) -> None:
    """As R writes matrices: the rows have names, and the first row has one name less."""
    for stem, (name, values) in FILES.items():
        order = range(PEOPLE)[::-1] if turn and stem == "wi" else range(PEOPLE)
        rows = [f"Subj_{i + 1}," * header + ",".join(map(str, values[i])) for i in order]
        names = ",".join(f'"{name}_{t + 1}"' for t in range(TRIALS))
        lines = [names, *rows] if header else rows
        (folder / f"{stem}{end}").write_text("\n".join([*lines, ""]))


def check(study: Any, learners: tuple[str, ...]) -> None:
    assert study.learners == learners
    assert [int(study.actions[i]) for i in study.action] == CHOICE.reshape(-1).tolist()
    assert study.reward.tolist() == (WIN + LOSS).reshape(-1).tolist()


NAMES = tuple(f"Subj_{i + 1}" for i in range(PEOPLE))


@pytest.mark.parametrize("turn", [False, True])
def test_files_of_quantities_are_joined_by_the_names_of_rows(tmp_path: Path, turn: bool) -> None:
    write(tmp_path, turn=turn)
    study = read(tmp_path, action="Choice", reward="Wins + Losses", **POINTS)
    check(study, NAMES)
    assert any("each file is one quantity of the same trials: Choice (choice_15.csv)" in note
               for note in study.notes)  # fmt: skip
    assert any("were joined by their names" in note for note in study.notes)
    paths = [tmp_path / f"{stem}_15.csv" for stem in FILES]
    check(read(paths, action="Choice", reward="Wins + Losses", **POINTS), NAMES)


@pytest.mark.parametrize(
    "wide",
    [
        "action=choice_*.csv; reward=wi_* + lo_*",
        "action = CHOICE_15; reward = wi_15.csv + lo_15.csv",
        "action=choice_*; reward=(wi_* + lo_*) / 1",
    ],
)
@pytest.mark.parametrize("header", [True, False])
def test_files_that_the_user_names(tmp_path: Path, wide: str, header: bool) -> None:
    write(tmp_path, header=header)
    (tmp_path / "index_15.csv").write_text("Subj,Study\n1,a\n2,a\n")
    options = POINTS if header else {**POINTS, "axes": ["learner", "trial"]}
    study = read(tmp_path, wide=wide, **options)
    check(study, NAMES if header else ("1", "2", "3", "4"))
    told = "joined by their names" if header else "have no names, and were joined in their order"
    assert any(told in note for note in study.notes)
    assert any("were left out: index_15.csv" in note for note in study.notes)


def test_several_sets_of_files(tmp_path: Path) -> None:
    write(tmp_path)
    write(tmp_path, "_16.csv")
    study = read(tmp_path, wide="action=choice_*; reward=wi_* + lo_*", learner="learner", **POINTS)
    assert study.learners == tuple(f"{n}/{who}" for n in (15, 16) for who in NAMES)
    assert len(study.action) == 2 * PEOPLE * TRIALS


def test_columns_of_one_table(tmp_path: Path) -> None:
    columns = {"id": list(NAMES), "age": [1, 2, 3, 4]}
    for name, values in (("ch", CHOICE), ("w", WIN), ("l", LOSS)):
        columns |= {f"{name}.t{t + 1}": values[:, t].tolist() for t in range(TRIALS)}
    pl.DataFrame(columns).write_csv(tmp_path / "a.csv")
    study = read(
        tmp_path / "a.csv", wide="action=ch.*; reward=w.* + l.*", learner="learner", keep="age",
        **POINTS,
    )  # fmt: skip
    check(study, NAMES)
    assert study.about["age"].to_list() == [1, 2, 3, 4]


def test_vectors_in_files_of_their_own(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "seen_response.txt", CHOICE[0])
    np.savetxt(tmp_path / "seen_input.txt", WIN[0])
    with pytest.raises(DataError, match="no names of columns"):
        read(tmp_path)
    study = read(tmp_path, wide="action=*_response*; reward=*_input*", **POINTS)
    assert study.reward.tolist() == WIN[0].tolist()
    assert set(study.actions) <= {"1", "2", "3", "4"}
    np.save(tmp_path / "choices.npy", CHOICE)
    np.save(tmp_path / "wins.npy", WIN)
    arrays = [tmp_path / "choices.npy", tmp_path / "wins.npy"]
    both = read(arrays, wide="action=choices.npy; reward=wins.npy", **POINTS)
    assert both.reward.tolist() == WIN.reshape(-1).tolist()


@pytest.mark.parametrize("odd", ["²", "1" * 5000, "choice_²", "choice_" + "1" * 5000])
def test_columns_with_odd_numbers(tmp_path: Path, odd: str) -> None:
    for name in ("a", "b"):
        names = ",".join([*(f"choice_{t}" for t in range(TRIALS)), odd])
        (tmp_path / f"{name}.csv").write_text("\n".join([names, ",".join(["1"] * (TRIALS + 1))]))
    with pytest.raises(HowlearnError):
        read(tmp_path)
    (tmp_path / "b.csv").write_text(f"{odd},3,2\n1,2,2\n1,2,3\n")
    with pytest.raises(HowlearnError):
        read(tmp_path / "b.csv")


@pytest.mark.parametrize(
    ("wide", "said"),
    [
        ("choice_*", "--wide 'choice_*': write NAME=PATTERN for each quantity"),
        ("x=choice_* + wi_*", "write NAME=PATTERN"),
        ("action=choice_*; reward=points_*", "no file is called points_*; the files: choice_15"),
        ("action=nothing_*", "no file and no columns are called nothing_*"),
    ],
)
def test_what_is_refused(tmp_path: Path, wide: str, said: str) -> None:
    write(tmp_path)
    with pytest.raises(HowlearnError) as caught:
        read(tmp_path, wide=wide, **POINTS)
    assert said in str(caught.value)


def test_files_that_do_not_fit_together(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "lo_15.csv"
    whole = path.read_text()
    path.write_text(whole.replace("Subj_4", "Subj_9"))
    with pytest.raises(DataError, match=r"lo_15\.csv: found no row Subj_4, which choice_15"):
        read(tmp_path, **POINTS)
    write(tmp_path, header=False)
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    with pytest.raises(DataError, match=r"quantities of different size: .*lo_15\.csv \(3 × 15\)"):
        read(tmp_path, wide="action=choice_*; reward=wi_* + lo_*", **POINTS)
