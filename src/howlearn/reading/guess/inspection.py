"""What an inspection found: readable as text, and usable as options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.errors import DataError, HowlearnError
from howlearn.core.study import Study
from howlearn.core.text import few, many, shortened
from howlearn.core.world import FoundKind, offer_label
from howlearn.reading.guess.draft import SAID, Answer, Guess, Oddity, Question, shares
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

    @property
    def doubts(self) -> tuple[str, ...]:
        """What was taken without being clear: it goes into howlearn.toml and the results."""
        asked = [f"{one.sentence} {one.answers[0].typed} was taken" for one in self.questions]
        named = {question.about for question in self.questions}
        close = [
            f"the {role} could also be {others[0]}; {self.guesses[role].typed} was taken"
            for role in ROLES
            if role in self.guesses and role not in named and self.guesses[role].how != SAID
            for others in [_close(self.guesses[role])]
            if others
        ]
        return (*asked, *close)

    def trials(self) -> pl.DataFrame:
        """The trials exactly as they will be analysed, one row each, in the order used.

        ``offered`` has labels joined by ``|`` and is empty where all actions were on offer; in a
        forced choice it is what was chosen;
        ``block`` changes where the state is reset, and is empty where it never is.
        """
        if self.study is None:
            raise HowlearnError(self.problems or "there is no study: roles are lacking")
        return trials_of(self.study)

    def as_json(self) -> dict[str, Any]:
        """Roles with scores and runners-up, kind of task, questions and notes, as plain values."""
        study = self.study
        return {
            "files": dict(self.files),
            "kind": None
            if self.kind is None
            else {
                "name": self.kind.name,
                "reasons": list(self.kind.reasons),
                "stops": self.kind.stops,
            },
            "roles": {r: _as_json(self.guesses[r]) for r in ROLES if r in self.guesses},
            "options": {name: _plain(value) for name, value in self.options.items()},
            "lacking": list(self.lacking),
            "questions": [_question(each) for each in self.questions],
            "doubts": list(self.doubts),
            "notes": list(dict.fromkeys((*self.notes, *map(str, self.oddities)))),
            "problems": self.problems or None,
            "learners": None if study is None else len(set(study.learners)),
            "trials": None if study is None else len(study.context),
            "contexts": None if study is None else list(study.contexts),
            "actions": None if study is None else list(study.actions),
        }

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
            f"{many(len(study.contexts), 'context')}, {len(study.actions)} actions "
            f"({_some(study.actions)})",
        ]
        if study.learned.any():
            rewards = study.reward[study.learned]
            lines.append(
                f"rewards from {rewards.min():g} to {rewards.max():g}, {rewards.mean():.2f} on "
                "average"
            )
        return lines

    def changes(self) -> list[str]:
        """How many rows were dropped or recoded, and why."""
        study = self.study
        return (
            []
            if study is None
            else [
                f"{phrase}: {count:,}"
                for phrase, count in study.counts.items()
                if phrase != "rows read" or count != len(study.context)
            ]
        )

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
        lines += [*self.figures(), *self.changes()]
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


NEAR = 0.1  # of what speaks for a role: a runner-up with less is not worth a word


def _close(guess: Guess) -> list[str]:
    """The runners-up that are not far behind."""
    likely = shares(guess.candidates)
    pairs = zip(guess.candidates[1:], likely[1:], strict=True)
    return [candidate.column for candidate, share in pairs if share >= NEAR]


def _as_json(guess: Guess) -> dict[str, Any]:
    likely = shares(guess.candidates)
    runners = zip(guess.candidates[1:], likely[1:], strict=True)
    return {
        "column": _plain(guess.value),
        "score": guess.share,
        "how": guess.how,
        "why": guess.why,
        "runners_up": [
            {"column": each.column, "score": share, "why": "; ".join(each.reasons)}
            for each, share in runners
        ],
    }


_REMEDY = re.compile(r"--([a-z-]+) (\"[^\"]+\"|[^\s;]+)[\s;,]*(.*)", re.DOTALL)
_OPEN = re.compile(r"\b(COL|NAME|VALUE|OLD|NEW|LO|HI|FILE|TIME)[0-9]*\b")  # to be filled in


def refusal_as_json(error: HowlearnError) -> dict[str, Any]:
    """As ``Inspection.as_json``, where the data could not be read: what is wrong, what helps."""
    asked = []
    for problem in error.problems if isinstance(error, DataError) else ():
        match = _REMEDY.fullmatch(problem.remedy)
        if match and not _OPEN.search(match[2]):
            answer = Answer(match[1].replace("-", "_"), match[2].strip('"'), match[3])
            asked.append(Question(answer.option, f"{problem.found}: {problem.allowed}", (answer,)))
    files = {p.file: "" for p in error.problems} if isinstance(error, DataError) else {}
    found = Inspection(files, {}, {}, (), None, problems=str(error), questions=tuple(asked))
    return found.as_json() | {"doubts": []}  # nothing was taken


def _question(question: Question) -> dict[str, Any]:
    answers = [{"option": a.typed, "says": a.says} for a in question.answers]
    return {"about": question.about, "question": question.sentence, "answers": answers}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def trials_of(study: Study) -> pl.DataFrame:
    """The trials of a study as a table of labels."""
    lengths = np.diff(study.starts)
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    learner = np.array(study.learners, dtype=object)[sequence]
    begins = np.zeros(len(sequence), dtype=np.bool_)
    begins[study.starts[:-1][lengths > 0]] = True
    numbers: dict[str, int] = {}
    block = []
    for name, new in zip(learner.tolist(), (study.reset | begins).tolist(), strict=True):
        numbers[name] = numbers.get(name, 0) + new
        block.append(numbers[name])
    never = not numbers or max(numbers.values()) == 1
    offered = [None] * len(sequence)
    if study.offers is not None and study.offer is not None:
        labels = [None if row.all() else offer_label(row, study.actions) for row in study.offers]
        offered = [labels[i] for i in study.offer.tolist()]
    made = np.array(study.actions, dtype=object)[study.action].tolist()
    forced = (study.learned & ~study.scored).tolist()  # then only what was chosen was on offer
    offered = [a if alone else o for a, alone, o in zip(made, forced, offered, strict=True)]
    trial = np.concatenate([np.arange(1, n + 1) for n in lengths]) if len(lengths) else []
    reward = pl.Series("reward", study.reward).fill_nan(None)
    return pl.DataFrame(
        {
            "learner": learner.tolist(),
            "trial": trial,
            "context": np.array(study.contexts, dtype=object)[study.context].tolist(),
            "action": made,
            "reward": reward,
            "offered": pl.Series(offered, dtype=pl.String),
            "block": pl.Series([None] * len(block) if never else block, dtype=pl.Int64),
            "scored": study.scored,
            "learned": study.learned,
        },
        schema_overrides={"learner": pl.String, "context": pl.String, "action": pl.String},
    )


def _some(names: tuple[str, ...]) -> str:
    return few([shortened(name, 40) for name in names], 8)
