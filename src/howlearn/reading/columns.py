"""Which column plays which role: one vocabulary of names, and what the user said."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from howlearn.core.errors import Problem
from howlearn.core.options import NONE, commas
from howlearn.reading.options import STAGE, ReadOptions
from howlearn.reading.problems import listed

LONGEST_NAME = 1_000  # characters of a name that are looked at
FILE_STEM = "file"  # --learner file
SEPARATED = "columns separated by commas, tabs, semicolons or |"
_COLUMN_OPTIONS = (
    "learner context action reward trial features by keep scored learned forgone episode duration "
    "offered load"
)
_KNOWN = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))
_ROLES: dict[str, dict[str, str]] = _KNOWN["roles"]
_WORDS = {name: frozenset(words.split()) for name, words in _KNOWN["words"].items()}
_DESCRIBED = {role: re.compile(words) for role, words in _KNOWN["described"].items()}
VALUES = {name: tuple(words.split()) for name, words in _KNOWN["values"].items()}
PART_WORDS = {name: frozenset(words.split()) for name, words in _KNOWN["parts"].items()}
BLOCKS, CONDITIONS, KINDS, FEATURES, GROUPS, SIDES = _KNOWN["lists"].values()
GUESSED = ("learner", "context", "action", "reward", "trial", "scored", "learned")
ROLES = (*GUESSED, "forgone", "episode", "duration", "offered", "load")  # never by names: these
# what is said about learners in columns such as participant_age, and "subjective"
_ABOUT_LEARNER = re.compile(
    r"subjectiv|.*(age|sex|gender|group|type|condition|status|device|browser|os|rt|time|date)$"
)
_IDENTIFIES = re.compile(r".*(id|nr|no|num|number|code|name|[0-9])$")
_WHEN = re.compile(r"\b(before|after|until|following|prior to) (the |a |each |every )?\w+")
_FEATURE = re.compile(r"(feature|feat|dim|dimension|attribute|attr)s?[0-9a-z]?")
_NUMBERED = re.compile(r"(f|d|x|card|cue|symptom|input|component|element)s?[0-9]{1,2}")


@lru_cache(2**16)
def plain(name: str) -> str:
    """A name without case and punctuation.

    >>> plain("Participant_ID")
    'participantid'
    """
    return re.sub(r"[\W_]+", "", name).lower()


def is_count(text: str) -> bool:
    """Whether a text is a whole number such as one counts with; others may not even be numbers.

    >>> [is_count(text) for text in ("12", "²", "-1", "9" * 5000)]
    [True, False, False, False]
    """
    return text.isdecimal() and len(text) < 19


def parts_of(name: str) -> list[str]:
    """The words of a name, without case.

    >>> parts_of("key_resp.keys"), parts_of("TrialNumber2"), parts_of("RT")
    (['key', 'resp', 'keys'], ['trial', 'number2'], ['rt'])
    """
    return [*_parts_of(name[:LONGEST_NAME])]


@lru_cache(2**14)
def _parts_of(name: str) -> tuple[str, ...]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(part.lower() for part in re.split(r"[\W_]+", spaced) if part)


def is_rt(name: str) -> bool:
    """Whether a name is that of reaction times."""
    if parts_of(name) == ["r", "t"]:  # the reward of trial t
        return False
    last = parts_of(name)[-1:]
    return plain(name) in _ROLES["rt"]["names"].split() or last in (["rt"], ["lat"], ["latency"])


def is_time(name: str) -> bool:
    """Whether a name is about time, so that the column plays no role.

    >>> is_time("key_resp.rt"), is_time("onset"), is_time("stimulus")
    (True, True, False)
    """
    return not _WORDS["times"].isdisjoint(parts_of(name))


def is_day(name: str) -> bool:
    """Whether a name is that of a date, which tells the sessions of animals apart."""
    return "date" in parts_of(name)


def is_answer(name: str) -> bool:
    """Whether a name is that of the right answer.

    >>> [is_answer(name) for name in ("correct_choice", "corrAns", "corA", "choice", "correct")]
    [True, True, True, False, False]
    >>> is_answer("key_resp.corr")  # whether the key was right
    False
    >>> is_answer("richtige_Taste"), is_answer("tecla_correcta"), is_answer("respuesta_correcta")
    (True, True, False)
    """
    *before, last = parts_of(name) or [""]
    return (
        plain(name) in _WORDS["answers"]
        or last == "cresp"
        or (last in _WORDS["right"] and not _WORDS["right_keys"].isdisjoint(before))
        or (last in _WORDS["what"] and not _WORDS["right"].isdisjoint(before))
        or (last in _WORDS["shown"] and not (_WORDS["right"] - {"right"}).isdisjoint(before))
    )


def is_mistake(name: str) -> bool:
    """Whether a name says that more of it is worse.

    >>> [is_mistake(name) for name in ("error", "isIncorrect", "n_errors", "correct", "PE_error")]
    [True, True, False, False, False]
    >>> is_mistake("prediction_error"), is_mistake("win_loss"), is_mistake("my <b>error")
    (False, False, True)
    """
    parts = parts_of(name)
    against = _WORDS["no_role"] | _WORDS["no_mistakes"]
    return not _WORDS["mistakes"].isdisjoint(parts) and against.isdisjoint(parts)


def is_feature(name: str) -> bool:
    """Whether a name is that of a feature of what is shown."""
    parts = parts_of(name)
    if parts[-2:] == ["set", "size"]:  # how many there were
        return False
    return bool(_FEATURE.fullmatch("".join(parts))) or parts[-1:] in [[f] for f in FEATURES.split()]


def is_numbered(name: str) -> bool:
    """Whether a name is one of several that are only counted, as f1, f2 or card_3.

    >>> [is_numbered(name) for name in ("f1", "card_3", "Cue2", "stim1", "q1")]
    [True, True, True, False, False]
    """
    return bool(_NUMBERED.fullmatch("".join(parts_of(name))))


def is_practice(name: str) -> bool:
    """Whether a name is that of something in a practice part.

    >>> [is_practice(name) for name in ("key_resp_prac.keys", "PracticeResp", "resp", "practical")]
    [True, True, False, False]
    """
    return not _WORDS["practice"].isdisjoint(parts_of(name))


def is_loop(name: str) -> bool:
    """Whether a name is that of a counter of PsychoPy's loops, as trials.thisRepN."""
    return "this" in parts_of(name)


