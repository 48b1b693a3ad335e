"""``python -m fuzz [--files N] [--seed S] [--format NAME] [--replay FINDING]``."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from fuzz import campaign
from fuzz.findings import Findings, question_of
from fuzz.seeds import writers

EVERY = 10.0  # seconds between two lines of progress


@dataclass
class Tally:
    """What came of the cases of one format."""

    outcomes: Counter[str] = field(default_factory=Counter)
    inspected: int = 0
    slowest: float = 0.0
    largest: float = 0.0

    def add(self, answer: dict[str, Any]) -> None:
        """Count an answer."""
        outcome = answer["outcome"]
        self.outcomes[outcome if outcome in ("read", "refused") else "found"] += 1
        self.inspected += bool(answer.get("inspected"))
        self.slowest = max(self.slowest, answer["seconds"])
        self.largest = max(self.largest, answer["mebibytes"])

    def line(self, name: str) -> str:
        """A row of the table."""
        numbers = [self.outcomes.total(), *(self.outcomes[k] for k in ("read", "refused", "found"))]
        counts = "".join(f"{n:>9,}" for n in [*numbers, self.inspected])
        return f"{name:<16}{counts}{self.slowest:>9.2f} s{self.largest:>8.0f} MiB"


def main() -> int:
    """Run a campaign, or replay what one has found; 1 where anything was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz")
    parser.add_argument("--files", type=int, default=100_000, help="how many cases")
    parser.add_argument("--start", type=int, default=0, help="the number of the first one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=[*writers()], help="of one format only")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--replay", type=Path, metavar="FINDING", help="read its files once more")
    chosen = parser.parse_args()
    if chosen.replay is not None:
        return _replayed(chosen.replay)
    tallies: dict[str, Tally] = defaultdict(Tally)
    findings = Findings(chosen.findings, chosen.seed, chosen.format)
    formats = [*writers()]
    begun = said = monotonic()
    done = 0

    def told(number: int, answer: dict[str, Any]) -> None:
        nonlocal said, done
        done += 1
        tallies[chosen.format or formats[number % len(formats)]].add(answer)
        if answer["outcome"] not in ("read", "refused"):
            kept = findings.add(number, answer)
            if kept is not None:
                print(f"found: {answer['outcome']} at {answer['place']} ({kept})", flush=True)
        if monotonic() - said > EVERY:
            said = monotonic()
            speed = done / (said - begun)
            left = (chosen.files - done) / speed / 60
            found = sum(findings.counts.values())
            print(
                f"{done:,} of {chosen.files:,} files, {speed:.0f} a second, {left:.0f} minutes "
                f"left, {found:,} found",
                flush=True,
            )

    numbers = range(chosen.start, chosen.start + chosen.files)
    campaign.run(numbers, chosen.seed, chosen.format, chosen.workers, told)
    _summary(tallies, findings, monotonic() - begun)
    return 1 if findings.counts else 0


def _summary(tallies: dict[str, Tally], findings: Findings, seconds: float) -> None:
    whole = Tally()
    heads = "".join(f"{name:>9}" for name in ("files", "read", "refused", "found", "inspected"))
    print(f"\n{'format':<16}{heads}{'slowest':>11}{'memory':>12}")
    for name in writers():
        if name in tallies:
            tally = tallies[name]
            print(tally.line(name))
            whole.outcomes += tally.outcomes
            whole.inspected += tally.inspected
            whole.slowest = max(whole.slowest, tally.slowest)
            whole.largest = max(whole.largest, tally.largest)
    print(whole.line("all"))
    files = whole.outcomes.total()
    print(f"\n{files:,} files in {seconds / 60:.1f} minutes: {files / seconds:.0f} a second")
    if not findings.counts:
        print("nothing was found")
    for (outcome, place), times in sorted(findings.counts.items(), key=lambda item: -item[1]):
        print(f"{times:>7,} × {outcome} at {place}")


def _replayed(place: Path) -> int:
    answer = campaign.replay(question_of(place))
    good = answer["outcome"] in ("read", "refused")
    print(f"{answer['outcome']} at {answer['place']}" if not good else answer["outcome"])
    print(answer["detail"])
    print(f"{answer['seconds']:.2f} s, {answer['mebibytes']:.0f} MiB")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
