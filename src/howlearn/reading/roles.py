"""Which column plays which role: what the user said, or a guess from common names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from howlearn.errors import Problem
from howlearn.reading.options import ReadOptions
from howlearn.reading.problems import listed

FILE_STEM = "file"  # --learner file
NONE = "none"  # --context none, --trial none

COMMON_NAMES = {
    "learner": (
        "learner learner_id participant participant_id participantnr participant_number part_id "
        "subject subject_id subject_nr subject_number subj subjid subj_idx sub subno subnum "
        "sub_id sid pid ppid ppt worker_id prolific_pid user user_id agent animal rat mouse id"
    ),
    "context": (
        "context context_id item item_id itemnr stimulus stimulus_id stimulus_nr stim stim_id "
        "object object_id cue cue_id state image picture exemplar situation"
    ),
    "action": (
        "action choice response resp chosen decision choice_id response_key key_press keypress "
        "key_resp keys answer chosen_option option selected selection button"
    ),
    "reward": (
        "reward rew feedback outcome points payoff correct cor accuracy acc iscorrect "
        "is_correct is_reward rewarded gain win score"
    ),
    "trial": (
        "trial trial_number trial_index trialnr trial_nr trialno trial_no trial_num trial_id "
        "trial_count trials trialn"
    ),
    "scored": "scored is_scored",
    "learned": "learned is_learned",
}


@dataclass(frozen=True)
class Roles:
    """The columns of the roles, and in words how each was found."""

    learner: str | None  # None: the file's stem
    context: tuple[str, ...]  # empty: one context
    action: str
    reward: str
    trial: str | None  # None: the order of the rows
    scored: str | None
    learned: str | None
    found: dict[str, str]

    def columns_of(self, role: str) -> tuple[str, ...]:
        """The columns of a role, none when it has none."""
        columns = getattr(self, role) if role in COMMON_NAMES else ()
        return columns if isinstance(columns, tuple) else () if columns is None else (columns,)


def plain(name: str) -> str:
    """A name without case and punctuation.

    >>> plain("Participant_ID")
    'participantid'
    """
    return re.sub(r"[\W_]+", "", name).lower()


def guess(role: str, columns: Sequence[str], taken: Sequence[str] = ()) -> tuple[str, ...]:
    """The columns that look like a role, the likeliest first.

    >>> guess("learner", ["ID", "Trial", "subjID"])
    ('subjID', 'ID')
    """
    names = {plain(name): i for i, name in enumerate(COMMON_NAMES[role].split())}
    likely = [c for c in columns if plain(c) in names and c not in taken]
    return tuple(sorted(likely, key=lambda column: names[plain(column)]))


class _Finder:
    """Finds one role after the other, and writes down how."""

    def __init__(self, columns: Sequence[str], taken: Sequence[str | None]) -> None:
        self.columns = columns
        self.taken = [name for name in taken if name is not None]
        self.found: dict[str, str] = {}

    def says(self, given: str | None, word: str) -> bool:
        """Whether the user gave the word that stands for "no column"."""
        return given == word and word not in self.columns

    def find(self, role: str, given: str | None, word: str = "", without: str = "") -> str | None:
        """The column of a role; None when ``word`` was given or no name looks like it."""
        likely = () if given is not None else guess(role, self.columns, self.taken)
        if likely:
            others = f"; also possible: {', '.join(likely[1:])}" if likely[1:] else ""
            self.found[role] = f"{likely[0]} (guessed{others})"
            self.taken.append(likely[0])
            return likely[0]
        if given is None or self.says(given, word):
            if without:
                self.found[role] = without
            return None
        self.found[role] = given
        return given


def find_roles(
    options: ReadOptions, columns: Sequence[str], one_context: bool, file: str
) -> tuple[Roles | None, list[Problem]]:
    """The roles of a study from its first file's columns, or what could not be found."""
    taken = (options.learner, *options.context, options.action, options.reward, options.trial)
    used = (*options.features, *options.by, *options.keep, options.scored, options.learned)
    finder = _Finder(columns, (*taken, *used))
    learner = finder.find("learner", options.learner, FILE_STEM, "the file's name")
    context = _context(options, finder, one_context)
    action = finder.find("action", options.action)
    reward = finder.find("reward", options.reward)
    trial = finder.find("trial", options.trial, NONE, "the order of the rows")
    scored = finder.find("scored", options.scored)
    learned = finder.find("learned", options.learned)
    if context is None or action is None or reward is None:
        needed = (("context", context), ("action", action), ("reward", reward))
        return None, [_not_found(role, columns, file) for role, found in needed if found is None]
    return Roles(learner, context, action, reward, trial, scored, learned, finder.found), []


def _context(options: ReadOptions, finder: _Finder, one_context: bool) -> tuple[str, ...] | None:
    """The context's columns; empty when every trial is the same situation."""
    given = options.context
    if len(given) == 1 and finder.says(given[0], NONE):
        finder.found["context"] = "one for all trials"
        return ()
    if given:
        finder.found["context"] = ", ".join(given)
        return given
    if one_context:
        finder.found["context"] = "the task's only one"
        return ()
    column = finder.find("context", None)
    if column is not None:
        return (column,)
    if options.features:
        finder.found["context"] = f"{', '.join(options.features)} (the features)"
        return options.features
    return None


def _not_found(role: str, columns: Sequence[str], file: str) -> Problem:
    remedy = f"--{role} COL"
    if role == "context":
        remedy = "--context COL[,COL], or --context none if every trial is the same situation"
    names = listed([name for name in columns if name]) or "none"
    allowed = f"a column with a common name such as {', '.join(COMMON_NAMES[role].split()[:3])}"
    return Problem(file, 1, None, f"no column for the {role} among {names}", allowed, remedy)
