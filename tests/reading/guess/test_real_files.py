"""Real people's files, with no option at all."""

from __future__ import annotations

from pathlib import Path

from howlearn.reading.guess import inspect
from howlearn.reading.read import read


def test_badham(shared_data: Path) -> None:
    path = shared_data / "badham2017" / "badham2017deficits.csv"
    found = inspect(path)
    assert found.options == {
        "learner": "participant",
        "context": ("object",),
        "action": "choice",
        "reward": "reward",
        "trial": ("trial",),
        "features": ("feature1", "feature2", "feature3"),
        "by": ("condition",),
        "recode": ("reward:-1=0,1=1",),
    }
    assert found.study is not None
    assert len(found.study) == 380


def test_rlwm(shared_data: Path) -> None:
    found = inspect(shared_data / "rlwm" / "Expe3.csv")
    assert found.options == {
        "learner": "subno",
        "context": ("block", "stimseq"),
        "action": "choice",
        "reward": "rew",
        "reset_by": ("block",),
        "missing": ("action:-1",),
        "rt": "rt",
        "load": "ns",
    }
    assert found.study is not None
    assert found.study.counts["missed trials"] == 458


def test_bids(shared_data: Path) -> None:
    found = inspect(shared_data / "bids_reversal")
    assert found.options["context"] == ("none",)
    assert found.options["action"] == "condchosen"
    assert found.options["reward"] == "outcome"
    assert found.study is not None
    assert len(found.study) == 4
    assert found.options["where"] == "chose_old != missing"  # condchosen is never missing
    assert found.study.counts["left out by --where"] == 16
    derived = read(shared_data / "bids_reversal", context="none", action="house_old == chose_old")
    assert derived.actions == ("no", "yes")


def test_wrong_rewards_are_told(shared_data: Path) -> None:
    for folder in sorted((shared_data / "aubert2025" / "syntheticdatabis").glob("*_bis")):
        found = inspect(folder)
        assert found.roles == {
            "learner": "file",
            "context": "Item",
            "action": "Action",
            "reward": "Reward",
        }
        assert found.study is not None
        items = {"missing" in found.options, "Reward is 0 or 1, but for" in repr(found)}
        assert items == {folder.name != "OneForAll_bis"}