def described_as(text: str) -> str | None:
    """The role that a description of a column speaks of; "" for another one, None if it says none.

    >>> [described_as(text) for text in ("Trial-by-trial reward", "Response time in ms", "a note")]
    ['reward', 'rt', None]
    >>> [described_as(text) for text in ("the correct response", "Reward probability of the arm")]
    ['', '']
    >>> described_as("abstract picture shown before the choice")
    'context'
    """
    told = _WHEN.sub("", text.lower())  # shown before the choice is no choice
    found = [role for role, words in _DESCRIBED.items() if words.search(told)]
    return None if not found else "" if found[0].startswith("no_") else found[0]


def like(name: str, words: str) -> bool:
    """Whether a name, or one of its words, is in a list."""
    known = _known(words)
    return plain(name) in known or any(
        part.rstrip("0123456789") in known for part in parts_of(name)
    )


@cache
def _known(words: str) -> frozenset[str]:
    return frozenset(plain(word) for word in words.split())


def is_telling(name: str) -> bool:
    """Whether a name says anything at all about what a column may be."""
    return (
        any(named_like(role, [name]) for role, known in _ROLES.items() if "words" in known)
        or like(name, f"{BLOCKS} {CONDITIONS} {KINDS} {FEATURES} {GROUPS} {SIDES}")
        or is_answer(name)
        or is_feature(name)
    )


