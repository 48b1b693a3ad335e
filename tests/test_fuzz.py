"""A small part of ``make fuzz``: mutated files are read or refused, and what is found is kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fuzz import campaign
from fuzz.case import make_case
from fuzz.findings import Findings, question_of
from fuzz.judge import judged
from fuzz.mutations import OF_KIND, name_of
from fuzz.seeds import seed_of, writers

FILES = 360
SEED = 9
SLOW = {"archives.bomb", "workbooks.rarely_huge", "claims.deflated_zeros"}  # left to make fuzz
SAME = ("text_in_text", "decoded_twice", "decoded_twice_inside")  # for some files


def put(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("format", list(writers()))
def test_seeds_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    seed = seed_of(format)
    assert writers()[format]().files == seed.files  # the same bytes whenever it is written
    put(tmp_path, dict(seed.files))
    monkeypatch.chdir(tmp_path)
    verdict = judged(seed.opened, seed.task, seed.options, False)
    assert verdict.outcome == "read", verdict.detail


def test_mutated_files_are_read_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = []
    for number in range(FILES):
        case = make_case(SEED, number)
        if SLOW.intersection(case.mutations) or case.size > 100_000:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        case.write(folder)
        monkeypatch.chdir(folder)
        verdict = judged(case.opened, case.task, case.options, case.inspected)
        assert verdict.good, (number, case.format, case.mutations, verdict)
        outcomes.append(verdict.outcome)
    assert outcomes.count("read") > 40
    assert outcomes.count("refused") > 150


def test_cases_are_the_same_in_every_run() -> None:
    assert all(make_case(4, number) == make_case(4, number) for number in range(36))
    assert make_case(4, 1) != make_case(5, 1)


def test_mutations_are_the_same_in_every_run() -> None:
    seeds = {seed_of(f).kinds[n]: c for f in writers() for n, c in seed_of(f).files.items()}
    for kind, mutations in OF_KIND.items():
        for mutation in {*mutations}:
            if name_of(mutation) in SLOW:
                continue
            changed = [mutation(seeds[kind], Random(place)) for place in (1, 1, 2, 3, 4, 5)]
            assert changed[0] == changed[1], name_of(mutation)
            if mutation.__name__ not in SAME:
                assert any(one != seeds[kind] for one in changed), name_of(mutation)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is Linux's to tell")
def test_what_goes_wrong_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that fails, speaks, hangs or dies: each is found, kept, and can be replayed."""
    (tmp_path / "broken_reader.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.chdir(Path(__file__).parents[1])
    monkeypatch.setattr(campaign, "LONGEST", 1.0)
    monkeypatch.setattr(campaign, "WAITED", 2.0)
    (tmp_path / "next").write_text("fails speaks hangs dies dozes works fails works hangs")
    answers: dict[int, dict[str, Any]] = {}
    campaign.run(range(6), 1, "csv", 1, answers.__setitem__, "broken_reader:judged")
    outcomes = [answers[number]["outcome"] for number in range(6)]
    assert outcomes == ["KeyError", "noise", "hang", "crash (SIGKILL)", "read", "read"]
    findings = Findings(tmp_path / "found", 1, "csv")
    kept = findings.add(0, answers[0])
    assert kept is not None
    asked = question_of(kept)
    assert asked["opened"] == make_case(1, 0, "csv").opened
    for outcome in ("KeyError", "read", "hang"):
        assert campaign.replay(asked, "broken_reader:judged")["outcome"] == outcome


BROKEN = """
import os, signal, sys, time
from pathlib import Path

from fuzz.verdict import Verdict

NEXT = Path(__file__).with_name("next")

def judged(opened, task, options, inspected):
    how, _, rest = NEXT.read_text().partition(" ")
    NEXT.write_text(rest)
    match how:
        case "fails":
            return Verdict("KeyError", "x.py:1")
        case "speaks":
            print("thread panicked", file=sys.stderr, flush=True)
        case "hangs":
            time.sleep(60)
        case "dozes":  # as where the disk or another program is slow
            for _ in range(8):
                time.sleep(0.4)
                begun = time.process_time()
                while time.process_time() < begun + 0.03:
                    pass
        case "dies":
            os.kill(os.getpid(), signal.SIGKILL)
    return Verdict("read")
"""
