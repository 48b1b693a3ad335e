"""What an inspection found: readable as text, and usable as options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from howlearn.core.study import FoundKind, Study
from howlearn.core.text import few, many, shortened
from howlearn.reading.guess.draft import SAID, Guess, Oddity, Question
from howlearn.reading.project_file import GUESSED

ROLES = ("learner", "context", "action", "reward", "trial")
LIST = 4


@dataclass(frozen=True, eq=False)
class Inspection:
    """What was found in some files: who did what, how it is coded, and what is odd.

    ``options`` can be handed to ``read``, changed or not; ``problems`` is what reading would say
    where the study could not be read, and ``lacking`` names the roles that no column plays.
    """

    files: Mapping[str, str]  # name → format
    guesses: Mapping[str, Guess]  # by the option they are about
    examples: Mapping[str, str]  # of every column
    oddities: tuple[Oddity, ...]
    study: Study | None
    lacking: tuple[str, ...] = ()
    problems: str = ""
    answer: str | None = None
    notes: tuple[str, ...] = field(default=())
    questions: tuple[Question, ...] = ()  # what the data do not tell; the first answers were taken
    kind: FoundKind | None = None  # of task, with reasons

    @property
    def options(self) -> dict[str, Any]:
        """The options of ``read``, as said or guessed."""
        return {name: guess.value for name, guess in self.guesses.items()}

    @property
    def roles(self) -> dict[str, str]:
        """The column of each role, or what stands for it."""
        return {role: self.guesses[role].typed for role in ROLES if role in self.guesses}

    @property
    def coding(self) -> dict[str, Guess]:
        """What is said or guessed besides the roles."""
        return {name: guess for name, guess in self.guesses.items() if name not in ROLES}

    def examples_of(self, guess: Guess) -> str:
        """Values of the columns of a guess."""
        shown = [self.examples[c] for c in guess.columns if c in self.examples]
        return "; ".join(shown)

    def figures(self) -> list[str]:
        """Learners, trials and contexts in sentences."""
        study = self.study
        if study is None:
            return []
        learners, trials = len(set(study.learners)), np.diff(study.starts)
        per = "per learner" if learners == len(study) else "per sequence"
        lines = [
            f"{many(learners, 'learner')}"
            + (f" in {len(study):,} sequences" if learners < len(study) else "")
            + f", {many(len(study.context), 'trial')} ({per}: {trials.min():,} to "
            f"{trials.max():,}, median {np.median(trials):g})",
            f"{many(len(study.contexts), 'context')}: {_some(study.contexts)}",
            f"{len(study.actions)} actions: {_some(study.actions)}",
        ]
        if study.learned.any():
            rewards = study.reward[study.learned]
            lines.append(
                f"rewards from {rewards.min():g} to {rewards.max():g}, {rewards.mean():.2f} on "
                "average"
            )
        lines += [
            f"{phrase}: {count:,}"
            for phrase, count in study.counts.items()
            if phrase != "rows read" or count != len(study.context)
        ]
        return lines

    def __repr__(self) -> str:
        lines = [f"{name} ({form})" for name, form in list(self.files.items())[:LIST]]
        if len(self.files) > LIST:
            lines.append(f"… ({len(self.files):,} files in all)")
        for name, guess in self.guesses.items():
            why = f": {guess.why}" if guess.why else ""
            examples = self.examples_of(guess)
            shown = f" [{examples}]" if examples else ""
            lines.append(f"{name} ← {guess.typed}{shown} ({guess.how}{why})")
        lines += [f"{role} ← nothing found: --{role} COL" for role in self.lacking]
        lines += [f"kind of task: {self.kind}"] if self.kind is not None else []
        lines += self.figures()
        lines += [f"question: {question}" for question in self.questions]
        lines += [f"note: {oddity}" for oddity in self.oddities]
        if self.problems:
            lines.append(self.problems)
        return "\n".join(lines)

    def comments(self) -> dict[str, list[str]]:
        """For each guessed option why, and what else it could be: the comments of howlearn.toml."""
        found = {}
        for name, guess in self.guesses.items():
            if guess.how == SAID:
                continue
            line = f"{GUESSED} {guess.how}" + (f": {guess.why}" if guess.why else "")
            examples = self.examples_of(guess) if name in ROLES else ""
            line += f" (values: {examples})" if examples else ""
            line += f"; could also be {_some(guess.others)}" if guess.others else ""
            found[name] = [line]
        return found


def _some(names: tuple[str, ...]) -> str:
    return few([shortened(name, 40) for name in names], 8)