def guess(role: str, columns: Sequence[str], taken: Sequence[str] = ()) -> tuple[str, ...]:
    """The columns with a common name for a role, the likeliest first.

    >>> guess("learner", ["ID", "Trial", "subjID"])
    ('subjID', 'ID')
    """
    names = {plain(name): i for i, name in enumerate(_ROLES[role]["names"].split())}
    short = {c: plain(name) for c, name in _without_prefix(tuple(columns)).items()}
    likely = [c for c in columns if short[c] in names and c not in taken]
    likely.sort(key=lambda column: names[short[column]])
    if role == "learner":  # names that begin so; those that end like an identifier come first
        begin = tuple(_ROLES[role]["begin"].split())
        rest = [c for c in columns if c not in likely and c not in taken]
        rest = [c for c in rest if short[c].startswith(begin) and not _is_about(short[c])]
        likely += sorted(rest, key=lambda column: _IDENTIFIES.match(short[column]) is None)
    return tuple(likely)


@lru_cache(maxsize=128)
def _without_prefix(columns: tuple[str, ...]) -> dict[str, str]:
    """Names without the first word that nearly all of them share, as in task_id, task_choice.

    >>> _without_prefix(("task_id", "task_choice", "task_reward", "task_trial"))["task_id"]
    'id'
    """
    parts = [parts_of(column) for column in columns]
    first = Counter(each[0] for each in parts if len(each) > 1)
    prefix, times = max(first.items(), key=lambda one: one[1], default=("", 0))
    if times < max(4, 0.8 * len(columns)):
        return dict(zip(columns, columns, strict=True))
    short = ("_".join(each[each[:1] == [prefix] :]) for each in parts)
    return {column: name or column for column, name in zip(columns, short, strict=True)}


def _is_about(name: str) -> bool:
    """Whether a name is that of something about the learner, as participant_age is."""
    return _ABOUT_LEARNER.match(plain(name)) is not None


def named_like(role: str, columns: Sequence[str]) -> dict[str, int]:
    """The columns whose names speak for a role: how strongly, 3 for a common name.

    >>> named_like("action", ["condchosen", "key_resp.keys", "rt", "Choice", "correct_key"])
    {'Choice': 3, 'key_resp.keys': 2, 'condchosen': 1}
    """
    return dict(_named_like(role, tuple(columns)))


@lru_cache(maxsize=128)
def _named_like(role: str, columns: tuple[str, ...]) -> dict[str, int]:
    exact = [*guess(role, columns)] if role != "rt" else [c for c in columns if is_rt(c)]
    found = dict.fromkeys(exact, 3)
    words, inside = _ROLES[role]["words"].split(), _ROLES[role].get("inside", "").split()
    alone = _ROLES[role].get("letters", "").split()
    letters = [[letter, *t] for letter in alone for t in ("", "t")]
    ranked: list[tuple[int, int, str]] = []
    for column, name in _without_prefix(columns).items():
        parts = parts_of(name)
        if column in found or (is_time(name) and role != "rt") or _bare(role, name, parts):
            continue
        places = [words.index(part) for part in parts if part in words]
        if places:
            ranked.append((2, min(places), column))
        elif parts in letters or any(stem in plain(name) for stem in inside):
            ranked.append((1, 0, column))
    ranked = [(0, at, c) if is_practice(c) else (strength, at, c) for strength, at, c in ranked]
    ranked.sort(key=lambda one: (-one[0], one[1]))
    return found | {column: strength for strength, _, column in ranked}


def _bare(role: str, name: str, parts: Sequence[str]) -> bool:
    """Whether a word of the name speaks against a role of which another word speaks."""
    if role == "learner":
        return _is_about(name)
    against = role != "trial" and not _WORDS["no_role"].isdisjoint(parts)
    return against or (role in ("action", "reward", "context") and is_answer(name))


@dataclass(frozen=True)
class Roles:
    """The columns of the roles, and in words how each was found."""

    learner: str | None  # None: the file's stem
    context: tuple[str, ...]  # empty: one context
    action: str
    reward: str
    trial: tuple[str, ...]  # empty: the order of the rows; block, then trial within it
    scored: str | None
    learned: str | None
    found: dict[str, str]
    forgone: tuple[str, ...] = ()  # one: of the other action; several: of each action
    episode: str | None = None
    duration: str | None = None
    offered: tuple[str, ...] = ()  # one per option, or one of lists or labels
    load: str | None = None

    def columns_of(self, role: str) -> tuple[str, ...]:
        """The columns of a role, none when it has none."""
        columns = getattr(self, role) if role in ROLES else ()
        return columns if isinstance(columns, tuple) else () if columns is None else (columns,)


