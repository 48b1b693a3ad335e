"""A methods section ready to paste into a paper: only what was done, only works that are cited."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from howlearn.core.rules import RULES
from howlearn.core.text import in_words
from howlearn.report.methods.sentences import (
    SOFTWARE,
    Citing,
    Reference,
    criterion_sentences,
    is_adjusted,
    model_sentences,
    short,
)
from howlearn.report.words import clean, count, listed_names, opening, quoted, unit_of
from howlearn.selection.unfitted import reasons


@dataclass(frozen=True)
class Methods:
    """Paragraphs on data, models and criteria as plain text, and the works that they cite."""

    paragraphs: tuple[str, ...]
    references: tuple[Reference, ...]

    @property
    def text(self) -> str:
        """Everything, as it is pasted."""
        entries = [work.text for work in self.references]
        return "\n\n".join([*self.paragraphs, "References", *entries])


def methods(
    manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], seed: int | None = None
) -> Methods:
    """The methods of a run, from its manifest and tables; what these do not tell is not said.

    ``seed`` is that of the doubles of a report, where learning curves are compared with theirs.
    ``tables`` are those of a results folder by their names (``selection``, ``shares`` …), and
    ``confusion`` of a calibration, where there is one.
    """
    cite = Citing(clean(manifest.get("howlearn", "unknown")))
    parts = (
        [*data_sentences(manifest, tables), *exclusion_sentences(manifest, tables)],
        [
            *model_sentences(manifest.get("models") or (), cite),
            *estimation_sentences(manifest, tables, cite),
        ],
        [
            *criterion_sentences(manifest, tables, cite),
            *simulation_sentences(manifest, tables, cite, seed),
            *plan_sentences(manifest),
            *software_sentences(manifest, cite),
        ],
    )
    return Methods(tuple(" ".join(part) for part in parts if part), cite.references)


# Sentences on the data and the procedure: what became of every row, and how models were judged.

READ = "rows read"
# What a counted row became; the rest of the sentence follows the number.
FATES = {
    "blank rows": ("empty row was skipped", "empty rows were skipped"),
    "rows that are not trials": (
        "row in which nothing was shown, chosen or earned was skipped",
        "rows in which nothing was shown, chosen or earned were skipped",
    ),
    "missed trials": (
        "trial without a choice was removed",
        "trials without a choice were removed",
    ),
    "forced choices": (
        "forced choice taught the models and was not scored",
        "forced choices taught the models and were not scored",
    ),
    "trials with one action on offer": (
        "trial with one action on offer taught the models and was not scored",
        "trials with one action on offer taught the models and were not scored",
    ),
    "test trials": (
        "choice in a test phase was scored and taught nothing",
        "choices in a test phase were scored and taught nothing",
    ),
    "choices without feedback": (
        "choice without feedback was scored and taught nothing",
        "choices without feedback were scored and taught nothing",
    ),
    "neither scored nor learned": (
        "row was neither scored nor learned from",
        "rows were neither scored nor learned from",
    ),
}
FEWER = re.compile(r"(learner|sequence)s left out \(fewer than (\d+) trials\)")
EXCLUDED = re.compile(r"(?:learner|sequence)s excluded \((.*)\)", re.S)
SCALED = re.compile(r"recoded (\w+) by --reward-scale .*")
WORDS = re.compile(r"recoded (\w+) words")


def data_sentences(
    manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]
) -> Iterator[str]:
    """How many learners and trials, and every row that was left out or recoded."""
    yield _size(manifest, tables)
    lost = tables.get("unfitted")
    if lost is not None and lost.height:
        n = lost["learner"].n_unique()
        why = listed_names(clean(text) for text in reasons(lost))
        yield f"{count(n, 'learner').capitalize()} could not be fitted ({why})."
    options = manifest.get("options") or {}
    if options.get("reset_by"):
        columns = listed_names(quoted(column) for column in options["reset_by"])
        yield f"Learning restarted with every value of {columns}."
    if options.get("offered") or options.get("offers"):
        yield (
            "Not every action was on offer in every trial: all probabilities, those of chance "
            "included, are over the actions that were."
        )
    rows = dict(manifest.get("rows") or {})
    total = rows.pop(READ, None)
    recoded = {name: n for name, n in rows.items() if str(name).startswith("recoded ")}
    whole = {n: k for n, k in rows.items() if str(n).startswith(("learners ", "sequences "))}
    apart = {*recoded, *whole}
    fates = [_fate(str(name), n, options) for name, n in rows.items() if n and name not in apart]
    if total is not None:
        yield f"Of {total:,} rows read, {listed_names(fates) if fates else 'all were used'}."
    elif fates:
        yield f"Of the rows read, {listed_names(fates)}."
    missing = [clean(text) for text in options.get("missing") or ()]
    if missing:
        yield f"Taken as missing: {listed_names(missing)}."
    found = [_recoded(str(name), n, options) for name, n in recoded.items() if n]
    if found:
        also = ", in rows that were left out too" if options.get("where") else ""
        yield f"Values were recoded as they were read{also}: {listed_names(found)}."
    for name, n in whole.items():
        if n and not EXCLUDED.fullmatch(str(name)):  # exclusions have their own sentences
            yield f"In addition, {_fate(str(name), n, options)}."


def _size(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> str:
    n, trials = manifest.get("learners"), manifest.get("trials")
    if n is None or trials is None:
        return "The choices of the learners were analysed."
    lost = tables.get("unfitted")
    each = _lengths(tables.get("learners"), n - (0 if lost is None else lost.height))
    sequences = manifest.get("sequences", n)
    by = [clean(column) for column in (manifest.get("options") or {}).get("by") or []]
    runs = ""
    if sequences != n:
        runs = f" in {in_words(sequences)} sequences{f', one per {listed_names(by)}' if by else ''}"
    return f"The data were {trials:,} trials of {count(n, 'learner')}{runs}{each}."


def _lengths(learners: pl.DataFrame | None, n: int) -> str:
    if learners is None or "n_trials" not in learners.columns or learners.height < 2:
        return ""
    trials = learners["n_trials"].drop_nulls()
    if not len(trials):
        return ""
    what = "sequence" if learners.height != n else "learner"
    low, high = trials.min(), trials.max()
    if low == high:
        return f" ({low:,} scored trials per {what})"
    return (
        f" (a median of {trials.median():,.10g} scored trials per {what}, range {low:,}–{high:,})"
    )


def _fate(name: str, n: int, options: Mapping[str, Any]) -> str:
    if name in FATES:
        return count(n, *FATES[name])
    if name == "left out by --where":
        return f"{in_words(n)} did not fulfil the condition {quoted(options.get('where'))}"
    if found := FEWER.fullmatch(name):
        were = "was" if n == 1 else "were"
        return f"{count(n, found[1])} with fewer than {found[2]} trials {were} left out"
    return f"{in_words(n)} counted as {quoted(name)}"


def _recoded(name: str, n: int, options: Mapping[str, Any]) -> str:
    """How many, and from what to what."""
    if found := SCALED.fullmatch(name):
        low, high = (f"{float(end):g}".replace("-", "−") for end in options["reward_scale"])
        return (
            f"{count(n, 'value')} of {quoted(found[1])}, so that {low} became 0 and {high} became 1"
        )
    if found := WORDS.fullmatch(name):
        return f"{count(n, 'value')} of {quoted(found[1])} from words (such as correct) to 1 and 0"
    role = name.removeprefix("recoded ")
    pairs = [str(text).partition(":") for text in options.get("recode") or ()]
    mine = [clean(values) for column, _, values in pairs if column.strip() == role]
    return f"{count(n, 'value')} of {quoted(role)}" + (f" ({'; '.join(mine)})" if mine else "")


# Sentences on what was done: estimation, exclusions, the plan, simulations, software.


LEVEL = 0.95  # of intervals, unless another was asked for
NAMES = {"python": "Python", "numpy": "NumPy", "numba": "Numba", "polars": "Polars"}


def estimation_sentences(
    manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], cite: Citing
) -> Iterator[str]:
    """How parameters were estimated, and with what intervals."""
    models = manifest.get("models") or ()
    exact = bool(models) and all(_exact(model) for model in models)
    how = "exact maximum likelihood" if exact else "maximum likelihood"
    yield (
        f"Parameters were estimated by {how} within their bounds, for each {unit_of(manifest)} and "
        f"model separately {cite('wilson2019', before='see ')}"
        + ("." if exact else f"; {_searched(models)}.")
    )
    estimates = tables.get("estimates")
    if estimates is not None and "lower" in estimates.columns and estimates["lower"].count():
        level = (manifest.get("options") or {}).get("intervals") or LEVEL
        yield f"Intervals of estimates were {level * 100:.4g}% profile-likelihood intervals."


def _searched(models: Sequence[Mapping[str, Any]]) -> str:
    """How likelihoods that can have several maxima were searched."""
    cells = any(not _exact(m) for m in models if m.get("units") and not is_adjusted(m))
    whole = any(not m.get("units") or is_adjusted(m) for m in models)
    ways = ["on fine grids of their parameters, cell by cell"] if cells else []
    ways += ["from many starts"] if whole else []
    return f"likelihoods that can have several maxima were searched {' or '.join(ways)}"


def _exact(model: Mapping[str, Any]) -> bool:
    """Whether the fit is known to be the global maximum: rules with one top, in gain form."""
    units = model.get("units") or ()
    smooth = {name for name, rule in RULES.items() if rule.smooth_with_gains}
    exact = [u.get("rule") in smooth and u.get("form") == "gain" for u in units]
    return bool(exact) and all(exact) and not is_adjusted(model)


def exclusion_sentences(
    manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]
) -> Iterator[str]:
    """Who was left out of the shares and by which condition."""
    given = (manifest.get("options") or {}).get("exclude") or []
    conditions = [given] if isinstance(given, str) else [*given]
    if not conditions:
        return
    rows = manifest.get("rows") or {}
    counted = {found[1]: n for name, n in rows.items() if (found := EXCLUDED.fullmatch(str(name)))}
    learners = tables.get("learners")
    total = None
    if learners is not None and "excluded" in learners.columns:
        total = int((learners["excluded"].cast(pl.String).fill_null("") != "").sum())
    many = len(conditions) > 1
    each = listed_names(
        quoted(text) + (f" ({in_words(counted[text])})" if many and text in counted else "")
        for text in conditions
    )
    unit = unit_of(manifest)
    who = f"{unit.capitalize()}s" if total is None else opening(count(total, unit))
    if total == 0:
        yield f"No {unit} fulfilled the condition for exclusion {each}."
        return
    were = "was" if total == 1 else "were"
    yield (
        f"{who} {were} excluded by {'the conditions' if many else 'the condition'} "
        f"{each}; shares are reported with and without them."
    )


def plan_sentences(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Whether there was a plan that was frozen before, and what deviates from it."""
    options = manifest.get("options") or {}
    deviations = manifest.get("deviations")
    frozen = options.get("frozen") or manifest.get("frozen")
    if deviations is None and not frozen:
        return
    found: Sequence[Any] = deviations or []
    code = frozen.get("sha256") if isinstance(frozen, Mapping) else None
    plan = "a plan that was frozen beforehand" + (f" (SHA-256 {short(code)})" if code else "")
    if not found:
        yield f"The analysis followed {plan}, without deviations."
        return
    yield (
        f"The analysis followed {plan}, with "
        f"{count(len(found), 'deviation')}: {'; '.join(_deviation(each) for each in found)}."
    )


