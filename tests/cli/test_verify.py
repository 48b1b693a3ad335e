"""``howlearn verify``."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from running import Run

SMALL = ("--trials", "20,40", "--learners", "2", "--task", "shepard-1")


def test_the_command(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "checked"
    ran = run("verify", *SMALL, "--out", str(out))
    assert ran.status == 0, ran.err
    assert "No bound was violated." in ran.out
    assert "Proposition 6" in (out / "summary.txt").read_text()
    for table in ("risks", "rates", "propositions", "learners"):
        assert pl.read_csv(out / f"{table}.csv").height > 0
    assert (out / "risks.svg").stat().st_size > 1000
    before = (out / "risks.csv").read_bytes()
    ran = run("verify", *SMALL, "--out", str(out))  # goes on with the finished parts
    assert ran.status == 0
    assert (out / "risks.csv").read_bytes() == before
    ran = run("verify", *SMALL, "--out", str(out), "--seed", "9")
    assert ran.status == 2
    assert "seed: 0 there, 9 now" in ran.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--futures", "3"), "at least 20 futures"),
        (("--trials", "40,many"), "--trials"),
        (("--rate", "0.9"), "at most at 1"),
        (("--split", "1.5"), "between 0 and 1"),
        (("--task", "nowhere"), "nowhere"),
    ],
)
def test_bad_options_leave_no_folder(
    run: Run, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    out = tmp_path / "checked"
    ran = run("verify", *SMALL, *options, "--out", str(out))
    assert ran.status == 2
    assert message in ran.err
    assert not out.exists()


def test_a_task_without_rewards_leaves_no_folder(run: Run, tmp_path: Path) -> None:
    task = tmp_path / "bare.toml"
    task.write_text('name = "bare"\nactions = ["a", "b"]\ncontexts = ["x", "y"]\n')
    ran = run("verify", "--task", str(task), "--out", str(tmp_path / "out"))
    assert ran.status == 2
    assert "reward" in ran.err
    assert not (tmp_path / "out").exists()


def test_recover_refuses_a_stop_before_it_makes_a_folder(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = run("recover", "--criterion", "penalized(stop_at=paper(0.05))", "--out", str(out))
    assert ran.status == 2
    assert "T_epsilon is 1" in ran.err
    assert not out.exists()
