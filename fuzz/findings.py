"""What was found, once for each place in the code, with the files that show it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.case import make_case

ABOUT = "finding.json"
KEPT_OF_A_KIND = 3


@dataclass
class Findings:
    """A folder of findings."""

    folder: Path
    seed: int
    only: str | None
    counts: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, number: int, answer: dict[str, Any]) -> Path | None:
        """Keep a case, unless there are enough of its kind; where it is kept."""
        kind = (answer["outcome"], answer["place"])
        self.counts[kind] = times = self.counts.get(kind, 0) + 1
        if times > KEPT_OF_A_KIND:
            return None
        case = make_case(self.seed, number, self.only)
        label = re.sub(r"[^A-Za-z0-9]+", "-", " ".join(kind)).strip("-")[:70]
        home = self.folder / f"{label}-{number}"
        files = home / "files"
        if home.exists():
            return home
        files.mkdir(parents=True)
        case.write(files)
        about = {
            **answer,
            "format": case.format,
            "mutations": case.mutations,
            "seed": self.seed,
            "number": number,
            "only": self.only,
            "opened": case.opened,
            "task": case.task,
            "options": dict(case.options),
            "inspected": case.inspected,
        }
        (home / ABOUT).write_text(json.dumps(about, indent=1))
        return home


def question_of(place: Path) -> dict[str, Any]:
    """What a worker is asked to read a finding's files again."""
    file = place / ABOUT if place.is_dir() else place
    about = json.loads(file.read_text())
    keys = ("opened", "task", "options", "inspected")
    return {**{key: about[key] for key in keys}, "files": str(file.parent.absolute() / "files")}
