"""Which column is the learner."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from howlearn.reading.columns import (
    BLOCKS,
    CONDITIONS,
    FILE_STEM,
    GROUPS,
    KINDS,
    is_time,
    like,
    named_like,
    parts_of,
)
from howlearn.reading.formats.table import FOLDER
from howlearn.reading.guess.column_checks import (
    constant_within,
    materialise,
    repeats,
    runs_within,
    unique_within,
)
from howlearn.reading.guess.draft import BY_CONTENT, BY_NAME, Answer, Draft, in_expression, typed
from howlearn.reading.guess.sample import Sample, together

COUNTING = 0.9  # of the steps from row to row of a trial's number go up
SHORT_RUN = 3  # rows in a row, of what changes as stimuli do
LONG_RUN = 10  # rows in a row that a learner has at least, to be found without a name


def find_learner(draft: Draft) -> None:
    """A column that is the same over many rows, or the files."""
    sample = draft.sample
    files = int(sample.file.max(initial=0)) + 1
    named = draft.named("learner")
    fit = [c for c in named if repeats(sample, c)]
    alone = np.zeros(sample.height, np.intp)  # who changes from row to row is hardly a learner
    hasty = {c for c in fit if runs_within(alone, sample.codes(c))[0] < SHORT_RUN}
    counted = {c for c in fit if _counts(draft, c)}
    fit.sort(key=lambda c: (c not in counted, c in hasty))
    if fit and not counted and files == 1 and _found_by_counts(draft, fit[0], fit[0] in hasty):
        fit = []
    if fit:
        if files > 1 and len(sample.counts(fit[0])) == 1:
            why = f"each file is one learner, since {fit[0]} is the same in all files"
            draft.put("learner", FILE_STEM, BY_CONTENT, why, (fit[0],))
        _tell_apart(draft, fit[0])
        if files > 1:
            _ask_about_files(draft, fit[0])
        draft.put("learner", fit[0], BY_NAME, "", tuple(fit[1:]))
    for column in named if "learner" not in draft.guesses else ():
        if sample.counts(column) and not repeats(sample, column):
            draft.odd(f"{column} differs in nearly every row, so it is not the learner")
    if "learner" not in draft.guesses and files == 1:
        found = [column for column in draft.free if _is_owner(draft, column)]
        if found:
            why = "it is the same over long stretches, and numbers restart where it changes"
            draft.put("learner", found[0], BY_CONTENT, why, tuple(found[1:]))
            if _identifies(found[0]) and like(found[0], BLOCKS) and len(found) == 1:
                draft.odd(
                    f"{found[0]} is taken as the learner, since numbers restart with it",
                    "--learner file if it is one person throughout",
                )
    if "learner" not in draft.guesses and sample.in_names:
        draft.put("learner", FILE_STEM, BY_NAME, "the files' names hold it")
    if "learner" not in draft.guesses and files == 1 and not _found_by_counts(draft):
        _ask_who(draft)
    if "learner" not in draft.guesses and files > 1:
        _ask_about_names(draft, files)
    if "learner" not in draft.guesses:
        one = "no column looks like it: " + (
            "each file is one learner" if files > 1 else "the file is taken as one learner"
        )
        draft.put("learner", FILE_STEM, BY_CONTENT, one)


MOST_COUNTERS = 3
COUNTED = 0.98  # of the rows have a number of their own among those of their learner
COMPLETE = 0.8  # of the numbers from the lowest to the highest: some trials were left out


def _counts(draft: Draft, column: str | None, complete: bool = False) -> bool:
    """Whether trials, or those of each block, are counted for each value of a column, or for all.

    ``complete``: and hardly a number is left out.
    """
    sample, file = draft.sample, draft.sample.file[draft.sample.rows]
    owner = file if column is None else sample.codes(column)
    named = [*draft.columns("trial"), *draft.named("trial")]
    others = {column, *named, *draft.named("learner")}
    blocks = [c for c in draft.free if like(c, BLOCKS) and repeats(sample, c) and c not in others]
    for counter in [c for c in named if c != column][:MOST_COUNTERS]:
        numbers = sample.numbers(counter)
        told = np.isfinite(numbers)
        for within in ([], *([block] for block in blocks[:MOST_COUNTERS]), blocks):
            own = together(owner, *(sample.codes(block) for block in within))[told]
            if 2 * len(own) > sample.height and _number(own, numbers[told], complete):
                return True
    return False


def _number(owner: np.ndarray, numbers: np.ndarray, complete: bool) -> bool:
    """Whether no two rows of an owner have the same number."""
    own, codes = together(owner), np.unique(numbers, return_inverse=True)[1].reshape(-1)
    if int(together(own, codes).max(initial=-1)) + 1 < COUNTED * len(own):
        return False
    lowest = np.full(int(own.max(initial=-1)) + 1, np.inf)
    highest = -lowest
    np.minimum.at(lowest, own, numbers)
    np.maximum.at(highest, own, numbers)
    return not complete or len(own) >= COMPLETE * float((highest - lowest + 1).sum())


def _found_by_counts(draft: Draft, named: str | None = None, hasty: bool = False) -> bool:
    """Somebody by whom trials are counted, where they are not by what is called the learner."""
    sample = draft.sample
    if _counts(draft, None):
        return False
    found = [
        c
        for c in draft.free
        if c != named
        and not (is_time(c) or like(c, f"{BLOCKS} {CONDITIONS} {KINDS} {GROUPS}"))
        and not sample.missing(c).any()
        and sample.height >= LONG_RUN * len(sample.counts(c)) > LONG_RUN
        and not (named and constant_within(sample.codes(c), sample.codes(named)))
        and _counts(draft, c, complete=True)
    ]
    if not found:
        return False
    column, other = found[0], named or FILE_STEM
    why = f"trials are counted separately for each value of {column}"
    draft.put("learner", column, BY_CONTENT, why, (*found[1:], *filter(None, (named,))))
    if hasty and _has_stretches(draft, column):
        draft.odd(
            f"{other} changes from row to row, and {why}, which is taken as the learner",
            f"--learner {typed(other)} if not",
        )
        return True
    says = f"each value of {named} is a learner" if named else "one learner throughout"
    draft.ask(
        "learner",
        f"{why}" + (f", and not for each {named}" if named else "") + ": who chose?",
        [
            Answer("learner", column, f"each value of {column} is a learner"),
            Answer("learner", other, says),
        ],
    )
    return True


PERSONAL = """
group sex gender diagnosis cohort handedness site patient experiment exp study sample dataset lab
species genotype strain country dx grp gruppe groupe grupo gruppo groep stichprobe
"""  # of which everybody has one
SHARED = 0.3  # of the learners have several values of what everybody has one of: they share names


def _tell_apart(draft: Draft, column: str) -> None:
    """Numbers that start again in each group or experiment name several people."""
    sample = draft.sample
    owner = together(sample.codes(column))
    if sample.file.max(initial=0) and _once_per_file(sample.file[sample.rows], owner):
        return  # a file is one person
    groups = [c for c in draft.free if like(c, PERSONAL) and c != column]
    for group in [c for c in groups if not (like(c, BLOCKS) or c.lower().endswith(COUNTER))]:
        codes, counts = sample.codes(group), len(sample.counts(group))
        if not 2 <= counts <= MOST_GROUPS or sample.missing(group).any():
            continue
        pairs = together(owner, codes)
        several = np.bincount(owner[np.unique(pairs, return_index=True)[1]]) > 1
        length, _ = runs_within(owner, codes)
        names = in_expression(group), in_expression(column)
        if float(several.mean()) < SHARED or length < LONG_RUN or None in names:
            continue
        text = f"join({names[0]}, {names[1]})"
        n, each = int(owner.max()) + 1, int(pairs.max()) + 1
        draft.put(
            "learner",
            text,
            BY_CONTENT,
            f"{column} counts from the start in each {group}",
            (column,),
        )
        materialise(draft, "learner", text)
        draft.odd(
            f"{column} has the same {n:,} names under several values of {group}: they are taken as "
            f"{each:,} people",
            f"--learner {typed(column)} if they are the same people",
        )
        return


MOST_GROUPS = 20
COUNTER = ".sample"  # E-Prime's TrialList.Sample


def _once_per_file(file: np.ndarray, owner: np.ndarray) -> bool:
    """Whether each file has one learner, and each learner one file."""
    pairs = int(together(file, owner).max(initial=0))
    return pairs == int(together(file).max(initial=0)) == int(owner.max(initial=0))


def _ask_about_files(draft: Draft, column: str) -> None:
    """Files with several people each, who have the same names in all: are they the same people?"""
    sample, name = draft.sample, in_expression(column)
    file, who = sample.file[sample.rows], sample.codes(column)
    pairs = np.unique(together(file, who), return_index=True)[1]
    in_files = np.bincount(together(who)[pairs])
    each = len(pairs) / (int(together(file).max(initial=0)) + 1)
    if name is None or float(np.mean(in_files > 1)) < SHARED or sample.in_names:
        return
    if "learner" in draft.guesses or any(like(stem, BLOCKS) for stem in sample.stems):
        return
    counted = [*draft.columns("trial"), *named_like("trial", draft.free)]
    again = [c for c in counted if not unique_within(together(who), sample.codes(c))]
    again = [c for c in again if unique_within(together(file, who), sample.codes(c))]
    if not again:
        return  # numbers of trials that go on from file to file
    parts = [sample.codes(c) for c in draft.free if like(c, BLOCKS) or is_time(c)]
    if each < 2 and any(unique_within(together(who, p), sample.codes(again[0])) for p in parts):
        return  # sessions of the same person
    text = f"join({FILE_STEM}, {name})"
    labels = sample.columns[column].per_row()
    files = pl.Series("file", sample.file).cast(pl.String)
    draft.sample = sample.having(text, files + ":" + labels)
    draft.computed.add(text)
    draft.ask(
        "learner",
        f"{column} has the same names in several files: are they the same people?",
        [
            Answer("learner", text, "no: each file has different people"),
            Answer("learner", column, "yes: their trials continue from file to file"),
        ],
    )
    draft.put("learner", text, BY_CONTENT, f"the names in {column} occur again in each file")


FEWEST_NAMES = 4  # fewer may be groups
_MARKS, _DATE = re.compile(r"[_\-. ]+"), re.compile(r"(19|20)?[0-9]{6}|(19|20)[0-9]{2}")


def _ask_about_names(draft: Draft, files: int) -> None:
    """Several files under the same folder or first part of their names: of one person?"""
    sample = draft.sample
    file = sample.file[sample.rows]
    if FOLDER in draft.free and constant_within(file, sample.codes(FOLDER)):
        found, n = FOLDER, len(sample.counts(FOLDER))
        sentence = f"the {files:,} files lie in {n:,} folders: is each folder one learner?"
    else:
        parts = [[p for p in _MARKS.split(stem) if p] for stem in sample.stems]
        firsts = {p[0] for p in parts if len(p) > 1 and not _DATE.fullmatch(p[0])}
        found, n = f"part({FILE_STEM}, 1)", len(firsts)
        if len(parts) != files or not all(len(p) > 1 and p[0] in firsts for p in parts):
            return
        if n < FEWEST_NAMES:
            return
        names = pl.Series([p[0] for p in parts])
        draft.sample = sample.having(found, names.gather(pl.Series(sample.file)))
        draft.computed.add(found)
        sentence = f"the names of the {files:,} files begin with {n:,} words: is each one learner?"
    if not 2 <= n <= files / 2:
        return
    answers = [
        Answer("learner", found, f"yes: {n:,} learners, each with several files"),
        Answer("learner", FILE_STEM, f"no: each file is one learner ({files:,})"),
    ]
    if found == FOLDER and len({*sample.stems}) < files:
        named = f"column('{FILE_STEM}')"
        answers.append(Answer("learner", named, "no: files of the same name are one learner's"))
    if found == FOLDER and n < files / n:
        answers[:2] = answers[1::-1]  # groups, more likely
    draft.ask("learner", sentence, answers)
    draft.put("learner", answers[0].value, BY_CONTENT, "several files may be one learner's")


def _ask_who(draft: Draft) -> None:
    """One learner in one file is rare: a column with long stretches may hold several."""
    found = [column for column in draft.free if _has_stretches(draft, column)]
    if not found:
        return
    column, n = found[0], len(draft.sample.counts(found[0]))
    answers = [
        Answer("learner", column, f"each value of {column} is a learner"),
        Answer("learner", FILE_STEM, "one learner throughout"),
    ]
    counters = named_like("trial", draft.free)
    if any(np.all(np.diff(draft.sample.numbers(c)) > 0) for c in counters):
        answers.reverse()  # trials are counted through
    draft.ask(
        "learner",
        f"no column is called after the learner, and {column} has {n:,} values, each over a long "
        "stretch of rows: who chose?",
        answers,
    )
    draft.put("learner", answers[0].value, BY_CONTENT, "each value has a long stretch", (column,))


def _is_owner(draft: Draft, column: str) -> bool:
    """Whether a column without a telling name has the learners: other columns restart there."""
    sample = draft.sample
    if not _has_stretches(draft, column):
        return False
    codes = sample.codes(column)
    change = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    others = [*draft.free, *draft.columns("trial")]
    return any(_restarts(sample, other, change) for other in others if other != column)


def _has_stretches(draft: Draft, column: str) -> bool:
    """Whether each value of a column has one long stretch of rows, and may name somebody."""
    sample = draft.sample
    other = like(column, f"{BLOCKS} {CONDITIONS} {KINDS} {GROUPS}") and not _identifies(column)
    if other or is_time(column):
        return False
    if not repeats(sample, column) or len(sample.counts(column)) < 2:
        return False
    codes = sample.codes(column)
    length, one_run = runs_within(np.zeros(len(codes), np.intp), codes)
    return one_run and length >= LONG_RUN and not sample.missing(column).any()


def _identifies(column: str) -> bool:
    """Whether a name ends like an identifier: a run may be a block, a run_id is somebody's."""
    return parts_of(column)[-1:] in (["id"], ["uuid"], ["code"], ["uid"])


def _restarts(sample: Sample, column: str, change: np.ndarray) -> bool:
    numbers = sample.numbers(column)
    steps = np.diff(numbers)
    inside = np.delete(steps, change - 1)
    if not named_like("trial", [column]):
        return bool(np.all(inside == 1) and np.all(steps[change - 1] < 0))
    # Rows may be left out, and numbers restart in blocks too.
    return bool(np.mean(inside > 0) >= COUNTING and np.all(steps[change - 1] < 0))
