"""Compile at installation what the usual commands need, so that nobody waits for it at first use.

The commands below run on small made-up studies with an empty cache, and what numba leaves there
becomes ``howlearn/compiled.zip``: ``howlearn.engine.compile`` takes from it what fits the machine.
Whatever goes wrong here is a message, and howlearn then compiles when it is first used, as it does
with ``HOWLEARN_COMPILED=0``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZipFile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SECONDS = 1800  # after which it is given up
NAME = "compiled.zip"
HOWLEARN = ["-m", "howlearn"]
STUDY = "--learners 12 --trials 60 --seed 1 --out".split()
COMMANDS = (
    [*"simulate --task five-four --model ByPattern --set eta=0.05".split(), *STUDY, "five.csv"],
    [*"simulate --task five-four --model q-learning".split(), *STUDY, "q-learning.csv"],
    "select five.csv --task five-four --out results".split(),
    "select five.csv --task five-four --add-model field --out field".split(),
    "select stimuli.csv --load set_size --out stimuli".split(),
)
MADE_FOR = "from howlearn.engine.compile import made_for; print(made_for(), end='')"


class Compiled(BuildHookInterface):  # type: ignore[type-arg]
    """Puts compiled code into wheels, and beside the source of an editable installation."""

    folder: tempfile.TemporaryDirectory[str] | None = None

    def _is_wanted(self) -> bool:
        return self.target_name == "wheel" and os.environ.get("HOWLEARN_COMPILED") != "0"

    def dependencies(self) -> list[str]:
        """All that howlearn needs to run; but if numba is there, then it compiles with what is."""
        wanted = self._is_wanted() and not _runs(_without_isolation(), "import numba")
        return [*self.metadata.core.dependencies] if wanted else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not self._is_wanted():
            return
        began = time.monotonic()
        self.folder = tempfile.TemporaryDirectory(prefix="howlearn-")
        try:
            made = compiled(Path(self.root, "src"), Path(self.folder.name))
        except (OSError, subprocess.SubprocessError) as error:
            told = getattr(error, "stderr", None) or str(error)
            reason = told.strip().splitlines()[-1:] or ["unknown"]
            self.app.display_warning(f"Not compiled now, but at first use: {reason[0]}")
            return
        if version == "editable":
            beside = Path(self.root, "src", "howlearn", NAME)
            os.replace(shutil.copy(made, beside.with_suffix(".tmp")), beside)
        else:
            build_data["force_include"][str(made)] = f"howlearn/{NAME}"
            build_data |= {"pure_python": False, "infer_tag": True}
        self.app.display_info(f"Compiled in {time.monotonic() - began:.0f} s")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.folder is not None:
            self.folder.cleanup()


def compiled(source: Path, folder: Path) -> Path:
    """An archive of all that the commands compile, with what it was made for as its comment."""
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    environment = _environment(source)
    environment |= {"HOWLEARN_CACHE": str(cache)}
    until = time.monotonic() + SECONDS

    def run(words: list[str]) -> str:
        told = subprocess.run(
            [sys.executable, *words],
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=until - time.monotonic(),
        )
        return told.stdout

    _stimuli(folder / "stimuli.csv")
    for command in COMMANDS:
        run([*HOWLEARN, *command])
    with ZipFile(folder / NAME, "w", strict_timestamps=False) as archive:
        for pattern in ("__pycache__/howlearn_*.nb?", "howlearn_*.txt", "howlearn_*.py"):
            for file in sorted(cache.glob(pattern)):
                archive.write(file, file.relative_to(cache).as_posix())
        archive.comment = run(["-c", MADE_FOR]).encode()
    return folder / NAME


def _stimuli(path: Path) -> None:
    """Three actions, blocks of two or three stimuli: what the task above does not have."""
    random = Random(1)
    with path.open("w", encoding="utf-8") as file:
        print("learner,block,trial,stimulus,set_size,action,reward", file=file)
        for learner, trial in product(range(12), range(60)):
            block = trial // 15
            size = 2 + block % 2
            stimulus, action = random.randrange(size), random.randrange(3)
            reward = int(action == stimulus or random.random() < 0.2)
            print(
                learner,
                block,
                trial,
                f"s{block}{stimulus}",
                size,
                action,
                reward,
                sep=",",
                file=file,
            )


def _environment(source: Path) -> dict[str, str]:
    """Where howlearn can run: where it will be installed if all it needs is there, or here."""
    there = _without_isolation()
    found = there if _runs(there, "import numba") else {**os.environ}
    found["PYTHONPATH"] = os.pathsep.join(filter(None, (str(source), found.get("PYTHONPATH"))))
    return found


def _without_isolation() -> dict[str, str]:
    """The environment without the variables by which pip hides what is installed."""
    return {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "PYTHONNOUSERSITE"}}


def _runs(environment: dict[str, str], code: str) -> bool:
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    return ran.returncode == 0