class _RoleFinder:
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
    taken = (options.learner, *options.context, options.action, options.reward, *options.trial)
    used = (*options.features, *options.by, *options.keep, options.scored, options.learned)
    told = (*options.forgone, options.episode, options.duration, options.rt, *options.offered)
    finder = _RoleFinder(columns, (*taken, *used, *told, options.load))
    learner = finder.find("learner", options.learner, FILE_STEM, "the file's name")
    context = _context(options, finder, one_context)
    action = finder.find("action", options.action)
    reward = finder.find("reward", options.reward)
    trial = _trial(options.trial, finder)
    if options.stages is not None and trial and STAGE not in trial:
        trial = (*trial, STAGE)
    scored = finder.find("scored", options.scored, NONE)
    learned = finder.find("learned", options.learned, NONE)
    if context is None or action is None or reward is None:
        needed = (("context", context), ("action", action), ("reward", reward))
        if len(columns) == 1:
            return None, [unseparated(file)]
        absent = [role for role, found in needed if found is None]
        return None, [_not_found(role, columns, options, file) for role in absent]
    for role in ("forgone", "episode", "duration", "offered", "load"):
        given = getattr(options, role)
        if given:
            finder.found[role] = given if isinstance(given, str) else ", ".join(given)
    rest = (options.forgone, options.episode, options.duration, options.offered, options.load)
    found = Roles(learner, context, action, reward, trial, scored, learned, finder.found, *rest)
    return found, []


def _trial(given: Sequence[str], finder: _RoleFinder) -> tuple[str, ...]:
    """The columns that order the trials; ``block,trial`` stands for two unless it is a column."""
    names = tuple(
        part.strip()
        for name in given
        for part in ([name] if name in finder.columns else commas(name))
        if part.strip()
    )
    if len(names) > 1:
        finder.found["trial"] = ", then ".join(names)
        return names
    column = finder.find("trial", names[0] if names else None, NONE, "the order of the rows")
    return () if column is None else (column,)


def _context(
    options: ReadOptions, finder: _RoleFinder, one_context: bool
) -> tuple[str, ...] | None:
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


def used_by(role: str, columns: Sequence[str], options: ReadOptions) -> str | None:
    """What took the column that looks like a role, in words; None when there is none."""
    for column in guess(role, columns):
        for option in _COLUMN_OPTIONS.split():
            given = getattr(options, option)
            if column in (given if isinstance(given, tuple) else (given,)):
                return f"{column} is already used by --{option}"
    return None


def unnamed_forgone(options: ReadOptions, columns: Sequence[str]) -> list[str]:
    """A note on columns that look like forgone rewards: they are never used without being named."""
    names, begin = _ROLES["forgone"]["names"].split(), tuple(_ROLES["forgone"]["begin"].split())
    likely = [c for c in columns if plain(c) in names or plain(c).startswith(begin)]
    if options.forgone or not likely:
        return []
    one = len(likely) == 1
    return [
        f"the column{'s' * (not one)} {', '.join(likely)} look{'s' * one} like what the actions "
        f"not chosen would have earned; {'it is' if one else 'they are'} used only with --forgone "
        f"{','.join(likely)}"
    ]


def unseparated(file: str) -> Problem:
    """What is wrong with a file of one column: no table. What stands there may be a secret."""
    return Problem(file, 1, None, "only one column", SEPARATED)


def _not_found(role: str, columns: Sequence[str], options: ReadOptions, file: str) -> Problem:
    remedy = f"--{role} COL"
    if role == "context":
        remedy = "--context COL[,COL], or --context none if every trial is the same situation"
    used = used_by(role, columns, options)
    if used is not None:
        found = f"no column for the {role}: {used}"
        return Problem(file, 1, None, found, f"a separate column for the {role}", remedy)
    names = listed([name for name in columns if name]) or "none"
    allowed = f"a column with a common name such as {', '.join(_ROLES[role]['names'].split()[:3])}"
    return Problem(file, 1, None, f"no column for the {role} among {names}", allowed, remedy)