def _deviation(found: Any) -> str:
    if isinstance(found, Mapping) and "what" in found:
        planned, done = found.get("planned"), found.get("done")
        return f"{clean(found['what'])} (planned: {_shown(planned)}; done: {_shown(done)})"
    return clean(found)


def _shown(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return "none"
    if isinstance(value, list):
        return clean(", ".join(map(str, value)))
    return clean(value)


def simulation_sentences(
    manifest: Mapping[str, Any],
    tables: Mapping[str, pl.DataFrame],
    cite: Citing,
    doubled: int | None = None,
) -> Iterator[str]:
    """Calibration of the constants, recovery, doubles of the learners."""
    options = manifest.get("options") or {}
    confusion = tables.get("confusion")
    calibrated = [clean(text) for text in options.get("calibrated") or ()]
    if calibrated:
        yield (
            f"The constants of {listed_names(calibrated)} "
            "were chosen by a calibration on simulated "
            f"learners of every candidate {cite('aubert2025', 'wilson2019')}."
        )
    if confusion is not None and {"true_model", "learners"} <= {*confusion.columns}:
        least, most = confusion["learners"].min(), confusion["learners"].max()
        size = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        yield (
            f"How often each model was recovered was determined with {size} simulated learners of "
            f"each {cite('wilson2019', before='model recovery; ')}."
        )
    if doubled is not None:
        yield (
            "Learning curves were compared with those of simulated doubles, who followed each "
            f"learner's selected model at its estimates (seed {doubled})."
        )
    doubles = options.get("stability")
    if doubles:
        seed = options.get("seed")
        at = f" (seed {seed})" if seed is not None else ""
        yield (
            f"Stability was the share of {in_words(int(doubles))} simulated doubles of each "
            f"learner, who followed the selected model at its estimates{at}, that were given the "
            "same model."
        )


def software_sentences(manifest: Mapping[str, Any], cite: Citing) -> Iterator[str]:
    """Versions, and hashes of the data."""
    version = clean(manifest.get("howlearn", "unknown"))
    others = {str(k): v for k, v in (manifest.get("versions") or {}).items() if k != "howlearn"}
    parts = [f"{NAMES.get(name, clean(name))} {clean(v)}" for name, v in others.items()]
    work = cite(SOFTWARE)
    yield f"All computations were made with howlearn {version} {work}" + (
        f", {listed_names(parts)}." if parts else "."
    )
    files = {str(k): str(v) for k, v in (manifest.get("input") or {}).items()}
    if files:  # by their own names: folders tell about a machine, not about the data
        own = [(re.split(r"[/\\]", name)[-1], code) for name, code in files.items()]
        hashes = listed_names(f"{short(code)} for {clean(name)}" for name, code in own)
        what = "hash" if len(files) == 1 else "hashes"
        yield f"The SHA-256 {what} of the data began with {hashes}."
